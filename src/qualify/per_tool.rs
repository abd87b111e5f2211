//! What is reported once per tool, not once per run: real tools do it in most runs, and no rule forbids it.

use super::{AttemptOutputs, Finding, RunLimits, counted};

/// Threads beyond the cores (E-5.3, E-5.4) and files left on the disk (E-5.1), collected over the runs of a tool.
#[derive(Clone, Debug, Default)]
pub struct PerTool {
    runs: usize,
    /// Runs in which more threads were runnable than there are cores, with the largest number of them.
    crowded: Vec<(String, u32)>,
    /// Runs that used more CPU time than the cores give, with CPU and wall time in milliseconds.
    beyond: Vec<(String, u64, u64)>,
    /// Runs that left files, with the first file.
    left: Vec<(String, String)>,
}

impl PerTool {
    /// Adds one attempt at the run with this id.
    pub fn add(&mut self, run: &str, left: &AttemptOutputs, limits: &RunLimits) {
        self.runs += 1;
        let vcpus = limits.vcpus;
        // Another thread of the guest may be runnable for a second; most seconds of a run are a sign.
        let crowded = left.samples.iter().filter(|sample| sample.runnable > vcpus).count();
        let most = left.samples.iter().map(|sample| sample.runnable).max().unwrap_or(0);
        if crowded >= 2 && crowded * 2 > left.samples.len() {
            self.crowded.push((run.to_owned(), most));
        }
        let Some(facts) = left.facts else { return };
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
        let cores = counted(vcpus as usize, "core");
        let rule = if vcpus == 1 { "E-5.3" } else { "E-5.4" };
        let share = match vcpus {
            1 => "none needed: the threads share the core; submit the tool as concurrent if it needs more"
                .to_owned(),
            _ => format!("none needed: the threads share the {cores}"),
        };
        let of = |runs: usize| format!("in {runs} of {}", counted(self.runs, "run"));
        let warning = |rule, problem: String, fix: &str| Finding {
            run: entry.to_owned(),
            ..Finding::new(rule, problem, fix).warning()
        };
        let mut findings = vec![];
        let most = self.crowded.iter().map(|(_, most)| most).max();
        if let (Some((first, _)), Some(most)) = (self.crowded.first(), most) {
            let runs = of(self.crowded.len());
            let problem =
                format!("up to {most} threads are runnable on {cores} {runs}; the first is {first}");
            findings.push(warning(rule, problem, &share));
        }
        if let Some((first, cpu, wall)) = self.beyond.first() {
            let runs = of(self.beyond.len());
            let problem = format!(
                "more CPU time is used than {cores} can give {runs}; the first is {first}: {cpu} ms in {wall} ms"
            );
            findings.push(warning(rule, problem, &share));
        }
        if let Some((run, file)) = self.left.first() {
            let runs = of(self.left.len());
            let problem = format!("files are left on the disk {runs}; the first is {file} in {run}");
            let fix = "none needed, unless a later run is to read them: the disk is thrown away after each run. Files \
                       in the current folder and BK_RESULT_DIR are not reported";
            findings.push(warning("E-5.1", problem, fix));
        }
        findings
    }
}
