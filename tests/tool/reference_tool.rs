//! The reference tool: all its answers except those of the liar are right, and it declines what it cannot compute.

#[path = "../support/data.rs"]
mod data;
#[path = "../support/tool.rs"]
mod tool;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;
use tool::{EXAMINATIONS, expected, fixture_instances, fixtures, run, unpack};

/// P/T instances of the real inputs with fewer states than this are checked.
const STATES: f64 = 1e6;

/// (positions, value) per examination of real instances: of the oracle, for StateSpace the consensus of 2018.
struct Truth {
    consensus: BTreeMap<String, Vec<String>>,
    oracle: std::path::PathBuf,
}

impl Truth {
    fn load(mcc: &Path) -> Self {
        let answers = File::open(data::published("mcc/2018/answers.csv.gz")).unwrap();
        let rows = csv::Reader::from_reader(GzDecoder::new(answers)).into_records().map(Result::unwrap);
        let consensus = rows
            .filter(|row| &row[0] == "BVT" && &row[2] == "StateSpace")
            .map(|row| (row[1].to_owned(), row[3].split(' ').map(str::to_owned).collect()))
            .collect();
        Self { consensus, oracle: mcc.join("oracle") }
    }

    /// Values by what stands after the last dash of an id: some archives name another instance in their ids.
    fn values(&self, instance: &str, examination: &str, short: &str) -> BTreeMap<String, String> {
        if examination == "StateSpace" {
            let metrics = ["STATES", "TRANSITIONS", "MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING"];
            let values = self.consensus[instance].iter().cloned();
            return metrics.into_iter().map(str::to_owned).zip(values).filter(|(_, v)| v != "?").collect();
        }
        let path = self.oracle.join(format!("{instance}-{short}.out"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut values = BTreeMap::new();
        for line in text.lines().filter(|line| line.starts_with("FORMULA")) {
            let words: Vec<_> = line.split_whitespace().collect();
            let value = words[2].replace("TRUE", "T").replace("FALSE", "F");
            values.insert(last_part(words[1]).to_owned(), value);
        }
        values
    }
}

fn last_part(id: &str) -> &str {
    id.rsplit('-').next().unwrap()
}

/// `3.2057E+0008`: five digits and the exponent of the first, as the published table rounds.
fn rounded(number: &str) -> String {
    let exponent = number.len() - 1;
    let digits = format!("{number}00000");
    let first_six: u32 = digits[..6].parse().unwrap();
    let (five, exponent) = match (first_six + 5) / 10 {
        100_000 => (10_000, exponent + 1),
        five => (five, exponent),
    };
    format!("{}.{:04}E+{exponent:04}", five / 10_000, five % 10_000)
}

/// Runs a strategy on all small real instances; returns the number of compared answers.
fn compare_with_the_oracle(args: &str, answers_all: bool) -> Option<usize> {
    let mcc = data::shared("mcc")?;
    let truth = Truth::load(&mcc);
    let mut compared = 0;
    for row in csv::Reader::from_path(mcc.join("inputs/MANIFEST.csv")).unwrap().deserialize() {
        let row: BTreeMap<String, String> = row.unwrap();
        // No state count, no run: among those is GPPP-PT-C0010N1000000000, whose consensus is known wrong.
        let small = row["states"].parse::<f64>().is_ok_and(|states| states < STATES);
        if row["type"] != "PT" || !small {
            continue;
        }
        let instance = &row["instance"];
        let unpacked = unpack(&mcc.join(format!("inputs/{instance}.tgz")));
        for (examination, short) in EXAMINATIONS {
            let printed = run(&unpacked.path, examination, args);
            let truth = truth.values(instance, examination, short);
            if answers_all {
                let all = match examination {
                    "StateSpace" => 4,
                    "ReachabilityDeadlock" => 1,
                    _ => 16,
                };
                assert_eq!(printed.answers.len(), all, "{instance} {examination} {args}");
            }
            for (id, value) in &printed.answers {
                let Some(right) = truth.get(last_part(id)) else { continue };
                let value = if right.contains('E') { rounded(value) } else { value.clone() };
                assert_eq!(&value, right, "{instance} {id} {args}");
                compared += 1;
            }
        }
    }
    Some(compared)
}

#[test]
fn breadth_first_answers_real_models_as_the_oracle_does() {
    if let Some(compared) = compare_with_the_oracle("--strategy bfs", true) {
        assert!(compared > 2_000, "{compared}");
    }
}

#[test]
fn depth_first_answers_real_models_as_the_oracle_does() {
    if let Some(compared) = compare_with_the_oracle("--strategy dfs", true) {
        assert!(compared > 2_000, "{compared}");
    }
}

#[test]
fn answers_of_a_walk_on_real_models_are_those_of_the_oracle() {
    if let Some(compared) = compare_with_the_oracle("--strategy walk --steps 3000", false) {
        assert!(compared > 200, "{compared}");
    }
}

/// The ids in the order of BenchKit, that of `sort -u`.
fn property_ids(xml: &str) -> Vec<String> {
    let parts = xml.split("<id>").skip(1);
    let ids: BTreeSet<_> = parts.map(|part| part.split("</id>").next().unwrap().trim().to_owned()).collect();
    ids.into_iter().collect()
}

/// Runs a strategy in all 13 examinations except LTL on the real instances of an edition; returns the number of answers
/// equal to those of the oracle. Another answer fails the test.
fn compare_with_a_later_oracle(mcc: &Path, year: &str, args: &str) -> usize {
    let mut compared = 0;
    for archive in data::listed(&format!("mcc/{year}/inputs")).unwrap() {
        let instance = archive.file_stem().unwrap().to_str().unwrap().to_owned();
        if instance.contains("-COL-") {
            continue;
        }
        let unpacked = unpack(&archive);
        for (examination, short) in EXAMINATIONS.iter().chain(&tool::GLOBAL_PROPERTIES) {
            let truth = tool::oracle(&mcc.join(format!("{year}/oracle/{instance}-{short}.out")));
            let ids = match fs::read_to_string(unpacked.path.join(format!("{examination}.xml"))) {
                Ok(text) => property_ids(&text),
                Err(_) => truth.keys().cloned().collect(),
            };
            assert_eq!(ids.len(), truth.len(), "{year} {instance} {examination}");
            for (id, value) in &run(&unpacked.path, examination, args).answers {
                // The oracle counts positions, BenchKit's order of the ids: in 2025 an archive may have
                // `...-2023-12` to `-15`, which come first, and then `...-2025-00` to `-11`.
                let position = ids.iter().position(|known| known == id).unwrap_or_else(|| panic!("{id}"));
                let right = truth.values().nth(position).filter(|right| *right != "-1");
                let Some(right) = right else { continue };
                assert_eq!(value, right, "{year} {instance} {id} {args}");
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn answers_for_later_editions_are_those_of_their_oracles() {
    let Some(mcc) = data::shared("mcc") else { return };
    for year in ["2023", "2025"] {
        for strategy in ["bfs", "dfs"] {
            let compared = compare_with_a_later_oracle(&mcc, year, &format!("--strategy {strategy}"));
            assert_eq!(compared, 5 * (4 + 5 + 5 * 16), "{year} {strategy}");
        }
        let walked = compare_with_a_later_oracle(&mcc, year, "--strategy walk --steps 3000");
        assert!(walked > 5 * 10, "{year}: {walked}");
    }
}

/// A net with two tokens in a cycle, and `more` at its end.
fn ring(more: &str) -> tempfile::TempDir {
    let page = r#"<place id="p"><initialMarking><text>1</text></initialMarking></place><place id="q"/>
           <transition id="t"/><transition id="u"/>
           <arc id="a" source="p" target="t"/><arc id="b" source="t" target="q"/>
           <arc id="c" source="q" target="u"/><arc id="d" source="u" target="p"/>"#;
    folder_with_net("ptnet", &format!("{page}{more}"))
}

#[test]
fn each_global_property_is_distinguished() {
    let places =
        |tokens| format!(r#"<place id="s"><initialMarking><text>{tokens}</text></initialMarking></place>"#);
    // From q the token may leave the ring for good.
    let exit_transition = r#"<transition id="w"/><arc id="e" source="q" target="w"/>"#;
    // It fires only while nothing ever marks its input.
    let dead = r#"<place id="n"/><transition id="x"/><arc id="f" source="n" target="x"/>"#;
    for (net, safe, stable, quasi_live, live) in [
        (String::new(), "T", "F", "T", "T"),
        (places(2), "F", "T", "T", "T"),
        (places(1), "T", "T", "T", "T"),
        (exit_transition.to_owned(), "T", "F", "T", "F"),
        (dead.to_owned(), "T", "T", "F", "F"),
    ] {
        let folder = ring(&net);
        let expected =
            [("OneSafe", safe), ("StableMarking", stable), ("QuasiLiveness", quasi_live), ("Liveness", live)];
        for (examination, value) in expected {
            for strategy in ["bfs", "dfs"] {
                let printed = run(folder.path(), examination, &format!("--strategy {strategy}"));
                let answers = BTreeMap::from([(examination.to_owned(), value.to_owned())]);
                assert_eq!(printed.answers, answers, "{net} {strategy}");
            }
            // A walk tells only what a marking proves.
            let walked = run(folder.path(), examination, "--strategy walk --steps 100");
            match (examination, value) {
                ("QuasiLiveness", "T") | ("OneSafe" | "StableMarking", "F") => {
                    assert_eq!(walked.answers[examination], value, "{net}");
                }
                ("Liveness", "F") if net == exit_transition => assert_eq!(walked.answers[examination], value),
                _ => assert_eq!(walked.keywords, ["CANNOT_COMPUTE"], "{net} {examination}"),
            }
        }
    }
}

#[test]
fn a_wrong_consensus_is_refuted_by_more_states_than_it_counts() {
    let Some(archive) = data::shared("mcc/inputs/GPPP-PT-C0010N1000000000.tgz") else { return };
    let printed = run(&unpack(&archive).path, "StateSpace", "--strategy bfs --max-states 2");
    assert_eq!(printed.keywords, ["CANNOT_COMPUTE"]);
}

#[test]
fn five_digits_are_rounded_as_the_published_table_does() {
    for (number, expected) in [
        ("320571234", "3.2057E+0008"),
        ("1830519", "1.8305E+0006"),
        ("7", "7.0000E+0000"),
        ("999995", "1.0000E+0006"),
        ("123456", "1.2346E+0005"),
    ] {
        assert_eq!(rounded(number), expected);
    }
}

/// Whether an instance is small enough to explore: all fixtures except the larger switch boards.
fn is_small(instance: &str) -> bool {
    !["SwitchBoard-PT-0040", "SwitchBoard-PT-1000"].contains(&instance)
}

#[test]
fn both_searches_give_every_expected_answer_on_fixtures() {
    for instance in fixture_instances().iter().filter(|instance| is_small(instance)) {
        let unpacked = unpack(&fixtures().join(format!("{instance}.tgz")));
        for (examination, _) in EXAMINATIONS {
            let expected: BTreeMap<_, _> = expected(instance, examination).into_iter().collect();
            for strategy in ["bfs", "dfs"] {
                let printed = run(&unpacked.path, examination, &format!("--strategy {strategy}"));
                assert_eq!(printed.answers, expected, "{instance} {examination} {strategy}");
                assert!(printed.given_up.is_empty() && printed.keywords.is_empty());
            }
        }
    }
}

#[test]
fn a_walk_gives_many_answers_on_fixtures_all_expected() {
    let (mut found, mut asked) = (0, 0);
    for instance in fixture_instances() {
        let unpacked = unpack(&fixtures().join(format!("{instance}.tgz")));
        for (examination, _) in &EXAMINATIONS[2..] {
            let expected: BTreeMap<_, _> = expected(&instance, examination).into_iter().collect();
            let printed = run(&unpacked.path, examination, "--strategy walk --steps 2000 --seed 7");
            for (id, value) in &printed.answers {
                assert_eq!(Some(value), expected.get(id), "{id}");
            }
            found += printed.answers.len();
            asked += expected.len();
        }
    }
    assert!(found * 5 > asked, "{found} of {asked}");
}

#[test]
fn the_same_seed_walks_the_same_way() {
    let unpacked = unpack(&fixtures().join("DiningTable-PT-08.tgz"));
    let walk = |seed| {
        let args = format!("--strategy walk --steps 40 --seed {seed}");
        ["ReachabilityCardinality", "ReachabilityFireability"].map(|x| run(&unpacked.path, x, &args))
    };
    assert_eq!(walk(3), walk(3));
    assert!((4..20).any(|seed| walk(seed) != walk(3)));
}

#[test]
fn a_walk_declines_what_it_cannot_prove() {
    let unpacked = unpack(&fixtures().join("DiningTable-PT-03.tgz"));
    for examination in ["StateSpace", "UpperBounds"] {
        let printed = run(&unpacked.path, examination, "--strategy walk");
        assert_eq!(printed.keywords, ["DO_NOT_COMPETE"], "{examination}");
    }
}

#[test]
fn the_liar_is_wrong_at_every_fourth_position_only() {
    for instance in fixture_instances().iter().filter(|instance| is_small(instance)) {
        let unpacked = unpack(&fixtures().join(format!("{instance}.tgz")));
        for (examination, _) in EXAMINATIONS {
            let expected = expected(instance, examination);
            let printed = run(&unpacked.path, examination, "--strategy liar");
            assert_eq!(printed.answers.len(), expected.len());
            for (position, (id, value)) in expected.iter().enumerate() {
                assert_eq!(&printed.answers[id] != value, position % 4 == 1, "{id}");
            }
        }
    }
}

#[test]
fn beyond_the_state_budget_only_proven_answers_are_given() {
    let instance = "SwitchBoard-PT-0040";
    let unpacked = unpack(&fixtures().join(format!("{instance}.tgz")));
    for strategy in ["bfs", "dfs"] {
        let args = format!("--strategy {strategy} --max-states 2000");
        for examination in ["StateSpace", "UpperBounds", "ReachabilityDeadlock"] {
            let printed = run(&unpacked.path, examination, &args);
            assert_eq!(printed.keywords, ["CANNOT_COMPUTE"], "{examination}");
            assert!(printed.answers.is_empty() && printed.given_up.is_empty());
        }
        for examination in ["ReachabilityCardinality", "ReachabilityFireability"] {
            let printed = run(&unpacked.path, examination, &args);
            let expected: BTreeMap<_, _> = expected(instance, examination).into_iter().collect();
            assert!(!printed.answers.is_empty() && !printed.given_up.is_empty(), "{examination} {strategy}");
            assert!(printed.keywords.is_empty());
            let mut ids: BTreeSet<_> = printed.given_up.into_iter().collect();
            for (id, value) in printed.answers {
                assert_eq!(expected.get(&id), Some(&value), "{id}");
                ids.insert(id);
            }
            assert!(ids.iter().eq(expected.keys()));
        }
    }
}

#[test]
fn answers_are_printed_during_the_search() {
    let unpacked = unpack(&fixtures().join("SwitchBoard-PT-0040.tgz"));
    // 2^40 markings: it cannot be done before it runs out of memory.
    let tool = tool::program();
    let tool = tool.display();
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v 1000000; exec {tool} --strategy bfs --max-states 0")])
        .current_dir(&unpacked.path)
        .env("BK_EXAMINATION", "ReachabilityFireability")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let answered = lines.any(|line| line.unwrap().starts_with("FORMULA "));
    let running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(answered && running);
}

#[test]
fn ltl_and_unknown_examinations_are_declined() {
    let unpacked = unpack(&fixtures().join("DiningTable-PT-03.tgz"));
    for examination in ["LTLCardinality", "LTLFireability", "CTLDeadlock"] {
        for strategy in ["bfs", "dfs", "walk", "liar"] {
            let printed = run(&unpacked.path, examination, &format!("--strategy {strategy}"));
            assert_eq!(printed.keywords, ["DO_NOT_COMPETE"], "{examination} {strategy}");
            assert!(printed.answers.is_empty());
        }
    }
}

/// A folder with this net as its `model.pnml`.
fn folder_with_net(kind: &str, page: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        r#"<?xml version="1.0"?>
<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
  <net id="N" type="http://www.pnml.org/version-2009/grammar/{kind}"><page id="page">{page}</page></net>
</pnml>"#
    );
    fs::write(folder.path().join("model.pnml"), text).unwrap();
    folder
}

#[test]
fn coloured_nets_are_declined() {
    let folder = folder_with_net("symmetricnet", r#"<place id="p"/><transition id="t"/>"#);
    for (examination, _) in EXAMINATIONS {
        let printed = run(folder.path(), examination, "--strategy bfs");
        assert_eq!(printed.keywords, ["DO_NOT_COMPETE"], "{examination}");
    }
}

#[test]
fn a_number_above_u64_is_cannot_compute() {
    let folder = folder_with_net(
        "ptnet",
        r#"<place id="p"/><transition id="t"/>
           <arc id="a" source="t" target="p"><inscription><text>9223372036854775808</text></inscription></arc>"#,
    );
    let printed = run(folder.path(), "StateSpace", "--strategy bfs");
    assert_eq!(printed.keywords, ["CANNOT_COMPUTE"]);
    assert!(printed.answers.is_empty());
}

#[test]
fn without_a_deadlock_file_the_id_is_the_examination() {
    let unpacked = unpack(&fixtures().join("DiningTable-PT-03.tgz"));
    fs::remove_file(unpacked.path.join("ReachabilityDeadlock.xml")).unwrap();
    let printed = run(&unpacked.path, "ReachabilityDeadlock", "--strategy bfs");
    assert_eq!(printed.answers, BTreeMap::from([("ReachabilityDeadlock".to_owned(), "T".to_owned())]));
}

#[test]
fn an_unreadable_folder_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let output = tool::command(folder.path(), "StateSpace", "--strategy bfs").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("model.pnml"));
    assert_eq!(tool::read(&String::from_utf8(output.stdout).unwrap()), tool::Printed::default());
}

#[test]
fn a_property_on_an_unknown_node_is_an_error() {
    let unpacked = unpack(&fixtures().join("DiningTable-PT-03.tgz"));
    let path = unpacked.path.join("UpperBounds.xml");
    let text = fs::read_to_string(&path).unwrap().replacen("<place>", "<place>No", 1);
    fs::write(&path, text).unwrap();
    let output = tool::command(&unpacked.path, "UpperBounds", "--strategy bfs").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("which is not in the net"));
}

#[test]
fn the_head_script_reads_the_strategy_file() {
    let unpacked = unpack(&fixtures().join("DiningTable-PT-03.tgz"));
    let bin = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(tool::program(), bin.path().join("mcc-reference-tool")).unwrap();
    let script = tool::root().join("src/bin/reference_tool/BenchKit/BenchKit_head.sh");
    let start = |strategy: &str| {
        fs::write(bin.path().join("strategy"), strategy).unwrap();
        let output = Command::new(&script)
            .current_dir(&unpacked.path)
            .env("BK_EXAMINATION", "StateSpace")
            .env("BK_INPUT", "DiningTable-PT-03")
            .env("BK_BIN_PATH", bin.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        tool::read(&String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(start("dfs\n").answers["STATES"], "14");
    assert_eq!(start("bfs --max-states 5").keywords, ["CANNOT_COMPUTE"]);
    assert_eq!(start("walk\n").keywords, ["DO_NOT_COMPETE"]);
}
