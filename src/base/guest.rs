//! The messages between host and guest agent: JSON, one object per line, over a virtio port that only root can open
//! in the guest. The tool's output has ports of its own.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Name of the virtio port for requests and events.
pub const CONTROL: &str = "mcc.control";
/// Name of the virtio port for the tool's standard output.
pub const STDOUT: &str = "mcc.stdout";
/// Name of the virtio port for the tool's standard error.
pub const STDERR: &str = "mcc.stderr";

/// The largest number of leftover files that a guest reports.
pub const MAX_LEFTOVER_FILES: usize = 20;

/// Length limit of a line on the control port, in bytes. A longer line is an error of the channel.
pub const MAX_LINE: usize = 1 << 20;

/// A message from the host to the guest agent.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum Request {
    /// Send `GuestEvent::Ready` again. A guest that was restored from a saved state receives this request.
    Ready,
    /// Prepare the job without starting its command.
    Prepare(Box<Job>),
    /// Start the prepared command.
    Start,
}

/// The command of an attempt and its environment.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The guest repeats this random word in every later event of the job.
    pub nonce: String,
    /// The time to set the guest's clock to, in nanoseconds since 1970.
    pub clock_ns: u64,
    /// Random bytes in hexadecimal, to be credited to the guest's random pool.
    pub seed: String,
    /// Block devices to mount read-only, before all other preparations.
    pub mounts: Vec<Mount>,
    /// Name of the guest's user who owns the folders, unpacks the archive and runs the command.
    pub user: String,
    /// Folders to remove and create again, empty.
    #[serde(rename = "fresh")]
    pub empty_folders: Vec<String>,
    /// The archive to unpack, if any.
    pub unpack: Option<Unpack>,
    /// The complete environment of the command.
    pub env: BTreeMap<String, String>,
    /// The working folder of the command.
    pub cwd: String,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// A block device to mount in the guest.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Path of the device, such as `/dev/vdb`.
    pub device: String,
    /// Path of the mount point.
    pub at: String,
    /// Type of the file system, such as `ext4`.
    pub fs: String,
}

/// An archive whose single top folder is unpacked as `to`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpack {
    /// Path of the archive (tar, gzip) in the guest.
    pub archive: String,
    /// Path of the folder that receives the content of the top folder.
    pub to: String,
}

/// A message from the guest to the host.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestMessage {
    /// The nonce of the job; empty before a job was received.
    pub nonce: String,
    /// The content of the message.
    #[serde(flatten)]
    pub event: GuestEvent,
}

/// An event in the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum GuestEvent {
    /// The guest is booted and waits for a job.
    Ready {
        /// Release of the guest's kernel.
        kernel: String,
        /// CPU flags in the guest's `/proc/cpuinfo`.
        cpu_flags: Vec<String>,
        /// The guest's total memory, KiB.
        memory_kib: u64,
    },
    /// The job is prepared.
    Prepared,
    /// The job could not be prepared or started.
    Failed {
        /// The cause.
        reason: String,
    },
    /// The command was started.
    Started,
    /// A measurement, sent every second while the command runs.
    Sample {
        /// Memory in use, KiB: of the job's cgroup; over ssh, of the whole guest.
        memory_kib: u64,
        /// CPU time, ms: of the job's cgroup; over ssh, of the whole guest since its boot.
        cpu_ms: u64,
        /// Time in which CPUs waited for I/O, ms: since the tool's start; over ssh, since the guest's boot.
        io_wait_ms: u64,
        /// Runnable threads in the guest, without the agent's.
        #[serde(default)]
        runnable: u32,
    },
    /// The command's own process ended; the processes it left behind were killed.
    Ended {
        /// Exit status or signal of the command.
        exit: Exit,
        /// Peak memory, KiB: of the job's cgroup; over ssh, of the whole guest.
        memory_kib: u64,
        /// Processes that the guest's kernel killed for lack of memory.
        oom_kills: u64,
        /// Processes that were still running when the command ended.
        left_behind: u64,
        /// Time in which CPUs waited for I/O since the tool's start, ms.
        #[serde(default)]
        io_wait_ms: u64,
        /// Relevant lines of the guest's kernel log (`guest_kernel_log`).
        #[serde(default)]
        kernel_log: Vec<String>,
    },
    /// The control session or the tool's session was ended in the guest, which still runs. Only with the ssh channel,
    /// where the host creates this event.
    #[serde(skip)]
    SessionLost,
    /// The control session sent something that it does not send by itself. Only with the ssh channel, where the host
    /// creates this event.
    #[serde(skip)]
    UnexpectedMessage,
    /// Every byte of output was written to the ports. It is the last event of a job.
    #[serde(rename = "drained")]
    OutputComplete {
        /// Bytes that the tool wrote to its standard output.
        stdout_bytes: u64,
        /// Bytes that the tool wrote to its standard error.
        stderr_bytes: u64,
        /// Files that the job left in its user's home outside `Job::empty_folders`: the first `MAX_LEFTOVER_FILES`.
        #[serde(default)]
        written: Vec<String>,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// An exit status, 0 to 255.
    Code(u8),
    /// The number of a signal, 1 to 64.
    Signal(#[serde(deserialize_with = "signal")] u8),
}

/// The numbers of signals in Linux.
const SIGNALS: RangeInclusive<u8> = 1..=64;

fn signal<'de, D: Deserializer<'de>>(from: D) -> Result<u8, D::Error> {
    let number = u8::deserialize(from)?;
    match SIGNALS.contains(&number) {
        true => Ok(number),
        false => Err(D::Error::custom(format!("{number} is no signal"))),
    }
}

/// The largest number of threads in Linux (PID_MAX_LIMIT).
const MAX_THREADS: u32 = 1 << 22;

impl GuestEvent {
    /// Whether the values are possible in a machine: memory up to `max_memory_kib`, CPU time and I/O wait up to
    /// `max_ms`.
    pub fn is_possible(&self, max_memory_kib: u64, max_ms: u64) -> bool {
        match *self {
            Self::Ready { memory_kib, .. } => memory_kib <= max_memory_kib,
            Self::Sample { memory_kib, cpu_ms, io_wait_ms, runnable } => {
                memory_kib <= max_memory_kib
                    && cpu_ms <= max_ms
                    && io_wait_ms <= max_ms
                    && runnable <= MAX_THREADS
            }
            Self::Ended { memory_kib, io_wait_ms, .. } => {
                memory_kib <= max_memory_kib && io_wait_ms <= max_ms
            }
            Self::Prepared
            | Self::Failed { .. }
            | Self::Started
            | Self::SessionLost
            | Self::UnexpectedMessage
            | Self::OutputComplete { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_status_or_signal_out_of_range_is_refused() {
        let parse = |text: &str| serde_json::from_str::<Exit>(text).ok();
        assert_eq!(parse(r#"{"code":0}"#), Some(Exit::Code(0)));
        assert_eq!(parse(r#"{"code":255}"#), Some(Exit::Code(255)));
        assert_eq!(parse(r#"{"signal":64}"#), Some(Exit::Signal(64)));
        let refused = [r#"{"code":-2147483648}"#, r#"{"code":256}"#, r#"{"signal":0}"#, r#"{"signal":65}"#];
        for text in refused {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn values_beyond_the_machine_are_impossible() {
        let sample = |memory_kib, cpu_ms, io_wait_ms| {
            GuestEvent::Sample { memory_kib, cpu_ms, io_wait_ms, runnable: 1 }.is_possible(1000, 60)
        };
        assert!(sample(1000, 60, 60));
        assert!(!sample(1001, 0, 0) && !sample(0, 61, 0) && !sample(0, 0, u64::MAX));
    }

    #[test]
    fn events_are_the_same_after_serialization() {
        let ended = GuestMessage {
            nonce: "n".into(),
            event: GuestEvent::Ended {
                exit: Exit::Signal(9),
                memory_kib: 7,
                oom_kills: 1,
                left_behind: 2,
                io_wait_ms: 3,
                kernel_log: vec![],
            },
        };
        let line = serde_json::to_string(&ended).unwrap();
        assert_eq!(
            line,
            r#"{"nonce":"n","event":"ended","exit":{"signal":9},"memory_kib":7,"oom_kills":1,"left_behind":2,"io_wait_ms":3,"kernel_log":[]}"#
        );
        assert_eq!(serde_json::from_str::<GuestMessage>(&line).unwrap(), ended);
        assert_eq!(serde_json::to_string(&Request::Start).unwrap(), r#"{"request":"start"}"#);
    }

    /// The agent of a disk is that of the version that built the disk; archives keep disks for years.
    #[test]
    fn agents_of_older_disks_are_understood() {
        let job = serde_json::to_value(Request::Prepare(Box::default())).unwrap();
        let keys: Vec<&str> = job.as_object().unwrap().keys().map(String::as_str).collect();
        let of_0_1 = [
            "clock_ns", "command", "cwd", "env", "fresh", "mounts", "nonce", "request", "seed", "unpack",
            "user",
        ];
        assert!(of_0_1.iter().all(|key| keys.contains(key)) && keys.len() == of_0_1.len(), "{keys:?}");
        let last = r#"{"nonce":"n","event":"drained","stdout_bytes":1,"stderr_bytes":0,"written":[]}"#;
        let event = serde_json::from_str::<GuestMessage>(last).unwrap().event;
        assert!(matches!(event, GuestEvent::OutputComplete { stdout_bytes: 1, .. }), "{event:?}");
    }
}
