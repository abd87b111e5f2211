//! Reading and checking an edition file.

use super::{Edition, InfrastructureRule};
use globset::Glob;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The editions this build knows by name.
const KNOWN: &[(&str, &str)] = &[("mcc-2018", include_str!("../../editions/mcc-2018.toml"))];

/// The text of the edition of that name, or of the file at that path, and what errors call it.
///
/// An argument with a `/` or ending in `.toml` is a path.
pub(super) fn text_of(name_or_path: &str) -> Result<(String, String), EditionError> {
    if name_or_path.contains('/') || name_or_path.ends_with(".toml") {
        let path = Path::new(name_or_path);
        let text =
            crate::text::read(path).map_err(|source| EditionError::Read { path: path.to_owned(), source })?;
        return Ok((text, name_or_path.to_owned()));
    }
    let known = || KNOWN.iter().chain(super::rules::SISTERS);
    let found = known().find(|(name, _)| *name == name_or_path);
    let (name, text) = found.ok_or_else(|| EditionError::Unknown {
        name: name_or_path.to_owned(),
        known: known().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
    })?;
    Ok(((*text).to_owned(), format!("editions/{name}.toml")))
}

/// What an edition refuses: the key whose content cannot be, and why.
pub(super) type Fault = (Vec<String>, String);

/// Reads an edition of any contest and checks its content; `file` is only named in errors.
pub(super) fn parse<T: DeserializeOwned>(
    text: &str,
    file: &str,
    check: impl Fn(&T) -> Option<Fault>,
) -> Result<T, EditionError> {
    let edition: T = toml::from_str(text).map_err(|error| EditionError::Syntax {
        file: file.to_owned(),
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        message: one_line(text, &error),
    })?;
    match check(&edition) {
        None => Ok(edition),
        Some((key, message)) => Err(EditionError::Content {
            file: file.to_owned(),
            line: line_of(text, place_of(text, &key)),
            key: key.join("."),
            message,
        }),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum EditionError {
    #[error(
        "no edition `{name}`: known are {known}; for an edition of your own give the path of its file (.toml)"
    )]
    Unknown { name: String, known: String },
    #[error("cannot read edition file {path}")]
    Read { path: PathBuf, source: std::io::Error },
    /// Not TOML, an unknown key, a wrong type, a word that is not allowed: says what is.
    #[error("{file}:{line}: {message}; editions/README.md explains every key")]
    Syntax { file: String, line: usize, message: String },
    /// Well-formed, but against the rules of its own content.
    #[error("{file}:{line}: key `{key}`: {message}; editions/README.md explains every key")]
    Content { file: String, line: usize, key: String, message: String },
}

impl Edition {
    /// The edition of that name, or of the file at that path. An argument with a `/` or ending in `.toml` is
    /// a path.
    pub fn load(name_or_path: &str) -> Result<Self, EditionError> {
        let (text, file) = text_of(name_or_path)?;
        Self::parse(&text, &file)
    }

    /// Reads and checks an edition; `file` is only named in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, EditionError> {
        parse(text, file, Self::check)
    }

    /// The first key whose content cannot be, and why.
    fn check(&self) -> Option<Fault> {
        let key = |parts: &[&str]| parts.iter().map(ToString::to_string).collect::<Vec<_>>();
        for (number, examination) in self.examinations.iter().enumerate() {
            let at = |name| key(&["examination", &number.to_string(), name]);
            let plain = |name: &str| !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric());
            if !plain(&examination.name) {
                let message = "becomes a file's and a folder's name: letters and digits only".to_owned();
                return Some((at("name"), message));
            }
            if self.examination(&examination.name).is_some_and(|(first, _)| first != number) {
                return Some((at("name"), format!("examination `{}` is named twice", examination.name)));
            }
            if !(1..=100).contains(&examination.values) {
                return Some((at("values"), format!("{} values; allowed are 1 to 100", examination.values)));
            }
            if examination.answers == super::AnswerKind::StateSpace && examination.values != 4 {
                return Some((at("values"), "a state-space examination has 4 values".to_owned()));
            }
        }
        for (number, podium) in self.podiums.iter().enumerate() {
            if self.podiums[..number].iter().any(|other| other.category == podium.category) {
                let message = format!("category `{}` is named twice", podium.category);
                return Some((key(&["podium", &number.to_string(), "category"]), message));
            }
            for (place, name) in podium.examinations.iter().enumerate() {
                if self.examination(name).is_none() {
                    let known: Vec<&str> =
                        self.examinations.iter().map(|known| known.name.as_str()).collect();
                    return Some((
                        key(&["podium", &number.to_string(), "examinations", &place.to_string()]),
                        format!("no examination `{name}`; allowed are {}", known.join(", ")),
                    ));
                }
            }
        }
        for (number, rule) in self.statuses.iter().enumerate() {
            if let Err(error) = Glob::new(&rule.pattern) {
                return Some((key(&["status", &number.to_string(), "pattern"]), error.to_string()));
            }
        }
        self.check_variants().or_else(|| self.check_judging())
    }

    fn check_variants(&self) -> Option<Fault> {
        let mut of = std::collections::BTreeMap::new();
        for (tool, entries) in &self.variants {
            for entry in entries {
                if let Some(other) = of.insert(entry, tool) {
                    let message = format!("entry `{entry}` is a variant of `{other}` already");
                    return Some((vec!["variants".to_owned(), tool.clone()], message));
                }
            }
        }
        None
    }

    fn check_judging(&self) -> Option<Fault> {
        let judging = &self.judging;
        let at = |name: &str| vec!["judging".to_owned(), name.to_owned()];
        let one = BigRational::one();
        if !judging.points_per_examination.is_positive() {
            return Some((at("points_per_examination"), "must be more than 0".to_owned()));
        }
        for (status, multiplier) in &judging.multipliers {
            if multiplier.is_negative() {
                let key = ["judging", "multipliers", status].map(str::to_owned).to_vec();
                return Some((key, "must be 0 or more".to_owned()));
            }
        }
        if judging.penalty.is_negative() {
            return Some((at("penalty"), "is counted as a loss already: must be 0 or more".to_owned()));
        }
        if judging.single_threshold < BigRational::zero() || judging.single_threshold > one {
            return Some((at("single_threshold"), "a confidence lies from 0 to 1".to_owned()));
        }
        if judging.min_agreeing < 2 {
            return Some((at("min_agreeing"), "one tool alone agrees with nobody: at least 2".to_owned()));
        }
        let reason = judging.infrastructure_reason.as_deref().unwrap_or_default();
        match judging.infrastructure {
            InfrastructureRule::Exclude if reason.trim().is_empty() => Some((
                at("infrastructure"),
                "runs are excluded with a written reason only: add infrastructure_reason = \"...\""
                    .to_owned(),
            )),
            _ => None,
        }
    }
}

/// `toml`'s message without its drawing: what is wrong, what is allowed, and the line it stands in.
fn one_line(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map_or(0, |span| line_of(text, span.start));
    let source = text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim();
    let source: String = source.chars().take(100).collect();
    let message = error.message().replace('\n', ", ");
    if source.is_empty() { message } else { format!("`{source}`: {message}") }
}

/// From 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The byte where a key's value begins; 0 where it cannot be found.
fn place_of(text: &str, key: &[String]) -> usize {
    let Ok(table) = DeTable::parse(text) else { return 0 };
    let table = table.into_inner();
    let mut found = key.first().and_then(|part| table.get(part.as_str()));
    let mut place = 0;
    let mut rest = key.iter().skip(1);
    while let Some(value) = found {
        place = value.span().start;
        let Some(part) = rest.next() else { break };
        found = match value.get_ref() {
            DeValue::Table(table) => table.get(part.as_str()),
            DeValue::Array(array) => part.parse().ok().and_then(|index: usize| array.get(index)),
            _ => None,
        };
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edition::{Normalization, Status};

    const MCC_2018: &str = KNOWN[0].1;

    fn error(from: &str, to: &str) -> String {
        assert!(MCC_2018.contains(from), "{from}");
        Edition::parse(&MCC_2018.replacen(from, to, 1), "mine.toml").unwrap_err().to_string()
    }

    fn line(containing: &str) -> usize {
        MCC_2018.lines().position(|line| line.contains(containing)).unwrap() + 1
    }

    #[test]
    fn every_edition_known_by_name_loads_and_survives_a_round_trip() {
        for (name, _) in KNOWN {
            let edition = Edition::load(name).unwrap();
            assert_eq!(edition.name, *name);
            let text = serde_json::to_string(&edition).unwrap();
            assert_eq!(serde_json::from_str::<Edition>(&text).unwrap(), edition);
        }
    }

    #[test]
    fn the_edition_of_2018_has_its_nine_examinations_five_podiums_and_variants() {
        let edition = Edition::load("mcc-2018").unwrap();
        assert_eq!(
            edition.examinations.iter().map(|e| e.values).collect::<Vec<_>>(),
            [4, 16, 1, 16, 16, 16, 16, 16, 16]
        );
        assert_eq!(edition.podiums.len(), 5);
        assert_eq!(edition.judging.normalization, Normalization::FamilyLinear);
        assert_eq!(edition.judging.single_threshold, BigRational::new(97.into(), 100.into()));
        assert_eq!(edition.tool_of("ITS-Tools.L"), "ITS-Tools");
        assert_eq!(edition.tool_of("LoLA"), "LoLA");
        for (entry, status) in [
            ("BVT-2018", Status::Virtual),
            ("2017-Gold", Status::OutOfCompetition),
            ("2017-gold", Status::OutOfCompetition),
            ("GreatSPN", Status::Competing),
        ] {
            assert_eq!(edition.status_of(entry), status, "{entry}");
        }
    }

    #[test]
    fn an_unknown_name_gets_the_known_ones_and_a_missing_file_its_path() {
        let message = Edition::load("mcc-1999").unwrap_err().to_string();
        assert!(
            message.contains("`mcc-1999`") && message.contains("mcc-2018") && message.contains(".toml"),
            "{message}"
        );
        assert!(Edition::load("no/such.toml").unwrap_err().to_string().contains("no/such.toml"));
    }

    #[test]
    fn a_wrong_word_gets_file_line_key_and_the_allowed_words() {
        let message = error("\"family-linear\"", "\"quadratic\"");
        let place = format!("mine.toml:{}: ", line("family-linear"));
        assert!(message.starts_with(&place), "{message}");
        for part in ["normalization", "quadratic", "family-linear", "none"] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn an_unknown_key_a_float_and_broken_toml_are_refused_with_their_line() {
        let message = error("penalty = 2", "penality = 2");
        assert!(message.starts_with(&format!("mine.toml:{}: ", line("penalty ="))), "{message}");
        assert!(message.contains("`penality`") && message.contains("`penalty`"), "{message}");
        let message = error("\"97/100\"", "0.97");
        assert!(message.starts_with(&format!("mine.toml:{}: ", line("single_threshold"))), "{message}");
        assert!(message.contains("exact number in quotes"), "{message}");
        let message = error("[machine]", "[machine");
        assert!(message.starts_with(&format!("mine.toml:{}: ", line("[machine]"))), "{message}");
        let message = error("single_threshold = \"97/100\"", "single_threshold = \"1/0\"");
        assert!(message.contains("exact number in quotes"), "{message}");
    }

    #[test]
    fn content_against_the_rules_is_refused_with_line_and_key() {
        let message = error("[\"CTLCardinality\", \"CTLFireability\"]", "[\"CTLCardinality\", \"CTLFoo\"]");
        let place = format!("mine.toml:{}: key `podium.3.examinations.1`: ", line("[\"CTLCardinality\""));
        assert!(message.starts_with(&place), "{message}");
        assert!(message.contains("`CTLFoo`") && message.contains("LTLFireability"), "{message}");
        for (from, to, part) in [
            ("\"97/100\"", "\"97/10\"", "from 0 to 1"),
            ("infrastructure = \"provisional\"", "infrastructure = \"exclude\"", "infrastructure_reason"),
            ("penalty = 2", "penalty = -2", "0 or more"),
            ("surprise = 4", "surprise = -4", "0 or more"),
            ("name = \"UpperBounds\"", "name = \"../x\"", "letters and digits only"),
            ("category = \"LTL\"", "category = \"CTL\"", "category `CTL` is named twice"),
            ("wall_s = 4500", "wall_s = 0", "0 is not from 1 to 31622400"),
            ("cpu_s = 3600", "cpu_s = 18446744073709551", "is not from 0 to"),
            ("concurrent_cores = 4", "concurrent_cores = 0", "0 is not from 1 to 4096"),
            ("\"97/100\"", &format!("\"0.{}\"", "9".repeat(30_000)), "exact number in quotes"),
            ("min_agreeing = 3", "min_agreeing = 1", "at least 2"),
            ("pattern = \"BVT*\"", "pattern = \"BVT[\"", "status.0.pattern"),
            ("values = 4", "values = 5", "4 values"),
            ("name = \"UpperBounds\"", "name = \"StateSpace\"", "twice"),
            ("Irma = [\"Irma.full\"", "Irma = [\"ITS-Tools\"", "already"),
        ] {
            let message = error(from, to);
            assert!(message.contains(part) && message.contains("mine.toml:"), "{message}");
            assert!(message.contains(&format!(":{}:", line(from))), "{message}");
        }
    }
}
