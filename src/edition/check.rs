//! Checks the content of an edition of the MCC after it was parsed.

use super::error::{Fault, ensure};
use super::{AnswerKind, Edition, InfrastructureRule};
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use std::collections::BTreeMap;

/// Longest edition of a record or judgement, as JSON. The longest that is built in has less than 100 KB; files of structures
/// have 4 MiB at most.
const MAX_RECORDED_BYTES: usize = 8 << 20;
/// Largest number of examinations, of podiums, and of names in `aliases`.
const MAX_LIST: usize = 1000;

/// Checks an edition of a record or judgement, which anyone can write.
pub(super) fn check_recorded<E: serde::Serialize>(
    edition: &E,
    check: impl FnOnce(&E) -> Result<(), Fault>,
) -> Result<(), String> {
    // First, because other checks compare the parts of lists with each other.
    let bytes = serde_json::to_string(edition).map_or(usize::MAX, |text| text.len());
    if bytes > MAX_RECORDED_BYTES {
        return Err(format!("the edition has {bytes} bytes, and at most {MAX_RECORDED_BYTES} are read"));
    }
    check(edition).map_err(|(key, message)| format!("the edition's key `{}`: {message}", key.join(".")))
}

/// Largest number of families with a factor of their own: points are sums with all of their denominators.
const MAX_FACTORS: usize = 1000;

impl Edition {
    /// Checks an edition that was read from a record or judgement, which anyone can write.
    ///
    /// # Errors
    /// It is too long, or a key has content that an edition file cannot have.
    pub fn check_recorded(&self) -> Result<(), String> {
        check_recorded(self, Self::check_content)
    }

    /// Returns a fault for the first key with invalid content.
    pub(super) fn check(&self) -> Result<(), Fault> {
        self.check_content()?;
        check_unknown(self, &self.unknown)
    }

    /// As `check`, without the keys that `unknown` names: an edition without resigned entries can lack some of them.
    fn check_content(&self) -> Result<(), Fault> {
        let aliases = self.aliases.values().map(|others| 1 + others.len()).sum();
        let lists =
            [("examination", self.examinations.len()), ("podium", self.podiums.len()), ("aliases", aliases)];
        for (key, length) in lists {
            ensure(
                length <= MAX_LIST,
                &[key],
                format!("has {length} items, and at most {MAX_LIST} are read"),
            )?;
        }
        let message =
            "an edition needs at least one examination; add one, or remove the key to keep those of the base";
        ensure(!self.examinations.is_empty(), &["examination"], message)?;
        for (number, examination) in self.examinations.iter().enumerate() {
            let (name, values) = (&examination.name, examination.values);
            let check = |valid, key, message: &str| {
                ensure(valid, &["examination", &number.to_string(), key], message)
            };
            let plain = !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric());
            check(plain, "name", "is used as a name of files and folders: letters and digits only")?;
            let first = self.examination(name).is_none_or(|(first, _)| first == number);
            check(first, "name", &format!("examination `{name}` is named twice"))?;
            let message = format!(
                "{values} values; allowed are 1 to 100, and 0 for a value for each transition or place"
            );
            check(values <= 100, "values", &message)?;
            let state_space = examination.answers == AnswerKind::StateSpace;
            check(!state_space || values == 4, "values", "a state-space examination has 4 values")?;
        }
        for (number, podium) in self.podiums.iter().enumerate() {
            let at = number.to_string();
            let first = self.podiums[..number].iter().all(|other| other.category != podium.category);
            let message = format!("category `{}` is named twice", podium.category);
            ensure(first, &["podium", &at, "category"], message)?;
            for (place, name) in podium.examinations.iter().enumerate() {
                let known: Vec<&str> = self.examinations.iter().map(|known| known.name.as_str()).collect();
                let message = format!("no examination `{name}`; allowed are {}", known.join(", "));
                let key = ["podium", &at, "examinations", &place.to_string()];
                ensure(known.contains(&name.as_str()), &key, message)?;
                let is_total = self.examination(name).is_some_and(|(_, examination)| examination.values == 0);
                let message =
                    format!("the contest has no points for `{name}`: it has 0 values in this edition");
                ensure(!is_total, &key, message)?;
                let first = !podium.examinations[..place].contains(name);
                ensure(first, &key, format!("examination `{name}` is named twice"))?;
            }
        }
        check_named_once("variants", &self.variants)?;
        check_named_once("aliases", &self.aliases)?;
        for (number, suffix) in self.variant_suffixes.iter().enumerate() {
            ensure(!suffix.is_empty(), &["variant_suffixes", &number.to_string()], "must not be empty")?;
        }
        for (suffix, tool) in &self.suffix_tools {
            let valid = !suffix.is_empty() && !tool.is_empty();
            ensure(valid, &["suffix_tools", suffix], "suffix and tool must not be empty")?;
        }
        self.check_judging()
    }

    fn check_judging(&self) -> Result<(), Fault> {
        let judging = &self.judging;
        let check = |valid, key, message: &str| ensure(valid, &["judging", key], message);
        let or_more = "must be 0 or more";
        let (half, one) = (BigRational::new(1.into(), 2.into()), BigRational::one());
        check(judging.points_per_examination.is_positive(), "points_per_examination", "must be more than 0")?;
        for (status, multiplier) in &judging.multipliers {
            ensure(!multiplier.is_negative(), &["judging", "multipliers", status], or_more)?;
        }
        let lost = "is a number of points that are lost: must be 0 or more";
        check(!judging.penalty.is_negative(), "penalty", lost)?;
        let threshold = &judging.single_threshold;
        let valid = (BigRational::zero()..=one.clone()).contains(threshold);
        check(valid, "single_threshold", "must be a confidence from 0 to 1")?;
        let several = "agreement needs at least 2 tools: must be at least 2";
        check(judging.min_agreeing >= 2, "min_agreeing", several)?;
        // With less than 1/2, two values could both have a majority.
        let majority = "must be from 1/2 to below 1, so that only one value can exceed it";
        check((half..one).contains(&judging.majority), "majority", majority)?;
        check(!judging.tie_margin.is_negative(), "tie_margin", or_more)?;
        check(judging.scale.is_positive(), "scale", "must be more than 0")?;
        let most = format!("has more than {MAX_FACTORS} families");
        check(judging.family_factors.len() <= MAX_FACTORS, "family_factors", &most)?;
        for (family, factor) in &judging.family_factors {
            ensure(factor.is_positive(), &["judging", "family_factors", family], "must be more than 0")?;
        }
        for (bonus, points) in [("time", &judging.bonuses.time), ("memory", &judging.bonuses.memory)] {
            ensure(!points.is_negative(), &["judging", "bonuses", bonus], or_more)?;
        }
        for (number, award) in judging.awards.iter().enumerate() {
            let first = !judging.awards[..number].contains(award);
            ensure(first, &["judging", "awards", &number.to_string()], "this award is named twice")?;
        }
        if let Some(prefix) = &self.stripped_prefix {
            let valid = !prefix.is_empty() && judging.multipliers.contains_key("stripped");
            let message = "must not be empty, and needs a multiplier for `stripped` (judging.multipliers)";
            ensure(valid, &["stripped_prefix"], message)?;
        }
        let reason = judging.infrastructure_reason.as_deref().unwrap_or_default();
        let valid = judging.infrastructure != InfrastructureRule::Exclude || !reason.trim().is_empty();
        let message = "`exclude` needs a written reason: add infrastructure_reason = \"...\"";
        check(valid, "infrastructure", message)
    }
}

/// Checks that no name belongs to two tools. Names are compared without case.
fn check_named_once(key: &str, tools: &BTreeMap<String, Vec<String>>) -> Result<(), Fault> {
    let mut known = BTreeMap::new();
    for (tool, name) in tools.iter().flat_map(|(tool, names)| names.iter().map(move |name| (tool, name))) {
        if let Some(other) = known.insert(name.to_lowercase(), tool) {
            let message =
                format!("`{name}` is in the list of `{other}` already; names are compared without case");
            ensure(false, &[key, tool], message)?;
        }
    }
    Ok(())
}

/// Checks that the table `unknown` of an edition names existing keys, each with a sentence.
pub(super) fn check_unknown(
    edition: &impl serde::Serialize,
    unknown: &BTreeMap<String, String>,
) -> Result<(), Fault> {
    let settings = serde_json::to_value(edition).expect("an edition can be serialized");
    unknown.iter().try_for_each(|(key, why)| {
        let at = ["unknown", key];
        let exists = settings.pointer(&format!("/{}", key.replace('.', "/"))).is_some();
        ensure(exists, &at, "no key of this edition; write it as in \"judging.normalization\"")?;
        let message = "must be a sentence on what is unknown and which value is used";
        ensure(!why.trim().is_empty(), &at, message)
    })
}
