//! The instances of a campaign, as their archives give them.

use super::{Campaign, CampaignError, InstanceFacts};
use crate::benchkit::Questions;
use crate::edition::{AnswerKind, Edition};
use crate::model::Archive;
use crate::vm::sha256;
use std::path::{Path, PathBuf};

/// One instance and where its archive lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub facts: InstanceFacts,
    pub archive: PathBuf,
}

/// Within an inputs disk's folder: the archives it was made of (they are published with the results, E-5.6).
pub const ARCHIVES: &str = "archives";

impl Campaign {
    /// Reads the archives in `inputs` (a folder of `NAME.tgz`, or an inputs disk made by `image inputs`),
    /// sorted by name: what each asks in the edition's examinations, its family and its status.
    pub fn inputs(&self, edition: &Edition) -> Result<Vec<Input>, CampaignError> {
        let packed = self.inputs.join(ARCHIVES);
        let folder = if packed.is_dir() { &packed } else { &self.inputs };
        let archives =
            archives(folder).map_err(|source| CampaignError::Read { path: folder.clone(), source })?;
        let read = |path: PathBuf| self.input(path, edition).map_err(|reason| self.wrong_inputs(reason));
        let mut inputs = archives.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
        inputs.sort_by(|a, b| a.facts.name.cmp(&b.facts.name));
        Ok(inputs)
    }

    fn input(&self, path: PathBuf, edition: &Edition) -> Result<Input, String> {
        let archive = Archive::open(&path).map_err(|e| e.to_string())?;
        let name = archive.instance.as_str().to_owned();
        let (family, status) = self.classify(&name, archive.markers().new_model);
        let mut questions = std::collections::BTreeMap::new();
        // StateSpace's four values have no ids to keep.
        for examination in edition.examinations.iter().filter(|e| e.answers != AnswerKind::StateSpace) {
            let asked = Questions::of(&archive, examination).map_err(|e| e.to_string())?;
            questions.extend(asked.ids.map(|ids| (examination.name.clone(), ids)));
        }
        let (sha256, _) = sha256(&path).map_err(|e| e.to_string())?;
        Ok(Input { facts: InstanceFacts { name, family, status, sha256, questions }, archive: path })
    }
}

/// The instance archives of a folder.
pub fn archives(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = vec![];
    for item in std::fs::read_dir(folder)? {
        let path = item?.path();
        if path.extension().is_some_and(|extension| extension == "tgz") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
