//! What is kept of a run.

use crate::digest;
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

    /// Ours, never the tool's (P2).
    pub fn is_infrastructure(&self) -> bool {
        matches!(self, Self::Infrastructure { .. })
    }
}

/// One attempt at a run, whole. Times are milliseconds unless the name says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// `entry/instance/examination`
    pub run: String,
    /// 1, 2, ...
    pub number: u32,
    #[serde(flatten)]
    pub outcome: Outcome,
    /// `degraded:tcg`, `degraded:shared-cores`, `degraded:overcommitted-memory`, `output-truncated`, ...
    pub marks: Vec<String>,
    /// RFC 3339, the host's wall clock; only for people, never computed with.
    pub started_at: String,
    pub host: HostFacts,
    /// Digests of every disk the machine saw.
    pub disks: Vec<Disk>,
    /// The machine as asked for: QEMU's arguments with private paths replaced.
    pub machine: Vec<String>,
    /// None where the tool was never started.
    pub facts: Option<RunFacts>,
    /// Digests of the kept raw outputs (`stdout`, `stderr`, `console`), by file name; `Record::commit` fills it in.
    pub outputs: Vec<Disk>,
}

/// Measured on the host from the tool's start (after unpacking) to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFacts {
    /// From QEMU's start to the guest's readiness.
    pub boot_ms: u64,
    pub wall_ms: u64,
    /// Sum over the vCPU threads.
    pub cpu_ms: u64,
    pub vcpus: u32,
    /// Peak memory of the tool in the guest (cgroup `memory.peak`), KiB.
    pub memory_kib: Option<u64>,
    /// Peak resident memory of QEMU on the host, KiB: an upper bound.
    pub host_memory_kib: Option<u64>,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    /// One per second, while the attempt is made; `Record::samples` reads those of a committed one.
    #[serde(default, skip_serializing)]
    pub samples: Vec<Sample>,
}

/// The tool at `at_ms` after its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    pub at_ms: u64,
    pub cpu_ms: u64,
    pub memory_kib: u64,
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
