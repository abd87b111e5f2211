//! What host and guest agent say to each other: JSON, one object a line, over a virtio port that only the
//! guest's root can open. Output of the tool never travels here.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Names of the virtio ports.
pub const CONTROL: &str = "mcc.control";
pub const STDOUT: &str = "mcc.stdout";
pub const STDERR: &str = "mcc.stderr";

/// More files that a job left behind are not told.
pub const MAX_LEFTOVER_FILES: usize = 20;

/// No line on the control port is longer; a longer one breaks the channel.
pub const MAX_LINE: usize = 1 << 20;

/// From the host.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum Request {
    /// Say again that you are ready: asked of a guest that was restored.
    Ready,
    /// Make everything ready for `Job`, start nothing.
    Prepare(Box<Job>),
    /// Start the prepared command.
    Start,
}

/// What to run, and in which surroundings.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Repeated by the guest in every later event.
    pub nonce: String,
    /// The guest's clock is set to this, nanoseconds since 1970.
    pub clock_ns: u64,
    /// Credited to the guest's random pool: bytes in hex.
    pub seed: String,
    /// Block devices to mount read-only before anything else.
    pub mounts: Vec<Mount>,
    /// The user everything below is done as.
    pub user: String,
    /// Folders removed, then made anew.
    #[serde(rename = "fresh")]
    pub empty_folders: Vec<String>,
    pub unpack: Option<Unpack>,
    pub env: BTreeMap<String, String>,
    pub cwd: String,
    pub command: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub device: String,
    pub at: String,
    pub fs: String,
}

/// An archive whose single top folder becomes `to`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpack {
    pub archive: String,
    pub to: String,
}

/// From the guest, each with the nonce of its job (empty before there is one).
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestMessage {
    pub nonce: String,
    #[serde(flatten)]
    pub event: GuestEvent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum GuestEvent {
    /// Booted, waiting for a job.
    Ready {
        kernel: String,
        cpu_flags: Vec<String>,
        memory_kib: u64,
    },
    Prepared,
    /// The job could not be prepared or started.
    Failed {
        reason: String,
    },
    Started,
    /// Once a second while the command runs.
    Sample {
        memory_kib: u64,
        cpu_ms: u64,
        /// Since the tool's start.
        io_wait_ms: u64,
        /// Threads in the guest that run or want to, the agent's left out.
        #[serde(default)]
        runnable: u32,
    },
    /// The command's own process ended; whatever it left behind was killed.
    Ended {
        exit: Exit,
        memory_kib: u64,
        oom_kills: u64,
        left_behind: u64,
        /// Since the tool's start.
        #[serde(default)]
        io_wait_ms: u64,
        /// What its kernel said that tells of the tool's end (`kmsg`).
        #[serde(default)]
        kernel_log: Vec<String>,
    },
    /// Only over ssh, said by the host: the guest is well, but the tool's session or ours was ended in it.
    #[serde(rename = "lost")]
    SessionLost,
    /// Every byte of output was written to the ports; nothing follows.
    #[serde(rename = "drained")]
    OutputComplete {
        stdout_bytes: u64,
        stderr_bytes: u64,
        /// Files the job left in its user's home, but for its `empty_folders` folders: the first `MAX_LEFTOVER_FILES`.
        #[serde(default)]
        written: Vec<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// An exit status, 0 to 255.
    Code(u8),
    /// The number of a signal, 1 to 64.
    Signal(#[serde(deserialize_with = "signal")] u8),
}

/// Linux has no signal of another number.
const SIGNALS: RangeInclusive<u8> = 1..=64;

fn signal<'de, D: Deserializer<'de>>(from: D) -> Result<u8, D::Error> {
    let number = u8::deserialize(from)?;
    match SIGNALS.contains(&number) {
        true => Ok(number),
        false => Err(D::Error::custom(format!("{number} is no signal"))),
    }
}

/// More threads than Linux can have (PID_MAX_LIMIT).
const MOST_THREADS: u32 = 1 << 22;

impl GuestEvent {
    /// Whether each figure is one that a machine can have: memory up to its own, CPU time and waiting up to `most_ms`.
    pub fn is_possible(&self, most_memory_kib: u64, most_ms: u64) -> bool {
        match *self {
            Self::Ready { memory_kib, .. } => memory_kib <= most_memory_kib,
            Self::Sample { memory_kib, cpu_ms, io_wait_ms, runnable } => {
                memory_kib <= most_memory_kib
                    && cpu_ms <= most_ms
                    && io_wait_ms <= most_ms
                    && runnable <= MOST_THREADS
            }
            Self::Ended { memory_kib, io_wait_ms, .. } => {
                memory_kib <= most_memory_kib && io_wait_ms <= most_ms
            }
            Self::Prepared
            | Self::Failed { .. }
            | Self::Started
            | Self::SessionLost
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
    fn figures_beyond_the_machine_are_impossible() {
        let sample = |memory_kib, cpu_ms, io_wait_ms| {
            GuestEvent::Sample { memory_kib, cpu_ms, io_wait_ms, runnable: 1 }.is_possible(1000, 60)
        };
        assert!(sample(1000, 60, 60));
        assert!(!sample(1001, 0, 0) && !sample(0, 61, 0) && !sample(0, 0, u64::MAX));
    }

    #[test]
    fn events_survive_the_wire() {
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
