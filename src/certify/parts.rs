//! Formulas as Boolean combinations of parts.

use mcc_model::Expr;

/// How the truth of a formula follows from that of its parts.
#[derive(Debug)]
pub(crate) enum Tree {
    State(Expr),
    Part(usize),
    Not(Box<Tree>),
    All(Vec<Tree>),
    One(Vec<Tree>),
}

type Operator = fn(Box<Expr>) -> Expr;

struct Decomposition {
    parts: Vec<Expr>,
}

/// The parts of a formula; none if it has only one, which is the formula itself.
pub(crate) fn parts(formula: &Expr, linear: bool) -> Vec<Expr> {
    let (_, parts) = decompose(formula, linear);
    if matches!(parts.as_slice(), [only] if only == formula) { Vec::new() } else { parts }
}

pub(crate) fn decompose(formula: &Expr, linear: bool) -> (Tree, Vec<Expr>) {
    let mut decomposition = Decomposition { parts: Vec::new() };
    let is_quantified = matches!(formula, Expr::AllPaths(_) | Expr::ExistsPath(_));
    let tree = if linear && !is_quantified {
        decomposition.path(formula, true, None)
    } else {
        decomposition.state(formula)
    };
    (tree, decomposition.parts)
}

impl Decomposition {
    fn state(&mut self, formula: &Expr) -> Tree {
        match formula {
            formula if formula.is_state_formula() => Tree::State(formula.clone()),
            Expr::Not(inner) => Tree::Not(Box::new(self.state(inner))),
            Expr::And(parts) => Tree::All(parts.iter().map(|part| self.state(part)).collect()),
            Expr::Or(parts) => Tree::One(parts.iter().map(|part| self.state(part)).collect()),
            Expr::AllPaths(path) => self.path(path, true, None),
            Expr::ExistsPath(path) => self.path(path, false, None),
            other => self.part(other.clone()),
        }
    }

    fn path(&mut self, formula: &Expr, all: bool, operator: Option<Operator>) -> Tree {
        let mut each = |parts: &[Expr]| parts.iter().map(|part| self.path(part, all, operator)).collect();
        match (formula, operator) {
            (Expr::And(parts), _) if all => Tree::All(each(parts)),
            (Expr::Or(parts), _) if !all => Tree::One(each(parts)),
            (Expr::Globally(inner), None) if all => self.path(inner, all, Some(Expr::Globally)),
            (Expr::Finally(inner), None) if !all => self.path(inner, all, Some(Expr::Finally)),
            (Expr::Next(inner), None) => self.path(inner, all, Some(Expr::Next)),
            (_, None) if formula.is_state_formula() => self.state(formula),
            _ => {
                let formula = Box::new(formula.clone());
                let path = match operator {
                    Some(operator) => Box::new(operator(formula)),
                    None => formula,
                };
                self.part(if all { Expr::AllPaths(path) } else { Expr::ExistsPath(path) })
            }
        }
    }

    fn part(&mut self, formula: Expr) -> Tree {
        self.parts.push(formula);
        Tree::Part(self.parts.len() - 1)
    }
}

/// A truth, and the parts that are needed to show it.
pub(crate) type Shown = (bool, Vec<usize>);

pub(crate) fn truth(
    tree: &Tree,
    known: &dyn Fn(usize) -> Option<bool>,
    state: &dyn Fn(&Expr) -> Option<bool>,
) -> Option<Shown> {
    match tree {
        Tree::State(formula) => Some((state(formula)?, Vec::new())),
        Tree::Part(number) => Some((known(*number)?, vec![*number])),
        Tree::Not(inner) => truth(inner, known, state).map(|(truth, parts)| (!truth, parts)),
        Tree::All(inner) | Tree::One(inner) => {
            let decisive = matches!(tree, Tree::One(_));
            let shown: Vec<Option<Shown>> = inner.iter().map(|part| truth(part, known, state)).collect();
            let deciding = shown.iter().flatten().filter(|(truth, _)| *truth == decisive);
            if let Some((_, parts)) = deciding.min_by_key(|(_, parts)| parts.len()) {
                return Some((decisive, parts.clone()));
            }
            let all: Vec<Shown> = shown.into_iter().collect::<Option<_>>()?;
            Some((!decisive, all.into_iter().flat_map(|(_, parts)| parts).collect()))
        }
    }
}
