//! Excerpts of raw outputs that are safe to show: the beginning and the end, with visible control characters.

use super::show;
use serde::Serialize;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes that are shown of the beginning of a long output.
const HEAD: u64 = 48 << 10;
/// Bytes that are shown of the end of a long output.
const TAIL: u64 = 16 << 10;
/// Characters that are shown of a line.
const LINE: usize = 2000;

/// The excerpt of an output. In `head` and `tail`, parts of text and parts of escapes (such as `⟨ESC⟩`) alternate.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    pub head: Vec<String>,
    /// None if `head` is the whole output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<Vec<String>>,
    /// Bytes left out between `head` and `tail`.
    pub skipped: u64,
    /// Bytes of the whole output.
    pub bytes: u64,
}

/// Reads the excerpt of an output: at most `HEAD` and `TAIL` bytes, for an output of any size.
pub fn excerpt(mut from: impl Read + Seek) -> io::Result<Excerpt> {
    let bytes = from.seek(SeekFrom::End(0))?;
    from.rewind()?;
    let mut head = Vec::new();
    if bytes <= HEAD + TAIL {
        from.read_to_end(&mut head)?;
        return Ok(Excerpt { head: visible_parts(&head), tail: None, skipped: 0, bytes });
    }
    from.by_ref().take(HEAD).read_to_end(&mut head)?;
    match head.iter().rposition(|&byte| byte == b'\n') {
        Some(end) => head.truncate(end + 1),
        None => head.truncate(whole_characters(&head)),
    }
    let mut tail = Vec::new();
    from.seek(SeekFrom::Start(bytes - TAIL))?;
    from.by_ref().take(TAIL).read_to_end(&mut tail)?;
    let start = match tail[..tail.len() - 1].iter().position(|&byte| byte == b'\n') {
        Some(end) => end + 1,
        None => tail.iter().position(|byte| byte & 0xC0 != 0x80).unwrap_or(0),
    };
    let tail = &tail[start..];
    let skipped = bytes - head.len() as u64 - tail.len() as u64;
    Ok(Excerpt { head: visible_parts(&head), tail: Some(visible_parts(tail)), skipped, bytes })
}

/// The length without an incomplete UTF-8 character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && bytes.len() - error.valid_up_to() < 4 => {
            error.valid_up_to()
        }
        _ => bytes.len(),
    }
}

/// The parts to show: control characters as `⟨ESC⟩`, bytes that are not UTF-8 as `⟨xFF⟩`, long lines truncated. The carriage
/// return at the end of a line is not shown, because every line of a console has one.
fn visible_parts(bytes: &[u8]) -> Vec<String> {
    let mut page =
        ExcerptBuilder { parts: vec![String::with_capacity(bytes.len())], in_line: 0, truncated: 0 };
    for chunk in bytes.utf8_chunks() {
        let mut chars = chunk.valid().chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\r' if chars.peek() == Some(&'\n') => {}
                '\n' => page.end_line(),
                '\t' => page.text(c),
                _ => match show::control(c) {
                    Some(word) => page.word(&word),
                    None => page.text(c),
                },
            }
        }
        for byte in chunk.invalid() {
            page.word(&format!("⟨x{byte:02X}⟩"));
        }
    }
    page.close_line();
    page.parts
}

struct ExcerptBuilder {
    /// Text, escapes, text, ...
    parts: Vec<String>,
    /// Characters of the current line so far.
    in_line: usize,
    /// Characters of the current line that were left out.
    truncated: usize,
}

impl ExcerptBuilder {
    fn fits(&mut self) -> bool {
        self.in_line += 1;
        if self.in_line > LINE {
            self.truncated += 1;
        }
        self.in_line <= LINE
    }

    /// The last part if it is of the wanted kind, else a new one.
    fn part(&mut self, words: bool) -> &mut String {
        if self.parts.len().is_multiple_of(2) != words {
            self.parts.push(String::new());
        }
        let last = self.parts.len() - 1;
        &mut self.parts[last]
    }

    fn text(&mut self, c: char) {
        if self.fits() {
            self.part(false).push(c);
        }
    }

    fn word(&mut self, word: &str) {
        if self.fits() {
            self.part(true).push_str(word);
        }
    }

    fn close_line(&mut self) {
        if self.truncated > 0 {
            let truncated = show::thousands(self.truncated as u64);
            self.part(true).push_str(&format!("⟨… {truncated} more characters of this line⟩"));
        }
        (self.in_line, self.truncated) = (0, 0);
    }

    fn end_line(&mut self) {
        self.close_line();
        self.part(false).push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn shown(bytes: &[u8]) -> Excerpt {
        excerpt(Cursor::new(bytes)).expect("reads memory")
    }

    #[test]
    fn markup_is_text_and_controls_are_visible() {
        let page = shown(b"<script>alert('&')</script>\n\x1b[2J\0\xff ok\rno\r\n");
        assert_eq!(
            page.head,
            ["<script>alert('&')</script>\n", "⟨ESC⟩", "[2J", "⟨NUL⟩⟨xFF⟩", " ok", "⟨CR⟩", "no\n"]
        );
        assert_eq!(page.tail, None);
    }

    #[test]
    fn a_long_line_is_truncated() {
        let page = shown("x".repeat(10_000).as_bytes());
        assert_eq!(page.head, ["x".repeat(LINE), "⟨… 8,000 more characters of this line⟩".into()]);
    }

    #[test]
    fn a_long_output_shows_whole_lines_of_both_ends() {
        let text: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        let page = shown(text.as_bytes());
        let (head, tail) = (page.head.concat(), page.tail.expect("long").concat());
        assert!(head.starts_with("line 0\n") && head.ends_with('\n'));
        assert!(tail.starts_with("line ") && tail.ends_with("line 99999\n"));
        assert_eq!(head.len() as u64 + page.skipped + tail.len() as u64, text.len() as u64);
    }

    #[test]
    fn a_long_line_is_not_truncated_inside_a_character() {
        let page = shown("é€😀".repeat(50_000).as_bytes());
        // The shown text and the note on the rest: an incomplete character would be a third part.
        assert_eq!((page.head.len(), page.tail.expect("long").len()), (2, 2));
    }

    proptest::proptest! {
        #[test]
        fn every_character_of_an_output_is_visible(bytes in proptest::collection::vec(0u8.., 0..5000)) {
            let visible_parts = |c: char| c == '\n' || c == '\t' || show::control(c).is_none();
            proptest::prop_assert!(shown(&bytes).head.concat().chars().all(visible_parts));
        }
    }
}
