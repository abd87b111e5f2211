//! All examinations of small random nets: what `certify` finds is what the explorer of the checkers finds, which
//! `src/checker/tests/evidence/exploration.rs` compares with the definitions, and the checkers refuse no evidence. `NETS` and
//! `SEED` choose the nets.

use crate::{Accepted, Budget, Known, certify};
use mcc_base::random::SplitMix;
use mcc_checker::{Instance, Lemma};
use mcc_model::Archive;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tracing::Level;
use tracing::subscriber::with_default;

const EXAMINATIONS: [&str; 16] = [
    "StateSpace",
    "UpperBounds",
    "ReachabilityDeadlock",
    "ReachabilityCardinality",
    "ReachabilityFireability",
    "CTLCardinality",
    "CTLFireability",
    "LTLCardinality",
    "LTLFireability",
    "OneSafe",
    "QuasiLiveness",
    "StableMarking",
    "Liveness",
    "QuasiLivenessAll",
    "StableMarkingAll",
    "UpperBoundsAll",
];

/// Writes a net in which some transitions move one token, so that traps, exclusions and live nets are not rare.
fn write_net(folder: &Path, random: &mut SplitMix) {
    let places = 2 + random.below(5);
    let mut text = "<pnml><net id='n' type='ptnet'><page id='g'>".to_owned();
    for place in 0..places {
        let tokens = [0, 0, 1, 1, 2][random.below(5)];
        write!(text, "<place id='p{place}'><initialMarking><text>{tokens}</text></initialMarking></place>")
            .unwrap();
    }
    for transition in 0..2 + random.below(5) {
        write!(text, "<transition id='t{transition}'/>").unwrap();
        let size = 1 + random.below(2);
        let other = if random.below(6) == 0 { random.below(3) } else { size };
        for (is_output, count) in [(false, size), (true, other)] {
            let arcs: BTreeMap<usize, usize> =
                (0..count).map(|_| (random.below(places), 1 + random.below(8) / 7)).collect();
            for (place, weight) in arcs {
                let ends = [format!("p{place}"), format!("t{transition}")];
                let (from, to) = if is_output { (&ends[1], &ends[0]) } else { (&ends[0], &ends[1]) };
                write!(
                    text,
                    "<arc id='{from}-{to}' source='{from}' target='{to}'><inscription><text>{weight}</text></inscription></arc>"
                )
                .unwrap();
            }
        }
    }
    fs::write(folder.join("model.pnml"), text + "</page></net></pnml>").unwrap();
}

fn state(random: &mut SplitMix, depth: usize) -> String {
    let tokens =
        |random: &mut SplitMix| format!("<tokens-count><place>p{}</place></tokens-count>", random.below(2));
    match random.below(if depth == 0 { 3 } else { 6 }) {
        0 => {
            let constant = format!("<integer-constant>{}</integer-constant>", random.below(3));
            let sides = [tokens(random), constant];
            let (left, right) =
                if random.below(2) == 0 { (&sides[0], &sides[1]) } else { (&sides[1], &sides[0]) };
            format!("<integer-le>{left}{right}</integer-le>")
        }
        1 => format!("<integer-le>{}{}</integer-le>", tokens(random), tokens(random)),
        2 => format!("<is-fireable><transition>t{}</transition></is-fireable>", random.below(2)),
        3 => format!("<negation>{}</negation>", state(random, depth - 1)),
        number => {
            let name = if number == 4 { "conjunction" } else { "disjunction" };
            format!("<{name}>{}{}</{name}>", state(random, depth - 1), state(random, depth - 1))
        }
    }
}

fn temporal(random: &mut SplitMix, depth: usize, linear: bool) -> String {
    if depth == 0 {
        return state(random, 1);
    }
    let inner = temporal(random, depth - 1, linear);
    let operator = match random.below(7) {
        0 => format!("<globally>{inner}</globally>"),
        1 => format!("<finally>{inner}</finally>"),
        2 => format!("<next>{inner}</next>"),
        3 => return format!("<negation>{inner}</negation>"),
        4 | 5 => {
            let name = if random.below(2) == 0 { "conjunction" } else { "disjunction" };
            return format!("<{name}>{inner}{}</{name}>", temporal(random, depth - 1, linear));
        }
        _ => {
            let before = temporal(random, depth - 1, linear);
            format!("<until><before>{before}</before><reach>{inner}</reach></until>")
        }
    };
    match (linear, random.below(2)) {
        (true, _) => operator,
        (false, 0) => format!("<all-paths>{operator}</all-paths>"),
        (false, _) => format!("<exists-path>{operator}</exists-path>"),
    }
}

fn write_formulas(folder: &Path, random: &mut SplitMix) {
    for examination in &EXAMINATIONS[1..9] {
        let mut text = "<property-set>".to_owned();
        for number in 0..4 {
            let formula = match *examination {
                "UpperBounds" => format!("<place-bound><place>p{}</place></place-bound>", number % 2),
                "ReachabilityDeadlock" => {
                    "<exists-path><finally><deadlock/></finally></exists-path>".to_owned()
                }
                name if name.starts_with("Reach") && number % 2 == 0 => {
                    format!("<exists-path><finally>{}</finally></exists-path>", state(random, 2))
                }
                name if name.starts_with("Reach") => {
                    format!("<all-paths><globally>{}</globally></all-paths>", state(random, 2))
                }
                name if name.starts_with("LTL") => {
                    format!("<all-paths>{}</all-paths>", temporal(random, 3, true))
                }
                _ => temporal(random, 3, false),
            };
            write!(text, "<property><id>f{number}</id><formula>{formula}</formula></property>").unwrap();
        }
        fs::write(folder.join(format!("{examination}.xml")), text + "</property-set>").unwrap();
    }
}

/// The kinds of evidence of a value.
fn kinds(accepted: &Accepted) -> BTreeSet<&'static str> {
    let mut kinds = BTreeSet::new();
    kinds.extend(accepted.witness.is_some().then_some("witness"));
    kinds.extend(accepted.explored.is_some().then_some("explored"));
    kinds.extend(accepted.re_explored.is_some().then_some("re-explored"));
    if let Some(certificate) = &accepted.certificate {
        kinds.extend((!certificate.parts.is_empty()).then_some("parts"));
        kinds.extend(certificate.method.is_some().then_some("siphons"));
        for lemma in &certificate.lemmas {
            kinds.insert(match lemma {
                Lemma::Inequality { .. } => "inequality",
                Lemma::Trap(_) => "trap",
                Lemma::Invariant { .. } => "invariant",
                Lemma::Closed { .. } => "closed",
            });
        }
    }
    kinds
}

#[test]
fn all_values_of_random_nets_are_those_of_the_explorer() {
    let variable =
        |name, default| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let (nets, mut random) = (variable("NETS", 25), SplitMix(variable("SEED", 26)));
    let cancel = AtomicBool::new(false);
    let (mut found, mut bounded, mut compared) = (BTreeMap::new(), 0, 0);
    for _ in 0..nets {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("Random-PT-1");
        fs::create_dir(&folder).unwrap();
        write_net(&folder, &mut random);
        write_formulas(&folder, &mut random);
        let archive = Archive::open(&folder).unwrap();
        let budget = Budget {
            steps: u64::MAX,
            time: Duration::from_millis(800),
            memory_bytes: 1 << 20,
            cancel: &cancel,
        };
        let warnings = folder.join("warnings");
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::WARN)
            .with_writer(Mutex::new(File::create(&warnings).unwrap()))
            .finish();
        let findings = with_default(subscriber, || certify(&archive, &EXAMINATIONS, &budget)).unwrap();
        // The checker accepts all evidence that it is asked about, also where a value has other evidence.
        assert_eq!(fs::read_to_string(&warnings).unwrap(), "", "{}", folder.display());
        let instance = Instance::read(&archive).unwrap();
        let explored = instance.explore(Duration::from_secs(60), 16 << 20, &cancel);
        bounded += u64::from(explored.is_ok());
        for finding in &findings {
            let name = format!(
                "{} {} of\n{}",
                finding.examination,
                finding.id,
                fs::read_to_string(folder.join("model.pnml")).unwrap()
            );
            let Known::Exactly(value, accepted) = &finding.known else {
                let Known::Open(reason) = &finding.known else { continue };
                assert!(!reason.contains("contradict") && !reason.contains("refused"), "{name}: {reason}");
                continue;
            };
            kinds(accepted).into_iter().for_each(|kind| *found.entry(kind).or_insert(0) += 1);
            let Ok(Some(other)) =
                explored.as_ref().map(|all| all.value(&finding.examination, &finding.id).unwrap())
            else {
                continue;
            };
            assert_eq!(*value, other, "{name}");
            compared += 1;
        }
    }
    println!("{nets} nets, {bounded} bounded, {compared} values compared: {found:?}");
    assert!(bounded > nets / 3 && bounded < nets, "{bounded} of {nets} nets are bounded");
    for kind in ["witness", "re-explored", "parts", "siphons", "inequality", "trap", "invariant", "closed"] {
        assert!(nets < 200 || found.contains_key(kind), "{kind} does not occur: {found:?}");
    }
}
