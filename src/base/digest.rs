//! SHA-256 digests in lower-case hexadecimal, as `sha256sum` prints them.

use super::files;
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::path::Path;

/// Returns the digest of a regular file and its length in bytes.
///
/// # Errors
/// The file cannot be read.
pub fn file(path: &Path) -> io::Result<(String, u64)> {
    let mut file = files::open(path)?;
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((hex(&digest.finalize()), bytes)),
            read => {
                digest.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
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
}
