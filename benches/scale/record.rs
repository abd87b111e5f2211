//! Judging a record of many runs.

use super::generated_record::make;
use super::measure::{in_turns, line, ratio, run};
use std::path::Path;
use std::process::Command;

/// Judges a record of 20,000 runs from its outputs, compared with `cat` of the same outputs.
pub fn judged(folder: &Path) {
    // Each run of the generated record is a synced transaction, so the record is made in memory if /dev/shm exists.
    let memory = tempfile::tempdir_in("/dev/shm").ok();
    let results = memory.as_ref().map_or(folder, |memory| memory.path()).join("results");
    let runs = super::percent(20_000) as usize;
    make(&results, runs, super::SEED);
    let harness = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
        run(command.arg("judge").arg(&results).arg("--out").arg(folder.join("out"))).0
    };
    let cat = || {
        let mut command = Command::new("sh");
        run(command
            .args(["-c", "find \"$0\" -name stdout -print0 | xargs -0 cat | wc -c"])
            .arg(results.join("outputs")))
        .0
    };
    let [cat, harness] = in_turns(super::number("ROUNDS", 5), [&mut { cat }, &mut { harness }]);
    println!("  {runs} runs");
    line("find and cat of all outputs", cat);
    line("mcc-harness judge", harness);
    ratio("mcc-harness / find and cat", harness, cat, "none");
}
