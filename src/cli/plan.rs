use super::import::refuse_no_campaign;
use super::terminal::{Page, WARNING, argument, next};
use super::{Exit, Failure, Format, print};
use mcc_base::names::{EntryName, RunId};
use mcc_campaign::{
    Campaign, CampaignError, Canaries, History, Override, Plan, RUNS_PER_CANARY, Run, RunFilter,
};
use mcc_edition::{Edition, unpublished};
use mcc_runner::{disk_limits, refused_images};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

/// Show the planned runs of a campaign, model by model, and the longest possible duration of the campaign.
#[derive(clap::Args)]
pub struct Args {
    /// The campaign file, campaign.toml; docs/campaign.md explains every key.
    campaign: PathBuf,
    /// Only the runs whose id (ENTRY/INSTANCE/EXAMINATION) matches this glob; `*` also matches `/`.
    #[arg(long, value_name = "GLOB")]
    only: Option<String>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The plan as it is printed. Runs are serialized one by one: there may be a million.
#[derive(Serialize)]
struct PlanReport {
    edition: String,
    /// Settings of the edition that the contest never published, by key, with the assumption that is used.
    unknown: BTreeMap<String, String>,
    /// The limits that the campaign changes.
    overrides: Vec<Override>,
    /// What `run` would refuse, and what makes the campaign longer than it looks.
    warnings: Vec<String>,
    /// Bytes that the writes of a run of each entry to its disk may take on the host; null: the free space of a disk that cannot
    /// be read yet, at most 16 GiB.
    disk_limits: BTreeMap<EntryName, Option<u64>>,
    /// Canaries with which the campaign begins.
    canaries: usize,
    /// Canaries that would be made if 2 % of the runs sufficed.
    canaries_wanted: usize,
    jobs: u32,
    longest_run_s: u64,
    worst_case_s: u64,
    #[serde(serialize_with = "runs")]
    runs: Plan,
}

#[derive(Serialize)]
struct PlannedRun {
    id: RunId,
    #[serde(flatten)]
    run: Run,
}

fn runs<S: serde::Serializer>(plan: &Plan, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(plan.runs().map(|run| PlannedRun { id: run.id(), run }))
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let report = plan_report(&args)?;
    let mut counts = (0, 0);
    print::stream(|out| match args.format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, &report)?;
            writeln!(out)
        }
        Format::Text => {
            counts = as_text(&report, out)?;
            Ok(())
        }
    })?;
    if args.format == Format::Text {
        let (all, machines) = counts;
        footer(&report, all, machines).print()?;
        let campaign = argument(&args.campaign);
        next(&format!("`mcc-harness run {campaign} --out RESULTS`, or on a cluster `mcc-harness submit`"));
    }
    Ok(Exit::Done)
}

fn plan_report(args: &Args) -> Result<PlanReport, Failure> {
    refuse_no_campaign(&args.campaign)?;
    let campaign = Campaign::load(&args.campaign).map_err(Failure::usage)?;
    let edition = Edition::load(&campaign.edition).map_err(Failure::usage)?;
    let effective = campaign.effective(&edition);
    let plan = || -> Result<Plan, CampaignError> {
        let filter = args.only.as_deref().map(RunFilter::new).transpose()?;
        let instances = campaign.instance_facts(&effective)?;
        let plan = Plan::new(&campaign, &effective, &instances)?;
        match filter {
            Some(filter) => plan.only(filter),
            None => Ok(plan),
        }
    };
    let plan = plan().map_err(Failure::usage)?;
    let overrides = campaign.overrides(&edition);
    // A plan can be made before the images are there.
    let refused = refused_images(&campaign).into_iter();
    let mut warnings: Vec<String> =
        refused.map(|(entry, reason)| format!("`run` would refuse the image of {entry}: {reason}")).collect();
    let changed = |limit: &str| overrides.iter().any(|change| change.limit == limit);
    let limits = &effective.limits;
    let is_far_below = limits.cpu_limit_s(1).is_some_and(|cpu_s| cpu_s <= limits.wall_limit_s() / 10);
    if (changed("cpu_s") || is_far_below) && !changed("wall_s") {
        warnings.push(format!(
            "cpu_s is {} s, but the longest possible duration follows from wall_s, which is still {} s; set wall_s too",
            limits.cpu_s, limits.wall_s
        ));
    }
    let history = History::default();
    let mut canaries = Canaries::new(&effective, &history);
    plan.runs().zip(0..).for_each(|(run, position)| canaries.consider(position, &run));
    let (wanted, affordable) = canaries.wanted(0);
    Ok(PlanReport {
        canaries: match campaign.hosts.canary {
            None => wanted.min(affordable),
            Some(true) => wanted,
            Some(false) => 0,
        },
        canaries_wanted: wanted,
        overrides,
        warnings,
        disk_limits: disk_limits(&campaign, &effective),
        jobs: plan.jobs,
        longest_run_s: plan.longest_run_s,
        worst_case_s: plan.worst_case_s(),
        runs: plan,
        edition: edition.name,
        unknown: edition.unknown,
    })
}

/// Writes the runs, and returns their number and that of the runs in a machine.
fn as_text(plan: &PlanReport, out: &mut dyn Write) -> io::Result<(u64, u64)> {
    let mut model = None;
    let (mut all, mut machines) = (0, 0);
    for run in plan.runs.runs() {
        if model.as_ref() != Some(&run.model) {
            writeln!(out, "model {}", print::escaped(&run.model))?;
            model = Some(run.model.clone());
        }
        all += 1;
        machines += u64::from(run.competes);
        let machine = match (run.competes, run.vcpus) {
            (false, _) => "does not compete: no machine".to_owned(),
            (true, 1) => "1 vCPU".to_owned(),
            (true, vcpus) => format!("{vcpus} vCPUs"),
        };
        writeln!(out, "  {:<60} {machine}", run.id())?;
    }
    Ok((all, machines))
}

/// The rules, the changed limits, and the number and duration of the runs.
fn footer(plan: &PlanReport, all: u64, machines: u64) -> Page {
    let mut page = Page::new();
    page.line(&format!("edition {}", plan.edition));
    for (key, why) in &plan.unknown {
        page.line(&unpublished(key, why));
    }
    for change in &plan.overrides {
        page.line(&format!("override {}: {} (edition: {})", change.limit, change.campaign, change.edition));
    }
    let mut by_limit: BTreeMap<Option<u64>, Vec<&str>> = BTreeMap::new();
    for (entry, limit) in &plan.disk_limits {
        by_limit.entry(*limit).or_default().push(entry);
    }
    for (limit, entries) in by_limit {
        let limit = limit.map_or("the free space of its disk, at most 16 GiB".to_owned(), |bytes| {
            format!("{} MiB", bytes >> 20)
        });
        page.line(&format!("disk limit of a run: {limit} ({})", entries.join(", ")));
    }
    page.line(&format!("runs: {all}; runs in a machine: {machines}"));
    page.line(&format!(
        "canaries (short test runs at the start): {}; one for each entry and category would be {}, but there is at most one \
         for each {RUNS_PER_CANARY} runs, unless `canary` in [hosts] is set",
        plan.canaries, plan.canaries_wanted
    ));
    page.line(&format!(
        "longest possible duration {} (runs at once: {}): every run takes {} s (wall limit and deadlines), without canaries \
         and repetitions",
        hours(plan.worst_case_s),
        plan.jobs,
        plan.longest_run_s
    ));
    for warning in &plan.warnings {
        page.item(0, "warning:", WARNING, warning);
    }
    page
}

/// `1 d 02:03:04`
fn hours(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60);
    let clock = format!("{hours:02}:{minutes:02}:{:02}", seconds % 60);
    if days == 0 { clock } else { format!("{days} d {clock}") }
}
