//! The tables of a judgement in other formats: LaTeX for the proceedings, JSON for programs.

use super::show::{self, visible};
use mcc_edition::Status;
use mcc_judge::judgement::{Entry, Judgement, VariantRank};
use num_rational::BigRational;
use serde_json::{Map, Value};
use std::fmt::Write;

/// The path of the LaTeX podiums in a site.
pub(crate) const LATEX: &str = "data/podiums.tex";

/// Columns with counts. All other columns are text, also points, which are exact numbers (`p/q`).
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

/// A CSV table of a judgement as JSON: an array with one object for each row, with the columns as keys. Counts are
/// numbers, or null if the field is empty; everything else is the text of the CSV.
pub(crate) fn json(table: &[u8]) -> Result<Vec<u8>, csv::Error> {
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

/// Rows as a CSV table.
pub(crate) fn csv(rows: impl IntoIterator<Item = impl IntoIterator<Item: AsRef<[u8]>>>) -> Vec<u8> {
    let mut table = csv::Writer::from_writer(Vec::new());
    for row in rows {
        table.write_record(row).expect("rows have one length, and writing to memory cannot fail");
    }
    table.into_inner().expect("writing to memory cannot fail")
}

/// A place on a podium: rank, entry, note next to its name, points, medal.
type LatexPlace<'a> = (Option<u32>, &'a Entry, &'a str, &'a BigRational, &'a str);

/// The podiums of an MCC as a LaTeX file for `\input`: a table for each category that has places. It needs the package
/// booktabs.
pub fn podiums_latex(judgement: &Judgement) -> String {
    let entries = &judgement.entries;
    // A resigned entry and its unresolved runs are left out (rule P-4).
    let resigned = |entry: &Entry| entry.status == Status::Resigned;
    let is_of_resigned = |name: &str| entries.iter().any(|entry| entry.entry == name && resigned(entry));
    let provisional = judgement.unresolved.iter().any(|run| !is_of_resigned(&run.entry));
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

/// The podiums of SV-COMP or CRV as a LaTeX file for `\input`. It needs the package booktabs.
pub fn other_podiums_latex(judgement: &mcc_other_contests::Judgement) -> String {
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

/// What a document needs to show the tables.
const LATEX_USE: &str = "% Use: \\usepackage{booktabs} in the preamble and \\input of this file in the text.\n\
                         % pdflatex sets Latin letters; names with others need lualatex or xelatex, and a font that has them.\n";

fn latex_preamble(contest: &str, version: &str, provisional: bool) -> String {
    // Only a line break could end the comment, and `visible` replaces line breaks.
    let mut latex = format!("% Podiums of {}, by mcc-harness {}.\n", visible(contest), visible(version));
    latex += LATEX_USE;
    if provisional {
        latex += "% PROVISIONAL: some runs are without a result (infrastructure failure, or not run yet); no medal \
                  is final.\n";
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
    for (at, (rank, entry, note, points, medal)) in places.iter().enumerate() {
        if at == ranked && ranked > 0 {
            *latex += "\\midrule\n";
        }
        let rank = rank.map_or("--".to_owned(), |rank| rank.to_string());
        let notes = [super::contest::status_text(entry.status), note];
        let notes: Vec<&str> = notes.into_iter().filter(|note| !note.is_empty()).collect();
        let mut tool = text(&entry.entry);
        if !notes.is_empty() {
            tool += &format!(" \\emph{{({})}}", text(&notes.join(", ")));
        }
        let points = number(&show::decimal(points, decimals));
        let _ = writeln!(latex, "{rank} & {tool} & {points} & {} \\\\", text(medal));
    }
    *latex += "\\bottomrule\n\\end{tabular}\n";
    let _ = writeln!(latex, "\\caption{{{}{state}}}\n\\end{{table}}", text(category));
}

/// Columns of figures that fit the width of a page: 345 pt in `article`.
const LATEX_COLUMNS: usize = 4;

/// Tables with a column of figures for each of `heads`, as a LaTeX file for `\input`. It needs the package booktabs.
/// More columns than fit a page are shared among several tables, without the rows that have no figure in them.
pub fn latex(contest: &str, caption: &str, heads: &[String], rows: &[(String, Vec<String>)]) -> String {
    let mut latex = format!("% {caption} of {}.\n{LATEX_USE}", visible(contest));
    let parts = heads.len().div_ceil(LATEX_COLUMNS).max(1);
    let width = heads.len().div_ceil(parts).max(1);
    for (part, heads) in heads.chunks(width).enumerate() {
        let columns = part * width..part * width + heads.len();
        let cells = rows.iter().map(|(name, cells)| (name.as_str(), &cells[columns.clone()]));
        let cells = cells.filter(|(_, cells)| cells.iter().any(|cell| !cell.is_empty()));
        let number = if parts > 1 { format!(" ({} of {parts})", part + 1) } else { String::new() };
        latex_part(&mut latex, &format!("{caption}{number}"), heads, cells);
    }
    latex
}

fn latex_part<'a>(
    latex: &mut String,
    caption: &str,
    heads: &[String],
    rows: impl Iterator<Item = (&'a str, &'a [String])>,
) {
    // A long name is broken into lines, so that the table fits a page.
    let head = |name: &String| match &show::parts(name)[..] {
        [one] => text(one),
        parts => {
            let lines: Vec<String> = parts.iter().map(|part| text(part)).collect();
            format!("\\shortstack[r]{{{}}}", lines.join("\\\\"))
        }
    };
    let heads: Vec<String> = std::iter::once("Tool".to_owned()).chain(heads.iter().map(head)).collect();
    *latex += "\n\\begin{table}[htbp]\n\\centering\\small\n\\setlength{\\tabcolsep}{4pt}\n";
    let _ = writeln!(latex, "\\begin{{tabular}}{{l{}}}\n\\toprule", "r".repeat(heads.len() - 1));
    let _ = writeln!(latex, "{} \\\\\n\\midrule", heads.join(" & "));
    for (name, cells) in rows {
        let cells: Vec<String> =
            std::iter::once(text(name)).chain(cells.iter().map(|cell| number(cell))).collect();
        let _ = writeln!(latex, "{} \\\\", cells.join(" & "));
    }
    let _ = writeln!(latex, "\\bottomrule\n\\end{{tabular}}\n\\caption{{{}}}\n\\end{{table}}", text(caption));
}

/// A shown number in LaTeX.
fn number(shown: &str) -> String {
    shown.replace(',', "\\,").replace('−', "$-$").replace('–', "--")
}

/// Text with LaTeX's special characters escaped.
pub fn text(plain: &str) -> String {
    let mut latex = String::with_capacity(plain.len());
    for c in visible(plain).chars() {
        match c {
            '#' | '$' | '%' | '&' | '_' => latex.extend(['\\', c]),
            // BibTeX counts braces even after a backslash.
            '{' => latex += "\\textbraceleft{}",
            '}' => latex += "\\textbraceright{}",
            '\\' => latex += "\\textbackslash{}",
            '~' => latex += "\\textasciitilde{}",
            '^' => latex += "\\textasciicircum{}",
            // After the end of a row, these begin an argument of it.
            '[' | ']' | '*' => latex.extend(['{', c, '}']),
            // Two hyphens would become a dash.
            '-' if latex.ends_with('-') => latex += "{}-",
            '<' => latex += "\\textless{}",
            '>' => latex += "\\textgreater{}",
            // Many fonts do not have these brackets.
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
    fn latex_commands_in_names_are_escaped() {
        assert_eq!(
            text(r"50%_\input{x}~^"),
            r"50\%\_\textbackslash{}input\textbraceleft{}x\textbraceright{}\textasciitilde{}\textasciicircum{}"
        );
        assert_eq!(text("[a]--*"), "{[}a{]}-{}-{*}");
        assert_eq!(text("a\nb"), "a$\\langle$LF$\\rangle$b");
    }

    #[test]
    fn json_has_counts_as_numbers_and_points_as_text() {
        let table = b"category,rank,tool,points\nCTL,1,\"a,\"\"b\"\"\",7/3\nCTL,,virtual,12\n";
        let expected = "[\n{\"category\":\"CTL\",\"rank\":1,\"tool\":\"a,\\\"b\\\"\",\"points\":\"7/3\"},\n\
                        {\"category\":\"CTL\",\"rank\":null,\"tool\":\"virtual\",\"points\":\"12\"}\n]\n";
        assert_eq!(String::from_utf8(json(table).unwrap()).unwrap(), expected);
        assert_eq!(json(b"a,b\n").unwrap(), b"[\n]\n");
    }
}
