//! The properties, prepared for exploration: labels, which are evaluated in every visited marking, and queries on them.

use std::collections::BTreeMap;

use mcc_model::{Count, Ctl, Expr, Formula, Net, Property};

use crate::net::Marking;

#[derive(Clone, Debug, thiserror::Error)]
pub enum QueryError {
    #[error("{property} names {name}, which is not in the net")]
    UnknownName { property: String, name: String },
    #[error("{property} is not a formula of a supported examination")]
    Unsupported { property: String },
}

/// The query of a property.
pub enum Query {
    /// The largest sum of tokens on these places.
    Bound {
        places: Vec<usize>,
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
    /// The sum of tokens on these places.
    Sum(Vec<usize>),
}

/// Queries and labels of all properties of an examination.
pub struct Queries {
    pub queries: Vec<Query>,
    labels: Vec<Label>,
}

impl Queries {
    pub fn new(net: &Net, properties: &[Property]) -> Result<Self, QueryError> {
        let mut compiler = Compiler {
            places: net.places.iter().enumerate().map(|(n, place)| (place.id.as_str(), n)).collect(),
            transitions: net.transitions.iter().enumerate().map(|(n, t)| (t.id.as_str(), n)).collect(),
            property: "",
            labels: Vec::new(),
        };
        let queries = (properties.iter())
            .map(|property| {
                compiler.property = &property.id;
                compiler.query(&property.formula)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { queries, labels: compiler.labels })
    }

    pub fn labels(&self) -> usize {
        self.labels.len()
    }

    /// Whether a label is true in a marking, in which these transitions are enabled.
    pub fn holds(&self, label: usize, marking: &Marking, enabled: &[usize]) -> bool {
        self.labels[label].holds(marking, enabled)
    }
}

impl Label {
    fn holds(&self, marking: &Marking, enabled: &[usize]) -> bool {
        match self {
            Self::Not(inner) => !inner.holds(marking, enabled),
            Self::And(parts) => parts.iter().all(|part| part.holds(marking, enabled)),
            Self::Or(parts) => parts.iter().any(|part| part.holds(marking, enabled)),
            Self::Le(left, right) => left.value(marking) <= right.value(marking),
            Self::Fireable(listed) => enabled.iter().any(|transition| listed[*transition]),
            Self::Deadlock => enabled.is_empty(),
        }
    }
}

impl Side {
    fn value(&self, marking: &Marking) -> u128 {
        match self {
            Self::Constant(value) => *value,
            Self::Sum(places) => marking.sum(places),
        }
    }
}

struct Compiler<'a> {
    places: BTreeMap<&'a str, usize>,
    transitions: BTreeMap<&'a str, usize>,
    property: &'a str,
    labels: Vec<Label>,
}

impl Compiler<'_> {
    fn query(&mut self, formula: &Formula) -> Result<Query, QueryError> {
        let expr = match formula {
            Formula::PlaceBound(places) => return Ok(Query::Bound { places: self.places(places)? }),
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
        let other = self.unsupported();
        let mut number = |state: Option<&Expr>| -> Result<usize, QueryError> {
            let label = state.map_or(Ok(Label::And(Vec::new())), |state| self.label(state))?;
            Ok(self.add(label))
        };
        Ok(Query::Ctl(Ctl::read(expr, &mut number, &|| other.clone())?))
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
            _ => return Err(self.unsupported()),
        })
    }

    fn side(&mut self, count: &Count) -> Result<Side, QueryError> {
        Ok(match count {
            Count::Constant(value) => Side::Constant(u128::from(*value)),
            Count::Tokens(places) => Side::Sum(self.places(places)?),
        })
    }

    fn places(&self, ids: &[String]) -> Result<Vec<usize>, QueryError> {
        ids.iter().map(|id| self.find(&self.places, id)).collect()
    }

    fn find(&self, names: &BTreeMap<&str, usize>, id: &str) -> Result<usize, QueryError> {
        names.get(id).copied().ok_or_else(|| QueryError::UnknownName {
            property: self.property.to_owned(),
            name: id.to_owned(),
        })
    }

    fn unsupported(&self) -> QueryError {
        QueryError::Unsupported { property: self.property.to_owned() }
    }
}
