//! Text files: read with a size limit, written atomically.

use super::files;
use super::temporary::{file_beside, without_temporary_path};
use std::io::{self, Read, Write};
use std::path::Path;

/// Size limit of a file. The file of a campaign with thousands of models has a hundredth of it.
pub const MAX_FILE_BYTES: u64 = 64 << 20;

/// Reads a UTF-8 file.
///
/// # Errors
/// The file cannot be read, is not regular, is larger than 64 MiB, or is not UTF-8. The error does not contain the path.
pub fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    files::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!(
            "it is larger than {MAX_FILE_BYTES} bytes; check that it is the right file"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = line_of_byte(error.as_bytes(), error.utf8_error().valid_up_to());
        io::Error::other(format!("line {line} is not UTF-8; save it as UTF-8 text"))
    })
}

/// The line, from 1, of the byte `at` of a text.
pub fn line_of_byte(text: &[u8], at: usize) -> usize {
    let before = &text[..at.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// Writes a temporary file in the same folder, syncs it to the disk and renames it to `path`: no process sees an
/// incomplete file.
///
/// # Errors
/// The temporary file cannot be written, synced or renamed.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut temp_file = file_beside(path)?;
    temp_file.write_all(text.as_bytes()).map_err(without_temporary_path)?;
    temp_file.as_file().sync_all()?;
    temp_file.persist(path)?;
    Ok(())
}

/// As `write` without the sync, for one of many files that are synced together.
///
/// # Errors
/// The temporary file cannot be written or renamed.
pub fn write_unsynced(path: &Path, text: &str) -> io::Result<()> {
    let mut temp_file = file_beside(path)?;
    temp_file.write_all(text.as_bytes()).map_err(without_temporary_path)?;
    temp_file.persist(path)?;
    Ok(())
}

/// A number, or the text of one, with its noun: `1 file`, `2 files`.
pub fn counted(number: impl std::fmt::Display, noun: &str) -> String {
    let number = number.to_string();
    let ending = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// Percent-encodes all bytes but ASCII letters and digits and those in `plain` (RFC 3986).
pub fn percent_encoded(bytes: &[u8], plain: &[u8]) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || plain.contains(&byte);
    let encoded = |&byte: &u8| if is_plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") };
    bytes.iter().map(encoded).collect()
}

/// Returns the text as one word of a shell, in quotes.
pub fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns the text as one word of a shell that people read: in quotes only if a shell would change it.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=".contains(c);
    let is_plain = !text.is_empty() && text.chars().all(plain);
    if is_plain { text.to_owned() } else { shell_quoted(text) }
}

/// The text with visible names for control and invisible characters: `⟨NUL⟩`, `⟨ESC⟩`, `⟨U+202E⟩`.
///
/// Foreign text, such as the name of a tool, can then not hide the text around it or change its direction.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match control(c) {
            Some(word) => shown.push_str(&word),
            None => shown.push(c),
        }
    }
    shown
}

/// Checks a text of any number of lines that others wrote, such as a note or a reason. A line feed is the only control
/// character that it may contain: tables that were exported have it.
///
/// # Errors
/// It contains another one, or an invisible character. The problem is a predicate of the text, with the remedy.
pub fn check_lines(text: &str) -> Result<(), String> {
    match text.chars().filter(|c| *c != '\n').find_map(control) {
        None => Ok(()),
        Some(shown) => Err(format!("contains the control character {shown}; remove it")),
    }
}

/// The visible name of a character that is invisible or changes how other characters are displayed; None for others.
pub fn control(c: char) -> Option<String> {
    const C0: [&str; 32] = [
        "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "TAB", "LF", "VT", "FF", "CR", "SO",
        "SI", "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS",
        "RS", "US",
    ];
    let code = u32::from(c);
    match code {
        0x00..=0x1F => Some(format!("⟨{}⟩", C0[code as usize])),
        0x7F => Some("⟨DEL⟩".into()),
        // C1 controls, soft hyphen, zero-width and bidirectional marks, line separators, BOM, no characters, tags.
        0x80..=0x9F
        | 0xAD
        | 0x061C
        | 0x180E
        | 0x200B..=0x200F
        | 0x2028..=0x202E
        | 0x2060..=0x206F
        | 0xFEFF
        | 0xFFF9..=0xFFFB
        | 0xFFFE..=0xFFFF
        | 0xE0000..=0xE007F => Some(format!("⟨U+{code:04X}⟩")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_writing_has_no_temporary_name() {
        let error = write(Path::new("/proc/self/nowhere.csv"), "x").unwrap_err();
        assert!(!error.to_string().contains('/'), "{error}");
        assert!(files::is_wrong_path(&error), "{error}");
    }

    #[test]
    fn lines_contain_no_control_character_but_the_line_feed() {
        for allowed in ["", "P-3: withdrawn by its author", "two\nlines, ⟨ESC⟩, é\n"] {
            assert_eq!(check_lines(allowed), Ok(()));
        }
        for (refused, shown) in [
            ("a\u{1b}[2Jb", "⟨ESC⟩"),
            ("a\r\nb", "⟨CR⟩"),
            ("a\tb", "⟨TAB⟩"),
            ("a\nb\0", "⟨NUL⟩"),
            ("\u{9b}", "⟨U+009B⟩"),
            ("a\u{202e}b", "⟨U+202E⟩"),
        ] {
            let problem = format!("contains the control character {shown}; remove it");
            assert_eq!(check_lines(refused), Err(problem));
        }
    }

    #[test]
    fn an_endless_or_wrongly_encoded_text_is_refused() {
        let endless = read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(endless.contains("a character device"), "{endless}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("campaign.toml");
        std::fs::File::create(&path).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        let long = read(&path).unwrap_err().to_string();
        assert!(long.contains("larger than 67108864 bytes"), "{long}");
        std::fs::write(&path, b"edition = 1\n# \xe9t\xe9\n").unwrap();
        assert_eq!(read(&path).unwrap_err().to_string(), "line 2 is not UTF-8; save it as UTF-8 text");
    }
}
