//! What the runs of a record share. `executor::AttemptSpec` is what an attempt adds.

use super::{CampaignDisks, Host, PreparedCampaign};
use crate::executor::{AttemptFn, FreeBytesFn, attempt};
use mcc_base::Mark;
use mcc_campaign::{Campaign, History, Hosts, Start};
use mcc_edition::Edition;
use mcc_store::Record;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What the runs of a record on this host share.
pub struct RunSettings<'a> {
    /// The record with the runs.
    pub record: &'a Record,
    /// The effective edition (`Campaign::effective`).
    pub edition: &'a Edition,
    /// Timeouts, and when a run counts as disturbed and is repeated.
    pub hosts: &'a Hosts,
    /// The host.
    pub host: &'a Host,
    /// The disks of the machines.
    pub disks: CampaignDisks,
    /// Whether machines start from a saved state instead of booting.
    pub restore: bool,
    /// The campaign file. Its name is written to the lease registry of the host.
    pub file: &'a Path,
    /// Runs at once; None: as many machines of the largest entry as cores and memory allow.
    pub jobs: Option<usize>,
    /// Marks of every run, such as `mixed-host`, in addition to those of host and attempt.
    pub marks: Vec<Mark>,
    /// Durations of earlier runs, which order the open runs.
    pub history: History,
    /// Makes one attempt: `attempt`, or a simulation.
    pub run_attempt: &'a AttemptFn<'a>,
    /// Finds the free space for machines: `free_bytes_of_folder`, or a simulation.
    pub free_bytes: &'a FreeBytesFn<'a>,
    /// Stop request, set by the caller: no new run is started, running ones end normally.
    pub stop: &'a AtomicBool,
}

impl<'a> RunSettings<'a> {
    /// The settings of a campaign, for as many runs at once as possible, without a history.
    pub fn of_campaign(
        campaign: &'a Campaign,
        edition: &'a Edition,
        host: &'a Host,
        (record, disks): (&'a Record, CampaignDisks),
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            record,
            edition,
            hosts: &campaign.hosts,
            host,
            disks,
            restore: campaign.start == Start::Restore,
            file: &campaign.file,
            jobs: None,
            marks: vec![],
            history: History::default(),
            run_attempt: &attempt,
            free_bytes: &mcc_vm::free_bytes_of_folder,
            stop,
        }
    }
}

impl PreparedCampaign {
    /// The settings of the campaign, as `RunSettings::of_campaign`.
    pub fn settings<'a>(
        &'a self,
        host: &'a Host,
        record_and_disks: (&'a Record, CampaignDisks),
        stop: &'a AtomicBool,
    ) -> RunSettings<'a> {
        RunSettings::of_campaign(&self.campaign, &self.edition, host, record_and_disks, stop)
    }
}
