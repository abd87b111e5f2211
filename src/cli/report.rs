use super::{Exit, Failure};
use crate::report::{self, ReportError};
use std::path::PathBuf;

/// Write the static site of a judgement.
#[derive(clap::Args)]
pub struct Args {
    /// The folder that `judge --out` wrote
    #[arg(value_name = "DIR")]
    judgement: PathBuf,
    /// Where the site goes; an older site there is replaced, anything else refused
    #[arg(long, value_name = "SITE")]
    out: PathBuf,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let fail = |error: ReportError| if error.is_bad_input() { Failure::usage(error) } else { error.into() };
    let judgement = report::read_judgement(&args.judgement).map_err(fail)?;
    let written = report::write_site(&judgement, Some(&args.judgement), None, &args.out).map_err(fail)?;
    println!(
        "{}: {} examination pages, {} run pages",
        args.out.join("index.html").display(),
        written.examination_pages,
        written.run_pages
    );
    Ok(Exit::Done)
}
