use super::{Exit, Failure, Format, print};
use crate::campaign::{Campaign, CampaignError, Override, Plan, Run, RunFilter};
use crate::edition::Edition;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::PathBuf;

/// The runs of a campaign, their order, worst-case duration.
#[derive(clap::Args)]
pub struct Args {
    /// The campaign's file, campaign.toml; docs/campaign.md explains every key.
    campaign: PathBuf,
    /// Only the runs whose id (ENTRY/INSTANCE/EXAMINATION) fits; `*` also stands for `/`.
    #[arg(long, value_name = "GLOB")]
    only: Option<String>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What is printed.
#[derive(Serialize)]
struct Shown {
    edition: String,
    /// Settings of the edition that the contest never published, and what stands there.
    unknown: BTreeMap<String, String>,
    /// The limits that the campaign changes.
    overrides: Vec<Override>,
    jobs: u32,
    longest_run_s: u64,
    worst_case_s: u64,
    runs: Vec<ShownRun>,
}

#[derive(Serialize)]
struct ShownRun {
    id: String,
    #[serde(flatten)]
    run: Run,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let shown = shown(&args)?;
    match args.format {
        Format::Json => print::raw(&format!("{}\n", serde_json::to_string_pretty(&shown)?))?,
        Format::Text => print::text(&as_text(&shown)?)?,
    }
    Ok(Exit::Done)
}

fn shown(args: &Args) -> Result<Shown, Failure> {
    let campaign = Campaign::load(&args.campaign).map_err(Failure::usage)?;
    let edition = Edition::load(&campaign.edition).map_err(Failure::usage)?;
    let effective = campaign.effective(&edition);
    let plan = || -> Result<Plan, CampaignError> {
        let filter = args.only.as_deref().map(RunFilter::new).transpose()?;
        let instances = campaign.instance_facts(&effective, |_| {})?;
        let plan = Plan::new(&campaign, &effective, &instances)?;
        match filter {
            Some(filter) => plan.only(&filter),
            None => Ok(plan),
        }
    };
    let plan = plan().map_err(Failure::usage)?;
    Ok(Shown {
        overrides: campaign.overrides(&edition),
        jobs: plan.jobs,
        longest_run_s: plan.longest_run_s,
        worst_case_s: plan.worst_case_s(),
        runs: plan.runs.into_iter().map(|run| ShownRun { id: run.id(), run }).collect(),
        edition: edition.name,
        unknown: edition.unknown,
    })
}

fn as_text(plan: &Shown) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let mut model = None;
    for run in &plan.runs {
        if model != Some(&run.run.model) {
            writeln!(out, "model {}", run.run.model)?;
            model = Some(&run.run.model);
        }
        let machine = match (run.run.competes, run.run.vcpus) {
            (false, _) => "does not compete: no machine".to_owned(),
            (true, 1) => "1 vCPU".to_owned(),
            (true, vcpus) => format!("{vcpus} vCPUs"),
        };
        writeln!(out, "  {:<60} {machine}", run.id)?;
    }
    let machines = plan.runs.iter().filter(|run| run.run.competes).count();
    writeln!(out, "edition {}", plan.edition)?;
    for (key, why) in &plan.unknown {
        writeln!(out, "unknown {key}: {why}")?;
    }
    for change in &plan.overrides {
        writeln!(out, "override {}: {} (edition: {})", change.limit, change.campaign, change.edition)?;
    }
    writeln!(out, "{} runs, {machines} of them in a machine", plan.runs.len())?;
    writeln!(
        out,
        "worst case {} at {} at once: every run boots and computes to its limits ({} s), no retries",
        hours(plan.worst_case_s),
        plan.jobs,
        plan.longest_run_s
    )?;
    Ok(out)
}

/// `1 d 02:03:04`
fn hours(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60);
    let clock = format!("{hours:02}:{minutes:02}:{:02}", seconds % 60);
    if days == 0 { clock } else { format!("{days} d {clock}") }
}
