//! An edition of CRV, the competition on runtime verification (section 4 of the report of 2014).

use super::error::Fault;
use super::{Status, StatusRule, fraction};
use num_rational::BigRational;
use num_traits::Signed;
use serde::{Deserialize, Serialize};

/// Every key is documented in `editions/README.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrvEdition {
    pub contest: CrvContest,
    /// `crv-2014`
    pub name: String,
    pub title: String,
    pub correctness: Correctness,
    /// Points of overhead, and as many of memory, that the tools share on one benchmark.
    #[serde(with = "fraction")]
    pub shared_points: BigRational,
    /// Online, a tool without a verdict after this many times the program's own time has none.
    #[serde(with = "fraction", alias = "patience")]
    pub timeout_factor: BigRational,
    /// Totals no further than this below the first of a rank share it.
    #[serde(with = "fraction")]
    pub tie_margin: BigRational,
    pub tolerance: Tolerance,
    #[serde(rename = "track")]
    pub tracks: Vec<Track>,
    /// In order; the first pattern that fits an entry says its status.
    #[serde(default, rename = "status")]
    pub statuses: Vec<StatusRule>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrvContest {
    Crv,
}

/// Section 4.1. Points by how a run ended; an ending the rules do not name in a kind of monitoring is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correctness {
    #[serde(with = "fraction")]
    pub right: BigRational,
    #[serde(with = "fraction")]
    pub wrong: BigRational,
    #[serde(with = "fraction")]
    pub inexpressible: BigRational,
    #[serde(with = "fraction")]
    pub crash_online: BigRational,
    #[serde(with = "fraction")]
    pub crash_offline: BigRational,
    #[serde(with = "fraction")]
    pub timeout_online: BigRational,
}

/// How far printed figures may lie from recomputed ones before the judgement says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    #[serde(with = "fraction")]
    pub overhead: BigRational,
    #[serde(with = "fraction")]
    pub memory: BigRational,
    /// Of a column's sum from the printed total.
    #[serde(with = "fraction")]
    pub total: BigRational,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Track {
    pub name: String,
    pub monitoring: Monitoring,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Monitoring {
    Online,
    Offline,
}

impl CrvEdition {
    pub(super) fn check(&self) -> Option<Fault> {
        let at = |parts: &[&str]| parts.iter().map(ToString::to_string).collect::<Vec<_>>();
        if !self.correctness.right.is_positive() {
            return Some((at(&["correctness", "right"]), "must be more than 0".to_owned()));
        }
        let of = &self.correctness;
        for (key, value) in [
            ("wrong", &of.wrong),
            ("inexpressible", &of.inexpressible),
            ("crash_online", &of.crash_online),
            ("crash_offline", &of.crash_offline),
            ("timeout_online", &of.timeout_online),
        ] {
            if value.is_positive() {
                return Some((at(&["correctness", key]), "must be 0 or less".to_owned()));
            }
        }
        for (key, value) in [
            (&["shared_points"][..], &self.shared_points),
            (&["timeout_factor"], &self.timeout_factor),
            (&["tie_margin"], &self.tie_margin),
            (&["tolerance", "overhead"], &self.tolerance.overhead),
            (&["tolerance", "memory"], &self.tolerance.memory),
            (&["tolerance", "total"], &self.tolerance.total),
        ] {
            if value.is_negative() {
                return Some((at(key), "must be 0 or more".to_owned()));
            }
        }
        for (number, track) in self.tracks.iter().enumerate() {
            if self.tracks[..number].iter().any(|other| other.name == track.name) {
                let message = format!("track `{}` is named twice", track.name);
                return Some((at(&["track", &number.to_string(), "name"]), message));
            }
        }
        None
    }

    /// The settings as they are published: they don't name who resigned either (P-4).
    pub fn without_resigned(&self) -> Self {
        let mut edition = self.clone();
        edition.statuses.retain(|rule| rule.status != Status::Resigned);
        edition
    }

    pub fn track(&self, name: &str) -> Option<(usize, &Track)> {
        self.tracks.iter().enumerate().find(|(_, track)| track.name == name)
    }
}
