//! The format of witnesses.

use crate::{FileError, Value, from_json};
use mcc_model::ColourName;
use serde::de::{Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// Firing sequences that show a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// [`crate::VERSION`]
    pub version: u32,
    /// The name of the instance.
    pub instance: String,
    /// The examination, such as `ReachabilityCardinality`.
    pub examination: String,
    /// The id of the property as in the file of the examination; `MAX_TOKEN_IN_PLACE` or `MAX_TOKEN_PER_MARKING` for
    /// StateSpace, with the value `inf` also `STATES` or `TRANSITIONS`; the examination for a global property.
    pub property: String,
    /// The value that is shown. A number is a lower bound: a reachable marking has at least this number of tokens.
    pub value: Value,
    /// Runs from the initial marking. Exactly one, except for values that several runs may show together: QuasiLiveness
    /// true (each transition fires or is fireable in one of them) and StableMarking false (the marking of each place
    /// changes in one of them).
    #[serde(deserialize_with = "crate::objects")]
    pub runs: Vec<Run>,
}

/// A run: a firing sequence from the initial marking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The firings in their order.
    pub steps: Vec<Step>,
    /// The number of steps before the loop of an infinite run (a lasso): the marking after this number of steps is the one after
    /// the last step, and the steps between are repeated forever. None: a finite run; whatever follows its last marking
    /// is unknown, unless that is a deadlock.
    #[serde(rename = "loop", default, skip_serializing_if = "Option::is_none")]
    pub loop_start: Option<usize>,
    /// The number of steps before a part that can be repeated without end: the marking after the last step has at least the
    /// tokens of the one after so many steps on each place, and more on one. Shows that a place is unbounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<usize>,
}

/// A firing. In JSON the id of the transition, or an object with `transition` and `binding` in a coloured net.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The id of the transition.
    pub transition: String,
    /// In a coloured net the colour of each variable of the transition by the variable's id; else empty.
    pub binding: BTreeMap<String, ColourName>,
}

impl Witness {
    /// Parses a witness.
    ///
    /// # Errors
    /// The text is not a witness of this version.
    pub fn read(text: &str) -> Result<Witness, FileError> {
        from_json(text, |witness: &Witness| witness.version)
    }
}

impl From<&str> for Step {
    fn from(transition: &str) -> Step {
        Step { transition: transition.to_owned(), binding: BTreeMap::new() }
    }
}

/// The form of a step with a binding.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bound {
    transition: String,
    #[serde(deserialize_with = "each_once")]
    binding: BTreeMap<String, ColourName>,
}

/// Reads a binding. A variable that occurs twice is an error.
fn each_once<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, ColourName>, D::Error> {
    struct Form;
    impl<'de> Visitor<'de> for Form {
        type Value = BTreeMap<String, ColourName>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object with the colours of variables")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut binding = BTreeMap::new();
            while let Some((variable, colour)) = map.next_entry::<String, ColourName>()? {
                if binding.insert(variable, colour).is_some() {
                    return Err(A::Error::custom("a variable is bound twice"));
                }
            }
            Ok(binding)
        }
    }
    deserializer.deserialize_map(Form)
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.binding.is_empty() {
            return serializer.serialize_str(&self.transition);
        }
        let Step { transition, binding } = self.clone();
        Bound { transition, binding }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Step, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = Step;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the id of a transition, or an object with transition and binding")
            }

            fn visit_str<E>(self, transition: &str) -> Result<Step, E> {
                Ok(Step::from(transition))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Step, A::Error> {
                let Bound { transition, binding } = Bound::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Step { transition, binding })
            }
        }
        deserializer.deserialize_any(Form)
    }
}
