//! Exact numbers in files: values of answers, and rational numbers.

use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::Zero;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Longest text of a number, in bytes. State counts of the contest have some hundred digits.
const MAX_DIGITS: usize = 4096;

/// The value of an answer: `TRUE`, `FALSE`, a number or `inf`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Value {
    /// `TRUE` or `FALSE`.
    Truth(bool),
    /// A natural number in decimal digits without leading zeros.
    Number(BigUint),
    /// `inf`: there is no largest number.
    Infinite,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Truth(true) => f.write_str("TRUE"),
            Value::Truth(false) => f.write_str("FALSE"),
            Value::Number(number) => number.fmt(f),
            Value::Infinite => f.write_str("inf"),
        }
    }
}

impl FromStr for Value {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "TRUE" => Ok(Value::Truth(true)),
            "FALSE" => Ok(Value::Truth(false)),
            "inf" => Ok(Value::Infinite),
            _ => match digits(text) {
                Some(number) => Ok(Value::Number(number)),
                None => Err(format!("the value \"{}\" is not TRUE, FALSE, inf or a number", shortened(text))),
            },
        }
    }
}

/// Makes a type a text in JSON, by `Display` and `FromStr`.
macro_rules! text_in_json {
    ($type:ty) => {
        impl TryFrom<String> for $type {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        }
    };
}

text_in_json!(Value);

/// An exact rational number, written `3`, `-3` or `-3/2`: in lowest terms, without a denominator of 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rational(pub BigRational);

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Rational {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{}\" is not a number p or p/q in lowest terms", shortened(text));
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        let (sign, numerator) = match numerator.strip_prefix('-') {
            Some(positive) => (-1, positive),
            None => (1, numerator),
        };
        let numerator = BigInt::from(digits(numerator).ok_or_else(wrong)?) * sign;
        let denominator = BigInt::from(digits(denominator).ok_or_else(wrong)?);
        if denominator.is_zero() {
            return Err(wrong());
        }
        let number = Rational(BigRational::new(numerator, denominator));
        // One number has one text, so that a changed text is a changed number.
        if number.to_string() == text { Ok(number) } else { Err(wrong()) }
    }
}

text_in_json!(Rational);

/// A natural number in decimal digits without leading zeros.
fn digits(text: &str) -> Option<BigUint> {
    let canonical = !text.is_empty()
        && text.len() <= MAX_DIGITS
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'));
    if canonical { text.parse().ok() } else { None }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}
