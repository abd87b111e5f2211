//! The tools of entries (E-4.6b): names are compared without case, and doubtful ones are noted.

use crate::judgement::Entry;
use mcc_edition::{Edition, same_name};
use std::collections::BTreeMap;

/// What the comparison of two campaigns adds to the names of the entries of the second one.
pub(crate) const SECOND: &str = " (B)";

/// Gives tools whose names differ only by case one name: that of an entry, otherwise the first one.
pub(super) fn unify(entries: &mut [Entry]) {
    let mut names: BTreeMap<String, (bool, String)> = BTreeMap::new();
    for Entry { tool, .. } in &*entries {
        let candidate = (entries.iter().all(|other| other.entry != *tool), tool.clone());
        let name = names.entry(tool.to_lowercase()).or_insert_with(|| candidate.clone());
        *name = candidate.min(name.clone());
    }
    for Entry { tool, .. } in entries {
        tool.clone_from(&names[&tool.to_lowercase()].1);
    }
}

/// Returns notes on entries whose tool has no entry of its own, and on entries whose names differ only by case or suffix.
/// A tool that only has variants with other names is noted if an entry belongs to it by its suffix, or if it has one entry.
pub(super) fn notes(edition: &Edition, entries: &[Entry]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut similar: BTreeMap<String, Vec<&Entry>> = BTreeMap::new();
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by_key(|entry| &entry.entry);
    for named in sorted {
        let Entry { entry, tool, .. } = named;
        let suffix = edition.suffix_of(entry);
        let is_alone = entries.iter().filter(|other| other.tool == *tool).count() == 1;
        let has_own_entry = entries
            .iter()
            .any(|Entry { entry, .. }| same_name(entry.strip_suffix(SECOND).unwrap_or(entry), tool));
        if !has_own_entry && (suffix.is_some() || is_alone) {
            notes.push(format!(
                "entry {entry} belongs to the tool {tool}, and no entry has the name {tool}; if the tool is wrong, give a \
                 table with --tools (E-4.6b)"
            ));
        }
        let name = suffix.map_or(entry.as_str(), |(rest, _)| rest);
        similar.entry(name.to_lowercase()).or_default().push(named);
    }
    for alike in similar.values().filter(|alike| alike.len() > 1) {
        let names = alike.iter().map(|entry| format!("{} (tool {})", entry.entry, entry.tool));
        notes.push(format!(
            "the names of these entries differ only by case or suffix: {}; check that their tools are right, and give a \
             table with --tools if not (E-4.6b)",
            names.collect::<Vec<_>>().join(", ")
        ));
    }
    notes
}
