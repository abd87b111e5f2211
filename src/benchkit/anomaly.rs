//! What is wrong with lines of a tool's output.

use mcc_model::Severity;
use serde::Serialize;
use std::fmt;

/// A line of output that does not follow the answer protocol, or contradicts another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Anomaly {
    /// Counted from 1.
    pub line: u64,
    #[serde(flatten)]
    pub kind: AnomalyKind,
}

/// Texts of the tool are cut to a printable length. As text: the problem, then the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "anomaly", rename_all = "kebab-case")]
pub enum AnomalyKind {
    MissingTechniques { id: String },
    RefusedWithoutTechniques { id: String },
    UnusualTechnique { id: String, word: String },
    Contradiction { id: String, before: String, line_before: u64, after: String },
    ValueRetracted { id: String, line_before: u64 },
    BadValue { id: String, text: String, expected: String },
    NoValue { id: String, expected: String },
    BadTail { id: String, text: String },
    UnknownId { id: String, hint: String },
    WrongForm { found: String, examination: String, expected: String },
    KeywordInWord { keyword: String },
    SeveralResults,
    NegativeMandatory { id: String },
    Negative { id: String },
    TextAfterCannotCompute { form: String },
    PartialDoNotCompete,
    KeywordSplit { found: String, keyword: String },
    Misspelt { found: String, keyword: String },
    NotAlone { keyword: String },
    SecondDeclaration { keyword: String, before: String },
    DeclaredAndAnswered { keyword: String },
    TooLong { limit: usize },
}

impl AnomalyKind {
    /// What is wrong, and what becomes of the line.
    pub fn problem(&self) -> String {
        match self {
            Self::MissingTechniques { id } => format!("{id} has no TECHNIQUES: the value counts"),
            Self::RefusedWithoutTechniques { id } => format!("{id} has no TECHNIQUES: refused (strict)"),
            Self::UnusualTechnique { id, word } => {
                format!("the technique `{word}` of {id} is not made of A-Z, 0-9 and _: kept as it is")
            }
            Self::Contradiction { id, before, line_before, after } => {
                format!("{id} was {before} in line {line_before} and is {after} now: the last value counts")
            }
            Self::ValueRetracted { id, line_before } => {
                format!(
                    "{id} is given up after its value was printed in line {line_before}: the value stands"
                )
            }
            Self::BadValue { id, text, .. } => format!("`{text}` is no value for {id}"),
            Self::NoValue { id, .. } => format!("nothing follows {id}"),
            Self::BadTail { id, text } => format!("`{text}` follows the value of {id}: the line is ignored"),
            Self::UnknownId { id, .. } => format!("{id} is not asked for here: ignored"),
            Self::WrongForm { found, .. } => format!("a {found} line: ignored"),
            Self::KeywordInWord { keyword } => {
                format!("`{keyword}` is stuck to the word before it: the line is ignored")
            }
            Self::SeveralResults => "more than one result in this line: all count".to_owned(),
            Self::NegativeMandatory { id } => {
                format!("{id} is a negative number: not given, and {id} is mandatory")
            }
            Self::Negative { id } => format!("{id} is a negative number: not given"),
            Self::TextAfterCannotCompute { .. } => {
                "CANNOT_COMPUTE inside a result line: taken as not computed".to_owned()
            }
            Self::PartialDoNotCompete => "DO_NOT_COMPETE for one value: taken as not computed".to_owned(),
            Self::KeywordSplit { found, .. } => format!("`{found}` is no keyword: ignored as a declaration"),
            Self::Misspelt { found, .. } => format!("`{found}` is no keyword: the line is ignored"),
            Self::NotAlone { keyword } => format!("{keyword} is not alone on its line: ignored"),
            Self::SecondDeclaration { keyword, before } => {
                format!("{keyword} after {before}: the last one counts")
            }
            Self::DeclaredAndAnswered { keyword } => {
                format!("{keyword} for the whole examination, but values are printed: the values count")
            }
            Self::TooLong { limit } => format!("a result longer than {limit} bytes: ignored"),
        }
    }

    /// The remedy.
    pub fn fix(&self) -> String {
        match self {
            Self::MissingTechniques { .. } | Self::RefusedWithoutTechniques { .. } => {
                "end the line with TECHNIQUES and at least one technique".to_owned()
            }
            Self::UnusualTechnique { .. } => "spell techniques as the submission manual does".to_owned(),
            Self::Contradiction { .. } => "print a value when it is final".to_owned(),
            Self::ValueRetracted { .. } => "print either the value or CANNOT_COMPUTE".to_owned(),
            Self::BadValue { expected, .. } | Self::NoValue { expected, .. } => expected.clone(),
            Self::BadTail { .. } => "TECHNIQUES must follow the value".to_owned(),
            Self::UnknownId { hint, .. } => hint.clone(),
            Self::WrongForm { examination, expected, .. } => {
                format!("{examination} is answered by {expected} lines")
            }
            Self::KeywordInWord { .. } => "begin a new line".to_owned(),
            Self::SeveralResults => "print one per line".to_owned(),
            Self::NegativeMandatory { .. } => "give up with CANNOT_COMPUTE alone on its line".to_owned(),
            Self::Negative { id } => format!("give up with FORMULA {id} CANNOT_COMPUTE"),
            Self::TextAfterCannotCompute { form } => format!("write {form} and nothing else in the line"),
            Self::PartialDoNotCompete => {
                "it is only for a whole examination; give one value up with CANNOT_COMPUTE".to_owned()
            }
            Self::KeywordSplit { keyword, .. } => {
                format!("write {keyword} with underscores, alone on its line")
            }
            Self::Misspelt { keyword, .. } => format!("write {keyword}"),
            Self::NotAlone { keyword } => format!("print {keyword} alone on a line of its own"),
            Self::SecondDeclaration { .. } => "declare once, and for the whole examination".to_owned(),
            Self::DeclaredAndAnswered { .. } => {
                "give single values up with FORMULA id CANNOT_COMPUTE, or print no value".to_owned()
            }
            Self::TooLong { .. } => "print the number in plain decimal digits, nothing else".to_owned(),
        }
    }

    /// The rule of the contest (MCC 2018) that asks for it.
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

    /// Warning: the value counts, or none was meant. Error: a value was probably meant and does not count, the
    /// tool contradicts itself, or the organizers have refused it in a qualification (contest notes 1.1).
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
