//! What commands say: results on stdout, errors on stderr.

use super::Failure;
use crate::runner::InputsEvent;
use mcc_report::visible;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Characters of an error that are shown: a name in it may be as long as a file.
const LONGEST_ERROR: usize = 2000;

/// Prints text that may hold names and words of others: no control character reaches the terminal.
pub fn text(text: &str) -> Result<(), Failure> {
    raw(&escaped(text))
}

/// Prints a result as it is. Whoever reads may stop early: a broken pipe is no failure.
pub fn raw(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    printed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints a result too long to be held, piece by piece. Lines of it must be safe for a terminal.
pub fn stream(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    printed(write(&mut out).and_then(|()| out.flush()))
}

fn printed(done: std::io::Result<()>) -> Result<(), Failure> {
    match done {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("cannot write to standard output").into())
        }
        _ => Ok(()),
    }
}

/// Writes a file beside its place and renames it: it is there whole or not at all.
pub fn file(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// An error with its causes, each said once, fit for a terminal.
pub fn error(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        // Many errors name their cause themselves.
        if !message.contains(&cause) {
            message += if message.is_empty() { "" } else { ": " };
            message += &cause;
        }
    }
    let length = message.chars().count();
    if length > LONGEST_ERROR {
        let cut: String = message.chars().take(LONGEST_ERROR).collect();
        message = format!("{cut}... ({} more characters)", length - LONGEST_ERROR);
    }
    escaped(&message)
}

/// Lines stay lines; other control characters become words such as `⟨ESC⟩`.
pub fn escaped(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// What happens while an inputs disk is made, on stderr.
pub fn inputs(event: InputsEvent) {
    match event {
        InputsEvent::Finding(finding) => eprintln!("{}", escaped(&finding.to_string())),
        InputsEvent::Accepted(errors) => eprintln!("{errors} errors accepted"),
        InputsEvent::Step(step) => eprintln!("run: {step}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_each_cause_once_and_hides_no_control_character() {
        let cause = std::io::Error::other("disk \x1b[31mfull");
        let own = anyhow::Error::new(cause).context("cannot write x: disk \x1b[31mfull").context("judging");
        assert_eq!(error(&own), "judging: cannot write x: disk ⟨ESC⟩[31mfull");
        let long = error(&anyhow::anyhow!("x".repeat(5000)));
        assert!(long.len() < 2100 && long.ends_with("... (3000 more characters)"), "{long}");
    }
}
