//! Amounts of disk space.

use super::{MAX_BYTES, fraction};
use num_rational::BigRational;
use num_traits::ToPrimitive;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Disk space in GiB, a whole number of MiB. It is written as an exact number: `4`, `"1/4"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gib {
    mib: u64,
}

impl Gib {
    /// The space in bytes.
    pub fn bytes(self) -> u64 {
        self.mib << 20
    }

    fn number(self) -> BigRational {
        BigRational::new(self.mib.into(), 1024.into())
    }
}

impl fmt::Display for Gib {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

impl Serialize for Gib {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        fraction::serialize(&self.number(), to)
    }
}

impl<'de> Deserialize<'de> for Gib {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = fraction::deserialize(from)?;
        let mib = &number * BigRational::from_integer(1024.into());
        let mib = Some(mib).filter(BigRational::is_integer).and_then(|mib| mib.to_u64());
        match mib.filter(|mib| (1..=MAX_BYTES >> 20).contains(mib)) {
            Some(mib) => Ok(Self { mib }),
            None => Err(serde::de::Error::custom(format!(
                "{number} GiB is not a whole number of MiB from 1 to {}",
                MAX_BYTES >> 20
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Gib, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn disk_space_is_an_exact_number_of_mebibytes() {
        for (text, bytes, shown) in
            [("16", 16 << 30, "16"), ("\"1/4\"", 256 << 20, "1/4"), ("\"1.5\"", 1536 << 20, "3/2")]
        {
            let space = read(text).unwrap();
            assert_eq!((space.bytes(), space.to_string().as_str()), (bytes, shown));
            assert_eq!(read(&serde_json::to_string(&space).unwrap()), Ok(space));
        }
        for text in ["0", "-1", "\"1/1000\"", "\"1/2048\"", "0.5", "\"\"", "1048577", "\"1e9\""] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
