//! The answers of all entries to one instance, with verdicts and points, from a judgement.

use super::*;
use mcc_judge::explain::ExplainError;
use mcc_judge::shared::find;
use std::fmt;

/// The explanation of one instance in one category.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// Name of the edition.
    pub edition: String,
    /// Name of the category or track.
    pub category: String,
    /// Name of the instance.
    pub instance: String,
    /// One for each property.
    pub blocks: Vec<TaskExplanation>,
}

/// The explanation of one property of the instance.
#[derive(Debug, Serialize)]
pub struct TaskExplanation {
    /// The property to be verified (SV-COMP); empty for CRV.
    pub property: String,
    /// The expected answer; empty if it is not known.
    pub expected: String,
    /// The answers of all entries that have a run.
    pub answers: Vec<TaskAnswer>,
}

/// The answer of one entry, with verdict and points.
#[derive(Debug, Serialize)]
pub struct TaskAnswer {
    /// Name of the entry.
    pub entry: String,
    /// The answer as the results state it.
    pub answer: String,
    /// The verdict on the run.
    pub verdict: RunVerdict,
    /// The reason for the verdict; may be empty.
    pub why: String,
    /// Points, exact.
    pub points: String,
    /// The parts of the points: name (such as `correctness`) and exact points.
    pub parts: Vec<(String, String)>,
    /// What was measured of the run.
    pub measured: Vec<Measure>,
}

/// Explains an instance in a category (SV-COMP: a verification task; CRV: a benchmark in a track).
///
/// # Errors
/// The judgement does not have the category or the instance, or it has no runs of the category.
pub fn explain(judgement: &Judgement, instance: &str, category: &str) -> Result<Explanation, ExplainError> {
    let names = judgement.categories.iter().map(|category| &category.category);
    let number = find(judgement.category_word(), category, names)?;
    let here: Vec<&Block> = judgement.blocks.iter().filter(|block| block.category == number).collect();
    if here.is_empty() {
        let is_part = |part: &Category| part.parent == Some(number) || part.more_parents.contains(&number);
        let is_meta = judgement.categories.iter().any(is_part);
        return Err(ExplainError::NoBlock {
            instance: instance.to_owned(),
            examination: category.to_owned(),
            why: match judgement.edition {
                OtherEdition::Svcomp(_) if is_meta && !judgement.blocks.is_empty() => {
                    format!(": {category} is a meta category, which has no runs; give one of its parts")
                }
                OtherEdition::Svcomp(_) => ": the category was judged by its scores, without runs".to_owned(),
                OtherEdition::Crv(_) => ": the track was judged by its totals, without runs".to_owned(),
            },
        });
    }
    find(judgement.instance_word(), instance, here.iter().map(|block| &block.instance))?;
    let answer = |cell: &Cell| TaskAnswer {
        entry: judgement.entries[cell.entry].entry.clone(),
        answer: cell.answer.clone(),
        verdict: cell.verdict,
        why: cell.why.clone(),
        points: cell.points.to_string(),
        parts: judgement
            .parts
            .iter()
            .cloned()
            .zip(cell.parts.iter().map(|points| points.0.to_string()))
            .collect(),
        measured: cell.measured.clone(),
    };
    let blocks = here.iter().filter(|block| block.instance == instance).map(|block| TaskExplanation {
        property: block.property.clone(),
        expected: block.expected.clone(),
        answers: block.cells.iter().map(answer).collect(),
    });
    Ok(Explanation {
        edition: judgement.edition.name().to_owned(),
        category: category.to_owned(),
        instance: instance.to_owned(),
        blocks: blocks.collect(),
    })
}

impl Measure {
    /// The measurement with its name and unit in words. `Display` has the words of the tables.
    fn in_words(&self) -> String {
        let (name, unit) = match self.what.as_str() {
            "cpu_s" => ("CPU time", " s"),
            "time_s" => ("execution time", " s"),
            "memory_mb" => ("memory", " MB"),
            other => (other, ""),
        };
        format!("{name} {}{unit}{}", decimal(&self.mean), self.spread_text())
    }

    /// The number of experiments and their range in brackets; empty for one experiment.
    fn spread_text(&self) -> String {
        let Some((least, most)) = &self.spread else { return String::new() };
        format!(" (mean of {}, {} to {})", self.experiments, decimal(&least.0), decimal(&most.0))
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}={}{}", self.what, decimal(&self.mean), self.spread_text())
    }
}

/// Formats a number as a decimal if it has at most 19 decimals, else as a fraction.
fn decimal(number: &BigRational) -> String {
    let mut scaled = number.clone();
    for places in 0..20 {
        if scaled.is_integer() {
            let (sign, digits) = match scaled.numer().to_string().strip_prefix('-') {
                Some(digits) => ("-", digits.to_owned()),
                None => ("", scaled.numer().to_string()),
            };
            let digits = format!("{digits:0>0$}", places + 1);
            let (whole, decimals) = digits.split_at(digits.len() - places);
            return if places == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{decimals}") };
        }
        scaled *= BigRational::from_integer(10.into());
    }
    number.to_string()
}

impl fmt::Display for Explanation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { edition, category, instance, blocks } = self;
        writeln!(out, "{instance}, {category} ({edition})")?;
        for TaskExplanation { property, expected, answers } in blocks {
            let property = if property.is_empty() { String::new() } else { format!("{property}: ") };
            let expected = if expected.is_empty() { "unknown" } else { expected };
            writeln!(out, "\n{property}the right answer is {expected}\n")?;
            writeln!(out, "{:<22} {:<20} {:<14} {:<10} why", "entry", "answer", "verdict", "points")?;
            for answer in answers {
                let mut why: Vec<String> = vec![];
                why.extend((!answer.why.is_empty()).then(|| answer.why.clone()));
                let parts: Vec<String> = answer
                    .parts
                    .iter()
                    .map(|(part, points)| format!("{part} {}", shown_points(points, 6)))
                    .collect();
                why.extend((!parts.is_empty()).then(|| format!("points: {}", parts.join(", "))));
                why.extend(answer.measured.iter().map(Measure::in_words));
                let shown = if answer.answer.is_empty() { "-" } else { &answer.answer };
                let points = shown_points(&answer.points, 2);
                let line = format!(
                    "{:<22} {shown:<20} {:<14} {points:<10} {}",
                    answer.entry,
                    answer.verdict,
                    why.join("; ")
                );
                writeln!(out, "{}", line.trim_end())?;
            }
        }
        Ok(())
    }
}

/// Exact points with at most `places` decimals.
fn shown_points(exact: &str, places: u32) -> String {
    exact.parse().map_or_else(|_| exact.to_owned(), |exact| rounded(&exact, places))
}

/// Formats a number rounded to `places` decimals, half away from zero. The written files have the exact number.
pub fn rounded(number: &BigRational, places: u32) -> String {
    let scale = BigRational::from_integer(num_bigint::BigInt::from(10).pow(places));
    decimal(&((number * &scale).round() / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_numbers_print_as_they_were_written() {
        let shown = |text| decimal(&fraction::parse(text).unwrap());
        for text in ["0", "6", "0.05", "-2.5", "2.169189428", "10.5"] {
            assert_eq!(shown(text), text);
        }
        assert_eq!(shown("1/3"), "1/3");
        assert_eq!(rounded(&fraction::parse("1254/600").unwrap(), 2), "2.09");
    }
}
