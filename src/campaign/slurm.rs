//! `[slurm]`: how the campaign is handed to a Slurm cluster; no result depends on it.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmSettings {
    /// None: the cluster's default.
    pub partition: Option<String>,
    pub account: Option<String>,
    pub constraint: Option<String>,
    /// Given to sbatch as they are: `["--qos=long", "--exclusive"]`.
    pub options: Vec<String>,
    /// Most jobs of one array at once; None: as many as Slurm gives.
    pub throttle: Option<NonZeroU32>,
    /// Runs of a model at once on its node.
    pub runs_at_once: NonZeroU32,
    /// Folder on each node for copies of the disks.
    pub stage: PathBuf,
    /// What `submit --resume` does with a model whose node is lost.
    pub lost_node: LostNode,
}

/// A model is bound to the host of its first run (E-5.1); where that is lost:
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostNode {
    /// Hand it in for that node all the same: Slurm waits for it.
    #[default]
    Wait,
    /// The whole model anew elsewhere; the old runs are kept and superseded.
    #[serde(alias = "anew")]
    Restart,
    /// On elsewhere; the runs there are marked `mixed-host`.
    MixedHost,
}

impl Default for SlurmSettings {
    fn default() -> Self {
        Self {
            partition: None,
            account: None,
            constraint: None,
            options: vec![],
            throttle: None,
            runs_at_once: NonZeroU32::MIN,
            stage: PathBuf::from("/tmp/mcc-harness-stage"),
            lost_node: LostNode::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_node_is_read_in_its_old_word_and_written_in_the_new() {
        for word in ["anew", "restart"] {
            let settings: SlurmSettings = toml::from_str(&format!("lost_node = \"{word}\"")).unwrap();
            assert_eq!(settings.lost_node, LostNode::Restart);
            assert!(toml::to_string(&settings).unwrap().contains("lost_node = \"restart\""));
        }
    }
}
