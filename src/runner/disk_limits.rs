//! The disk limits of a campaign, as `plan` shows them.

use super::disks::open_image;
use mcc_base::names::EntryName;
use mcc_campaign::Campaign;
use mcc_edition::Edition;
use mcc_vm::free_bytes;
use std::collections::BTreeMap;

/// Returns the disk limit of each entry, bytes. None: it is the free space of a disk that cannot be read, such as one that is not
/// submitted yet. `edition` is the effective one.
pub fn disk_limits(campaign: &Campaign, edition: &Edition) -> BTreeMap<EntryName, Option<u64>> {
    let limits = &edition.limits;
    let limit = |tool: &mcc_campaign::Tool| {
        if limits.disk_gib.is_some() {
            return Some(limits.disk_limit_bytes(0));
        }
        Some(limits.disk_limit_bytes(free_bytes(&open_image(tool).ok()?.disk_file()).ok()?))
    };
    campaign.tools.iter().map(|tool| (tool.entry.clone(), limit(tool))).collect()
}
