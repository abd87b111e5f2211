use super::terminal::{ERROR, GOOD, HEADING, Page, WARNING};
use super::{Exit, Failure, Format, accept, measure, print};
use mcc_edition::Edition;
use mcc_runner::doctor::{AuthorStep, CheckState, HostReport, HostRequirements};
use mcc_vm::host::Policy;
use std::path::PathBuf;

/// Check whether this host can run a campaign, and which requirements of the contest it does not meet.
///
/// Exit code 0: the host can run a campaign under contest conditions, or, with --allow-degraded, a campaign whose runs
/// are marked as degraded. Exit code 69: it cannot. With --measure, exit code 1: a measured value is not fit for a contest.
/// With --accept, exit code 1: a run is missing or failed, or QEMU was not confined. With --author, exit code 69: a step lacks
/// something.
#[derive(clap::Args)]
pub struct Args {
    /// The edition whose machine requirements are checked: its name, or the path of an edition file.
    #[arg(long, value_name = "NAME|FILE", default_value = "mcc-2018")]
    edition: String,
    /// The folder in which the record will be written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Exit with 0 also if the host can run only degraded campaigns.
    #[arg(long)]
    allow_degraded: bool,
    /// Show what this computer lacks for each step of a tool's author.
    #[arg(long, conflicts_with_all = ["accept", "measure"])]
    author: bool,
    /// Check and measure this host, run the small campaign of --campaign, and write all results to this file, to send it to the
    /// maintainers. The measurement uses the image of the first [[tool]] of the campaign.
    #[arg(long, value_name = "FILE", conflicts_with = "measure")]
    accept: Option<PathBuf>,
    /// With --accept: the campaign.
    #[arg(long, value_name = "CAMPAIGN", requires = "accept", conflicts_with_all = ["author", "measure"],
        default_value = "demo/campaign.toml")]
    campaign: PathBuf,
    #[command(flatten)]
    measurement: measure::Args,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let edition = Edition::load(&args.edition).map_err(Failure::usage)?;
    if !args.dir.is_dir() {
        return Err(Failure::usage(anyhow::anyhow!("--dir {}: no such folder", args.dir.display())));
    }
    if let Some(image) = args.measurement.image() {
        return args.measurement.run(image, &edition, args.allow_degraded, args.format);
    }
    let requirements = HostRequirements { machine: edition.machine, folder: args.dir.clone() };
    let report = HostReport::of_this_host(&requirements)?;
    if let Some(out) = &args.accept {
        if !args.campaign.exists() {
            return Err(Failure::usage(anyhow::anyhow!(
                "--campaign {}: no such file; give the campaign that --accept runs",
                args.campaign.display()
            )));
        }
        return accept::run(out, &args.campaign, &args.dir, report, args.allow_degraded);
    }
    if args.author {
        let steps = report.author_steps(nix::unistd::geteuid().is_root());
        print::result(args.format, &steps, || author_page(&steps).print())?;
        return Ok(if steps.iter().all(|step| step.missing.is_empty()) {
            Exit::Done
        } else {
            Exit::HostCannot
        });
    }
    print::result(args.format, &report, || page(&report).print())?;
    let policy = if args.allow_degraded { Policy::AllowDegraded } else { Policy::Contest };
    Ok(if report.allows(policy) { Exit::Done } else { Exit::HostCannot })
}

fn author_page(steps: &[AuthorStep]) -> Page {
    let mut page = Page::new();
    for AuthorStep { command, missing, degraded } in steps {
        let (state, style) = match (&missing[..], &degraded[..]) {
            ([], []) => ("ok", GOOD),
            ([], _) => ("degraded", WARNING),
            _ => ("missing", ERROR),
        };
        page.item(0, &format!("{state:<9}"), style, command);
        missing.iter().for_each(|missing| page.item(10, "missing:", HEADING, missing));
        if missing.is_empty() && !degraded.is_empty() {
            page.item(10, "needs --allow-degraded:", HEADING, &degraded.join(", "));
        }
    }
    page
}

fn page(report: &HostReport) -> Page {
    let mut page = Page::new();
    for check in &report.checks {
        let (state, style) = match check.state {
            CheckState::Ok => ("ok", GOOD),
            CheckState::Degraded => ("degraded", WARNING),
            CheckState::Missing => ("missing", ERROR),
        };
        page.item(0, &format!("{state:<9}"), style, &format!("{:<11} {}", check.name, check.found));
        if !check.remedy.is_empty() {
            page.item(10, "remedy:", HEADING, &check.remedy);
        }
    }
    page.item(0, "verdict:", HEADING, &report.sentence());
    page
}
