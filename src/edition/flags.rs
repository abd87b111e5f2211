//! The CPU flags that a guest must have, and those that it may have (E-5.2).

use serde::{Deserialize, Serialize};

/// CPU flags with the names of `/proc/cpuinfo` of Linux. Empty lists: the edition requires none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuFlags {
    /// Flags that the CPU model enables; a tool may be compiled for them.
    #[serde(default)]
    pub required: Vec<String>,
    /// Flags that the rules list as "depending on the configuration of the execution machine".
    #[serde(default)]
    pub possible: Vec<String>,
}

impl CpuFlags {
    /// The required flags that are not in `seen`, in the order of the edition.
    pub fn missing<T: AsRef<str>>(&self, seen: &[T]) -> Vec<String> {
        let is_seen = |flag: &&String| seen.iter().any(|seen| seen.as_ref() == flag.as_str());
        self.required.iter().filter(|flag| !is_seen(flag)).cloned().collect()
    }

    /// The possible flags that are in `seen`.
    pub fn enabled<T: AsRef<str>>(&self, seen: &[T]) -> Vec<String> {
        let is_seen = |flag: &&String| seen.iter().any(|seen| seen.as_ref() == flag.as_str());
        self.possible.iter().filter(is_seen).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::Edition;

    #[test]
    fn the_cpu_flags_of_2018_are_those_of_the_rules() {
        let flags = Edition::load("mcc-2018").unwrap().machine.cpu_flags;
        assert_eq!((flags.required.len(), flags.possible.len()), (38, 9));
        let mut seen = flags.required.clone();
        seen.extend(["vme".to_owned(), "avx2".to_owned()]);
        assert_eq!(flags.missing(&seen), [""; 0]);
        assert_eq!(flags.enabled(&seen), ["vme"]);
        seen.retain(|flag| flag != "avx" && flag != "de");
        assert_eq!(flags.missing(&seen), ["de", "avx"]);
    }
}
