//! Merges the shards of a campaign into its record.

use super::{Cluster, ClusterError};
use mcc_base::OnFile;
use mcc_store::{MergeCounts, Record, RecordPart, StoreError};
use serde::Serialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The result of a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// New attempts and newly recorded runs.
    #[serde(flatten)]
    pub merged: MergeCounts,
    /// Number of shards that were read.
    pub shards: usize,
}

const LOST: &str = "the host of this model was lost, and all its runs were repeated on another host (E-5.1)";

/// Merges every shard below RESULTS into `record`, and the shards in `copies`. A copy is a folder with the `record.db`
/// of a shard, or a folder of such folders. A shard that cannot be merged does not keep the others from being merged.
///
/// The order of collections and repeated ones do not change the result.
///
/// # Errors
/// The first: a shard is of another campaign or model, cannot be read, was not recorded by a job of its model, or conflicts
/// with a shard that was collected before.
pub fn collect(record: &Record, cluster: &Cluster, copies: &[PathBuf]) -> Result<Collected, ClusterError> {
    let mut collected = Collected { merged: MergeCounts::default(), shards: 0 };
    let mut failed = Ok(());
    for need in &cluster.facts().needs {
        let mut folders = vec![];
        for lost in (1..).map(|n| cluster.superseded(&need.model, n)) {
            if !lost.try_exists().on("read", &lost)? {
                break;
            }
            folders.push((lost, Some(LOST)));
        }
        folders.push((cluster.shard(&need.model), None));
        failed = failed.and(collected.take(record, cluster, Some(&need.model), &folders));
    }
    for copy in copies {
        for shard in shards_in(copy)? {
            failed = failed.and(collected.take(record, cluster, None, &[(shard, None)]));
        }
    }
    failed.map(|()| collected)
}

impl Collected {
    /// Merges the records of the jobs of one model; None: of that of their instances.
    fn take(
        &mut self,
        record: &Record,
        cluster: &Cluster,
        model: Option<&str>,
        folders: &[(PathBuf, Option<&str>)],
    ) -> Result<(), ClusterError> {
        let mut opened = vec![];
        for (folder, superseded) in folders {
            match Record::open_readonly(folder) {
                Ok(shard) => opened.push((shard, *superseded)),
                // No job of the model has started yet.
                Err(StoreError::NoRecord { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let Some((first, _)) = opened.first() else { return Ok(()) };
        let stated = first.facts().instances.first().map(|instance| instance.family.as_str());
        let has_job = |model: &&str| cluster.facts().needs.iter().any(|need| need.model == *model);
        let not_a_shard = || ClusterError::Bad {
            path: first.dir().to_owned(),
            problem: "it is not the record of the runs of one model of this campaign; do not collect it"
                .to_owned(),
        };
        let model = model.or(stated.filter(has_job)).ok_or_else(not_a_shard)?.to_owned();
        self.shards += opened.len();
        let parts: Vec<RecordPart> = opened
            .iter()
            .map(|(record, superseded)| RecordPart { record, superseded: *superseded })
            .collect();
        self.merged += record.merge_parts(&model, &cluster.key(&model)?, &parts)?;
        Ok(())
    }
}

/// Returns `folder` if it is a shard, else the shards in it.
fn shards_in(folder: &Path) -> Result<Vec<PathBuf>, ClusterError> {
    if has_record(folder)? {
        return Ok(vec![folder.to_owned()]);
    }
    let mut shards = vec![];
    for item in fs::read_dir(folder).on("list", folder)? {
        let path = item.on("list", folder)?.path();
        if has_record(&path)? {
            shards.push(path);
        }
    }
    shards.sort();
    if shards.is_empty() { Err(StoreError::no_record(folder).into()) } else { Ok(shards) }
}

/// A file beside shards is none; a link that cannot be followed may be one.
fn has_record(path: &Path) -> Result<bool, ClusterError> {
    match path.join("record.db").try_exists() {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        found => Ok(found.on("read", path)?),
    }
}
