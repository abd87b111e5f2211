//! Truth of path and state formulas along one run. A value that the run alone does not determine is unknown.

use crate::CheckError;
use crate::meter::{KEPT, Meter};
use mcc_model::Expr;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Truth with an unknown value between false and true (Kleene's strong logic), in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Truth {
    False,
    Unknown,
    True,
}

use Truth::{False, True, Unknown};

impl Truth {
    pub fn not(self) -> Truth {
        match self {
            False => True,
            Unknown => Unknown,
            True => False,
        }
    }
}

impl From<bool> for Truth {
    fn from(truth: bool) -> Truth {
        if truth { True } else { False }
    }
}

/// What follows the last position of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Unknown markings: the run is the beginning of a longer one.
    Open,
    /// Nothing: the last marking is a deadlock.
    Deadlock,
    /// The position with this number.
    Loop(usize),
}

/// The value of `next` in a deadlock.
#[derive(Clone, Copy)]
enum DeadNext {
    /// CTL: no path has a next marking, so `E X` is false and `A X` is true.
    Is(Truth),
    /// LTL: the last marking of a finite run is repeated forever.
    Repeats,
}

/// Returns the truth of an atom by position.
type AtomTruth<'a> = dyn Fn(&Expr) -> Result<Rc<Vec<Truth>>, CheckError> + 'a;

/// A run whose formulas are evaluated.
pub(crate) struct Path<'a> {
    /// The number of its positions, at least 1.
    pub positions: usize,
    pub end: End,
    /// Whether formulas are those of LTL: a path formula below one quantifier.
    pub linear: bool,
    /// Truth of an atom by position.
    pub atom: &'a AtomTruth<'a>,
    /// Truth of formulas with a quantifier, by address; they occur in two ways for each quantifier around them.
    pub quantified: RefCell<HashMap<*const Expr, Rc<Vec<Truth>>>>,
    pub meter: &'a Meter,
}

/// How a formula is seen from a position.
#[derive(Clone, Copy)]
struct View {
    dead_next: DeadNext,
    /// Whether only the marking of the position itself is known: for statements on all runs from it.
    alone: bool,
}

impl Path<'_> {
    /// The truth of a formula at the beginning of the run.
    pub fn holds_initially(&self, formula: &Expr) -> Result<Truth, CheckError> {
        let implicit_all = self.linear && !matches!(formula, Expr::AllPaths(_) | Expr::ExistsPath(_));
        if implicit_all {
            return Ok(self.quantify(formula, false)?[0]);
        }
        let dead_next = DeadNext::Is(Unknown);
        Ok(self.evaluate(formula, View { dead_next, alone: false })?[0])
    }

    /// The truth at each position of "some run" or "every run from here satisfies the formula".
    fn quantify(&self, inner: &Expr, some: bool) -> Result<Rc<Vec<Truth>>, CheckError> {
        let dead_next = if self.linear {
            DeadNext::Repeats
        } else if matches!(inner, Expr::Next(_)) {
            DeadNext::Is((!some).into())
        } else {
            DeadNext::Is(Unknown)
        };
        let here = self.evaluate(inner, View { dead_next, alone: false })?;
        let any = self.evaluate(inner, View { dead_next, alone: true })?;
        let (shown, refuted) = if some { (True, False) } else { (False, True) };
        let last = self.positions - 1;
        let truth = (0..self.positions).map(|at| match (here[at], any[at]) {
            // The run from here satisfies it (or not): one run is enough to show (or refute) it.
            (truth, _) if truth == shown => shown,
            // In a deadlock there is only this run.
            (truth, _) if at == last && self.end == End::Deadlock => truth,
            // Every run from the marking has this truth.
            (_, truth) if truth == refuted => refuted,
            _ => Unknown,
        });
        Ok(Rc::new(truth.collect()))
    }

    fn evaluate(&self, formula: &Expr, view: View) -> Result<Rc<Vec<Truth>>, CheckError> {
        // One byte for each position is kept.
        self.meter.steps(KEPT.saturating_add(self.positions as u64 * 8))?;
        Ok(match formula {
            Expr::AllPaths(inner) | Expr::ExistsPath(inner) => {
                let key = std::ptr::from_ref(formula);
                if let Some(known) = self.quantified.borrow().get(&key) {
                    return Ok(known.clone());
                }
                let truth = self.quantify(inner, matches!(formula, Expr::ExistsPath(_)))?;
                self.quantified.borrow_mut().insert(key, truth.clone());
                truth
            }
            Expr::Not(inner) => self.map(inner, view, Truth::not)?,
            Expr::And(parts) => self.fold(parts, view, True, Truth::min)?,
            Expr::Or(parts) => self.fold(parts, view, False, Truth::max)?,
            Expr::Finally(reach) => {
                let reach = self.evaluate(reach, view)?;
                Rc::new(self.until(|_| True, |at| reach[at], view))
            }
            // Always f: not finally not f.
            Expr::Globally(inner) => {
                let inner = self.evaluate(inner, view)?;
                let mut truth = self.until(|_| True, |at| inner[at].not(), view);
                truth.iter_mut().for_each(|truth| *truth = truth.not());
                Rc::new(truth)
            }
            Expr::Until(before, reach) => {
                let (before, reach) = (self.evaluate(before, view)?, self.evaluate(reach, view)?);
                Rc::new(self.until(|at| before[at], |at| reach[at], view))
            }
            Expr::Next(inner) => {
                let inner = self.evaluate(inner, view)?;
                let last = self.positions - 1;
                let next = |at: usize| match self.end {
                    End::Deadlock if at == last => match view.dead_next {
                        DeadNext::Is(truth) => truth,
                        DeadNext::Repeats => inner[at],
                    },
                    _ if view.alone => Unknown,
                    _ if at < last => inner[at + 1],
                    End::Loop(start) => inner[start],
                    _ => Unknown,
                };
                Rc::new((0..self.positions).map(next).collect())
            }
            Expr::Le(..) | Expr::Fireable(_) | Expr::Deadlock => (self.atom)(formula)?,
        })
    }

    fn map(&self, inner: &Expr, view: View, to: fn(Truth) -> Truth) -> Result<Rc<Vec<Truth>>, CheckError> {
        Ok(Rc::new(self.evaluate(inner, view)?.iter().map(|truth| to(*truth)).collect()))
    }

    fn fold(
        &self,
        parts: &[Expr],
        view: View,
        start: Truth,
        combine: fn(Truth, Truth) -> Truth,
    ) -> Result<Rc<Vec<Truth>>, CheckError> {
        let mut result = vec![start; self.positions];
        for part in parts {
            let part = self.evaluate(part, view)?;
            result.iter_mut().zip(part.iter()).for_each(|(result, part)| *result = combine(*result, *part));
        }
        Ok(Rc::new(result))
    }

    /// The least solution of: reach now, or before now and the same at the next position.
    fn until(
        &self,
        before: impl Fn(usize) -> Truth,
        reach: impl Fn(usize) -> Truth,
        view: View,
    ) -> Vec<Truth> {
        let last = self.positions - 1;
        let mut result = vec![False; self.positions];
        let step = |at: usize, next: Truth| reach(at).max(before(at).min(next));
        let mut backward = |from: usize, to: usize, mut next: Truth| {
            for at in (to..=from).rev() {
                result[at] = step(at, next);
                next = if view.alone { Unknown } else { result[at] };
            }
            result[to]
        };
        match self.end {
            End::Deadlock if last == 0 || !view.alone => {
                backward(last, 0, False);
            }
            End::Deadlock => {
                backward(last, last, False);
                backward(last - 1, 0, Unknown);
            }
            End::Loop(start) if !view.alone => {
                // The second turn knows what the first one found at the beginning of the loop.
                let first = backward(last, start, False);
                backward(last, 0, first);
            }
            End::Loop(_) | End::Open => {
                backward(last, 0, Unknown);
            }
        }
        result
    }
}
