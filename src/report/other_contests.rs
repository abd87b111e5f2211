//! The site of a judgement of SV-COMP or CRV: a front page with podiums and scores, and a page for each category with
//! its quantile functions and all its runs.

use super::contest::Frame;
use super::list::{Field, List};
use super::pictures;
use super::plots::{self, Picture, Runs};
use super::show::{self, TextParts, visible};
use super::site::{DataFile, NewSite, last_part};
use super::{ReportError, compare, rule_page, script};
use askama::Template;
use mcc_base::names::file_names;
use mcc_edition::OtherEdition;
use mcc_judge::judgement::JudgementError;
use mcc_other_contests::{Block, Category, CategoryPlace, Cell, Judgement, PlaceNote, Podium, Points, Score};
use num_rational::BigRational;
use num_traits::Signed;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The points of an entry in a category, the exact points with a note, and its medal.
type CategoryPoints = (String, String, &'static str);

#[derive(Template)]
#[template(path = "other_contests.html")]
struct OtherFrontPage {
    frame: Frame,
    size: String,
    notes: Vec<TextParts>,
    /// The rule of ties, if ranks depend on it.
    ties: Option<String>,
    podiums: Vec<CategoryCard>,
    /// The word of the contest for a category.
    category_word: &'static str,
    /// Link, parts of the name and number of tasks.
    categories: Vec<(String, String, String)>,
    /// Entry, and its points in each category.
    points: Vec<(String, Vec<CategoryPoints>)>,
    entries: Vec<(String, String, String, String)>,
    has_notes: bool,
    inputs: Vec<(String, String)>,
    data: Vec<DataFile>,
    rules: String,
}

#[derive(Template)]
#[template(path = "category.html")]
struct CategoryPage {
    frame: Frame,
    category: String,
    note: String,
    /// Of a meta category: its parts, and how its score comes from theirs.
    sum: Option<String>,
    podium: Option<CategoryCard>,
    /// The rule of ties, if ranks of the podium depend on it.
    ties: Option<String>,
    columns: Vec<String>,
    /// What each column of numbers of runs counts, and what the parts of points are.
    meanings: Vec<String>,
    /// Whether the verdicts on runs are known.
    has_verdicts: bool,
    scores: Vec<(String, Vec<String>, String)>,
    /// The picture of its quantile functions.
    picture: Option<Picture>,
    /// The path of its file of runs.
    data: String,
    /// The number of its runs.
    runs: usize,
}

struct CategoryCard {
    link: String,
    category: String,
    /// Why the category has no medals, or which answers count in it; else empty.
    note: String,
    places: Vec<CategoryRow>,
    /// Notes that several entries have: the entries and the note.
    shared_notes: Vec<(String, String)>,
}

struct CategoryRow {
    rank: String,
    medal: String,
    entry: String,
    note: String,
    points: String,
    exact: String,
    negative: bool,
}

/// Writes the site of a judgement of SV-COMP or CRV to `out`; returns the number of category pages. `dir` is the folder
/// of the judgement.
///
/// # Errors
/// As `write_site`.
pub fn write_other_site(judgement: &Judgement, dir: &Path, out: &Path) -> Result<usize, ReportError> {
    let site = NewSite::create(out)?;
    let scores = plots::scores(judgement);
    let mut pages = 0;
    for category in shown(judgement) {
        let runs = runs(judgement, category);
        site.page(&path(judgement, category, "html"), &category_page(judgement, category, &runs, &scores))?;
        site.file(&path(judgement, category, "js"), &script::call("mcc_lists", &[runs]))?;
        pages += 1;
    }
    // The lists of this site contain all names, so there are none to refer to.
    site.file("contest.js", &script::call("mcc_names", &serde_json::json!({})))?;
    let runs = Runs::of_other_contest(judgement);
    let compare =
        compare::write_other(judgement, &runs, frame(judgement, "Compare two entries".into(), ""), &site)?;
    let pictures = frame(judgement, "Pictures".into(), "");
    pictures::write_other(judgement, &runs, scores, compare, pictures, &site)?;
    rule_page::write(frame(judgement, "Rules".into(), ""), &site)?;
    let data = site.copy_data(Some(dir), &mcc_other_contests::tables(judgement), false)?;
    site.page("index.html", &front(judgement, data)?)?;
    site.finish(&judgement.version)?;
    Ok(pages)
}

/// The categories with a score or a task. The structure of a year has many that a smaller input does not have.
fn shown(judgement: &Judgement) -> Vec<usize> {
    let is_used = |category: &usize| {
        judgement.scores.iter().any(|score| score.category == *category)
            || judgement.blocks.iter().any(|block| block.category == *category)
    };
    (0..judgement.categories.len()).filter(is_used).collect()
}

/// The path of the page of a category; with another file name ending, of its data.
fn path(judgement: &Judgement, category: usize, ending: &str) -> String {
    let files = file_names(judgement.categories.iter().map(|category| category.category.as_str()));
    format!("categories/{}.{ending}", files[category])
}

/// Every run of a category. Runs of CRV have no property.
fn runs(judgement: &Judgement, category: usize) -> List {
    let (instance_head, has_properties) = match judgement.edition {
        OtherEdition::Svcomp(_) => ("Instance", true),
        OtherEdition::Crv(_) => ("Benchmark", false),
    };
    let text = |text: &str| Field::Text(visible(text));
    let row = |block: &Block, cell: &Cell| {
        let first = [
            text(&block.instance),
            Field::Text(entry(judgement, cell.entry)),
            text(&cell.answer),
            text(&block.expected),
        ];
        let property = has_properties.then(|| text(&block.property));
        let last =
            [Field::Text(cell.verdict.to_string()), Field::Text(cell.points.to_string()), text(&cell.why)];
        first.into_iter().chain(property).chain(last).collect::<Vec<_>>()
    };
    let blocks = judgement.blocks.iter().filter(|block| block.category == category);
    let mut columns =
        vec![(instance_head, "text"), ("Entry", "text"), ("Answer", "text"), ("Expected", "text")];
    columns.extend(has_properties.then_some(("Property", "text")));
    columns.extend([("Verdict", "text"), ("Points", "points"), ("Reason", "text")]);
    List {
        columns,
        rows: blocks.flat_map(|block| block.cells.iter().map(move |cell| row(block, cell))).collect(),
    }
}

fn frame(judgement: &Judgement, title: String, root: &'static str) -> Frame {
    let (contest, version) = (visible(judgement.edition.title()), visible(&judgement.version));
    let rules = match judgement.edition {
        OtherEdition::Svcomp(_) => "rules.html#SV",
        OtherEdition::Crv(_) => "rules.html#CRV",
    };
    let pages = vec![("pictures.html", "Pictures"), (rules, "Rules")];
    Frame { root, pages, has_tables: true, ..Frame::top(&title, contest, &version) }
}

fn entry(judgement: &Judgement, entry: usize) -> String {
    visible(&judgement.entries[entry].entry)
}

fn front(judgement: &Judgement, data: Vec<DataFile>) -> Result<OtherFrontPage, ReportError> {
    let count = |count: usize, one, many| show::counted(count as u64, one, many);
    let size = [
        count(judgement.entries.len(), "entry", "entries"),
        match judgement.edition {
            OtherEdition::Svcomp(_) => count(shown(judgement).len(), "category", "categories"),
            OtherEdition::Crv(_) => count(shown(judgement).len(), "track", "tracks"),
        },
    ];
    let runs: usize = judgement.blocks.iter().map(|block| block.cells.len()).sum();
    // Of some contests only the scores are known.
    let runs = if runs == 0 { "number of runs unknown".to_owned() } else { count(runs, "run", "runs") };
    let shown = shown(judgement);
    // There may be a thousand entries, so they are not searched for each of them. Of equal scores the first counts.
    let (mut scores, mut medals) = (HashMap::new(), HashMap::new());
    for score in judgement.scores.iter().rev() {
        scores.insert((score.entry, score.category), score);
    }
    for podium in &judgement.podiums {
        medals.extend(podium.places.iter().map(|place| ((place.entry, podium.category), place.medal)));
    }
    let row = |number: usize| {
        let cell = |&category: &usize| {
            let medal = medals.get(&(number, category)).map_or("", |medal| medal.word());
            let (points, note) = match scores.get(&(number, category)) {
                None => (String::new(), "no result".to_owned()),
                Some(Score { points: None, note, .. }) => {
                    ("–".to_owned(), visible(&PlaceNote::all_on_pages(note)))
                }
                Some(Score { points: Some(Points(points)), note, .. }) => {
                    let exact = exact(points, "scores.csv");
                    let note = PlaceNote::all_on_pages(note);
                    let note = if note.is_empty() { exact } else { format!("{exact}; {note}") };
                    (show::decimal(points, decimals(points)), visible(&note))
                }
            };
            (points, note, medal)
        };
        (entry(judgement, number), shown.iter().map(cell).collect())
    };
    Ok(OtherFrontPage {
        frame: frame(judgement, String::new(), ""),
        size: size.into_iter().chain([runs]).collect::<Vec<_>>().join(" · "),
        has_notes: judgement.entries.iter().any(|entry| !entry.note.is_empty()),
        notes: {
            let warnings = judgement.edition.warnings();
            judgement.notes.iter().cloned().chain(warnings).map(|note| show::code_parts(&note)).collect()
        },
        ties: mcc_other_contests::tie_words(judgement, &judgement.podiums),
        podiums: judgement.podiums.iter().map(|podium| card(judgement, podium, "")).collect(),
        category_word: judgement.category_word(),
        categories: shown
            .iter()
            .map(|&number| {
                let blocks = judgement.blocks.iter().filter(|block| block.category == number).count();
                let (one, many) = judgement.task_words();
                let tasks = count(blocks, one, many);
                let tasks = if blocks == 0 { String::new() } else { tasks };
                (path(judgement, number, "html"), visible(&judgement.category_title(number)), tasks)
            })
            .collect(),
        points: (0..judgement.entries.len()).map(row).collect(),
        entries: judgement
            .entries
            .iter()
            .map(|entry| {
                (
                    visible(&entry.entry),
                    visible(&entry.tool),
                    super::contest::status_words(entry.status).to_owned(),
                    visible(&entry.note),
                )
            })
            .collect(),
        inputs: judgement.inputs.iter().map(|input| (visible(&input.file), visible(&input.sha256))).collect(),
        data,
        rules: toml::to_string_pretty(&judgement.edition)
            .map(|rules| show::visible_lines(&rules))
            .map_err(|error| JudgementError::Broken(error.to_string()))?,
    })
}

/// The exact points for a pointer on them, or the table of the judgement that has them. A fraction of many digits, as the sum
/// of many quotients in CRV, cannot be read.
fn exact(points: &BigRational, table: &str) -> String {
    let exact = points.to_string();
    if exact.len() <= 40 { exact } else { format!("rounded; data/{table} has the exact fraction") }
}

/// The decimals with which points are shown: none for an integer.
fn decimals(points: &BigRational) -> u32 {
    if points.is_integer() { 0 } else { 2 }
}

fn card(judgement: &Judgement, podium: &Podium, root: &str) -> CategoryCard {
    let points: Vec<_> = podium.places.iter().map(|place| &place.points).collect();
    let places = show::point_places(&points);
    let mut shared: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for place in podium.places.iter().filter(|place| !place.note.is_empty()) {
        shared.entry(PlaceNote::all_on_pages(&place.note)).or_default().push(entry(judgement, place.entry));
    }
    shared.retain(|_, entries| entries.len() > 1);
    let line = |place: &CategoryPlace| {
        let status = super::contest::status_text(judgement.entries[place.entry].status);
        let time = place
            .success_cpu_s
            .as_ref()
            .map(|Points(s)| format!("{} s of CPU time", show::decimal(s, decimals(s))));
        let note = Some(PlaceNote::all_on_pages(&place.note)).filter(|note| !shared.contains_key(note));
        let note = [Some(status.to_owned()), time, note];
        let note: Vec<String> = note.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        CategoryRow {
            rank: place.rank.map_or(String::new(), |rank| rank.to_string()),
            medal: place.medal.to_string(),
            entry: entry(judgement, place.entry),
            note: visible(&note.join(", ")),
            points: show::decimal(&place.points, places),
            exact: exact(&place.points, "podiums.csv"),
            negative: place.points.is_negative(),
        }
    };
    CategoryCard {
        link: format!("{root}{}", path(judgement, podium.category, "html")),
        category: visible(&judgement.category_title(podium.category)),
        // The page of the category has it as its first sentence.
        note: Some(&judgement.categories[podium.category].note)
            .filter(|_| root.is_empty())
            .map_or(String::new(), |note| visible(note)),
        places: podium.places.iter().map(line).collect(),
        shared_notes: shared.iter().map(|(note, entries)| (entries.join(", "), visible(note))).collect(),
    }
}

/// The verdicts that a category page counts; the last one is every other ending of a run, such as a crash or a timeout.
const VERDICTS: [&str; 5] = ["Right", "Unconfirmed", "Wrong", "Unjudged", "No answer"];

/// What each of `VERDICTS` means.
fn verdict_meanings(edition: &OtherEdition) -> [&'static str; VERDICTS.len()] {
    match edition {
        OtherEdition::Svcomp(_) => [
            "the answer is the expected one",
            "the answer is the expected one, but no validator confirmed its witness",
            "the answer is not the expected one",
            "the expected answer is not known",
            "unknown, timeout, crash, or not started",
        ],
        OtherEdition::Crv(_) => [
            "the tool gave the expected verdict of the benchmark",
            // CRV has no witnesses.
            "",
            "the tool gave another verdict",
            "the expected verdict is not known",
            "no verdict of the tool: timeout, crash, or a property that it cannot express (inexpressible)",
        ],
    }
}

/// The parts of a meta category, and how its score comes from theirs.
fn sum_words(judgement: &Judgement, category: usize) -> Option<String> {
    let is_part = |part: &&Category| part.parent == Some(category) || part.more_parents.contains(&category);
    let parts: Vec<String> =
        judgement.categories.iter().filter(is_part).map(|part| visible(&part.category)).collect();
    (!parts.is_empty()).then(|| {
        format!(
            "The sum, over its parts, of score / number of tasks, times the average number of tasks of a part (SV-18). Results \
             of an entry in parts that it opted out of count too (SV-17). Parts: {}.",
            parts.join(", ")
        )
    })
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn category_page(judgement: &Judgement, category: usize, runs: &List, scores: &[Picture]) -> CategoryPage {
    let judged = &judgement.categories[category];
    let name = visible(&judgement.category_title(category));
    let picture = plots::score_name(judgement, category);
    let mut runs_by_entry: HashMap<usize, u64> = HashMap::new();
    let here = judgement.blocks.iter().filter(|block| block.category == category);
    for cell in here.flat_map(|block| &block.cells) {
        *runs_by_entry.entry(cell.entry).or_default() += 1;
    }
    let verdicts = |score: &Score| {
        let Score { right, unconfirmed, wrong, unjudged, .. } = *score;
        let runs = runs_by_entry.get(&score.entry).copied().unwrap_or_default();
        [right, unconfirmed, wrong, unjudged, runs.saturating_sub(right + unconfirmed + wrong + unjudged)]
    };
    let scores_here: Vec<&Score> =
        judgement.scores.iter().filter(|score| score.category == category).collect();
    let counts: Vec<_> = scores_here.iter().map(|score| verdicts(score)).collect();
    // Right and wrong runs are always shown, others where there are some.
    let used_verdicts: [bool; VERDICTS.len()] = std::array::from_fn(|number| {
        matches!(VERDICTS[number], "Right" | "Wrong") || counts.iter().any(|counts| counts[number] > 0)
    });
    // Of some categories only the totals are known.
    let has_verdicts = counts.iter().any(|counts| *counts != [0; VERDICTS.len()]);
    let shown_verdicts = VERDICTS.iter().enumerate().filter(|(number, _)| used_verdicts[*number]);
    let mut columns: Vec<String> = shown_verdicts.map(|(_, name)| (*name).to_owned()).collect();
    let mut meanings = Vec::new();
    if has_verdicts {
        let all = VERDICTS.iter().zip(verdict_meanings(&judgement.edition)).zip(used_verdicts);
        meanings.extend(
            all.filter(|(_, is_used)| *is_used).map(|((name, words), _)| format!("{name}: {words}.")),
        );
    }
    // `Memory` alone would be read as an amount of memory.
    columns.extend(judgement.parts.iter().map(|part| format!("{} points", capitalized(&visible(part)))));
    if !judgement.parts.is_empty() {
        let parts = judgement.parts.iter().map(|part| visible(part)).collect::<Vec<_>>().join(", ");
        meanings.push(format!("Points: the sum of the points for {parts} (CRV-9)."));
    }
    columns.push("Points".into());
    let has_times =
        judgement.scores.iter().any(|score| score.category == category && score.success_cpu_s.is_some());
    if has_times {
        columns.push("CPU time of right answers".into());
    }
    let number = |points: &Points| show::decimal(&points.0, decimals(&points.0));
    let podium = judgement.podiums.iter().find(|podium| podium.category == category);
    let row = |(score, counts): (&&Score, &[u64; VERDICTS.len()])| {
        let count = |count| if has_verdicts { show::thousands(count) } else { "unknown".to_owned() };
        let used = counts.iter().zip(used_verdicts).filter(|(_, is_used)| *is_used);
        let mut cells: Vec<String> = used.map(|(runs, _)| count(*runs)).collect();
        let parts = score.parts.iter().map(number).chain(std::iter::repeat(String::new()));
        cells.extend(parts.take(judgement.parts.len()));
        cells.push(score.points.as_ref().map_or("–".to_owned(), number));
        if has_times {
            let time = score.success_cpu_s.as_ref();
            cells.push(time.map_or(String::new(), |time| format!("{} s", number(time))));
        }
        // The podium on the same page has the notes of its places.
        let is_here = |place: &CategoryPlace| place.entry == score.entry && place.note == score.note;
        let is_on_podium =
            !score.note.is_empty() && podium.is_some_and(|podium| podium.places.iter().any(is_here));
        let note = if is_on_podium { String::new() } else { visible(&PlaceNote::all_on_pages(&score.note)) };
        (entry(judgement, score.entry), cells, note)
    };
    CategoryPage {
        frame: frame(judgement, name.clone(), "../"),
        category: name,
        note: visible(&judged.note),
        podium: podium.map(|podium| card(judgement, podium, "../")),
        ties: mcc_other_contests::tie_words(judgement, podium),
        columns,
        meanings,
        has_verdicts,
        sum: sum_words(judgement, category),
        scores: scores_here.iter().zip(&counts).map(row).collect(),
        picture: scores.iter().find(|drawn| drawn.name == picture).cloned(),
        data: last_part(&path(judgement, category, "js")),
        runs: runs.rows.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_fraction_is_not_shown_but_its_table_is_named() {
        let short = BigRational::new((-5).into(), 3.into());
        assert_eq!(exact(&short, "scores.csv"), "-5/3");
        let long = BigRational::new(num_bigint::BigInt::from(10).pow(200), 7.into());
        assert_eq!(exact(&long, "scores.csv"), "rounded; data/scores.csv has the exact fraction");
    }
}
