//! Findings of a tool's check as text: errors first, and the same problem of several runs only once.

use super::terminal::{ERROR, HEADING, Page, WARNING};
use anstyle::Style;
use mcc_base::text::counted;
use mcc_campaign::benchkit::abridged;
use mcc_judge::show::columns;
use mcc_model::Severity;
use mcc_runner::qualify::{Finding, JudgedValue, rule_title};
use std::collections::{BTreeSet, HashMap};

/// Largest number of places of a problem that are shown. Wrong values are shown all.
const MAX_PLACES: usize = 5;

/// Findings with the same problem in several places, or wrong values with the same remedy.
struct Group<'f> {
    first: &'f Finding,
    /// The place of each finding, with its own problem if that is not the problem of the first. Empty for wrong values.
    places: Vec<String>,
    /// The findings about wrong values.
    values: Vec<&'f Finding>,
}

/// The label of a finding, and its style.
pub fn label(severity: Severity) -> (&'static str, Style) {
    match severity {
        Severity::Error => ("error", ERROR),
        Severity::Warning => ("warning", WARNING),
    }
}

/// Adds the findings to a page, and the titles of the rules in them. `next_command` returns the command that usually
/// follows the first finding of a problem.
pub fn show(page: &mut Page, findings: &[Finding], next_command: &dyn Fn(&Finding) -> Option<String>) {
    for Group { first, places, values } in groups(findings) {
        let (label, style) = label(first.severity);
        let problem = match values.len() {
            0 => first.problem.clone(),
            count => counted(count, "wrong value"),
        };
        page.item(0, label, style, &format!("{}: {problem}", first.rule));
        let fix = if values.len() > 1 { without_evidence(&first.fix).0 } else { &first.fix };
        page.item(4, "fix:", HEADING, fix);
        page.lines(&side_by_side(&values));
        for value in values.iter().filter(|_| values.len() > 1) {
            if let (_, Some(evidence)) = without_evidence(&value.fix) {
                let instance = value.run.split('/').nth(1).unwrap_or_default();
                page.item(4, "evidence:", HEADING, &format!("{instance}: {evidence}"));
            }
        }
        let shown = places.iter().take(MAX_PLACES).map(String::as_str).collect::<Vec<_>>().join("; ");
        let more = match places.len() {
            0..=MAX_PLACES => String::new(),
            many => format!("; and {} more", many - MAX_PLACES),
        };
        if !shown.is_empty() {
            page.item(4, "in:", HEADING, &format!("{shown}{more}"));
        }
        if let Some(command) = next_command(first) {
            page.item(4, "next:", HEADING, &command);
        }
        page.gap();
    }
    let codes: BTreeSet<&str> = findings.iter().map(|finding| finding.rule).collect();
    for code in codes {
        page.item(0, code, HEADING, &format!("{} (mcc-harness rule {code})", rule_title(code)));
    }
}

/// A remedy without the evidence that `qualify --certify` adds, and this evidence.
fn without_evidence(fix: &str) -> (&str, Option<&str>) {
    match fix.split_once("; evidence: ") {
        Some((fix, evidence)) => (fix, Some(evidence)),
        None => (fix, None),
    }
}

/// Wrong values as a table, with the known value beside the given one; empty if there are none.
fn side_by_side(values: &[&Finding]) -> String {
    let row = |finding: &&Finding| {
        let JudgedValue { id, given, known, oracle, .. } = finding.value.as_ref()?;
        let run = finding.run.split_once('/').map_or("", |(_, run)| run);
        let place = format!("{run} {}", finding.place());
        Some(vec![
            format!("    {id}"),
            abridged(known),
            abridged(given),
            place.trim().to_owned(),
            oracle.clone(),
        ])
    };
    let rows: Vec<Vec<String>> = values.iter().filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let heading = ["    value", "expected", "given", "printed in", "known from"].map(str::to_owned).to_vec();
    columns(&[vec![heading], rows].concat(), &[])
}

/// The findings by problem: errors first, else in their order.
fn groups(findings: &[Finding]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = vec![];
    let mut known: HashMap<(u8, &str, bool, String, String), usize> = HashMap::new();
    for finding in findings {
        let instance = finding.run.split('/').nth(1).unwrap_or_default();
        // Each wrong value has a line of its own, so their problems need not be alike.
        let problem =
            finding.value.as_ref().map_or_else(|| general(&finding.problem, instance), |_| String::new());
        let severity = u8::from(finding.severity != Severity::Error);
        let key = (severity, finding.rule, finding.value.is_some(), problem, general(&finding.fix, instance));
        let group = *known.entry(key).or_insert_with(|| {
            groups.push(Group { first: finding, places: vec![], values: vec![] });
            groups.len() - 1
        });
        if finding.value.is_some() {
            groups[group].values.push(finding);
            continue;
        }
        let in_run = finding.run.split_once('/').map_or("", |(_, run)| run);
        let place = [in_run, &finding.place()].join(" ").trim().to_owned();
        let is_other = finding.problem != groups[group].first.problem;
        let place = match (place.is_empty(), is_other) {
            (true, false) => continue,
            (false, false) => place,
            (true, true) => finding.text(),
            (false, true) => format!("{place}: {}", finding.text()),
        };
        groups[group].places.push(place);
    }
    groups.sort_by_key(|group| group.first.severity != Severity::Error);
    groups
}

/// A text without the name of its instance and without numbers, by which the problems of two runs are compared.
fn general(text: &str, instance: &str) -> String {
    let text = if instance.is_empty() { text.to_owned() } else { text.replace(instance, "") };
    let mut general = String::with_capacity(text.len());
    for c in text.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }) {
        if c != '#' || !general.ends_with('#') {
            general.push(c);
        }
    }
    general
}

/// The number of errors and of warnings, in words.
pub fn counts(findings: &[Finding]) -> String {
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    format!("{}, {}", counted(count(Severity::Error), "error"), counted(count(Severity::Warning), "warning"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(run: &str, severity: Severity, problem: &str) -> Finding {
        Finding {
            run: run.to_owned(),
            output: Some("stdout"),
            line: Some(7),
            severity,
            rule: "E-1.7",
            problem: problem.to_owned(),
            fix: "write it".to_owned(),
            value: None,
        }
    }

    #[test]
    fn a_problem_of_several_runs_is_one_group_and_errors_come_first() {
        let findings = [
            finding("t/M-PT-1/X", Severity::Warning, "M-PT-1-X-00 has no TECHNIQUES"),
            finding("t/M-PT-1/X", Severity::Error, "`a` is not a value for M-PT-1-X-03"),
            finding("t/M-PT-22/X", Severity::Error, "`a` is not a value for M-PT-22-X-14"),
            finding("t/M-PT-22/X", Severity::Error, "`b` is not a value for M-PT-22-X-14"),
        ];
        let groups = groups(&findings);
        let shown: Vec<_> =
            groups.iter().map(|group| (group.first.problem.as_str(), group.places.len())).collect();
        assert_eq!(
            shown,
            [
                ("`a` is not a value for M-PT-1-X-03", 2),
                ("`b` is not a value for M-PT-22-X-14", 1),
                ("M-PT-1-X-00 has no TECHNIQUES", 1)
            ]
        );
        assert_eq!(
            groups[0].places,
            ["M-PT-1/X stdout line 7", "M-PT-22/X stdout line 7: `a` is not a value for M-PT-22-X-14"]
        );
        assert_eq!(counts(&findings), "3 errors, 1 warning");
    }

    #[test]
    fn each_wrong_value_is_shown_with_its_own_id_and_oracle() {
        let wrong = |position: &str, line, given: &str, known: &str| {
            let id = format!("M-PT-1-X-{position}");
            let problem = format!("{id} is {given}, but the known value is {known}");
            let [position, given, known, oracle] =
                [position, given, known, "oracle/M-PT-1.csv"].map(str::to_owned);
            let value = Some(JudgedValue { position, id, given, known, oracle });
            Finding { line: Some(line), value, ..finding("t/M-PT-1/X", Severity::Error, &problem) }
        };
        let findings = [
            wrong("01", 3, "3", "2"),
            finding("t/M-PT-1/X", Severity::Error, "`a` is not a value for M-PT-1-X-03"),
            wrong("05", 7, "2", "1"),
            wrong("06", 8, "3", "2"),
        ];
        let groups = groups(&findings);
        assert_eq!(groups.len(), 2);
        assert_eq!(
            side_by_side(&groups[0].values),
            "    value        expected  given  printed in              known from\n    \
             M-PT-1-X-01  2         3      M-PT-1/X stdout line 3  oracle/M-PT-1.csv\n    \
             M-PT-1-X-05  1         2      M-PT-1/X stdout line 7  oracle/M-PT-1.csv\n    \
             M-PT-1-X-06  2         3      M-PT-1/X stdout line 8  oracle/M-PT-1.csv\n"
        );
        assert_eq!(without_evidence("write it; evidence: N is 2"), ("write it", Some("N is 2")));
        assert_eq!(without_evidence("write it; no evidence: why"), ("write it; no evidence: why", None));
    }
}
