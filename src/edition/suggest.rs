//! Suggests the allowed word that is most similar to a misspelt word.

/// The most similar of `words`; None if none is similar.
pub(super) fn nearest<'w>(wrong: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let likeness = |word: &str| strsim::normalized_damerau_levenshtein(wrong, word);
    let best = words.into_iter().map(|word| (likeness(word), word)).max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness > 0.5).map(|(_, word)| word)
}

/// Adds a suggestion to a message of serde such as "unknown field `a`, expected one of `b`, `c`".
pub(super) fn with_suggestion(message: &str) -> String {
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match words.as_slice() {
        [wrong, allowed @ ..] if message.starts_with("unknown ") => {
            match nearest(wrong, allowed.iter().copied()) {
                Some(near) => format!("{message}; did you mean `{near}`?"),
                None => message.to_owned(),
            }
        }
        _ => message.to_owned(),
    }
}
