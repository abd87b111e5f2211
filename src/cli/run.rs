use super::{Exit, Failure, print, progress};
use crate::runner::{CampaignOptions, CampaignRunner, Host, PreparedCampaign, history_of, rerun};
use mcc_campaign::{Campaign, Run, RunFilter, Start};
use mcc_store::{CampaignFacts, Record};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Run or resume a campaign.
///
/// Every run gets a fresh machine and ends in exactly one record in RESULTS. Interrupted or killed, the same
/// command goes on where it was. Ctrl-C once lets the running runs end, twice stops at once.
#[derive(clap::Args)]
pub struct Args {
    /// The campaign's file, campaign.toml; docs/campaign.md explains every key.
    campaign: PathBuf,
    /// Folder of the record.
    #[arg(long, value_name = "RESULTS")]
    out: PathBuf,
    /// Runs at once [default: as many as cores and memory allow, or what the campaign says].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<u32>>,
    /// Only the runs whose id (ENTRY/INSTANCE/EXAMINATION) fits this glob.
    #[arg(long, value_name = "GLOB")]
    only: Option<String>,
    /// Try runs once more that are recorded as `infrastructure`.
    #[arg(long, value_name = "OUTCOME", value_parser = ["infrastructure"])]
    retry: Option<String>,
    /// Make recorded runs of one tool in one examination anew: what they recorded is kept and shown, their new
    /// last attempt is judged.
    #[arg(long, requires_all = ["tool", "examination", "reason"])]
    rerun: bool,
    /// With --rerun: the entry, or the tool with all its variants.
    #[arg(long, value_name = "T", requires = "rerun")]
    tool: Option<String>,
    /// With --rerun: the examination.
    #[arg(long, value_name = "X", requires = "rerun")]
    examination: Option<String>,
    /// With --rerun: why, as it is shown beside the superseded attempts.
    #[arg(long, value_name = "R", requires = "rerun")]
    reason: Option<String>,
    /// Records of earlier campaigns: how long runs took there decides which begin first, and when all will be done.
    #[arg(long, value_name = "RESULTS")]
    history: Vec<PathBuf>,
    /// Run although this host cannot honour the contest's machine (no KVM, too few cores, too little memory);
    /// every such run is marked.
    #[arg(long)]
    allow_degraded: bool,
    /// Pack instances although their archives have errors.
    #[arg(long, alias = "accept")]
    accept_errors: bool,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let campaign = Campaign::load(&args.campaign).map_err(Failure::usage)?;
    let filter = args.only.as_deref().map(RunFilter::new).transpose().map_err(Failure::usage)?;
    let prepared = PreparedCampaign::new(campaign)?;
    let PreparedCampaign { campaign, edition, plan, .. } = &prepared;
    let host = Host::prepare(campaign.hosts.backend, args.allow_degraded)?;
    // Machines die with their controller (PR_SET_PDEATHSIG), so there is none to end here.
    let open = |dir: &Path, facts: &CampaignFacts| Record::create_or_open(dir, facts, |_| {});
    let (record, disks) = prepared.record(&args.out, args.accept_errors, open, &print::inputs)?;
    if args.retry.is_some() {
        let reopened = record.reopen_infrastructure()?;
        eprintln!("run: {reopened} runs recorded as infrastructure are tried once more");
    }
    if let (Some(tool), Some(examination), Some(reason)) = (&args.tool, &args.examination, &args.reason) {
        let reopened = rerun(&record, tool, examination, reason)?;
        eprintln!("run: {reopened} recorded runs of {tool} in {examination} are made anew: {reason}");
    }
    let options = CampaignOptions {
        record: &record,
        edition,
        hosts: &campaign.hosts,
        restore: campaign.start == Start::Restore,
        disks,
        file: &args.campaign,
        jobs: args.jobs.or(campaign.hosts.jobs).map(|jobs| jobs.get() as usize),
        max_vcpus: plan.max_vcpus(),
        marks: vec![],
        history: history_of(&args.history)?,
        stop: &*stop_on_signal()?,
    };
    let wanted = |run: &Run| filter.as_ref().is_none_or(|filter| filter.matches(&run.id()));
    Ok(progress::watch(CampaignRunner::new(&host, options)?, &wanted)?.into())
}

/// Set by the first Ctrl-C (or SIGTERM); the second one ends the controller, and its machines with it.
pub(super) fn stop_on_signal() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // In this order: a signal first looks whether one came before, then leaves its own mark.
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.clone())?;
        signal_hook::flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}
