//! The pages of one tool, one model and one year in the site of several years.

use super::ReportError;
use super::contest::Frame;
use super::show::{self, visible};
use super::site::NewSite;
use super::years::{self, Counts, Family, ToolYear, Year, YearTable, tools};
use askama::Template;
use mcc_base::names::file_names;
use std::collections::{BTreeMap, BTreeSet};

/// How many of the hardest models the page of a year lists.
const HARDEST: usize = 20;

/// The paths of the pages, by the names of tools, models and years. Not by the shown names, which can be equal.
pub struct Pages {
    tools: BTreeMap<String, String>,
    models: BTreeMap<String, String>,
    years: BTreeMap<String, String>,
}

impl Pages {
    pub fn new(years: &[Year]) -> Self {
        let paths = |folder: &str, names: &[&str]| {
            let files = file_names(names.iter().copied());
            let path = |(name, file): (&&str, String)| ((*name).to_owned(), format!("{folder}/{file}.html"));
            names.iter().zip(files).map(path).collect()
        };
        let models: BTreeSet<&str> =
            years.iter().flat_map(|year| year.families.keys().map(String::as_str)).collect();
        Self {
            tools: paths("tools", &tools(years)),
            models: paths("models", &models.into_iter().collect::<Vec<_>>()),
            years: paths("years", &years.iter().map(|year| year.name.as_str()).collect::<Vec<_>>()),
        }
    }

    pub fn tool(&self, name: &str) -> String {
        self.tools[name].clone()
    }

    pub fn model(&self, name: &str) -> String {
        self.models[name].clone()
    }

    pub fn year(&self, year: &Year) -> String {
        self.years[&year.name].clone()
    }
}

/// A text with the path of the page that it links to; an empty path is no link.
type Link = (String, String);

/// A table of a page.
struct Table {
    caption: String,
    heads: Vec<String>,
    rows: Vec<(Link, Vec<String>)>,
    /// The columns of words, which are written from the left; those of figures end at the right.
    texts: Vec<usize>,
}

impl Table {
    /// Whether a column has words. The first column has the names of rows.
    fn is_text(&self, column: &usize) -> bool {
        self.texts.contains(column)
    }
}

#[derive(Template)]
#[template(path = "years_part.html")]
struct PartPage {
    frame: Frame,
    name: String,
    /// What the page is about, beside the name.
    about: String,
    lead: String,
    tables: Vec<Table>,
    /// Paragraphs below the tables.
    notes: Vec<String>,
}

/// The frame of a page of this site.
pub fn frame(title: &str, root: &'static str) -> Frame {
    let contest = "Model Checking Contest, years side by side".to_owned();
    Frame { root, ..Frame::top(title, contest, env!("CARGO_PKG_VERSION")) }
}

/// Writes the page of each tool, model and year.
///
/// # Errors
/// A page cannot be written.
pub fn write(years: &[Year], tables: &[YearTable], pages: &Pages, site: &NewSite) -> Result<(), ReportError> {
    for name in tools(years) {
        site.page(&pages.tool(name), &tool_page(years, tables, pages, name))?;
    }
    let hardness: Vec<BTreeMap<&str, usize>> = years.iter().map(ranks).collect();
    let models: BTreeSet<&String> = years.iter().flat_map(|year| year.families.keys()).collect();
    for name in models {
        site.page(&pages.model(name), &model_page(years, &hardness, pages, name))?;
    }
    for (year, ranks) in years.iter().zip(&hardness) {
        site.page(&pages.year(year), &year_page(year, ranks, pages))?;
    }
    Ok(())
}

/// The rank of each model of a year by the share of its values that are solved, the least share first.
fn ranks(year: &Year) -> BTreeMap<&str, usize> {
    let by_share = |a: &Counts, b: &Counts| {
        let [a, b] =
            [(a.solved, b.all), (b.solved, a.all)].map(|(solved, all)| u128::from(solved) * u128::from(all));
        a.cmp(&b)
    };
    // Only shares have an order, so a model without values is before no other.
    let mut sorted: Vec<&Counts> =
        year.families.values().map(|family| &family.counts).filter(|counts| counts.all > 0).collect();
    sorted.sort_by(|a, b| by_share(a, b));
    let rank = |counts| 1 + sorted.partition_point(|other| by_share(other, counts).is_lt());
    year.families.iter().map(|(name, family)| (name.as_str(), rank(&family.counts))).collect()
}

fn link(name: &str, path: &str) -> Link {
    (visible(name), if path.is_empty() { String::new() } else { format!("../{path}") })
}

fn heads<const N: usize>(heads: [&str; N]) -> Vec<String> {
    heads.map(str::to_owned).to_vec()
}

fn percent(counts: &Counts, part: u64) -> String {
    let share = counts.share(part);
    if share.is_empty() { share } else { share + "\u{a0}%" }
}

/// The page of one tool: a row for each year in which it competed, with the columns of the tables of tools.
fn tool_page(years: &[Year], tables: &[YearTable], pages: &Pages, name: &str) -> PartPage {
    let shown = visible(name);
    let tables: Vec<&YearTable> = tables.iter().filter(|table| table.row == "Tool").collect();
    let cells = |at: usize| -> Vec<String> {
        let row = |table: &&YearTable| {
            let cell = table.rows.iter().find(|(known, _)| known == name).map(|(_, cells)| &cells[at]);
            cell.map_or_else(String::new, |cell| {
                let note = match (table.id, years[at].tools.get(name)) {
                    // The points of each category have a table of their own, wrong values a column.
                    ("points", _) => String::new(),
                    ("tools", Some(tool)) => show::counted(tool.right, "value", "values"),
                    _ => cell.note.clone(),
                };
                let parts = [cell.text.as_str(), note.as_str()];
                parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
            })
        };
        tables.iter().map(row).collect()
    };
    let rows =
        years.iter().enumerate().map(|(at, year)| (link(&year.shown_name(), &pages.year(year)), cells(at)));
    let titles = ["Year", "Right values"].into_iter().chain(tables.iter().skip(1).map(|table| table.title));
    let names = other_names(years, name);
    let submitted = submitted_names(years, name);
    let other = if names.is_empty() { names } else { format!("Other names of this tool: {names}.") };
    let lead = [submitted, other].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let has_words = |table: &&YearTable| ["medals", "cpu"].contains(&table.id);
    let texts = (1..).zip(&tables).filter(|(_, table)| has_words(table)).map(|(column, _)| column).collect();
    let explained = tables.iter().filter(|table| ["points", "cpu"].contains(&table.id));
    PartPage {
        frame: frame(&shown, "../"),
        about: "over the years".into(),
        lead,
        notes: explained.map(|table| format!("{}: {}", table.title, table.text)).collect(),
        tables: vec![
            Table {
                caption: format!("{shown} by year"),
                heads: titles.map(str::to_owned).collect(),
                rows: rows.filter(|(_, cells)| cells.iter().any(|cell| !cell.is_empty())).collect(),
                texts,
            },
            points_table(years, pages, name),
        ],
        name: shown,
    }
}

/// The points of a tool in each category, by year.
fn points_table(years: &[Year], pages: &Pages, name: &str) -> Table {
    let own: Vec<(&Year, &ToolYear)> =
        years.iter().filter_map(|year| Some((year, year.tools.get(name)?))).collect();
    let mut categories: Vec<&str> = Vec::new();
    for (category, _) in own.iter().flat_map(|(_, tool)| &tool.points) {
        if !categories.contains(&category.as_str()) {
            categories.push(category);
        }
    }
    let row = |(year, tool): &(&Year, &ToolYear)| {
        let points = |category: &&str| {
            let own = tool.points.iter().find(|(known, _)| known == category);
            own.map_or_else(String::new, |(_, points)| show::points(points))
        };
        let cells =
            categories.iter().map(points).chain([visible(&years::setting_words(&year.unknown))]).collect();
        (link(&year.shown_name(), &pages.year(year)), cells)
    };
    let texts = vec![categories.len() + 1];
    let heads = ["Year"].into_iter().chain(categories.iter().copied()).chain(["Settings not published"]);
    Table {
        caption:
            "Points by category; the last column lists settings for points that the contest did not publish"
                .into(),
        heads: heads.map(visible).collect(),
        rows: own.iter().map(row).collect(),
        texts,
    }
}

/// The names under which a tool was submitted in these years, as a sentence; empty if it had one name only.
fn submitted_names(years: &[Year], name: &str) -> String {
    let mut of_names: Vec<(&str, Vec<String>)> = Vec::new();
    for (year, tool) in years.iter().filter_map(|year| Some((year, year.tools.get(name)?))) {
        let submitted = tool.submitted.as_deref().unwrap_or(name);
        match of_names.iter_mut().find(|(known, _)| *known == submitted) {
            Some((_, years)) => years.push(year.shown_name()),
            None => of_names.push((submitted, vec![year.shown_name()])),
        }
    }
    if of_names.len() < 2 {
        return String::new();
    }
    let part = |(name, years): &(&str, Vec<String>)| format!("as {} in {}", visible(name), years.join(", "));
    format!("Submitted {}.", of_names.iter().map(part).collect::<Vec<_>>().join("; "))
}

/// The other names of a tool in the editions of these years, without those under which it was submitted in them.
fn other_names(years: &[Year], name: &str) -> String {
    let names = years
        .iter()
        .flat_map(|year| year.aliases.iter())
        .filter(|(known, names)| known.as_str() == name || names.iter().any(|other| other == name));
    let all = names.flat_map(|(known, names)| std::iter::once(known).chain(names));
    let is_submitted = |other: &String| {
        let mut tools = years.iter().filter_map(|year| year.tools.get(name));
        other == name || tools.any(|tool| tool.submitted.as_ref() == Some(other))
    };
    let other: BTreeSet<String> =
        all.filter(|other| !is_submitted(other)).map(|other| visible(other)).collect();
    other.into_iter().collect::<Vec<_>>().join(", ")
}

/// The page of a model: how hard it was in each year, who solves it and since when.
fn model_page(years: &[Year], hardness: &[BTreeMap<&str, usize>], pages: &Pages, name: &str) -> PartPage {
    let used: Vec<(&Year, &Family, usize)> = years
        .iter()
        .zip(hardness)
        .filter_map(|(year, ranks)| Some((year, year.families.get(name)?, *ranks.get(name)?)))
        .collect();
    let by_year = used.iter().map(|(year, Family { counts, instances, .. }, rank)| {
        let cells = vec![
            show::thousands(*instances),
            show::thousands(counts.all),
            percent(counts, counts.solved),
            format!("{rank} of {}", year.families.len()),
            counts.right_per_value(),
            show::thousands(counts.disagreements),
        ];
        (link(&year.shown_name(), &pages.year(year)), cells)
    });
    // The tools with the most right values in the last year come first.
    let mut solvers: Vec<(&str, Vec<Option<[u64; 2]>>)> = Vec::new();
    for tool in tools(years) {
        let of_year = |(_, family, _): &(&Year, &Family, usize)| family.tools.get(tool).copied();
        let counts: Vec<Option<[u64; 2]>> = used.iter().map(of_year).collect();
        if counts.iter().any(Option::is_some) {
            solvers.push((tool, counts));
        }
    }
    let right_last = |counts: &[Option<[u64; 2]>]| {
        counts.iter().rev().map(|counts| counts.map_or(0, |[right, _]| right)).collect::<Vec<_>>()
    };
    solvers.sort_by_key(|(_, counts)| std::cmp::Reverse(right_last(counts)));
    let solver_row = |(tool, counts): &(&str, Vec<Option<[u64; 2]>>)| {
        let since = counts.iter().position(|counts| counts.is_some_and(|[right, _]| right > 0));
        let since = since.map_or("never".to_owned(), |at| used[at].0.shown_name());
        let cell = |(counts, (year, family, _)): (&Option<[u64; 2]>, &(&Year, &Family, usize))| {
            let counts = counts.or_else(|| year.tools.contains_key(*tool).then_some([0, 0]));
            counts.map_or(String::new(), |[right, wrong]| {
                let wrong =
                    if wrong == 0 { String::new() } else { format!(", {} wrong", show::thousands(wrong)) };
                percent(&family.counts, right) + &wrong
            })
        };
        let cells = std::iter::once(since).chain(counts.iter().zip(&used).map(cell)).collect();
        (link(tool, &pages.tool(tool)), cells)
    };
    let lead = used.last().map_or(String::new(), |(year, Family { counts, .. }, rank)| {
        format!(
            "{}: competing tools have {} of its {} right; by this share it is number {rank} of {} models, the hardest \
             first.",
            year.shown_name(),
            percent(counts, counts.solved),
            show::counted(counts.all, "value", "values"),
            year.families.len()
        )
    });
    let years_used = used.iter().map(|(year, ..)| year.shown_name());
    PartPage {
        frame: frame(&visible(name), "../"),
        name: visible(name),
        about: "a model over the years".into(),
        lead,
        notes: vec![],
        tables: vec![
            Table {
                caption: "How hard the model was: the share of its values that a competing tool has right, its rank \
                          among the models of the year, and how many tools have a value right on average"
                    .into(),
                heads: heads([
                    "Year",
                    "Instances",
                    "Values",
                    "Solved",
                    "Rank by difficulty (1: hardest)",
                    "Tools right per value",
                    "Values on which tools differ",
                ]),
                rows: by_year.collect(),
                texts: vec![],
            },
            Table {
                caption: "Who solves it: the share of all values of the model that a tool has right. Since: the first \
                          of these years in which it has one right. An empty cell: it did not compete"
                    .into(),
                heads: heads(["Tool", "Since"]).into_iter().chain(years_used).collect(),
                rows: solvers.iter().map(solver_row).collect(),
                texts: vec![],
            },
        ],
    }
}

/// The page of a year: its tools, examinations and hardest models.
fn year_page(year: &Year, ranks: &BTreeMap<&str, usize>, pages: &Pages) -> PartPage {
    let mut tools: Vec<_> = year.tools.iter().collect();
    tools.sort_by_key(|(name, tool)| (std::cmp::Reverse(tool.right), *name));
    let tool_rows = tools.iter().map(|(name, tool)| {
        let count = |medal: &str| match tool.medals.iter().filter(|(_, won)| *won == medal).count() {
            0 => String::new(),
            count => count.to_string(),
        };
        let confidence = tool.confidence.as_ref();
        let cells = vec![
            percent(&year.values, tool.right),
            show::thousands(tool.right),
            show::thousands(tool.wrong),
            count("gold"),
            count("silver"),
            count("bronze"),
            tool.all_points().map_or("no rank".to_owned(), |points| show::decimal(&points, 0)),
            tool.cpu_text().0,
            confidence.map_or(String::new(), show::percent),
        ];
        (link(name, &pages.tool(name)), cells)
    });
    let examination_rows = year.examinations.iter().map(|(name, counts)| {
        let cells = vec![
            show::thousands(counts.all),
            percent(counts, counts.solved),
            counts.right_per_value(),
            show::thousands(counts.disagreements),
        ];
        (link(name, ""), cells)
    });
    let mut models: Vec<(&&str, &usize)> = ranks.iter().collect();
    models.sort_by_key(|(name, rank)| (**rank, **name));
    let model_rows = models.iter().take(HARDEST).map(|(name, rank)| {
        let Family { counts, instances, .. } = &year.families[**name];
        let cells = vec![
            rank.to_string(),
            show::thousands(*instances),
            show::thousands(counts.all),
            percent(counts, counts.solved),
            counts.right_per_value(),
        ];
        (link(name, &pages.model(name)), cells)
    });
    let lead = format!(
        "{} of {} and {}: {}, of which competing tools have {} right.",
        show::counted(year.instances, "instance", "instances"),
        show::counted(year.families.len() as u64, "model", "models"),
        show::counted(year.tools.len() as u64, "competing tool", "competing tools"),
        show::counted(year.values.all, "value", "values"),
        percent(&year.values, year.values.solved)
    );
    PartPage {
        frame: frame(&year.shown_name(), "../"),
        name: year.shown_name(),
        about: "its tools, examinations and models".into(),
        lead,
        notes: vec![],
        tables: vec![
            Table {
                caption: "Tools, most right values first: right and wrong values (if a tool has variants: right if one has it right; \
                          wrong if one has it wrong and none right), medals and points as judged here, and the median CPU \
                          time of complete runs; the page of a tool explains them"
                    .into(),
                heads: heads([
                    "Tool",
                    "Share",
                    "Right",
                    "Wrong",
                    "Gold",
                    "Silver",
                    "Bronze",
                    "Points",
                    "CPU time",
                    "Confidence",
                ]),
                rows: tool_rows.collect(),
                texts: vec![],
            },
            Table {
                caption: "Examinations: values that at least one competing tool has right".into(),
                heads: heads(["Examination", "Values", "Solved", "Tools right per value", "Values on which tools differ"]),
                rows: examination_rows.collect(),
                texts: vec![],
            },
            Table {
                caption: format!("The {} models with the least share of solved values", HARDEST.min(models.len())),
                heads: heads(["Model", "Rank by difficulty (1: hardest)", "Instances", "Values", "Solved", "Tools right per value"]),
                rows: model_rows.collect(),
                texts: vec![],
            },
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_with_equal_shares_have_equal_ranks() {
        let family = |(name, solved, all): (&str, u64, u64)| {
            (
                name.to_owned(),
                Family { counts: Counts { solved, all, ..Counts::default() }, ..Family::default() },
            )
        };
        let families =
            [("half", 1, 2), ("all", 3, 3), ("two of four", 2, 4), ("none", 0, 7), ("empty", 0, 0)];
        let year = Year { families: families.into_iter().map(family).collect(), ..Year::default() };
        let expected = [("all", 4), ("empty", 1), ("half", 2), ("none", 1), ("two of four", 2)];
        assert_eq!(ranks(&year), BTreeMap::from(expected));
    }

    #[test]
    fn names_that_look_the_same_have_different_pages() {
        let tool = |name: &str| (name.to_owned(), ToolYear { right: 1, ..ToolYear::default() });
        let (hidden, literal) = ("A\u{200b}", "A⟨U+200B⟩");
        assert_eq!(visible(hidden), literal);
        let year = Year {
            tools: [hidden, literal].into_iter().map(tool).collect(),
            families: [hidden, literal].map(|name| (name.to_owned(), Family::default())).into(),
            ..Year::default()
        };
        let pages = Pages::new(&[year]);
        assert_ne!(pages.tool(hidden), pages.tool(literal));
        assert_ne!(pages.model(hidden), pages.model(literal));
    }
}
