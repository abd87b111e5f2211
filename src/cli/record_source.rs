use super::Failure;
use super::terminal::argument;
use anyhow::anyhow;
use mcc_archive::{ArchiveLimits, ArchivePaths, check_digests, unpack_part};
use mcc_base::temporary;
use mcc_store::StoreError;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Each temporary folder of an archive's files, and the path of the archive as the user gave it.
static UNPACKED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// A record to read. An archive is unpacked into a temporary folder that is removed with this value.
pub struct RecordSource {
    /// The folder of the record.
    pub folder: PathBuf,
    _unpacked: Option<tempfile::TempDir>,
}

/// Whether a file is an archive: it begins as zstd does.
pub fn is_archive(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = mcc_base::files::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == [0x28, 0xb5, 0x2f, 0xfd]
}

/// The table of names in an unpacked archive of runs on obfuscated instances.
pub fn own_names(folder: &Path) -> Option<PathBuf> {
    let names = ArchivePaths(folder).names();
    (mcc_archive::is_archive(folder) && names.is_file()).then_some(names)
}

/// Refuses the database of a record, which was given in place of its folder.
pub fn refuse_database(path: &Path) -> Result<(), Failure> {
    let mut magic = [0; 16];
    let read = mcc_base::files::open(path).and_then(|mut file| file.read_exact(&mut magic));
    if read.is_ok() && magic == *b"SQLite format 3\0" {
        return Err(Failure::usage(StoreError::no_record(path)));
    }
    Ok(())
}

/// Refuses a file that is not an archive.
pub fn refuse_no_archive(path: &Path) -> Result<(), Failure> {
    if path.is_file() && !is_archive(path) {
        return Err(Failure::usage(anyhow!(
            "{} is not an archive (.tar.zst, from `export --archive`); give an archive, the folder of an unpacked one, or the \
             folder of a record",
            path.display()
        )));
    }
    Ok(())
}

/// Opens RESULTS, the folder of an unpacked archive, or an archive.
pub fn open(path: &Path) -> Result<RecordSource, Failure> {
    open_part(path, &|_| true)
}

/// `open`; of an archive, unpacks only the files for whose path `wanted` returns true.
pub fn open_part(path: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<RecordSource, Failure> {
    if path.is_dir() {
        return Ok(RecordSource { folder: path.to_owned(), _unpacked: None });
    }
    refuse_database(path)?;
    refuse_no_archive(path)?;
    let unpacked = temporary::folder("mcc-archive-")?;
    name_by_archive(unpacked.path(), path);
    unpack_part(path, unpacked.path(), ArchiveLimits::default(), wanted)?;
    Ok(RecordSource { folder: unpacked.path().to_owned(), _unpacked: Some(unpacked) })
}

/// From now on `named_by_archive` names the files of this folder by their archive.
pub fn name_by_archive(folder: &Path, archive: &Path) {
    let names = (folder.display().to_string(), archive.display().to_string());
    UNPACKED.lock().unwrap_or_else(PoisonError::into_inner).push(names);
}

/// A message in which files of an archive are named by the archive and their path in it, not by the temporary folder.
pub fn named_by_archive(message: &str) -> String {
    let unpacked = UNPACKED.lock().unwrap_or_else(PoisonError::into_inner);
    unpacked.iter().fold(message.to_owned(), |message, (folder, archive)| {
        message.replace(&format!("{folder}/"), &format!("{archive}: ")).replace(folder, archive)
    })
}

/// Everything in an archive but the disks, which only replays read.
pub fn no_disk(path: &Path) -> bool {
    !path.starts_with("disks")
}

/// A judgement to read.
pub struct JudgementSource {
    /// The folder of the judgement.
    pub folder: PathBuf,
    /// The folder of its record, if it is in an archive.
    pub record: Option<PathBuf>,
    _archive: Option<RecordSource>,
}

/// Refuses a path that is plainly not a judgement: a file, a folder that does not exist, or the record of a campaign.
pub fn refuse_no_judgement(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let problem = if path.join("judgement.json").exists() {
        return Ok(());
    } else if path.join("record.db").exists() {
        let given = argument(path);
        format!("{shown} is the record of a campaign; judge it first: mcc-harness judge {given} --out JUDGED")
    } else if path.is_dir() {
        return Ok(());
    } else if path.exists() {
        format!("{shown} is a file, and not an archive; give the folder that `mcc-harness judge --out` wrote")
    } else {
        format!("{shown} does not exist; give the folder that `mcc-harness judge --out` wrote, or an archive")
    };
    Err(Failure::usage(anyhow!("{problem}")))
}

/// Opens the folder that `judge --out` wrote, or the judgement in an archive, packed or unpacked. Of a packed archive,
/// unpacks only the files for whose path `wanted` returns true. These must have their digests in SHA256SUMS.
pub fn open_judgement(path: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<JudgementSource, Failure> {
    if !is_archive(path) && !mcc_archive::is_archive(path) {
        refuse_no_judgement(path)?;
        return Ok(JudgementSource { folder: path.to_owned(), record: None, _archive: None });
    }
    let source = open_part(path, &|file| wanted(file) || file == Path::new("SHA256SUMS"))?;
    let folder = source.folder.join("judgement");
    if !folder.is_dir() {
        return Err(Failure::usage(anyhow!(
            "{}: the archive of one team has no judgement; values.csv in it has the verdict on each value with the reason. For \
             more give the archive of the contest",
            path.display()
        )));
    }
    check_digests(&source.folder, wanted)?;
    Ok(JudgementSource { folder, record: Some(source.folder.clone()), _archive: Some(source) })
}
