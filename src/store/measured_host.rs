//! How much equal computations differ on a host: what `doctor --measure` writes.

use super::{HostFacts, StoreError};
use mcc_base::OnFile;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::Path;

/// The largest spread of a quiet host: standard deviation over mean.
pub const SPREAD_GOAL: f64 = 0.02;

/// The largest shift of a quiet host: median of other conditions over the median alone, less 1; and the largest difference
/// between the accounts of guest and host.
pub const SHIFT_GOAL: f64 = 0.03;

/// The name of the file in the folder of a record.
pub const MEASURED_HOST: &str = "measured-host.json";

/// The version of the form of this file.
pub const MEASURED_HOST_FORMAT: u32 = 1;

/// The result of a measurement of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredHost {
    /// Version of this form: 1.
    pub format: u32,
    /// The host that was measured.
    pub host: HostFacts,
    /// When it was measured (RFC 3339).
    pub measured_at: String,
    /// Number of machines at once, for which the verdict is.
    pub machines: u32,
    /// Number of vCPUs of each machine.
    pub vcpus: u32,
    /// Memory of each machine, MiB.
    pub memory_mib: u64,
    /// Number of repetitions under each condition.
    pub repetitions: u32,
    /// Deviations from the conditions of the contest, such as `degraded:shared-cores`.
    pub marks: Vec<String>,
    /// The metrics with their verdicts.
    pub figures: Vec<Metric>,
    /// Whether the host is fit for a contest with this number of machines at once: all metrics are that limits or scores
    /// depend on (`Kind::decides`).
    pub fit: bool,
    /// The measured times.
    pub series: Vec<Series>,
    /// The instructions of all workloads together; empty: they were not counted, as in earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<InstructionCounts>,
}

/// The instructions at user addresses of all workloads together under one condition, one of each repetition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionCounts {
    /// The condition.
    pub condition: Condition,
    /// The counts.
    pub user: Vec<u64>,
}

impl InstructionCounts {
    /// The largest count over the smallest of all conditions, less 1; None: there is none.
    pub fn range(all: &[Self]) -> Option<f64> {
        let counts = || all.iter().flat_map(|counts| &counts.user);
        let least = counts().min().filter(|least| **least > 0)?;
        Some(*counts().max()? as f64 / *least as f64 - 1.0)
    }

    /// Standard deviation over mean; None: there are fewer than two counts, or all are 0.
    pub fn spread(&self) -> Option<f64> {
        spread(&self.user)
    }
}

impl MeasuredHost {
    /// Reads the measurement in the folder of a record; None: there is none.
    ///
    /// # Errors
    /// The file cannot be read, is not a measurement, or has another format.
    pub fn read(dir: &Path) -> Result<Option<Self>, StoreError> {
        let path = dir.join(MEASURED_HOST);
        let text = match mcc_base::text::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.on("read", &path)?,
        };
        let measured: Result<Self, _> = serde_json::from_str(&text);
        let of_format = |measured: Self| match measured.format {
            MEASURED_HOST_FORMAT => Ok(Some(measured)),
            other => Err(serde::de::Error::custom(format!("format {other} is unknown"))),
        };
        measured.and_then(of_format).map_err(|source| StoreError::Measurement { path, source })
    }
}

/// Under which conditions a machine ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// It was booted, and no other machine of this measurement ran.
    Alone,
    /// It was booted, and the other machines computed.
    BesideNeighbours,
    /// It was restored from a saved state, and no other machine of this measurement ran.
    Restored,
}

/// The times of one workload under one condition, one of each repetition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// The workload.
    pub workload: String,
    /// The condition.
    pub condition: Condition,
    /// CPU times of the vCPU threads, as the host counts them, milliseconds.
    pub cpu_ms: Vec<u64>,
    /// User and system times, as the guest counts them, milliseconds.
    pub guest_cpu_ms: Vec<u64>,
    /// Wall times by the clock of the host, milliseconds.
    pub wall_ms: Vec<u64>,
}

/// What a metric states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Spread of the CPU times alone.
    Spread,
    /// Shift of the CPU times beside loaded neighbours.
    NeighbourShift,
    /// Shift of the CPU times of a restored machine.
    RestoredShift,
    /// Difference of the guest's account from the host's, alone.
    GuestAccount,
}

impl Kind {
    /// Whether limits or scores depend on the metric: on the host's account of CPU time they do, on the guest's they do not.
    pub fn decides(self) -> bool {
        self != Self::GuestAccount
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Spread => "spread",
            Self::NeighbourShift => "beside neighbours",
            Self::RestoredShift => "restored",
            Self::GuestAccount => "guest's account",
        })
    }
}

/// One metric of the host with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The workload.
    pub workload: String,
    /// What it states.
    pub figure: Kind,
    /// Its value, as a share: 0.02 is 2 %.
    pub value: f64,
    /// The largest amount that is fit for a contest.
    pub goal: f64,
    /// Whether the amount is at most the goal.
    pub fit: bool,
}

/// The metric in percent: `restored +2.4 %`.
impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let percent = self.value * 100.0;
        match self.figure {
            Kind::Spread => write!(f, "{} {percent:.1} %", self.figure),
            _ => write!(f, "{} {percent:+.1} %", self.figure),
        }
    }
}

/// Computes the metrics of all workloads, in the order of `series`. A workload whose times are all 0 has none.
pub fn metrics(series: &[Series]) -> Vec<Metric> {
    let mut metrics = vec![];
    for alone in series.iter().filter(|other| other.condition == Condition::Alone) {
        let mut add = |figure, value: Option<f64>, goal: f64| {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                let fit = value.abs() <= goal;
                metrics.push(Metric { workload: alone.workload.clone(), figure, value, goal, fit });
            }
        };
        add(Kind::Spread, spread(&alone.cpu_ms), SPREAD_GOAL);
        for (condition, kind) in
            [(Condition::BesideNeighbours, Kind::NeighbourShift), (Condition::Restored, Kind::RestoredShift)]
        {
            let other =
                series.iter().find(|other| other.condition == condition && other.workload == alone.workload);
            add(kind, other.and_then(|other| shift(&alone.cpu_ms, &other.cpu_ms)), SHIFT_GOAL);
        }
        add(Kind::GuestAccount, shift(&alone.cpu_ms, &alone.guest_cpu_ms), SHIFT_GOAL);
    }
    metrics
}

/// Standard deviation over mean; None: fewer than two times, or all are 0.
fn spread(times: &[u64]) -> Option<f64> {
    let n = times.len() as f64;
    let mean = times.iter().map(|time| *time as f64).sum::<f64>() / n;
    let squares: f64 = times.iter().map(|time| (*time as f64 - mean).powi(2)).sum();
    (times.len() > 1 && mean > 0.0).then(|| (squares / (n - 1.0)).sqrt() / mean)
}

/// Median of `times` over median of `base`, less 1; None: a median is not known, or that of `base` is 0.
fn shift(base: &[u64], times: &[u64]) -> Option<f64> {
    let base = median(base).filter(|base| *base > 0.0)?;
    Some(median(times)? / base - 1.0)
}

fn median(times: &[u64]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)? as f64;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[middle - 1] as f64, upper) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(condition: Condition, cpu_ms: &[u64], guest_cpu_ms: &[u64]) -> Series {
        let (cpu_ms, guest_cpu_ms) = (cpu_ms.to_vec(), guest_cpu_ms.to_vec());
        Series { workload: "compute".into(), condition, wall_ms: cpu_ms.clone(), cpu_ms, guest_cpu_ms }
    }

    #[test]
    fn each_metric_is_compared_with_its_goal() {
        let alone = series(Condition::Alone, &[990, 1000, 1010], &[1020, 1029, 1035]);
        let beside = series(Condition::BesideNeighbours, &[1500, 1030, 1040, 900], &[]);
        let restored = series(Condition::Restored, &[1000, 960, 900], &[]);
        let found = metrics(&[alone, beside, restored]);
        let shown: Vec<_> =
            found.iter().map(|metric| (metric.figure, (metric.value * 1e4).round(), metric.fit)).collect();
        let expected = [
            (Kind::Spread, 100.0, true),
            (Kind::NeighbourShift, 350.0, false),
            (Kind::RestoredShift, -400.0, false),
            (Kind::GuestAccount, 290.0, true),
        ];
        assert_eq!(shown, expected);
        assert_eq!(found.iter().filter(|metric| metric.figure.decides()).count(), 3);
        assert!(metrics(&[series(Condition::Alone, &[0, 0], &[0, 0])]).is_empty());
        let counts = |condition, user: &[u64]| InstructionCounts { condition, user: user.to_vec() };
        let all = [counts(Condition::Alone, &[1000, 1000]), counts(Condition::Restored, &[1010, 1000])];
        assert_eq!((all[0].spread(), InstructionCounts::range(&all)), (Some(0.0), Some(1.01 - 1.0)));
        assert_eq!(InstructionCounts::range(&[]), None);
    }

    #[test]
    fn a_file_that_is_not_a_measurement_is_an_error_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(MeasuredHost::read(folder.path()).unwrap(), None);
        for bad in ["", "{}", "[1]", "\u{0}"] {
            std::fs::write(folder.path().join(MEASURED_HOST), bad).unwrap();
            let error = MeasuredHost::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains("measured-host.json") && error.contains("doctor --measure"), "{error}");
        }
    }
}
