//! The files of an unpacked archive, and the input of its judgement.

use super::ArchiveError;
use super::layout::Kind;
use mcc_base::names::check_name;
use mcc_base::{OnFile, text};
use mcc_campaign::{Kind as EntryKind, Publication};
use mcc_edition::Edition;
use mcc_judge::contest_table::Cores;
use mcc_judge::overrides::read_overrides;
use mcc_judge::record::{edition_of, read_record};
use mcc_judge::schema::{ENTRIES, INSTANCES};
use mcc_judge::{RunResults, source};
use mcc_store::{ARCHIVE_FILE, Disk, Record};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Version of the layout.
pub const FORMAT: u32 = 1;

/// `archive.json`: the first file of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchiveFacts {
    /// Version of the layout: 1.
    pub format: u32,
    /// Version of mcc-harness that wrote the archive.
    pub made_by: String,
    /// Name of the edition.
    pub edition: String,
    /// The tool of a team bundle, which has the verdicts on the values of the tool and no judgement; None: an archive.
    pub tool: Option<String>,
    /// Disks in `disks/`, each named by its digest; none if the archive was written without disks.
    pub disks: Vec<Disk>,
}

impl ArchiveFacts {
    /// What the archive is of.
    pub fn kind(&self) -> Kind {
        if self.tool.is_some() { Kind::Team } else { Kind::Contest }
    }
}

/// Whether a text can be the version of a program.
pub fn is_version(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    (1..=100).contains(&text.len()) && text.chars().all(is_part)
}

/// Returns the content of `publication.json`, which an archive has if its publication is stated; None: there is none.
///
/// # Errors
/// The file is not valid.
pub fn publication(folder: &Path) -> Result<Option<Publication>, ArchiveError> {
    let path = ArchivePaths(folder).publication();
    path.exists().then(|| json(&path)).transpose()
}

/// Paths in an unpacked archive.
pub struct ArchivePaths<'a>(pub &'a Path);

/// Whether the folder is an unpacked archive.
pub fn is_archive(folder: &Path) -> bool {
    ArchivePaths(folder).facts_file().is_file()
}

impl ArchivePaths<'_> {
    /// `archive.json`
    pub fn facts_file(&self) -> PathBuf {
        self.0.join(ARCHIVE_FILE)
    }

    /// `edition.json`: the rules.
    pub fn edition_file(&self) -> PathBuf {
        self.0.join("edition.json")
    }

    /// `SHA256SUMS`: the digests of all other files.
    pub fn sums(&self) -> PathBuf {
        self.0.join("SHA256SUMS")
    }

    /// The folder of the judgement.
    pub fn judgement(&self) -> PathBuf {
        self.0.join("judgement")
    }

    /// `names.csv`: the names of obfuscated instances; absent if there are none.
    pub fn names(&self) -> PathBuf {
        self.0.join("names.csv")
    }

    /// `publication.json`: title, people, licence and DOI; absent if none is stated.
    pub fn publication(&self) -> PathBuf {
        self.0.join("publication.json")
    }

    /// `overrides.csv`: values set by the organizers; absent if there are none.
    pub fn overrides(&self) -> PathBuf {
        self.0.join("overrides.csv")
    }

    /// Reads `archive.json`.
    ///
    /// # Errors
    /// The file is not valid, or has a newer format.
    pub fn facts(&self) -> Result<ArchiveFacts, ArchiveError> {
        let path = self.facts_file();
        let facts: ArchiveFacts = json(&path)?;
        if facts.format != FORMAT {
            let reason = format!(
                "the archive has layout {}, but this version reads layout {FORMAT}: use a newer mcc-harness",
                facts.format
            );
            return Err(ArchiveError::Bad { path, reason });
        }
        let tool = facts.tool.as_deref().map_or(Ok(()), |tool| check_name("the tool", tool));
        let problem = match tool {
            Err(problem) => problem.to_string(),
            Ok(()) if !is_version(&facts.made_by) => "`made_by` is not a version of mcc-harness".to_owned(),
            Ok(()) => return Ok(facts),
        };
        Err(ArchiveError::Bad {
            path,
            reason: format!("{problem}; do not trust this archive, download it again"),
        })
    }

    /// Reads `edition.json`.
    ///
    /// # Errors
    /// The file is not valid.
    pub fn edition(&self) -> Result<Edition, ArchiveError> {
        let path = self.edition_file();
        let edition: Edition = json(&path)?;
        match edition.check_recorded() {
            Ok(()) => Ok(edition),
            Err(reason) => Err(ArchiveError::Bad {
                path,
                reason: format!("{reason}; the archive was changed, or has rules that this version refuses"),
            }),
        }
    }

    /// Reads the input of the judgement: record, rules and tables of the archive.
    ///
    /// # Errors
    /// A file is not valid.
    pub fn results(&self) -> Result<(Edition, RunResults), ArchiveError> {
        let edition = self.edition()?;
        let mut results = read_record(&edition, &Record::open_readonly(self.0)?)?;
        if let Some(publication) = publication(self.0)? {
            results.publication = Some(publication);
        }
        if self.names().exists() {
            source::read_names(&mut results, &self.names())?;
        }
        source::read_models(&edition, &mut results, &self.0.join(INSTANCES.file))?;
        source::read_tools(&mut results, &self.0.join(ENTRIES.file))?;
        if self.overrides().exists() {
            read_overrides(&edition, &mut results, &self.overrides())?;
        }
        Ok((edition, results))
    }
}

/// Returns the number of cores of each entry of a record.
///
/// # Errors
/// The edition in the record is not valid.
pub fn cores(record: &Record) -> Result<Cores, ArchiveError> {
    let machine = edition_of(record)?.machine;
    let cores_of = |kind: EntryKind| match kind {
        EntryKind::Sequential => machine.sequential_cores,
        EntryKind::Concurrent => machine.concurrent_cores,
    };
    Ok(record.facts().entries.iter().map(|entry| (entry.entry.to_string(), cores_of(entry.kind))).collect())
}

fn json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ArchiveError> {
    let text = text::read(path).on("read", path)?;
    serde_json::from_str(&text)
        .map_err(|error| ArchiveError::Bad { path: path.to_owned(), reason: error.to_string() })
}
