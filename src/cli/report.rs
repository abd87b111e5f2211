use super::{Exit, Failure, print};
use mcc_base::ordered_map::all_cores;
use mcc_judge::judgement::Judgement;
use mcc_judge::other_contests;
use mcc_report::{ReportError, SiteInput};
use mcc_store::Record;
use std::path::PathBuf;

/// Write the static site of a judgement.
///
/// The site has podiums, awards, tables of examinations and tools that can be filtered and sorted, all instances, runs
/// and values, disagreements and marked runs; with --record also outputs and measurements. It needs no web server.
#[derive(clap::Args)]
pub struct Args {
    /// The folder that `judge --out` wrote.
    #[arg(value_name = "DIR")]
    judgement: PathBuf,
    /// Folder for the site. An older site in it is replaced; any other content is an error.
    #[arg(long, value_name = "SITE")]
    out: PathBuf,
    /// The record that was judged; adds outputs, attempts, machines and measurements of runs.
    #[arg(long, value_name = "RESULTS")]
    record: Option<PathBuf>,
    /// Whether surprise models are left unnamed (M-6); `auto`: only while the record has open runs.
    #[arg(long, value_enum, default_value = "auto")]
    embargo: Embargo,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Embargo {
    Auto,
    On,
    Off,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let fail = |error: ReportError| if error.is_bad_input() { Failure::usage(error) } else { error.into() };
    if let Some(judgement) = other_contests::Judgement::read(&args.judgement).map_err(Failure::usage)? {
        if args.record.is_some() {
            return Err(Failure::usage(anyhow::anyhow!("--record is for judgements of the MCC")));
        }
        if matches!(args.embargo, Embargo::On) {
            return Err(Failure::usage(anyhow::anyhow!("--embargo is for judgements of the MCC")));
        }
        let pages = mcc_report::write_other_site(&judgement, &args.judgement, &args.out).map_err(fail)?;
        print::text(&format!("{}: category pages: {pages}\n", args.out.join("index.html").display()))?;
        return Ok(Exit::Done);
    }
    let judgement = Judgement::read(&args.judgement).map_err(Failure::usage)?;
    let record = match &args.record {
        Some(dir) => Some(Record::open_readonly(dir).map_err(|error| fail(error.into()))?),
        None => None,
    };
    let unfinished = |record: &Record| record.summary().map(|counts| counts.recorded < counts.planned);
    let embargo = match (args.embargo, &record) {
        (Embargo::On, _) => true,
        (Embargo::Auto, Some(record)) => unfinished(record).map_err(|error| fail(error.into()))?,
        (Embargo::Off, _) | (Embargo::Auto, None) => false,
    };
    let material = SiteInput { judgement_dir: Some(&args.judgement), record: record.as_ref(), embargo };
    let written = mcc_report::write_site(&judgement, material, all_cores(), &args.out).map_err(fail)?;
    let hidden = match written.hidden {
        0 => String::new(),
        hidden => format!("; instances of surprise models that are not named (embargo, M-6): {hidden}"),
    };
    print::text(&format!(
        "{}: examinations: {}; instances: {}; runs with outputs: {}{hidden}\n",
        args.out.join("index.html").display(),
        written.examination_pages,
        written.instances,
        written.runs
    ))?;
    Ok(Exit::Done)
}
