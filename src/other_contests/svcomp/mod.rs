//! Judges SV-COMP: verdicts, categories and meta categories, podiums, score-based quantile functions.

mod benchexec;
mod meta;
mod results;
mod source;
mod tables;
mod verdict;

pub use benchexec::RawRun;
pub use results::{GivenScore, Results, Run};
pub use source::{SvcompError, read, with_categories};
pub use verdict::Confirmation;

use crate::{Block, Cell, Judgement, Measure, RunVerdict};
use mcc_edition::svcomp::{Category, OptOut, SvcompEdition, Unconfirmed};
use mcc_edition::{OtherEdition, Status, StatusRule, fits};
use mcc_judge::judgement::Entry;
use meta::CategoryTallies;
use num_rational::BigRational;
use std::collections::{BTreeMap, BTreeSet};
use verdict::{Answer, Witness, judge as judge_run};

/// Judges all results by an edition.
///
/// # Errors
/// A run names an entry or a category that the results do not have; a category that is part of another has no number
/// of tasks.
pub fn judge(edition: &SvcompEdition, mut results: Results) -> Result<Judgement, SvcompError> {
    let names = sort_and_number(edition, &mut results)?;
    let mut judged_runs = JudgedRuns { started: vec![(0, 0); names.len()], ..JudgedRuns::default() };
    for run in &results.runs {
        judged_runs.judge(edition, &results.categories[run.category].name, run);
    }
    let JudgedRuns { tallies, started, mut blocks, notes } = judged_runs;
    results.notes.extend(notes);
    results.notes.extend(unvalidated_notes(edition, &names, &results.categories, &results.runs));
    let notes = not_participating(edition, &names, &results);
    results.notes.extend(notes);
    results.notes.extend(unmatched_opt_outs(edition, &names, &results.categories));
    results.runs = Vec::new();
    let entries = entries(edition, &names, &started);
    let mut tasks = vec![0u64; results.categories.len()];
    blocks.iter().for_each(|block| tasks[block.category] += 1);
    let opted_out = opted_out(edition, &names, &results);
    let scored = meta::score(edition, &results, &entries, &tallies, &tasks, &opted_out)?;
    // Results in a category that the entry opted out of count in the meta category, but are not shown.
    for block in &mut blocks {
        block.cells.retain(|cell| !opted_out.contains(&(cell.entry, block.category)));
    }
    blocks.retain(|block| !block.cells.is_empty());
    let contradictions =
        blocks.iter().flat_map(|block| &block.cells).filter(|cell| !cell.recorded.is_empty());
    match contradictions.count() {
        0 => {}
        count => results.notes.push(format!(
            "runs whose category in the result file contradicts the verdict here: {count}; recorded.csv lists them"
        )),
    }
    results.notes.extend(scored.notes);
    // Removes repeated notes and keeps the order, so that the same input gives the same notes.
    let mut seen = BTreeSet::new();
    results.notes.retain(|note| seen.insert(note.clone()));
    results.inputs.sort_by(|a, b| (&a.file, &a.sha256).cmp(&(&b.file, &b.sha256)));
    Ok(Judgement {
        contest: "sv-comp".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        edition: OtherEdition::Svcomp(edition.without_resigned()),
        inputs: results.inputs,
        notes: results.notes,
        entries,
        categories: scored.categories,
        parts: Vec::new(),
        blocks,
        scores: scored.scores,
        podiums: scored.podiums,
        quantiles: scored.quantiles,
    })
}

/// Sorts the runs and numbers their entries by name, so that the order of files has no effect. Returns the names.
///
/// # Errors
/// A run names an entry or a category that the results do not have.
fn sort_and_number(edition: &SvcompEdition, results: &mut Results) -> Result<Vec<String>, SvcompError> {
    let unknown = |run: &&Run| run.entry >= results.entries.len() || run.category >= results.categories.len();
    if let Some(run) = results.runs.iter().find(unknown) {
        return Err(unknown_run(run));
    }
    // A resigned entry is removed everywhere (P-4); a withdrawn entry is named, but not judged (P-3).
    let given = results.given.iter().map(|given| &given.entry);
    let named: BTreeSet<&String> = results.entries.iter().chain(given).collect();
    let stays = |name: &&String| edition.status_of(name) != Status::Resigned;
    let names: Vec<String> = named.into_iter().filter(stays).cloned().collect();
    results.runs.retain(|run| edition.status_of(&results.entries[run.entry]).is_judged());
    results.given.retain(|given| edition.status_of(&given.entry).is_judged());
    // None for resigned entries; their runs are removed.
    let number = |name: &String| names.binary_search(name).ok();
    let renumbered: Vec<Option<usize>> = results.entries.iter().map(number).collect();
    for run in &mut results.runs {
        run.entry = renumbered[run.entry].ok_or_else(|| unknown_run(run))?;
    }
    results.runs.sort_by(|a, b| a.place().cmp(&b.place()));
    Ok(names)
}

fn unknown_run(run: &Run) -> SvcompError {
    let (name, entry, category) = (&run.raw.name, run.entry, run.category);
    SvcompError::Refused(format!(
        "a run of {name} belongs to entry {entry} and category {category}, which the results do not have"
    ))
}

/// Sums over the runs judged so far.
#[derive(Default)]
struct JudgedRuns {
    /// By (entry, category).
    tallies: BTreeMap<(usize, usize), CategoryTallies>,
    /// By entry: number of tasks on which it started, and of all its tasks.
    started: Vec<(u64, u64)>,
    blocks: Vec<Block>,
    notes: Vec<String>,
}

impl JudgedRuns {
    /// Judges the next run; runs come in the order of `Run::place`.
    fn judge(&mut self, edition: &SvcompEdition, category: &str, run: &Run) {
        let judged = judge_run(edition, category, &run.raw, run.confirmation);
        let own = &run.raw.category;
        let recorded = if judged.contradicts(own) { own.clone() } else { String::new() };
        let (started, all) = &mut self.started[run.entry];
        *started += u64::from(judged.verdict != RunVerdict::NotStarted);
        *all += 1;
        let answer = Answer::parse(&run.raw.status).map(|answer| answer.witness());
        self.tallies.entry((run.entry, run.category)).or_default().add(&judged, answer);
        // A megabyte is a million bytes.
        let memory_mb =
            run.raw.memory.as_ref().map(|bytes| bytes / BigRational::from_integer(1_000_000.into()));
        let measured =
            [("cpu_s", judged.cpu_s), ("memory_mb", memory_mb)].into_iter().filter_map(|(what, mean)| {
                Some(Measure { what: what.to_owned(), mean: mean?, experiments: 1, spread: None })
            });
        self.block(run).cells.push(Cell {
            entry: run.entry,
            answer: run.raw.status.clone(),
            recorded,
            verdict: judged.verdict,
            why: judged.why,
            points: judged.points,
            parts: Vec::new(),
            measured: measured.collect(),
        });
    }

    /// The block of the task of a run: the last block, or a new one.
    fn block(&mut self, run: &Run) -> &mut Block {
        let RawRun { name, properties, .. } = &run.raw;
        let expected = verdict::expected(&run.raw).map_or(String::new(), |answer| answer.to_string());
        let last = self
            .blocks
            .last()
            .map(|block| (block.category, &block.instance, &block.property, &block.expected));
        match last {
            Some((category, instance, property, known))
                if (category, instance, property) == (run.category, name, properties) =>
            {
                if *known != expected {
                    self.notes.push(format!(
                        "result files differ on the expected answer of {name}: {known} and {expected}"
                    ));
                }
            }
            _ => self.blocks.push(Block {
                category: run.category,
                instance: name.clone(),
                property: properties.clone(),
                expected,
                cells: Vec::new(),
            }),
        }
        self.blocks.last_mut().expect("it was pushed if there was none")
    }
}

/// Entries with their status: that of the edition; out of competition if they did not qualify.
fn entries(edition: &SvcompEdition, names: &[String], started: &[(u64, u64)]) -> Vec<Entry> {
    let entry = |(name, (started, tasks)): (&String, &(u64, u64))| {
        let share = |started: u64, tasks: u64| BigRational::new(started.into(), tasks.into());
        let unqualified = *tasks > 0 && share(*started, *tasks) <= edition.qualification.more_than;
        let status = edition.status_of(name);
        Entry {
            entry: name.clone(),
            tool: edition.team_of(name).to_owned(),
            status: if unqualified { status.max(Status::OutOfCompetition) } else { status },
            note: if unqualified {
                format!("not qualified: started on {started} of {tasks} tasks")
            } else {
                StatusRule::note_of(&edition.statuses, name).to_owned()
            },
        }
    };
    names.iter().zip(started).map(entry).collect()
}

/// Notes on entries with results in a category although, by the category structure, they take part neither in its meta
/// category nor in it by an opt-in.
fn not_participating(edition: &SvcompEdition, names: &[String], results: &Results) -> Vec<String> {
    let categories = &results.categories;
    let takes_part = |entry: &String, category: &Category| {
        let named = |meta: &&String| categories.iter().find(|category| category.name == **meta);
        let mut metas = category.parents.iter().filter_map(|meta| named(&meta)).peekable();
        let mut opt_ins = edition.opt_ins.iter().filter(|opt_in| opt_in.entry == *entry);
        metas.peek().is_none()
            || metas.any(|meta| meta.participants.is_empty() || meta.participants.contains(entry))
            || opt_ins.any(|opt_in| fits(&opt_in.categories, &category.name))
    };
    let pairs: BTreeSet<(usize, usize)> = results.runs.iter().map(|run| (run.entry, run.category)).collect();
    let note = |(entry, category): (usize, usize)| {
        let (entry, category) = (&names[entry], &categories[category]);
        (!takes_part(entry, category)).then(|| {
            format!(
                "{entry} has results in {} and does not take part in it according to the category structure; check its name",
                category.name
            )
        })
    };
    pairs.into_iter().filter_map(note).collect()
}

/// Notes on opt-outs of the edition that match no entry or category: their names may be misspelt.
fn unmatched_opt_outs(edition: &SvcompEdition, names: &[String], categories: &[Category]) -> Vec<String> {
    let note = |OptOut { entry, categories: patterns, .. }: &OptOut| match names.binary_search(entry) {
        _ if edition.status_of(entry) == Status::Resigned => None,
        Err(_) => Some(format!("{entry} opted out and has no results; check its name in the edition")),
        Ok(_) if categories.iter().any(|category| fits(patterns, &category.name)) => None,
        Ok(_) => Some(format!(
            "{entry} opted out of categories that do not exist; check their names in the edition"
        )),
    };
    // The category structure of a year names verifiers and categories that most inputs do not have.
    edition.opt_outs.iter().filter(|opt_out| !opt_out.from_structure).filter_map(note).collect()
}

/// Entry and category of all opt-outs, stated by the edition or by a column of a table; a dash is shown there.
fn opted_out(edition: &SvcompEdition, names: &[String], results: &Results) -> BTreeSet<(usize, usize)> {
    let given: BTreeSet<(&str, &str)> = results
        .given
        .iter()
        .filter(|given| given.opted_out)
        .map(|given| (given.entry.as_str(), given.category.as_str()))
        .collect();
    let mut found = BTreeSet::new();
    for (entry, name) in names.iter().enumerate() {
        for (category, facts) in results.categories.iter().enumerate() {
            if edition.has_opted_out(name, &facts.name) || given.contains(&(name, &facts.name)) {
                found.insert((entry, category));
            }
        }
    }
    found
}

/// Notes on entries without validation results of a kind of witness, in all or in some categories; only where an
/// unconfirmed answer counts less than a confirmed one.
fn unvalidated_notes(
    edition: &SvcompEdition,
    names: &[String],
    categories: &[Category],
    runs: &[Run],
) -> Vec<String> {
    let points = &edition.points;
    let matters = |witness: &Witness| {
        let unconfirmed = match witness {
            Witness::Correctness => &points.true_unconfirmed,
            Witness::Violation => &points.false_unconfirmed,
        };
        edition.witnesses.is_some() && *unconfirmed != Unconfirmed::AsRight
    };
    // A merged file has the validation results of both kinds.
    let merged = runs.iter().filter(|run| run.raw.category == "correct-unconfirmed").map(|run| run.entry);
    let merged: BTreeSet<usize> = merged.collect();
    let mut validated: BTreeSet<(Witness, usize)> = BTreeSet::new();
    // Entries with their categories.
    let mut unvalidated: BTreeMap<Witness, BTreeMap<usize, BTreeSet<usize>>> = BTreeMap::new();
    for run in runs.iter().filter(|run| !merged.contains(&run.entry)) {
        let witness = Answer::parse(&run.raw.status).map(|answer| answer.witness());
        let Some(witness) = witness.filter(matters) else { continue };
        if run.confirmation == Confirmation::NotStated {
            let entries = unvalidated.entry(witness).or_default();
            entries.entry(run.entry).or_default().insert(run.category);
        } else {
            validated.insert((witness, run.entry));
        }
    }
    let mut notes = Vec::new();
    for (witness, entries) in unvalidated {
        let [answer, kind] = witness.words();
        let (in_some, in_all): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|(entry, _)| validated.contains(&(witness, *entry)));
        if !in_all.is_empty() {
            let entries: Vec<&str> = in_all.iter().map(|(entry, _)| names[*entry].as_str()).collect();
            notes.push(format!(
                "no validation results of {kind} witnesses for the tasks of {}, and no run of theirs with the category \
                 correct-unconfirmed: each of their right answers {answer} counts as confirmed",
                entries.join(", ")
            ));
        }
        for (entry, without) in in_some {
            let without: Vec<&str> = without.iter().map(|at| categories[*at].name.as_str()).collect();
            notes.push(format!(
                "{} has validation results of {kind} witnesses, but none in {}: each of its right answers {answer} there \
                 counts as confirmed",
                names[entry],
                without.join(", ")
            ));
        }
    }
    notes
}
