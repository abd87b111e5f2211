//! Simulated machines: they enter the states of a run, print the output of a tool, and take its time in virtual time, with
//! random faults.

use mcc_harness::base::digest;
use mcc_harness::campaign::{History, Hosts, Run};
use mcc_harness::edition::Edition;
use mcc_harness::executor::{AttemptResult, AttemptSpec, Executor, State};
use mcc_harness::host::{Accelerator, Core, Cores, Leases, Memory, Policy, Qemu, Survey};
use mcc_harness::runner::{CampaignDisks, EntryDisks, Host, RunSettings};
use mcc_harness::store::{Attempt, Disk, Environment, Outcome, Record, RunFacts, Sample};
use mcc_harness::vm::{Backend, DiskFile, Guest, HeldFiles};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub const JOBS: usize = 4;

/// A pseudo-random number that depends on the seed and the words only.
pub fn drawn(seed: u64, words: &[&str]) -> u64 {
    // FNV-1a, then the finalizer of SplitMix64.
    let mut hash = seed ^ 0xcbf2_9ce4_8422_2325;
    for byte in words.iter().flat_map(|word| word.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Whether an event that occurs once in `hours` machine hours occurs in a run of `ms` milliseconds.
pub fn happens(draw: u64, hours: u64, ms: u64) -> bool {
    draw % (hours * 3_600_000) < ms
}

/// The duration of a run in milliseconds, similar to 2018: half of the runs below a minute, an eighth a full hour.
pub fn took_ms(entry: &str, instance: &str, examination: &str) -> u64 {
    let draw = drawn(2018, &[entry, instance, examination]);
    match draw % 8 {
        0 => 3_600_000,
        1 => 600_000 + draw / 8 % 3_000_000,
        2 | 3 => 60_000 + draw / 8 % 540_000,
        _ => 1000 + draw / 8 % 59_000,
    }
}

/// The output of a tool, which identifies its run.
pub fn printed(entry: &str, instance: &str, examination: &str) -> String {
    format!(
        "{entry} on {instance} in {examination}\nFORMULA {instance}-{examination}-00 TRUE TECHNIQUES EXPLICIT\n"
    )
}

/// A fault during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// QEMU is killed in this state.
    Qemu(State),
    /// The host's disk is full.
    DiskFull,
    /// The controller is killed while the tool runs.
    Kill,
}

/// Simulates one attempt. `fault` returns its fault, given entry, instance and examination, and its duration in milliseconds.
pub fn attempt(
    attempt_spec: AttemptSpec,
    enter: &mut dyn FnMut(State),
    fault: &dyn Fn(&[&str; 3], u64) -> Option<Fault>,
) -> AttemptResult {
    let variable = |name: &str| attempt_spec.job.env[name].clone();
    let (entry, instance, examination) =
        (variable("BK_TOOL"), variable("BK_INPUT"), variable("BK_EXAMINATION"));
    let words = [entry.as_str(), &instance, &examination];
    let ms = took_ms(&entry, &instance, &examination);
    let fault = fault(&words, ms);
    let text = printed(&entry, &instance, &examination);
    for state in [State::Preparing, State::Booting, State::Ready, State::Examining] {
        enter(state);
        if fault == Some(Fault::Qemu(state)) {
            let reason = "QEMU was killed by signal 9".to_owned();
            return AttemptResult::without_machine(Outcome::Infrastructure {
                state: state.to_string(),
                reason,
            });
        }
    }
    fs::write(attempt_spec.folder.join("stdout"), &text[..text.len() / 2]).unwrap();
    match fault {
        Some(Fault::DiskFull) => {
            let reason = "No space left on device".to_owned();
            let outcome = Outcome::Infrastructure { state: State::Examining.to_string(), reason };
            return AttemptResult { full_disk: true, ..AttemptResult::without_machine(outcome) };
        }
        Some(Fault::Kill) => {
            nix::sys::signal::raise(nix::sys::signal::SIGKILL).unwrap();
        }
        _ => {}
    }
    fs::write(attempt_spec.folder.join("stdout"), &text).unwrap();
    enter(State::Collecting);
    enter(State::Halting);
    let outcome = if ms == 3_600_000 { Outcome::CpuLimit } else { Outcome::Finished { exit_code: 0 } };
    AttemptResult { facts: Some(facts(ms)), ..AttemptResult::without_machine(outcome) }
}

fn facts(ms: u64) -> RunFacts {
    let sample = |n: u64| Sample { at_ms: n * ms / 10, cpu_ms: n * ms / 10, ..Sample::default() };
    RunFacts {
        boot_ms: 3000,
        wall_ms: ms,
        cpu_ms: ms,
        vcpus: 1,
        memory_kib: Some(100_000),
        samples: (1..=10).map(sample).collect(),
        ..RunFacts::default()
    }
}

/// A host with sixteen cores for runs, and the memory for as many machines.
pub fn host(name: &str) -> Host {
    let core = |n: u32| Core { cpus: vec![n], ..Core::default() };
    Host {
        policy: Policy::Contest,
        qemu: Qemu { program: PathBuf::from("qemu"), version: "QEMU emulator version 7.2.22".to_owned() },
        backend: Backend::Qemu,
        accelerator: Accelerator::Kvm,
        marks: vec![],
        survey: Survey {
            name: name.to_owned(),
            kernel: "6.1.0-18-amd64".to_owned(),
            cpu: "a processor of nodes like these".to_owned(),
            cores: Cores { cores: (0..17).map(core).collect(), allowed: (0..17).collect() },
            memory: Memory { total_mib: 1 << 20, available_mib: 1 << 20, limited_by: None },
        },
    }
}

/// The leases of the cores and memory of a host.
pub fn leases(host: &Host) -> Leases {
    Leases::new(&host.survey.cores, &host.survey.memory)
}

/// The attempt of a finished machine, with facts of realistic size.
pub fn recorded(run: &Run) -> Attempt {
    let mut facts = facts(took_ms(&run.entry, &run.instance, &run.examination));
    facts.samples.clear();
    let disk = |role: &str| Disk { role: role.to_owned(), sha256: "5".repeat(64), bytes: 1 << 30 };
    let text = printed(&run.entry, &run.instance, &run.examination);
    let stdout = Disk { role: "stdout".to_owned(), sha256: digest::bytes(&text), bytes: text.len() as u64 };
    let argument = "-device virtio-blk-pci,drive=disk,bootindex=0,disable-legacy=on".to_owned();
    Attempt {
        run: run.id(),
        number: 1,
        outcome: Outcome::Finished { exit_code: 0 },
        marks: vec![],
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        host: host("node-1").facts(),
        disks: ["disk", "kernel", "initrd", "inputs"].map(disk).to_vec(),
        machine: vec![argument; 20],
        environment: Environment { cpu_flags: vec!["sse4_2".to_owned(); 40], ..Environment::default() },
        facts: Some(facts),
        outputs: vec![stdout],
    }
}

pub type AttemptFn<'a> = &'a (dyn Fn(AttemptSpec, &mut dyn FnMut(State)) -> AttemptResult + Sync);

/// The executor of a record with `campaign::ENTRIES` entries.
pub fn executor<'a>(
    record: &'a Record,
    (edition, hosts): (&'a Edition, &'a Hosts),
    host: &'a Host,
    history: History,
    machines: AttemptFn<'a>,
    stop: &'a AtomicBool,
) -> Executor<'a> {
    let disk = DiskFile::new(PathBuf::from("disk"), "qcow2");
    let entry = EntryDisks {
        guest: Guest::Agent { kernel: PathBuf::from("kernel"), initrd: PathBuf::from("initrd") },
        disk: disk.clone(),
        inputs: None,
        digests: vec![],
    };
    let entries = record.facts().entries.iter().map(|facts| (facts.entry.clone(), entry.clone())).collect();
    let inputs_digest = Disk { role: "inputs".to_owned(), sha256: "1".repeat(64), bytes: 1 };
    Executor::new(RunSettings {
        record,
        edition,
        hosts,
        host,
        disks: CampaignDisks { entries, inputs: disk, inputs_digest, held_files: HeldFiles::default() },
        restore: false,
        file: Path::new("simulation"),
        jobs: Some(JOBS),
        marks: vec![],
        history,
        run_attempt: machines,
        free_bytes: &mcc_harness::vm::free_bytes_of_folder,
        stop,
    })
}
