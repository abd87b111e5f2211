//! `[cluster]`: how the campaign is submitted to a cluster. No result depends on it.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// The keys of `[cluster]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterSettings {
    /// The batch system.
    pub system: System,
    /// The partition (Slurm) or queue (OAR) of the jobs; None: the default of the cluster.
    pub partition: Option<String>,
    /// The account (Slurm) or project (OAR) of the jobs; None: the default of the user.
    pub account: Option<String>,
    /// Features (Slurm) or properties (OAR, an SQL condition) that nodes must have; None: any node.
    pub constraint: Option<String>,
    /// Further options of sbatch or oarsub: `["--qos=long", "--exclusive"]`.
    pub options: Vec<String>,
    /// Most jobs of one array in parallel (Slurm only); None: not limited.
    pub throttle: Option<NonZeroU32>,
    /// Most submissions of this campaign per minute, by `submit` and by its jobs; None: not limited.
    pub submissions_per_minute: Option<NonZeroU32>,
    /// Longest time of a job, seconds, if the batch system does not state it; None: the limit of the batch system.
    pub time_limit_s: Option<NonZeroU32>,
    /// The memory of a node divided by its cores (OAR only): a job requests as many cores as its memory needs. None: a job
    /// requests a whole node.
    pub memory_per_core_mib: Option<NonZeroU32>,
    /// Runs of a model in parallel on its node.
    pub runs_at_once: NonZeroU32,
    /// Folder on each node for copies of the disks.
    pub stage: PathBuf,
    /// Seconds of a job in addition to its runs: for copying disks to the node, and for ending and recording the last runs.
    pub margin_s: NonZeroU32,
    /// What `submit --resume` does with a model whose node is lost.
    pub lost_node: LostNode,
}

/// The batch system of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum System {
    /// Slurm.
    #[default]
    Slurm,
    /// OAR 2.
    Oar,
}

/// What is done with a model whose node is lost. A model is bound to the host of its first run (E-5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostNode {
    /// The model is submitted for that node, and waits for it.
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

impl ClusterSettings {
    /// A key is set that the batch system does not have.
    pub(super) fn key_of_other_system(&self) -> Option<&'static str> {
        match self.system {
            System::Slurm if self.memory_per_core_mib.is_some() => {
                Some("memory_per_core_mib is for system = \"oar\": Slurm reserves memory itself; remove it")
            }
            System::Oar if self.throttle.is_some() => {
                Some("throttle: OAR cannot limit the simultaneous jobs of an array; remove it")
            }
            _ => None,
        }
    }
}

impl Default for ClusterSettings {
    fn default() -> Self {
        Self {
            system: System::default(),
            partition: None,
            account: None,
            constraint: None,
            options: vec![],
            throttle: None,
            submissions_per_minute: None,
            time_limit_s: None,
            memory_per_core_mib: None,
            runs_at_once: NonZeroU32::MIN,
            stage: PathBuf::from(format!("/tmp/mcc-harness-stage-{}", nix::unistd::geteuid())),
            margin_s: MARGIN_S,
            lost_node: LostNode::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_the_batch_system_does_not_have_is_named() {
        let problem = |text: &str| toml::from_str::<ClusterSettings>(text).unwrap().key_of_other_system();
        assert!(problem("system = \"oar\"\nthrottle = 3").unwrap().contains("throttle"));
        assert!(problem("memory_per_core_mib = 4096").unwrap().contains("memory_per_core_mib"));
        assert_eq!(problem("system = \"oar\"\nmemory_per_core_mib = 4096"), None);
    }

    #[test]
    fn lost_node_is_read_in_its_old_word_and_written_in_the_new() {
        for word in ["anew", "restart"] {
            let settings: ClusterSettings = toml::from_str(&format!("lost_node = \"{word}\"")).unwrap();
            assert_eq!(settings.lost_node, LostNode::Restart);
            assert!(toml::to_string(&settings).unwrap().contains("lost_node = \"restart\""));
        }
    }
}
