//! Marks of runs: deviations from contest conditions and other facts that a reader of a result must know.

use serde::{Deserialize, Serialize};
use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;

/// A mark, as it is written in records and judgements. Unknown marks are kept unchanged, so that records of other
/// versions stay readable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mark(Cow<'static, str>);

impl Mark {
    /// The machine ran under TCG, which is much slower than KVM.
    pub const TCG: Self = Self::new("degraded:tcg");
    /// The guest lacked CPU flags that the edition requires.
    pub const CPU_FLAGS: Self = Self::new("degraded:cpu-flags");
    /// Machines shared cores of the host.
    pub const SHARED_CORES: Self = Self::new("degraded:shared-cores");
    /// The machines together had more memory than the host had available.
    pub const OVERCOMMITTED_MEMORY: Self = Self::new("degraded:overcommitted-memory");
    /// The governor of the host's CPUs was not `performance`, or is unknown.
    pub const GOVERNOR: Self = Self::new("degraded:governor");
    /// The host used swap space.
    pub const SWAP: Self = Self::new("degraded:swap");
    /// The leased cores were slower during the run, by more than the threshold of the campaign.
    pub const DISTURBED: Self = Self::new("disturbed");
    /// A setting of the host changed during the attempt.
    pub const HOST_CHANGED: Self = Self::new("host-changed");
    /// The runs on the model of this instance took place on several hosts (E-5.1 requires one host).
    pub const MIXED_HOST: Self = Self::new("mixed-host");
    /// The machine was started from a saved state.
    pub const RESTORED: Self = Self::new("restored");
    /// The output was longer than the cap; the rest was not kept.
    pub const OUTPUT_TRUNCATED: Self = Self::new("output-truncated");
    /// The end of the output, or of the evidence, was not received.
    pub const OUTPUT_INCOMPLETE: Self = Self::new("output-incomplete");
    /// The guest's kernel killed processes for lack of memory.
    pub const OOM_KILLS: Self = Self::new("oom-kills");
    /// A limit was enforced more than a second late. Costs in a judgement do not exceed the limit (E-5.1).
    pub const LATE_LIMIT: Self = Self::new("late-limit");
    /// More than 5 s of CPU time were used while the instance was prepared.
    pub const CPU_WHILE_PREPARING: Self = Self::new("cpu-while-preparing");
    /// More than 5 s of CPU time were used after the tool's end, while its output was collected.
    pub const CPU_WHILE_COLLECTING: Self = Self::new("cpu-while-collecting");
    /// Processes of the tool were still running when its main process ended.
    pub const LEFT_BEHIND: Self = Self::new("left-behind");
    /// The channel to the guest was closed while its machine ran: a session over ssh, or the port of the agent.
    pub const CONNECTION_LOST: Self = Self::new("connection-lost");
    /// The guest, or its control session over ssh, sent messages that are invalid, impossible or unexpected, or too many.
    pub const GUEST_MESSAGES: Self = Self::new("guest-messages");
    /// The programs of an original disk did not prepare the instance.
    pub const NOT_PREPARED: Self = Self::new("not-prepared");
    /// The kernel of the guest panicked after the tool's start.
    pub const GUEST_PANIC: Self = Self::new("guest-panic");
    /// The guest switched its machine off after the tool's start.
    pub const GUEST_SHUTDOWN: Self = Self::new("guest-shutdown");
    /// The guest reset its machine after the tool's start.
    pub const GUEST_RESET: Self = Self::new("guest-reset");
    /// QEMU crashed after the tool's start.
    pub const QEMU_CRASH: Self = Self::new("qemu-crash");
    /// The search for files that the tool left in its home ended at a bound; there may be more files.
    pub const FILE_SEARCH_CUT: Self = Self::new("file-search-cut");
    /// A plugin of QEMU counted instructions, which takes CPU time.
    pub const INSTRUCTIONS_COUNTED: Self = Self::new("instructions-counted");
    /// The guest placed programs at the same addresses each time, and hash seeds were fixed (`[guest] deterministic`).
    pub const DETERMINISTIC_GUEST: Self = Self::new("deterministic-guest");
    /// The run has no attempt yet.
    pub const NOT_RUN_YET: Self = Self::new("not-run-yet");

    /// The mark in words, and what it means for the run; None for a mark of another version.
    pub fn in_words(&self) -> Option<(&'static str, &'static str)> {
        WORDS.iter().find(|(mark, ..)| mark == self).map(|(_, word, meaning)| (*word, *meaning))
    }

    const fn new(word: &'static str) -> Self {
        Self(Cow::Borrowed(word))
    }

    /// Whether a run with these marks has an attempt. A run of a campaign that is judged before its end may have none.
    pub fn was_made(marks: &[Self]) -> bool {
        !marks.contains(&Self::NOT_RUN_YET)
    }

    /// Whether the host did not meet the edition's requirements on the machine.
    pub fn is_degraded(&self) -> bool {
        self.starts_with("degraded:")
    }

    /// Whether the run's time and memory cannot be compared with those of other runs (E-5.1).
    pub fn excludes_cost(&self) -> bool {
        self.is_degraded() || *self == Self::MIXED_HOST
    }
}

/// Each mark in words, and what it means for the run.
const WORDS: [(Mark, &str, &str); 28] = [
    (
        Mark::TCG,
        "emulated processor",
        "the machine ran without hardware virtualization (TCG), which is much slower",
    ),
    (Mark::CPU_FLAGS, "other processor", "the guest lacked CPU flags that the edition requires"),
    (Mark::SHARED_CORES, "shared cores", "machines shared cores of the host"),
    (
        Mark::OVERCOMMITTED_MEMORY,
        "too little memory on the host",
        "the machines had more memory than the host had available",
    ),
    (
        Mark::GOVERNOR,
        "unsteady clock rate",
        "the governor of the host's CPUs was not “performance”, or is unknown",
    ),
    (Mark::SWAP, "swap space", "the host used swap space"),
    (
        Mark::DISTURBED,
        "disturbed",
        "the cores of the run were slower while it ran; in older records others may also have used them",
    ),
    (Mark::HOST_CHANGED, "host changed", "a setting of the host changed during the run"),
    (Mark::MIXED_HOST, "several hosts", "the runs on this model took place on several hosts (E-5.1)"),
    (Mark::RESTORED, "restored machine", "the machine was started from a saved state, not booted"),
    (Mark::OUTPUT_TRUNCATED, "output cut", "the output was longer than the limit; the rest was not kept"),
    (
        Mark::OUTPUT_INCOMPLETE,
        "output incomplete",
        "the end of the output, or of the evidence, was not received",
    ),
    (Mark::OOM_KILLS, "out of memory", "the guest's kernel ended processes for lack of memory"),
    (
        Mark::LATE_LIMIT,
        "late limit",
        "a limit was enforced more than a second late; the cost is that of the limit",
    ),
    (
        Mark::CPU_WHILE_PREPARING,
        "CPU before the run",
        "more than 5 s of CPU time were used while the instance was prepared",
    ),
    (
        Mark::CPU_WHILE_COLLECTING,
        "CPU after the run",
        "more than 5 s of CPU time were used after the end of the tool",
    ),
    (Mark::LEFT_BEHIND, "processes left", "processes of the tool still ran when its main process ended"),
    (Mark::CONNECTION_LOST, "connection lost", "the channel to the guest was closed while its machine ran"),
    (
        Mark::GUEST_MESSAGES,
        "invalid messages",
        "the guest sent messages that are invalid, impossible or unexpected",
    ),
    (Mark::NOT_PREPARED, "not prepared", "the programs of the original disk did not prepare the instance"),
    (Mark::GUEST_PANIC, "kernel panic", "the kernel of the guest panicked"),
    (Mark::GUEST_SHUTDOWN, "switched off", "the guest switched its machine off after the tool's start"),
    (Mark::GUEST_RESET, "reset", "the guest reset its machine after the tool's start"),
    (Mark::QEMU_CRASH, "QEMU crashed", "QEMU crashed after the tool's start"),
    (
        Mark::FILE_SEARCH_CUT,
        "files not all listed",
        "the search for files that the tool left ended at a bound",
    ),
    (
        Mark::INSTRUCTIONS_COUNTED,
        "instructions counted",
        "a plugin of QEMU counted instructions, which takes CPU time",
    ),
    (
        Mark::DETERMINISTIC_GUEST,
        "deterministic guest",
        "the guest placed programs at the same addresses each time, and hash seeds were fixed",
    ),
    (Mark::NOT_RUN_YET, "not run yet", "the run has no attempt yet"),
];

impl Deref for Mark {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

// For `[Mark]::join`.
impl Borrow<str> for Mark {
    fn borrow(&self) -> &str {
        self
    }
}

impl From<String> for Mark {
    fn from(word: String) -> Self {
        Self(Cow::Owned(word))
    }
}

impl From<&str> for Mark {
    fn from(word: &str) -> Self {
        word.to_owned().into()
    }
}

impl PartialEq<str> for Mark {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Mark {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_other_versions_are_read_and_written_unchanged() {
        let words = r#"["degraded:tcg","degraded:new","mixed-host","unknown"]"#;
        let marks: Vec<Mark> = serde_json::from_str(words).unwrap();
        assert_eq!(serde_json::to_string(&marks).unwrap(), words);
        assert_eq!(marks[0], Mark::TCG);
        assert_eq!([0, 1, 2, 3].map(|at: usize| marks[at].is_degraded()), [true, true, false, false]);
        assert_eq!([0, 1, 2, 3].map(|at: usize| marks[at].excludes_cost()), [true, true, true, false]);
    }
}
