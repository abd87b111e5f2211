//! Facts about the instances and entries of a campaign. The record keeps them, so that it can be judged without the
//! archives.

use mcc_base::digest;
use mcc_base::names::{EntryName, ExaminationName, ModelName, Name, PropertyId, text_of};
use mcc_edition::Machine;
use mcc_model::InstanceName;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// One instance, as read from its archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceFacts {
    /// Its name: `Philosophers-PT-000010`.
    pub name: InstanceName,
    /// Its family (model): `Philosophers`.
    #[serde(deserialize_with = "text_of::<ModelName, _>")]
    pub family: String,
    /// `known` or `surprise` (2017 also `stripped`).
    #[serde(deserialize_with = "text_of::<Name, _>")]
    pub status: String,
    /// SHA-256 of the archive, lower-case hex.
    #[serde(deserialize_with = "digest::deserialize")]
    pub sha256: String,
    /// The ids of the expected values by examination, in the order of the contest (`Questions::ids`). Without
    /// examinations for which the archive has no property file.
    #[serde(deserialize_with = "questions")]
    pub questions: BTreeMap<ExaminationName, Vec<String>>,
}

fn questions<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<ExaminationName, Vec<String>>, D::Error> {
    let questions = BTreeMap::<ExaminationName, Vec<PropertyId>>::deserialize(from)?;
    let texts = |ids: Vec<PropertyId>| ids.iter().map(PropertyId::to_string).collect();
    Ok(questions.into_iter().map(|(examination, ids)| (examination, texts(ids))).collect())
}

/// One entry of a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryFacts {
    /// Its name as submitted: `ITS-Tools.L`.
    pub entry: EntryName,
    /// The tool of which it is a variant: `ITS-Tools`.
    #[serde(deserialize_with = "text_of::<Name, _>")]
    pub tool: String,
    /// Its kind.
    pub kind: Kind,
}

mcc_base::words! {
    /// The kind that an entry was submitted as (rule E-5.3); it decides the number of cores.
    #[derive(PartialOrd, Ord)]
    pub enum Kind {
        /// Uses one core.
        Sequential = "sequential",
        /// Uses several cores.
        Concurrent = "concurrent",
    }
}

impl Kind {
    /// The cores of a machine for an entry of this kind.
    pub fn cores(self, machine: &Machine) -> u32 {
        match self {
            Self::Sequential => machine.sequential_cores,
            Self::Concurrent => machine.concurrent_cores,
        }
    }
}
