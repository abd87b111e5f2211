//! Long lists; the browser draws each from a file of data.

use super::contest::{self, Contest, Frame, RunKey};
use super::show::{self, visible};
use super::site::NewSite;
use super::{ReportError, script};
use askama::Template;
use mcc_base::Mark;
use mcc_campaign::benchkit::FoundFailure;
use mcc_edition::Status;
use mcc_judge::judgement::{Basis, Block, Cell, Ending, Trusted, ValueVerdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// Columns and rows of a list.
#[derive(Serialize)]
pub struct List {
    /// Heading and kind of each column. Kinds: `instance`, `examination` and `entry` are numbers of names (null: all);
    /// `entries` is a list of such numbers; `position` and `number` are numbers; `points` is an exact number `p/q`;
    /// `text` is text, `marks` text in a column that may be wide, and `link` a text with the path of a page.
    pub columns: Vec<(&'static str, &'static str)>,
    pub rows: Vec<Vec<Field>>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub enum Field {
    Number(u64),
    Numbers(Vec<usize>),
    Text(String),
    /// Text, and the path of the page that it links to.
    Link(String, String),
    Nothing,
}

impl From<usize> for Field {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

impl From<Option<usize>> for Field {
    fn from(number: Option<usize>) -> Self {
        number.map_or(Self::Nothing, Self::from)
    }
}

/// The instances with the numbers of their values, trusted values, complete runs and wrong values.
fn instances(contest: &Contest) -> List {
    let row = |(number, &index): (usize, &usize)| {
        let instance = &contest.judgement.instances[index];
        let blocks = || contest.examinations.iter().filter_map(|&e| contest.block(e, index));
        let values: usize = blocks().map(|block| block.trusted.len()).sum();
        let known = |block: &Block| block.trusted.iter().filter(|trusted| trusted.value.is_some()).count();
        let cells = || blocks().flat_map(|block| &block.cells);
        let shown = |cell: &&Cell| contest.entry_number(cell.entry).is_some();
        let wrong: u64 = cells().filter(shown).map(|cell| cell.verdicts.count(ValueVerdict::Wrong)).sum();
        vec![
            Field::from(number),
            Field::Text(visible(&instance.family)),
            Field::Text(visible(&instance.status)),
            Field::from(values),
            Field::from(blocks().map(known).sum::<usize>()),
            Field::from(cells().filter(shown).filter(|cell| cell.complete).count()),
            Field::from(wrong as usize),
        ]
    };
    List {
        columns: vec![
            ("Instance", "instance"),
            ("Model", "text"),
            ("Known or surprise", "text"),
            ("Values", "number"),
            ("Trusted", "number"),
            ("Complete runs", "number"),
            ("Wrong values", "number"),
        ],
        rows: contest.instances.iter().enumerate().map(row).collect(),
    }
}

/// The values on which tools differ, and those trusted on weak evidence.
pub fn evidence(contest: &Contest) -> List {
    let mut rows = Vec::new();
    for block in contest.shown_blocks() {
        for (position, trusted) in block.trusted.iter().enumerate() {
            let entries_with = |verdicts: &[ValueVerdict]| -> Vec<usize> {
                // A virtual entry is not a witness: it repeats the values of others.
                let has_verdict = |cell: &&Cell| {
                    verdicts.contains(&cell.verdicts[position])
                        && contest.entry(cell.entry).status != Status::Virtual
                };
                block
                    .cells
                    .iter()
                    .filter(has_verdict)
                    .filter_map(|cell| contest.entry_number(cell.entry))
                    .collect()
            };
            let against = entries_with(&[ValueVerdict::Wrong]);
            let Some(why) = doubt_kind(trusted, !against.is_empty()) else { continue };
            let is_weak = trusted.weak.is_some_and(|weak| show::weak(weak) == why);
            rows.push((
                is_weak,
                vec![
                    Field::Text(why),
                    Field::from(contest.instance_number(block.instance)),
                    Field::from(block.examination),
                    Field::from(position),
                    Field::Text(trusted.value.as_ref().map_or("unknown".into(), |value| {
                        let value = show::value(value);
                        show::shortened(&value).unwrap_or(value)
                    })),
                    Field::Text(show::basis(trusted.basis).into()),
                    Field::Numbers(against),
                    Field::Numbers(entries_with(&[ValueVerdict::Right, ValueVerdict::Unjudged])),
                ],
            ));
        }
    }
    // Disagreements first: they are rarer than weak values.
    rows.sort_by_key(|(is_weak, _)| *is_weak);
    List {
        columns: vec![
            ("Reason", "text"),
            ("Instance", "instance"),
            ("Examination", "examination"),
            ("Position", "position"),
            ("Trusted value", "text"),
            ("How decided", "text"),
            ("Contradicted by", "entries"),
            ("Given by", "entries"),
        ],
        rows: rows.into_iter().map(|(_, row)| row).collect(),
    }
}

/// The reason why a value needs review, if there is one.
fn doubt_kind(trusted: &Trusted, is_contradicted: bool) -> Option<String> {
    match trusted.basis {
        Basis::Override => Some("set by the organizers".into()),
        basis if is_contradicted || basis.is_of_differing_votes() => Some("tools differ".into()),
        _ => trusted.weak.map(|weak| show::weak(weak).into()),
    }
}

/// Runs that are marked, ended in an infrastructure failure or took more than one attempt. `attempts` is the number of
/// attempts of each run; empty without a record.
pub fn marked_runs(contest: &Contest, attempts: &BTreeMap<RunKey, usize>) -> List {
    let mut rows = Vec::new();
    let cells = || contest.shown_blocks().flat_map(|block| &block.cells);
    let mut runs_by_mark: BTreeMap<&Mark, usize> = BTreeMap::new();
    cells().flat_map(|cell| &cell.marks).for_each(|mark| *runs_by_mark.entry(mark).or_default() += 1);
    for block in contest.shown_blocks() {
        for cell in &block.cells {
            let Some(entry) = contest.entry_number(cell.entry) else { continue };
            // The marks of the fewest runs first: a cell shows its beginning.
            let mut marks = cell.marks.clone();
            marks.sort_by_key(|mark| runs_by_mark[mark]);
            let tries = attempts.get(&(cell.entry, block.instance, block.examination)).copied();
            let has_failures = cell.ending == Ending::Infrastructure || tries.is_some_and(|tries| tries > 1);
            if cell.marks.is_empty() && !has_failures {
                continue;
            }
            rows.push(vec![
                Field::from(entry),
                Field::Text(show::marks(&marks)),
                Field::from(contest.instance_number(block.instance)),
                Field::from(block.examination),
                Field::Text(
                    if cell.was_made() { mcc_judge::show::ending(cell.ending) } else { "not run yet" }.into(),
                ),
                Field::from(tries),
            ]);
        }
    }
    List {
        columns: vec![
            // Marks are visible on a narrow screen, too.
            ("Entry", "entry"),
            ("Marks", "marks"),
            ("Instance", "instance"),
            ("Examination", "examination"),
            ("Ending", "text"),
            ("Attempts", "number"),
        ],
        rows,
    }
}

/// The runs with a failure class or named values, and the number of runs of each entry and class, with the filter that finds
/// them.
pub fn failures(contest: &Contest, found: &[(RunKey, FoundFailure)]) -> (List, Vec<[String; 4]>) {
    let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut rows = Vec::new();
    for ((entry, instance, examination), found) in found {
        let (Some(number), Some(instance)) =
            (contest.entry_number(*entry), contest.instance_number(*instance))
        else {
            continue;
        };
        if let Some(class) = &found.class {
            *sums.entry((&contest.entry(*entry).entry, class)).or_default() += 1;
        }
        let values = found.values.iter().map(|(name, value)| format!("{name}={value}"));
        let text = |text: &Option<String>| Field::Text(visible(text.as_deref().unwrap_or_default()));
        rows.push(vec![
            Field::from(number),
            Field::from(instance),
            Field::from(*examination),
            text(&found.class),
            text(&found.line),
            Field::Text(visible(&values.collect::<Vec<_>>().join("; "))),
        ]);
    }
    let columns = vec![
        ("Entry", "entry"),
        ("Instance", "instance"),
        ("Examination", "examination"),
        ("Failure class", "text"),
        ("Line", "text"),
        ("Values", "text"),
    ];
    let sum = |((entry, class), runs): ((&str, &str), u64)| {
        let filter = contest::in_fragment(&format!("{entry} {class}"));
        [visible(entry), visible(class), show::thousands(runs), filter]
    };
    (List { columns, rows }, sums.into_iter().map(sum).collect())
}

#[derive(Template)]
#[template(path = "instances.html")]
struct InstancesPage {
    frame: Frame,
    count: String,
}

/// The page of all instances.
pub fn write_instances(contest: &Contest, site: &NewSite) -> Result<(), ReportError> {
    site.file("instances.js", &script::call("mcc_list", &instances(contest)))?;
    let page = InstancesPage {
        frame: contest.frame("Instances".into(), ""),
        count: show::counted(contest.instances.len() as u64, "instance", "instances"),
    };
    site.page("instances.html", &page)
}
