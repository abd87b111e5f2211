//! Reads the rules of the contests from `docs/rules.md`, for the terminal, the site and the tests.

use mcc_base::suggest;
use serde::Serialize;

/// The text of the file when the program was built.
const TEXT: &str = include_str!("../../docs/rules.md");

/// A section of the rules, such as E-4, with its rules in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleSection {
    /// Its code, such as `M`, `E-4` or `SV`.
    pub code: &'static str,
    /// The subject of its rules.
    pub title: &'static str,
    /// Its rules in the order of the document.
    pub rules: Vec<RuleText>,
}

/// A rule. Its texts are Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RuleText {
    /// Its code, such as `E-4.1`; with a letter (`E-1.7a`) if several rules have the number.
    pub code: &'static str,
    /// Its subject.
    pub title: &'static str,
    /// Its content in one sentence.
    pub content: &'static str,
    /// How the program reads the rule if it leaves a choice; else empty.
    pub reading: &'static str,
    /// The evidence for the reading.
    pub evidence: &'static str,
    /// The keys of an edition file that hold its values; else empty.
    pub key: &'static str,
    /// Files and items that implement it, or `none` with the reason; empty for a rule for people.
    pub code_at: &'static str,
    /// Files and functions that test it; else empty.
    pub tests: &'static str,
}

impl RuleText {
    /// Name and text of its fields after the content, in the order of the document, without empty ones.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let fields = [
            ("Reading", self.reading),
            ("Evidence", self.evidence),
            ("Key", self.key),
            ("Code", self.code_at),
            ("Tests", self.tests),
        ];
        fields.into_iter().filter(|(_, text)| !text.is_empty())
    }

    /// Its number without the letter of a part: `E-1.7` of `E-1.7a`.
    pub fn number(&self) -> &'static str {
        self.code.trim_end_matches(|c: char| c.is_ascii_lowercase())
    }

    /// Sets the field with this name. Returns false if there is no such field.
    fn set(&mut self, name: &str, text: &'static str) -> bool {
        match name {
            "Reading" => self.reading = text,
            "Evidence" => self.evidence = text,
            "Key" => self.key = text,
            "Code" => self.code_at = text,
            "Tests" => self.tests = text,
            _ => return false,
        }
        true
    }
}

/// All sections of the rules, in the order of the document.
pub fn rule_sections() -> Vec<RuleSection> {
    let mut sections: Vec<RuleSection> = Vec::new();
    for line in TEXT.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            let (code, title) = heading.split_once(' ').unwrap_or((heading, ""));
            if let Some(section) = sections.last_mut() {
                section.rules.push(RuleText { code, title, ..RuleText::default() });
            }
        } else if let Some(heading) = line.strip_prefix("## ") {
            let (code, title) = heading.split_once(' ').unwrap_or((heading, ""));
            if is_code(code) {
                sections.push(RuleSection { code, title, rules: Vec::new() });
            }
        } else if let Some(rule) = sections.last_mut().and_then(|section| section.rules.last_mut()) {
            let field = line.strip_prefix("- ").and_then(|line| line.split_once(": "));
            match field {
                Some((name, text)) if rule.set(name, text) => {}
                _ if rule.content.is_empty() => rule.content = line,
                _ => {}
            }
        }
    }
    sections
}

/// The rules of a code: one rule, all rules with this number, or those of a section. Empty if there is no such code. Case
/// is ignored.
pub fn rules_of(code: &str) -> Vec<RuleText> {
    let sections = rule_sections();
    let named = |known: &str| known.eq_ignore_ascii_case(code.trim());
    let section = sections.iter().find(|section| named(section.code)).map(|section| section.rules.clone());
    section.unwrap_or_else(|| {
        let rules = sections.into_iter().flat_map(|section| section.rules);
        rules.filter(|rule| named(rule.code) || named(rule.number())).collect()
    })
}

/// The code of a rule that is most similar to a wrong one.
pub fn nearest_rule(code: &str) -> Option<&'static str> {
    let rules = rule_sections().into_iter().flat_map(|section| section.rules);
    suggest::nearest(&code.trim().to_ascii_uppercase(), rules.map(|rule| rule.number()))
}

/// Splits a text into plain text and codes of rules, in order: `(true, "E-4.1")` for a code that is in `known`.
///
/// A code within a longer word, such as `T-1` in `Net-PT-1`, is plain text.
pub fn rule_codes<'t>(text: &'t str, known: &[&str]) -> Vec<(bool, &'t str)> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.');
    let mut parts = Vec::new();
    let (mut done, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if word == 0 {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let code = rest[..word].trim_end_matches(['.', '-']);
        if known.contains(&code) {
            parts.push((false, &text[done..at]));
            parts.push((true, code));
            done = at + code.len();
        }
        at += word;
    }
    parts.push((false, &text[done..]));
    parts.retain(|(_, text)| !text.is_empty());
    parts
}

/// All codes that may be cited: those of sections and rules, and numbers that several rules have.
pub fn known_rule_codes() -> Vec<&'static str> {
    let mut codes = Vec::new();
    for section in rule_sections() {
        // A single word such as `M` or `SV` is not a citation.
        if section.code.contains('-') {
            codes.push(section.code);
        }
        codes.extend(section.rules.iter().flat_map(|rule| [rule.code, rule.number()]));
    }
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Whether a word has the form of a code: capitals, optionally followed by `-4`, `-4.1` or `-4.1a`.
fn is_code(word: &str) -> bool {
    let (letters, number) =
        word.split_once('-').map_or((word, None), |(letters, number)| (letters, Some(number)));
    let capitals = (1..=3).contains(&letters.len()) && letters.bytes().all(|c| c.is_ascii_uppercase());
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
    let numbered = number.is_none_or(|number| {
        number.trim_end_matches(|c: char| c.is_ascii_lowercase()).split('.').all(digits)
    });
    capitals && numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_heading_of_the_rules_has_all_fields_of_a_rule() {
        let sections = rule_sections();
        let rules: Vec<&RuleText> = sections.iter().flat_map(|section| &section.rules).collect();
        assert_eq!(rules.len(), TEXT.lines().filter(|line| line.starts_with("### ")).count());
        let mut codes: Vec<&str> = rules.iter().map(|rule| rule.code).collect();
        for rule in &rules {
            assert!(is_code(rule.code) && !rule.title.is_empty(), "{rule:?}");
            assert!(rule.content.ends_with('.'), "{}: no sentence: {}", rule.code, rule.content);
            let has_code = !rule.code_at.is_empty() && !rule.code_at.starts_with("none");
            assert_eq!(has_code, !rule.tests.is_empty(), "{}: code and tests belong together", rule.code);
            assert!(has_code || rule.key.is_empty(), "{}: a key that no code reads", rule.code);
            assert!(
                rule.evidence.is_empty() || !rule.reading.is_empty(),
                "{}: evidence of no reading",
                rule.code
            );
        }
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), rules.len(), "a code is repeated");
        // Every line of a rule is read.
        let start = TEXT.find("\n## M ").unwrap();
        let read: usize = rules.iter().map(|rule| 1 + 1 + rule.fields().count()).sum();
        let lines = TEXT[start..].lines().filter(|line| !line.is_empty() && !line.starts_with("## "));
        let notes = lines.clone().filter(|line| line.starts_with("The keys of this section")).count();
        assert_eq!(lines.count() - notes, read);
    }

    #[test]
    fn a_code_names_a_rule_its_parts_or_a_section() {
        let codes = |code: &str| rules_of(code).iter().map(|rule| rule.code).collect::<Vec<_>>();
        assert_eq!(codes("e-4.1"), ["E-4.1"]);
        assert_eq!(codes("E-1.7"), ["E-1.7a", "E-1.7b"]);
        assert_eq!(codes("E-1.7b"), ["E-1.7b"]);
        assert_eq!(codes("E-2"), ["E-2.1", "E-2.2"]);
        assert_eq!(codes("E-9.9"), [""; 0]);
        assert_eq!(nearest_rule("E4.3"), Some("E-4.3"));
    }

    #[test]
    fn codes_are_found_in_text_but_not_within_words() {
        let known = known_rule_codes();
        let found = |text| -> Vec<&str> {
            rule_codes(text, &known).into_iter().filter(|(code, _)| *code).map(|(_, text)| text).collect()
        };
        assert_eq!(found("by rule (E-1.7), E-5.1c and E-4."), ["E-1.7", "E-5.1c", "E-4"]);
        assert_eq!(found("Net-PT-1, r/P-3, E-4.10, SV-COMP, Ünit E-2"), ["E-2"]);
        let text = "ä (P-3): x";
        assert_eq!(rule_codes(text, &known), [(false, "ä ("), (true, "P-3"), (false, "): x")]);
    }
}
