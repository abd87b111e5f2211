//! Marks of runs: what people must know about a run beside how it ended.

use serde::{Deserialize, Serialize};
use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;

/// A mark, as records and judgements write it. One that this version does not know is kept as it is: records of
/// other versions stay readable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mark(Cow<'static, str>);

impl Mark {
    /// The machine ran under TCG: slow.
    pub const TCG: Self = Self::new("degraded:tcg");
    /// The guest lacked CPU flags that the edition asks for.
    pub const CPU_FLAGS: Self = Self::new("degraded:cpu-flags");
    /// Machines shared cores of the host.
    pub const SHARED_CORES: Self = Self::new("degraded:shared-cores");
    /// Machines had more memory than the host could give.
    pub const OVERCOMMITTED_MEMORY: Self = Self::new("degraded:overcommitted-memory");
    /// Runs on the instance's model took place on several hosts.
    pub const MIXED_HOST: Self = Self::new("mixed-host");
    /// The machine was started from a saved state.
    pub const RESTORED: Self = Self::new("restored");
    /// More output than is kept was cut off.
    pub const OUTPUT_TRUNCATED: Self = Self::new("output-truncated");
    /// The end of the output was not received.
    pub const OUTPUT_INCOMPLETE: Self = Self::new("output-incomplete");
    /// The guest's kernel killed processes for lack of memory.
    pub const OOM_KILLS: Self = Self::new("oom-kills");
    /// A limit was enforced more than a second late; costs in a judgement never exceed the limit (E-5.1).
    pub const LATE_LIMIT: Self = Self::new("late-limit");
    /// More than 5 s of CPU time were used while the instance was prepared.
    pub const CPU_WHILE_PREPARING: Self = Self::new("cpu-while-preparing");
    /// More than 5 s of CPU time were used after the tool's end, while its output was collected.
    pub const CPU_WHILE_COLLECTING: Self = Self::new("cpu-while-collecting");
    /// Processes of the tool ran on after its end.
    pub const LEFT_BEHIND: Self = Self::new("left-behind");
    /// The connection to the guest was lost.
    pub const CONNECTION_LOST: Self = Self::new("connection-lost");
    /// The run is still to be made.
    pub const NOT_RUN_YET: Self = Self::new("not-run-yet");

    const fn new(word: &'static str) -> Self {
        Self(Cow::Borrowed(word))
    }

    /// Whether the host did not give the machine what the edition promises.
    pub fn is_degraded(&self) -> bool {
        self.starts_with("degraded:")
    }

    /// Whether the run's time and memory cannot be compared with those of other runs.
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

/// So that marks can be joined.
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
        let words = r#"["degraded:tcg","degraded:of-tomorrow","mixed-host","unknown"]"#;
        let marks: Vec<Mark> = serde_json::from_str(words).unwrap();
        assert_eq!(serde_json::to_string(&marks).unwrap(), words);
        assert_eq!(marks[0], Mark::TCG);
        assert_eq!([0, 1, 2, 3].map(|at: usize| marks[at].is_degraded()), [true, true, false, false]);
        assert_eq!([0, 1, 2, 3].map(|at: usize| marks[at].excludes_cost()), [true, true, true, false]);
    }
}
