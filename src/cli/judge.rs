use super::judge_inputs::JudgeInputs;
use super::outputs::{refuse_inputs, refuse_other_judgement};
use super::record_source::open_judgement;
use super::{Exit, Failure, Format, judge_other, judge_print, print};
use anyhow::anyhow;
use mcc_campaign::Publication;
use mcc_edition::{OtherEdition, Rules, contest_and_year};
use mcc_judge::compare::{CompareError, compare};
use mcc_judge::judgement::Judgement;
use mcc_judge::mcc::Judge;
use mcc_judge::mcc::sensitivity::sensitivity;
use mcc_judge::oracle::{self, Oracle};
use mcc_judge::write;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The options that --compare would ignore.
const WITHOUT_COMPARISON: [&str; 15] = [
    "input",
    "out",
    "replace",
    "sensitivity",
    "oracle",
    "certified",
    "categories",
    "edition",
    "models",
    "tools",
    "names",
    "overrides",
    "publication",
    "unfinished",
    "votes",
];

/// Judge a record or a table of answers.
///
/// Reads the record of a campaign, the contest's raw-result-analysis.csv, or the compact table of published answers
/// (tool,instance,examination,answers,wrong), plain or gzip. Rows of that table are
/// `tedd,Net-PT-1,StateSpace,2046 X ? 30,01` and `tedd,Net-PT-1,CTLFireability,TTF?TTTTTFFFTT?T,02 07`: answers by
/// position (`?`: none; X: a number that was not published), and the positions, from 00, that the contest judged wrong.
/// Writes judgement.json and its tables (docs/judgement.md).
/// With --compare, shows the differences between two judgements of one contest (MCC, SV-COMP or CRV) that have runs in
/// common; `compare-campaigns` tests whether two versions of a tool differ.
/// With an edition of SV-COMP or CRV, reads the results of that contest (docs/other-contests.md).
/// A folder with the judgement of another record is refused; the judgement of a table of answers is replaced.
/// Exits with 1 if no entry competes, or the judgement is provisional: a run of an entry that votes is open, or an
/// infrastructure failure that does not exclude its block.
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
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with_all = WITHOUT_COMPARISON)]
    compare: Option<Vec<PathBuf>>,
    /// With --compare: list two CPU times, or two memory peaks, whose ratio is more than this [default: 2].
    #[arg(long, alias = "times", value_name = "RATIO")]
    time_ratio: Option<u64>,
    /// Judge again without each competing tool in turn (sensitivity.csv), and mark the ranks that could change if fewer than
    /// N trusted values were different (margins.csv) [default of N: 16].
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "16")]
    sensitivity: Option<u64>,
    /// Compare the trusted values with the oracle files (INSTANCE-SHORT.out, such as TokenRing-PT-005-CTLC.out) in this
    /// folder; oracle.csv lists the differences.
    #[arg(long, value_name = "FOLDER")]
    oracle: Option<PathBuf>,
    /// The folder that `certify --out` wrote for this contest: trusted values are labelled by their evidence. It is
    /// compared with the certified values, but not checked against the nets. Points do not change.
    #[arg(long, value_name = "DIR")]
    certified: Option<PathBuf>,
    /// Categories of SV-COMP: the contest's category-structure.yml, or a table with the columns category,tasks,parent and,
    /// for new categories, a column new.
    #[arg(long, value_name = "YML|CSV")]
    categories: Option<PathBuf>,
    /// Folder for the result files; required without --compare. It is created if missing; an earlier judgement in it is
    /// replaced, unless it is of another record.
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
    let has_ratio_only = args.time_ratio.is_some() && args.compare.is_none();
    Failure::usage_if(has_ratio_only, "--time-ratio needs --compare")?;
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
    let time_ratio = args.time_ratio.unwrap_or(2);
    let compared = match (other_contest(before)?, other_contest(after)?) {
        (None, None) => {
            let (before, after) = (mcc(before)?, mcc(after)?);
            let years = (contest_and_year(&before.edition.name), contest_and_year(&after.edition.name));
            if let (Some((_, first)), Some((_, second))) = years
                && first != second
            {
                stderr_line!(
                    "note: the formulas of {first} and {second} differ: their values answer different questions"
                );
            }
            compare(&before, &after, time_ratio)
        }
        (Some(before), Some(after)) => compare(&before, &after, time_ratio),
        (Some(judgement), None) => Err(CompareError::Contests(judgement.contest, "mcc".to_owned())),
        (None, Some(judgement)) => Err(CompareError::Contests("mcc".to_owned(), judgement.contest)),
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
        return judge_other(inputs, out, args, &edition);
    }
    Failure::usage_if(args.categories.is_some(), "--categories is for editions of SV-COMP")?;
    let replace = args.replace.iter().cloned().collect::<BTreeMap<_, _>>();
    let is_twice = replace.len() < args.replace.len();
    Failure::usage_if(is_twice, "--replace names an entry twice; give each entry once")?;
    let (edition, results) = args.inputs.read_all(inputs, &replace, args.certified.as_deref())?;
    let judge = Judge::new(&edition, results).map_err(Failure::usage)?;
    let oracle = args.oracle.as_deref().map(|folder| Oracle::read(&judge, folder));
    let oracle = oracle.transpose().map_err(Failure::usage)?;
    refuse_other_judgement(out, &judge.header.inputs)?;
    let totals = write::write(&judge, out)?;
    let sensitivity = args.sensitivity.map(|few| sensitivity(&judge, &totals, few)).transpose()?;
    if let Some(sensitivity) = &sensitivity {
        write::write_sensitivity(sensitivity, out)?;
    }
    if let Some(oracle) = &oracle {
        let comparison = oracle::compare(&judge, oracle, &out.join("oracle.csv"))?;
        judge_print::oracle(oracle, &comparison);
    }
    judge_print::judgement(&judge, &totals, sensitivity.as_ref(), args.format)?;
    if args.format == Format::Text {
        let record = inputs.iter().find(|input| input.join("record.db").is_file());
        judge_print::written(out, record.map(PathBuf::as_path));
    }
    judge_print::excluded(&judge.header);
    let can_have_medals = !judge_print::no_entry_competes(&judge.header.entries);
    if can_have_medals && judge.header.unresolved.is_empty() {
        return Ok(Exit::Done);
    }
    if can_have_medals {
        judge_print::provisional(&judge);
    }
    Ok(Exit::Failed)
}

/// Judges the results of SV-COMP or CRV, and refuses the options of the MCC.
fn judge_other(inputs: &[PathBuf], out: &Path, args: &Args, edition: &OtherEdition) -> Result<Exit, Failure> {
    let of_mcc = [
        ("--sensitivity", args.sensitivity.is_some()),
        ("--certified", args.certified.is_some()),
        ("--oracle", args.oracle.is_some()),
    ];
    let given = of_mcc.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option);
    if let Some(option) = args.inputs.mcc_only_option().or(given) {
        return Err(Failure::usage(anyhow!(
            "{option} is for editions of the MCC; for the other contests the edition file sets it"
        )));
    }
    let [input] = inputs else {
        return Err(Failure::usage(anyhow!(
            "several sources are for editions of the MCC; for the other contests give one folder with all results"
        )));
    };
    let (categories, publication) = (args.categories.as_deref(), args.inputs.publication.as_deref());
    let publication = publication.map(Publication::load).transpose().map_err(Failure::usage)?.flatten();
    judge_other::judge(input, out, categories, publication, args.format, edition)
}
