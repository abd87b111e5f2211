//! What `judge` prints.

use super::terminal::{Page, argument, next, note, warning};
use super::{Failure, Format, print};
use mcc_base::Mark;
use mcc_judge::judgement::{Entry, FlagKind, Judgement, Podium, RunName, Status};
use mcc_judge::mcc::sensitivity::Sensitivity;
use mcc_judge::mcc::{Judge, JudgementTotals};
use mcc_judge::oracle::{Oracle, OracleComparison};
use mcc_judge::show::decimals;
use std::path::Path;

/// Prints the bad lines of an oracle, and how many values agree with it.
pub fn oracle(oracle: &Oracle, comparison: &OracleComparison) {
    for bad in &oracle.bad_lines {
        warning(&format!("oracle: {bad}"));
    }
    let OracleComparison { same, different, only_oracle, not_comparable } = comparison;
    stderr_line!(
        "oracle: equal values: {same}; different values: {different}; values only in the oracle: {only_oracle}; not \
         comparable, because one side has Inf, a number that its writer could not represent: {not_comparable} (oracle.csv lists the \
         last three groups)"
    );
}

/// Prints notes and warnings to stderr, and the podiums to stdout.
pub fn judgement(
    judge: &Judge,
    totals: &JudgementTotals,
    sensitivity: Option<&Sensitivity>,
    format: Format,
) -> Result<(), Failure> {
    let header = &judge.header;
    for text in &header.notes {
        note(text);
    }
    for flag in header.flags.iter().filter(|flag| flag.kind == FlagKind::NoConfidence) {
        let (entry, examination) =
            (&header.entries[flag.entry].entry, &header.examinations[flag.examination]);
        warning(&format!("{entry} in {examination}: {}", flag.detail));
    }
    if format == Format::Json {
        return print::raw(&json(judge, totals, sensitivity)?);
    }
    let mut page = Page::new();
    page.lines(&table(header, totals));
    if judge.set_by_organizers() > 0 {
        page.line(&format!(
            "trusted values set by the organizers (overrides.csv): {}",
            judge.set_by_organizers()
        ));
    }
    for warning in header.edition.warnings() {
        page.line(&warning);
    }
    page.lines(&(marks(judge) + &sensitivity.map_or(String::new(), ToString::to_string)));
    page.print()
}

/// Prints the runs whose examinations are excluded, if there are any.
pub fn excluded(header: &Judgement) {
    if header.excluded.is_empty() {
        return;
    }
    let reason = header.edition.judging.infrastructure_reason.as_deref().unwrap_or_default();
    let reason = print::escaped(reason);
    stderr_line!(
        "excluded: runs that ended in an infrastructure failure: {}. The examination of such a run is not judged on its \
         instance for any entry ({reason}):",
        header.excluded.len()
    );
    list(&header.excluded);
}

/// Prints the runs without a result.
pub fn provisional(judge: &Judge) {
    let unresolved = &judge.header.unresolved;
    let not_run = judge.not_made_yet();
    let counts = [(unresolved.len() - not_run, "infrastructure failures"), (not_run, "open runs")];
    let counts = counts.iter().filter(|(runs, _)| *runs > 0).map(|(runs, what)| format!("{what}: {runs}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    stderr_line!(
        "provisional: no medal is given, because runs have no result ({counts}); judge again when all runs have a result:"
    );
    list(unresolved);
}

fn list(runs: &[RunName]) {
    for RunName { entry, instance, examination } in runs.iter().take(10) {
        stderr_line!("  {}", print::escaped(&format!("{entry} on {instance} in {examination}")));
    }
}

/// Prints where a judgement is, and the commands that read it, on a terminal. `record`: the record that was judged, if it is a
/// folder.
pub fn written(out: &Path, record: Option<&Path>) {
    let shown = argument(out);
    let record = record.map_or(String::new(), |record| format!(" --record {}", argument(record)));
    next(&format!(
        "the judgement is in {shown} (docs/judgement.md); `mcc-harness report {shown}{record} --out site` writes its site; `mcc-harness explain {shown} --tool TOOL` \
         explains the points of a tool"
    ));
}

/// Prints a message if no entry is competing, so that no podium has a ranked entry.
pub fn no_entry_competes(entries: &[Entry]) -> bool {
    let none = entries.iter().all(|entry| entry.status != Status::Competing);
    if none {
        stderr_line!(
            "no entry competes, so no podium has a rank: every entry is resigned, withdrawn, virtual, out of \
             competition or voting only; check the status of the entries (--tools, or the edition)"
        );
    }
    none
}

/// The podiums with their ranked places. Points are rounded for display.
fn table(header: &Judgement, totals: &JudgementTotals) -> String {
    let mut text = String::new();
    for Podium { category, places } in totals.podiums.iter().filter(|podium| !podium.places.is_empty()) {
        text += &format!("{category}\n");
        for place in places.iter().filter(|place| place.rank.is_some()) {
            let name = &header.entries[place.entry].entry;
            let points = decimals(&place.points);
            let line =
                format!("{:>4}  {name:<20} {points:>10}  {}", place.rank.unwrap_or_default(), place.medal);
            text += line.trim_end();
            text.push('\n');
        }
    }
    text
}

/// One line for every mark of the runs, so that the podium of a degraded campaign is recognized: its name, and in brackets
/// its word in the tables of the judgement.
fn marks(judge: &Judge) -> String {
    let (marks, runs) = judge.marks();
    let noun = if judge.not_made_yet() > 0 { "recorded runs" } else { "runs" };
    let line = |(word, count): (&&str, &u64)| {
        let mark = Mark::from(*word);
        let key = if mark.name() == *word { String::new() } else { format!(" ({word})") };
        format!("{}{key}: {count} of {runs} {noun}\n", mark.name())
    };
    marks.iter().map(line).collect()
}

fn json(
    judge: &Judge,
    totals: &JudgementTotals,
    sensitivity: Option<&Sensitivity>,
) -> serde_json::Result<String> {
    let header = &judge.header;
    let (marks, runs) = judge.marks();
    let places = totals.podiums.iter().flat_map(|podium| {
        podium.places.iter().map(|place| {
            serde_json::json!({
                "category": podium.category,
                "rank": place.rank,
                "tool": header.entries[place.entry].entry,
                "variant": place.variant,
                "points": place.points.to_string(),
                "medal": place.medal,
            })
        })
    });
    let mut document = serde_json::json!({
        "edition": header.edition.name,
        "unknown": header.edition.unknown,
        "provisional": !header.unresolved.is_empty(),
        "podiums": places.collect::<Vec<_>>(),
        "runs": runs,
        "marks": marks,
    });
    if let Some(sensitivity) = sensitivity {
        document["sensitivity"] = serde_json::to_value(sensitivity)?;
    }
    Ok(format!("{document:#}\n"))
}
