use super::{Exit, Failure, Format, print};
use crate::edition::Edition;
use crate::judge::benchkit_results::{is_results, read_results};
use crate::judge::judgement::Podium;
use crate::judge::mcc::{Jury, Opening, Verdict};
use crate::judge::record::{edition_of, read_record};
use crate::judge::{Ballots, oracle, source, write};
use crate::store::Record;
use anyhow::anyhow;
use num_rational::BigRational;
use std::path::PathBuf;

/// Judge a record or a table of answers.
///
/// Reads the record of a campaign, the contest's raw-result-analysis.csv, or the compact table of published answers
/// (tool,instance,examination,answers,wrong), either gzip or plain, and writes
/// confidence.csv, trusted.csv, scores.csv, podiums.csv, awards.csv, tools.csv and judgement.json.
/// Ends with 1 while the judgement is provisional: a run is left that never got a fair machine.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    judged: Judged,
    /// Folder for the result files; made if missing, files of an earlier judgement are replaced.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Compare with the oracle files (INSTANCE-EXAMINATION.out) in this folder: oracle.csv lists what differs.
    #[arg(long, value_name = "FOLDER")]
    oracle: Option<PathBuf>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let (edition, ballots) = args.judged.read()?;
    let jury = Jury::new(&edition, ballots).map_err(Failure::usage)?;
    let verdict = write::write(&jury, &args.out)?;
    if let Some(folder) = &args.oracle {
        let oracle::Compared { same, different, only_oracle } =
            oracle::compare(&jury, folder, &args.out.join("oracle.csv"))?;
        eprintln!(
            "oracle: {same} values are the same, {different} differ, {only_oracle} are unknown here \
             (oracle.csv lists the last two)"
        );
    }
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

/// What is judged, and by which rules.
#[derive(clap::Args)]
pub struct Judged {
    /// The folder of a record (RESULTS), a table of answers, or a folder of BenchKit's results (CSV and OUTPUTS).
    pub input: PathBuf,
    /// The rules: the name of an edition, or the path of an edition file [default for a record: its own].
    #[arg(long, value_name = "NAME|FILE")]
    edition: Option<String>,
    /// Family and status (known, surprise) of the instances: columns instance,family,status.
    #[arg(long, value_name = "CSV")]
    models: Option<PathBuf>,
    /// Tool and status of the entries: columns entry,tool,status and, for withdrawals, note.
    #[arg(long, value_name = "CSV")]
    tools: Option<PathBuf>,
    /// The runs were on obfuscated instances: the file of names that `image inputs --obfuscate` wrote.
    #[arg(long, value_name = "CSV")]
    names: Option<PathBuf>,
}

impl Judged {
    /// The ballots, with all that the other files say of them.
    pub fn read(&self) -> Result<(Edition, Ballots), Failure> {
        let (edition, mut ballots) = self.ballots()?;
        if let Some(names) = &self.names {
            source::read_names(&mut ballots, names).map_err(Failure::usage)?;
        }
        if let Some(models) = &self.models {
            source::read_models(&edition, &mut ballots, models).map_err(Failure::usage)?;
        }
        if let Some(tools) = &self.tools {
            source::read_tools(&mut ballots, tools).map_err(Failure::usage)?;
        }
        Ok((edition, ballots))
    }

    fn ballots(&self) -> Result<(Edition, Ballots), Failure> {
        let named = self.edition.as_deref().map(Edition::load).transpose().map_err(Failure::usage)?;
        if self.input.is_dir() && !is_results(&self.input) {
            let record = Record::open_readonly(&self.input).map_err(Failure::usage)?;
            let edition = named.map_or_else(|| edition_of(&record), Ok).map_err(Failure::usage)?;
            let ballots = read_record(&edition, &record)?;
            return Ok((edition, ballots));
        }
        let Some(edition) = named else {
            return Err(Failure::usage(anyhow!(
                "a table of answers does not say its rules; name them with --edition"
            )));
        };
        if self.input.is_dir() {
            let ballots = read_results(&edition, &self.input).map_err(Failure::usage)?;
            return Ok((edition, ballots));
        }
        let ballots = source::read_answers(&edition, &self.input).map_err(Failure::usage)?;
        Ok((edition, ballots))
    }
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
