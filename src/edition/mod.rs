//! A year's rules as data: `editions/*.toml`.

use serde::{Deserialize, Serialize};

/// An edition of the contest. Every key is documented in `editions/README.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edition {
    /// `mcc-2018`
    pub name: String,
    pub title: String,
    #[serde(rename = "examination")]
    pub examinations: Vec<Examination>,
    pub limits: Limits,
    pub machine: Machine,
}

/// One examination (rules E-1.2 to E-1.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examination {
    pub name: String,
    pub answers: AnswerKind,
    /// How many values it has: 4, 1 or 16.
    pub values: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerKind {
    /// `FORMULA id TRUE|FALSE`
    Boolean,
    /// `FORMULA id n`
    Number,
    /// `STATE_SPACE metric n`; positions STATES, TRANSITIONS, MAX_TOKEN_IN_PLACE, MAX_TOKEN_PER_MARKING.
    StateSpace,
}

/// Rule E-5.1 and RULES "Limits".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Seconds of CPU time, counted as `cpu_reading` says; 0 = no CPU limit.
    pub cpu_s: u64,
    pub cpu_reading: CpuReading,
    /// Seconds of wall time against hangs.
    pub wall_s: u64,
    /// What the tool is told as BK_TIME_CONFINEMENT, seconds.
    pub confinement_s: u64,
    /// Bytes of stdout, and as many of stderr, that are kept before the run is cut.
    pub output_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuReading {
    /// The machine's CPU time divided by its vCPUs reaches `cpu_s`.
    PerVcpu,
    /// The sum over vCPUs reaches `cpu_s`.
    Summed,
    /// No CPU limit, wall only (BenchKit's own reading).
    Benchkit,
}

/// Rules E-5.2 to E-5.4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    pub cpu_model: String,
    pub memory_mib: u64,
    pub sequential_cores: u32,
    pub concurrent_cores: u32,
}
