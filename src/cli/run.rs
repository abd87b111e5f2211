use super::import::refuse_no_campaign;
use super::terminal::{self, argument, next};
use super::{Exit, Failure, print, progress};
use mcc_campaign::{Campaign, Run, RunFilter};
use mcc_runner::{
    CampaignEnd, CampaignRunner, Host, PreparedCampaign, RunSettings, history_of, release, rerun,
};
use mcc_store::Record;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Run or resume a campaign.
///
/// Every run has a new virtual machine and is recorded exactly once in RESULTS. After an interruption the same command
/// continues the campaign. The first Ctrl-C stops the campaign after the running runs, the second stops it immediately.
#[derive(clap::Args)]
pub struct Args {
    /// The campaign file, campaign.toml; docs/campaign.md explains every key.
    campaign: PathBuf,
    /// Folder of the record (results and outputs of the runs); created if missing.
    #[arg(long, value_name = "RESULTS")]
    out: PathBuf,
    /// Largest number of simultaneous runs [default: `jobs` of the campaign, or as many as cores and memory allow].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<u32>>,
    /// Only the runs whose id (ENTRY/INSTANCE/EXAMINATION) matches this glob.
    #[arg(long, value_name = "GLOB")]
    only: Option<String>,
    /// Repeat runs that are recorded as `infrastructure` (a failure of the host or of mcc-harness).
    #[arg(long, value_name = "OUTCOME", value_parser = ["infrastructure"])]
    retry: Option<String>,
    /// Repeat recorded runs of one tool in one examination. The earlier attempts are kept and shown; the last attempt
    /// is judged. Open runs are executed too.
    #[arg(long, requires_all = ["tool", "examination", "reason"])]
    rerun: bool,
    /// With --rerun: the name of an entry, or of a tool with all its variants.
    #[arg(long, value_name = "T", requires = "rerun")]
    tool: Option<String>,
    /// With --rerun: the examination, such as UpperBounds.
    #[arg(long, value_name = "X", requires = "rerun")]
    examination: Option<String>,
    /// With --rerun: the reason that is shown with the superseded attempts.
    #[arg(long, value_name = "R", requires = "rerun")]
    reason: Option<String>,
    /// Run the open runs of a held entry, or of all entries of a tool. An entry is held if one of its test runs at the start of
    /// the campaign (canaries) failed, or if many of its runs in a row ended alike: quickly, without an answer, and with the
    /// same last line. A released entry is not held again.
    #[arg(long, value_name = "ENTRY|TOOL")]
    release: Vec<String>,
    /// Records of earlier campaigns. The durations in them are used to order the runs and to estimate the remaining time.
    #[arg(long, value_name = "RESULTS")]
    history: Vec<PathBuf>,
    /// Run although this host does not meet the contest's machine requirements (such as KVM, cores, memory, governor); every such run is
    /// marked.
    #[arg(long)]
    allow_degraded: bool,
    /// Pack instances even if their archives have errors.
    #[arg(long, alias = "accept")]
    accept_errors: bool,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    refuse_no_campaign(&args.campaign)?;
    let campaign = Campaign::load(&args.campaign).map_err(Failure::usage)?;
    let history = history_of(&args.history)?;
    let filter = args.only.as_deref().map(RunFilter::new).transpose().map_err(Failure::usage)?;
    let prepared = PreparedCampaign::new(campaign)?;
    let PreparedCampaign { campaign, edition, .. } = &prepared;
    let host = Host::prepare(campaign.hosts.backend, args.allow_degraded)?;
    // Machines end with their controller (PR_SET_PDEATHSIG), so an earlier controller left none. One that prevented that is
    // killed with its cgroup before a machine starts.
    let (record, disks) =
        prepared.record(&args.out, args.accept_errors, Record::create_or_open, &print::inputs)?;
    // Before runs are repeated, which cannot be undone: a wrong name is an error.
    for tool in &args.release {
        if release(&record, tool)? == 0 {
            return Err(no_entry(campaign, tool));
        }
    }
    if args.retry.is_some() {
        let reopened = record.reopen_infrastructure()?;
        stderr_line!("run: runs recorded as `infrastructure` that are repeated now: {reopened}");
    }
    if let (Some(tool), Some(examination), Some(reason)) = (&args.tool, &args.examination, &args.reason) {
        let reopened = rerun(&record, edition, tool, examination, reason)?;
        stderr_line!(
            "run: recorded runs of {tool} in {examination} that are repeated now: {reopened}; reason: {}",
            print::escaped(reason)
        );
    }
    let stop = stop_on_signal()?;
    let settings = RunSettings {
        jobs: args.jobs.or(campaign.hosts.jobs).map(|jobs| jobs.get() as usize),
        history,
        ..prepared.settings(&host, (&record, disks), &stop)
    };
    let wanted = |run: &Run| filter.as_ref().is_none_or(|filter| filter.matches(&run.id()));
    let runner = CampaignRunner::new(settings)?;
    if let [first, ..] = &runner.other_hosts[..] {
        terminal::warning(&format!(
            "runs of this record were made on another host ({first}): times and memory of a model whose runs used \
             several hosts are not compared (E-5.1)"
        ));
    }
    let end = progress::watch(runner, &wanted)?;
    let results = argument(&args.out);
    match end {
        CampaignEnd::Complete => next(&format!("mcc-harness judge {results} --out judged")),
        CampaignEnd::Infrastructure => next(&format!(
            "`mcc-harness status {results}` lists the infrastructure failures; the same command with --retry \
             infrastructure repeats them"
        )),
        CampaignEnd::Held => next(&format!(
            "`mcc-harness status {results}` lists what is held; the same command with --release ENTRY runs its open runs"
        )),
        CampaignEnd::Stopped if args.rerun => next("the same command without --rerun and its options"),
        CampaignEnd::Stopped => {}
    }
    Ok(end.into())
}

/// The error that the campaign has no entry or tool of this name.
pub(super) fn no_entry(campaign: &Campaign, tool: &str) -> Failure {
    let entries: Vec<&str> = campaign.tools.iter().map(|tool| tool.entry.as_str()).collect();
    Failure::usage(anyhow::anyhow!(
        "--release: the campaign has no entry or tool {tool}; its entries are {}",
        entries.join(", ")
    ))
}

/// Returns a flag that the first SIGINT or SIGTERM sets. The second signal ends the controller and its machines.
pub(super) fn stop_on_signal() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: a signal first checks the flag of an earlier signal, then sets it.
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.clone())?;
        signal_hook::flag::register(signal, stop.clone())?;
    }
    say_on_signal(
        &[SIGINT, SIGTERM],
        "`run` stops when the current runs have ended; a second signal ends them at once",
    )?;
    Ok(stop)
}

/// Prints `what` at the first of these signals: a log shows why the campaign ends.
pub(super) fn say_on_signal(signals: &[i32], what: &'static str) -> Result<(), Failure> {
    let mut signals = signal_hook::iterator::Signals::new(signals)?;
    let say = move || {
        if let Some(signal) = signals.forever().next() {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
            stderr_line!("mcc-harness: {name}: {what}");
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(say)?;
    Ok(())
}
