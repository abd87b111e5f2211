//! Describes an archive in standard formats, so that other programs and repositories understand it: RO-Crate, Data
//! Package, Citation File Format, REUSE. Everything comes from the campaign's publication and the files of the archive.

mod citation;
mod data_package;
mod licences;
mod ro_crate;

pub use data_package::write as write_data_package;

use super::ArchiveError;
use mcc_base::OnFile;
use mcc_campaign::Publication;
use mcc_edition::Edition;
use mcc_judge::judgement::Entry;
use mcc_store::Disk;
use std::fs;
use std::path::Path;

/// What the files of metadata state.
pub struct Description<'a> {
    /// The rules of the judgement.
    pub edition: &'a Edition,
    /// What the campaign states; None: nothing.
    pub publication: Option<&'a Publication>,
    /// The entries in the archive.
    pub entries: &'a [Entry],
    /// The disks in the archive.
    pub disks: &'a [Disk],
    /// Whether a run has an output.
    pub has_outputs: bool,
    /// The day on which the last run started, `YYYY-MM-DD`; None: not known.
    pub last_day: Option<String>,
}

impl Description<'_> {
    /// The title of the campaign, otherwise that of the edition.
    fn title(&self) -> &str {
        self.publication.and_then(|publication| publication.title.as_deref()).unwrap_or(&self.edition.title)
    }

    /// The day of publication, otherwise that of the last run.
    fn date(&self) -> Option<&str> {
        self.publication.and_then(|publication| publication.date.as_deref()).or(self.last_day.as_deref())
    }

    fn organizers(&self) -> &[String] {
        self.publication.map_or(&[], |publication| &publication.organizers)
    }

    fn summary(&self) -> String {
        format!(
            "Answers, outputs, judgement and rules of {}, as mcc-harness recorded and judged them.",
            self.title()
        )
    }
}

/// Writes the files of metadata next to the other files of an archive in the folder `to`.
///
/// # Errors
/// A file cannot be read or written.
pub fn write(to: &Path, description: &Description) -> Result<(), ArchiveError> {
    licences::write(to, description)?;
    if let Some(citation) = citation::text(description) {
        write_text(&to.join("CITATION.cff"), &citation)?;
    }
    data_package::write(to, Some(description))?;
    // Last: it lists the others.
    write_json(&to.join(ro_crate::FILE), &ro_crate::metadata(to, description)?)
}

fn write_text(path: &Path, text: &str) -> Result<(), ArchiveError> {
    Ok(fs::write(path, text).on("write", path)?)
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
