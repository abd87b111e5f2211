//! The net of the certificate checker: places with their colours, transitions with their bindings.

use crate::CheckError;
use crate::model::{Firing, Model};
use mcc_model::{Colour, ColourName, MAX_COLOURS};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Largest sum of the numbers of places, of bindings that are tried, and of places from which bindings take and on which they
/// put tokens. It limits time and memory for untrusted nets.
const MAX_NODES: u64 = 10_000_000;

/// Largest number of colours that the inscriptions of all bindings list; those that they subtract count too.
const MAX_LISTED_COLOURS: u64 = 1_000_000_000;

/// Bytes of a place without the entries of its lists.
const PLACE_BYTES: u64 = 64;

/// The reason if a net needs more memory than its caller has; another one may have more.
pub(crate) const TOO_MUCH_MEMORY: &str = "the unfolded net needs more memory than its limit";

/// A transition with a binding.
pub(crate) struct Flat {
    /// Tokens that it needs: place and number.
    pub needs: Vec<(usize, u128)>,
    /// The places on which it puts tokens.
    pub puts: Vec<usize>,
}

/// A net whose places have one colour and whose transitions have no variables.
#[derive(Default)]
pub(crate) struct Unfolded {
    /// By place of the model: its places here, one per colour.
    pub places: Vec<Range<usize>>,
    pub initial: Vec<u128>,
    pub flats: Vec<Flat>,
    /// By transition of the model: its transitions here, one per binding that satisfies its guard.
    pub transitions: Vec<Range<usize>>,
    /// By place here: transitions that change its tokens, with the difference.
    pub changed_by: Vec<Vec<(usize, i128)>>,
    /// By place here: transitions that need tokens there, with the number.
    pub needed_by: Vec<Vec<(usize, u128)>>,
    /// The bytes of these lists.
    pub bytes: u64,
}

impl Unfolded {
    /// Unfolds a net within this time and memory.
    pub fn new(model: &Model, time: Duration, memory_bytes: u64) -> Result<Unfolded, CheckError> {
        let (began, mut left) = (Instant::now(), MAX_LISTED_COLOURS);
        let too_large = || {
            CheckError::NotChecked(format!(
                "the unfolded net has more than {MAX_NODES} places, bindings and arcs"
            ))
        };
        let check_memory = |bytes: u64| {
            if bytes <= memory_bytes {
                return Ok(());
            }
            Err(CheckError::NotChecked(TOO_MUCH_MEMORY.to_owned()))
        };
        let (net, mut unfolded) = (&model.net, Unfolded::default());
        for place in &net.places {
            let (start, colours) = (unfolded.initial.len(), net.sorts[place.sort].colours);
            if (start as u64).saturating_add(colours) > MAX_NODES {
                return Err(too_large());
            }
            unfolded.bytes += PLACE_BYTES * colours;
            check_memory(unfolded.bytes)?;
            let tokens = |colour| u128::from(place.initial.get(&colour).copied().unwrap_or_default());
            unfolded.initial.extend((0..colours).map(tokens));
            unfolded.places.push(start..unfolded.initial.len());
        }
        unfolded.changed_by = vec![Vec::new(); unfolded.initial.len()];
        unfolded.needed_by = vec![Vec::new(); unfolded.initial.len()];
        let mut nodes = unfolded.initial.len() as u64;
        for (number, transition) in net.transitions.iter().enumerate() {
            let colours = |variable: &usize| net.sorts[net.variables[*variable].sort].colours;
            let sizes: Vec<u64> = transition.variables.iter().map(colours).collect();
            let bindings = sizes.iter().try_fold(1, |product: u64, size| product.checked_mul(*size));
            nodes = bindings.and_then(|bindings| nodes.checked_add(bindings)).ok_or_else(too_large)?;
            if nodes > MAX_NODES {
                return Err(too_large());
            }
            let start = unfolded.flats.len();
            let mut binding: Vec<Colour> = vec![0; sizes.len()];
            loop {
                // A guard of many terms takes time for each binding.
                if began.elapsed() > time {
                    let seconds = time.as_secs();
                    return Err(CheckError::NotChecked(format!(
                        "unfolding the net takes more than {seconds} s"
                    )));
                }
                // Those of one binding are kept in memory.
                let mut of_binding = left.min(MAX_COLOURS);
                left -= of_binding;
                let firing = model.firing(number, &binding, &mut of_binding)?;
                left += of_binding;
                if let Some(firing) = firing {
                    nodes += (firing.takes.len() + firing.puts.len()) as u64;
                    if nodes > MAX_NODES {
                        return Err(too_large());
                    }
                    unfolded.add(&firing)?;
                    check_memory(unfolded.bytes)?;
                }
                // The next binding in lexicographic order.
                let Some(last) = (0..sizes.len()).rev().find(|at| binding[*at] + 1 < sizes[*at]) else {
                    break;
                };
                binding[last] += 1;
                binding[last + 1..].fill(0);
            }
            unfolded.transitions.push(start..unfolded.flats.len());
        }
        Ok(unfolded)
    }

    /// About the bytes of the net and of the lists by place and transition that an explorer makes. Those were measured: half as
    /// much, and 16 bytes for each place.
    pub fn explored_bytes(&self) -> u64 {
        self.bytes + self.bytes / 2 + 16 * self.initial.len() as u64
    }

    /// By transition here: the places whose tokens it changes, in ascending order, with the difference.
    pub fn changes(&self) -> Vec<Vec<(usize, i128)>> {
        let mut by_transition = vec![Vec::new(); self.flats.len()];
        for (place, changes) in self.changed_by.iter().enumerate() {
            changes.iter().for_each(|(flat, change)| by_transition[*flat].push((place, *change)));
        }
        by_transition
    }

    fn add(&mut self, firing: &Firing) -> Result<(), CheckError> {
        let number = self.flats.len();
        let place = |place: &usize, colour: &Colour| self.places[*place].start + *colour as usize;
        let needs: Vec<_> =
            firing.takes.iter().map(|(p, colour, count)| (place(p, colour), *count)).collect();
        let puts: Vec<_> = firing.puts.iter().map(|(p, colour, count)| (place(p, colour), *count)).collect();
        let mut changes: BTreeMap<usize, i128> = BTreeMap::new();
        for (side, sign) in [(&needs, -1), (&puts, 1)] {
            for (place, count) in side {
                let count = i128::try_from(*count);
                let count =
                    count.map_err(|_| CheckError::NotChecked("an arc has too large a weight".to_owned()))?;
                *changes.entry(*place).or_default() += sign * count;
            }
        }
        for (place, change) in changes.into_iter().filter(|(_, change)| *change != 0) {
            self.bytes += push(&mut self.changed_by[place], (number, change));
        }
        for (place, count) in &needs {
            self.bytes += push(&mut self.needed_by[*place], (number, *count));
        }
        let puts: Vec<usize> = puts.into_iter().map(|(place, _)| place).collect();
        self.bytes +=
            (needs.capacity() * size_of::<(usize, u128)>() + puts.capacity() * size_of::<usize>()) as u64;
        self.bytes += push(&mut self.flats, Flat { needs, puts });
        Ok(())
    }

    /// The places here of a place of the model: all of its colours, or one.
    pub fn named(
        &self,
        model: &Model,
        id: &str,
        colour: Option<&ColourName>,
    ) -> Result<Range<usize>, CheckError> {
        let number = model.place(id)?;
        let range = self.places[number].clone();
        let Some(name) = colour else { return Ok(range) };
        let colour = model.net.colour(model.net.places[number].sort, name);
        let colour =
            colour.ok_or_else(|| CheckError::refused(format!("the place \"{id}\" has no colour {name}")))?;
        let place = range.start + colour as usize;
        Ok(place..place + 1)
    }
}

/// Appends an entry, and returns the bytes by which the list grows.
fn push<T>(list: &mut Vec<T>, entry: T) -> u64 {
    let before = list.capacity();
    list.push(entry);
    ((list.capacity() - before) * size_of::<T>()) as u64
}
