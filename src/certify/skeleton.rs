//! Proofs in the net without its colours, which can be much smaller than the unfolding.
//!
//! A condition of the unfolding is lifted: weakened to one that counts the tokens of all colours of a place. Its proof is
//! expanded to one of the unfolding.

use crate::net::{Named, range_numbers};
use crate::proof::{Condition, Fact, Prover, Tree};
use crate::proof_lp::{Linear, Structure};
use num_bigint::BigInt;
use num_traits::One;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::iter;
use std::rc::Rc;
use std::time::Instant;

/// Most nodes, factors and weights of an expanded proof, those of its lemmas as often as they are used: some seconds of a
/// checker.
const MAX_NUMBERS: usize = 1_000_000;

/// A coloured net without its colours: a place of it has the tokens of all colours, and a transition is what some bindings
/// take and put in numbers.
pub(crate) struct Skeleton<'a> {
    named: &'a Named,
    /// By place of the unfolding: the place of the net.
    groups: Vec<u32>,
    structure: Structure,
}

impl<'a> Skeleton<'a> {
    /// None: the net is not coloured.
    pub(crate) fn new(named: &'a Named, unfolding: &Structure) -> Option<Self> {
        named.coloured.as_ref()?;
        let groups = range_numbers(&named.places);
        let group = |place: &u32| groups[*place as usize];
        let mut structure = Structure { initial: vec![0; named.places.len()], ..Structure::default() };
        for (place, tokens) in (0..).zip(&unfolding.initial) {
            let sum = &mut structure.initial[group(&place) as usize];
            *sum = sum.checked_add(*tokens)?;
        }
        let mut known = HashSet::new();
        for ((inputs, outputs), effect) in
            unfolding.inputs.iter().zip(&unfolding.outputs).zip(&unfolding.effects)
        {
            let mut takes: BTreeMap<u32, u64> = BTreeMap::new();
            for (place, weight) in inputs {
                let sum = takes.entry(group(place)).or_default();
                *sum = sum.checked_add(*weight)?;
            }
            let mut puts: Vec<u32> = outputs.iter().map(group).collect();
            puts.sort_unstable();
            puts.dedup();
            let effect = Linear::new(effect.iter().map(|(place, change)| (group(place), *change)), 0).terms;
            let one = (takes.into_iter().collect::<Vec<_>>(), puts, effect);
            if known.insert(one.clone()) {
                structure.inputs.push(one.0);
                structure.outputs.push(one.1);
                structure.effects.push(one.2);
            }
        }
        Some(Self { named, groups, structure })
    }

    /// The steps of a linear program.
    pub(crate) fn steps(&self) -> u64 {
        self.structure.steps()
    }

    /// Proves that no reachable marking satisfies a condition of the unfolding. Returns the facts of the proof too.
    pub(crate) fn refute(&self, condition: &Condition, until: Instant) -> Option<(Vec<Fact>, Tree)> {
        let (weaker, mut lifted) = self.lifted(condition);
        if weaker.is_empty() {
            return None;
        }
        let mut prover = Prover::new(&self.structure, until);
        let tree = prover.refute(Condition::All(weaker), until)?;
        let facts = self.unfolded(prover.facts);
        lifted.lemmas = facts.iter().map(weights_in).collect();
        let tree = self.expand(&tree, &mut lifted)?;
        Some((facts, tree))
    }

    /// An upper bound of a sum of tokens, with its proof.
    pub(crate) fn upper_bound(&self, sum: &Linear, until: Instant) -> Option<(BigInt, Vec<Fact>, Tree)> {
        let mut prover = Prover::new(&self.structure, until);
        let (bound, tree) = prover.upper_bound(&self.linear(sum), until)?;
        Some((bound, self.unfolded(prover.facts), tree))
    }

    /// A weaker inequality with the same weight for all colours of a place: the largest one. Contradictions of it are also
    /// those of the inequality itself, whose weights are not larger.
    fn linear(&self, linear: &Linear) -> Linear {
        // By place of the net: the largest weight, and for how many colours there is one.
        let mut weights: BTreeMap<u32, (i128, usize)> = BTreeMap::new();
        for (place, weight) in &linear.terms {
            let known = weights.entry(self.groups[*place as usize]).or_insert((*weight, 0));
            *known = (known.0.max(*weight), known.1 + 1);
        }
        let largest = |(place, (weight, count)): (u32, (i128, usize))| {
            let is_complete = count == self.named.places[place as usize].len();
            (place, if is_complete { weight } else { weight.max(0) })
        };
        Linear::new(weights.into_iter().map(largest), linear.bound)
    }

    /// A weaker condition, which gives as many assumptions and disjunctions.
    fn lift(&self, condition: &Condition) -> Condition {
        match condition {
            Condition::Linear(linear) => Condition::Linear(self.linear(linear)),
            Condition::All(parts) => Condition::All(parts.iter().map(|part| self.lift(part)).collect()),
            Condition::One(parts) => Condition::One(different(parts.iter().map(|part| self.lift(part)))),
        }
    }

    /// The cases of a disjunction of the skeleton, in ascending order.
    fn cases(&self, origin: &Origin, disjunctions: &[&[Condition]]) -> Vec<Condition> {
        match origin {
            Origin::Same(number) => different(disjunctions[*number].iter().map(|case| self.lift(case))),
            Origin::Colours(place, bounds) => {
                let split = bounds.iter().filter_map(|bound| Some((bound, bound.case?)));
                let others = split.flat_map(|(bound, at)| {
                    let cases = disjunctions[bound.number].iter().enumerate();
                    cases.filter(move |(position, _)| *position != at).map(move |(_, case)| self.lift(case))
                });
                different(iter::once(Condition::Linear(sum_of(*place, bounds))).chain(others))
            }
        }
    }

    /// Inequalities and then disjunctions of the skeleton that follow from a condition: its parts, where they still say
    /// something without colours, and for each place that has a bound for each colour the bound of the sum.
    fn lifted<'c>(&self, condition: &'c Condition) -> (Vec<Condition>, Lifted<'c>) {
        let mut parts = Parts::default();
        parts.add(condition);
        let (mut assumptions, mut disjunctions) = (BTreeMap::new(), BTreeMap::new());
        // By place of the unfolding: the bound with the fewest other cases.
        let mut bounds: Vec<Option<Bound>> = vec![None; self.groups.len()];
        let mut add_bound = |literal: &Linear, others: usize, number: usize, case: Option<usize>| {
            if let [(place, -1)] = literal.terms[..] {
                let known = &mut bounds[place as usize];
                let bound = Bound { place, others, most: -literal.bound, number, case };
                if known.as_ref().is_none_or(|known| (others, bound.most) < (known.others, known.most)) {
                    *known = Some(bound);
                }
            }
        };
        for (number, linear) in parts.assumptions.iter().enumerate() {
            let weaker = self.linear(linear);
            if says_nothing(&weaker) {
                add_bound(linear, 0, number, None);
            } else {
                assumptions.entry(weaker).or_insert(vec![number]);
            }
        }
        for (number, cases) in parts.disjunctions.iter().enumerate() {
            let is_lost = |(_, case): &(usize, &Condition)| always_holds(&self.lift(case));
            let lost: Vec<(usize, &Condition)> = cases.iter().enumerate().filter(is_lost).collect();
            match lost[..] {
                [] => {
                    let origin = Origin::Same(number);
                    disjunctions.entry(self.cases(&origin, &parts.disjunctions)).or_insert(origin);
                }
                [(at, Condition::Linear(literal))] if cases.iter().all(is_linear) => {
                    add_bound(literal, cases.len() - 1, number, Some(at));
                }
                _ => {}
            }
        }
        for (place, range) in (0..).zip(&self.named.places) {
            let bounds = &bounds[range.start as usize..range.end as usize];
            let Some(bounds) = bounds.iter().cloned().collect::<Option<Vec<Bound>>>() else { continue };
            if bounds.iter().all(|bound| bound.case.is_none()) {
                let numbers = bounds.iter().map(|bound| bound.number).collect();
                assumptions.entry(sum_of(place, &bounds)).or_insert(numbers);
            } else {
                let origin = Origin::Colours(place, bounds);
                disjunctions.entry(self.cases(&origin, &parts.disjunctions)).or_insert(origin);
            }
        }
        // Of violated disjunctions with as many cases, the proof splits the first: the one with the smallest expansion.
        let mut disjunctions: Vec<(Vec<Condition>, Origin)> = disjunctions.into_iter().collect();
        disjunctions.sort_by_key(|(_, origin)| match origin {
            Origin::Same(number) => parts.disjunctions[*number].len(),
            Origin::Colours(_, bounds) => {
                bounds.iter().map(|bound| bound.case.map_or(0, |_| bound.others + 1)).sum()
            }
        });
        let (inequalities, assumptions): (Vec<Linear>, _) = assumptions.into_iter().unzip();
        let (cases, origins): (Vec<_>, Vec<Origin>) = disjunctions.into_iter().unzip();
        let weaker = inequalities.into_iter().map(Condition::Linear);
        let weaker = weaker.chain(cases.into_iter().map(Condition::One)).collect();
        let lifted = Lifted {
            assumed: parts.assumptions.len(),
            disjunctions: parts.disjunctions,
            assumptions,
            origins: origins.into_iter().map(Rc::new).collect(),
            lemmas: Vec::new(),
            left: MAX_NUMBERS,
        };
        (weaker, lifted)
    }

    /// The proof of the unfolding. None: it would be too large.
    fn expand(&self, tree: &Tree, lifted: &mut Lifted<'_>) -> Option<Tree> {
        match tree {
            Tree::Contradiction(lemmas, factors) => {
                let used = lemmas.iter().map(|(number, _)| lifted.lemmas[*number]).sum::<usize>();
                let counts = factors.iter().map(|(number, _)| lifted.assumptions[*number].len());
                lifted.spend(1 + used + counts.sum::<usize>())?;
                let known = &lifted.assumptions;
                let each = factors.iter().flat_map(|(number, factor)| {
                    known[*number].iter().map(move |number| (*number, factor.clone()))
                });
                Some(Tree::Contradiction(lemmas.clone(), each.collect()))
            }
            Tree::Cases(number, proofs) => self.expand_cases(*number, proofs, lifted),
            Tree::Split(..) | Tree::Closed(_) => None,
        }
    }

    fn expand_cases(&self, number: usize, proofs: &[Tree], lifted: &mut Lifted<'_>) -> Option<Tree> {
        let origin = Rc::clone(&lifted.origins[number]);
        lifted.spend(match &*origin {
            Origin::Same(number) => lifted.disjunctions[*number].len(),
            Origin::Colours(_, bounds) => bounds.len(),
        })?;
        let cases = self.cases(&origin, &lifted.disjunctions);
        match &*origin {
            Origin::Same(number) => {
                let mut expanded = Vec::new();
                for case in lifted.disjunctions[*number] {
                    let proof = &proofs[cases.binary_search(&self.lift(case)).ok()?];
                    expanded.push(self.expand_case(case, proof, lifted)?);
                }
                Some(Tree::Cases(*number, expanded))
            }
            Origin::Colours(place, bounds) => self.expand_colours(*place, bounds, &cases, proofs, lifted),
        }
    }

    /// The proof of a case of the unfolding from that of the weaker case.
    fn expand_case<'c>(&self, case: &'c Condition, proof: &Tree, lifted: &mut Lifted<'c>) -> Option<Tree> {
        let before = lifted.sizes();
        let mut parts = Parts::default();
        parts.add(case);
        lifted.assumed += parts.assumptions.len();
        lifted.disjunctions.extend(parts.disjunctions);
        lifted.assumptions.extend((before[0]..lifted.assumed).map(|number| vec![number]));
        let new = before[1]..lifted.disjunctions.len();
        lifted.origins.extend(new.map(|number| Rc::new(Origin::Same(number))));
        let tree = self.expand(proof, lifted)?;
        lifted.truncate(before);
        Some(tree)
    }

    /// Splits each case of the skeleton, and shows that one of them holds.
    fn expand_colours(
        &self,
        place: u32,
        bounds: &[Bound],
        cases: &[Condition],
        proofs: &[Tree],
        lifted: &mut Lifted<'_>,
    ) -> Option<Tree> {
        let mut splits = Vec::new();
        // By case: the number of the assumption that it does not hold, which is the same as where it holds.
        let mut negated = Vec::new();
        for (case, proof) in cases.iter().zip(proofs) {
            let Condition::Linear(linear) = case else { return None };
            let each = linear.terms.iter().flat_map(|(place, weight)| {
                self.named.places[*place as usize].clone().map(move |place| (place, *weight))
            });
            let linear = Linear::new(each, linear.bound);
            lifted.spend(linear.terms.len())?;
            negated.push(lifted.assumed);
            lifted.assumptions.push(vec![lifted.assumed]);
            lifted.assumed += 1;
            splits.push((linear, self.expand(proof, lifted)?));
            lifted.assumptions.pop();
        }
        let sum = cases.binary_search(&Condition::Linear(sum_of(place, bounds))).ok()?;
        let (split, known): (Vec<&Bound>, Vec<&Bound>) =
            bounds.iter().partition(|bound| bound.case.is_some());
        let mut more = vec![negated[sum]];
        more.extend(known.iter().map(|bound| bound.number));
        let mut tree = self.more_than_bounds(&split, &more, cases, &negated, lifted)?;
        lifted.assumed -= negated.len();
        for (linear, low) in splits.into_iter().rev() {
            tree = Tree::Split(linear, Box::new(low), Box::new(tree));
        }
        Some(tree)
    }

    /// Refutes that some colours have more tokens together than the sum of their bounds, which is the sum of the assumptions
    /// `more`, where no other case holds.
    fn more_than_bounds(
        &self,
        bounds: &[&Bound],
        more: &[usize],
        cases: &[Condition],
        negated: &[usize],
        lifted: &mut Lifted<'_>,
    ) -> Option<Tree> {
        let sum_up = |numbers: Vec<usize>| {
            Tree::Contradiction(
                Vec::new(),
                numbers.into_iter().map(|number| (number, BigInt::one())).collect(),
            )
        };
        lifted.spend(2 + bounds.len() + more.len())?;
        if let [bound] = bounds {
            let parts = lifted.disjunctions[bound.number];
            lifted.spend(3 * parts.len())?;
            let mut proofs = Vec::new();
            for (position, case) in parts.iter().enumerate() {
                let mut numbers = vec![lifted.assumed];
                if Some(position) == bound.case {
                    numbers.extend(more);
                } else {
                    numbers.push(negated[cases.binary_search(&self.lift(case)).ok()?]);
                }
                proofs.push(sum_up(numbers));
            }
            return Some(Tree::Cases(bound.number, proofs));
        }
        // Nested halves are less deep than one colour after the other.
        let (left, right) = bounds.split_at(bounds.len() / 2);
        let most = left.iter().map(|bound| bound.most).sum::<i128>();
        let within = Linear::new(left.iter().map(|bound| (bound.place, -1)), -most);
        let number = lifted.assumed;
        lifted.assumed += 1;
        let low = self.more_than_bounds(right, &[more, &[number]].concat(), cases, negated, lifted)?;
        let high = self.more_than_bounds(left, &[number], cases, negated, lifted)?;
        lifted.assumed -= 1;
        Some(Tree::Split(within, Box::new(low), Box::new(high)))
    }

    fn unfolded(&self, facts: Vec<Fact>) -> Vec<Fact> {
        let places = |place: u32| self.named.places[place as usize].clone();
        let unfolded = |fact| match fact {
            Fact::AtMost(weights, bound) => {
                let each = weights
                    .into_iter()
                    .flat_map(|(place, weight)| places(place).map(move |place| (place, weight.clone())));
                Fact::AtMost(each.collect(), bound)
            }
            Fact::Trap(trap) => Fact::Trap(trap.into_iter().flat_map(places).collect()),
            other => other,
        };
        facts.into_iter().map(unfolded).collect()
    }
}

/// The inequalities and disjunctions of a condition, numbered as in the checker's format.
#[derive(Default)]
struct Parts<'c> {
    assumptions: Vec<&'c Linear>,
    disjunctions: Vec<&'c [Condition]>,
}

impl<'c> Parts<'c> {
    /// Adds the parts of a condition as `Known::assume` does.
    fn add(&mut self, condition: &'c Condition) {
        match condition {
            Condition::Linear(linear) => self.assumptions.push(linear),
            Condition::All(parts) => parts.iter().for_each(|part| self.add(part)),
            Condition::One(parts) => match &parts[..] {
                [part] => self.add(part),
                parts => self.disjunctions.push(parts),
            },
        }
    }
}

/// A bound of the tokens of one colour, from an assumption or a case of a disjunction.
#[derive(Clone)]
struct Bound {
    /// Of the unfolding.
    place: u32,
    most: i128,
    /// The number of the assumption or of the disjunction.
    number: usize,
    /// The position of the case, and the number of other cases.
    case: Option<usize>,
    others: usize,
}

/// From what a disjunction of the skeleton follows.
enum Origin {
    /// From the disjunction of the unfolding with this number, case by case.
    Same(usize),
    /// From a bound for each colour of a place: one of their other cases holds, or the bound of the sum.
    Colours(u32, Vec<Bound>),
}

/// What a node of an expanded proof knows, and what it means in the skeleton.
struct Lifted<'c> {
    /// The number of assumptions of the unfolding.
    assumed: usize,
    /// The disjunctions of the unfolding.
    disjunctions: Vec<&'c [Condition]>,
    /// By assumption of the skeleton: the assumptions of the unfolding from whose sum it follows.
    assumptions: Vec<Vec<usize>>,
    /// By disjunction of the skeleton.
    origins: Vec<Rc<Origin>>,
    /// By lemma: the number of its weights.
    lemmas: Vec<usize>,
    /// What is left of `MAX_NUMBERS`.
    left: usize,
}

impl Lifted<'_> {
    fn spend(&mut self, numbers: usize) -> Option<()> {
        self.left = self.left.checked_sub(numbers)?;
        Some(())
    }

    fn sizes(&self) -> [usize; 4] {
        [self.assumed, self.disjunctions.len(), self.assumptions.len(), self.origins.len()]
    }

    fn truncate(&mut self, sizes: [usize; 4]) {
        self.assumed = sizes[0];
        self.disjunctions.truncate(sizes[1]);
        self.assumptions.truncate(sizes[2]);
        self.origins.truncate(sizes[3]);
    }
}

fn is_linear(condition: &Condition) -> bool {
    matches!(condition, Condition::Linear(_))
}

/// The different cases in ascending order. More than one stay at least two: a single one would be no disjunction.
fn different(cases: impl Iterator<Item = Condition>) -> Vec<Condition> {
    let mut count = 0;
    let different: BTreeSet<Condition> = cases.inspect(|_| count += 1).collect();
    let mut different: Vec<Condition> = different.into_iter().collect();
    if different.len() == 1 && count > 1 {
        different.push(different[0].clone());
    }
    different
}

/// The bound of the tokens of all colours of a place.
fn sum_of(place: u32, bounds: &[Bound]) -> Linear {
    Linear::new([(place, -1)], -bounds.iter().map(|bound| bound.most).sum::<i128>())
}

/// Whether an inequality holds in all markings.
fn says_nothing(linear: &Linear) -> bool {
    linear.bound <= 0 && linear.terms.iter().all(|(_, weight)| *weight > 0)
}

/// Whether a condition obviously holds in all markings.
fn always_holds(condition: &Condition) -> bool {
    match condition {
        Condition::Linear(linear) => says_nothing(linear),
        Condition::All(parts) => parts.iter().all(always_holds),
        Condition::One(parts) => parts.iter().any(always_holds),
    }
}

/// The number of weights of a fact.
fn weights_in(fact: &Fact) -> usize {
    match fact {
        Fact::AtMost(weights, _) => weights.len(),
        Fact::Trap(places) | Fact::Closed(places, _) => places.len(),
        Fact::Invariant(..) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Budget, Limits};
    use crate::engine::read_net;
    use crate::formula::Pred;
    use crate::proof_certificate::Naming;
    use mcc_base::random::SplitMix;
    use mcc_checker::{Certificate, Instance, VERSION, Value};
    use mcc_model::Archive;
    use std::fmt::Write;
    use std::fs;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    /// A node of arcs and a term: `.` for the token without colours, a variable, its successor as `x+`, or `all`.
    type Arcs<'a> = &'a [(&'a str, &'a str)];
    /// Its id, inputs and outputs.
    type Transition<'a> = (&'a str, Arcs<'a>, Arcs<'a>);

    /// A net with the colours a, b, c. Places with their initial term, which is empty or the one of their arcs; transitions
    /// with inputs and outputs. Places whose name begins with `d` have no colours.
    fn net(places: Arcs<'_>, transitions: &[Transition<'_>]) -> String {
        let colours = ["a", "b", "c"].map(|id| format!("<feconstant id='{id}' name='{id}'/>")).concat();
        let variable =
            |id| format!("<variabledecl id='{id}' name='{id}'><usersort declaration='C'/></variabledecl>");
        let mut text = format!(
            "<pnml><net id='N' type='symmetricnet'><declaration><structure><declarations><namedsort id='C' name='C'>\
             <cyclicenumeration>{colours}</cyclicenumeration></namedsort>{}{}</declarations></structure></declaration>\
             <page id='g'>",
            variable("x"),
            variable("y")
        );
        let term = |term: &str| match term {
            "." => "<dotconstant/>".to_owned(),
            "all" => "<all><usersort declaration='C'/></all>".to_owned(),
            "x+" => "<successor><subterm><variable refvariable='x'/></subterm></successor>".to_owned(),
            variable => format!("<variable refvariable='{variable}'/>"),
        };
        for (id, initial) in places {
            let sort = if id.starts_with('d') { "<dot/>" } else { "<usersort declaration='C'/>" };
            write!(text, "<place id='{id}'><type><structure>{sort}</structure></type>").unwrap();
            if !initial.is_empty() {
                let tokens = term(initial);
                write!(text, "<hlinitialMarking><structure>{tokens}</structure></hlinitialMarking>").unwrap();
            }
            text += "</place>";
        }
        for (id, inputs, outputs) in transitions {
            write!(text, "<transition id='{id}'/>").unwrap();
            for (arcs, is_input) in [(inputs, true), (outputs, false)] {
                for (place, weight) in *arcs {
                    let (source, target) = if is_input { (place, id) } else { (id, place) };
                    let weight = term(weight);
                    write!(
                        text,
                        "<arc id='{source}-{target}' source='{source}' target='{target}'><hlinscription>\
                         <structure>{weight}</structure></hlinscription></arc>"
                    )
                    .unwrap();
                }
            }
        }
        text + "</page></net></pnml>"
    }

    /// Certificates that no deadlock is reachable and that transitions are dead, as far as the net without colours shows them.
    /// The checker accepts them, and an exploration finds the same if it ends.
    fn certificates(text: &str) -> Vec<Certificate> {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("N-COL-1");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("model.pnml"), text).unwrap();
        let archive = Archive::open(&folder).unwrap();
        let named = read_net(&archive, &Limits::new(&Budget::of_time(Duration::from_secs(3600)))).unwrap();
        let structure = Structure::from_net(&named);
        let skeleton = Skeleton::new(&named, &structure).unwrap();
        let checker = Instance::read(&archive).unwrap();
        let cancel = AtomicBool::new(false);
        let explored = checker.explore(Duration::from_secs(3600), 1 << 20, &cancel);
        let fireable =
            named.transitions.iter().zip(&named.transition_ids).map(|(range, id)| {
                ("QuasiLiveness", Some(id.clone()), Pred::Fireable(range.clone().collect()))
            });
        let mut certificates = Vec::new();
        for (examination, subject, pred) in
            iter::once(("ReachabilityDeadlock", None, Pred::Dead)).chain(fireable)
        {
            let condition = Condition::from_pred(&pred, true, &named.net).unwrap();
            let until = Instant::now() + Duration::from_secs(3600);
            let Some((facts, tree)) = skeleton.refute(&condition, until) else { continue };
            let certificate = Certificate {
                version: VERSION,
                instance: "N-COL-1".to_owned(),
                examination: examination.to_owned(),
                property: examination.to_owned(),
                value: Value::Truth(false),
                subject,
                method: None,
                lemmas: facts.iter().map(|fact| Naming(&named).lemma(fact)).collect(),
                proof: Naming(&named).proof([&tree]),
                parts: Vec::new(),
            };
            let checked = checker.check_certificate(&certificate);
            checked.unwrap_or_else(|error| panic!("{error}: {certificate:?} of {text}"));
            if let Ok(explored) = &explored {
                let value = explored.value(examination, examination).unwrap();
                assert_eq!(value, Some(Value::Truth(false)), "{examination} of {text}");
            }
            certificates.push(certificate);
        }
        certificates
    }

    /// A medium with one token, which each colour takes and gives back.
    const TAKE: Transition<'_> = ("take", &[("idle", "x"), ("dfree", ".")], &[("busy", "x"), ("dused", ".")]);
    const GIVE: Transition<'_> = ("give", &[("busy", "x"), ("dused", ".")], &[("idle", "x"), ("dfree", ".")]);
    const PLACES: Arcs<'_> = &[("idle", "all"), ("busy", ""), ("dfree", "."), ("dused", "")];

    #[test]
    fn a_deadlock_of_single_colours_is_refuted_in_the_net_without_colours() {
        let certificates = certificates(&net(PLACES, &[TAKE, GIVE]));
        let [deadlock] = &certificates[..] else { panic!("{certificates:?}") };
        assert_eq!(deadlock.examination, "ReachabilityDeadlock");
        // The colours have the same weights.
        assert!(!format!("{:?}", deadlock.lemmas).contains("colour: Some"), "{deadlock:?}");
    }

    #[test]
    fn a_reachable_deadlock_is_not_refuted() {
        assert!(certificates(&net(PLACES, &[TAKE])).is_empty());
        // The tokens on `idle` are enough, but not their colours.
        let give: Transition<'_> = ("give", &[("busy", "x"), ("idle", "x")], &[("idle", "x+")]);
        assert!(certificates(&net(PLACES, &[TAKE, give])).is_empty());
    }

    #[test]
    fn a_transition_is_dead_with_each_of_its_bindings() {
        let both: Transition<'_> = ("both", &[("busy", "x"), ("dused", "."), ("dfree", ".")], &[]);
        let certificates = certificates(&net(PLACES, &[TAKE, GIVE, both]));
        let subjects: Vec<_> =
            certificates.iter().map(|certificate| certificate.subject.as_deref()).collect();
        assert_eq!(subjects, [Some("both")]);
    }

    #[test]
    fn what_is_refuted_in_random_nets_without_their_colours_agrees_with_exploration() {
        let mut random = SplitMix(5);
        let (mut deadlocks, mut dead) = (0, 0);
        for _ in 0..150 {
            let names = ["p0", "p1", "p2", "d0", "d1"];
            let term = |name: &str, random: &mut SplitMix| {
                if name.starts_with('d') {
                    "."
                } else {
                    ["x", "x", "x", "x", "x+", "y", "all"][random.below(7)]
                }
            };
            let places = names.map(|name| {
                let initial = if name.starts_with('d') { "." } else { "all" };
                (name, ["", initial][random.below(2)])
            });
            let mut arcs = || {
                let mut arcs: Vec<(&str, &str)> = Vec::new();
                for places in [&names[..3], &names[3..]] {
                    if random.below(5) > 0 {
                        let name = places[random.below(places.len())];
                        arcs.push((name, term(name, &mut random)));
                    }
                }
                arcs
            };
            let transitions: Vec<_> = (0..4).map(|_| (arcs(), arcs())).collect();
            let ids = ["t0", "t1", "t2", "t3"];
            let transitions: Vec<Transition<'_>> = ids
                .into_iter()
                .zip(&transitions)
                .map(|(id, (inputs, outputs))| (id, &inputs[..], &outputs[..]))
                .collect();
            for certificate in certificates(&net(&places, &transitions)) {
                if certificate.subject.is_some() { dead += 1 } else { deadlocks += 1 }
            }
        }
        assert!(deadlocks > 0 && dead > 0, "{deadlocks} {dead}");
    }
}
