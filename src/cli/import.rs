use super::{Exit, Failure, print};
use anyhow::Context;
use mcc_benchkit::JobFile;
use mcc_campaign::CampaignFromJobFile;
use mcc_edition::Edition;
use std::path::PathBuf;

/// Make a campaign of a BenchKit job file (.bkjobs).
///
/// Its tools, images, instances, examinations and confinements become a campaign.toml. The other files of BenchKit
/// need no import: `judge` and `export` read raw-result-analysis.csv and a folder of results as they are.
#[derive(clap::Args)]
pub struct Args {
    /// The job file.
    jobs: PathBuf,
    /// The rules: the name of an edition, or the path of an edition file.
    #[arg(long, value_name = "NAME|FILE")]
    edition: String,
    /// Folder of the instance archives, or an inputs disk, as the campaign will name it.
    #[arg(long, value_name = "FOLDER")]
    inputs: PathBuf,
    /// The campaign's file; one that is there is replaced.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let rules = Edition::load(&args.edition).map_err(Failure::usage)?;
    let shown = args.jobs.display().to_string();
    let text = mcc_base::text::read(&args.jobs).with_context(|| shown.clone()).map_err(Failure::usage)?;
    let file = JobFile::read(&text).with_context(|| shown.clone()).map_err(Failure::usage)?;
    let made = CampaignFromJobFile::new(&file, &args.edition, &rules, &args.inputs)
        .context(shown)
        .map_err(Failure::usage)?;
    print::file(&args.out, &made.text).with_context(|| format!("cannot write {}", args.out.display()))?;
    print::text(&format!("{}: {} runs\n", args.out.display(), file.jobs.len() + made.added.len()))?;
    if !made.added.is_empty() {
        let more = made.added.len();
        eprintln!(
            "note: a campaign runs every tool on every instance; {more} of its runs are not in the job file:"
        );
        for run in made.added.iter().take(10) {
            eprintln!("  {}", print::escaped(run));
        }
    }
    Ok(Exit::Done)
}
