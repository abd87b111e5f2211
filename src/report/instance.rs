//! The file of data of an instance: its judged values and runs and, with a record, their attempts and measurements.

use super::certified;
use super::contest::{self, Contest, Frame, Model, RunKey};
use super::firings::Firings;
use super::run::Recorded;
use super::show::{self, visible};
use super::site::NewSite;
use super::{KeptAttempt, ReportError, pictures, plots, script};
use askama::Template;
use mcc_judge::evidence_statements::open_evidence;
use mcc_judge::judgement::{Block, Cell, Trusted, Weak};
use mcc_model::{Net, NetKind};
use serde::Serialize;
use std::io::{Read as _, Seek as _};

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
    /// Path and description of the picture of the net; None if it is not known or too large.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<(String, String)>,
    /// Why the colours of the net, and so its picture, are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread_colours: Option<String>,
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    certified: Vec<certified::Label>,
    /// Position, name and path of each file of evidence, and whether it is a witness, whose readable run is in PATH.js.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<(usize, String, String, bool)>,
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
    let blocks = contest.examinations.iter().filter_map(|&e| contest.block(e, instance));
    let name = &contest.judgement.instances[instance].instance;
    let refused = |problem| {
        ReportError::Refused(format!(
            "{problem}; correct the archive, or remove it from the folder of --instances"
        ))
    };
    let model = contest.input.models.map(|read| read(name)).transpose().map_err(refused)?.flatten();
    let model = model.unwrap_or_default();
    let mut recorded = Recorded::default();
    for (key, attempts) in runs {
        recorded.add(contest, *key, attempts, model.net.as_ref(), site)?;
    }
    let net = model.net.as_ref();
    let coloured = model.coloured.as_ref();
    let drawn = net.filter(|_| model.unread_colours.is_none());
    let picture = drawn.and_then(|net| plots::net(contest.net_name(instance), &visible(name), net, coloured));
    if let Some(picture) = &picture {
        pictures::write_one("instances", picture, site)?;
    }
    let blocks = blocks.map(|block| block_data(contest, block, &model, site));
    let data = InstanceData {
        instance: contest.shown_instance(instance)?,
        weight: contest.judgement.instances[instance].weight.to_string(),
        blocks: blocks.collect::<Result<_, _>>()?,
        recorded: contest.input.record.is_some().then_some(recorded),
        net: net.map_or(String::new(), net_text),
        picture: picture.map(|picture| (format!("instances/{}", picture.name), picture.description)),
        unread_colours: model.unread_colours.as_deref().map(visible),
    };
    site.file(&contest.instance_path(instance), &script::call("mcc_instance", &data))
}

/// The longest formula that a page shows, in characters.
const MAX_FORMULA: usize = 4000;

/// The numbers of places, transitions and arcs of a net as words, and of tokens if it is not coloured.
fn net_text(net: &Net) -> String {
    let arcs = net.transitions.iter().map(|transition| transition.inputs.len() + transition.outputs.len());
    let parts = [
        show::counted(net.places.len() as u64, "place", "places"),
        show::counted(net.transitions.len() as u64, "transition", "transitions"),
        show::counted(arcs.sum::<usize>() as u64, "arc", "arcs"),
    ];
    if net.kind == NetKind::Coloured {
        return format!("coloured, with {}", parts.join(", "));
    }
    let tokens = net.places.iter().fold(0_u64, |sum, place| sum.saturating_add(place.initial));
    format!("{}; initially {}", parts.join(", "), show::counted(tokens, "token", "tokens"))
}

/// Largest witness whose runs are shown, in bytes: a browser cannot show more.
const MAX_SHOWN_WITNESS: u64 = 64 << 20;

/// Copies the evidence of a block's values to the site, and writes the runs of its witnesses.
fn evidence(
    contest: &Contest,
    block: &Block,
    net: Option<&Net>,
    site: &NewSite,
) -> Result<Vec<(usize, String, String, bool)>, ReportError> {
    let Some(folder) = contest.input.certified else { return Ok(vec![]) };
    let mut links = Vec::new();
    for (position, trusted) in block.trusted.iter().enumerate() {
        let files = trusted.certified.iter().flat_map(|certified| certified.evidence.split(' '));
        for name in files.filter(|name| !name.is_empty()) {
            let failed = |error| {
                let from = folder.join(name);
                ReportError::Refused(format!(
                    "{}: {error}; give --certified the folder of `certify` that was judged",
                    from.display()
                ))
            };
            let mut file = open_evidence(folder, name).map_err(failed)?;
            let path = contest.evidence_path(block.instance, name);
            site.copy(&mut file, &path)?;
            let is_witness = name.ends_with(".witness.json")
                && file.metadata().map_err(failed)?.len() <= MAX_SHOWN_WITNESS;
            if is_witness {
                let mut text = String::new();
                file.rewind().and_then(|()| file.read_to_string(&mut text)).map_err(failed)?;
                site.file(&format!("{path}.js"), &script::call("mcc_outputs", &Firings::read(&text, net)))?;
            }
            links.push((position, visible(name), path, is_witness));
        }
    }
    Ok(links)
}

fn block_data(
    contest: &Contest,
    block: &Block,
    model: &Model,
    site: &NewSite,
) -> Result<BlockData, ReportError> {
    let judgement = contest.judgement;
    let name = &judgement.instances[block.instance].instance;
    let examination = &judgement.examinations[block.examination];
    let mut ids: Vec<String> = block.trusted.iter().map(|trusted| trusted.id.clone()).collect();
    // A table has no ids, but the formulas of the archive, which are shown in their order, do.
    if ids.iter().all(String::is_empty) {
        let known = model.ids.get(examination).filter(|known| known.len() == ids.len());
        ids = known.cloned().unwrap_or_default();
    }
    let prefix = format!("{name}-{examination}-");
    let is_plain = |(position, id): (usize, &String)| {
        let number = id.strip_prefix(&prefix).filter(|number| number.len() == 2);
        number.and_then(|number| number.parse().ok()) == Some(position)
    };
    let plain = !ids.is_empty() && ids.iter().enumerate().all(is_plain) && *name == visible(name);
    let ids = ids.iter().map(|id| visible(id)).collect();
    let weak = |(position, trusted): (usize, &Trusted)| trusted.weak.map(|weak| (position, weak));
    let reasons = |(position, trusted): (usize, &Trusted)| {
        (!trusted.reason.is_empty()).then(|| (position, visible(&trusted.reason)))
    };
    let formulas = model.formulas.get(examination);
    // Of a model with other properties than the judged ones no position is known.
    let formulas = formulas.filter(|formulas| formulas.len() == block.trusted.len());
    let formula = |text: &String| match text.char_indices().nth(MAX_FORMULA) {
        Some((end, _)) => format!("{}… (longer than a page shows)", visible(&text[..end])),
        None => visible(text),
    };
    Ok(BlockData {
        examination: block.examination,
        formulas: formulas.into_iter().flatten().map(formula).collect(),
        ids: (!plain).then_some(ids),
        values: block.trusted.iter().map(|trusted| trusted.value.as_ref().map(show::value)).collect(),
        bases: PerPosition::new(block.trusted.iter().map(|trusted| trusted.basis.to_string()).collect()),
        weak: block.trusted.iter().enumerate().filter_map(weak).collect(),
        reasons: block.trusted.iter().enumerate().filter_map(reasons).collect(),
        certified: certified::labels(contest, block),
        evidence: evidence(contest, block, model.net.as_ref(), site)?,
        cells: block.cells.iter().filter_map(|cell| cell_data(contest, block, cell)).collect(),
    })
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
