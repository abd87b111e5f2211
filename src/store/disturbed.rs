//! What the mark `disturbed` means for the runs of a record.

use super::{Outcome, Record, StoreError};
use mcc_base::HostState;
use mcc_base::names::RunId;
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// Number of runs that the text names.
const NAMED: usize = 3;

/// The marked runs of a record, by the last attempt of each recorded run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DisturbedRuns {
    /// Recorded runs whose host state is known.
    pub runs: u64,
    /// Those with the mark.
    pub marked: u64,
    /// The smallest and the largest factor of the cores of marked runs, per mille: 1090 is 9 % slower. None: no marked run has
    /// slower cores.
    pub slower: Option<[u64; 2]>,
    /// Marked runs without slower cores, in records of versions that marked by other signals too.
    pub not_slower: u64,
    /// Marked runs with slower cores that ended at a limit of time: they might have ended otherwise.
    pub at_limit: Vec<RunId>,
}

impl DisturbedRuns {
    /// What the mark means for the recorded runs of the record in `dir`. A controller may write to it meanwhile.
    ///
    /// # Errors
    /// There is no record, it cannot be read, or a row is wrong.
    pub fn at(dir: &Path) -> Result<Self, StoreError> {
        Record::open_without_instances(dir)?.disturbed_runs()
    }

    /// Adds a recorded run with the outcome and the host state of its last attempt.
    pub fn add(&mut self, run: &RunId, outcome: &str, state: Option<&HostState>) {
        let Some(state) = state else { return };
        self.runs += 1;
        if state.disturbed.is_empty() {
            return;
        }
        self.marked += 1;
        let Some(factor) = state.marked_factor() else {
            self.not_slower += 1;
            return;
        };
        let [low, high] = self.slower.unwrap_or([factor; 2]);
        self.slower = Some([low.min(factor), high.max(factor)]);
        if [Outcome::CpuLimit, Outcome::WallLimit].iter().any(|limit| limit.word() == outcome) {
            self.at_limit.push(run.clone());
        }
    }
}

impl fmt::Display for DisturbedRuns {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(slower) = self.slower else {
            return write!(
                out,
                "{} of {} runs that used a machine are marked disturbed, none because of slower cores: CPU times are not affected.",
                self.marked, self.runs
            );
        };
        let [low, high] = slower.map(|factor| (factor.saturating_sub(1000) + 5) / 10);
        let range = if low == high { low.to_string() } else { format!("{low} to {high}") };
        let slow = self.marked - self.not_slower;
        match self.runs {
            1 => out.write_str("In the run that used a machine")?,
            runs if runs == slow => write!(out, "In all {runs} runs that used a machine")?,
            runs => write!(out, "In {slow} of the {runs} runs that used a machine")?,
        }
        write!(out, ", the cores were {range} % slower than at their best")?;
        if self.not_slower > 0 {
            write!(out, " (runs that an earlier version marked by other signals: {})", self.not_slower)?;
        }
        let named: Vec<&str> = self.at_limit.iter().take(NAMED).map(|run| &**run).collect();
        let more = self.at_limit.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let none = match slow {
            1 => "the run was not stopped at a time limit with a value missing",
            2 => "neither of these runs was stopped at a time limit with a value missing",
            _ => "none of these runs was stopped at a time limit with a value missing",
        };
        match self.at_limit.len() {
            0 => write!(out, ". No result can depend on the slower cores: {none}."),
            1 => write!(
                out,
                ". The result of a run that was stopped at a time limit can depend on the slower cores: {}.",
                named.join(", ")
            ),
            count => write!(
                out,
                ". The results of {count} runs that were stopped at a time limit can depend on the slower cores: {}{more}.",
                named.join(", ")
            ),
        }
    }
}

impl Record {
    fn disturbed_runs(&self) -> Result<DisturbedRuns, StoreError> {
        let query = "SELECT id, outcome, json_extract(attempts.facts, '$.environment.host_state') FROM runs JOIN attempts
                     ON run = position AND number = (SELECT max(number) FROM attempts WHERE run = position)
                     WHERE recorded = 1 ORDER BY id";
        let rows: Vec<(String, String, Option<String>)> = self.rows(query, [])?;
        let mut disturbed = DisturbedRuns::default();
        for (id, outcome, state) in rows {
            let run: RunId = id.parse().map_err(|bad| self.bad_row("the name of a run".to_owned(), bad))?;
            let state = state
                .map(|text| self.parse::<HostState>("the host state of an attempt", &text))
                .transpose()?;
            disturbed.add(&run, &outcome, state.as_ref());
        }
        Ok(disturbed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_base::{Calibration, HostLoad};

    fn state(during: u64, reasons: &[&str]) -> HostState {
        let calibration = Calibration { during: Some(during), ..Calibration::default() };
        let load = HostLoad { calibration: Some(calibration), ..HostLoad::default() };
        let disturbed = reasons.iter().map(|reason| (*reason).to_owned()).collect();
        HostState { load: Some(load), disturbed, ..HostState::default() }
    }

    const SLOWER: &str = "the cores were slower during the run: by 9.0 % (threshold 5 %)";

    #[test]
    fn one_line_says_what_the_marks_mean() {
        let run = |name: &str| format!("LoLA/{name}/StateSpace").parse::<RunId>().unwrap();
        let mut disturbed = DisturbedRuns::default();
        disturbed.add(&run("A-PT-1"), "finished", None);
        disturbed.add(&run("A-PT-2"), "finished", Some(&state(1010, &[])));
        disturbed.add(
            &run("A-PT-3"),
            "cpu-limit",
            Some(&state(1010, &["vCPUs waited for a CPU: 9 ms of 10 ms"])),
        );
        let text = disturbed.to_string();
        assert!(
            text.starts_with(
                "1 of 2 runs that used a machine are marked disturbed, none because of slower cores"
            ),
            "{text}"
        );
        disturbed.add(&run("A-PT-4"), "finished", Some(&state(1090, &[SLOWER])));
        disturbed.add(&run("A-PT-5"), "memory-limit", Some(&state(1664, &[SLOWER, "steal"])));
        let text = disturbed.to_string();
        assert!(
            text.starts_with(
                "In 2 of the 4 runs that used a machine, the cores were 9 to 66 % slower than at their best (runs that an \
                 earlier version marked by other signals: 1). No result can depend on the slower cores: neither of these"
            ),
            "{text}"
        );
        disturbed.add(&run("A-PT-6"), "cpu-limit", Some(&state(1090, &[SLOWER])));
        let text = disturbed.to_string();
        assert!(
            text.ends_with(
                "The result of a run that was stopped at a time limit can depend on the slower cores: LoLA/A-PT-6/StateSpace."
            ),
            "{text}"
        );
    }
}
