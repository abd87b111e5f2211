//! Reads coloured nets. Every construct is either understood or refused with its line: nothing that could change the
//! meaning of a net is skipped.

use super::property::{Fault, document, elements, line_of, missing, unexpected};
use super::symmetric::{
    Bag, Colour, ColouredPlace, ColouredTransition, Comparison, Guard, Multiset, Sort, SortKind,
    SymmetricNet, Term, Variable,
};
use super::symmetric_xml::{
    Xml, attribute, collect, integer, label, name, only, repeated, structure, subterms, truth, two, unknown,
    unsupported,
};
use super::{ModelError, Net, NetKind, Problem};
use roxmltree::Document;
use std::collections::HashMap;
use std::io::{BufRead, Read};

/// Greatest depth of a sort or an expression, because they are processed recursively.
const DEEPEST: usize = 500;
/// Largest number of components of the tuples that one tuple of sums stands for.
const MOST_COMPONENTS: u32 = 1_000_000;
/// Largest number of bytes of a coloured net, which is kept in memory. The largest of the contest have some 10 MB.
const LARGEST: u64 = 1 << 30;

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
        let read = source.take(LARGEST + 1).read_to_end(&mut bytes);
        read.map_err(|error| at(1, Problem::Io(error.to_string())))?;
        if bytes.len() as u64 > LARGEST {
            return Err(at(1, Problem::ItemTooLong(LARGEST)));
        }
        // Checks the graph: ids, ends of arcs, kinds of nodes.
        let graph = Net::read(bytes.as_slice(), file)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| at(1, Problem::Malformed("a coloured net that is not UTF-8".to_owned())))?;
        let document = document(&text, file)?;
        read_net(&document, &graph).map_err(|(node, problem)| at(line_of(node).into(), problem))
    }
}

fn read_net<'a>(document: &'a Document<'a>, graph: &Net) -> Result<SymmetricNet, Fault<'a>> {
    let root = document.root_element();
    let net = elements(root).find(|node| name(*node) == "net").ok_or_else(|| missing(root, "<net>"))?;
    if graph.kind != NetKind::Coloured {
        return Err(unexpected(net, "a net of the type symmetricnet"));
    }
    let mut nodes = Vec::new();
    collect(net, &mut nodes)?;
    let mut reader = Reader::default();
    reader.declare(nodes.iter().copied().filter(|node| name(*node) == "declaration"))?;
    let numbers = |ids: &mut dyn Iterator<Item = &String>| -> HashMap<String, usize> {
        ids.enumerate().map(|(number, id)| (id.clone(), number)).collect()
    };
    let place_numbers = numbers(&mut graph.places.iter().map(|place| &place.id));
    let transition_numbers = numbers(&mut graph.transitions.iter().map(|transition| &transition.id));
    let (mut places, mut transitions) = (Vec::new(), Vec::new());
    for node in &nodes {
        match name(*node) {
            "place" => places.push(reader.place(*node)?),
            "transition" => transitions.push(reader.transition(*node)?),
            _ => {}
        }
    }
    for node in nodes.iter().filter(|node| name(**node) == "arc") {
        let [source, target] = [attribute(*node, "source")?, attribute(*node, "target")?];
        let (place, transition, is_input) = match place_numbers.get(source) {
            Some(place) => (*place, transition_numbers[target], true),
            None => (place_numbers[target], transition_numbers[source], false),
        };
        let transition: &mut ColouredTransition = &mut transitions[transition];
        let label =
            label(*node, "hlinscription", &["type"])?.ok_or_else(|| missing(*node, "<hlinscription>"))?;
        let bag = reader.bag_of(label, places[place].sort, Some(&mut transition.variables))?;
        let side = if is_input { &mut transition.inputs } else { &mut transition.outputs };
        match side.iter_mut().find(|(known, _)| *known == place) {
            None => side.push((place, bag)),
            Some((_, Bag::Add(parts))) => parts.push(bag),
            Some((_, known)) => *known = Bag::Add(vec![known.clone(), bag]),
        }
    }
    let Reader { sorts, variables, .. } = reader;
    Ok(SymmetricNet { id: graph.id.clone(), sorts, variables, places, transitions })
}

#[derive(Default)]
struct Reader<'a> {
    sorts: Vec<Sort>,
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
    partitions: HashMap<usize, (usize, Vec<Colour>)>,
}

/// The variables of a transition, in the order of their first occurrence; None where variables are not allowed.
type Scope<'s> = Option<&'s mut Vec<usize>>;

impl<'a> Reader<'a> {
    fn declare(&mut self, declarations: impl Iterator<Item = Xml<'a>>) -> Result<(), Fault<'a>> {
        let (mut sorts, mut variables) = (Vec::new(), Vec::new());
        for declaration in declarations {
            let Some(list) = structure(declaration)? else { continue };
            if name(list) != "declarations" {
                return Err(unexpected(list, "<declarations>"));
            }
            for node in elements(list) {
                match name(node) {
                    "namedsort" | "partition" => sorts.push(node),
                    "variabledecl" => variables.push(node),
                    _ => return Err(unsupported(node)),
                }
            }
        }
        for node in &sorts {
            let id = attribute(*node, "id")?;
            if let Some(Some(first)) = self.open.insert(id, Some(*node)) {
                return Err(repeated(*node, id, first));
            }
        }
        for node in &sorts {
            self.named(*node, attribute(*node, "id")?, 1)?;
        }
        for node in variables {
            let id = attribute(node, "id")?;
            let sort = self.sort(only(node)?, 1)?;
            if self.variable_numbers.insert(id, self.variables.len()).is_some() {
                return Err(repeated(node, id, node));
            }
            self.variables.push(Variable { id: id.to_owned(), sort });
        }
        Ok(())
    }

    /// The number of a declared sort; `node` refers to it.
    fn named(&mut self, node: Xml<'a>, id: &'a str, depth: usize) -> Result<usize, Fault<'a>> {
        if let Some(number) = self.declared.get(id) {
            return Ok(*number);
        }
        let declaration = self.open.get_mut(id).ok_or_else(|| unknown(node, "sort", id))?.take();
        let declaration = declaration.ok_or_else(|| {
            let found = format!("usersort declaration=\"{id}\"");
            (node, Problem::Unexpected { found, expected: "a sort that does not contain itself".to_owned() })
        })?;
        let number = match name(declaration) {
            "partition" => self.partition(declaration, id, depth + 1)?,
            _ => {
                let number = self.sort(only(declaration)?, depth + 1)?;
                if self.sorts[number].id.is_empty() {
                    id.clone_into(&mut self.sorts[number].id);
                }
                number
            }
        };
        self.declared.insert(id, number);
        Ok(number)
    }

    fn sort(&mut self, node: Xml<'a>, depth: usize) -> Result<usize, Fault<'a>> {
        if depth > DEEPEST {
            return Err((node, Problem::TooDeep(DEEPEST)));
        }
        let kind = match name(node) {
            "usersort" => return self.named(node, attribute(node, "declaration")?, depth),
            "dot" => SortKind::Dot,
            "bool" => boolean(),
            "productsort" => {
                let parts: Result<Vec<_>, _> =
                    elements(node).map(|part| self.sort(part, depth + 1)).collect();
                match parts?[..] {
                    // A tuple of one component is that component.
                    [sort] => return Ok(sort),
                    ref parts => SortKind::Product(parts.to_vec()),
                }
            }
            "finiteintrange" => {
                let [start, end] = [integer(node, "start")?, integer(node, "end")?];
                SortKind::Range { start, end }
            }
            "finiteenumeration" | "cyclicenumeration" => {
                let constants: Vec<_> = elements(node).collect();
                if let Some(other) = constants.iter().find(|constant| name(**constant) != "feconstant") {
                    return Err(unexpected(*other, "<feconstant>"));
                }
                return self.add_constants(node, &constants, SortKind::Enumeration);
            }
            _ => return Err(unsupported(node)),
        };
        self.intern(node, kind)
    }

    /// Adds a sort with these constants, and returns its number.
    fn add_constants(
        &mut self,
        node: Xml<'a>,
        constants: &[Xml<'a>],
        kind: fn(Vec<String>) -> SortKind,
    ) -> Result<usize, Fault<'a>> {
        let ids: Vec<&str> = constants.iter().map(|node| attribute(*node, "id")).collect::<Result<_, _>>()?;
        let sort = self.intern(node, kind(ids.iter().map(|id| (*id).to_owned()).collect()))?;
        for (colour, (id, constant)) in ids.into_iter().zip(constants).enumerate() {
            if self.constants.insert(id, (sort, colour as u64)).is_some() {
                return Err(repeated(*constant, id, *constant));
            }
        }
        Ok(sort)
    }

    /// The number of a sort of this kind: a known one, or a new one. Two enumerations differ by their constants.
    fn intern(&mut self, node: Xml<'a>, kind: SortKind) -> Result<usize, Fault<'a>> {
        if let Some(known) = self.sort_numbers.get(&kind) {
            return Ok(*known);
        }
        let colours = match &kind {
            SortKind::Dot => Some(1),
            SortKind::Enumeration(ids) | SortKind::Partition(ids) => Some(ids.len() as u64),
            SortKind::Range { start, end } => {
                u64::try_from((i128::from(*end) - i128::from(*start) + 1).max(0)).ok()
            }
            SortKind::Product(parts) if parts.is_empty() => Some(0),
            SortKind::Product(parts) => {
                parts.iter().try_fold(1, |product: u64, part| product.checked_mul(self.sorts[*part].colours))
            }
        };
        match colours {
            None => {
                let what = "the number of colours of a sort".to_owned();
                Err((node, Problem::TooLarge { what, text: "too much".to_owned() }))
            }
            Some(0) => Err(missing(node, "colours")),
            Some(colours) => {
                let number = self.sorts.len();
                self.sort_numbers.insert(kind.clone(), number);
                self.sorts.push(Sort { id: String::new(), kind, colours });
                Ok(number)
            }
        }
    }

    fn partition(&mut self, node: Xml<'a>, id: &'a str, depth: usize) -> Result<usize, Fault<'a>> {
        let mut classes = elements(node);
        let base = classes.next().ok_or_else(|| missing(node, "<usersort>"))?;
        let base = self.sort(base, depth + 1)?;
        let classes: Vec<_> = classes.collect();
        let mut class_of = HashMap::new();
        for (class, part) in classes.iter().enumerate() {
            if name(*part) != "partitionelement" {
                return Err(unexpected(*part, "<partitionelement>"));
            }
            for constant in elements(*part) {
                let (term, sort) = self.term(constant, &mut None, depth + 1)?;
                self.check_sort(constant, sort, base)?;
                if class_of.insert(term.colour(&[]), class as u64).is_some() {
                    return Err(unexpected(
                        constant,
                        "a constant that no other element of the partition has",
                    ));
                }
            }
        }
        let colours = self.sorts[base].colours;
        if class_of.len() as u64 != colours {
            return Err(missing(node, "some of the constants of its sort"));
        }
        let number = self.add_constants(node, &classes, SortKind::Partition)?;
        id.clone_into(&mut self.sorts[number].id);
        let class_of = (0..colours).filter_map(|colour| class_of.get(&colour).copied()).collect();
        self.partitions.insert(number, (base, class_of));
        Ok(number)
    }

    fn place(&mut self, node: Xml<'a>) -> Result<ColouredPlace, Fault<'a>> {
        let sort = label(node, "type", &["hlinitialMarking"])?.ok_or_else(|| missing(node, "<type>"))?;
        let sort = self.sort(sort, 1)?;
        let initial = match label(node, "hlinitialMarking", &["type"])? {
            None => Multiset::new(),
            Some(marking) => self
                .bag_of(marking, sort, None)?
                .evaluate(&[])
                .map_err(|error| (marking, Problem::NoValue(error)))?,
        };
        Ok(ColouredPlace { id: attribute(node, "id")?.to_owned(), sort, initial })
    }

    fn transition(&mut self, node: Xml<'a>) -> Result<ColouredTransition, Fault<'a>> {
        let mut variables = Vec::new();
        let guard = match label(node, "condition", &[])? {
            None => Guard::And(Vec::new()),
            Some(condition) => self.guard(condition, &mut Some(&mut variables), 1)?,
        };
        let id = attribute(node, "id")?.to_owned();
        Ok(ColouredTransition { id, variables, guard, inputs: Vec::new(), outputs: Vec::new() })
    }

    /// Reads an expression for a place of this sort.
    fn bag_of(&mut self, node: Xml<'a>, sort: usize, mut scope: Scope<'_>) -> Result<Bag, Fault<'a>> {
        let (bag, found) = self.bag(node, Some(sort), &mut scope, 1)?;
        if let Some(found) = found {
            self.check_sort(node, found, sort)?;
        }
        Ok(bag)
    }

    /// Returns the expression and its sort; None: every sort (a sum of nothing). `expected` is the sort that fits, if it is
    /// known; an expression of another sort is returned as well.
    fn bag(
        &mut self,
        node: Xml<'a>,
        expected: Option<usize>,
        scope: &mut Scope<'_>,
        depth: usize,
    ) -> Result<(Bag, Option<usize>), Fault<'a>> {
        if depth > DEEPEST {
            return Err((node, Problem::TooDeep(DEEPEST)));
        }
        match name(node) {
            "numberof" | "scalarproduct" => {
                let [number, bag] = two(node)?;
                if name(number) != "numberconstant" {
                    return Err(unexpected(number, "<numberconstant>"));
                }
                let value =
                    super::pnml::natural(attribute(number, "value")?, || "a numberconstant".to_owned());
                let value = value.map_err(|problem| (number, problem))?;
                let (bag, sort) = self.bag(bag, expected, scope, depth + 1)?;
                Ok((Bag::Times(value, Box::new(bag)), sort))
            }
            "add" | "subtract" => {
                let mut bags = Vec::new();
                let mut sort = None;
                for part in subterms(node)? {
                    let (bag, found) = self.bag(part, expected, scope, depth + 1)?;
                    if let (Some(found), Some(sort)) = (found, sort) {
                        self.check_sort(part, found, sort)?;
                    }
                    sort = sort.or(found);
                    bags.push(bag);
                }
                if name(node) == "add" {
                    return Ok((Bag::Add(bags), sort));
                }
                // From the first one all others are taken.
                let mut bags = bags.into_iter();
                match (bags.next(), bags.len()) {
                    (Some(from), 1..) => {
                        Ok((Bag::Subtract(Box::new(from), Box::new(Bag::Add(bags.collect()))), sort))
                    }
                    _ => Err(missing(node, "at least two subterms")),
                }
            }
            "tuple" => {
                let (mut parts, mut sorts) = (Vec::new(), Vec::new());
                let components = subterms(node)?;
                let expected = match (components.len(), expected.map(|sort| &self.sorts[sort].kind)) {
                    (1, _) => vec![expected],
                    (_, Some(SortKind::Product(sorts))) => sorts.iter().copied().map(Some).collect(),
                    _ => Vec::new(),
                };
                for (number, part) in components.into_iter().enumerate() {
                    let expected = expected.get(number).copied().flatten();
                    let (bag, sort) = self.bag(part, expected, scope, depth + 1)?;
                    let sort = sort.ok_or_else(|| missing(part, "a sort"))?;
                    parts.push((bag, self.sorts[sort].colours));
                    sorts.push(sort);
                }
                let sort = self.tuple_sort(node, &sorts)?;
                let parts: Vec<_> = parts.iter().map(|(bag, colours)| (bag, *colours)).collect();
                let bag = tuple_of(&parts, 0, &mut 0).ok_or((node, Problem::TooMany(MOST_COMPONENTS)))?;
                Ok((bag, Some(sort)))
            }
            "empty" => {
                let sort = self.sort(only(node)?, depth + 1)?;
                Ok((Bag::Add(Vec::new()), Some(sort)))
            }
            _ => {
                let (term, sort) = self.term(node, scope, depth)?;
                // An element of a partition stands for each of its colours where those are expected.
                if let (Some((base, classes)), Term::Constant(class)) = (self.partitions.get(&sort), &term)
                    && expected == Some(*base)
                {
                    let colours = (0..).zip(classes).filter(|(_, known)| *known == class);
                    let each = colours.map(|(colour, _)| Bag::Each(Term::Constant(colour)));
                    return Ok((Bag::Add(each.collect()), expected));
                }
                Ok((Bag::Each(term), Some(sort)))
            }
        }
    }

    fn term(
        &mut self,
        node: Xml<'a>,
        scope: &mut Scope<'_>,
        depth: usize,
    ) -> Result<(Term, usize), Fault<'a>> {
        if depth > DEEPEST {
            return Err((node, Problem::TooDeep(DEEPEST)));
        }
        match name(node) {
            "variable" => {
                let id = attribute(node, "refvariable")?;
                let number = *self.variable_numbers.get(id).ok_or_else(|| unknown(node, "variable", id))?;
                let Some(scope) = scope else { return Err(unexpected(node, "a term without variables")) };
                let position = scope.iter().position(|known| *known == number).unwrap_or_else(|| {
                    scope.push(number);
                    scope.len() - 1
                });
                Ok((Term::Variable(position), self.variables[number].sort))
            }
            "useroperator" => {
                let id = attribute(node, "declaration")?;
                let (sort, colour) = self.constants.get(id).ok_or_else(|| unknown(node, "constant", id))?;
                Ok((Term::Constant(*colour), *sort))
            }
            "dotconstant" => Ok((Term::Constant(0), self.intern(node, SortKind::Dot)?)),
            "booleanconstant" => {
                let colour = truth(node)?.into();
                Ok((Term::Constant(colour), self.intern(node, boolean())?))
            }
            "finiteintrangeconstant" => {
                let value = integer(node, "value")?;
                let sort = self.sort(only(node)?, depth + 1)?;
                match self.sorts[sort].kind {
                    SortKind::Range { start, end } if (start..=end).contains(&value) => {
                        Ok((Term::Constant(value.wrapping_sub(start) as u64), sort))
                    }
                    _ => Err(unexpected(node, "a number of its range")),
                }
            }
            kind @ ("successor" | "predecessor") => {
                let [inside] =
                    subterms(node)?.try_into().map_err(|_| missing(node, "exactly one subterm"))?;
                let (term, sort) = self.term(inside, scope, depth + 1)?;
                let Sort { kind: sort_kind, colours, .. } = &self.sorts[sort];
                if !matches!(sort_kind, SortKind::Enumeration(_) | SortKind::Range { .. }) {
                    return Err(unexpected(inside, "a term of an enumeration or a range"));
                }
                let term = Box::new(term);
                let term = match kind {
                    "successor" => Term::Successor(term, *colours),
                    _ => Term::Predecessor(term, *colours),
                };
                Ok((term, sort))
            }
            "tuple" => {
                let (mut parts, mut sorts) = (Vec::new(), Vec::new());
                for part in subterms(node)? {
                    let (term, sort) = self.term(part, scope, depth + 1)?;
                    parts.push((term, self.sorts[sort].colours));
                    sorts.push(sort);
                }
                Ok((joined(parts), self.tuple_sort(node, &sorts)?))
            }
            "all" => {
                let sort = self.sort(only(node)?, depth + 1)?;
                Ok((Term::All(self.sorts[sort].colours), sort))
            }
            "partitionelementof" => {
                let id = attribute(node, "refpartition")?;
                let [inside] =
                    subterms(node)?.try_into().map_err(|_| missing(node, "exactly one subterm"))?;
                let (term, sort) = self.term(inside, scope, depth + 1)?;
                let partition = self.declared.get(id).filter(|sort| self.partitions.contains_key(sort));
                let partition = *partition.ok_or_else(|| unknown(node, "partition", id))?;
                let (base, classes) = &self.partitions[&partition];
                self.check_sort(inside, sort, *base)?;
                Ok((Term::Class(Box::new(term), classes.clone()), partition))
            }
            _ => Err(unsupported(node)),
        }
    }

    /// The sort of a tuple; a tuple of one component is that component.
    fn tuple_sort(&mut self, node: Xml<'a>, sorts: &[usize]) -> Result<usize, Fault<'a>> {
        match sorts {
            [sort] => Ok(*sort),
            sorts => self.intern(node, SortKind::Product(sorts.to_vec())),
        }
    }

    fn guard(&mut self, node: Xml<'a>, scope: &mut Scope<'_>, depth: usize) -> Result<Guard, Fault<'a>> {
        if depth > DEEPEST {
            return Err((node, Problem::TooDeep(DEEPEST)));
        }
        let comparison = match name(node) {
            connective @ ("and" | "or" | "not" | "imply") => {
                let parts = subterms(node)?;
                let parts: Result<Vec<_>, _> =
                    parts.into_iter().map(|part| self.guard(part, scope, depth + 1)).collect();
                let mut parts = parts?;
                return match (connective, parts.len()) {
                    ("and", 1..) => Ok(Guard::And(parts)),
                    ("or", 1..) => Ok(Guard::Or(parts)),
                    ("not", 1) => Ok(Guard::Not(Box::new(Guard::And(parts)))),
                    ("imply", 2) => {
                        let conclusion = parts.split_off(1);
                        let refuted = Guard::Not(Box::new(Guard::And(parts)));
                        Ok(Guard::Or(vec![refuted, Guard::And(conclusion)]))
                    }
                    _ => Err(missing(node, "the subterms that it connects")),
                };
            }
            "booleanconstant" => {
                return Ok(if truth(node)? { Guard::And(Vec::new()) } else { Guard::Or(Vec::new()) });
            }
            "equality" => Comparison::Equal,
            "inequality" => Comparison::NotEqual,
            "lessthan" | "ltp" => Comparison::Less,
            "lessthanorequal" => Comparison::LessOrEqual,
            "greaterthan" | "gtp" => Comparison::Greater,
            "greaterthanorequal" => Comparison::GreaterOrEqual,
            _ => return Err(unsupported(node)),
        };
        let nodes = two(node)?;
        let [(left, left_sort), (right, right_sort)] =
            [self.term(nodes[0], scope, depth + 1)?, self.term(nodes[1], scope, depth + 1)?];
        self.check_sort(nodes[1], right_sort, left_sort)?;
        if let Some(all) = node.descendants().find(|inside| name(*inside) == "all") {
            return Err(unexpected(all, "a term with one colour"));
        }
        if !matches!(comparison, Comparison::Equal | Comparison::NotEqual)
            && matches!(self.sorts[left_sort].kind, SortKind::Dot | SortKind::Product(_))
        {
            return Err(unexpected(node, "a comparison of colours that have an order"));
        }
        Ok(Guard::Compare(comparison, left, right))
    }

    fn check_sort(&self, node: Xml<'a>, found: usize, expected: usize) -> Result<(), Fault<'a>> {
        let shown = |sort: usize| match &self.sorts[sort] {
            Sort { id, .. } if !id.is_empty() => id.clone(),
            Sort { kind: SortKind::Dot, .. } => "dot".to_owned(),
            Sort { kind: SortKind::Product(parts), .. } => format!("a product of {} sorts", parts.len()),
            Sort { colours, .. } => format!("a sort with {colours} colours"),
        };
        if found == expected {
            return Ok(());
        }
        let found = format!("{}> of the sort <{}", name(node), shown(found));
        Err((node, Problem::Unexpected { found, expected: format!("the sort {}", shown(expected)) }))
    }
}

/// The tuple of these components, each with the number of colours of its sort.
fn joined(mut parts: Vec<(Term, u64)>) -> Term {
    match parts.pop() {
        Some((only, _)) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            Term::Tuple(parts)
        }
    }
}

/// The multiset of the tuples of these components, each with the number of colours of its sort. Sums, multiples and
/// differences inside of a tuple are moved outwards: a tuple is linear in each component. None: it is too large; `size`
/// counts its components.
fn tuple_of(parts: &[(&Bag, u64)], depth: usize, size: &mut u32) -> Option<Bag> {
    *size = size.saturating_add(u32::try_from(parts.len()).unwrap_or(u32::MAX));
    if *size > MOST_COMPONENTS || depth > DEEPEST {
        return None;
    }
    let mut terms = Vec::new();
    for (at, &(bag, colours)) in parts.iter().enumerate() {
        let mut with = |bag| {
            let mut parts = parts.to_vec();
            parts[at].0 = bag;
            tuple_of(&parts, depth + 1, size)
        };
        match bag {
            Bag::Each(term) => terms.push((term.clone(), colours)),
            Bag::Times(number, bag) => return Some(Bag::Times(*number, Box::new(with(bag)?))),
            Bag::Add(bags) => return Some(Bag::Add(bags.iter().map(with).collect::<Option<_>>()?)),
            Bag::Subtract(from, taken) => {
                return Some(Bag::Subtract(Box::new(with(from)?), Box::new(with(taken)?)));
            }
        }
    }
    Some(Bag::Each(joined(terms)))
}

fn boolean() -> SortKind {
    SortKind::Enumeration(["false", "true"].map(str::to_owned).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColourName;

    /// A net with all kinds of sorts: a place `p` of the given type and a transition with the given guard and arcs.
    fn net(place_type: &str, marking: &str, guard: &str, inscription: &str) -> String {
        format!(
            "<pnml><net id='n' type='symmetricnet'>
<declaration><structure><declarations>
<namedsort id='Pair' name='Pair'><productsort><usersort declaration='C'/><usersort declaration='R'/></productsort></namedsort>
<namedsort id='C' name='C'><cyclicenumeration><feconstant id='c0' name='0'/><feconstant id='c1' name='1'/><feconstant id='c2' name='2'/></cyclicenumeration></namedsort>
<namedsort id='R' name='R'><finiteintrange start='-1' end='2'/></namedsort>
<namedsort id='D' name='D'><dot/></namedsort>
<partition id='Half' name='Half'><usersort declaration='C'/>
<partitionelement id='low' name='l'><useroperator declaration='c0'/><useroperator declaration='c1'/></partitionelement>
<partitionelement id='high' name='h'><useroperator declaration='c2'/></partitionelement></partition>
<variabledecl id='x' name='x'><usersort declaration='C'/></variabledecl>
<variabledecl id='y' name='y'><usersort declaration='C'/></variabledecl>
<variabledecl id='r' name='r'><usersort declaration='R'/></variabledecl>
</declarations></structure></declaration>
<page id='g'><place id='p'><type><structure>{place_type}</structure></type>
<hlinitialMarking><structure>{marking}</structure></hlinitialMarking></place>
<transition id='t'><condition><structure>{guard}</structure></condition></transition>
<arc id='a' source='p' target='t'><hlinscription><structure>{inscription}</structure></hlinscription></arc>
</page></net></pnml>"
        )
    }

    #[test]
    fn each_kind_of_sort_has_one_number() {
        let pair =
            "<productsort><usersort declaration='C'/><finiteintrange start='-1' end='2'/></productsort>";
        let read = |place_type: &str| {
            read(&net(place_type, &term("tuple(*C,*R)"), &term(GUARD), &term("tuple(x,r)"))).unwrap()
        };
        let (named, anonymous) = (read(&user("Pair")), read(pair));
        assert_eq!(named.places[0].sort, anonymous.places[0].sort);
        assert_eq!(named.sorts, anonymous.sorts);
        let kinds: std::collections::HashSet<&SortKind> = named.sorts.iter().map(|sort| &sort.kind).collect();
        assert_eq!(kinds.len(), named.sorts.len());
    }

    fn read(text: &str) -> Result<SymmetricNet, String> {
        SymmetricNet::read(text.as_bytes(), "m").map_err(|error| error.to_string())
    }

    fn user(sort: &str) -> String {
        format!("<usersort declaration='{sort}'/>")
    }

    /// `<a><subterm>b</subterm>...</a>`, written a(b, ...); `x` is a variable, `'c` a constant, a number itself a count.
    fn term(text: &str) -> String {
        let text = text.trim();
        let Some(open) = text.find('(') else {
            return match text.split_at_checked(1) {
                Some(("'", constant)) => format!("<useroperator declaration='{constant}'/>"),
                Some(("#", number)) => {
                    format!("<numberconstant value='{number}'><positive/></numberconstant>")
                }
                Some(("*", sort)) => format!("<all>{}</all>", user(sort)),
                Some(("=", value)) => {
                    format!(
                        "<finiteintrangeconstant value='{value}'><finiteintrange start='-1' end='2'/></finiteintrangeconstant>"
                    )
                }
                _ => format!("<variable refvariable='{text}'/>"),
            };
        };
        let (name, inside) = (&text[..open], &text[open + 1..text.len() - 1]);
        let (mut depth, mut parts, mut start) = (0, Vec::new(), 0);
        for (at, character) in inside.char_indices() {
            match character {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(&inside[start..at]);
                    start = at + 1;
                }
                _ => {}
            }
        }
        parts.push(&inside[start..]);
        let parts: String = parts.iter().map(|part| format!("<subterm>{}</subterm>", term(part))).collect();
        match name {
            "half" => format!("<partitionelementof refpartition='Half'>{parts}</partitionelementof>"),
            _ => format!("<{name}>{parts}</{name}>"),
        }
    }

    const GUARD: &str = "equality(x,x)";

    #[test]
    fn multisets_of_tuples_ranges_and_all_are_evaluated() {
        let text = net(
            &user("Pair"),
            &term("add(numberof(#3,tuple('c1,=2)),numberof(#2,tuple(*C,=-1)))"),
            &term(GUARD),
            &term("subtract(tuple(*C,*R),scalarproduct(#1,tuple(successor(x),predecessor(r))))"),
        );
        let net = read(&text).unwrap();
        // Pair = C x R with 3 * 4 colours; (c1, 2) is 1 * 4 + 3.
        assert_eq!(net.places[0].initial, Multiset::from([(0, 2), (4, 2), (7, 3), (8, 2)]));
        let transition = &net.transitions[0];
        let names: Vec<_> = transition.variables.iter().map(|v| net.variables[*v].id.as_str()).collect();
        assert_eq!(names, ["x", "r"]);
        // x = c2, r = -1: (c0, 2) is missing.
        let taken = transition.inputs[0].1.evaluate(&[2, 0]).unwrap();
        assert_eq!(taken.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
        let name = net.colour_name(net.places[0].sort, 7);
        let simple = |text: &str| ColourName::Simple(text.to_owned());
        assert_eq!(name, ColourName::Tuple(vec![simple("c1"), simple("2")]));
        for colour in 0..12 {
            let sort = net.places[0].sort;
            assert_eq!(net.colour(sort, &net.colour_name(sort, colour)), Some(colour));
        }
        assert_eq!(net.colour(net.places[0].sort, &simple("c1")), None);
    }

    #[test]
    fn guards_compare_colours_and_classes_in_their_order() {
        let holds = |guard: &str, binding: &[Colour]| {
            let net = read(&net(&user("C"), &term("*C"), &term(guard), &term("x"))).unwrap();
            net.transitions[0].guard.holds(binding)
        };
        let cases = [
            ("lessthan(x,'c2)", [true, true, false]),
            ("lessthanorequal(x,'c1)", [true, true, false]),
            ("greaterthan(x,'c1)", [false, false, true]),
            ("greaterthanorequal(x,'c1)", [false, true, true]),
            ("equality(half(x),'low)", [true, true, false]),
            ("gtp(half(x),'low)", [false, false, true]),
            ("ltp(half(x),'high)", [true, true, false]),
            ("inequality(tuple(x,'c0),tuple('c1,'c0))", [true, false, true]),
            ("and(inequality(x,'c0),not(equality(x,'c1)))", [false, false, true]),
            ("or(equality(x,'c0),equality(successor(x),'c0))", [true, false, true]),
            ("imply(equality(x,'c0),equality(x,'c1))", [false, true, true]),
        ];
        for (guard, expected) in cases {
            assert_eq!([0, 1, 2].map(|x| holds(guard, &[x])), expected, "{guard}");
        }
    }

    #[test]
    fn sums_inside_of_a_tuple_are_sums_of_tuples() {
        let bag = |text: &str| {
            let net = read(&net(&user("Pair"), &term("tuple(*C,*R)"), &term(GUARD), &term(text))).unwrap();
            net.transitions[0].inputs[0].1.evaluate(&[2, 0])
        };
        // The colour of (c, number) is 4 times that of c and the place of the number in -1..2.
        let expected = Multiset::from([(0, 1), (1, 1), (8, 2), (9, 2)]);
        assert_eq!(bag("tuple(add('c0,numberof(#2,x)),add(=-1,=0))"), Ok(expected));
        assert_eq!(bag("tuple(subtract(*C,x,'c1),r)"), Ok(Multiset::from([(0, 1)])));
        assert_eq!(bag("tuple(subtract(x,*C),r)"), Err(crate::BagError::Negative));
        // An element of a partition is the sum of its colours.
        assert_eq!(bag("tuple('low,r)"), Ok(Multiset::from([(0, 1), (4, 1)])));
        let sums = "add(".to_owned() + &["=0"; 1001].join(",") + ")";
        let error = read(&net(
            &user("Pair"),
            &term("tuple(*C,*R)"),
            &term(GUARD),
            &term(&format!("tuple({},{sums})", sums.replace("=0", "x"))),
        ));
        assert!(error.unwrap_err().contains("more than 1000000"), "a product of two sums is limited");
    }

    #[test]
    fn a_tuple_of_one_component_is_that_component() {
        let text = net(&user("C"), &term("tuple(*C)"), &term("equality(tuple(x),y)"), &term("tuple(x)"));
        let read_again = read(&text).unwrap();
        assert_eq!(
            read_again,
            read(&net(&user("C"), &term("*C"), &term("equality(x,y)"), &term("x"))).unwrap()
        );
        let single = format!("<productsort>{}</productsort>", user("C"));
        assert_eq!(
            read(&text.replace(
                &format!("<structure>{}</structure></type>", user("C")),
                &format!("<structure>{single}</structure></type>")
            ))
            .unwrap(),
            read_again
        );
    }

    #[test]
    fn subtractions_and_counts_never_wrap() {
        use crate::BagError;
        let bag = |text: &str| {
            let net = read(&net(&user("C"), &term("*C"), &term(GUARD), &term(text))).unwrap();
            net.transitions[0].inputs[0].1.evaluate(&[0, 1])
        };
        assert_eq!(bag("subtract(*C,x)"), Ok(Multiset::from([(1, 1), (2, 1)])));
        assert_eq!(bag("subtract(x,*C)"), Err(BagError::Negative));
        assert_eq!(bag("subtract(*C,x,y)"), Ok(Multiset::from([(2, 1)])));
        assert_eq!(bag("subtract(*C,x,x)"), Err(BagError::Negative));
        assert_eq!(bag("numberof(#18446744073709551615,add(x,y))").map(|bag| bag.len()), Ok(2));
        assert_eq!(bag("numberof(#18446744073709551615,add(x,x))"), Err(BagError::TooLarge));
        assert_eq!(bag("numberof(#4294967296,numberof(#4294967296,x))"), Err(BagError::TooLarge));
        assert_eq!(bag("numberof(#0,*C)"), Ok(Multiset::new()));
    }

    #[test]
    fn what_is_not_understood_is_an_error_with_its_line() {
        let with =
            |marking: &str, guard: &str, arc: &str| net(&user("C"), &term(marking), &term(guard), &term(arc));
        let good = with("*C", GUARD, "x");
        assert!(read(&good).is_ok());
        let line_of = |text: &str, part: &str| text[..text.find(part).unwrap()].lines().count();
        let cases = [
            (with("x", GUARD, "x"), "<hlinitialMarking>", "<variable> where a term without variables"),
            (with("=1", GUARD, "x"), "<hlinitialMarking>", "of the sort <R> where the sort C is expected"),
            (with("=7", GUARD, "x"), "<hlinitialMarking>", "where a number of its range is expected"),
            (with("*C", GUARD, "z"), "<arc", "the variable \"z\" is not declared;"),
            (with("*C", GUARD, "'c9"), "<arc", "the constant \"c9\" is not declared;"),
            (with("*C", "equality(x,r)", "x"), "<condition>", "of the sort <R> where the sort C is expected"),
            (with("*C", "equality(x,*C)", "x"), "<condition>", "<all> where a term with one colour"),
            (with("*C", "contains(x,x)", "x"), "<condition>", "<contains> in <structure> is not known"),
            (with("*C", "lessthan(tuple(x,x),tuple(x,x))", "x"), "<condition>", "colours that have an order"),
            (good.replace("<condition>", "<priority/><condition>"), "<priority", "<priority> in <transition> is not"),
            (good.replace("<dot/>", "<integer/>"), "<integer", "<integer> in <namedsort> is not known"),
            (good.replace("declaration='R'/></productsort>", "declaration='Pair'/></productsort>"), "'Pair' ", "a sort that does not contain itself"),
            (good.replace("id='c2'", "id='c1'"), "id='C'", "the id \"c1\" was already used in line"),
            (good.replace("<partitionelement id='high' name='h'><useroperator declaration='c2'/></partitionelement>", ""), "<partition", "<partition> without some of the constants"),
            (good.replace("hlinscription", "inscription"), "<arc", "<inscription> in <arc> is not known"),
            (good.replace("symmetricnet", "ptnet"), "<place", "is expected"),
        ];
        for (text, at, message) in cases {
            let error = read(&text).unwrap_err();
            assert!(error.contains(message), "{error}\nexpected: {message}");
            let line = line_of(&text, at);
            assert!(
                error.starts_with(&format!("m:{line}:")) || error.starts_with(&format!("m:{}:", line + 1)),
                "{error} {line}"
            );
        }
    }
}
