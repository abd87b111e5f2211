//! The input of judging: the values of every run by position, how the run ended, and its cost.

use super::certified::CertifiedValues;
use crate::judgement::{Cell, Cost, Ending, Entry, InputDigest, ValueVerdicts};
use hashbrown::HashSet;
use mcc_base::Mark;
use mcc_campaign::Publication;
use mcc_campaign::benchkit::{Answers, Repeat, Value};
use mcc_edition::Edition;
use mcc_model::InstanceName;
use num_rational::BigRational;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

/// One run as input of judging.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunResult {
    /// The values, by position. The list may be shorter than the examination; positions after its end have no value.
    pub values: Vec<Option<Value>>,
    /// How the run ended.
    pub ending: Ending,
    /// Measured time and memory; None where they are not known.
    pub cost: Option<Cost>,
    /// Deviations from contest conditions.
    pub marks: Vec<Mark>,
    /// The techniques that the tool states for each value (E-1.10), by position; empty where none is known.
    pub techniques: Vec<Arc<Vec<String>>>,
    /// Anomalies of the output: contradictions, unknown ids, words that are not answers.
    pub remarks: Vec<String>,
    /// Whether a value was given more than once, by position. The list may be shorter than the examination.
    pub repeated: Vec<Option<Repeat>>,
    /// When the values arrived on the host, ms since the tool's start, by position; empty where no time is known. The list
    /// may be shorter than the examination.
    pub arrived_ms: Vec<Option<u64>>,
    /// Name of the host; empty where it is not known.
    pub host: String,
    /// The failure class, where it was read (`RunResults::add_failure_classes`).
    pub failure_class: Option<String>,
}

impl RunResult {
    /// Returns a result of a published table that has values and no facts of the run.
    pub fn published(values: Vec<Option<Value>>) -> Self {
        Self { values, ..Self::default() }
    }

    /// Returns a result with values, techniques and repeated values of an output.
    pub(crate) fn of_output(answers: Answers) -> Self {
        let Answers { values, techniques, repeated, .. } = answers;
        let stated = techniques.iter().any(|techniques| !techniques.is_empty());
        Self {
            techniques: if stated { techniques.into_iter().map(Arc::new).collect() } else { vec![] },
            repeated: if repeated.iter().any(Option::is_some) { repeated } else { vec![] },
            ..Self::published(values)
        }
    }
}

/// Why a result cannot be added, or results cannot be judged together.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunResultError {
    /// The edition does not have the examination.
    #[error("no examination `{name}` in edition {edition}; it has {known}")]
    UnknownExamination {
        /// The name that is not known.
        name: String,
        /// Name of the edition.
        edition: String,
        /// The examinations of the edition, separated by commas.
        known: String,
    },
    /// A result has more values than its examination has positions.
    #[error("{run} has {given} values, but the examination has {expected}; give at most {expected}")]
    TooManyValues {
        /// Entry, instance and examination, as a phrase.
        run: String,
        /// Number of values of the result.
        given: usize,
        /// Number of positions of the examination.
        expected: usize,
    },
    /// Two runs in a block have different property ids.
    #[error(
        "{run}: its property ids differ from those of another run of the same examination; judge runs on one set of \
         property files only"
    )]
    DifferentIds {
        /// Entry, instance and examination, as a phrase.
        run: String,
    },
    /// Two results have the same entry, instance and examination.
    #[error("{run} has two runs (number {first} and {second} of the input); keep the one that counts")]
    RepeatedRun {
        /// Entry, instance and examination, as a phrase.
        run: String,
        /// Number of the first result in the order of adding, from 1.
        first: usize,
        /// Number of the second result.
        second: usize,
    },
}

/// A run as the subject of an error.
fn run_phrase(entry: &str, instance: &str, examination: &str) -> String {
    format!("{entry} on {instance} in {examination}")
}

/// All results of a contest, with the facts of its entries and instances. The order in which they are added has no
/// effect on the judgement.
#[derive(Clone, Debug, Default)]
pub struct RunResults {
    pub(crate) edition: String,
    pub(crate) examinations: Vec<(String, usize)>,
    pub(crate) entries: NameTable,
    pub(crate) instances: NameTable,
    pub(crate) values: Values,
    /// The lists of techniques of all rows: a million runs state few different ones.
    techniques: HashSet<Arc<Vec<String>>>,
    pub(crate) rows: Vec<RunRow>,
    /// The value numbers of all rows, one row after the other.
    pub(crate) given: Vec<u32>,
    /// Property ids by position, for (examination, instance).
    pub(crate) ids: HashMap<(u16, u32), Vec<String>>,
    /// Entries that a tools file or a record describes, by name.
    pub(crate) known_entries: BTreeMap<String, Entry>,
    pub(crate) known_instances: HashMap<String, InstanceFacts>,
    /// SHA-256 of the archive of each instance, where the source states it.
    pub(crate) archives: BTreeMap<String, String>,
    pub(crate) overrides: Vec<Override>,
    /// None: the values are not certified.
    pub(crate) certified: Option<CertifiedValues>,
    /// Digests of the files that were read, for the judgement.
    pub inputs: Vec<InputDigest>,
    /// Restrictions that apply to the judgement, for its readers.
    pub notes: Vec<String>,
    /// How the campaign is called and cited; None: nothing is stated.
    pub publication: Option<Publication>,
}

/// Names of entry, instance and examination.
pub(crate) type RunKey = (String, String, String);

/// One value that the organizers set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Override {
    pub examination: usize,
    pub instance: String,
    pub position: usize,
    /// Number of the value; `NONE` means unknown: no entry gets points.
    pub value: u32,
    pub reason: String,
}

/// A result whose names and values are replaced by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct RunRow {
    pub examination: u16,
    pub entry: u32,
    pub instance: u32,
    pub ending: Ending,
    /// Index of its first value in `given`. It has as many values as the examination has positions.
    pub first: usize,
    /// Number of the row in the order of adding, from 1.
    pub number: u32,
    /// What the result has besides values and ending, which are empty in it; None: nothing.
    pub facts: Option<Box<RunResult>>,
}

/// The facts of a result without facts of its run.
static NO_FACTS: LazyLock<RunResult> = LazyLock::new(RunResult::default);

impl RunRow {
    /// Returns the facts of the run; those of `NO_FACTS` if there are none.
    pub fn facts(&self) -> &RunResult {
        self.facts.as_deref().unwrap_or(&NO_FACTS)
    }
}

/// Facts of an instance, from a models file or a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceFacts {
    /// Name of its family (model).
    pub family: String,
    /// Its status, such as `known` or `surprise`.
    pub status: String,
}

impl RunResults {
    /// Returns an empty set of results for the examinations of an edition.
    pub fn new(edition: &Edition) -> Self {
        Self {
            edition: edition.name.clone(),
            examinations: edition.examinations.iter().map(|e| (e.name.clone(), e.values)).collect(),
            ..Self::default()
        }
    }

    /// Adds one run. `ids` are the property ids by position, empty where no property file is known.
    ///
    /// # Errors
    /// The edition does not have the examination, the result has too many values, or its ids differ from those of
    /// another run in the same block.
    pub fn add(
        &mut self,
        entry: &str,
        instance: &str,
        examination: &str,
        ids: &[String],
        mut result: RunResult,
    ) -> Result<(), RunResultError> {
        let number = self.examination(examination)?;
        let expected = self.examinations[number].1;
        let run = || run_phrase(entry, instance, examination);
        if result.values.len() > expected {
            return Err(RunResultError::TooManyValues { run: run(), given: result.values.len(), expected });
        }
        if !ids.is_empty() {
            let known = self.ids.entry((number as u16, self.instances.number(instance)));
            if known.or_insert_with(|| ids.to_vec()) != ids {
                return Err(RunResultError::DifferentIds { run: run() });
            }
        }
        let values: Vec<u32> = std::mem::take(&mut result.values)
            .into_iter()
            .map(|value| value.map_or(NONE, |value| self.values.number(value)))
            .collect();
        self.add_row(entry, instance, number, std::mem::take(&mut result.ending), &values);
        if !result.arrived_ms.is_empty() {
            result.arrived_ms.resize(expected, None);
        }
        self.set_run_facts(result);
        Ok(())
    }

    /// Sets the facts of an entry. Without them the patterns and variants of the edition apply.
    pub fn describe_entry(&mut self, entry: Entry) {
        self.known_entries.insert(entry.entry.clone(), entry);
    }

    /// Returns an entry with its facts, from the tools file or the record, otherwise from the edition.
    pub(crate) fn entry_described(&self, edition: &Edition, name: &str) -> Entry {
        self.known_entries.get(name).cloned().unwrap_or_else(|| Entry {
            entry: name.to_owned(),
            tool: edition.tool_of(name).to_owned(),
            status: edition.status_of(name),
            note: edition.note_of(name).to_owned(),
        })
    }

    /// Sets the family and status of an instance. Without them the family is the text before `-PT-` or `-COL-`, the
    /// status is `known`, and the judgement has a note about it.
    pub fn describe_instance(&mut self, instance: &str, facts: InstanceFacts) {
        self.known_instances.insert(instance.to_owned(), facts);
    }

    /// Returns the names of all entries that have a result, in no particular order.
    pub fn entry_names(&self) -> impl Iterator<Item = &str> {
        self.entries.names.iter().map(String::as_str)
    }

    /// Returns the names of all instances that have a result, in no particular order.
    pub fn instance_names(&self) -> impl Iterator<Item = &str> {
        self.instances.names.iter().map(String::as_str)
    }

    /// Returns the property ids of an examination on an instance, if they are known.
    pub(crate) fn ids_of(&self, examination: usize, instance: &str) -> Option<&[String]> {
        let instance = *self.instances.numbers.get(instance)?;
        self.ids.get(&(examination as u16, instance)).map(Vec::as_slice)
    }

    /// Returns the number of an examination.
    pub(crate) fn examination(&self, name: &str) -> Result<usize, RunResultError> {
        let found = self.examinations.iter().position(|(known, _)| known == name);
        found.ok_or_else(|| RunResultError::UnknownExamination {
            name: name.to_owned(),
            edition: self.edition.clone(),
            known: self.examinations.iter().map(|(known, _)| known.as_str()).collect::<Vec<_>>().join(", "),
        })
    }

    /// Adds a row. `values` are value numbers, at most as many as the examination has positions. The values of a run
    /// that ended in an infrastructure failure are not used (R2).
    pub(crate) fn add_row(
        &mut self,
        entry: &str,
        instance: &str,
        examination: usize,
        ending: Ending,
        values: &[u32],
    ) {
        let first = self.given.len();
        self.given.extend_from_slice(if ending.is_scored() { values } else { &[] });
        self.given.resize(first + self.examinations[examination].1, NONE);
        let row = RunRow {
            examination: examination as u16,
            entry: self.entries.number(entry),
            instance: self.instances.number(instance),
            ending,
            first,
            number: self.rows.len() as u32 + 1,
            facts: None,
        };
        self.rows.push(row);
    }

    /// Returns the numbers of the values of a run, by position.
    pub(crate) fn values_of(&self, row: &RunRow) -> &[u32] {
        &self.given[row.first..row.first + self.examinations[row.examination as usize].1]
    }

    /// Returns a run as part of a judgement.
    pub(crate) fn cell(
        &self,
        row: &RunRow,
        verdicts: ValueVerdicts,
        points: BigRational,
        complete: bool,
    ) -> Cell {
        let RunResult { cost, marks, techniques, arrived_ms, remarks, failure_class, .. } = row.facts();
        Cell {
            entry: row.entry as usize,
            ending: row.ending,
            values: self.values_of(row).iter().map(|number| self.values.get(*number).cloned()).collect(),
            verdicts,
            points,
            complete,
            cost: *cost,
            marks: marks.clone(),
            techniques: techniques.iter().map(|words| words.to_vec()).collect(),
            arrived_ms: arrived_ms.clone(),
            remarks: remarks.clone(),
            failure_class: failure_class.clone(),
        }
    }

    /// Returns whether a run has a value.
    pub(crate) fn has_value(&self, row: &RunRow) -> bool {
        self.values_of(row).iter().any(|value| *value != NONE)
    }

    /// Sets the facts of the row that was added last.
    pub(crate) fn set_run_facts(&mut self, mut facts: RunResult) {
        for words in &mut facts.techniques {
            *words = self.techniques.get_or_insert(words.clone()).clone();
        }
        // Collected in place, it has the space of the lists, not of references to them.
        facts.techniques.shrink_to_fit();
        if facts != *NO_FACTS {
            self.rows.last_mut().expect("a row was added").facts = Some(Box::new(facts));
        }
    }

    /// Returns the hosts of runs, as far as they are known.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (RunKey, String)> {
        self.rows.iter().filter_map(|row| {
            let host = row.facts.as_ref().map(|facts| facts.host.clone()).filter(|host| !host.is_empty())?;
            let (entry, instance) = (row.entry as usize, row.instance as usize);
            let examination = self.examinations[row.examination as usize].0.clone();
            Some((
                (self.entries.names[entry].clone(), self.instances.names[instance].clone(), examination),
                host,
            ))
        })
    }

    /// Renames entries; the rows of an entry for which `to` returns None are removed. Returns the new names. Facts of
    /// entries are removed.
    pub(crate) fn rename_entries(&mut self, to: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let mut renamed = NameTable::default();
        let numbers: Vec<Option<u32>> =
            self.entries.names.iter().map(|name| to(name).map(|new| renamed.number(&new))).collect();
        self.rows.retain_mut(|row| match numbers[row.entry as usize] {
            Some(number) => {
                row.entry = number;
                true
            }
            None => false,
        });
        self.entries = renamed;
        self.known_entries = BTreeMap::new();
        self.entry_names().map(str::to_owned).collect()
    }

    /// Renames instances and property ids, from old to new. A name that is in neither map stays.
    ///
    /// # Errors
    /// Two instances would have the same name, or no instance is renamed.
    pub(crate) fn rename(
        &mut self,
        instances: &HashMap<String, String>,
        ids: &HashMap<String, String>,
    ) -> Result<(), String> {
        let mut renamed = NameTable::default();
        let mut found = false;
        for old in &self.instances.names {
            found |= instances.contains_key(old);
            let new = instances.get(old).unwrap_or(old);
            let number = renamed.names.len() as u32;
            if renamed.number(new) != number {
                return Err(format!(
                    "instance {new} has answers under both its names; judge them separately and compare the judgements"
                ));
            }
        }
        if !found {
            return Err("none of its instances has answers; give the file of the inputs disk that was used"
                .to_owned());
        }
        self.instances = renamed;
        for id in self.ids.values_mut().flatten() {
            if let Some(new) = ids.get(id) {
                id.clone_from(new);
            }
        }
        // The archive of a renamed instance is not the one with its original name.
        self.archives.retain(|instance, _| !instances.contains_key(instance));
        let known = std::mem::take(&mut self.known_instances);
        self.known_instances = known
            .into_iter()
            .map(|(old, facts)| match instances.get(&old) {
                Some(new) => {
                    let family =
                        new.parse().map_or(facts.family, |name: InstanceName| name.family().to_owned());
                    (new.clone(), InstanceFacts { family, ..facts })
                }
                None => (old, facts),
            })
            .collect();
        Ok(())
    }

    /// Drops the rows of entries for which `keep` is false, numbers entries and instances in the order of their names,
    /// and sorts the rows by examination, instance and entry.
    ///
    /// # Errors
    /// Two rows have the same entry, instance and examination.
    pub(crate) fn sort_and_filter(&mut self, keep: impl Fn(&str) -> bool) -> Result<(), RunResultError> {
        let kept: Vec<bool> = self.entries.names.iter().map(|name| keep(name)).collect();
        self.rows.retain(|row| kept[row.entry as usize]);
        let used = |numbers: &mut dyn Iterator<Item = u32>, names: &NameTable| {
            let mut used = vec![false; names.names.len()];
            numbers.for_each(|number| used[number as usize] = true);
            used
        };
        let entries = used(&mut self.rows.iter().map(|row| row.entry), &self.entries);
        let instances = used(&mut self.rows.iter().map(|row| row.instance), &self.instances);
        let entries = self.entries.sort(&entries);
        let instances = self.instances.sort(&instances);
        for row in &mut self.rows {
            row.entry = entries[row.entry as usize];
            row.instance = instances[row.instance as usize];
        }
        let ids = std::mem::take(&mut self.ids);
        let renumbered = ids.into_iter().map(|((e, i), ids)| ((e, instances[i as usize]), ids));
        self.ids = renumbered.filter(|((_, instance), _)| *instance != UNUSED).collect();
        self.rows.sort_unstable_by_key(|row| (row.examination, row.instance, row.entry, row.number));
        self.values.round();
        let repeated_pair = self.rows.windows(2).find(|pair| {
            let key = |row: &RunRow| (row.examination, row.instance, row.entry);
            key(&pair[0]) == key(&pair[1])
        });
        match repeated_pair {
            None => Ok(()),
            Some(pair) => {
                let RunRow { entry, instance, examination, .. } = pair[0];
                let entry = &self.entries.names[entry as usize];
                let instance = &self.instances.names[instance as usize];
                Err(RunResultError::RepeatedRun {
                    run: run_phrase(entry, instance, &self.examinations[examination as usize].0),
                    first: pair[0].number as usize,
                    second: pair[1].number as usize,
                })
            }
        }
    }
}

/// The new number of a name that is no longer used.
const UNUSED: u32 = u32::MAX;

/// Names and their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameTable {
    pub names: Vec<String>,
    numbers: hashbrown::HashMap<String, u32>,
    /// The last number returned: rows of a table are grouped, so that the next name is usually the same.
    last: u32,
}

impl NameTable {
    /// Returns the number of a name, a new one where the name is new.
    pub fn number(&mut self, name: &str) -> u32 {
        if self.names.get(self.last as usize).is_some_and(|last| last == name) {
            return self.last;
        }
        let next = self.names.len() as u32;
        self.last = match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                self.names.push(name.to_owned());
                self.numbers.insert(name.to_owned(), next);
                next
            }
        };
        self.last
    }

    /// Keeps the used names, in order. Returns the new number of each old number, `UNUSED` where there is none.
    fn sort(&mut self, used: &[bool]) -> Vec<u32> {
        let mut old: Vec<u32> =
            (0..self.names.len() as u32).filter(|number| used[*number as usize]).collect();
        old.sort_unstable_by(|a, b| self.names[*a as usize].cmp(&self.names[*b as usize]));
        let mut new = vec![UNUSED; self.names.len()];
        for (number, was) in old.iter().enumerate() {
            new[*was as usize] = number as u32;
        }
        self.names = old.iter().map(|was| std::mem::take(&mut self.names[*was as usize])).collect();
        self.numbers = self.names.iter().enumerate().map(|(n, name)| (name.clone(), n as u32)).collect();
        self.last = 0;
        new
    }
}

/// The number that means that there is no value.
pub(crate) const NONE: u32 = 0;
/// The number of the value false.
pub(crate) const FALSE: u32 = 1;
/// The number of the value true.
pub(crate) const TRUE: u32 = 2;
/// The number of a value that a published table did not keep (`X`).
pub(crate) const NOT_KEPT: u32 = 3;

/// Distinct values and their numbers. Votes are counted by number, because values can have thousands of digits.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    /// By number; None for `NONE` only. A value can have thousands of digits, so it is in memory once.
    list: Vec<Option<Arc<Value>>>,
    numbers: HashMap<Arc<Value>, u32>,
    texts: hashbrown::HashMap<Box<str>, u32>,
    /// By number: the number of the value rounded to 5 digits. Set by `round`.
    rounded: Vec<u32>,
}

impl Default for Values {
    fn default() -> Self {
        let (numbers, texts, rounded) = Default::default();
        let mut values = Self { list: vec![None], numbers, texts, rounded };
        assert_eq!(values.number(Value::False), FALSE);
        assert_eq!(values.number(Value::True), TRUE);
        assert_eq!(values.number(Value::NotKept), NOT_KEPT);
        values
    }
}

impl Values {
    /// Returns, by its number in `others`, the number of each value here.
    pub fn numbers_of(&mut self, others: &Self) -> Vec<u32> {
        let number =
            |value: &Option<Arc<Value>>| value.as_deref().map_or(NONE, |value| self.number(value.clone()));
        others.list.iter().map(number).collect()
    }

    /// Returns the number of a value, a new one where the value is new.
    pub fn number(&mut self, value: Value) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let (value, next) = (Arc::new(value), self.list.len() as u32);
        self.list.push(Some(value.clone()));
        self.numbers.insert(value, next);
        next
    }

    /// Returns the number of a value from its text; None where the text is not a value.
    pub fn number_of_text(&mut self, text: &str) -> Option<u32> {
        if let Some(number) = self.texts.get(text) {
            return Some(*number);
        }
        let number = self.number(text.parse().ok()?);
        // Numbers of thousands of digits are rare: to store their texts would double the memory without use.
        if text.len() <= 32 {
            self.texts.insert(text.into(), number);
        }
        Some(number)
    }

    /// Returns the value of a number; None for `NONE`.
    pub fn get(&self, number: u32) -> Option<&Value> {
        self.list[number as usize].as_deref()
    }

    /// Returns whether the value of a number was read with 5 digits only.
    pub fn is_rounded(&self, number: u32) -> bool {
        self.get(number).is_some_and(Value::is_rounded)
    }

    /// Returns the number by which a value is compared where an answer to its position is rounded.
    pub fn rounded(&self, number: u32) -> u32 {
        self.rounded[number as usize]
    }

    /// Returns whether two values agree, as `Value::agrees` does.
    pub fn agree(&self, a: u32, b: u32, any_rounded: bool) -> bool {
        if a == NOT_KEPT || b == NOT_KEPT {
            return false;
        }
        a == b || (any_rounded && self.rounded(a) == self.rounded(b))
    }

    /// Rounds all values, if any value was read with 5 digits only.
    fn round(&mut self) {
        let count = self.list.len() as u32;
        if !(0..count).any(|number| self.is_rounded(number)) {
            self.rounded = (0..count).collect();
            return;
        }
        self.rounded = (0..count)
            .map(|number| match self.list[number as usize].as_deref().map(Value::rounded) {
                None => NONE,
                Some(rounded) => self.number(rounded),
            })
            .collect();
        self.rounded.extend(count..self.list.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_memory_once() {
        let mut values = Values::default();
        let numbers = ["7", "8", "7"].map(|text| values.number(text.parse().unwrap()));
        assert_eq!((numbers[0], numbers[2]), (numbers[1] - 1, numbers[0]));
        let kept = values.list[numbers[0] as usize].as_ref().unwrap();
        assert_eq!((Arc::strong_count(kept), &**kept), (2, values.get(numbers[0]).unwrap()));
    }
}
