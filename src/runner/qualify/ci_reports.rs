//! Findings in the formats of continuous integration: JUnit XML and SARIF 2.1.0.

use super::Finding;
use mcc_base::text::{counted, percent_encoded, visible};
use mcc_edition::{rule_sections, rules_of};
use mcc_model::Severity;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What was checked.
pub struct Checked<'a> {
    /// The name of the check: `qualify LoLA`, `lint`.
    pub name: String,
    /// The checked runs (`ENTRY/INSTANCE/EXAMINATION`), or the one output. Findings of `lint`, which name no run, belong to
    /// the first.
    pub runs: Vec<String>,
    /// The findings.
    pub findings: &'a [Finding],
    /// The path of the output that `lint` read; None: the outputs of runs, relative to a folder of outputs.
    pub file: Option<&'a str>,
}

impl Checked<'_> {
    /// Returns the run of a finding.
    fn run_of<'f>(&'f self, finding: &'f Finding) -> &'f str {
        match finding.run.as_str() {
            "" => self.runs.first().map_or("", String::as_str),
            run => run,
        }
    }

    /// Returns the findings as JUnit XML: one test per run, which fails if a finding of it is an error, and one test for
    /// the findings that belong to no single run.
    pub fn junit(&self) -> String {
        let mut suite = TestSuite::new(self.name.as_str());
        let all = self.findings.iter().map(|finding| self.run_of(finding));
        let known: BTreeSet<&str> = self.runs.iter().map(String::as_str).collect();
        let other: BTreeSet<&str> = all.filter(|run| !known.contains(run)).collect();
        for run in self.runs.iter().map(String::as_str).chain(other) {
            let of_run: Vec<&Finding> =
                self.findings.iter().filter(|finding| self.run_of(finding) == run).collect();
            suite.add_test_case(self.test(run, known.contains(run), &of_run));
        }
        let mut report = Report::new("mcc-harness");
        report.add_test_suite(suite);
        report.to_string().expect("XML in memory can be written")
    }

    fn test(&self, run: &str, is_run: bool, findings: &[&Finding]) -> TestCase {
        let text = |findings: &[&Finding]| -> String {
            let line = |finding: &&Finding| format!("{}\n", visible(&line_of(finding)));
            findings.iter().map(line).collect()
        };
        let (errors, warnings): (Vec<&Finding>, Vec<&Finding>) =
            findings.iter().partition(|finding| finding.severity == Severity::Error);
        let mut status = if errors.is_empty() {
            TestCaseStatus::success()
        } else {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        };
        if let Some(first) = errors.first() {
            let more = match errors.len() {
                1 => String::new(),
                several => format!(" (and {})", counted(several - 1, "more error")),
            };
            status.set_message(visible(&first.text()) + &more).set_type(first.rule);
            status.set_description(text(&errors));
        }
        let (class, name) = match run.split_once('/').filter(|_| is_run) {
            Some((entry, rest)) => (entry, rest),
            None if is_run => (self.name.as_str(), run),
            None => (run, "all runs"),
        };
        let mut test = TestCase::new(name, status);
        test.set_classname(class);
        if !warnings.is_empty() {
            test.set_system_out(text(&warnings));
        }
        test
    }

    /// Returns the findings as SARIF 2.1.0.
    ///
    /// # Errors
    /// None is expected: the log is plain data.
    pub fn sarif(&self) -> serde_json::Result<String> {
        let rules: BTreeSet<&str> = self.findings.iter().map(|finding| finding.rule).collect();
        let rules: Vec<&str> = rules.into_iter().collect();
        let mut run = json!({
            "tool": {
                "driver": {
                    "name": "mcc-harness",
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": rules.iter().map(|rule| described(rule)).collect::<Vec<_>>(),
                }
            }
        });
        if self.file.is_none() {
            run["originalUriBaseIds"] = json!({
                "OUTPUTS": { "description": { "text": "outputs of the runs, in the folder of --out" } }
            });
        }
        run["results"] = self.findings.iter().map(|finding| self.result(finding, &rules)).collect();
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [run],
        });
        Ok(serde_json::to_string_pretty(&log)? + "\n")
    }

    fn result(&self, finding: &Finding, rules: &[&str]) -> Value {
        let run = self.run_of(finding);
        let output = finding.output.unwrap_or("stdout");
        let artifact = match self.file {
            Some(file) => json!({ "uri": uri(file) }),
            None => json!({ "uri": uri(&format!("{run}/{output}")), "uriBaseId": "OUTPUTS" }),
        };
        let mut place = json!({ "artifactLocation": artifact });
        if let Some(line) = finding.line {
            place["region"] = json!({ "startLine": line });
        }
        json!({
            "ruleId": finding.rule,
            "ruleIndex": rules.iter().position(|rule| *rule == finding.rule).unwrap_or_default(),
            "level": severity_word(finding.severity),
            "message": { "text": format!("{}; {}", finding.text(), finding.fix) },
            "locations": [{
                "physicalLocation": place,
                "logicalLocations": [{ "fullyQualifiedName": run }],
            }],
        })
    }
}

/// The rule with this code in SARIF.
fn described(code: &str) -> Value {
    json!({ "id": code, "shortDescription": { "text": rule_title(code) } })
}

/// The title of a rule, of the first rules with a code (`E-1.7` stands for several), or of a section of rules.
pub fn rule_title(code: &str) -> String {
    if let Some(section) = rule_sections().into_iter().find(|section| section.code == code) {
        return section.title.to_owned();
    }
    let titles: Vec<&str> = rules_of(code).iter().map(|rule| rule.title).collect();
    let more = if titles.len() > 2 { "; ..." } else { "" };
    match titles.len() {
        0 => code.to_owned(),
        count => format!("{}{more}", titles[..count.min(2)].join("; ")),
    }
}

/// One line: place, severity, problem, fix, rule.
fn line_of(finding: &Finding) -> String {
    let place = finding.place();
    let place = if place.is_empty() { place } else { format!("{place}: ") };
    let Finding { severity, rule, fix, .. } = finding;
    format!("{place}{}: {}; {fix} ({rule})", severity_word(*severity), finding.text())
}

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// A path as reference of a URI (RFC 3986): other characters than those of paths are percent-encoded.
fn uri(path: &str) -> String {
    percent_encoded(path.as_bytes(), b"-._~/+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_with_an_error_is_a_failed_test() {
        let finding = |run: &str, severity| Finding {
            run: run.to_owned(),
            severity,
            ..Finding::new("E-1.7", "a <bad> line\u{1b}\u{fffe}", "print & flush").at("stdout", Some(3))
        };
        let findings = [finding("t/A-PT-1/X", Severity::Error), finding("t", Severity::Warning)];
        let runs = vec!["t/A-PT-1/X".to_owned(), "t/A-PT-1/Y".to_owned()];
        let checked = Checked { name: "qualify t".to_owned(), runs, findings: &findings, file: None };
        let xml = checked.junit();
        let document = roxmltree::Document::parse(&xml).unwrap();
        let tests: Vec<_> = document.descendants().filter(|node| node.has_tag_name("testcase")).collect();
        let name = |node: &roxmltree::Node| {
            (node.attribute("classname").unwrap().to_owned(), node.attribute("name").unwrap().to_owned())
        };
        let names: Vec<_> = tests.iter().map(name).collect();
        let expected = [("t", "A-PT-1/X"), ("t", "A-PT-1/Y"), ("t", "all runs")];
        assert_eq!(names, expected.map(|(class, name)| (class.to_owned(), name.to_owned())));
        let failures = document.descendants().filter(|node| node.has_tag_name("failure")).collect::<Vec<_>>();
        assert_eq!(failures.len(), 1);
        assert_eq!(failures[0].attribute("message"), Some("a <bad> line⟨ESC⟩⟨U+FFFE⟩"));
        assert_eq!(document.root_element().attribute("failures"), Some("1"));
        let sarif: serde_json::Value = serde_json::from_str(&checked.sarif().unwrap()).unwrap();
        let result = &sarif["runs"][0]["results"][0];
        assert_eq!(result["level"], "error");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "t/A-PT-1/X/stdout");
        assert_eq!(place["region"]["startLine"], 3);
        assert_eq!(uri("a b/\u{e4}.txt"), "a%20b/%C3%A4.txt");
    }
}
