//! Coloured nets of the contest: symmetric nets (ISO/IEC 15909-2) with their sorts, markings, arc expressions and guards.
//!
//! The colours of a sort are numbered 0, 1, ...: constants of an enumeration in document order, numbers of a range from its
//! start, tuples of a product with the last component varying fastest. Counts of tokens are exact: a count that does not
//! fit into 64 bits is an error, never a wrapped number.

use super::{Arc, Net, Place, Transition};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc as Shared;

/// The number of a colour within its sort.
pub type Colour = u64;

/// Tokens by colour. A colour without tokens has no entry.
pub type Multiset = BTreeMap<Colour, u64>;

/// A coloured net. Places and transitions are numbered as in the [`super::Net`] of the same file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymmetricNet {
    /// The `id` of `<net>`; in contest models the name of the instance.
    pub id: String,
    /// Its sorts: declared ones, and those that only occur inside of others or in terms.
    pub sorts: Vec<Sort>,
    /// Its variables in document order.
    pub variables: Vec<Variable>,
    /// Its places in document order; arcs refer to them by number.
    pub places: Vec<ColouredPlace>,
    /// Its transitions in document order.
    pub transitions: Vec<ColouredTransition>,
}

/// A sort: a finite set of colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// Its id; empty if it is not declared by itself.
    pub id: String,
    /// What it consists of.
    pub kind: SortKind,
    /// The number of its colours, at least 1.
    pub colours: u64,
    /// The number of each colour with an id.
    pub numbers: HashMap<String, Colour>,
}

/// What a sort consists of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SortKind {
    /// `dot`: one colour.
    Dot,
    /// `finiteenumeration`, `cyclicenumeration` or `bool`: the ids of its constants.
    Enumeration(Vec<String>),
    /// `finiteintrange`: the integers from start to end, both included.
    Range {
        /// The smallest integer.
        start: i64,
        /// The largest integer.
        end: i64,
    },
    /// `productsort`: the numbers of the sorts of the components.
    Product(Vec<usize>),
    /// `partition`: the ids of its elements, which are classes of colours of another sort.
    Partition(Vec<String>),
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its id.
    pub id: String,
    /// The number of its sort.
    pub sort: usize,
}

/// A place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColouredPlace {
    /// Its id.
    pub id: String,
    /// The number of its sort.
    pub sort: usize,
    /// Its initial marking.
    pub initial: Multiset,
}

/// A transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColouredTransition {
    /// Its id.
    pub id: String,
    /// The numbers of the variables in its guard and arcs, each once. A binding gives them colours, in this order.
    pub variables: Vec<usize>,
    /// Its guard; `Guard::And` of nothing if it has none.
    pub guard: Guard,
    /// Arcs from places: place and expression; at most one per place.
    pub inputs: Vec<(usize, Bag)>,
    /// Arcs to places: place and expression; at most one per place.
    pub outputs: Vec<(usize, Bag)>,
}

/// An expression whose value is a multiset of colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bag {
    /// One token of the colour of the term, or of each of its colours if `all` occurs in it.
    Each(Term),
    /// `numberof` and `scalarproduct`: this number of times the multiset.
    Times(u64, Box<Bag>),
    /// `add`; `empty` is the sum of nothing.
    Add(Vec<Bag>),
    /// `subtract`: an error if the second is not contained in the first.
    Subtract(Box<Bag>, Box<Bag>),
}

/// An expression whose value is a colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// A constant.
    Constant(Colour),
    /// A variable by its position in [`ColouredTransition::variables`].
    Variable(usize),
    /// `successor` in a sort with this number of colours; the first colour follows the last one.
    Successor(Box<Term>, u64),
    /// `predecessor` in a sort with this number of colours; the last colour precedes the first one.
    Predecessor(Box<Term>, u64),
    /// `tuple`: its components, each with the number of colours of its sort.
    Tuple(Vec<(Term, u64)>),
    /// `partitionelementof`: the class of the term's colour; the list has the class of each colour.
    Class(Box<Term>, Shared<[Colour]>),
    /// `all`: each of this number of colours. Never in a guard.
    All(u64),
}

/// A guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// `and`; true for nothing.
    And(Vec<Guard>),
    /// `or`; false for nothing. `imply` is read as "not the condition, or the conclusion".
    Or(Vec<Guard>),
    /// `not`
    Not(Box<Guard>),
    /// A comparison of two colours of one sort, by their numbers.
    Compare(Comparison, Term, Term),
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `equality`
    Equal,
    /// `inequality`
    NotEqual,
    /// `lessthan` and `ltp`
    Less,
    /// `lessthanorequal`
    LessOrEqual,
    /// `greaterthan` and `gtp`
    Greater,
    /// `greaterthanorequal`
    GreaterOrEqual,
}

/// Why an expression has no value for a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BagError {
    /// A count does not fit into 64 bits.
    #[error("a count of tokens is more than 18446744073709551615 (2^64-1)")]
    TooLarge,
    /// `subtract` takes away more than there is.
    #[error("<subtract> takes away tokens that are not there")]
    Negative,
    /// The multisets have too many colours to be listed.
    #[error(
        "multisets list more than {MAX_COLOURS} colours (each 1 + n/{TERMS_PER_COLOUR} times if its term has n terms)"
    )]
    TooManyColours,
}

/// Largest number of colours that an expression, or all initial markings of a net together, may list. This limits the time
/// and memory for untrusted input.
pub const MAX_COLOURS: u64 = 5_000_000;
/// Each colour that is listed counts once more for this number of terms in its term, because each of them takes time.
const TERMS_PER_COLOUR: u64 = 64;

impl Bag {
    /// The value for a binding: the colours of the transition's variables in their order.
    ///
    /// # Errors
    /// A count does not fit into 64 bits, a subtraction takes too much, or the value has too many colours.
    ///
    /// # Panics
    /// The binding is shorter than the list of the transition's variables.
    pub fn evaluate(&self, binding: &[Colour]) -> Result<Multiset, BagError> {
        self.evaluate_within(binding, &mut { MAX_COLOURS })
    }

    /// The value as of [`Bag::evaluate`]. Takes the number of colours that are listed for it from `left`, which several
    /// expressions can share.
    ///
    /// # Errors
    /// As [`Bag::evaluate`].
    ///
    /// # Panics
    /// As [`Bag::evaluate`].
    pub fn evaluate_within(&self, binding: &[Colour], left: &mut u64) -> Result<Multiset, BagError> {
        let mut value = Multiset::new();
        self.add_to(&mut value, 1, binding, left)?;
        Ok(value)
    }

    fn add_to(
        &self,
        value: &mut Multiset,
        times: u64,
        binding: &[Colour],
        left: &mut u64,
    ) -> Result<(), BagError> {
        match self {
            Bag::Each(term) => {
                let values = if times == 0 { 0 } else { term.values() };
                list(left, values.max(1).saturating_mul(1 + term.terms() / TERMS_PER_COLOUR))?;
                match values {
                    0 => Ok(()),
                    1 => add(value, term.colour(binding), times),
                    _ => term.colours(binding).into_iter().try_for_each(|colour| add(value, colour, times)),
                }
            }
            Bag::Times(number, bag) => {
                bag.add_to(value, times.checked_mul(*number).ok_or(BagError::TooLarge)?, binding, left)
            }
            Bag::Add(bags) => {
                list(left, bags.is_empty().into())?;
                bags.iter().try_for_each(|bag| bag.add_to(value, times, binding, left))
            }
            Bag::Subtract(from, taken) => {
                let mut rest = from.evaluate_within(binding, left)?;
                for (colour, count) in taken.evaluate_within(binding, left)? {
                    let left = rest.get(&colour).and_then(|have| have.checked_sub(count));
                    match left.ok_or(BagError::Negative)? {
                        0 => rest.remove(&colour),
                        left => rest.insert(colour, left),
                    };
                }
                if times == 1 && value.is_empty() {
                    *value = rest;
                    return Ok(());
                }
                list(left, rest.len() as u64)?;
                rest.into_iter().try_for_each(|(colour, count)| {
                    add(value, colour, count.checked_mul(times).ok_or(BagError::TooLarge)?)
                })
            }
        }
    }
}

/// Takes listed colours from those that may be listed.
fn list(left: &mut u64, colours: u64) -> Result<(), BagError> {
    *left = left.checked_sub(colours).ok_or(BagError::TooManyColours)?;
    Ok(())
}

fn add(to: &mut Multiset, colour: Colour, count: u64) -> Result<(), BagError> {
    if count > 0 {
        let sum = to.entry(colour).or_default();
        *sum = sum.checked_add(count).ok_or(BagError::TooLarge)?;
    }
    Ok(())
}

impl Term {
    /// The number of terms within it, with itself.
    pub(crate) fn terms(&self) -> u64 {
        1 + match self {
            Term::Constant(_) | Term::Variable(_) | Term::All(_) => 0,
            Term::Successor(term, _) | Term::Predecessor(term, _) | Term::Class(term, _) => term.terms(),
            Term::Tuple(parts) => parts.iter().map(|(term, _)| term.terms()).sum(),
        }
    }

    /// The colour for a binding; of a term with `all` the first of its colours.
    ///
    /// # Panics
    /// The binding is shorter than the list of the transition's variables, or has a colour outside of its sort.
    pub fn colour(&self, binding: &[Colour]) -> Colour {
        match self {
            Term::Constant(colour) => *colour,
            Term::Variable(position) => binding[*position],
            Term::Successor(term, colours) => next(term.colour(binding), *colours),
            Term::Predecessor(term, colours) => previous(term.colour(binding), *colours),
            Term::Tuple(parts) => {
                parts.iter().fold(0, |sum, (term, colours)| sum * colours + term.colour(binding))
            }
            Term::Class(term, classes) => classes[term.colour(binding) as usize],
            Term::All(_) => 0,
        }
    }

    /// The number of colours that the term has for one binding: 1 without `all`. Saturates.
    fn values(&self) -> u64 {
        match self {
            Term::Constant(_) | Term::Variable(_) => 1,
            Term::Successor(term, _) | Term::Predecessor(term, _) | Term::Class(term, _) => term.values(),
            Term::Tuple(parts) => {
                parts.iter().fold(1, |product: u64, (term, _)| product.saturating_mul(term.values()))
            }
            Term::All(colours) => *colours,
        }
    }

    /// All colours of the term.
    fn colours(&self, binding: &[Colour]) -> Vec<Colour> {
        let changed = |term: &Term, change: &dyn Fn(Colour) -> Colour| {
            term.colours(binding).into_iter().map(change).collect()
        };
        match self {
            Term::Constant(_) | Term::Variable(_) => vec![self.colour(binding)],
            Term::All(colours) => (0..*colours).collect(),
            Term::Successor(term, colours) => changed(term, &|colour| next(colour, *colours)),
            Term::Predecessor(term, colours) => changed(term, &|colour| previous(colour, *colours)),
            Term::Class(term, classes) => changed(term, &|colour| classes[colour as usize]),
            Term::Tuple(parts) => parts.iter().fold(vec![0], |known, (term, colours)| {
                let part = term.colours(binding);
                let with = |before| part.iter().map(move |colour| before * colours + colour);
                known.into_iter().flat_map(with).collect()
            }),
        }
    }
}

fn next(colour: Colour, colours: u64) -> Colour {
    if colour + 1 == colours { 0 } else { colour + 1 }
}

fn previous(colour: Colour, colours: u64) -> Colour {
    colour.checked_sub(1).unwrap_or(colours - 1)
}

impl Guard {
    /// The number of its terms, and of those within them: `holds` takes time in proportion.
    pub fn terms(&self) -> u64 {
        match self {
            Guard::And(guards) | Guard::Or(guards) => guards.iter().map(Guard::terms).sum(),
            Guard::Not(guard) => guard.terms(),
            Guard::Compare(_, left, right) => left.terms() + right.terms(),
        }
    }

    /// Whether the guard is true for a binding.
    ///
    /// # Panics
    /// As [`Term::colour`].
    pub fn holds(&self, binding: &[Colour]) -> bool {
        match self {
            Guard::And(guards) => guards.iter().all(|guard| guard.holds(binding)),
            Guard::Or(guards) => guards.iter().any(|guard| guard.holds(binding)),
            Guard::Not(guard) => !guard.holds(binding),
            Guard::Compare(comparison, left, right) => {
                let (left, right) = (left.colour(binding), right.colour(binding));
                match comparison {
                    Comparison::Equal => left == right,
                    Comparison::NotEqual => left != right,
                    Comparison::Less => left < right,
                    Comparison::LessOrEqual => left <= right,
                    Comparison::Greater => left > right,
                    Comparison::GreaterOrEqual => left >= right,
                }
            }
        }
    }
}

/// A colour as it is named in files: the id of a constant, a number of a range, `dot`, or the list of a tuple's components.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum ColourName {
    /// A colour that is not a tuple.
    Simple(String),
    /// A tuple.
    Tuple(Vec<ColourName>),
}

impl std::fmt::Display for ColourName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ColourName::Simple(name) => f.write_str(name),
            ColourName::Tuple(parts) => {
                let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
                write!(f, "({})", parts.join(","))
            }
        }
    }
}

/// A P/T net as a coloured net whose places have one colour.
impl From<Net> for SymmetricNet {
    fn from(net: Net) -> Self {
        let bags = |arcs: Vec<Arc>| {
            let bag = |arc: Arc| (arc.place, Bag::Times(arc.weight, Box::new(Bag::Each(Term::Constant(0)))));
            arcs.into_iter().map(bag).collect()
        };
        let place = |place: Place| {
            let tokens = (place.initial > 0).then_some((0, place.initial));
            ColouredPlace { id: place.id, sort: 0, initial: Multiset::from_iter(tokens) }
        };
        let transition = |transition: Transition| ColouredTransition {
            id: transition.id,
            variables: Vec::new(),
            guard: Guard::And(Vec::new()),
            inputs: bags(transition.inputs),
            outputs: bags(transition.outputs),
        };
        Self {
            id: net.id,
            sorts: vec![Sort {
                id: "dot".to_owned(),
                kind: SortKind::Dot,
                colours: 1,
                numbers: HashMap::new(),
            }],
            variables: Vec::new(),
            places: net.places.into_iter().map(place).collect(),
            transitions: net.transitions.into_iter().map(transition).collect(),
        }
    }
}

impl SymmetricNet {
    /// The name of a colour of a sort.
    ///
    /// # Panics
    /// There is no such sort or colour.
    pub fn colour_name(&self, sort: usize, colour: Colour) -> ColourName {
        match &self.sorts[sort].kind {
            SortKind::Dot => ColourName::Simple("dot".to_owned()),
            SortKind::Enumeration(ids) | SortKind::Partition(ids) => {
                ColourName::Simple(ids[colour as usize].clone())
            }
            SortKind::Range { start, .. } => {
                ColourName::Simple((i128::from(*start) + i128::from(colour)).to_string())
            }
            SortKind::Product(sorts) => {
                let (mut left, mut parts) = (colour, Vec::with_capacity(sorts.len()));
                for sort in sorts.iter().rev() {
                    let colours = self.sorts[*sort].colours;
                    parts.push(self.colour_name(*sort, left % colours));
                    left /= colours;
                }
                parts.reverse();
                ColourName::Tuple(parts)
            }
        }
    }

    /// The number of the colour with this name; None if the sort has no such colour.
    ///
    /// # Panics
    /// There is no such sort.
    pub fn colour(&self, sort: usize, name: &ColourName) -> Option<Colour> {
        match (&self.sorts[sort].kind, name) {
            (SortKind::Dot, ColourName::Simple(name)) => (name == "dot").then_some(0),
            (SortKind::Enumeration(_) | SortKind::Partition(_), ColourName::Simple(name)) => {
                self.sorts[sort].numbers.get(name).copied()
            }
            (SortKind::Range { start, end }, ColourName::Simple(name)) => {
                let number: i64 = name.parse().ok()?;
                let canonical = number.to_string() == *name && (start..=end).contains(&&number);
                canonical.then(|| number.wrapping_sub(*start) as u64)
            }
            (SortKind::Product(sorts), ColourName::Tuple(names)) if sorts.len() == names.len() => {
                sorts.iter().zip(names).try_fold(0, |sum, (sort, name)| {
                    Some(sum * self.sorts[*sort].colours + self.colour(*sort, name)?)
                })
            }
            _ => None,
        }
    }
}
