use super::record_source::open;
use super::{Exit, Failure, Format, print, terminal};
use anyhow::anyhow;
use mcc_archive::{Comparison, Median, compare};
use mcc_base::machine::Backend;
use mcc_base::names::RunId;
use mcc_base::temporary;
use mcc_runner::{Host, Replay};
use mcc_store::{Disk, Record};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Execute a recorded run again and compare the results.
///
/// Uses the recorded machine (cores, memory, limits, start) and the recorded disks, which are found by digest. Compares
/// the answers, and shows instructions (if they were counted), time and memory of both runs and the differences of their
/// hosts. Exits with 1 if the answers differ.
#[derive(clap::Args)]
pub struct Args {
    /// The folder of a record (RESULTS), an archive (`export --archive`), or the folder of an unpacked one.
    input: PathBuf,
    /// The run: ENTRY/INSTANCE/EXAMINATION.
    #[arg(long, value_name = "ID")]
    run: RunId,
    /// A disk, kernel or initrd of the run, or a folder with such files, such as an image or a folder of images (three
    /// levels are searched). Only files with the recorded digest are used. May be repeated.
    #[arg(long, value_name = "FILE|FOLDER")]
    disk: Vec<PathBuf>,
    /// Number of replays; the median and the range are shown.
    #[arg(long, value_name = "N", default_value = "1")]
    repeat: NonZeroU32,
    /// Folder for the records of the replays: 1, 2, ... [default: none is kept].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Replay although this host does not meet the contest's machine requirements; the replay is marked.
    #[arg(long)]
    allow_degraded: bool,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    if let Some((place, error)) = args.disk.iter().find_map(|place| Some((place, place.metadata().err()?))) {
        return Err(Failure::usage(anyhow!("--disk {}: {error}; give a file or a folder", place.display())));
    }
    let record_source = open(&args.input)?;
    let record = Record::open_readonly(&record_source.folder).map_err(Failure::usage)?;
    let replay = Replay::from_record(&record, &args.run, &args.disk)?;
    let temporary = temporary::folder("mcc-replay-")?;
    let out = args.out.as_deref().unwrap_or(temporary.path());

    for (path, disk) in replay.files() {
        let verb = if matches!(disk.role.as_str(), "kernel" | "initrd") { "boots" } else { "has" };
        let Disk { role, sha256, .. } = disk;
        terminal::message(
            "replay",
            terminal::HEADING,
            &format!("the machine {verb} the {role} {} (sha256 {sha256})", path.display()),
        );
    }
    let trust = format!(
        "kernel and initrd are code of the author of {}; they run in a machine without network, with the disks of the \
         run and no other file of this host",
        args.input.display()
    );
    terminal::message("replay", terminal::HEADING, &trust);
    let host = Host::prepare(Backend::Qemu, args.allow_degraded)?;
    let mut replays = Vec::new();
    for number in 1..=args.repeat.get() {
        stderr_line!("replay {number} of {}: {}", args.repeat, args.run);
        replays.push(replay.run(&host, &out.join(number.to_string()))?);
    }
    if let Some(out) = &args.out {
        terminal::note(&format!("the records of the replays are in {}/1, ...", out.display()));
    }
    let comparison = compare(replay.original(), &replays);
    print::result(args.format, &comparison, || print::text(&text(&comparison)))?;
    Ok(if comparison.answers_equal { Exit::Done } else { Exit::Failed })
}

fn text(comparison: &Comparison) -> String {
    let Comparison { run, answers_equal, different, original, replays, hosts, .. } = comparison;
    let verdict = if *answers_equal { "answers equal" } else { "ANSWERS DIFFER" };
    let mut text = format!("{run}: {verdict}\n");
    for answer in different {
        let shown = |value: &str| if value.is_empty() { "nothing".to_owned() } else { value.to_owned() };
        text += &format!(
            "  {:02} {}: recorded {}, but {} in replay {}\n",
            answer.position,
            answer.id,
            shown(&answer.original),
            shown(&answer.replayed),
            answer.replay
        );
    }
    text += &format!("outcome      recorded: {}", original.outcome);
    for replay in replays {
        text += &format!(", replayed: {}", replay.outcome);
    }
    text.push('\n');
    if let Some(millionths) = comparison.instructions_apart {
        text += &format!("{:<12} {}\n", "computation", computation(millionths));
    }
    let instructions =
        ("instructions", "at user addresses", original.instructions_user, comparison.instructions_user);
    // Most campaigns count none.
    let instructions = Some(instructions).filter(|(_, _, then, now)| then.is_some() || now.is_some());
    let times = [
        ("CPU time", "ms", original.cpu_ms, comparison.cpu_ms),
        ("wall time", "ms", original.wall_ms, comparison.wall_ms),
        ("memory", "KiB", original.memory_kib, comparison.memory_kib),
    ];
    for (what, unit, then, now) in instructions.into_iter().chain(times) {
        let then = then.map_or("unknown".to_owned(), |then| format!("{then} {unit}"));
        let now = now.map_or("unknown".to_owned(), |Median { median, least, most }| match replays.len() {
            1 => format!("{median} {unit}"),
            count => format!("{median} {unit}, the median of {count} from {least} to {most}"),
        });
        text += &format!("{what:<12} recorded: {then}, replayed: {now}\n");
    }
    for host in hosts {
        text += &format!("host {:<12} recorded: {}, replayed: {}\n", host.what, host.original, host.replay);
    }
    if hosts.is_empty() {
        text += "host         the same\n";
    }
    text
}

/// What the largest difference of instructions, in millionths, says about the computation of the tool. The bounds are above
/// the ranges in docs/measurement.md, of programs that do the same work each time and of programs with random numbers.
fn computation(millionths: u64) -> String {
    let apart = format!("{}.{:04} %", millionths / 10_000, millionths % 10_000);
    match millionths {
        0..=10 => format!("the same: instructions differ by at most {apart}"),
        11..=400_000 => format!(
            "instructions differ by {apart}: another computation, or a tool with random numbers of its own, such as \
             addresses, hash seeds and the threads of Java (up to 31 % in measured runs), or only a slower host, because the \
             agent of the guest executes some thousand in each second (in older images about 21,000)"
        ),
        _ => format!(
            "another one: instructions differ by {apart}, more than in measured runs of tools with random numbers (31 %)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::computation;

    #[test]
    fn the_difference_of_instructions_tells_computations_apart() {
        assert_eq!(computation(4), "the same: instructions differ by at most 0.0004 %");
        assert!(computation(20_000).starts_with("instructions differ by 2.0000 %: another computation, or"));
        assert!(computation(400_001).starts_with("another one: instructions differ by 40.0001 %"));
    }
}
