//! A raw output made safe to show: its beginning and its end, escaped, with controls made visible.

use super::show;
use std::fmt::Write;
use std::io::{self, Read, Seek, SeekFrom};

/// How much of a long output's beginning and end is shown, in bytes.
const HEAD: u64 = 48 << 10;
const TAIL: u64 = 16 << 10;
/// How much of a line is shown, in characters.
const LINE: usize = 2000;

/// What is shown of an output. `head` and `tail` are HTML.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt {
    pub head: String,
    /// None where `head` is all of it.
    pub tail: Option<String>,
    /// Bytes left out between `head` and `tail`.
    pub skipped: u64,
    pub bytes: u64,
}

/// Reads no more than it shows, whatever the size of the output.
pub fn excerpt(mut from: impl Read + Seek) -> io::Result<Excerpt> {
    let bytes = from.seek(SeekFrom::End(0))?;
    from.rewind()?;
    let mut head = Vec::new();
    if bytes <= HEAD + TAIL {
        from.read_to_end(&mut head)?;
        return Ok(Excerpt { head: html(&head), tail: None, skipped: 0, bytes });
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
    Ok(Excerpt { head: html(&head), tail: Some(html(tail)), skipped, bytes })
}

/// The length up to which no character is cut in two.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && bytes.len() - error.valid_up_to() < 4 => {
            error.valid_up_to()
        }
        _ => bytes.len(),
    }
}

/// Escaped; controls as `<i>⟨ESC⟩</i>`, bytes that are no UTF-8 as `<i>⟨xFF⟩</i>`, long lines cut. The carriage
/// return of a line's end is not shown: every line of a console has one.
fn html(bytes: &[u8]) -> String {
    let mut page = Page { html: String::with_capacity(bytes.len() + 64), in_line: 0, cut: 0, foreign: false };
    for chunk in bytes.utf8_chunks() {
        let mut chars = chunk.valid().chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\r' if chars.peek() == Some(&'\n') => {}
                '\n' => page.end_line(),
                '\t' => page.text("\t"),
                '<' => page.text("&lt;"),
                '>' => page.text("&gt;"),
                '&' => page.text("&amp;"),
                '"' => page.text("&quot;"),
                '\'' => page.text("&#39;"),
                _ => match show::control(c) {
                    Some(word) => page.word(&word),
                    None => page.text(c.encode_utf8(&mut [0; 4])),
                },
            }
        }
        for byte in chunk.invalid() {
            page.word(&format!("⟨x{byte:02X}⟩"));
        }
    }
    page.end()
}

struct Page {
    html: String,
    /// Characters of the current line so far, and how many of them were left out.
    in_line: usize,
    cut: usize,
    /// Inside an `<i>`.
    foreign: bool,
}

impl Page {
    fn fits(&mut self) -> bool {
        self.in_line += 1;
        if self.in_line > LINE {
            self.cut += 1;
        }
        self.in_line <= LINE
    }

    fn set_foreign(&mut self, foreign: bool) {
        if self.foreign != foreign {
            self.html.push_str(if foreign { "<i>" } else { "</i>" });
            self.foreign = foreign;
        }
    }

    fn text(&mut self, html: &str) {
        if self.fits() {
            self.set_foreign(false);
            self.html.push_str(html);
        }
    }

    fn word(&mut self, word: &str) {
        if self.fits() {
            self.set_foreign(true);
            self.html.push_str(word);
        }
    }

    fn close_line(&mut self) {
        self.set_foreign(false);
        if self.cut > 0 {
            let cut = show::thousands(self.cut as u64);
            write!(self.html, "<b> … {cut} more characters of this line</b>").expect("a String takes all");
        }
        (self.in_line, self.cut) = (0, 0);
    }

    fn end_line(&mut self) {
        self.close_line();
        self.html.push('\n');
    }

    fn end(mut self) -> String {
        self.close_line();
        self.html
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
            "&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;\n<i>⟨ESC⟩</i>[2J<i>⟨NUL⟩⟨xFF⟩</i> ok<i>⟨CR⟩</i>no\n"
        );
        assert_eq!(page.tail, None);
    }

    #[test]
    fn an_endless_line_is_cut() {
        let page = shown("x".repeat(10_000).as_bytes());
        assert!(page.head.starts_with(&"x".repeat(LINE)));
        assert!(
            page.head.ends_with("<b> … 8\u{202f}000 more characters of this line</b>")
                || page.head.contains("8000")
        );
        assert!(page.head.len() < LINE + 100);
    }

    #[test]
    fn a_long_output_shows_whole_lines_of_both_ends_and_counts_the_rest() {
        let text: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        let page = shown(text.as_bytes());
        let tail = page.tail.expect("long");
        assert!(page.head.starts_with("line 0\n") && page.head.ends_with('\n'));
        assert!(tail.starts_with("line ") && tail.ends_with("line 99999\n"));
        assert_eq!(page.head.len() as u64 + page.skipped + tail.len() as u64, text.len() as u64);
    }

    #[test]
    fn a_long_line_is_not_cut_inside_a_character() {
        let page = shown("é€😀".repeat(50_000).as_bytes());
        assert!(!page.head.contains("<i>") && !page.tail.expect("long").contains("<i>"));
    }

    proptest::proptest! {
        #[test]
        fn nothing_a_tool_prints_becomes_markup(bytes in proptest::collection::vec(0u8.., 0..5000)) {
            let page = shown(&bytes);
            let mut text = page.head.replace("<i>", "").replace("</i>", "");
            text = text.replace("<b> …", "").replace("</b>", "");
            let shown = |c: char| c == '\n' || c == '\t' || (!c.is_control() && c != '<');
            proptest::prop_assert!(text.chars().all(shown));
        }
    }
}
