//! What a campaign knows of its instances and entries; the record keeps it, so that a record can be judged
//! without the archives.

use mcc_base::names::{EntryName, ExaminationName};
use mcc_model::InstanceName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One instance as its archive gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceFacts {
    /// `Philosophers-PT-000010`
    pub name: InstanceName,
    /// `Philosophers`
    pub family: String,
    /// `known` or `surprise` (2017 also `stripped`).
    pub status: String,
    /// Of the archive, lower-case hex.
    pub sha256: String,
    /// The ids of the values asked for, by examination, in the contest's order (`Questions::ids`); an
    /// examination is missing here where the archive has no property file for it.
    pub questions: BTreeMap<ExaminationName, Vec<String>>,
}

/// One entry of a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryFacts {
    /// As submitted: `ITS-Tools.L`.
    pub entry: EntryName,
    /// The tool it is a variant of: `ITS-Tools`.
    pub tool: String,
    pub kind: Kind,
}

/// What an entry was submitted as (rule E-5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Sequential,
    Concurrent,
}
