//! The table of results of the contest, `raw-result-analysis.csv`: one row per run, 17 columns.
//!
//! Published tables have blanks and brackets inside a vector of answers, `DNC`, `DNF`, `CC` and `?` for a whole row, numbers
//! of 5 digits, `+Inf********` for a number that overflowed, and empty fields. Columns are found by name, so that additional
//! columns are allowed.

use super::Value;
use mcc_edition::AnswerKind;

/// The header of the table.
pub const HEADER: [&str; 17] = [
    "### tool",
    "Input",
    "Examination",
    "nb cores",
    "time flag",
    "memory flag",
    "results",
    "techniques",
    "max memory  (MB)",
    "CPU (ms)",
    "Time (ms)",
    "i/o wait (ms)",
    "Status",
    "run id",
    "flags:bonus:scores:mask",
    "estimated result",
    "# tools computing estimated results",
];

/// The index of a column. Blanks, `#` and case are ignored.
pub fn column(header: &[String], name: &str) -> Option<usize> {
    header.iter().position(|known| plain(known) == plain(name))
}

/// The name as in `HEADER`, if `column` finds it by that name.
pub(super) fn known_name(name: &str) -> Option<&'static str> {
    HEADER.into_iter().find(|known| plain(known) == plain(name))
}

fn plain(name: &str) -> String {
    let words: Vec<_> = name.split([' ', '\t', '#']).filter(|word| !word.is_empty()).collect();
    words.join(" ").to_lowercase()
}

/// The content of the column `results` of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// `DNC`: the tool did not compete.
    DidNotCompete,
    /// `CC`: the tool cannot compute a value.
    CannotCompute,
    /// `DNF`: the run reached a limit or ended without an answer.
    DidNotFinish,
    /// `?` or empty.
    Nothing,
    /// A vector of answers by position.
    Vector,
}

impl Results {
    /// Reads the column `results`. The words of a vector (`T`, `3.2057E+0008`, `?`, ...) are stored in `cells`. `values` is the
    /// number of positions of the examination.
    ///
    /// # Errors
    /// The vector has another number of answers.
    pub fn read<'a>(
        text: &'a str,
        kind: AnswerKind,
        values: usize,
        cells: &mut Vec<&'a str>,
    ) -> Result<Self, String> {
        cells.clear();
        let separator = |c: char| c.is_whitespace() || matches!(c, '(' | ')');
        match text.trim_matches(separator) {
            "DNC" => return Ok(Self::DidNotCompete),
            "CC" => return Ok(Self::CannotCompute),
            "DNF" => return Ok(Self::DidNotFinish),
            "?" | "" => return Ok(Self::Nothing),
            _ => {}
        }
        if kind == AnswerKind::Boolean {
            let letters = text.char_indices().filter(|(_, letter)| !separator(*letter));
            cells.extend(letters.map(|(at, letter)| &text[at..at + letter.len_utf8()]));
        } else {
            cells.extend(text.split(separator).filter(|word| !word.is_empty()));
        }
        match cells.len() {
            found if found == values => Ok(Self::Vector),
            found => Err(format!(
                "{found} answers, the examination has {values} positions; write one per position, `?` for \
                 none, or DNC, DNF or CC for the whole run"
            )),
        }
    }
}

/// The text form of a number of the table as in `Value`: `+Inf********` is `Inf`, `+inf` is `inf`.
pub fn spelled(cell: &str) -> &str {
    match cell.strip_prefix('+').unwrap_or(cell) {
        stars if stars.starts_with("Inf") && stars[3..].bytes().all(|byte| byte == b'*') => "Inf",
        "inf" => "inf",
        _ => cell,
    }
}

/// The form in which values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Every number with all digits; reading returns the same value.
    Exact,
    /// The form of the contest: 5 digits from 100000, `+Inf********` for numbers that overflow a double.
    Contest,
}

/// Number of digits from which the contest rounds numbers.
const ROUNDED_FROM_DIGITS: usize = 6;
/// Number of digits of the largest double, 1.8e308.
const DOUBLE_DIGITS: usize = 309;

impl Form {
    /// Formats one answer; None is `?`.
    pub fn cell(self, value: Option<&Value>) -> String {
        let Some(value) = value else { return "?".to_owned() };
        let text = value.to_string();
        match (self, value) {
            (Self::Exact, _) => text,
            (_, Value::Number(_)) if text.len() > DOUBLE_DIGITS => Self::TOO_LARGE.to_owned(),
            (_, Value::Number(_)) if text.len() >= ROUNDED_FROM_DIGITS => value.rounded().to_string(),
            (_, Value::Overflow) => Self::TOO_LARGE.to_owned(),
            // The form of the contest has no word for it.
            (_, Value::NotKept) => "?".to_owned(),
            _ => text,
        }
    }

    const TOO_LARGE: &str = "+Inf********";

    /// Formats the answers of a run.
    pub fn vector<'v>(self, values: impl Iterator<Item = Option<&'v Value>>, kind: AnswerKind) -> String {
        let separator = if kind == AnswerKind::Boolean { "" } else { " " };
        values.map(|value| self.cell(value)).collect::<Vec<_>>().join(separator)
    }
}

/// Formats KiB as MB (of 1024 KiB), with all decimals or with two as the contest does.
pub fn megabytes(kib: u64, form: Form) -> String {
    match form {
        Form::Contest => {
            let hundredths = (u128::from(kib) * 100 + 512) / 1024;
            format!("{}.{:02}", hundredths / 100, hundredths % 100)
        }
        Form::Exact => {
            // 1/1024 has 10 decimals.
            let decimals = u128::from(kib % 1024) * 10_u128.pow(10) / 1024;
            let text = format!("{}.{decimals:010}", kib / 1024);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

/// Parses a decimal number and multiplies it by `factor`, rounded half up to an integer. None for an empty text.
///
/// # Errors
/// The text is not a decimal number, or the product overflows.
pub fn decimal(text: &str, factor: u64) -> Result<Option<u64>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = || {
        let shown: String = text.chars().take(40).collect();
        format!("`{shown}` is not a number; write digits with at most one decimal point, or leave it empty")
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if whole.len() + part.len() == 0 || ![whole, part].concat().bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    // Further decimals do not change the result.
    let part = &part[..part.len().min(12)];
    let number: u128 = format!("{whole}{part}").parse().map_err(|_| wrong())?;
    let scale = 10_u128.pow(part.len() as u32);
    let scaled = number.checked_mul(u128::from(factor)).ok_or_else(wrong)?;
    let rounded = scaled.checked_add(scale / 2).ok_or_else(wrong)? / scale;
    u64::try_from(rounded).map(Some).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, kind: AnswerKind, values: usize) -> Result<(Results, Vec<&str>), String> {
        let mut cells = Vec::new();
        Results::read(text, kind, values, &mut cells).map(|results| (results, cells))
    }

    #[test]
    fn columns_are_found_by_name_regardless_of_blanks() {
        let header: Vec<String> = HEADER.map(str::to_owned).to_vec();
        assert_eq!(column(&header, "tool"), Some(0));
        assert_eq!(column(&header, "max memory (MB)"), Some(8));
        assert_eq!(column(&header, "tools computing estimated results"), Some(16));
        assert_eq!(column(&header, "wrong"), None);
    }

    #[test]
    fn vectors_are_read_through_blanks_and_brackets() {
        let boolean = |text| read(text, AnswerKind::Boolean, 6).unwrap().1.concat();
        assert_eq!(boolean("F? FTTF"), "F?FTTF");
        assert_eq!(boolean(" (TF)(??)T F "), "TF??TF");
        let numbers = read(" (12)  3.2057E+0008 ? +Inf******** ", AnswerKind::StateSpace, 4).unwrap();
        assert_eq!(numbers, (Results::Vector, vec!["12", "3.2057E+0008", "?", "+Inf********"]));
        let error = read("TF", AnswerKind::Boolean, 16).unwrap_err();
        assert!(error.contains("2 answers, the examination has 16"), "{error}");
    }

    #[test]
    fn words_for_whole_rows_are_distinguished() {
        for (text, results) in [
            ("DNC", Results::DidNotCompete),
            (" CC ", Results::CannotCompute),
            ("(DNF)", Results::DidNotFinish),
            ("?", Results::Nothing),
            ("", Results::Nothing),
            ("T", Results::Vector),
        ] {
            assert_eq!(read(text, AnswerKind::Boolean, 1).unwrap().0, results, "{text}");
        }
    }

    #[test]
    fn numbers_are_exact_or_rounded_as_in_the_contest() {
        let value = |text: &str| text.parse::<Value>().unwrap();
        let both = |text: &str| [Form::Exact, Form::Contest].map(|form| form.cell(Some(&value(text))));
        assert_eq!(both("99999"), ["99999", "99999"]);
        assert_eq!(both("320565000"), ["320565000", "3.2057E+0008"]);
        assert_eq!(both("inf"), ["inf", "inf"]);
        assert_eq!(both("Inf"), ["Inf", "+Inf********"]);
        let long = "7".repeat(24_000);
        assert_eq!(both(&long), [long.as_str(), "+Inf********"]);
        assert_eq!(Form::Contest.cell(None), "?");
        for (found, meant) in [("+Inf********", "Inf"), ("Inf", "Inf"), ("+inf", "inf"), ("+7", "+7")] {
            assert_eq!(spelled(found), meant);
        }
    }

    #[test]
    fn memory_and_times_survive_a_round_trip() {
        for kib in [0, 1, 1023, 1024, 250_000, 16_777_216, u64::MAX >> 11] {
            assert_eq!(decimal(&megabytes(kib, Form::Exact), 1024), Ok(Some(kib)));
        }
        assert_eq!(megabytes(250_000, Form::Contest), "244.14");
        assert_eq!(megabytes(250_000, Form::Exact), "244.140625");
        assert_eq!(decimal(" 12.5 ", 1), Ok(Some(13)));
        assert_eq!(decimal("", 1), Ok(None));
        assert_eq!(decimal("0.4999999999999999", 1), Ok(Some(0)));
        for wrong in [
            "-1",
            "1.2.3",
            ".",
            "1e5",
            "1.000000000000x",
            "1.000000000000.5",
            "1.00000000000é",
            "99999999999999999999999999999999999999999",
            "340282366920938463463374607.431768211455",
            "٣",
        ] {
            assert!(decimal(wrong, 1).unwrap_err().contains("is not a number"), "{wrong}");
        }
    }
}
