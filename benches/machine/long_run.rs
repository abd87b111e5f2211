//! CPU time of the controller while a tool runs, divided by that of the tool's vCPU: at most 1 %. On an idle host the vCPU's
//! CPU time equals the wall time of the run; on a busy host it is less, so the ratio is stricter than one of wall times.

use super::{MachineSetup, run};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// `depth-first` needs hours for its CTLCardinality.
pub const INSTANCE: &str = "SwitchBoard-PT-0040";

/// Seconds. In a run of an hour, boot and commit are a smaller part.
const CPU_LIMIT_S: u64 = 30;

pub fn controller(setup: &MachineSetup) {
    let image = MachineSetup::image("depth-first");
    let runs = [run("depth-first", INSTANCE, "CTLCardinality")];
    let record = setup.record("long-run", &runs);
    let mut edition = setup.edition.clone();
    edition.limits.cpu_s = CPU_LIMIT_S;
    let stop = AtomicBool::new(false);
    let executor = setup.executor(&record, &edition, &image, &runs, &stop);
    let before = cpu_time();
    executor.run(setup.leases(), &|_| true, &|_| {}).unwrap();
    let cpu = cpu_time() - before;
    let facts = record.attempts(&runs[0].id()).unwrap().pop().unwrap().facts.expect("the tool ran");
    assert!(facts.cpu_ms >= CPU_LIMIT_S * 1000, "the tool ended before its limit");
    println!("-- CPU time of the controller while a tool runs");
    println!(
        "controller, CPU time                {:>6} ms, of the tool's {} ms",
        cpu.as_millis(),
        facts.cpu_ms
    );
    println!(
        "of one core                         {:>6.2} %",
        100_000.0 * cpu.as_secs_f64() / facts.cpu_ms as f64
    );
}

/// User and system time of this process and all its threads, without its children; ticks of 10 ms.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks = |field: &str| field.parse::<u64>().unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    Duration::from_millis(10 * (ticks(fields[11]) + ticks(fields[12])))
}
