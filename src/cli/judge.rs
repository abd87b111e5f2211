use super::{Exit, Failure, Format, print};
use crate::edition::{Edition, Rules, SisterEdition};
use crate::judge::judgement::Podium;
use crate::judge::mcc::{Jury, Opening, Verdict};
use crate::judge::record::{edition_of, read_record};
use crate::judge::{Ballots, crv, sister, source, svcomp, write};
use crate::store::Record;
use anyhow::anyhow;
use num_rational::BigRational;
use std::path::PathBuf;

/// Judge a record or a table of answers.
///
/// Reads the record of a campaign, or the compact table of published answers
/// (tool,instance,examination,answers,wrong; gzip or plain), and writes
/// confidence.csv, trusted.csv, scores.csv, podiums.csv, awards.csv, tools.csv and judgement.json.
/// With an edition of SV-COMP or CRV it reads their results (docs/sister-contests.md), one file or a folder of them.
/// Ends with 1 while the judgement is provisional: a run is left that never got a fair machine.
#[derive(clap::Args)]
pub struct Args {
    /// The folder of a record (RESULTS), or a table of answers.
    input: PathBuf,
    /// The rules: the name of an edition, or the path of an edition file [default for a record: its own].
    #[arg(long, value_name = "NAME|FILE")]
    edition: Option<String>,
    /// Family and status (known, surprise) of the instances: columns instance,family,status.
    #[arg(long, value_name = "CSV")]
    models: Option<PathBuf>,
    /// Tool and status of the entries: columns entry,tool,status and, for withdrawals, note.
    #[arg(long, value_name = "CSV")]
    tools: Option<PathBuf>,
    /// Categories of SV-COMP: columns category,tasks,parent and, where some are new, new.
    #[arg(long, value_name = "CSV")]
    categories: Option<PathBuf>,
    /// Folder for the result files; made if missing, files of an earlier judgement are replaced.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let rules = args.edition.as_deref().map(Rules::load).transpose().map_err(Failure::usage)?;
    let named = match rules {
        Some(Rules::Sister(edition)) => return judge_sister(&args, &edition),
        Some(Rules::Mcc(edition)) => Some(*edition),
        None => None,
    };
    refuse(args.categories.is_some(), "--categories is for editions of SV-COMP")?;
    let (edition, mut ballots) = ballots(&args, named)?;
    if let Some(models) = &args.models {
        source::read_models(&edition, &mut ballots, models).map_err(Failure::usage)?;
    }
    if let Some(tools) = &args.tools {
        source::read_tools(&mut ballots, tools).map_err(Failure::usage)?;
    }
    let jury = Jury::new(&edition, ballots).map_err(Failure::usage)?;
    let verdict = write::write(&jury, &args.out)?;
    let opening = &jury.opening;
    for note in &opening.notes {
        eprintln!("note: {note}");
    }
    match args.format {
        Format::Text => print::text(&table(opening, &verdict))?,
        Format::Json => print::raw(&json(opening, &verdict))?,
    }
    if opening.unresolved.is_empty() {
        return Ok(Exit::Done);
    }
    eprintln!(
        "provisional: {} runs never got a fair machine, so no medal is given:",
        opening.unresolved.len()
    );
    for run in opening.unresolved.iter().take(10) {
        eprintln!("  {}", print::shown(&format!("{} on {} in {}", run.entry, run.instance, run.examination)));
    }
    Ok(Exit::Failed)
}

fn refuse(wrong: bool, message: &'static str) -> Result<(), Failure> {
    if wrong { Err(Failure::usage(anyhow!(message))) } else { Ok(()) }
}

/// SV-COMP and CRV.
fn judge_sister(args: &Args, edition: &SisterEdition) -> Result<Exit, Failure> {
    refuse(args.models.is_some(), "--models is for editions of the MCC")?;
    refuse(
        args.tools.is_some(),
        "--tools is for editions of the MCC; the edition file names statuses and teams",
    )?;
    let judgement = match edition {
        SisterEdition::Svcomp(edition) => {
            let results = svcomp::read(edition, &args.input, args.categories.as_deref());
            svcomp::judge(edition, results.map_err(Failure::usage)?).map_err(Failure::usage)?
        }
        SisterEdition::Crv(edition) => {
            refuse(args.categories.is_some(), "--categories is for editions of SV-COMP")?;
            crv::judge(edition, crv::read(edition, &args.input).map_err(Failure::usage)?)
        }
    };
    sister::write(&judgement, &args.out)?;
    for note in &judgement.notes {
        eprintln!("note: {}", print::shown(note));
    }
    match args.format {
        Format::Text => print::text(&sister_table(&judgement))?,
        Format::Json => print::raw(&sister_json(&judgement))?,
    }
    Ok(Exit::Done)
}

/// The podiums, ranked places only; points rounded for reading.
fn sister_table(judgement: &sister::Judgement) -> String {
    let mut text = String::new();
    for sister::Podium { category, places } in &judgement.podiums {
        text += &format!("{}\n", judgement.categories[*category].category);
        for place in places {
            let Some(rank) = place.rank else { continue };
            let (name, points) = (&judgement.entries[place.entry].entry, printed(&place.points));
            let line = format!("{rank:>4}  {name:<20} {points:>10}  {:<7} {}", place.medal, place.note);
            text += line.trim_end();
            text.push('\n');
        }
    }
    text
}

fn sister_json(judgement: &sister::Judgement) -> String {
    let places = judgement.podiums.iter().flat_map(|podium| {
        podium.places.iter().map(|place| {
            serde_json::json!({
                "category": judgement.categories[podium.category].category,
                "rank": place.rank,
                "tool": judgement.entries[place.entry].entry,
                "points": place.points.to_string(),
                "medal": place.medal,
                "note": place.note,
            })
        })
    });
    let document = serde_json::json!({
        "edition": judgement.edition.name(),
        "notes": judgement.notes,
        "podiums": places.collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

fn ballots(args: &Args, named: Option<Edition>) -> Result<(Edition, Ballots), Failure> {
    if args.input.is_dir() {
        let record = Record::open_readonly(&args.input).map_err(Failure::usage)?;
        let edition = named.map_or_else(|| edition_of(&record), Ok).map_err(Failure::usage)?;
        let ballots = read_record(&edition, &record)?;
        return Ok((edition, ballots));
    }
    let Some(edition) = named else {
        return Err(Failure::usage(anyhow!(
            "a table of answers does not say its rules; name them with --edition"
        )));
    };
    let ballots = source::read_answers(&edition, &args.input).map_err(Failure::usage)?;
    Ok((edition, ballots))
}

/// The podiums, ranked places only; points rounded for reading.
fn table(opening: &Opening, verdict: &Verdict) -> String {
    let mut text = String::new();
    for Podium { category, places } in verdict.podiums.iter().filter(|podium| !podium.places.is_empty()) {
        text += &format!("{category}\n");
        for place in places.iter().filter(|place| place.rank.is_some()) {
            let name = &opening.entries[place.entry].entry;
            let points = printed(&place.points);
            let line =
                format!("{:>4}  {name:<20} {points:>10}  {}", place.rank.unwrap_or_default(), place.medal);
            text += line.trim_end();
            text.push('\n');
        }
    }
    text
}

/// Two decimals, half away from zero; exact values are in the files.
fn printed(points: &BigRational) -> String {
    let hundredths = (points * BigRational::from_integer(100.into())).round().to_integer();
    let (sign, digits) =
        if hundredths < 0.into() { ("-", (-hundredths).to_string()) } else { ("", hundredths.to_string()) };
    let digits = format!("{digits:0>3}");
    let (whole, decimals) = digits.split_at(digits.len() - 2);
    format!("{sign}{whole}.{decimals}")
}

fn json(opening: &Opening, verdict: &Verdict) -> String {
    let places = verdict.podiums.iter().flat_map(|podium| {
        podium.places.iter().map(|place| {
            serde_json::json!({
                "category": podium.category,
                "rank": place.rank,
                "tool": opening.entries[place.entry].entry,
                "variant": place.variant,
                "points": place.points.to_string(),
                "medal": place.medal,
            })
        })
    });
    let document = serde_json::json!({
        "edition": opening.edition.name,
        "provisional": !opening.unresolved.is_empty(),
        "podiums": places.collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}
