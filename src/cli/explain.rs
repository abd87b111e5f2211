use super::{Exit, Failure, Format, print};
use crate::judge::explain::explain;
use crate::judge::judgement::Judgement;
use std::path::PathBuf;

/// Why a value is trusted and who got what.
///
/// Shows who said what with which confidence, the rule that decided (E-3.1) and the points of each.
#[derive(clap::Args)]
pub struct Args {
    /// The folder `judge --out` wrote.
    dir: PathBuf,
    /// The instance, such as TokenRing-PT-005.
    #[arg(long, value_name = "NAME")]
    instance: String,
    /// The examination, such as UpperBounds.
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
    let judgement = Judgement::read(&args.dir).map_err(Failure::usage)?;
    let explanation =
        explain(&judgement, &args.instance, &args.examination, args.position).map_err(Failure::usage)?;
    match args.format {
        Format::Text => print::text(&explanation.to_string())?,
        Format::Json => print::raw(&format!("{:#}\n", serde_json::to_value(&explanation)?))?,
    }
    Ok(Exit::Done)
}
