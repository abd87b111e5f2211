//! Numbers and foreign text as readable text. Numbers are rounded in this module only.

use mcc_base::Mark;
pub(crate) use mcc_base::text::{control, visible};
use mcc_campaign::benchkit::Value;
use mcc_edition::{CpuReading, Limits};
use mcc_judge::judgement::Weak;
use mcc_judge::show::{OVERFLOW, shown_difference};
pub use mcc_judge::show::{basis, percent, plural};
use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive};

/// As `visible`, for a text of several lines.
pub fn visible_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(visible).collect();
    lines.join("\n")
}

/// Parts of a text: whether the part is code, and the part.
pub type TextParts = Vec<(bool, String)>;

/// Splits a text at its backticks: what stands between two of them is code. A text with an odd number of backticks has
/// no code.
pub fn code_parts(text: &str) -> TextParts {
    let spans: Vec<&str> = text.split('`').collect();
    if spans.len().is_multiple_of(2) {
        return vec![(false, visible(text))];
    }
    let parts = spans.into_iter().enumerate().map(|(number, span)| (number % 2 == 1, visible(span)));
    parts.filter(|(_, span)| !span.is_empty()).collect()
}

/// The parts of a name between which a line may break: `CTL` and `Cardinality` of `CTLCardinality`, `STATE_` and `SPACE`
/// of `STATE_SPACE`. A name of at most 8 characters, such as `GreatSPN`, is one part.
pub fn parts(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    if (1..=8).contains(&chars.len()) {
        return vec![name.to_owned()];
    }
    let mut parts: Vec<String> = Vec::new();
    for (at, &c) in chars.iter().enumerate() {
        let after_lower = at > 0 && chars[at - 1].is_lowercase();
        let after_low_line = at > 0 && chars[at - 1] == '_';
        let before_lower = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
        match parts.last_mut() {
            Some(part) if !(after_low_line || c.is_uppercase() && (after_lower || before_lower)) => {
                part.push(c);
            }
            _ => parts.push(c.into()),
        }
    }
    parts
}

/// A value in full.
pub fn value(value: &Value) -> String {
    match value {
        Value::False => "FALSE".into(),
        Value::True => "TRUE".into(),
        Value::Number(number) => number.to_string(),
        Value::Infinite => "inf".into(),
        Value::Rounded { digits, exponent } => {
            format!("{}.{:04} × 10^{exponent}", digits / 10_000, digits % 10_000)
        }
        Value::Overflow => OVERFLOW.into(),
        Value::NotKept => "not in the judged table".into(),
    }
}

/// The limit of the CPU time of a run, and for which cores it is; None: there is none.
pub fn cpu_limit(limits: &Limits) -> Option<(String, &'static str)> {
    let cores = match limits.cpu_reading {
        CpuReading::Benchkit => return None,
        CpuReading::PerVcpu => "per vCPU",
        CpuReading::Summed => "over all vCPUs",
    };
    (limits.cpu_s > 0).then(|| (duration(limits.cpu_s * 1000), cores))
}

/// The kind of weak evidence in words.
pub fn weak(weak: Weak) -> &'static str {
    match weak {
        Weak::SingleBacker => "only one voting entry gave it",
        Weak::SingleFamily => "only variants of one tool gave it",
    }
}

/// The marks of a run in words.
pub fn marks(marks: &[Mark]) -> String {
    marks.iter().map(|mark| visible(mark.name())).collect::<Vec<_>>().join(", ")
}

/// A text that is too long for a table, with its middle left out; None if it is short enough.
pub fn shortened(text: &str) -> Option<String> {
    let length = text.chars().count();
    (length > 60).then(|| {
        let head: String = text.chars().take(24).collect();
        let tail: String = text.chars().skip(length - 12).collect();
        format!("{head}…{tail} ({} characters)", thousands(length as u64))
    })
}

/// The exact number, rounded half away from zero to `places` decimals.
pub fn decimal(number: &BigRational, places: u32) -> String {
    let scale = BigInt::from(10u32).pow(places);
    let scaled = (number * BigRational::from_integer(scale.clone())).round().to_integer();
    let (whole, rest) = scaled.abs().div_rem(&scale);
    let sign = if scaled.sign() == Sign::Minus { "−" } else { "" };
    let whole = grouped(&whole.to_string());
    if places == 0 {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{:0>1$}", rest, places as usize)
    }
}

/// The least number of decimals (at most 4) with which different numbers have different texts.
pub fn places<'a>(numbers: impl IntoIterator<Item = &'a BigRational>) -> u32 {
    let mut numbers: Vec<_> = numbers.into_iter().collect();
    numbers.sort();
    numbers.dedup();
    let distinct = |places: u32| {
        let mut shown: Vec<_> = numbers.iter().map(|number| decimal(number, places)).collect();
        shown.dedup();
        shown.len() == numbers.len()
    };
    (0..4).find(|&places| distinct(places)).unwrap_or(4)
}

/// The number of decimals of points: 0 if all are integers; else at least 2, and with which different numbers have
/// different texts.
pub fn point_places(numbers: &[&BigRational]) -> u32 {
    if numbers.iter().all(|number| number.is_integer()) {
        return 0;
    }
    places(numbers.iter().copied()).max(2)
}

/// `shown_difference` as text.
pub fn distance(greater: &BigRational, less: &BigRational, places: u32) -> String {
    decimal(&shown_difference(greater, less, places), places)
}

/// Points rounded to two decimals; integers without decimals.
pub fn points(points: &BigRational) -> String {
    decimal(points, if points.is_integer() { 0 } else { 2 })
}

/// Points that are added or taken away, with their sign.
pub fn signed(points: &BigRational) -> String {
    let sign = if points.is_positive() { "+" } else { "" };
    format!("{sign}{}", self::points(points))
}

/// A count with its noun: `1 value`, `2 values`.
pub fn counted(count: u64, one: &'static str, many: &'static str) -> String {
    format!("{} {}", thousands(count), plural(count, one, many))
}

/// A share of one as a percentage with one decimal.
pub fn share(part: &BigRational, whole: &BigRational) -> String {
    if !whole.is_positive() {
        return String::new();
    }
    format!("{} %", decimal(&(part / whole * BigRational::from_integer(100.into())), 1))
}

/// `part` of `whole` in thousandths, 0 to 1000, for the length of a bar.
pub fn permille(part: &BigRational, whole: &BigRational) -> u32 {
    if !whole.is_positive() || !part.is_positive() {
        return 0;
    }
    let share = part / whole * BigRational::from_integer(1000.into());
    share.to_integer().to_u32().unwrap_or(1000).clamp(1, 1000)
}

/// 1234567 as `1,234,567`.
pub fn thousands(number: u64) -> String {
    grouped(&number.to_string())
}

fn grouped(digits: &str) -> String {
    // Longer numbers have no commas, so that they can be copied.
    if digits.len() > 18 {
        return digits.into();
    }
    let first = digits.len() % 3;
    let mut shown = digits[..first].to_owned();
    for group in digits.as_bytes()[first..].chunks(3) {
        if !shown.is_empty() {
            shown.push(',');
        }
        shown.extend(group.iter().map(|&digit| char::from(digit)));
    }
    shown
}

/// A duration given in milliseconds; zero parts at its end are left out.
pub fn duration(ms: u64) -> String {
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    match (hours, minutes, seconds) {
        (0, 0, 0) => format!("{ms} ms"),
        (0, 0, _) if ms.is_multiple_of(1000) => format!("{seconds} s"),
        (0, 0, _) => format!("{seconds}.{:02} s", ms % 1000 / 10),
        (0, _, 0) => format!("{minutes} min"),
        (0, _, _) => format!("{minutes} min {seconds:02} s"),
        (_, 0, 0) => format!("{hours} h"),
        (_, _, 0) => format!("{hours} h {minutes:02} min"),
        _ => format!("{hours} h {minutes:02} min {seconds:02} s"),
    }
}

/// The median, of an even number of values the lower one of the middle two; None: there is no value.
pub fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}

/// A size given in bytes.
pub fn bytes(bytes: u64) -> String {
    for (unit, name) in [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= unit {
            let tenths = (u128::from(bytes) * 10 / u128::from(unit)) as u64;
            let tenth = if tenths.is_multiple_of(10) { String::new() } else { format!(".{}", tenths % 10) };
            return format!("{}{tenth} {name}", tenths / 10);
        }
    }
    format!("{bytes} {}", plural(bytes, "byte", "bytes"))
}

/// A size given in KiB.
pub fn kib(size: u64) -> String {
    bytes(size.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(p: i64, q: i64) -> BigRational {
        BigRational::new(p.into(), q.into())
    }

    #[test]
    fn control_characters_are_visible_and_other_text_is_kept() {
        assert_eq!(visible("a\0b\x1b[31m\u{202e}é\u{7f}"), "a⟨NUL⟩b⟨ESC⟩[31m⟨U+202E⟩é⟨DEL⟩");
    }

    #[test]
    fn text_between_backticks_is_code() {
        let shown = |text| code_parts(text).into_iter().map(|(is_code, text)| format!("{is_code} {text}"));
        assert_eq!(shown("a `b` c").collect::<Vec<_>>(), ["false a ", "true b", "false  c"]);
        assert_eq!(shown("a ` b").collect::<Vec<_>>(), ["false a ` b"]);
    }

    #[test]
    fn names_of_examinations_break_between_words() {
        assert_eq!(parts("CTLCardinality"), ["CTL", "Cardinality"]);
        assert_eq!(parts("StateSpace"), ["State", "Space"]);
        assert_eq!(parts("OneSafe"), ["OneSafe"]);
        assert_eq!(parts("STATE_SPACE"), ["STATE_", "SPACE"]);
        assert_eq!(parts(""), Vec::<String>::new());
    }

    #[test]
    fn points_round_away_from_zero_and_keep_their_sign() {
        assert_eq!(decimal(&ratio(5, 2), 0), "3");
        assert_eq!(decimal(&ratio(-5, 2), 0), "−3");
        assert_eq!(decimal(&ratio(-1, 3), 2), "−0.33");
        assert_eq!(decimal(&ratio(1_234_567, 100), 1), "12,345.7");
        assert_eq!(decimal(&ratio(151_861, 100), 2), "1,518.61");
        assert_eq!(decimal(&ratio(-1, 100), 1), "0.0");
    }

    #[test]
    fn different_points_have_different_texts_up_to_four_decimals() {
        assert_eq!(places([&ratio(1519, 1), &ratio(1509, 1)]), 0);
        assert_eq!(places([&ratio(15191, 10), &ratio(15192, 10)]), 1);
        assert_eq!(places([&ratio(1, 2), &ratio(1, 2)]), 0);
    }

    #[test]
    fn a_shown_distance_is_the_difference_of_the_shown_points() {
        // With integers, 1519 and 1509 would be 9 apart.
        let (first, second) = (ratio(1_518_607, 1000), ratio(1_509_254, 1000));
        let places = point_places(&[&first, &second]);
        let shown = [&first, &second].map(|number| decimal(number, places));
        assert_eq!(
            (shown, distance(&first, &second, places)),
            (["1,518.61".into(), "1,509.25".into()], "9.36".into())
        );
        // Rounded, the distance itself would be 9.35.
        assert_eq!(decimal(&(&first - &second), 2), "9.35");
        assert_eq!(point_places(&[&ratio(5, 1), &ratio(3, 1)]), 0);
        assert_eq!(point_places(&[&ratio(10_001, 10_000), &ratio(1, 1)]), 4);
    }

    #[test]
    fn points_have_signs_units_and_shares() {
        assert_eq!((points(&ratio(8, 1)), points(&ratio(1, 3))), ("8".into(), "0.33".into()));
        assert_eq!((signed(&ratio(1, 2)), signed(&ratio(-2, 1))), ("+0.50".into(), "−2".into()));
        assert_eq!(counted(1, "value", "values"), "1 value");
        assert_eq!(share(&ratio(1, 3), &ratio(1, 1)), "33.3 %");
        assert_eq!(share(&ratio(1, 3), &ratio(0, 1)), "");
    }

    #[test]
    fn the_length_of_a_bar_is_its_share() {
        assert_eq!(permille(&ratio(1, 2), &ratio(1, 1)), 500);
        assert_eq!(permille(&ratio(-1, 2), &ratio(1, 1)), 0);
        assert_eq!(permille(&ratio(1, 2), &ratio(0, 1)), 0);
    }

    #[test]
    fn durations_and_sizes_have_units() {
        assert_eq!(duration(59_999), "59.99 s");
        assert_eq!(duration(3_600_000), "1 h");
        assert_eq!(duration(4_500_000), "1 h 15 min");
        assert_eq!(duration(3_661_500), "1 h 01 min 01 s");
        assert_eq!(duration(2_000), "2 s");
        assert_eq!(duration(0), "0 ms");
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(kib(16 * 1024 * 1024), "16 GiB");
        assert_eq!(bytes(1536), "1.5 KiB");
    }

    #[test]
    fn a_long_state_count_is_shortened_in_its_middle() {
        let digits = "1".repeat(24_000);
        let short = shortened(&digits).expect("long");
        assert!(short.len() < 80 && short.contains("24,000 characters"), "{short}");
        assert_eq!(shortened("12"), None);
    }
}
