//! Attempts, as records keep them.

use mcc_base::digest;
use mcc_base::figures::{self, BadFigure};
use mcc_base::names::{Name, RunId, text_of};
use mcc_base::{HostState, Mark};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::Path;

/// How an attempt at a run ended. All except `Infrastructure` are outcomes of the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The tool ended by itself.
    Finished {
        /// Its exit code.
        exit_code: i32,
    },
    /// The tool reached the CPU time limit.
    CpuLimit,
    /// The tool reached the wall time limit.
    WallLimit,
    /// The kernel of the guest killed the tool for lack of memory.
    MemoryLimit,
    /// The tool wrote more output than the edition allows.
    OutputLimit,
    /// The writes of the tool to its disk reached their limit.
    DiskLimit,
    /// The instructions of the machine reached their limit.
    InstructionLimit,
    /// A signal ended the tool.
    ToolCrash {
        /// The number of the signal.
        signal: i32,
    },
    /// `not_competing` in the campaign: no machine was booted (T-4).
    NotCompeting,
    /// Host, machine or harness failed.
    Infrastructure {
        /// The state of the run in which it failed.
        state: String,
        /// What failed.
        reason: String,
    },
}

/// The word, with exit code, signal or reason: `finished with exit code 3`.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Finished { exit_code: 0 } => f.write_str("finished"),
            Self::Finished { exit_code } => write!(f, "finished with exit code {exit_code}"),
            Self::ToolCrash { signal } => write!(f, "tool-crash (signal {signal})"),
            Self::Infrastructure { state, reason } => write!(f, "infrastructure while {state}: {reason}"),
            other => f.write_str(other.word()),
        }
    }
}

impl Outcome {
    /// Its word, as records store it and JSON shows it: `cpu-limit`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Finished { .. } => "finished",
            Self::CpuLimit => "cpu-limit",
            Self::WallLimit => "wall-limit",
            Self::MemoryLimit => "memory-limit",
            Self::OutputLimit => "output-limit",
            Self::DiskLimit => "disk-limit",
            Self::InstructionLimit => "instruction-limit",
            Self::ToolCrash { .. } => "tool-crash",
            Self::NotCompeting => "not-competing",
            Self::Infrastructure { .. } => "infrastructure",
        }
    }

    /// The outcome as a reader sees it, with exit code, signal, or state and reason.
    pub fn in_words(&self) -> String {
        match self {
            Self::Finished { exit_code } => format!("ended by itself, exit code {exit_code}"),
            Self::MemoryLimit => "killed for lack of memory in the guest".into(),
            Self::ToolCrash { signal } => format!("ended by signal {signal}"),
            Self::NotCompeting => "did not compete, as the campaign states: no machine was started".into(),
            Self::Infrastructure { state, reason } => {
                format!("infrastructure failure while {state}: {reason}")
            }
            limit => outcome_words(limit.word()).to_owned(),
        }
    }

    /// Whether the attempt ended in an infrastructure failure, which is not attributed to the tool (R2).
    pub fn is_infrastructure(&self) -> bool {
        matches!(self, Self::Infrastructure { .. })
    }
}

/// The word of an outcome (`Outcome::word`) as a reader sees it: a text for many runs, without exit code or reason. An
/// unknown word stays as it is.
pub fn outcome_words(word: &str) -> &str {
    match word {
        "finished" => "ended by itself",
        "cpu-limit" => "stopped at the CPU-time limit",
        "wall-limit" => "stopped at the wall-clock limit",
        "memory-limit" => "killed for lack of memory",
        "output-limit" => "stopped at the output limit",
        "disk-limit" => "stopped at the limit of writes to the disk",
        "instruction-limit" => "stopped at the limit of instructions",
        "tool-crash" => "ended by a signal",
        "not-competing" => "did not compete",
        "infrastructure" => "infrastructure failure",
        other => other,
    }
}

/// One attempt at a run. Times are milliseconds unless the name has another unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The run that was tried.
    pub run: RunId,
    /// The number of the attempt: 1, 2, ...
    pub number: u32,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Deviations from the conditions of the contest, and other facts that a reader must know.
    pub marks: Vec<Mark>,
    /// Start time by the host's clock (RFC 3339); for display only.
    pub started_at: String,
    /// The host on which the machine ran.
    pub host: HostFacts,
    /// Digests of all disks of the machine.
    pub disks: Vec<Disk>,
    /// The arguments of QEMU, with private paths replaced.
    pub machine: Vec<String>,
    /// Confinement of the machine, and what the guest observed of it. Empty if no machine was booted.
    // `room` in records of formats 1 to 3.
    #[serde(default, alias = "room")]
    pub environment: Environment,
    /// Measurements; None if the tool was not started.
    pub facts: Option<RunFacts>,
    /// Digests of the kept raw outputs (`stdout`, `stderr`, `console`), by file name; set by `Record::commit`.
    pub outputs: Vec<Disk>,
}

impl Attempt {
    /// Number of attempts that a run may still have after this one, its last; those up to number `superseded` do not count.
    /// If it is 0, the run is recorded: with an outcome of the tool, or without retries left.
    pub(super) fn attempts_left(&self, superseded: u32, retries: u32) -> u32 {
        match self.number.checked_sub(superseded) {
            None | Some(0) => retries.saturating_add(1),
            Some(_) if !self.outcome.is_infrastructure() => 0,
            Some(made) => retries.saturating_add(1).saturating_sub(made),
        }
    }

    /// Boot time and wall time, as the column `ms` of a record has them; None if the tool was not started.
    pub(super) fn total_ms(&self) -> Option<i64> {
        let facts = self.facts.as_ref()?;
        Some(i64::try_from(facts.boot_ms.saturating_add(facts.wall_ms)).unwrap_or(i64::MAX))
    }

    /// What counted its instructions, or why they were not counted: only counts with equal texts are comparable. None: they
    /// were not to be counted.
    pub fn instructions_source(&self) -> Option<String> {
        Some(match self.facts.as_ref()?.instructions.as_ref()? {
            Instructions::TcgPlugin { .. } => format!("tcg-plugin of QEMU {}", self.host.qemu),
            // What a processor counts, such as interrupts, depends on its model.
            Instructions::Perf { .. } => format!("perf on {}", self.host.cpu),
            Instructions::Absent { reason } => reason.clone(),
        })
    }
}

/// Confinement of a machine on its host, and what its guest observed of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// CPUs of the host to which the vCPUs were pinned.
    pub cpus: Vec<u32>,
    /// Confinements of QEMU that were in effect: `sandbox on`, `user nobody`, `cgroup v1 of at most 18432 MiB`.
    pub confined: Vec<String>,
    /// Confinements that were not in effect, with reasons.
    pub unconfined: Vec<String>,
    /// Version of the guest's kernel.
    pub guest_kernel: String,
    /// CPU flags as the guest's Linux lists them; empty if the guest did not report them.
    pub cpu_flags: Vec<String>,
    /// CPU flags that the edition requires (E-5.2) and the guest does not have.
    pub cpu_flags_missing: Vec<String>,
    /// The state of the host; None in records of versions that did not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_state: Option<HostState>,
}

/// The source of `RunFacts::memory_kib`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemorySource {
    /// Peak memory of the tool's cgroup, as counted by the guest's kernel.
    GuestCgroup,
    /// Largest sample of that cgroup: the tool was stopped before its peak was reported.
    GuestCgroupSamples,
    /// Largest sample of the memory in use in the whole guest, as its kernel reported to QEMU's balloon: the cgroup is not
    /// known, or had much less (`MAX_UNCOUNTED_KIB` of the runner).
    Balloon,
}

/// The instructions that the machine executed while the tool ran, or why they were not counted. Counts of different
/// sources are not comparable ([`Attempt::instructions_source`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "kebab-case")]
pub enum Instructions {
    /// A plugin of QEMU counted them under TCG.
    TcgPlugin {
        /// Those at user addresses: of the tool, and of the agent.
        user: u64,
        /// Those at addresses of the guest's kernel. They grow with the time that the run takes.
        kernel: u64,
    },
    /// Perf events of the host's kernel counted them under KVM.
    Perf {
        /// Those in user mode: of the tool, and of the agent.
        user: u64,
        /// Those of the guest's kernel.
        kernel: u64,
        /// No host has confirmed yet that this version counts correctly.
        untested: bool,
    },
    /// They were to be counted and could not be.
    Absent {
        /// Why.
        reason: String,
    },
}

impl Instructions {
    /// Returns the instructions at user addresses; None: they were not counted.
    pub fn user(&self) -> Option<u64> {
        match self {
            Self::TcgPlugin { user, .. } | Self::Perf { user, .. } => Some(*user),
            Self::Absent { .. } => None,
        }
    }

    /// Returns what counted them; None: nothing.
    pub fn source(&self) -> Option<InstructionSource> {
        match self {
            Self::TcgPlugin { .. } => Some(InstructionSource::TcgPlugin),
            Self::Perf { .. } => Some(InstructionSource::Perf),
            Self::Absent { .. } => None,
        }
    }

    /// Returns the instructions at addresses of the kernel; None: they were not counted.
    pub fn kernel(&self) -> Option<u64> {
        match self {
            Self::TcgPlugin { kernel, .. } | Self::Perf { kernel, .. } => Some(*kernel),
            Self::Absent { .. } => None,
        }
    }
}

mcc_base::words! {
    /// What counted instructions.
    pub enum InstructionSource {
        /// A plugin of QEMU.
        TcgPlugin = "tcg-plugin",
        /// Perf events of the host's kernel.
        Perf = "perf",
    }
}

/// Measurements, by the host, from the start of the tool (after unpacking) to its end; over ssh, where the tool's own
/// disk unpacks the instance, from the moment the disk gets the name of the instance until the tool's streams close.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Time from the start of QEMU until the guest was ready.
    pub boot_ms: u64,
    /// Wall time of the tool.
    pub wall_ms: u64,
    /// CPU time, sum of the vCPU threads.
    pub cpu_ms: u64,
    /// CPU time that the machine used while the instance was prepared; over ssh it is part of `cpu_ms`.
    #[serde(default)]
    pub prepare_cpu_ms: u64,
    /// CPU time that the machine used from the tool's end to the end of its output; over ssh it is part of `cpu_ms`.
    #[serde(default)]
    pub collect_cpu_ms: u64,
    /// The instructions of that time; None: the campaign did not count them, as in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Instructions>,
    /// Number of vCPUs.
    pub vcpus: u32,
    /// Peak memory of the tool in the guest, KiB.
    pub memory_kib: Option<u64>,
    /// The source of `memory_kib`.
    pub memory_source: Option<MemorySource>,
    /// Peak memory in use in the whole guest, including its kernel, KiB: the largest sample of the balloon.
    pub balloon_memory_kib: Option<u64>,
    /// Peak resident memory of QEMU on the host, KiB: an upper bound.
    pub host_memory_kib: Option<u64>,
    /// Memory that the tool could use in the guest, KiB: the limit of its cgroup; None: the guest reported no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_kib: Option<u64>,
    /// Space that the writes of the guest to each disk could take on the host, KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_limit_kib: Option<u64>,
    /// Space that the writes of the guest to its disks took on the host at the end, from its start, KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_kib: Option<u64>,
    /// Time in which CPUs of the guest waited for its disks, as its kernel counts it.
    pub io_wait_ms: Option<u64>,
    /// How the guest ended the run after the tool's start, if it did not end as it must; a mark has the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest_end: Option<String>,
    /// Lines of the guest's kernel log about the end of the tool.
    #[serde(default)]
    pub kernel_log: Vec<String>,
    /// The first files that the tool left in its home, outside its working folder and its result folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    /// When the answers arrived on the host; None: unknown, as in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Bytes that the tool wrote to stdout.
    pub stdout_bytes: u64,
    /// Bytes that the tool wrote to stderr.
    pub stderr_bytes: u64,
    /// Samples of a running attempt, one per second; `Record::samples` reads those of a committed one.
    #[serde(default, skip_serializing)]
    pub samples: Vec<Sample>,
}

impl RunFacts {
    /// Checks that the values are possible measurements (`mcc_base::figures`).
    ///
    /// # Errors
    /// The first value that is not, with its key.
    pub fn check(&self) -> Result<(), BadFigure> {
        figures::check_ms([
            ("boot_ms", Some(self.boot_ms)),
            ("wall_ms", Some(self.wall_ms)),
            ("cpu_ms", Some(self.cpu_ms)),
            ("prepare_cpu_ms", Some(self.prepare_cpu_ms)),
            ("collect_cpu_ms", Some(self.collect_cpu_ms)),
            ("io_wait_ms", self.io_wait_ms),
        ])?;
        figures::check_kib([
            ("memory_kib", self.memory_kib),
            ("balloon_memory_kib", self.balloon_memory_kib),
            ("host_memory_kib", self.host_memory_kib),
            ("disk_limit_kib", self.disk_limit_kib),
            ("disk_kib", self.disk_kib),
        ])?;
        let bytes = [("stdout_bytes", self.stdout_bytes), ("stderr_bytes", self.stderr_bytes)];
        figures::check_bytes(bytes.map(|(key, bytes)| (key, Some(bytes))))?;
        let counted = self.instructions.as_ref();
        figures::check_instructions([
            ("instructions.user", counted.and_then(Instructions::user)),
            ("instructions.kernel", counted.and_then(Instructions::kernel)),
        ])?;
        let arrivals = self.arrivals.iter().flat_map(|arrivals| &arrivals.lines);
        figures::check_ms(arrivals.map(|(_, ms)| ("arrivals", Some(*ms))))?;
        self.samples.iter().try_for_each(Sample::check)
    }
}

/// When lines of stdout with a word of the answer protocol arrived on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Number of the line, from 1 in ascending order, and time since the start of the tool, by the host's clock.
    pub lines: Vec<(u64, u64)>,
    /// Number of later such lines, whose time was not kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Arrivals {
    /// Returns the time at which a line arrived; None: it was not kept.
    pub fn of_line(&self, line: u64) -> Option<u64> {
        let at = self.lines.binary_search_by_key(&line, |(number, _)| *number).ok()?;
        Some(self.lines[at].1)
    }
}

/// A measurement of the running tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Time since the start of the tool, by the host's clock.
    pub at_ms: u64,
    /// CPU time, sum of the vCPU threads.
    pub cpu_ms: u64,
    /// Memory of the tool's cgroup in the guest, as last reported by the agent; 0 if nothing was reported.
    pub memory_kib: u64,
    /// Memory in use in the whole guest, as last reported by the balloon.
    pub balloon_memory_kib: Option<u64>,
    /// Resident memory of QEMU.
    #[serde(default)]
    pub host_memory_kib: u64,
    /// I/O wait, as last reported by the guest.
    #[serde(default)]
    pub io_wait_ms: u64,
    /// Threads of the tool that ran or could run, as last reported by the guest; of the whole guest in older records.
    #[serde(default)]
    pub runnable: u32,
    /// Bytes of stdout that had arrived, kept or not.
    #[serde(default)]
    pub stdout_bytes: u64,
    /// Instructions at user addresses since the start of the tool; None: not counted.
    pub instructions_user: Option<u64>,
    /// Instructions at addresses of the guest's kernel since then; None: not counted.
    pub instructions_kernel: Option<u64>,
}

impl Sample {
    /// Checks that the values are possible measurements (`mcc_base::figures`).
    ///
    /// # Errors
    /// The first value that is not, with its key.
    pub fn check(&self) -> Result<(), BadFigure> {
        let times = [("at_ms", self.at_ms), ("cpu_ms", self.cpu_ms), ("io_wait_ms", self.io_wait_ms)];
        figures::check_ms(times.map(|(key, ms)| (key, Some(ms))))?;
        figures::check_kib([
            ("memory_kib", Some(self.memory_kib)),
            ("balloon_memory_kib", self.balloon_memory_kib),
            ("host_memory_kib", Some(self.host_memory_kib)),
        ])?;
        figures::check_bytes([("stdout_bytes", Some(self.stdout_bytes))])?;
        figures::check_instructions([
            ("instructions_user", self.instructions_user),
            ("instructions_kernel", self.instructions_kernel),
        ])
    }
}

/// The role of an inputs disk that was made for one attempt, of the disk with the role `inputs`. It is in no archive,
/// because it can be made again.
pub const INSTANCE_DISK: &str = "instance";

/// A file by its digest: a disk of a machine, or an output of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// `disk`, `kernel`, `initrd`, `inputs`, `instance`, `stdout`, ...
    #[serde(deserialize_with = "text_of::<Name, _>")]
    pub role: String,
    /// SHA-256, lower-case hex.
    #[serde(deserialize_with = "digest::deserialize")]
    pub sha256: String,
    /// Length in bytes.
    pub bytes: u64,
}

impl Disk {
    /// Computes the digest and the length of a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of_file(role: &str, path: &Path) -> io::Result<Self> {
        let (sha256, bytes) = digest::file(path)?;
        Ok(Self { role: role.to_owned(), sha256, bytes })
    }
}

/// The host of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// The name of the host in its network.
    pub name: String,
    /// Model name of its CPU.
    pub cpu: String,
    /// Number of its cores.
    pub cores: u32,
    /// Number of the cores that the controller was allowed to lease, less than `cores` with `taskset` or in a job of a
    /// cluster. None: not recorded, by an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable_cores: Option<u32>,
    /// Memory of the whole host, in MiB.
    pub memory_mib: u64,
    /// Version of its kernel.
    pub kernel: String,
    /// `kvm` or `tcg`
    pub accelerator: String,
    /// Version of QEMU.
    pub qemu: String,
}
