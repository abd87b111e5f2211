//! The facts of a campaign that its record keeps: enough to judge it without campaign file and archives, and to detect
//! changes before it is resumed.

use super::Disk;
use mcc_campaign::{Campaign, EntryFacts, InstanceFacts};
use mcc_edition::Edition;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The facts of a campaign, as its record keeps them. The default has no entries and instances.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignFacts {
    /// The text of campaign.toml when the record was created.
    pub campaign: String,
    /// `Campaign::settings`. Without `[hosts]`: jobs and retries may change when the campaign is resumed.
    pub settings: BTreeMap<String, String>,
    /// The edition with the campaign's overrides applied, as JSON.
    pub edition: String,
    /// Reference disk, kernel, initrd, inputs disk and one disk per entry, by role (`inputs`, `disk LoLA`).
    pub disks: Vec<Disk>,
    /// The entries, in the order of the campaign.
    pub entries: Vec<EntryFacts>,
    /// The instances that have runs.
    pub instances: Vec<InstanceFacts>,
    /// Attempts that a run gets after its first one ended in an infrastructure failure.
    pub retries: u32,
}

impl CampaignFacts {
    /// The facts of a campaign. `edition` is the effective one (`Campaign::effective`), `instances` are those that have
    /// runs, `disks` are all disks that machines use.
    pub fn new(
        campaign: &Campaign,
        edition: &Edition,
        instances: Vec<InstanceFacts>,
        disks: Vec<Disk>,
    ) -> Self {
        Self {
            campaign: campaign.text.clone(),
            settings: campaign.settings(),
            edition: serde_json::to_string(edition).expect("an edition is plain data"),
            disks,
            entries: campaign.entries(edition),
            instances,
            retries: campaign.hosts.retries,
        }
    }

    /// Returns the differences from `stored` except those of instances, as parts of a message.
    pub(super) fn changes_since(&self, stored: &CampaignFacts) -> Vec<String> {
        let disks =
            |facts: &Self| facts.disks.iter().map(|d| (disk_name(&d.role), d.sha256.clone())).collect();
        let entries = |facts: &Self| facts.entries.iter().map(|e| (e.entry.to_string(), e.clone())).collect();
        let mut changes = differences("", self.settings.clone(), stored.settings.clone());
        if self.edition != stored.edition {
            changes.push("the rules (edition or [limits]) differ".to_owned());
        }
        changes.extend(differences("the ", disks(self), disks(stored)));
        changes.extend(differences("entry ", entries(self), entries(stored)));
        changes
    }
}

/// Compares instances one by one with those of a record: there may be ten thousand, each with a hundred ids.
pub(super) struct InstanceChanges<'a> {
    now: HashMap<&'a str, &'a InstanceFacts>,
    changes: Vec<String>,
}

impl<'a> InstanceChanges<'a> {
    pub fn now(instances: &'a [InstanceFacts]) -> Self {
        let now = instances.iter().map(|instance| (instance.name.as_str(), instance)).collect();
        Self { now, changes: vec![] }
    }

    pub fn stored(&mut self, stored: &InstanceFacts) {
        match self.now.remove(stored.name.as_str()) {
            Some(now) if now == stored => {}
            Some(_) => self.changes.push(format!("instance {} differs", stored.name)),
            None => self.changes.push(format!("instance {} is missing now", stored.name)),
        }
    }

    /// Returns the differences as parts of a message, sorted by name.
    pub fn changes(self) -> Vec<String> {
        let new = self.now.keys().map(|name| format!("instance {name} is new"));
        let mut changes: Vec<String> = self.changes.into_iter().chain(new).collect();
        changes.sort();
        changes
    }
}

/// A disk in words: `disk tool` is the disk of tool.
fn disk_name(role: &str) -> String {
    role.split_once(' ').map_or_else(|| format!("{role} disk"), |(kind, entry)| format!("{kind} of {entry}"))
}

fn differences<T: PartialEq>(
    what: &str,
    now: BTreeMap<String, T>,
    stored: BTreeMap<String, T>,
) -> Vec<String> {
    let names: BTreeSet<_> = now.keys().chain(stored.keys()).collect();
    let change = |name: &String| match (now.get(name), stored.get(name)) {
        (Some(now), Some(stored)) if now == stored => None,
        (Some(_), Some(_)) => Some(format!("{what}{name} differs")),
        (Some(_), None) => Some(format!("{what}{name} is new")),
        _ => Some(format!("{what}{name} is missing now")),
    };
    names.into_iter().filter_map(change).collect()
}
