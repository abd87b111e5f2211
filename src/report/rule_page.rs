//! The page of the contests' rules.

use super::ReportError;
use super::contest::Frame;
use super::rule_links::PATH;
use super::show::{TextParts, code_parts};
use super::site::NewSite;
use askama::Template;
use mcc_edition::{RuleSection, RuleText, known_words, rule_sections};
use std::collections::BTreeSet;

#[derive(Template)]
#[template(path = "rule_page.html")]
struct Page {
    frame: Frame,
    sections: Vec<Section>,
}

struct Section {
    code: &'static str,
    title: &'static str,
    rules: Vec<Rule>,
}

struct Rule {
    code: &'static str,
    /// The number of the whole rule at its first part; else empty.
    number: &'static str,
    title: &'static str,
    content: TextParts,
    fields: Vec<(&'static str, TextParts)>,
}

/// Writes the page.
pub fn write(frame: Frame, site: &NewSite) -> Result<(), ReportError> {
    let mut numbers = BTreeSet::new();
    let mut rule = |rule: RuleText| {
        let first = numbers.insert(rule.number()) && rule.number() != rule.code;
        let number = if first { rule.number() } else { "" };
        let parts =
            |(name, text)| (name, if name == "Key" { explained_keys(text) } else { code_parts(text) });
        let fields = rule.fields().map(parts).collect();
        Rule { code: rule.code, number, title: rule.title, content: code_parts(rule.content), fields }
    };
    let section = |RuleSection { code, title, rules }| Section {
        code,
        title,
        rules: rules.into_iter().map(&mut rule).collect(),
    };
    let sections = rule_sections().into_iter().map(section).collect();
    site.page(PATH, &Page { frame, sections })
}

/// The keys of a rule, each followed by its words.
fn explained_keys(text: &str) -> TextParts {
    let mut parts = TextParts::new();
    for (is_code, text) in code_parts(text) {
        let words = known_words(&text).filter(|_| is_code).map(|words| (false, format!(" ({words})")));
        parts.push((is_code, text));
        parts.extend(words);
    }
    parts
}
