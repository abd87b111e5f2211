//! Runs processes and measures their time and memory.

use nix::libc;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Cost of a process: wall time from start to end, CPU time of all its threads, peak memory.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    pub wall: Duration,
    pub cpu: Duration,
    pub peak_kib: u64,
}

/// Runs a command and returns its output; panics if it fails.
pub fn run(command: &mut Command) -> (Measurement, String) {
    let output = tempfile::tempfile().unwrap();
    command.stdin(Stdio::null()).stdout(output.try_clone().unwrap());
    let begun = Instant::now();
    // wait4 below reaps it and returns its usage.
    #[expect(clippy::zombie_processes)]
    let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut status = 0;
    // SAFETY: an rusage may be all zeros; wait4 writes to the two places that it is given, which outlive the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(child.id() as i32, &mut status, 0, &mut usage), child.id() as i32);
        usage
    };
    let wall = begun.elapsed();
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{command:?}: status {status}");
    let time = |spent: libc::timeval| Duration::new(spent.tv_sec as u64, spent.tv_usec as u32 * 1000);
    let took = Measurement {
        wall,
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        peak_kib: usage.ru_maxrss as u64,
    };
    (took, text(output))
}

fn text(mut file: std::fs::File) -> String {
    use std::io::{Read, Seek};
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    text
}

/// Measures alternately, so that other load of the host affects all alike. Returns the medians, in the order of the input.
pub fn in_turns<const N: usize>(
    rounds: usize,
    mut measured: [&mut dyn FnMut() -> Measurement; N],
) -> [Measurement; N] {
    let mut all: [Vec<Measurement>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..rounds {
        for (results, measure) in all.iter_mut().zip(&mut measured) {
            results.push(measure());
        }
    }
    all.map(|took| {
        let median = |mut times: Vec<Duration>| {
            times.sort();
            times[times.len() / 2]
        };
        Measurement {
            wall: median(took.iter().map(|took| took.wall).collect()),
            cpu: median(took.iter().map(|took| took.cpu).collect()),
            peak_kib: took.iter().map(|took| took.peak_kib).max().unwrap_or_default(),
        }
    })
}

/// Prints a line of the report.
pub fn line(what: &str, took: Measurement) {
    println!(
        "  {what:<44} {:>9.3} s  {:>9.3} s CPU  {:>7.1} MB",
        took.wall.as_secs_f64(),
        took.cpu.as_secs_f64(),
        took.peak_kib as f64 / 1024.0
    );
}

pub fn ratio(what: &str, dividend: Measurement, divisor: Measurement, aim: &str) {
    println!(
        "  {what:<44} {:>9.2}    {:>9.2} by CPU    aim: {aim}",
        dividend.wall.as_secs_f64() / divisor.wall.as_secs_f64(),
        dividend.cpu.as_secs_f64() / divisor.cpu.as_secs_f64()
    );
}
