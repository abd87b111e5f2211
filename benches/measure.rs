//! Compares memory and CPU time of the same tool as measured by host and guest: the values in docs/measurement.md.

#[path = "../tests/support/script.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod script;

use mcc_harness::base::guest::{GuestEvent, Request};
use mcc_harness::host::{Accelerator, Policy, Qemu};
use mcc_harness::vm::{Event, Image, Machine, MachineSpec};
use std::path::Path;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(300);

/// Description and script of each tool.
const TOOLS: [(&str, &str); 4] = [
    ("sleeps 4 s", "sleep 4"),
    ("computes for 6 s", "end=$((SECONDS + 6)); while [ $SECONDS -lt $end ]; do :; done"),
    ("holds 100 MiB", "head -c 100M /dev/zero > /dev/shm/held; sleep 3"),
    ("holds 1000 MiB", "head -c 1000M /dev/zero > /dev/shm/held; sleep 3"),
];

#[derive(Default)]
struct Figures {
    peak_kib: u64,
    balloon_kib: u64,
    rss_kib: u64,
    /// CPU time of the tool's cgroup in the guest and of the vCPU threads on the host, at the same moment.
    guest_cpu_ms: u64,
    host_cpu_ms: u64,
    wall_ms: u64,
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let image = Image::open(&root.join("build/images/reference")).expect("scripts/setup makes it");
    let accelerator = Accelerator::choose(&Qemu::find().unwrap(), Policy::AllowDegraded).unwrap();
    let spec = MachineSpec { accelerator, ..script::machine(&image, 4096, 1) };
    println!("one vCPU, 4096 MiB, {}", accelerator.word());
    println!("| tool | guest cgroup | balloon | QEMU | CPU, guest | CPU, host | wall |");
    println!("|---|---|---|---|---|---|---|");
    for (name, script) in TOOLS {
        let found = measure(&spec, script);
        let [peak, balloon, rss] = [found.peak_kib, found.balloon_kib, found.rss_kib].map(|kib| kib >> 10);
        let seconds = |ms: u64| ms as f64 / 1000.0;
        let [guest, host, wall] = [found.guest_cpu_ms, found.host_cpu_ms, found.wall_ms].map(seconds);
        println!(
            "| {name} | {peak} MiB | {balloon} MiB | {rss} MiB | {guest:.2} s | {host:.2} s | {wall:.2} s |"
        );
    }
}

fn measure(spec: &MachineSpec, script: &str) -> Figures {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::start(spec, folder.path(), 1 << 20, TIMEOUT).unwrap();
    let job = script::job("root", "/", script);
    let mut request = Some(Request::Prepare(Box::new(job)));
    let (mut started, mut cpu_before) = (Instant::now(), Duration::ZERO);
    let mut found = Figures::default();
    loop {
        match machine.wait(Instant::now() + TIMEOUT).unwrap() {
            Event::Guest(GuestEvent::Ready { .. }) => machine.send(&request.take().unwrap()).unwrap(),
            Event::Guest(GuestEvent::Prepared { .. }) => machine.send(&Request::Start).unwrap(),
            Event::Guest(GuestEvent::Started) => {
                (started, cpu_before) = (Instant::now(), machine.cpu_time().unwrap());
            }
            Event::Guest(GuestEvent::Sample { cpu_ms, .. }) => {
                found.guest_cpu_ms = cpu_ms;
                found.host_cpu_ms = (machine.cpu_time().unwrap() - cpu_before).as_millis() as u64;
                found.balloon_kib = found.balloon_kib.max(machine.balloon_kib().unwrap().unwrap_or(0));
            }
            Event::Guest(GuestEvent::Ended { memory_kib, .. }) => {
                found.peak_kib = memory_kib;
                found.rss_kib = machine.rss_kib().map_or(0, |(_, peak)| peak);
                found.wall_ms = started.elapsed().as_millis() as u64;
                return found;
            }
            other => panic!("{script}: {other:?}"),
        }
    }
}
