//! How the value of a position is certified, for its explanation.

use crate::certified::{CONDITIONS, Certified, CertifiedValue, Method, REFUTED, VOTES};
use crate::judgement::Trusted;
use crate::show::short;
use mcc_base::text::counted;
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
    /// Whether the trusted value may or may not be the certified one.
    #[serde(skip)]
    is_incomparable: bool,
}

impl CertifiedPosition {
    /// The label in words, with the certified value if no value is trusted.
    pub fn label_words(&self) -> String {
        match &self.certified {
            Some(certified) if self.is_incomparable => {
                format!("{} by {}; Inf may differ", certified.stated(), certified.parts().0)
            }
            _ if self.label == VOTES => "not certified".to_owned(),
            Some(certified) if !self.is_trusted => {
                format!("{} by {}", certified.stated(), certified.parts().0)
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
            is_incomparable: trusted.is_incomparable(),
        }
    }
}

impl Certified {
    /// The value that the evidence shows, or `at least` and a number.
    pub fn stated(&self) -> String {
        match &self.value {
            CertifiedValue::Exactly(value) => short(&value.to_string()),
            CertifiedValue::AtLeast(least) => format!("at least {}", short(&least.to_string())),
        }
    }

    /// By what the value is certified, with the evidence in words.
    pub fn how(&self) -> String {
        let (by, detail) = self.parts();
        if detail.is_empty() { by.to_owned() } else { format!("{by}: {detail}") }
    }

    /// By what the value is certified, and the evidence in words. `certify` also writes `explored` if it decided all
    /// conditions of a formula without exploration.
    fn parts(&self) -> (&'static str, String) {
        let by = match self.method {
            Method::Witness => return ("a witness", self.detail.clone()),
            Method::Proof => return ("a proof", self.detail.clone()),
            Method::ReExplored => {
                ["two explorations", "certify without exploration and an exploration of the checker"]
            }
            Method::Explored => ["one exploration", "certify alone, without exploration"],
        };
        let mut parts: Vec<&str> = self.detail.split("; ").filter(|part| !part.is_empty()).collect();
        let number = parts.last().and_then(|part| part.strip_suffix(CONDITIONS));
        parts.truncate(parts.len() - usize::from(number.is_some()));
        let (by, ending) = if parts.is_empty() { (by[1], "") } else { (by[0], " without exploration") };
        let conditions = number.map(|number| format!("{} decided{ending}", counted(number, "condition")));
        (by, parts.into_iter().map(str::to_owned).chain(conditions).collect::<Vec<_>>().join("; "))
    }
}

impl fmt::Display for CertifiedPosition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let no =
            if self.is_trusted { "Certified: no, the value rests on votes alone" } else { "Certified: no" };
        let Some(certified) = &self.certified else {
            return out.write_str(no);
        };
        let file = match certified.evidence.as_str() {
            "" => String::new(),
            file if !file.contains(' ') => format!(", file {file}, which judge did not check on the net"),
            files => format!(", files {files}, which judge did not check on the net"),
        };
        let (stated, how) = (certified.stated(), certified.how());
        let evidence = format!("the value is {stated} by {how}{file}");
        match (self.label, &certified.value) {
            (REFUTED, _) => write!(out, "Refuted: {evidence}"),
            (VOTES, CertifiedValue::AtLeast(_)) => {
                let (by, detail) = certified.parts();
                write!(out, "{no}; {by} shows only that the value is {stated}: {detail}{file}")
            }
            (VOTES, _) if self.is_incomparable => {
                write!(out, "Certified: no, because Inf can be this value or another one; {evidence}")
            }
            (VOTES, _) => write!(out, "{no}; {evidence}"),
            _ => write!(out, "Certified: {evidence}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::Basis;

    fn words(trusted: &str, method: Method, value: &str, detail: &str) -> (String, String) {
        let trusted = Trusted {
            value: Some(trusted).filter(|text| !text.is_empty()).map(|text| text.parse().unwrap()),
            certified: Some(Box::new(Certified {
                method,
                value: value.parse().unwrap(),
                evidence: "x.json".to_owned(),
                detail: detail.to_owned(),
            })),
            basis: Basis::Unanimous,
            ..Trusted::unknown()
        };
        let position = CertifiedPosition::from_trusted(&trusted);
        let file = ", file x.json, which judge did not check on the net";
        (position.label_words(), position.to_string().replace(file, ""))
    }

    #[test]
    fn an_exploration_is_stated_only_if_there_was_one() {
        let said = |method, detail| words("", method, "T", detail);
        let only = "3 conditions decided without exploration";
        assert_eq!(
            said(Method::Explored, only),
            (
                "TRUE by certify alone, without exploration".to_owned(),
                "Certified: the value is TRUE by certify alone, without exploration: 3 conditions decided"
                    .to_owned()
            )
        );
        assert_eq!(
            said(Method::ReExplored, only).1,
            "Certified: the value is TRUE by certify without exploration and an exploration of the checker: 3 conditions decided"
        );
        assert_eq!(
            said(Method::Explored, "").1,
            "Certified: the value is TRUE by certify alone, without exploration"
        );
        assert_eq!(
            said(
                Method::Explored,
                "all 7 markings explored, 9 firings; 1 conditions decided without exploration"
            )
            .1,
            "Certified: the value is TRUE by one exploration: all 7 markings explored, 9 firings; 1 condition decided without exploration"
        );
        // The name of a transition is not a statement of certify.
        assert!(said(Method::Witness, only).1.ends_with(&format!("a witness: {only}")));
    }

    #[test]
    fn a_lower_bound_and_a_value_beside_inf_are_not_said_to_be_the_trusted_value() {
        assert_eq!(
            words("inf", Method::Witness, ">=0", "the initial marking"),
            (
                "not certified".to_owned(),
                "Certified: no, the value rests on votes alone; a witness shows only that the value is at least 0: the initial marking".to_owned()
            )
        );
        assert_eq!(
            words("Inf", Method::Witness, "inf", "firing sequence of 8 transitions"),
            (
                "inf by a witness; Inf may differ".to_owned(),
                "Certified: no, because Inf can be this value or another one; the value is inf by a witness: firing sequence of 8 transitions".to_owned()
            )
        );
        assert!(words("7", Method::Proof, "8", "").1.starts_with("Refuted: the value is 8 by a proof"));
    }
}
