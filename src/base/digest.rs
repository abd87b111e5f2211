//! SHA-256 digests in lower-case hexadecimal, as `sha256sum` prints them.

use super::files;
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Returns the digest of a regular file and its length in bytes.
///
/// # Errors
/// The file cannot be read.
pub fn file(path: &Path) -> io::Result<(String, u64)> {
    of_open(files::open(path)?)
}

/// `file`, which also refuses a symbolic link, as `files::open_own` does.
///
/// # Errors
/// The file cannot be read, or is a symbolic link.
pub fn own_file(path: &Path) -> io::Result<(String, u64)> {
    of_open(files::open_own(path)?)
}

/// Returns the digest of the rest of an open file, and its length in bytes.
///
/// # Errors
/// The file cannot be read.
pub fn of_open(file: impl Read) -> io::Result<(String, u64)> {
    let (mut reader, mut bytes) = (Reader::new(file), 0);
    let mut buffer = vec![0; 1 << 18];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok((reader.digest(), bytes)),
            read => bytes += read as u64,
        }
    }
}

/// Returns whether a text is a digest as this module writes it.
pub fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Reads a digest: the function for `#[serde(deserialize_with)]`.
///
/// # Errors
/// The text is not a digest.
pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = <String as serde::Deserialize>::deserialize(from)?;
    if is_digest(&text) {
        Ok(text)
    } else {
        Err(serde::de::Error::custom("a digest does not have 64 hexadecimal digits in lower case"))
    }
}

/// A reader that computes the digest of what is read from its source.
pub struct Reader<R> {
    source: R,
    digest: Sha256,
}

impl<R: Read> Reader<R> {
    /// Nothing is read yet.
    pub fn new(source: R) -> Self {
        Self { source, digest: Sha256::new() }
    }

    /// The digest of the bytes that were read.
    pub fn digest(self) -> String {
        hex(&self.digest.finalize())
    }
}

impl<R: Read> Read for Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.digest.update(&buffer[..read]);
        Ok(read)
    }
}

/// Returns the digest of a folder: of the list of its files in the order of their names, each with its kind, whether it may
/// be executed, and the digest of its content or its target. Owners and times do not count.
///
/// # Errors
/// A file cannot be read, or is neither a regular file, a folder nor a link.
pub fn folder(path: &Path) -> io::Result<String> {
    let mut list = Vec::new();
    list_folder(path, b"", &mut list)?;
    Ok(bytes(list))
}

/// Appends a line for each file below `path`; `above` is the path within the folder, with a slash at its end.
fn list_folder(path: &Path, above: &[u8], list: &mut Vec<u8>) -> io::Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(path)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (kind, path) = (entry.file_type()?, entry.path());
        let name = [above, entry.file_name().as_bytes()].concat();
        let facts = if kind.is_dir() {
            "folder".to_owned()
        } else if kind.is_symlink() {
            format!("link {}", bytes(std::fs::read_link(&path)?.as_os_str().as_bytes()))
        } else {
            let is_program = path.metadata()?.permissions().mode() & 0o111 != 0;
            format!("{} {}", if is_program { "program" } else { "file" }, file(&path)?.0)
        };
        // A name can contain any byte but zero.
        list.extend([facts.as_bytes(), b" ", &name, b"\0"].concat());
        if kind.is_dir() {
            list_folder(&path, &[&name[..], b"/"].concat(), list)?;
        }
    }
    Ok(())
}

/// Returns the digest of bytes in memory.
pub fn bytes(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns bytes as hexadecimal digits, two per byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_digest_of_a_file_is_that_of_its_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::file(file.path()).unwrap(), (abc.to_owned(), 3));
        assert_eq!(super::bytes("abc"), abc);
    }

    #[test]
    fn the_digest_of_a_folder_depends_on_names_and_contents() {
        use std::fs;
        let made = |names: [&str; 2], content: &str| {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("bin")).unwrap();
            for name in names {
                fs::write(folder.path().join(name), content).unwrap();
            }
            std::os::unix::fs::symlink(content, folder.path().join("link")).unwrap();
            super::folder(folder.path()).unwrap()
        };
        let first = made(["a", "bin/b"], "x");
        assert_eq!(first, made(["bin/b", "a"], "x"));
        for other in [made(["a", "bin/c"], "x"), made(["a", "bin/b"], "y"), made(["a", "b"], "x")] {
            assert_ne!(first, other);
        }
    }
}
