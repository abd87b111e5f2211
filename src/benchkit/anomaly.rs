//! Anomalies: lines of output that violate the answer protocol.

use mcc_model::Severity;
use serde::Serialize;
use std::fmt;

/// A line of output that violates the answer protocol or contradicts another line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Anomaly {
    /// The line, from 1.
    pub line: u64,
    /// The kind of anomaly.
    #[serde(flatten)]
    pub kind: AnomalyKind,
}

/// The kind of an anomaly. Texts of the tool are truncated for display. `Display` writes the problem and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "anomaly", rename_all = "kebab-case")]
pub enum AnomalyKind {
    /// A value without TECHNIQUES, which counts.
    MissingTechniques {
        /// The property id.
        id: String,
    },
    /// A value without TECHNIQUES, which does not count (strict reading).
    RefusedWithoutTechniques {
        /// The property id.
        id: String,
    },
    /// A technique with characters other than A-Z, 0-9 and `_`.
    UnusualTechnique {
        /// The property id.
        id: String,
        /// The technique.
        word: String,
    },
    /// A value that differs from an earlier one of the same id.
    Contradiction {
        /// The property id.
        id: String,
        /// The earlier value.
        before: String,
        /// The line of the earlier value, from 1.
        line_before: u64,
        /// The value of this line.
        after: String,
    },
    /// CANNOT_COMPUTE after a value of the same id.
    ValueRetracted {
        /// The property id.
        id: String,
        /// The line of the value, from 1.
        line_before: u64,
    },
    /// A word that is no value of the examination.
    BadValue {
        /// The property id.
        id: String,
        /// The word.
        text: String,
        /// What to write.
        expected: String,
    },
    /// An id without a value.
    NoValue {
        /// The property id.
        id: String,
        /// What to write.
        expected: String,
    },
    /// A word after the value that is not TECHNIQUES.
    BadTail {
        /// The property id.
        id: String,
        /// The word.
        text: String,
    },
    /// An id that the examination does not have.
    UnknownId {
        /// The property id.
        id: String,
        /// Which ids there are.
        hint: String,
    },
    /// A result with the keyword of another kind of examination.
    WrongForm {
        /// The keyword.
        found: String,
        /// Name of the examination.
        examination: String,
        /// The keyword of the examination.
        expected: String,
    },
    /// A keyword that is the end of another word.
    KeywordInWord {
        /// The keyword.
        keyword: String,
    },
    /// Several results in one line.
    SeveralResults,
    /// A negative number where a value is mandatory.
    NegativeMandatory {
        /// The metric.
        id: String,
    },
    /// A negative number.
    Negative {
        /// The property id.
        id: String,
    },
    /// CANNOT_COMPUTE followed by other words, or without an id.
    TextAfterCannotCompute {
        /// The form to write.
        form: String,
    },
    /// DO_NOT_COMPETE for one value.
    PartialDoNotCompete,
    /// A keyword written with spaces.
    KeywordSplit {
        /// The words.
        found: String,
        /// The keyword.
        keyword: String,
    },
    /// A word that is similar to a keyword.
    Misspelt {
        /// The word.
        found: String,
        /// The keyword.
        keyword: String,
    },
    /// A declaration that is not alone on its line.
    NotAlone {
        /// The keyword of the declaration.
        keyword: String,
    },
    /// A declaration after a different one.
    SecondDeclaration {
        /// The keyword of this declaration.
        keyword: String,
        /// The keyword of the earlier declaration.
        before: String,
    },
    /// A declaration for the whole examination and values.
    DeclaredAndAnswered {
        /// The keyword of the declaration.
        keyword: String,
    },
    /// A result that is longer than the limit.
    TooLong {
        /// Limit for the length in bytes.
        limit: usize,
    },
}

impl AnomalyKind {
    /// What is wrong, and how the line counts.
    pub fn problem(&self) -> String {
        match self {
            Self::MissingTechniques { id } => format!("{id} has no TECHNIQUES: the value counts"),
            Self::RefusedWithoutTechniques { id } => {
                format!("{id} has no TECHNIQUES: the value is ignored (strict)")
            }
            Self::UnusualTechnique { id, word } => {
                format!(
                    "the technique `{word}` of {id} has characters other than A-Z, 0-9 and _: it is kept unchanged"
                )
            }
            Self::Contradiction { id, before, line_before, after } => {
                format!("{id} was {before} in line {line_before} and is {after} now: the last value counts")
            }
            Self::ValueRetracted { id, line_before } => {
                format!("CANNOT_COMPUTE for {id} after its value in line {line_before}: the value counts")
            }
            Self::BadValue { id, text, .. } => format!("`{text}` is no value for {id}"),
            Self::NoValue { id, .. } => format!("{id} has no value"),
            Self::BadTail { id, text } => format!("`{text}` follows the value of {id}: the line is ignored"),
            Self::UnknownId { id, .. } => format!("the examination has no id {id}: the line is ignored"),
            Self::WrongForm { found, .. } => {
                format!("a {found} line, which is not for this examination: the line is ignored")
            }
            Self::KeywordInWord { keyword } => {
                format!("`{keyword}` is part of a longer word: the line is ignored")
            }
            Self::SeveralResults => "more than one result in this line: all of them count".to_owned(),
            Self::NegativeMandatory { id } => {
                format!("{id} is a negative number: it counts as not given, although {id} is mandatory")
            }
            Self::Negative { id } => format!("{id} is a negative number: it counts as not given"),
            Self::TextAfterCannotCompute { .. } => {
                "CANNOT_COMPUTE inside a result line: the value counts as not computed".to_owned()
            }
            Self::PartialDoNotCompete => {
                "DO_NOT_COMPETE for one value: the value counts as not computed".to_owned()
            }
            Self::KeywordSplit { found, .. } => {
                format!("`{found}` is no keyword: it is ignored")
            }
            Self::Misspelt { found, .. } => format!("`{found}` is no keyword: the line is ignored"),
            Self::NotAlone { keyword } => {
                format!("{keyword} is not alone on its line: the declaration is ignored")
            }
            Self::SecondDeclaration { keyword, before } => {
                format!("{keyword} is printed after {before}: the last declaration counts")
            }
            Self::DeclaredAndAnswered { keyword } => {
                format!("{keyword} for the whole examination, but values are printed: the values count")
            }
            Self::TooLong { limit } => format!("a result longer than {limit} bytes: the result is ignored"),
        }
    }

    /// The remedy.
    pub fn fix(&self) -> String {
        match self {
            Self::MissingTechniques { .. } | Self::RefusedWithoutTechniques { .. } => {
                "end the line with TECHNIQUES and at least one technique".to_owned()
            }
            Self::UnusualTechnique { .. } => "spell techniques as the submission manual does".to_owned(),
            Self::Contradiction { .. } => "print a value only when it is final".to_owned(),
            Self::ValueRetracted { .. } => "print either the value or CANNOT_COMPUTE".to_owned(),
            Self::BadValue { expected, .. } | Self::NoValue { expected, .. } => expected.clone(),
            Self::BadTail { .. } => "write TECHNIQUES directly after the value".to_owned(),
            Self::UnknownId { hint, .. } => hint.clone(),
            Self::WrongForm { examination, expected, .. } => {
                format!("{examination} is answered by {expected} lines")
            }
            Self::KeywordInWord { .. } => "begin a new line before the keyword".to_owned(),
            Self::SeveralResults => "print one result per line".to_owned(),
            Self::NegativeMandatory { .. } => "write CANNOT_COMPUTE alone on its line".to_owned(),
            Self::Negative { id } => format!("write FORMULA {id} CANNOT_COMPUTE"),
            Self::TextAfterCannotCompute { form } => format!("write {form} and nothing else in the line"),
            Self::PartialDoNotCompete => {
                "use DO_NOT_COMPETE for a whole examination only; write CANNOT_COMPUTE for one value"
                    .to_owned()
            }
            Self::KeywordSplit { keyword, .. } => {
                format!("write {keyword} with underscores, alone on its line")
            }
            Self::Misspelt { keyword, .. } => format!("write {keyword}"),
            Self::NotAlone { keyword } => format!("print {keyword} alone on a line of its own"),
            Self::SecondDeclaration { .. } => "print one declaration, for the whole examination".to_owned(),
            Self::DeclaredAndAnswered { .. } => {
                "write FORMULA id CANNOT_COMPUTE for single values, or print no value".to_owned()
            }
            Self::TooLong { .. } => "print the number in plain decimal digits, nothing else".to_owned(),
        }
    }

    /// The rule of the contest (MCC 2018) that the line violates.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::MissingTechniques { .. }
            | Self::RefusedWithoutTechniques { .. }
            | Self::UnusualTechnique { .. } => "E-1.10",
            Self::UnknownId { .. } => "E-1.8",
            Self::NegativeMandatory { .. } => "E-1.2",
            _ => "E-1.7",
        }
    }

    /// The severity. Warning: the value counts, or the line has no value. Error: a value is probably lost, the tool
    /// contradicts itself, or the organizers have rejected the form in a qualification.
    pub fn severity(&self) -> Severity {
        match self {
            Self::MissingTechniques { .. }
            | Self::UnusualTechnique { .. }
            | Self::SeveralResults
            | Self::NegativeMandatory { .. }
            | Self::Negative { .. }
            | Self::NotAlone { .. } => Severity::Warning,
            _ => Severity::Error,
        }
    }
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem(), self.fix())
    }
}
