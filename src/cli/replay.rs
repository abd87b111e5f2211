use super::conduct::{Host, executor_failure};
use super::published::{failure, open};
use super::{Exit, Failure, Format, print};
use crate::archive::{Comparison, Disks, Median, compare, seen_by};
use crate::benchkit::Answers;
use crate::campaign::{Backend, History, Hosts, Run};
use crate::edition::Edition;
use crate::executor::{self, EntryDisks, Executor, Watched};
use crate::judge::record::{answers_of, edition_of};
use crate::store::{Attempt, Disk, Record, RunRecord};
use crate::vm::{DiskFile, Guest, States};
use anyhow::{Context, anyhow};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Boot a recorded run again and compare.
///
/// Takes the recorded machine (cores, memory, limits, start) and the recorded disks, checked by digest; a disk that the
/// archive does not hold is asked for by its digest. Says whether the answers are equal, and time and memory against the
/// original with the difference of the hosts beside it. Ends with 1 where the answers differ.
#[derive(clap::Args)]
pub struct Args {
    /// The folder of a record (RESULTS), an archive (`export --archive`), or the folder of an unpacked one.
    input: PathBuf,
    /// The run: ENTRY/INSTANCE/EXAMINATION.
    #[arg(long, value_name = "ID")]
    run: String,
    /// A disk, kernel or initrd, or a folder with them, such as an image; may be given several times. What is needed
    /// is found by its digest.
    #[arg(long, value_name = "FILE|FOLDER")]
    disk: Vec<PathBuf>,
    /// How often; the median and the spread are shown.
    #[arg(long, value_name = "N", default_value = "1")]
    repeat: NonZeroU32,
    /// A folder that keeps the record of each replay: 1, 2, ... [default: none is kept].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Replay although this host cannot honour the contest's machine; the replay is marked.
    #[arg(long)]
    allow_degraded: bool,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let published = open(&args.input)?;
    let record = Record::open_readonly(&published.folder).map_err(Failure::usage)?;
    let edition = edition_of(&record).map_err(Failure::usage)?;
    let original = recorded(&record, &args.run)?;
    let answers = answers_of(&edition, &record, &original).map_err(Failure::usage)?;
    let disks = find_disks(&args, &published.folder, &original.last)?;
    let temporary = tempfile::Builder::new().prefix("mcc-replay-").tempdir()?;
    let out = args.out.as_deref().unwrap_or(temporary.path());

    let host = Host::prepare(Backend::Qemu, args.allow_degraded)?;
    let mut replays = Vec::new();
    for number in 1..=args.repeat.get() {
        eprintln!("replay {number} of {}: {}", args.repeat, args.run);
        let folder = out.join(number.to_string());
        replays.push(replay(&host, &record, &edition, &original, &disks, &folder)?);
    }
    let comparison = compare((&original.last, answers.as_ref()), &replays);
    match args.format {
        Format::Json => print::raw(&format!("{:#}\n", serde_json::to_value(&comparison)?))?,
        Format::Text => print::text(&text(&comparison))?,
    }
    Ok(if comparison.answers_equal { Exit::Done } else { Exit::Failed })
}

/// The run, if there was a machine that can be booted again.
fn recorded(record: &Record, id: &str) -> Result<RunRecord, Failure> {
    let wanted = |run: &RunRecord| run.run.id() == id;
    let Some(run) = record.records().find(|run| run.as_ref().map_or(true, wanted)).transpose()? else {
        return Err(Failure::usage(anyhow!(
            "no run {id} is recorded; write ENTRY/INSTANCE/EXAMINATION as in answers.csv"
        )));
    };
    let reason = if !run.run.competes {
        "the entry does not compete there, so there was no machine"
    } else if run.last.outcome.is_infrastructure() {
        "every attempt ended in infrastructure, so there is nothing to compare with"
    } else if !run.last.disks.iter().any(|disk| disk.role == "kernel") {
        "it ran on an original disk over ssh, whose private key is in no record"
    } else {
        return Ok(run);
    };
    Err(Failure::usage(anyhow!("{id} cannot be replayed: {reason}")))
}

struct RunDisks {
    entry: EntryDisks,
    inputs: DiskFile,
    inputs_digest: Disk,
    watched: Watched,
}

/// The disks the run saw: given, in the archive, beside the record, or where they lay then.
fn find_disks(args: &Args, folder: &Path, attempt: &Attempt) -> Result<RunDisks, Failure> {
    let mut places = Disks::default();
    let own = [folder.join("disks"), folder.join("inputs")];
    for place in args.disk.iter().cloned().chain(own).chain(seen_by(attempt)) {
        places.look_in(&place);
    }
    let mut watched = Watched::default();
    let mut find = |role: &str| -> Result<(PathBuf, Disk), Failure> {
        let disk = attempt.disks.iter().find(|disk| disk.role == role);
        let disk = disk.ok_or_else(|| Failure::usage(anyhow!("the record names no {role} of this run")))?;
        let path = places.find(disk).map_err(failure)?;
        watched.add(&path).with_context(|| path.display().to_string())?;
        Ok((path, disk.clone()))
    };
    let (kernel, kernel_digest) = find("kernel")?;
    let (initrd, initrd_digest) = find("initrd")?;
    let (disk, disk_digest) = find("disk")?;
    let (inputs, inputs_digest) = find("inputs")?;
    let entry = EntryDisks {
        guest: Guest::Agent { kernel, initrd },
        disk: DiskFile::new(disk, "qcow2"),
        inputs: None,
        digests: vec![disk_digest, kernel_digest, initrd_digest],
    };
    Ok(RunDisks { entry, inputs: DiskFile::new(inputs, "raw"), inputs_digest, watched })
}

/// One replay: a campaign of one run, with a record of its own.
fn replay(
    host: &Host,
    record: &Record,
    edition: &Edition,
    original: &RunRecord,
    disks: &RunDisks,
    folder: &Path,
) -> Result<(Attempt, Option<Answers>), Failure> {
    let run: &Run = &original.run;
    let replayed = Record::create_or_open(folder, record.facts(), |_| {}).map_err(Failure::usage)?;
    replayed.plan_runs(std::slice::from_ref(run))?;
    let hosts = hosts_of(&record.facts().campaign);
    let restored = original.last.marks.iter().any(|mark| mark == "restored");
    let executor = Executor {
        record: &replayed,
        edition,
        disks: BTreeMap::from([(run.entry.clone(), disks.entry.clone())]),
        inputs: disks.inputs.clone(),
        inputs_digest: disks.inputs_digest.clone(),
        states: restored.then(|| States::new(folder.join("states"))),
        host: host.survey.facts(host.accelerator, &host.qemu),
        backend: host.backend,
        accelerator: host.accelerator,
        policy: host.policy,
        boot_deadline: Duration::from_secs(hosts.boot_deadline_s.get()),
        stall: Duration::from_secs(hosts.stall_s.get()),
        watched: disks.watched.clone(),
        jobs: 1,
        marks: vec![],
        history: History::default(),
        machines: &executor::attempt,
        drain: &AtomicBool::new(false),
    };
    executor.run(host.leases(Path::new("replay"))?, &|_| true, &|_| {}).map_err(executor_failure)?;
    let Some(made) = replayed.records().next().transpose()? else {
        return Err(Failure::from(anyhow!("the replay of {} left no record", run.id())));
    };
    if made.last.outcome.is_infrastructure() {
        return Err(Failure::from(anyhow!(
            "the replay of {} ended in infrastructure: {}; try again",
            run.id(),
            super::outcome(&made.last.outcome)
        )));
    }
    let answers = answers_of(edition, &replayed, &made)?;
    Ok((made.last, answers))
}

/// `[hosts]` of the campaign: a host as slow as the original's is given as long to boot.
fn hosts_of(campaign: &str) -> Hosts {
    let table: Option<toml::Table> = campaign.parse().ok();
    table.and_then(|table| table.get("hosts")?.clone().try_into().ok()).unwrap_or_default()
}

fn text(comparison: &Comparison) -> String {
    let Comparison { run, answers_equal, different, original, replays, hosts, .. } = comparison;
    let verdict = if *answers_equal { "answers equal" } else { "ANSWERS DIFFER" };
    let mut text = format!("{run}: {verdict}\n");
    for answer in different {
        let shown = |value: &str| if value.is_empty() { "nothing".to_owned() } else { value.to_owned() };
        text += &format!(
            "  {:02} {}: {} then, {} in replay {}\n",
            answer.position,
            answer.id,
            shown(&answer.original),
            shown(&answer.replayed),
            answer.replay
        );
    }
    text += &format!("outcome      {} then", original.outcome);
    for replay in replays {
        text += &format!(", {} now", replay.outcome);
    }
    text.push('\n');
    for (what, unit, then, now) in [
        ("CPU time", "ms", original.cpu_ms, comparison.cpu_ms),
        ("wall time", "ms", original.wall_ms, comparison.wall_ms),
        ("memory", "KiB", original.memory_kib, comparison.memory_kib),
    ] {
        let then = then.map_or("unknown".to_owned(), |then| format!("{then} {unit}"));
        let now = now.map_or("unknown".to_owned(), |Median { median, least, most }| match replays.len() {
            1 => format!("{median} {unit}"),
            count => format!("{median} {unit}, the median of {count} from {least} to {most}"),
        });
        text += &format!("{what:<12} {then} then, {now} now\n");
    }
    for host in hosts {
        text += &format!("host {:<12} {} then, {} now\n", host.what, host.original, host.replay);
    }
    if hosts.is_empty() {
        text += "host         the same\n";
    }
    text
}
