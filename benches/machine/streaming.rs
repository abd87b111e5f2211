//! Throughput of a tool's output: the time for 1 GB through agent, port and controller into the kept file, divided by the
//! time for 1 GB that root writes to a bare port and the host drops: at most 1.3.

use super::bare_qemu::{BareQemu, PORT};
use super::{MachineSetup, median};
use mcc_harness::base::guest::{GuestEvent, Job, Request};
use mcc_harness::vm::{Event, Machine};
use std::time::{Duration, Instant};

const BYTES: u64 = 1 << 30;
const ROUNDS: u32 = 3;
const TIMEOUT: Duration = Duration::from_secs(300);

pub fn output(setup: &MachineSetup) {
    let (mut bare, mut harness) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        bare.push(through_a_bare_port(setup));
        harness.push(through_the_harness(setup));
    }
    let (bare, harness) = (median(bare), median(harness));
    println!("-- streaming 1 GB of output");
    println!("bare port, read and dropped         {:>6} ms", bare.as_millis());
    println!("harness, kept in a file             {:>6} ms", harness.as_millis());
    println!("ratio                               {:>6.2}", harness.as_secs_f64() / bare.as_secs_f64());
}

fn job(user: &str, script: &str) -> Request {
    Request::Prepare(Box::new(Job {
        nonce: "nonce".into(),
        clock_ns: 1_526_000_000_000_000_000,
        seed: "5a".repeat(32),
        user: user.into(),
        cwd: "/".into(),
        command: ["/bin/bash", "-c", script].map(str::to_owned).to_vec(),
        env: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        ..Job::default()
    }))
}

fn dd(to: &str) -> String {
    format!("exec dd if=/dev/zero bs=1M count={} {to} status=none", BYTES >> 20)
}

fn through_a_bare_port(setup: &MachineSetup) -> Duration {
    let mut machine = BareQemu::boot(&setup.spec(&MachineSetup::image("reference")), setup.folder);
    let find = format!(
        "cd /sys/class/virtio-ports; for port in *; do read name < $port/name; [ $name = {PORT} ] && "
    );
    machine.send(&job("root", &format!("{find}{}; done", dd("of=/dev/$port"))));
    machine.expect_event("prepared");
    machine.send(&Request::Start);
    machine.expect_event("started");
    let begun = Instant::now();
    machine.take(BYTES);
    let took = begun.elapsed();
    machine.halt();
    took
}

fn through_the_harness(setup: &MachineSetup) -> Duration {
    let folder = tempfile::tempdir_in(setup.folder).unwrap();
    let spec = setup.spec(&MachineSetup::image("reference"));
    let mut machine = Machine::start(&spec, folder.path(), BYTES, TIMEOUT).unwrap();
    let mut begun = Instant::now();
    loop {
        match machine.wait(Instant::now() + TIMEOUT).unwrap() {
            Event::Guest(GuestEvent::Ready { .. }) => machine.send(&job("mcc", &dd(""))).unwrap(),
            Event::Guest(GuestEvent::Prepared { .. }) => machine.send(&Request::Start).unwrap(),
            Event::Guest(GuestEvent::Started) => begun = Instant::now(),
            Event::Guest(GuestEvent::OutputComplete { stdout_bytes, .. }) => {
                assert_eq!(stdout_bytes, BYTES);
                assert!(machine.wait_for_output((BYTES, 0), Instant::now() + TIMEOUT).unwrap());
                let took = begun.elapsed();
                machine.halt().unwrap();
                return took;
            }
            Event::Guest(GuestEvent::Sample { .. } | GuestEvent::Ended { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
}
