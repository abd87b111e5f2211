//! The pages of evidence (disagreements, weak evidence, flags, sensitivity), of marked runs and of techniques.

use super::certified::{self, CertifiedPart};
use super::contest::{Contest, Frame, RunKey};
use super::list::{self, Field, List};
use super::podium::{self, MarginRow};
use super::show::{self, visible};
use super::site::NewSite;
use super::table::{self, MarkRow};
use super::{ReportError, script};
use askama::Template;
use mcc_campaign::benchkit::FoundFailure;
use mcc_edition::fraction;
use mcc_judge::absence::{Absence, Elsewhere};
use mcc_judge::judgement::{Flag, FlagKind, RunName, ValueVerdict, open};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

type Row = Vec<String>;

#[derive(Template)]
#[template(path = "evidence.html")]
struct EvidencePage {
    frame: Frame,
    /// Reason why values need review, and the number of values.
    kinds: Vec<(String, String)>,
    flags: usize,
    of_record: bool,
    certified: Option<CertifiedPart>,
    best_virtual: Vec<[String; 4]>,
    /// Category, and how a rank could be lost.
    margins: Vec<(String, MarginRow)>,
    tables: Vec<TablePart>,
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    frame: Frame,
    marks: Vec<MarkRow>,
    unresolved: Vec<(String, String)>,
    excluded: Vec<(String, String)>,
    excluded_reason: String,
    rows: usize,
    /// Entry, failure class, number of runs and the filter that finds them.
    failures: Vec<[String; 4]>,
    has_record: bool,
    of_record: bool,
}

#[derive(Template)]
#[template(path = "techniques.html")]
struct TechniquesPage {
    frame: Frame,
    examinations: Vec<String>,
    rows: Vec<TechniqueRow>,
}

/// One technique and the numbers of values for which it was stated.
pub struct TechniqueRow {
    pub name: String,
    pub entries: String,
    pub right: String,
    pub wrong: String,
    pub unjudged: String,
    /// Right values by examination.
    pub by_examination: Vec<String>,
}

/// A table of the judgement; at most its first `MAX_ROWS` rows.
struct TablePart {
    title: &'static str,
    /// The file of the judgement that has all rows.
    file: &'static str,
    head: Row,
    rows: Vec<Row>,
    is_truncated: bool,
}

const MAX_ROWS: usize = 300;
/// The part of such a table that is read.
const MAX_TABLE_BYTES: u64 = 64 << 20;
/// The part of a field that is shown; a longer number is not read, which takes time in the square of its length.
const MAX_FIELD_CHARACTERS: usize = 2000;

/// Writes the page of evidence and its data.
pub fn write(contest: &Contest, dir: Option<&Path>, site: &NewSite) -> Result<(), ReportError> {
    let judgement = contest.judgement;
    let values = list::evidence(contest);
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &values.rows {
        if let Some(Field::Text(why)) = row.first() {
            *kinds.entry(why).or_default() += 1;
        }
    }
    let kinds = kinds
        .into_iter()
        .map(|(why, count)| (why.to_owned(), show::counted(count, "value", "values")))
        .collect();
    let flags = flags(contest);
    let judged =
        judgement.best_virtual.iter().filter(|score| contest.examinations.contains(&score.examination));
    let best_virtual = judged.map(|score| {
        [
            visible(&judgement.examinations[score.examination]),
            format!("{} of {}", show::thousands(score.right), show::thousands(score.values)),
            show::points(&score.points),
            show::points(&score.normalized),
        ]
    });
    let tables = [("Ranks without each tool", "sensitivity.csv")];
    let tables = tables.into_iter().filter_map(|(title, file)| table_part(dir?, title, file));
    let margins = contest.judged_podiums().flat_map(|(number, podium)| {
        podium::margins(contest, number, "").into_iter().map(move |row| (visible(&podium.category), row))
    });
    let page = EvidencePage {
        frame: contest.frame("Evidence".into(), ""),
        kinds,
        flags: flags.rows.len(),
        of_record: judgement.is_of_record(),
        certified: certified::part(contest),
        best_virtual: best_virtual.collect(),
        margins: margins.collect(),
        tables: tables.collect(),
    };
    site.file("evidence.js", &script::call("mcc_lists", &[values, flags]))?;
    site.page("evidence.html", &page)
}

/// A small table that the judgement has as a file only; None if `judge` did not write it, or if it is empty.
fn table_part(dir: &Path, title: &'static str, file: &'static str) -> Option<TablePart> {
    let mut table = csv::Reader::from_reader(open(dir, file).ok()?.1.take(MAX_TABLE_BYTES));
    let columns = table.headers().ok()?.clone();
    let head = columns.iter().map(heading).collect();
    let mut rows: Vec<Row> = Vec::new();
    // Points are exact numbers in the file.
    let shown = |(column, text): (&str, &str)| {
        let is_number = column.starts_with("points") && text.len() <= MAX_FIELD_CHARACTERS;
        match Some(text).filter(|_| is_number).and_then(fraction::parse) {
            Some(points) => show::points(&points),
            None => visible(&text.chars().take(MAX_FIELD_CHARACTERS).collect::<String>()),
        }
    };
    for row in table.records().take(MAX_ROWS + 1).map_while(Result::ok) {
        rows.push(columns.iter().zip(row.iter()).map(shown).collect());
    }
    let is_truncated = rows.len() > MAX_ROWS;
    rows.truncate(MAX_ROWS);
    (!rows.is_empty()).then_some(TablePart { title, file, head, rows, is_truncated })
}

/// The heading of a column of `sensitivity.csv`.
fn heading(column: &str) -> String {
    match column {
        "category" => "Category".into(),
        "rank" => "Rank with all tools".into(),
        "tool" => "Tool".into(),
        "points" => "Points with all tools".into(),
        "left_out" => "Tool that is left out".into(),
        "rank_removed" => "Rank if only the podium changes".into(),
        "rank_rejudged" => "Rank if judged again".into(),
        "points_rejudged" => "Points if judged again".into(),
        "changes" => "Rank differs if judged again".into(),
        other => visible(&other.replace('_', " ")),
    }
}

/// The absence that a flag describes; None of another kind.
fn absence(flag: &Flag) -> Option<Absence> {
    Some(flag).filter(|flag| flag.kind == FlagKind::Absent).and_then(|flag| Absence::parse(&flag.detail))
}

/// The detail of a flag in words.
fn flag_detail(flag: &Flag) -> String {
    absence(flag).map_or_else(|| visible(&flag.detail), |absence| absence_words(&absence))
}

/// An absence in words. A run that did not compete is a run, so its instances are not named as without one.
fn absence_words(absence: &Absence) -> String {
    let Absence { has_empty_runs, instances, declined, elsewhere } = absence;
    let missing = match (has_empty_runs, declined) {
        (true, _) => "neither value nor ending on ",
        (false, 0) => "no run on ",
        (false, _) => "",
    };
    let instances = show::counted(*instances, "instance", "instances");
    let declined = match declined {
        0 => String::new(),
        declined => format!("; did not compete on {}", show::thousands(*declined)),
    };
    let elsewhere = match elsewhere {
        Elsewhere::Models => "the entry ran on other models".to_owned(),
        Elsewhere::Examinations { ran, held } => {
            format!("the entry ran in {} of {} examinations", show::thousands(*ran), show::thousands(*held))
        }
    };
    format!("{missing}{instances} that other tools ran{declined}; {elsewhere}")
}

/// The kind of a flag in words.
fn flag_words(flag: &Flag) -> &'static str {
    match flag.kind {
        FlagKind::NoConfidence => "no confidence",
        FlagKind::Absent => {
            let has_declined = absence(flag).is_some_and(|absence| absence.declined > 0);
            match (flag.family.is_empty(), has_declined) {
                (true, false) => "no run in the examination",
                (true, true) => "did not compete in the examination",
                (false, false) => "no run on the model",
                (false, true) => "did not compete on the model",
            }
        }
        FlagKind::Contradiction => "different values given",
        FlagKind::Repeat => "value given twice",
    }
}

fn flags(contest: &Contest) -> List {
    let judgement = contest.judgement;
    let shown = |flag: &&Flag| {
        let hidden = |i: usize| contest.instance_number(i).is_none();
        let of_family = |&i: &usize| judgement.instances[i].family == flag.family;
        let family_hidden =
            || contest.input.embargo && !flag.family.is_empty() && !contest.instances.iter().any(of_family);
        contest.entry_number(flag.entry).is_some() && !flag.instance.is_some_and(hidden) && !family_hidden()
    };
    let row = |flag: &Flag| {
        vec![
            Field::Text(flag_words(flag).into()),
            Field::from(contest.entry_number(flag.entry)),
            Field::from(flag.examination),
            Field::Text(visible(&flag.family)),
            Field::from(flag.instance.and_then(|instance| contest.instance_number(instance))),
            Field::from(flag.position),
            Field::Text(flag_detail(flag)),
        ]
    };
    // A tool that has no run in a whole examination probably did not enter it: such cases are last.
    let mut flags: Vec<&Flag> = judgement.flags.iter().filter(shown).collect();
    flags.sort_by_key(|flag| flag.kind == FlagKind::Absent && flag.family.is_empty());
    List {
        columns: vec![
            ("Case", "text"),
            ("Entry", "entry"),
            ("Examination", "examination"),
            ("Model", "text"),
            ("Instance", "instance"),
            ("Position", "position"),
            ("Detail", "text"),
        ],
        rows: flags.into_iter().map(row).collect(),
    }
}

/// Link and name of each run that may be named; the link is empty where no page shows the run.
pub fn links(contest: &Contest, runs: &[RunName]) -> Vec<(String, String)> {
    let link = |run: &RunName| {
        let key = contest.key(run).filter(|&(_, instance, _)| contest.instance_number(instance).is_some());
        let path = key.map_or(String::new(), |key| contest.run_link(key));
        (path, visible(&format!("{}/{}/{}", run.entry, run.instance, run.examination)))
    };
    runs.iter().filter(|run| contest.is_shown(run)).map(link).collect()
}

/// Writes the page of marked runs and of failure classes, and its data. `attempts` is the number of attempts of each run of
/// the record; `found`: what outputs say about failures.
pub fn write_runs(
    contest: &Contest,
    attempts: &BTreeMap<RunKey, usize>,
    found: &[(RunKey, FoundFailure)],
    site: &NewSite,
) -> Result<(), ReportError> {
    let runs = list::marked_runs(contest, attempts);
    let (classes, failures) = list::failures(contest, found);
    let judgement = contest.judgement;
    let page = RunsPage {
        frame: contest.frame("Marked runs".into(), ""),
        marks: table::marks(contest, None),
        unresolved: links(contest, &judgement.unresolved),
        excluded: links(contest, &judgement.excluded),
        excluded_reason: contest.excluded_reason(),
        rows: runs.rows.len(),
        failures,
        has_record: contest.input.record.is_some(),
        of_record: judgement.is_of_record(),
    };
    site.file("runs.js", &script::call("mcc_lists", &[runs, classes]))?;
    site.page("runs.html", &page)
}

#[derive(Default)]
struct Technique<'a> {
    entries: BTreeSet<&'a str>,
    right: BTreeMap<usize, u64>,
    wrong: u64,
    unjudged: u64,
}

/// The techniques that tools stated (E-1.10), with the verdicts on the values for which they were stated; of one entry
/// if `entry` is given.
pub fn techniques(contest: &Contest, entry: Option<usize>) -> Vec<TechniqueRow> {
    let mut all: BTreeMap<&str, Technique> = BTreeMap::new();
    for block in contest.shown_blocks() {
        for cell in &block.cells {
            if contest.entry_number(cell.entry).is_none() || entry.is_some_and(|entry| cell.entry != entry) {
                continue;
            }
            for (words, verdict) in cell.techniques.iter().zip(cell.verdicts.iter()) {
                for word in words {
                    let technique = all.entry(word).or_default();
                    technique.entries.insert(&contest.entry(cell.entry).entry);
                    match verdict {
                        ValueVerdict::Right => *technique.right.entry(block.examination).or_default() += 1,
                        ValueVerdict::Wrong => technique.wrong += 1,
                        ValueVerdict::Unjudged => technique.unjudged += 1,
                        ValueVerdict::NotComputed => {}
                    }
                }
            }
        }
    }
    let count = |count: u64| if count == 0 { String::new() } else { show::thousands(count) };
    let row = |(name, technique): (&str, Technique)| TechniqueRow {
        name: visible(name),
        entries: visible(&technique.entries.into_iter().collect::<Vec<_>>().join(", ")),
        right: show::thousands(technique.right.values().sum()),
        wrong: count(technique.wrong),
        unjudged: count(technique.unjudged),
        by_examination: contest
            .examinations
            .iter()
            .map(|e| count(technique.right.get(e).copied().unwrap_or_default()))
            .collect(),
    };
    all.into_iter().map(row).collect()
}

/// Writes the page of techniques, if any was stated.
pub fn write_techniques(contest: &Contest, site: &NewSite) -> Result<(), ReportError> {
    let rows = techniques(contest, None);
    if rows.is_empty() {
        return Ok(());
    }
    let examinations = contest.examinations.iter().map(|&e| visible(&contest.judgement.examinations[e]));
    let page = TechniquesPage {
        frame: contest.frame("Techniques".into(), ""),
        examinations: examinations.collect(),
        rows,
    };
    site.page("techniques.html", &page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_a_table_that_is_too_long_is_shown_in_part() {
        let folder = tempfile::tempdir().unwrap();
        let long = "7".repeat(1_000_000);
        let table = format!("tool,points\na,3/2\nb,{long}\nc,1_0\n3,none\n");
        std::fs::write(folder.path().join("sensitivity.csv"), table).unwrap();
        let part = table_part(folder.path(), "", "sensitivity.csv").unwrap();
        let points: Vec<&str> = part.rows.iter().map(|row| row[1].as_str()).collect();
        assert_eq!(points, ["1.50", &long[..MAX_FIELD_CHARACTERS], "1_0", "none"]);
        assert_eq!(part.rows[3][0], "3");
    }

    #[test]
    fn a_flag_of_runs_that_did_not_compete_is_in_words_and_does_not_say_that_there_was_no_run() {
        let flag = |kind, detail: &str| Flag {
            kind,
            entry: 0,
            examination: 0,
            family: String::new(),
            instance: None,
            position: None,
            detail: detail.to_owned(),
        };
        let absent = |detail| {
            let flag = flag(FlagKind::Absent, detail);
            (flag_words(&flag), flag_detail(&flag))
        };
        let declined = "no run on instances that other tools ran: 3; did-not-compete on 3; the entry ran in 1 of 3 examinations";
        assert_eq!(
            absent(declined),
            (
                "did not compete in the examination",
                "3 instances that other tools ran; did not compete on 3; the entry ran in 1 of 3 examinations"
                    .to_owned()
            )
        );
        let without = "no run on instances that other tools ran: 1; the entry ran on other models";
        let words = "no run on 1 instance that other tools ran; the entry ran on other models";
        assert_eq!(absent(without), ("no run in the examination", words.to_owned()));
        let many = "neither value nor ending on instances that other tools ran: 1855; the entry ran in 1000 of 3 examinations";
        assert_eq!(
            absent(many).1,
            "neither value nor ending on 1,855 instances that other tools ran; the entry ran in 1,000 of 3 examinations"
        );
        // Only a flag of this kind is such a sentence; others have values and positions.
        assert_eq!(flag_detail(&flag(FlagKind::Repeat, without)), without);
    }
}
