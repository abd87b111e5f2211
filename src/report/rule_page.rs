//! The page of the contests' rules.

use super::ReportError;
use super::contest::Frame;
use super::rule_links::PATH;
use super::site::NewSite;
use askama::Template;
use mcc_edition::{RuleSection, RuleText, rule_sections};
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
    content: Parts,
    fields: Vec<(&'static str, Parts)>,
}

/// Parts of a text: whether the part is code, and the part.
type Parts = Vec<(bool, &'static str)>;

/// Writes the page.
pub fn write(frame: Frame, site: &NewSite) -> Result<(), ReportError> {
    let mut numbers = BTreeSet::new();
    let mut rule = |rule: RuleText| {
        let first = numbers.insert(rule.number()) && rule.number() != rule.code;
        let number = if first { rule.number() } else { "" };
        let fields = rule.fields().map(|(name, text)| (name, parts(text))).collect();
        Rule { code: rule.code, number, title: rule.title, content: parts(rule.content), fields }
    };
    let section = |RuleSection { code, title, rules }| Section {
        code,
        title,
        rules: rules.into_iter().map(&mut rule).collect(),
    };
    let sections = rule_sections().into_iter().map(section).collect();
    site.page(PATH, &Page { frame, sections })
}

/// Splits Markdown at its backticks: text between two of them is code.
fn parts(text: &'static str) -> Parts {
    let spans = text.split('`').enumerate();
    spans.map(|(number, span)| (number % 2 == 1, span)).filter(|(_, span)| !span.is_empty()).collect()
}
