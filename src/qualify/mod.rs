//! Would a tool pass the organizers' qualification (rules T-3, E-1.7)? `Qualification` runs it, in machines or natively,
//! and reports findings: the run, the line, the rule and the fix. The findings are pure functions of the outputs of a run.

mod campaign_file;
mod error;
pub mod native;
mod oracle;
mod output_checks;
mod per_tool;
mod qualification;
mod report;
mod run_checks;

pub use error::QualifyError;
pub use oracle::{Known, Oracle, OracleError};
pub use output_checks::{check_output, differing_values};
pub use per_tool::PerTool;
pub use qualification::{Machines, Qualification, Settings};
pub use report::QualificationReport;
pub use run_checks::check_run;

use mcc_base::Mark;
use mcc_benchkit::{Questions, Value};
use mcc_edition::{AnswerKind, Examination};
use mcc_model::{Archive, ArchiveError, Formula, NetKind, Severity};
use mcc_store::{Outcome, RunFacts, Sample};
use num_bigint::BigUint;
use serde::Serialize;
use std::path::Path;

/// One thing that is wrong with a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `ENTRY/INSTANCE/EXAMINATION`; `ENTRY` where it is about all runs; empty where there is no run, as for `lint`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// `stdout` or `stderr`; None: it is about the whole run.
    pub output: Option<&'static str>,
    /// Of that output, counted from 1.
    pub line: Option<u64>,
    /// Error: it would not pass.
    pub severity: Severity,
    /// Of the contest's rules, such as `E-1.7`.
    pub rule: &'static str,
    pub problem: String,
    pub fix: String,
}

impl Finding {
    fn new(rule: &'static str, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        let (problem, fix) = (problem.into(), fix.into());
        let (run, severity) = (String::new(), Severity::Error);
        Self { run, output: None, line: None, severity, rule, problem, fix }
    }

    fn warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }

    fn at(self, output: &'static str, line: Option<u64>) -> Self {
        Self { output: Some(output), line, ..self }
    }

    /// Where it is: `stdout line 3`, `stderr`; empty where it is about the whole run.
    pub fn place(&self) -> String {
        match (self.output, self.line) {
            (Some(output), Some(line)) => format!("{output} line {line}"),
            (Some(output), None) => output.to_owned(),
            (None, _) => String::new(),
        }
    }
}

/// A number with its noun: `1 file`, `2 files`.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// What was asked of a tool in one run, and what is known of the answer.
pub struct RunQuestions {
    pub questions: Questions,
    /// By position; empty where nothing is known.
    pub expected: Vec<Option<Value>>,
    /// What no answer can be below, by position: the initial marking is reachable. Empty where nothing is known.
    pub least: Vec<Option<BigUint>>,
    /// The model is known to be safe: no place ever has two tokens.
    pub safe: bool,
    /// Lines of the oracle's file on it that could not be read, in one text.
    pub unread: Option<String>,
}

impl RunQuestions {
    /// Without the instance: only the form can be checked.
    pub fn as_printed(examination: &Examination) -> Self {
        let questions = Questions::as_printed(examination);
        Self { questions, expected: vec![], least: vec![], safe: false, unread: None }
    }

    /// # Errors
    /// The archive's model or property files cannot be read.
    pub fn of(archive: &Archive, examination: &Examination) -> Result<Self, ArchiveError> {
        let questions = Questions::of(archive, examination)?;
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
            _ => least(archive, examination, &ids)?,
        };
        Ok(Self { questions, expected, least, safe: known("SAFE") == Some(true), unread: None })
    }

    /// What an oracle knows of the instance goes before what its archive says.
    ///
    /// # Errors
    /// A file of the oracle cannot be read. A bad line is no error: it goes to `unread`.
    pub fn with(mut self, oracle: &Oracle, instance: &str) -> Result<Self, OracleError> {
        let Known { values, unread } = oracle.of(instance, &self.questions)?;
        for (expected, known) in self.expected.iter_mut().zip(values) {
            *expected = known.or(expected.take());
        }
        self.unread = unread;
        Ok(self)
    }
}

/// The figures of the initial marking, by position.
fn least(
    archive: &Archive,
    examination: &Examination,
    ids: &[String],
) -> Result<Vec<Option<BigUint>>, ArchiveError> {
    let net = archive.net()?;
    let tokens = |wanted: &dyn Fn(&str) -> bool| -> BigUint {
        net.places.iter().filter(|place| wanted(&place.id)).map(|place| BigUint::from(place.initial)).sum()
    };
    if examination.answers == AnswerKind::StateSpace {
        let largest = net.places.iter().map(|place| place.initial).max().unwrap_or(0);
        // In the order of STATE_SPACE; the initial marking itself is a state.
        return Ok(vec![Some(1_u8.into()), None, Some(largest.into()), Some(tokens(&|_| true))]);
    }
    let properties = archive.properties(&examination.name)?.unwrap_or_default();
    let bound = |id: &String| match &properties.iter().find(|property| property.id == *id)?.formula {
        Formula::PlaceBound(places) => Some(tokens(&|place| places.iter().any(|bound| bound == place))),
        Formula::Boolean(_) => None,
    };
    Ok(ids.iter().map(bound).collect())
}

/// What a run may use: the edition's figures, with the short limit of a qualification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// CPU seconds per vCPU.
    pub cpu_s: u64,
    pub wall_s: u64,
    pub vcpus: u32,
    pub memory_mib: u64,
}

/// What one attempt at a run left.
pub struct AttemptOutputs<'a> {
    pub outcome: &'a Outcome,
    pub marks: &'a [Mark],
    pub facts: Option<&'a RunFacts>,
    pub samples: &'a [Sample],
    /// Holds `stdout` and `stderr`.
    pub outputs: &'a Path,
}
