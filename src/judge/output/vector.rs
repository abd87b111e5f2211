//! Oracle files of total examinations: after the line with the names of instance and examination, the keyword of the
//! examination and a value for each object in the order of definition, wrapped at 80 columns. `T`, `F` or `?` of transitions
//! and places are not separated; a bound is a number, `inf` or `?`, separated by white space.

use super::oracle::{GoodLines, OracleError};
use mcc_base::OnFile;
use mcc_campaign::benchkit::Value;
use mcc_model::Total;
use std::io::Read;
use std::path::Path;

/// Number of columns of a line.
const COLUMNS: usize = 80;
/// Longest file that is read.
const MAX_BYTES: u64 = 64 << 20;

/// Largest number of wrong values that are listed.
const MAX_BAD: usize = 1000;

/// Reads the vector of `objects` values. A wrong value is a bad line, and counts as `?`; a wrong number of values too, and then
/// no value counts.
pub(super) fn read(
    source: impl Read,
    path: &Path,
    total: &Total,
    objects: usize,
) -> Result<GoodLines, OracleError> {
    let mut text = String::new();
    source.take(MAX_BYTES).read_to_string(&mut text).on("read", path)?;
    let bad_line = |line, message| OracleError::Line { path: path.to_owned(), line, message };
    let (mut values, mut bad) = (Vec::new(), Vec::new());
    // Values that have no object, and wrong ones that are not listed, take no memory.
    let (mut given, mut unlisted) = (0_usize, 0_usize);
    let mut lines = (2..).zip(text.lines().skip(1));
    let first = lines.next().map_or("", |(_, line)| line.trim_start());
    let Some(rest) = first.strip_prefix(total.keyword) else {
        let message = format!("the second line of {} begins with {}", total.examination, total.keyword);
        return Ok((vec![None; objects], vec![bad_line(2, message)]));
    };
    for (number, line) in [(2, rest)].into_iter().chain(lines) {
        let mut add = |word: &str| {
            let value = match word {
                "?" => Some(None),
                "T" | "F" if !total.is_number() => word.parse().ok().map(Some),
                _ if total.is_number() => match word.parse() {
                    Ok(value @ (Value::Number(_) | Value::Infinite)) => Some(Some(value)),
                    _ => None,
                },
                _ => None,
            };
            if value.is_none() && bad.len() == MAX_BAD {
                unlisted += 1;
            } else if value.is_none() {
                let shown: String = word.chars().take(60).collect();
                bad.push(bad_line(number, format!("`{shown}` is not a value of {}", total.examination)));
            }
            given += 1;
            if given <= objects {
                values.push(value.flatten());
            }
        };
        if total.is_number() {
            line.split_whitespace().for_each(add);
        } else {
            let mut buffer = [0; 4];
            line.chars().filter(|c| !c.is_whitespace()).for_each(|c| add(c.encode_utf8(&mut buffer)));
        }
    }
    let last = text.lines().count().max(1) as u64;
    if unlisted > 0 {
        let message = format!("{unlisted} further wrong values of {} are not listed", total.examination);
        bad.push(bad_line(last, message));
    }
    if given != objects {
        let message = format!("{given} values, but the instance has {objects} objects");
        bad.push(bad_line(last, message));
        values = vec![None; objects];
    }
    Ok((values, bad))
}

/// The oracle file of a total examination on an instance.
pub fn text(instance: &str, total: &Total, values: &[Option<Value>]) -> String {
    let mut text = format!("{instance} {}\n{}\n", total.examination, total.keyword);
    let separator = if total.is_number() { " " } else { "" };
    let mut column = 0;
    for value in values {
        let word = value.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string);
        if column > 0 && column + separator.len() + word.len() > COLUMNS {
            text.push('\n');
            column = 0;
        }
        if column > 0 {
            text += separator;
            column += separator.len();
        }
        column += word.len();
        text += &word;
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_model::{QUASI_LIVENESS_ALL, UPPER_BOUNDS_ALL};

    fn values(total: &Total, text: &str, objects: usize) -> (String, Vec<String>) {
        let (values, bad) = read(text.as_bytes(), Path::new("o"), total, objects).unwrap();
        let shown = |value: &Option<Value>| value.as_ref().map_or("?".to_owned(), Value::to_string);
        (
            values.iter().map(shown).collect::<Vec<_>>().join(" "),
            bad.iter().map(ToString::to_string).collect(),
        )
    }

    // Synthetic: written from the description of the format, not by ITS-Tools.
    #[test]
    fn a_vector_reads_back_as_written_in_lines_of_80_columns() {
        for (total, given) in [
            (&QUASI_LIVENESS_ALL, ["T", "F", "?", "T", "T", "?", "F"].repeat(60)),
            (&UPPER_BOUNDS_ALL, ["0", "inf", "?", "18446744073709551616", "7"].repeat(60)),
        ] {
            let given: Vec<Option<Value>> = given.iter().map(|word| word.parse().ok()).collect();
            let text = text("Example-PT-1", total, &given);
            assert!(text.lines().all(|line| line.len() <= COLUMNS), "{text}");
            assert!(text.lines().filter(|line| line.len() > 55).count() > 4, "{text}");
            let (read, bad) = read(text.as_bytes(), Path::new("o"), total, given.len()).unwrap();
            assert_eq!((read, bad.len()), (given, 0));
        }
    }

    #[test]
    fn white_space_and_values_in_the_line_of_the_keyword_are_read() {
        assert_eq!(
            values(&QUASI_LIVENESS_ALL, "E-PT-1 QuasiLivenessAll\nQLIVE TF\n ?\r\n T", 4).0,
            "T F ? T"
        );
        assert_eq!(values(&UPPER_BOUNDS_ALL, "E-PT-1 UpperBoundsAll\nBOUND\n1  inf\n\n?\n", 3).0, "1 inf ?");
        assert_eq!(values(&UPPER_BOUNDS_ALL, "E-PT-1 UpperBoundsAll\nBOUND\n", 0), (String::new(), vec![]));
    }

    #[test]
    fn of_many_wrong_values_the_first_are_listed_and_the_others_counted() {
        let text = format!("i\nQLIVE\n{}", "X".repeat(MAX_BAD + 7));
        let (read, bad) = values(&QUASI_LIVENESS_ALL, &text, 2);
        assert_eq!((read.as_str(), bad.len()), ("? ?", MAX_BAD + 2));
        assert!(bad[MAX_BAD].contains("7 further wrong values of QuasiLivenessAll"), "{bad:?}");
        assert!(bad[MAX_BAD + 1].contains("1007 values, but the instance has 2 objects"), "{bad:?}");
    }

    #[test]
    fn a_bad_vector_has_its_line_and_gives_no_wrong_value() {
        for (total, text, known, problem) in [
            (&QUASI_LIVENESS_ALL, "i\nQLIVE\nTX", "T ?", "o:3: `X` is not a value of QuasiLivenessAll"),
            (
                &QUASI_LIVENESS_ALL,
                "i\nSTABLE\nTT",
                "? ?",
                "o:2: the second line of QuasiLivenessAll begins with QLIVE",
            ),
            (&QUASI_LIVENESS_ALL, "i\nQLIVE\nTTT", "? ?", "o:3: 3 values, but the instance has 2 objects"),
            (&QUASI_LIVENESS_ALL, "", "? ?", "o:2: the second line"),
            (&UPPER_BOUNDS_ALL, "i\nBOUND\n1 -1", "1 ?", "o:3: `-1` is not a value of UpperBoundsAll"),
            (&UPPER_BOUNDS_ALL, "i\nBOUND\n1 T", "1 ?", "o:3: `T` is not"),
            (&UPPER_BOUNDS_ALL, "i\nBOUND\n1 2.0000E+0009", "1 ?", "o:3: `2.0000E+0009` is not"),
        ] {
            let (read, bad) = values(total, text, 2);
            assert_eq!(read, known, "{text}");
            assert!(bad[0].contains(problem), "{text}: {bad:?}");
        }
    }
}
