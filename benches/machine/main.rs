//! Performance of machines, as ratios that one run of this program measures: time of a run without its tool against bare
//! QEMU, CPU time of the controller while a tool runs, and throughput of output against the bare channel.
//!
//! One section alone: `cargo bench --bench machine -- streaming` (run, starts, packet, controller, streaming,
//! disturbed, jail).
//! The compared programs run alternately, so that other load of the host affects both.

mod bare_qemu;
mod disturbed;
mod jail;
mod long_run;
#[path = "../../tests/support/script.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod script;
mod starts;
mod streaming;

use bare_qemu::BareQemu;
use mcc_harness::campaign::{History, Hosts, Run};
use mcc_harness::edition::Edition;
use mcc_harness::executor::Executor;
use mcc_harness::host::Leases;
use mcc_harness::runner::{CampaignDisks, EntryDisks, Host, RunSettings};
use mcc_harness::store::{CampaignFacts, Disk, Record};
use mcc_harness::vm::{Backend, DiskFile, Guest, HeldFiles, Image, MachineSpec, Start, build};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const INSTANCE: &str = "DiningTable-PT-03";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let folder = tempfile::tempdir().unwrap();
    let setup = MachineSetup::new(folder.path());
    let rounds = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(7);
    type Section<'s> = (&'s str, &'s dyn Fn());
    let sections: [Section; 7] = [
        ("run", &|| per_run(&setup, rounds)),
        ("starts", &|| starts::starts(&setup, rounds)),
        ("packet", &|| starts::packet(&setup)),
        ("controller", &|| long_run::controller(&setup)),
        ("streaming", &|| streaming::output(&setup)),
        ("disturbed", &|| disturbed::series(&setup)),
        ("jail", &|| jail::cost(&setup, rounds)),
    ];
    for (name, measure) in sections {
        if words.is_empty() || words.iter().any(|word| word == name) {
            measure();
        }
    }
}

/// The input of every measurement.
struct MachineSetup<'a> {
    folder: &'a Path,
    inputs: Image,
    edition: Edition,
    hosts: Hosts,
    host: Host,
}

impl<'a> MachineSetup<'a> {
    fn new(folder: &'a Path) -> Self {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let packed = [INSTANCE, long_run::INSTANCE]
            .map(|name| (name.to_owned(), root.join(format!("pnml-fixtures/{name}.tgz"))));
        let inputs =
            build::inputs(&packed, None, (None, &build::copy_archive), &folder.join("inputs"), &|_| {})
                .unwrap();
        let host = Host::prepare(Backend::Qemu, true).unwrap();
        let edition = Edition::load("mcc-2018").unwrap();
        Self { folder, inputs, edition, hosts: Hosts::default(), host }
    }

    fn image(name: &str) -> Image {
        let images = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("build/images");
        Image::open(&images.join(name)).expect("scripts/setup makes it")
    }

    /// A machine of the contest with one vCPU, not pinned.
    fn spec(&self, image: &Image) -> MachineSpec {
        let (kernel, initrd) = image.boot().unwrap();
        MachineSpec {
            backend: Backend::Qemu,
            accelerator: self.host.accelerator,
            cpu_model: self.edition.machine.cpu_model.clone(),
            memory_mib: self.edition.machine.memory_mib,
            vcpus: 1,
            guest: Guest::Agent { kernel, initrd },
            disk: DiskFile::new(image.disk(), "qcow2"),
            read_only_disks: vec![DiskFile::new(self.inputs.disk(), "raw")],
            held_files: HeldFiles::default(),
            start: Start::Boot,
            vcpu_cpus: vec![],
            housekeeping_cpus: vec![],
            disk_limit: None,
            count_instructions: false,
            limit_instructions: false,
            fixed_addresses: false,
        }
    }

    fn leases(&self) -> Leases {
        Leases::new(&self.host.survey.cores, &self.host.survey.memory)
    }

    fn record(&self, name: &str, runs: &[Run]) -> Record {
        let edition = serde_json::to_string(&self.edition).unwrap();
        let facts = CampaignFacts { edition, ..CampaignFacts::default() };
        let record = Record::create_or_open(&self.folder.join(name), &facts).unwrap();
        record.plan_runs(runs).unwrap();
        record
    }

    fn executor<'e>(
        &'e self,
        record: &'e Record,
        edition: &'e Edition,
        image: &Image,
        runs: &[Run],
        stop: &'e AtomicBool,
    ) -> Executor<'e> {
        let MachineSpec { guest, disk, .. } = self.spec(image);
        let entry = EntryDisks { guest, disk, inputs: None, digests: vec![] };
        Executor::new(RunSettings {
            record,
            edition,
            hosts: &self.hosts,
            host: &self.host,
            disks: CampaignDisks {
                entries: runs.iter().map(|run| (run.entry.clone(), entry.clone())).collect(),
                inputs: DiskFile::new(self.inputs.disk(), "raw"),
                inputs_digest: Disk::of_file("inputs", &self.inputs.disk()).unwrap(),
                held_files: HeldFiles::default(),
            },
            restore: false,
            file: Path::new("benchmark"),
            jobs: Some(1),
            marks: vec![],
            history: History::default(),
            run_attempt: &mcc_harness::executor::attempt,
            free_bytes: &mcc_harness::vm::free_bytes_of_folder,
            stop,
        })
    }
}

/// The ratio of the time of a run without its tool to bare QEMU (boot of the same disk to readiness, and halt).
fn per_run(setup: &MachineSetup, rounds: usize) {
    let image = MachineSetup::image("reference");
    let spec = setup.spec(&image);
    // The reference disk has no tool: its BenchKit_head.sh prints one line and ends.
    let runs: Vec<Run> =
        (0..rounds).map(|n| run(&format!("nothing-{n}"), INSTANCE, "ReachabilityDeadlock")).collect();
    let record = setup.record("per-run", &runs);
    let stop = AtomicBool::new(false);
    let executor = setup.executor(&record, &setup.edition, &image, &runs, &stop);
    let (mut bare, mut harness, mut boot) = (vec![], vec![], vec![]);
    for run in &runs {
        bare.push(bare_boot(&spec, setup.folder));
        let begun = Instant::now();
        executor.run(setup.leases(), &|open| open == run, &|_| {}).unwrap();
        let took = begun.elapsed();
        let facts = record.attempts(&run.id()).unwrap().pop().unwrap().facts.expect("the tool ran");
        harness.push(took - Duration::from_millis(facts.wall_ms));
        boot.push(Duration::from_millis(facts.boot_ms));
    }
    let (bare, harness) = (median(bare), median(harness));
    println!("-- time of a run without its tool");
    println!("bare QEMU, boot to ready and halt   {:>6} ms", bare.as_millis());
    println!("harness, boot to ready              {:>6} ms", median(boot).as_millis());
    println!("harness, per run without the tool   {:>6} ms", harness.as_millis());
    println!(
        "ratio                               {:>6.2}   ({rounds} rounds, medians, {})",
        harness.as_secs_f64() / bare.as_secs_f64(),
        setup.host.accelerator.word()
    );
}

fn run(entry: &str, instance: &str, examination: &str) -> Run {
    Run {
        entry: entry.parse().unwrap(),
        instance: instance.parse().unwrap(),
        examination: examination.parse().unwrap(),
        model: instance.to_owned(),
        vcpus: 1,
        competes: true,
    }
}

/// Boots and halts QEMU with the same arguments, controlled through a process and sockets only.
fn bare_boot(spec: &MachineSpec, folder: &Path) -> Duration {
    let begun = Instant::now();
    BareQemu::boot(spec, folder).halt();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
