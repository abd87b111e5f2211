//! Explains an examination on an instance from a judgement: why each value is trusted, the answers of all entries and
//! their points.

mod certified;
mod tool;

use super::judgement::*;
use super::show::{approximate, basis_beside_value, columns, ending, percent, short, status_text, wrapped};
use crate::mcc::{ValuePoints, counted_votes};
use crate::shared::{find, unknown};
pub use certified::CertifiedPosition;
use mcc_base::Mark;
use mcc_base::text::counted;
use mcc_campaign::benchkit::{STATE_SPACE, Value};
use mcc_edition::{AnswerKind, Edition, Votes};
use num_rational::BigRational;
use num_traits::Zero;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;
pub use tool::{ToolExplanation, best_variant, explain_tool};

/// Why something cannot be explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// The judgement does not have an item with the given name.
    #[error("no {what} `{name}` in this judgement; {hint}")]
    Unknown {
        /// The kind of item: `tool`, `instance`, `examination` or `category`.
        what: &'static str,
        /// The given name.
        name: String,
        /// Names that the judgement has.
        hint: String,
    },
    /// No entry has a run of the examination on the instance.
    #[error("no entry has a run of {examination} on {instance} in this judgement{why}")]
    NoBlock {
        /// Name of the instance.
        instance: String,
        /// Name of the examination or category.
        examination: String,
        /// The reason, if it is known; begins with `: `.
        why: String,
    },
    /// The examination does not have the position.
    #[error("{examination} has positions 00 to {last:02}, not {position}")]
    NoPosition {
        /// Name of the examination.
        examination: String,
        /// The given position.
        position: usize,
        /// The last position of the examination.
        last: usize,
    },
}

/// The explanation of one examination on one instance.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// Name of the edition.
    pub edition: String,
    /// Name of the instance.
    pub instance: String,
    /// Name of its family.
    pub family: String,
    /// Status of the instance, such as `known` or `surprise`.
    pub status: String,
    /// Name of the examination.
    pub examination: String,
    /// Points of a right value before weights, exact.
    pub share: String,
    /// Points that a wrong value costs before weights, exact and positive.
    pub penalty: String,
    /// Weight of the instance, exact.
    pub weight: String,
    /// Whether the judgement is provisional: a run of it ended in an infrastructure failure or is not run yet.
    pub provisional: bool,
    /// All positions, or the requested one.
    pub positions: Vec<Position>,
    /// One for each entry that has a run in the block.
    pub runs: Vec<RunSummary>,
}

/// The explanation of one position.
#[derive(Debug, Serialize)]
pub struct Position {
    /// Its number, from 0.
    pub position: usize,
    /// Its name, such as STATES; may be empty.
    #[serde(skip)]
    pub name: &'static str,
    /// The property id; may be empty.
    pub id: String,
    /// The trusted value; None if it is unknown.
    pub value: Option<String>,
    /// The basis of the trusted value.
    pub basis: Basis,
    /// The case of E-3.1 in words.
    pub rule: String,
    /// Why the evidence for the value is weak, if it is.
    pub weak: Option<Weak>,
    /// How the value is certified; None without a certified value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified: Option<CertifiedPosition>,
    /// Summed confidence of the voters that gave the trusted value, exact.
    pub backing: String,
    /// Summed confidence of all voters that answered, exact.
    pub voting: String,
    /// The answers of all entries that have a run.
    pub answers: Vec<PositionAnswer>,
}

/// The answer of one entry to a position, with verdict and points.
#[derive(Debug, Serialize)]
pub struct PositionAnswer {
    /// Name of the entry.
    pub entry: String,
    /// The value; None if it was not computed.
    pub value: Option<String>,
    /// Confidence of the entry as a fraction (E-2.2).
    pub confidence: String,
    /// The same for a reader.
    #[serde(skip)]
    pub confidence_words: String,
    /// Status of the entry.
    pub status: Status,
    /// Whether the entry has a vote.
    pub votes: bool,
    /// The verdict on the value.
    pub verdict: ValueVerdict,
    /// Points with weights, exact.
    pub points: String,
}

/// A run of one entry in the block.
#[derive(Debug, Serialize)]
pub struct RunSummary {
    /// Name of the entry.
    pub entry: String,
    /// Status of the entry.
    pub status: Status,
    /// How the run ended.
    pub ending: Ending,
    /// Confidence of the entry as a fraction (E-2.2).
    pub confidence: String,
    /// Number of right values.
    pub right: u64,
    /// Number of wrong values.
    pub wrong: u64,
    /// Points with weights, exact.
    pub points: String,
    /// Whether every position has a trusted value and the entry gave it (E-4.3).
    pub complete: bool,
    /// CPU time, wall time and peak memory, if known.
    pub cost: Option<Cost>,
    /// Recorded deviations from contest conditions.
    pub marks: Vec<Mark>,
}

/// Explains one position of an examination, or all positions if `position` is None.
///
/// # Errors
/// The judgement does not have the examination, the instance, the block or the position.
pub fn explain(
    judgement: &Judgement,
    instance: &str,
    examination: &str,
    position: Option<usize>,
) -> Result<Explanation, ExplainError> {
    // The judgement has the examinations of the edition; only those with runs are suggested.
    let number = judgement.examinations.iter().position(|known| known == examination).ok_or_else(|| {
        let judged: BTreeSet<usize> = judgement.blocks.iter().map(|block| block.examination).collect();
        let names: Vec<&str> = judged.into_iter().map(|number| &*judgement.examinations[number]).collect();
        unknown("examination", examination, &names)
    })?;
    let place = find("instance", instance, judgement.instances.iter().map(|known| &known.instance))?;
    let block = judgement.blocks.iter().find(|block| block.examination == number && block.instance == place);
    let block = block.ok_or_else(|| {
        let excluded = |run: &&RunName| run.instance == instance && run.examination == examination;
        let reason = judgement.edition.judging.infrastructure_reason.clone().unwrap_or_default();
        let why = judgement.excluded.iter().find(excluded);
        let why =
            why.map(|run| format!(": excluded for all tools because of the run of {} ({reason})", run.entry));
        let (instance, examination) = (instance.to_owned(), examination.to_owned());
        ExplainError::NoBlock { instance, examination, why: why.unwrap_or_default() }
    })?;
    let count = block.trusted.len();
    if let Some(position) = position.filter(|position| *position >= count) {
        return Err(ExplainError::NoPosition {
            examination: examination.to_owned(),
            position,
            last: count - 1,
        });
    }
    let instance = &judgement.instances[place];
    let value = ValuePoints::new(&judgement.edition.judging, count);
    let wanted = position.map_or(0..count, |position| position..position + 1);
    Ok(Explanation {
        edition: judgement.edition.name.clone(),
        instance: instance.instance.clone(),
        family: instance.family.clone(),
        status: instance.status.clone(),
        examination: examination.to_owned(),
        share: value.right.to_string(),
        penalty: (-value.wrong).to_string(),
        weight: instance.weight.to_string(),
        provisional: !judgement.unresolved.is_empty(),
        positions: wanted.map(|position| explain_position(judgement, block, position)).collect(),
        runs: block.cells.iter().map(|cell| run(judgement, cell)).collect(),
    })
}

/// The names of the positions of an examination, if they are metrics and not numbered properties.
pub fn position_names(judgement: &Judgement, examination: usize) -> Option<[&'static str; 4]> {
    let (_, examination) = judgement.edition.examination(&judgement.examinations[examination])?;
    (examination.answers == AnswerKind::StateSpace).then_some(STATE_SPACE)
}

/// The name of a position that has one, such as STATES of StateSpace; otherwise empty.
fn position_name(judgement: &Judgement, examination: usize, position: usize) -> &'static str {
    position_names(judgement, examination).and_then(|names| names.get(position).copied()).unwrap_or_default()
}

/// The number of a position with two digits, and its name if it has one.
fn numbered(position: usize, name: &str) -> String {
    format!("{position:02} {name}").trim_end().to_owned()
}

fn explain_position(judgement: &Judgement, block: &Block, position: usize) -> Position {
    let trusted = &block.trusted[position];
    let weight = &judgement.instances[block.instance].weight;
    let value = ValuePoints::new(&judgement.edition.judging, block.trusted.len());
    let answer = |cell: &Cell| {
        let verdict = cell.verdicts[position];
        let points = match verdict {
            ValueVerdict::Right => &value.right * weight,
            ValueVerdict::Wrong => &value.wrong * weight,
            ValueVerdict::Unjudged | ValueVerdict::NotComputed => BigRational::zero(),
        };
        PositionAnswer {
            entry: judgement.entries[cell.entry].entry.clone(),
            value: cell.values[position].as_ref().map(ToString::to_string),
            confidence: judgement.confidence[cell.entry].confidence.to_string(),
            confidence_words: confidence_words(&judgement.confidence[cell.entry]),
            status: judgement.entries[cell.entry].status,
            votes: judgement.entries[cell.entry].status.votes(),
            verdict,
            points: points.to_string(),
        }
    };
    let backing = |cell: &Cell| cell.verdicts[position] == ValueVerdict::Right;
    let votes = || counted_votes(judgement, block, position);
    let backing = votes().filter(|(cell, _)| backing(cell)).map(|(_, confidence)| confidence);
    let voting = votes().map(|(_, confidence)| confidence);
    Position {
        position,
        name: position_name(judgement, block.examination, position),
        backing: backing.sum::<BigRational>().to_string(),
        voting: voting.sum::<BigRational>().to_string(),
        id: trusted.id.clone(),
        value: trusted.value.as_ref().map(ToString::to_string),
        basis: trusted.basis,
        rule: rule_at(judgement, block, position),
        weak: trusted.weak,
        certified: judgement.is_certified().then(|| CertifiedPosition::from_trusted(trusted)),
        answers: block.cells.iter().map(answer).collect(),
    }
}

/// A confidence as the counts of values that it is the quotient of. If the edition divides by another number, that of all
/// common values, it is a decimal with its fraction.
fn confidence_words(Confidence { agreed, answered, confidence, .. }: &Confidence) -> String {
    let is_quotient = *answered > 0 && *confidence == BigRational::new((*agreed).into(), (*answered).into());
    if is_quotient { format!("{agreed} of {answered} values") } else { approximate(&confidence.to_string()) }
}

/// Describes the case of E-3.1 that decided a trusted value. Where the basis has two causes, names both.
pub fn rule(trusted: &Trusted, edition: &Edition) -> String {
    let threshold = percent(&edition.judging.single_threshold);
    match trusted.basis {
        Basis::Unanimous => "all votes agree".to_owned(),
        Basis::Single => format!("there is one vote, with a confidence of at least {threshold}"),
        Basis::Majority => {
            format!(
                "the votes for this value have more than {} of the confidence of all votes",
                share(edition)
            )
        }
        Basis::Confidence => {
            "two votes differ, and the value with the higher confidence is trusted".to_owned()
        }
        Basis::UnknownNone => "there is no vote".to_owned(),
        Basis::UnknownSingle => {
            format!("there is one vote, and {}, or {VALUE_NOT_STATED}", too_low(edition))
        }
        Basis::UnknownTie => "two votes of equal confidence differ".to_owned(),
        Basis::UnknownSplit => {
            let no_vote = ", or there is no vote, because the variants of a tool differ";
            let no_vote = if edition.judging.votes == Votes::PerTool { no_vote } else { "" };
            format!("{}{no_vote}", no_majority(edition))
        }
        Basis::Override => format!("set by the organizers: {}", trusted.reason),
    }
}

/// The share of the confidence that the votes for a value must exceed.
fn share(edition: &Edition) -> String {
    let half = BigRational::new(1.into(), 2.into());
    let majority = &edition.judging.majority;
    if *majority == half { "half".to_owned() } else { majority.to_string() }
}

fn no_majority(edition: &Edition) -> String {
    format!("no known value has more than {} of the confidence of all votes", share(edition))
}

const VALUE_NOT_STATED: &str = "the judged table does not state its value";

fn too_low(edition: &Edition) -> String {
    format!("its confidence is below {}", percent(&edition.judging.single_threshold))
}

/// As `rule`, with the cause at this position, and the tools that have no vote because their variants differ.
fn rule_at(judgement: &Judgement, block: &Block, position: usize) -> String {
    let (trusted, edition) = (&block.trusted[position], &judgement.edition);
    if trusted.basis == Basis::Override {
        return rule(trusted, edition);
    }
    let votes: Vec<&Cell> = counted_votes(judgement, block, position).map(|(cell, _)| cell).collect();
    let tool = |cell: &Cell| judgement.entries[cell.entry].tool.as_str();
    let voting = block.cells.iter().filter(|cell| judgement.entries[cell.entry].status.votes());
    let voting = voting.filter(|cell| cell.values[position].is_some());
    let without: BTreeSet<&str> =
        voting.map(tool).filter(|name| votes.iter().all(|vote| tool(vote) != *name)).collect();
    let rule = match (trusted.basis, votes.as_slice()) {
        (Basis::UnknownSingle, [vote]) if vote.values[position] == Some(Value::NotKept) => {
            format!("there is one vote, and {VALUE_NOT_STATED}")
        }
        (Basis::UnknownSingle, _) => format!("there is one vote, and {}", too_low(edition)),
        (Basis::UnknownSplit, []) => "there is no vote".to_owned(),
        (Basis::UnknownSplit, _) => no_majority(edition),
        _ => rule(trusted, edition),
    };
    let without: Vec<String> = without
        .into_iter()
        .map(|tool| format!("; {tool} has no vote, because its variants differ"))
        .collect();
    rule + &without.concat()
}

fn run(judgement: &Judgement, cell: &Cell) -> RunSummary {
    let entry = &judgement.entries[cell.entry];
    RunSummary {
        entry: entry.entry.clone(),
        status: entry.status,
        ending: cell.ending,
        confidence: judgement.confidence[cell.entry].confidence.to_string(),
        right: cell.verdicts.count(ValueVerdict::Right),
        wrong: cell.verdicts.count(ValueVerdict::Wrong),
        points: cell.points.to_string(),
        complete: cell.complete,
        cost: cell.cost,
        marks: cell.marks.clone(),
    }
}

/// Who gave a value with weak evidence.
fn weak_words(weak: Weak) -> &'static str {
    match weak {
        Weak::SingleBacker => "only one entry with a vote",
        Weak::SingleFamily => "only variants of one tool",
    }
}

/// What a provisional judgement is.
const PROVISIONAL: &str =
    "The judgement is provisional: a run has no result (infrastructure failure, or not run yet).";

impl fmt::Display for Explanation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instance, examination, edition, family, status, weight, share, penalty, .. } = self;
        writeln!(out, "{instance}, {examination} ({edition})")?;
        let why = if weight == "0" { ", because no competing entry has a value on it" } else { "" };
        writeln!(out, "model {family}, {status}; weight {}{why}", approximate(weight))?;
        writeln!(
            out,
            "Points before the weight: right value {share}, wrong value -{penalty}, no value 0 (E-4)."
        )?;
        if self.provisional {
            writeln!(out, "{PROVISIONAL}")?;
        }
        if let [position] = self.positions.as_slice() {
            position.write_position(out)?;
            return self.totals(out);
        }
        writeln!(out)?;
        let has_certified = self.positions.iter().any(|position| position.certified.is_some());
        let certified = has_certified.then_some("evidence");
        let heads =
            ["position", "trusted value", "how decided"].into_iter().chain(certified).chain(["for it"]);
        let mut rows = vec![heads.map(str::to_owned).collect::<Vec<_>>()];
        rows.extend(self.positions.iter().map(|position| {
            let value = position.value.as_deref().map_or_else(|| "unknown".to_owned(), short);
            let against = position.voters(ValueVerdict::Wrong);
            let against = if against.is_empty() { against } else { format!("; against: {against}") };
            let weak = position.weak.map_or(String::new(), |weak| format!(" ({})", weak_words(weak)));
            let backers = format!("{}{weak}{against}", position.voters(ValueVerdict::Right));
            let certified =
                position.certified.as_ref().map_or_else(String::new, CertifiedPosition::label_words);
            let basis = basis_beside_value(position.basis).to_owned();
            let mut row = vec![numbered(position.position, position.name), value, basis];
            row.extend(has_certified.then_some(certified).into_iter().chain([backers]));
            row
        }));
        out.write_str(&columns(&rows, &[]))?;
        for position in self.positions.iter().filter(|position| position.basis == Basis::Override) {
            writeln!(out, "{}", wrapped(&format!("{:02} is {}", position.position, position.rule), 80, 2))?;
        }
        writeln!(out)?;
        for run in &self.runs {
            writeln!(out, "{}", run.lines())?;
        }
        Ok(())
    }
}

impl RunSummary {
    /// The name of the entry, and its results in a column of their own.
    fn lines(&self) -> String {
        let points = counted(approximate(&self.points), "point");
        let mut line = format!("{} right, {} wrong, {points}", self.right, self.wrong);
        if self.status != Status::Competing {
            line += &format!(", {}", status_text(self.status));
        }
        if !Mark::was_made(&self.marks) {
            line += ", not run yet; not scored";
        } else if self.ending != Ending::NotStated {
            line += &format!(", {}", ending(self.ending));
        }
        if let Some(user) = self.cost.and_then(|cost| cost.instructions_user) {
            line += &format!(", {user} user instructions");
        }
        if !self.marks.is_empty() {
            let names: Vec<&str> = self.marks.iter().map(Mark::name).collect();
            line += &format!(" [{}]", names.join(", "));
        }
        let indent = " ".repeat(21);
        format!(
            "{:<20} {}",
            self.entry,
            wrapped(&line, 80 - indent.len(), 0).replace('\n', &format!("\n{indent}"))
        )
    }
}

impl Explanation {
    /// Writes the results in the whole examination of the entries that are wrong at a shown position.
    fn totals(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answers = self.positions.iter().flat_map(|position| &position.answers);
        let wrong: Vec<&str> = answers
            .filter(|answer| answer.verdict == ValueVerdict::Wrong)
            .map(|answer| answer.entry.as_str())
            .collect();
        let runs: Vec<&RunSummary> =
            self.runs.iter().filter(|run| wrong.contains(&run.entry.as_str())).collect();
        if !runs.is_empty() {
            let title = format!(
                "Entries that are wrong at this position, and all their {} values on {}:",
                self.examination, self.instance
            );
            writeln!(out, "\n{}", wrapped(&title, 80, 2))?;
        }
        runs.iter().try_for_each(|run| writeln!(out, "{}", run.lines()))
    }
}

impl Position {
    /// The entries with a vote whose value has this verdict, joined by spaces.
    fn voters(&self, verdict: ValueVerdict) -> String {
        let answers = self.answers.iter().filter(|answer| answer.votes && answer.verdict == verdict);
        answers.map(|answer| answer.entry.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Writes the explanation of one position.
    fn write_position(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = if self.id.is_empty() { self.name } else { &self.id };
        let id = if id.is_empty() { String::new() } else { format!(" ({id})") };
        let value = self.value.as_deref().map_or_else(|| "unknown".to_owned(), short);
        let is_rounded = self.value.as_deref().is_some_and(|value| value.contains("E+"));
        let rounded = if is_rounded { " (rounded to 5 digits in the published table)" } else { "" };
        writeln!(out, "\nPosition {:02}{id}: trusted value {value}{rounded}", self.position)?;
        let cite = if self.basis == Basis::Override { "" } else { " (E-3.1)" };
        let (backing, voting) = (approximate(&self.backing), approximate(&self.voting));
        let sums =
            if self.basis == Basis::Majority { format!(": {backing} of {voting}") } else { String::new() };
        let decided = format!("How the value was decided: {}{sums}{cite}", self.rule);
        writeln!(out, "{}", wrapped(&decided, 80, 2))?;
        if let Some(weak) = self.weak {
            writeln!(out, "Weak evidence: {} gave the value", weak_words(weak))?;
        }
        if let Some(certified) = &self.certified {
            writeln!(out, "{}", wrapped(&certified.to_string(), 80, 2))?;
        }
        if self.basis != Basis::Majority {
            let backed = if self.value.is_some() {
                format!("{backing} for the trusted value, ")
            } else {
                String::new()
            };
            let sums = format!("Sum of confidence: {backed}{voting} for all given values");
            writeln!(out, "{}", wrapped(&sums, 80, 2))?;
        }
        for (what, verdict) in
            [("For the trusted value:", ValueVerdict::Right), ("For other values:", ValueVerdict::Wrong)]
        {
            let voters = self.voters(verdict);
            if !voters.is_empty() {
                writeln!(out, "{}", wrapped(&format!("{what} {voters}"), 80, 2))?;
            }
        }
        let mut rows =
            vec![["entry", "answer", "confidence", "verdict", "points"].map(str::to_owned).to_vec()];
        rows.extend(self.answers.iter().map(|answer| {
            let value = answer.value.as_deref().map_or_else(|| "-".to_owned(), short);
            let confidence = match answer.status {
                Status::VotingOnly => format!("{}, votes only", answer.confidence_words),
                status if status.votes() => answer.confidence_words.clone(),
                _ => "no vote".to_owned(),
            };
            let points = approximate(&answer.points);
            vec![answer.entry.clone(), value, confidence, answer.verdict.word().to_owned(), points]
        }));
        write!(out, "\n{}", columns(&rows, &[]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confidence_is_shown_as_the_counts_that_it_comes_from() {
        let words = |agreed: u64, answered: u64, divisor: u64| {
            let confidence = BigRational::new(agreed.into(), divisor.into());
            confidence_words(&Confidence { entry: 0, agreed, answered, confidence })
        };
        assert_eq!(words(12, 16, 16), "12 of 16 values");
        assert_eq!(words(16, 16, 16), "16 of 16 values");
        assert_eq!(words(12, 16, 48), "0.250000 (1/4)");
        assert_eq!(words(0, 0, 1), "0");
    }

    #[test]
    fn a_run_has_its_user_instructions_if_they_were_counted() {
        let run = |instructions_user| RunSummary {
            entry: "LoLA".to_owned(),
            status: Status::Competing,
            ending: Ending::Answered,
            confidence: "1".to_owned(),
            right: 2,
            wrong: 1,
            points: "-3".to_owned(),
            complete: false,
            cost: Some(Cost { cpu_ms: 7, wall_ms: 8, instructions_user, ..Cost::default() }),
            marks: vec![Mark::INSTRUCTIONS_COUNTED],
        };
        let counted = run(Some(2_720_486_993)).lines();
        let words = counted.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.ends_with(", answered, 2720486993 user instructions [instructions counted]"),
            "{counted}"
        );
        assert!(counted.lines().all(|line| line.chars().count() <= 80), "{counted}");
        assert!(!run(None).lines().contains("user instructions"));
    }
}
