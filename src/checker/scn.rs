//! Reads firing sequences in the format `.scn` of the toolbox TINA (manual page `formats` of TINA 3.7.0), which `play`, `selt`,
//! `plan` and `pathto` write.

use crate::{FileError, MAX_FILE_BYTES, Run, Step};
use mcc_model::NodeNames;
use std::iter::Peekable;
use std::str::Chars;

/// Reads a firing sequence: names of transitions, each perhaps with a time, between blanks and line breaks. Times are ignored,
/// because the nets have none.
///
/// # Errors
/// The text is not of the format, or names no transition of the net.
pub fn read_scn(text: &str, transitions: &NodeNames) -> Result<Run, FileError> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(FileError::TooLong);
    }
    let (mut run, mut all_timed, mut id_bytes) = (Run::default(), None, 0);
    for (line, content) in (1..).zip(text.lines()) {
        let at = |problem: String| FileError::Syntax { line, problem };
        if content.trim_start().starts_with('#') {
            continue;
        }
        let mut rest = content.chars().peekable();
        while skip_blanks(&mut rest) {
            let name = name(&mut rest).map_err(at)?;
            let timed = time(&mut rest).map_err(at)?;
            if *all_timed.get_or_insert(timed) != timed {
                return Err(at(
                    "some transitions have a time and others have none, or times of another kind".into(),
                ));
            }
            let unknown = || at(format!("the net has no transition \"{name}\", or several with this name"));
            let id = transitions.id(&name).ok_or_else(unknown)?;
            id_bytes += id.len();
            if id_bytes > (1 << 20) + 64 * text.len() {
                return Err(at("the ids of the transitions are much longer than the file".into()));
            }
            run.steps.push(Step::from(id));
        }
    }
    Ok(run)
}

/// Whether something follows the blanks.
fn skip_blanks(rest: &mut Peekable<Chars<'_>>) -> bool {
    while rest.next_if(|next| next.is_whitespace()).is_some() {}
    rest.peek().is_some()
}

fn name(rest: &mut Peekable<Chars<'_>>) -> Result<String, String> {
    let mut name = String::new();
    if rest.next_if_eq(&'{').is_none() {
        while let Some(next) = rest.next_if(|next| next.is_alphanumeric() || matches!(next, '\'' | '_')) {
            name.push(next);
        }
        return match rest.peek() {
            Some(next) if name.is_empty() || !(next.is_whitespace() || matches!(next, '@' | '$')) => {
                Err(format!("'{next}' is in a name that is not between {{ and }}"))
            }
            _ => Ok(name),
        };
    }
    loop {
        let mut next = rest.next();
        match next {
            Some('}') => return Ok(name),
            Some('{') => return Err("'{' within a name without '\\' before it".into()),
            Some('\\') => next = rest.next().filter(|next| matches!(next, '{' | '}' | '\\')),
            _ => {}
        }
        name.push(next.ok_or("a name that begins with '{' has no end, or '\\' before another character")?);
    }
}

/// The mark before a time, if one follows.
fn time(rest: &mut Peekable<Chars<'_>>) -> Result<Option<char>, String> {
    let mark = rest.next_if(|next| matches!(next, '@' | '$'));
    let mut time = String::new();
    while let Some(next) = rest.next_if(|next| !next.is_whitespace()) {
        time.push(next);
    }
    let (whole, part) = time.split_once('.').unwrap_or((&time, "0"));
    let is_number =
        [whole, part].iter().all(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    match mark {
        None if time.is_empty() => Ok(None),
        Some(_) if is_number => Ok(mark),
        _ => Err(format!("\"{time}\" after a name is not a time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_model::Archive;
    use std::path::Path;

    /// A net with the transitions t-1 (name "one"), t.2 (name "t-1"), t3 and t4 (both with the name "same"), tt... (name "a").
    fn names() -> (tempfile::TempDir, NodeNames) {
        let folder = tempfile::tempdir().unwrap();
        let instance = folder.path().join("Named-PT-1");
        std::fs::create_dir(&instance).unwrap();
        let transition =
            |(id, name)| format!("<transition id='{id}'><name><text>{name}</text></name></transition>");
        let all = [("t-1", "one"), ("t.2", "t-1"), ("t3", "same"), ("t4", "same"), (&"t".repeat(999), "a")];
        let nodes = all.map(transition).concat();
        let net = format!("<pnml><net id='Named-PT-1' type='ptnet'><page id='g'>{nodes}</page></net></pnml>");
        std::fs::write(instance.join("model.pnml"), net).unwrap();
        let names =
            NodeNames::read(&Archive::open(Path::new(&instance)).unwrap(), "transition", str::to_owned)
                .unwrap();
        (folder, names)
    }

    #[test]
    fn a_firing_sequence_of_tina_is_read() {
        let (_folder, names) = names();
        let ids = |text: &str| -> Vec<String> {
            let run = read_scn(text, &names).unwrap();
            run.steps.into_iter().map(|step| step.transition).collect()
        };
        assert_eq!(ids("# a comment\n\nt3\t{t\\}2}".replace("{t\\}2}", "one").as_str()), ["t3", "t-1"]);
        assert_eq!(ids("{t-1} t4\r\n{t.2}\n"), ["t-1", "t4", "t.2"]);
        assert_eq!(ids("t3@0 t4@1.25"), ["t3", "t4"]);
        assert_eq!(ids(""), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_a_firing_sequence_is_refused_with_its_line() {
        let (_folder, names) = names();
        let (nested, copied) = ("{".repeat(100_000), "a ".repeat(2000));
        for (text, message) in [
            ("t3\nt9", "line 2: the net has no transition \"t9\""),
            ("t3 same", "line 1: the net has no transition \"same\", or several"),
            ("t3\n\nt-1", "line 3: '-' is in a name"),
            ("t3@1 t4", "line 1: some transitions have a time"),
            ("t3@1 t4$1", "line 1: some transitions have a time"),
            ("t3@1.", "line 1: \"1.\" after a name is not a time"),
            ("t3@-1", "line 1: \"-1\" after a name is not a time"),
            ("{t3}t4", "line 1: \"t4\" after a name is not a time"),
            ("{t3\n}", "line 1: a name that begins with '{' has no end"),
            ("{t\\3}", "line 1: a name that begins with '{' has no end, or '\\'"),
            (&nested, "line 1: '{' within a name"),
            (&copied, "line 1: the ids of the transitions are much longer"),
            ("<trace>", "line 1: '<' is in a name"),
        ] {
            let error = read_scn(text, &names).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}\nexpected: {message}");
        }
    }
}
