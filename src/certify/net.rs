//! A P/T net in tables made for firing. Coloured nets are unfolded into such a net first (`unfold`).

use crate::store::Unpacked;
use mcc_model::SymmetricNet;
use std::ops::Range;

/// The tokens by place.
pub(crate) type Marking = Vec<u64>;

/// A P/T net.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compiled {
    /// The initial marking.
    pub(crate) initial: Marking,
    inputs: Ragged<(u32, u64)>,
    changes: Ragged<Change>,
    /// By place: the transitions that need tokens on it, in the order of the places that they watch.
    consumers: Ragged<u32>,
    /// By place: the transitions that are examined if the place is marked. Each transition with an input is in one list.
    watchers: Ragged<u32>,
    /// By transition with an input: the place in whose list of `watchers` it is.
    watched: Vec<u32>,
    /// The transitions without an input.
    always: Vec<u32>,
}

/// What a firing does to one place; one of the numbers is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) place: u32,
    /// Tokens removed.
    pub(crate) less: u64,
    /// Tokens added.
    pub(crate) more: u64,
}

/// The arcs of a transition: input places and output places, each at most once, with weights of at least 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arcs {
    pub(crate) inputs: Vec<(u32, u64)>,
    pub(crate) outputs: Vec<(u32, u64)>,
}

/// Lists of different lengths in one vector.
#[derive(Clone, Debug)]
struct Ragged<T> {
    items: Vec<T>,
    ends: Vec<usize>,
}

impl<T> Default for Ragged<T> {
    fn default() -> Self {
        Self { items: Vec::new(), ends: Vec::new() }
    }
}

impl<T> Ragged<T> {
    fn push(&mut self, list: impl IntoIterator<Item = T>) {
        self.items.extend(list);
        self.ends.push(self.items.len());
    }

    fn from_lists(lists: Vec<Vec<T>>) -> Self {
        let mut ragged = Self::default();
        lists.into_iter().for_each(|list| ragged.push(list));
        ragged
    }

    fn get(&self, number: usize) -> &[T] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.items[start..self.ends[number]]
    }
}

impl Compiled {
    /// Compiles a net of these transitions.
    pub(crate) fn new(initial: Marking, transitions: &[Arcs]) -> Self {
        let places = initial.len();
        let (mut inputs, mut changes, mut always) = (Ragged::default(), Ragged::default(), Vec::new());
        let mut consumers = vec![Vec::new(); places];
        for (number, arcs) in (0..).zip(transitions) {
            inputs.push(arcs.inputs.iter().copied());
            changes.push(changes_of(arcs));
            for &(place, _) in &arcs.inputs {
                consumers[place as usize].push(number);
            }
        }
        // Each transition watches that input place which is initially unmarked if possible, and has few consumers.
        let mut watchers = vec![Vec::new(); places];
        let mut watched = vec![0; transitions.len()];
        for (number, arcs) in (0..).zip(transitions) {
            let cost = |&&(place, _): &&(u32, u64)| {
                (
                    initial[place as usize] > 0,
                    watchers[place as usize].len() + consumers[place as usize].len(),
                )
            };
            match arcs.inputs.iter().min_by_key(cost) {
                Some(&(place, _)) => {
                    watchers[place as usize].push(number);
                    watched[number as usize] = place;
                }
                None => always.push(number),
            }
        }
        for list in &mut consumers {
            list.sort_by_key(|transition| watched[*transition as usize]);
        }
        let (consumers, watchers) = (Ragged::from_lists(consumers), Ragged::from_lists(watchers));
        Self { initial, inputs, changes, consumers, watchers, watched, always }
    }

    pub(crate) fn places(&self) -> usize {
        self.initial.len()
    }

    pub(crate) fn transitions(&self) -> usize {
        self.inputs.ends.len()
    }

    pub(crate) fn inputs(&self, transition: u32) -> &[(u32, u64)] {
        self.inputs.get(transition as usize)
    }

    pub(crate) fn changes(&self, transition: u32) -> &[Change] {
        self.changes.get(transition as usize)
    }

    /// The number of arcs from places to transitions.
    pub(crate) fn input_arcs(&self) -> usize {
        self.inputs.items.len()
    }

    /// The transitions that need tokens on a place.
    pub(crate) fn consumers(&self, place: u32) -> &[u32] {
        self.consumers.get(place as usize)
    }

    /// Those of them that watch a place.
    pub(crate) fn consumers_watching(&self, place: u32, watched: u32) -> &[u32] {
        let consumers = self.consumers(place);
        let start = consumers.partition_point(|one| self.watched[*one as usize] < watched);
        let end = consumers.partition_point(|one| self.watched[*one as usize] <= watched);
        &consumers[start..end]
    }

    /// Whether transitions watch a place.
    pub(crate) fn is_watched(&self, place: u32) -> bool {
        !self.watchers.get(place as usize).is_empty()
    }

    pub(crate) fn is_enabled(&self, transition: u32, tokens: &[u64]) -> bool {
        self.inputs(transition).iter().all(|&(place, weight)| tokens[place as usize] >= weight)
    }

    /// The transitions that are enabled in a marking.
    pub(crate) fn enabled(&self, marking: &Unpacked) -> impl Iterator<Item = u32> {
        let watchers = marking.marked.iter().flat_map(move |place| self.watchers.get(*place as usize));
        let enabled = watchers.filter(move |transition| self.is_enabled(**transition, &marking.tokens));
        self.always.iter().chain(enabled).copied()
    }

    /// Whether no transition is enabled.
    pub(crate) fn is_dead(&self, tokens: &[u64]) -> bool {
        self.always.is_empty()
            && (0..self.transitions() as u32).all(|transition| !self.is_enabled(transition, tokens))
    }

    /// Fires an enabled transition. None: a place would have more than 2^64-1 tokens; nothing is changed then.
    pub(crate) fn fire(&self, transition: u32, tokens: &mut [u64]) -> Option<()> {
        let changes = self.changes(transition);
        if changes.iter().any(|change| tokens[change.place as usize].checked_add(change.more).is_none()) {
            return None;
        }
        for change in changes {
            let place = &mut tokens[change.place as usize];
            *place = *place - change.less + change.more;
        }
        Some(())
    }
}

/// The net effect of a transition on each place.
fn changes_of(arcs: &Arcs) -> Vec<Change> {
    let mut changes: Vec<Change> =
        arcs.inputs.iter().map(|&(place, less)| Change { place, less, more: 0 }).collect();
    changes.extend(arcs.outputs.iter().map(|&(place, more)| Change { place, less: 0, more }));
    changes.sort_unstable_by_key(|change| change.place);
    changes.dedup_by(|second, first| {
        let same = second.place == first.place;
        if same {
            let (less, more) = (first.less + second.less, first.more + second.more);
            (first.less, first.more) = (less.saturating_sub(more), more.saturating_sub(less));
        }
        same
    });
    changes.retain(|change| change.less != change.more);
    changes
}

/// A P/T net with the names of the net from which it was made. A place or transition of a coloured net corresponds to
/// a range of places or transitions here, one of a P/T net to one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    pub(crate) net: Compiled,
    /// By place of the original net.
    pub(crate) places: Vec<Range<u32>>,
    /// By transition of the original net.
    pub(crate) transitions: Vec<Range<u32>>,
    pub(crate) place_ids: Vec<String>,
    pub(crate) transition_ids: Vec<String>,
    /// By transition of a coloured net: the colours of its variables for the first transition made from it, then for
    /// the second, ...; empty for a P/T net.
    pub(crate) bindings: Vec<Vec<u64>>,
    /// The coloured net from which this one was unfolded.
    pub(crate) coloured: Option<SymmetricNet>,
}

/// By number of a place or transition: the number of its range.
pub(crate) fn range_numbers(ranges: &[Range<u32>]) -> Vec<u32> {
    (0..).zip(ranges).flat_map(|(number, range)| range.clone().map(move |_| number)).collect()
}

impl Named {
    /// Compiles a P/T net.
    pub(crate) fn of_pt(net: &mcc_model::Net) -> Self {
        let arcs = |arcs: &[mcc_model::Arc]| arcs.iter().map(|arc| (arc.place as u32, arc.weight)).collect();
        let transitions: Vec<Arcs> = net
            .transitions
            .iter()
            .map(|transition| Arcs { inputs: arcs(&transition.inputs), outputs: arcs(&transition.outputs) })
            .collect();
        let initial = net.places.iter().map(|place| place.initial).collect();
        let each = |count: usize| (0..count as u32).map(|number| number..number + 1).collect();
        Self {
            net: Compiled::new(initial, &transitions),
            places: each(net.places.len()),
            transitions: each(transitions.len()),
            place_ids: net.places.iter().map(|place| place.id.clone()).collect(),
            transition_ids: net.transitions.iter().map(|transition| transition.id.clone()).collect(),
            bindings: Vec::new(),
            coloured: None,
        }
    }

    /// The original transition of a transition.
    pub(crate) fn original(&self, transition: u32) -> usize {
        self.transitions.partition_point(|range| range.end <= transition)
    }

    /// The colours of the variables of a transition; empty for a P/T net.
    pub(crate) fn binding(&self, transition: u32) -> &[u64] {
        let original = self.original(transition);
        let Some(bindings) = self.bindings.get(original) else { return &[] };
        let range = &self.transitions[original];
        let size = bindings.len() / range.len();
        let at = (transition - range.start) as usize * size;
        &bindings[at..at + size]
    }
}
