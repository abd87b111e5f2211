//! The report of a qualification.

use super::{
    AttemptOutputs, Completion, Finding, PerTool, QualifyError, RunLimits, RunQuestions, check_run,
    differing_values,
};
use mcc_base::names::RunId;
use mcc_base::{FileError, files};
use mcc_campaign::benchkit::{Answers, Reading};
use mcc_model::Severity;
use serde::Serialize;
use std::collections::BTreeMap;

/// The report of a qualification, as `qualify --format json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QualificationReport {
    /// The name of the entry.
    pub tool: String,
    /// The name of the edition.
    pub edition: String,
    /// Whether the runs were native runs, which do not replace the qualification of the image.
    pub native: bool,
    /// Whether no finding is an error.
    pub passes: bool,
    /// BK_TIME_CONFINEMENT, seconds.
    pub limit_s: u32,
    /// The instances.
    pub instances: Vec<String>,
    /// The examinations.
    pub examinations: Vec<String>,
    /// The environment variables of the tool in the first run.
    pub environment: BTreeMap<String, String>,
    /// SHA-256 of the files, by role.
    pub disks: BTreeMap<String, String>,
    /// The machines: boot times, guest kernel, CPU flags, marks.
    pub machine: Vec<String>,
    /// The outcomes of the attempts, by run.
    pub runs: BTreeMap<String, Vec<String>>,
    /// The instructions at user addresses of the attempts in which they were counted, by run.
    pub instructions: BTreeMap<String, Vec<u64>>,
    /// The completion of the attempts at total examinations, by run.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub completion: BTreeMap<String, Vec<Completion>>,
    /// The findings in the order of the runs. Those of all runs and of the oracle are last.
    pub findings: Vec<Finding>,
}

/// Collects the findings of a report.
pub(super) struct Checks<'a> {
    pub report: QualificationReport,
    pub limits: &'a RunLimits,
    pub per_tool: PerTool,
}

impl Checks<'_> {
    /// Checks the attempts at one run and compares their answers.
    ///
    /// # Errors
    /// An output cannot be read.
    pub fn add(
        &mut self,
        id: &RunId,
        run_questions: &RunQuestions,
        attempts: &[AttemptOutputs],
    ) -> Result<(), QualifyError> {
        let mut findings: Vec<Finding> = vec![];
        let mut printed = vec![];
        for attempt in attempts {
            let unreadable = |source| FileError { action: "read", path: attempt.outputs.to_owned(), source };
            for finding in check_run(attempt, run_questions, self.limits).map_err(unreadable)? {
                // A finding that repeated attempts have in common is reported once.
                let known =
                    |known: &Finding| (known.rule, &known.problem) == (finding.rule, &finding.problem);
                if !findings.iter().any(known) {
                    findings.push(finding);
                }
            }
            if !attempt.outcome.is_infrastructure() {
                self.per_tool.add(id, attempt, self.limits);
                let stdout = files::open_own(&attempt.outputs.join("stdout")).map_err(unreadable)?;
                let answers = Answers::read_file(&stdout, &run_questions.questions, Reading::default());
                let answers = answers.map_err(unreadable)?;
                if let Some(completion) =
                    Completion::new(attempt, &answers, run_questions).map_err(unreadable)?
                {
                    self.report.completion.entry(id.to_string()).or_default().push(completion);
                }
                printed.push(answers);
            }
            self.report.runs.entry(id.to_string()).or_default().push(attempt.outcome.to_string());
            if let Some(counted) = attempt.facts.and_then(|facts| facts.instructions.as_ref()?.user()) {
                self.report.instructions.entry(id.to_string()).or_default().push(counted);
            }
        }
        findings.extend(differing_values(&printed));
        let of_run = findings.into_iter().map(|finding| Finding { run: id.to_string(), ..finding });
        self.report.findings.extend(of_run);
        Ok(())
    }

    /// Returns the report, with the findings of all runs. `unread`: texts about bad lines of the oracle.
    pub fn finish<'u>(mut self, unread: impl Iterator<Item = &'u String>) -> QualificationReport {
        let entry = self.report.tool.clone();
        self.report.findings.extend(self.per_tool.findings(&entry, self.limits));
        self.report.findings.extend(unread.map(|unread| {
            let problem = format!("bad line in the oracle: {unread}");
            let fix = "correct the oracle; a value that it does not give is not compared";
            Finding { run: entry.clone(), ..Finding::new("E-4", problem, fix).warning() }
        }));
        self.report.passes = self.report.findings.iter().all(|finding| finding.severity != Severity::Error);
        self.report
    }
}
