//! What lies in an unpacked archive, and how its judgement is made of it.

use super::{ArchiveError, io_at};
use mcc_base::text;
use mcc_campaign::Kind;
use mcc_edition::Edition;
use mcc_judge::contest_table::Cores;
use mcc_judge::overrides::read_overrides;
use mcc_judge::record::{edition_of, read_record};
use mcc_judge::{Ballots, source};
use mcc_store::{Disk, Record};
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
    /// Version of mcc-harness that made it.
    pub made_by: String,
    pub edition: String,
    /// Of a team's bundle: the tool; it has no judgement, only what became of the tool's values.
    pub tool: Option<String>,
    /// Disks in `disks/`, each named by its digest; none where the archive was made without.
    pub disks: Vec<Disk>,
}

/// Paths in an unpacked archive.
pub struct ArchivePaths<'a>(pub &'a Path);

pub fn is_archive(folder: &Path) -> bool {
    ArchivePaths(folder).facts_file().is_file()
}

impl ArchivePaths<'_> {
    pub fn facts_file(&self) -> PathBuf {
        self.0.join("archive.json")
    }

    pub fn edition_file(&self) -> PathBuf {
        self.0.join("edition.json")
    }

    pub fn sums(&self) -> PathBuf {
        self.0.join("SHA256SUMS")
    }

    pub fn judgement(&self) -> PathBuf {
        self.0.join("judgement")
    }

    pub fn disks(&self) -> PathBuf {
        self.0.join("disks")
    }

    pub fn answers(&self) -> PathBuf {
        self.0.join("answers.csv")
    }

    pub fn models(&self) -> PathBuf {
        self.0.join("answers.models.csv")
    }

    pub fn tools(&self) -> PathBuf {
        self.0.join("answers.tools.csv")
    }

    pub fn names(&self) -> PathBuf {
        self.0.join("names.csv")
    }

    pub fn overrides(&self) -> PathBuf {
        self.0.join("overrides.csv")
    }

    pub fn facts(&self) -> Result<ArchiveFacts, ArchiveError> {
        let path = self.facts_file();
        let facts: ArchiveFacts = json(&path)?;
        if facts.format != FORMAT {
            let reason =
                format!("layout {} (this version reads {FORMAT}): use a newer mcc-harness", facts.format);
            return Err(ArchiveError::Bad { path, reason });
        }
        Ok(facts)
    }

    /// What the archive's judgement is made of: its record, its rules, and the tables beside it.
    pub fn ballots(&self) -> Result<(Edition, Ballots), ArchiveError> {
        let edition: Edition = json(&self.edition_file())?;
        let mut ballots = read_record(&edition, &Record::open_readonly(self.0)?)?;
        if self.names().exists() {
            source::read_names(&mut ballots, &self.names())?;
        }
        source::read_models(&edition, &mut ballots, &self.models())?;
        source::read_tools(&mut ballots, &self.tools())?;
        if self.overrides().exists() {
            read_overrides(&edition, &mut ballots, &self.overrides())?;
        }
        Ok((edition, ballots))
    }
}

/// How many cores the entries of a record have.
pub fn cores(record: &Record) -> Result<Cores, ArchiveError> {
    let machine = edition_of(record)?.machine;
    let of = |kind: Kind| match kind {
        Kind::Sequential => machine.sequential_cores,
        Kind::Concurrent => machine.concurrent_cores,
    };
    Ok(record.facts().entries.iter().map(|entry| (entry.entry.to_string(), of(entry.kind))).collect())
}

fn json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ArchiveError> {
    let text = text::read(path).map_err(io_at(path))?;
    serde_json::from_str(&text)
        .map_err(|error| ArchiveError::Bad { path: path.to_owned(), reason: error.to_string() })
}
