//! Reads the facts of a campaign's instances from their archives.

use super::{Campaign, CampaignError, InstanceFacts};
use crate::benchkit::Questions;
use mcc_base::files::{ARCHIVES, FileStamp};
use mcc_base::names::ExaminationName;
use mcc_base::{OnFile, digest};
use mcc_edition::Edition;
use mcc_model::Archive;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The instance archives (`NAME.tgz`) in a folder, by instance name.
///
/// # Errors
/// The folder cannot be read, or has an archive whose name is not UTF-8.
pub fn archives_in(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut archives = BTreeMap::new();
    for item in fs::read_dir(folder)? {
        let path = item?.path();
        if path.extension().is_some_and(|extension| extension == "tgz") {
            let name = path.file_stem().and_then(|name| name.to_str()).ok_or_else(|| {
                io::Error::other(format!("the name {} is not UTF-8; rename the archive", path.display()))
            })?;
            archives.insert(name.to_owned(), path.clone());
        }
    }
    Ok(archives)
}

impl Campaign {
    /// The archives (`NAME.tgz`) that the campaign's globs match, by instance name. They are in `inputs`, or in the
    /// folder of archives of an inputs disk.
    ///
    /// # Errors
    /// The folder cannot be read, or a glob matches no instance.
    pub fn archives(&self) -> Result<BTreeMap<String, PathBuf>, CampaignError> {
        let packed = self.inputs.join(ARCHIVES);
        let folder = if packed.is_dir() { &packed } else { &self.inputs };
        let mut archives = archives_in(folder).on("read", folder)?;
        let names: Vec<&str> = archives.keys().map(String::as_str).collect();
        let wanted: BTreeSet<String> = self.selected(&names)?.into_iter().map(str::to_owned).collect();
        archives.retain(|name, _| wanted.contains(name));
        Ok(archives)
    }

    /// The facts of the campaign's instances, sorted by name. Reads every archive.
    ///
    /// # Errors
    /// An archive is not valid, has another name than its instance, or lacks properties of an examination.
    pub fn instance_facts(&self, edition: &Edition) -> Result<Vec<InstanceFacts>, CampaignError> {
        let examinations = self.examinations_of(edition)?;
        self.models.values().try_for_each(|model| model.check_status(edition))?;
        let mut facts = Vec::new();
        for (name, path) in self.archives()? {
            let stamp = FileStamp::of(&path).on("read", &path)?;
            let archive = Archive::open(&path)?;
            if archive.instance.as_str() != name {
                // The guest finds the archive by the name of the instance.
                let folder = archive.instance;
                let message = format!("{name}.tgz holds the folder {folder}; name it {folder}.tgz");
                return Err(self.wrong_inputs(message));
            }
            let mut questions = BTreeMap::new();
            for examination in &examinations {
                let name: ExaminationName = (examination.name.parse())
                    .map_err(|bad| self.wrong("examinations", format!("examinations: {bad}")))?;
                let Some(ids) = Questions::read(&archive, examination)?.ids else {
                    let path = path.display();
                    return Err(self.wrong_inputs(match examination.values {
                        0 => format!(
                            "{path} has no questions of {name}; leave coloured instances or {name} out"
                        ),
                        _ => format!("{path} has no {name}.xml; add it, or leave the examination out"),
                    }));
                };
                let wanted = examination.values;
                if wanted > 0 && ids.len() != wanted {
                    let has = ids.len();
                    return Err(self.wrong_inputs(format!(
                        "{}: {name}.xml has {has} properties, but edition {} expects {wanted}",
                        path.display(),
                        edition.name
                    )));
                }
                questions.insert(name, ids);
            }
            let (sha256, _) = digest::file(&path).on("read", &path)?;
            stamp.check_if_unchanged(&path).on("read", &path)?;
            let (family, status) = self.classify(edition, &archive.instance, archive.markers().new_model);
            let name = archive.instance;
            facts.push(InstanceFacts { name, family, status, sha256, questions });
        }
        Ok(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn an_archive_whose_name_is_not_utf8_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("A-PT-1.tgz"), "").unwrap();
        fs::write(folder.path().join("README.md"), "").unwrap();
        assert_eq!(archives_in(folder.path()).unwrap().len(), 1);
        fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"B-PT-\xe9.tgz")), "").unwrap();
        let error = archives_in(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("is not UTF-8; rename the archive"), "{error}");
    }
}
