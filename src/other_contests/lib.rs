//! The judgement of another contest (SV-COMP, CRV). It has the same parts as that of the MCC: entries, verdicts on
//! instances, points, podiums. Its `judgement.json` begins with the key `contest`.

mod compare;
pub mod crv;
mod explain;
mod notes;
mod rank;
mod schema;
pub mod svcomp;
mod tool;
mod write;

pub use mcc_judge::shared::{Points, RunVerdict};

pub use explain::{Explanation, explain, rounded};
pub use notes::PlaceNote;
pub use rank::{Contender, Ties, podium, tie_words};
pub use tool::{ToolExplanation, explain_tool};
pub use write::{tables, write};

use mcc_base::OnFile;
use mcc_base::names::MAX_NAME_BYTES;
use mcc_edition::{OtherEdition, fraction};
use mcc_judge::judgement::{
    Entry, InputDigest, JUDGEMENT_FILE, JudgementError, MAX_ENTRIES, Medal, Status, has_short_denominator,
};
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{BufReader, Read};
use std::path::Path;

/// Most bits of the common denominator of the points of a category. The shared points of CRV have the measured numbers of all
/// benchmarks in theirs: some 130,000 bits for 500 results of two measures with 20 digits.
const MAX_DENOMINATOR_BITS: u64 = 200_000;

/// Limit for the number of categories, that of a category structure.
const MAX_CATEGORIES: usize = 2000;

/// Limit for the number of `more_parents` of all categories together.
const MAX_PARENTS: usize = 20_000;

/// A judgement of SV-COMP or CRV, as in its `judgement.json`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Judgement {
    /// `sv-comp` or `crv`. It is the first key; it distinguishes the file from a judgement of the MCC.
    pub contest: String,
    /// Version of mcc-harness that computed the judgement.
    pub version: String,
    /// The settings of the edition as used.
    pub edition: OtherEdition,
    /// Digests of the input files, sorted by file name.
    pub inputs: Vec<InputDigest>,
    /// Notes for the reader, such as printed scores that contradict each other.
    pub notes: Vec<String>,
    /// The entries, sorted by name.
    pub entries: Vec<Entry>,
    /// The categories; other fields refer to them by index.
    pub categories: Vec<Category>,
    /// Names of the parts that points are the sum of, in order (CRV: correctness, overhead, memory). Empty for SV-COMP.
    pub parts: Vec<String>,
    /// Sorted by category, then instance. Empty if the input has scores only.
    pub blocks: Vec<Block>,
    /// Sorted by category, then entry.
    pub scores: Vec<Score>,
    /// One podium for each category that is held, sorted by category.
    pub podiums: Vec<Podium>,
    /// Score-based quantile functions (SV-COMP).
    pub quantiles: Vec<QuantileFunction>,
}

/// A category of SV-COMP, a track of CRV.
#[derive(Debug, Serialize, Deserialize)]
pub struct Category {
    /// Name of the category, as in the category structure or the edition.
    pub category: String,
    /// Index of the meta category that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Indices of further meta categories that it is a part of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_parents: Vec<usize>,
    /// Number of verification tasks (SV-COMP) or benchmarks (CRV).
    pub tasks: u64,
    /// Whether it has a podium. If not, `note` gives the reason.
    pub held: bool,
    /// Why the category is not held or has no medals, or which answers count in it; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The results of all entries on one instance: a verification task (SV-COMP) or a benchmark (CRV).
#[derive(Debug, Serialize, Deserialize)]
pub struct Block {
    /// Index of its category.
    pub category: usize,
    /// Name of the instance.
    pub instance: String,
    /// The property to be verified (SV-COMP); empty for CRV.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub property: String,
    /// The expected answer; empty if it is not known.
    pub expected: String,
    /// The result of each entry, sorted by entry.
    pub cells: Vec<Cell>,
}

/// The result of one entry on one instance.
#[derive(Debug, Serialize, Deserialize)]
pub struct Cell {
    /// Index of the entry.
    pub entry: usize,
    /// The answer as the results state it (`T`, `false(unreach-call)`).
    #[serde(alias = "said")]
    pub answer: String,
    /// The verdict on the run.
    pub verdict: RunVerdict,
    /// The reason for the verdict where the answer and the expected answer do not explain it; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The category that the result file gives the run (SV-COMP), if it contradicts the verdict; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub recorded: String,
    /// Points of the run.
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// The parts of `points`, in the order of `Judgement::parts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Points>,
    /// What was measured of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<Measure>,
}

impl Cell {
    /// Returns the first of these measurements times `factor`, rounded: CPU time (SV-COMP) or execution time (CRV), memory.
    pub fn measurement(&self, what: &[&str], factor: u64) -> Option<u64> {
        let mean = &self.measured.iter().find(|measure| what.contains(&measure.what.as_str()))?.mean;
        (mean * BigRational::from_integer(factor.into())).round().to_integer().to_u64()
    }
}

/// A measurement of a run, or the mean and the range of several experiments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// `cpu_s` (CPU time in seconds), `time_s` (execution time in seconds) or `memory_mb` (megabytes).
    pub what: String,
    /// The value, or the mean of the values.
    #[serde(with = "fraction")]
    pub mean: BigRational,
    /// Number of experiments that the mean is computed from.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub experiments: u64,
    /// Least and greatest value if there is more than one experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<(Points, Points)>,
}

fn once() -> u64 {
    1
}

fn is_once(experiments: &u64) -> bool {
    *experiments == 1
}

/// The score of one entry in one category.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Score {
    /// Index of the entry.
    pub entry: usize,
    /// Index of the category.
    pub category: usize,
    /// Number of runs with the verdict `right`.
    pub right: u64,
    /// Number of runs with the verdict `unconfirmed`.
    pub unconfirmed: u64,
    /// Number of runs with the verdict `wrong`.
    pub wrong: u64,
    /// Number of runs with the verdict `unjudged`.
    pub unjudged: u64,
    /// None if a dash is shown: the entry opted out or has no result.
    pub points: Option<Points>,
    /// The parts of `points`, in the order of `Judgement::parts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Points>,
    /// Points divided by the number of tasks; a meta category sums these (SV-COMP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normalized: Option<Points>,
    /// CPU time of the runs with points, in seconds (SV-COMP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_cpu_s: Option<Points>,
    /// Such as `opted out`; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The ranking of a category.
#[derive(Debug, Serialize, Deserialize)]
pub struct Podium {
    /// Index of the category.
    pub category: usize,
    /// Competing entries in the order of their ranks, then the other entries without a rank.
    pub places: Vec<CategoryPlace>,
}

/// The place of one entry on a podium.
#[derive(Debug, Serialize, Deserialize)]
pub struct CategoryPlace {
    /// The rank, from 1. None if the entry is not competing.
    pub rank: Option<u32>,
    /// Index of the entry.
    pub entry: usize,
    /// Its points in the category.
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// CPU time of its runs with points, in seconds (SV-COMP); decides between equal points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_cpu_s: Option<Points>,
    /// The medal of the rank.
    pub medal: Medal,
    /// Such as `as printed: the results of its sub-categories are not given`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The score-based quantile function of one entry (SV-COMP): the accumulated score over the CPU time of its runs with
/// points.
#[derive(Debug, Serialize, Deserialize)]
pub struct QuantileFunction {
    /// Index of the entry.
    pub entry: usize,
    /// Index of the category.
    pub category: usize,
    /// The sum of its negative points.
    #[serde(with = "fraction")]
    pub start: BigRational,
    /// One step for each run with points, by increasing CPU time.
    pub steps: Vec<Step>,
}

/// One step of a quantile function: a run with points.
#[derive(Debug, Serialize, Deserialize)]
pub struct Step {
    /// The score accumulated up to and including this run.
    #[serde(with = "fraction")]
    pub x: BigRational,
    /// CPU time of the run in seconds.
    #[serde(with = "fraction")]
    pub cpu_s: BigRational,
}

impl Judgement {
    /// The word of the contest for a category.
    pub fn category_word(&self) -> &'static str {
        match self.edition {
            OtherEdition::Svcomp(_) => "category",
            OtherEdition::Crv(_) => "track",
        }
    }

    /// The name of a category on pages. The tracks of CRV have short names in tables, such as `c`.
    pub fn category_title(&self, category: usize) -> String {
        let name = &self.categories[category].category;
        let track = match &self.edition {
            OtherEdition::Svcomp(_) => None,
            OtherEdition::Crv(edition) => edition.track(name),
        };
        track.map_or_else(|| name.clone(), |(_, track)| track.title())
    }

    /// The words of the contest for one task of a category, and for several.
    pub fn task_words(&self) -> (&'static str, &'static str) {
        match self.edition {
            OtherEdition::Svcomp(_) => ("task", "tasks"),
            OtherEdition::Crv(_) => ("benchmark", "benchmarks"),
        }
    }

    /// The word of the contest for an instance: `benchmark` in CRV.
    pub fn instance_word(&self) -> &'static str {
        match self.edition {
            OtherEdition::Svcomp(_) => "instance",
            OtherEdition::Crv(_) => "benchmark",
        }
    }

    /// Reads the judgement of a folder that `judge --out` wrote. Returns None if it is a judgement of the MCC.
    ///
    /// # Errors
    /// The file cannot be read, is not a judgement, or refers to an entry or category that it does not have.
    pub fn read(dir: &Path) -> Result<Option<Self>, JudgementError> {
        let (path, mut file) = mcc_judge::judgement::open(dir, JUDGEMENT_FILE)?;
        let mut beginning = Vec::new();
        file.by_ref().take(256).read_to_end(&mut beginning).on("read", &path)?;
        let mut without_blanks = beginning.clone();
        without_blanks.retain(|byte| !byte.is_ascii_whitespace());
        if !without_blanks.starts_with(b"{\"contest\":") {
            return Ok(None);
        }
        let whole = beginning.as_slice().chain(file);
        let read = serde_json::from_reader(BufReader::with_capacity(1 << 16, whole));
        let judgement: Self = read.map_err(|error| JudgementError::of_json(error, &path))?;
        judgement.check().map_err(JudgementError::Broken)?;
        Ok(Some(judgement))
    }

    /// Checks that every index refers to an entry or category, and limits of what commands read.
    ///
    /// # Errors
    /// The first inconsistency found: the file may have been edited, or what was judged is too large.
    pub fn check(&self) -> Result<(), String> {
        self.edition.check_recorded()?;
        let (entries, categories, parts) = (self.entries.len(), self.categories.len(), self.parts.len());
        let known = |entry: usize, category: usize| entry < entries && category < categories;
        let blocks = self.blocks.iter().all(|block| {
            let cells = block.cells.iter();
            block.category < categories
                && cells.clone().all(|cell| cell.entry < entries && cell.parts.len() == parts)
        });
        let bound = BigRational::from_integer(mcc_base::figures::MAX_BYTES.into());
        let fits = |number: &BigRational| number.abs() <= bound;
        let cells = || self.blocks.iter().flat_map(|block| &block.cells);
        let measured = cells().flat_map(|cell| &cell.measured).map(|measure| &measure.mean);
        let points = cells().map(|cell| &cell.points);
        let points = points
            .chain(self.scores.iter().filter_map(|score| score.points.as_ref().map(|points| &points.0)));
        let places = self.podiums.iter().flat_map(|podium| &podium.places).map(|place| &place.points);
        let starts = self.quantiles.iter().map(|quantile| &quantile.start);
        let steps = self
            .quantiles
            .iter()
            .flat_map(|quantile| &quantile.steps)
            .flat_map(|step| [&step.x, &step.cpu_s]);
        if !measured.chain(points).chain(places).chain(starts).chain(steps).all(fits) {
            return Err(format!("a value is larger than {bound}"));
        }
        let entries_named: BTreeSet<_> = self.entries.iter().map(|entry| &entry.entry).collect();
        let categories_named: BTreeSet<_> =
            self.categories.iter().map(|category| &category.category).collect();
        if (entries_named.len(), categories_named.len()) != (entries, categories) {
            return Err("two entries or categories have the same name".to_owned());
        }
        self.check_sizes()?;
        let nested = self.categories.iter().all(|category| {
            category.parent.iter().chain(&category.more_parents).all(|parent| *parent < categories)
        });
        let runs = |score: &Score| {
            let Score { right, unconfirmed, wrong, unjudged, .. } = *score;
            right.checked_add(unconfirmed)?.checked_add(wrong)?.checked_add(unjudged)
        };
        if self.scores.iter().any(|score| runs(score).is_none()) {
            return Err("the number of runs of a score is too large".to_owned());
        }
        let scores = self.scores.iter().all(|score| known(score.entry, score.category));
        let podiums = self.podiums.iter().all(|podium| {
            podium.category < categories && podium.places.iter().all(|place| place.entry < entries)
        });
        let quantiles = self.quantiles.iter().all(|quantile| known(quantile.entry, quantile.category));
        if !(blocks && nested && scores && podiums && quantiles) {
            return Err("an index refers to no entry or category".to_owned());
        }
        self.check_once_each()?;
        self.check_sums()
    }

    /// Checks that no score, podium, place or cell is repeated: pages and comparisons search all of them for each one.
    fn check_once_each(&self) -> Result<(), String> {
        let scores: BTreeSet<_> = self.scores.iter().map(|score| (score.entry, score.category)).collect();
        let podiums: BTreeSet<usize> = self.podiums.iter().map(|podium| podium.category).collect();
        let has_each_once = |podium: &Podium| {
            let entries: BTreeSet<usize> = podium.places.iter().map(|place| place.entry).collect();
            entries.len() == podium.places.len()
        };
        if scores.len() != self.scores.len()
            || podiums.len() != self.podiums.len()
            || !self.podiums.iter().all(has_each_once)
        {
            return Err("a score, a podium, or an entry on a podium is there twice".to_owned());
        }
        if self.blocks.iter().all(|block| block.cells.is_sorted_by(|a, b| a.entry < b.entry)) {
            Ok(())
        } else {
            Err("the cells of a block are not one per entry, in the order of the entries".to_owned())
        }
    }

    /// Checks that the points of a category can be summed.
    fn check_sums(&self) -> Result<(), String> {
        let mut points: Vec<Vec<&BigRational>> = vec![Vec::new(); self.categories.len()];
        for block in &self.blocks {
            points[block.category].extend(block.cells.iter().map(|cell| &cell.points));
        }
        for score in &self.scores {
            points[score.category].extend(score.points.as_ref().map(|points| &points.0));
        }
        for podium in &self.podiums {
            points[podium.category].extend(podium.places.iter().map(|place| &place.points));
        }
        if points.into_iter().all(|points| has_short_denominator(points.into_iter(), MAX_DENOMINATOR_BITS)) {
            Ok(())
        } else {
            Err("the points of a category have too many digits together".to_owned())
        }
    }

    /// Checks numbers and lengths that are multiplied where a category is described: by its name, its parents and theirs.
    fn check_sizes(&self) -> Result<(), String> {
        let (entries, categories) = (self.entries.len(), self.categories.len());
        if entries > MAX_ENTRIES {
            return Err(format!("it has {entries} entries, and at most {MAX_ENTRIES} are judged"));
        }
        if categories > MAX_CATEGORIES {
            return Err(format!("it has {categories} categories, and at most {MAX_CATEGORIES} are read"));
        }
        let parents: usize = self.categories.iter().map(|category| category.more_parents.len()).sum();
        if parents > MAX_PARENTS {
            return Err(format!(
                "its categories are parts of {parents} further categories, and at most {MAX_PARENTS} are read"
            ));
        }
        let names = self.categories.iter().map(|category| &category.category);
        let mut names = names.chain(self.entries.iter().map(|entry| &entry.entry));
        // Only the length: an edition may name its categories in other letters than those of `check_name`.
        if let Some(name) = names.find(|name| name.len() > MAX_NAME_BYTES) {
            let start: String = name.chars().take(60).collect();
            return Err(format!("the name `{start}...` is longer than {MAX_NAME_BYTES} bytes"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_edition::Rules;

    /// The error for a judgement with this change.
    fn refused(change: impl FnOnce(&mut Judgement)) -> String {
        let Rules::Other(edition) = Rules::load("svcomp-2024").unwrap() else { panic!("not of SV-COMP") };
        let folder = tempfile::tempdir().unwrap();
        let mut judgement = Judgement {
            contest: "sv-comp".to_owned(),
            version: String::new(),
            edition: OtherEdition::clone(&edition),
            inputs: vec![],
            notes: vec![],
            entries: vec![],
            categories: vec![],
            parts: vec![],
            blocks: vec![],
            scores: vec![],
            podiums: vec![],
            quantiles: vec![],
        };
        change(&mut judgement);
        let text = serde_json::to_string(&judgement).unwrap();
        std::fs::write(folder.path().join("judgement.json"), text).unwrap();
        Judgement::read(folder.path()).unwrap_err().to_string()
    }

    fn category(category: String, more_parents: Vec<usize>) -> Category {
        Category { category, parent: None, more_parents, tasks: 1, held: false, note: String::new() }
    }

    fn entry(name: String) -> Entry {
        Entry { tool: name.clone(), entry: name, status: Status::Competing, note: String::new() }
    }

    /// Pages compare each score with each place, and comparisons each cell with each cell.
    #[test]
    fn a_judgement_with_anything_twice_or_too_many_entries_is_refused() {
        let read = |scores: [usize; 2], podiums: [usize; 2], places: [usize; 2], cells: [usize; 2]| {
            refused(|judgement| {
                judgement.entries = ["a", "b"].map(|name| entry(name.to_owned())).to_vec();
                judgement.categories = ["A", "B"].map(|name| category(name.to_owned(), vec![])).into();
                judgement.scores = scores.map(|entry| Score { entry, ..Score::default() }).into();
                let zero = BigRational::default;
                let place = |entry| CategoryPlace {
                    rank: None,
                    entry,
                    points: zero(),
                    success_cpu_s: None,
                    medal: Medal::None,
                    note: String::new(),
                };
                let podium = |category| Podium { category, places: places.map(place).into() };
                judgement.podiums = podiums.map(podium).into();
                let cell = |entry| Cell {
                    entry,
                    answer: String::new(),
                    verdict: RunVerdict::Unknown,
                    why: String::new(),
                    recorded: String::new(),
                    points: zero(),
                    parts: vec![],
                    measured: vec![],
                };
                judgement.blocks = vec![Block {
                    category: 0,
                    instance: "i".to_owned(),
                    property: String::new(),
                    expected: String::new(),
                    cells: cells.map(cell).into(),
                }];
            })
        };
        let once = [0, 1];
        for (scores, podiums, places) in [([0, 0], once, once), (once, [1, 1], once), (once, once, [1, 1])] {
            assert!(read(scores, podiums, places, once).contains("is there twice"));
        }
        for cells in [[1, 1], [1, 0]] {
            assert!(read(once, once, once, cells).contains("the cells of a block are not one per entry"));
        }
        assert!(read([0, 2], once, once, once).contains("an index refers to no entry"));
        let many = |count: usize| {
            refused(|judgement| {
                judgement.entries = (0..count).map(|number| entry(number.to_string())).collect();
                judgement.scores = vec![Score { category: 1, ..Score::default() }];
            })
        };
        assert!(many(MAX_ENTRIES).contains("an index refers to no entry"));
        assert!(many(MAX_ENTRIES + 1).contains("it has 1001 entries"));
    }

    #[test]
    fn a_judgement_whose_runs_cannot_be_counted_is_refused() {
        let read = |right: u64| {
            refused(|judgement| {
                judgement.scores = vec![Score { right, unconfirmed: 1, ..Score::default() }];
            })
        };
        assert!(read(u64::MAX).contains("the number of runs of a score is too large"));
        assert!(read(u64::MAX - 1).contains("an index refers to no entry"));
    }

    #[test]
    fn points_with_a_long_common_denominator_are_refused() {
        let third = |power: i32| BigRational::new(1.into(), 3.into()).pow(power);
        let (short, long) = (third(2), third(130_000));
        let is_short =
            |numbers: [&BigRational; 2]| has_short_denominator(numbers.into_iter(), MAX_DENOMINATOR_BITS);
        assert!(is_short([&short, &short]) && !is_short([&short, &long]));
    }

    #[test]
    fn a_judgement_with_too_many_or_too_long_names_of_categories_is_refused() {
        // A score of no entry, so that all are refused in the end.
        let read = |categories: Vec<Category>| {
            refused(|judgement| {
                (judgement.categories, judgement.scores) = (categories, vec![Score::default()]);
            })
        };
        let long = |bytes: usize| vec![category("x".repeat(bytes), vec![])];
        assert!(read(long(MAX_NAME_BYTES)).contains("an index refers to no entry"));
        assert!(read(long(MAX_NAME_BYTES + 1)).contains("is longer than 255 bytes"));
        let parents = |count: usize| vec![category("x".to_owned(), vec![0; count])];
        assert!(read(parents(MAX_PARENTS)).contains("an index refers to no entry"));
        assert!(read(parents(MAX_PARENTS + 1)).contains("are parts of 20001 further categories"));
        let many = |count: usize| (0..count).map(|at| category(at.to_string(), vec![])).collect();
        assert!(read(many(MAX_CATEGORIES)).contains("an index refers to no entry"));
        assert!(read(many(MAX_CATEGORIES + 1)).contains("it has 2001 categories"));
    }

    #[test]
    fn the_old_key_said_is_read_as_the_answer() {
        let old = r#"{"entry": 0, "said": "T", "verdict": "right", "points": "1"}"#;
        let cell: Cell = serde_json::from_str(old).unwrap();
        assert_eq!(cell.answer, "T");
        assert!(serde_json::to_string(&cell).unwrap().contains("\"answer\":\"T\""));
    }
}
