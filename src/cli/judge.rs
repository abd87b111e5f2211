use super::failure::write_failure;
use super::judge_inputs::JudgeInputs;
use super::outputs::refuse_inputs;
use super::record_source::open_judgement;
use super::terminal::{Page, argument, next, note, warning};
use super::{Exit, Failure, Format, judge_other, print};
use anyhow::anyhow;
use mcc_edition::Rules;
use mcc_judge::compare::{CompareError, compare};
use mcc_judge::judgement::{Entry, FlagKind, Judgement, Podium, RunName, Status};
use mcc_judge::mcc::sensitivity::{Sensitivity, sensitivity};
use mcc_judge::mcc::{Judge, JudgementHeader, JudgementTotals};
use mcc_judge::oracle::{self, Oracle};
use mcc_judge::show::decimals;
use mcc_judge::{read_certified, write};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Judge a record or a table of answers.
///
/// Reads the record of a campaign, the contest's raw-result-analysis.csv, or the compact table of published answers
/// (tool,instance,examination,answers,wrong), plain or gzip. Writes judgement.json and its tables (docs/judgement.md).
/// With --compare, shows the differences between two judgements of one contest that have runs in common.
/// With an edition of SV-COMP or CRV, reads the results of that contest (docs/other-contests.md).
/// Exits with 1 if the judgement is provisional: a run ended as an infrastructure failure or has not run yet.
#[derive(clap::Args)]
pub struct Args {
    /// The sources: folders of records (RESULTS), archives, tables of answers, or folders of BenchKit's results (CSV and
    /// OUTPUTS). Several sources are judged together; an entry may be in one of them only, unless --replace is given.
    #[arg(required_unless_present = "compare", requires = "out", value_name = "SOURCE")]
    input: Vec<PathBuf>,
    /// For an entry that is in several sources: the source whose runs count, as it is given on the command line; its runs
    /// in the other sources are left out. May be repeated.
    #[arg(long, value_name = "ENTRY=SOURCE", value_parser = replacement, requires = "input")]
    replace: Vec<(String, String)>,
    #[command(flatten)]
    inputs: JudgeInputs,
    /// Show the differences between two judgements, each in its folder or in an archive: rules, instances, values, points,
    /// ranks, medals, answers, CPU times.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with_all = ["input", "out"])]
    compare: Option<Vec<PathBuf>>,
    /// With --compare: list two CPU times whose ratio is at least this.
    #[arg(long, alias = "times", value_name = "RATIO", default_value_t = 2, requires = "compare")]
    time_ratio: u64,
    /// Judge again without each tool in turn (sensitivity.csv), and list the places that change if fewer than N trusted
    /// values change (margins.csv).
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "16")]
    sensitivity: Option<u64>,
    /// Compare the trusted values with the oracle files (INSTANCE-EXAMINATION.out) in this folder; oracle.csv lists the
    /// differences.
    #[arg(long, value_name = "FOLDER")]
    oracle: Option<PathBuf>,
    /// The folder that `certify --out` wrote for this contest: trusted values are labelled by their evidence. Points do not
    /// change.
    #[arg(long, value_name = "DIR")]
    certified: Option<PathBuf>,
    /// Categories of SV-COMP: the contest's category-structure.yml, or a table with the columns category,tasks,parent and, if
    /// some are new, new.
    #[arg(long, value_name = "YML|CSV")]
    categories: Option<PathBuf>,
    /// Folder for the result files. It is created if missing; files of an earlier judgement are replaced or removed.
    #[arg(long, value_name = "DIR", required_unless_present = "compare")]
    out: Option<PathBuf>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Parses `ENTRY=SOURCE`.
fn replacement(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((entry, source)) if !entry.is_empty() && !source.is_empty() => {
            Ok((entry.to_owned(), source.to_owned()))
        }
        _ => Err("expected ENTRY=SOURCE, such as LoLA=results".to_owned()),
    }
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    match (&args.compare, &args.out) {
        (Some(judgements), _) => show_differences(judgements, &args),
        (None, Some(out)) => judge(&args.input, out, &args),
        // The options require one or the other.
        (None, None) => Err(Failure::usage(anyhow!("give an input and --out, or --compare"))),
    }
}

fn show_differences(judgements: &[PathBuf], args: &Args) -> Result<Exit, Failure> {
    let [before, after] = judgements else {
        return Err(Failure::usage(anyhow!("--compare takes two judgements")));
    };
    let opened = |path: &Path| open_judgement(path, &|file| file.starts_with("judgement"));
    let (before, after) = (opened(before)?, opened(after)?);
    let (before, after) = (before.folder.as_path(), after.folder.as_path());
    let other_contest = |dir: &Path| mcc_other_contests::Judgement::read(dir).map_err(Failure::usage);
    let mcc = |dir: &Path| Judgement::read(dir).map_err(Failure::usage);
    let compared = match (other_contest(before)?, other_contest(after)?) {
        (None, None) => compare(&mcc(before)?, &mcc(after)?, args.time_ratio),
        (Some(before), Some(after)) => compare(&before, &after, args.time_ratio),
        (Some(of), None) => Err(CompareError::Contests(of.contest, "mcc".to_owned())),
        (None, Some(of)) => Err(CompareError::Contests("mcc".to_owned(), of.contest)),
    };
    let comparison = compared.map_err(Failure::usage)?;
    print::result(args.format, &comparison, || print::text(&comparison.to_string()))?;
    Ok(Exit::Done)
}

fn judge(inputs: &[PathBuf], out: &Path, args: &Args) -> Result<Exit, Failure> {
    let mut read = args.inputs.files();
    read.extend(inputs.iter().cloned().chain(args.categories.clone()).chain(args.certified.clone()));
    refuse_inputs(&read, write::files().map(|name| out.join(name)))?;
    let rules = args.inputs.edition.as_deref().map(Rules::load).transpose().map_err(Failure::usage)?;
    if let Some(Rules::Other(edition)) = rules {
        let mcc_only_option = args.inputs.mcc_only_option();
        let mcc_only_option = mcc_only_option.or(args.sensitivity.map(|_| "--sensitivity"));
        let mcc_only_option = mcc_only_option.or(args.certified.as_ref().map(|_| "--certified"));
        if let Some(option) = mcc_only_option.or(args.oracle.as_ref().map(|_| "--oracle")) {
            return Err(Failure::usage(anyhow!(
                "{option} is for editions of the MCC; for the other contests the edition file sets it"
            )));
        }
        let [input] = inputs else {
            return Err(Failure::usage(anyhow!(
                "several sources are for editions of the MCC; for the other contests give one folder with all results"
            )));
        };
        return judge_other::judge(input, out, args.categories.as_deref(), args.format, &edition);
    }
    reject_if(args.categories.is_some(), "--categories is for editions of SV-COMP")?;
    let replace = args.replace.iter().cloned().collect::<BTreeMap<_, _>>();
    reject_if(replace.len() < args.replace.len(), "--replace names an entry twice; give each entry once")?;
    let (edition, mut ballots) = args.inputs.read_all(inputs, &replace)?;
    if let Some(certified) = &args.certified {
        read_certified(&mut ballots, certified).map_err(Failure::usage)?;
    }
    let judge = Judge::new(&edition, ballots).map_err(Failure::usage)?;
    let oracle = args.oracle.as_deref().map(|folder| Oracle::read(&judge, folder));
    let oracle = oracle.transpose().map_err(Failure::usage)?;
    let totals = write::write(&judge, out).map_err(write_failure)?;
    let sensitivity = args.sensitivity.map(|few| sensitivity(&judge, &totals, few)).transpose()?;
    if let Some(sensitivity) = &sensitivity {
        write::write_sensitivity(sensitivity, out).map_err(write_failure)?;
    }
    if let Some(oracle) = &oracle {
        for bad in &oracle.bad_lines {
            warning(&format!("oracle: {bad}"));
        }
        let oracle::OracleComparison { same, different, only_oracle, not_comparable } =
            oracle::compare(&judge, oracle, &out.join("oracle.csv")).map_err(write_failure)?;
        eprintln!(
            "oracle: equal values: {same}; different values: {different}; values only in the oracle: {only_oracle}; not \
             comparable, because one of the two was too large for its writer (Inf): {not_comparable} (oracle.csv lists the \
             last three groups)"
        );
    }
    let header = &judge.header;
    for text in &header.notes {
        note(text);
    }
    for flag in header.flags.iter().filter(|flag| flag.kind == FlagKind::NoConfidence) {
        let (entry, examination) =
            (&header.entries[flag.entry].entry, &header.examinations[flag.examination]);
        warning(&format!("{entry} in {examination}: {}", flag.detail));
    }
    match args.format {
        Format::Text => {
            let sensitivity_text = sensitivity.as_ref().map_or(String::new(), ToString::to_string);
            let mut page = Page::new();
            page.lines(&table(header, &totals));
            for warning in header.edition.warnings() {
                page.line(&warning);
            }
            page.lines(&(marks(&judge) + &sensitivity_text));
            page.print()?;
        }
        Format::Json => print::raw(&json(&judge, &totals, sensitivity.as_ref())?)?,
    }
    let list = |runs: &[RunName]| {
        for RunName { entry, instance, examination } in runs.iter().take(10) {
            eprintln!("  {}", print::escaped(&format!("{entry} on {instance} in {examination}")));
        }
    };
    if args.format == Format::Text {
        let record = inputs.iter().find(|input| input.join("record.db").is_file());
        written(out, record.map(PathBuf::as_path));
    }
    if !header.excluded.is_empty() {
        let reason = header.edition.judging.infrastructure_reason.as_deref().unwrap_or_default();
        let reason = print::escaped(reason);
        eprintln!(
            "excluded: runs that ended in an infrastructure failure: {}; the examinations of these runs on these \
             instances are not judged for any entry ({reason}):",
            header.excluded.len()
        );
        list(&header.excluded);
    }
    if no_entry_competes(&header.entries) {
        return Ok(Exit::Failed);
    }
    if header.unresolved.is_empty() {
        return Ok(Exit::Done);
    }
    let not_run = judge.not_made_yet();
    let failed = header.unresolved.len() - not_run;
    let counts = [(failed, "infrastructure failures"), (not_run, "open runs")];
    let counts = counts.iter().filter(|(runs, _)| *runs > 0).map(|(runs, what)| format!("{what}: {runs}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    eprintln!(
        "provisional: runs without a result ({counts}), so no medal is given; judge again when all have one:"
    );
    list(&header.unresolved);
    Ok(Exit::Failed)
}

/// Prints where a judgement is, and the commands that read it, on a terminal. `record`: the record that was judged, if it is a folder.
pub(super) fn written(out: &Path, record: Option<&Path>) {
    let shown = argument(out);
    let record = record.map_or(String::new(), |record| format!(" --record {}", argument(record)));
    next(&format!(
        "the judgement is in {shown} (docs/judgement.md); `mcc-harness report {shown}{record} --out site` writes its site; `mcc-harness explain {shown} --tool TOOL` \
         explains the points of a tool"
    ));
}

/// Prints a message if no entry is competing, so that no podium has a ranked place.
pub(super) fn no_entry_competes(entries: &[Entry]) -> bool {
    let none = entries.iter().all(|entry| entry.status != Status::Competing);
    if none {
        eprintln!(
            "no entry competes, so no podium has a place: every entry is resigned, withdrawn, virtual or out of \
             competition; check the status of the entries (--tools, or the edition)"
        );
    }
    none
}

/// Returns a usage error with this message if `wrong` is true.
pub(super) fn reject_if(wrong: bool, message: &'static str) -> Result<(), Failure> {
    if wrong { Err(Failure::usage(anyhow!(message))) } else { Ok(()) }
}

/// The podiums with their ranked places. Points are rounded for display.
fn table(header: &JudgementHeader, totals: &JudgementTotals) -> String {
    let mut text = String::new();
    for Podium { category, places } in totals.podiums.iter().filter(|podium| !podium.places.is_empty()) {
        text += &format!("{category}\n");
        for place in places.iter().filter(|place| place.rank.is_some()) {
            let name = &header.entries[place.entry].entry;
            let points = decimals(&place.points);
            let line =
                format!("{:>4}  {name:<20} {points:>10}  {}", place.rank.unwrap_or_default(), place.medal);
            text += line.trim_end();
            text.push('\n');
        }
    }
    text
}

/// One line for every mark of the runs, so that the podium of a degraded campaign is recognized.
fn marks(judge: &Judge) -> String {
    let (marks, runs) = judge.marks();
    marks.iter().map(|(mark, count)| format!("{mark}: {count} of {runs} runs\n")).collect()
}

fn json(
    judge: &Judge,
    totals: &JudgementTotals,
    sensitivity: Option<&Sensitivity>,
) -> serde_json::Result<String> {
    let header = &judge.header;
    let (marks, runs) = judge.marks();
    let places = totals.podiums.iter().flat_map(|podium| {
        podium.places.iter().map(|place| {
            serde_json::json!({
                "category": podium.category,
                "rank": place.rank,
                "tool": header.entries[place.entry].entry,
                "variant": place.variant,
                "points": place.points.to_string(),
                "medal": place.medal,
            })
        })
    });
    let mut document = serde_json::json!({
        "edition": header.edition.name,
        "unknown": header.edition.unknown,
        "provisional": !header.unresolved.is_empty(),
        "podiums": places.collect::<Vec<_>>(),
        "runs": runs,
        "marks": marks,
    });
    if let Some(sensitivity) = sensitivity {
        document["sensitivity"] = serde_json::to_value(sensitivity)?;
    }
    Ok(format!("{document:#}\n"))
}
