//! The file of data of an instance: its judged values and runs and, with a record, their attempts and measurements.

use super::certified;
use super::contest::{self, Contest, Frame, Model, RunKey};
use super::run::Recorded;
use super::show::{self, visible};
use super::site::NewSite;
use super::{KeptAttempt, ReportError, script};
use askama::Template;
use mcc_judge::judgement::{Block, Cell, Trusted, Weak};
use serde::Serialize;

/// The page that shows the instance named in the fragment of its URL.
#[derive(Template)]
#[template(path = "instance.html")]
pub struct InstancePage {
    pub frame: Frame,
}

#[derive(Serialize)]
struct InstanceData {
    instance: usize,
    weight: String,
    blocks: Vec<BlockData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<Recorded>,
    /// The size of the net in words; empty if it is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    net: String,
}

/// One examination. Lists are indexed by position, or have the position as first part.
#[derive(Serialize)]
struct BlockData {
    examination: usize,
    /// The property ids; None if they are INSTANCE-EXAMINATION-NN, empty if the source has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<String>>,
    /// The trusted values; None if unknown.
    values: Vec<Option<String>>,
    /// The formulas as text; empty if they are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    formulas: Vec<String>,
    bases: PerPosition,
    /// Position, and kind of weak evidence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    weak: Vec<(usize, Weak)>,
    /// Position, and the organizers' reason for an override.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<(usize, String)>,
    /// Position, label of the evidence, and its explanation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    certified: Vec<(usize, &'static str, String)>,
    cells: Vec<CellData>,
}

/// The run of one entry: numbers of the entry and of the ending, verdicts (one letter if all are equal), points, cost
/// (CPU and wall-clock time in ms, memory in KiB; empty if not measured), and the fields that few runs have.
///
/// A contest has a hundred thousand of these: the names of the first five fields would be a third of the data.
#[derive(Serialize)]
struct CellData(usize, usize, String, String, Vec<u64>, RareFields);

/// Fields that few cells have.
#[derive(Serialize)]
struct RareFields {
    /// Position and given value, where it differs from the trusted value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    given: Vec<(usize, String)>,
    #[serde(skip_serializing_if = "is_zero")]
    marks: usize,
    #[serde(skip_serializing_if = "PerPosition::is_empty")]
    techniques: PerPosition,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arrived: Option<Arrived>,
}

/// When the values arrived, by position, in ms; and when half and all of them had.
#[derive(Serialize)]
struct Arrived(Vec<Option<u64>>, [Option<u64>; 2]);

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Texts by position; one text if all are equal.
#[derive(Serialize)]
#[serde(untagged)]
enum PerPosition {
    All(String),
    Each(Vec<String>),
}

impl PerPosition {
    fn new(texts: Vec<String>) -> Self {
        match texts.first() {
            Some(first) if texts.iter().all(|text| text == first) => Self::All(first.clone()),
            _ => Self::Each(texts),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::All(text) => text.is_empty(),
            Self::Each(texts) => texts.is_empty(),
        }
    }
}

/// Writes the data of an instance and the raw outputs of its runs. `runs` is empty without a record.
pub fn write(
    contest: &Contest,
    instance: usize,
    runs: &[(RunKey, Vec<KeptAttempt>)],
    site: &NewSite,
) -> Result<(), ReportError> {
    let mut recorded = Recorded::default();
    for (key, attempts) in runs {
        recorded.add(contest, *key, attempts, site)?;
    }
    let blocks = contest.examinations.iter().filter_map(|&e| contest.block(e, instance));
    let name = &contest.judgement.instances[instance].instance;
    let model = contest.models.map(|read| read(name)).transpose().map_err(ReportError::Model)?.flatten();
    let model = model.unwrap_or_default();
    let data = InstanceData {
        instance: contest.shown_instance(instance)?,
        weight: contest.judgement.instances[instance].weight.to_string(),
        blocks: blocks.map(|block| block_data(contest, block, &model)).collect(),
        recorded: contest.has_record.then_some(recorded),
        net: model.size.map_or(String::new(), net_text),
    };
    site.file(&contest.instance_path(instance), &script::call("mcc_instance", &data))
}

/// The longest formula that a page shows, in characters.
const MAX_FORMULA: usize = 4000;

/// The numbers of places, transitions, arcs and tokens of a net as words.
fn net_text([places, transitions, arcs, tokens]: [u64; 4]) -> String {
    let parts = [
        show::counted(places, "place", "places"),
        show::counted(transitions, "transition", "transitions"),
        show::counted(arcs, "arc", "arcs"),
    ];
    format!("{}; initially {}", parts.join(", "), show::counted(tokens, "token", "tokens"))
}

fn block_data(contest: &Contest, block: &Block, model: &Model) -> BlockData {
    let judgement = contest.judgement;
    let name = &judgement.instances[block.instance].instance;
    let prefix = format!("{name}-{}-", judgement.examinations[block.examination]);
    let is_plain = |(position, trusted): (usize, &Trusted)| {
        let number = trusted.id.strip_prefix(&prefix).filter(|number| number.len() == 2);
        number.and_then(|number| number.parse().ok()) == Some(position)
    };
    let plain = block.trusted.iter().enumerate().all(is_plain) && *name == visible(name);
    let mut ids: Vec<String> = block.trusted.iter().map(|trusted| visible(&trusted.id)).collect();
    if ids.iter().all(String::is_empty) {
        ids.clear();
    }
    let weak = |(position, trusted): (usize, &Trusted)| trusted.weak.map(|weak| (position, weak));
    let reasons = |(position, trusted): (usize, &Trusted)| {
        (!trusted.reason.is_empty()).then(|| (position, visible(&trusted.reason)))
    };
    let formulas = model.formulas.get(&judgement.examinations[block.examination]);
    // Of a model with other properties than the judged ones no position is known.
    let formulas = formulas.filter(|formulas| formulas.len() == block.trusted.len());
    let formula = |text: &String| match text.char_indices().nth(MAX_FORMULA) {
        Some((end, _)) => format!("{}… (longer than a page shows)", visible(&text[..end])),
        None => visible(text),
    };
    BlockData {
        examination: block.examination,
        formulas: formulas.into_iter().flatten().map(formula).collect(),
        ids: (!plain).then_some(ids),
        values: block.trusted.iter().map(|trusted| trusted.value.as_ref().map(show::value)).collect(),
        bases: PerPosition::new(block.trusted.iter().map(|trusted| trusted.basis.to_string()).collect()),
        weak: block.trusted.iter().enumerate().filter_map(weak).collect(),
        reasons: block.trusted.iter().enumerate().filter_map(reasons).collect(),
        certified: certified::labels(contest, block),
        cells: block.cells.iter().filter_map(|cell| cell_data(contest, block, cell)).collect(),
    }
}

/// None for an entry that is not shown because it resigned (rule P-4).
fn cell_data(contest: &Contest, block: &Block, cell: &Cell) -> Option<CellData> {
    let entry = contest.entry_number(cell.entry)?;
    let other = |(position, value): (usize, &Option<_>)| {
        let value = value.as_ref().filter(|_| *value != block.trusted[position].value);
        value.map(|value| (position, show::value(value)))
    };
    let stated = |words: &Vec<String>| visible(&words.join(" "));
    let cost = cell.cost.map(|cost| [cost.cpu_ms, cost.wall_ms].into_iter().chain(cost.memory_kib).collect());
    let alike = cell.verdicts.windows(2).all(|pair| pair[0] == pair[1]);
    let shown = if alike { 1 } else { cell.verdicts.len() };
    let verdicts = cell.verdicts.iter().take(shown).map(|verdict| verdict.letter()).collect();
    let rest = RareFields {
        given: cell.values.iter().enumerate().filter_map(other).collect(),
        marks: contest.marks[&cell.marks],
        techniques: PerPosition::new(cell.techniques.iter().map(stated).collect()),
        remarks: cell.remarks.iter().map(|remark| visible(remark)).collect(),
        arrived: (!cell.arrived_ms.is_empty())
            .then(|| Arrived(cell.arrived_ms.clone(), cell.half_and_all_ms())),
    };
    let ending = contest::ending_number(cell.ending);
    Some(CellData(entry, ending, verdicts, cell.points.to_string(), cost.unwrap_or_default(), rest))
}
