//! A tool that needs a Debian package, the Java runtime. Building its image needs root and a Debian mirror.

mod campaign;
mod images;

use campaign::{Folder, Judged};
use mcc_harness::store::Outcome;
use std::path::Path;

const CAMPAIGN: &str = r#"
edition = "mcc-2018"
inputs = "{fixtures}"
instances = ["DiningTable-PT-03"]
examinations = ["StateSpace"]

[[tool]]
entry = "java"
image = "java"
kind = "sequential"
"#;

#[test]
fn a_java_tool_is_built_with_a_package_and_answers_right() {
    let folder = Folder::new(CAMPAIGN);
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
    images::with_tool_and_packages(&tool, "openjdk-17-jre-headless", &folder.path().join("java"));
    let image = mcc_harness::vm::Image::open(&folder.path().join("java")).unwrap();
    assert!(image.facts.packages.iter().any(|package| package.starts_with("openjdk-17-jre-headless ")));

    folder.run(&[]).success();
    let run = "java/DiningTable-PT-03/StateSpace";
    let said = || (folder.output(run, 1, "stdout"), folder.output(run, 1, "stderr"));
    assert_eq!(folder.runs()[run].last.outcome, Outcome::Finished { exit_code: 0 }, "{:?}", said());
    folder.judge().success();
    let judged = Judged::read(&folder.path().join("judgement"));
    let values = judged.cell("java", "DiningTable-PT-03", "StateSpace").values.iter();
    let values: Vec<_> = values.map(|value| value.as_ref().map(ToString::to_string)).collect();
    // The values of pnml-fixtures/expected/DiningTable-PT-03.csv.
    assert_eq!(values, ["14", "27", "1", "6"].map(|value| Some(value.to_owned())), "{:?}", said());
}
