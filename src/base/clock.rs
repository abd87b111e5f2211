//! The wall clock of the host: for times shown to users, and for the clock of a guest. It can be set at any moment, so
//! nothing is measured with it.

use std::time::{SystemTime, UNIX_EPOCH};

/// The current time as RFC 3339 in UTC, in whole seconds: `2026-05-31T12:00:00Z`.
pub fn now_text() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Second).unwrap_or(now).to_string()
}

/// The nanoseconds since 1970-01-01 in UTC; 0 if the clock is set to an earlier time.
pub fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}
