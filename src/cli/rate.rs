use super::evidence::Evidence;
use super::judge_inputs::JudgeInputs;
use super::outputs::refuse_inputs_in;
use super::{Exit, Failure, Format, print};
use mcc_edition::Edition;
use mcc_judge::RunResults;
use mcc_judge::rate::{Agreement, RatedValue, ValueKind, agreement, combine_field, rate};
use mcc_judge::source::read_answers;
use mcc_report::write_rating;
use std::path::{Path, PathBuf};

/// Judge an author's runs together with the published answers of a contest.
///
/// The runs replace the published runs of the same entry.
/// Shows, for each examination, right and wrong values, missed ones (that a voting entry of another tool has right), values
/// that no other tool has right, and the points; the rank and medal that the entry would have in each category; and, with
/// --baseline, gains (values that became right) and regressions (values that are no longer right, or that changed or are
/// lost where neither other tools nor the organizers confirm the trusted value).
///
/// Runs on the formulas of another year are refused. They are recognized by their property ids. Without ids, they are
/// recognized if less than 70 % of their values are right and at least 90 % agree with the answers of another year. These
/// are looked for in folders named by years, such as 2022/answers.csv.gz beside the given 2025/answers.csv.gz.
#[derive(clap::Args)]
pub struct Args {
    /// The author's runs: the folder of a record (RESULTS), an archive, a table of answers, or a folder of BenchKit's
    /// results.
    #[arg(value_name = "RUNS")]
    runs: PathBuf,
    /// The published answers of the contest: a table, a record or an archive.
    #[arg(long, value_name = "ANSWERS")]
    published: PathBuf,
    /// Earlier runs of the same entries, to compare with: a record, an archive or a table of answers.
    #[arg(long, value_name = "OLD")]
    baseline: Option<PathBuf>,
    /// Compare only on the instances and examinations for which RUNS has a run.
    #[arg(long)]
    own_runs: bool,
    /// Look for evidence of each wrong value, on the instance archives (NAME.tgz) of this folder, and show it: the firing
    /// sequence, and the tokens that it leaves in the places of the formula. Positions follow the order of the property ids.
    #[arg(long, value_name = "DIR")]
    certify: Option<PathBuf>,
    #[command(flatten)]
    inputs: JudgeInputs,
    /// Write a page to this folder, and its files (rating.json, values.csv) to the folder data in it.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(mut args: Args) -> Result<Exit, Failure> {
    args.inputs.failure_classes = true;
    let mut paths = vec![args.runs.clone(), args.published.clone()];
    paths.extend(args.baseline.clone());
    if let Some(out) = &args.out {
        let mut read = paths.clone();
        read.extend(args.inputs.files());
        read.extend(args.certify.clone());
        refuse_inputs_in(&read, out)?;
    }
    let (edition, sources) = args.inputs.sources(&paths)?;
    let mut sources = sources.into_iter();
    let (Some(own), Some(published)) = (sources.next(), sources.next()) else {
        return Err(Failure::usage(anyhow::anyhow!("give RUNS and --published")));
    };
    let combined = combine_field(&edition, own, published, sources.next(), args.own_runs);
    let (results, rated) = combined.map_err(Failure::usage)?;
    let (edition, results) = args.inputs.complete(edition, results)?;
    let mut rating = rate(&edition, results, &rated).map_err(Failure::usage)?;
    let agreed = rating.agreement();
    if agreed.is_doubtful() {
        let (_, sources) = args.inputs.sources(&paths)?;
        if let Some((file, other)) = other_year(&sources[0].results, &args.published)? {
            return Err(Failure::usage(anyhow::anyhow!(
                "RUNS belong to the formulas of another year: {agreed} agree with the trusted ones of {}, and {other} with \
                 those of {}; give the edition and the published answers of that year",
                edition.name,
                file.display()
            )));
        }
        rating.notes.push(format!(
            "only {agreed} agree with the trusted ones; check that RUNS are on the formulas of the year of {}",
            edition.name
        ));
    }
    if let Some(instances) = &args.certify {
        let mut evidence = Evidence::new(instances).map_err(|error| {
            Failure::usage(anyhow::anyhow!("cannot read {}: {error}", instances.display()))
        })?;
        for value in rating.entries.iter().flat_map(|entry| &entry.values) {
            let RatedValue { kind, examination, instance, position, given, .. } = value;
            if *kind == ValueKind::Wrong {
                let text = evidence.about(instance, examination, |at, _| at == *position);
                let given = given.as_ref().map_or_else(String::new, ToString::to_string);
                rating.notes.push(format!("{instance} {examination} {position:02} is {given}; {text}"));
            }
        }
    }
    for note in &rating.notes {
        super::terminal::note(note);
    }
    if let Some(out) = &args.out {
        write_rating(&rating, out)?;
        super::terminal::note(&format!("the rating is in {}", super::terminal::argument(out)));
    }
    print::result(args.format, &rating, || print::text(&rating.to_string()))?;
    Ok(Exit::Done)
}

/// The year at hand with which at least 90 % of the values agree, and the agreement: a table of the same name as the
/// published one in a folder beside its folder, where the names of both folders are years.
fn other_year(own: &RunResults, published: &Path) -> Result<Option<(PathBuf, Agreement)>, Failure> {
    let year = |folder: &Path| folder.file_name()?.to_str()?.parse::<u32>().ok();
    let published = published.canonicalize().map_err(Failure::from)?;
    let (Some(folder), Some(name)) = (published.parent(), published.file_name()) else { return Ok(None) };
    let (Some(own_year), Some(years)) = (year(folder), folder.parent()) else { return Ok(None) };
    let folders = std::fs::read_dir(years).map_err(Failure::from)?;
    let folders = folders.collect::<Result<Vec<_>, _>>().map_err(Failure::from)?;
    let mut others: Vec<(u32, PathBuf)> = folders
        .iter()
        .filter_map(|folder| Some((year(&folder.path())?, folder.path().join(name))))
        .filter(|(year, file)| *year != own_year && file.is_file())
        .collect();
    others.sort();
    for (year, file) in others {
        let Ok(edition) = Edition::load(&format!("mcc-{year}")) else { continue };
        // A file that nobody asked for and that is not a table of answers is not compared.
        let Ok(field) = read_answers(&edition, &file) else { continue };
        let agreed = agreement(own, &edition, field).map_err(Failure::usage)?;
        if agreed.is_good() {
            return Ok(Some((file, agreed)));
        }
    }
    Ok(None)
}
