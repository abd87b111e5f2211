//! Findings that are reported once per tool: real tools have them in most runs, and no rule forbids them.

use super::{AttemptOutputs, Finding, RunLimits};
use mcc_base::text::counted;

/// Runs with more threads than cores (E-5.3, E-5.4) or files left on the disk (E-5.1), collected over all runs of a tool.
#[derive(Clone, Debug, Default)]
pub struct PerTool {
    runs: usize,
    /// Runs with more runnable threads than cores, with the largest number of threads.
    crowded: Vec<(String, u32)>,
    /// Runs with more CPU time than the cores can give, with CPU and wall time in milliseconds.
    beyond: Vec<(String, u64, u64)>,
    /// Runs that left files, with the first file.
    left: Vec<(String, String)>,
}

impl PerTool {
    /// Adds one attempt at the run with this id.
    pub fn add(&mut self, run: &str, attempt: &AttemptOutputs, limits: &RunLimits) {
        self.runs += 1;
        let vcpus = limits.vcpus;
        // The threads of a shell and its pipes are runnable together in single seconds, and on a busy host in most
        // seconds of a short run.
        let crowded = attempt.samples.iter().filter(|sample| sample.runnable > vcpus).count();
        let most = attempt.samples.iter().map(|sample| sample.runnable).max().unwrap_or(0);
        if crowded >= 5 && crowded * 2 > attempt.samples.len() {
            self.crowded.push((run.to_owned(), most));
        }
        let Some(facts) = attempt.facts else { return };
        if facts.cpu_ms > facts.wall_ms * u64::from(vcpus) * 11 / 10 + 1000 {
            self.beyond.push((run.to_owned(), facts.cpu_ms, facts.wall_ms));
        }
        if let Some(first) = facts.written.first() {
            self.left.push((run.to_owned(), first.clone()));
        }
    }

    /// The warnings, at most one of each kind; their `run` is the entry.
    pub fn findings(&self, entry: &str, limits: &RunLimits) -> Vec<Finding> {
        let vcpus = limits.vcpus;
        let cores = counted(vcpus, "core");
        let rule = if vcpus == 1 { "E-5.3" } else { "E-5.4" };
        let share = match vcpus {
            1 => "none required: the threads share the core; submit the tool as concurrent if it needs more cores"
                .to_owned(),
            _ => format!("none required: the threads share the {cores}"),
        };
        let in_runs = |runs: usize| format!("in {runs} of {}", counted(self.runs, "run"));
        let warning = |rule, problem: String, fix: &str| Finding {
            run: entry.to_owned(),
            ..Finding::new(rule, problem, fix).warning()
        };
        let mut findings = vec![];
        let most = self.crowded.iter().map(|(_, most)| most).max();
        if let (Some((first, _)), Some(most)) = (self.crowded.first(), most) {
            let runs = in_runs(self.crowded.len());
            let problem = format!(
                "{runs}, up to {most} threads were runnable on {cores}; the first such run is {first}"
            );
            findings.push(warning(rule, problem, &share));
        }
        if let Some((first, cpu, wall)) = self.beyond.first() {
            let runs = in_runs(self.beyond.len());
            let problem = format!(
                "{runs}, the tool used more CPU time than {cores} can give; the first such run is {first}: {cpu} ms in {wall} ms"
            );
            findings.push(warning(rule, problem, &share));
        }
        if let Some((run, file)) = self.left.first() {
            let runs = in_runs(self.left.len());
            let problem = format!("{runs}, files were left on the disk; the first is {file} in {run}");
            let fix = "none required, unless later runs need these files: the changes of the disk are deleted after each run. \
                       Files in the current folder and BK_RESULT_DIR are not reported";
            findings.push(warning("E-5.1", problem, fix));
        }
        findings
    }
}
