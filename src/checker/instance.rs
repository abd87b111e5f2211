//! An instance with its net and formulas, and what a value of one of its examinations claims.

use crate::model::Model;
use crate::unfolded::{TOO_MUCH_MEMORY, Unfolded};
use crate::{CheckError, Value};
use mcc_model::{Archive, Expr, Formula, Multiset, NetKind, Property, Total};
use num_bigint::BigUint;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// An instance for whose values evidence is checked. It is read once for any number of files.
pub struct Instance {
    pub(crate) name: String,
    kind: NetKind,
    pub(crate) model: Model,
    unfolded: OnceLock<Result<Unfolded, String>>,
    /// By examination; an error is one of the property file.
    pub(crate) properties: BTreeMap<String, Result<Vec<Property>, String>>,
    /// In the order of `Total::ALL`; made when one is asked.
    totals: OnceLock<[Vec<Property>; 3]>,
    deadlock: Expr,
}

/// What a value says.
pub(crate) enum Claim<'a> {
    /// The formula of a Boolean property has this truth.
    Formula(&'a Expr, bool),
    /// The largest sum of tokens on these places is this number.
    Bound(Vec<usize>, &'a BigUint),
    /// The largest number of tokens in one place (and colour) is this number.
    MostInPlace(&'a BigUint),
    /// The sum of tokens on these places has no largest number; None: the number of tokens of one place (and colour).
    Unbounded(Option<Vec<usize>>),
    OneSafe(bool),
    QuasiLiveness(bool),
    StableMarking(bool),
    Liveness(bool),
}

/// Longest time for unfolding a net. On any host, nets below the other limits need a small part of it.
const UNFOLDING_TIME: Duration = Duration::from_secs(300);

impl Instance {
    /// Reads the net and the formulas.
    ///
    /// # Errors
    /// The archive cannot be read, or its net is not valid. An error of a property file is reported by the checks that need
    /// the file.
    pub fn read(archive: &Archive) -> Result<Instance, CheckError> {
        let model = Model::read(archive)?;
        let mut properties = BTreeMap::new();
        for examination in archive.examinations() {
            let read = archive.properties(examination).map_err(|error| error.to_string());
            properties.extend(read.transpose().map(|read| (examination.to_owned(), read)));
        }
        let deadlock = Expr::ExistsPath(Box::new(Expr::Finally(Box::new(Expr::Deadlock))));
        let unfolded = OnceLock::new();
        let (name, kind) = (archive.instance.to_string(), archive.instance.kind());
        Ok(Instance { name, kind, model, unfolded, properties, totals: OnceLock::new(), deadlock })
    }

    /// The net for certificates and explorers. Unfolds it once, within this memory, this time and [`UNFOLDING_TIME`]. If that is
    /// not possible, no certificate of the instance is checked.
    pub(crate) fn unfolded(&self, time: Duration, memory_bytes: u64) -> Result<&Unfolded, CheckError> {
        let unfolded = match self.unfolded.get() {
            Some(unfolded) => unfolded,
            None => {
                let began = Instant::now();
                let unfolded = Unfolded::new(&self.model, time.min(UNFOLDING_TIME), memory_bytes);
                let unfolded = unfolded.map_err(CheckError::reason);
                // It is not kept: another check may have more time or memory.
                if let Err(why) = &unfolded
                    && (began.elapsed() > time || why == TOO_MUCH_MEMORY)
                {
                    return Err(CheckError::NotChecked(why.clone()));
                }
                self.unfolded.get_or_init(|| unfolded)
            }
        };
        unfolded.as_ref().map_err(|why| CheckError::NotChecked(why.clone()))
    }

    /// The claim of a value, after a check that the file is one of this instance.
    pub(crate) fn claim<'a>(
        &'a self,
        instance: &str,
        examination: &str,
        property: &str,
        value: &'a Value,
    ) -> Result<Claim<'a>, CheckError> {
        if instance != self.name {
            return Err(CheckError::refused(format!(
                "it is for the instance \"{instance}\", not {}",
                self.name
            )));
        }
        let wrong_kind =
            || CheckError::refused(format!("{value} is not a value of {examination}, \"{property}\""));
        let claim = match (examination, value) {
            ("StateSpace", Value::Number(number)) => match property {
                "MAX_TOKEN_IN_PLACE" => Claim::MostInPlace(number),
                "MAX_TOKEN_PER_MARKING" => Claim::Bound((0..self.model.net.places.len()).collect(), number),
                _ => return Err(wrong_kind()),
            },
            ("StateSpace", Value::Infinite) => match property {
                // An unbounded place has infinitely many markings, and each of them on the way has a firing.
                "STATES" | "TRANSITIONS" | "MAX_TOKEN_IN_PLACE" => Claim::Unbounded(None),
                "MAX_TOKEN_PER_MARKING" => Claim::Unbounded(Some((0..self.model.net.places.len()).collect())),
                _ => return Err(wrong_kind()),
            },
            ("OneSafe" | "QuasiLiveness" | "StableMarking" | "Liveness", Value::Truth(truth)) => {
                if property != examination {
                    return Err(wrong_kind());
                }
                match examination {
                    "OneSafe" => Claim::OneSafe(*truth),
                    "QuasiLiveness" => Claim::QuasiLiveness(*truth),
                    "StableMarking" => Claim::StableMarking(*truth),
                    _ => Claim::Liveness(*truth),
                }
            }
            _ => match (self.formula(examination, property)?, value) {
                (Ok(Formula::PlaceBound(places)), Value::Number(_) | Value::Infinite) => {
                    let places = places.iter().map(|id| self.model.place(id)).collect::<Result<_, _>>()?;
                    match value {
                        Value::Number(number) => Claim::Bound(places, number),
                        _ => Claim::Unbounded(Some(places)),
                    }
                }
                (Ok(Formula::Boolean(formula)), Value::Truth(truth)) => Claim::Formula(formula, *truth),
                (Err(formula), Value::Truth(truth)) => Claim::Formula(formula, *truth),
                _ => return Err(wrong_kind()),
            },
        };
        match claim {
            Claim::Formula(formula, _) if !examination.starts_with("LTL") && !formula.is_quantified() => {
                Err(CheckError::refused("the formula is not of the logic of its examination"))
            }
            claim => Ok(claim),
        }
    }

    /// The questions of the total examinations; a coloured net has none.
    fn totals(&self) -> &[Vec<Property>; 3] {
        self.totals.get_or_init(|| {
            let net = &self.model.net;
            // A P/T net has one colour.
            let initial = |tokens: &Multiset| tokens.values().copied().next().unwrap_or_default();
            let places = || net.places.iter().map(|place| (place.id.as_str(), initial(&place.initial)));
            let transitions = || net.transitions.iter().map(|transition| transition.id.as_str());
            Total::ALL.map(|total| match self.kind {
                NetKind::PlaceTransition => total.questions(places(), transitions()),
                NetKind::Coloured => Vec::new(),
            })
        })
    }

    /// A formula by its property; the error is the formula of ReachabilityDeadlock, which some editions ship without a file.
    pub(crate) fn formula(
        &self,
        examination: &str,
        property: &str,
    ) -> Result<Result<&Formula, &Expr>, CheckError> {
        if let Some(at) = Total::ALL.iter().position(|total| total.examination == examination) {
            let known = Total::ALL[at].number(property).and_then(|number| self.totals()[at].get(number));
            let unknown =
                || CheckError::refused(format!("{examination} has no property \"{property}\" here"));
            return known.map(|known| Ok(&known.formula)).ok_or_else(unknown);
        }
        match self.properties.get(examination) {
            None if examination == "ReachabilityDeadlock" && property == examination => {
                Ok(Err(&self.deadlock))
            }
            None => {
                let reason = format!("the instance has no examination \"{examination}\" with formulas");
                Err(CheckError::refused(reason))
            }
            Some(Err(error)) => Err(CheckError::Properties(error.clone())),
            Some(Ok(properties)) => match properties.iter().find(|known| known.id == property) {
                Some(property) => Ok(Ok(&property.formula)),
                None => Err(CheckError::refused(format!("{examination} has no property \"{property}\""))),
            },
        }
    }
}
