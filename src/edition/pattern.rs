//! Patterns of names.

use globset::{Glob, GlobMatcher};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Longest pattern in bytes, and its largest number of `{`. Longer or deeper ones cannot be compiled.
const MAX_BYTES: usize = 1000;
const MAX_ALTERNATIVES: usize = 50;

/// A pattern with `*`, `?` and `[ab]`, serialized as its text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    glob: Glob,
    /// Compiled at the first comparison, because an edition that others wrote is checked only after it is read.
    matcher: OnceLock<GlobMatcher>,
}

impl Pattern {
    /// The pattern that fits this name only.
    pub fn exact(name: &str) -> Self {
        let glob = Glob::new(&globset::escape(name)).expect("an escaped name is a pattern");
        Self { glob, matcher: OnceLock::new() }
    }

    /// Whether the pattern fits a name.
    pub fn fits(&self, name: &str) -> bool {
        self.matcher.get_or_init(|| self.glob.compile_matcher()).is_match(name)
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.len() > MAX_BYTES || text.matches('{').count() > MAX_ALTERNATIVES {
            return Err(format!(
                "a pattern has at most {MAX_BYTES} bytes and {MAX_ALTERNATIVES} times `{{`; write several shorter ones"
            ));
        }
        let glob = Glob::new(&text).map_err(|error| error.to_string())?;
        Ok(Self { glob, matcher: OnceLock::new() })
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.glob.glob().to_owned()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.glob == other.glob
    }
}

impl Eq for Pattern {}

/// Whether one of the patterns fits a name.
pub fn fits(patterns: &[Pattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.fits(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_that_is_read_can_be_compared() {
        let nested = |depth: usize| format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
        for text in [
            "?".repeat(MAX_BYTES),
            "*".repeat(MAX_BYTES),
            "[!a]".repeat(MAX_BYTES / 4),
            "é".repeat(MAX_BYTES / 2),
            "{?,[!é]}".repeat(MAX_ALTERNATIVES),
            nested(MAX_ALTERNATIVES),
        ] {
            Pattern::try_from(text).unwrap().fits("a");
        }
        for text in ["a".repeat(MAX_BYTES + 1), nested(MAX_ALTERNATIVES + 1), nested(400)] {
            let error = Pattern::try_from(text).unwrap_err();
            assert!(error.contains("write several shorter ones"), "{error}");
        }
        assert!(Pattern::exact("a*[b").fits("a*[b") && !Pattern::exact("a*[b").fits("ab"));
    }
}
