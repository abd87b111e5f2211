//! Exact numbers as text. They are read as an integer, `p/q` or a plain decimal (`0.97`), and written as an integer or `p/q`.

use num_bigint::BigInt;
use num_rational::BigRational;
use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;
use std::fmt;

/// Serializes a number as text: an integer or `p/q`.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(value: &BigRational, out: S) -> Result<S::Ok, S::Error> {
    match (i64::try_from(value.numer()), i64::try_from(value.denom())) {
        // Nearly all numbers are small, and small numbers are formatted many times faster.
        (Ok(whole), Ok(1)) => out.serialize_str(itoa::Buffer::new().format(whole)),
        (Ok(numerator), Ok(denominator)) => {
            let mut text = itoa::Buffer::new().format(numerator).to_owned();
            text.extend(["/", itoa::Buffer::new().format(denominator)]);
            out.serialize_str(&text)
        }
        _ => out.collect_str(value),
    }
}

/// Deserializes an integer, or a text as in `parse`.
///
/// # Errors
/// The input is not such a number.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BigRational, D::Error> {
    from.deserialize_any(FractionVisitor { max_bytes: MAX_NUMBER_BYTES })
}

/// Limit for the length of a number in bytes: reducing a fraction takes time in the square of its length.
const MAX_NUMBER_BYTES: usize = 20_000;

/// The same for a setting of an edition, which is a factor of the points of many runs.
const MAX_SETTING_BYTES: usize = 40;

/// Parses a number such as `16`, `97/100` or `0.97`. None for any other text.
pub fn parse(text: &str) -> Option<BigRational> {
    // The parser of big numbers ignores `_`.
    if text.len() > MAX_NUMBER_BYTES || text.contains('_') {
        return None;
    }
    if let Some((whole, decimals)) = text.split_once('.') {
        if decimals.is_empty() || !decimals.bytes().all(|c| c.is_ascii_digit()) {
            return None;
        }
        let digits: BigInt = format!("{whole}{decimals}").parse().ok()?;
        return Some(BigRational::new(digits, BigInt::from(10).pow(decimals.len() as u32)));
    }
    text.parse().ok()
}

struct FractionVisitor {
    max_bytes: usize,
}

impl Visitor<'_> for FractionVisitor {
    type Value = BigRational;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an integer, or an exact number in quotes such as \"97/100\" or \"0.97\"")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<BigRational, E> {
        Ok(BigRational::from_integer(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<BigRational, E> {
        Ok(BigRational::from_integer(number.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<BigRational, E> {
        let number = if text.len() > self.max_bytes { None } else { parse(text) };
        number.ok_or_else(|| {
            let shown: String = text.chars().take(60).collect();
            E::invalid_value(serde::de::Unexpected::Str(&shown), &self)
        })
    }
}

/// A number that is a setting of an edition.
pub mod setting {
    use super::*;

    pub use super::serialize;

    /// Deserializes an integer, or a short text as in `parse`.
    ///
    /// # Errors
    /// The input is not such a number.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BigRational, D::Error> {
        from.deserialize_any(FractionVisitor { max_bytes: MAX_SETTING_BYTES })
    }
}

/// A map of settings, such as the multipliers.
pub mod map {
    use super::*;
    use serde::{Deserialize, Serialize};
    use std::collections::BTreeMap;

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Number(#[serde(with = "super::setting")] BigRational);

    /// Serializes a map of numbers.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(map: &BTreeMap<String, BigRational>, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(map.iter().map(|(key, number)| (key, Number(number.clone()))))
    }

    /// Deserializes a map of numbers.
    ///
    /// # Errors
    /// A value is not a number.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<String, BigRational>, D::Error> {
        let map = BTreeMap::<String, Number>::deserialize(from)?;
        Ok(map.into_iter().map(|(key, Number(number))| (key, number)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_integers_fractions_or_plain_decimals() {
        let read = |text| parse(text).map(|number| number.to_string());
        for (text, exact) in [("16", "16"), ("97/100", "97/100"), ("0.97", "97/100"), ("-2.5", "-5/2")] {
            assert_eq!(read(text).as_deref(), Some(exact));
        }
        for text in ["", "-", "1_95", "1_9.5", "1.9_5", "1/0", "1_0/3", "1e3", "1.", "0x10", "inf"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
