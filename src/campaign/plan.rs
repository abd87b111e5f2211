//! The plan: every run of a campaign, in order.

use serde::{Deserialize, Serialize};

/// One entry on one instance in one examination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub entry: String,
    pub instance: String,
    pub examination: String,
    /// The family of the instance: all runs of a model go to one host (E-5.1).
    pub model: String,
    pub vcpus: u32,
    /// False where the entry does not compete (`not_competing`): recorded without a machine.
    pub competes: bool,
}

impl Run {
    /// `entry/instance/examination`
    pub fn id(&self) -> String {
        format!("{}/{}/{}", self.entry, self.instance, self.examination)
    }
}
