//! Results of SV-COMP, as they are judged.

use super::benchexec::RawRun;
use super::verdict::Confirmation;
use crate::judgement::InputDigest;
use mcc_edition::svcomp::Category;
use num_rational::BigRational;
use std::path::PathBuf;

/// What is to be judged.
#[derive(Debug, Default)]
pub struct Results {
    pub categories: Vec<Category>,
    /// Entries with runs, by number.
    pub entries: Vec<String>,
    pub runs: Vec<Run>,
    pub given: Vec<GivenScore>,
    pub inputs: Vec<InputDigest>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Run {
    pub entry: usize,
    pub category: usize,
    pub raw: RawRun,
    pub confirmation: Confirmation,
}

impl Run {
    pub fn new(entry: usize, category: usize, raw: RawRun) -> Self {
        Self { entry, category, raw, confirmation: Confirmation::NotStated }
    }

    /// What runs are sorted by.
    pub(super) fn place(&self) -> (usize, &str, &str, usize) {
        (self.category, &self.raw.name, &self.raw.properties, self.entry)
    }
}

/// A score as a table gives it.
#[derive(Clone, Debug)]
pub struct GivenScore {
    pub entry: String,
    pub category: String,
    pub opted_out: bool,
    /// With `opted_out`: the hidden real result.
    pub score: Option<BigRational>,
    pub success_cpu_s: Option<BigRational>,
    pub path: PathBuf,
    pub line: u64,
}

/// A category of its own, of which nobody said more than the name.
pub(super) fn unlisted_category(name: &str) -> Category {
    Category { name: name.to_owned(), parent: None, tasks: None, new: false }
}
