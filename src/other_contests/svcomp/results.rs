//! Results of SV-COMP: the input of judging.

use super::benchexec::RawRun;
use super::verdict::Confirmation;
use mcc_edition::svcomp::Category;
use mcc_judge::judgement::InputDigest;
use num_rational::BigRational;
use std::path::PathBuf;

/// The input of judging.
#[derive(Debug, Default)]
pub struct Results {
    /// The categories; runs refer to them by index.
    pub categories: Vec<Category>,
    /// Names of the entries with runs; runs refer to them by index.
    pub entries: Vec<String>,
    /// The runs, which refer to `entries` and `categories` by index.
    pub runs: Vec<Run>,
    /// Scores from tables.
    pub given: Vec<GivenScore>,
    /// Digests of the files.
    pub inputs: Vec<InputDigest>,
    /// Notes for the judgement, such as files that were not read.
    pub notes: Vec<String>,
}

/// A run of an entry on a task.
#[derive(Clone, Debug)]
pub struct Run {
    /// Index of the entry.
    pub entry: usize,
    /// Index of the category.
    pub category: usize,
    /// The run as the result file has it.
    pub raw: RawRun,
    /// Whether a validator confirmed its witness.
    pub confirmation: Confirmation,
}

impl Run {
    /// A run without validation results.
    pub fn new(entry: usize, category: usize, raw: RawRun) -> Self {
        Self { entry, category, raw, confirmation: Confirmation::NotStated }
    }

    /// Name and properties of its task.
    pub(super) fn task(&self) -> (&str, &str) {
        (&self.raw.name, &self.raw.properties)
    }

    /// The key by which runs are sorted: category, task, properties, entry.
    pub(super) fn place(&self) -> (usize, &str, &str, usize) {
        (self.category, &self.raw.name, &self.raw.properties, self.entry)
    }
}

/// A score from a table.
#[derive(Clone, Debug)]
pub struct GivenScore {
    /// Name of the entry.
    pub entry: String,
    /// Name of the category.
    pub category: String,
    /// Whether the entry opted out of the category.
    pub opted_out: bool,
    /// The score. If the entry opted out, it is hidden and counts in the meta category only.
    pub score: Option<BigRational>,
    /// CPU time of the runs with points, in seconds.
    pub success_cpu_s: Option<BigRational>,
    /// The file.
    pub path: PathBuf,
    /// The line in the file, from 1.
    pub line: u64,
}
