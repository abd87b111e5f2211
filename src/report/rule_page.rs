//! The page of the contests' rules, and the links to it from each rule code in the text of a page.

use super::ReportError;
use super::contest::Frame;
use super::site::NewSite;
use askama::Template;
use mcc_edition::{RuleSection, RuleText, known_rule_codes, rule_codes, rule_sections};
use std::collections::BTreeSet;

/// The path of the page in the site.
pub const PATH: &str = "rules.html";

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

/// Elements whose text gets no links: it is a link or a control already, or it is not text of the page.
const LEFT: [&str; 8] = ["a", "button", "option", "pre", "script", "style", "svg", "title"];

/// The HTML of a page with a link at each rule code in its text. `root` is the relative path to the top of the site.
pub fn with_links(html: &str, root: &str) -> String {
    let known = known_rule_codes();
    let mut out = String::with_capacity(html.len() + html.len() / 16);
    let mut left = 0_usize;
    let mut rest = html;
    while !rest.is_empty() {
        let (text, markup) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
        for (is_code, part) in rule_codes(text, &known) {
            match is_code && left == 0 {
                true => out += &format!("<a href=\"{root}{PATH}#{part}\">{part}</a>"),
                false => out += part,
            }
        }
        let (tag, after) = markup.split_at(markup.find('>').map_or(markup.len(), |end| end + 1));
        let name = tag.trim_start_matches(['<', '/']);
        let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())];
        if LEFT.contains(&name) {
            left = if tag.starts_with("</") { left.saturating_sub(1) } else { left + 1 };
        }
        out += tag;
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_code_in_the_text_of_a_page_is_a_link() {
        let html = "<title>E-2</title><p title=\"E-4.1\">by (E-4.1) &amp; <b>P-3</b>, <a href=\"x\">E-2</a></p>\
                    <td>Net-PT-1 Z-9.9</td><svg><text>E-5</text></svg> E-5";
        let expected = "<title>E-2</title><p title=\"E-4.1\">by (<a href=\"../rules.html#E-4.1\">E-4.1</a>) &amp; \
                        <b><a href=\"../rules.html#P-3\">P-3</a></b>, <a href=\"x\">E-2</a></p>\
                        <td>Net-PT-1 Z-9.9</td><svg><text>E-5</text></svg> <a href=\"../rules.html#E-5\">E-5</a>";
        assert_eq!(with_links(html, "../"), expected);
        assert_eq!(
            with_links("<p>ends in a tag E-2<", ""),
            "<p>ends in a tag <a href=\"rules.html#E-2\">E-2</a><"
        );
    }
}
