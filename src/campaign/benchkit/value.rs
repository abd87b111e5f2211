//! Values.

use num_bigint::BigUint;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The value of one position as a tool gave it. Numbers are exact: a state count can have 24,000 decimal digits.
///
/// The text form is `F`, `T`, a decimal number, `inf`, `d.ddddE+dddd`, `Inf` or `X`; parsing it returns the same value. A
/// negative number stands for "not given" in the answer protocol and is not a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub enum Value {
    /// `F`
    False,
    /// `T`
    True,
    /// An exact number.
    Number(BigUint),
    /// `inf`: the bound of an unbounded place.
    Infinite,
    /// A published number that is rounded to 5 significant digits, `d.ddddE+dddd`.
    Rounded {
        /// The digits, from 10000 to 99999.
        digits: u32,
        /// The power of ten of the first digit.
        exponent: u32,
    },
    /// A count of StateSpace that overflowed: `Inf` in a published table, `+inf` in an output or an oracle. It equals another
    /// `Inf`, but no number.
    Overflow,
    /// `X` in a published table: a wrong answer whose value was not kept. As a vote it agrees with no value, not even with
    /// another `X`; the derived equality is for storage only.
    NotKept,
}

/// Limit for the number of digits, ten times those of the longest known count. Parsing and formatting take time in the
/// square of the length.
pub(super) const MAX_DIGITS: usize = 256 << 10;

/// Most digits of a bound, and of a number of a total examination: markings have less than 2^64 tokens on a place. A run can
/// have many such numbers, and converting one takes time in the square of its length.
pub const MAX_BOUND_DIGITS: usize = 1000;

/// The error for a text that is not a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a value: expected T, F, a decimal number, inf, d.ddddE+dddd, Inf or X")]
pub struct NotAValue(
    /// The text, truncated.
    pub String,
);

impl Value {
    /// Whether the value is a published number of 5 significant digits.
    pub fn is_rounded(&self) -> bool {
        matches!(self, Self::Rounded { .. })
    }

    /// The value rounded to 5 significant digits, half up. If one answer to a position is rounded, all answers are compared
    /// in this form. Values other than positive numbers are returned unchanged.
    pub fn rounded(&self) -> Self {
        let Self::Number(number) = self else { return self.clone() };
        let decimal = number.to_string();
        if decimal == "0" {
            return self.clone();
        }
        let digit = |at: usize| decimal.as_bytes().get(at).map_or(0, |c| u32::from(c - b'0'));
        let mut digits = (0..5).fold(0, |sum, at| sum * 10 + digit(at));
        let mut exponent = (decimal.len() - 1) as u32;
        if digit(5) >= 5 {
            digits += 1;
        }
        if digits == 100_000 {
            digits = 10_000;
            exponent += 1;
        }
        Self::Rounded { digits, exponent }
    }

    /// Whether two answers agree where no other one counts: a rounded answer is compared by its digits.
    pub fn is_same(&self, other: &Self) -> bool {
        self.agrees(other, self.is_rounded() || other.is_rounded())
    }

    /// Whether two answers to one position agree. `any_rounded`: an answer to the position is rounded. The judge uses the same
    /// rule on interned numbers.
    pub fn agrees(&self, other: &Self, any_rounded: bool) -> bool {
        match (self, other) {
            (Self::NotKept, _) | (_, Self::NotKept) => false,
            _ if any_rounded => self.rounded() == other.rounded(),
            _ => self == other,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::False => out.write_str("F"),
            Self::True => out.write_str("T"),
            // Nearly all are small, and printing a small number is many times quicker than printing a big one.
            Self::Number(number) => match u64::try_from(number) {
                Ok(small) => out.write_str(itoa::Buffer::new().format(small)),
                Err(_) => number.fmt(out),
            },
            Self::Infinite => out.write_str("inf"),
            Self::Rounded { digits, exponent } => {
                write!(out, "{}.{:04}E+{exponent:04}", digits / 10_000, digits % 10_000)
            }
            Self::Overflow => out.write_str("Inf"),
            Self::NotKept => out.write_str("X"),
        }
    }
}

impl FromStr for Value {
    type Err = NotAValue;

    fn from_str(text: &str) -> Result<Self, NotAValue> {
        let value = match text {
            "F" => Some(Self::False),
            "T" => Some(Self::True),
            "inf" => Some(Self::Infinite),
            "Inf" => Some(Self::Overflow),
            "X" => Some(Self::NotKept),
            _ if !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit()) => {
                (text.len() <= MAX_DIGITS).then(|| text.parse().ok().map(Self::Number)).flatten()
            }
            _ => rounded_form(text.as_bytes()),
        };
        value.ok_or_else(|| NotAValue(text.chars().take(60).collect()))
    }
}

/// Parses `d.ddddE+dddd`; the first digit must not be 0, and the number must be an integer.
fn rounded_form(text: &[u8]) -> Option<Value> {
    let digit = |c: u8| c.is_ascii_digit().then(|| u32::from(c - b'0'));
    let [first @ b'1'..=b'9', b'.', a, b, c, d, b'E', b'+', power @ ..] = text else { return None };
    if power.is_empty() || power.len() > 9 {
        return None;
    }
    let mut digits = 0;
    for part in [*first, *a, *b, *c, *d] {
        digits = digits * 10 + digit(part)?;
    }
    let mut exponent = 0;
    for part in power {
        exponent = exponent * 10 + digit(*part)?;
    }
    // A count has no decimals: 1.2345E+0002 would be 123.45.
    let decimals = 4_u32.saturating_sub(exponent);
    if digits % 10_u32.pow(decimals) != 0 {
        return None;
    }
    Some(Value::Rounded { digits, exponent })
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        // The fast path for the two most frequent values.
        match self {
            Self::False => out.serialize_str("F"),
            Self::True => out.serialize_str("T"),
            _ => out.collect_str(self),
        }
    }
}

impl TryFrom<String> for Value {
    type Error = NotAValue;

    fn try_from(text: String) -> Result<Self, NotAValue> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    #[test]
    fn every_form_reads_back_as_printed() {
        for text in
            ["F", "T", "0", "7", "99999", "4000000000", "inf", "3.2057E+0008", "1.0000E+12345", "Inf", "X"]
        {
            assert_eq!(value(text).to_string(), text);
        }
        let long = "9".repeat(24_000);
        assert_eq!(value(&long).to_string(), long);
        assert_eq!(value("007"), value("7"));
    }

    #[test]
    fn a_text_that_is_not_a_value_is_an_error_with_the_allowed_forms() {
        for text in
            ["", "-1", "?", "TRUE", "1.5", "0.0000E+0000", "1.2345E+", "1.23456E+0002", "1e5", "+inf", "٣"]
        {
            let error = text.parse::<Value>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("decimal number"), "{error}");
        }
    }

    #[test]
    fn a_rounded_number_with_decimals_is_no_count() {
        for text in ["1.2345E+0002", "1.0001E+0003", "7.5000E+0000"] {
            assert!(text.parse::<Value>().is_err(), "{text}");
        }
        for text in ["1.2300E+0002", "1.2345E+0004", "7.0000E+0000", "1.2345E+0012"] {
            assert_eq!(value(text).to_string(), text);
        }
    }

    #[test]
    fn a_number_longer_than_the_limit_is_no_value() {
        assert!("9".repeat(MAX_DIGITS + 1).parse::<Value>().is_err());
        assert!("9".repeat(30_000).parse::<Value>().is_ok());
    }

    #[test]
    fn rounding_is_half_up_on_decimal_digits() {
        for (exact, rounded) in [
            ("320565000", "3.2057E+0008"),
            ("320564999", "3.2056E+0008"),
            ("999995", "1.0000E+0006"),
            ("999994", "9.9999E+0005"),
            ("100000", "1.0000E+0005"),
            ("7", "7.0000E+0000"),
        ] {
            assert_eq!(value(exact).rounded(), value(rounded), "{exact}");
        }
        assert_eq!(value("0").rounded(), value("0"));
        assert_eq!(value("inf").rounded(), Value::Infinite);
    }

    #[test]
    fn a_number_of_24000_digits_rounds_exactly() {
        let below = format!("12345{}", "4".to_string() + &"9".repeat(23_994));
        let above = format!("12345{}", "5".to_string() + &"0".repeat(23_994));
        assert_eq!(value(&below).rounded(), value("1.2345E+23999"));
        assert_eq!(value(&above).rounded(), value("1.2346E+23999"));
        assert_eq!(value(&"9".repeat(24_000)).rounded(), value("1.0000E+24000"));
    }

    #[test]
    fn answers_agree_according_to_the_rules() {
        let agree = |a: &str, b: &str, rounded| value(a).agrees(&value(b), rounded);
        assert!(agree("320565001", "3.2057E+0008", true));
        assert!(agree("320565001", "320565002", true), "agreement stays transitive");
        assert!(!agree("320565001", "320565002", false));
        assert!(
            agree("Inf", "Inf", true) && !agree("Inf", "1.0000E+0400", true) && !agree("Inf", "inf", false)
        );
        assert!(!agree("X", "X", false) && !agree("X", "7", true));
    }
}
