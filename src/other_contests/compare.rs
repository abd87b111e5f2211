//! The parts of a judgement of SV-COMP or CRV that a comparison shows.

use crate::{Block, CategoryPlace, Judgement, Podium, Points};
use mcc_judge::judgement::Entry;
use mcc_judge::shared::{
    BlockName, BlockView, ComparedAnswer, ComparedPlace, EndingOrVerdict, JudgementSide, Podiums, RunView,
    Scores,
};
use std::collections::{BTreeMap, BTreeSet};

impl JudgementSide for Judgement {
    const POSITIONS: bool = false;
    const TOOL_OF: &'static str = "of team";
    const HINT: &'static str = "";

    fn contest(&self) -> &str {
        &self.contest
    }

    /// The settings of the edition and the categories, which the judgement holds separately.
    fn settings(&self) -> serde_json::Value {
        let mut settings = serde_json::to_value(&self.edition).unwrap_or_default();
        for category in &self.categories {
            let mut facts = format!("{} {}", category.tasks, self.task_words().1);
            for parent in category.parent.iter().chain(&category.more_parents) {
                facts += &format!(", part of {}", self.categories[*parent].category);
            }
            if !category.held {
                facts += &format!(", no podium: {}", category.note);
            } else if !category.note.is_empty() {
                facts += &format!(", {}", category.note);
            }
            settings["categories"][&category.category] = facts.into();
        }
        settings
    }

    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The categories of each instance.
    fn instances(&self) -> BTreeMap<String, String> {
        let mut instances: BTreeMap<String, String> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for block in &self.blocks {
            if seen.insert((&block.instance, block.category)) {
                let listed = instances.entry(block.instance.clone()).or_default();
                *listed += if listed.is_empty() { "" } else { ", " };
                *listed += &self.categories[block.category].category;
            }
        }
        instances
    }

    fn scores(&self) -> Scores<'_> {
        let named = self.scores.iter().filter_map(|score| {
            let (entry, category) = (&self.entries[score.entry], &self.categories[score.category]);
            Some(((entry.entry.as_str(), category.category.as_str(), None), &score.points.as_ref()?.0))
        });
        named.collect()
    }

    fn parts(&self) -> Scores<'_> {
        let mut parts = Scores::new();
        for score in &self.scores {
            let (entry, category) =
                (&self.entries[score.entry].entry, &self.categories[score.category].category);
            for (part, Points(points)) in self.parts.iter().zip(&score.parts) {
                parts.insert((entry, category, Some(part)), points);
            }
        }
        parts
    }

    fn podiums(&self) -> Podiums<'_> {
        let place = |CategoryPlace { rank, entry, points, medal, .. }: &CategoryPlace| {
            let place = ComparedPlace { rank: *rank, medal: *medal, points: points.clone() };
            (self.entries[*entry].entry.clone(), place)
        };
        let named = |podium: &Podium| {
            let category = self.categories[podium.category].category.as_str();
            (category, podium.places.iter().map(place).collect())
        };
        self.podiums.iter().map(named).collect()
    }

    fn blocks(&self) -> Vec<BlockName> {
        let name = |block: &Block| BlockName {
            instance: block.instance.clone(),
            examination: self.categories[block.category].category.clone(),
            property: block.property.clone(),
        };
        self.blocks.iter().map(name).collect()
    }

    fn block(&self, at: usize) -> BlockView<'_> {
        let block = &self.blocks[at];
        let runs = block.cells.iter().map(|cell| RunView {
            entry: &self.entries[cell.entry].entry,
            answers: vec![ComparedAnswer::words(&cell.answer)],
            how_ended: Some(EndingOrVerdict::Verdict(cell.verdict)),
            points: &cell.points,
            parts: self
                .parts
                .iter()
                .map(String::as_str)
                .zip(cell.parts.iter().map(|Points(points)| points))
                .collect(),
            time_ms: cell.measurement(&["cpu_s", "time_s"], 1000),
            memory_bytes: cell.measurement(&["memory_mb"], 1_000_000),
        });
        BlockView { values: vec![(ComparedAnswer::words(&block.expected), None)], runs: runs.collect() }
    }
}
