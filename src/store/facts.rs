//! What a record was made of: enough to judge it years later without campaign file or archives, and to notice
//! that something changed before it is resumed.

use super::Disk;
use crate::campaign::{Campaign, EntryFacts, InstanceFacts};
use crate::edition::Edition;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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

    /// What differs from `begun`, in words for a message; empty when the record may be resumed.
    pub(super) fn changes_since(&self, begun: &CampaignFacts) -> Vec<String> {
        let settings = |facts: &Self| facts.settings.clone();
        let edition = |facts: &Self| BTreeMap::from([("edition".to_owned(), facts.edition.clone())]);
        let disks = |facts: &Self| facts.disks.iter().map(|d| (d.role.clone(), d.sha256.clone())).collect();
        let entries = |facts: &Self| facts.entries.iter().map(|e| (e.entry.clone(), e.clone())).collect();
        let instances = |facts: &Self| facts.instances.iter().map(|i| (i.name.clone(), i.clone())).collect();
        let mut changes = differences("", settings(self), settings(begun));
        changes.extend(differences("", edition(self), edition(begun)));
        changes.extend(differences("disk ", disks(self), disks(begun)));
        changes.extend(differences("entry ", entries(self), entries(begun)));
        changes.extend(differences("instance ", instances(self), instances(begun)));
        changes
    }
}

fn differences<T: PartialEq>(
    what: &str,
    now: BTreeMap<String, T>,
    begun: BTreeMap<String, T>,
) -> Vec<String> {
    let names: BTreeSet<_> = now.keys().chain(begun.keys()).collect();
    let change = |name: &String| match (now.get(name), begun.get(name)) {
        (Some(now), Some(begun)) if now == begun => None,
        (Some(_), Some(_)) => Some(format!("{what}{name} differs")),
        (Some(_), None) => Some(format!("{what}{name} was not there")),
        _ => Some(format!("{what}{name} is gone")),
    };
    names.into_iter().filter_map(change).collect()
}
