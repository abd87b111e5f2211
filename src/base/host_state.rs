//! The state of a host around an attempt: its settings, and what else used it during the run.

use crate::figures::{self, BadFigure};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The state of a host around an attempt. Sources that the host does not have are named in `unknown`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostState {
    /// The settings of the host before the attempt, by name (`governor`, `swap`, ...).
    pub settings: BTreeMap<String, String>,
    /// The settings that had another value after the attempt, with this value (`unknown` if it was not readable).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, String>,
    /// Settings and metrics for which this host has no source.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unknown: BTreeSet<String>,
    /// Number of other machines with leased cores of the same socket, before and after the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines_on_socket: Option<[u32; 2]>,
    /// What used the host during the run; None: the tool was not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<HostLoad>,
    /// Why the run is marked `disturbed`: the factor of slower cores. Earlier versions have other metrics too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<String>,
}

/// What used the host while a tool ran. None: the host has no source for the value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostLoad {
    /// The time in which these values were counted, ms.
    pub wall_ms: u64,
    /// Time in which vCPU threads could run and had no CPU, sum, ms (`schedstat` of the threads).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starved_ms: Option<u64>,
    /// Time of the leased CPUs that the hypervisor below this host gave to others, sum, ms (`/proc/stat`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_ms: Option<u64>,
    /// CPU time of other processes and of the kernel on the leased cores, ms (`/proc/stat` less the own time).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_ms: Option<u64>,
    /// The part of `foreign_ms` that other processes used in user mode, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_user_ms: Option<u64>,
    /// Time in which a task of the host waited for a CPU, ms (`some` of `/proc/pressure/cpu`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_pressure_ms: Option<u64>,
    /// Time in which a task of the host waited for memory, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_pressure_ms: Option<u64>,
    /// Time in which a task of the host waited for a disk, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_pressure_ms: Option<u64>,
    /// How often the leased cores and their packages were slowed because of their temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<u64>,
    /// Swap space in use on the host at the start and at the end of the run, KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_used_kib: Option<[u64; 2]>,
    /// The speed of the leased cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

/// CPU times of a fixed computation on the leased cores, per mille of the shortest time that the controller has measured
/// on the same core: 1000 is full speed, 2000 is half of it. Of several cores, the slowest counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Calibration {
    /// The shortest time, ns.
    pub shortest_ns: u64,
    /// Before the machine was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The mean of the measurements during the run; None: fewer than 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during: Option<u64>,
    /// After the end of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// The beginning of the reason of a run with slower cores. Records of earlier versions have it beside other reasons.
pub const SLOWER_DURING: &str = "the cores were slower during the run: by ";

impl HostState {
    /// The factor of the slower cores of a run that is marked for them, per mille: 1090 is 9 % slower.
    pub fn marked_factor(&self) -> Option<u64> {
        let is_slower = self.disturbed.iter().any(|reason| reason.starts_with(SLOWER_DURING));
        self.load.as_ref()?.calibration.as_ref()?.during.filter(|_| is_slower)
    }

    /// Checks that the values are possible measurements (`figures`).
    ///
    /// # Errors
    /// The first value that is not, with its key.
    pub fn check(&self) -> Result<(), BadFigure> {
        let Some(load) = &self.load else { return Ok(()) };
        figures::check_ms([
            ("host_state: wall_ms", Some(load.wall_ms)),
            ("host_state: starved_ms", load.starved_ms),
            ("host_state: steal_ms", load.steal_ms),
            ("host_state: foreign_ms", load.foreign_ms),
            ("host_state: foreign_user_ms", load.foreign_user_ms),
            ("host_state: cpu_pressure_ms", load.cpu_pressure_ms),
            ("host_state: memory_pressure_ms", load.memory_pressure_ms),
            ("host_state: io_pressure_ms", load.io_pressure_ms),
        ])?;
        let [before, after] = load.swap_used_kib.unwrap_or_default();
        figures::check_kib(["host_state: swap_used_kib"; 2].into_iter().zip([Some(before), Some(after)]))
    }
}

/// The value of a setting of the host in words: some are words of the Linux kernel.
pub fn setting_in_words(value: &str) -> &str {
    match value {
        "notsupported" => "not supported",
        "notimplemented" => "not implemented",
        "forceoff" => "forced off",
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_state_is_compact_and_its_values_have_bounds() {
        let unknown = HostState::default();
        assert_eq!(serde_json::to_string(&unknown).unwrap(), r#"{"settings":{}}"#);
        assert_eq!(serde_json::from_str::<HostState>("{}").unwrap(), unknown);
        let with = |load| HostState { load: Some(load), ..HostState::default() };
        assert!(with(HostLoad { wall_ms: 1, starved_ms: Some(2), ..HostLoad::default() }).check().is_ok());
        let error = with(HostLoad { steal_ms: Some(u64::MAX), ..HostLoad::default() }).check().unwrap_err();
        assert!(error.to_string().starts_with("host_state: steal_ms: 18446744073709551615"), "{error}");
        assert!(
            with(HostLoad { swap_used_kib: Some([0, u64::MAX]), ..HostLoad::default() }).check().is_err()
        );
    }
}
