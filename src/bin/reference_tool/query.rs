//! The properties, prepared for exploration: labels, which are evaluated in every visited marking, and queries on them.

use std::collections::HashMap;

use mcc_model::{Count, Expr, Formula, Net, Property};

use crate::ctl::Ctl;
use crate::net::Marking;

#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    #[error("{property} names {name}, which is not in the net")]
    UnknownName { property: String, name: String },
    #[error("{property} is not a formula of a supported examination: {found} is not allowed at its place")]
    Unsupported { property: String, found: &'static str },
}

/// The query of a property.
pub enum Query {
    /// The largest value of a sum.
    Bound {
        sum: usize,
    },
    /// Whether a marking with the label is reachable. `found` is the answer if there is one, else its negation.
    Reach {
        label: usize,
        found: bool,
    },
    Ctl(Ctl),
}

/// A formula about one marking.
enum Label {
    Not(Box<Label>),
    And(Vec<Label>),
    Or(Vec<Label>),
    Le(Side, Side),
    /// By transition: whether it is listed.
    Fireable(Vec<bool>),
    Deadlock,
}

enum Side {
    Constant(u128),
    Sum(usize),
}

/// Queries, labels and sums of all properties of an examination. Equal sums are stored once.
pub struct Queries {
    pub queries: Vec<Query>,
    labels: Vec<Label>,
    sums: Vec<Vec<usize>>,
}

/// A visited marking. Sums are computed on first use.
pub struct Visit<'a> {
    queries: &'a Queries,
    marking: &'a Marking,
    enabled: &'a [usize],
    sums: Vec<Option<u128>>,
}

impl Queries {
    pub fn new(net: &Net, properties: &[Property]) -> Result<Self, QueryError> {
        let mut compiler = Compiler {
            places: net.places.iter().enumerate().map(|(n, place)| (place.id.as_str(), n)).collect(),
            transitions: net.transitions.iter().enumerate().map(|(n, t)| (t.id.as_str(), n)).collect(),
            property: "",
            labels: Vec::new(),
            sums: HashMap::new(),
        };
        let queries = (properties.iter())
            .map(|property| {
                compiler.property = &property.id;
                compiler.query(&property.formula)
            })
            .collect::<Result<_, _>>()?;
        let mut sums = vec![Vec::new(); compiler.sums.len()];
        for (places, number) in compiler.sums {
            sums[number] = places;
        }
        Ok(Self { queries, labels: compiler.labels, sums })
    }

    pub fn labels(&self) -> usize {
        self.labels.len()
    }

    pub fn visit<'a>(&'a self, marking: &'a Marking, enabled: &'a [usize]) -> Visit<'a> {
        Visit { queries: self, marking, enabled, sums: vec![None; self.sums.len()] }
    }
}

impl Visit<'_> {
    pub fn label(&mut self, number: usize) -> bool {
        self.holds(&self.queries.labels[number])
    }

    pub fn sum(&mut self, number: usize) -> u128 {
        let places = &self.queries.sums[number];
        *self.sums[number].get_or_insert_with(|| self.marking.sum(places.iter().copied()))
    }

    fn holds(&mut self, label: &Label) -> bool {
        match label {
            Label::Not(inner) => !self.holds(inner),
            Label::And(parts) => parts.iter().all(|part| self.holds(part)),
            Label::Or(parts) => parts.iter().any(|part| self.holds(part)),
            Label::Le(left, right) => self.side(left) <= self.side(right),
            Label::Fireable(listed) => self.enabled.iter().any(|transition| listed[*transition]),
            Label::Deadlock => self.enabled.is_empty(),
        }
    }

    fn side(&mut self, side: &Side) -> u128 {
        match side {
            Side::Constant(value) => *value,
            Side::Sum(number) => self.sum(*number),
        }
    }
}

struct Compiler<'a> {
    places: HashMap<&'a str, usize>,
    transitions: HashMap<&'a str, usize>,
    property: &'a str,
    labels: Vec<Label>,
    sums: HashMap<Vec<usize>, usize>,
}

impl Compiler<'_> {
    fn query(&mut self, formula: &Formula) -> Result<Query, QueryError> {
        let expr = match formula {
            Formula::PlaceBound(places) => return Ok(Query::Bound { sum: self.sum(places)? }),
            Formula::Boolean(expr) => expr,
        };
        let mut negated = false;
        let mut inner: &Expr = expr;
        while let Expr::Not(next) = inner {
            negated = !negated;
            inner = next;
        }
        match inner {
            Expr::ExistsPath(path) => {
                if let Expr::Finally(state) = &**path
                    && state.is_state_formula()
                {
                    let label = self.label(state)?;
                    return Ok(Query::Reach { label: self.add(label), found: !negated });
                }
            }
            Expr::AllPaths(path) => {
                if let Expr::Globally(state) = &**path
                    && state.is_state_formula()
                {
                    let label = Label::Not(Box::new(self.label(state)?));
                    return Ok(Query::Reach { label: self.add(label), found: negated });
                }
            }
            _ => {}
        }
        Ok(Query::Ctl(self.ctl(expr)?))
    }

    fn ctl(&mut self, expr: &Expr) -> Result<Ctl, QueryError> {
        if expr.is_state_formula() {
            let label = self.label(expr)?;
            return Ok(Ctl::Label(self.add(label)));
        }
        let (all, path) = match expr {
            Expr::Not(inner) => return Ok(self.ctl(inner)?.not()),
            Expr::And(parts) => return Ok(Ctl::And(self.all(parts)?)),
            Expr::Or(parts) => return Ok(Ctl::Or(self.all(parts)?)),
            Expr::AllPaths(path) => (true, &**path),
            Expr::ExistsPath(path) => (false, &**path),
            other => return self.unsupported(other),
        };
        let until = if all { Ctl::AllUntil } else { Ctl::ExistsUntil };
        Ok(match path {
            Expr::Until(before, reach) => until(Box::new(self.ctl(before)?), Box::new(self.ctl(reach)?)),
            Expr::Finally(inner) => until(Box::new(Ctl::True), Box::new(self.ctl(inner)?)),
            Expr::Globally(inner) => {
                // EG p is not AF not p.
                let dual = if all { Ctl::ExistsUntil } else { Ctl::AllUntil };
                dual(Box::new(Ctl::True), Box::new(self.ctl(inner)?.not())).not()
            }
            Expr::Next(inner) if all => Ctl::ExistsNext(Box::new(self.ctl(inner)?.not())).not(),
            Expr::Next(inner) => Ctl::ExistsNext(Box::new(self.ctl(inner)?)),
            other => return self.unsupported(other),
        })
    }

    fn all(&mut self, parts: &[Expr]) -> Result<Vec<Ctl>, QueryError> {
        parts.iter().map(|part| self.ctl(part)).collect()
    }

    fn add(&mut self, label: Label) -> usize {
        self.labels.push(label);
        self.labels.len() - 1
    }

    fn label(&mut self, expr: &Expr) -> Result<Label, QueryError> {
        let mut all =
            |parts: &[Expr]| parts.iter().map(|part| self.label(part)).collect::<Result<Vec<_>, _>>();
        Ok(match expr {
            Expr::Not(inner) => Label::Not(Box::new(self.label(inner)?)),
            Expr::And(parts) => Label::And(all(parts)?),
            Expr::Or(parts) => Label::Or(all(parts)?),
            Expr::Le(left, right) => Label::Le(self.side(left)?, self.side(right)?),
            Expr::Fireable(ids) => {
                let mut listed = vec![false; self.transitions.len()];
                for id in ids {
                    listed[self.find(&self.transitions, id)?] = true;
                }
                Label::Fireable(listed)
            }
            Expr::Deadlock => Label::Deadlock,
            other => return self.unsupported(other),
        })
    }

    fn side(&mut self, count: &Count) -> Result<Side, QueryError> {
        Ok(match count {
            Count::Constant(value) => Side::Constant(u128::from(*value)),
            Count::Tokens(places) => Side::Sum(self.sum(places)?),
        })
    }

    fn sum(&mut self, places: &[String]) -> Result<usize, QueryError> {
        let mut numbers =
            (places.iter()).map(|id| self.find(&self.places, id)).collect::<Result<Vec<_>, _>>()?;
        numbers.sort_unstable();
        let next = self.sums.len();
        Ok(*self.sums.entry(numbers).or_insert(next))
    }

    fn find(&self, names: &HashMap<&str, usize>, id: &str) -> Result<usize, QueryError> {
        names.get(id).copied().ok_or_else(|| QueryError::UnknownName {
            property: self.property.to_owned(),
            name: id.to_owned(),
        })
    }

    fn unsupported<T>(&self, expr: &Expr) -> Result<T, QueryError> {
        let found = match expr {
            Expr::AllPaths(_) => "all-paths",
            Expr::ExistsPath(_) => "exists-path",
            Expr::Globally(_) => "globally",
            Expr::Finally(_) => "finally",
            Expr::Next(_) => "next",
            Expr::Until(..) => "until",
            Expr::Not(_) | Expr::And(_) | Expr::Or(_) => "a boolean operator",
            Expr::Le(..) | Expr::Fireable(_) | Expr::Deadlock => "an atom",
        };
        Err(QueryError::Unsupported { property: self.property.to_owned(), found })
    }
}
