//! Total examinations: a question for each transition or place of a P/T net. They have no property file. ITS-Tools answers
//! them since 2026; names, keywords and the order of objects are those of its documentation and scripts
//! (`TOTAL_QUERIES.md`, `run_test.pl`).

use super::{Count, Expr, Formula, Net, Property};

/// A total examination.
#[derive(Debug, PartialEq, Eq)]
pub struct Total {
    /// The name of the examination.
    pub examination: &'static str,
    /// The first word of its answers and of the vector in its oracle files.
    pub keyword: &'static str,
    /// The short name of the examination in the names of oracle files.
    pub short: &'static str,
    /// The letter before the number of an object: `t` of transitions, `p` of places.
    letter: char,
}

/// Can the transition fire in a reachable marking?
pub const QUASI_LIVENESS_ALL: Total =
    Total { examination: "QuasiLivenessAll", keyword: "QLIVE", short: "QLA", letter: 't' };
/// Has the place the same number of tokens in all reachable markings?
pub const STABLE_MARKING_ALL: Total =
    Total { examination: "StableMarkingAll", keyword: "STABLE", short: "SMA", letter: 'p' };
/// What is the largest number of tokens of the place?
pub const UPPER_BOUNDS_ALL: Total =
    Total { examination: "UpperBoundsAll", keyword: "BOUND", short: "UBA", letter: 'p' };

impl Total {
    /// All total examinations.
    pub const ALL: [&Self; 3] = [&QUASI_LIVENESS_ALL, &STABLE_MARKING_ALL, &UPPER_BOUNDS_ALL];

    /// Returns the total examination of this name.
    pub fn named(examination: &str) -> Option<&'static Self> {
        Self::ALL.into_iter().find(|total| total.examination == examination)
    }

    /// Whether its values are numbers.
    pub fn is_number(&self) -> bool {
        *self == UPPER_BOUNDS_ALL
    }

    /// Returns the number of an object from its id (`t12`): its place in the order of definition in the model, from 0.
    pub fn number(&self, id: &str) -> Option<usize> {
        let number = id.strip_prefix(self.letter)?;
        // `t+1` and `t01` are no ids.
        number.parse().ok().filter(|parsed: &usize| parsed.to_string() == number)
    }

    /// The questions on a P/T net in the order of definition. `places`: ids with initial tokens; `transitions`: ids.
    pub fn questions<'a>(
        &self,
        places: impl Iterator<Item = (&'a str, u64)>,
        transitions: impl Iterator<Item = &'a str>,
    ) -> Vec<Property> {
        let boxed = |expr: Expr| Box::new(expr);
        let formulas: Vec<Formula> = if *self == QUASI_LIVENESS_ALL {
            let fireable = |id: &str| boxed(Expr::Finally(boxed(Expr::Fireable(vec![id.to_owned()]))));
            transitions.map(|id| Formula::Boolean(boxed(Expr::ExistsPath(fireable(id))))).collect()
        } else if *self == STABLE_MARKING_ALL {
            let stable = |(id, initial): (&str, u64)| {
                let (tokens, initial) = (Count::Tokens(vec![id.to_owned()]), Count::Constant(initial));
                let sides = vec![Expr::Le(tokens.clone(), initial.clone()), Expr::Le(initial, tokens)];
                Formula::Boolean(boxed(Expr::AllPaths(boxed(Expr::Globally(boxed(Expr::And(sides)))))))
            };
            places.map(stable).collect()
        } else {
            places.map(|(id, _)| Formula::PlaceBound(vec![id.to_owned()])).collect()
        };
        let property = |(number, formula)| Property { id: format!("{}{number}", self.letter), formula };
        formulas.into_iter().enumerate().map(property).collect()
    }

    /// The questions on a P/T net.
    pub fn properties(&self, net: &Net) -> Vec<Property> {
        let places = net.places.iter().map(|place| (place.id.as_str(), place.initial));
        self.questions(places, net.transitions.iter().map(|transition| transition.id.as_str()))
    }
}
