use super::{Exit, Failure, Format};
use crate::judge::explain::explain;
use crate::judge::judgement::Judgement;
use anyhow::Context;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;

/// Why a value is trusted and who got what.
#[derive(clap::Args)]
pub struct Args {
    /// The folder `judge --out` wrote.
    dir: PathBuf,
    #[arg(long)]
    instance: String,
    #[arg(long)]
    examination: String,
    /// From 00; all positions where it isn't given.
    #[arg(long)]
    position: Option<usize>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let judgement = read(&args.dir).map_err(Failure::usage)?;
    let explanation =
        explain(&judgement, &args.instance, &args.examination, args.position).map_err(Failure::usage)?;
    let text = match args.format {
        Format::Text => explanation.to_string(),
        Format::Json => format!("{:#}\n", serde_json::to_value(&explanation)?),
    };
    // Whoever reads may stop early: a broken pipe is no failure.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(Exit::Done)
}

fn read(dir: &std::path::Path) -> anyhow::Result<Judgement> {
    let path = dir.join("judgement.json");
    let file = File::open(&path).with_context(|| {
        format!("cannot read {}: `mcc-harness judge ... --out {}` makes it", path.display(), dir.display())
    })?;
    let judgement = serde_json::from_reader(BufReader::with_capacity(1 << 16, file));
    judgement.with_context(|| {
        format!(
            "{} is no judgement of this version ({}); judge again",
            path.display(),
            env!("CARGO_PKG_VERSION")
        )
    })
}
