//! Instances for the tests, and a firing rule that shares nothing with the checker.

use mcc_checker::{Run, Step};
use mcc_model::{Archive, ColourName, Net, NetKind};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A deterministic generator of pseudo-random numbers (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Writes an instance of files with names and contents as `NAME.tgz`.
pub fn pack(folder: &Path, name: &str, files: &[(String, String)]) -> PathBuf {
    fs::create_dir(folder.join(name)).unwrap();
    for (file, content) in files {
        fs::write(folder.join(name).join(file), content).unwrap();
    }
    let archive = folder.join(format!("{name}.tgz"));
    let tar = Command::new("tar").arg("-C").arg(folder).arg("-czf").arg(&archive).arg(name).status().unwrap();
    assert!(tar.success());
    archive
}

/// A P/T net: tokens of the places p0, p1, ..., and for each transition t0, t1, ... its inputs and outputs.
pub fn pnml(name: &str, initial: &[u64], transitions: &[[Vec<(usize, u64)>; 2]]) -> String {
    let mut text = format!("<pnml><net id='{name}' type='ptnet'><page id='g'>");
    for (number, tokens) in initial.iter().enumerate() {
        text +=
            &format!("<place id='p{number}'><initialMarking><text>{tokens}</text></initialMarking></place>");
    }
    for (number, sides) in transitions.iter().enumerate() {
        text += &format!("<transition id='t{number}'/>");
        for (side, arcs) in sides.iter().enumerate() {
            for (place, weight) in arcs {
                let (place, transition) = (format!("p{place}"), format!("t{number}"));
                let (from, to) = if side == 0 { (place, transition) } else { (transition, place) };
                text += &format!(
                    "<arc id='a{side}-{from}-{to}' source='{from}' target='{to}'><inscription><text>{weight}</text></inscription></arc>"
                );
            }
        }
    }
    text + "</page></net></pnml>"
}

/// A property file.
pub fn properties(formulas: &[(String, String)]) -> String {
    let property = |(id, formula): &(String, String)| {
        format!("<property><id>{id}</id><formula>{formula}</formula></property>")
    };
    format!("<property-set>{}</property-set>", formulas.iter().map(property).collect::<String>())
}

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pnml-fixtures").join(format!("{name}.tgz"))
}

/// A marking: tokens by place and colour.
pub type Tokens = BTreeMap<(usize, u64), i128>;

/// A transition with a binding.
pub struct Move {
    pub step: Step,
    pub takes: Tokens,
    pub puts: Tokens,
}

/// A net whose transitions are unfolded.
pub struct Moves {
    pub places: Vec<String>,
    pub transitions: Vec<String>,
    pub initial: Tokens,
    pub moves: Vec<Move>,
    /// By place: the names of its colours; empty in a P/T net.
    pub colours: Vec<Vec<ColourName>>,
}

impl Moves {
    pub fn read(archive: &Archive) -> Moves {
        let net = archive.net().unwrap();
        let places = net.places.iter().map(|place| place.id.clone()).collect();
        let transitions = net.transitions.iter().map(|transition| transition.id.clone()).collect();
        match net.kind {
            NetKind::PlaceTransition => Moves::plain(&net, places, transitions),
            NetKind::Coloured => Moves::coloured(archive, places, transitions),
        }
    }

    fn plain(net: &Net, places: Vec<String>, transitions: Vec<String>) -> Moves {
        let side =
            |arcs: &[mcc_model::Arc]| arcs.iter().map(|arc| ((arc.place, 0), arc.weight.into())).collect();
        let one = |transition: &mcc_model::Transition| Move {
            step: Step::from(transition.id.as_str()),
            takes: side(&transition.inputs),
            puts: side(&transition.outputs),
        };
        let marked = net.places.iter().enumerate().filter(|(_, place)| place.initial > 0);
        Moves {
            initial: marked.map(|(number, place)| ((number, 0), place.initial.into())).collect(),
            moves: net.transitions.iter().map(one).collect(),
            colours: vec![Vec::new(); places.len()],
            places,
            transitions,
        }
    }

    fn coloured(archive: &Archive, places: Vec<String>, transitions: Vec<String>) -> Moves {
        let net = archive.symmetric_net().unwrap();
        let mut moves = Vec::new();
        for transition in &net.transitions {
            let sorts: Vec<usize> = transition.variables.iter().map(|v| net.variables[*v].sort).collect();
            let count: u64 = sorts.iter().map(|sort| net.sorts[*sort].colours).product();
            for mut number in 0..count {
                let mut binding = Vec::new();
                for sort in &sorts {
                    binding.push(number % net.sorts[*sort].colours);
                    number /= net.sorts[*sort].colours;
                }
                if !transition.guard.holds(&binding) {
                    continue;
                }
                let side = |arcs: &[(usize, mcc_model::Bag)]| -> Tokens {
                    let bags = arcs.iter().map(|(place, bag)| (*place, bag.evaluate(&binding).unwrap()));
                    bags.flat_map(|(place, bag)| bag.into_iter().map(move |(c, n)| ((place, c), n.into())))
                        .collect()
                };
                let names = transition.variables.iter().zip(&sorts).zip(&binding);
                let named = names.map(|((variable, sort), colour)| {
                    (net.variables[*variable].id.clone(), net.colour_name(*sort, *colour))
                });
                let step = Step { transition: transition.id.clone(), binding: named.collect() };
                moves.push(Move { step, takes: side(&transition.inputs), puts: side(&transition.outputs) });
            }
        }
        let tokens = net.places.iter().enumerate().flat_map(|(number, place)| {
            place.initial.iter().map(move |(colour, count)| ((number, *colour), i128::from(*count)))
        });
        let names = |place: &mcc_model::ColouredPlace| {
            (0..net.sorts[place.sort].colours).map(|colour| net.colour_name(place.sort, colour)).collect()
        };
        let (initial, colours) = (tokens.collect(), net.places.iter().map(names).collect());
        Moves { places, transitions, initial, moves, colours }
    }

    pub fn enabled(&self, marking: &Tokens) -> Vec<usize> {
        let enough = |number: &usize| {
            let mut takes = self.moves[*number].takes.iter();
            takes.all(|(at, count)| marking.get(at).is_some_and(|have| have >= count))
        };
        (0..self.moves.len()).filter(enough).collect()
    }

    pub fn fire(&self, marking: &Tokens, number: usize) -> Tokens {
        let mut next = marking.clone();
        for (at, count) in &self.moves[number].takes {
            *next.entry(*at).or_default() -= count;
        }
        for (at, count) in &self.moves[number].puts {
            *next.entry(*at).or_default() += count;
        }
        next.retain(|_, count| *count != 0);
        next
    }

    /// A random run of at most `length` steps with its markings. It is a lasso if `wants_loop` and a marking came back.
    pub fn walk(&self, random: &mut Random, length: usize, wants_loop: bool) -> (Run, Vec<Tokens>) {
        let (mut run, mut markings) = (Run::default(), vec![self.initial.clone()]);
        while run.steps.len() < length {
            let last = &markings[markings.len() - 1];
            let enabled = self.enabled(last);
            if enabled.is_empty() {
                break;
            }
            let number = *random.pick(&enabled);
            let next = self.fire(last, number);
            run.steps.push(self.moves[number].step.clone());
            let seen = markings.iter().position(|marking| *marking == next);
            markings.push(next);
            if wants_loop && seen.is_some() {
                run.loop_start = seen;
                break;
            }
        }
        (run, markings)
    }
}
