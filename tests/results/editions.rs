//! Editions through the command line: list, show, change, plan, run, judge and report.

use crate::support::campaign;
use crate::support::data;
use crate::support::images;
use crate::support::tool;

use assert_cmd::Command;
use campaign::{Folder, Judged, stderr};
use mcc_harness::edition::{Edition, Rules, known, other_edition_names};
use mcc_harness::judge::judgement::{Basis, Judgement, Trusted};
use mcc_harness::store::{Outcome, RunRecord};
use num_rational::BigRational;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

fn edition(args: &[&str]) -> String {
    let output = Command::cargo_bin("mcc-harness").unwrap().arg("edition").args(args).assert().success();
    String::from_utf8(output.get_output().stdout.clone()).unwrap()
}

#[test]
fn the_list_has_every_edition_with_its_unknown_settings() {
    let list: serde_json::Value = serde_json::from_str(&edition(&["list", "--format", "json"])).unwrap();
    let rows = list.as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, known().chain(other_edition_names()).collect::<Vec<_>>());
    let row = |name: &str| &rows[names.iter().position(|known| *known == name).unwrap()];
    assert_eq!(row("mcc-2018")["examinations"], 9);
    assert_eq!((&row("mcc-2023")["examinations"], &row("mcc-2023")["podiums"]), (&13.into(), &6.into()));
    assert_eq!(row("mcc-2023")["multipliers"]["surprise"], "10");
    assert_eq!(row("mcc-2017")["multipliers"]["stripped"], "1");
    let unknown = row("mcc-2025")["unknown"].as_array().unwrap();
    assert!(unknown.contains(&"judging.multipliers.surprise".into()), "{unknown:?}");
    let text = edition(&["list"]);
    assert!(text.contains("mcc-2018              9        5  known x1, surprise x4\n"), "{text}");
    assert!(
        text.contains(
            "not published: the factor of all points (`judging.scale`): fitted to published totals"
        ),
        "{text}"
    );
    assert!(text.contains("(`judging.scale`): 6.3605 is used, about that of 2020, 2023 and 2024;"), "{text}");
}

#[test]
fn an_edition_of_another_contest_is_named_where_one_of_the_mcc_is_needed() {
    for (name, contest) in [("svcomp-2025", "SV-COMP"), ("crv-2014", "CRV")] {
        let refused = Edition::load(name).unwrap_err().to_string();
        assert!(refused.starts_with(&format!("{name} is an edition of {contest}; ")), "{refused}");
    }
}

#[test]
fn the_shown_settings_are_a_complete_edition_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    for name in known() {
        fs::write(&file, edition(&["show", name])).unwrap();
        assert_eq!(Edition::load(file.to_str().unwrap()).unwrap(), Edition::load(name).unwrap(), "{name}");
    }
    let other_contest = |name: &str| match Rules::load(name).unwrap() {
        Rules::Other(edition) => edition,
        Rules::Mcc(_) => panic!("{name} is of the MCC"),
    };
    for name in other_edition_names() {
        fs::write(&file, edition(&["show", name])).unwrap();
        assert_eq!(other_contest(file.to_str().unwrap()), other_contest(name), "{name}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&edition(&["show", "mcc-2025", "--format", "json"])).unwrap();
    assert_eq!(json["podium"][1]["category"], "GlobalProperties");
    for (name, hint) in [("mcc-202", "did you mean `mcc-20"), ("mcc-2052", "the newest is `mcc-")] {
        let wrong =
            Command::cargo_bin("mcc-harness").unwrap().args(["edition", "show", name]).assert().code(2);
        assert!(stderr(&wrong).contains(hint), "{}", stderr(&wrong));
    }
}

/// Judges a table of answers in a temporary folder and returns podiums.csv.
fn judged(edition: &str, answers: &str, models: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let answers = format!("tool,instance,examination,answers,wrong\n{answers}");
    fs::write(folder.path().join("answers.csv"), answers).unwrap();
    fs::write(folder.path().join("models.csv"), format!("instance,family,status\n{models}")).unwrap();
    let mut judge = Command::cargo_bin("mcc-harness").unwrap();
    judge.current_dir(folder.path()).args(["judge", "answers.csv", "--edition", edition, "--out", "judged"]);
    if !models.is_empty() {
        judge.args(["--models", "models.csv"]);
    }
    judge.assert().success();
    fs::read_to_string(folder.path().join("judged/podiums.csv")).unwrap()
}

#[test]
fn global_properties_share_a_podium_and_surprise_counts_more() {
    let mut answers = String::new();
    for (examination, _) in &SIX[..5] {
        for (instance, third) in [("Old-PT-1", "T"), ("New-PT-1", "?")] {
            for (tool, value) in [("a", "T"), ("b", "T"), ("c", third)] {
                answers += &format!("{tool},{instance},{examination},{value},\n");
            }
        }
    }
    let models = "Old-PT-1,Old,known\nNew-PT-1,New,surprise\n";
    for (edition, surprise) in [("mcc-2022", 6), ("mcc-2023", 10)] {
        let scale = Edition::load(edition).unwrap().judging.scale;
        let points =
            |weights: i64| (BigRational::from_integer((5 * 16 * weights).into()) * &scale).to_string();
        let podiums = judged(edition, &answers, models);
        let rows: Vec<&str> = podiums.lines().filter(|row| row.starts_with("GlobalProperties,")).collect();
        let all = points(1 + surprise);
        let places = [("1,a", &all, "gold"), ("1,b", &all, "gold"), ("3,c", &points(1), "bronze")];
        let expected =
            places.map(|(place, points, medal)| format!("GlobalProperties,{place},,{points},{medal}"));
        assert_eq!(rows, expected, "{edition}");
    }
}

#[test]
fn stripped_models_of_2017_belong_to_their_family() {
    let row = |tool: &str, instance: &str| format!("{tool},{instance},ReachabilityDeadlock,T,\n");
    // The family Ring has an instance and its stripped form. Big is the largest family: nmax = 3.
    let instances = ["Ring-PT-1", "S_Ring-PT-1", "Big-PT-1", "Big-PT-2", "Big-PT-3"];
    let answers: String = instances.iter().map(|name| row("a", name) + &row("b", name)).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    fs::write(&file, "base = 'mcc-2017'\nname = 'mine'\n[judging.multipliers]\nstripped = 3\n").unwrap();
    let points = |edition: &str| {
        let podiums = judged(edition, &answers, "");
        let first = podiums.lines().find(|row| row.starts_with("Reachability,1,a,,")).unwrap();
        first.split(',').nth(4).unwrap().to_owned()
    };
    // The weight of Big is 2, that of Ring 1 + 1/2, half of it for each instance. In 2018 these are two families of weight 1.
    assert_eq!(points("mcc-2017"), (16 * 2 + 16 * 3 / 2).to_string());
    assert_eq!(points(file.to_str().unwrap()), (16 * 2 + 16 * 3 / 4 + 3 * 16 * 3 / 4).to_string());
    assert_eq!(points("mcc-2018"), (16 * 2 + 16 + 16).to_string());
}

#[test]
fn archives_of_later_editions_work_in_all_13_examinations() {
    let Some(mcc) = data::shared("mcc") else { return };
    let folder = tempfile::tempdir().unwrap();
    let harness = |args: &[&str]| {
        let mut command = Command::cargo_bin("mcc-harness").unwrap();
        let assert =
            command.current_dir(folder.path()).args(args).args(["--format", "json"]).assert().success();
        serde_json::from_slice::<serde_json::Value>(&assert.get_output().stdout).unwrap()
    };
    let build = format!("{}/build", env!("CARGO_MANIFEST_DIR"));
    for year in ["2023", "2025"] {
        let edition = Edition::load(&format!("mcc-{year}")).unwrap();
        let inputs = mcc.join(year).join("inputs");
        let archives = data::listed(&format!("mcc/{year}/inputs")).unwrap();
        let instances: Vec<_> = archives.iter().map(|path| path.file_stem().unwrap()).collect();
        let campaign = format!(
            "edition = 'mcc-{year}'\ninputs = {inputs:?}\ninstances = {instances:?}\n[[tool]]\nentry = 'breadth-first'\n\
             image = '{build}/images/breadth-first'\nkind = 'sequential'\n"
        );
        fs::write(folder.path().join("campaign.toml"), campaign).unwrap();
        let plan = harness(&["plan", "campaign.toml"]);
        assert_eq!(plan["runs"].as_array().unwrap().len(), 6 * 13, "{year}");

        let archive = inputs.join("RefineWMG-PT-002002.tgz");
        let unpacked = tool::unpack(&archive);
        for examination in &edition.examinations {
            let name = &examination.name;
            let printed = tool::command(&unpacked.path, name, "--strategy bfs").output().unwrap();
            fs::write(folder.path().join("stdout"), printed.stdout).unwrap();
            let instance = archive.to_str().unwrap();
            let edition = edition.name.as_str();
            let lint =
                ["lint", "--edition", edition, "--examination", name, "--instance", instance, "stdout"];
            let lint = harness(&lint);
            assert_eq!(lint["findings"], serde_json::json!([]), "{year} {name}");
            let values = lint["values"].as_array().unwrap();
            assert_eq!(values.len(), examination.values, "{year} {name}");
            let given = values.iter().filter(|value| !value["value"].is_null()).count();
            let ltl = name.starts_with("LTL");
            assert_eq!(given, if ltl { 0 } else { examination.values }, "{year} {name}");
        }
    }
}

/// The examinations in which the tools compete: the five global properties and one more, of 13.
const SIX: [(&str, &str); 6] = [
    ("ReachabilityDeadlock", "RD"),
    ("QuasiLiveness", "QL"),
    ("StableMarking", "SM"),
    ("Liveness", "L"),
    ("OneSafe", "OS"),
    ("CTLCardinality", "CTLC"),
];

const NOT_COMPETING: &str = "['State*', 'Upper*', 'ReachabilityC*', 'ReachabilityF*', 'CTLF*', 'LTL*']";

/// The CTL ids are ...-2023-12 to -15 and ...-2025-00 to -11; the global properties have no property file.
const INSTANCE: &str = "ResAllocation-PT-R002C002";

/// What one campaign of 2025 gave. The tests share it.
struct Later {
    plan: String,
    runs: BTreeMap<String, RunRecord>,
    /// What `judge` printed, and the judgement.
    judge: String,
    judged: Judged,
    /// The front page of the site.
    page: String,
}

impl Later {
    /// The campaign runs once, when the first test needs it. None without the published inputs.
    fn get() -> Option<&'static Self> {
        static CAMPAIGN: OnceLock<Later> = OnceLock::new();
        let mcc = data::shared("mcc")?;
        Some(CAMPAIGN.get_or_init(|| Self::run(&mcc)))
    }

    fn run(mcc: &Path) -> Self {
        let mut campaign = format!(
            "edition = 'mcc-2025'\ninputs = {:?}\ninstances = [{INSTANCE:?}]\n[hosts]\njobs = 2\n",
            mcc.join("2025/inputs")
        );
        for entry in ["breadth-first", "depth-first"] {
            images::image(&format!("images/{entry}"));
            campaign += &format!(
                "[[tool]]\nentry = '{entry}'\nimage = '{{build}}/images/{entry}'\nkind = 'sequential'\n\
                 not_competing = {NOT_COMPETING}\n"
            );
        }
        let folder = Folder::new(&campaign);
        let printed = |assert: assert_cmd::assert::Assert| {
            String::from_utf8(assert.success().get_output().stdout.clone()).unwrap()
        };
        let plan = printed(assert_cmd::Command::from(folder.harness(&["plan", "campaign.toml"])).assert());
        folder.run(&[]).success();
        let judge = printed(folder.judge());
        let report = ["report", "judgement", "--out", "site"];
        assert_cmd::Command::from(folder.harness(&report)).assert().success();
        let page = fs::read_to_string(folder.path().join("site/index.html")).unwrap();
        let judged = Judged::read(&folder.path().join("judgement"));
        Self { plan, runs: folder.runs(), judge, judged, page }
    }

    /// The trusted values of an examination.
    fn trusted(&self, examination: &str) -> &[Trusted] {
        let Judgement { blocks, examinations, .. } = &self.judged.0;
        let block = blocks.iter().find(|block| examinations[block.examination] == examination);
        &block.unwrap().trusted
    }
}

#[test]
#[cfg_attr(not(feature = "machine-tests"), ignore = "needs real machines: scripts/test")]
fn a_campaign_of_a_later_edition_agrees_with_its_oracle() {
    let (Some(campaign), Some(mcc)) = (Later::get(), data::shared("mcc")) else { return };
    for (examination, short) in SIX {
        for entry in ["breadth-first", "depth-first"] {
            let run = &campaign.runs[&format!("{entry}/{INSTANCE}/{examination}")];
            assert_eq!(run.last.outcome, Outcome::Finished { exit_code: 0 }, "{entry} {examination}");
            assert!(campaign.judged.cell(entry, INSTANCE, examination).complete, "{entry} {examination}");
        }
        // The oracle is by position.
        let oracle = tool::oracle(&mcc.join(format!("2025/oracle/{INSTANCE}-{short}.out")));
        let trusted = campaign.trusted(examination);
        let found: Vec<String> =
            trusted.iter().map(|value| value.value.as_ref().unwrap().to_string()).collect();
        assert_eq!(found, oracle.into_values().collect::<Vec<_>>(), "{examination}");
        assert!(trusted.iter().all(|value| value.basis == Basis::Unanimous), "{examination}");
    }
}

#[test]
fn positions_with_ids_of_two_years_have_the_order_of_ids() {
    let Some(campaign) = Later::get() else { return };
    let id = |examination: &str, position: usize| campaign.trusted(examination)[position].id.as_str();
    assert_eq!(id("CTLCardinality", 0), "ResAllocation-PT-R002C002-CTLCardinality-2023-12");
    assert_eq!(id("CTLCardinality", 4), "ResAllocation-PT-R002C002-CTLCardinality-2025-00");
    assert_eq!(id("OneSafe", 0), "OneSafe");
}

#[test]
fn a_later_edition_has_all_its_examinations() {
    let Some(campaign) = Later::get() else { return };
    let Later { plan, runs, judged, page, .. } = campaign;
    assert!(plan.contains("runs: 26; runs in a machine: 12"), "{plan}");
    assert_eq!(runs.len(), 2 * 13);
    assert_eq!(judged.0.examinations.len(), 13);
    assert!(page.contains("GlobalProperties"), "{page}");
    for examination in &judged.0.examinations {
        assert!(page.contains(examination.as_str()), "{examination}");
    }
}

#[test]
fn unknown_settings_are_shown_by_plan_judge_and_site() {
    let Some(Later { plan, judge, page, .. }) = Later::get() else { return };
    let unwrapped = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        plan.contains("edition mcc-2025")
            && unwrapped(plan).contains(
                "not published: the multiplier of surprise models (`judging.multipliers.surprise`): "
            ),
        "{plan}"
    );
    assert!(unwrapped(judge).contains("(`judging.multipliers.surprise`): "), "{judge}");
    assert!(page.contains("<code>judging.multipliers.surprise</code>): 13 is used"), "{page}");
}
