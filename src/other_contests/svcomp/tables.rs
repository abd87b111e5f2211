//! Reads the tables of SV-COMP: scores by tool and category, scores with sub-categories as columns, categories.

use super::results::GivenScore;
use mcc_base::names::check_name;
use mcc_campaign::benchkit::published::{Table, TableError};
use mcc_edition::svcomp::{Category, check_categories};
use mcc_judge::shared::optional_number;
use num_rational::BigRational;
use std::path::Path;

/// The header of a table of scores.
pub(super) const SCORES: [&str; 5] = ["tool", "category", "opted_out", "score", "success_cpu_s"];

/// Limit for the number of categories. More indicate that the column does not hold categories.
const MAX_CATEGORIES: usize = 1000;

fn line(row: &csv::StringRecord) -> u64 {
    row.position().map_or(0, csv::Position::line)
}

/// The longest number of a table.
const MAX_NUMBER_BYTES: usize = 20;

/// The number of a column; None for an empty field or a dash.
fn number(column: &str, text: &str) -> Result<Option<BigRational>, String> {
    let text = text.trim_ascii();
    // Scores of meta categories are sums over all of their parts, exact: denominators must not multiply.
    if text.len() > MAX_NUMBER_BYTES || text.contains('/') {
        let shown: String = text.chars().take(60).collect();
        return Err(format!(
            "column {column}: `{shown}` is not a decimal number of at most {MAX_NUMBER_BYTES} characters; write one such as \
             24 or 2.5"
        ));
    }
    optional_number(column, text, &["", "-", "\u{2014}"], "24 or 2.5, or leave it empty")
}

/// Reads a table `tool,category,opted_out,score,success_cpu_s`. A score with `yes` in `opted_out` is hidden: it counts in
/// the meta category only. Adds unknown categories if `categories` is empty.
pub(super) fn read_scores(
    path: &Path,
    categories: &mut Vec<Category>,
) -> Result<Vec<GivenScore>, TableError> {
    let mut table = Table::open(path)?;
    let all_known = !categories.is_empty();
    let mut given = Vec::new();
    table.each_row(|row| {
        let (entry, category) = (row[0].trim_ascii(), row[1].trim_ascii());
        if entry.is_empty() || category.is_empty() {
            return Err("tool and category must not be empty".to_owned());
        }
        check_name("the tool", entry).map_err(|bad| format!("column tool: {bad}"))?;
        check_name("the category", category).map_err(|bad| format!("column category: {bad}"))?;
        if !categories.iter().any(|known| known.name == category) {
            if all_known || categories.len() == MAX_CATEGORIES {
                let known: Vec<&str> = categories.iter().take(40).map(|known| known.name.as_str()).collect();
                return Err(format!("no category `{category}`; there are {}", known.join(", ")));
            }
            categories.push(Category::named(category));
        }
        let opted_out = match row[2].trim_ascii() {
            "yes" => true,
            "no" => false,
            other => return Err(format!("column opted_out: `{other}`; allowed are yes, no")),
        };
        let score = number("score", &row[3])?;
        let success_cpu_s = number("success_cpu_s", &row[4])?;
        if score.is_none() && !opted_out {
            return Err(format!("{entry} has no score in {category}; write one, or yes in column opted_out"));
        }
        given.push(GivenScore {
            entry: entry.to_owned(),
            category: category.to_owned(),
            opted_out,
            score,
            success_cpu_s,
            path: path.to_owned(),
            line: line(row),
        });
        Ok(())
    })?;
    Ok(given)
}

/// Reads a table `tool,A,B`: the scores in the sub-categories with the names `A` and `B`, or with names that end in `-A`
/// and `-B`.
pub(super) fn read_wide(path: &Path, categories: &[Category]) -> Result<Vec<GivenScore>, TableError> {
    let mut table = Table::open(path)?;
    let mut columns = Vec::new();
    for column in &table.header()[1..] {
        let ending = format!("-{column}");
        let fitting: Vec<&Category> = categories
            .iter()
            .filter(|category| category.name == *column || category.name.ends_with(&ending))
            .collect();
        match fitting.as_slice() {
            [category] => columns.push(category.name.clone()),
            _ => {
                let found = match fitting.len() {
                    0 => format!("no category is named `{column}` or ends in `{ending}`"),
                    several => format!("{several} categories end in `{ending}`"),
                };
                let expected = format!(
                    "tool and names of sub-categories of SV-COMP; {found} (results of another contest need the --edition \
                     of that contest)"
                );
                return Err(table.wrong_header(expected));
            }
        }
    }
    let mut given = Vec::new();
    table.each_row(|row| {
        let entry = row[0].trim_ascii();
        if entry.is_empty() {
            return Err("tool must not be empty".to_owned());
        }
        check_name("the tool", entry).map_err(|bad| format!("column tool: {bad}"))?;
        for (column, category) in columns.iter().enumerate() {
            let Some(score) = number(category, &row[column + 1])? else { continue };
            given.push(GivenScore {
                entry: entry.to_owned(),
                category: category.clone(),
                opted_out: false,
                score: Some(score),
                success_cpu_s: None,
                path: path.to_owned(),
                line: line(row),
            });
        }
        Ok(())
    })?;
    Ok(given)
}

/// Reads a table of categories: the columns `category`, `tasks`, `parent` and, optionally, `new` (yes, no), in any order
/// and among others.
pub(super) fn read_categories(path: &Path) -> Result<Vec<Category>, TableError> {
    let mut table = Table::open(path)?;
    let column = |name: &str| table.header().iter().position(|known| known == name);
    let (Some(name), Some(tasks), Some(parent)) = (column("category"), column("tasks"), column("parent"))
    else {
        return Err(table.wrong_header("the columns category, tasks and parent among others"));
    };
    let new = column("new");
    let (mut categories, mut lines) = (Vec::new(), Vec::new());
    table.each_row(|row| {
        let tasks = match row[tasks].trim_ascii() {
            "" => None,
            text => Some(text.parse().map_err(|_| {
                format!("column tasks: `{text}` is not a number of tasks; write 1 or more, or leave it empty")
            })?),
        };
        let new = match new.map(|new| row[new].trim_ascii()) {
            None | Some("no" | "") => false,
            Some("yes") => true,
            Some(other) => return Err(format!("column new: `{other}`; allowed are yes, no")),
        };
        if !row[name].trim_ascii().is_empty() {
            check_name("the category", row[name].trim_ascii())
                .map_err(|bad| format!("column category: {bad}"))?;
        }
        let parents = Some(row[parent].trim_ascii().to_owned()).filter(|parent| !parent.is_empty());
        let parents = parents.into_iter().collect();
        categories.push(Category { parents, tasks, new, ..Category::named(row[name].trim_ascii()) });
        lines.push(line(row));
        if categories.len() > MAX_CATEGORIES {
            Err(format!("more than {MAX_CATEGORIES} categories"))
        } else {
            Ok(())
        }
    })?;
    match check_categories(&categories) {
        Ok(()) => Ok(categories),
        Err((at, message)) => Err(TableError::Row { path: path.to_owned(), line: lines[at], message }),
    }
}
