//! Progress of a campaign on stderr: on a terminal a bar, a line for each running machine and the last failure of ours,
//! what ended above them; plain lines elsewhere.

use super::print::shown;
use crate::runner::{CampaignEnd, CampaignRunner, RunnerError};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use mcc_campaign::{History, Remaining, Run, duration};
use mcc_executor::{Progress, State};
use mcc_store::{Attempt, Standing, Summary};
use std::collections::{BTreeMap, HashMap};
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Machines that have a line of their own; a terminal has not many more.
const MOST_LINES: usize = 16;
/// A forecast is good for so long: it looks at all that is left.
const FORECAST: Duration = Duration::from_secs(1);

struct Campaign {
    board: MultiProgress,
    bar: ProgressBar,
    /// The last failure of ours; not drawn before there is one.
    trouble: ProgressBar,
    terminal: bool,
    planned: u64,
    /// Machines at once.
    jobs: u64,
    now: Mutex<Now>,
}

struct Now {
    done: u64,
    outcomes: BTreeMap<String, u64>,
    /// Runs under way by id, with their line where they have one.
    running: BTreeMap<String, Option<ProgressBar>>,
    history: History,
    left: Left,
    forecast: Option<(Instant, Option<u64>)>,
}

/// Runs the open runs for which `wanted` is true, with progress on stderr.
pub fn watch(
    runner: CampaignRunner,
    wanted: &(dyn Fn(&Run) -> bool + Sync),
) -> Result<CampaignEnd, RunnerError> {
    let record = runner.record();
    let bar = Campaign::new(runner.before(), runner.history().clone(), runner.jobs());
    let ended = runner.run(wanted, &|event| bar.show(event));
    bar.finish(&record.summary()?);
    if let Ok(CampaignEnd::Stopped) = ended {
        eprintln!("run: stopped as asked; the same command goes on");
    }
    ended
}

/// Runs that are to be made, by examination, entry and model: of those alike the same is expected.
#[derive(Default)]
struct Left {
    alike: HashMap<[String; 3], u64>,
    /// All of them.
    runs: u64,
}

impl Left {
    fn add(&mut self, run: &Run) {
        if run.competes {
            *self.alike.entry(Self::key(run)).or_default() += 1;
            self.runs += 1;
        }
    }

    fn remove(&mut self, run: &Run) {
        if let Some(count) = self.alike.get_mut(&Self::key(run)).filter(|count| **count > 0) {
            *count -= 1;
            self.runs -= 1;
        }
    }

    fn key(run: &Run) -> [String; 3] {
        [&run.examination, &run.entry, &run.model].map(String::clone)
    }

    /// Milliseconds until all are made with so many machines at once; None: nothing is known yet.
    fn eta_ms(&self, history: &History, at_once: u64) -> Option<u64> {
        let mut remaining = Remaining::default();
        for ([examination, entry, model], count) in &self.alike {
            remaining.add_alike(*count, history.of_alike(examination, entry, model));
        }
        remaining.eta_ms(at_once)
    }
}

impl Campaign {
    /// `jobs`: most runs at once; `history`: durations of earlier runs.
    fn new(before: &Summary, history: History, jobs: usize) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let board = MultiProgress::with_draw_target(target);
        let bar = board.add(ProgressBar::new(before.planned));
        bar.set_style(style("{bar:30} {pos}/{len} runs{wide_msg}"));
        bar.set_position(before.recorded);
        if before.recorded > 0 {
            eprintln!("run: {} of {} runs are recorded already", before.recorded, before.planned);
        }
        let now = Now {
            done: before.recorded,
            outcomes: before.outcomes.clone(),
            running: BTreeMap::new(),
            history,
            left: Left::default(),
            forecast: None,
        };
        let trouble = ProgressBar::hidden();
        let (planned, jobs) = (before.planned, jobs as u64);
        Self { board, bar, trouble, terminal, planned, jobs, now: Mutex::new(now) }
    }

    fn show(&self, event: Progress) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Progress::Queued { run } => now.left.add(run),
            Progress::Entered { run, attempt, state } => self.entered(&mut now, run, attempt, state),
            Progress::Committed { run, attempt, standing } => {
                if let Some(Some(line)) = now.running.remove(&run.id()) {
                    self.board.remove(&line);
                }
                self.committed(now, run, attempt, &standing);
            }
        }
    }

    fn entered(&self, now: &mut Now, run: &Run, attempt: u32, state: State) {
        let again = if attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
        let begins = !now.running.contains_key(&run.id());
        if begins && !self.terminal {
            eprintln!("{}", shown(&format!("[{}/{}] {} begins{again}", now.done, self.planned, run.id())));
        }
        let lines = now.running.values().flatten().count();
        let line = now.running.entry(run.id()).or_default();
        if line.is_none() && self.terminal && lines < MOST_LINES {
            let new = self.board.insert_after(&self.bar, ProgressBar::new_spinner());
            new.set_style(style("  {elapsed:>4}  {wide_msg}"));
            // Since when it runs is seen to grow.
            new.enable_steady_tick(Duration::from_secs(1));
            *line = Some(new);
        }
        if let Some(line) = line {
            line.set_message(shown(&format!("{} {state}{again}", run.id())));
        }
        if begins && self.terminal {
            self.bar.set_message(self.summary(now));
        }
    }

    fn committed(&self, mut now: MutexGuard<Now>, run: &Run, attempt: &Attempt, standing: &Standing) {
        let mut line = format!("{} {}", run.id(), attempt.outcome);
        if let Some(facts) = &attempt.facts {
            let seconds = |ms: u64| format!("{}.{:02} s", ms / 1000, ms % 1000 / 10);
            line += &format!(", cpu {}, wall {}", seconds(facts.cpu_ms), seconds(facts.wall_ms));
        }
        match standing {
            Standing::Recorded => {
                now.done += 1;
                *now.outcomes.entry(attempt.outcome.word().to_owned()).or_default() += 1;
                now.left.remove(run);
                if let Some(facts) = &attempt.facts {
                    now.history.add(run, facts.boot_ms + facts.wall_ms);
                }
                self.bar.inc(1);
            }
            Standing::Open { attempts_left } => line += &format!("; {attempts_left} attempts left"),
        }
        let line = shown(&format!("[{}/{}] {line}", now.done, self.planned));
        let summary = self.summary(&mut now);
        drop(now);
        if !self.terminal {
            eprintln!("{line}{summary}");
            return;
        }
        // Fails where stderr is gone: then nobody looks.
        let _ = self.board.println(&line);
        self.bar.set_message(summary);
        if attempt.outcome.is_infrastructure() {
            if self.trouble.is_hidden() {
                self.board.add(self.trouble.clone());
                self.trouble.set_style(style("  last failure of ours: {wide_msg}"));
            }
            self.trouble.set_message(line);
        }
    }

    /// When all will be done; on a terminal, how many machines run and how runs ended, too.
    fn summary(&self, now: &mut Now) -> String {
        let eta = match now.forecast {
            _ if now.left.runs == 0 => None,
            Some((at, eta @ Some(_))) if at.elapsed() < FORECAST => eta,
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
            summary += &now.outcomes.iter().map(|(word, n)| format!("; {n} {word}")).collect::<String>();
        }
        summary
    }

    /// The counts by outcome.
    fn finish(&self, after: &Summary) {
        // Lines of attempts that were given up without an end.
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.running.values().flatten().for_each(ProgressBar::finish_and_clear);
        self.trouble.finish_and_clear();
        self.bar.finish_and_clear();
        let outcomes: Vec<_> = after.outcomes.iter().map(|(word, count)| format!("{count} {word}")).collect();
        eprintln!("run: {} of {} runs recorded: {}", after.recorded, after.planned, outcomes.join(", "));
        if after.retried > 0 {
            eprintln!("run: {} attempts that ended in infrastructure are kept as evidence", after.retried);
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a constant template")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_expected_to_take_what_was_taken_and_runs_without_a_machine_take_nothing() {
        let run = |instance: &str, competes| Run {
            entry: "a".into(),
            instance: instance.into(),
            examination: "X".into(),
            model: "M".into(),
            vcpus: 1,
            competes,
        };
        let (mut left, mut history) = (Left::default(), History::default());
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
