//! Suggests the known word that is most similar to a misspelt one.

/// The most similar of `words`; None if none is similar. Case, and zeros before a number, count least: `tokenring-pt-10`
/// is similar to `TokenRing-PT-010`, not to `TokenRing-PT-100`.
pub fn nearest<'w>(wrong: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let wrong_plain = plain(wrong);
    let likeness = |word: &str| strsim::normalized_damerau_levenshtein(&wrong_plain, &plain(word));
    let best = words.into_iter().map(|word| (likeness(word), word)).max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness > 0.5).map(|(_, word)| word)
}

/// `; did you mean ...?` with the most similar of `words`; empty if none is similar.
pub fn hint<'w>(wrong: &str, words: impl IntoIterator<Item = &'w str>) -> String {
    nearest(wrong, words).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// `; did you mean ...?` for the id of a run, ENTRY/INSTANCE/EXAMINATION, or a glob on it: each part is compared with the
/// known ones. Empty if a part is not similar to any, or if all parts are known.
pub fn run_hint(wrong: &str, entries: &[&str], instances: &[&str], examinations: &[&str]) -> String {
    let known = [entries, instances, examinations];
    let parts: Vec<&str> = wrong.split('/').collect();
    if parts.len() != known.len() {
        return String::new();
    }
    let near = parts.iter().zip(known).map(|(part, known)| {
        if part.contains(['*', '?', '[', '{']) { Some(*part) } else { nearest(part, known.iter().copied()) }
    });
    match near.collect::<Option<Vec<&str>>>() {
        Some(near) if near != parts => format!("; did you mean `{}`?", near.join("/")),
        _ => String::new(),
    }
}

/// `with_suggestion` behind the text of the line, from 1, that the message is about. A key that is missing in the whole
/// file is about no line.
pub fn at_line(text: &str, line: usize, message: &str) -> String {
    let message = with_suggestion(message);
    let source = text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim();
    let source: String = source.chars().take(100).collect();
    // The parser takes the missing value for a string without quotes.
    let has_no_value = source.ends_with('=') && message.starts_with("string values must be quoted");
    let message = if has_no_value { "no value follows `=`".to_owned() } else { message };
    let is_of_file =
        message.starts_with("missing field ") && !source.starts_with('[') && !source.contains('{');
    if source.is_empty() || is_of_file { message } else { format!("`{source}`: {message}") }
}

/// Replaces words of a message of serde that only a programmer knows.
fn in_plain_words(message: &str) -> String {
    let message = message
        .replacen("unknown variant ", "unknown value ", 1)
        .replacen("wanted string or table", "expected a string or a table", 1)
        .replacen("invalid type: sequence", "invalid type: list", 1)
        .replacen("invalid type: map", "invalid type: table", 1);
    let Some((wrong, expected)) = message.rsplit_once(", expected ") else { return message };
    let wrong = wrong.trim_end_matches(" as i128").trim_end_matches(" as u128");
    let type_name = expected.trim_start_matches("a nonzero ");
    let least = u8::from(type_name != expected);
    let most = match type_name {
        "u8" => u8::MAX.into(),
        "u16" => u16::MAX.into(),
        "u32" => u32::MAX.into(),
        "u64" | "usize" => u64::MAX,
        "a sequence" => return format!("{wrong}, expected a list"),
        "a map" => return format!("{wrong}, expected a table"),
        // What follows the number is not a part of it.
        "nothing" if wrong == "invalid float" => {
            return "not a number; text and fractions stand in quotes".to_owned();
        }
        "nothing" => return wrong.to_owned(),
        "a boolean" => return format!("{wrong}, expected true or false"),
        name if name.starts_with("struct ") => return format!("{wrong}, expected a table"),
        _ => return message,
    };
    let is_too_large =
        wrong.contains(": integer `") && !wrong.ends_with(": integer `0`") && !wrong.contains("`-");
    let limit = if is_too_large { format!("at most {most}") } else { format!("{least} or more") };
    format!("{wrong}, expected a whole number of {limit}")
}

/// Adds a suggestion to a message of serde such as "unknown field `a`, expected one of `b`, `c`", in plain words.
pub fn with_suggestion(message: &str) -> String {
    let message = &in_plain_words(message);
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match words.as_slice() {
        [wrong, allowed @ ..] if message.starts_with("unknown ") => {
            format!("{message}{}", hint(wrong, allowed.iter().copied()))
        }
        _ => message.to_owned(),
    }
}

/// A word in lower case, without zeros before its numbers.
fn plain(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if digits == 0 {
            plain.extend(first.to_lowercase());
            rest = &rest[first.len_utf8()..];
        } else {
            let number = rest[..digits].trim_start_matches('0');
            plain.push_str(if number.is_empty() { "0" } else { number });
            rest = &rest[digits..];
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_other_zeros_or_case_is_found_first() {
        let names = ["TokenRing-PT-100", "TokenRing-PT-010", "TokenRing-PT-011", "Angiogenesis-PT-10"];
        assert_eq!(nearest("TokenRing-PT-10", names), Some("TokenRing-PT-010"));
        assert_eq!(nearest("tokenring-pt-00100", names), Some("TokenRing-PT-100"));
        assert_eq!(nearest("Philosophers", names), None);
        assert_eq!(hint("TokenRing-PT-10", names), "; did you mean `TokenRing-PT-010`?");
        assert_eq!(hint("TokenRing-PT-10", []), "");
    }

    #[test]
    fn the_parts_of_a_run_id_are_compared_one_by_one() {
        let (entries, instances) = (["LoLA", "Tapaal"], ["TokenRing-PT-005", "TokenRing-PT-010"]);
        let hint = |wrong: &str| run_hint(wrong, &entries, &instances, &["StateSpace", "UpperBounds"]);
        assert_eq!(
            hint("lola/TokenRing-PT-10/Statespace"),
            "; did you mean `LoLA/TokenRing-PT-010/StateSpace`?"
        );
        assert_eq!(hint("lola/*/StateSpace"), "; did you mean `LoLA/*/StateSpace`?");
        for wrong in ["LoLA/TokenRing-PT-010/StateSpace", "LoLA/Other/StateSpace", "LoLA"] {
            assert_eq!(hint(wrong), "", "{wrong}");
        }
    }

    #[test]
    fn a_message_about_an_unknown_key_gets_the_nearest_known_one() {
        let message = "unknown field `exmainations`, expected one of `examinations`, `instances`";
        assert!(with_suggestion(message).ends_with("; did you mean `examinations`?"));
        assert_eq!(with_suggestion("missing field `edition`"), "missing field `edition`");
    }

    #[test]
    fn a_message_has_no_words_of_the_programming_language() {
        for (message, plain) in [
            (
                "invalid value: integer `-3`, expected u64",
                "integer `-3`, expected a whole number of 0 or more",
            ),
            ("invalid value: integer `0`, expected a nonzero u32", "expected a whole number of 1 or more"),
            ("invalid value: integer `300`, expected u8", "expected a whole number of at most 255"),
            (
                "invalid type: integer `18446744073709551616` as i128, expected u64",
                "integer `18446744073709551616`, expected a whole number of at most 18446744073709551615",
            ),
            (
                "invalid type: string \"x\", expected u16",
                "string \"x\", expected a whole number of 0 or more",
            ),
            ("invalid type: map, expected a sequence", "invalid type: table, expected a list"),
            ("wanted string or table", "expected a string or a table"),
            ("invalid float, expected nothing", "not a number; text and fractions stand in quotes"),
            ("extra `=`, expected nothing", "extra `=`"),
        ] {
            assert!(with_suggestion(message).ends_with(plain), "{}", with_suggestion(message));
        }
        let text = "# a campaign\n[[tool]]\n";
        assert_eq!(at_line(text, 1, "missing field `edition`"), "missing field `edition`");
        assert_eq!(at_line(text, 2, "missing field `kind`"), "`[[tool]]`: missing field `kind`");
        let unquoted = "string values must be quoted, expected literal string";
        assert_eq!(at_line("foo = \n", 1, unquoted), "`foo =`: no value follows `=`");
        assert_eq!(at_line("foo = bar\n", 1, unquoted), format!("`foo = bar`: {unquoted}"));
    }
}
