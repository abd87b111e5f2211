//! Checks that parsers of tools read a model as the judge does. Some refuse texts that its streaming reader takes, and some search
//! for nodes and numbers where PNML has none.

use std::collections::BTreeSet;
use xmlparser::{ElementEnd, Token, Tokenizer};

/// Elements whose content is not part of the net.
const SKIPPED: [&str; 3] = ["name", "graphics", "toolspecific"];

/// Parts of a net, also those of other kinds of nets.
const PARTS: [&str; 19] = [
    "net",
    "page",
    "place",
    "referencePlace",
    "transition",
    "referenceTransition",
    "arc",
    "inputArc",
    "outputArc",
    "inhibitorArc",
    "transportArc",
    "initialMarking",
    "inscription",
    "hlinitialMarking",
    "hlinscription",
    "variable",
    "query",
    "queries",
    "k-bound",
];

/// Returns the line of the first part of a document that parsers read differently, and what it has there.
pub(super) fn first_fault(text: &str) -> Option<(u64, String)> {
    let mut declared = BTreeSet::from(["", "xml"]);
    let mut used: Vec<(&str, usize)> = vec![];
    let mut open: Vec<&str> = vec![];
    let line_at = |offset: usize| text[..offset].matches('\n').count() as u64 + 1;
    let malformed = |line: u64, problem: &str| Some((line, format!("is not well-formed XML: {problem}")));
    // The number of open elements when the outermost of these was opened.
    let (mut skipped, mut label) = (None, None);
    for token in Tokenizer::from(text) {
        match token {
            Err(error) => return malformed(error.pos().row.into(), &error.to_string()),
            Ok(Token::Attribute { prefix, local, value, span }) if prefix.as_str() == "xmlns" => {
                if value.is_empty() || local.as_str() == "xmlns" {
                    let problem = format!("the namespace {local} cannot be declared so");
                    return malformed(line_at(span.start()), &problem);
                }
                declared.insert(local.as_str());
            }
            Ok(Token::Attribute { prefix, span, .. }) => used.push((prefix.as_str(), span.start())),
            Ok(Token::ElementStart { prefix, local, span }) => {
                used.push((prefix.as_str(), span.start()));
                let local = local.as_str();
                let is_number = matches!(local, "text" | "value") && skipped.is_some() || local == "name";
                if skipped.is_some() && PARTS.contains(&local) || label.is_some() && is_number {
                    let problem = format!("has <{local}> where the net has no part, but some tools read it");
                    return Some((line_at(span.start()), problem));
                }
                if SKIPPED.contains(&local) {
                    skipped = skipped.or(Some(open.len()));
                }
                if matches!(local, "initialMarking" | "inscription") {
                    label = label.or(Some(open.len()));
                }
                open.push(local);
            }
            Ok(Token::ElementEnd { end: ElementEnd::Close(..) | ElementEnd::Empty, .. }) => {
                open.pop();
                skipped = skipped.filter(|depth| *depth < open.len());
                label = label.filter(|depth| *depth < open.len());
            }
            Ok(_) => {}
        }
        // Prefixes may be declared after they are used in a tag, and are few.
        used.retain(|(prefix, _)| !declared.contains(prefix));
        used.truncate(100);
    }
    let (prefix, offset) = used.into_iter().find(|(prefix, _)| !declared.contains(prefix))?;
    malformed(line_at(offset), &format!("the prefix {prefix} is not declared"))
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

    #[test]
    fn nodes_and_numbers_where_a_net_has_none_are_found() {
        let place = |inside: &str| format!("<place id='p'><initialMarking>{inside}</initialMarking></place>");
        let graphics = "<graphics><offset x='1'/></graphics>";
        let plain = place(&format!("<text>1</text>{graphics}")) + "<name><text>x</text></name>";
        assert_eq!(first_fault(&format!("<net>{plain}</net>")), None);
        for (part, found) in [
            ("<name><place/></name>".to_owned(), "<place>"),
            ("<toolspecific><x><arc/></x></toolspecific>".to_owned(), "<arc>"),
            (place("<text>1</text><graphics><text>2</text></graphics>"), "<text>"),
            (place("<text>1</text><name><x/></name>"), "<name>"),
        ] {
            let (line, problem) = first_fault(&format!("<net>{plain}\n{part}</net>")).unwrap();
            assert!(line == 2 && problem.contains(found), "{line} {problem}");
        }
    }
}
