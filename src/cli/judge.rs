use super::{Exit, Failure, Format, print};
use crate::edition::{Edition, Rules, SisterEdition, Votes};
use crate::judge::compare::compare;
use crate::judge::judgement::{Judgement, Podium};
use crate::judge::mcc::sensitivity::{Sensitivity, sensitivity};
use crate::judge::mcc::{Jury, Opening, Verdict};
use crate::judge::overrides::read_overrides;
use crate::judge::record::{edition_of, read_record};
use crate::judge::show::decimals;
use crate::judge::{Ballots, crv, sister, source, svcomp, write};
use crate::store::Record;
use anyhow::anyhow;
use clap::ValueEnum;
use std::path::{Path, PathBuf};

/// Judge a record or a table of answers.
///
/// Reads the record of a campaign, or the compact table of published answers
/// (tool,instance,examination,answers,wrong; gzip or plain), and writes
/// judgement.json and its tables (docs/judgement.md). With --compare it shows what differs between two judgements.
/// With an edition of SV-COMP or CRV it reads their results (docs/sister-contests.md), one file or a folder of them.
/// Ends with 1 while the judgement is provisional: a run is left that never got a fair machine.
#[derive(clap::Args)]
pub struct Args {
    /// The folder of a record (RESULTS), or a table of answers.
    #[arg(required_unless_present = "compare", requires = "out")]
    input: Option<PathBuf>,
    /// The rules: the name of an edition, or the path of an edition file [default for a record: its own].
    #[arg(long, value_name = "NAME|FILE")]
    edition: Option<String>,
    /// Family and status (known, surprise) of the instances: columns instance,family,status.
    #[arg(long, value_name = "CSV")]
    models: Option<PathBuf>,
    /// Tool and status of the entries: columns entry,tool,status and, for withdrawals, note.
    #[arg(long, value_name = "CSV")]
    tools: Option<PathBuf>,
    /// Values the organizers set: columns instance,examination,position,value,reason; value `unknown` = no points.
    #[arg(long, value_name = "CSV")]
    overrides: Option<PathBuf>,
    /// What if votes were counted otherwise than the edition says.
    #[arg(long, value_enum, value_name = "WHO")]
    votes: Option<VotesOption>,
    /// Show what differs between two judgements: rules, values, points, ranks, medals, answers, CPU times.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with_all = ["input", "out"])]
    compare: Option<Vec<PathBuf>>,
    /// CPU times differ from this ratio on.
    #[arg(long, value_name = "RATIO", default_value_t = 2, requires = "compare")]
    times: u64,
    /// Judge again without each tool in turn, and say which medals hang on fewer than N values: sensitivity.csv and
    /// margins.csv.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "16")]
    sensitivity: Option<u64>,
    /// Categories of SV-COMP: columns category,tasks,parent and, where some are new, new.
    #[arg(long, value_name = "CSV")]
    categories: Option<PathBuf>,
    /// Folder for the result files; made if missing, files of an earlier judgement are replaced.
    #[arg(long, value_name = "DIR", required_unless_present = "compare")]
    out: Option<PathBuf>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Who has a vote, in place of the edition's setting.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum VotesOption {
    PerVariant,
    PerTool,
}

impl From<VotesOption> for Votes {
    fn from(votes: VotesOption) -> Self {
        match votes {
            VotesOption::PerVariant => Self::PerVariant,
            VotesOption::PerTool => Self::PerTool,
        }
    }
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    match (&args.compare, &args.input, &args.out) {
        (Some(judgements), ..) => show_differences(judgements, &args),
        (None, Some(input), Some(out)) => judge(input, out, &args),
        // The arguments require one or the other.
        (None, ..) => Err(Failure::usage(anyhow!("give what is judged and --out, or --compare"))),
    }
}

fn show_differences(judgements: &[PathBuf], args: &Args) -> Result<Exit, Failure> {
    let [before, after] = judgements else {
        return Err(Failure::usage(anyhow!("--compare takes two judgements")));
    };
    let before = Judgement::read(before).map_err(Failure::usage)?;
    let after = Judgement::read(after).map_err(Failure::usage)?;
    let comparison = compare(&before, &after, args.times);
    match args.format {
        Format::Text => print::text(&comparison.to_string())?,
        Format::Json => print::raw(&format!("{:#}\n", serde_json::to_value(&comparison)?))?,
    }
    Ok(Exit::Done)
}

fn judge(input: &Path, out: &Path, args: &Args) -> Result<Exit, Failure> {
    let rules = args.edition.as_deref().map(Rules::load).transpose().map_err(Failure::usage)?;
    let named = match rules {
        Some(Rules::Sister(edition)) => return judge_sister(input, out, args, &edition),
        Some(Rules::Mcc(edition)) => Some(*edition),
        None => None,
    };
    refuse(args.categories.is_some(), "--categories is for editions of SV-COMP")?;
    let (mut edition, mut ballots) = ballots(input, named)?;
    if let Some(models) = &args.models {
        source::read_models(&edition, &mut ballots, models).map_err(Failure::usage)?;
    }
    if let Some(tools) = &args.tools {
        source::read_tools(&mut ballots, tools).map_err(Failure::usage)?;
    }
    if let Some(overrides) = &args.overrides {
        read_overrides(&edition, &mut ballots, overrides).map_err(Failure::usage)?;
    }
    if let Some(votes) = args.votes {
        edition.judging.votes = votes.into();
    }
    let jury = Jury::new(&edition, ballots).map_err(Failure::usage)?;
    let verdict = write::write(&jury, out)?;
    let sensitivity = match args.sensitivity {
        Some(few) => Some(sensitivity(&jury, &verdict, few)?),
        None => None,
    };
    if let Some(sensitivity) = &sensitivity {
        write::write_sensitivity(sensitivity, out)?;
    }
    let opening = &jury.opening;
    for note in &opening.notes {
        eprintln!("note: {note}");
    }
    match args.format {
        Format::Text => {
            let hangs = sensitivity.as_ref().map_or(String::new(), ToString::to_string);
            print::text(&(table(opening, &verdict) + &hangs))?;
        }
        Format::Json => print::raw(&json(opening, &verdict, sensitivity.as_ref())?)?,
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
fn judge_sister(input: &Path, out: &Path, args: &Args, edition: &SisterEdition) -> Result<Exit, Failure> {
    refuse(args.models.is_some(), "--models is for editions of the MCC")?;
    refuse(
        args.tools.is_some(),
        "--tools is for editions of the MCC; the edition file names statuses and teams",
    )?;
    refuse(
        args.overrides.is_some() || args.votes.is_some() || args.sensitivity.is_some(),
        "--overrides, --votes and --sensitivity are for editions of the MCC",
    )?;
    let judgement = match edition {
        SisterEdition::Svcomp(edition) => {
            let results = svcomp::read(edition, input, args.categories.as_deref());
            svcomp::judge(edition, results.map_err(Failure::usage)?).map_err(Failure::usage)?
        }
        SisterEdition::Crv(edition) => {
            refuse(args.categories.is_some(), "--categories is for editions of SV-COMP")?;
            crv::judge(edition, crv::read(edition, input).map_err(Failure::usage)?)
        }
    };
    sister::write(&judgement, out)?;
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
            let (name, points) = (&judgement.entries[place.entry].entry, decimals(&place.points));
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

fn ballots(input: &Path, named: Option<Edition>) -> Result<(Edition, Ballots), Failure> {
    if input.is_dir() {
        let record = Record::open_readonly(input).map_err(Failure::usage)?;
        let edition = named.map_or_else(|| edition_of(&record), Ok).map_err(Failure::usage)?;
        let ballots = read_record(&edition, &record)?;
        return Ok((edition, ballots));
    }
    let Some(edition) = named else {
        return Err(Failure::usage(anyhow!(
            "a table of answers does not say its rules; name them with --edition"
        )));
    };
    let ballots = source::read_answers(&edition, input).map_err(Failure::usage)?;
    Ok((edition, ballots))
}

/// The podiums, ranked places only, points rounded for reading; and by which rules nobody can know.
fn table(opening: &Opening, verdict: &Verdict) -> String {
    let mut text = String::new();
    for Podium { category, places } in verdict.podiums.iter().filter(|podium| !podium.places.is_empty()) {
        text += &format!("{category}\n");
        for place in places.iter().filter(|place| place.rank.is_some()) {
            let name = &opening.entries[place.entry].entry;
            let points = decimals(&place.points);
            let line =
                format!("{:>4}  {name:<20} {points:>10}  {}", place.rank.unwrap_or_default(), place.medal);
            text += line.trim_end();
            text.push('\n');
        }
    }
    for warning in opening.edition.warnings() {
        text += &format!("{warning}\n");
    }
    text
}

fn json(
    opening: &Opening,
    verdict: &Verdict,
    sensitivity: Option<&Sensitivity>,
) -> serde_json::Result<String> {
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
    let mut document = serde_json::json!({
        "edition": opening.edition.name,
        "unknown": opening.edition.unknown,
        "provisional": !opening.unresolved.is_empty(),
        "podiums": places.collect::<Vec<_>>(),
    });
    if let Some(sensitivity) = sensitivity {
        document["sensitivity"] = serde_json::to_value(sensitivity)?;
    }
    Ok(format!("{document:#}\n"))
}
