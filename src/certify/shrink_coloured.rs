//! Reduces the PNML document of a coloured net. What is not removed keeps its text: arc expressions, guards and sorts.

use mcc_model::Net;
use roxmltree::{Document, Error, Node};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

/// The PNML document of a coloured net, and how many colours of its classes are left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColouredDocument {
    text: Rc<str>,
    pub(crate) classes: Vec<ColourClass>,
}

/// An enumeration or a range of integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColourClass {
    name: ClassName,
    /// Its first colours are left, so many of them.
    pub(crate) colours: u64,
}

/// Ranges with the same ends are one sort, wherever they are written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ClassName {
    /// The ids of the constants in document order.
    Enumeration(Vec<String>),
    Range(i64, i64),
}

fn number(node: Node<'_, '_>, attribute: &str) -> Option<i64> {
    node.attribute(attribute)?.trim().parse().ok()
}

fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.tag_name().name() == name
}

impl ColouredDocument {
    /// Reads the classes of a document.
    ///
    /// # Errors
    /// The text is not XML.
    pub fn read(text: String) -> Result<Self, Error> {
        let classes = classes(&Document::parse(&text)?);
        Ok(Self { text: text.into(), classes })
    }

    /// The document with only the nodes and arcs of `net`, and the colours that are left. A token of a removed colour is
    /// removed from an initial marking that lists its colours, and a removed colour from the partitions. What else mentions a
    /// removed colour stays, so that the result may be no valid net.
    ///
    /// # Errors
    /// The text is not XML.
    pub fn to_pnml(&self, net: &Net) -> Result<String, Error> {
        let document = Document::parse(&self.text)?;
        let mut kept = Kept {
            nodes: HashSet::new(),
            arcs: HashSet::new(),
            gone: HashSet::new(),
            classes: self.classes.iter().map(|class| (&class.name, class.colours)).collect(),
        };
        kept.nodes.extend(net.places.iter().map(|place| place.id.as_str()));
        for transition in &net.transitions {
            kept.nodes.insert(&transition.id);
            let place = |arc: &mcc_model::Arc| net.places[arc.place].id.as_str();
            kept.arcs.extend(transition.inputs.iter().map(|arc| (place(arc), transition.id.as_str())));
            kept.arcs.extend(transition.outputs.iter().map(|arc| (transition.id.as_str(), place(arc))));
        }
        for class in &self.classes {
            if let ClassName::Enumeration(ids) = &class.name {
                kept.gone.extend(ids.iter().skip(class.colours as usize).map(String::as_str));
            }
        }
        let mut changes = Vec::new();
        kept.change(document.root_element(), &mut changes);
        let (mut text, mut at) = (String::new(), 0);
        for (range, new) in changes {
            text += &self.text[at..range.start];
            text += &new;
            at = range.end;
        }
        Ok(text + &self.text[at..])
    }
}

fn classes(document: &Document<'_>) -> Vec<ColourClass> {
    let mut classes: Vec<ColourClass> = Vec::new();
    let mut known = HashSet::new();
    for node in document.descendants() {
        let (name, colours) = if is(node, "cyclicenumeration") || is(node, "finiteenumeration") {
            let ids = node.children().filter_map(|constant| constant.attribute("id"));
            let ids: Vec<String> = ids.map(str::to_owned).collect();
            let colours = ids.len() as u64;
            (ClassName::Enumeration(ids), colours)
        } else if is(node, "finiteintrange")
            && let (Some(start), Some(end)) = (number(node, "start"), number(node, "end"))
            && start <= end
        {
            (ClassName::Range(start, end), end.abs_diff(start).saturating_add(1))
        } else {
            continue;
        };
        if known.insert(name.clone()) {
            classes.push(ColourClass { name, colours });
        }
    }
    classes
}

/// What stays in a document, and the constants that do not.
struct Kept<'a> {
    nodes: HashSet<&'a str>,
    arcs: HashSet<(&'a str, &'a str)>,
    gone: HashSet<&'a str>,
    /// The number of colours that are left, by class.
    classes: HashMap<&'a ClassName, u64>,
}

impl Kept<'_> {
    /// Adds the changes of a node and what is in it, in the order of the text.
    fn change(&self, node: Node<'_, '_>, changes: &mut Vec<(Range<usize>, String)>) {
        if self.removes(node) {
            changes.push((node.range(), String::new()));
        } else if let Some((end, attribute)) = self.new_end(node).zip(node.attribute_node("end")) {
            changes.push((attribute.range_value(), end.to_string()));
        } else {
            node.children().for_each(|child| self.change(child, changes));
        }
    }

    fn removes(&self, node: Node<'_, '_>) -> bool {
        let attribute = |name: &'static str| node.attribute(name).unwrap_or_default();
        let within = |name: &str| node.parent_element().is_some_and(|parent| is(parent, name));
        match node.tag_name().name() {
            "place" | "transition" => !self.nodes.contains(attribute("id")),
            "arc" => !self.arcs.contains(&(attribute("source"), attribute("target"))),
            // It may name nodes that are removed.
            "toolspecific" => true,
            "feconstant" => self.gone.contains(attribute("id")),
            "useroperator" | "finiteintrangeconstant" if within("partitionelement") => {
                self.mentions_gone(node)
            }
            "partitionelement" => {
                node.children().filter(Node::is_element).all(|colour| self.mentions_gone(colour))
            }
            "hlinitialMarking" => self.is_sum_of_gone(node),
            "subterm" if within("add") => {
                node.ancestors().any(|around| is(around, "hlinitialMarking")) && self.is_sum_of_gone(node)
            }
            _ => false,
        }
    }

    /// Whether a marking without a sum in it mentions a removed colour.
    fn is_sum_of_gone(&self, node: Node<'_, '_>) -> bool {
        !node.descendants().any(|inside| is(inside, "add")) && self.mentions_gone(node)
    }

    fn mentions_gone(&self, node: Node<'_, '_>) -> bool {
        node.descendants().any(|inside| match inside.tag_name().name() {
            "useroperator" => inside.attribute("declaration").is_some_and(|id| self.gone.contains(id)),
            "finiteintrangeconstant" => {
                let end = inside.children().find_map(|range| self.new_end(range));
                end.zip(number(inside, "value")).is_some_and(|(end, value)| value > end)
            }
            _ => false,
        })
    }

    /// The last integer that is left of a range.
    fn new_end(&self, node: Node<'_, '_>) -> Option<i64> {
        if !is(node, "finiteintrange") {
            return None;
        }
        let range = ClassName::Range(number(node, "start")?, number(node, "end")?);
        let colours = self.classes.get(&range)?;
        number(node, "start")?.checked_add_unsigned(colours - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_model::SymmetricNet;

    const TEXT: &str = include_str!("../../tests/data/evidence/instances/Colours-COL-1/model.pnml");

    fn read(text: &str) -> (Net, SymmetricNet) {
        let net = Net::read(text.as_bytes(), "model.pnml").unwrap();
        (net, SymmetricNet::read(text.as_bytes(), "model.pnml").unwrap())
    }

    #[test]
    fn a_document_loses_nodes_arcs_and_colours() {
        let (mut net, whole) = read(TEXT);
        let mut document = ColouredDocument::read(TEXT.to_owned()).unwrap();
        assert_eq!(read(&document.to_pnml(&net).unwrap()).1, whole);
        // Of the cyclic enumeration two constants, of the range from -1 to 1 two integers: the class `high` has none left.
        assert_eq!(document.classes.iter().map(|class| class.colours).collect::<Vec<_>>(), [3, 3]);
        document.classes.iter_mut().for_each(|class| class.colours = 2);
        net.transitions.retain(|transition| transition.id == "spread");
        net.transitions[0].inputs.retain(|arc| net.places[arc.place].id == "pairs");
        let text = document.to_pnml(&net).unwrap();
        let (graph, coloured) = read(&text);
        assert_eq!(graph, net);
        let colours = |id: &str| coloured.sorts.iter().find(|sort| sort.id == id).unwrap().colours;
        assert_eq!(["C", "R", "Pair", "Half"].map(colours), [2, 2, 4, 1]);
        let pairs = &coloured.places[0].initial;
        assert_eq!((pairs.len(), pairs.values().sum::<u64>()), (2, 2), "all of C, and -1");
        assert!(text.contains("<finiteintrange start=\"-1\" end=\"0\"/>") && !text.contains("\"raise\""));
    }

    #[test]
    fn many_classes_are_read_each_once() {
        let constants: String = (0..100_000)
            .map(|n| format!("<finiteenumeration><feconstant id='c{n}'/></finiteenumeration>"))
            .collect();
        let document =
            ColouredDocument::read(format!("<declarations>{constants}{constants}</declarations>")).unwrap();
        assert_eq!(document.classes.len(), 100_000);
    }

    #[test]
    fn tokens_of_removed_colours_leave_a_marking() {
        let constant = |id| {
            format!(
                "<subterm><numberof><subterm><numberconstant value=\"2\"><positive/></numberconstant></subterm><subterm><useroperator declaration=\"c{id}\"/></subterm></numberof></subterm>"
            )
        };
        let marking = format!(
            "<hlinitialMarking><structure><add>{}<subterm><add>{}{}</add></subterm></add></structure></hlinitialMarking>",
            constant(0),
            constant(1),
            constant(2)
        );
        let place = "<place id=\"others\"><type><structure><usersort declaration=\"C\"/></structure></type>";
        let (net, _) = read(TEXT);
        let mut document =
            ColouredDocument::read(TEXT.replace(place, &(place.to_owned() + &marking))).unwrap();
        document.classes[0].colours = 2;
        let (_, coloured) = read(&document.to_pnml(&net).unwrap());
        assert_eq!(coloured.places[1].initial, [(0, 2), (1, 2)].into());
    }
}
