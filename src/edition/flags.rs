//! The CPU flags a guest must see, and may see (rule E-5.2).

use serde::{Deserialize, Serialize};

/// As Linux names them in `/proc/cpuinfo`. Empty: the edition asks for none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuFlags {
    /// Enabled by the CPU model: a tool may be compiled for them.
    #[serde(default)]
    pub required: Vec<String>,
    /// "Depending on the configuration of the execution machine."
    #[serde(default)]
    pub possible: Vec<String>,
}

impl CpuFlags {
    /// The required flags that are not among those seen, in the edition's order.
    pub fn missing<T: AsRef<str>>(&self, seen: &[T]) -> Vec<String> {
        let is_seen = |flag: &&String| seen.iter().any(|seen| seen.as_ref() == flag.as_str());
        self.required.iter().filter(|flag| !is_seen(flag)).cloned().collect()
    }

    /// The possible flags that are among those seen.
    pub fn enabled<T: AsRef<str>>(&self, seen: &[T]) -> Vec<String> {
        let is_seen = |flag: &&String| seen.iter().any(|seen| seen.as_ref() == flag.as_str());
        self.possible.iter().filter(is_seen).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::Edition;

    #[test]
    fn the_table_of_2018_names_what_the_rules_print() {
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
