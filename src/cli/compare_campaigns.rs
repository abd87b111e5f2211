use super::judge_inputs::JudgeInputs;
use super::terminal::note;
use super::{Exit, Failure, Format, print};
use mcc_edition::Votes;
use mcc_judge::campaigns::PairedCampaigns;
use std::path::PathBuf;

/// Compare the values that tools solved in two campaigns: lost and gained ones, and whether the difference is significant.
///
/// A and B are records, archives or published tables. Entries of the same name are compared on the runs that both campaigns have.
/// For each examination and family it shows the values that each solved, the wrong ones, the lost and the gained ones, whether
/// the difference is significant by an exact test, and which difference the test could have found (docs/authors.md).
/// To list the differences between two judgements, use `judge --compare`. To run two images and compare their answers,
/// instructions, times and memory, use `compare-runs`.
///
/// Both are judged together; the two versions of a tool have one vote, unless --votes is given.
#[derive(clap::Args)]
pub struct Args {
    /// The first campaign, such as that before a change: a record, an archive, a table of answers or a folder of BenchKit's
    /// results.
    a: PathBuf,
    /// The second campaign.
    b: PathBuf,
    /// Compare the entry A of the first with the entry B of the second campaign. May be repeated; then only these are compared.
    #[arg(long = "tool", value_name = "A=B", value_parser = pair)]
    tools: Vec<(String, String)>,
    /// Also print the power of the test: the probability that it finds a change that loses LOST % and gains GAINED % of the
    /// runs, such as 0.5,2.
    #[arg(long, value_name = "LOST,GAINED", value_parser = rates)]
    rates: Option<(f64, f64)>,
    #[command(flatten)]
    inputs: JudgeInputs,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let names = text.split_once('=').filter(|(a, b)| !a.is_empty() && !b.is_empty());
    let (a, b) = names.ok_or("expected A=B, such as LoLA=LoLA-new")?;
    Ok((a.to_owned(), b.to_owned()))
}

fn rates(text: &str) -> Result<(f64, f64), String> {
    let percent =
        |text: &str| text.trim().parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
    let parsed = text.split_once(',').and_then(|(lost, gained)| Some((percent(lost)?, percent(gained)?)));
    let (lost, gained) = parsed
        .filter(|(lost, gained)| lost + gained <= 100.0)
        .ok_or("expected two percentages whose sum is at most 100, such as 0.5,2")?;
    Ok((lost / 100.0, gained / 100.0))
}

pub fn run(mut args: Args) -> Result<Exit, Failure> {
    args.inputs.failure_classes = true;
    let (mut edition, sources) = args.inputs.sources(&[args.a.clone(), args.b.clone()])?;
    edition.judging.votes = Votes::PerTool;
    let Ok([a, mut b]) = <[_; 2]>::try_from(sources) else {
        return Err(Failure::usage(anyhow::anyhow!("give two campaigns")));
    };
    // The facts of --tools name the entries of B before they have other names than those of A.
    (_, b.results) = args.inputs.complete(edition.clone(), b.results)?;
    let mut paired = PairedCampaigns::combine(&edition, a, b, &args.tools).map_err(Failure::usage)?;
    (edition, paired.results) = args.inputs.complete(edition, paired.results)?;
    let comparison = paired.compare(&edition, args.rates).map_err(Failure::usage)?;
    comparison.notes.iter().for_each(|text| note(text));
    for entry in comparison.entries.iter().filter(|entry| entry.agreement.is_doubtful()) {
        note(&format!(
            "only {} that both {} (A) and {} (B) gave are equal; check that both ran on the formulas of one year",
            entry.agreement, entry.a, entry.b
        ));
    }
    print::result(args.format, &comparison, || print::text(&comparison.to_string()))?;
    Ok(Exit::Done)
}
