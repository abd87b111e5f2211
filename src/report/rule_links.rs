//! Links to the page of the rules from each rule code in the text of a page.

use mcc_edition::{known_rule_codes, rule_codes};

/// The path of the page of the rules in the site.
pub const PATH: &str = "rules.html";

/// Elements whose text gets no links: it is a link or a control already, or it is not text of the page.
const UNLINKED: [&str; 8] = ["a", "button", "option", "pre", "script", "style", "svg", "title"];

/// The HTML of a page with a link at each rule code in its text. `root` is the relative path to the top of the site.
pub fn with_links(html: &str, root: &str) -> String {
    let known = known_rule_codes();
    let mut out = String::with_capacity(html.len() + html.len() / 16);
    let mut unlinked = 0_usize;
    let mut rest = html;
    while !rest.is_empty() {
        let (text, markup) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
        for (is_code, part) in rule_codes(text, &known) {
            if is_code && unlinked == 0 {
                out += &format!("<a href=\"{root}{PATH}#{part}\">{part}</a>");
            } else {
                out += part;
            }
        }
        let (tag, after) = markup.split_at(markup.find('>').map_or(markup.len(), |end| end + 1));
        let name = tag.trim_start_matches(['<', '/']);
        let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())];
        if UNLINKED.contains(&name) {
            unlinked = if tag.starts_with("</") { unlinked.saturating_sub(1) } else { unlinked + 1 };
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
