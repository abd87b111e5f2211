//! Reads coloured nets. Every construct is either understood or refused with its line: nothing that could change the
//! meaning of a net is skipped.

mod expressions;
mod sorts;
#[cfg(test)]
mod tests;

use super::property::{Fault, checked_document, elements, line_of, missing, unexpected};
use super::symmetric::{
    Bag, Colour, ColouredPlace, ColouredTransition, Guard, MAX_COLOURS, Multiset, Sort, SortKind,
    SymmetricNet, Variable,
};
use super::symmetric_xml::{Xml, attribute, check_inside, collect, label, name};
use super::{ModelError, Net, NetKind, Problem};
use roxmltree::Document;
use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::sync::Arc;

/// Greatest depth of a sort or an expression, because they are processed recursively.
const MAX_DEPTH: usize = 500;
/// Largest number of bytes of a coloured net, which is kept in memory. The largest of the contest have some 10 MB.
const MAX_BYTES: u64 = 1 << 30;

impl SymmetricNet {
    /// Reads a coloured net. `file` is the name in errors.
    ///
    /// Pages are flattened. Several arcs from one node to another become one with the sum of their expressions.
    ///
    /// # Errors
    /// As [`Net::read`]; the net is not a symmetric net; a sort, term or guard is not known, lacks a part, or does not fit
    /// the sort that is expected. The error has the line.
    pub fn read(source: impl BufRead, file: &str) -> Result<SymmetricNet, ModelError> {
        let at = |line, problem| ModelError { file: file.to_owned(), line, problem };
        let mut bytes = Vec::new();
        let read = source.take(MAX_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| at(1, Problem::Io(error.to_string())))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(at(1, Problem::ItemTooLong(MAX_BYTES)));
        }
        // Checks the graph: ids, ends of arcs, kinds of nodes.
        let graph = Net::read(bytes.as_slice(), file)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| at(1, Problem::Malformed("a coloured net that is not UTF-8".to_owned())))?;
        let document = checked_document(&text, file)?;
        read_net(&document, &graph).map_err(|(node, problem)| at(line_of(node).into(), problem))
    }
}

fn read_net<'a>(document: &'a Document<'a>, graph: &Net) -> Result<SymmetricNet, Fault<'a>> {
    let root = document.root_element();
    let net = elements(root).find(|node| name(*node) == "net").ok_or_else(|| missing(root, "<net>"))?;
    if graph.kind != NetKind::Coloured {
        return Err(unexpected(net, "a net of the type symmetricnet"));
    }
    check_inside(net)?;
    let mut nodes = Vec::new();
    collect(net, &mut nodes)?;
    let mut reader = Reader { left: MAX_COLOURS, ..Reader::default() };
    reader.declare(nodes.iter().copied().filter(|node| name(*node) == "declaration"))?;
    let numbers = |ids: &mut dyn Iterator<Item = &String>| -> HashMap<String, usize> {
        ids.enumerate().map(|(number, id)| (id.clone(), number)).collect()
    };
    let place_numbers = numbers(&mut graph.places.iter().map(|place| &place.id));
    let transition_numbers = numbers(&mut graph.transitions.iter().map(|transition| &transition.id));
    let (mut places, mut transitions, mut scopes) = (Vec::new(), Vec::new(), Vec::new());
    for node in &nodes {
        match name(*node) {
            "place" => places.push(reader.place(*node)?),
            "transition" => {
                let (transition, variables) = reader.transition(*node)?;
                transitions.push(transition);
                scopes.push(variables);
            }
            _ => {}
        }
    }
    // The position of each place in a side of a transition.
    let mut positions = HashMap::new();
    for node in nodes.iter().filter(|node| name(**node) == "arc") {
        let [source, target] = [attribute(*node, "source")?, attribute(*node, "target")?];
        let (place, transition, is_input) = match place_numbers.get(source) {
            Some(place) => (*place, transition_numbers[target], true),
            None => (place_numbers[target], transition_numbers[source], false),
        };
        let label =
            label(*node, "hlinscription", &["type"])?.ok_or_else(|| missing(*node, "<hlinscription>"))?;
        let bag = reader.bag_of(label, places[place].sort, Some(&mut scopes[transition]))?;
        let arcs: &mut ColouredTransition = &mut transitions[transition];
        let side = if is_input { &mut arcs.inputs } else { &mut arcs.outputs };
        let position = *positions.entry((transition, is_input, place)).or_insert(side.len());
        match side.get_mut(position) {
            None => side.push((place, bag)),
            Some((_, Bag::Add(parts))) => parts.push(bag),
            Some((_, known)) => *known = Bag::Add(vec![known.clone(), bag]),
        }
    }
    for (transition, variables) in transitions.iter_mut().zip(scopes) {
        transition.variables = variables.order;
    }
    let Reader { sorts, variables, .. } = reader;
    Ok(SymmetricNet { id: graph.id.clone(), sorts, variables, places, transitions })
}

#[derive(Default)]
struct Reader<'a> {
    sorts: Vec<Sort>,
    /// By number of a sort: the number of simple names in the name of a colour.
    name_lengths: Vec<u64>,
    /// The number of each sort.
    sort_numbers: HashMap<SortKind, usize>,
    variables: Vec<Variable>,
    /// Declarations of sorts that are not read yet, by id; None while one is read.
    open: HashMap<&'a str, Option<Xml<'a>>>,
    /// The numbers of the declared sorts.
    declared: HashMap<&'a str, usize>,
    /// Each constant of an enumeration and element of a partition: its sort and colour.
    constants: HashMap<&'a str, (usize, Colour)>,
    variable_numbers: HashMap<&'a str, usize>,
    /// By number of a partition's sort: the sort that it divides, and the class of each colour.
    partitions: HashMap<usize, (usize, Arc<[Colour]>)>,
    /// The number of colours that the initial markings, and the elements of partitions in expressions, may still list.
    left: u64,
    /// The number of terms that tuples of sums have copied.
    copied: u64,
}

/// The variables of a transition.
#[derive(Default)]
struct Variables {
    /// In the order of their first occurrence.
    order: Vec<usize>,
    /// The position of each variable in this order.
    positions: HashMap<usize, usize>,
}

/// The variables of a transition; None where variables are not allowed.
type Scope<'s> = Option<&'s mut Variables>;

impl<'a> Reader<'a> {
    fn place(&mut self, node: Xml<'a>) -> Result<ColouredPlace, Fault<'a>> {
        let sort = label(node, "type", &["hlinitialMarking"])?.ok_or_else(|| missing(node, "<type>"))?;
        let sort = self.sort(sort, 1)?;
        let initial = match label(node, "hlinitialMarking", &["type"])? {
            None => Multiset::new(),
            Some(marking) => self
                .bag_of(marking, sort, None)?
                .evaluate_within(&[], &mut self.left)
                .map_err(|error| (marking, Problem::NoValue(error)))?,
        };
        Ok(ColouredPlace { id: attribute(node, "id")?.to_owned(), sort, initial })
    }

    /// Reads a transition without its arcs, and the variables of its guard.
    fn transition(&mut self, node: Xml<'a>) -> Result<(ColouredTransition, Variables), Fault<'a>> {
        let mut scope = Variables::default();
        let guard = match label(node, "condition", &[])? {
            None => Guard::And(Vec::new()),
            Some(condition) => self.guard(condition, &mut Some(&mut scope), 1)?,
        };
        let (id, variables) = (attribute(node, "id")?.to_owned(), Vec::new());
        Ok((ColouredTransition { id, variables, guard, inputs: Vec::new(), outputs: Vec::new() }, scope))
    }
}

fn check_depth(node: Xml<'_>, depth: usize) -> Result<(), Fault<'_>> {
    if depth > MAX_DEPTH { Err((node, Problem::TooDeep(MAX_DEPTH))) } else { Ok(()) }
}
