//! Numbers, words, columns and lines of text for display. Exact numbers are in the files and in `--format json`.

use crate::judgement::{Basis, Ending, Status};
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};
use std::fmt;

/// `Inf` of a table (not `inf`) in words. Programs write it for an infinite number, too.
pub const OVERFLOW: &str = "Inf (infinite, or a number too large to be written)";

/// A value as text: `T` and `F` as `TRUE` and `FALSE`; `Inf` in words; of a value of more than 14 characters the first 5 and last 3 digits
/// and their count.
pub fn short(value: &str) -> String {
    match (value, value.len()) {
        ("T", _) => "TRUE".to_owned(),
        ("F", _) => "FALSE".to_owned(),
        ("X", _) => "X (a value that the judged table does not state)".to_owned(),
        ("Inf", _) => OVERFLOW.to_owned(),
        (_, 0..=14) => value.to_owned(),
        (_, length) => format!("{}..{} ({length} digits)", &value[..5], &value[length - 3..]),
    }
}

/// Writes a fraction as a decimal with 6 places. An integer, and a text that is not a fraction, stay as they are.
pub fn six_decimals(fraction: &str) -> String {
    let number = fraction.parse::<BigRational>().ok().filter(|number| !number.is_integer());
    number.and_then(|number| number.to_f64()).map_or(fraction.to_owned(), |number| format!("{number:.6}"))
}

/// Writes a fraction as `six_decimals` does, followed by the exact fraction unless that is long.
pub fn approximate(fraction: &str) -> String {
    let decimals = six_decimals(fraction);
    // A sum of confidences can have a denominator of many digits, too long for a line.
    if decimals == fraction || fraction.len() > 24 { decimals } else { format!("{decimals} ({fraction})") }
}

/// Writes points with two decimals, rounded half away from zero.
pub fn decimals(points: &BigRational) -> String {
    with_places(points, 2)
}

/// Writes points before and after a change, and their difference, with at least two decimals and as many as show that they
/// differ. Missing points are `-` and count as 0.
pub fn changed_decimals(before: Option<&BigRational>, after: Option<&BigRational>) -> [String; 3] {
    let shown = |places| [before, after].map(|points| points.map(|points| with_places(points, places)));
    let differ = |places: &u32| shown(*places)[0] != shown(*places)[1];
    let places = if before == after { 2 } else { (2..).find(differ).unwrap_or(2) };
    let [points_before, points_after] = shown(places).map(|shown| shown.unwrap_or_else(|| "-".to_owned()));
    let difference = after.cloned().unwrap_or_default() - before.cloned().unwrap_or_default();
    [points_before, points_after, with_places(&difference, places)]
}

/// Writes points with `places` decimals (at least one), rounded half away from zero.
fn with_places(points: &BigRational, places: u32) -> String {
    let scale = BigRational::from_integer(BigInt::from(10u32).pow(places));
    let scaled = (points * scale).round().to_integer();
    let (sign, digits) =
        if scaled < 0.into() { ("-", (-scaled).to_string()) } else { ("", scaled.to_string()) };
    let places = places as usize;
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, decimals) = digits.split_at(digits.len() - places);
    format!("{sign}{whole}.{decimals}")
}

/// The difference of two numbers that are shown with `places` decimals: that of the shown numbers, so that a reader who
/// subtracts them gets it. The exact difference, rounded, can differ from it in the last decimal.
pub fn shown_difference(greater: &BigRational, less: &BigRational, places: u32) -> BigRational {
    let scale = BigRational::from_integer(BigInt::from(10u32).pow(places));
    let [greater, less] = [greater, less].map(|number| (number * &scale).round() / &scale);
    greater - less
}

/// A share of one as a percentage, truncated after the third decimal: only a share of 1 is shown as 100 %.
pub fn percent(share: &BigRational) -> String {
    let thousandths = (share * BigRational::from_integer(100_000.into())).floor().to_integer();
    let (whole, rest) = thousandths.div_rem(&BigInt::from(1000));
    if rest.is_zero() { format!("{whole} %") } else { format!("{whole}.{rest:0>3} %") }
}

/// The singular for a count of 1, else the plural.
pub fn plural(count: u64, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// The status of an entry as text; empty for a competing one.
pub fn status_text(status: Status) -> &'static str {
    match status {
        Status::Competing => "",
        Status::VotingOnly => "votes only",
        Status::Virtual => "virtual entry of the contest",
        Status::OutOfCompetition => "out of competition",
        Status::Withdrawn => "withdrawn",
        Status::Resigned => "resigned",
    }
}

/// The status of any entry in words.
pub fn status_words(status: Status) -> &'static str {
    if status == Status::Competing { "competing" } else { status_text(status) }
}

/// Returns the basis of a trusted value in words, as they are in columns with the heading `How decided`.
pub fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Unanimous => "unanimous",
        Basis::Single => "by one vote only",
        Basis::Majority => "by majority",
        Basis::Confidence => "by higher confidence",
        Basis::UnknownNone => "unknown: no vote",
        Basis::UnknownSingle => "unknown: one vote",
        Basis::UnknownTie => "unknown: a tie",
        Basis::UnknownSplit => "unknown: no majority",
        Basis::Override => "set by the organizers",
    }
}

/// The basis of a trusted value in words, beside a value that is itself shown as unknown.
pub fn basis_beside_value(basis: Basis) -> &'static str {
    let words = self::basis(basis);
    words.strip_prefix("unknown: ").unwrap_or(words)
}

/// Every ending with its code in the cells of tables and its text, in the order of the legend. The code is empty for an
/// answer and where the source does not state the ending. Every ending has its own number and text (promise R6).
pub const ENDINGS: [(Ending, &str, &str); 13] = [
    (Ending::Answered, "", "answered"),
    (Ending::DidNotCompete, "DNC", "did not compete"),
    (Ending::CannotCompute, "CC", "cannot compute"),
    (Ending::NoAnswer, "NONE", "no well-formed answer"),
    (Ending::CpuLimit, "CPU", "stopped at the CPU-time limit"),
    (Ending::WallLimit, "WALL", "stopped at the wall-clock limit"),
    (Ending::MemoryLimit, "MEM", "killed for lack of memory"),
    (Ending::OutputLimit, "OUT", "stopped at the output limit"),
    (Ending::DiskLimit, "DISK", "stopped at the disk limit"),
    (Ending::InstructionLimit, "INSTR", "stopped at the instruction limit"),
    (Ending::ToolCrash, "CRASH", "tool crashed"),
    (Ending::Infrastructure, "INFRA", "infrastructure failure, or not run yet; not scored"),
    (Ending::NotStated, "", "not stated in the judged table"),
];

/// The ending of a run that was made in words.
pub fn ending(ending: Ending) -> &'static str {
    if ending == Ending::Infrastructure {
        return "infrastructure failure; not scored";
    }
    let found = ENDINGS.iter().find(|(known, ..)| *known == ending);
    found.map(|(_, _, words)| *words).expect("ENDINGS has every ending")
}

/// Writes rows as columns that are as wide as their widest cell, with two blanks between them. The columns whose
/// numbers are in `right` are aligned to the right. A line does not end with blanks.
pub fn columns(rows: &[Vec<String>], right: &[usize]) -> String {
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..).map_while(width).collect();
    let mut text = String::new();
    for row in rows {
        let cell = |(column, cell): (usize, &String)| {
            // The largest width that can be formatted.
            let width = widths[column].min(u16::MAX.into());
            if right.contains(&column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        };
        let line: Vec<String> = row.iter().enumerate().map(cell).collect();
        text += line.join("  ").trim_end();
        text.push('\n');
    }
    text
}

/// Writes the first of `all` rows as indented columns, and the number of the others.
pub(crate) fn first_rows(
    out: &mut fmt::Formatter<'_>,
    rows: &[Vec<String>],
    right: &[usize],
    all: usize,
) -> fmt::Result {
    columns(rows, right).lines().try_for_each(|line| writeln!(out, "  {line}"))?;
    match all - rows.len() {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more; --format json lists all"),
    }
}

/// Wraps words into lines of at most `width` characters; lines after the first are indented by `indent` blanks. A
/// longer word has a line of its own.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is at least one line");
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_short_and_rounded_half_away_from_zero() {
        assert_eq!(short(&"7".repeat(24_000)), "77777..777 (24000 digits)");
        assert_eq!(short("4000000000"), "4000000000");
        assert_eq!([short("T"), short("F")], ["TRUE", "FALSE"]);
        assert_eq!(
            (approximate("-110/663"), approximate("12")),
            ("-0.165913 (-110/663)".into(), "12".into())
        );
        let shown = |n: i64, d: i64| decimals(&BigRational::new(n.into(), d.into()));
        assert_eq!(
            [shown(1, 200), shown(-1, 200), shown(7, 1), shown(-1, 3)],
            ["0.01", "-0.01", "7.00", "-0.33"]
        );
    }

    #[test]
    fn a_confidence_below_one_is_never_shown_as_100_percent() {
        let shown = |n: i64, d: i64| percent(&BigRational::new(n.into(), d.into()));
        assert_eq!(shown(999_999_999, 1_000_000_000), "99.999 %");
        assert_eq!([shown(1, 1), shown(97, 100), shown(1, 200)], ["100 %", "97 %", "0.500 %"]);
    }

    #[test]
    fn a_shown_difference_is_that_of_the_shown_numbers() {
        let [first, second] = [1_518_607, 1_509_254].map(|n: i64| BigRational::new(n.into(), 1000.into()));
        let lead = decimals(&shown_difference(&first, &second, 2));
        assert_eq!([decimals(&first), decimals(&second), lead], ["1518.61", "1509.25", "9.36"]);
        // Rounded, the exact difference would be 9.35.
        assert_eq!(decimals(&(first - second)), "9.35");
        let points = |n: i64, d: i64| BigRational::new(n.into(), d.into());
        for (before, after, expected) in [
            (points(75_693, 10_000), points(75_699, 10_000), ["7.569", "7.570", "0.001"]),
            (points(-1, 100_000), points(0, 1), ["-0.00001", "0.00000", "0.00001"]),
            (points(8, 1), points(-16, 1), ["8.00", "-16.00", "-24.00"]),
            (points(1, 3), points(1, 3), ["0.33", "0.33", "0.00"]),
        ] {
            assert_eq!(changed_decimals(Some(&before), Some(&after)), expected);
        }
        assert_eq!(changed_decimals(None, Some(&points(-7, 3))), ["-", "-2.33", "-2.33"]);
    }

    #[test]
    fn columns_are_as_wide_as_needed_and_words_are_wrapped() {
        let rows = [["tool", "points"], ["a", "7.00"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(columns(&rows, &[1]), "tool  points\na       7.00\n");
        assert_eq!(wrapped("behind it: a bb ccc dddd", 14, 2), "behind it: a\n  bb ccc dddd");
    }
}
