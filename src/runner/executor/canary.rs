//! Finds entries that cannot run on this host, before and while their runs are made, and holds them.

use super::{Executor, ExecutorError, Progress, QueuedRun, Scheduler};
use mcc_base::guest::capped;
use mcc_base::names::EntryName;
use mcc_campaign::{Canaries, Run};
use mcc_store::{Attempt, AttemptDir, Hold, Outcome};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;

/// The beginning of the reasons for which attempts of canaries are superseded.
pub(super) const CANARY: &str = "canary: ";
const PASSED: &str = "canary: passed";
const FAILED: &str = "canary: failed: ";
const REPEATED: &str = "canary: repeated";

/// Runs of an entry in a row that end alike until the entry is held.
const BLOCK: u32 = 20;

/// A run of a block ends within this wall time.
const BLOCK_MS: u64 = 10_000;

/// The largest number of characters of a last line that is kept.
const MAX_LINE: usize = 200;

/// By entry: the last line with which its last runs ended, and their number.
pub(super) type Streaks = BTreeMap<EntryName, (String, u32)>;

impl Executor<'_> {
    /// The queue of the canaries: of each entry and group of examinations that had none on a host with this CPU.
    pub(super) fn canaries(
        &self,
        mut canaries: Canaries,
        open: &VecDeque<QueuedRun>,
    ) -> Result<VecDeque<QueuedRun>, ExecutorError> {
        let made = self.settings.record.superseded_for(CANARY)?;
        for (run, reason, cpu) in &made {
            let mut names = run.as_str().split('/');
            let ended = reason == PASSED || reason.starts_with(FAILED);
            if let (Some(Ok(entry)), Some(examination)) = (names.next().map(str::parse), names.nth(1))
                && ended
                && *cpu == self.settings.host.survey.cpu
            {
                canaries.is_done(&entry, examination);
            }
        }
        let (wanted, affordable) = canaries.wanted(made.len() as u64);
        let chosen = canaries.chosen(match self.settings.hosts.canary {
            None => affordable,
            Some(true) => wanted,
            Some(false) => 0,
        });
        let place: HashMap<i64, usize> =
            chosen.iter().zip(0..).map(|(position, place)| (*position, place)).collect();
        let mut queue: Vec<QueuedRun> =
            open.iter().filter(|run| place.contains_key(&run.position)).copied().collect();
        queue.sort_by_key(|run| place[&run.position]);
        Ok(queue.into())
    }
}

impl Scheduler<'_> {
    pub(super) fn is_held(&self, entry: &EntryName) -> bool {
        self.shared().holds.iter().any(|hold| hold.entry == *entry && !hold.released)
    }

    /// Holds an entry, unless an organizer released it.
    pub(super) fn hold(&self, run: &Run, reason: String) -> Result<(), ExecutorError> {
        let settings = &self.executor.settings;
        let host = settings.host.survey.name.clone();
        let hold = Hold { entry: run.entry.clone(), host, reason, released: false };
        {
            let mut shared = self.shared();
            if shared.holds.iter().any(|known| known.entry == run.entry) {
                return Ok(());
            }
            settings.record.hold(&hold)?;
            shared.holds.push(hold.clone());
        }
        (self.show)(Progress::Held { hold: &hold });
        Ok(())
    }

    /// The reason for which the attempt of a canary is superseded. Holds the entry if it failed. `is_last`: an
    /// infrastructure failure is not repeated any more.
    pub(super) fn canary_result(
        &self,
        run: &Run,
        attempt: &Attempt,
        dir: &AttemptDir,
        is_last: bool,
    ) -> Result<String, ExecutorError> {
        let problem = match &attempt.outcome {
            Outcome::Infrastructure { .. } if !is_last => return Ok(REPEATED.to_owned()),
            Outcome::Infrastructure { .. } => attempt.outcome.to_string(),
            // It may need more time than a canary has.
            Outcome::CpuLimit | Outcome::WallLimit | Outcome::InstructionLimit => {
                return Ok(PASSED.to_owned());
            }
            _ if has_answers(attempt) => return Ok(PASSED.to_owned()),
            outcome => {
                let line = last_line(&dir.outputs());
                format!("{outcome} without an answer or CANNOT_COMPUTE; last line: {line:?}")
            }
        };
        self.hold(run, format!("its canary {} failed: {problem}", run.id()))?;
        Ok(capped(&format!("{FAILED}{problem}"), 1000))
    }

    /// Holds the entry of a run that ended as its last runs did: within seconds, by itself, without an answer, and with the
    /// same last line but for numbers and the names of instance and examination.
    pub(super) fn watch_block(
        &self,
        run: &Run,
        attempt: &Attempt,
        dir: &AttemptDir,
    ) -> Result<(), ExecutorError> {
        let is_quick = attempt.facts.as_ref().is_some_and(|facts| facts.wall_ms < BLOCK_MS);
        let ends = matches!(attempt.outcome, Outcome::Finished { .. } | Outcome::ToolCrash { .. });
        if self.executor.settings.hosts.canary == Some(false) || attempt.outcome.is_infrastructure() {
            return Ok(());
        }
        if !is_quick || !ends || has_answers(attempt) {
            self.shared().streaks.remove(&run.entry);
            return Ok(());
        }
        let line = last_line(&dir.outputs());
        let general = line.replace(run.instance.as_str(), "").replace(run.examination.as_str(), "");
        let general: String = general.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        let runs = {
            let mut shared = self.shared();
            let streak = shared.streaks.entry(run.entry.clone()).or_default();
            if streak.0 != general {
                *streak = (general, 0);
            }
            streak.1 += 1;
            streak.1
        };
        if runs < BLOCK {
            return Ok(());
        }
        let outcome = &attempt.outcome;
        self.hold(
            run,
            format!(
                "its last {runs} runs ended within {} s without an answer and with the same last line; the last one, {}: \
                 {outcome}; last line: {line:?}",
                BLOCK_MS / 1000,
                run.id()
            ),
        )
    }
}

/// Whether the output has a line with a word of the answer protocol, such as CANNOT_COMPUTE.
fn has_answers(attempt: &Attempt) -> bool {
    let arrivals = attempt.facts.as_ref().and_then(|facts| facts.arrivals.as_ref());
    arrivals.is_some_and(|arrivals| !arrivals.lines.is_empty())
}

/// The last line that is not blank, of stdout or else of stderr; empty if there is none or it cannot be read.
fn last_line(outputs: &Path) -> String {
    let line = |name: &str| crate::last_line(&outputs.join(name)).ok().flatten();
    let found = ["stdout", "stderr"].into_iter().find_map(line);
    capped(&found.unwrap_or_default(), MAX_LINE)
}
