//! The site that shows several judgements of the MCC side by side: the development of tools, medals, solved values,
//! disagreements and the hardness of models over the years. `years_pages` has its pages of one tool, model or year.

use super::contest::Frame;
use super::list::{Field, List};
use super::pictures::write_one;
use super::plots::Picture;
use super::plots::years::{self, Line};
use super::show::{self, visible};
use super::site::NewSite;
use super::years_pages::{self, Pages};
use super::{ReportError, rule_page, script, tables};
use askama::Template;
use mcc_base::Mark;
use mcc_edition::Status;
use mcc_judge::judgement::{Block, Judgement, ValueVerdict};
use num_rational::BigRational;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What the pages show of one judgement. It is much smaller than the judgement.
#[derive(Default)]
pub struct Year {
    /// Name of the edition; a judgement of one edition can be given once.
    pub(super) name: String,
    pub(super) instances: u64,
    pub(super) values: Counts,
    pub(super) examinations: BTreeMap<String, Counts>,
    pub(super) families: BTreeMap<String, Family>,
    pub(super) tools: BTreeMap<String, ToolYear>,
    /// As in the edition: tools with the names that they have in other years.
    pub(super) aliases: BTreeMap<String, Vec<String>>,
    /// The settings of the edition that points depend on and that the contest did not publish.
    pub(super) unknown: Vec<String>,
}

/// A model in one year.
#[derive(Default)]
pub(super) struct Family {
    pub counts: Counts,
    pub instances: u64,
    /// Right and wrong values of each competing tool that gave one.
    pub tools: BTreeMap<String, [u64; 2]>,
}

/// Counts of values.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// All values.
    pub all: u64,
    /// Values that at least one competing entry has right.
    pub solved: u64,
    /// Values on which entries with a vote differ.
    pub disagreements: u64,
    /// Right values, summed over competing tools; of several variants, the best one on the value counts.
    pub right: u64,
}

/// A tool in one year.
#[derive(Default)]
pub(super) struct ToolYear {
    /// Its name in that year, if it has another one here.
    pub submitted: Option<String>,
    pub right: u64,
    pub wrong: u64,
    /// Category and medal.
    pub medals: Vec<(String, &'static str)>,
    /// The highest confidence of its entries.
    pub confidence: Option<BigRational>,
    /// The points of its best variant, by category in the order of the edition.
    pub points: Vec<(String, BigRational)>,
    /// Number of runs that are complete (E-4.3); of several variants on an instance and examination, one counts.
    pub complete: u64,
    /// The CPU times of those of them whose time is known and comparable, of several variants the least, in ms.
    pub cpu_ms: Vec<u64>,
}

impl Year {
    /// The edition on pages: `2018`.
    pub(super) fn shown_name(&self) -> String {
        visible(self.name.strip_prefix("mcc-").unwrap_or(&self.name))
    }

    /// Reduces a judgement to what the pages show. Entries that are not competing are left out.
    pub fn from_judgement(judgement: &Judgement) -> Self {
        let competing: Vec<bool> =
            judgement.entries.iter().map(|entry| entry.status == Status::Competing).collect();
        let mut year = Self {
            name: judgement.edition.name.clone(),
            aliases: judgement.edition.aliases.clone(),
            unknown: {
                let settings = judgement.edition.unknown.keys();
                settings.filter(|setting| setting.starts_with("judging.")).cloned().collect()
            },
            ..Self::default()
        };
        for (entry, _) in judgement.entries.iter().zip(&competing).filter(|(_, competing)| **competing) {
            year.tools.entry(entry.tool.clone()).or_default();
        }
        let mut instances = BTreeSet::new();
        for block in &judgement.blocks {
            let (counts, tools) = block_counts(judgement, block, &competing);
            let examination = &judgement.examinations[block.examination];
            year.values.add(&counts);
            year.examinations.entry(examination.clone()).or_default().add(&counts);
            let is_new = instances.insert(block.instance);
            year.instances += u64::from(is_new);
            let family = year.families.entry(judgement.instances[block.instance].family.clone()).or_default();
            family.counts.add(&counts);
            family.instances += u64::from(is_new);
            for (tool, cpu_ms) in complete_runs(judgement, block, &competing) {
                let tool = year.tools.entry(tool.to_owned()).or_default();
                tool.complete += 1;
                tool.cpu_ms.extend(cpu_ms);
            }
            for (tool, [right, wrong]) in tools {
                let of_year = year.tools.entry(tool.to_owned()).or_default();
                of_year.right += right;
                of_year.wrong += wrong;
                let of_family = family.tools.entry(tool.to_owned()).or_default();
                of_family[0] += right;
                of_family[1] += wrong;
            }
        }
        for confidence in judgement.confidence.iter().filter(|confidence| competing[confidence.entry]) {
            let tool = year.tools.entry(judgement.entries[confidence.entry].tool.clone()).or_default();
            let best = tool.confidence.take();
            tool.confidence = best.max(Some(confidence.confidence.clone()));
        }
        for podium in &judgement.podiums {
            for place in podium.places.iter().filter(|place| place.rank.is_some()) {
                let tool = year.tools.entry(judgement.entries[place.entry].tool.clone()).or_default();
                tool.points.push((podium.category.clone(), place.points.clone()));
                if !place.medal.word().is_empty() {
                    tool.medals.push((podium.category.clone(), place.medal.word()));
                }
            }
        }
        year
    }
}

/// The values of a block, and the right and wrong values of each competing tool that gave one. Of several variants of a
/// tool, the best one on the value counts.
fn block_counts<'j>(
    judgement: &'j Judgement,
    block: &Block,
    competing: &[bool],
) -> (Counts, BTreeMap<&'j str, [u64; 2]>) {
    let mut counts = Counts::default();
    let mut tools: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    let mut right: BTreeSet<&str> = BTreeSet::new();
    let mut wrong: BTreeSet<&str> = BTreeSet::new();
    for (position, trusted) in block.trusted.iter().enumerate() {
        right.clear();
        wrong.clear();
        let mut differ = trusted.basis.is_of_differing_votes();
        for cell in block.cells.iter().filter(|cell| competing[cell.entry]) {
            let tool = judgement.entries[cell.entry].tool.as_str();
            match cell.verdicts[position] {
                ValueVerdict::Right => drop(right.insert(tool)),
                ValueVerdict::Wrong => {
                    wrong.insert(tool);
                    differ = true;
                }
                ValueVerdict::Unjudged | ValueVerdict::NotComputed => {}
            }
        }
        counts.all += 1;
        counts.solved += u64::from(!right.is_empty());
        counts.disagreements += u64::from(differ);
        counts.right += right.len() as u64;
        wrong.difference(&right).for_each(|tool| tools.entry(tool).or_default()[1] += 1);
        right.iter().for_each(|tool| tools.entry(tool).or_default()[0] += 1);
    }
    (counts, tools)
}

/// The competing tools with a complete run in a block, each with the least CPU time of its variants in ms, as far as it is
/// known and comparable.
fn complete_runs<'j>(
    judgement: &'j Judgement,
    block: &Block,
    competing: &[bool],
) -> BTreeMap<&'j str, Option<u64>> {
    let mut tools: BTreeMap<&str, Option<u64>> = BTreeMap::new();
    for cell in block.cells.iter().filter(|cell| competing[cell.entry] && cell.complete) {
        let is_comparable = !cell.marks.iter().any(Mark::excludes_cost);
        let cpu_ms = cell.cost.filter(|_| is_comparable).map(|cost| cost.cpu_ms);
        let least = tools.entry(&judgement.entries[cell.entry].tool).or_default();
        *least = least.iter().copied().chain(cpu_ms).min();
    }
    tools
}

impl ToolYear {
    /// Its points in all categories; None: it has no rank.
    pub fn all_points(&self) -> Option<BigRational> {
        (!self.points.is_empty()).then(|| self.points.iter().map(|(_, points)| points).sum())
    }

    fn median_cpu_ms(&self) -> Option<u64> {
        show::median(self.cpu_ms.clone())
    }

    /// The median of its CPU times in words, with what it is the median of.
    pub fn cpu_text(&self) -> (String, String) {
        let unknown = self.complete - self.cpu_ms.len() as u64;
        let runs = |count: u64| show::counted(count, "complete run", "complete runs");
        match self.median_cpu_ms() {
            None if self.complete == 0 => ("no complete run".to_owned(), String::new()),
            None => ("unknown".to_owned(), runs(self.complete)),
            Some(ms) if unknown == 0 => (show::duration(ms), format!("median of {}", runs(self.complete))),
            Some(ms) => {
                let known = show::thousands(self.cpu_ms.len() as u64);
                (
                    show::duration(ms),
                    format!("median of {known} of {}; the other times are unknown", runs(self.complete)),
                )
            }
        }
    }
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.all += other.all;
        self.solved += other.solved;
        self.disagreements += other.disagreements;
        self.right += other.right;
    }

    /// A part of all values in percent, with one decimal.
    pub fn share(&self, part: u64) -> String {
        if self.all == 0 {
            return String::new();
        }
        let permille = (u128::from(part) * 1000 + u128::from(self.all) / 2) / u128::from(self.all);
        format!("{}.{}", permille / 10, permille % 10)
    }

    /// How many tools have a value right on average, with two decimals.
    pub fn right_per_value(&self) -> String {
        let hundredths = (self.right * 100 + self.all / 2) / self.all.max(1);
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

/// A table with one column for each year: heading of the rows, and cells.
pub(super) struct YearTable {
    pub id: &'static str,
    pub title: &'static str,
    pub text: &'static str,
    pub row: &'static str,
    pub rows: Vec<(String, Vec<YearCell>)>,
}

impl YearTable {
    /// The name of its CSV file, and of the picture of the same values, if there is one.
    fn name(&self) -> String {
        format!("years-{}", self.id)
    }
}

/// What a table shows of a year; all empty: nothing, because the tool or examination is not part of the year.
#[derive(Clone, Default)]
pub(super) struct YearCell {
    pub text: String,
    pub note: String,
    /// The words that colour the cell.
    pub medals: Vec<&'static str>,
    /// The field of the CSV.
    pub data: String,
}

#[derive(Template)]
#[template(path = "years.html")]
struct YearsPage {
    frame: Frame,
    pages: Pages,
    /// Name and path of the page of each year.
    years: Vec<(String, String)>,
    tables: Vec<YearTable>,
    pictures: Vec<Picture>,
    models: usize,
}

/// Gives a tool one name in all years: that of the newest of these years. Names are of one tool if they differ only by
/// case, or if an edition of these years lists them so; but not if both compete in one year. A tool keeps its own name in a
/// year in which another tool has that name.
fn unify_tools(years: &mut [Year]) {
    let lower_names =
        |year: &Year| year.tools.keys().map(|tool| tool.to_lowercase()).collect::<BTreeSet<String>>();
    let competing: Vec<BTreeSet<String>> = years.iter().map(lower_names).collect();
    // The order in which judgements are given has no effect.
    let mut by_age: Vec<&mut Year> = years.iter_mut().collect();
    by_age.sort_by(|a, b| a.name.cmp(&b.name));
    // The names that are kept for each tool.
    let mut kept: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (tool, others) in by_age.iter_mut().flat_map(|year| &mut year.aliases) {
        let tool = tool.to_lowercase();
        let known = kept.entry(tool.clone()).or_insert_with(|| vec![tool]);
        others.retain(|other| {
            let other = other.to_lowercase();
            let in_one_year = |name: &String| {
                *name != other && competing.iter().any(|names| names.contains(name) && names.contains(&other))
            };
            let is_kept = !known.iter().any(in_one_year);
            if is_kept {
                known.push(other);
            }
            is_kept
        });
    }
    let mut listed: BTreeMap<String, String> = BTreeMap::new();
    for (tool, others) in by_age.iter().flat_map(|year| &year.aliases) {
        for name in std::iter::once(tool).chain(others) {
            listed.entry(name.to_lowercase()).or_insert_with(|| tool.to_lowercase());
        }
    }
    let group = |tool: &str| {
        let tool = tool.to_lowercase();
        listed.get(&tool).cloned().unwrap_or(tool)
    };
    // Later years replace the names of earlier ones. Of several names in a year, the first one counts.
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for tool in by_age.iter().flat_map(|year| year.tools.keys().rev()) {
        names.insert(group(tool), tool.clone());
    }
    for year in years {
        let renamed = |tool: &String| names[&group(tool)].clone();
        let own: Vec<String> = year.tools.keys().cloned().collect();
        for (tool, name) in own.iter().map(|tool| (tool, renamed(tool))) {
            if !year.tools.contains_key(&name)
                && let Some(mut values) = year.tools.remove(tool)
            {
                values.submitted = Some(tool.clone());
                for family in year.families.values_mut() {
                    if let Some(counts) = family.tools.remove(tool) {
                        family.tools.insert(name.clone(), counts);
                    }
                }
                year.tools.insert(name, values);
            }
        }
    }
}

/// Writes the site of several years, in the given order, and one CSV for each of its tables. A tool that has different names
/// in these years has one row.
///
/// # Errors
/// Two judgements are of one edition, or a file cannot be written.
pub fn write_years(mut years: Vec<Year>, out: &Path) -> Result<(), ReportError> {
    unify_tools(&mut years);
    let years = &years[..];
    let mut names = BTreeSet::new();
    if let Some(twice) = years.iter().find(|year| !names.insert(&year.name)) {
        let name = &twice.name;
        return Err(ReportError::Refused(format!(
            "two judgements are of edition {name}; give one of each year"
        )));
    }
    let site = NewSite::create(out)?;
    let frame = || years_pages::frame("", "");
    let tables = tables_of(years);
    for table in &tables {
        let mut rows = vec![header(&table.row.to_lowercase(), years)];
        rows.extend(table.rows.iter().map(|(name, cells)| {
            std::iter::once(visible(name)).chain(cells.iter().map(|cell| cell.data.clone())).collect()
        }));
        site.file(&format!("data/{}.csv", table.name()), &tables::csv(&rows))?;
    }
    let pictures = pictures(years);
    for picture in &pictures {
        write_one("pictures", picture, &site)?;
    }
    let pages = Pages::new(years);
    let models = models(years, &pages);
    site.file("data/years-models.csv", &tables::csv(models_csv(years)))?;
    site.file("contest.js", &script::call("mcc_names", &serde_json::json!({})))?;
    site.file("values.js", &script::call("mcc_list", &models))?;
    rule_page::write(frame(), &site)?;
    years_pages::write(years, &tables, &pages, &site)?;
    let page = YearsPage {
        frame: frame(),
        years: years.iter().map(|year| (year.shown_name(), pages.year(year))).collect(),
        pages,
        tables,
        pictures,
        models: models.rows.len(),
    };
    site.page("index.html", &page)?;
    site.finish(env!("CARGO_PKG_VERSION"))
}

fn header(first: &str, years: &[Year]) -> Vec<String> {
    std::iter::once(first.to_owned()).chain(years.iter().map(|year| year.name.clone())).collect()
}

/// The names of settings that a contest did not publish, in words.
pub(super) fn setting_words(settings: &[String]) -> String {
    settings.iter().map(|key| mcc_edition::setting_words(key)).collect::<Vec<_>>().join(", ")
}

/// The names of all tools: those with the most right values in any year first.
pub(super) fn tools(years: &[Year]) -> Vec<&str> {
    let mut most: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, tool) in years.iter().flat_map(|year| &year.tools) {
        let right = most.entry(name).or_default();
        *right = tool.right.max(*right);
    }
    let mut names: Vec<&str> = most.keys().copied().collect();
    names.sort_by_key(|name| (std::cmp::Reverse(most[name]), *name));
    names
}

fn number(count: u64) -> YearCell {
    YearCell { text: show::thousands(count), data: count.to_string(), ..YearCell::default() }
}

fn tables_of(years: &[Year]) -> Vec<YearTable> {
    let by_tool = |cell: &dyn Fn(&Year, &ToolYear) -> YearCell| -> Vec<(String, Vec<YearCell>)> {
        let row = |name: &str| {
            let in_year =
                |year: &Year| year.tools.get(name).map_or(YearCell::default(), |tool| cell(year, tool));
            (name.to_owned(), years.iter().map(in_year).collect())
        };
        tools(years).into_iter().map(row).collect()
    };
    let examinations: BTreeSet<&str> =
        years.iter().flat_map(|year| year.examinations.keys().map(String::as_str)).collect();
    let solved = |counts: &Counts| YearCell {
        text: format!("{} %", counts.share(counts.solved)),
        note: format!("{} of {} values", show::thousands(counts.solved), show::thousands(counts.all)),
        data: counts.share(counts.solved),
        ..YearCell::default()
    };
    let disagreements = |counts: &Counts| YearCell {
        note: format!("of {} values", show::thousands(counts.all)),
        ..number(counts.disagreements)
    };
    let by_examination = |cell: &dyn Fn(&Counts) -> YearCell| -> Vec<(String, Vec<YearCell>)> {
        let row = |name: &str| {
            let in_year = |year: &Year| year.examinations.get(name).map_or(YearCell::default(), cell);
            (name.to_owned(), years.iter().map(in_year).collect())
        };
        let all = ("All".to_owned(), years.iter().map(|year| cell(&year.values)).collect());
        std::iter::once(all).chain(examinations.iter().copied().map(row)).collect()
    };
    let share = |year: &Year, tool: &ToolYear| YearCell {
        text: format!("{} %", year.values.share(tool.right)),
        note: format!("{} right, {} wrong", show::thousands(tool.right), show::thousands(tool.wrong)),
        data: year.values.share(tool.right),
        ..YearCell::default()
    };
    let medals = |_: &Year, tool: &ToolYear| {
        let won: Vec<String> =
            tool.medals.iter().map(|(category, medal)| format!("{category} {medal}")).collect();
        let medals = tool.medals.iter().map(|(_, medal)| *medal).collect();
        YearCell { note: won.join("; "), medals, data: won.join("; "), ..YearCell::default() }
    };
    let points = |year: &Year, tool: &ToolYear| {
        let Some(all) = tool.all_points() else {
            return YearCell { text: "no rank".into(), data: "no rank".into(), ..YearCell::default() };
        };
        let part =
            |(category, points): &(String, BigRational)| format!("{category} {}", show::points(points));
        let mut note: Vec<String> = tool.points.iter().map(part).collect();
        if !year.unknown.is_empty() {
            note.push(format!("not published: {}", setting_words(&year.unknown)));
        }
        YearCell {
            text: show::decimal(&all, 0),
            note: visible(&note.join("; ")),
            data: all.to_string(),
            ..YearCell::default()
        }
    };
    let cpu = |_: &Year, tool: &ToolYear| {
        let (text, note) = tool.cpu_text();
        let data = tool.median_cpu_ms().map_or_else(|| text.clone(), |ms| ms.to_string());
        YearCell { text, note, data, ..YearCell::default() }
    };
    let confidence = |_: &Year, tool: &ToolYear| {
        let Some(confidence) = &tool.confidence else { return YearCell::default() };
        YearCell {
            text: show::percent(confidence),
            data: show::decimal(confidence, 5),
            ..YearCell::default()
        }
    };
    let tools = [
        (
            "tools",
            "Tools",
            "Share of all values of the year that the tool has right. If it has several variants, a value \
             counts if one of them has it right. All tables of tools have the same order: by the number of right values in the tool's \
             best year, most first.",
            by_tool(&share),
        ),
        (
            "wrong",
            "Wrong values",
            "Number of values that the tool has wrong. If it has several variants, a value counts as wrong if one of them has it \
             wrong and none has it right.",
            by_tool(&|_, tool| number(tool.wrong)),
        ),
        (
            "medals",
            "Medals",
            "Medals in all categories, as judged here: a badge with the rank for each. The page of a tool names their categories.",
            by_tool(&medals),
        ),
        (
            "points",
            "Points",
            "Sum over all categories. If a tool has several variants, its best one in each category counts. \
             The points are computed here from the answers by the rules of the year (E-4.1, E-4.4); the contests published only a few totals, and some \
             settings of the points are fitted to these or assumed. Instances, multipliers and scale differ from year to \
             year: compare the tools of one year.",
            by_tool(&points),
        ),
        (
            "cpu",
            "CPU time",
            "Median CPU time of the tool's complete runs (E-4.3: every value is known and right). If it has several \
             variants, the fastest one on each run counts. The time is unknown where the judged answers have no times, as in the published tables of \
             answers, or none under contest conditions. Tools complete different runs, and hosts differ from year to year: \
             this is not a ranking.",
            by_tool(&cpu),
        ),
        (
            "confidence",
            "Confidence",
            "The highest confidence of the tool's entries (E-2.2), cut off (not rounded) after the third decimal.",
            by_tool(&confidence),
        ),
    ];
    let examinations = [
        (
            "solved",
            "Solved values",
            "Share of the values that at least one competing entry has right.",
            by_examination(&solved),
        ),
        (
            "disagreements",
            "Values on which tools differ",
            "Number of values on which entries with a vote differ. Entries that only vote, such as gold tools of the year before, count here.",
            by_examination(&disagreements),
        ),
    ];
    let tables = tools.map(|table| ("Tool", table)).into_iter();
    let tables = tables.chain(examinations.map(|table| ("Examination", table)));
    tables.map(|(row, (id, title, text, rows))| YearTable { id, title, text, row, rows }).collect()
}

/// The ten tools with the most right values, and all examinations, as lines over the years.
fn pictures(years: &[Year]) -> Vec<Picture> {
    const MAX_LINES: usize = 10;
    let percent =
        |counts: &Counts, part: u64| (counts.all > 0).then(|| part as f64 * 100.0 / counts.all as f64);
    let tool = |name: &&str| Line {
        name: (*name).to_owned(),
        points: years
            .iter()
            .map(|year| year.tools.get(*name).and_then(|tool| percent(&year.values, tool.right)))
            .collect(),
    };
    let tools: Vec<Line> = tools(years).iter().take(MAX_LINES).map(tool).collect();
    let examinations: BTreeSet<&String> = years.iter().flat_map(|year| year.examinations.keys()).collect();
    let examination = |name: &&String| Line {
        name: (*name).clone(),
        points: years
            .iter()
            .map(|year| year.examinations.get(*name).and_then(|counts| percent(counts, counts.solved)))
            .collect(),
    };
    let picture = |name: &str, title: &str, lines: Vec<Line>| {
        let cell = |percent: &Option<f64>| percent.map_or(String::new(), |percent| format!("{percent:.1}"));
        let row = |line: &Line| {
            std::iter::once(line.name.clone()).chain(line.points.iter().map(cell)).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<String>> =
            std::iter::once(header("name", years)).chain(lines.iter().map(row)).collect();
        let csv = String::from_utf8_lossy(&tables::csv(&rows)).into_owned();
        let shown: Vec<String> = years.iter().map(Year::shown_name).collect();
        years::lines(name, title, &shown, &lines, csv)
    };
    vec![
        picture(
            "years-tools",
            "The tools with the most right values in a year (at most ten), in percent of all values",
            tools,
        ),
        picture(
            "years-solved",
            "Solved values by examination, in percent",
            examinations.iter().map(examination).collect(),
        ),
    ]
}

/// The models: for each year the share of solved values and the mean number of tools that have a value right.
fn models(years: &[Year], pages: &Pages) -> List {
    let rows = models_csv(years).into_iter().skip(1).map(|row| {
        let field = |(column, cell): (usize, &String)| match cell.parse() {
            Ok(number) if [2, 3, 6].contains(&column) => Field::Number(number),
            _ if column == 0 => Field::Link(visible(cell), pages.model(cell)),
            _ if column == 1 => Field::Text(visible(cell.strip_prefix("mcc-").unwrap_or(cell))),
            _ => Field::Text(visible(cell)),
        };
        row.iter().enumerate().map(field).collect()
    });
    List {
        columns: vec![
            ("Model", "link"),
            ("Year", "text"),
            ("Values", "number"),
            ("Solved", "number"),
            ("Solved in %", "text"),
            ("Tools right per value", "text"),
            ("Values on which tools differ", "number"),
        ],
        rows: rows.collect(),
    }
}

fn models_csv(years: &[Year]) -> Vec<Vec<String>> {
    let header = "model,year,values,solved,solved_percent,tools_right_per_value,disagreements".split(',');
    let mut rows = vec![header.map(str::to_owned).collect::<Vec<_>>()];
    let families: BTreeSet<&String> = years.iter().flat_map(|year| year.families.keys()).collect();
    for family in families {
        for (year, Family { counts, .. }) in
            years.iter().filter_map(|year| Some((year, year.families.get(family)?)))
        {
            rows.push(vec![
                family.clone(),
                year.name.clone(),
                counts.all.to_string(),
                counts.solved.to_string(),
                counts.share(counts.solved),
                counts.right_per_value(),
                counts.disagreements.to_string(),
            ]);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn year(name: &str, tools: &[&str], aliases: &[(&str, &[&str])]) -> Year {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let with_others = |(tool, others): &(&str, &[&str])| ((*tool).to_owned(), owned(others));
        Year {
            name: name.to_owned(),
            tools: owned(tools).into_iter().map(|tool| (tool, ToolYear::default())).collect(),
            aliases: aliases.iter().map(with_others).collect(),
            ..Year::default()
        }
    }

    #[test]
    fn two_tools_that_compete_in_one_year_are_never_shown_as_one() {
        let mut years = [
            year("mcc-2023", &["TAPAAL", "old"], &[]),
            year("mcc-2024", &["Evil", "TAPAAL", "New"], &[("Evil", &["tapaal"]), ("New", &["old", "OLD"])]),
        ];
        unify_tools(&mut years);
        let names = |year: &Year| year.tools.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&years[0]), ["New", "TAPAAL"]);
        assert_eq!(names(&years[1]), ["Evil", "New", "TAPAAL"]);
        // Pages show these as other names.
        assert!(years[1].aliases["Evil"].is_empty());
        let cases: [[&[&str]; 2]; 2] = [[&[], &["x", "y"]], [&["x"], &["y"]]];
        for aliases in cases {
            let [older, newer] = aliases.map(|others| [("A", others)]);
            let mut years = [year("mcc-2022", &["y"], &older), year("mcc-2023", &["x", "y"], &newer)];
            unify_tools(&mut years);
            assert_eq!(names(&years[0]), ["y"]);
        }
    }

    #[test]
    fn the_order_of_judgements_has_no_effect_on_the_names_of_tools() {
        let one = || year("mcc-2023", &["x"], &[("A", &["x"])]);
        let other = || year("mcc-2024", &["A", "B"], &[("B", &["x"])]);
        for mut years in [[one(), other()], [other(), one()]] {
            unify_tools(&mut years);
            let names: BTreeSet<&String> = years.iter().flat_map(|year| year.tools.keys()).collect();
            assert_eq!(Vec::from_iter(names), ["A", "B"]);
            assert!(years.iter().all(|year| year.tools.contains_key("A")));
        }
    }
}
