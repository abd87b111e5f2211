//! The ids of a net, numbered 0, 1, ... in the order of their first use.

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// A list of short texts, stored in one string.
#[derive(Default)]
pub(super) struct TextList {
    all: String,
    /// End of each text.
    ends: Vec<usize>,
}

impl TextList {
    pub fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len());
    }

    pub fn get(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[number]]
    }
}

/// A key for the comparison of ids. Nearly all ids fit into its 16 bytes and are compared without reading their texts,
/// which would be a cache miss in large nets.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    /// The bytes, or the hash of a longer id.
    bytes: [u64; 2],
    length: u32,
}

impl Key {
    const WHOLE: usize = 16;

    fn of(id: &str, hasher: &DefaultHashBuilder) -> Self {
        let whole = id.as_bytes();
        // The first and the last bytes, which overlap or are adjacent.
        let eights = whole.first_chunk().zip(whole.last_chunk());
        let fours = whole.first_chunk().zip(whole.last_chunk());
        let bytes = match (whole.len(), eights, fours) {
            (0..=Self::WHOLE, Some((begin, end)), _) => [begin, end].map(|part| u64::from_le_bytes(*part)),
            (0..=Self::WHOLE, None, Some((begin, end))) => {
                [begin, end].map(|part| u64::from(u32::from_le_bytes(*part)))
            }
            (0..=Self::WHOLE, None, None) => {
                [whole.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)), 0]
            }
            _ => [hasher.hash_one(id), 0],
        };
        Self { bytes, length: id.len() as u32 }
    }

    fn hash(self, hasher: &DefaultHashBuilder) -> u64 {
        hasher.hash_one(self.bytes)
    }
}

#[derive(Clone, Copy)]
struct Numbered {
    /// `bytes` and `length` of a `Key`, which is not a field: with it, `number` would take 8 bytes.
    bytes: [u64; 2],
    length: u32,
    /// 32 bits suffice: 2^32 ids do not fit into memory.
    number: u32,
}

impl Numbered {
    fn key(&self) -> Key {
        Key { bytes: self.bytes, length: self.length }
    }

    fn is(&self, key: Key, id: &str, texts: &TextList) -> bool {
        self.key() == key && (key.length as usize <= Key::WHOLE || texts.get(self.number as usize) == id)
    }
}

/// Ids by number and numbers by id.
#[derive(Default)]
pub(super) struct Ids {
    texts: TextList,
    numbers: HashTable<Numbered>,
    hasher: DefaultHashBuilder,
    /// Keys and hashes of the ids of one call of `number_all`; kept to reuse the memory.
    pending: Vec<(Key, u64)>,
}

/// The number of an id without a number.
const NEW: u32 = u32::MAX;

impl Ids {
    /// Writes the numbers of ids to `numbers`; new ids get the next numbers. In large nets look-ups are cache misses;
    /// those of one call overlap.
    pub fn number_all<'a>(&mut self, ids: impl Iterator<Item = &'a str> + Clone, numbers: &mut Vec<u32>) {
        self.pending.clear();
        self.pending.extend(ids.clone().map(|id| {
            let key = Key::of(id, &self.hasher);
            (key, key.hash(&self.hasher))
        }));
        numbers.clear();
        numbers.extend(ids.clone().zip(&self.pending).map(|(id, (key, hash))| {
            let known = self.numbers.find(*hash, |known| known.is(*key, id, &self.texts));
            known.map_or(NEW, |known| known.number)
        }));
        for ((id, (key, hash)), number) in ids.zip(&self.pending).zip(numbers) {
            if *number == NEW {
                let same = |known: &Numbered| known.is(*key, id, &self.texts);
                let hash_of = |known: &Numbered| known.key().hash(&self.hasher);
                *number = self.numbers.len() as u32;
                match self.numbers.entry(*hash, same, hash_of) {
                    Entry::Occupied(known) => *number = known.get().number,
                    Entry::Vacant(new) => {
                        self.texts.push(id);
                        new.insert(Numbered { bytes: key.bytes, length: key.length, number: *number });
                    }
                }
            }
        }
    }

    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    pub fn get(&self, number: usize) -> &str {
        self.texts.get(number)
    }

    /// The hash of an id.
    pub fn hash(&self, id: &str) -> u64 {
        Key::of(id, &self.hasher).hash(&self.hasher)
    }

    /// Hashes and numbers of all ids, in any order.
    pub fn hashes(&self) -> impl Iterator<Item = (u64, usize)> {
        self.numbers.iter().map(|known| (known.key().hash(&self.hasher), known.number as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_length_keep_their_numbers() {
        let mut ids = Ids::default();
        let texts: Vec<String> = (0..100).map(|n| "é".repeat(n % 20) + &n.to_string()).collect();
        let expected: Vec<u32> = (0..100).chain(0..100).collect();
        let mut numbers = Vec::new();
        // New ids which all occur twice, then known ids.
        for _ in 0..2 {
            ids.number_all(texts.iter().chain(&texts).map(String::as_str), &mut numbers);
            assert_eq!(numbers, expected);
        }
        for (number, text) in texts.iter().enumerate() {
            assert_eq!(ids.get(number), text);
            assert!(ids.hashes().any(|known| known == (ids.hash(text), number)));
        }
        let alike = ["a", "a\0", "\0a", "aaaa", "aaaaa", "aaaaaaaa", "aaaaaaaaa", "aaaaaaaaaaaaaaaaa"];
        ids.number_all(alike.into_iter(), &mut numbers);
        assert!(numbers.iter().copied().eq(100..108), "{numbers:?}");
    }
}
