//! The questions of an instance: for each examination its positions, prepared for the net.

use crate::formula::{FormulaError, Ltl, Names, Pred, Preds, Sum};
use crate::parts::{Tree, decompose, parts};
use mcc_model::{Archive, ArchiveError, Ctl, Expr, Formula};

/// The questions of an examination.
#[derive(Debug)]
pub(crate) struct Examination {
    pub(crate) name: String,
    pub(crate) questions: Vec<Question>,
    /// The predicates of its CTL formulas.
    pub(crate) preds: Preds,
}

/// A question.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) id: String,
    /// The number of a part of the property's formula; None: the whole formula. The parts follow their formula.
    pub(crate) part: Option<usize>,
    /// Of a formula with parts: how they decide it.
    pub(crate) tree: Option<Tree>,
    pub(crate) kind: Kind,
}

/// A path formula with the value of the question that has to do with a run which satisfies it.
#[derive(Debug)]
pub(crate) struct RunSearch {
    pub(crate) formula: Ltl,
    /// The predicates of the formula.
    pub(crate) preds: Preds,
    pub(crate) shows: bool,
    /// Whether such a run shows the value.
    pub(crate) enough: bool,
    /// Whether the opposite value follows if there is no such run.
    pub(crate) exact: bool,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// A number of StateSpace.
    Metric(Metric),
    /// The largest value of a sum.
    Bound(Sum),
    /// Whether a marking with the predicate is reachable; `found` is the value if one is.
    Reach {
        pred: Pred,
        found: bool,
    },
    /// By number of a predicate of the examination.
    Ctl(Ctl),
    /// Whether a run exists. It has its own predicates.
    Ltl(RunSearch),
    OneSafe,
    StableMarking,
    QuasiLiveness,
    Liveness,
    /// The question cannot be read.
    Wrong(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    States,
    Transitions,
    InPlace,
    PerMarking,
}

const METRICS: [(&str, Metric); 4] = [
    ("STATES", Metric::States),
    ("TRANSITIONS", Metric::Transitions),
    ("MAX_TOKEN_IN_PLACE", Metric::InPlace),
    ("MAX_TOKEN_PER_MARKING", Metric::PerMarking),
];

/// Reads the questions of an examination.
pub(crate) fn read(archive: &Archive, name: &str, names: &Names<'_>) -> Result<Examination, ArchiveError> {
    let global = |kind| vec![Question { id: name.to_owned(), part: None, tree: None, kind }];
    let mut preds = Preds::default();
    let mut named = 0;
    let questions = match (name, archive.properties(name)?) {
        ("StateSpace", _) => METRICS
            .map(|(id, metric)| Question {
                id: id.to_owned(),
                part: None,
                tree: None,
                kind: Kind::Metric(metric),
            })
            .into(),
        ("OneSafe", _) => global(Kind::OneSafe),
        ("StableMarking", _) => global(Kind::StableMarking),
        ("QuasiLiveness", _) => global(Kind::QuasiLiveness),
        ("Liveness", _) => global(Kind::Liveness),
        // In 2019 the only property of GlobalProperties was the deadlock.
        ("ReachabilityDeadlock" | "GlobalProperties", None) => {
            global(Kind::Reach { pred: Pred::Dead, found: true })
        }
        (_, None) => Vec::new(),
        (_, Some(properties)) => properties
            .into_iter()
            .flat_map(|property| {
                let mut question = |part, formula: &Formula| {
                    let kind = names
                        .count_named(formula, &mut named)
                        .and_then(|()| kind(name, formula, names, &mut preds));
                    let kind = kind.unwrap_or_else(|error| Kind::Wrong(error.to_string()));
                    Question { id: property.id.clone(), part, tree: None, kind }
                };
                let mut questions = vec![question(None, &property.formula)];
                if let (Formula::Boolean(formula), Kind::Ctl(_) | Kind::Ltl(_)) =
                    (&property.formula, &questions[0].kind)
                {
                    let linear = name.starts_with("LTL");
                    let parts = parts(formula, linear);
                    questions[0].tree = (!parts.is_empty()).then(|| decompose(formula, linear).0);
                    questions.extend(
                        (0..)
                            .zip(parts)
                            .map(|(number, part)| question(Some(number), &Formula::Boolean(Box::new(part)))),
                    );
                }
                questions
            })
            .collect(),
    };
    Ok(Examination { name: name.to_owned(), questions, preds })
}

fn kind(
    examination: &str,
    formula: &Formula,
    names: &Names<'_>,
    preds: &mut Preds,
) -> Result<Kind, FormulaError> {
    let expr = match formula {
        Formula::PlaceBound(places) => return Ok(Kind::Bound(names.sum(places)?)),
        Formula::Boolean(expr) => &**expr,
    };
    if let Some(kind) = reach(expr, names)? {
        return Ok(kind);
    }
    if examination.starts_with("LTL") {
        let mut preds = Preds::default();
        // The search looks for a path that refutes `all-paths` or proves `exists-path`.
        let (path, exists) = match expr {
            Expr::AllPaths(path) => (&**path, false),
            Expr::ExistsPath(path) => (&**path, true),
            path => (path, false),
        };
        let formula = names.ltl(path, exists, &mut preds)?;
        return Ok(Kind::Ltl(RunSearch { formula, preds, shows: exists, enough: true, exact: true }));
    }
    Ok(Kind::Ctl(names.ctl(expr, preds)?))
}

/// A formula that is about the reachability of a marking.
fn reach(expr: &Expr, names: &Names<'_>) -> Result<Option<Kind>, FormulaError> {
    let kind = match expr {
        Expr::ExistsPath(path) => match &**path {
            Expr::Finally(inner) => names.pred(inner)?.map(|pred| Kind::Reach { pred, found: true }),
            _ => None,
        },
        Expr::AllPaths(path) => match &**path {
            Expr::Globally(inner) => {
                names.pred(inner)?.map(|pred| Kind::Reach { pred: pred.not(), found: false })
            }
            _ => None,
        },
        Expr::Not(inner) => match reach(inner, names)? {
            Some(Kind::Reach { pred, found }) => Some(Kind::Reach { pred, found: !found }),
            _ => None,
        },
        _ => None,
    };
    Ok(kind)
}
