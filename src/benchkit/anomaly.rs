//! What is wrong with lines of a tool's output.

use crate::model::Severity;
use serde::Serialize;

/// A line of output that does not follow the answer protocol, or contradicts another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Anomaly {
    /// Counted from 1.
    pub line: u64,
    #[serde(flatten)]
    pub kind: AnomalyKind,
}

/// Texts of the tool are cut to a printable length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "anomaly", rename_all = "kebab-case")]
pub enum AnomalyKind {
    #[error(
        "{id} has no TECHNIQUES: the value counts; end the line with TECHNIQUES and at least one technique"
    )]
    MissingTechniques { id: String },
    #[error(
        "{id} has no TECHNIQUES: refused (strict); end the line with TECHNIQUES and at least one technique"
    )]
    RefusedWithoutTechniques { id: String },
    #[error("the technique `{word}` of {id} is not made of A-Z, 0-9 and _: kept as it is")]
    OddTechnique { id: String, word: String },
    #[error(
        "{id} was {before} in line {line_before} and is {after} now: the last value counts; \
         print a value when it is final"
    )]
    Contradiction { id: String, before: String, line_before: u64, after: String },
    #[error("{id} is given up after its value was printed in line {line_before}: the value stands")]
    Withdrawn { id: String, line_before: u64 },
    #[error("`{text}` is no value for {id}: {expected}")]
    BadValue { id: String, text: String, expected: String },
    #[error("nothing follows {id}: {expected}")]
    NoValue { id: String, expected: String },
    #[error("`{text}` follows the value of {id}: the line is ignored; TECHNIQUES must follow it")]
    BadTail { id: String, text: String },
    #[error("{id} is not asked for here: ignored; {hint}")]
    UnknownId { id: String, hint: String },
    #[error("a {found} line: ignored; {examination} is answered by {expected} lines")]
    WrongForm { found: String, examination: String, expected: String },
    #[error("`{keyword}` is stuck to the word before it: the line is ignored; begin a new line")]
    Stuck { keyword: String },
    #[error("more than one result in this line: all count; print one per line")]
    SeveralResults,
    #[error(
        "{id} is a negative number: not given; {id} is mandatory, give up with CANNOT_COMPUTE alone on its line"
    )]
    NegativeMandatory { id: String },
    #[error("{id} is a negative number: not given; give up with FORMULA {id} CANNOT_COMPUTE")]
    Negative { id: String },
    #[error("words after CANNOT_COMPUTE: taken as not computed; write {form} and nothing else in the line")]
    WordsAfterGiveUp { form: String },
    #[error("DO_NOT_COMPETE for one value: taken as not computed; it is only for a whole examination")]
    CompetesInPart,
    #[error("`{found}`: write {keyword} with underscores, alone on its line")]
    Spaced { found: String, keyword: String },
    #[error("{keyword} is not alone on its line: ignored")]
    NotAlone { keyword: String },
    #[error("{keyword} after {before}: the last one counts")]
    SecondDeclaration { keyword: String, before: String },
    #[error("{keyword} for the whole examination, but values are printed: the values count")]
    DeclaredAndAnswered { keyword: String },
    #[error("a result longer than {limit} bytes: ignored")]
    TooLong { limit: usize },
}

impl AnomalyKind {
    /// Warning: the value counts, or none was meant. Error: a value was probably meant and does not count, or the
    /// tool contradicts itself.
    pub fn severity(&self) -> Severity {
        match self {
            Self::MissingTechniques { .. }
            | Self::OddTechnique { .. }
            | Self::SeveralResults
            | Self::NegativeMandatory { .. }
            | Self::Negative { .. }
            | Self::WordsAfterGiveUp { .. }
            | Self::CompetesInPart
            | Self::NotAlone { .. } => Severity::Warning,
            _ => Severity::Error,
        }
    }
}
