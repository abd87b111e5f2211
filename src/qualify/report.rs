//! The report of a qualification.

use super::{
    AttemptOutputs, Finding, PerTool, QualifyError, RunLimits, RunQuestions, check_run, differing_values,
};
use mcc_base::names::RunId;
use mcc_benchkit::{Answers, Reading};
use mcc_model::Severity;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;

/// What a qualification found, as `qualify --format json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QualificationReport {
    /// The entry.
    pub tool: String,
    /// Name of the edition.
    pub edition: String,
    /// No machine was booted: this does not replace the qualification of the image.
    pub native: bool,
    /// No finding is an error.
    pub passes: bool,
    /// BK_TIME_CONFINEMENT, seconds.
    pub limit_s: u32,
    pub instances: Vec<String>,
    pub examinations: Vec<String>,
    /// The tool's environment in the first run.
    pub environment: BTreeMap<String, String>,
    /// SHA-256 of what was qualified, by role.
    pub disks: BTreeMap<String, String>,
    /// The machines: boot times, guest kernel, CPU flags, marks.
    pub machine: Vec<String>,
    /// How every attempt ended, by run.
    pub runs: BTreeMap<String, Vec<String>>,
    /// In the order of the runs; what is about the tool in all its runs, and about the oracle, comes last.
    pub findings: Vec<Finding>,
}

/// Collects the findings of a report, run by run.
pub(super) struct Checks<'a> {
    pub report: QualificationReport,
    pub limits: &'a RunLimits,
    pub per_tool: PerTool,
}

impl Checks<'_> {
    /// The attempts at one run, each by itself and compared with each other.
    ///
    /// # Errors
    /// An output cannot be read.
    pub fn add(
        &mut self,
        id: &RunId,
        asked: &RunQuestions,
        attempts: &[AttemptOutputs],
    ) -> Result<(), QualifyError> {
        let mut findings: Vec<Finding> = vec![];
        let mut printed = vec![];
        for left in attempts {
            let unreadable = |source| QualifyError::Io { path: left.outputs.to_owned(), source };
            for finding in check_run(left, asked, self.limits).map_err(unreadable)? {
                // A finding of every repetition is reported once.
                let known =
                    |known: &Finding| (known.rule, &known.problem) == (finding.rule, &finding.problem);
                if !findings.iter().any(known) {
                    findings.push(finding);
                }
            }
            if !left.outcome.is_infrastructure() {
                self.per_tool.add(id, left, self.limits);
                let stdout = File::open(left.outputs.join("stdout")).map_err(unreadable)?;
                let answers = Answers::read_file(&stdout, &asked.questions, Reading::default());
                printed.push(answers.map_err(unreadable)?);
            }
            self.report.runs.entry(id.to_string()).or_default().push(left.outcome.to_string());
        }
        findings.extend(differing_values(&printed));
        let of_run = findings.into_iter().map(|finding| Finding { run: id.to_string(), ..finding });
        self.report.findings.extend(of_run);
        Ok(())
    }

    /// The report, with what is not about one run; `unread`: files of the oracle with bad lines.
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
