//! The messages between host and guest agent: JSON, one object per line, over a virtio port that only root can open
//! in the guest. The tool's output has ports of its own.

use crate::{evidence, guest_kernel_log};
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

/// The largest number of characters that are kept of a text of a guest; PATH_MAX in Linux.
pub const MAX_TEXT: usize = 4096;

/// The largest number of CPU flags that a guest reports.
const MAX_CPU_FLAGS: usize = 1024;

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
    /// Memory of the guest that the job may not use, KiB: the job's cgroup is limited to the guest's total memory less
    /// this reserve. 0: no limit. Agents of older versions ignore it.
    #[serde(default)]
    pub memory_reserve_kib: u64,
    /// The folder whose files of evidence (`crate::evidence`) the guest sends after the end of the command; None: no file is
    /// sent. Agents of older versions ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_folder: Option<String>,
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
        #[serde(deserialize_with = "text")]
        kernel: String,
        /// CPU flags in the guest's `/proc/cpuinfo`.
        #[serde(deserialize_with = "texts::<MAX_CPU_FLAGS, _>")]
        cpu_flags: Vec<String>,
        /// The guest's total memory, KiB.
        memory_kib: u64,
    },
    /// The job is prepared.
    Prepared {
        /// Memory limit of the job's cgroup, KiB; None: it has none, or the agent is of an older version.
        memory_limit_kib: Option<u64>,
    },
    /// The job could not be prepared or started.
    Failed {
        /// The cause.
        #[serde(deserialize_with = "text")]
        reason: String,
        /// Whether the content of the tool's disk is the cause. Agents of older versions do not state it.
        #[serde(default)]
        by_disk: bool,
    },
    /// The command is started. Everything that happens later in the guest may be caused by the tool.
    Started,
    /// A measurement, sent every second while the command runs.
    Sample {
        /// Memory in use, KiB: of the job's cgroup; over ssh, of the whole guest.
        memory_kib: u64,
        /// CPU time, ms: of the job's cgroup; over ssh, of the whole guest since its boot.
        cpu_ms: u64,
        /// Time in which CPUs waited for I/O, ms: since the tool's start; over ssh, since the guest's boot.
        io_wait_ms: u64,
        /// Threads of the job that ran or could run; agents of older versions count all threads of the guest.
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
        #[serde(default, deserialize_with = "texts::<{ guest_kernel_log::MAX_LINES }, _>")]
        kernel_log: Vec<String>,
    },
    /// The control session or the tool's session ended in the guest, which still runs. Only with the ssh channel,
    /// where the host creates this event.
    #[serde(skip)]
    SessionLost,
    /// The control session sent something that it does not send by itself. Only with the ssh channel, where the host
    /// creates this event.
    #[serde(skip)]
    UnexpectedMessage,
    /// A part of a file of evidence in `Job::evidence_folder`; the parts of a file follow each other.
    Evidence {
        /// The name of the file.
        file: String,
        /// The part, at most `evidence::MAX_PART` bytes.
        part: String,
    },
    /// The session has sent the files of evidence completely. Only with the ssh channel, where the host creates this event.
    #[serde(skip)]
    EvidenceSent,
    /// Every byte of output was written to the ports. It is the last event of a job; over ssh evidence follows it.
    #[serde(rename = "drained")]
    OutputComplete {
        /// Bytes that the tool wrote to its standard output.
        stdout_bytes: u64,
        /// Bytes that the tool wrote to its standard error.
        stderr_bytes: u64,
        /// Files that the job left in its user's home outside `Job::empty_folders`: the first `MAX_LEFTOVER_FILES` by
        /// name of those that were found.
        #[serde(default, deserialize_with = "texts::<MAX_LEFTOVER_FILES, _>")]
        written: Vec<String>,
        /// Whether the search for these files ended at one of its bounds, so that there may be more.
        #[serde(default)]
        search_cut: bool,
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
    if SIGNALS.contains(&number) {
        Ok(number)
    } else {
        Err(D::Error::custom(format!("{number} is not a signal")))
    }
}

/// Reads a text and keeps its first `MAX_TEXT` characters.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(capped(&String::deserialize(from)?, MAX_TEXT))
}

/// Reads a list of at most `MAX_TEXTS` texts.
fn texts<'de, const MAX_TEXTS: usize, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    if texts.len() <= MAX_TEXTS {
        Ok(texts.iter().map(|text| capped(text, MAX_TEXT)).collect())
    } else {
        Err(D::Error::custom(format!("a list of {} texts; at most {MAX_TEXTS} are allowed", texts.len())))
    }
}

/// Returns the first `most` characters of a text.
pub fn capped(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// The largest number of threads in Linux (PID_MAX_LIMIT).
const MAX_THREADS: u32 = 1 << 22;

impl GuestEvent {
    /// Whether the values are possible in a machine: memory up to `max_memory_kib`, CPU time and I/O wait up to
    /// `max_ms`; a file of evidence has one of the fixed names.
    pub fn is_possible(&self, max_memory_kib: u64, max_ms: u64) -> bool {
        match *self {
            Self::Evidence { ref file, ref part } => {
                evidence::parse_name(file).is_some() && part.len() <= evidence::MAX_PART
            }
            Self::Ready { memory_kib, .. } => memory_kib <= max_memory_kib,
            Self::Sample { memory_kib, cpu_ms, io_wait_ms, runnable } => {
                memory_kib <= max_memory_kib
                    && cpu_ms <= max_ms
                    && io_wait_ms <= max_ms
                    && runnable <= MAX_THREADS
            }
            Self::Prepared { memory_limit_kib } => {
                memory_limit_kib.is_none_or(|limit| limit <= max_memory_kib)
            }
            Self::Ended { memory_kib, oom_kills, left_behind, io_wait_ms, .. } => {
                memory_kib <= max_memory_kib
                    && oom_kills <= u64::from(u32::MAX)
                    && left_behind <= u64::from(MAX_THREADS)
                    && io_wait_ms <= max_ms
            }
            Self::Failed { .. }
            | Self::Started
            | Self::SessionLost
            | Self::UnexpectedMessage
            | Self::EvidenceSent
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
    fn long_texts_are_truncated_and_long_lists_are_refused() {
        let parse = |text: &str| serde_json::from_str::<GuestMessage>(text).map(|message| message.event);
        let failed = parse(&format!(r#"{{"nonce":"","event":"failed","reason":"{}"}}"#, "é".repeat(5000)));
        assert_eq!(failed.unwrap(), GuestEvent::Failed { reason: "é".repeat(MAX_TEXT), by_disk: false });
        let drained = |files: usize| {
            let written = vec![r#""f""#; files].join(",");
            let counts = r#""stdout_bytes":0,"stderr_bytes":0"#;
            parse(&format!(r#"{{"nonce":"","event":"drained",{counts},"written":[{written}]}}"#))
        };
        assert!(drained(MAX_LEFTOVER_FILES).is_ok());
        let error = drained(MAX_LEFTOVER_FILES + 1).unwrap_err().to_string();
        assert!(error.contains("a list of 21 texts; at most 20 are allowed"), "{error}");
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
        // An older agent ignores keys that are not its own.
        let of_0_1 = [
            "clock_ns", "command", "cwd", "env", "fresh", "mounts", "nonce", "request", "seed", "unpack",
            "user",
        ];
        assert!(of_0_1.iter().all(|key| keys.contains(key)), "{keys:?}");
        let prepared = serde_json::from_str::<GuestMessage>(r#"{"nonce":"n","event":"prepared"}"#).unwrap();
        assert_eq!(prepared.event, GuestEvent::Prepared { memory_limit_kib: None });
        let last = r#"{"nonce":"n","event":"drained","stdout_bytes":1,"stderr_bytes":0,"written":[]}"#;
        let event = serde_json::from_str::<GuestMessage>(last).unwrap().event;
        assert!(matches!(event, GuestEvent::OutputComplete { stdout_bytes: 1, .. }), "{event:?}");
    }
}
