use super::{Exit, Failure, print};
use crate::judge::judgement::Judgement;
use crate::judge::sister;
use crate::report::{self, ReportError};
use crate::store::Record;
use std::path::PathBuf;

/// Write the static site of a judgement.
///
/// Podiums, the campaign's facts, a table per examination and, with --record, a page per run with its output.
/// Opens from a file; no server is needed.
#[derive(clap::Args)]
pub struct Args {
    /// The folder that `judge --out` wrote.
    #[arg(value_name = "DIR")]
    judgement: PathBuf,
    /// Where the site goes; an older site there is replaced, anything else refused.
    #[arg(long, value_name = "SITE")]
    out: PathBuf,
    /// The record that was judged: adds a page per run with its output.
    #[arg(long, value_name = "RESULTS")]
    record: Option<PathBuf>,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let fail = |error: ReportError| if error.is_bad_input() { Failure::usage(error) } else { error.into() };
    if let Some(judgement) = sister::Judgement::read(&args.judgement).map_err(Failure::usage)? {
        if args.record.is_some() {
            return Err(Failure::usage(anyhow::anyhow!("--record is for judgements of the MCC")));
        }
        let pages = report::write_sister_site(&judgement, &args.judgement, &args.out).map_err(fail)?;
        print::text(&format!("{}: {pages} category pages\n", args.out.join("index.html").display()))?;
        return Ok(Exit::Done);
    }
    let judgement = Judgement::read(&args.judgement).map_err(Failure::usage)?;
    let record = match &args.record {
        Some(dir) => Some(Record::open_readonly(dir).map_err(|error| fail(error.into()))?),
        None => None,
    };
    let written =
        report::write_site(&judgement, Some(&args.judgement), record.as_ref(), &args.out).map_err(fail)?;
    print::text(&format!(
        "{}: {} examination pages, {} run pages\n",
        args.out.join("index.html").display(),
        written.examination_pages,
        written.run_pages
    ))?;
    Ok(Exit::Done)
}
