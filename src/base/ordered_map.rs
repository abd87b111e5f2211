//! Parallel work whose results are taken in the order of the input: the output has the same bytes for any number of
//! threads, and memory is bounded by a few work items per thread.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Capacity of each thread's queue of work items, and of its queue of results.
const QUEUE_LENGTH: usize = 2;

/// Returns the number of CPUs that this process may use, as a number of threads.
pub fn all_cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Adds a work item. The `feed` function of `ordered_map` receives it as its argument.
pub type Feed<'f, W> = &'f mut dyn FnMut(W) -> Result<(), Stopped>;

/// The error of `Feed` after `take` has failed: no more work items are accepted.
#[derive(Debug)]
pub struct Stopped;

/// Processes work items in parallel and takes the results in order.
///
/// `feed` runs on the caller's thread and adds work items. `work` processes them on `threads` threads, each with its
/// own value of `state`. `take` receives the results in the order of the items. Returns the value that `feed`
/// returned, and the states of the threads.
///
/// # Errors
/// The first error of `take`, which ends the work.
pub fn ordered_map<S: Send, W: Send, D: Send, R, E: Send>(
    threads: NonZeroUsize,
    state: impl Fn() -> S + Sync,
    feed: impl FnOnce(Feed<'_, W>) -> R,
    work: impl Fn(&mut S, W) -> D + Sync,
    mut take: impl FnMut(D) -> Result<(), E> + Send,
) -> Result<(R, Vec<S>), E> {
    thread::scope(|scope| {
        // Item n goes to thread n modulo `threads`, and its result is received from there: nothing has to be sorted.
        let (mut senders, mut done, mut workers): (Vec<SyncSender<W>>, Vec<Receiver<D>>, Vec<_>) =
            Default::default();
        for _ in 0..threads.get() {
            let (sender, items) = sync_channel(QUEUE_LENGTH);
            let (results, result) = sync_channel(QUEUE_LENGTH);
            let (state, work) = (&state, &work);
            workers.push(scope.spawn(move || {
                let mut state = state();
                // Fails when the consumer has stopped.
                let _ = items.into_iter().try_for_each(|item| results.send(work(&mut state, item)));
                state
            }));
            senders.push(sender);
            done.push(result);
        }
        let consumer = scope.spawn(move || {
            done.iter().cycle().map_while(|result| result.recv().ok()).try_for_each(&mut take)
        });
        let mut threads = (0..senders.len()).cycle();
        let returned = feed(&mut |item| {
            let sender = threads.next().map(|number| &senders[number]);
            sender.and_then(|sender| sender.send(item).ok()).ok_or(Stopped)
        });
        drop(senders);
        let states = workers.into_iter().map(join_or_panic).collect();
        join_or_panic(consumer).map(|()| (returned, states))
    })
}

fn join_or_panic<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum that the threads computed, and the results that were taken.
    fn squares(threads: usize, stop_at: Option<u64>) -> (Result<u64, String>, Vec<u64>) {
        let mut taken = Vec::new();
        let worked = ordered_map(
            NonZeroUsize::new(threads).unwrap(),
            || 0,
            |feed| (0..1000).try_for_each(feed).is_ok(),
            |sum: &mut u64, n: u64| {
                *sum += n;
                n * n
            },
            |square| match stop_at {
                Some(last) if square >= last => Err(format!("{square} is too much")),
                _ => {
                    taken.push(square);
                    Ok(())
                }
            },
        );
        (worked.map(|(_, sums)| sums.iter().sum()), taken)
    }

    #[test]
    fn results_are_in_order_for_any_number_of_threads() {
        let expected: Vec<u64> = (0..1000).map(|n| n * n).collect();
        for threads in [1, 2, 7] {
            assert_eq!(squares(threads, None), (Ok(499_500), expected.clone()), "{threads} threads");
        }
    }

    #[test]
    fn an_error_ends_the_work_early_and_is_returned() {
        for threads in [1, 2, 7] {
            let (worked, taken) = squares(threads, Some(100));
            assert_eq!(worked, Err("100 is too much".to_owned()));
            assert_eq!(taken.len(), 10, "{threads} threads");
        }
    }

    #[test]
    #[should_panic(expected = "the work panics")]
    fn a_panic_in_the_work_is_passed_on() {
        let two = NonZeroUsize::new(2).unwrap();
        let work = |_: &mut (), n: u64| if n == 3 { panic!("the work panics") } else { n };
        let feed = |feed: Feed<'_, u64>| (0..9).try_for_each(feed).is_ok();
        let _ = ordered_map(two, || (), feed, work, |_| Ok::<(), ()>(()));
    }
}
