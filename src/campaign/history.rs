//! Durations of recorded runs, and the expected durations of further runs computed from them. The order in which runs
//! are added does not matter.

use super::Run;
use hashbrown::HashMap;

/// Durations of runs, of the record itself and of earlier campaigns.
#[derive(Clone, Debug, Default)]
pub struct History {
    all: HistoryNode,
    /// Whether durations are kept by instance too.
    instances: bool,
}

/// Sum of durations of a group of runs, and its subgroups: by examination, then entry, model, instance.
#[derive(Clone, Debug, Default)]
struct HistoryNode {
    runs: u64,
    ms: u64,
    children: HashMap<String, HistoryNode>,
}

impl History {
    /// A history that keeps durations by instance too, for the order of runs; takes 100 bytes more per run. Useful for
    /// records of earlier campaigns only: in the record itself, a run with a duration is not open any more.
    pub fn with_instances() -> Self {
        Self { instances: true, ..Self::default() }
    }

    /// Adds a run with its duration in milliseconds, from the start of QEMU to the end of the tool.
    pub fn add(&mut self, run: &Run, ms: u64) {
        let path = [&*run.examination, &run.entry, &run.model, &run.instance];
        self.take(&path[..if self.instances { 4 } else { 3 }], 1, ms);
    }

    /// Adds `runs` runs of an entry in an examination on a model, with the sum of their durations in milliseconds.
    pub fn add_group(&mut self, examination: &str, entry: &str, model: &str, runs: u64, ms: u64) {
        if runs > 0 {
            self.take(&[examination, entry, model], runs, ms);
        }
    }

    fn take(&mut self, path: &[&str], runs: u64, ms: u64) {
        let mut level = &mut self.all;
        level.add(runs, ms);
        for word in path {
            level = level.children.entry_ref(*word).or_default();
            level.add(runs, ms);
        }
    }

    /// The expected duration of a run in milliseconds: the mean over the smallest group that has runs, of the groups
    /// with the same examination, entry, model and instance; the same examination, entry and model; the same
    /// examination and entry; the same examination; all runs. 0 if no machine is booted for the run. None if the
    /// history has no run.
    pub fn expected_ms(&self, run: &Run) -> Option<u64> {
        if !run.competes {
            return Some(0);
        }
        self.mean(&[&run.examination, &run.entry, &run.model, &run.instance])
    }

    /// `expected_ms` of a run with a machine, of an entry in an examination on a model.
    pub fn expected_ms_of_group(&self, examination: &str, entry: &str, model: &str) -> Option<u64> {
        self.mean(&[examination, entry, model])
    }

    fn mean(&self, path: &[&str]) -> Option<u64> {
        let mut level = &self.all;
        for word in path {
            match level.children.get(*word) {
                Some(known) => level = known,
                None => break,
            }
        }
        level.ms.checked_div(level.runs)
    }
}

impl HistoryNode {
    fn add(&mut self, runs: u64, ms: u64) {
        self.runs += runs;
        self.ms += ms;
    }
}

/// The expected duration of the open runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Remaining {
    /// Number of open runs.
    pub runs: u64,
    /// Runs without an expected duration, because the history is empty.
    pub unknown: u64,
    /// Sum of the expected durations, milliseconds.
    pub machine_ms: u64,
    /// The longest expected duration of a run, milliseconds.
    pub longest_ms: u64,
}

impl Remaining {
    /// Adds `runs` runs, each with the same expected duration in milliseconds.
    pub fn add_group(&mut self, runs: u64, expected_ms: Option<u64>) {
        self.runs += runs;
        match expected_ms {
            None => self.unknown += runs,
            Some(ms) if runs > 0 => {
                self.machine_ms += runs * ms;
                self.longest_ms = self.longest_ms.max(ms);
            }
            Some(_) => {}
        }
    }

    /// Expected milliseconds until all runs are recorded, with `at_once` machines in parallel: the sum divided by
    /// `at_once`, but at least the longest run. None if a duration is unknown or there are no machines.
    pub fn eta_ms(&self, at_once: u64) -> Option<u64> {
        match (self.runs, self.unknown, at_once) {
            (0, ..) => Some(0),
            (_, 0, 1..) => Some(self.machine_ms.div_ceil(at_once).max(self.longest_ms.min(self.machine_ms))),
            _ => None,
        }
    }
}

/// Writes milliseconds as `45 s`, `12 min`, `3 h 20 min` or `2 d 4 h`.
pub fn duration(ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(entry: &str, instance: &str, examination: &str) -> Run {
        Run {
            entry: entry.parse().unwrap(),
            instance: instance.replace('-', "-PT-").parse().unwrap(),
            examination: examination.parse().unwrap(),
            model: instance.split('-').next().unwrap_or_default().into(),
            vcpus: 1,
            competes: true,
        }
    }

    #[test]
    fn a_run_is_expected_to_take_the_mean_of_similar_runs() {
        let known = [
            (run("a", "M-1", "X"), 100),
            (run("a", "M-2", "X"), 300),
            (run("a", "N-1", "X"), 2000),
            (run("b", "M-1", "X"), 7600),
            (run("a", "M-1", "Y"), 10_000),
        ];
        let history = |known: &[(Run, u64)], mut history: History| {
            known.iter().for_each(|(run, ms)| history.add(run, *ms));
            history
        };
        let mut turned = known.clone();
        turned.reverse();
        for known in [&known, &turned] {
            let by_model = history(known, History::default());
            let expected = |entry, instance, examination| {
                by_model.expected_ms(&run(entry, instance, examination)).unwrap()
            };
            assert_eq!(expected("a", "M-1", "X"), 200, "entry, examination and model");
            assert_eq!(expected("a", "O-1", "X"), 800, "entry and examination");
            assert_eq!(expected("c", "M-1", "X"), 2500, "examination");
            assert_eq!(expected("c", "M-1", "Z"), 4000, "all");
            let by_instance = history(known, History::with_instances());
            assert_eq!(by_instance.expected_ms(&run("a", "M-1", "X")), Some(100));
            assert_eq!(by_instance.expected_ms(&run("a", "M-3", "X")), Some(200));
        }
        assert_eq!(History::default().expected_ms(&known[0].0), None);
        let idle = Run { competes: false, ..known[0].0.clone() };
        assert_eq!(History::default().expected_ms(&idle), Some(0), "no machine is booted");
    }

    #[test]
    fn machines_share_the_open_runs() {
        let mut rest = Remaining::default();
        assert_eq!(rest.eta_ms(0), Some(0), "nothing is left");
        for ms in [1000, 2000, 9000] {
            rest.add_group(1, Some(ms));
        }
        let etas = [0, 1, 2, 3, 1000].map(|at_once| rest.eta_ms(at_once));
        assert_eq!(etas, [None, Some(12_000), Some(9000), Some(9000), Some(9000)]);
        rest.add_group(1, None);
        assert_eq!(rest.eta_ms(2), None, "the duration of one run is unknown");
    }

    #[test]
    fn durations_have_two_units_at_most() {
        let durations = [0, 1, 45_000, 60_000, 754_000, 12_000_000, 187_200_000].map(duration);
        assert_eq!(durations, ["0 s", "1 s", "45 s", "1 min", "12 min", "3 h 20 min", "2 d 4 h"]);
    }
}
