//! Reads a campaign with its edition, plan and images, and creates its record.

use super::inputs::inputs_disk;
use super::{CampaignDisks, InputsEvent, RunnerError, open_images};
use mcc_base::names::EntryName;
use mcc_base::suggest::hint;
use mcc_campaign::{Campaign, EntryFacts, InstanceFacts, Plan, Run};
use mcc_edition::Edition;
use mcc_store::{CampaignFacts, Hold, Record, StoreError};
use mcc_vm::Image;
use std::collections::BTreeMap;
use std::path::Path;

/// A campaign with all its input files read. Nothing is written yet.
pub struct PreparedCampaign {
    /// The campaign file.
    pub campaign: Campaign,
    /// The effective edition (`Campaign::effective`).
    pub edition: Edition,
    /// All runs.
    pub plan: Plan,
    instances: Vec<InstanceFacts>,
    images: BTreeMap<EntryName, Image>,
}

impl PreparedCampaign {
    /// Reads the edition, the archives and the images of a campaign.
    ///
    /// # Errors
    /// One of them cannot be read, or the campaign has no run.
    pub fn new(campaign: Campaign) -> Result<Self, RunnerError> {
        let edition = campaign.effective(&Edition::load(&campaign.edition)?);
        let instances = campaign.instance_facts(&edition)?;
        let plan = Plan::new(&campaign, &edition, &instances)?;
        let images = open_images(&campaign)?;
        Ok(Self { campaign, edition, plan, instances, images })
    }

    /// Builds the inputs disk if there is none, digests all disks, and creates or opens the record in `results` by `open`,
    /// with all runs. With `accept`, instances with errors are packed (rule M-4).
    ///
    /// # Errors
    /// The inputs disk cannot be built, a disk cannot be read, or the record cannot be written.
    pub fn record(
        &self,
        results: &Path,
        accept: bool,
        open: impl FnOnce(&Path, &CampaignFacts) -> Result<Record, StoreError>,
        show: &dyn Fn(InputsEvent),
    ) -> Result<(Record, CampaignDisks), RunnerError> {
        let Self { campaign, edition, plan, instances, images } = self;
        // Before the inputs disk is written into the folder.
        Record::check_folder(results)?;
        let inputs = inputs_disk(campaign, edition, instances, results, accept, show)?;
        let disks = CampaignDisks::digest(campaign, images, &inputs, None)?;
        let facts = CampaignFacts::new(campaign, edition, instances.clone(), disks.all());
        let record = open(results, &facts)?;
        record.plan_runs(plan.runs())?;
        Ok((record, disks))
    }
}

/// Reopens the recorded runs of an entry, or of a tool with all its variants, in one examination, and returns their
/// number. `reason` is shown with the superseded attempts.
///
/// # Errors
/// `reason` is empty, such runs are still open for this reason, or no such run is recorded.
pub fn rerun(
    record: &Record,
    edition: &Edition,
    tool: &str,
    examination: &str,
    reason: &str,
) -> Result<usize, RunnerError> {
    if reason.trim().is_empty() {
        let problem = "--reason is empty; give the reason that is shown with the superseded attempts";
        return Err(RunnerError::Refused(problem.to_owned()));
    }
    let entries = &record.facts().entries;
    let of_tool = |entry: &str| {
        entries.iter().any(|facts| facts.entry == entry && (entry == tool || facts.tool == tool))
    };
    let wanted = |run: &Run| run.competes && run.examination == examination && of_tool(&run.entry);
    if record.has_open_rerun(wanted, reason)? {
        let problem = "runs that are repeated for this reason are still open; continue with the same command without --rerun, \
                       --tool, --examination and --reason, or give another reason";
        return Err(RunnerError::Refused(problem.to_owned()));
    }
    match record.rerun(wanted, reason)?.len() {
        0 => {
            // Other words than those given: a name that is known gets no suggestion.
            let near = |wrong: &str, known: Vec<String>| {
                if known.iter().any(|known| known == wrong) {
                    String::new()
                } else {
                    hint(wrong, known.iter().map(String::as_str))
                }
            };
            let tools =
                entries.iter().flat_map(|facts| [facts.entry.to_string(), facts.tool.clone()]).collect();
            let examinations = edition.examinations.iter().map(|known| known.name.clone()).collect();
            let hint = near(tool, tools) + &near(examination, examinations);
            Err(RunnerError::Refused(format!(
                "no run of {tool} in {examination} is recorded, so none can be repeated; `mcc-harness plan` lists the runs of \
                 a campaign{hint}"
            )))
        }
        reopened => {
            record.remove_holds(|entry| of_tool(entry))?;
            Ok(reopened)
        }
    }
}

/// Lets the open runs of an entry, or of a tool with all its variants, start: now, if they are held, and whatever is
/// observed later. Returns the number of these entries.
///
/// # Errors
/// The record cannot be read or written.
pub fn release(record: &Record, tool: &str) -> Result<usize, RunnerError> {
    let known = record.holds()?;
    let entries = record.facts().entries.iter().filter(|facts| facts.entry == tool || facts.tool == tool);
    let mut released = 0;
    for EntryFacts { entry, .. } in entries {
        let new =
            || Hold { entry: entry.clone(), host: String::new(), reason: String::new(), released: true };
        let hold = known.iter().find(|hold| hold.entry == *entry).cloned().unwrap_or_else(new);
        record.hold(&Hold { released: true, ..hold })?;
        released += 1;
    }
    Ok(released)
}
