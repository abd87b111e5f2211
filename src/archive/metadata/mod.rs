//! Describes the files of a contest in standard formats, so that other programs and repositories understand them:
//! RO-Crate, Data Package, Citation File Format and, in archives, REUSE. Everything comes from the campaign's publication
//! and the files. An archive of the MCC and a judgement of another contest fill the same description.

mod citation;
mod data_package;
mod licences;
mod ro_crate;

pub use data_package::{Tables, write as write_data_package};

use super::ArchiveError;
use mcc_base::OnFile;
use mcc_campaign::Publication;
use mcc_judge::judgement::Entry;
use mcc_store::Disk;
use std::path::Path;

/// What the files of metadata state.
pub struct Description<'a> {
    /// The title of the edition, for a publication that has none.
    pub edition_title: &'a str,
    /// The content, as the beginning of a sentence: `Answers, outputs, judgement and rules`.
    pub content: &'a str,
    /// What the campaign states; None: nothing.
    pub publication: Option<&'a Publication>,
    /// The day of the results, `YYYY-MM-DD`, or their year, for a publication that has no date; None: not known.
    pub day_or_year: Option<String>,
    /// The entries of the contest.
    pub entries: &'a [Entry],
    /// The tables.
    pub tables: Tables,
    /// The paths of all files that can be there, each with its content as a phrase.
    pub files: Vec<(String, &'static str)>,
    /// What only an archive has; None: the description is of a judgement.
    pub archive: Option<ArchiveParts<'a>>,
}

/// The parts of an archive that are not in its folder yet when it is described.
pub struct ArchiveParts<'a> {
    /// The disks.
    pub disks: &'a [Disk],
    /// Whether a run has an output.
    pub has_outputs: bool,
}

impl Description<'_> {
    /// The title of the campaign, otherwise that of the edition.
    fn title(&self) -> &str {
        self.publication.and_then(|publication| publication.title.as_deref()).unwrap_or(self.edition_title)
    }

    /// The day of publication, otherwise the day or year of the results.
    fn day_or_year(&self) -> Option<&str> {
        self.publication.and_then(|publication| publication.date.as_deref()).or(self.day_or_year.as_deref())
    }

    fn organizers(&self) -> &[String] {
        self.publication.map_or(&[], |publication| &publication.organizers)
    }

    fn summary(&self) -> String {
        format!("{} of {}, as written by mcc-harness.", self.content, self.title())
    }
}

/// Writes the files of metadata next to the other files in the folder `to`.
///
/// # Errors
/// A file cannot be read or written.
pub fn write(to: &Path, description: &Description) -> Result<(), ArchiveError> {
    if let Some(archive) = &description.archive {
        licences::write(to, description, archive.disks)?;
    }
    if let Some(citation) = citation::text(description) {
        write_text(&to.join("CITATION.cff"), &citation)?;
    }
    data_package::write(to, &description.tables, Some(description))?;
    // Last: it lists the others.
    write_json(&to.join(ro_crate::FILE), &ro_crate::metadata(to, description)?)
}

fn write_text(path: &Path, text: &str) -> Result<(), ArchiveError> {
    // A judgement of another contest, which these files describe, is complete already.
    Ok(mcc_base::text::write(path, text).on("write", path)?)
}

/// Writes indented JSON.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), ArchiveError> {
    let text = serde_json::to_string_pretty(value).expect("serialization of plain data does not fail");
    write_text(path, &(text + "\n"))
}

/// The parts of `Family, Given`; the second is None for the name of a group.
fn person(name: &str) -> (&str, Option<&str>) {
    match name.split_once(',') {
        Some((family, given)) if !given.trim().is_empty() => (family.trim(), Some(given.trim())),
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_of_metadata_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (path, earlier) = (folder.path().join("datapackage.json"), folder.path().join("earlier"));
        write_json(&path, &"earlier").unwrap();
        fs::hard_link(&path, &earlier).unwrap();
        write_json(&path, &"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "\"new\"\n");
        // A file that is written in its place is cut off first, and would be read so after a kill.
        assert_eq!(fs::read_to_string(&earlier).unwrap(), "\"earlier\"\n");
    }
}
