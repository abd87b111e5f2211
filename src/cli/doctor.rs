use super::{Exit, Failure, Format, print};
use mcc_edition::Edition;
use mcc_executor::doctor::{HostRequirements, Report, State};
use mcc_host::Policy;
use std::path::PathBuf;

/// Can this machine run a campaign, and what would be degraded.
///
/// Exit code 0: it can run a contest campaign, or a degraded one with --allow-degraded; 69: it can't.
#[derive(clap::Args)]
pub struct Args {
    /// The edition whose machine this host has to offer: a name or the path of a file.
    #[arg(long, value_name = "NAME|FILE", default_value = "mcc-2018")]
    edition: String,
    /// The folder where results are going to be written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// End with exit code 0 also where campaigns run only degraded.
    #[arg(long)]
    allow_degraded: bool,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let edition = Edition::load(&args.edition).map_err(Failure::usage)?;
    if !args.dir.is_dir() {
        return Err(Failure::usage(anyhow::anyhow!("--dir {}: no such folder", args.dir.display())));
    }
    let report = Report::of_this_host(&HostRequirements { machine: edition.machine, folder: args.dir })?;
    match args.format {
        Format::Json => print::raw(&format!("{}\n", serde_json::to_string_pretty(&report)?))?,
        Format::Text => print::text(&as_text(&report))?,
    }
    let policy = if args.allow_degraded { Policy::AllowDegraded } else { Policy::Contest };
    Ok(if report.allows(policy) { Exit::Done } else { Exit::HostCannot })
}

fn as_text(report: &Report) -> String {
    let mut out = String::new();
    for check in &report.checks {
        let state = match check.state {
            State::Ok => "ok",
            State::Degraded => "degraded",
            State::Missing => "missing",
        };
        out += &format!("{state:<9} {:<11} {}\n", check.name, check.found);
        if !check.remedy.is_empty() {
            out += &format!("{:<9} {:<11} remedy: {}\n", "", "", check.remedy);
        }
    }
    out + &format!("verdict: {}\n", report.sentence())
}
