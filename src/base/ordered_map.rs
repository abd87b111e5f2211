//! Work done on several cores, its results taken in the order of the work: the same bytes out for any number of
//! threads, and memory bounded by a few pieces of work per thread.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Pieces of work, and results, that may wait for each thread.
const QUEUE_LENGTH: usize = 2;

/// As many threads as the process may use cores.
pub fn all_cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Where pieces of work are handed in.
pub type Feed<'f, W> = &'f mut dyn FnMut(W) -> Result<(), Stopped>;

/// `take` has failed: no more work is wanted.
#[derive(Debug)]
pub struct Stopped;

/// Runs `feed` on the caller's thread; what it hands in goes through `work` on `threads` threads, each with a `state`
/// of its own, and to `take` in the order in which it was handed in. Returns what `feed` returns and the states, or
/// the error of `take`, which ends it all.
pub fn ordered_map<S: Send, W: Send, D: Send, R, E: Send>(
    threads: NonZeroUsize,
    state: impl Fn() -> S + Sync,
    feed: impl FnOnce(Feed<'_, W>) -> R,
    work: impl Fn(&mut S, W) -> D + Sync,
    mut take: impl FnMut(D) -> Result<(), E> + Send,
) -> Result<(R, Vec<S>), E> {
    thread::scope(|scope| {
        // Piece n goes to thread n modulo `threads`, and its result is asked for there: no one has to sort.
        let (mut senders, mut done, mut workers): (Vec<SyncSender<W>>, Vec<Receiver<D>>, Vec<_>) =
            Default::default();
        for _ in 0..threads.get() {
            let (sender, pieces) = sync_channel(QUEUE_LENGTH);
            let (results, result) = sync_channel(QUEUE_LENGTH);
            let (state, work) = (&state, &work);
            workers.push(scope.spawn(move || {
                let mut state = state();
                // Fails where nobody takes any more.
                let _ = pieces.into_iter().try_for_each(|piece| results.send(work(&mut state, piece)));
                state
            }));
            senders.push(sender);
            done.push(result);
        }
        let consumer = scope.spawn(move || {
            done.iter().cycle().map_while(|result| result.recv().ok()).try_for_each(&mut take)
        });
        let mut turn = (0..senders.len()).cycle();
        let returned = feed(&mut |piece| {
            let sender = turn.next().map(|number| &senders[number]);
            sender.and_then(|sender| sender.send(piece).ok()).ok_or(Stopped)
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

    /// What was taken, and what the threads summed up.
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
    fn results_come_in_order_for_any_number_of_threads() {
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
    fn a_panic_in_the_work_is_not_swallowed() {
        let two = NonZeroUsize::new(2).unwrap();
        let work = |_: &mut (), n: u64| if n == 3 { panic!("the work panics") } else { n };
        let feed = |feed: Feed<'_, u64>| (0..9).try_for_each(feed).is_ok();
        let _ = ordered_map(two, || (), feed, work, |_| Ok::<(), ()>(()));
    }
}
