//! Measures the cost of a million runs, and checks that campaigns with faults are complete at their end. All parts are real
//! except the machines, which are simulated: in virtual time they take as long as the runs of a contest.
//!
//!     [SIZES="1000 10000 100000 1000000"] cargo bench --bench million -- growth     figures, as a table
//!     [RUNS=100000] [SEED=n] cargo bench --bench million -- simulated               a long campaign with faults
//!     [ROUNDS=n] [SEED=n] cargo bench --bench million -- real                       the same with real machines
//!
//! MILLION_IN names the folder to work in; otherwise a temporary one (`simulated`: in memory, if there is /dev/shm).

mod campaign;
mod completeness;
mod edition;
mod growth;
#[path = "../scale/measure.rs"]
#[allow(dead_code, reason = "shared with another benchmark")]
mod measure;
mod real_machines;
mod simulated_machines;

use std::path::{Path, PathBuf};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["growth"] => growth::measured(&folder(None)),
        ["simulated"] => edition::run_with_faults(&folder(Some("/dev/shm"))),
        ["real"] => real_machines::run_with_faults(&folder(None)),
        // Started by this program as a separate process.
        ["plan", place, runs] => growth::plan(Path::new(place), runs.parse().unwrap()),
        ["resume", place, runs] => growth::resume(Path::new(place), runs.parse().unwrap()),
        [step @ ("fill" | "commits" | "submit"), place, runs] => {
            growth::prepare(step, Path::new(place), runs.parse().unwrap());
        }
        ["controller", results, model, life, seed] => {
            edition::controller(Path::new(results), model, life.parse().unwrap(), seed.parse().unwrap());
        }
        other => panic!("{other:?}: growth, simulated or real"),
    }
}

/// A temporary folder, removed at the end; below `wish` if that exists.
fn folder(wish: Option<&str>) -> tempfile::TempDir {
    let place = std::env::var_os("MILLION_IN").map(PathBuf::from);
    let place = place.or_else(|| wish.map(PathBuf::from).filter(|place| place.is_dir()));
    place.map_or_else(tempfile::tempdir, tempfile::tempdir_in).unwrap()
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
