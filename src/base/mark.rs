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

/// Defines the marks as constants, each with its word in files, and for people its name and what it means for the run.
macro_rules! marks {
    ($($(#[$doc:meta])* $mark:ident = $word:literal, $name:literal, $meaning:literal;)*) => {
        impl Mark {
            $($(#[$doc])* pub const $mark: Self = Self::new($word);)*
        }

        /// Each mark in words, and what it means for the run.
        const WORDS: &[(Mark, &str, &str)] = &[$((Mark::$mark, $name, $meaning)),*];
    };
}

marks! {
    /// The machine ran under TCG, which is much slower than KVM.
    TCG = "degraded:tcg", "emulated processor",
        "the machine ran without hardware virtualization (TCG), which is much slower";
    /// The guest lacked CPU flags that the edition requires.
    CPU_FLAGS = "degraded:cpu-flags", "processor features missing",
        "the guest lacked CPU flags that the edition requires";
    /// Machines shared cores of the host.
    SHARED_CORES = "degraded:shared-cores", "shared cores", "the machine shared cores of the host, with other machines or between its own vCPUs";
    /// The machines together had more memory than the host had available.
    OVERCOMMITTED_MEMORY = "degraded:overcommitted-memory", "too little memory on the host",
        "the machines that ran at once had more memory in all than the host had free";
    /// The governor of the host's CPUs was not `performance`, or is unknown.
    GOVERNOR = "degraded:governor", "clock rate may vary",
        "the frequency governor of the host's CPUs was not “performance”, or is unknown";
    /// The host used swap space.
    SWAP = "degraded:swap", "swap space", "the host used swap space";
    /// The leased cores were slower during the run, by more than the threshold of the campaign.
    DISTURBED = "disturbed", "slower cores",
        "the cores of the run were slower than at their best while it ran; in records of older versions, the mark may also mean that other programs used the cores";
    /// A setting of the host changed during the attempt.
    HOST_CHANGED = "host-changed", "host changed", "a setting of the host changed during the run";
    /// The runs on the model of this instance took place on several hosts (E-5.1 requires one host).
    MIXED_HOST = "mixed-host", "several hosts", "the runs on this model took place on several hosts (E-5.1)";
    /// The machine was started from a saved state.
    RESTORED = "restored", "restored machine", "the machine was started from a saved state, not booted";
    /// The output was longer than the cap; the rest was not kept.
    OUTPUT_TRUNCATED = "output-truncated", "output truncated",
        "the output was longer than the limit; the rest was not kept";
    /// The end of the output, or of the evidence, was not received.
    OUTPUT_INCOMPLETE = "output-incomplete", "output incomplete",
        "the end of the output, or of the evidence, was not received";
    /// The guest's kernel killed processes for lack of memory.
    OOM_KILLS = "oom-kills", "out of memory", "the guest's kernel ended processes for lack of memory";
    /// A limit was enforced more than a second late. Costs in a judgement do not exceed the limit (E-5.1).
    LATE_LIMIT = "late-limit", "late limit",
        "a limit was enforced more than a second late; the cost is that of the limit";
    /// More than 5 s of CPU time were used while the instance was prepared.
    CPU_WHILE_PREPARING = "cpu-while-preparing", "CPU before the run",
        "more than 5 s of CPU time were used while the instance was prepared";
    /// More than 5 s of CPU time were used after the tool's end, while its output was collected.
    CPU_WHILE_COLLECTING = "cpu-while-collecting", "CPU after the run",
        "more than 5 s of CPU time were used after the end of the tool";
    /// Processes of the tool were still running when its main process ended.
    LEFT_BEHIND = "left-behind", "processes left",
        "processes of the tool still ran when its main process ended";
    /// The channel to the guest was closed while its machine ran: a session over ssh, or the port of the agent.
    CONNECTION_LOST = "connection-lost", "connection lost",
        "the channel to the guest was closed while its machine ran";
    /// The guest, or its control session over ssh, sent messages that are invalid, impossible or unexpected, or too many.
    GUEST_MESSAGES = "guest-messages", "invalid messages",
        "the guest sent messages that are invalid, impossible or unexpected";
    /// The content of a tool's disk kept the instance from being prepared: the programs of an original disk, or files where the
    /// guest agent makes folders.
    NOT_PREPARED = "not-prepared", "not prepared",
        "the tool's disk kept the instance from being prepared";
    /// The kernel of the guest panicked after its boot.
    GUEST_PANIC = "guest-panic", "kernel panic", "the kernel of the guest panicked";
    /// The guest switched its machine off after its boot.
    GUEST_SHUTDOWN = "guest-shutdown", "switched off",
        "the guest switched its machine off after its boot";
    /// The guest reset its machine after its boot.
    GUEST_RESET = "guest-reset", "reset", "the guest reset its machine after its boot";
    /// QEMU crashed after the tool's start, ended or stopped by itself, or broke its control protocol.
    QEMU_CRASH = "qemu-crash", "QEMU crashed",
        "QEMU crashed after the tool's start, ended or stopped by itself, or broke its control protocol";
    /// QEMU could not read or write the tool's disk, although the host could.
    DISK_ERROR = "disk-error", "disk failed", "QEMU could not read or write the tool's disk, although the host could";
    /// The search for files that the tool left in its home ended at a bound; there may be more files.
    FILE_SEARCH_CUT = "file-search-cut", "files not all listed",
        "the search for files that the tool left ended at a bound";
    /// A plugin of QEMU counted instructions, which takes CPU time.
    INSTRUCTIONS_COUNTED = "instructions-counted", "instructions counted",
        "a plugin of QEMU counted instructions, which takes CPU time";
    /// The guest placed programs at the same addresses each time, and hash seeds were fixed (`[guest] deterministic`).
    DETERMINISTIC_GUEST = "deterministic-guest", "deterministic guest",
        "the guest placed programs at the same addresses each time, and hash seeds were fixed";
    /// The run has no attempt yet.
    NOT_RUN_YET = "not-run-yet", "not run yet", "the run has no attempt yet";
}

impl Mark {
    /// The mark in words, and what it means for the run; None for a mark of another version.
    pub fn in_words(&self) -> Option<(&'static str, &'static str)> {
        WORDS.iter().find(|(mark, ..)| mark == self).map(|(_, word, meaning)| (*word, *meaning))
    }

    /// The name of the mark for people; of a mark of another version its word in files.
    pub fn name(&self) -> &str {
        self.in_words().map_or(self, |(name, _)| name)
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
