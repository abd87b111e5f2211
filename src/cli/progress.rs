//! Progress of a campaign on stderr. On a terminal: a bar, one line for each running machine, the last infrastructure
//! failure, and above them the ended attempts. Elsewhere: one line for each event.

use super::print::escaped;
use super::terminal::warning;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use mcc_base::names::RunId;
use mcc_campaign::{History, Remaining, Run, duration};
use mcc_runner::executor::{Progress, State};
use mcc_runner::{CampaignEnd, CampaignRunner, RunnerError};
use mcc_store::{Attempt, RunState, Summary, outcome_words};
use std::collections::{BTreeMap, HashMap};
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Largest number of machines with a line of their own.
const MAX_LINES: usize = 16;
/// Time after which the remaining duration is estimated again.
const FORECAST_INTERVAL: Duration = Duration::from_secs(1);

struct CampaignProgress {
    multi_progress: MultiProgress,
    bar: ProgressBar,
    /// The last infrastructure failure; hidden until there is one.
    last_failure: ProgressBar,
    terminal: bool,
    planned: u64,
    /// Largest number of runs at once.
    jobs: u64,
    now: Mutex<ProgressState>,
}

struct ProgressState {
    done: u64,
    outcomes: BTreeMap<String, u64>,
    /// Running runs by id, with their line if they have one.
    running: BTreeMap<RunId, Option<ProgressBar>>,
    history: History,
    left: RemainingRuns,
    forecast: Option<(Instant, Option<u64>)>,
}

/// Runs the open runs for which `wanted` is true, with progress on stderr.
pub fn watch(
    runner: CampaignRunner,
    wanted: &(dyn Fn(&Run) -> bool + Sync),
) -> Result<CampaignEnd, RunnerError> {
    let record = runner.record();
    if let Some(message) = &runner.too_little_space {
        warning(message);
    }
    let bar = CampaignProgress::new(&runner.before, runner.history().clone(), runner.jobs());
    let end = runner.run(wanted, &|event| bar.show(event));
    bar.finish(&record.summary()?);
    if let Ok(CampaignEnd::Stopped) = end {
        stderr_line!("run: stopped as requested; the same command continues the campaign");
    }
    end
}

/// Counts of open runs by examination, entry and model: each group has one expected duration.
#[derive(Default)]
struct RemainingRuns {
    groups: HashMap<[String; 3], u64>,
    /// Sum of the counts.
    runs: u64,
}

impl RemainingRuns {
    fn add(&mut self, run: &Run) {
        if run.competes {
            *self.groups.entry(Self::key(run)).or_default() += 1;
            self.runs += 1;
        }
    }

    fn remove(&mut self, run: &Run) {
        if let Some(count) = self.groups.get_mut(&Self::key(run)).filter(|count| **count > 0) {
            *count -= 1;
            self.runs -= 1;
        }
    }

    fn key(run: &Run) -> [String; 3] {
        [&*run.examination, &*run.entry, &*run.model].map(str::to_owned)
    }

    /// Milliseconds until all are recorded with `jobs` runs at once; None: no duration is known yet.
    fn eta_ms(&self, history: &History, jobs: u64) -> Option<u64> {
        let mut remaining = Remaining::default();
        for ([examination, entry, model], count) in &self.groups {
            remaining.add_group(*count, history.expected_ms_of_group(examination, entry, model));
        }
        remaining.eta_ms(jobs)
    }
}

impl CampaignProgress {
    /// `jobs`: largest number of runs at once; `history`: durations of earlier runs.
    fn new(before: &Summary, history: History, jobs: usize) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let multi_progress = MultiProgress::with_draw_target(target);
        let bar = multi_progress.add(ProgressBar::new(before.planned));
        bar.set_style(style("{bar:30} {pos}/{len} runs{wide_msg}"));
        bar.set_position(before.recorded);
        if before.recorded > 0 {
            stderr_line!("run: {} of {} runs are already recorded", before.recorded, before.planned);
        }
        let now = ProgressState {
            done: before.recorded,
            outcomes: before.outcomes.clone(),
            running: BTreeMap::new(),
            history,
            left: RemainingRuns::default(),
            forecast: None,
        };
        let last_failure = ProgressBar::hidden();
        let (planned, jobs) = (before.planned, jobs as u64);
        Self { multi_progress, bar, last_failure, terminal, planned, jobs, now: Mutex::new(now) }
    }

    fn show(&self, event: Progress) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Progress::Queued { run } => now.left.add(run),
            Progress::Entered { run, attempt, state } => self.entered(&mut now, run, attempt, state),
            Progress::Committed { run, attempt, run_state } => {
                if let Some(Some(line)) = now.running.remove(&run.id()) {
                    self.multi_progress.remove(&line);
                }
                self.committed(now, run, attempt, &run_state);
            }
            Progress::Held { hold } => {
                let line = escaped(&format!("{} is held: {}", hold.entry, hold.reason));
                if self.terminal {
                    // Fails only if stderr is closed.
                    let _ = self.multi_progress.println(&line);
                } else {
                    stderr_line!("{line}");
                }
            }
        }
    }

    fn entered(&self, now: &mut ProgressState, run: &Run, attempt: u32, state: State) {
        let again = if attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
        let begins = !now.running.contains_key(&run.id());
        if begins && !self.terminal {
            stderr_line!(
                "{}",
                escaped(&format!("[{}/{}] {} begins{again}", now.done, self.planned, run.id()))
            );
        }
        let lines = now.running.values().flatten().count();
        let line = now.running.entry(run.id()).or_default();
        if line.is_none() && self.terminal && lines < MAX_LINES {
            let new = self.multi_progress.insert_after(&self.bar, ProgressBar::new_spinner());
            new.set_style(style("  {elapsed:>4}  {wide_msg}"));
            // Updates the elapsed time.
            new.enable_steady_tick(Duration::from_secs(1));
            *line = Some(new);
        }
        if let Some(line) = line {
            line.set_message(escaped(&format!("{} {state}{again}", run.id())));
        }
        if begins && self.terminal {
            self.bar.set_message(self.summary(now));
        }
    }

    fn committed(
        &self,
        mut now: MutexGuard<ProgressState>,
        run: &Run,
        attempt: &Attempt,
        run_state: &RunState,
    ) {
        let mut line = format!("{} {}", run.id(), attempt.outcome.in_words());
        if let Some(facts) = &attempt.facts {
            let seconds = |ms: u64| format!("{}.{:02} s", ms / 1000, ms % 1000 / 10);
            line += &format!(", cpu {}, wall {}", seconds(facts.cpu_ms), seconds(facts.wall_ms));
        }
        match run_state {
            RunState::Recorded => {
                now.done += 1;
                *now.outcomes.entry(attempt.outcome.word().to_owned()).or_default() += 1;
                now.left.remove(run);
                if let Some(facts) = &attempt.facts {
                    now.history.add(run, facts.boot_ms + facts.wall_ms);
                }
                self.bar.inc(1);
            }
            RunState::Open { attempts_left } => line += &format!("; attempts left: {attempts_left}"),
        }
        let line = escaped(&format!("[{}/{}] {line}", now.done, self.planned));
        let summary = self.summary(&mut now);
        drop(now);
        if !self.terminal {
            stderr_line!("{line}{summary}");
            return;
        }
        // Fails only if stderr is closed.
        let _ = self.multi_progress.println(&line);
        self.bar.set_message(summary);
        if attempt.outcome.is_infrastructure() {
            if self.last_failure.is_hidden() {
                self.multi_progress.add(self.last_failure.clone());
                self.last_failure.set_style(style("  last infrastructure failure: {wide_msg}"));
            }
            self.last_failure.set_message(line);
        }
    }

    /// The estimated remaining time; on a terminal also the number of machines and the outcomes.
    fn summary(&self, now: &mut ProgressState) -> String {
        let eta = match now.forecast {
            _ if now.left.runs == 0 => None,
            Some((at, eta @ Some(_))) if at.elapsed() < FORECAST_INTERVAL => eta,
            _ => {
                let eta = now.left.eta_ms(&now.history, self.jobs);
                now.forecast = Some((Instant::now(), eta));
                eta
            }
        };
        let mut summary = match eta {
            Some(ms) if ms > 0 => format!("; about {} left", duration(ms)),
            _ => String::new(),
        };
        if self.terminal {
            let machines = now.running.len();
            summary += &format!("; {machines} {}", if machines == 1 { "machine" } else { "machines" });
            summary += &outcome_counts(&now.outcomes);
        }
        summary
    }

    /// The counts by outcome.
    fn finish(&self, after: &Summary) {
        // Lines of attempts that were not committed.
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.running.values().flatten().for_each(ProgressBar::finish_and_clear);
        self.last_failure.finish_and_clear();
        self.bar.finish_and_clear();
        let outcomes = outcome_counts(&after.outcomes);
        stderr_line!("run: {} of {} runs recorded{outcomes}", after.recorded, after.planned);
        if after.retried > 0 {
            stderr_line!(
                "run: earlier attempts that were repeated and are kept in the record: {}",
                after.retried
            );
        }
    }
}

/// `; ended by itself: 3; infrastructure failure: 1`. Empty without runs.
fn outcome_counts(outcomes: &BTreeMap<String, u64>) -> String {
    outcomes.iter().map(|(word, count)| format!("; {}: {count}", outcome_words(word))).collect()
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a constant template")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_time_is_estimated_from_recorded_runs() {
        let run = |instance: &str, competes| Run {
            entry: "a".parse().unwrap(),
            instance: format!("M-PT-{instance}").parse().unwrap(),
            examination: "X".parse().unwrap(),
            model: "M".into(),
            vcpus: 1,
            competes,
        };
        let (mut left, mut history) = (RemainingRuns::default(), History::default());
        ["1", "2", "3", "4"].iter().for_each(|instance| left.add(&run(instance, true)));
        left.add(&run("5", false));
        assert_eq!(left.eta_ms(&history, 2), None);
        history.add(&run("1", true), 6000);
        left.remove(&run("1", true));
        assert_eq!([1, 2, 9].map(|jobs| left.eta_ms(&history, jobs)), [18_000, 9000, 6000].map(Some));
        ["2", "3", "4"].iter().for_each(|instance| left.remove(&run(instance, true)));
        assert_eq!(left.eta_ms(&history, 1), Some(0));
    }
}
