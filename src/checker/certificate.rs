//! The format of certificates.

use crate::{FileError, Object, Rational, Run, Value, from_json};
use mcc_model::ColourName;
use serde::de::Error;
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
    /// What the condition that is refuted is about; None: the tokens of a marking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// Facts on every reachable marking. Each may use the ones before it.
    pub lemmas: Vec<Lemma>,
    /// Why the lemmas contradict the condition.
    pub proof: Vec<ProofStep>,
    /// Evidence for parts of the formula, which together decide it; then there is no proof. Empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::objects")]
    pub parts: Vec<Part>,
}

/// What the refuted condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The places of a siphon without a marked trap.
    Siphons,
}

/// A text: a derived implementation also reads `{"siphons": null}`.
impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match String::deserialize(from)?.as_str() {
            "siphons" => Ok(Self::Siphons),
            other => Err(D::Error::unknown_variant(other, &["siphons"])),
        }
    }
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
    /// In each of the clauses one inequality holds. It is so in all markings that fewer than `depth` firings reach, and the
    /// proof shows that no transition falsifies a clause after `depth` markings in which all hold. It counts as the
    /// inequality 0 <= 0.
    #[serde(deserialize_with = "clauses")]
    Invariant {
        /// Disjunctions of inequalities between integers.
        clauses: Vec<Vec<AtMost>>,
        /// For each clause and each sequence of `depth` transitions whose last one increases one of its sums, that the clause
        /// stays true.
        proof: Vec<ProofStep>,
        /// The depth of the induction, 1 to 3; None: 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depth: Option<u64>,
    },
    /// These places have together one of these markings: one of them is the initial one, and each firing leads from one to
    /// one. It counts as the inequality 0 <= 0.
    #[serde(deserialize_with = "closed")]
    Closed {
        /// The places; none of them (with a colour) occurs twice.
        places: Vec<PlaceName>,
        /// The tokens of the places in their order.
        markings: Vec<Vec<u64>>,
    },
}

/// The weighted sum of tokens is at most the bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtMost {
    /// The weights of places; 0 for the others.
    #[serde(deserialize_with = "crate::objects")]
    pub weights: Vec<Weight>,
    /// The bound.
    pub bound: Rational,
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
    /// Each marking of the closed set with this number of a lemma contradicts what is known here. Ends a case.
    Closed(usize),
}

/// Reads the object of an inequality.
fn sum<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(Vec<Weight>, Rational), D::Error> {
    let Object(AtMost { weights, bound }) = Object::deserialize(deserializer)?;
    Ok((weights, bound))
}

type Clauses = (Vec<Vec<AtMost>>, Vec<ProofStep>, Option<u64>);

/// Reads the object of an invariant.
fn clauses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Clauses, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Invariant {
        clauses: Vec<Vec<Object<AtMost>>>,
        proof: Vec<ProofStep>,
        depth: Option<u64>,
    }
    let Object(Invariant { clauses, proof, depth }) = Object::deserialize(deserializer)?;
    let clause = |clause: Vec<Object<AtMost>>| clause.into_iter().map(|Object(literal)| literal).collect();
    Ok((clauses.into_iter().map(clause).collect(), proof, depth))
}

type ClosedSet = (Vec<PlaceName>, Vec<Vec<u64>>);

/// Reads the object of a closed set.
fn closed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ClosedSet, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Closed {
        #[serde(deserialize_with = "crate::objects")]
        places: Vec<PlaceName>,
        markings: Vec<Vec<u64>>,
    }
    let Object(Closed { places, markings }) = Object::deserialize(deserializer)?;
    Ok((places, markings))
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
