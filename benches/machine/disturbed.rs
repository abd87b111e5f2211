//! Ten equal runs of a fixed computation on one core, first without and then with another process on the same core: how many
//! are marked `disturbed`, and by how much the CPU times of the unmarked ones differ from their median. The first series is
//! only quiet if nothing else uses the host.

use super::{MachineSetup, script};
use mcc_harness::base::Mark;
use mcc_harness::executor::AttemptResult;
use mcc_harness::host::Policy;
use mcc_harness::vm::MachineSpec;
use std::process::Command;

const RUNS: usize = 10;

/// Some seconds of CPU time under TCG.
const COMPUTATION: &str = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done";

/// Uses its core for 3 of 10 seconds.
const NEIGHBOUR: &str =
    "while :; do end=$(($(date +%s)+3)); while [ $(date +%s) -lt $end ]; do :; done; sleep 7; done";

pub fn series(setup: &MachineSetup) {
    let mut leases = setup.leases();
    let lease = leases.lease(1, 1024, Policy::AllowDegraded).unwrap().expect("a core is free");
    let cpu = lease.cpus[0];
    let image = MachineSetup::image("reference");
    let spec = MachineSpec {
        memory_mib: 1024,
        vcpu_cpus: vec![cpu],
        housekeeping_cpus: leases.housekeeping().to_vec(),
        read_only_disks: vec![],
        ..setup.spec(&image)
    };
    println!("-- {RUNS} equal runs of a fixed computation");
    show("without a neighbour", &runs(setup, &spec));
    let mut neighbour = Command::new("taskset")
        .args(["-c", &cpu.to_string(), "bash", "-c", NEIGHBOUR])
        .spawn()
        .expect("taskset is part of util-linux");
    let loaded = runs(setup, &spec);
    neighbour.kill().unwrap();
    neighbour.wait().unwrap();
    show("with a neighbour", &loaded);
    leases.release(lease);
}

fn runs(setup: &MachineSetup, spec: &MachineSpec) -> Vec<AttemptResult> {
    (0..RUNS).map(|_| one_run(setup, spec, COMPUTATION)).collect()
}

/// Makes an attempt in a machine in which a bash script is the tool.
pub fn one_run(setup: &MachineSetup, machine: &MachineSpec, script: &str) -> AttemptResult {
    let folder = tempfile::tempdir().unwrap();
    let job = script::job("mcc", "/home/mcc", script);
    script::attempt(machine, job, &setup.edition.limits, folder.path(), &mut |_| {})
}

fn show(series: &str, runs: &[AttemptResult]) {
    let cpu_ms = |run: &AttemptResult| run.facts.as_ref().expect("the computation ended").cpu_ms;
    let is_marked = |run: &AttemptResult| run.marks.contains(&Mark::DISTURBED);
    let mut times: Vec<u64> = runs.iter().map(cpu_ms).collect();
    times.sort_unstable();
    let median = times[times.len() / 2];
    println!("{series}");
    for run in runs {
        let state = run.environment.host_state.clone().unwrap_or_default();
        let calibration = state.load.unwrap_or_default().calibration.unwrap_or_default();
        println!(
            "  CPU {:>6} ms   calibration {:>5} {:>5} {:>5}   {}",
            cpu_ms(run),
            per_mille(calibration.before),
            per_mille(calibration.during),
            per_mille(calibration.after),
            state.disturbed.join("; ")
        );
    }
    let unmarked = runs.iter().filter(|run| !is_marked(run));
    let deviation = unmarked.map(|run| cpu_ms(run).abs_diff(median) * 1000 / median.max(1)).max();
    let marked = runs.iter().filter(|run| is_marked(run)).count();
    match deviation {
        Some(most) => println!(
            "  marked: {marked} of {}; the unmarked differ from the median of {median} ms by at most {}.{} %",
            runs.len(),
            most / 10,
            most % 10
        ),
        None => println!("  marked: {marked} of {}", runs.len()),
    }
}

fn per_mille(time: Option<u64>) -> String {
    time.map_or("-".to_owned(), |time| time.to_string())
}
