//! Bounds of measured values. Tables, records and judgements come from others, and a value beyond these bounds is
//! not a measurement: sums and products of such values would overflow.

/// Times are at most a year, in seconds: no run takes longer.
pub const YEAR_S: u64 = 366 * 24 * 3600;

/// Times are at most a year, in milliseconds.
pub const MAX_MS: u64 = YEAR_S * 1000;

/// Sizes of memory and outputs are at most 1 PiB (2^50 bytes): no host has more.
pub const MAX_BYTES: u64 = 1 << 50;

/// Sizes in KiB are at most 1 PiB.
pub const MAX_KIB: u64 = MAX_BYTES >> 10;

/// Counts of instructions are at most 2^60: twelve cores that execute 3 * 10^9 in a second need a year for more.
pub const MAX_INSTRUCTIONS: u64 = 1 << 60;

/// A value out of its bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{key}: {value} is more than {most} ({bound}), which is not a measurement; correct the value or remove it"
)]
pub struct BadFigure {
    key: String,
    value: u64,
    most: u64,
    bound: &'static str,
}

/// Checks times in milliseconds, each with its key or column.
///
/// # Errors
/// The first time that is longer than a year.
pub fn check_ms<K: AsRef<str>>(times: impl IntoIterator<Item = (K, Option<u64>)>) -> Result<(), BadFigure> {
    check(times, MAX_MS, "a year")
}

/// Checks sizes in KiB, each with its key or column.
///
/// # Errors
/// The first size that is more than 1 PiB.
pub fn check_kib<K: AsRef<str>>(sizes: impl IntoIterator<Item = (K, Option<u64>)>) -> Result<(), BadFigure> {
    check(sizes, MAX_KIB, "1 PiB")
}

/// Checks sizes in bytes, each with its key or column.
///
/// # Errors
/// The first size that is more than 1 PiB.
pub fn check_bytes<K: AsRef<str>>(
    sizes: impl IntoIterator<Item = (K, Option<u64>)>,
) -> Result<(), BadFigure> {
    check(sizes, MAX_BYTES, "1 PiB")
}

/// Checks counts of instructions, each with its key or column.
///
/// # Errors
/// The first count that is more than 2^60.
pub fn check_instructions<K: AsRef<str>>(
    counts: impl IntoIterator<Item = (K, Option<u64>)>,
) -> Result<(), BadFigure> {
    check(counts, MAX_INSTRUCTIONS, "2^60")
}

fn check<K: AsRef<str>>(
    values: impl IntoIterator<Item = (K, Option<u64>)>,
    most: u64,
    bound: &'static str,
) -> Result<(), BadFigure> {
    match values.into_iter().find(|(_, value)| value.is_some_and(|value| value > most)) {
        Some((key, Some(value))) => Err(BadFigure { key: key.as_ref().to_owned(), value, most, bound }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_a_year_or_a_pebibyte_are_refused() {
        assert_eq!(check_ms([("cpu_ms", Some(MAX_MS)), ("wall_ms", None)]), Ok(()));
        assert_eq!(check_kib([("memory_kib", Some(MAX_KIB))]), Ok(()));
        let error = check_ms([("cpu_ms", Some(1)), ("wall_ms", Some(u64::MAX))]).unwrap_err().to_string();
        assert!(
            error.starts_with("wall_ms: 18446744073709551615 is more than 31622400000 (a year)"),
            "{error}"
        );
        assert!(check_kib([("memory_kib", Some(u64::MAX))]).is_err());
        assert!(check_bytes([("stdout_bytes", Some(MAX_BYTES + 1))]).is_err());
        assert!(check_instructions([("instructions_user", Some(MAX_INSTRUCTIONS + 1))]).is_err());
    }
}
