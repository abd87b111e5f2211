//! How long runs took, and from that how long those to come are expected to take. Pure: the same runs added in any
//! order give the same expectations.

use super::Run;
use hashbrown::HashMap;

/// What runs took, from the record itself and from those of earlier campaigns.
#[derive(Clone, Debug, Default)]
pub struct History {
    all: HistoryNode,
    /// Whether single instances are told apart.
    instances: bool,
}

/// Runs that are alike, and among them those that are more alike: of an examination, of an entry in it, of a model,
/// of an instance.
#[derive(Clone, Debug, Default)]
struct HistoryNode {
    runs: u64,
    ms: u64,
    children: HashMap<String, HistoryNode>,
}

impl History {
    /// That also tells instances apart, for the order of work: 100 bytes per run more. An instance of which a record
    /// knows the time is open in it no more, so this is for records of earlier campaigns.
    pub fn with_instances() -> Self {
        Self { instances: true, ..Self::default() }
    }

    /// A run that took so many milliseconds of its machine, from QEMU's start to the tool's end.
    pub fn add(&mut self, run: &Run, ms: u64) {
        let path = [&*run.examination, &run.entry, &run.model, &run.instance];
        self.take(&path[..if self.instances { 4 } else { 3 }], 1, ms);
    }

    /// So many runs of an entry in an examination on a model that took so many milliseconds together.
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

    /// The mean of the runs that are most alike: of the same entry in the same examination on the same instance;
    /// where there are none, on the same model; then on any; then of any entry; then of all. 0 where no machine is
    /// booted; None: nothing is known of any run.
    pub fn expected_ms(&self, run: &Run) -> Option<u64> {
        if !run.competes {
            return Some(0);
        }
        self.mean(&[&run.examination, &run.entry, &run.model, &run.instance])
    }

    /// `expected_ms` of any run of an entry in an examination on a model that boots a machine.
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

/// What is expected of the runs that are still to be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Remaining {
    pub runs: u64,
    /// Those of which nothing is expected, because nothing is known of any run.
    pub unknown: u64,
    /// Of their machines, all together.
    pub machine_ms: u64,
    /// Of the longest.
    pub longest_ms: u64,
}

impl Remaining {
    /// So many more, of each of which the same is expected.
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

    /// Milliseconds until all are made with so many machines at once: the work shared among them, but no less than the
    /// longest run. None: nothing is known yet, or there are no machines.
    pub fn eta_ms(&self, at_once: u64) -> Option<u64> {
        match (self.runs, self.unknown, at_once) {
            (0, ..) => Some(0),
            (_, 0, 1..) => Some(self.machine_ms.div_ceil(at_once).max(self.longest_ms.min(self.machine_ms))),
            _ => None,
        }
    }
}

/// Milliseconds as people read them: `45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`.
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
    fn a_run_is_expected_to_take_what_those_most_like_it_took() {
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
    fn the_rest_is_shared_by_the_machines_and_lasts_as_long_as_its_longest_run() {
        let mut rest = Remaining::default();
        assert_eq!(rest.eta_ms(0), Some(0), "nothing is left");
        for ms in [1000, 2000, 9000] {
            rest.add_group(1, Some(ms));
        }
        let etas = [0, 1, 2, 3, 1000].map(|at_once| rest.eta_ms(at_once));
        assert_eq!(etas, [None, Some(12_000), Some(9000), Some(9000), Some(9000)]);
        rest.add_group(1, None);
        assert_eq!(rest.eta_ms(2), None, "of one run nothing is known");
    }

    #[test]
    fn durations_are_said_in_two_units_at_most() {
        let said = [0, 1, 45_000, 60_000, 754_000, 12_000_000, 187_200_000].map(duration);
        assert_eq!(said, ["0 s", "1 s", "45 s", "1 min", "12 min", "3 h 20 min", "2 d 4 h"]);
    }
}
