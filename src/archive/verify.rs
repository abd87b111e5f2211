//! Verifies that a record or an archive is complete and unchanged, and that its judgement follows from it.

use super::paths::{ArchivePaths, cores, is_archive};
use super::{ArchiveError, io_at};
use mcc_base::names::RunId;
use mcc_base::{digest, files};
use mcc_benchkit::contest_table::Form;
use mcc_edition::Edition;
use mcc_judge::Ballots;
use mcc_judge::contest_table::{Layout, export};
use mcc_judge::mcc::Judge;
use mcc_judge::write;
use mcc_store::{Attempt, Record};
use serde::Serialize;
use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader};
use std::path::Path;
use walkdir::WalkDir;

/// Further differences are only counted.
const MAX_DIFFERENCES: usize = 1000;
/// Differing lines of one file that are shown.
const MAX_LINES_SHOWN: usize = 5;
/// Characters of a line that are shown.
const MAX_LINE_CHARS: usize = 160;

/// A difference that a verification found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// A run, or a file (with its line).
    pub place: String,
    /// The difference, as predicate of the place.
    pub what: String,
}

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Number of files whose digest was compared.
    pub files: u64,
    /// Number of recorded runs.
    pub runs: u64,
    /// Whether every point was recomputed from the raw outputs.
    pub recomputed: bool,
    /// Who signed the archive, with the key; None: not checked, or a difference says why there is no valid signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// The differences, at most 1000.
    pub differences: Vec<Difference>,
    /// Number of further differences.
    pub more: u64,
}

impl Verified {
    /// Adds a difference.
    pub fn differs(&mut self, place: impl Into<String>, what: impl Into<String>) {
        if self.differences.len() < MAX_DIFFERENCES {
            self.differences.push(Difference { place: place.into(), what: what.into() });
        } else {
            self.more += 1;
        }
    }

    /// Judges again and compares the result with the judgement in `folder`, file by file and line by line.
    ///
    /// # Errors
    /// The ballots cannot be judged, or a file cannot be read.
    pub fn recompute(
        &mut self,
        edition: &Edition,
        ballots: Ballots,
        folder: &Path,
    ) -> Result<(), ArchiveError> {
        let recomputed = tempfile::tempdir().map_err(io_at(folder))?;
        write::write(&Judge::new(edition, ballots)?, recomputed.path())?;
        self.same_files(recomputed.path(), folder)?;
        self.recomputed = true;
        Ok(())
    }

    /// Compares every file of `recomputed` with the file of the same name in `folder`.
    fn same_files(&mut self, recomputed: &Path, folder: &Path) -> Result<(), ArchiveError> {
        for file in WalkDir::new(recomputed).min_depth(1).sort_by_file_name() {
            let file = file.map_err(|error| io_at(recomputed)(error.into()))?;
            let stored = folder.join(file.file_name());
            let shown = stored.display().to_string();
            match stored.exists() {
                true => self.same_lines(file.path(), &stored)?,
                false => self.differs(shown, "is missing"),
            }
        }
        Ok(())
    }

    fn same_lines(&mut self, recomputed: &Path, stored: &Path) -> Result<(), ArchiveError> {
        let lines = |path: &Path| -> Result<_, ArchiveError> {
            Ok(BufReader::new(files::open(path).map_err(io_at(path))?).split(b'\n'))
        };
        let (mut recomputed_lines, mut stored_lines) = (lines(recomputed)?, lines(stored)?);
        let mut shown = 0;
        for number in 1_u64.. {
            let next = (recomputed_lines.next().transpose(), stored_lines.next().transpose());
            let (recomputed, stored_line) =
                (next.0.map_err(io_at(recomputed))?, next.1.map_err(io_at(stored))?);
            if recomputed.is_none() && stored_line.is_none() {
                break;
            }
            // The version of the program is not compared.
            let version =
                |line: &Option<Vec<u8>>| line.as_ref().is_some_and(|l| l.starts_with(b"{\"version\":"));
            if recomputed == stored_line || (version(&recomputed) && version(&stored_line)) {
                continue;
            }
            let place = format!("{} line {number}", stored.display());
            shown += 1;
            if shown > MAX_LINES_SHOWN {
                self.differs(place, "and possibly more lines differ");
                break;
            }
            let [stored_line, recomputed] =
                [stored_line, recomputed].map(|line| line.map_or("no line".to_owned(), |line| cut(&line)));
            self.differs(place, format!("has `{stored_line}`, recomputed it is `{recomputed}`"));
        }
        Ok(())
    }

    /// Compares every file of SHA256SUMS with its digest, and looks for files that are not listed.
    fn sums(&mut self, folder: &Path) -> Result<(), ArchiveError> {
        let path = ArchivePaths(folder).sums();
        let hashes = RandomState::new();
        // Hashes of names: 8 MB for a million files; the names would take 100 MB.
        let mut listed: HashSet<u64> = HashSet::new();
        let file = match files::open(&path) {
            Ok(file) => file,
            Err(error) => {
                self.differs("SHA256SUMS", format!("is missing or cannot be read: {error}"));
                return Ok(());
            }
        };
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(io_at(&path))?;
            let line = String::from_utf8_lossy(&line);
            let Some((sha256, name)) = line.split_once("  ") else {
                self.differs(
                    "SHA256SUMS",
                    format!("has a line without digest and name: `{}`", cut(line.as_bytes())),
                );
                continue;
            };
            let plain = Path::new(name).components().all(|c| matches!(c, std::path::Component::Normal(_)));
            if !plain || !listed.insert(hashes.hash_one(name)) {
                self.differs(
                    "SHA256SUMS",
                    format!("lists `{}` twice, or outside of the archive", cut(name.as_bytes())),
                );
                continue;
            }
            self.digest(&folder.join(name), sha256, "SHA256SUMS", name);
        }
        for file in WalkDir::new(folder).sort_by_file_name() {
            let file = file.map_err(|error| io_at(folder)(error.into()))?;
            let name = file.path().strip_prefix(folder).unwrap_or(file.path()).to_string_lossy();
            // The signature is one of SHA256SUMS. SQLite creates the last two when a record is read.
            let unlisted =
                ["SHA256SUMS", "SHA256SUMS.sig", "record.db-wal", "record.db-shm"].contains(&&*name);
            if !file.file_type().is_dir() && !unlisted && !listed.contains(&hashes.hash_one(&*name)) {
                self.differs(name, "is not listed in SHA256SUMS");
            }
        }
        Ok(())
    }

    /// Checks that every planned run is recorded and every output has its recorded digest.
    fn record(&mut self, record: &Record) -> Result<(), ArchiveError> {
        for open in record.open_runs() {
            self.differs(open?.run.id().to_string(), "is planned but not recorded");
        }
        let (mut ids, mut examinations) = (BTreeSet::new(), BTreeSet::new());
        for run in record.records() {
            let run = run?;
            self.runs += 1;
            for attempt in record.attempts(&run.run.id())? {
                self.outputs(record, &attempt);
            }
            ids.insert(run.run.id());
            examinations.insert(run.run.examination);
        }
        let summary = record.summary()?;
        if summary.recorded < summary.planned {
            return Ok(());
        }
        // A campaign has a run of every entry on every instance in every examination.
        let facts = record.facts();
        for entry in &facts.entries {
            for instance in &facts.instances {
                for examination in &examinations {
                    let id = RunId::new(&entry.entry, &instance.name, examination);
                    if !ids.contains(&id) {
                        self.differs(id.to_string(), "is missing: the campaign has it, the record does not");
                    }
                }
            }
        }
        Ok(())
    }

    fn outputs(&mut self, record: &Record, attempt: &Attempt) {
        let folder = record.outputs_dir(&attempt.run, attempt.number);
        for output in &attempt.outputs {
            let place = format!("{} attempt {} {}", attempt.run, attempt.number, output.role);
            self.digest(&folder.join(&output.role), &output.sha256, "the record", &place);
        }
    }

    /// Compares a file with the digest that it has in `list`.
    fn digest(&mut self, path: &Path, sha256: &str, list: &str, place: &str) {
        self.files += 1;
        match digest::file(path) {
            Ok((found, _)) if found == sha256 => {}
            Ok((found, _)) => self.differs(place, format!("has sha256 {found}, but {sha256} in {list}")),
            Err(error) => self.differs(place, format!("cannot be read: {error}")),
        }
    }
}

/// Verifies digests and completeness of a record or an unpacked archive; for an archive also its judgement and its table
/// of answers.
///
/// # Errors
/// The folder is no record, or a file cannot be read. Damage is reported as a difference.
pub fn verify(folder: &Path) -> Result<Verified, ArchiveError> {
    let mut verified = Verified::default();
    let paths = ArchivePaths(folder);
    let published = is_archive(folder);
    if published {
        verified.sums(folder)?;
    }
    let looked = Record::open_readonly(folder).map_err(ArchiveError::from).and_then(|record| {
        verified.record(&record)?;
        if published && paths.facts()?.tool.is_none() {
            verified.archive(&paths, &record)?;
        }
        Ok(())
    });
    match looked {
        // Damaged files, which are listed already, may be unreadable.
        Err(error) if !verified.differences.is_empty() => {
            verified.differs(folder.display().to_string(), format!("could not be judged again: {error}"));
        }
        looked => looked?,
    }
    // Paths relative to the archive: the folder of unpacking has no meaning for readers.
    for difference in &mut verified.differences {
        let inside = Path::new(&difference.place).strip_prefix(folder).map(|path| path.display().to_string());
        if let Some(inside) = inside.ok().filter(|inside| !inside.is_empty()) {
            difference.place = inside;
        }
    }
    Ok(verified)
}

impl Verified {
    fn archive(&mut self, paths: &ArchivePaths, record: &Record) -> Result<(), ArchiveError> {
        let (edition, ballots) = paths.ballots()?;
        let recomputed = tempfile::tempdir().map_err(io_at(paths.0))?;
        let answers = recomputed.path().join("answers.csv");
        export(&edition, ballots.clone(), &cores(record)?, Layout::Results(Form::Exact), &answers)?;
        self.same_files(recomputed.path(), paths.0)?;
        self.recompute(&edition, ballots, &paths.judgement())
    }
}

fn cut(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let start: String = line.chars().take(MAX_LINE_CHARS).collect();
    if start.len() < line.len() { start + "..." } else { start }
}
