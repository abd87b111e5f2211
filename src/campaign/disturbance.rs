//! `[hosts.disturbed]`: when a run counts as disturbed, and whether it is repeated.

use mcc_edition::between;
use serde::{Deserialize, Serialize};

/// The threshold of the mark `disturbed` (`slower_percent`), those of repetitions, in percent, and the number of
/// repetitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Disturbance {
    /// Time in which vCPUs could run and had no CPU, of the run's wall time.
    #[serde(deserialize_with = "between::<0, 1_000_000, _, _>")]
    pub starved_percent: u64,
    /// Time that the hypervisor below the host gave to others, of the run's wall time.
    #[serde(deserialize_with = "between::<0, 1_000_000, _, _>")]
    pub steal_percent: u64,
    /// CPU time of others on the leased cores, of the run's wall time.
    #[serde(deserialize_with = "between::<0, 1_000_000, _, _>")]
    pub foreign_percent: u64,
    /// Has no effect; campaigns of version 0.1 have it.
    #[serde(deserialize_with = "between::<0, 1_000_000, _, _>")]
    pub pressure_percent: u64,
    /// By how much the leased cores were slower than at their best.
    #[serde(deserialize_with = "between::<0, 1_000_000, _, _>")]
    pub slower_percent: u64,
    /// How often a run is repeated that was disturbed by something that no guest can cause.
    #[serde(deserialize_with = "between::<0, 10, _, _>")]
    pub repeats: u32,
}

impl Default for Disturbance {
    fn default() -> Self {
        Self {
            starved_percent: 2,
            steal_percent: 1,
            foreign_percent: 2,
            pressure_percent: 10,
            slower_percent: 5,
            repeats: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_have_defaults_and_bounds() {
        let parsed = |text: &str| toml::from_str::<Disturbance>(text);
        assert_eq!(parsed("").unwrap(), Disturbance::default());
        let changed = Disturbance { slower_percent: 7, repeats: 1, ..Disturbance::default() };
        assert_eq!(parsed("slower_percent = 7\nrepeats = 1").unwrap(), changed);
        for bad in ["repeats = 11", "slower_percent = -1", "steal_percent = 1.5", "starved = 1"] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }
}
