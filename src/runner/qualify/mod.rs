//! Checks whether a tool would pass the organizers' qualification (rules T-3, E-1.7). `Qualification` runs the tool, in
//! machines or natively, and reports findings with run, line, rule and fix. Findings are pure functions of the outputs.

mod campaign_file;
mod ci_reports;
mod comparison;
mod completion;
mod descendants;
mod dispute;
mod error;
mod flips;
pub mod native;
mod oracle;
mod output_checks;
pub mod paired;
mod per_tool;
mod qualification;
mod report;
mod run_checks;

pub use ci_reports::{Checked, rule_title};
pub use comparison::{Comparison, ComparisonReport, Contender, RunComparison, Tests};
pub use completion::Completion;
pub use dispute::{Dispute, Program, Reduced};
pub use error::QualifyError;
pub use flips::{Difference, DifferentValues, ValueCount, different_values};
pub use oracle::{Known, Oracle, OracleError};
pub use output_checks::{check_output, differing_values};
pub use per_tool::PerTool;
pub use qualification::{Machines, Purpose, Qualification, Settings};
pub use report::QualificationReport;
pub use run_checks::check_run;

use mcc_base::Mark;
use mcc_campaign::benchkit::{Questions, Value};
use mcc_edition::{AnswerKind, Examination};
use mcc_model::{Archive, ArchiveError, Formula, NetKind, Property, Severity};
use mcc_store::{Outcome, RunFacts, Sample};
use num_bigint::BigUint;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// One problem of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `ENTRY/INSTANCE/EXAMINATION`; `ENTRY` for a problem of all runs; empty for `lint`, which has no run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// `stdout` or `stderr`; None: the finding is about the run.
    pub output: Option<&'static str>,
    /// The line of that output, counted from 1.
    pub line: Option<u64>,
    /// With an error, the tool would not pass.
    pub severity: Severity,
    /// The code of the violated rule, such as `E-1.7`.
    pub rule: &'static str,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub fix: String,
    /// The value that the finding is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<JudgedValue>,
}

/// A value of a tool that is wrong, and what it was compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JudgedValue {
    /// The position of the question: `00`, `01`, ...
    pub position: String,
    /// The id of the property, or the name of the metric.
    pub id: String,
    /// The value that the tool printed.
    pub given: String,
    /// The known value, or the least or largest possible one.
    pub known: String,
    /// Where it is known from: the file of the oracle, or what the instance states.
    pub oracle: String,
}

impl Finding {
    fn new(rule: &'static str, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        let (problem, fix) = (problem.into(), fix.into());
        let (run, severity) = (String::new(), Severity::Error);
        Self { run, output: None, line: None, severity, rule, problem, fix, value: None }
    }

    /// Returns the finding with the value that it is about, which the problem names.
    fn about(self, value: JudgedValue) -> Self {
        Self { value: Some(value), ..self }
    }

    fn warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }

    fn at(self, output: &'static str, line: Option<u64>) -> Self {
        Self { output: Some(output), line, ..self }
    }

    /// The problem; of a wrong value with its position and the oracle.
    pub fn text(&self) -> String {
        match &self.value {
            Some(JudgedValue { position, oracle, .. }) => {
                format!("{} (position {position}; {oracle})", self.problem)
            }
            None => self.problem.clone(),
        }
    }

    /// The place, such as `stdout line 3` or `stderr`; empty if the finding is about the run.
    pub fn place(&self) -> String {
        match (self.output, self.line) {
            (Some(output), Some(line)) => format!("{output} line {line}"),
            (Some(output), None) => output.to_owned(),
            (None, _) => String::new(),
        }
    }
}

/// The questions of a run, with known answers and lower bounds.
pub struct RunQuestions {
    /// The questions.
    pub questions: Questions,
    /// Known values by position; empty if none is known.
    pub expected: Vec<Option<Value>>,
    /// The file of the oracle; None: the known values are those that the archive states.
    pub oracle: Option<String>,
    /// Lower bounds of numbers by position: the values of the initial marking. Empty if none is known.
    pub least: Vec<Option<BigUint>>,
    /// Whether the model is known to be safe (no place ever has two tokens).
    pub safe: bool,
    /// A text about bad lines in the oracle's file for this examination and instance.
    pub unread: Option<String>,
}

impl RunQuestions {
    /// Questions without an instance: only the form of answers can be checked.
    pub fn as_printed(examination: &Examination) -> Self {
        let questions = Questions::as_printed(examination);
        Self { questions, expected: vec![], oracle: None, least: vec![], safe: false, unread: None }
    }

    /// The questions of an examination on an instance, with the answers that its archive states.
    ///
    /// # Errors
    /// The model or the property files of the archive cannot be read.
    pub fn read(archive: &Archive, examination: &Examination) -> Result<Self, ArchiveError> {
        let questions = Questions::read(archive, examination)?;
        let ids = questions.ids.clone().unwrap_or_default();
        let verdicts = archive.verdicts()?;
        let known = |property: &str| verdicts.iter().find(|v| v.property == property).and_then(|v| v.holds);
        let mut expected = vec![None; ids.len()];
        if let ("ReachabilityDeadlock", Some(deadlock), [first @ None]) =
            (examination.name.as_str(), known("DEADLOCK"), expected.as_mut_slice())
        {
            *first = Some(if deadlock { Value::True } else { Value::False });
        }
        let least = match examination.answers {
            AnswerKind::Boolean => vec![],
            _ if archive.instance.kind() == NetKind::Coloured => vec![],
            _ => least(archive, examination)?,
        };
        let safe = known("SAFE") == Some(true);
        Ok(Self { questions, expected, oracle: None, least, safe, unread: None })
    }

    /// Adds the values of an oracle. They replace the answers that the archive states.
    ///
    /// # Errors
    /// A file of the oracle cannot be read. Bad lines are not errors, but are described in `unread`.
    pub fn with(mut self, oracle: &Oracle, instance: &str) -> Result<Self, OracleError> {
        let Known { values, file, unread } = oracle.known(instance, &self.questions)?;
        // The archive states values only where there is a single one.
        if values.iter().any(Option::is_some) {
            (self.expected, self.oracle) = (values, file.map(|file| file.display().to_string()));
        }
        self.unread = unread;
        Ok(self)
    }
}

/// The values of the initial marking by position.
fn least(archive: &Archive, examination: &Examination) -> Result<Vec<Option<BigUint>>, ArchiveError> {
    let net = archive.net()?;
    if examination.answers == AnswerKind::StateSpace {
        let largest = net.places.iter().map(|place| place.initial).max().unwrap_or(0);
        // In the order of STATE_SPACE; the initial marking itself is a state.
        let all = net.places.iter().map(|place| BigUint::from(place.initial)).sum();
        return Ok(vec![Some(1_u8.into()), None, Some(largest.into()), Some(all)]);
    }
    let initial: HashMap<&str, u64> =
        net.places.iter().map(|place| (place.id.as_str(), place.initial)).collect();
    let tokens_of = |place: &String| initial.get(place.as_str()).copied().map(BigUint::from);
    // The ids are those of the properties, in their order.
    let properties = archive.properties(&examination.name)?.unwrap_or_default();
    let bound = |property: &Property| match &property.formula {
        // A place that is listed twice counts once: the bound is then too low, but not wrong.
        Formula::PlaceBound(places) => {
            Some(places.iter().collect::<BTreeSet<_>>().into_iter().filter_map(tokens_of).sum())
        }
        Formula::Boolean(_) => None,
    };
    Ok(properties.iter().map(bound).collect())
}

/// The limits of a run: those of the edition, with the short time limit of a qualification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// CPU time per vCPU, seconds.
    pub cpu_s: u64,
    /// Wall time, seconds.
    pub wall_s: u64,
    /// Number of vCPUs.
    pub vcpus: u32,
    /// Memory of the machine, MiB.
    pub memory_mib: u64,
}

/// The outcome, measurements and outputs of one attempt.
pub struct AttemptOutputs<'a> {
    /// How the attempt ended.
    pub outcome: &'a Outcome,
    /// The marks of the attempt.
    pub marks: &'a [Mark],
    /// The measurements; None: the attempt failed before its end.
    pub facts: Option<&'a RunFacts>,
    /// The measurements of each second.
    pub samples: &'a [Sample],
    /// The folder with `stdout` and `stderr`.
    pub outputs: &'a Path,
}
