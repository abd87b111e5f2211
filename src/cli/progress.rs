//! Progress of a campaign on stderr: a bar on a terminal, plain lines elsewhere.

use crate::executor::{Progress, State};
use crate::store::{Standing, Summary};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Mutex;

pub struct Campaign {
    bar: ProgressBar,
    /// Runs under way and the state each is in.
    running: Mutex<BTreeMap<String, State>>,
    done: Mutex<u64>,
    planned: u64,
}

impl Campaign {
    pub fn new(before: &Summary) -> Self {
        let bar = if std::io::stderr().is_terminal() {
            ProgressBar::new(before.planned)
        } else {
            ProgressBar::hidden()
        };
        let style = "{bar:30} {pos}/{len} runs, {eta} left  {wide_msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("a constant template"));
        bar.set_position(before.recorded);
        bar.reset_eta();
        if before.recorded > 0 {
            eprintln!("run: {} of {} runs are recorded already", before.recorded, before.planned);
        }
        Self { bar, running: Mutex::default(), done: Mutex::new(before.recorded), planned: before.planned }
    }

    pub fn show(&self, event: Progress) {
        match event {
            Progress::Entered { run, state, .. } => {
                let mut running = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                running.insert(run.id(), state);
                self.bar.set_message(say(&running));
            }
            Progress::Committed { run, attempt, standing } => {
                let mut running = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                running.remove(&run.id());
                self.bar.set_message(say(&running));
                drop(running);
                let mut done = self.done.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                let mut line = format!("{} {}", run.id(), super::outcome(&attempt.outcome));
                if let Some(facts) = &attempt.facts {
                    let seconds = |ms: u64| format!("{}.{:02} s", ms / 1000, ms % 1000 / 10);
                    line += &format!(", cpu {}, wall {}", seconds(facts.cpu_ms), seconds(facts.wall_ms));
                }
                match standing {
                    Standing::Recorded => {
                        *done += 1;
                        self.bar.inc(1);
                    }
                    Standing::Open { attempts_left } => line += &format!("; {attempts_left} attempts left"),
                }
                let line = format!("[{}/{}] {line}", *done, self.planned);
                if self.bar.is_hidden() { eprintln!("{line}") } else { self.bar.println(line) }
            }
        }
    }

    /// The counts by outcome.
    pub fn finish(&self, after: &Summary) {
        self.bar.finish_and_clear();
        let outcomes: Vec<_> = after.outcomes.iter().map(|(word, count)| format!("{count} {word}")).collect();
        eprintln!("run: {} of {} runs recorded: {}", after.recorded, after.planned, outcomes.join(", "));
        if after.retried > 0 {
            eprintln!("run: {} attempts that ended in infrastructure are kept as evidence", after.retried);
        }
    }
}

fn say(running: &BTreeMap<String, State>) -> String {
    running.iter().map(|(run, state)| format!("{run} {state}")).collect::<Vec<_>>().join(", ")
}
