//! How the value of a position is certified, for its explanation.

use crate::certified::{Certified, CertifiedValue, Method, REFUTED, VOTES};
use crate::judgement::Trusted;
use crate::show::short;
use serde::Serialize;
use std::fmt;

/// How the value of a position is certified.
#[derive(Debug, Serialize)]
pub struct CertifiedPosition {
    /// `witness`, `proof`, `re-explored`, `explored`, `votes` or `refuted`.
    pub label: &'static str,
    /// The certified value, if there is one.
    pub certified: Option<Certified>,
    /// Whether a value is trusted.
    #[serde(skip)]
    is_trusted: bool,
}

impl CertifiedPosition {
    /// The label in words, with the certified value if no value is trusted.
    pub fn label_words(&self) -> String {
        match &self.certified {
            _ if self.label == VOTES => "not certified".to_owned(),
            Some(Certified { method, value, .. }) if !self.is_trusted => {
                format!("{} by {}", short(&value.to_string()), in_words(*method))
            }
            _ => self.label.to_owned(),
        }
    }

    /// Whether evidence shows a value, and not only a bound or nothing.
    pub fn shows_value(&self) -> bool {
        self.label != VOTES
    }

    /// How a trusted value is certified.
    pub fn from_trusted(trusted: &Trusted) -> Self {
        Self {
            label: trusted.certified_label(),
            certified: trusted.certified.as_deref().cloned(),
            is_trusted: trusted.value.is_some(),
        }
    }
}

fn in_words(method: Method) -> &'static str {
    match method {
        Method::Witness => "a witness",
        Method::Proof => "a proof",
        Method::ReExplored => "two explorations",
        Method::Explored => "one exploration",
    }
}

impl fmt::Display for CertifiedPosition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let no =
            if self.is_trusted { "Certified: no, the value rests on votes alone" } else { "Certified: no" };
        let Some(Certified { method, value, evidence, detail }) = &self.certified else {
            return out.write_str(no);
        };
        let stated = match value {
            CertifiedValue::Exactly(value) => format!("the value is {}", short(&value.to_string())),
            CertifiedValue::AtLeast(least) => format!("the value is at least {}", short(&least.to_string())),
        };
        let file = if evidence.is_empty() {
            String::new()
        } else {
            format!(", file {evidence}, which only mcc-check checks on the net")
        };
        let by = in_words(*method);
        let evidence = format!("{stated} by {by}: {detail}{file}");
        match self.label {
            REFUTED => write!(out, "Refuted: {evidence}"),
            VOTES => write!(out, "{no}; {evidence}"),
            _ => write!(out, "Certified: {evidence}"),
        }
    }
}
