//! Output of the commands: results on stdout, errors on stderr.

use super::record_source::named_by_archive;
use super::{Failure, Format};
use mcc_base::OnFile;
use mcc_base::text::visible;
use mcc_runner::InputsEvent;
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Largest number of characters of an error that is shown: a name in it may be very long.
const MAX_ERROR_CHARS: usize = 2000;

/// Prints text that may contain text from input files: control characters are escaped.
pub fn text(text: &str) -> Result<(), Failure> {
    raw(&escaped(text))
}

/// Prints a result without changes. A broken pipe is no error: the reader may stop early.
pub fn raw(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    printed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints a result in parts, for one that does not fit in memory. The caller escapes control characters.
pub fn stream(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    printed(write(&mut out).and_then(|()| out.flush()))
}

/// Prints a result as JSON, or as the text that `text` prints.
pub fn result(
    format: Format,
    result: &impl Serialize,
    text: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    match format {
        Format::Text => text(),
        Format::Json => raw(&format!("{}\n", serde_json::to_string_pretty(result)?)),
    }
}

fn printed(done: std::io::Result<()>) -> Result<(), Failure> {
    match done {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("cannot write to standard output").into())
        }
        _ => Ok(()),
    }
}

/// Writes a file under a temporary name and renames it, so that it is complete or absent.
pub fn file(path: &Path, text: &str) -> Result<(), Failure> {
    mcc_base::text::write(path, text).on("write", path)?;
    Ok(())
}

/// The text of an error with its causes, each once, with control characters escaped.
pub fn error(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(|cause| without_error_numbers(&cause.to_string())) {
        // The text of many errors contains their cause.
        if !message.contains(&cause) {
            message += if message.is_empty() { "" } else { ": " };
            message += &cause;
        }
    }
    message = named_by_archive(&message);
    let length = message.chars().count();
    if length > MAX_ERROR_CHARS {
        let cut: String = message.chars().take(MAX_ERROR_CHARS).collect();
        message = format!("{cut}... ({} more characters)", length - MAX_ERROR_CHARS);
    }
    escaped(&message)
}

/// The text without the numbers that Rust adds to errors of the system, such as ` (os error 2)`.
fn without_error_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.parse::<u32>().is_ok() => kept += rest,
            _ => kept = format!("{kept} (os error {part}"),
        }
    }
    kept
}

/// Replaces control characters except line ends by words such as `⟨ESC⟩`.
pub fn escaped(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// Prints the events of building an inputs disk to stderr.
pub fn inputs(event: InputsEvent) {
    match event {
        InputsEvent::Finding(finding) => stderr_line!("{}", escaped(&finding.to_string())),
        InputsEvent::Accepted(errors) => {
            stderr_line!("--accept-errors: errors in instances that were accepted: {errors}");
        }
        InputsEvent::Step(step) => stderr_line!("run: {step}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_no_error_numbers_of_the_system() {
        for (text, shown) in [
            (
                "cannot read x: No such file or directory (os error 2); give y",
                "cannot read x: No such file or directory; give y",
            ),
            ("a (os error 2): b (os error 13)", "a: b"),
            ("a file (os error log).txt", "a file (os error log).txt"),
            ("a file (os error 2", "a file (os error 2"),
        ] {
            assert_eq!(error(&anyhow::anyhow!(text)), shown);
        }
    }

    #[test]
    fn errors_show_each_cause_once_and_escape_control_characters() {
        let cause = std::io::Error::other("disk \x1b[31mfull");
        let own = anyhow::Error::new(cause).context("cannot write x: disk \x1b[31mfull").context("judging");
        assert_eq!(error(&own), "judging: cannot write x: disk ⟨ESC⟩[31mfull");
        let long = error(&anyhow::anyhow!("x".repeat(5000)));
        assert!(long.len() < 2100 && long.ends_with("... (3000 more characters)"), "{long}");
    }
}
