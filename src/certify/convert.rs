//! Makes certificates from the invariants that another tool found. The tool's file gives only the clauses: that they hold
//! initially, are kept by all firings and exclude the condition is proved here, and checked by the checker.

use crate::budget::{Budget, Limits};
use crate::engine::{EngineError, read_net};
use crate::formula::Names;
use crate::net::Named;
use crate::proof::{Condition, Fact, Prover, Tree};
use crate::proof_certificate::Naming;
use crate::proof_lp::{Linear, Structure};
use crate::questions::{self, Kind};
use crate::smpt;
use mcc_checker::{Certificate, CheckError, Instance, VERSION, Value};
use mcc_model::{Archive, ArchiveError, NetKind, NodeNames};
use num_bigint::BigInt;
use num_traits::Signed;
use std::collections::BTreeSet;
use std::time::Instant;

/// Largest depth of an induction, as in the checker.
const MAX_DEPTH: usize = 3;

/// What an invariant shows.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The examination.
    pub examination: &'a str,
    /// The id of the property.
    pub property: &'a str,
    /// The truth of its formula.
    pub value: bool,
}

/// Why no certificate was made.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The file cannot be read.
    #[error("line {line}: {problem}; see docs/evidence/README.md#files-of-other-tools")]
    Syntax {
        /// The line: 1, 2, ...
        line: usize,
        /// The problem.
        problem: String,
    },
    /// The file is too long.
    #[error("the file is longer than {} bytes; it is not read", smpt::MAX_BYTES)]
    TooLong,
    /// An invariant of a P/T net does not show this.
    #[error("{0}")]
    Claim(String),
    /// The net cannot be read, or the time was too short for it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The checker cannot read the instance, or refuses the certificate.
    #[error("{0}")]
    Check(#[from] CheckError),
    /// No proof was found.
    #[error("{0}")]
    Unproved(String),
}

impl From<ArchiveError> for ConvertError {
    fn from(error: ArchiveError) -> Self {
        Self::Engine(error.into())
    }
}

/// Makes a certificate from a proof that SMPT exported. The certificate was accepted by the checker.
///
/// # Errors
/// The file or the instance cannot be read, the file shows no such claim, or no proof was found within the budget.
pub fn convert_proof(
    archive: &Archive,
    text: &str,
    claim: Claim<'_>,
    budget: &Budget<'_>,
) -> Result<Certificate, ConvertError> {
    if text.len() > smpt::MAX_BYTES {
        return Err(ConvertError::TooLong);
    }
    let Claim { examination, property, value } = claim;
    if archive.instance.kind() == NetKind::Coloured {
        return Err(ConvertError::Claim(format!(
            "{}: proofs of coloured nets are not read",
            archive.instance
        )));
    }
    let limits = Limits::new(budget);
    let named = read_net(archive, &limits)?;
    let names = Names::new(&named);
    let ids = NodeNames::read(archive, "place", smpt::spelled)?;
    let place =
        |name: &str| ids.id(name).and_then(|id| names.sum(&[id.to_owned()]).ok()?.places.first().copied());
    let syntax = |smpt::Problem { line, what }| ConvertError::Syntax { line, problem: what };
    let invariant = smpt::read(text, place).map_err(syntax)?;
    // Without its clauses, if they are too many; the state equation may suffice.
    let clauses = invariant.clauses.clone().unwrap_or_default();
    let known = questions::read(archive, examination, &names)?.questions;
    let question = known.iter().find(|question| question.id == property && question.part.is_none());
    let condition = match question.map(|question| &question.kind) {
        None => return Err(ConvertError::Claim(format!("{examination} has no property \"{property}\""))),
        Some(Kind::Reach { pred, found }) if *found != value => {
            let long =
                || ConvertError::Claim(format!("{property}: the formula names too many places for a proof"));
            Condition::from_pred(pred, true, &named.net).ok_or_else(long)?
        }
        Some(_) => {
            let value = if value { "TRUE" } else { "FALSE" };
            let why = "an invariant shows only that a formula of reachability has the value that no marking decides";
            return Err(ConvertError::Claim(format!("{property} {value}: {why}")));
        }
    };
    let until = Instant::now() + budget.time;
    let structure = Structure::from_net(&named);
    let mut prover = Prover::new(&structure, until);
    let work = Invariant { named: &named, structure: &structure, clauses: &clauses, limits: &limits, until };
    if !clauses.is_empty() {
        let (depth, proofs) = work.proofs(&mut prover)?;
        prover.facts.push(Fact::Invariant(clauses.clone(), proofs, depth));
    }
    let Some(tree) = prover.refute_too(work.with_clauses(vec![condition]), until) else {
        if invariant.clauses.is_none() {
            return Err(syntax(invariant.too_long()));
        }
        return Err(work.unproved("that it excludes what the formula is about"));
    };
    let certificate = Certificate {
        version: VERSION,
        instance: archive.instance.to_string(),
        examination: examination.to_owned(),
        property: property.to_owned(),
        value: Value::Truth(value),
        subject: None,
        method: None,
        lemmas: prover.facts.iter().map(|fact| Naming(&named).lemma(fact)).collect(),
        proof: Naming(&named).proof([&tree]),
        parts: Vec::new(),
    };
    Instance::read(archive)?.check_certificate(&certificate)?;
    Ok(certificate)
}

/// The clauses of a net.
struct Invariant<'a> {
    named: &'a Named,
    structure: &'a Structure,
    clauses: &'a [Vec<Linear>],
    limits: &'a Limits<'a>,
    until: Instant,
}

impl Invariant<'_> {
    /// The least depth with which an induction shows the clauses, and its proofs in the order of the checker. The facts of the
    /// prover are those that they use.
    fn proofs(&self, prover: &mut Prover<'_>) -> Result<(u64, Vec<Tree>), ConvertError> {
        let mut first = Ok((1, Vec::new()));
        for depth in 1..=MAX_DEPTH {
            prover.facts.clear();
            match self.proofs_at(depth, prover) {
                Ok(proofs) => return Ok((depth as u64, proofs)),
                Err(error) if first.is_ok() => first = Err(error),
                Err(_) => {}
            }
        }
        first
    }

    /// The proofs that each clause holds in the markings that fewer than `depth` firings reach, and after each sequence of `depth`
    /// firings whose last one may falsify it, if all clauses hold before each of them.
    fn proofs_at(&self, depth: usize, prover: &mut Prover<'_>) -> Result<Vec<Tree>, ConvertError> {
        self.hold_at_first(&self.structure.initial, depth)?;
        let mut proofs = Vec::new();
        for clause in self.clauses {
            let mut run = vec![0; depth];
            // The sequences in lexicographic order.
            while run[0] < self.structure.effects.len() {
                let last = run[depth - 1];
                if self.limits.spend(1 + clause.len() as u64).is_err() {
                    return Err(self.unproved(&format!("that {} is kept", self.in_words(clause))));
                }
                if clause.iter().any(|literal| literal.change(&self.structure.effects[last]) < 0) {
                    let spent = self.limits.spend(self.structure.steps());
                    let tree =
                        spent.ok().and_then(|()| prover.refute_too(self.falsified(clause, &run), self.until));
                    let Some(tree) = tree else {
                        let id = &self.named.transition_ids[last];
                        let what = format!("that {} still holds after {id}", self.in_words(clause));
                        return Err(self.unproved(&what));
                    };
                    proofs.push((run.clone(), tree));
                }
                run[depth - 1] += 1;
                for at in (1..depth).rev() {
                    if run[at] == self.structure.effects.len() {
                        run[at] = 0;
                        run[at - 1] += 1;
                    }
                }
            }
        }
        // The checker leaves out the transitions that the lemmas before show to be never enabled.
        let dead = self.dead(&prover.facts);
        proofs.retain(|(run, _)| !run.iter().any(|transition| dead.contains(transition)));
        Ok(proofs.into_iter().map(|(_, tree)| tree).collect())
    }

    /// Checks the clauses in the markings that fewer than `depth` firings reach from this one.
    fn hold_at_first(&self, marking: &[u64], depth: usize) -> Result<(), ConvertError> {
        let value = |literal: &Linear| -> i128 {
            literal.terms.iter().map(|(place, weight)| weight * i128::from(marking[*place as usize])).sum()
        };
        let is_false = |clause: &&Vec<Linear>| !clause.iter().any(|literal| value(literal) >= literal.bound);
        if let Some(clause) = self.clauses.iter().find(is_false) {
            let at =
                if marking == self.structure.initial { "the initial marking" } else { "a marking near it" };
            return Err(ConvertError::Unproved(format!("{} does not hold in {at}", self.in_words(clause))));
        }
        let net = &self.named.net;
        for transition in
            (0..net.transitions() as u32).filter(|one| depth > 1 && net.is_enabled(*one, marking))
        {
            let mut next = marking.to_vec();
            if net.fire(transition, &mut next).is_none() || self.limits.spend(1).is_err() {
                return Err(self.unproved("for the first markings"));
            }
            self.hold_at_first(&next, depth - 1)?;
        }
        Ok(())
    }

    /// The condition that a sequence can fire, that all clauses hold before each firing, and that one clause is false at the end.
    fn falsified(&self, clause: &[Linear], run: &[usize]) -> Condition {
        let effects =
            |length: usize| run[..length].iter().map(|transition| &self.structure.effects[*transition]);
        // About the marking before the sequence.
        let before = |literal: &Linear, length: usize| {
            let change: i128 = effects(length).map(|effect| literal.change(effect)).sum();
            Condition::Linear(Linear { terms: literal.terms.clone(), bound: literal.bound - change })
        };
        let enabled = (0..run.len()).map(|at| {
            let inputs = self.structure.inputs[run[at]].iter();
            Condition::All(
                inputs
                    .map(|(place, weight)| before(&Linear::new([(*place, 1)], i128::from(*weight)), at))
                    .collect(),
            )
        });
        let mut parts: Vec<Condition> = enabled.collect();
        parts.extend(clause.iter().map(|literal| {
            let negated = literal.terms.iter().map(|(place, weight)| (*place, -weight));
            before(&Linear::new(negated, 1 - literal.bound), run.len())
        }));
        for length in 0..run.len() {
            let holds = |clause: &Vec<Linear>| {
                Condition::One(clause.iter().map(|literal| before(literal, length)).collect())
            };
            parts.extend(self.clauses.iter().map(holds));
        }
        Condition::All(parts)
    }

    fn with_clauses(&self, mut parts: Vec<Condition>) -> Condition {
        let clause =
            |clause: &Vec<Linear>| Condition::One(clause.iter().cloned().map(Condition::Linear).collect());
        parts.extend(self.clauses.iter().map(clause));
        Condition::All(parts)
    }

    /// The transitions that need more than the bound of a sum without negative weights.
    fn dead(&self, facts: &[Fact]) -> BTreeSet<usize> {
        let mut dead = BTreeSet::new();
        for fact in facts {
            let Fact::AtMost(weights, bound) = fact else { continue };
            if weights.values().any(Signed::is_negative) {
                continue;
            }
            for (transition, inputs) in self.structure.inputs.iter().enumerate() {
                let needs = inputs.iter().filter_map(|(place, count)| Some(weights.get(place)? * count));
                if needs.sum::<BigInt>() > *bound {
                    dead.insert(transition);
                }
            }
        }
        dead
    }

    fn in_words(&self, clause: &[Linear]) -> String {
        let literal = |literal: &Linear| {
            let term =
                |(place, weight): &(u32, i128)| format!("{weight} {}", self.named.place_ids[*place as usize]);
            format!("{} >= {}", literal.terms.iter().map(term).collect::<Vec<_>>().join(" + "), literal.bound)
        };
        let literals: Vec<String> = clause.iter().map(literal).collect();
        format!("the clause \"{}\"", literals.join(" or "))
    }

    fn unproved(&self, what: &str) -> ConvertError {
        let why = if Instant::now() >= self.until {
            "the time ended; give more with --time-s"
        } else {
            "it may need the file's parts with firing counts, which are not read, or more than this search tries"
        };
        ConvertError::Unproved(format!("no proof was found {what}: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    /// Converts a synthetic file as SMPT writes it, with this body of `cert`.
    fn convert(
        instance: &str,
        parameters: &[&str],
        body: &str,
        claim: (&str, bool),
    ) -> Result<Certificate, String> {
        let instances = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/evidence/instances");
        convert_in(&instances.join(instance), parameters, body, claim)
    }

    /// The same for an instance in this folder.
    fn convert_in(
        instance: &Path,
        parameters: &[&str],
        body: &str,
        claim: (&str, bool),
    ) -> Result<Certificate, String> {
        let archive = Archive::open(instance).unwrap();
        let parameters: String = parameters.iter().map(|place| format!("({place} Int)")).collect();
        let text = format!(
            "(set-logic LIA)\n\n; Certificate\n\n(define-fun cert ({parameters}) Bool {body})\n\n\n; Check\n\n\
             (declare-const p0@0 Int)\n(assert (>= p0@0 0))\n"
        );
        let cancel = AtomicBool::new(false);
        let budget =
            Budget { steps: u64::MAX, time: Duration::from_secs(60), memory_bytes: 1 << 30, cancel: &cancel };
        let claim = Claim { examination: "ReachabilityCardinality", property: claim.0, value: claim.1 };
        convert_proof(&archive, &text, claim, &budget).map_err(|error| error.to_string())
    }

    const PLACES: [&str; 4] = ["p0", "p1", "p2", "p3"];

    #[test]
    fn an_invariant_of_smpt_becomes_a_certificate() {
        for (body, claim) in [
            ("(and (<= (+ p0 p1) 1) (not (>= p2 1)))", ("f3", true)),
            ("(and (<= (+ p0 p1) 1) (not (>= p2 1)))", ("f1", false)),
            ("(or (< p0 1) (< p1 1))", ("f9", true)),
            ("(and (or (= p0 0) (= p1 0)) (<= p0 1) (<= p1 1) (= p2 0) (>= p3 1))", ("f10", false)),
            // The state equation with the constraints of a trap.
            (
                "(exists ((t0 Int)(t1 Int)(t2 Int)(t3 Int)) (and (and (>= t0 0)(>= t1 0)(>= t2 0)(>= t3 0) (and \
                 (= p0 (+ (* t0 -1) t1 (* t3 -2) 1))(= p1 (+ t0 (* t1 -1)))(= p2 (+ (* t2 -1) t3))(= p3 (+ t2 1)))) \
                 (> p3 0)))",
                ("f10", false),
            ),
        ] {
            let body = body.replace("-1)", "(- 1))").replace("-2)", "(- 2))");
            let certificate = convert("Switch-PT-1", &PLACES, &body, claim)
                .unwrap_or_else(|error| panic!("{body}: {error}"));
            assert_eq!(certificate.value, Value::Truth(claim.1));
        }
    }

    /// Places a, b, ..., initially two tokens on the first; t0 puts one from a on b, t1 from b on c, ..., and the last transition
    /// puts two. t0 takes also a token from the last place, so nothing ever fires. By the state equation each place can get tokens.
    fn chain(folder: &Path, places: &[&str]) -> PathBuf {
        let path = folder.join("Chain-PT-1");
        std::fs::create_dir(&path).unwrap();
        let last = places[places.len() - 1];
        let mut nodes = String::new();
        for place in places {
            let tokens = if place == &places[0] { 2 } else { 0 };
            nodes += &format!(
                "<place id='{place}'><initialMarking><text>{tokens}</text></initialMarking></place>\n"
            );
        }
        let arc = |source: &str, target: &str| {
            let weight = if target == last { 2 } else { 1 };
            format!(
                "<arc id='{source}-{target}' source='{source}' target='{target}'><inscription><text>{weight}</text>\
                 </inscription></arc>\n"
            )
        };
        for (number, pair) in places.windows(2).enumerate() {
            let name = format!("t{number}");
            nodes += &format!("<transition id='{name}'/>\n{}{}", arc(pair[0], &name), arc(&name, pair[1]));
        }
        nodes += &arc(last, "t0");
        let net =
            format!("<pnml><net id='Chain-PT-1' type='ptnet'><page id='g'>\n{nodes}</page></net></pnml>\n");
        std::fs::write(path.join("model.pnml"), net).unwrap();
        let property = format!(
            "<property-set><property><id>bad</id><formula><exists-path><finally><integer-le><integer-constant>1\
             </integer-constant><tokens-count><place>{last}</place></tokens-count></integer-le></finally>\
             </exists-path></formula></property></property-set>\n"
        );
        std::fs::write(path.join("ReachabilityCardinality.xml"), property).unwrap();
        path
    }

    #[test]
    fn an_invariant_that_one_firing_may_falsify_gets_a_depth() {
        for (places, depth) in [(&["a", "b", "c"][..], 2), (&["a", "b", "c", "d"], 3)] {
            let folder = tempfile::tempdir().unwrap();
            let instance = chain(folder.path(), places);
            let body = format!("(<= {} 0)", places[places.len() - 1]);
            let certificate = convert_in(&instance, places, &body, ("bad", false)).unwrap();
            let depths: Vec<Option<u64>> = certificate
                .lemmas
                .iter()
                .filter_map(|lemma| match lemma {
                    mcc_checker::Lemma::Invariant { depth, .. } => Some(*depth),
                    _ => None,
                })
                .collect();
            assert_eq!(depths, [Some(depth)]);
            // The second checker, which shares no code with the first one.
            let file = folder.path().join("bad.certificate.json");
            std::fs::write(&file, serde_json::to_string(&certificate).unwrap()).unwrap();
            let replayer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/replayer.py");
            let output = Command::new("python3").arg(replayer).args([&instance, &file]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), "accepted\n", "{output:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let places = ["a", "b", "c", "d", "e"];
        let error =
            convert_in(&chain(folder.path(), &places), &places, "(<= e 0)", ("bad", false)).unwrap_err();
        let message = "no proof was found that the clause \"-1 e >= 0\" still holds after t3";
        assert!(error.starts_with(message), "{error}");
    }

    #[test]
    fn firings_that_keep_a_clause_count_as_steps() {
        let instances = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/evidence/instances");
        let archive = Archive::open(&instances.join("Switch-PT-1")).unwrap();
        let cancel = AtomicBool::new(false);
        let budget =
            |steps| Budget { steps, time: Duration::from_secs(60), memory_bytes: 1 << 30, cancel: &cancel };
        let named = read_net(&archive, &Limits::new(&budget(u64::MAX))).unwrap();
        let structure = Structure::from_net(&named);
        let until = Instant::now() + Duration::from_secs(60);
        // No firing makes a sum without places smaller.
        let clauses = [vec![Linear::new([], 0)]];
        for (steps, is_proved) in [(u64::MAX, true), (3, false)] {
            let limits = Limits::new(&budget(steps));
            let work =
                Invariant { named: &named, structure: &structure, clauses: &clauses, limits: &limits, until };
            let proved = work.proofs_at(1, &mut Prover::new(&structure, until));
            assert_eq!(proved.is_ok(), is_proved);
        }
    }

    #[test]
    fn what_an_invariant_does_not_show_is_refused() {
        for (body, claim, message) in [
            (
                "(<= p1 0)",
                ("f5", true),
                "no proof was found that the clause \"-1 p1 >= 0\" still holds after t0",
            ),
            ("(<= p0 0)", ("f9", true), "the clause \"-1 p0 >= 0\" does not hold in the initial marking"),
            ("(>= p0 0)", ("f4", false), "no proof was found that it excludes what the formula is about"),
            ("(>= p0 0)", ("f4", true), "f4 TRUE: an invariant shows only"),
            ("(>= p0 0)", ("f99", true), "ReachabilityCardinality has no property \"f99\""),
            ("\n(>= p9 0)", ("f9", true), "line 6: \"p9\" is neither a parameter of cert"),
        ] {
            let error = convert("Switch-PT-1", &PLACES, body, claim).unwrap_err();
            assert!(error.starts_with(message), "{error}\nexpected: {message}");
        }
        let error = convert("Switch-PT-1", &["p0", "p9"], "true", ("f9", true)).unwrap_err();
        assert!(error.starts_with("line 5: \"p9\" is not a place of the net"), "{error}");
        let error = convert("Turn-COL-1", &["at"], "true", ("t0", true)).unwrap_err();
        assert!(error.ends_with("proofs of coloured nets are not read"), "{error}");
    }
}
