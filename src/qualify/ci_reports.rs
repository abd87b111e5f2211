//! Findings in the formats of continuous integration: JUnit XML and SARIF 2.1.0.

use super::{Finding, counted};
use mcc_edition::rules_of;
use mcc_model::Severity;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;
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
            let line = |finding: &&Finding| format!("{}\n", line_of(finding));
            findings.iter().map(line).collect()
        };
        let (errors, warnings): (Vec<&Finding>, Vec<&Finding>) =
            findings.iter().partition(|finding| finding.severity == Severity::Error);
        let mut status = match errors.is_empty() {
            true => TestCaseStatus::success(),
            false => TestCaseStatus::non_success(NonSuccessKind::Failure),
        };
        if let Some(first) = errors.first() {
            let more = match errors.len() {
                1 => String::new(),
                several => format!(" (and {})", counted(several - 1, "more error")),
            };
            status.set_message(format!("{}{more}", first.problem)).set_type(first.rule);
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
        let results = self.findings.iter().map(|finding| self.result(finding, &rules)).collect();
        let outputs = serde_json::json!({
            "OUTPUTS": { "description": { "text": "outputs of the runs, in the folder of --out" } }
        });
        let log = Log {
            schema: "https://json.schemastore.org/sarif-2.1.0.json",
            version: "2.1.0",
            runs: [Run {
                tool: Tool {
                    driver: Driver {
                        name: "mcc-harness",
                        semantic_version: env!("CARGO_PKG_VERSION"),
                        rules: rules.iter().map(|rule| Rule::of(rule)).collect(),
                    },
                },
                original_uri_base_ids: self.file.is_none().then_some(outputs),
                results,
            }],
        };
        Ok(serde_json::to_string_pretty(&log)? + "\n")
    }

    fn result(&self, finding: &Finding, rules: &[&str]) -> SarifResult {
        let run = self.run_of(finding);
        let output = finding.output.unwrap_or("stdout");
        let (uri, base) = match self.file {
            Some(file) => (uri(file), None),
            None => (uri(&format!("{run}/{output}")), Some("OUTPUTS")),
        };
        SarifResult {
            rule_id: finding.rule,
            rule_index: rules.iter().position(|rule| *rule == finding.rule).unwrap_or_default(),
            level: severity_word(finding.severity),
            message: Text { text: format!("{}; {}", finding.problem, finding.fix) },
            locations: [Location {
                physical_location: PhysicalLocation {
                    artifact_location: ArtifactLocation { uri, uri_base_id: base },
                    region: finding.line.map(|start_line| Region { start_line }),
                },
                logical_locations: [LogicalLocation { fully_qualified_name: run.to_owned() }],
            }],
        }
    }
}

/// One line: place, severity, problem, fix, rule.
fn line_of(finding: &Finding) -> String {
    let place = finding.place();
    let place = if place.is_empty() { place } else { format!("{place}: ") };
    let Finding { severity, rule, problem, fix, .. } = finding;
    format!("{place}{}: {problem}; {fix} ({rule})", severity_word(*severity))
}

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// A path as reference of a URI (RFC 3986): other characters than those of paths are percent-encoded.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/+".contains(&byte);
    path.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// The root of a SARIF log. The names of the fields are those of the standard.
#[derive(Serialize)]
struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_uri_base_ids: Option<serde_json::Value>,
    results: Vec<SarifResult>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: String,
    short_description: Text,
}

impl Rule {
    /// The rule with this code. `E-1.7` stands for all rules with that number.
    fn of(code: &str) -> Self {
        let titles: Vec<&str> = rules_of(code).iter().map(|rule| rule.title).collect();
        let text = if titles.is_empty() { code.to_owned() } else { titles.join("; ") };
        Self { id: code.to_owned(), short_description: Text { text } }
    }
}

#[derive(Serialize)]
struct Text {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Text,
    locations: [Location; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
    logical_locations: [LogicalLocation; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation {
    fully_qualified_name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_with_an_error_is_a_failed_test() {
        let finding = |run: &str, severity| Finding {
            run: run.to_owned(),
            severity,
            ..Finding::new("E-1.7", "a <bad> line\u{1b}", "print & flush").at("stdout", Some(3))
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
        assert_eq!(failures[0].attribute("message"), Some("a <bad> line"));
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
