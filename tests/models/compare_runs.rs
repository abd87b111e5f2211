//! `compare-runs`: two images on the same runs. The trials resample recorded times of equal runs.

use crate::support::campaign;
use crate::support::data;

use campaign::Folder;
use mcc_harness::qualify::paired::{Logarithms, PairedTest};
use mcc_harness::store::Record;
use serde_json::Value as Json;
use std::fs;
use std::path::Path;
use std::process::Output;

const INSTANCE: &str = "DiningTable-PT-03";

/// The recorded CPU times of equal runs, milliseconds, in the order of the runs.
fn recorded(column: &str) -> Vec<u64> {
    recorded_in("host/equal-runs.csv", column)
}

/// A column of a table of equal runs, in the order of the runs.
fn recorded_in(file: &str, column: &str) -> Vec<u64> {
    let path = data::published(file);
    let mut table = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(path).unwrap();
    let column = table.headers().unwrap().iter().position(|name| name == column).unwrap();
    let times: Vec<u64> = table.records().map(|row| row.unwrap()[column].parse().unwrap()).collect();
    assert!(times.len() >= 50, "{} runs", times.len());
    times
}

/// The series, with the smallest slowdowns in percent that ten and thirty pairs find (docs/measurement.md).
const SERIES: [(&str, u32, u32); 2] = [("short_cpu_ms", 26, 12), ("long_cpu_ms", 31, 13)];

/// A deterministic generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % limit as u64) as usize
    }

    /// A number of the standard normal distribution, nearly: a sum of uniform numbers.
    fn normal(&mut self) -> f64 {
        let sum: usize = (0..12).map(|_| self.below(1_000_000)).sum();
        sum as f64 / 1e6 - 6.0
    }

    /// Pairs of runs that followed each other, in either order. B is slower by the factor `slowdown`.
    fn pairs(&mut self, series: &[u64], pairs: usize, slowdown: f64) -> PairedTest {
        let pair = |_| {
            let at = self.below(series.len() - 1);
            let (a, b) = (series[at], series[at + 1]);
            let (a, b) = if self.below(2) == 0 { (a, b) } else { (b, a) };
            (a, (b as f64 * slowdown).round() as u64)
        };
        Logarithms::new((0..pairs).map(pair)).test().unwrap()
    }
}

/// Number of trials, of 1,000, in which a difference is found.
fn found(series: &[u64], pairs: usize, slowdown: f64) -> usize {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    (0..1000).filter(|_| random.pairs(series, pairs, slowdown).differs(1)).count()
}

#[test]
fn equal_images_give_at_most_5_percent_false_alarms() {
    for (column, ..) in SERIES {
        for pairs in [5, 10, 30] {
            let alarms = found(&recorded(column), pairs, 1.0);
            assert!(alarms <= 50, "{column}, {pairs} pairs: {alarms} of 1000");
        }
    }
    for (series, ..) in COUNTED {
        for pairs in [5, 10, 30] {
            let times = recorded_in("host/equal-instructions.csv", &format!("{series}_cpu_ms"));
            let alarms = found(&times, pairs, 1.0);
            assert!(alarms <= 50, "{series}, {pairs} pairs: {alarms} of 1000");
        }
    }
}

#[test]
fn ten_pairs_with_a_spread_of_2_percent_show_5_percent() {
    for (column, ..) in SERIES {
        // The recorded times, moved towards their mean, so that their logarithms have a standard deviation of 2 %.
        let logs: Vec<f64> = recorded(column).iter().map(|time| (*time as f64).ln()).collect();
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let spread = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let scaled = |log: &f64| ((log - mean) / spread * 0.02).exp() * 1e6;
        let series: Vec<u64> = logs.iter().map(|log| scaled(log).round() as u64).collect();
        let shown = found(&series, 10, 1.05);
        assert!(shown >= 900, "{column}: {shown} of 1000");
        let alarms = found(&series, 10, 1.0);
        assert!(alarms <= 50, "{column}: {alarms} of 1000");
    }
}

#[test]
fn the_documented_slowdowns_are_the_smallest_that_are_found() {
    for (column, with_10, with_30) in SERIES {
        let series = recorded(column);
        for (pairs, documented) in [(10, with_10), (30, with_30)] {
            // In steps of one percent.
            let smallest =
                (1..300).find(|percent| found(&series, pairs, 1.0 + f64::from(*percent) / 100.0) >= 900);
            assert_eq!(smallest, Some(documented), "{column}, {pairs} pairs");
        }
    }
}

/// The detectable increase that the report states is the one that trials find.
#[test]
fn the_stated_power_is_that_of_trials() {
    // Times with a spread of 3 %.
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut time = || 1e9 * (1.0 + 0.03 * random.normal());
    for pairs in [5, 10, 30] {
        let mut trial = |slowdown: f64| {
            let values = (0..pairs).map(|_| (time() as u64, (time() * slowdown) as u64));
            Logarithms::new(values.collect::<Vec<_>>()).test().unwrap()
        };
        // The mean of what 1,000 reports state.
        let stated = (0..1000).map(|_| trial(1.0).detectable).sum::<f64>() / 1000.0;
        let shown = (0..1000).filter(|_| trial(1.0 + stated).differs(1)).count();
        assert!((850..=950).contains(&shown), "{pairs} pairs, {stated}: {shown} of 1000");
        let alarms = (0..1000).filter(|_| trial(1.0).differs(1)).count();
        assert!(alarms <= 35, "{pairs} pairs: {alarms} of 1000 in one metric; the level is 1/60");
    }
}

/// Spreads of the counts of equal runs, each with changes that 3, 10 and 30 pairs find (docs/measurement.md).
const CHANGES: [(f64, [f64; 3]); 3] =
    [(0.000_01, [0.003; 3]), (0.0005, [0.01, 0.003, 0.003]), (0.02, [0.45, 0.065, 0.04])];

#[test]
fn the_documented_changes_of_instructions_are_found_and_equal_counts_give_few_false_alarms() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for (spread, changes) in CHANGES {
        let mut count = |factor: f64| (1e10 * factor * (1.0 + spread * random.normal())).round() as u64;
        let mut found = |pairs: usize, change: f64| {
            let trial = |_| {
                let counts: Vec<_> = (0..pairs).map(|_| (count(1.0), count(1.0 + change))).collect();
                Logarithms::new(counts).test_instructions().unwrap().instructions_differ(1)
            };
            (0..1000).map(trial).filter(|found| *found).count()
        };
        for (pairs, change) in [3, 10, 30].into_iter().zip(changes) {
            let [alarms, half, whole] = [0.0, change / 2.0, change].map(|change| found(pairs, change));
            assert!(alarms <= 1, "{spread}, {pairs} pairs: {alarms} of 1000");
            assert!(half < 900 && whole >= 900, "{spread}, {pairs} pairs: {half} and {whole} of 1000");
        }
    }
}

/// Series of equal runs, each with 60 counts of instructions, and the shares of more instructions that 3 and 10 pairs find
/// (docs/measurement.md).
const COUNTED: [(&str, f64, f64); 6] = [
    ("c_boot", 0.0021, 0.0021),
    ("c_restore", 0.0021, 0.0021),
    ("python_boot", 0.12, 0.02),
    ("python_restore", 0.12, 0.02),
    ("java_boot", 2.5, 0.25),
    ("java_restore", 2.5, 0.25),
];

/// Number of comparisons in which a difference of instructions is reported.
fn reported(series: &str, pairs: usize, change: f64, comparisons: usize) -> usize {
    let counts = recorded_in("host/equal-instructions.csv", &format!("{series}_instructions"));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut comparison = || {
        // No run is drawn twice: two equal counts would look like a small spread.
        let mut left = counts.clone();
        let mut draw = || left.swap_remove(random.below(left.len()));
        let drawn: Vec<_> = (0..pairs).map(|_| (draw(), draw() as f64 * (1.0 + change))).collect();
        let drawn = drawn.into_iter().map(|(a, b)| (a, b.round() as u64));
        Logarithms::new(drawn).test_instructions().unwrap().instructions_differ(1)
    };
    (0..comparisons).filter(|_| comparison()).count()
}

#[test]
fn no_instructions_of_equal_images_differ_in_200_comparisons() {
    for (series, ..) in COUNTED {
        for pairs in [3, 10] {
            assert_eq!(reported(series, pairs, 0.0, 17), 0, "{series}, {pairs} pairs");
        }
    }
}

#[test]
fn at_most_one_of_1000_comparisons_of_equal_images_reports_a_difference_of_instructions() {
    for (series, ..) in COUNTED {
        for pairs in [2, 3, 5, 10, 30] {
            let alarms = reported(series, pairs, 0.0, 2000);
            assert!(alarms <= 2, "{series}, {pairs} pairs: {alarms} of 2000");
        }
    }
}

#[test]
fn the_documented_changes_of_instructions_are_found_in_recorded_runs() {
    for (series, with_3, with_10) in COUNTED {
        for (pairs, change) in [(3, with_3), (10, with_10)] {
            let found = reported(series, pairs, change, 200);
            assert!(found >= 180, "{series}, {pairs} pairs: {found} of 200");
        }
    }
}

/// Number of comparisons by ten pairs of this kind, of 1,000, in which a slowdown is found.
fn found_by_pairs(kind: &str, slowdown: f64) -> usize {
    let [a, b] = ["a", "b"].map(|side| recorded_in("host/duet-pairs.csv", &format!("{kind}_{side}_us")));
    // B had 10 % more work.
    let pairs: Vec<(f64, f64)> = a.iter().zip(&b).map(|(a, b)| (*a as f64, *b as f64 / 1.1)).collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut comparison = || {
        let drawn = (0..10).map(|_| {
            let (a, b) = pairs[random.below(pairs.len())];
            let (a, b) = if random.below(2) == 0 { (a, b) } else { (b, a) };
            (a.round() as u64, (b * slowdown).round() as u64)
        });
        Logarithms::new(drawn).test().unwrap().differs(1)
    };
    (0..1000).filter(|_| comparison()).count()
}

/// The reason why pairs do not run at the same time (docs/measurement.md).
#[test]
fn simultaneous_pairs_find_no_smaller_changes_than_alternating_ones() {
    let smallest = |kind: &str| {
        (1..300).find(|tenths| found_by_pairs(kind, 1.0 + f64::from(*tenths) / 1000.0) >= 900).unwrap()
    };
    let [alternating, simultaneous] = ["alternating", "simultaneous"].map(smallest);
    eprintln!("tenths of a percent: {alternating}, {simultaneous}");
    assert!(simultaneous >= alternating, "{simultaneous}, {alternating}");
    for kind in ["alternating", "simultaneous"] {
        assert!(found_by_pairs(kind, 1.0) <= 50);
    }
}

fn output_json(output: &Output) -> Json {
    let text = String::from_utf8_lossy(&output.stdout);
    let message = || format!("{text}\n{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {}", message()))
}

/// A folder with `image`, whose tool is a fake, and one instance in `models`.
fn folder() -> Folder {
    let folder = Folder::with_fake_qemu(1, &["StateSpace"], "");
    let (models, archive) = (folder.path().join("models"), format!("{INSTANCE}.tgz"));
    fs::create_dir(&models).unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("pnml-fixtures");
    fs::copy(fixtures.join(&archive), models.join(archive)).unwrap();
    folder
}

/// Compares `image` with itself in two examinations.
fn compare(folder: &Folder, more: &[&str]) -> Output {
    let command =
        ["compare-runs", "image", "image", "--tool", "t", "--instances", "models", "--examinations"];
    let command = [&command[..], &["ReachabilityDeadlock,UpperBounds", "--allow-degraded"]].concat();
    folder.harness(&[&command[..], more].concat()).output().unwrap()
}

/// Attempts at a run in the records of A and B.
fn attempts(folder: &Folder, out: &str) -> [usize; 2] {
    ["A", "B"].map(|side| {
        let record = Record::open_readonly(&folder.path().join(out).join(side)).unwrap();
        record.attempts(&format!("t/{INSTANCE}/UpperBounds").parse().unwrap()).unwrap().len()
    })
}

#[test]
fn an_image_compared_with_itself_has_the_same_answers() {
    let folder = folder();
    let id = format!("{INSTANCE}-ReachabilityDeadlock-0");
    folder.fake_qemu(&format!("whole_run $'FORMULA {id} TRUE TECHNIQUES EXPLICIT\\n'"));
    let output = compare(&folder, &["--repeat", "3", "--format", "json", "--out", "kept"]);
    let report = output_json(&output);
    assert_eq!(output.status.code(), Some(0), "{report:#}");
    assert_eq!((&report["same_answers"], &report["values"]), (&Json::Bool(true), &1.into()), "{report:#}");
    assert_eq!(report["a"], report["b"]);
    assert_eq!(attempts(&folder, "kept"), [3, 3]);
    for metric in ["instructions", "cpu_time", "wall_time", "memory"] {
        for tests in [&report["tests"], &report["runs"][0]["tests"], &report["runs"][1]["tests"]] {
            let test = &tests[metric];
            assert_eq!(test["pairs"], 3, "{metric}: {report:#}");
            let [low, high] = [0, 1].map(|end| test["interval"][end].as_f64().unwrap());
            let change = test["change"].as_f64().unwrap();
            assert!(low <= change && change <= high && test["detectable"].as_f64().unwrap() > 0.0, "{test}");
        }
    }
    assert_eq!(report["tests"]["memory"]["change"], 0.0, "always 1000 KiB");
    assert_eq!(report["runs"][0]["b"]["memory_kib"], serde_json::json!([1000, 1000, 1000]));

    // The same command makes no further run; with more repetitions only the further ones.
    compare(&folder, &["--repeat", "3", "--out", "kept"]);
    assert_eq!(attempts(&folder, "kept"), [3, 3]);
    let output = compare(&folder, &["--repeat", "4", "--out", "kept"]);
    assert_eq!(attempts(&folder, "kept"), [4, 4]);
    let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("same answers: 1 value in all repetitions"), "{text}");
    assert!(text.contains("A and B are the same") && text.contains("With 4 pairs and this spread"), "{text}");
}

#[test]
fn different_answers_of_two_settings_are_listed() {
    let folder = folder();
    // The tool answers differently under the name `fast`.
    let id = format!("{INSTANCE}-ReachabilityDeadlock-0");
    folder.fake_qemu(&format!(
        r#"value=TRUE
        read_request() {{
            read -r line <&"$control" || exit 3
            if [[ $line =~ \"nonce\":\"([0-9a-f]+)\" ]]; then nonce=${{BASH_REMATCH[1]}}; fi
            if [[ $line == *'"BK_TOOL":"fast"'* ]]; then value=FALSE; fi
        }}
        power_on; ready; prepared; started
        text="FORMULA {id} $value TECHNIQUES EXPLICIT"$'\n'
        printf %s "$text" >&"$stdout"
        ended; drained "${{#text}}"; answer_until quit"#
    ));
    let output = compare(&folder, &["--tool-b", "fast", "--repeat", "2", "--format", "json"]);
    let report = output_json(&output);
    assert_eq!(output.status.code(), Some(1), "{report:#}");
    assert_eq!((&report["a"]["tool"], &report["b"]["tool"]), (&"t".into(), &"fast".into()));
    let expected = serde_json::json!([{
        "run": format!("{INSTANCE}/ReachabilityDeadlock"),
        "position": id,
        "difference": "differs",
        "a": [{ "value": "T", "times": 2 }],
        "b": [{ "value": "F", "times": 2 }],
    }]);
    assert_eq!(report["different_values"], expected);
}

#[test]
fn a_failed_run_ends_the_comparison_and_is_repeated() {
    let folder = folder();
    folder.fake_qemu("exit 1");
    let output = compare(&folder, &["--repeat", "2", "--out", "kept"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("infrastructure while booting") && message.contains("continues"), "{message}");
    folder.fake_qemu("whole_run $'hello\\n'");
    let output = compare(&folder, &["--repeat", "2", "--out", "kept", "--format", "json"]);
    let report = output_json(&output);
    assert_eq!(output.status.code(), Some(0), "{report:#}");
    for run in report["runs"].as_array().unwrap() {
        for side in ["a", "b"] {
            assert_eq!(run[side]["ends"], serde_json::json!(["finished", "finished"]), "{run:#}");
        }
    }
}

#[test]
fn runs_that_do_not_end_by_themselves_are_not_timed() {
    let folder = folder();
    folder.fake_qemu(
        "power_on; ready; prepared; started\nagent_event ended \
         '\"exit\":{\"signal\":11},\"memory_kib\":1000,\"oom_kills\":0,\"left_behind\":0'; drained 0; answer_until quit",
    );
    let output = compare(&folder, &["--repeat", "2", "--format", "json"]);
    let report = output_json(&output);
    assert_eq!(report["runs"][0]["not_compared"], "the tool did not end by itself", "{report:#}");
    assert_eq!(
        (&report["tests"]["cpu_time"], &report["runs"][0]["tests"]["memory"]),
        (&Json::Null, &Json::Null)
    );
}

#[test]
fn bad_input_is_refused_before_the_first_run() {
    let folder = folder();
    folder.fake_qemu("exit 1");
    fs::create_dir_all(folder.path().join("tool")).unwrap();
    fs::create_dir_all(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("tool/BenchKit_head.sh"), "").unwrap();
    fs::create_dir_all(folder.path().join("taken")).unwrap();
    fs::write(folder.path().join("taken/A.toml"), "mine").unwrap();
    let cases: [(&[&str], &str); 7] = [
        (&["image", "missing"], "missing"),
        (&["image", "tool"], "is a tool's folder, not an image"),
        (&["image"], "<B>"),
        (&["image", "image", "--repeat", "1"], "1 is not in 2..=1000"),
        (&["image", "image", "--examinations", "StateSpac"], "StateSpace"),
        (&["image", "image", "--instances", "empty"], "contains no instance"),
        (&["image", "image", "--out", "taken"], "A.toml: `compare-runs` writes its campaign to this file"),
    ];
    for (arguments, expected) in cases {
        let mut command = vec!["compare-runs", "--tool", "t", "--allow-degraded"];
        if !arguments.contains(&"--instances") {
            command.extend(["--instances", "models"]);
        }
        let output = folder.harness(&[&command[..], arguments].concat()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("taken/A.toml")).unwrap(), "mine");
}

#[test]
#[cfg_attr(not(feature = "machine-tests"), ignore = "needs real machines: scripts/test")]
fn two_variants_of_a_tool_are_compared_on_real_machines() {
    let folder = Folder::new("");
    let (models, archive) = (folder.path().join("models"), format!("{INSTANCE}.tgz"));
    fs::create_dir(&models).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::copy(root.join("pnml-fixtures").join(&archive), models.join(archive)).unwrap();
    let [a, b] = ["breadth-first", "depth-first"].map(|name| root.join("build/images").join(name));
    let images = ["compare-runs", a.to_str().unwrap(), b.to_str().unwrap(), "--tool", "variant"];
    let more = ["--instances", "models", "--examinations", "StateSpace", "--repeat", "2"];
    let more = [&more[..], &["--allow-degraded", "--format", "json"]].concat();
    let output = folder.harness(&[&images[..], &more].concat()).output().unwrap();
    let report = output_json(&output);
    assert_eq!(output.status.code(), Some(0), "{report:#}");
    assert_eq!((&report["same_answers"], &report["values"]), (&Json::Bool(true), &4.into()), "{report:#}");
    assert_ne!(report["a"]["disks"]["disk variant"], report["b"]["disks"]["disk variant"]);
    for run in report["runs"].as_array().unwrap() {
        assert_eq!(run["not_compared"], Json::Null, "{run:#}");
        assert_eq!(run["tests"]["cpu_time"]["pairs"], 2);
        assert_eq!(run["tests"]["instructions"]["pairs"], 2, "under TCG they are counted: {run:#}");
        assert!(run["a"]["cpu_ms"].as_array().unwrap().iter().all(|ms| ms.as_u64() > Some(0)), "{run:#}");
    }
}
