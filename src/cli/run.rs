use super::conduct::{Conduct, Host, drain_on_ctrl_c, history_of, store_failure};
use super::disks::{Disks, inputs_disk, open_images};
use super::{Exit, Failure};
use anyhow::anyhow;
use mcc_campaign::{Campaign, Plan, Run, RunFilter};
use mcc_edition::Edition;
use mcc_store::{CampaignFacts, Record};
use std::num::NonZero;
use std::path::PathBuf;

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
    #[arg(long)]
    accept: bool,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let campaign = Campaign::load(&args.campaign).map_err(Failure::usage)?;
    let edition = campaign.effective(&Edition::load(&campaign.edition).map_err(Failure::usage)?);
    let filter = args.only.as_deref().map(RunFilter::new).transpose().map_err(Failure::usage)?;
    let facts = campaign.instance_facts(&edition, |_| {}).map_err(Failure::usage)?;
    let plan = Plan::new(&campaign, &edition, &facts).map_err(Failure::usage)?;
    let images = open_images(&campaign)?;
    let host = Host::prepare(campaign.hosts.backend, args.allow_degraded)?;
    let inputs = inputs_disk(&campaign, &edition, &facts, &args.out, args.accept)?;
    let disks = Disks::of(&campaign, &images, &inputs, None)?;
    let facts = CampaignFacts::new(&campaign, &edition, facts, disks.all())?;
    // Machines die with their controller (PR_SET_PDEATHSIG), so there is none to end here.
    let record = Record::create_or_open(&args.out, &facts, |_| {}).map_err(store_failure)?;
    record.plan_runs(plan.runs()).map_err(store_failure)?;
    if args.retry.is_some() {
        let reopened = record.reopen_infrastructure()?;
        eprintln!("run: {reopened} runs recorded as infrastructure are tried once more");
    }
    if let (Some(tool), Some(examination), Some(reason)) = (&args.tool, &args.examination, &args.reason) {
        let reopened = rerun(&record, tool, examination, reason)?;
        eprintln!("run: {reopened} recorded runs of {tool} in {examination} are made anew: {reason}");
    }
    let conduct = Conduct {
        record: &record,
        campaign: &campaign,
        edition: &edition,
        disks,
        jobs: args.jobs.or(campaign.hosts.jobs).map(|jobs| jobs.get() as usize),
        leases: host.leases(&args.campaign)?,
        widest: plan.most_vcpus(),
        marks: vec![],
        history: history_of(&args.history)?,
        drain: &*drain_on_ctrl_c()?,
    };
    host.conduct(conduct, &|run: &Run| filter.as_ref().is_none_or(|filter| filter.takes(&run.id())))
}

/// How many recorded runs were opened again; the reason is theirs, so an empty one, or no run, is refused.
fn rerun(record: &Record, tool: &str, examination: &str, reason: &str) -> Result<usize, Failure> {
    if reason.trim().is_empty() {
        return Err(Failure::usage(anyhow!("--reason is empty; it is shown beside what it supersedes")));
    }
    let entries = &record.facts().entries;
    let of_tool = |entry: &str| {
        entries
            .iter()
            .any(|facts| facts.entry == entry && [&facts.entry, &facts.tool].contains(&&tool.to_owned()))
    };
    let wanted = |run: &Run| run.competes && run.examination == examination && of_tool(&run.entry);
    match record.rerun(wanted, reason)?.len() {
        0 => Err(Failure::usage(anyhow!(
            "no run of {tool} in {examination} is recorded, so there is none to make anew; \
             `mcc-harness plan` lists the runs of a campaign"
        ))),
        reopened => Ok(reopened),
    }
}
