//! Files of evidence that a tool may write: one witness or certificate for each formula, in its folder `BK_RESULT_DIR`
//! (docs/evidence/README.md). They are untrusted: names are fixed, sizes are limited, and links are not followed.

use crate::budgets::EVIDENCE;
use crate::files;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of a file that count. One more byte is kept, so that a longer file is seen to be too long.
pub const MAX_FILE: u64 = 4 << 20;

/// Bytes of a file in one message of the guest. JSON makes six bytes of some bytes, and a message has a limit of its own.
pub const MAX_PART: usize = 128 << 10;

/// The largest number of formulas whose evidence is kept: positions have two digits.
const MAX_POSITIONS: usize = 100;

/// What the name of a file of evidence states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `NN.witness.json`
    Witness,
    /// `NN.certificate.json`
    Certificate,
}

const KINDS: [(Kind, &str); 2] = [(Kind::Certificate, "certificate"), (Kind::Witness, "witness")];

/// The position of the formula and the kind, if a name is that of a file of evidence.
pub fn parse_name(name: &str) -> Option<(usize, Kind)> {
    let (position, rest) = name.split_at_checked(2)?;
    let kind = rest.strip_prefix('.')?.strip_suffix(".json")?;
    let (kind, _) = KINDS.into_iter().find(|(_, word)| *word == kind)?;
    let is_number = position.bytes().all(|byte| byte.is_ascii_digit());
    Some((position.parse().ok().filter(|_| is_number)?, kind))
}

/// Reads the evidence in a folder in the order of the names, and calls `keep` with name and content. Other files, links,
/// devices and what cannot be opened are left out; the limits of this module apply.
///
/// # Errors
/// Those of `keep`.
pub fn read_all<E>(folder: &Path, mut keep: impl FnMut(&str, &str) -> Result<(), E>) -> Result<(), E> {
    let mut left = EVIDENCE;
    if !fs::symlink_metadata(folder).is_ok_and(|facts| facts.is_dir()) {
        return Ok(());
    }
    for position in 0..MAX_POSITIONS {
        for (_, word) in KINDS {
            let name = format!("{position:02}.{word}.json");
            let Ok(content) = read(&folder.join(&name), left.min(MAX_FILE + 1)) else { continue };
            left -= content.len() as u64;
            keep(&name, &text_of(&content))?;
        }
    }
    Ok(())
}

fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    files::open_own(path)?.take(most).read_to_end(&mut content)?;
    Ok(content)
}

/// The text of a file. Bytes that are not UTF-8 are replaced, so a file with some is refused later.
pub fn text_of(content: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(content).into_owned();
    // A replaced byte has three bytes.
    text.truncate(text.floor_char_boundary((MAX_FILE + 1) as usize));
    text
}

/// The parts of a text for messages, each of at most `MAX_PART` bytes; one empty part of an empty text.
pub fn parts(mut text: &str) -> impl Iterator<Item = &str> {
    let mut is_first = true;
    std::iter::from_fn(move || {
        let (part, rest) = text.split_at(text.floor_char_boundary(MAX_PART));
        text = rest;
        let is_last = part.is_empty() && !is_first;
        is_first = false;
        (!is_last).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn kept(folder: &Path) -> Vec<(String, String)> {
        let mut kept = Vec::new();
        let keep = |name: &str, text: &str| -> Result<(), ()> {
            kept.push((name.to_owned(), text.to_owned()));
            Ok(())
        };
        read_all(folder, keep).unwrap();
        kept
    }

    #[test]
    fn only_regular_files_with_a_fixed_name_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("03.witness.json"), "{}").unwrap();
        fs::write(at("03.certificate.json"), b"\xff").unwrap();
        fs::write(at("3.witness.json"), "other name").unwrap();
        fs::write(at("secret"), "secret").unwrap();
        symlink(at("secret"), at("04.witness.json")).unwrap();
        fs::create_dir(at("05.witness.json")).unwrap();
        nix::unistd::mkfifo(&at("06.witness.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let expected = [("03.certificate.json", "\u{fffd}"), ("03.witness.json", "{}")];
        assert_eq!(kept(folder.path()), expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
        symlink(folder.path(), at("link")).unwrap();
        assert_eq!(kept(&at("link")), []);
        assert_eq!(kept(&at("missing")), []);
    }

    #[test]
    fn long_files_are_truncated_at_the_limits() {
        let folder = tempfile::tempdir().unwrap();
        for position in 0..9 {
            let long = vec![b'1'; MAX_FILE as usize + 5];
            fs::write(folder.path().join(format!("{position:02}.witness.json")), long).unwrap();
        }
        let lengths: Vec<u64> = kept(folder.path()).iter().map(|(_, text)| text.len() as u64).collect();
        assert_eq!(lengths[..7], [MAX_FILE + 1; 7]);
        assert_eq!(lengths.iter().sum::<u64>(), EVIDENCE);
    }

    #[test]
    fn names_state_position_and_kind() {
        assert_eq!(parse_name("07.witness.json"), Some((7, Kind::Witness)));
        assert_eq!(parse_name("15.certificate.json"), Some((15, Kind::Certificate)));
        for name in [
            "",
            "7.witness.json",
            "+7.witness.json",
            "007.witness.json",
            "07.witness",
            "../07.witness.json",
            "é.witness.json",
        ] {
            assert_eq!(parse_name(name), None, "{name}");
        }
    }

    #[test]
    fn the_parts_of_a_text_are_the_text() {
        let text = "é".repeat(MAX_PART);
        for text in ["", "short", &text] {
            let parts: Vec<&str> = parts(text).collect();
            assert!(!parts.is_empty() && parts.iter().all(|part| part.len() <= MAX_PART));
            assert_eq!(parts.concat(), text);
        }
    }
}
