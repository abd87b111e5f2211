//! Exact numbers as text: an integer, `p/q`, or a plain decimal (`0.97`). Written as an integer or `p/q`.

use num_bigint::BigInt;
use num_rational::BigRational;
use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;
use std::fmt;

pub fn serialize<S: Serializer>(value: &BigRational, out: S) -> Result<S::Ok, S::Error> {
    match (i64::try_from(value.numer()), i64::try_from(value.denom())) {
        // Nearly all; printing small numbers is many times quicker than printing big ones.
        (Ok(whole), Ok(1)) => out.serialize_str(itoa::Buffer::new().format(whole)),
        (Ok(numerator), Ok(denominator)) => {
            let mut text = itoa::Buffer::new().format(numerator).to_owned();
            text.extend(["/", itoa::Buffer::new().format(denominator)]);
            out.serialize_str(&text)
        }
        _ => out.collect_str(value),
    }
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BigRational, D::Error> {
    from.deserialize_any(FractionVisitor)
}

/// Digits of a number that is taken: reducing fractions takes time in the square of their length.
const LONGEST: usize = 20_000;

/// Reads `16`, `97/100` or `0.97`; None for anything else.
pub fn parse(text: &str) -> Option<BigRational> {
    // What parses big numbers passes over `_`.
    if text.len() > LONGEST || text.contains('_') {
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

struct FractionVisitor;

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
        parse(text).ok_or_else(|| {
            let shown: String = text.chars().take(60).collect();
            E::invalid_value(serde::de::Unexpected::Str(&shown), &self)
        })
    }
}

/// A map of exact numbers, such as the multipliers.
pub mod map {
    use super::*;
    use serde::{Deserialize, Serialize};
    use std::collections::BTreeMap;

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Number(#[serde(with = "super")] BigRational);

    pub fn serialize<S: Serializer>(map: &BTreeMap<String, BigRational>, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(map.iter().map(|(key, number)| (key, Number(number.clone()))))
    }

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
    fn a_number_is_an_integer_a_fraction_or_a_plain_decimal_and_nothing_else() {
        let read = |text| parse(text).map(|number| number.to_string());
        for (text, exact) in [("16", "16"), ("97/100", "97/100"), ("0.97", "97/100"), ("-2.5", "-5/2")] {
            assert_eq!(read(text).as_deref(), Some(exact));
        }
        for text in ["", "-", "1_95", "1_9.5", "1.9_5", "1/0", "1_0/3", "1e3", "1.", "0x10", "inf"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
