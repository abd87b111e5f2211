//! The properties of an instance and their exact answers.

use mcc_harness::model::{Expr, Formula, Net, Property};
use num_bigint::BigUint;

use super::families::{Instance, StateSpace};
use super::formulas::{Atoms, Draw, as_ctl};
use super::naive::Graph;

/// Properties per examination, as in the contest.
const PROPERTIES: usize = 16;

/// All questions about an instance, and their answers.
pub struct Sheet {
    pub state_space: StateSpace,
    pub has_deadlock: bool,
    /// Per formula examination, in the order of the expected file: its properties and their values.
    pub examinations: Vec<(String, Vec<(Property, String)>)>,
}

pub fn sheet(instance: &Instance) -> Sheet {
    let (named, judged) = match &instance.shortcut {
        Some(shortcut) => (&shortcut.named, &shortcut.equivalent),
        None => (&instance.net, &instance.net),
    };
    let graph = Graph::new(judged);
    let has_deadlock = graph.has_deadlock();
    let name = instance.name();
    let mut examinations = vec![
        ("UpperBounds".to_owned(), bounds(instance, named, &graph)),
        ("ReachabilityDeadlock".to_owned(), vec![deadlock(&name, has_deadlock)]),
    ];
    type Drawn = fn(&mut Draw, Atoms) -> Expr;
    type Meaning = fn(&Expr) -> Expr;
    let logics: [(&str, Drawn, Meaning); 3] = [
        ("Reachability", |draw, atoms| draw.reachability(atoms), Expr::clone),
        ("CTL", |draw, atoms| draw.ctl(atoms, 2), Expr::clone),
        ("LTL", |draw, atoms| draw.ltl(atoms), as_ctl),
    ];
    for (logic, formula, meaning) in logics {
        for atoms in [Atoms::Cardinality, Atoms::Fireability] {
            let examination = format!("{logic}{atoms:?}");
            let mut draw = Draw::new(named, &graph, &format!("{name}-{examination}"));
            let properties = (0..PROPERTIES)
                .map(|position| {
                    let (formula, truth) = chosen(&mut draw, &graph, |draw| formula(draw, atoms), meaning);
                    let id = format!("{name}-{examination}-{position:02}");
                    (Property { id, formula: Formula::Boolean(Box::new(formula)) }, letter(truth))
                })
                .collect();
            examinations.push((examination, properties));
        }
    }
    let state_space =
        instance.shortcut.as_ref().map_or_else(|| graph.state_space(), |known| known.state_space.clone());
    Sheet { state_space, has_deadlock, examinations }
}

/// Draws formulas until one has a truth value drawn at random before, and is not decided by the initial marking. The last of
/// a limited number of tries is taken in any case. `meaning` returns the formula in CTL.
fn chosen(
    draw: &mut Draw,
    graph: &Graph,
    mut formula: impl FnMut(&mut Draw) -> Expr,
    meaning: fn(&Expr) -> Expr,
) -> (Expr, bool) {
    const TRIES: usize = 12;
    let wanted = draw.below(2) == 0;
    let mut tries = 0;
    loop {
        let drawn = formula(draw);
        let meaning = meaning(&drawn);
        let truth = graph.holds_initially(&meaning);
        tries += 1;
        if tries == TRIES || truth == wanted && !shown_at_once(graph, &meaning) {
            return (drawn, truth);
        }
    }
}

/// Whether the initial marking decides the formula: EF of a formula that holds there, AG of one that does not.
fn shown_at_once(graph: &Graph, formula: &Expr) -> bool {
    match formula {
        Expr::ExistsPath(path) => matches!(&**path, Expr::Finally(state) if graph.holds_initially(state)),
        Expr::AllPaths(path) => matches!(&**path, Expr::Globally(state) if !graph.holds_initially(state)),
        _ => false,
    }
}

fn bounds(instance: &Instance, named: &Net, graph: &Graph) -> Vec<(Property, String)> {
    let name = instance.name();
    let mut draw = Draw::new(named, graph, &format!("{name}-UpperBounds"));
    (0..PROPERTIES)
        .map(|position| {
            let (places, value) = if position == PROPERTIES - 1 && instance.shortcut.is_some() {
                // Each switch has one token, so the sum over all places is the number of switches.
                let all = instance.net.places.iter().map(|place| place.id.clone()).collect();
                (all, BigUint::from(instance.net.places.len() / 2))
            } else {
                let places = draw.places();
                let value = graph.bound(&places);
                (places, value)
            };
            let id = format!("{name}-UpperBounds-{position:02}");
            (Property { id, formula: Formula::PlaceBound(places) }, value.to_string())
        })
        .collect()
}

fn deadlock(name: &str, truth: bool) -> (Property, String) {
    let formula = Expr::ExistsPath(Box::new(Expr::Finally(Box::new(Expr::Deadlock))));
    let id = format!("{name}-ReachabilityDeadlock-0");
    (Property { id, formula: Formula::Boolean(Box::new(formula)) }, letter(truth))
}

fn letter(truth: bool) -> String {
    if truth { "T" } else { "F" }.to_owned()
}

impl Sheet {
    /// The table `examination,position,id,value`; the ids of StateSpace are its keywords.
    pub fn to_csv(&self) -> String {
        let mut text = String::from("examination,position,id,value\n");
        let space = &self.state_space;
        let values = [
            ("STATES", &space.states),
            ("TRANSITIONS", &space.firings),
            ("MAX_TOKEN_IN_PLACE", &space.max_in_place),
            ("MAX_TOKEN_PER_MARKING", &space.max_per_marking),
        ];
        for (position, (id, value)) in values.iter().enumerate() {
            text.push_str(&format!("StateSpace,{position:02},{id},{value}\n"));
        }
        for (examination, properties) in &self.examinations {
            for (position, (property, value)) in properties.iter().enumerate() {
                text.push_str(&format!("{examination},{position:02},{},{value}\n", property.id));
            }
        }
        text
    }
}
