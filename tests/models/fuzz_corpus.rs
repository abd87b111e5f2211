//! Runs every fuzz target on its committed corpus, and on mutations of it, with stable Rust. An input that once failed stays
//! covered.

#[path = "../../fuzz/targets.rs"]
mod targets;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The corpus of a target, in the order of the names of its files.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 4, "{name}: {} files", files.len());
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Runs a target. Returns the beginning of the input if it panics.
fn failure(name: &str, target: fn(&[u8]), data: &[u8]) -> Option<String> {
    let shown = || String::from_utf8_lossy(&data[..data.len().min(20_000)]).into_owned();
    catch_unwind(AssertUnwindSafe(|| target(data))).err().map(|_| format!("{name} panics on {:?}", shown()))
}

#[test]
fn no_corpus_file_makes_a_reader_panic() {
    let all = targets::TARGETS.into_iter();
    let failures = all.flat_map(|(name, target)| {
        println!("{name}");
        corpus(name).into_iter().filter_map(move |data| failure(name, target, &data))
    });
    let failures: Vec<String> = failures.collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Texts at which readers of numbers, strings and structures fail.
const TEXTS: [&str; 20] = [
    "-1",
    "0",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "4294967296",
    "1e999",
    "0.5",
    "null",
    "\"\"",
    "[]",
    "{}",
    "..",
    "/",
    "\u{0}",
    "\n",
    "\u{1b}[31m",
    "\u{fffd}",
    "inf",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// A deterministic generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    /// Changes some places of `data`; `other` is another file of the corpus.
    fn mutated(&mut self, data: &[u8], other: &[u8]) -> Vec<u8> {
        let mut data = data.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(data.len() + 1);
            let end = (at + self.below(40)).min(data.len());
            let text = TEXTS[self.below(TEXTS.len())].as_bytes();
            match self.below(7) {
                0 => drop(data.splice(at..end, [])),
                1 => drop(data.splice(at..at, text.iter().copied())),
                2 => data.truncate(at),
                3 => drop(data.splice(at..at, data[at..end].to_vec())),
                4 => {
                    let from = self.below(other.len());
                    let to = (from + self.below(200)).min(other.len());
                    data.splice(at..end, other[from..to].iter().copied());
                }
                5 => {
                    // The next number.
                    let digits = |byte: &u8| byte.is_ascii_digit();
                    if let Some(start) = data[at..].iter().position(digits).map(|found| at + found) {
                        let length = data[start..].iter().take_while(|byte| digits(byte)).count();
                        data.splice(start..start + length, text.iter().copied());
                    }
                }
                _ => {
                    if let Some(byte) = data.get_mut(at) {
                        *byte ^= 1 << self.below(8);
                    }
                }
            }
        }
        data
    }
}

/// The short form of `scripts/fuzz`: `MUTATIONS` inputs for each target, or for the one named by `TARGET`, the same ones each
/// time for the same `SEED`.
#[test]
fn no_mutation_of_the_corpus_makes_a_reader_panic() {
    let number = |variable, default| {
        std::env::var(variable).map_or(default, |text| text.parse::<u64>().expect("a number"))
    };
    let (mutations, seed) = (number("MUTATIONS", 100), number("SEED", 2018));
    let only = std::env::var("TARGET").ok();
    let chosen =
        targets::TARGETS.into_iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name));
    let failures = chosen.filter_map(|(name, target)| {
        println!("{name}");
        let corpus = corpus(name);
        let mut random = Random(seed.max(1));
        (0..mutations).find_map(|_| {
            let (at, other) = (random.below(corpus.len()), random.below(corpus.len()));
            failure(name, target, &random.mutated(&corpus[at], &corpus[other]))
        })
    });
    let failures: Vec<String> = failures.collect();
    assert!(failures.is_empty(), "SEED={seed}\n{}", failures.join("\n"));
}
