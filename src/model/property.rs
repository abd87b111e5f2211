//! Reads the properties of an examination (`UpperBounds.xml`, ...): the reference form of formulas (rule E-1.8).

use super::pnml::natural;
use super::xml::{Item, Xml, is_blank, trim};
use super::{ModelError, Problem};
use mcc_base::names::PropertyId;
use roxmltree::{Document, Node, ParsingOptions};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

/// A `<property>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its id as written.
    pub id: String,
    /// The question about the net.
    pub formula: Formula,
}

/// Compares property ids by their positions: the values of an examination are numbered in the order of the bytes of their
/// ids, as by `sort -u` of BenchKit. A property file may have another order, as those of 2025 with ids of two years.
pub fn position_order(a: &str, b: &str) -> Ordering {
    a.as_bytes().cmp(b.as_bytes())
}

/// The formula of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// `place-bound`: the largest sum of tokens on these places (ids as written).
    PlaceBound(Vec<String>),
    /// A state or path formula.
    Boolean(Box<Expr>),
}

/// A state or path formula of Reachability, CTL or LTL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// `all-paths`
    AllPaths(Box<Expr>),
    /// `exists-path`
    ExistsPath(Box<Expr>),
    /// `globally`
    Globally(Box<Expr>),
    /// `finally`
    Finally(Box<Expr>),
    /// `next`
    Next(Box<Expr>),
    /// `until(before, reach)`
    Until(Box<Expr>, Box<Expr>),
    /// `negation`
    Not(Box<Expr>),
    /// `conjunction`
    And(Vec<Expr>),
    /// `disjunction`
    Or(Vec<Expr>),
    /// `integer-le(left, right)`
    Le(Count, Count),
    /// `is-fireable`: at least one of these transitions (ids as written) is enabled. An empty list is false.
    Fireable(Vec<String>),
    /// `deadlock`
    Deadlock,
}

impl Expr {
    /// The formulas directly inside of this one; none in an atom.
    pub fn parts(&self) -> Vec<&Expr> {
        match self {
            Self::AllPaths(inner)
            | Self::ExistsPath(inner)
            | Self::Globally(inner)
            | Self::Finally(inner)
            | Self::Next(inner)
            | Self::Not(inner) => vec![&**inner],
            Self::Until(before, reach) => vec![&**before, &**reach],
            Self::And(parts) | Self::Or(parts) => parts.iter().collect(),
            Self::Le(..) | Self::Fireable(_) | Self::Deadlock => vec![],
        }
    }

    /// Whether this is a state formula: without path operators, so that one marking decides it.
    pub fn is_state_formula(&self) -> bool {
        match self {
            Self::Le(..) | Self::Fireable(_) | Self::Deadlock => true,
            Self::Not(_) | Self::And(_) | Self::Or(_) => self.parts().into_iter().all(Self::is_state_formula),
            _ => false,
        }
    }

    /// Whether each path operator is below a quantifier, as in all formulas of CTL and reachability: the truth in a marking does
    /// not depend on a path from it.
    pub fn is_quantified(&self) -> bool {
        match self {
            Self::AllPaths(_) | Self::ExistsPath(_) => true,
            Self::Not(_) | Self::And(_) | Self::Or(_) => self.parts().into_iter().all(Self::is_quantified),
            _ => self.is_state_formula(),
        }
    }
}

/// A number in a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// `integer-constant`
    Constant(u64),
    /// `tokens-count`: the sum of tokens on these places (ids as written). The sum of an empty list is 0.
    Tokens(Vec<String>),
}

/// As text, such as `AG ((tokens(p, q) ≤ 3) ∨ ¬fireable(t))`. A place bound is `bound(p, q)`.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PlaceBound(places) => write!(f, "bound({})", places.join(", ")),
            Self::Boolean(formula) => write!(f, "{formula}"),
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |f: &mut fmt::Formatter<'_>, parts: &[Expr], sign: &str, none: &str| {
            if parts.is_empty() {
                return f.write_str(none);
            }
            f.write_str("(")?;
            for (number, part) in parts.iter().enumerate() {
                write!(f, "{}{part}", if number > 0 { sign } else { "" })?;
            }
            f.write_str(")")
        };
        match self {
            // The letters of nested operators are written together, as in `AG`.
            Self::AllPaths(inner) => write!(f, "A{inner}"),
            Self::ExistsPath(inner) => write!(f, "E{inner}"),
            Self::Globally(inner) => write!(f, "G {inner}"),
            Self::Finally(inner) => write!(f, "F {inner}"),
            Self::Next(inner) => write!(f, "X {inner}"),
            Self::Until(before, reach) => write!(f, "({before} U {reach})"),
            Self::Not(inner) => write!(f, "¬{inner}"),
            Self::And(parts) => joined(f, parts, " ∧ ", "true"),
            Self::Or(parts) => joined(f, parts, " ∨ ", "false"),
            Self::Le(left, right) => write!(f, "({left} ≤ {right})"),
            Self::Fireable(transitions) => write!(f, "fireable({})", transitions.join(", ")),
            Self::Deadlock => f.write_str("deadlock"),
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(number) => write!(f, "{number}"),
            Self::Tokens(places) => write!(f, "tokens({})", places.join(", ")),
        }
    }
}

/// Largest number of elements and texts in a document. Each needs some hundred bytes of memory.
const MAX_NODES: u32 = 20_000_000;

/// Largest number of declarations of namespaces in a document.
const MAX_NAMESPACES: usize = 30;

/// Parses a document into memory. `file` is the name in errors.
///
/// # Errors
/// It is not well-formed, programs read it differently, or it has more elements, attributes or namespaces than are read in
/// time.
pub fn document<'a>(text: &'a str, file: &str) -> Result<Document<'a>, ModelError> {
    let mut items = Xml::new(text.as_bytes(), file);
    while !matches!(items.next_item()?, Item::Eof) {}
    checked_document(text, file)
}

/// Parses a document that `Xml` has read already.
pub(super) fn checked_document<'a>(text: &'a str, file: &str) -> Result<Document<'a>, ModelError> {
    // The parser copies the namespaces of an element to those within it, and compares each with all.
    if text.matches("xmlns").nth(MAX_NAMESPACES).is_some() {
        let what = format!("there are more than {MAX_NAMESPACES} namespaces");
        return Err(ModelError { file: file.to_owned(), line: 1, problem: Problem::Malformed(what) });
    }
    let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|error| {
        let (row, problem) = match error {
            roxmltree::Error::DtdDetected => (1, Problem::DocumentType),
            roxmltree::Error::NodesLimitReached => (1, Problem::TooMany(MAX_NODES)),
            error => (error.pos().row, Problem::Malformed(error.to_string())),
        };
        ModelError { file: file.to_owned(), line: row.into(), problem }
    })
}

/// Greatest depth of a formula, because formulas are processed recursively. Formulas of the contest are below 100.
const MAX_DEPTH: usize = 1000;

impl Property {
    /// Reads a property file (`<Examination>.xml`): its properties in document order. `file` is the name in errors.
    ///
    /// # Errors
    /// The document is not well-formed, violates the grammar, or has no property. The number of properties that an
    /// examination has is not checked.
    pub fn read_set(text: &str, file: &str) -> Result<Vec<Property>, ModelError> {
        let at = |line: u32, problem| ModelError { file: file.to_owned(), line: line.into(), problem };
        let document = document(text, file)?;
        read_document(&document).map_err(|(node, problem)| at(line_of(node), problem))
    }
}

/// The line in which an element begins: 1, 2, ... Scans the file, so it is for errors only.
pub(super) fn line_of(node: Node<'_, '_>) -> u32 {
    node.document().text_pos_at(node.range().start).row
}

/// A problem and its element.
pub(super) type Fault<'a> = (Node<'a, 'a>, Problem);

fn read_document<'a>(document: &'a Document<'a>) -> Result<Vec<Property>, Fault<'a>> {
    let root = document.root_element();
    if root.tag_name().name() != "property-set" {
        return Err(unexpected(root, "<property-set>"));
    }
    let mut first = HashMap::new();
    let mut properties = Vec::new();
    for node in elements(root) {
        if node.tag_name().name() != "property" {
            return Err(unexpected(node, "<property>"));
        }
        let property = read_property(node)?;
        match first.entry(property.id.clone()) {
            Entry::Occupied(first) => {
                let first = line_of(*first.get()).into();
                return Err((node, Problem::DuplicateId { id: property.id, first }));
            }
            Entry::Vacant(new) => new.insert(node),
        };
        properties.push(property);
    }
    if properties.is_empty() { Err(missing(root, "<property>")) } else { Ok(properties) }
}

fn read_property<'a>(node: Node<'a, 'a>) -> Result<Property, Fault<'a>> {
    let (mut id, mut formula) = (None, None);
    for child in elements(node) {
        let repeated = match child.tag_name().name() {
            "id" => id.replace(words(child)?).is_some(),
            "formula" => formula.replace(read_formula(child)?).is_some(),
            // `<description>` and what other editions may add says nothing about the formula.
            _ => false,
        };
        if repeated {
            let element = child.tag_name().name().to_owned();
            return Err((child, Problem::Repeated { element, within: "one property".to_owned() }));
        }
    }
    match (id, formula) {
        (Some(id), Some(formula)) => match PropertyId::try_from(id) {
            Ok(id) => Ok(Property { id: id.to_string(), formula }),
            Err(bad) => Err((node, Problem::PropertyId(bad))),
        },
        (None, _) => Err(missing(node, "<id>")),
        (_, None) => Err(missing(node, "<formula>")),
    }
}

fn read_formula<'a>(node: Node<'a, 'a>) -> Result<Formula, Fault<'a>> {
    check_content(node, &["integer-constant", "place", "transition"], &["deadlock"], &[])?;
    let top = only(node)?;
    match top.tag_name().name() {
        "place-bound" => Ok(Formula::PlaceBound(names(top, "place")?)),
        _ => Ok(Formula::Boolean(Box::new(read_expr(top, 1)?))),
    }
}

fn read_expr<'a>(node: Node<'a, 'a>, depth: usize) -> Result<Expr, Fault<'a>> {
    if depth > MAX_DEPTH {
        return Err((node, Problem::TooDeep(MAX_DEPTH)));
    }
    let inside = |parent| Ok(Box::new(read_expr(only(parent)?, depth + 1)?));
    let several = || {
        let operands: Vec<_> = elements(node).map(|e| read_expr(e, depth + 1)).collect::<Result<_, _>>()?;
        match operands.len() {
            0 => Err(missing(node, "operands")),
            _ => Ok(operands),
        }
    };
    Ok(match node.tag_name().name() {
        "all-paths" => Expr::AllPaths(inside(node)?),
        "exists-path" => Expr::ExistsPath(inside(node)?),
        "globally" => Expr::Globally(inside(node)?),
        "finally" => Expr::Finally(inside(node)?),
        "next" => Expr::Next(inside(node)?),
        "until" => {
            let [before, reach] = two(node)?;
            for (part, name) in [(before, "before"), (reach, "reach")] {
                if part.tag_name().name() != name {
                    return Err(unexpected(part, &format!("<{name}>")));
                }
            }
            Expr::Until(inside(before)?, inside(reach)?)
        }
        "negation" => Expr::Not(inside(node)?),
        "conjunction" => Expr::And(several()?),
        "disjunction" => Expr::Or(several()?),
        "integer-le" => {
            let [left, right] = two(node)?;
            Expr::Le(read_count(left)?, read_count(right)?)
        }
        "is-fireable" => Expr::Fireable(names(node, "transition")?),
        "deadlock" => Expr::Deadlock,
        _ => return Err(unexpected(node, "a formula")),
    })
}

fn read_count<'a>(node: Node<'a, 'a>) -> Result<Count, Fault<'a>> {
    match node.tag_name().name() {
        "integer-constant" => {
            let number = natural(&words(node)?, || "an integer-constant".to_owned());
            Ok(Count::Constant(number.map_err(|problem| (node, problem))?))
        }
        "tokens-count" => Ok(Count::Tokens(names(node, "place")?)),
        _ => Err(unexpected(node, "<integer-constant> or <tokens-count>")),
    }
}

/// Reads the places or transitions of an atom. The list may be empty, as in some contest files (BART-PT-002): then the
/// sum is 0, and `is-fireable` is false.
fn names<'a>(node: Node<'a, 'a>, element: &str) -> Result<Vec<String>, Fault<'a>> {
    let name = |child: Node<'a, 'a>| {
        if child.tag_name().name() == element {
            words(child)
        } else {
            Err(unexpected(child, &format!("<{element}>")))
        }
    };
    elements(node).map(name).collect()
}

pub(super) fn elements<'a>(node: Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(Node::is_element)
}

/// The only element inside of an element.
pub(super) fn only<'a>(node: Node<'a, 'a>) -> Result<Node<'a, 'a>, Fault<'a>> {
    let mut inside = elements(node);
    let first = inside.next().ok_or_else(|| missing(node, "an element inside"))?;
    match inside.next() {
        Some(second) => Err(unexpected(second, "the end of the element before")),
        None => Ok(first),
    }
}

fn two<'a>(node: Node<'a, 'a>) -> Result<[Node<'a, 'a>; 2], Fault<'a>> {
    let inside: Vec<_> = elements(node).take(3).collect();
    inside.try_into().map_err(|_| missing(node, "exactly two elements inside"))
}

/// Checks that inside of an element only the elements `texts` have text, and these and `leaves` have no elements. Does not
/// look into the elements `skipped`.
pub(super) fn check_content<'a>(
    inside: Node<'a, 'a>,
    texts: &[&str],
    leaves: &[&str],
    skipped: &[&str],
) -> Result<(), Fault<'a>> {
    let mut open = vec![inside];
    while let Some(parent) = open.pop() {
        let name = parent.tag_name().name();
        for child in parent.children() {
            let is_text = child.is_text() && child.text().is_some_and(|text| !is_blank(text));
            if is_text && !texts.contains(&name) {
                return Err((parent, Problem::Text(name.to_owned())));
            }
            if child.is_element() && (leaves.contains(&name) || texts.contains(&name)) {
                return Err(unexpected(child, &format!("the end of <{name}>")));
            }
            if child.is_element() && !skipped.contains(&child.tag_name().name()) {
                open.push(child);
            }
        }
    }
    Ok(())
}

/// The text of an element without surrounding white space; an error if it is empty, or has elements.
pub(super) fn words<'a>(node: Node<'a, 'a>) -> Result<String, Fault<'a>> {
    if let Some(inside) = elements(node).next() {
        return Err(unexpected(inside, "text only"));
    }
    let text: String = node.children().filter(Node::is_text).filter_map(|text| text.text()).collect();
    match trim(&text) {
        "" => Err(missing(node, "text")),
        // Bytes that are not UTF-8.
        text if text.contains(char::REPLACEMENT_CHARACTER) => {
            let what = "text that is not UTF-8".to_owned();
            Err((node, Problem::Malformed(what)))
        }
        text => Ok(text.to_owned()),
    }
}

pub(super) fn unexpected<'a>(node: Node<'a, 'a>, expected: &str) -> Fault<'a> {
    let found = node.tag_name().name().to_owned();
    (node, Problem::Unexpected { found, expected: expected.to_owned() })
}

pub(super) fn missing<'a>(node: Node<'a, 'a>, missing: &str) -> Fault<'a> {
    let element = node.tag_name().name().to_owned();
    (node, Problem::Missing { element, missing: missing.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(formula: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<property-set xmlns=\"http://mcc.lip6.fr/\">\n<property>\n<id> x-00 </id>\
             <description>d</description>\n<formula>{formula}</formula></property>\n</property-set>"
        )
    }

    fn formula(text: &str) -> Formula {
        let mut properties = Property::read_set(&set(text), "f.xml").unwrap();
        assert_eq!(properties[0].id, "x-00");
        properties.remove(0).formula
    }

    #[test]
    fn every_construct_of_the_grammar_is_read() {
        let a = || Expr::Fireable(vec!["t".into()]);
        let atom = "<is-fireable><transition>t</transition></is-fireable>";
        let cases = [
            (
                "<all-paths><globally>A</globally></all-paths>",
                Expr::AllPaths(Expr::Globally(a().into()).into()),
            ),
            ("<exists-path><next>A</next></exists-path>", Expr::ExistsPath(Expr::Next(a().into()).into())),
            ("<finally>A</finally>", Expr::Finally(a().into())),
            ("<until><before>A</before><reach>A</reach></until>", Expr::Until(a().into(), a().into())),
            ("<negation>A</negation>", Expr::Not(a().into())),
            ("<conjunction>AA</conjunction>", Expr::And(vec![a(), a()])),
            ("<disjunction>AAA</disjunction>", Expr::Or(vec![a(), a(), a()])),
            ("<deadlock/>", Expr::Deadlock),
            ("<is-fireable/>", Expr::Fireable(vec![])),
            (
                "<integer-le><integer-constant>4000000000</integer-constant>\
                 <tokens-count><place>p&amp;q</place><place>r</place></tokens-count></integer-le>",
                Expr::Le(Count::Constant(4_000_000_000), Count::Tokens(vec!["p&q".into(), "r".into()])),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(formula(&text.replace('A', atom)), Formula::Boolean(expected.into()));
        }
        let bound = formula("<place-bound><place>p</place><place>q</place></place-bound>");
        assert_eq!(bound, Formula::PlaceBound(vec!["p".into(), "q".into()]));
    }

    #[test]
    fn errors_name_the_line() {
        let twice = set("<deadlock/>").replace(
            "</property-set>",
            "<property>\n<id>x-00</id><formula><deadlock/></formula></property></property-set>",
        );
        let cases = [
            (set(""), "f.xml:5: <formula> without an element inside; add it"),
            (set("\n<maybe/>"), "f.xml:6: <maybe> where a formula is expected;"),
            (
                set("<deadlock/><deadlock/>"),
                "f.xml:5: <deadlock> where the end of the element before is expected;",
            ),
            (set("<is-fireable><transition/></is-fireable>"), "f.xml:5: <transition> without text;"),
            (set("<place-bound>\n<place>p<b>x</b></place></place-bound>"), "f.xml:6: <b> where the end of <place> is expected;"),
            (set("\n<deadlock><b/></deadlock>"), "f.xml:6: <b> where the end of <deadlock> is expected;"),
            (set("<deadlock>not</deadlock>"), "f.xml:5: <deadlock> has text outside of its elements; remove it"),
            (set("\n<negation>not<deadlock/></negation>"), "f.xml:6: <negation> has text outside of its elements;"),
            (set("<deadlock/>x"), "f.xml:5: <formula> has text outside of its elements;"),
            (set("<!-- \0 --><deadlock/>"), "f.xml:5: not well-formed XML:"),
            (set("<is-fireable><transition>&#1;</transition></is-fireable>"), "not well-formed XML:"),
            (set("<conjunction/>"), "f.xml:5: <conjunction> without operands;"),
            (set("<integer-le/>"), "f.xml:5: <integer-le> without exactly two elements inside;"),
            (
                set("<place-bound>\n<transition>t</transition></place-bound>"),
                "f.xml:6: <transition> where <place> is",
            ),
            (
                set("<integer-le><integer-constant>1.5</integer-constant><integer-constant/></integer-le>"),
                "f.xml:5: an integer-constant is \"1.5\", not a natural number;",
            ),
            (set("<deadlock>"), "not well-formed XML:"),
            (
                "<property-set>\n<property><id>x\n-00</id><formula><deadlock/></formula></property></property-set>"
                    .into(),
                "f.xml:2: the property id \"x\\n-00\" contains a control or invisible character; leave it out",
            ),
            (twice, "f.xml:6: the id \"x-00\" was already used in line 3;"),
            ("<property-set/>".into(), "f.xml:1: <property-set> without <property>;"),
            ("<!DOCTYPE x><x/>".into(), "f.xml:1: the file has a document type declaration;"),
        ];
        for (text, message) in cases {
            let error = Property::read_set(&text, "f.xml").unwrap_err().to_string();
            assert!(error.contains(message), "{error}\nexpected: {message}");
        }
    }

    #[test]
    fn deeply_nested_formulas_are_an_error_not_a_stack_overflow() {
        let nest = |depth: usize| {
            set(&format!("{}<deadlock/>{}", "<negation>".repeat(depth), "</negation>".repeat(depth)))
        };
        assert!(Property::read_set(&nest(MAX_DEPTH - 1), "f.xml").is_ok());
        let error = Property::read_set(&nest(300_000), "f.xml").unwrap_err();
        assert!(matches!(error.problem, Problem::TooDeep(_)), "{error}");
    }

    proptest! {
        #[test]
        fn no_mutation_of_a_property_file_makes_the_reader_panic(
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, "[ -~]{0,3}"), 1..6),
        ) {
            let atom = "<integer-le><integer-constant>1</integer-constant><tokens-count><place>p</place>\
                        </tokens-count></integer-le>";
            let mut text = set(&format!("<until><before>{atom}</before><reach><deadlock/></reach></until>"));
            for (at, removed, new) in edits {
                let at = at.index(text.len());
                let end = (at + removed).min(text.len());
                text.replace_range(at..end, &new);
            }
            let _ = Property::read_set(&text, "f.xml");
        }
    }

    #[test]
    fn a_formula_is_written_with_the_objects_that_it_names() {
        let tokens = Expr::Le(Count::Tokens(vec!["p".into(), "q".into()]), Count::Constant(3));
        let fireable = Expr::Not(Box::new(Expr::Fireable(vec!["t".into()])));
        let always = Expr::Globally(Box::new(Expr::Or(vec![tokens.clone(), fireable])));
        let formula = Formula::Boolean(Box::new(Expr::AllPaths(Box::new(always))));
        assert_eq!(formula.to_string(), "AG ((tokens(p, q) ≤ 3) ∨ ¬fireable(t))");
        let until = Expr::ExistsPath(Box::new(Expr::Until(Box::new(tokens), Box::new(Expr::Deadlock))));
        assert_eq!(until.to_string(), "E((tokens(p, q) ≤ 3) U deadlock)");
        assert_eq!(Formula::PlaceBound(vec!["p".into()]).to_string(), "bound(p)");
    }
}
