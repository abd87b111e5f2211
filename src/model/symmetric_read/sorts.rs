//! Reads the sorts of a coloured net: declared ones, and those that occur in declarations and terms.

use super::{Fault, Reader, check_depth};
use crate::Problem;
use crate::property::{elements, missing, only, unexpected};
use crate::symmetric::{Sort, SortKind, Variable};
use crate::symmetric_xml::{Xml, attribute, integer, name, repeated, structure, unknown, unsupported};
use std::collections::HashMap;

/// Most simple names in the name of a colour. Evidence, with 127 levels of lists and objects, can then name each colour.
const MAX_NAME_LENGTH: u64 = 100;

impl<'a> Reader<'a> {
    pub(super) fn declare(&mut self, declarations: impl Iterator<Item = Xml<'a>>) -> Result<(), Fault<'a>> {
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

    pub(super) fn sort(&mut self, node: Xml<'a>, depth: usize) -> Result<usize, Fault<'a>> {
        check_depth(node, depth)?;
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
    pub(super) fn intern(&mut self, node: Xml<'a>, kind: SortKind) -> Result<usize, Fault<'a>> {
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
        let too_large = |what: &str, text: &str| {
            Err((node, Problem::TooLarge { what: what.to_owned(), text: text.to_owned() }))
        };
        // Of nested products, a sort with one colour can have a name that no memory holds.
        let name_length = match &kind {
            SortKind::Product(parts) => {
                parts.iter().fold(0, |sum: u64, part| sum.saturating_add(self.name_lengths[*part]))
            }
            _ => 1,
        };
        if name_length > MAX_NAME_LENGTH {
            return too_large("the number of names in a tuple", &name_length.to_string());
        }
        match colours {
            None => too_large("the number of colours of a sort", "too much"),
            Some(0) => Err(missing(node, "colours")),
            Some(colours) => {
                let number = self.sorts.len();
                self.sort_numbers.insert(kind.clone(), number);
                let numbers = match &kind {
                    SortKind::Enumeration(ids) | SortKind::Partition(ids) => {
                        ids.iter().cloned().zip(0..).collect()
                    }
                    _ => HashMap::new(),
                };
                self.sorts.push(Sort { id: String::new(), kind, colours, numbers });
                self.name_lengths.push(name_length);
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
                if let Some(all) = constant.descendants().find(|inside| name(*inside) == "all") {
                    return Err(unexpected(all, "a constant"));
                }
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

    /// The sort of a tuple; a tuple of one component is that component.
    pub(super) fn tuple_sort(&mut self, node: Xml<'a>, sorts: &[usize]) -> Result<usize, Fault<'a>> {
        match sorts {
            [sort] => Ok(*sort),
            sorts => self.intern(node, SortKind::Product(sorts.to_vec())),
        }
    }

    pub(super) fn check_sort(&self, node: Xml<'a>, found: usize, expected: usize) -> Result<(), Fault<'a>> {
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

/// The sort `bool`.
pub(super) fn boolean() -> SortKind {
    SortKind::Enumeration(["false", "true"].map(str::to_owned).to_vec())
}
