use super::{Exit, Failure, Format, print};
use anyhow::anyhow;
use clap::Subcommand;
use mcc_campaign::has_key;
use mcc_edition::{Edition, Rules, known, other_edition_names, unpublished};
use num_traits::Zero;
use serde::Serialize;
use serde_json::json;
use std::path::Path;

/// List the editions (the rules of each year), or show one.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the editions that are part of the program.
    List {
        /// How results are printed.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Show all settings of an edition, including those of its base, as a complete edition file.
    Show {
        /// The name of an edition, or the path of an edition file; editions/README.md explains every key.
        #[arg(value_name = "NAME|FILE")]
        edition: String,
        /// How results are printed.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    match args.command {
        Command::List { format } => list(format)?,
        Command::Show { edition, format } => match load(&edition)? {
            Rules::Mcc(edition) => show(&edition, format)?,
            Rules::Other(edition) => show(&edition, format)?,
        },
    }
    Ok(Exit::Done)
}

/// Loads an edition. A file with a key that only a campaign has is refused as such.
fn load(edition: &str) -> Result<Rules, Failure> {
    Rules::load(edition).map_err(|error| {
        let text = mcc_base::text::read(Path::new(edition)).unwrap_or_default();
        match ["edition", "inputs"].iter().find(|key| has_key(&text, key)) {
            Some(key) => Failure::usage(anyhow!(
                "{edition}: this looks like a campaign file (key `{key}`); give the file of an edition"
            )),
            None => Failure::usage(error),
        }
    })
}

fn show(edition: &impl Serialize, format: Format) -> Result<(), Failure> {
    print::result(format, edition, || print::text(&toml::to_string_pretty(edition)?))
}

fn list(format: Format) -> Result<(), Failure> {
    let editions = known().map(Edition::load).collect::<Result<Vec<_>, _>>()?;
    let mut others = Vec::new();
    for name in other_edition_names() {
        if let Rules::Other(edition) = Rules::load(name)? {
            others.push(edition);
        }
    }
    if format == Format::Json {
        let rows = editions.iter().map(|edition| {
            json!({
                "name": edition.name,
                "title": edition.title,
                "examinations": edition.examinations.len(),
                "podiums": edition.podiums.len(),
                "multipliers": multipliers(edition),
                "unknown": edition.unknown.keys().collect::<Vec<_>>(),
            })
        });
        let others = others.iter().map(|edition| {
            let unknown: Vec<&String> =
                edition.unknown().into_iter().flat_map(|unknown| unknown.keys()).collect();
            json!({ "name": edition.name(), "title": edition.title(), "unknown": unknown })
        });
        return print::raw(&format!("{:#}\n", rows.chain(others).collect::<serde_json::Value>()));
    }
    let mut table = format!("{:<10} examinations  podiums  multipliers\n", "edition");
    for edition in &editions {
        let (name, examinations, podiums) =
            (&edition.name, edition.examinations.len(), edition.podiums.len());
        let weights: Vec<String> =
            multipliers(edition).into_iter().map(|(status, x)| format!("{status} x{x}")).collect();
        table += &format!("{name:<10} {examinations:>12}  {podiums:>7}  {}\n", weights.join(", "));
        for (key, why) in &edition.unknown {
            table += &format!("{:<10} {}\n", "", unpublished(key, why));
        }
    }
    table += &format!("\nOther contests\n{:<13} contest\n", "edition");
    for edition in &others {
        table += &format!("{:<13} {}\n", edition.name(), edition.title());
        for (key, why) in edition.unknown().into_iter().flatten() {
            table += &format!("{:<13} {}\n", "", unpublished(key, why));
        }
    }
    print::text(&table)
}

fn multipliers(edition: &Edition) -> std::collections::BTreeMap<&str, String> {
    let counting = edition.judging.multipliers.iter().filter(|(_, times)| !times.is_zero());
    counting.map(|(status, times)| (status.as_str(), times.to_string())).collect()
}
