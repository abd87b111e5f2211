//! Checks a model as strictly as XML asks. The streaming reader of models takes some texts that strict parsers refuse, and
//! tools of the contest have parsers of both kinds.

use std::collections::BTreeSet;
use xmlparser::{Token, Tokenizer};

/// Returns the line and the problem of the first part of a document that is not well-formed.
pub(super) fn first_fault(text: &str) -> Option<(u64, String)> {
    let mut declared = BTreeSet::from(["", "xml"]);
    let mut used: Vec<(&str, usize)> = vec![];
    let line_at = |offset: usize| text[..offset].matches('\n').count() as u64 + 1;
    for token in Tokenizer::from(text) {
        match token {
            Err(error) => return Some((error.pos().row.into(), error.to_string())),
            Ok(Token::Attribute { prefix, local, value, span }) if prefix.as_str() == "xmlns" => {
                if value.is_empty() || local.as_str() == "xmlns" {
                    let problem = format!("the namespace {local} cannot be declared so");
                    return Some((line_at(span.start()), problem));
                }
                declared.insert(local.as_str());
            }
            Ok(Token::ElementStart { prefix, span, .. } | Token::Attribute { prefix, span, .. }) => {
                if !declared.contains(prefix.as_str())
                    && used.last().is_none_or(|(last, _)| *last != prefix.as_str())
                {
                    used.push((prefix.as_str(), span.start()));
                }
            }
            Ok(_) => {}
        }
    }
    let (prefix, offset) = used.into_iter().find(|(prefix, _)| !declared.contains(prefix))?;
    Some((line_at(offset), format!("the prefix {prefix} is not declared")))
}

#[cfg(test)]
mod tests {
    use super::first_fault;

    #[test]
    fn what_strict_parsers_refuse_is_found_with_its_line() {
        const PLAIN: &str =
            "<?xml version=\"1.0\"?>\n<a xmlns='u' xmlns:p='v'><!-- c --><p:b c='1' p:d='2'>x</p:b>\n</a>\n";
        assert_eq!(first_fault(PLAIN), None);
        for (old, new, line) in [
            ("<?xml", " <?xml", 1),
            ("c='1'", "c='<'", 2),
            ("c='1' p", "c='1'p", 2),
            ("c -->", "c -- -->", 2),
            (">x<", ">]]><", 2),
            (">x<", ">\u{fffe}<", 2),
            ("c='1'", "1c='1'", 2),
            ("p:b c", "q:b c", 2),
            ("\n</a>", "\n<?xml version='1.0'?></a>", 3),
            ("xmlns:p='v'", "xmlns:p=''", 2),
        ] {
            let text = PLAIN.replacen(old, new, 1);
            assert_ne!(text, PLAIN);
            assert_eq!(first_fault(&text).map(|(line, _)| line), Some(line), "{text}");
        }
    }
}
