use super::{Exit, Failure, Format, print};
use crate::judge::explain::explain;
use crate::judge::judgement::Judgement;
use crate::judge::sister;
use anyhow::anyhow;
use std::path::PathBuf;

/// Why a value is trusted and who got what.
///
/// Shows who said what with which confidence, the rule that decided (E-3.1) and the points of each.
#[derive(clap::Args)]
pub struct Args {
    /// The folder `judge --out` wrote.
    dir: PathBuf,
    /// The instance, such as TokenRing-PT-005 (SV-COMP: the task; CRV: the benchmark).
    #[arg(long, value_name = "NAME")]
    instance: String,
    /// The examination, such as UpperBounds (SV-COMP: the category; CRV: the track).
    #[arg(long, value_name = "NAME")]
    examination: String,
    /// The position, counted from 00 [default: all].
    #[arg(long, value_name = "N")]
    position: Option<usize>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    if let Some(judgement) = sister::Judgement::read(&args.dir).map_err(Failure::usage)? {
        if args.position.is_some() {
            return Err(Failure::usage(anyhow!(
                "--position is for judgements of the MCC; a task has one verdict"
            )));
        }
        let told = sister::explain(&judgement, &args.instance, &args.examination).map_err(Failure::usage)?;
        return show(args.format, &told);
    }
    let judgement = Judgement::read(&args.dir).map_err(Failure::usage)?;
    let explanation =
        explain(&judgement, &args.instance, &args.examination, args.position).map_err(Failure::usage)?;
    show(args.format, &explanation)
}

fn show(format: Format, explanation: &(impl ToString + serde::Serialize)) -> Result<Exit, Failure> {
    match format {
        Format::Text => print::text(&explanation.to_string())?,
        Format::Json => print::raw(&format!("{:#}\n", serde_json::to_value(explanation)?))?,
    }
    Ok(Exit::Done)
}
