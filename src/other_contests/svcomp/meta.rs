//! Computes the scores of categories and of nested meta categories: (sum of s_i/n_i) x (sum of n_i)/k over the k
//! sub-categories, without rounding.

use super::results::{GivenScore, Results};
use super::source::SvcompError;
use super::verdict::{RunScore, Witness};
use crate::{Contender, PlaceNote, Podium, Points, QuantileFunction, RunVerdict, Score, Step, Ties, rounded};
use mcc_base::text::counted;
use mcc_edition::fits;
use mcc_edition::svcomp::{Category, CategoryRole, CountedAnswers, MAX_TASKS, SvcompEdition};
use mcc_judge::judgement::{Entry, Medal};
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use std::collections::{BTreeMap, BTreeSet};

/// A run with points: CPU time in seconds, None if it was not measured, and the points.
type ScoredRun = (Option<BigRational>, BigRational);

/// A base category of a category.
struct Base {
    category: usize,
    /// The weight of its points.
    weight: BigRational,
    /// In how many ways it is a part of the category: the number of paths through meta categories.
    ways: u64,
}

/// Sums over the runs of an entry in a category.
#[derive(Clone, Debug, Default)]
pub(super) struct CategoryTally {
    right: u64,
    unconfirmed: u64,
    wrong: u64,
    unjudged: u64,
    points: BigRational,
    negative: BigRational,
    /// Runs that got points.
    with_points: Vec<ScoredRun>,
}

/// The sums of an entry in a category over the runs whose answers count.
#[derive(Clone, Debug, Default)]
pub(super) struct CategoryTallies {
    all: CategoryTally,
    false_only: CategoryTally,
    true_only: CategoryTally,
}

impl CategoryTallies {
    /// Adds a run. `answer`: the kind of its answer, None for UNKNOWN.
    pub fn add(&mut self, judged: &RunScore, answer: Option<Witness>) {
        self.all.add(judged);
        match answer {
            Some(Witness::Violation) => self.false_only.add(judged),
            Some(Witness::Correctness) => self.true_only.add(judged),
            None => {}
        }
    }

    fn tally(&self, counted: CountedAnswers) -> &CategoryTally {
        match counted {
            CountedAnswers::All => &self.all,
            CountedAnswers::FalseOnly => &self.false_only,
            CountedAnswers::TrueOnly => &self.true_only,
        }
    }
}

impl CategoryTally {
    fn add(&mut self, judged: &RunScore) {
        match judged.verdict {
            RunVerdict::Right => self.right += 1,
            RunVerdict::Unconfirmed => self.unconfirmed += 1,
            RunVerdict::Wrong => self.wrong += 1,
            RunVerdict::Unjudged => self.unjudged += 1,
            _ => {}
        }
        self.points += &judged.points;
        if judged.points.is_negative() {
            self.negative += &judged.points;
        }
        if judged.points.is_positive() {
            self.with_points.push((judged.cpu_s.clone(), judged.points.clone()));
        }
    }

    /// CPU time of the runs with points, in seconds. None if one of them is unknown.
    fn success_cpu_s(&self) -> Option<BigRational> {
        self.with_points.iter().map(|(cpu_s, _)| cpu_s.as_ref()).sum()
    }
}

/// The results of all categories.
pub(super) struct ScoredCategories {
    pub categories: Vec<crate::Category>,
    pub scores: Vec<Score>,
    pub podiums: Vec<Podium>,
    pub quantiles: Vec<QuantileFunction>,
    pub notes: Vec<String>,
}

/// An entry's score in a category, shown or not.
#[derive(Clone, Debug)]
struct CategoryScore {
    points: BigRational,
    success_cpu_s: Option<BigRational>,
    note: String,
    /// Whether the score of a meta category may be computed from it.
    usable: bool,
}

impl CategoryScore {
    /// A score without a note, from which the score of a meta category may be computed.
    fn computed(points: BigRational, success_cpu_s: Option<BigRational>) -> Self {
        Self { points, success_cpu_s, note: String::new(), usable: true }
    }
}

/// The categories with what is needed to compute their scores.
struct CategoryTree<'a> {
    edition: &'a SvcompEdition,
    categories: &'a [Category],
    children: Vec<Vec<usize>>,
    parents: Vec<Vec<usize>>,
    /// The place of each category in `order`.
    position: Vec<usize>,
    /// The answers that count where the category is shown.
    counted: Vec<CountedAnswers>,
    /// Number of tasks (n) of each category; of a meta category the sum over its held parts.
    tasks: Vec<u64>,
    /// Why a category is not held; empty if it is held.
    not_held: Vec<String>,
    /// Whether a category, or a part of it, has neither results nor a number of tasks, so that no score of a meta category can
    /// be computed from it.
    missing: Vec<bool>,
    entries: &'a [Entry],
    tallies: &'a BTreeMap<(usize, usize), CategoryTallies>,
    given: BTreeMap<(&'a str, &'a str), &'a GivenScore>,
    /// Entry and category of opt-outs; a dash is shown there.
    opted_out: &'a BTreeSet<(usize, usize)>,
    /// By (entry, category) and the answers that count.
    values: BTreeMap<(usize, usize, CountedAnswers), CategoryScore>,
    notes: Vec<String>,
}

/// Computes the scores of all categories. `shown_tasks` is the number of different tasks in the results, by category.
pub(super) fn score(
    edition: &SvcompEdition,
    results: &Results,
    entries: &[Entry],
    tallies: &BTreeMap<(usize, usize), CategoryTallies>,
    shown_tasks: &[u64],
    opted_out: &BTreeSet<(usize, usize)>,
) -> Result<ScoredCategories, SvcompError> {
    let categories = &results.categories;
    let number: BTreeMap<&str, usize> =
        categories.iter().enumerate().map(|(number, category)| (category.name.as_str(), number)).collect();
    let parents: Vec<Vec<usize>> = categories
        .iter()
        .map(|category| category.parents.iter().map(|parent| number[parent.as_str()]).collect())
        .collect();
    let mut children = vec![Vec::new(); categories.len()];
    for (at, parents) in parents.iter().enumerate() {
        parents.iter().for_each(|parent: &usize| children[*parent].push(at));
    }
    let counted = |(at, category): (usize, &Category)| {
        if children[at].is_empty() { CountedAnswers::All } else { edition.counted_answers(&category.name) }
    };
    let counted: Vec<CountedAnswers> = categories.iter().enumerate().map(counted).collect();
    let given =
        results.given.iter().map(|given| ((given.entry.as_str(), given.category.as_str()), given)).collect();
    let mut tree = CategoryTree {
        edition,
        categories,
        children,
        parents,
        position: vec![0; categories.len()],
        counted,
        tasks: vec![0; categories.len()],
        not_held: vec![String::new(); categories.len()],
        missing: vec![false; categories.len()],
        entries,
        tallies,
        given,
        opted_out,
        values: BTreeMap::new(),
        notes: Vec::new(),
    };
    // Sub-categories come before their meta category.
    for (position, category) in tree.order().into_iter().enumerate() {
        tree.position[category] = position;
        tree.compute_category(category, shown_tasks[category])?;
    }
    Ok(tree.finish())
}

impl CategoryTree<'_> {
    /// All categories, each after its parts.
    fn order(&self) -> Vec<usize> {
        let mut open: Vec<usize> = self.children.iter().map(Vec::len).collect();
        let mut order: Vec<usize> = (0..open.len()).filter(|at| open[*at] == 0).collect();
        let mut at = 0;
        while let Some(category) = order.get(at).copied() {
            for parent in &self.parents[category] {
                open[*parent] -= 1;
                if open[*parent] == 0 {
                    order.push(*parent);
                }
            }
            at += 1;
        }
        order
    }

    fn is_held(&self, category: usize) -> bool {
        self.not_held[category].is_empty()
    }

    fn has_medals(&self, category: usize) -> bool {
        !fits(&self.edition.without_medals, &self.categories[category].name)
    }

    fn held_parts(&self, category: usize) -> impl Iterator<Item = usize> + '_ {
        self.children[category].iter().copied().filter(|part| self.is_held(*part))
    }

    fn given(&self, entry: usize, category: usize) -> Option<&GivenScore> {
        self.given
            .get(&(self.entries[entry].entry.as_str(), self.categories[category].name.as_str()))
            .copied()
    }

    /// Computes number of tasks, scores and whether the category is held.
    fn compute_category(&mut self, category: usize, shown: u64) -> Result<(), SvcompError> {
        let facts = &self.categories[category];
        let is_meta = !self.children[category].is_empty();
        self.tasks[category] = if is_meta {
            // A category may be a part of several: the number can double with each layer of them.
            let add =
                |sum: u64, part: usize| sum.checked_add(self.tasks[part]).filter(|sum| *sum <= MAX_TASKS);
            let sum = self.held_parts(category).try_fold(0, add);
            let sum = sum.ok_or_else(|| {
                SvcompError::Refused(format!(
                    "category {}: its parts have more than {MAX_TASKS} tasks together; correct their numbers of tasks \
                     or the categories that they are parts of",
                    facts.name
                ))
            })?;
            if facts.tasks.is_some_and(|tasks| tasks != sum) {
                let tasks = facts.tasks.unwrap_or_default();
                self.notes
                    .push(format!("{} should have {tasks} tasks, but its parts have {sum}", facts.name));
            }
            sum
        } else {
            if facts.tasks.is_some_and(|tasks| shown > tasks) {
                let tasks = facts.tasks.unwrap_or_default();
                let note = format!("{} should have {tasks} tasks, but the results have {shown}", facts.name);
                self.notes.push(note);
            }
            facts.tasks.unwrap_or(shown)
        };
        if is_meta && shown > 0 {
            self.notes.push(format!(
                "results of {} name the meta category {} itself and give no points; name one of its parts",
                counted(shown, "task"),
                facts.name
            ));
        }
        let has_score = |entry| self.given(entry, category).is_some();
        if let (0, Some(parent), false) = (self.tasks[category], facts.parents.first(), is_meta)
            && (0..self.entries.len()).any(has_score)
        {
            return Err(SvcompError::Refused(format!(
                "category {} is a part of {parent}, but its number of tasks is not given; add it with --categories \
                 (category,tasks,parent)",
                facts.name
            )));
        }
        let kinds = BTreeSet::from_iter(self.counted.iter().copied().chain([CountedAnswers::All]));
        for (entry, counted) in
            (0..self.entries.len()).flat_map(|entry| kinds.iter().map(move |kind| (entry, *kind)))
        {
            let value = if is_meta {
                self.meta(entry, category, counted)
            } else {
                self.plain_score(entry, category, counted)
            };
            if let Some(value) = value {
                self.values.insert((entry, category, counted), value);
            }
        }
        let teams: BTreeSet<&str> = (0..self.entries.len())
            .filter(|entry| {
                self.values.contains_key(&(*entry, category, CountedAnswers::All))
                    && !self.opted_out.contains(&(*entry, category))
            })
            .map(|entry| self.entries[entry].tool.as_str())
            .collect();
        let needed = self.edition.qualification.teams_for_a_new_category;
        let facts = &self.categories[category];
        let missing_part = self.children[category].iter().find(|part| self.missing[**part]);
        let missing_part = missing_part.map(|part| &self.categories[*part].name);
        let no_results = !is_meta && self.tasks[category] == 0 && !facts.parents.is_empty();
        self.missing[category] = facts.role == CategoryRole::Ranked && (no_results || missing_part.is_some());
        self.not_held[category] = match facts.role {
            CategoryRole::Demo => {
                "not held: a demonstration category, and no part of a meta category".to_owned()
            }
            CategoryRole::ValidationOnly => "not held: for validators of witnesses only".to_owned(),
            CategoryRole::Ranked if is_meta => match missing_part {
                Some(part) => format!("not held: there are no results of its part {part}"),
                None if self.held_parts(category).next().is_none() => {
                    "not held: none of its parts is held".to_owned()
                }
                None => String::new(),
            },
            CategoryRole::Ranked if no_results => {
                "not held: no results, and no number of tasks is given".to_owned()
            }
            CategoryRole::Ranked if facts.new && teams.len() < needed => {
                format!("new and not held: fewer than {needed} teams took part")
            }
            CategoryRole::Ranked => String::new(),
        };
        Ok(())
    }

    fn plain_score(&self, entry: usize, category: usize, counted: CountedAnswers) -> Option<CategoryScore> {
        if let Some(tally) = self.tallies.get(&(entry, category)) {
            let tally = tally.tally(counted);
            return Some(CategoryScore::computed(tally.points.clone(), tally.success_cpu_s()));
        }
        // A score in a table is that of all answers.
        let given = self.given(entry, category).filter(|_| counted == CountedAnswers::All)?;
        Some(CategoryScore::computed(given.score.clone()?, given.success_cpu_s.clone()))
    }

    /// The score of a meta category, or the printed one if it cannot be computed. A part that the entry opted out of never
    /// counts as 0.
    fn meta(&self, entry: usize, category: usize, counted: CountedAnswers) -> Option<CategoryScore> {
        let participants = &self.categories[category].participants;
        if !participants.is_empty() && !participants.contains(&self.entries[entry].entry) {
            return None;
        }
        let of_part = |part: usize| self.values.get(&(entry, part, counted));
        let parts: Vec<usize> = self.held_parts(category).collect();
        let values: Option<Vec<&CategoryScore>> =
            parts.iter().map(|part| of_part(*part).filter(|part| part.usable)).collect();
        let given = self.given(entry, category).filter(|_| counted == self.counted[category]);
        let printed_time = given.and_then(|given| given.success_cpu_s.clone());
        if let Some(values) = values.filter(|values| !values.is_empty()) {
            let normalized: BigRational =
                values.iter().zip(&parts).map(|(value, part)| &value.points / self.count(*part)).sum();
            let points = normalized * self.count(category) / BigRational::from_integer(parts.len().into());
            let summed: Option<BigRational> = values.iter().map(|value| value.success_cpu_s.clone()).sum();
            return Some(CategoryScore::computed(points, printed_time.or(summed)));
        }
        let given = given?;
        // Without any result in the parts, the printed score counts as a result.
        let usable = parts.iter().all(|part| self.given(entry, *part).is_none() && of_part(*part).is_none());
        let note = if usable { PlaceNote::PartsNotGiven } else { PlaceNote::NotRecomputable };
        Some(CategoryScore {
            points: given.score.clone()?,
            success_cpu_s: printed_time,
            note: note.in_files().to_owned(),
            usable,
        })
    }

    fn count(&self, category: usize) -> BigRational {
        BigRational::from_integer(self.tasks[category].into())
    }

    fn finish(mut self) -> ScoredCategories {
        let (mut scores, mut podiums, mut quantiles) = (Vec::new(), Vec::new(), Vec::new());
        for category in 0..self.categories.len() {
            let mut contenders = Vec::new();
            let bases = self.base_categories(category);
            for entry in 0..self.entries.len() {
                let value = self.values.get(&(entry, category, self.counted[category])).cloned();
                if value.is_none() {
                    self.note_useless_participation(entry, category);
                }
                let opted_out = self.opted_out.contains(&(entry, category));
                if value.is_none() && !opted_out && self.given(entry, category).is_none() {
                    continue;
                }
                scores.push(self.score(entry, category, &bases, value.as_ref().filter(|_| !opted_out)));
                let (Some(value), false) = (value, opted_out) else { continue };
                self.compare_with_printed(entry, category, &value);
                quantiles.extend(self.quantile(entry, category, &bases));
                let CategoryScore { points, success_cpu_s, note, .. } = value;
                contenders.push(Contender { entry, points, success_cpu_s, note });
            }
            if self.is_held(category) && !contenders.is_empty() {
                let mut podium = crate::podium(category, self.entries, contenders, &Ties::Equal);
                if !self.has_medals(category) {
                    podium.places.iter_mut().for_each(|place| place.medal = Medal::None);
                }
                podiums.push(podium);
            }
        }
        let category = |(number, facts): (usize, &Category)| crate::Category {
            category: facts.name.clone(),
            parent: self.parents[number].first().copied(),
            more_parents: self.parents[number].iter().skip(1).copied().collect(),
            tasks: self.tasks[number],
            held: self.is_held(number),
            note: if self.is_held(number) {
                let counted = match self.counted[number] {
                    CountedAnswers::All => None,
                    CountedAnswers::FalseOnly => Some("only answers FALSE count"),
                    CountedAnswers::TrueOnly => Some("only answers TRUE count"),
                };
                let medals = Some("no medals: the contest gave none in this category");
                let notes = [medals.filter(|_| !self.has_medals(number)), counted];
                notes.into_iter().flatten().collect::<Vec<_>>().join("; ")
            } else {
                self.not_held[number].clone()
            },
        };
        ScoredCategories {
            categories: self.categories.iter().enumerate().map(category).collect(),
            scores,
            podiums,
            quantiles,
            notes: self.notes,
        }
    }

    /// Adds a note if an entry takes part in a meta category and has no score there because it opted out of parts in which it
    /// does not take part: its results in the other parts do not count.
    fn note_useless_participation(&mut self, entry: usize, category: usize) {
        let name = &self.entries[entry].entry;
        if !self.categories[category].participants.contains(name) {
            return;
        }
        let has_value = |part: &usize| self.values.contains_key(&(entry, *part, self.counted[category]));
        let (with, without): (Vec<usize>, Vec<usize>) = self.held_parts(category).partition(has_value);
        let part_name = |part: &usize| self.categories[*part].name.as_str();
        let opted_out = without.iter().filter(|part| self.opted_out.contains(&(entry, **part)));
        let opted_out: Vec<&str> = opted_out.map(part_name).collect();
        if !with.is_empty() && !opted_out.is_empty() {
            let note = format!(
                "{name} takes part in {} and has no score there, because it opted out of {} and has no score in them: its \
                 results in {} do not count in {}",
                part_name(&category),
                opted_out.join(", "),
                Vec::from_iter(with.iter().map(part_name)).join(", "),
                part_name(&category),
            );
            self.notes.push(note);
        }
    }

    fn score(&self, entry: usize, category: usize, bases: &[Base], value: Option<&CategoryScore>) -> Score {
        let mut counted: Vec<(&CategoryTally, u64)> = Vec::new();
        // The results of an entry that opted out are not shown.
        if value.is_some() {
            for base in bases {
                if let Some(tallies) = self.tallies.get(&(entry, base.category)) {
                    counted.push((tallies.tally(self.counted[category]), base.ways));
                }
            }
        }
        let sum =
            |count: fn(&CategoryTally) -> u64| counted.iter().map(|(tally, ways)| count(tally) * ways).sum();
        let normalized = value.filter(|_| self.tasks[category] > 0);
        Score {
            entry,
            category,
            right: sum(|tally| tally.right),
            unconfirmed: sum(|tally| tally.unconfirmed),
            wrong: sum(|tally| tally.wrong),
            unjudged: sum(|tally| tally.unjudged),
            points: value.map(|value| Points(value.points.clone())),
            parts: Vec::new(),
            normalized: normalized.map(|value| Points(&value.points / self.count(category))),
            success_cpu_s: value.and_then(|value| value.success_cpu_s.clone()).map(Points),
            note: value.map_or("opted out".to_owned(), |value| value.note.clone()),
        }
    }

    /// Adds a note if a computed score, truncated or rounded, differs from the printed one.
    fn compare_with_printed(&mut self, entry: usize, category: usize, value: &CategoryScore) {
        let printed = self.given(entry, category).and_then(|given| given.score.clone());
        let Some(printed) = printed.filter(|_| value.note.is_empty()) else {
            return;
        };
        if ![value.points.trunc(), value.points.round(), value.points.clone()].contains(&printed) {
            let (entry, name) = (&self.entries[entry].entry, &self.categories[category].name);
            let (printed, computed) = (rounded(&printed, 2), rounded(&value.points, 2));
            self.notes.push(format!(
                "{name}, {entry}: the report prints the score {printed}, but the computed score is {computed}"
            ));
        }
    }

    /// The base categories of a category. Weights are summed up, because the number of ways can double with each layer of
    /// categories.
    fn base_categories(&self, category: usize) -> Vec<Base> {
        let top = Base { category, weight: BigRational::from_integer(1.into()), ways: 1 };
        // A category comes after its parts in `order`, so the last one has its whole weight.
        let mut pending = BTreeMap::from([(self.position[category], top)]);
        let mut found = Vec::new();
        while let Some((_, base)) = pending.pop_last() {
            let at = base.category;
            if self.children[at].is_empty() {
                found.push(base);
                continue;
            }
            let parts: Vec<usize> = self.held_parts(at).collect();
            let k = BigRational::from_integer(parts.len().into());
            for part in parts {
                let weight = &base.weight * self.count(at) / &k / self.count(part);
                let sum = pending.entry(self.position[part]).or_insert_with(|| Base {
                    category: part,
                    weight: BigRational::zero(),
                    ways: 0,
                });
                sum.weight += weight;
                // At most MAX_TASKS, because a held base category has a task.
                sum.ways += base.ways;
            }
        }
        found.sort_by_key(|base| base.category);
        found
    }

    /// The quantile function. None unless the runs of every base category and the times of all runs with points are known.
    fn quantile(&self, entry: usize, category: usize, bases: &[Base]) -> Option<QuantileFunction> {
        let mut start = BigRational::zero();
        let mut runs: Vec<(BigRational, BigRational)> = Vec::new();
        for base in bases {
            let tally = self.tallies.get(&(entry, base.category))?.tally(self.counted[category]);
            start += &tally.negative * &base.weight;
            for (cpu_s, points) in &tally.with_points {
                runs.push((cpu_s.clone()?, points * &base.weight));
            }
        }
        runs.sort();
        let mut x = start.clone();
        let mut step = |(cpu_s, points): (BigRational, BigRational)| {
            x += points;
            Step { x: x.clone(), cpu_s }
        };
        let steps = runs.into_iter().map(&mut step).collect();
        Some(QuantileFunction { entry, category, start, steps })
    }
}
