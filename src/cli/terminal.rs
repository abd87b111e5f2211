//! Text for people: wrapped at the width of the terminal, with colours where they are wanted (not in a pipe, not with
//! NO_COLOR or CLICOLOR=0).

use super::Failure;
use super::print::escaped;
use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use mcc_base::text::shell_word;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;

/// The width of a terminal whose size is not known, and of reports in a pipe or file.
const DEFAULT_WIDTH: usize = 80;
/// Text is not wrapped narrower than this.
const MIN_WIDTH: usize = 40;

/// An error, or a check that failed.
pub const ERROR: Style = AnsiColor::Red.on_default().bold();
/// A warning, or a condition below that of the contest.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// A check that passed.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// A heading, or a name that introduces a text.
pub const HEADING: Style = Style::new().bold();

/// The size of a terminal in columns and lines; None: not a terminal, or not known.
pub fn size(stream: impl AsFd) -> Option<(usize, usize)> {
    let (width, height) = terminal_size::terminal_size_of(stream)?;
    Some((usize::from(width.0).max(MIN_WIDTH), height.0.into()))
}

/// The width of the terminal at standard output.
pub fn width() -> usize {
    size(std::io::stdout()).map_or(DEFAULT_WIDTH, |(width, _)| width)
}

/// A report for standard output.
pub struct Page {
    text: String,
    width: usize,
}

impl Page {
    /// An empty report with the width of the terminal.
    pub fn new() -> Self {
        Self::of_width(width())
    }

    fn of_width(width: usize) -> Self {
        Self { text: String::new(), width }
    }

    /// Adds a text, wrapped. The further lines are indented by two more blanks than the first.
    pub fn line(&mut self, text: &str) {
        let indent = text.len() - text.trim_start_matches(' ').len();
        self.text += &wrapped(&escaped(text), 0, indent + 2, self.width);
        self.text.push('\n');
    }

    /// Adds `LABEL TEXT`, indented by `indent` blanks; the further lines begin below the text if the label is short.
    pub fn item(&mut self, indent: usize, label: &str, style: Style, text: &str) {
        let label = escaped(label);
        let begin = indent + label.chars().count() + 1;
        let further = if begin <= 24 { begin } else { indent + 2 };
        self.text += &" ".repeat(indent);
        self.text += &format!("{style}{label}{style:#}");
        let text = wrapped(&escaped(text), begin, further, self.width);
        if !text.is_empty() {
            self.text.push(' ');
            self.text += &text;
        }
        self.text.push('\n');
    }

    /// Adds an empty line.
    pub fn gap(&mut self) {
        self.text.push('\n');
    }

    /// Adds lines that are not wrapped, such as a table.
    pub fn lines(&mut self, text: &str) {
        self.text += &escaped(text);
    }

    /// The text without colours.
    pub fn into_plain(self) -> String {
        strip_str(&self.text).to_string()
    }

    /// Prints the report to standard output.
    pub fn print(self) -> Result<(), Failure> {
        let plain = AutoStream::choice(&std::io::stdout()) == ColorChoice::Never;
        let text = if plain { self.into_plain() } else { self.text };
        super::print::raw(&text)
    }
}

/// Prints `LABEL: TEXT` to standard error. On a terminal it is wrapped.
pub fn message(label: &str, style: Style, text: &str) {
    let stderr = std::io::stderr();
    let mut page = Page::of_width(if stderr.is_terminal() {
        size(&stderr).map_or(DEFAULT_WIDTH, |(width, _)| width)
    } else {
        usize::MAX
    });
    page.item(0, &format!("{label}:"), style, text);
    // Fails only if stderr is closed.
    let _ = anstream::stderr().write_all(page.text.as_bytes());
}

/// Prints a remark to standard error.
pub fn note(text: &str) {
    message("note", HEADING, text);
}

/// Prints a warning to standard error.
pub fn warning(text: &str) {
    message("warning", WARNING, text);
}

/// Prints which command usually follows: for people, so only if standard error is a terminal.
pub fn next(text: &str) {
    if std::io::stderr().is_terminal() {
        message("next", HEADING, text);
    }
}

/// An argument of a command line that is shown: quoted if a shell would change it.
pub fn argument(argument: impl AsRef<std::path::Path>) -> String {
    shell_word(&argument.as_ref().display().to_string())
}

/// Breaks lines at blanks so that they have at most `width` characters. The first line begins at column `begin`, further
/// ones have `indent` blanks. A longer word has a line of its own. Line ends in the text are kept.
fn wrapped(text: &str, begin: usize, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let (mut column, mut is_first) = (begin, true);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
            out += &" ".repeat(indent);
            (column, is_first) = (indent, true);
        }
        for word in line.split(' ') {
            let length = word.chars().count();
            if !is_first && column + 1 + length > width && column > indent {
                out.truncate(out.trim_end_matches(' ').len());
                out.push('\n');
                out += &" ".repeat(indent);
                column = indent;
            } else if !is_first {
                out.push(' ');
                column += 1;
            }
            out += word;
            column += length;
            is_first = false;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_at_blanks_and_nothing_is_lost() {
        let text =
            "a tool that prints  two blanks, and /a/path/that/is/longer/than/a/line/of/forty/characters too";
        let mut page = Page::of_width(40);
        page.item(2, "error", ERROR, text);
        let plain = strip_str(&page.text).to_string();
        let lines: Vec<&str> = plain.lines().collect();
        assert_eq!(lines[0], "  error a tool that prints  two blanks,");
        assert_eq!(lines[1], "        and");
        assert!(lines[2].ends_with("/forty/characters"), "{plain}");
        assert!(lines.iter().all(|line| line.chars().count() <= 40 || !line.trim().contains(' ')), "{plain}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&plain)[1..], words(text));
        assert!(page.text.contains('\x1b'), "the label is coloured");
    }

    #[test]
    fn control_characters_of_a_tool_do_not_reach_the_terminal() {
        let mut page = Page::of_width(80);
        page.line("\x1b[31mred");
        page.item(0, "x\x07", HEADING, "\x1b[2J");
        let codes = page.text.matches('\x1b').count();
        assert_eq!(codes, 2, "only those of the label: {:?}", page.text);
        assert!(!page.text.contains('\x07'));
    }

    #[test]
    fn an_argument_is_quoted_if_a_shell_would_change_it() {
        let shown = ["results", "my results", "it's", "a/b.toml", "$x"].map(argument);
        assert_eq!(shown, ["results", "'my results'", r"'it'\''s'", "a/b.toml", "'$x'"]);
    }
}
