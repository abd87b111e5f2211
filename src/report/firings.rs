//! Witnesses as readable runs: which transition fires, what it changes, and which marking it leads to.

use super::plots::fitting;
use super::show;
use mcc_checker::{Run, Step, Witness};
use mcc_model::{Net, NetKind, Transition};
use serde::Serialize;
use std::collections::HashMap;

/// Steps that are shown of the beginning and of the end of a run.
const SHOWN: usize = 20;
/// Places that are listed of a change or of a marking.
const LISTED: usize = 8;
/// Characters of a name.
const MAX_NAME: usize = 40;

/// A firing sequence for a page.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Firings {
    /// What the run is, as sentences.
    about: Vec<String>,
    /// The number of steps so far, the transition, the changes and the marking. The first row is the initial marking.
    rows: Vec<[String; 4]>,
    /// The number of rows before the steps that are left out, and the number of these steps.
    left_out: Option<(usize, usize)>,
}

impl Firings {
    /// Reads a witness. Without the net, or with a coloured one, the run has no markings. A text that is not a witness, or
    /// a run that the net does not have, is described.
    pub fn read(text: &str, net: Option<&Net>) -> Self {
        let mut firings = Self { about: Vec::new(), rows: Vec::new(), left_out: None };
        let witness = match Witness::read(text) {
            Ok(witness) => witness,
            Err(error) => {
                firings
                    .about
                    .push(format!("This file is not a witness: {}.", show::visible(&error.to_string())));
                return firings;
            }
        };
        if witness.runs.len() > 1 {
            let more = show::counted(witness.runs.len() as u64, "run", "runs");
            firings.about.push(format!("The witness has {more}; this is the first one."));
        }
        match witness.runs.first() {
            Some(run) => firings.add(run, net),
            None => firings.about.push("The witness has no run.".into()),
        }
        firings
    }

    fn add(&mut self, run: &Run, net: Option<&Net>) {
        let steps = run.steps.len();
        let length = show::counted(steps as u64, "step", "steps");
        self.about.push(match (run.loop_start, run.repeat) {
            (Some(start), _) => format!("A run of {length}; those after step {start} are repeated for ever."),
            (_, Some(start)) => {
                format!("A run of {length}; those after step {start} can be repeated, with ever more tokens.")
            }
            _ if steps == 0 => "It is the initial marking alone; no transition has to fire.".into(),
            _ => format!("A run of {length} from the initial marking."),
        });
        let net = net.filter(|net| net.kind == NetKind::PlaceTransition);
        let transitions: HashMap<&str, &Transition> = net.map_or_else(HashMap::new, |net| {
            net.transitions.iter().map(|transition| (transition.id.as_str(), transition)).collect()
        });
        let mut marking: Vec<u64> =
            net.map_or(vec![], |net| net.places.iter().map(|place| place.initial).collect());
        let shown = |marking: &[u64]| net.map_or(String::new(), |net| in_words(net, marking));
        self.rows.push(["0".into(), "initial marking".into(), String::new(), shown(&marking)]);
        let is_shown = |number: usize| number < SHOWN || number + SHOWN >= steps;
        for (number, step) in run.steps.iter().enumerate() {
            let mut changes = String::new();
            if let Some(net) = net {
                let transition = transitions.get(step.transition.as_str());
                let Some(fired) = transition.and_then(|transition| fire(&mut marking, transition)) else {
                    let why = if transition.is_some() { "is not enabled there" } else { "is not in the net" };
                    self.about.push(format!("Step {} cannot be fired: its transition {why}.", number + 1));
                    self.rows.push([(number + 1).to_string(), step_name(step), why.into(), String::new()]);
                    return;
                };
                if is_shown(number) {
                    let change = |&(place, before, after): &(usize, u64, u64)| {
                        let name = fitting(&net.places[place].id, MAX_NAME);
                        format!("{name} {} → {}", show::thousands(before), show::thousands(after))
                    };
                    changes = listed(fired.iter().map(change));
                    if changes.is_empty() {
                        changes = "nothing".into();
                    }
                }
            }
            if is_shown(number) {
                self.rows.push([(number + 1).to_string(), step_name(step), changes, shown(&marking)]);
            }
        }
        self.left_out = (steps > 2 * SHOWN).then_some((SHOWN + 1, steps.saturating_sub(2 * SHOWN)));
    }
}

/// Fires a transition: the places whose tokens it changes, with the numbers before and after. None if it is not enabled.
fn fire(marking: &mut [u64], transition: &Transition) -> Option<Vec<(usize, u64, u64)>> {
    let arcs = transition.inputs.iter().chain(&transition.outputs);
    let mut touched: Vec<(usize, u64)> = arcs.map(|arc| (arc.place, marking[arc.place])).collect();
    touched.sort_unstable();
    touched.dedup();
    for arc in &transition.inputs {
        marking[arc.place] = marking[arc.place].checked_sub(arc.weight)?;
    }
    for arc in &transition.outputs {
        marking[arc.place] = marking[arc.place].checked_add(arc.weight)?;
    }
    let changes = touched.into_iter().map(|(place, before)| (place, before, marking[place]));
    Some(changes.filter(|(_, before, after)| before != after).collect())
}

/// The transition with its binding.
fn step_name(step: &Step) -> String {
    let name = fitting(&step.transition, MAX_NAME);
    if step.binding.is_empty() {
        return name;
    }
    let colour = |(variable, colour): (&String, &mcc_model::ColourName)| {
        format!("{} = {}", fitting(variable, MAX_NAME), fitting(&colour.to_string(), MAX_NAME))
    };
    format!("{name} with {}", listed(step.binding.iter().map(colour)))
}

/// The places with tokens.
fn in_words(net: &Net, marking: &[u64]) -> String {
    let marked = net.places.iter().zip(marking).filter(|(_, tokens)| **tokens > 0);
    let text = listed(
        marked
            .map(|(place, tokens)| format!("{} {}", fitting(&place.id, MAX_NAME), show::thousands(*tokens))),
    );
    if text.is_empty() { "no tokens".into() } else { text }
}

/// The first of the texts, and the number of the others.
fn listed(texts: impl Iterator<Item = String>) -> String {
    let mut texts = texts.fuse();
    let first: Vec<String> = texts.by_ref().take(LISTED).collect();
    let more = texts.count();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_model::{Arc, Place};

    /// p has two tokens; `move` takes one from p to q, `keep` needs one on q.
    fn net() -> Net {
        let arc = |place| Arc { place, weight: 1 };
        let transition = |id: &str, inputs, outputs| Transition { id: id.into(), inputs, outputs };
        Net {
            id: "n".into(),
            kind: NetKind::PlaceTransition,
            places: vec![Place { id: "p".into(), initial: 2 }, Place { id: "<q>\u{1b}".into(), initial: 0 }],
            transitions: vec![
                transition("move", vec![arc(0)], vec![arc(1)]),
                transition("back", vec![arc(1)], vec![arc(0)]),
                transition("keep", vec![arc(1)], vec![arc(1)]),
            ],
        }
    }

    fn read(runs: &str) -> Firings {
        let text = format!(
            "{{\"version\": 1, \"instance\": \"n\", \"examination\": \"OneSafe\", \"property\": \"OneSafe\", \
             \"value\": \"FALSE\", \"runs\": {runs}}}"
        );
        Firings::read(&text, Some(&net()))
    }

    fn row(cells: [&str; 4]) -> [String; 4] {
        cells.map(str::to_owned)
    }

    #[test]
    fn a_run_has_its_changes_and_markings() {
        let firings = read("[{\"steps\": [\"move\", \"keep\"], \"loop\": 1}]");
        assert_eq!(firings.about, ["A run of 2 steps; those after step 1 are repeated for ever."]);
        let expected = [
            row(["0", "initial marking", "", "p 2"]),
            row(["1", "move", "p 2 → 1, <q>⟨ESC⟩ 0 → 1", "p 1, <q>⟨ESC⟩ 1"]),
            row(["2", "keep", "nothing", "p 1, <q>⟨ESC⟩ 1"]),
        ];
        assert_eq!((firings.rows.as_slice(), firings.left_out), (&expected[..], None));
        let bound = "[{\"steps\": [{\"transition\": \"t\", \"binding\": {\"x\": \"c1\"}}]}]";
        let text = format!(
            "{{\"version\": 1, \"instance\": \"n\", \"examination\": \"e\", \"property\": \"p\", \"value\": \"TRUE\", \"runs\": {bound}}}"
        );
        assert_eq!(Firings::read(&text, None).rows[1], row(["1", "t with x = c1", "", ""]));
    }

    #[test]
    fn a_long_run_is_shown_without_its_middle() {
        let steps = vec!["\"move\",\"back\""; 500].join(",");
        let firings = read(&format!("[{{\"steps\": [{steps}]}}]"));
        assert_eq!((firings.rows.len(), firings.left_out), (41, Some((21, 960))));
        assert_eq!(firings.rows[21][0], "981");
        assert_eq!(firings.rows[40], row(["1000", "back", "p 1 → 2, <q>⟨ESC⟩ 1 → 0", "p 2"]));
    }

    #[test]
    fn what_the_net_cannot_do_is_said() {
        let firings = read("[{\"steps\": [\"back\"]}, {\"steps\": []}]");
        assert_eq!(firings.about[0], "The witness has 2 runs; this is the first one.");
        assert_eq!(firings.about[2], "Step 1 cannot be fired: its transition is not enabled there.");
        assert!(read("[{\"steps\": [\"none\"]}]").about[1].ends_with("is not in the net."));
        assert!(Firings::read("{", None).about[0].starts_with("This file is not a witness: line 1"));
    }
}
