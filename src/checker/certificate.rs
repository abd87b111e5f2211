//! The format of certificates.

use crate::{FileError, Object, Rational, Run, Value, from_json};
use mcc_model::ColourName;
use serde::{Deserialize, Deserializer, Serialize};

/// A proof that no reachable marking satisfies a condition, which shows a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// [`crate::VERSION`]
    pub version: u32,
    /// The name of the instance.
    pub instance: String,
    /// The examination, such as `ReachabilityCardinality`.
    pub examination: String,
    /// The id of the property, as in [`crate::Witness::property`].
    pub property: String,
    /// The value that is shown. A number is an upper bound: no reachable marking has more tokens.
    pub value: Value,
    /// The place that never changes (StableMarking true) or the transition that is never enabled (QuasiLiveness and
    /// Liveness false), by its id; else None.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Facts on every reachable marking. Each may use the ones before it.
    pub lemmas: Vec<Lemma>,
    /// Why the lemmas contradict the condition.
    pub proof: Vec<ProofStep>,
    /// Evidence for parts of the formula, which together decide it; then there is no proof. Empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::objects")]
    pub parts: Vec<Part>,
}

/// The truth of a part of a formula, with its evidence: a run or a proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The number of the part, as `docs/evidence/README.md` numbers them.
    pub part: usize,
    /// The truth of the part in the initial marking.
    pub value: Value,
    /// A run that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "run")]
    pub run: Option<Run>,
    /// A proof that shows it, with the lemmas of the certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Vec<ProofStep>>,
}

/// A fact on every reachable marking M.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Lemma {
    /// The weighted sum of tokens is at most the bound. It is so initially, and no transition increases the sum, except
    /// transitions that the lemmas before show to be never enabled.
    #[serde(deserialize_with = "sum")]
    Inequality {
        /// The weights of places; 0 for the others.
        weights: Vec<Weight>,
        /// The bound.
        bound: Rational,
    },
    /// These places together have at least one token. It is so initially, and each transition that takes a token from one of
    /// them puts a token on one of them, except transitions that the lemmas before show to be never enabled.
    #[serde(deserialize_with = "crate::objects")]
    Trap(Vec<PlaceName>),
}

/// The weight of a place in a sum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// The id of the place.
    pub place: String,
    /// A colour of a coloured place; None: all of its colours, and the only way in a P/T net.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<ColourName>,
    /// The weight. No place (and colour) occurs twice.
    pub weight: Rational,
}

/// A place of a P/T net, or a place with one or all colours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceName {
    /// The id of the place.
    pub place: String,
    /// A colour of a coloured place; None: all of its colours, and the only way in a P/T net.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<ColourName>,
}

/// A step of a proof that no marking satisfies the lemmas and the assumptions. The steps of a proof are the nodes of a tree
/// in depth-first order: a step with n cases is followed by the proofs of these cases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum ProofStep {
    /// A sum of the inequalities of lemmas and assumptions, each with a factor of at least 0, has no negative weight and a
    /// negative bound: no marking satisfies it (Farkas' lemma). Ends a case.
    #[serde(deserialize_with = "factors")]
    Contradiction {
        /// The numbers of lemmas (0, 1, ...) with their factors.
        lemmas: Vec<(usize, Rational)>,
        /// The numbers of assumptions (0, 1, ...) with their factors.
        assumptions: Vec<(usize, Rational)>,
    },
    /// The proofs of the cases of the disjunction with this number follow, in the order of the cases. Each may use what its
    /// case assumes.
    Cases(usize),
    /// The weighted sum is at most the bound, or at least the bound plus 1, because weights and bound are integers. The
    /// proof that may assume "sum <= bound" follows, then the proof that may assume "-sum <= -bound - 1".
    #[serde(deserialize_with = "sum")]
    Split {
        /// Integer weights of places; 0 for the others.
        weights: Vec<Weight>,
        /// The bound, an integer.
        bound: Rational,
    },
}

/// Reads the object of an inequality.
fn sum<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(Vec<Weight>, Rational), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sum {
        #[serde(deserialize_with = "crate::objects")]
        weights: Vec<Weight>,
        bound: Rational,
    }
    let Object(Sum { weights, bound }) = Object::deserialize(deserializer)?;
    Ok((weights, bound))
}

/// Reads the object of a run, or null.
fn run<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Run>, D::Error> {
    Ok(Option::<Object<Run>>::deserialize(deserializer)?.map(|Object(run)| run))
}

/// Numbers of inequalities with their factors.
type Factors = Vec<(usize, Rational)>;

/// Reads the object of a contradiction.
fn factors<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(Factors, Factors), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Pairs {
        lemmas: Factors,
        assumptions: Factors,
    }
    let Object(Pairs { lemmas, assumptions }) = Object::deserialize(deserializer)?;
    Ok((lemmas, assumptions))
}

impl Certificate {
    /// Parses a certificate.
    ///
    /// # Errors
    /// The text is not a certificate of this version.
    pub fn read(text: &str) -> Result<Certificate, FileError> {
        from_json(text, |certificate: &Certificate| certificate.version)
    }
}
