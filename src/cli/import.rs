use super::outputs::refuse_inputs;
use super::terminal::{argument, next};
use super::{Exit, Failure, print};
use anyhow::Context;
use mcc_campaign::CampaignFromJobFile;
use mcc_campaign::benchkit::JobFile;
use mcc_edition::Edition;
use std::path::PathBuf;

/// Convert a BenchKit job file (.bkjobs) to a campaign.
///
/// Tools, images, instances, examinations and limits of the job file are written to a campaign.toml. BenchKit's other
/// files need no import: `judge` and `export` read raw-result-analysis.csv and a folder of results directly.
#[derive(clap::Args)]
pub struct Args {
    /// The BenchKit job file.
    jobs: PathBuf,
    /// The rules: the name of an edition, or the path of an edition file.
    #[arg(long, value_name = "NAME|FILE")]
    edition: String,
    /// Folder of instance archives or an inputs disk, as written to the campaign.
    #[arg(long, value_name = "FOLDER")]
    inputs: PathBuf,
    /// The campaign file to write; an existing file is replaced.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    refuse_inputs(&[args.jobs.clone(), PathBuf::from(&args.edition)], [args.out.clone()])?;
    let rules = Edition::load(&args.edition).map_err(Failure::usage)?;
    let shown = args.jobs.display().to_string();
    let text = mcc_base::text::read(&args.jobs).with_context(|| shown.clone()).map_err(Failure::usage)?;
    let file = JobFile::read(&text).with_context(|| shown.clone()).map_err(Failure::usage)?;
    let converted = CampaignFromJobFile::new(&file, &args.edition, &rules, &args.inputs)
        .context(shown)
        .map_err(Failure::usage)?;
    print::file(&args.out, &converted.text)?;
    print::text(&format!("{} (runs: {})\n", args.out.display(), file.jobs.len() + converted.added.len()))?;
    next(&format!("`mcc-harness plan {}` shows the runs", argument(&args.out)));
    if !converted.added.is_empty() {
        let added = converted.added.len();
        eprintln!(
            "note: a campaign runs every tool on every instance; runs that the job file does not have: {added}"
        );
        for run in converted.added.iter().take(10) {
            eprintln!("  {}", print::escaped(run));
        }
    }
    Ok(Exit::Done)
}
