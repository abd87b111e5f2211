//! A seeded random walk. A visited marking proves that a marking is reachable; a walk cannot prove that none is.

use std::io::{self, Write};

use crate::ToolError;
use crate::answers::{Answer, Answers};
use crate::net::{Compiled, Marking};
use crate::query::{Queries, Query};
use mcc_base::random::SplitMix;

/// Firings after which the walk starts again at the initial marking, as it may be in a part that it cannot leave.
const RESTART: u64 = 2_000;

/// Walks `steps` firings. `give_proven` is called with each marking and its enabled transitions, and prints the answers
/// that they prove.
pub fn walk<W: Write>(
    net: &Compiled,
    seed: u64,
    steps: u64,
    mut answers: Answers<W>,
    mut give_proven: impl FnMut(&Marking, &[usize], &mut Answers<W>) -> io::Result<()>,
) -> Result<(), ToolError> {
    let mut random = SplitMix(seed);
    let mut marking = Marking::new(net.places);
    let mut enabled = Vec::new();
    marking.unpack(&net.initial());
    for step in 1..=steps {
        net.enabled(&marking, &mut enabled);
        give_proven(&marking, &enabled, &mut answers)?;
        if answers.all_given() {
            return Ok(());
        }
        if enabled.is_empty() || step % RESTART == 0 {
            marking.unpack(&net.initial());
            continue;
        }
        let transition = enabled[random.below(enabled.len())];
        match net.fire(&marking, transition) {
            Ok(next) => marking.unpack(&next),
            Err(_) => marking.unpack(&net.initial()),
        }
    }
    Ok(answers.give_up()?)
}

/// Gives the answers that a marking proves by being reachable.
pub fn give_found<W: Write>(
    queries: &Queries,
    marking: &Marking,
    enabled: &[usize],
    answers: &mut Answers<W>,
) -> io::Result<()> {
    for (number, query) in queries.queries.iter().enumerate() {
        if let Query::Reach { label, found } = query
            && !answers.is_given(number)
            && queries.holds(*label, marking, enabled)
        {
            answers.give(number, Answer::Truth(*found))?;
        }
    }
    Ok(())
}
