//! `[slurm]`: how the campaign is submitted to a Slurm cluster. No result depends on it.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// The keys of `[slurm]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmSettings {
    /// The partition of the jobs; None: the default of the cluster.
    pub partition: Option<String>,
    /// The account of the jobs; None: the default of the user.
    pub account: Option<String>,
    /// Features that nodes must have; None: any node.
    pub constraint: Option<String>,
    /// Further options of sbatch: `["--qos=long", "--exclusive"]`.
    pub options: Vec<String>,
    /// Most jobs of one array in parallel; None: not limited.
    pub throttle: Option<NonZeroU32>,
    /// Runs of a model in parallel on its node.
    pub runs_at_once: NonZeroU32,
    /// Folder on each node for copies of the disks.
    pub stage: PathBuf,
    /// Seconds of a job in addition to its runs: for copying disks to the node, and for ending and recording the last runs.
    pub margin_s: NonZeroU32,
    /// What `submit --resume` does with a model whose node is lost.
    pub lost_node: LostNode,
}

/// What is done with a model whose node is lost. A model is bound to the host of its first run (E-5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostNode {
    /// The model is submitted for that node, and Slurm waits for it.
    #[default]
    Wait,
    /// All runs of the model are repeated on another node; the old ones are kept and superseded.
    #[serde(alias = "anew")]
    Restart,
    /// The open runs of the model are made on another node; its runs there are marked `mixed-host`.
    MixedHost,
}

/// The margin of a job if the campaign does not set it: disks of many gigabytes are copied in this time.
const MARGIN_S: NonZeroU32 = NonZeroU32::new(600).unwrap();

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
            margin_s: MARGIN_S,
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
