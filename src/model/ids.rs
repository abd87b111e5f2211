//! The ids of a net: each has a number, counted from 0 as they are first seen.

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Many short texts in one long one.
#[derive(Default)]
pub(super) struct Texts {
    all: String,
    /// By number: where it ends.
    ends: Vec<usize>,
}

impl Texts {
    pub fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len());
    }

    pub fn get(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[number]]
    }
}

/// An id as it is compared: nearly all fit into 16 bytes, and need not be looked up in a text, for in large nets
/// nearly every look at one waits for memory.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    /// The bytes, or the hash of a longer id.
    bytes: [u64; 2],
    length: u32,
}

impl Key {
    const WHOLE: usize = 16;

    fn of(id: &str, hasher: &DefaultHashBuilder) -> Self {
        let mut bytes = [0; Self::WHOLE];
        let bytes = match bytes.get_mut(..id.len()) {
            Some(part) => {
                part.copy_from_slice(id.as_bytes());
                let whole = u128::from_le_bytes(bytes);
                [whole as u64, (whole >> 64) as u64]
            }
            None => [hasher.hash_one(id), 0],
        };
        Self { bytes, length: id.len() as u32 }
    }

    fn hash(self, hasher: &DefaultHashBuilder) -> u64 {
        hasher.hash_one(self.bytes)
    }
}

#[derive(Clone, Copy)]
struct Numbered {
    bytes: [u64; 2],
    length: u32,
    /// 2^32 ids would fill memory long before.
    number: u32,
}

impl Numbered {
    fn key(&self) -> Key {
        Key { bytes: self.bytes, length: self.length }
    }

    fn is(&self, key: Key, id: &str, texts: &Texts) -> bool {
        self.key() == key && (key.length as usize <= Key::WHOLE || texts.get(self.number as usize) == id)
    }
}

/// Ids by number and numbers by id.
#[derive(Default)]
pub(super) struct Ids {
    texts: Texts,
    numbers: HashTable<Numbered>,
    hasher: DefaultHashBuilder,
}

impl Ids {
    /// The number of an id; the next one where it is new.
    pub fn number(&mut self, id: &str) -> u32 {
        let key = Key::of(id, &self.hasher);
        let same = |known: &Numbered| known.is(key, id, &self.texts);
        let hash_of = |known: &Numbered| known.key().hash(&self.hasher);
        let number = self.numbers.len() as u32;
        match self.numbers.entry(key.hash(&self.hasher), same, hash_of) {
            Entry::Occupied(known) => known.get().number,
            Entry::Vacant(new) => {
                self.texts.push(id);
                new.insert(Numbered { bytes: key.bytes, length: key.length, number });
                number
            }
        }
    }

    pub fn get(&self, number: usize) -> &str {
        self.texts.get(number)
    }

    /// The same for the same text.
    pub fn hash(&self, id: &str) -> u64 {
        Key::of(id, &self.hasher).hash(&self.hasher)
    }

    /// Hashes and numbers of all ids, in no order.
    pub fn hashes(&self) -> impl Iterator<Item = (u64, usize)> {
        self.numbers.iter().map(|known| (known.key().hash(&self.hasher), known.number as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_their_numbers_however_long_they_are() {
        let mut ids = Ids::default();
        let texts: Vec<String> = (0..100).map(|n| "é".repeat(n % 20) + &n.to_string()).collect();
        for (number, text) in texts.iter().enumerate() {
            assert_eq!(ids.number(text), number as u32);
        }
        for (number, text) in texts.iter().enumerate() {
            assert_eq!((ids.number(text), ids.get(number)), (number as u32, text.as_str()));
            assert!(ids.hashes().any(|known| known == (ids.hash(text), number)));
        }
        assert_ne!(ids.number("a"), ids.number("a\0"), "no padding is taken for a part of an id");
    }
}
