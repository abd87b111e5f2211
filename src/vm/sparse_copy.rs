//! Copies of files with holes.

use nix::errno::Errno;
use nix::unistd::{Whence, lseek};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Copies a regular file with its permissions to the new file `to`. Parts without data (holes) stay so: a copy of them could
/// fill the disk.
///
/// # Errors
/// The file cannot be read or is not regular, or `to` exists or cannot be written.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    copy_open(mcc_base::files::open(from)?, to)
}

/// Copies an open file as `copy`.
pub(super) fn copy_open(mut source: File, to: &Path) -> io::Result<()> {
    let facts = source.metadata()?;
    let mut copy = File::create_new(to)?;
    copy.set_len(facts.len())?;
    let mut end = 0_i64;
    loop {
        let begin = match lseek(&source, end, Whence::SeekData) {
            // No data follows.
            Err(Errno::ENXIO) => break,
            begin => begin?,
        };
        end = lseek(&source, begin, Whence::SeekHole)?;
        source.seek(SeekFrom::Start(begin.cast_unsigned()))?;
        copy.seek(SeekFrom::Start(begin.cast_unsigned()))?;
        io::copy(&mut (&source).take((end - begin).cast_unsigned()), &mut copy)?;
    }
    copy.set_permissions(facts.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_copy_of_a_file_with_holes_has_the_same_content_and_needs_no_more_space() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        let mut file = File::create(&from).unwrap();
        file.set_len(1 << 40).unwrap();
        for place in [1 << 30, (1 << 40) - 3] {
            file.seek(SeekFrom::Start(place)).unwrap();
            std::io::Write::write_all(&mut file, b"end").unwrap();
        }
        copy(&from, &to).unwrap();
        let facts = to.metadata().unwrap();
        assert_eq!((facts.len(), facts.permissions()), (1 << 40, from.metadata().unwrap().permissions()));
        assert!(facts.blocks() * 512 < 1 << 20, "{}", facts.blocks());
        let mut copied = File::open(&to).unwrap();
        for (place, text) in [(1 << 30, "end"), (1 << 31, "\0\0\0"), ((1 << 40) - 3, "end")] {
            copied.seek(SeekFrom::Start(place)).unwrap();
            let mut read = [0; 3];
            copied.read_exact(&mut read).unwrap();
            assert_eq!(read, text.as_bytes());
        }
        assert_eq!(copy(&from, &to).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }
}
