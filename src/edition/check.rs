//! Checks the content of an edition of the MCC after it was parsed.

use super::error::Fault;
use super::{AnswerKind, Edition, InfrastructureRule};
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

impl Edition {
    /// The first key with invalid content, and the reason.
    pub(super) fn check(&self) -> Option<Fault> {
        let key = |parts: &[&str]| parts.iter().map(ToString::to_string).collect::<Vec<_>>();
        if self.examinations.is_empty() {
            let message = "an edition needs at least one examination; add one, or remove the key to keep those of the base";
            return Some((key(&["examination"]), message.to_owned()));
        }
        for (number, examination) in self.examinations.iter().enumerate() {
            let at = |name| key(&["examination", &number.to_string(), name]);
            let plain = |name: &str| !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric());
            if !plain(&examination.name) {
                let message = "is used as a name of files and folders: letters and digits only".to_owned();
                return Some((at("name"), message));
            }
            if self.examination(&examination.name).is_some_and(|(first, _)| first != number) {
                return Some((at("name"), format!("examination `{}` is named twice", examination.name)));
            }
            if !(1..=100).contains(&examination.values) {
                return Some((at("values"), format!("{} values; allowed are 1 to 100", examination.values)));
            }
            if examination.answers == AnswerKind::StateSpace && examination.values != 4 {
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
        self.check_variants().or_else(|| self.check_judging()).or_else(|| self.check_unknown())
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
            return Some((
                at("penalty"),
                "is a number of points that are lost: must be 0 or more".to_owned(),
            ));
        }
        if judging.single_threshold < BigRational::zero() || judging.single_threshold > one {
            return Some((at("single_threshold"), "must be a confidence from 0 to 1".to_owned()));
        }
        if judging.min_agreeing < 2 {
            return Some((
                at("min_agreeing"),
                "agreement needs at least 2 tools: must be at least 2".to_owned(),
            ));
        }
        // With less than 1/2, two values could both have a majority.
        if judging.majority < BigRational::new(1.into(), 2.into()) || judging.majority >= one {
            return Some((
                at("majority"),
                "must be from 1/2 to below 1, so that only one value can exceed it".to_owned(),
            ));
        }
        if judging.tie_margin.is_negative() {
            return Some((at("tie_margin"), "must be 0 or more".to_owned()));
        }
        for (bonus, points) in [("time", &judging.bonuses.time), ("memory", &judging.bonuses.memory)] {
            if points.is_negative() {
                let key = ["judging", "bonuses", bonus].map(str::to_owned).to_vec();
                return Some((key, "must be 0 or more".to_owned()));
            }
        }
        let repeated =
            judging.awards.iter().enumerate().find(|(at, award)| judging.awards[..*at].contains(award));
        if let Some((number, _)) = repeated {
            let mut key = at("awards");
            key.push(number.to_string());
            return Some((key, "this award is named twice".to_owned()));
        }
        if let Some(prefix) = &self.stripped_prefix
            && (prefix.is_empty() || !judging.multipliers.contains_key("stripped"))
        {
            let message = "must not be empty, and needs a multiplier for `stripped` (judging.multipliers)";
            return Some((vec!["stripped_prefix".to_owned()], message.to_owned()));
        }
        let reason = judging.infrastructure_reason.as_deref().unwrap_or_default();
        match judging.infrastructure {
            InfrastructureRule::Exclude if reason.trim().is_empty() => Some((
                at("infrastructure"),
                "`exclude` needs a written reason: add infrastructure_reason = \"...\"".to_owned(),
            )),
            _ => None,
        }
    }

    fn check_unknown(&self) -> Option<Fault> {
        check_unknown(self, &self.unknown)
    }
}

/// Checks the table `unknown` of an edition: its keys are keys of the edition, and each has a sentence.
pub(super) fn check_unknown(
    edition: &impl serde::Serialize,
    unknown: &std::collections::BTreeMap<String, String>,
) -> Option<Fault> {
    let settings = serde_json::to_value(edition).expect("an edition can be serialized");
    unknown.iter().find_map(|(key, why)| {
        let at = vec!["unknown".to_owned(), key.clone()];
        if settings.pointer(&format!("/{}", key.replace('.', "/"))).is_none() {
            return Some((at, "no key of this edition; write it as in \"judging.normalization\"".to_owned()));
        }
        why.trim()
            .is_empty()
            .then(|| (at, "must be a sentence on what is unknown and which value is used".to_owned()))
    })
}
