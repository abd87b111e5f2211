//! Editions of CRV, the competition on runtime verification (section 4 of the report of 2014).

use super::error::{Fault, ensure};
use super::{Status, StatusRule, fraction};
use num_rational::BigRational;
use num_traits::Signed;
use serde::{Deserialize, Serialize};

/// An edition of CRV. Every key is documented in `editions/README.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrvEdition {
    /// Always `crv`.
    pub contest: CrvContest,
    /// Name, such as `crv-2014`.
    pub name: String,
    /// Title for display.
    pub title: String,
    /// Points for correctness (section 4.1).
    pub correctness: Correctness,
    /// Points for overhead, and the same for memory, that the tools share on one benchmark (sections 4.2 and 4.3).
    #[serde(with = "fraction::setting")]
    pub shared_points: BigRational,
    /// In online monitoring a verdict counts as a timeout after this multiple of the time of the program without a monitor.
    #[serde(with = "fraction::setting", alias = "patience")]
    pub timeout_factor: BigRational,
    /// Entries with at most this many points less than the first of a rank share the rank.
    #[serde(with = "fraction::setting")]
    pub tie_margin: BigRational,
    /// Allowed differences between printed and computed scores.
    pub tolerance: Tolerance,
    /// The tracks in the order of the contest, each with its own podium.
    #[serde(rename = "track")]
    pub tracks: Vec<Track>,
    /// Rules for the status of entries. The first rule whose pattern fits an entry counts.
    #[serde(default, rename = "status")]
    pub statuses: Vec<StatusRule>,
}

/// The contest of a `CrvEdition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrvContest {
    /// CRV, the competition on runtime verification.
    Crv,
}

/// Points for correctness by the ending of a run (section 4.1). An ending that the rules do not have for a kind of
/// monitoring is rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correctness {
    /// A right verdict.
    #[serde(with = "fraction::setting")]
    pub right: BigRational,
    /// A wrong verdict.
    #[serde(with = "fraction::setting")]
    pub wrong: BigRational,
    /// The property cannot be written in the language of the tool.
    #[serde(with = "fraction::setting")]
    pub inexpressible: BigRational,
    /// The monitored program crashed in online monitoring.
    #[serde(with = "fraction::setting")]
    pub crash_online: BigRational,
    /// The monitor crashed in offline monitoring.
    #[serde(with = "fraction::setting")]
    pub crash_offline: BigRational,
    /// No verdict in time in online monitoring.
    #[serde(with = "fraction::setting")]
    pub timeout_online: BigRational,
}

/// Allowed differences between printed and computed scores. The judgement has a note on larger ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// For overhead scores.
    #[serde(with = "fraction::setting")]
    pub overhead: BigRational,
    /// For memory scores.
    #[serde(with = "fraction::setting")]
    pub memory: BigRational,
    /// For printed totals, compared with the sum of the printed column.
    #[serde(with = "fraction::setting")]
    pub total: BigRational,
}

/// A track of the contest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Track {
    /// Name of the track in the tables of results.
    pub name: String,
    /// The kind of monitoring.
    pub monitoring: Monitoring,
}

/// The kind of monitoring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Monitoring {
    /// The monitor observes the running program.
    Online,
    /// The monitor reads a recorded trace.
    Offline,
}

impl Track {
    /// The track in words: `Online monitoring of C programs`. Another name than those of 2014 stays as it is.
    pub fn title(&self) -> String {
        let monitoring = match self.monitoring {
            Monitoring::Online => "Online monitoring",
            Monitoring::Offline => "Offline monitoring",
        };
        match self.name.as_str() {
            "c" => format!("{monitoring} of C programs"),
            "java" => format!("{monitoring} of Java programs"),
            "online" | "offline" => monitoring.to_owned(),
            name => format!("{monitoring}: {name}"),
        }
    }
}

impl CrvEdition {
    /// Returns a fault for the first key with invalid content.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let points = &self.correctness;
        ensure(points.right.is_positive(), &["correctness", "right"], "must be more than 0")?;
        for (key, value) in [
            ("wrong", &points.wrong),
            ("inexpressible", &points.inexpressible),
            ("crash_online", &points.crash_online),
            ("crash_offline", &points.crash_offline),
            ("timeout_online", &points.timeout_online),
        ] {
            ensure(!value.is_positive(), &["correctness", key], "must be 0 or less")?;
        }
        for (key, value) in [
            (&["shared_points"][..], &self.shared_points),
            (&["timeout_factor"], &self.timeout_factor),
            (&["tie_margin"], &self.tie_margin),
            (&["tolerance", "overhead"], &self.tolerance.overhead),
            (&["tolerance", "memory"], &self.tolerance.memory),
            (&["tolerance", "total"], &self.tolerance.total),
        ] {
            ensure(!value.is_negative(), key, "must be 0 or more")?;
        }
        self.tracks.iter().enumerate().try_for_each(|(number, Track { name, .. })| {
            let first = self.tracks[..number].iter().all(|other| other.name != *name);
            let message = format!("track `{name}` is named twice");
            ensure(first, &["track", &number.to_string(), "name"], message)
        })
    }

    /// The settings without the names of resigned entries (P-4), for publication.
    pub fn without_resigned(&self) -> Self {
        let mut edition = self.clone();
        edition.statuses.retain(|rule| rule.status != Status::Resigned);
        edition
    }

    /// The track with this name and its index.
    pub fn track(&self, name: &str) -> Option<(usize, &Track)> {
        self.tracks.iter().enumerate().find(|(_, track)| track.name == name)
    }
}
