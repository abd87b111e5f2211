//! Reads the expressions of a coloured net: multisets of arcs and markings, terms, and guards.

use super::sorts::boolean;
use super::{Fault, MAX_DEPTH, Reader, Scope, check_depth};
use crate::Problem;
use crate::pnml::natural;
use crate::property::{elements, missing, only, unexpected};
use crate::symmetric::{Bag, BagError, Comparison, Guard, Sort, SortKind, Term};
use crate::symmetric_xml::{Xml, attribute, integer, name, subterms, truth, two, unknown, unsupported};
use std::sync::Arc;

/// Largest number of terms that are copied for the tuples that all tuples of sums stand for.
const MAX_COPIED: u32 = 1_000_000;

impl<'a> Reader<'a> {
    /// Reads an expression for a place of this sort.
    pub(super) fn bag_of(
        &mut self,
        node: Xml<'a>,
        sort: usize,
        mut scope: Scope<'_>,
    ) -> Result<Bag, Fault<'a>> {
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
        check_depth(node, depth)?;
        match name(node) {
            "numberof" | "scalarproduct" => {
                let [number, bag] = two(node)?;
                if name(number) != "numberconstant" {
                    return Err(unexpected(number, "<numberconstant>"));
                }
                if let Some(other) =
                    elements(number).find(|inside| !matches!(name(*inside), "positive" | "natural"))
                {
                    return Err(unsupported(other));
                }
                let value = natural(attribute(number, "value")?, || "a numberconstant".to_owned());
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
                let mut bag =
                    tuple_of(&parts, 0, &mut self.copied).ok_or((node, Problem::TooMany(MAX_COPIED)))?;
                // Beside a component without tokens, a negative difference that is moved outwards would be 0.
                if parts.iter().filter(|(part, _)| may_be_empty(part)).count() > 1 {
                    let checked = parts.iter().map(|(part, _)| Bag::Times(0, Box::new((*part).clone())));
                    bag = Bag::Add(checked.chain([bag]).collect());
                }
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
                    self.left = (self.left.checked_sub(classes.len() as u64))
                        .ok_or((node, Problem::NoValue(BagError::TooManyColours)))?;
                    let colours = (0..).zip(&**classes).filter(|(_, known)| *known == class);
                    let each = colours.map(|(colour, _)| Bag::Each(Term::Constant(colour)));
                    return Ok((Bag::Add(each.collect()), expected));
                }
                Ok((Bag::Each(term), Some(sort)))
            }
        }
    }

    pub(super) fn term(
        &mut self,
        node: Xml<'a>,
        scope: &mut Scope<'_>,
        depth: usize,
    ) -> Result<(Term, usize), Fault<'a>> {
        check_depth(node, depth)?;
        match name(node) {
            "variable" => {
                let id = attribute(node, "refvariable")?;
                let number = *self.variable_numbers.get(id).ok_or_else(|| unknown(node, "variable", id))?;
                let Some(scope) = scope else { return Err(unexpected(node, "a term without variables")) };
                let next = scope.order.len();
                let position = *scope.positions.entry(number).or_insert(next);
                if position == next {
                    scope.order.push(number);
                }
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
                Ok((Term::Class(Box::new(term), Arc::clone(classes)), partition))
            }
            _ => Err(unsupported(node)),
        }
    }

    pub(super) fn guard(
        &mut self,
        node: Xml<'a>,
        scope: &mut Scope<'_>,
        depth: usize,
    ) -> Result<Guard, Fault<'a>> {
        check_depth(node, depth)?;
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

/// Whether a part of a multiset may have no tokens, or a negative number of them.
fn may_be_empty(bag: &Bag) -> bool {
    match bag {
        Bag::Each(_) => false,
        Bag::Times(number, bag) => *number == 0 || may_be_empty(bag),
        Bag::Add(bags) => bags.is_empty() || bags.iter().any(may_be_empty),
        Bag::Subtract(..) => true,
    }
}

/// The multiset of the tuples of these components, each with the number of colours of its sort. Sums, multiples and
/// differences inside of a tuple are moved outwards: a tuple is linear in each component. None: it is too large; `copied`
/// counts the terms of copies.
fn tuple_of(parts: &[(&Bag, u64)], depth: usize, copied: &mut u64) -> Option<Bag> {
    // What the tuple itself has is not a copy.
    if depth > 0 {
        let terms = parts.iter().map(|(bag, _)| if let Bag::Each(term) = bag { term.terms() } else { 1 });
        *copied += terms.sum::<u64>();
    }
    if *copied > MAX_COPIED.into() || depth > MAX_DEPTH {
        return None;
    }
    let mut terms = Vec::new();
    for (at, &(bag, colours)) in parts.iter().enumerate() {
        let mut with = |bag| {
            let mut parts = parts.to_vec();
            parts[at].0 = bag;
            tuple_of(&parts, depth + 1, copied)
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
