//! A set of markings. Each marking is packed into words of 64 bits; each place has as many bits as its largest count
//! needs (1, 2, 4, ... 64), so that no place is in two words. If a count needs more bits, all markings are packed again.

use crate::budget::{Limits, Stop};
use crate::net::{Compiled, Marking};
use hashbrown::HashTable;

/// The number of a marking, in the order of discovery; 0 is the initial marking.
pub(crate) type State = u32;

/// Words in a block of the store. Blocks are not copied when the store grows.
const BLOCK_WORDS: usize = 1 << 15;
/// Until this number of new layouts only the place that needs more bits gets them; then all places do.
const SINGLE_LAYOUTS: usize = 24;
/// Words of a marking that are copied, hashed and compared in about the time of a step. Callers count one step for a firing,
/// whose marking has fewer words in most nets.
const WORDS_OF_STEP: usize = 1 << 10;

/// The bits of each place in a packed marking.
#[derive(Clone, Debug)]
struct Layout {
    /// By place.
    fields: Vec<Field>,
    /// The places in the order of their bits: those of one bit last.
    order: Vec<u32>,
    /// The number of places of more than one bit.
    wide: usize,
    /// By bit, from the first bit of one-bit places on: the place.
    narrow: Vec<u32>,
    words: usize,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    word: u32,
    shift: u8,
    width: u8,
}

impl Field {
    fn most(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    fn get(self, words: &[u64]) -> u64 {
        words[self.word as usize] >> self.shift & self.most()
    }

    /// Sets the field; `value` is at most `most`.
    fn set(self, words: &mut [u64], value: u64) {
        let word = &mut words[self.word as usize];
        *word = *word & !(self.most() << self.shift) | value << self.shift;
    }
}

/// The bits for a count: 1, 2, 4, 8, 16, 32 or 64.
fn width(count: u64) -> u8 {
    ((64 - count.leading_zeros()).max(1) as u8).next_power_of_two()
}

impl Layout {
    fn new(widths: &[u8]) -> Self {
        let mut order: Vec<u32> = (0..widths.len() as u32).collect();
        order.sort_by_key(|place| std::cmp::Reverse(widths[*place as usize]));
        let wide = order.partition_point(|place| widths[*place as usize] > 1);
        let mut fields = vec![Field { word: 0, shift: 0, width: 1 }; widths.len()];
        let mut bit = 0_usize;
        for (number, &place) in order.iter().enumerate() {
            if number == wide {
                bit = bit.next_multiple_of(64);
            }
            let width = widths[place as usize];
            fields[place as usize] = Field { word: (bit / 64) as u32, shift: (bit % 64) as u8, width };
            bit += usize::from(width);
        }
        let narrow = order[wide..].to_vec();
        Self { fields, order, wide, narrow, words: bit.div_ceil(64).max(1) }
    }

    fn pack(&self, tokens: &[u64], words: &mut [u64]) {
        words.fill(0);
        for (field, &count) in self.fields.iter().zip(tokens) {
            words[field.word as usize] |= count << field.shift;
        }
    }

    fn unpack(&self, words: &[u64], into: &mut Unpacked) {
        for place in into.marked.drain(..) {
            into.tokens[place as usize] = 0;
        }
        for &place in &self.order[..self.wide] {
            let count = self.fields[place as usize].get(words);
            if count > 0 {
                into.tokens[place as usize] = count;
                into.marked.push(place);
            }
        }
        let Some(&first) = self.narrow.first() else { return };
        let first = self.fields[first as usize].word as usize;
        for (number, &word) in words[first..self.words].iter().enumerate() {
            let mut word = word;
            while word != 0 {
                let place = self.narrow[number * 64 + word.trailing_zeros() as usize];
                into.tokens[place as usize] = 1;
                into.marked.push(place);
                word &= word - 1;
            }
        }
    }
}

/// A marking with the list of its marked places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unpacked {
    pub(crate) tokens: Marking,
    pub(crate) marked: Vec<u32>,
}

impl Unpacked {
    pub(crate) fn new(places: usize) -> Self {
        Self { tokens: vec![0; places], marked: Vec::new() }
    }

    #[cfg(test)]
    pub(crate) fn from_tokens(tokens: &[u64]) -> Self {
        let marked = (0..).zip(tokens).filter(|(_, count)| **count > 0).map(|(place, _)| place).collect();
        Self { tokens: tokens.to_vec(), marked }
    }
}

/// What an insertion found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    New(State),
    Known(State),
}

impl Inserted {
    pub(crate) fn state(self) -> State {
        match self {
            Self::New(state) | Self::Known(state) => state,
        }
    }
}

/// The set of markings.
pub(crate) struct Store<'l> {
    limits: &'l Limits<'l>,
    layout: Layout,
    layouts: usize,
    blocks: Vec<Box<[u64]>>,
    /// Markings in a block.
    per_block: usize,
    len: usize,
    index: HashTable<State>,
    taken: u64,
    /// The marking from which `fire` starts and the one that it made.
    source: Vec<u64>,
    target: Vec<u64>,
}

impl Drop for Store<'_> {
    fn drop(&mut self) {
        self.limits.give_back(self.taken);
    }
}

/// FNV-like mixing of whole words with a final avalanche (the finalizer of MurmurHash3, Appleby, public domain).
fn hash(words: &[u64]) -> u64 {
    let mut hash = 0x9e37_79b9_7f4a_7c15_u64;
    for &word in words {
        hash = (hash.rotate_left(23) ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 29
}

impl<'l> Store<'l> {
    /// An empty set. `largest` has counts by place for which the layout is made.
    pub(crate) fn new(largest: &[u64], limits: &'l Limits<'l>) -> Self {
        let widths: Vec<u8> = largest.iter().map(|count| width(*count)).collect();
        let layout = Layout::new(&widths);
        let words = layout.words;
        Self {
            limits,
            layouts: 0,
            blocks: Vec::new(),
            per_block: (BLOCK_WORDS / words).max(1),
            len: 0,
            index: HashTable::new(),
            taken: 0,
            source: vec![0; words],
            target: vec![0; words],
            layout,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The bytes of the set.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.taken
    }

    /// Reads a marking.
    pub(crate) fn unpack(&self, state: State, into: &mut Unpacked) {
        self.layout.unpack(words(&self.blocks, self.per_block, self.layout.words, state), into);
    }

    /// The transitions between consecutive states of a path.
    pub(crate) fn transitions_along(&self, net: &Compiled, states: &[State]) -> Vec<u32> {
        let (mut from, mut to) = (Unpacked::new(net.places()), Unpacked::new(net.places()));
        let between = |pair: &[State]| {
            self.unpack(pair[0], &mut from);
            self.unpack(pair[1], &mut to);
            transition_between(net, &from, &to)
        };
        states.windows(2).map_while(between).collect()
    }

    /// Makes a marking the one from which `fire` starts.
    pub(crate) fn start(&mut self, state: State) {
        self.source.copy_from_slice(words(&self.blocks, self.per_block, self.layout.words, state));
    }

    /// Inserts a marking.
    pub(crate) fn insert(&mut self, tokens: &[u64]) -> Result<Inserted, Stop> {
        for (place, &count) in tokens.iter().enumerate() {
            if count > self.layout.fields[place].most() {
                self.widen(place, count)?;
            }
        }
        self.layout.pack(tokens, &mut self.target);
        self.insert_target()
    }

    /// Fires a transition that is enabled in the marking of `start`, and inserts the successor.
    pub(crate) fn fire(&mut self, net: &Compiled, transition: u32) -> Result<Inserted, Stop> {
        'again: loop {
            self.limits.spend((self.layout.words / WORDS_OF_STEP) as u64)?;
            self.target.copy_from_slice(&self.source);
            for change in net.changes(transition) {
                let field = self.layout.fields[change.place as usize];
                let count = field.get(&self.target) - change.less;
                let count = count.checked_add(change.more).ok_or(Stop::TooManyTokens)?;
                if count > field.most() {
                    self.widen(change.place as usize, count)?;
                    continue 'again;
                }
                field.set(&mut self.target, count);
            }
            return self.insert_target();
        }
    }

    fn insert_target(&mut self) -> Result<Inserted, Stop> {
        let Self { index, blocks, per_block, layout, target, .. } = self;
        let (per_block, size) = (*per_block, layout.words);
        let hash_of = |state: &State| hash(words(blocks, per_block, size, *state));
        let hashed = hash(target);
        let equal = |state: &State| words(blocks, per_block, size, *state) == &target[..];
        if let Some(&known) = index.find(hashed, equal) {
            return Ok(Inserted::Known(known));
        }
        let state = State::try_from(self.len).map_err(|_| Stop::TooLarge("more than 2^32 markings"))?;
        if index.len() == index.capacity() {
            // The table doubles; the old one exists until all entries are moved.
            let (old, new) = (table_bytes(index.capacity()), table_bytes((index.capacity() * 2).max(448)));
            self.limits.take(new)?;
            index.reserve(index.capacity().max(448), hash_of);
            self.limits.give_back(old);
            self.taken = self.taken + new - old;
        }
        index.insert_unique(hashed, state, |state| hash(words(blocks, per_block, size, *state)));
        if self.len.is_multiple_of(per_block) {
            let block = per_block * size;
            if let Err(stop) = self.limits.take((block * 8) as u64) {
                // The entry has no marking: remove it again.
                if let Ok(entry) = index.find_entry(hashed, |found| *found == state) {
                    entry.remove();
                }
                return Err(stop);
            }
            self.taken += (block * 8) as u64;
            blocks.push(vec![0; block].into_boxed_slice());
        }
        let at = self.len % per_block * size;
        blocks[self.len / per_block][at..at + size].copy_from_slice(target);
        self.len += 1;
        Ok(Inserted::New(state))
    }

    /// Gives a place more bits, and packs all markings again.
    fn widen(&mut self, place: usize, count: u64) -> Result<(), Stop> {
        self.layouts += 1;
        let mut widths: Vec<u8> = self.layout.fields.iter().map(|field| field.width).collect();
        if self.layouts > SINGLE_LAYOUTS {
            widths.iter_mut().for_each(|width| *width = (*width * 2).min(64));
        }
        widths[place] = widths[place].max(width(count));
        let layout = Layout::new(&widths);
        let size = layout.words;
        let per_block = (BLOCK_WORDS / size).max(1);
        let block = per_block * size;
        let bytes = (self.len.div_ceil(per_block) * block * 8) as u64;
        self.limits.take(bytes)?;
        let mut blocks = Vec::new();
        let mut unpacked = Unpacked::new(widths.len());
        let mut packed = vec![0; size];
        for state in 0..self.len {
            self.limits.spend((size / WORDS_OF_STEP) as u64)?;
            if state % per_block == 0 {
                blocks.push(vec![0; block].into_boxed_slice());
            }
            self.unpack(state as State, &mut unpacked);
            layout.pack(&unpacked.tokens, &mut packed);
            let at = state % per_block * size;
            blocks[state / per_block][at..at + size].copy_from_slice(&packed);
        }
        self.layout.unpack(&self.source, &mut unpacked);
        layout.pack(&unpacked.tokens, &mut packed);
        let old = self.blocks.iter().map(|block| block.len() as u64 * 8).sum::<u64>();
        self.limits.give_back(old);
        self.taken = self.taken + bytes - old;
        (self.source, self.target) = (packed, vec![0; size]);
        (self.blocks, self.layout, self.per_block) = (blocks, layout, per_block);
        // The hash of a marking depends on its layout.
        let capacity = std::mem::take(&mut self.index).capacity();
        let mut index = HashTable::with_capacity(capacity);
        for state in 0..self.len as State {
            let hash_of = |state: &State| hash(words(&self.blocks, self.per_block, size, *state));
            index.insert_unique(hash_of(&state), state, hash_of);
        }
        self.index = index;
        Ok(())
    }
}

/// A transition that leads from one marking to the other.
fn transition_between(net: &Compiled, from: &Unpacked, to: &Unpacked) -> Option<u32> {
    let mut tokens = from.tokens.clone();
    net.enabled(from).find(|transition| {
        let leads_there = net.fire(*transition, &mut tokens).is_some() && tokens == to.tokens;
        for change in net.changes(*transition) {
            tokens[change.place as usize] = from.tokens[change.place as usize];
        }
        leads_there
    })
}

fn words(blocks: &[Box<[u64]>], per_block: usize, size: usize, state: State) -> &[u64] {
    let state = state as usize;
    let at = state % per_block * size;
    &blocks[state / per_block][at..at + size]
}

/// The bytes of a hash table of this capacity: 4 bytes and one of control for each bucket, at most 7/8 of them used.
fn table_bytes(capacity: usize) -> u64 {
    match capacity {
        0 => 0,
        capacity => (capacity * 8 / 7).next_power_of_two() as u64 * 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::net::Arcs;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    fn budget(memory_bytes: u64, cancel: &AtomicBool) -> Budget<'_> {
        Budget { steps: u64::MAX, time: Duration::from_secs(3600), memory_bytes, cancel }
    }

    proptest! {
        #[test]
        fn a_stored_marking_is_found_and_read_again(
            markings in prop::collection::vec(prop::collection::vec(
                prop_oneof![8 => 0..2_u64, 2 => 0..20_u64, 1 => any::<u64>()], 70), 1..60),
        ) {
            let cancel = AtomicBool::new(false);
            let budget = budget(1 << 30, &cancel);
            let limits = Limits::new(&budget);
            let mut store = Store::new(&[0; 70], &limits);
            let mut known: HashMap<&[u64], State> = HashMap::new();
            for marking in &markings {
                let next = State::try_from(known.len()).unwrap();
                let expected = match known.get(&marking[..]) {
                    Some(state) => Inserted::Known(*state),
                    None => Inserted::New(next),
                };
                prop_assert_eq!(store.insert(marking).unwrap(), expected);
                known.insert(marking, expected.state());
            }
            let mut read = Unpacked::new(70);
            for (marking, state) in known {
                store.unpack(state, &mut read);
                prop_assert_eq!(&read.tokens[..], marking);
                read.marked.sort_unstable();
                prop_assert_eq!(&read.marked, &Unpacked::from_tokens(marking).marked);
            }
        }
    }

    #[test]
    fn long_markings_count_more_steps() {
        let cancel = AtomicBool::new(false);
        let budget = Budget { steps: 1000, ..budget(1 << 30, &cancel) };
        // The firings of a transition that changes nothing, of 2000, that are made.
        let firings = |places: usize| {
            let limits = Limits::new(&budget);
            let net = Compiled::new(vec![u64::MAX; places], &[Arcs::default()]);
            let mut store = Store::new(&net.initial, &limits);
            store.insert(&net.initial).unwrap();
            store.start(0);
            (0..2000).take_while(|_| store.fire(&net, 0) != Err(Stop::Time)).count()
        };
        assert_eq!([1000, 1 << 16].map(firings), [2000, 15]);

        // 100 markings of 2^20 places, 16 steps each, which are packed again.
        let limits = Limits::new(&budget);
        let mut store = Store::new(&vec![0; 1 << 20], &limits);
        let mut marking = vec![0; 1 << 20];
        for place in 0..100 {
            marking[place] = 1;
            store.insert(&marking).unwrap();
        }
        marking[0] = 2;
        assert_eq!(store.insert(&marking), Err(Stop::Time));
    }

    #[test]
    fn a_store_ends_at_its_memory() {
        let cancel = AtomicBool::new(false);
        let budget = budget(4 << 20, &cancel);
        let limits = Limits::new(&budget);
        let mut store = Store::new(&[u64::MAX; 10], &limits);
        let stop = (0..1_000_000).find_map(|count| store.insert(&[count; 10]).err());
        assert_eq!(stop, Some(Stop::Memory));
        assert!(store.len() > 10_000 && store.bytes() <= 4 << 20, "{} {}", store.len(), store.bytes());
        assert_eq!(store.insert(&[7; 10]), Ok(Inserted::Known(7)), "the markings stay readable");
    }
}
