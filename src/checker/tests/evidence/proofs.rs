//! One certificate of each kind, and the smallest changes that make it wrong; witnesses of the global properties.

use crate::nets::{Moves, Random, fixture, pack, pnml, properties};
use mcc_checker::{Certificate, CheckError, Instance, Limits, Witness};
use mcc_model::Archive;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

/// The name of the instance.
pub const CERTAIN: &str = "Certain-PT-1";

/// p0 and p1 share one token. t2 needs a token on p2, which only t3 could put there; t3 needs two tokens on p0.
pub fn certain_files() -> Vec<(String, String)> {
    let transitions = [
        [vec![(0, 1)], vec![(1, 1)]],
        [vec![(1, 1)], vec![(0, 1)]],
        [vec![(2, 1)], vec![(3, 1)]],
        [vec![(0, 2)], vec![(2, 1)]],
    ];
    let at_least = |number: u64, places: &[&str]| {
        let places: String = places.iter().map(|place| format!("<place>{place}</place>")).collect();
        format!(
            "<integer-le><integer-constant>{number}</integer-constant><tokens-count>{places}</tokens-count></integer-le>"
        )
    };
    let formulas = [
        format!(
            "<all-paths><globally><negation><conjunction>{}<disjunction>{}{}</disjunction></conjunction></negation></globally></all-paths>",
            at_least(1, &["p0"]),
            at_least(1, &["p1"]),
            at_least(1, &["p2"])
        ),
        format!("<exists-path><finally>{}</finally></exists-path>", at_least(1, &["p2"])),
        format!(
            "<exists-path><finally><conjunction>{}<negation>{}</negation></conjunction></finally></exists-path>",
            at_least(1, &["p0", "p0"]),
            at_least(2, &["p0", "p0"])
        ),
        format!(
            "<negation><exists-path><finally>{}</finally></exists-path></negation>",
            at_least(1, &["p2"])
        ),
    ];
    let formulas: Vec<_> = formulas.into_iter().enumerate().map(|(n, f)| (format!("f{n}"), f)).collect();
    vec![
        ("model.pnml".to_owned(), pnml(CERTAIN, &[1, 0, 0, 1], &transitions)),
        ("ReachabilityCardinality.xml".to_owned(), properties(&formulas)),
    ]
}

/// The certificates of `cases`.
pub fn certificates() -> Vec<String> {
    cases().into_iter().map(|case| case.0).collect()
}

fn instance() -> Instance {
    let folder = TempDir::new().unwrap();
    Instance::read(&Archive::open(&pack(folder.path(), CERTAIN, &certain_files())).unwrap()).unwrap()
}

fn certificate(examination: &str, property: &str, value: &str, rest: &str) -> String {
    format!(
        r#"{{"version":1,"instance":"{CERTAIN}","examination":"{examination}","property":"{property}","value":"{value}",{rest}}}"#
    )
}

const SHARED: &str =
    r#"{"inequality":{"weights":[{"place":"p0","weight":"1"},{"place":"p1","weight":"1"}],"bound":"1"}}"#;
const NO_P2: &str = r#"{"inequality":{"weights":[{"place":"p2","weight":"1"}],"bound":"0"}}"#;

/// Certificates that are accepted, each with a text in it, a text that makes it wrong, and a part of the reason.
fn cases() -> Vec<(String, [&'static str; 3])> {
    let reachability =
        |property, value, rest: &str| certificate("ReachabilityCardinality", property, value, rest);
    vec![
        (
            reachability(
                "f0",
                "TRUE",
                &format!(
                    r#""lemmas":[{SHARED},{NO_P2}],"proof":[{{"cases":0}},
                {{"contradiction":{{"lemmas":[[0,"1"]],"assumptions":[[0,"1"],[1,"1"]]}}}},
                {{"contradiction":{{"lemmas":[[1,"1"]],"assumptions":[[1,"1"]]}}}}]"#
                ),
            ),
            [r#"[[0,"1"],[1,"1"]]"#, r#"[[0,"1"]]"#, "its bound is not negative"],
        ),
        (
            reachability(
                "f1",
                "FALSE",
                &format!(
                    r#""lemmas":[{SHARED},{NO_P2}],"proof":[{{"contradiction":{{"lemmas":[[1,"1"]],"assumptions":[[0,"1"]]}}}}]"#
                ),
            ),
            // Without the first lemma, nothing shows that t3 is never enabled.
            [
                r#""bound":"1""#,
                r#""bound":"2""#,
                "lemma 1: the transition number 3 of the net increases the sum",
            ],
        ),
        (
            reachability(
                "f2",
                "FALSE",
                r#""lemmas":[],"proof":[{"split":{"weights":[{"place":"p0","weight":"1"}],"bound":"0"}},
                {"contradiction":{"lemmas":[],"assumptions":[[0,"1"],[2,"2"]]}},
                {"contradiction":{"lemmas":[],"assumptions":[[1,"1"],[2,"2"]]}}]"#,
            ),
            [r#""bound":"0""#, r#""bound":"1/2""#, "a split with a number that is not an integer"],
        ),
        // A negation around the quantifier.
        (
            reachability(
                "f3",
                "TRUE",
                &format!(
                    r#""lemmas":[{SHARED},{NO_P2}],"proof":[{{"contradiction":{{"lemmas":[[1,"1"]],"assumptions":[[0,"1"]]}}}}]"#
                ),
            ),
            [r#""value":"TRUE""#, r#""value":"FALSE""#, "no certificate shows this value"],
        ),
        (
            certificate(
                "ReachabilityDeadlock",
                "ReachabilityDeadlock",
                "FALSE",
                &format!(
                    r#""lemmas":[{SHARED},{{"trap":[{{"place":"p0"}},{{"place":"p1"}}]}}],
                "proof":[{{"contradiction":{{"lemmas":[[1,"1"]],"assumptions":[[0,"1"],[1,"1"]]}}}}]"#
                ),
            ),
            [
                r#"{"trap":[{"place":"p0"},{"place":"p1"}]}"#,
                r#"{"trap":[{"place":"p0"}]}"#,
                "takes a token from the trap",
            ],
        ),
        (
            certificate(
                "QuasiLiveness",
                "QuasiLiveness",
                "FALSE",
                &format!(
                    r#""subject":"t3","lemmas":[{SHARED}],"proof":[{{"contradiction":{{"lemmas":[[0,"1"]],"assumptions":[[0,"1"]]}}}}]"#
                ),
            ),
            [r#""t3""#, r#""t0""#, "its bound is not negative"],
        ),
        (
            certificate(
                "StableMarking",
                "StableMarking",
                "TRUE",
                &format!(
                    r#""subject":"p3","lemmas":[{SHARED},{NO_P2},
                {{"inequality":{{"weights":[{{"place":"p3","weight":"1"}}],"bound":"1"}}}},
                {{"inequality":{{"weights":[{{"place":"p3","weight":"-1"}}],"bound":"-1"}}}}],
                "proof":[{{"cases":0}},{{"contradiction":{{"lemmas":[[3,"1"]],"assumptions":[[0,"1"]]}}}},
                {{"contradiction":{{"lemmas":[[2,"1"]],"assumptions":[[0,"1"]]}}}}]"#
                ),
            ),
            [r#""subject":"p3","#, "", "it has no subject"],
        ),
        (
            certificate(
                "StateSpace",
                "MAX_TOKEN_PER_MARKING",
                "2",
                &format!(
                    r#""lemmas":[{SHARED},{NO_P2},
                {{"inequality":{{"weights":[{{"place":"p3","weight":"1/2"}}],"bound":"1/2"}}}}],
                "proof":[{{"contradiction":{{"lemmas":[[0,"1"],[1,"1"],[2,"2"]],"assumptions":[[0,"1"]]}}}}]"#
                ),
            ),
            [r#""value":"2""#, r#""value":"1""#, "its bound is not negative"],
        ),
    ]
}

#[test]
fn each_kind_of_proof_is_accepted_and_its_change_refused() {
    let instance = instance();
    for (text, [part, wrong, reason]) in cases() {
        instance
            .check_certificate(&Certificate::read(&text).unwrap())
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(text.contains(part), "{text}");
        let changed = Certificate::read(&text.replacen(part, wrong, 1)).unwrap();
        let error = instance.check_certificate(&changed).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}\nexpected: {reason}");
    }
}

#[test]
fn proofs_with_missing_and_extra_steps_are_refused() {
    let instance = instance();
    for (text, _) in cases() {
        let certificate = Certificate::read(&text).unwrap();
        for at in 0..certificate.proof.len() {
            let mut shorter = certificate.clone();
            shorter.proof.remove(at);
            assert!(instance.check_certificate(&shorter).is_err(), "without step {at}: {text}");
        }
        let mut longer = certificate.clone();
        longer.proof.push(certificate.proof[certificate.proof.len() - 1].clone());
        let error = instance.check_certificate(&longer).unwrap_err().to_string();
        assert!(error.contains("nothing is left to prove"), "{error}");
    }
}

#[test]
fn cases_without_steps_are_refused_before_they_fill_the_memory() {
    let texts = cases().into_iter().map(|(text, _)| text);
    let text = texts.into_iter().find(|text| text.contains("split")).unwrap();
    let mut certificate = Certificate::read(&text).unwrap();
    certificate.proof = vec![certificate.proof[0].clone(); 100];
    let error = instance().check_certificate(&certificate).unwrap_err().to_string();
    assert!(error.contains("step 49 of the proof: there are more open cases than steps left"), "{error}");
}

#[test]
fn global_properties_are_shown_by_runs() {
    let archive = Archive::open(&fixture("LibraryRoom-PT-R05W02")).unwrap();
    let net = archive.net().unwrap();
    let instance = Instance::read(&archive).unwrap();
    let mut random = Random(7);
    let (run, _) = Moves::read(&archive).walk(&mut random, 200, false);
    let steps = serde_json::to_string(&run.steps).unwrap();
    let check = |examination: &str, property: &str, value: &str, runs: &str| {
        let text = format!(
            r#"{{"version":1,"instance":"LibraryRoom-PT-R05W02","examination":"{examination}","property":"{property}","value":"{value}","runs":[{runs}]}}"#
        );
        instance.check_witness(&Witness::read(&text).unwrap()).map_err(|error| error.to_string())
    };
    let all = format!(r#"{{"steps":{steps}}}"#);
    assert_eq!(check("QuasiLiveness", "QuasiLiveness", "TRUE", &all), Ok(()));
    let nothing = r#"{"steps":[]}"#;
    let error = check("QuasiLiveness", "QuasiLiveness", "TRUE", nothing).unwrap_err();
    assert_eq!(error, format!("{} transitions fire in none of the runs", net.transitions.len()));
    assert!(check("QuasiLiveness", "QuasiLiveness", "FALSE", &all).is_err());
    let tokens: u64 = net.places.iter().map(|place| place.initial).sum();
    assert_eq!(check("StateSpace", "MAX_TOKEN_PER_MARKING", &tokens.to_string(), nothing), Ok(()));
    assert!(check("StateSpace", "MAX_TOKEN_PER_MARKING", &(tokens + 1).to_string(), nothing).is_err());
}

/// The published value of 2018 is at most 2*10^9 tokens in a place; the initial marking of this net has more than 2^63.
#[test]
fn large_markings_are_counted_exactly() {
    let archive = Archive::open(&fixture("CoinVault-PT-N9U2000000000000000000")).unwrap();
    let instance = Instance::read(&archive).unwrap();
    let places = archive.net().unwrap().places;
    let most = places.iter().map(|place| place.initial).max().unwrap();
    let sum: u128 = places.iter().map(|place| u128::from(place.initial)).sum();
    let check = |property: &str, value: u128| {
        let text = format!(
            r#"{{"version":1,"instance":"CoinVault-PT-N9U2000000000000000000","examination":"StateSpace","property":"{property}","value":"{value}","runs":[{{"steps":[]}}]}}"#
        );
        instance.check_witness(&Witness::read(&text).unwrap()).is_ok()
    };
    assert!(most > 1 << 60);
    assert!(check("MAX_TOKEN_IN_PLACE", most.into()) && !check("MAX_TOKEN_IN_PLACE", u128::from(most) + 1));
    assert!(check("MAX_TOKEN_PER_MARKING", sum) && !check("MAX_TOKEN_PER_MARKING", sum + 1));
}

#[test]
fn files_of_another_form_are_errors_with_their_line() {
    let good = cases().remove(0).0;
    for (part, wrong, message) in [
        ("\"version\":1", "\"version\":2", "the version 2 of the format"),
        ("\"value\"", "\"truth\":1,\"value\"", "line 1: unknown field `truth`"),
        ("\"TRUE\"", "\"true\"", "line 1: the value \"true\" is not TRUE, FALSE, inf or a number"),
        ("\"weight\":\"1\"", "\"weight\":\"2/2\"", "\"2/2\" is not a number p or p/q in lowest terms"),
        ("\"cases\":0", "\"cases\":-1", "line 1: invalid value: integer `-1`"),
        ("\"lemmas\"", "\"lemma\"", "unknown field `lemma`"),
    ] {
        assert!(good.contains(part), "{part}");
        let error = Certificate::read(&good.replacen(part, wrong, 1)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}\nexpected: {message}");
    }
    assert!(Witness::read("{}").unwrap_err().to_string().contains("missing field"));
    let cut = Witness::read("{").unwrap_err().to_string();
    assert!(cut.starts_with("line 1: the file ends before its JSON is complete; "), "{cut}");
}

/// Why a certificate is not checked within these limits; None: it is accepted or refused.
fn not_checked(instance: &Instance, text: &str, limits: Limits) -> Option<String> {
    match instance.check_certificate_within(&Certificate::read(text).unwrap(), limits) {
        Err(CheckError::NotChecked(why)) => Some(why),
        Ok(()) | Err(CheckError::Refused(_)) => None,
        Err(other) => panic!("{other}"),
    }
}

/// A certificate that is refused: its lemmas have the bounds 1/D with denominators D of 4093 digits without common factors.
fn with_large_sums(lemmas: usize) -> String {
    let lemma = |n: usize| format!(r#"{{"inequality":{{"weights":[],"bound":"1/1{:04092}"}}}}"#, 2 * n + 1);
    let factor = |n: usize| format!(r#"[{n},"1"]"#);
    let (lemmas, factors): (Vec<_>, Vec<_>) = (0..lemmas).map(|n| (lemma(n), factor(n))).unzip();
    let proof = format!(r#"{{"contradiction":{{"lemmas":[{}],"assumptions":[]}}}}"#, factors.join(","));
    let rest = format!(r#""lemmas":[{}],"proof":[{proof}]"#, lemmas.join(","));
    certificate("OneSafe", "OneSafe", "TRUE", &rest)
}

#[test]
fn sums_of_huge_fractions_are_not_checked() {
    let instance = instance();
    // Days of arithmetic without limits.
    let why = not_checked(&instance, &with_large_sums(900), Limits::OF_TOOLS);
    assert_eq!(why.unwrap(), "step 0 of the proof: a number has more than 65536 bits");
    assert_eq!(not_checked(&instance, &with_large_sums(4), Limits::OF_TOOLS), None);
    let few_steps = Limits { steps: 1_000_000, ..Limits::OF_TOOLS };
    let why = not_checked(&instance, &with_large_sums(4), few_steps);
    assert_eq!(why.unwrap(), "step 0 of the proof: the check needs more than 1000000 steps");
    let no_time = Limits { time: Duration::ZERO, ..Limits::NONE };
    let why = not_checked(&instance, &with_large_sums(12), no_time);
    assert_eq!(why.unwrap(), "step 0 of the proof: the check takes more than 0 s");
    assert_eq!(not_checked(&instance, &with_large_sums(6), Limits::NONE), None);
}

#[test]
fn the_limits_of_tools_accept_every_kind_of_proof() {
    let instance = instance();
    for (text, [part, wrong, _]) in cases() {
        let check = |text: &str| {
            instance.check_certificate_within(&Certificate::read(text).unwrap(), Limits::OF_TOOLS)
        };
        check(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let changed = check(&text.replacen(part, wrong, 1));
        assert!(matches!(changed, Err(CheckError::Refused(_))), "{changed:?}");
    }
}

#[test]
fn a_proof_that_multiplies_its_cases_is_not_checked() {
    let archive = Archive::open(&fixture("LibraryRoom-PT-R05W02")).unwrap();
    let instance = Instance::read(&archive).unwrap();
    // Each step opens a case for every place.
    let steps = vec![r#"{"cases":0}"#; 300_000].join(",");
    let text = format!(
        r#"{{"version":1,"instance":"LibraryRoom-PT-R05W02","examination":"OneSafe","property":"OneSafe","value":"TRUE","lemmas":[],"proof":[{steps}]}}"#
    );
    let limits = Limits { steps: 100_000_000, ..Limits::OF_TOOLS };
    assert!(text.len() < 4 << 20 && archive.net().unwrap().places.len() > 6);
    let why = not_checked(&instance, &text, limits).unwrap();
    assert!(why.ends_with("the check needs more than 100000000 steps"), "{why}");
}

/// An instance of one P/T or coloured net.
fn instance_of(name: &str, net: &str) -> Instance {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("model.pnml"), net).unwrap();
    Instance::read(&Archive::open(&path).unwrap()).unwrap()
}

#[test]
fn a_closed_set_without_places_costs_steps() {
    let net = "<pnml><net id='N-PT-1' type='ptnet'><page id='g'><place id='p'><initialMarking><text>1</text></initialMarking></place></page></net></pnml>";
    let instance = instance_of("N-PT-1", net);
    let text = |count: usize| {
        let markings = vec!["[]"; count].join(",");
        let splits = vec![r#"{"split":{"weights":[],"bound":"0"}}"#; count].join(",");
        let closed = vec![r#"{"closed":1}"#; count].join(",");
        format!(
            r#"{{"version":1,"instance":"N-PT-1","examination":"StateSpace","property":"MAX_TOKEN_PER_MARKING","value":"1","lemmas":[{{"inequality":{{"weights":[{{"place":"p","weight":"1"}}],"bound":"1"}}}},{{"closed":{{"places":[],"markings":[{markings}]}}}}],"proof":[{splits},{{"contradiction":{{"lemmas":[[0,"1"]],"assumptions":[[0,"1"]]}}}},{closed}]}}"#
        )
    };
    instance.check_certificate_within(&Certificate::read(&text(2)).unwrap(), Limits::OF_TOOLS).unwrap();
    let limits = Limits { steps: 1_000_000, ..Limits::OF_TOOLS };
    assert!(not_checked(&instance, &text(200), limits).unwrap().ends_with("more than 1000000 steps"));
}

/// An instance whose transition moves a token of any of 20,000 colours from `p` to `q`; there is none.
fn with_many_colours() -> Instance {
    let place = |id: &str| {
        format!("<place id='{id}'><type><structure><usersort declaration='C'/></structure></type></place>")
    };
    let arc = |source: &str, target: &str| {
        let term = "<hlinscription><structure><variable refvariable='x'/></structure></hlinscription>";
        format!("<arc id='{source}{target}' source='{source}' target='{target}'>{term}</arc>")
    };
    let declarations = "<namedsort id='C' name='C'><finiteintrange start='1' end='20000'/></namedsort>\
                        <variabledecl id='x' name='x'><usersort declaration='C'/></variabledecl>";
    let nodes = place("p") + &place("q") + "<transition id='t'/>" + &arc("p", "t") + &arc("t", "q");
    let net = format!(
        "<pnml><net id='N-COL-1' type='symmetricnet'><declaration><structure><declarations>{declarations}\
         </declarations></structure></declaration><page id='g'>{nodes}</page></net></pnml>"
    );
    instance_of("N-COL-1", &net)
}

#[test]
fn the_unfolded_net_is_in_the_memory_of_the_explorers() {
    let (instance, cancel, hour) = (with_many_colours(), AtomicBool::new(false), Duration::from_secs(3600));
    let explore = |memory: u64| instance.explore(hour, memory, &cancel).map(|all| all.memory_bytes());
    let is_too_large = |explored: Result<u64, CheckError>| {
        let Err(CheckError::NotChecked(why)) = explored else { return false };
        why.ends_with("more memory than its limit")
    };
    assert!(is_too_large(explore(8 << 20)));
    assert!(is_too_large(instance.diagram(hour, 8 << 20, &cancel).map(|all| all.memory_bytes())));
    let needed = explore(1 << 30).unwrap();
    assert!(needed > 12 << 20, "{needed}");
    // Now the net is unfolded.
    assert!(is_too_large(explore(8 << 20)));
}

#[test]
fn kept_weights_cost_steps() {
    let text = r#"{"version":1,"instance":"N-COL-1","examination":"StateSpace","property":"MAX_TOKEN_PER_MARKING","value":"0","lemmas":[{"inequality":{"weights":[{"place":"p","weight":"1"}],"bound":"0"}}],"proof":[]}"#;
    let limits = Limits { steps: 5_000_000, ..Limits::OF_TOOLS };
    let why = not_checked(&with_many_colours(), text, limits);
    assert_eq!(why.unwrap(), "lemma 0: the check needs more than 5000000 steps");
}

#[test]
fn listed_colours_cost_steps() {
    let sorts = [("C", 40), ("B", 1000)].map(|(id, end)| {
        format!("<namedsort id='{id}' name='{id}'><finiteintrange start='1' end='{end}'/></namedsort>")
    });
    let variables = ["x", "y"]
        .map(|id| format!("<variabledecl id='{id}' name='{id}'><usersort declaration='C'/></variabledecl>"));
    let places = [("b", "B"), ("q", "C"), ("r", "C")].map(|(id, sort)| {
        format!(
            "<place id='{id}'><type><structure><usersort declaration='{sort}'/></structure></type></place>"
        )
    });
    let subtract = |from: &str, taken: &str| {
        format!("<subtract><subterm>{from}</subterm><subterm>{taken}</subterm></subtract>")
    };
    let twice =
        "<numberof><subterm><numberconstant value='2'><positive/></numberconstant></subterm><subterm>";
    let all = "<all><usersort declaration='B'/></all>";
    let variable = |id: &str| {
        let term = format!("<variable refvariable='{id}'/>");
        subtract(&format!("{twice}{term}</subterm></numberof>"), &term)
    };
    let arcs =
        [("b", subtract(all, all)), ("q", variable("x")), ("r", variable("y"))].map(|(place, term)| {
            let label = format!("<hlinscription><structure>{term}</structure></hlinscription>");
            format!("<arc id='of-{place}' source='{place}' target='t'>{label}</arc>")
        });
    let declarations = sorts.concat() + &variables.concat();
    let nodes = places.concat() + "<transition id='t'/>" + &arcs.concat();
    let net = format!(
        "<pnml><net id='N-COL-1' type='symmetricnet'><declaration><structure><declarations>{declarations}\
         </declarations></structure></declaration><page id='g'>{nodes}</page></net></pnml>"
    );
    let witness = r#"{"version":1,"instance":"N-COL-1","examination":"ReachabilityDeadlock","property":"ReachabilityDeadlock","value":"TRUE","runs":[{"steps":[]}]}"#;
    let limits = Limits { steps: 1_000_000, ..Limits::OF_TOOLS };
    let witness = Witness::read(witness).unwrap();
    let instance = instance_of("N-COL-1", &net);
    instance.check_witness_within(&witness, Limits::OF_TOOLS).unwrap();
    let checked = instance.check_witness_within(&witness, limits);
    assert!(matches!(checked, Err(CheckError::NotChecked(_))), "{checked:?}");
}

#[test]
fn a_witness_with_too_many_steps_is_not_checked() {
    let archive = Archive::open(&fixture("LibraryRoom-PT-R05W02")).unwrap();
    let instance = Instance::read(&archive).unwrap();
    let steps = |count: usize| {
        let (run, _) = Moves::read(&archive).walk(&mut Random(7), count, false);
        serde_json::to_string(&run.steps).unwrap()
    };
    let check = |steps: &str, limits: Limits| {
        let text = format!(
            r#"{{"version":1,"instance":"LibraryRoom-PT-R05W02","examination":"StateSpace","property":"MAX_TOKEN_IN_PLACE","value":"0","runs":[{{"steps":{steps}}}]}}"#
        );
        instance.check_witness_within(&Witness::read(&text).unwrap(), limits)
    };
    let limits = Limits { steps: 50_000, ..Limits::OF_TOOLS };
    assert!(check(&steps(5), limits).is_ok());
    let Err(CheckError::NotChecked(why)) = check(&steps(2000), limits) else { panic!("it is checked") };
    assert!(why.ends_with("the check needs more than 50000 steps"), "{why}");
    assert!(check(&steps(2000), Limits::OF_TOOLS).is_ok());
}
