//! CTL in the operators by which all others of the contest are expressed.

use super::Expr;

/// A formula of CTL over numbered predicates of markings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ctl {
    /// The predicate with this number.
    Pred(usize),
    /// `not`
    Not(Box<Ctl>),
    /// `and`; true for nothing.
    And(Vec<Ctl>),
    /// `or`; false for nothing.
    Or(Vec<Ctl>),
    /// EX: a next marking satisfies it.
    ExistsNext(Box<Ctl>),
    /// E(U): on some path the first one holds until the second one does.
    ExistsUntil(Box<Ctl>, Box<Ctl>),
    /// A(U): on every path the first one holds until the second one does.
    AllUntil(Box<Ctl>, Box<Ctl>),
}

impl Ctl {
    /// The negation.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    /// Reads a formula. `number` returns the number of a state formula, or for None of the predicate that is always true.
    ///
    /// # Errors
    /// Those of `number`; `other` if the formula is not one of CTL.
    pub fn read<E>(
        expr: &Expr,
        number: &mut dyn FnMut(Option<&Expr>) -> Result<usize, E>,
        other: &dyn Fn() -> E,
    ) -> Result<Self, E> {
        if expr.is_state_formula() {
            return number(Some(expr)).map(Self::Pred);
        }
        let mut part = |expr: &Expr| Self::read(expr, number, other);
        let (all, path) = match expr {
            Expr::Not(inner) => return Ok(part(inner)?.negated()),
            Expr::And(parts) => return Ok(Self::And(parts.iter().map(part).collect::<Result<_, _>>()?)),
            Expr::Or(parts) => return Ok(Self::Or(parts.iter().map(part).collect::<Result<_, _>>()?)),
            Expr::AllPaths(path) => (true, &**path),
            Expr::ExistsPath(path) => (false, &**path),
            _ => return Err(other()),
        };
        let until = if all { Self::AllUntil } else { Self::ExistsUntil };
        Ok(match path {
            Expr::Next(inner) if all => Self::ExistsNext(Box::new(part(inner)?.negated())).negated(),
            Expr::Next(inner) => Self::ExistsNext(Box::new(part(inner)?)),
            Expr::Finally(inner) => {
                let inner = Box::new(part(inner)?);
                until(Box::new(Self::Pred(number(None)?)), inner)
            }
            Expr::Globally(inner) => {
                // EG p is not AF not p.
                let inner = Box::new(part(inner)?.negated());
                let dual = if all { Self::ExistsUntil } else { Self::AllUntil };
                dual(Box::new(Self::Pred(number(None)?)), inner).negated()
            }
            Expr::Until(before, reach) => until(Box::new(part(before)?), Box::new(part(reach)?)),
            _ => return Err(other()),
        })
    }
}
