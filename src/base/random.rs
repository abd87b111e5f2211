//! Random numbers: of the operating system, and of a generator with a seed.

use super::{FileError, OnFile, digest};
use std::fs::File;
use std::io::Read;

/// Returns this number of random bytes as lower-case hexadecimal digits, two for each byte.
///
/// # Errors
/// `/dev/urandom` cannot be read.
pub fn hex_digits(bytes: usize) -> Result<String, FileError> {
    const PATH: &str = "/dev/urandom";
    let mut buffer = vec![0; bytes];
    File::open(PATH).and_then(|mut source| source.read_exact(&mut buffer)).on("read", PATH)?;
    Ok(digest::hex(&buffer))
}

/// The SplitMix64 generator (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014), for searches and
/// fixtures that can be repeated. The field is the seed.
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound.max(1) as u64) as usize
    }
}
