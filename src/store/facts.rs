//! What a record was made of: enough to judge it years later without campaign file or archives, and to notice
//! that something changed before it is resumed.

use super::Disk;
use mcc_campaign::{Campaign, EntryFacts, InstanceFacts};
use mcc_edition::Edition;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignFacts {
    /// campaign.toml as it was written when the record was begun.
    pub campaign: String,
    /// `Campaign::settings`. `[hosts]` is not among it: other jobs or retries may be given on resuming.
    pub settings: BTreeMap<String, String>,
    /// The edition with the campaign's overrides applied, as JSON.
    pub edition: String,
    /// Reference disk, kernel, initrd, inputs disk and one disk per entry, by role (`inputs`, `disk LoLA`).
    pub disks: Vec<Disk>,
    pub entries: Vec<EntryFacts>,
    pub instances: Vec<InstanceFacts>,
    /// How many more attempts a run gets after its first ended in infrastructure.
    pub retries: u32,
}

impl CampaignFacts {
    /// What is kept of a campaign; `edition` is the effective one (`Campaign::effective`), `instances` those
    /// that have runs, `disks` every disk a machine will see.
    pub fn new(
        campaign: &Campaign,
        edition: &Edition,
        instances: Vec<InstanceFacts>,
        disks: Vec<Disk>,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self {
            campaign: campaign.text.clone(),
            settings: campaign.settings(),
            edition: serde_json::to_string(edition)?,
            disks,
            entries: campaign.entries(edition),
            instances,
            retries: campaign.hosts.retries,
        })
    }

    /// What differs from `stored` but for the instances, in words for a message; empty when the record may be resumed.
    pub(super) fn changes_since(&self, stored: &CampaignFacts) -> Vec<String> {
        let edition = |facts: &Self| BTreeMap::from([("edition".to_owned(), facts.edition.clone())]);
        let disks = |facts: &Self| facts.disks.iter().map(|d| (d.role.clone(), d.sha256.clone())).collect();
        let entries = |facts: &Self| facts.entries.iter().map(|e| (e.entry.to_string(), e.clone())).collect();
        let mut changes = differences("", self.settings.clone(), stored.settings.clone());
        changes.extend(differences("", edition(self), edition(stored)));
        changes.extend(differences("disk ", disks(self), disks(stored)));
        changes.extend(differences("entry ", entries(self), entries(stored)));
        changes
    }
}

/// Instances compared one by one with those that a record was begun with: there may be ten thousand, each with a hundred
/// ids.
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
            None => self.changes.push(format!("instance {} is gone", stored.name)),
        }
    }

    /// What differs, in words, by name.
    pub fn changes(self) -> Vec<String> {
        let new = self.now.keys().map(|name| format!("instance {name} was not there"));
        let mut changes: Vec<String> = self.changes.into_iter().chain(new).collect();
        changes.sort();
        changes
    }
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
        (Some(_), None) => Some(format!("{what}{name} was not there")),
        _ => Some(format!("{what}{name} is gone")),
    };
    names.into_iter().filter_map(change).collect()
}
