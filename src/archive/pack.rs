//! Writes archives, file by file, so that memory does not depend on their size. The same record gives the same bytes.

use super::layout::part;
use super::paths::ArchivePaths;
use super::{ArchiveError, signature};
use mcc_base::{OnFile, digest, files, temporary};
use mcc_store::{ARCHIVE_FILE, Attempt, Record};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// The default level of zstd: compresses outputs to a tenth, and disks at the speed of an SSD.
const LEVEL: i32 = 3;

/// Writes an archive of the files in `staged`, the outputs of the record there, `disks` (digest and path), and the digests of
/// all files, which are signed with the SSH key `key`. Writes a temporary file and renames it to `out`, so that `out` is
/// complete or absent.
///
/// # Errors
/// A file cannot be read or written, an output has another digest than the record has, or the key cannot be used.
pub fn pack(
    staged: &Path,
    disks: &[(String, PathBuf)],
    key: Option<&Path>,
    out: &Path,
) -> Result<(), ArchiveError> {
    let file = temporary::file_beside(out).on("write", out)?;
    let (file, temporary) = file.into_parts();
    let compressed = zstd::Encoder::new(BufWriter::new(file), LEVEL).on("write", out)?;
    let sums = tempfile::tempfile().on("create", out)?;
    let mut tar =
        Writer { tar: tar::Builder::new(compressed), sums: BufWriter::new(sums), out: out.to_owned() };

    let paths = ArchivePaths(staged);
    tar.file(ARCHIVE_FILE, &paths.facts_file())?;
    for file in WalkDir::new(staged).sort_by_file_name() {
        let file = file.on("read", staged)?;
        let name = file.path().strip_prefix(staged).expect("the file is in the folder").to_string_lossy();
        if file.file_type().is_file() && name != ARCHIVE_FILE {
            tar.file(&name, file.path())?;
        }
    }
    for (sha256, path) in disks {
        tar.file(&format!("disks/{sha256}"), path)?;
    }
    let record = Record::open_readonly(staged)?;
    for run in record.records() {
        for attempt in record.attempts(&run?.run.id())? {
            tar.outputs(&record, &attempt)?;
        }
    }
    tar.finish(key)?;
    temporary.persist(out).on("write", out)?;
    Ok(())
}

type Compressed = zstd::Encoder<'static, BufWriter<File>>;

struct Writer {
    tar: tar::Builder<Compressed>,
    sums: BufWriter<File>,
    out: PathBuf,
}

impl Writer {
    fn outputs(&mut self, record: &Record, attempt: &Attempt) -> Result<(), ArchiveError> {
        for output in &attempt.outputs {
            let path = record.outputs_dir(&attempt.run, attempt.number).join(&output.role);
            let name = format!("outputs/{}/{}/{}", attempt.run, attempt.number, output.role);
            let sha256 = self.file(&name, &path)?;
            if sha256 != output.sha256 {
                let reason = "its digest is not the recorded one; `mcc-harness verify` lists all such files"
                    .to_owned();
                return Err(ArchiveError::Bad { path, reason });
            }
        }
        Ok(())
    }

    /// Appends a file and returns its digest.
    fn file(&mut self, name: &str, path: &Path) -> Result<String, ArchiveError> {
        if part(name).is_none() {
            let reason =
                format!("`{name}` is not a file that an archive can have; remove it from the record");
            return Err(ArchiveError::Bad { path: path.to_owned(), reason });
        }
        let mut file = files::open(path).on("read", path)?;
        let (sha256, bytes) = digest::of_open(&file).on("read", path)?;
        file.rewind().on("read", path)?;
        let mut packed = digest::Reader::new(BufReader::new(file).take(bytes));
        append(&mut self.tar, &self.out, name, bytes, &mut packed)?;
        if packed.digest() != sha256 {
            let reason = "it changed while it was packed; run the command again".to_owned();
            return Err(ArchiveError::Bad { path: path.to_owned(), reason });
        }
        writeln!(self.sums, "{sha256}  {name}").on("write", &self.out)?;
        Ok(sha256)
    }

    fn finish(self, key: Option<&Path>) -> Result<(), ArchiveError> {
        let Self { mut tar, sums, out } = self;
        let mut sums = sums.into_inner().on("write", &out)?;
        let bytes = sums.stream_position().on("write", &out)?;
        sums.rewind().on("write", &out)?;
        append(&mut tar, &out, "SHA256SUMS", bytes, sums.try_clone().on("write", &out)?)?;
        if let Some(key) = key {
            sums.rewind().on("write", &out)?;
            let signature = signature::sign(sums, key)?;
            append(&mut tar, &out, "SHA256SUMS.sig", signature.len() as u64, &signature[..])?;
        }
        let file = tar.into_inner().and_then(zstd::Encoder::finish).on("write", &out)?;
        file.into_inner().on("write", &out)?;
        Ok(())
    }
}

/// Appends a file to the archive `out`.
fn append(
    tar: &mut tar::Builder<Compressed>,
    out: &Path,
    name: &str,
    bytes: u64,
    content: impl Read,
) -> Result<(), ArchiveError> {
    let written = header(name, bytes).and_then(|header| tar.append(&header, content));
    let written = written.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")));
    Ok(written.on("write", out)?)
}

/// The header of a file of an archive.
///
/// # Errors
/// The name is too long.
pub fn header(name: &str, bytes: u64) -> io::Result<tar::Header> {
    let mut header = tar::Header::new_ustar();
    header.set_size(bytes);
    header.set_mode(0o644);
    // Without owner and time: they depend on the host.
    header.set_mtime(0);
    header.set_path(name)?;
    header.set_cksum();
    Ok(header)
}
