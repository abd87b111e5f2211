//! docs/rules.md has an entry for each rule that is cited; each key, file and item that the documents name exists.

use assert_cmd::Command;
use mcc_harness::edition::{Edition, Rules, known, known_rule_codes, other_edition_names, rule_sections};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const DOCUMENT: &str = include_str!("../../docs/rules.md");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text files in which rules may be cited.
fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in
        ["src", "docs", "editions", "tests", "vm-images", "scripts", "benches", "pnml-fixtures", "README.md"]
    {
        for file in walkdir::WalkDir::new(root().join(place)).sort_by_file_name() {
            let file = file.expect("a readable folder").into_path();
            let ending = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            if matches!(ending, "rs" | "md" | "toml" | "html" | "js" | "py" | "sh" | "bash" | "")
                && file.is_file()
            {
                found.push(file);
            }
        }
    }
    found
}

/// The words of a text that have the form of a rule code: `E-1`, `E-1.7`, `T-5`, `CRV-3`.
fn cited(text: &str) -> BTreeSet<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let words = text.split(|c| !word(c)).map(|word| word.trim_end_matches(['.', '-', '/']));
    words.filter(|word| is_code(word)).collect()
}

fn is_code(word: &str) -> bool {
    let Some((letters, number)) = word.split_once('-') else { return false };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
    let number = number.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(number);
    ["M", "T", "E", "P", "SV", "CRV"].contains(&letters) && number.split('.').all(digits)
}

#[test]
fn every_rule_that_is_cited_has_an_entry() {
    let known = known_rule_codes();
    let mut missing = Vec::new();
    let mut citations = 0;
    for file in sources() {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        // This file and the unit tests of the rule text contain unknown codes on purpose.
        let on_purpose = file.ends_with("tests/project/rules.rs") || file.ends_with("rule_text.rs");
        for code in cited(&text).into_iter().filter(|_| !on_purpose) {
            citations += 1;
            if !known.contains(&code) {
                missing.push(format!("{}: {code}", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "no entry in docs/rules.md:\n{}", missing.join("\n"));
    assert!(citations > 200, "only {citations} citations were found");
}

#[test]
fn every_promise_that_is_cited_is_in_the_table() {
    let promises = include_str!("../../docs/promises.md");
    let mut wrong = Vec::new();
    for file in sources().into_iter().filter(|file| !file.ends_with("tests/project/rules.rs")) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '/'));
        for word in words {
            let number = word.strip_prefix(['R', 'P']).and_then(|number| number.parse::<u8>().ok());
            if number.is_some() && !promises.contains(&format!("\n| {word} | ")) {
                wrong.push(format!("{}: {word}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "no promise of docs/promises.md:\n{}", wrong.join("\n"));
}

/// The code spans of a text, in order.
fn code_spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Whether a Rust file defines an item of that name.
fn defines(source: &str, item: &str) -> bool {
    let kinds = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod"];
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    kinds.iter().any(|kind| {
        let definition = format!("{kind} {item}");
        source.match_indices(&definition).any(|(at, _)| ends(&source[at + definition.len()..]))
    })
}

/// Returns the number of items that a document names in the lines selected by `is_read`, and the errors: files and
/// items that do not exist.
fn missing_items(name: &str, document: &str, is_read: impl Fn(&str) -> bool) -> (usize, Vec<String>) {
    let mut wrong = Vec::new();
    let mut items = 0;
    for (number, line) in document.lines().enumerate().filter(|(_, line)| is_read(line)) {
        let mut file: Option<(&str, String)> = None;
        for span in code_spans(line) {
            if ["src/", "tests/"].iter().any(|place| span.starts_with(place)) {
                let path = root().join(span);
                match fs::read_to_string(&path) {
                    Ok(text) => file = Some((span, text)),
                    Err(_) if path.is_dir() => file = None,
                    Err(error) => wrong.push(format!("{name}:{}: {span}: {error}", number + 1)),
                }
            } else if let Some((path, source)) = &file {
                items += 1;
                if !defines(source, span) {
                    wrong.push(format!("{name}:{}: no `{span}` in {path}", number + 1));
                }
            }
        }
    }
    (items, wrong)
}

#[test]
fn every_file_and_item_that_the_rules_name_exists() {
    let is_read = |line: &str| ["- Code: ", "- Tests: ", "| "].iter().any(|start| line.starts_with(start));
    let (items, wrong) = missing_items("docs/rules.md", DOCUMENT, is_read);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(items > 150, "only {items} items were found");
}

#[test]
fn every_test_that_promises_and_threats_name_exists() {
    for (name, document, least) in [
        ("docs/promises.md", include_str!("../../docs/promises.md"), 100),
        ("docs/threat-model.md", include_str!("../../docs/threat-model.md"), 50),
    ] {
        let (items, wrong) = missing_items(name, document, |line| line.starts_with("| "));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(items > least, "only {items} items were found in {name}");
    }
}

const ARCHITECTURE: &str = include_str!("../../docs/architecture.md");

#[test]
fn every_item_that_the_architecture_names_exists() {
    let (items, wrong) = missing_items("docs/architecture.md", ARCHITECTURE, |line| line.contains("`src/"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(items > 25, "only {items} items were found");
}

#[test]
fn crate_dependencies_match_the_architecture() {
    let rows = ARCHITECTURE.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    let mut compared = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.split(" | ").collect();
        let folder = cells[0].trim_end_matches('`');
        let manifest = root().join(folder).join("Cargo.toml");
        let Ok(manifest) = fs::read_to_string(manifest) else { continue };
        let manifest: toml::Table = manifest.parse().unwrap();
        let used = manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten();
        let used: BTreeSet<&str> = used.filter_map(|(name, _)| name.strip_prefix("mcc-")).collect();
        let last = cells.get(2).copied().unwrap_or_default();
        let documented: BTreeSet<&str> = last.split(", ").filter(|name| !name.is_empty()).collect();
        assert_eq!(used, documented, "{folder}");
        compared.insert(folder.to_owned());
    }
    let workspace: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let members = workspace["workspace"]["members"].as_array().unwrap();
    let members: BTreeSet<String> =
        members.iter().map(|member| member.as_str().unwrap().to_owned()).collect();
    assert_eq!(compared, members);
}

/// What `mcc-check` consists of: `docs/evidence` promises a program without machines, databases and networks.
#[test]
fn mcc_check_has_no_machines_databases_or_networks() {
    let cargo = |args: &[&str]| {
        let output = Command::new(env!("CARGO")).args(args).current_dir(root()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let tree =
        cargo(&["tree", "--locked", "--offline", "-p", "mcc-checker", "-e", "normal", "--prefix", "none"]);
    let crates: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let own: Vec<&str> = crates.iter().copied().filter(|name| name.starts_with("mcc-")).collect();
    assert_eq!(own, ["mcc-base", "mcc-checker", "mcc-model"]);
    for other in ["nix", "rusqlite", "libsqlite3-sys", "socket2", "mio", "tokio", "virt", "openssl-sys"] {
        assert!(!crates.contains(other), "mcc-check is linked with {other}:\n{tree}");
    }
    assert!(crates.contains("clap") && crates.len() < 100, "{tree}");
    for folder in ["base", "model", "checker"] {
        for file in fs::read_dir(root().join("src").join(folder)).unwrap() {
            let path = file.unwrap().path();
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let code = text.split("#[cfg(test)]").next().unwrap();
            assert!(!code.contains("std::net") && !code.contains("unix::net"), "{}", path.display());
        }
    }
}

/// Whether an edition has a key. In a list, the first element with the key counts.
fn has_key(edition: &toml::Value, key: &str) -> bool {
    let part = |at: &toml::Value, name: &str| match at {
        toml::Value::Array(list) => list.iter().find_map(|element| element.get(name)).cloned(),
        at => at.get(name).cloned(),
    };
    key.split('.').try_fold(edition.clone(), |at, name| part(&at, name)).is_some()
}

#[test]
fn every_edition_key_that_the_rules_name_exists() {
    let mcc = known().map(|name| toml::Value::try_from(Edition::load(name).unwrap()).unwrap());
    let others = other_edition_names().map(|name| match Rules::load(name).unwrap() {
        Rules::Other(edition) => toml::Value::try_from(edition).unwrap(),
        Rules::Mcc(_) => panic!("{name} is of the MCC"),
    });
    let editions: Vec<toml::Value> = mcc.chain(others).collect();
    for section in rule_sections() {
        for rule in &section.rules {
            for key in code_spans(rule.key) {
                // No built-in edition gives a reason for a status, or sets another reserve or disk limit than the default.
                let unset =
                    ["status.note", "limits.memory_reserve_mib", "limits.disk_gib", "limits.instructions"];
                let known = unset.contains(&key) || editions.iter().any(|edition| has_key(edition, key));
                assert!(known, "{}: no edition has the key {key}", rule.code);
            }
            assert!(rule.key.is_empty() || rule.key.starts_with('`'), "{}: {}", rule.code, rule.key);
            // `mcc-harness rule` and the page of rules show no links of Markdown.
            let is_link = |text: &str| text.contains("](");
            assert!(!is_link(rule.content) && !rule.fields().any(|(_, text)| is_link(text)), "{}", rule.code);
        }
    }
}

#[test]
fn each_rule_of_the_contest_has_one_entry() {
    let numbers = |section: &str, count: usize| {
        let entry = rule_sections().into_iter().find(|entry| entry.code == section).unwrap();
        let found: BTreeSet<String> = entry.rules.iter().map(|rule| rule.number().to_owned()).collect();
        let separator = if section.contains('-') { "." } else { "-" };
        let expected: BTreeSet<String> = (1..=count).map(|n| format!("{section}{separator}{n}")).collect();
        assert_eq!(found, expected, "{section}");
    };
    for (section, count) in
        [("M", 7), ("T", 9), ("E-1", 10), ("E-2", 2), ("E-3", 1), ("E-4", 6), ("E-5", 6), ("P", 5)]
    {
        numbers(section, count);
    }
}

/// What a reading or its evidence claims with a number, `every` or `no` is shown by a test.
#[test]
fn a_rule_with_a_number_every_or_no_names_a_test() {
    let is_claim = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        ["every", "no"].contains(&word.as_str()) || word.contains(|c: char| c.is_ascii_digit())
    };
    let rules = rule_sections().into_iter().flat_map(|section| section.rules);
    let without = rules.filter(|rule| {
        let mut words = rule.reading.split_whitespace().chain(rule.evidence.split_whitespace());
        rule.tests.is_empty() && words.any(is_claim)
    });
    assert_eq!(without.map(|rule| rule.code).collect::<Vec<_>>(), [""; 0]);
}

fn rule(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("mcc-harness").unwrap().arg("rule").args(args).assert()
}

fn stdout(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

#[test]
fn a_rule_is_printed_with_its_key_file_and_test() {
    let printed = stdout(&rule(&["e-4.4b"]).success());
    for part in [
        "E-4.4b Normalization\n",
        "\nKey       judging.normalization, judging.scale, judging.family_factors\n",
        "src/judge/mcc/weights.rs weights",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(printed.lines().all(|line| line.chars().count() <= 100), "{printed}");
    let both = stdout(&rule(&["E-1.7"]).success());
    assert!(both.contains("E-1.7a ") && both.contains("\nE-1.7b "), "{both}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&rule(&["E-1.7", "--format", "json"]).success())).unwrap();
    assert_eq!((json[0]["code"].as_str(), json[1]["code"].as_str()), (Some("E-1.7a"), Some("E-1.7b")));
}

#[test]
fn without_a_code_all_rules_are_listed() {
    let printed = stdout(&rule(&[]).success());
    for rule in rule_sections().iter().flat_map(|section| &section.rules) {
        assert!(printed.contains(&format!("  {:<7} {}\n", rule.code, rule.title)), "{}", rule.code);
    }
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&rule(&["--format", "json"]).success())).unwrap();
    assert_eq!(json.as_array().map(Vec::len), Some(rule_sections().len()));
}

#[test]
fn an_unknown_code_is_refused_with_a_suggestion() {
    let refused = rule(&["E4.3"]).code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    let expected = "there is no rule with the code `E4.3`; `mcc-harness rule E-4.3` shows the rule with the most similar code";
    assert!(message.contains(expected), "{message}");
    // A section is not similar to a rule, nor a rule to one of another letter.
    for code in ["E-99", "E-9"] {
        let refused = rule(&[code]).code(2);
        let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        let expected = format!("there is no rule with the code `{code}`; `mcc-harness rule` lists all rules");
        assert!(message.contains(&expected), "{message}");
    }
}
