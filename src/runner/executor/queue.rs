//! The order of runs. The results in the record do not depend on it.
//!
//! - The runs of a model are consecutive, and so are the runs of a row (all entries on one instance in one examination):
//!   they have the same host conditions, and an incomplete campaign has complete rows (E-5.1).
//! - The model with the longest expected duration is first; within a model the row with the longest expected run; within a
//!   row the longest run. So long runs do not start last.
//! - Runs with equal or unknown expected durations are in the order of the plan.

use mcc_campaign::{History, Run};
use mcc_store::OpenRun;
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};

/// The data of an open run in the queue. It is small, because there may be a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedRun {
    /// Position in the plan.
    pub position: i64,
    pub vcpus: u32,
    pub competes: bool,
    model: u32,
    row: u32,
    /// Expected duration in milliseconds; 0: unknown.
    expected: u64,
}

/// Returns the open runs of a record in the order in which they are started.
pub fn order<E>(
    open: impl Iterator<Item = Result<OpenRun, E>>,
    history: &History,
) -> Result<VecDeque<QueuedRun>, E> {
    let mut queued = vec![];
    let (mut models, mut rows) = (Vec::<Expected>::new(), Vec::<Expected>::new());
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut before: Option<(Run, u32)> = None;
    for run in open {
        let OpenRun { run, position, .. } = run?;
        // In the plan the runs of a row are consecutive.
        let same_row = |(before, _): &(Run, u32)| {
            (&before.instance, &before.examination) == (&run.instance, &run.examination)
        };
        let (model, new_row) = match before.take() {
            Some(before) if same_row(&before) => (before.1, false),
            _ => {
                let next = models.len() as u32;
                (*numbers.entry(run.model.clone()).or_insert(next), true)
            }
        };
        if model as usize == models.len() {
            models.push(Expected { first: position, ms: 0 });
        }
        if new_row {
            rows.push(Expected { first: position, ms: 0 });
        }
        let (row, expected) = (rows.len() as u32 - 1, history.expected_ms(&run).unwrap_or(0));
        models[model as usize].ms += expected;
        rows[row as usize].ms = rows[row as usize].ms.max(expected);
        queued.push(QueuedRun { position, vcpus: run.vcpus, competes: run.competes, model, row, expected });
        before = Some((run, model));
    }
    queued.sort_unstable_by_key(|run| {
        let (model, row) = (&models[run.model as usize], &rows[run.row as usize]);
        (Reverse(model.ms), model.first, Reverse(row.ms), row.first, Reverse(run.expected), run.position)
    });
    Ok(queued.into())
}

/// The expected duration of a model (sum of its runs) or a row (its longest run), with its first position in the plan.
struct Expected {
    first: i64,
    ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_base::names::RunId;
    use std::convert::Infallible;

    /// Two entries on the models A (2 instances), B and C (one each) in the examinations X and Y.
    fn plan() -> Vec<Run> {
        let mut plan = vec![];
        for instance in ["A-PT-1", "A-PT-2", "B-PT-1", "C-PT-1"] {
            for examination in ["X", "Y"] {
                for entry in ["s", "t"] {
                    plan.push(Run {
                        entry: entry.parse().unwrap(),
                        instance: instance.parse().unwrap(),
                        examination: examination.parse().unwrap(),
                        model: instance[..1].into(),
                        vcpus: 1,
                        competes: true,
                    });
                }
            }
        }
        plan
    }

    fn ordered(history: &History) -> Vec<RunId> {
        let plan = plan();
        let open = (1_i64..)
            .zip(&plan)
            .map(|(position, run)| Ok::<_, Infallible>(OpenRun { position, run: run.clone(), attempts: 0 }));
        let Ok(order) = order(open, history);
        order.iter().map(|run| plan[run.position as usize - 1].id()).collect()
    }

    #[test]
    fn without_a_history_runs_are_in_the_order_of_the_plan() {
        let planned: Vec<RunId> = plan().iter().map(Run::id).collect();
        assert_eq!(ordered(&History::default()), planned);
    }

    #[test]
    fn the_longest_model_row_and_run_are_first() {
        let mut history = History::with_instances();
        let took = |id: &str| match id {
            "t/B-PT-1/Y" => 900,
            "s/B-PT-1/Y" => 800,
            id if id.contains("B-PT-1") => 10,
            "t/A-PT-2/X" => 500,
            id if id.contains('A') => 50,
            _ => 100,
        };
        plan().iter().for_each(|run| history.add(run, took(&run.id())));
        let order = ordered(&history);
        let expected = [
            "t/B-PT-1/Y",
            "s/B-PT-1/Y",
            "s/B-PT-1/X",
            "t/B-PT-1/X",
            "t/A-PT-2/X",
            "s/A-PT-2/X",
            "s/A-PT-1/X",
            "t/A-PT-1/X",
            "s/A-PT-1/Y",
            "t/A-PT-1/Y",
            "s/A-PT-2/Y",
            "t/A-PT-2/Y",
            "s/C-PT-1/X",
            "t/C-PT-1/X",
            "s/C-PT-1/Y",
            "t/C-PT-1/Y",
        ];
        assert_eq!(order, expected);
    }
}
