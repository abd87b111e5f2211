use super::{Exit, Failure, Format, print};
use anyhow::anyhow;
use mcc_base::text::counted;
use mcc_edition::Edition;
use mcc_model::Archive;
use mcc_runner::qualify::{Dispute, Program};
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

/// Reduce an instance while two programs still disagree on a value.
///
/// Runs both programs again and again on this host, and removes places, transitions, arcs, tokens and parts of formulas as
/// long as their values differ as before. Writes a folder for the author of a program: the reduced instance, the outputs and
/// how to reproduce them.
#[derive(clap::Args)]
pub struct Args {
    /// The archive of the instance (.tgz), or its unpacked folder.
    instance: PathBuf,
    /// The examination, such as ReachabilityCardinality.
    #[arg(long, value_name = "NAME")]
    examination: String,
    /// The id of the property, or the name of a value of StateSpace.
    #[arg(long, value_name = "ID")]
    property: String,
    /// The folder of a tool (BenchKit_head.sh and bin/).
    #[arg(long, value_name = "DIR")]
    tool: PathBuf,
    /// The folder of another tool [default: the tool is compared with the value that `certify` finds].
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// The rules: the name of an edition, or the path of an edition file.
    #[arg(long, value_name = "NAME|FILE", default_value = "mcc-2018")]
    edition: String,
    /// Seconds for one answer of a program.
    #[arg(long, value_name = "SECONDS", default_value = "10")]
    limit: NonZero<u32>,
    /// Memory of certify and BK_MEMORY_CONFINEMENT of tools, in MiB.
    #[arg(long, value_name = "M", default_value = "2048")]
    memory_mib: NonZero<u32>,
    /// Run a tool at most M times for one value, if its answers differ from run to run.
    #[arg(long, value_name = "M", default_value = "1")]
    runs: NonZero<u32>,
    /// A value counts if N of these runs give it [default: more than half of --runs].
    #[arg(long, value_name = "N")]
    agreeing: Option<NonZero<u32>>,
    /// Seconds for the reduction.
    #[arg(long, value_name = "SECONDS", default_value = "3600")]
    time: NonZero<u32>,
    /// The folder for the report. It must not exist.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let edition = Edition::load(&args.edition).map_err(Failure::usage)?;
    if args.out.symlink_metadata().is_ok() {
        return Err(Failure::usage(anyhow!("{}: exists already; give a new folder", args.out.display())));
    }
    let runs = args.runs.get();
    let agreeing = args.agreeing.map_or(runs / 2 + 1, NonZero::get);
    if agreeing > runs {
        return Err(Failure::usage(anyhow!("--agreeing {agreeing}: more than --runs {runs}")));
    }
    let archive = Archive::open(&args.instance).map_err(Failure::usage)?;
    let dispute = Dispute {
        programs: [Program::Tool(args.tool), args.against.map_or(Program::Certify, Program::Tool)],
        examination: super::lint::examination(&edition, &args.examination)?,
        property: &args.property,
        edition: &args.edition,
        limit_s: args.limit.get(),
        memory_mib: args.memory_mib.get(),
        runs,
        agreeing,
    };
    let time = Duration::from_secs(args.time.get().into());
    let reduced = dispute.reduce(&archive, time, &args.out)?;
    print::result(args.format, &reduced, || {
        print::text(&format!(
            "{}: {} or {}; reduced from {} to {} places and transitions in {}\n",
            args.property,
            reduced.values[0],
            reduced.values[1],
            reduced.nodes_before,
            reduced.nodes_after,
            counted(reduced.attempts, "attempt")
        ))
    })?;
    Ok(Exit::Done)
}
