//! The values of a judgement that are certified, in the order of their importance.

use mcc_judge::judgement::{Basis, Block, Judgement, Trusted, ValueVerdict, Weak};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why evidence for a value is important; the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Importance {
    /// A voter gave another value than the trusted one.
    Disputed,
    /// Unknown, because the votes are tied or split.
    Unknown,
    /// One voter gave the value, or the only vote has too little confidence.
    OneBacker,
    /// Only variants of one tool gave the value.
    OneTool,
    /// All others.
    Rest,
}

/// Which values are certified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Only {
    /// Values on which voters differ.
    Disputed,
    /// The values of weak.csv, disputed values, and unknown values with a vote.
    Weak,
    /// All values.
    #[default]
    All,
}

impl Only {
    fn has(self, importance: Importance) -> bool {
        match self {
            Self::Disputed => importance <= Importance::Unknown,
            Self::Weak => importance <= Importance::OneTool,
            Self::All => true,
        }
    }
}

/// One instance with the blocks of the judgement that are certified on it.
#[derive(Debug)]
pub struct Task {
    /// The number of the instance.
    pub instance: usize,
    /// Its most important value.
    pub importance: Importance,
    /// The numbers of its blocks, in the order of the examinations.
    pub blocks: Vec<usize>,
}

impl Task {
    /// The examinations with the positions that are certified and their ids (empty: not known), as results have them.
    pub fn questions<'a>(
        &self,
        judgement: &'a Judgement,
        only: Only,
    ) -> Vec<(&'a str, Vec<(usize, String)>)> {
        let blocks = self.blocks.iter().map(|number| &judgement.blocks[*number]);
        let questions = blocks.map(|block| {
            let all = block.trusted.iter().enumerate();
            let wanted = all.filter(|(position, _)| is_wanted(judgement, block, *position, only));
            let positions = wanted.map(|(position, trusted)| (position, trusted.id.clone())).collect();
            (judgement.examinations[block.examination].as_str(), positions)
        });
        questions.collect()
    }
}

/// The tasks of a judgement: instances in the order of their most important value, then by name. One exploration serves
/// all values of an instance.
pub fn tasks(judgement: &Judgement, only: Only, is_wanted: impl Fn(usize) -> bool) -> Vec<Task> {
    let mut tasks: BTreeMap<usize, Task> = BTreeMap::new();
    for (number, block) in judgement.blocks.iter().enumerate().filter(|(_, block)| is_wanted(block.instance))
    {
        let all = (0..block.trusted.len()).map(|position| importance(judgement, block, position));
        let Some(most) = all.filter(|importance| only.has(*importance)).min() else { continue };
        let instance = block.instance;
        let new = || Task { instance, importance: most, blocks: Vec::new() };
        let task = tasks.entry(instance).or_insert_with(new);
        task.importance = task.importance.min(most);
        task.blocks.push(number);
    }
    let mut tasks: Vec<Task> = tasks.into_values().collect();
    tasks.sort_by_key(|task| (task.importance, task.instance));
    tasks
}

/// Returns whether a value is certified with this choice.
pub fn is_wanted(judgement: &Judgement, block: &Block, position: usize, only: Only) -> bool {
    only.has(importance(judgement, block, position))
}

fn importance(judgement: &Judgement, block: &Block, position: usize) -> Importance {
    let Trusted { basis, weak, .. } = &block.trusted[position];
    let votes_against = block.cells.iter().any(|cell| {
        cell.verdicts[position] == ValueVerdict::Wrong && judgement.entries[cell.entry].status.votes()
    });
    match (basis, weak) {
        _ if votes_against => Importance::Disputed,
        (Basis::UnknownTie | Basis::UnknownSplit, _) => Importance::Unknown,
        (_, Some(Weak::SingleBacker)) | (Basis::UnknownSingle, _) => Importance::OneBacker,
        (_, Some(Weak::SingleFamily)) => Importance::OneTool,
        _ => Importance::Rest,
    }
}
