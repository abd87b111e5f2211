//! The elements of a coloured net: each is found where the grammar has it, or the file is refused with its line.

use super::Problem;
use super::property::{Fault, check_content, elements, line_of, missing, only, unexpected};
use super::xml::{check_id, trim};
use roxmltree::Node;

pub(super) type Xml<'a> = Node<'a, 'a>;

/// Collects the places, transitions, arcs and declarations of a net or page and of its pages.
pub(super) fn collect<'a>(inside: Xml<'a>, nodes: &mut Vec<Xml<'a>>) -> Result<(), Fault<'a>> {
    let mut open = vec![inside];
    while let Some(inside) = open.pop() {
        // In document order: pages are put back in reverse.
        let mut pages = Vec::new();
        for node in elements(inside) {
            match name(node) {
                "page" => pages.push(node),
                "place" | "transition" | "arc" | "declaration" => nodes.push(node),
                "name" | "toolspecific" | "graphics" => {}
                _ => return Err(unsupported(node)),
            }
        }
        open.extend(pages.into_iter().rev());
    }
    nodes.sort_by_key(|node| node.range().start);
    Ok(())
}

/// Elements whose content says nothing about the behaviour.
const SKIPPED: [&str; 4] = ["name", "toolspecific", "graphics", "text"];

/// Terms and sorts that consist of attributes.
const WITHOUT_ELEMENTS: [&str; 11] = [
    "variable",
    "useroperator",
    "dotconstant",
    "booleanconstant",
    "feconstant",
    "usersort",
    "dot",
    "bool",
    "finiteintrange",
    "positive",
    "natural",
];

/// Checks what the readers of single elements do not see: that there is no text, and nothing inside of such terms and sorts.
pub(super) fn check_inside(net: Xml<'_>) -> Result<(), Fault<'_>> {
    check_content(net, &[], &WITHOUT_ELEMENTS, &SKIPPED)
}

pub(super) fn name<'a>(node: Xml<'a>) -> &'a str {
    node.tag_name().name()
}

/// The terms inside the `<subterm>` elements.
pub(super) fn subterms<'a>(node: Xml<'a>) -> Result<Vec<Xml<'a>>, Fault<'a>> {
    let inside = |part: Xml<'a>| match name(part) {
        "subterm" => only(part),
        _ => Err(unexpected(part, "<subterm>")),
    };
    elements(node).map(inside).collect()
}

pub(super) fn two<'a>(node: Xml<'a>) -> Result<[Xml<'a>; 2], Fault<'a>> {
    subterms(node)?.try_into().map_err(|_| missing(node, "exactly two subterms"))
}

/// The element in the `<structure>` of the label `wanted` of a node; None if the node has no such label. Refuses elements
/// that are neither this label, nor among `others`, nor without meaning for the behaviour.
pub(super) fn label<'a>(node: Xml<'a>, wanted: &str, others: &[&str]) -> Result<Option<Xml<'a>>, Fault<'a>> {
    let Some(found) = single(node, wanted, &[&["name"], others].concat())? else { return Ok(None) };
    structure(found)?.map(Some).ok_or_else(|| missing(found, "<structure>"))
}

/// The element in the `<structure>` of a label; None if there is no structure.
pub(super) fn structure<'a>(label: Xml<'a>) -> Result<Option<Xml<'a>>, Fault<'a>> {
    single(label, "structure", &["text"])?.map(only).transpose()
}

/// The only child element with this name; None if there is none. Refuses elements that are neither this one, nor among
/// `others`, nor without meaning for the behaviour.
fn single<'a>(node: Xml<'a>, wanted: &str, others: &[&str]) -> Result<Option<Xml<'a>>, Fault<'a>> {
    let mut found = None;
    for child in elements(node) {
        match name(child) {
            element if element == wanted => {
                if found.replace(child).is_some() {
                    let within = format!("one <{}>", name(node));
                    return Err((child, Problem::Repeated { element: wanted.to_owned(), within }));
                }
            }
            "graphics" | "toolspecific" => {}
            element if others.contains(&element) => {}
            _ => return Err(unsupported(child)),
        }
    }
    Ok(found)
}

pub(super) fn attribute<'a>(node: Xml<'a>, name: &str) -> Result<&'a str, Fault<'a>> {
    let value = node.attribute(name).filter(|value| !value.is_empty());
    let value = value.ok_or_else(|| missing(node, &format!("the attribute {name}")))?;
    check_id(name, value).map_err(|problem| (node, problem)).map(|()| value)
}

pub(super) fn integer<'a>(node: Xml<'a>, name: &str) -> Result<i64, Fault<'a>> {
    let text = attribute(node, name)?;
    trim(text).parse().map_err(|_| {
        let text = text.chars().take(40).collect();
        (node, Problem::NotANumber { what: format!("the attribute {name}"), text })
    })
}

pub(super) fn truth(node: Xml<'_>) -> Result<bool, Fault<'_>> {
    match attribute(node, "value")? {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(unexpected(node, "a value of true or false")),
    }
}

pub(super) fn unsupported(node: Xml<'_>) -> Fault<'_> {
    let element = format!("{}> in <{}", name(node), node.parent().map_or("", |parent| name(parent)));
    (node, Problem::UnknownConstruct { element })
}

pub(super) fn unknown<'a>(node: Xml<'a>, what: &'static str, id: &str) -> Fault<'a> {
    (node, Problem::NotDeclared { what, id: id.to_owned() })
}

pub(super) fn repeated<'a>(node: Xml<'a>, id: &str, first: Xml<'a>) -> Fault<'a> {
    (node, Problem::DuplicateId { id: id.to_owned(), first: line_of(first).into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmltree::Document;

    #[test]
    fn a_long_id_is_refused() {
        for (length, is_read) in [(1024, true), (1025, false)] {
            let text = format!("<feconstant id='{}'/>", "c".repeat(length));
            let document = Document::parse(&text).unwrap();
            assert_eq!(attribute(document.root_element(), "id").is_ok(), is_read);
        }
    }
}
