//! The parts of a judgement that are compared, for the MCC and for other contests.

use super::{BlockName, ComparedPlace, EndingOrVerdict};
use crate::judgement::{Basis, Block, Ending, Entry, Judgement, PodiumPlace};
use mcc_campaign::benchkit::Value;
use num_rational::BigRational;
use std::collections::BTreeMap;
use std::fmt;

/// Points by entry, examination (or category) and part; without a part all points.
pub type Scores<'j> = BTreeMap<(&'j str, &'j str, Option<&'j str>), &'j BigRational>;

/// Places by category and entry.
pub type Podiums<'j> = Vec<(&'j str, BTreeMap<String, ComparedPlace>)>;

/// A judgement as one side of a comparison.
pub trait JudgementSide {
    /// Whether a block has several numbered values.
    const POSITIONS: bool;
    /// Words between an entry and its `tool`.
    const TOOL_OF: &'static str;
    /// A possible reason why the judgements have no run in common; may be empty.
    const HINT: &'static str;

    /// `mcc`, `sv-comp` or `crv`.
    fn contest(&self) -> &str;
    /// The settings of the edition.
    fn settings(&self) -> serde_json::Value;
    /// The entries, with tool, status and note.
    fn entries(&self) -> &[Entry];
    /// Facts about each instance as text, by its name.
    fn instances(&self) -> BTreeMap<String, String>;
    /// Points by entry and examination.
    fn scores(&self) -> Scores<'_>;
    /// Parts of the points by entry, category and part; empty where points have no parts.
    fn parts(&self) -> Scores<'_> {
        Scores::new()
    }
    /// Places by category, in order, and by entry.
    fn podiums(&self) -> Podiums<'_>;
    /// The names of the blocks, in order.
    fn blocks(&self) -> Vec<BlockName>;
    /// A block by its index in `blocks`.
    fn block(&self, at: usize) -> BlockView<'_>;
}

/// One examination on one instance.
pub struct BlockView<'j> {
    /// Trusted values by position.
    pub values: Vec<KnownValue<'j>>,
    /// The runs of all entries.
    pub runs: Vec<RunView<'j>>,
}

/// A trusted value and its basis; in other contests the expected answer without a basis.
pub type KnownValue<'j> = (Option<ComparedAnswer<'j>>, Option<Basis>);

/// One run of a block.
pub struct RunView<'j> {
    /// Name of the entry.
    pub entry: &'j str,
    /// Its answers by position.
    pub answers: Vec<Option<ComparedAnswer<'j>>>,
    /// How it ended, or the verdict on it. None if the source does not state it.
    pub how_ended: Option<EndingOrVerdict>,
    /// Points with weights.
    pub points: &'j BigRational,
    /// The parts of the points with their names (CRV).
    pub parts: Vec<(&'j str, &'j BigRational)>,
    /// CPU time (CRV: execution time) in milliseconds, if known.
    pub time_ms: Option<u64>,
    /// Peak of memory in bytes, if known.
    pub memory_bytes: Option<u64>,
}

/// An answer: a value of the MCC, or the text of an answer of another contest.
#[derive(Clone, Copy)]
pub enum ComparedAnswer<'j> {
    /// A value of the MCC.
    Value(&'j Value),
    /// The answer as the results of another contest state it.
    Words(&'j str),
}

impl<'j> ComparedAnswer<'j> {
    /// The words of an answer; None if there are none.
    pub fn words(words: &'j str) -> Option<Self> {
        (!words.is_empty()).then_some(Self::Words(words))
    }

    /// Whether two answers are the same. A value published with 5 digits equals the exact value.
    pub fn same(a: Option<Self>, b: Option<Self>) -> bool {
        match (a, b) {
            (Some(Self::Value(a)), Some(Self::Value(b))) => a == b || a.is_same(b),
            (Some(Self::Words(a)), Some(Self::Words(b))) => a == b,
            (a, b) => a.is_none() && b.is_none(),
        }
    }
}

impl fmt::Display for ComparedAnswer<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(out),
            Self::Words(words) => out.write_str(words),
        }
    }
}

impl JudgementSide for Judgement {
    const POSITIONS: bool = true;
    const TOOL_OF: &'static str = "variant of";
    const HINT: &'static str = " (runs on obfuscated instances are judged with --names)";

    fn contest(&self) -> &str {
        "mcc"
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::to_value(&self.edition).unwrap_or_default()
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn instances(&self) -> BTreeMap<String, String> {
        let facts = self
            .instances
            .iter()
            .map(|instance| format!("{}, {}, weight {}", instance.family, instance.status, instance.weight));
        self.instances.iter().map(|instance| instance.instance.clone()).zip(facts).collect()
    }

    fn scores(&self) -> Scores<'_> {
        let named = self.scores.iter().map(|score| {
            let (entry, examination) = (&self.entries[score.entry], &self.examinations[score.examination]);
            ((entry.entry.as_str(), examination.as_str(), None), &score.normalized)
        });
        named.collect()
    }

    fn podiums(&self) -> Podiums<'_> {
        let place = |PodiumPlace { rank, entry, points, medal, .. }: &PodiumPlace| {
            let place = ComparedPlace { rank: *rank, medal: *medal, points: points.clone() };
            (self.entries[*entry].entry.clone(), place)
        };
        let podiums = self.podiums.iter();
        podiums.map(|podium| (podium.category.as_str(), podium.places.iter().map(place).collect())).collect()
    }

    fn blocks(&self) -> Vec<BlockName> {
        let name = |block: &Block| BlockName {
            instance: self.instances[block.instance].instance.clone(),
            examination: self.examinations[block.examination].clone(),
            property: String::new(),
        };
        self.blocks.iter().map(name).collect()
    }

    fn block(&self, at: usize) -> BlockView<'_> {
        let block = &self.blocks[at];
        let values = block
            .trusted
            .iter()
            .map(|trusted| (trusted.value.as_ref().map(ComparedAnswer::Value), Some(trusted.basis)));
        let runs = block.cells.iter().map(|cell| RunView {
            entry: &self.entries[cell.entry].entry,
            answers: cell.values.iter().map(|value| value.as_ref().map(ComparedAnswer::Value)).collect(),
            how_ended: (cell.ending != Ending::NotStated).then_some(EndingOrVerdict::Ending(cell.ending)),
            points: &cell.points,
            parts: Vec::new(),
            time_ms: cell.cost.map(|cost| cost.cpu_ms),
            memory_bytes: cell.cost.and_then(|cost| cost.memory_kib).map(|kib| kib.saturating_mul(1024)),
        });
        BlockView { values: values.collect(), runs: runs.collect() }
    }
}
