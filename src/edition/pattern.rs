//! Patterns of names.

use globset::{Glob, GlobMatcher};
use serde::{Deserialize, Serialize};

/// A pattern with `*`, `?` and `[ab]`. It is compiled when an edition is read, and serialized as its text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(GlobMatcher);

impl Pattern {
    /// The pattern that fits this name only.
    pub fn exact(name: &str) -> Self {
        let escaped = Glob::new(&globset::escape(name)).expect("an escaped name is a pattern");
        Self(escaped.compile_matcher())
    }

    /// Whether the pattern fits a name.
    pub fn fits(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

impl TryFrom<String> for Pattern {
    type Error = globset::Error;

    fn try_from(text: String) -> Result<Self, globset::Error> {
        Ok(Self(Glob::new(&text)?.compile_matcher()))
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0.glob().glob().to_owned()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.glob() == other.0.glob()
    }
}

impl Eq for Pattern {}

/// Whether one of the patterns fits a name.
pub fn fits(patterns: &[Pattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.fits(name))
}
