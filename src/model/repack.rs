//! Copies of instance archives without the verdicts that the contest distributes with them (T-5).

use super::archive::VERDICTS;
use super::{Archive, ArchiveError};
use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};
use mcc_base::{OnFile, files};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

/// Copies the archive `from` to `to` without `GenericPropertiesVerdict.xml`, which has known answers. The same archive
/// gives the same bytes.
///
/// # Errors
/// The archive is not valid, or a file cannot be read or written.
pub fn copy_without_verdicts(from: &Path, to: &Path) -> Result<(), ArchiveError> {
    // Checks the archive: its size, its headers and the kinds of its entries.
    Archive::open(from)?;
    let copied = || -> io::Result<()> {
        let mut tar = tar::Archive::new(MultiGzDecoder::new(BufReader::new(files::open(from)?)));
        let packed = GzBuilder::new().write(BufWriter::new(File::create(to)?), Compression::default());
        let mut copy = tar::Builder::new(packed);
        for entry in tar.entries()? {
            let mut entry = entry?;
            let path = entry.path()?.into_owned();
            if path.file_name().is_some_and(|name| name == VERDICTS) {
                continue;
            }
            let mut header = entry.header().clone();
            copy.append_data(&mut header, &path, &mut entry)?;
        }
        copy.into_inner()?.finish()?.into_inner()?.flush()
    };
    Ok(copied().on("copy", from)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_verdicts_are_left_out_of_a_copy() {
        let from =
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../pnml-fixtures/DiningTable-PT-03.tgz"));
        let folder = tempfile::tempdir().unwrap();
        let [to, again] = ["1", "2"].map(|name| folder.path().join(name).join("DiningTable-PT-03.tgz"));
        for path in [&to, &again] {
            std::fs::create_dir(path.parent().unwrap()).unwrap();
            copy_without_verdicts(from, path).unwrap();
        }
        assert_eq!(std::fs::read(&to).unwrap(), std::fs::read(&again).unwrap());
        let (original, copy) = (Archive::open(from).unwrap(), Archive::open(&to).unwrap());
        assert!(original.file(VERDICTS).is_some() && copy.file(VERDICTS).is_none());
        let others = |archive: &Archive| -> Vec<(String, Vec<u8>)> {
            let files = archive.files().filter(|(name, _)| *name != VERDICTS);
            files.map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect()
        };
        assert_eq!(others(&original), others(&copy));
        assert_eq!(original.net().unwrap().places.len(), copy.net().unwrap().places.len());
    }
}
