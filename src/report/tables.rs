//! The tables of a judgement in the forms that others need: LaTeX for the proceedings, JSON for programs.

use super::show::{self, visible};
use mcc_edition::Status;
use mcc_judge::judgement::{Entry, Judgement, VariantRank};
use mcc_judge::other_contests;
use num_rational::BigRational;
use serde_json::{Map, Value};
use std::fmt::Write;

/// The file of `podiums_latex` in a site.
pub const LATEX: &str = "data/podiums.tex";

/// Columns that count things; all others are texts, points among them, which are exact (`p/q`).
const COUNTS: [&str; 14] = [
    "agreed",
    "answered",
    "rank",
    "rank_removed",
    "rank_rejudged",
    "right",
    "runs",
    "runs_compared",
    "size",
    "unconfirmed",
    "unjudged",
    "values",
    "wrong",
    "position",
];

/// A CSV of a judgement or a picture as JSON: an array of objects, one a row, with the columns as keys. Counts are
/// numbers, or null where the field is empty; everything else is text as it stands in the CSV. `podiums.csv` so
/// becomes `podiums.json`.
pub fn json(table: &[u8]) -> Result<Vec<u8>, csv::Error> {
    let mut rows = csv::Reader::from_reader(table);
    let header = rows.headers()?.clone();
    let mut json = b"[".to_vec();
    for (number, row) in rows.records().enumerate() {
        let row = row?;
        let cell = |(column, text): (&str, &str)| {
            let value = match (COUNTS.contains(&column), text.parse::<u64>()) {
                (true, Ok(count)) => Value::from(count),
                (true, Err(_)) if text.is_empty() => Value::Null,
                _ => Value::from(text),
            };
            (column.to_owned(), value)
        };
        let object: Map<String, Value> = header.iter().zip(row.iter()).map(cell).collect();
        json.extend(if number == 0 { b"\n".as_slice() } else { b",\n" });
        serde_json::to_writer(&mut json, &object).map_err(std::io::Error::from)?;
    }
    json.extend(b"\n]\n");
    Ok(json)
}

/// A place on a podium: rank, entry, what is said beside its name, points, medal.
type LatexPlace<'a> = (Option<u32>, &'a Entry, &'a str, &'a BigRational, &'a str);

/// The podiums as a LaTeX file to `\input`: a table for each category that has places. It needs the package booktabs.
pub fn podiums_latex(judgement: &Judgement) -> String {
    let entries = &judgement.entries;
    // A resigned entry vanishes (rule P-4), its unresolved runs too.
    let resigned = |entry: &Entry| entry.status == Status::Resigned;
    let vanished = |name: &str| entries.iter().any(|of| of.entry == name && resigned(of));
    let provisional = judgement.unresolved.iter().any(|run| !vanished(&run.entry));
    let mut latex = latex_preamble(&judgement.edition.title, &judgement.version, provisional);
    for podium in &judgement.podiums {
        let shown = podium.places.iter().filter(|place| !resigned(&entries[place.entry]));
        let places = shown.map(|place| {
            let variant = match place.variant {
                VariantRank::Best => "best variant",
                VariantRank::Other => "other variant",
                VariantRank::Only => "",
            };
            (place.rank, &entries[place.entry], variant, &place.points, place.medal.word())
        });
        let places: Vec<LatexPlace> = places.collect();
        table(&mut latex, &podium.category, provisional, &places);
    }
    latex
}

/// The same of another contest.
pub fn other_podiums_latex(judgement: &other_contests::Judgement) -> String {
    let mut latex = latex_preamble(judgement.edition.title(), &judgement.version, false);
    for podium in &judgement.podiums {
        let places = podium.places.iter().map(|place| {
            let entry = &judgement.entries[place.entry];
            (place.rank, entry, place.note.as_str(), &place.points, place.medal.word())
        });
        let places: Vec<LatexPlace> = places.collect();
        table(&mut latex, &judgement.categories[podium.category].category, false, &places);
    }
    latex
}

fn latex_preamble(contest: &str, version: &str, provisional: bool) -> String {
    // In a comment all but the end of its line is harmless, and `visible` leaves none.
    let mut latex = format!("% Podiums of {}, by mcc-harness {}.\n", visible(contest), visible(version));
    latex += "% Use: \\usepackage{booktabs} in the preamble, \\input{podiums} where they belong.\n";
    if provisional {
        latex +=
            "% PROVISIONAL: some runs have no result (infrastructure, or not made yet), no medal is given.\n";
    }
    latex
}

fn table(latex: &mut String, category: &str, provisional: bool, places: &[LatexPlace]) {
    if places.is_empty() {
        return;
    }
    let decimals = show::places(places.iter().map(|place| place.3));
    let state = if provisional { " (provisional)" } else { "" };
    *latex += "\n\\begin{table}[htbp]\n\\centering\n\\begin{tabular}{rlrl}\n\\toprule\n";
    *latex += "Rank & Tool & Points & Medal \\\\\n\\midrule\n";
    let ranked = places.iter().take_while(|place| place.0.is_some()).count();
    for (number, (rank, entry, note, points, medal)) in places.iter().enumerate() {
        if number == ranked && ranked > 0 {
            *latex += "\\midrule\n";
        }
        let rank = rank.map_or("--".to_owned(), |rank| rank.to_string());
        let said = [super::contest::status_words(entry.status), note];
        let said: Vec<&str> = said.into_iter().filter(|said| !said.is_empty()).collect();
        let mut tool = text(&entry.entry);
        if !said.is_empty() {
            tool += &format!(" \\emph{{({})}}", text(&said.join(", ")));
        }
        let points = show::decimal(points, decimals).replace('\u{202F}', "\\,").replace('−', "$-$");
        let _ = writeln!(latex, "{rank} & {tool} & {points} & {} \\\\", text(medal));
    }
    *latex += "\\bottomrule\n\\end{tabular}\n";
    let _ = writeln!(latex, "\\caption{{{}{state}}}\n\\end{{table}}", text(category));
}

/// Text as LaTeX prints it.
fn text(plain: &str) -> String {
    let mut latex = String::with_capacity(plain.len());
    for c in visible(plain).chars() {
        match c {
            '#' | '$' | '%' | '&' | '_' | '{' | '}' => latex.extend(['\\', c]),
            '\\' => latex += "\\textbackslash{}",
            '~' => latex += "\\textasciitilde{}",
            '^' => latex += "\\textasciicircum{}",
            '<' => latex += "\\textless{}",
            '>' => latex += "\\textgreater{}",
            // A font may have no brackets of this kind.
            '⟨' => latex += "$\\langle$",
            '⟩' => latex += "$\\rangle$",
            _ => latex.push(c),
        }
    }
    latex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_commands() {
        assert_eq!(
            text(r"50%_\input{x}~^"),
            r"50\%\_\textbackslash{}input\{x\}\textasciitilde{}\textasciicircum{}"
        );
        assert_eq!(text("a\nb"), "a$\\langle$LF$\\rangle$b");
    }

    #[test]
    fn json_has_counts_as_numbers_and_points_as_they_are() {
        let table = b"category,rank,tool,points\nCTL,1,\"a,\"\"b\"\"\",7/3\nCTL,,virtual,12\n";
        let expected = "[\n{\"category\":\"CTL\",\"rank\":1,\"tool\":\"a,\\\"b\\\"\",\"points\":\"7/3\"},\n\
                        {\"category\":\"CTL\",\"rank\":null,\"tool\":\"virtual\",\"points\":\"12\"}\n]\n";
        assert_eq!(String::from_utf8(json(table).unwrap()).unwrap(), expected);
        assert_eq!(json(b"a,b\n").unwrap(), b"[\n]\n");
    }
}
