//! What is kept of a run.

use mcc_base::Mark;
use mcc_base::digest;
use mcc_base::names::RunId;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// How an attempt at a run ended. All but `Infrastructure` are the tool's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The tool ended by itself.
    Finished {
        exit_code: i32,
    },
    CpuLimit,
    WallLimit,
    /// The tool was killed for memory in the guest.
    MemoryLimit,
    OutputLimit,
    ToolCrash {
        signal: i32,
    },
    /// `not_competing` in the campaign: no machine was booted.
    NotCompeting,
    /// The harness's trouble: which state of the run it hit and what was seen.
    Infrastructure {
        state: String,
        reason: String,
    },
}

impl Outcome {
    /// The word of it, as it is stored and shown: `cpu-limit`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Finished { .. } => "finished",
            Self::CpuLimit => "cpu-limit",
            Self::WallLimit => "wall-limit",
            Self::MemoryLimit => "memory-limit",
            Self::OutputLimit => "output-limit",
            Self::ToolCrash { .. } => "tool-crash",
            Self::NotCompeting => "not-competing",
            Self::Infrastructure { .. } => "infrastructure",
        }
    }

    /// Ours, never the tool's (R2).
    pub fn is_infrastructure(&self) -> bool {
        matches!(self, Self::Infrastructure { .. })
    }
}

/// One attempt at a run, whole. Times are milliseconds unless the name says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub run: RunId,
    /// 1, 2, ...
    pub number: u32,
    #[serde(flatten)]
    pub outcome: Outcome,
    pub marks: Vec<Mark>,
    /// RFC 3339, the host's wall clock; only for people, never computed with.
    pub started_at: String,
    pub host: HostFacts,
    /// Digests of every disk the machine saw.
    pub disks: Vec<Disk>,
    /// The machine as asked for: QEMU's arguments with private paths replaced.
    pub machine: Vec<String>,
    /// What the machine had of its host, and its guest of it. Empty where there was none.
    // `room` in records of formats 1 to 3.
    #[serde(default, alias = "room")]
    pub environment: Environment,
    /// None where the tool was never started.
    pub facts: Option<RunFacts>,
    /// Digests of the kept raw outputs (`stdout`, `stderr`, `console`), by file name; `Record::commit` fills it in.
    pub outputs: Vec<Disk>,
}

/// Where and how confined a machine ran, and what its guest saw of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// The host's CPUs its vCPUs were pinned to.
    pub cpus: Vec<u32>,
    /// What kept QEMU away from its host: `sandbox on`, `user nobody`, `cgroup v1 of at most 18432 MiB`.
    pub confined: Vec<String>,
    /// What did not, and why.
    pub unconfined: Vec<String>,
    pub guest_kernel: String,
    /// As the guest's Linux names them; empty where it was not asked or did not say.
    pub cpu_flags: Vec<String>,
    /// Flags that the edition requires (E-5.2) and the guest did not see.
    pub cpu_flags_missing: Vec<String>,
}

/// What `RunFacts::memory_kib` was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemorySource {
    /// The peak that the guest's kernel kept for the tool's cgroup.
    GuestCgroup,
    /// The largest of the samples of that cgroup: the tool was cut before its peak was told.
    GuestCgroupSamples,
    /// The largest of the samples of the whole guest's memory in use, as its kernel told QEMU's balloon.
    Balloon,
}

/// Measured on the host from the tool's start (after unpacking) to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFacts {
    /// From QEMU's start to the guest's readiness.
    pub boot_ms: u64,
    pub wall_ms: u64,
    /// Sum over the vCPU threads.
    pub cpu_ms: u64,
    pub vcpus: u32,
    /// Peak memory of the tool in the guest, KiB.
    pub memory_kib: Option<u64>,
    #[serde(default)]
    pub memory_source: Option<MemorySource>,
    /// Peak memory in use in the whole guest, its kernel's included, KiB: the largest of the balloon's samples.
    #[serde(default)]
    pub balloon_memory_kib: Option<u64>,
    /// Peak resident memory of QEMU on the host, KiB: an upper bound.
    pub host_memory_kib: Option<u64>,
    /// Time in which the guest's CPUs waited for its disks, as its kernel counts.
    #[serde(default)]
    pub io_wait_ms: Option<u64>,
    /// What the guest's kernel said of the tool's end.
    #[serde(default)]
    pub kernel_log: Vec<String>,
    /// Files the tool left in its home, outside its current and its result folder: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    /// One per second, while the attempt is made; `Record::samples` reads those of a committed one.
    #[serde(default, skip_serializing)]
    pub samples: Vec<Sample>,
}

/// The tool at `at_ms` after its start, by the host's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    pub at_ms: u64,
    /// Sum over the vCPU threads.
    pub cpu_ms: u64,
    /// Of the tool's cgroup in the guest, as last told by its agent; 0 where nothing was told.
    pub memory_kib: u64,
    /// In use in the whole guest, as last told by its balloon.
    #[serde(default)]
    pub balloon_memory_kib: Option<u64>,
    /// Resident memory of QEMU.
    #[serde(default)]
    pub host_memory_kib: u64,
    /// As last told by the guest.
    #[serde(default)]
    pub io_wait_ms: u64,
    /// Threads of the guest that ran or wanted to, as last told by it.
    #[serde(default)]
    pub runnable: u32,
    /// Arrived from the tool so far, kept or not.
    #[serde(default)]
    pub stdout_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// `disk`, `kernel`, `initrd`, `inputs`, `stdout`, ...
    pub role: String,
    pub sha256: String,
    pub bytes: u64,
}

impl Disk {
    /// Digests a file (lower-case hex SHA-256).
    pub fn of_file(role: &str, path: &Path) -> io::Result<Self> {
        let (sha256, bytes) = digest::file(path)?;
        Ok(Self { role: role.to_owned(), sha256, bytes })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    pub name: String,
    pub cpu: String,
    pub cores: u32,
    pub memory_mib: u64,
    pub kernel: String,
    /// `kvm` or `tcg`
    pub accelerator: String,
    pub qemu: String,
}
