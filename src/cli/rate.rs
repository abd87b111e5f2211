use super::judge_inputs::JudgeInputs;
use super::report::fail;
use super::{Exit, Failure, Format, print};
use mcc_judge::rate::{combine_field, rate};
use mcc_report::write_rating;
use std::path::PathBuf;

/// Rate an author's runs within a published field.
///
/// Judges the runs together with the published answers of a contest; they replace the published runs of the same entry.
/// Shows, for each examination, right, wrong and missed values (another entry has them right), values that no other tool
/// has right, and the points; the place and medal that the entry would have in each category; and, with --baseline, the
/// values that became right (gains) or are no longer right (regressions).
#[derive(clap::Args)]
pub struct Args {
    /// The author's runs: the folder of a record (RESULTS), an archive, a table of answers, or a folder of BenchKit's
    /// results.
    #[arg(value_name = "RUNS")]
    runs: PathBuf,
    /// The published answers of the contest: a table, a record or an archive.
    #[arg(long, value_name = "ANSWERS")]
    published: PathBuf,
    /// Earlier runs of the same entries, to compare with: a record, an archive or a table of answers.
    #[arg(long, value_name = "OLD")]
    baseline: Option<PathBuf>,
    #[command(flatten)]
    inputs: JudgeInputs,
    /// Write a page and its files (rating.json, values.csv) to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let mut paths = vec![args.runs.clone(), args.published.clone()];
    paths.extend(args.baseline.clone());
    let (edition, sources) = args.inputs.sources(&paths)?;
    let mut sources = sources.into_iter();
    let (Some(own), Some(published)) = (sources.next(), sources.next()) else {
        return Err(Failure::usage(anyhow::anyhow!("give RUNS and --published")));
    };
    let combined = combine_field(&edition, own, published, sources.next());
    let (ballots, rated) = combined.map_err(Failure::usage)?;
    let (edition, ballots) = args.inputs.complete(edition, ballots)?;
    let rating = rate(&edition, ballots, &rated).map_err(Failure::usage)?;
    for note in &rating.notes {
        super::terminal::note(note);
    }
    if let Some(out) = &args.out {
        write_rating(&rating, out).map_err(fail)?;
        super::terminal::note(&format!("the rating is in {}", super::terminal::argument(out)));
    }
    print::result(args.format, &rating, || print::text(&rating.to_string()))?;
    Ok(Exit::Done)
}
