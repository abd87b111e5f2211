//! The site of a judgement: its pages and files of data.

use crate::support::contest;
use crate::support::data;
use crate::support::folders::files;
use crate::support::site_data::{data_of, site, text};

use assert_cmd::Command;
use mcc_harness::edition::Status;
use mcc_harness::judge::judgement::{Judgement, RunName};
use mcc_harness::report::{self, ReportError, SiteInput, SiteSummary};
use mcc_harness::store::Record;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Writes a site, with the record if it is given, on two threads.
fn write(judgement: &Judgement, record: Option<&Record>, out: &Path) -> Result<SiteSummary, ReportError> {
    let material = SiteInput { record, ..SiteInput::default() };
    report::write_site(judgement, material, NonZeroUsize::new(2).expect("two"), out)
}

/// The cells of an instance's row: right, wrong, unjudged and not computed values, code of the ending, `°` if marked.
fn row(site: &Path, examination: &str, instance: &str) -> Vec<String> {
    let names = data_of(site.join("contest.js"));
    let table = data_of(site.join(format!("examinations/{examination}.js")));
    let number = names["instances"].as_array().expect("names").iter().position(|named| named[0] == instance);
    let row = table["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .find(|row| row[0].as_u64() == number.map(|n| n as u64));
    let cell = |cell: &serde_json::Value| {
        let code =
            names["endings"][cell[4].as_u64().unwrap_or_default() as usize][0].as_str().unwrap_or_default();
        let mark = if cell[5] == 0 { "" } else { "°" };
        format!("{} {} {} {} {code}{mark}", cell[0], cell[1], cell[2], cell[3])
    };
    row.expect("the row")[1].as_array().expect("cells").iter().map(cell).collect()
}

/// Every `href` and `src` of a page, without its fragment.
fn links(html: &str) -> Vec<String> {
    let starts = [" href=\"", " src=\""].into_iter().flat_map(|attribute| html.split(attribute).skip(1));
    let links =
        starts.filter_map(|rest| rest.split('"').next()).map(|link| link.split('#').next().unwrap_or(""));
    links.filter(|link| !link.is_empty() && !link.starts_with("data:")).map(String::from).collect()
}

#[test]
fn the_front_page_shows_podiums_confidence_and_state() {
    let (_dir, site) = site(&contest::small());
    let page = text(site.join("index.html"));
    for expected in [
        "Model Checking Contest 2018",
        "<caption><a href=\"podiums/StateSpace.html\">StateSpace</a></caption>",
        "class=\"rank gold\" title=\"gold, not final\"",
        "<strong>Provisional.</strong> 1 run is",
        "wrong-on-purpose/TokenRing-PT-005/ReachabilityDeadlock",
        "title=\"the machine ran without hardware virtualization (TCG), which is much slower\">emulated processor</a> on all 45 runs",
        "SandyBridge, 16 GiB of memory",
        "1 h of CPU time per vCPU",
        "values that only this entry gave are not trusted",
        "The common values are the 44 values on which at least 3 entries agree",
        "out of competition",
    ] {
        let expected_here = expected != "out of competition";
        assert_eq!(page.contains(expected), expected_here, "{expected}");
    }
    // LTL was not judged: it has neither podium nor page.
    assert!(!page.contains("podiums/LTL.html") && !site.join("examinations/LTLFireability.html").exists());
    assert!(page.len() < 100_000, "the front page is small: {}", page.len());
}

#[test]
fn a_site_of_a_table_shows_machines_as_unknown() {
    let dir = tempfile::tempdir().expect("a folder");
    let table = "tool,instance,examination,answers,wrong\na,F-PT-1,UpperBounds,1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1,\n\
                 b,F-PT-1,UpperBounds,1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1,\n";
    fs::write(dir.path().join("t.csv"), table).expect("a table");
    let harness = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("mcc-harness").expect("the program");
        let done = command.current_dir(dir.path()).args(arguments).assert().code(0);
        String::from_utf8_lossy(&done.get_output().stderr).into_owned()
    };
    let stderr = harness(&["judge", "t.csv", "--edition", "mcc-2018", "--out", "judged"]);
    assert!(stderr.contains("confidence could not be measured, so it is 0 for every entry"), "{stderr}");
    harness(&["report", "judged", "--out", "site"]);
    let site = dir.path().join("site");
    let runs = text(site.join("runs.html"));
    assert!(runs.contains("Unknown: the judged tables do not state the machines") && !runs.contains("None"));
    let front = text(site.join("index.html"));
    // No kind of a tool is known, and no entry has a note: these columns are left out.
    assert!(!front.contains(">Kind<") && !front.contains(">Note<"));
    for expected in [
        "Machine required by the rules",
        "unknown: the judged tables do not name them",
        "none: tables of answers were judged; this site has no outputs",
        "confidence could not be measured",
        // The note on E-2.2 names its reading; the page explains it.
        "<code>answered</code> is used: the confidence of an entry is its share of agreeing values among the common values",
    ] {
        assert!(front.contains(expected), "{expected}");
    }
    let evidence = text(site.join("evidence.html"));
    assert!(evidence.contains("do not say whether a tool printed a value twice"));
}

#[test]
fn judge_prints_the_marks_of_degraded_machines() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    drop(contest::record(&judgement, &dir.path().join("results"), |_| None));
    let judge = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("mcc-harness").expect("the program");
        command.current_dir(dir.path()).args(["judge", "results", "--out", "judged"]).args(arguments);
        String::from_utf8_lossy(&command.assert().code(1).get_output().stdout).into_owned()
    };
    assert!(judge(&[]).contains("emulated processor (degraded:tcg): 45 of 45 runs"), "{}", judge(&[]));
    let json: serde_json::Value = serde_json::from_str(&judge(&["--format", "json"])).expect("JSON");
    assert_eq!((&json["runs"], &json["marks"]["degraded:tcg"]), (&45.into(), &45.into()));
}

#[test]
fn a_final_judgement_is_not_shown_as_provisional() {
    let mut judgement = contest::small();
    judgement.unresolved.clear();
    let (_dir, site) = site(&judgement);
    for (path, content) in
        files(&site).into_iter().filter(|(path, _)| path.extension() == Some("html".as_ref()))
    {
        let page = String::from_utf8(content).expect("UTF-8");
        assert!(!page.contains("Provisional") && !page.contains("not final"), "{}", path.display());
    }
}

#[test]
fn every_page_of_a_provisional_judgement_is_marked() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    let record = contest::record(&judgement, &dir.path().join("results"), |_| None);
    let site = dir.path().join("site");
    let written = write(&judgement, Some(&record), &site).expect("a site");
    assert_eq!(written, SiteSummary { examination_pages: 3, instances: 3, runs: 45, hidden: 0 });
    // CPU flags that the guest did not report are shown as unknown.
    assert!(
        text(site.join("instances/TokenRing-PT-005.js")).contains("unknown: the guest did not report them")
    );
    for (path, content) in
        files(&site).into_iter().filter(|(path, _)| path.extension() == Some("html".as_ref()))
    {
        assert!(
            String::from_utf8_lossy(&content).contains("<strong>Provisional.</strong>"),
            "{}",
            path.display()
        );
    }
}

#[test]
fn a_table_keeps_the_reasons_for_missing_values_distinct() {
    let (_dir, site) = site(&contest::small());
    let cells = |examination, instance| row(&site, examination, instance);
    let philosophers = cells("StateSpace", "Philosophers-PT-000005");
    assert_eq!(philosophers, ["4 0 0 0 °", "4 0 0 0 °", "0 0 0 4 CC°", "2 2 0 0 °", "4 0 0 0 °"]);
    let larger = cells("StateSpace", "Philosophers-PT-000010");
    assert_eq!(larger, ["4 0 0 0 °", "2 0 0 2 CPU°", "0 0 0 4 NONE°", "0 1 0 3 CRASH°", "4 0 0 0 °"]);
    let ring = cells("StateSpace", "TokenRing-PT-005");
    assert_eq!(ring, ["3 0 1 0 °", "0 0 0 4 MEM°", "0 0 0 4 OUT°", "0 0 0 4 WALL°", "0 0 0 4 °"]);
    assert_eq!(cells("ReachabilityDeadlock", "TokenRing-PT-005")[3], "0 0 0 1 INFRA°");
    assert_eq!(cells("CTLCardinality", "TokenRing-PT-005")[0], "0 0 0 16 DNC°");
    let page = text(site.join("examinations/CTLCardinality.html"));
    assert!(page.contains("<dt>DNC</dt><dd>did not compete</dd>"));
    // The same runs as CSV.
    let csv = text(site.join("examinations/StateSpace.csv"));
    let line =
        "Philosophers-PT-000010,Philosophers,known,depth-first,2,0,0,4,cpu-limit,8,12341,13000,250000,";
    assert!(csv.contains(line) && csv.lines().count() == 1 + 15, "{csv}");
    // A tool's page has the same run.
    let tool = data_of(site.join("tools/depth-first.js"));
    assert_eq!(tool["rows"][1][1][0], serde_json::json!([2, 0, 0, 2, 4, 1, 12341, 13000, 250000]));
}

/// The site of the small contest with its record.
fn small_site() -> (tempfile::TempDir, PathBuf, Record) {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    let record = contest::record(&judgement, &dir.path().join("results"), |_| None);
    let site = dir.path().join("site");
    write(&judgement, Some(&record), &site).expect("a site");
    (dir, site, record)
}

#[test]
fn a_measured_host_is_shown_with_its_verdicts() {
    let (dir, site, record) = small_site();
    assert!(!text(site.join("index.html")).contains("Measured host"));
    let figure = |workload: &str, value: f64, fit: bool| serde_json::json!({"workload": workload, "figure": "spread", "value": value, "goal": 0.02, "fit": fit});
    let host = r#"{"name": "<node>", "cpu": "c", "cores": 2, "memory_mib": 1, "kernel": "k", "accelerator": "tcg", "qemu": "7"}"#;
    let host: serde_json::Value = serde_json::from_str(host).expect("JSON");
    let measured = serde_json::json!({
        "format": 1, "host": host, "measured_at": "2026-01-02T03:04:05Z", "machines": 2, "vcpus": 1, "memory_mib": 16,
        "repetitions": 10, "marks": [], "fit": false, "series": [],
        "figures": [figure("compute", 0.0123, true), figure("disk", 0.25, false)],
    });
    fs::write(record.dir().join("measured-host.json"), measured.to_string()).expect("written");
    write(&contest::small(), Some(&record), &dir.path().join("measured")).expect("a site");
    let page = text(dir.path().join("measured/index.html"));
    let start = page.split("Measured host").nth(1).expect("the host");
    for expected in
        ["not fit for 2 machines at once", "compute: spread 1.2 %<", "disk: spread 25.0 %, not fit<"]
    {
        assert!(start.contains(expected), "{expected}: {}", &start[..600]);
    }
    assert!(!page.contains("<node>"));
    fs::write(record.dir().join("measured-host.json"), "{").expect("written");
    let error = write(&contest::small(), Some(&record), &dir.path().join("bad")).expect_err("no measurement");
    assert!(error.to_string().contains("measured-host.json"), "{error}");
}

#[test]
fn the_data_of_an_instance_have_values_bases_and_verdicts() {
    let (_dir, site, _) = small_site();
    let data = data_of(site.join("instances/Philosophers-PT-000005.js"));
    let block = data["blocks"].as_array().expect("blocks").iter().find(|block| block["examination"] == 5);
    let block = block.expect("CTLCardinality");
    assert!(block.get("ids").is_none(), "ids that follow from the names are not repeated");
    assert_eq!((&block["values"][0], &block["values"][14]), (&"TRUE".into(), &serde_json::Value::Null));
    assert_eq!((&block["bases"][0], &block["bases"][14]), (&"unanimous".into(), &"unknown:tie".into()));
    let cell = &block["cells"][3];
    assert_eq!((&cell[0], &cell[2]), (&3.into(), &"+-++++-+++++++?+".into()));
    assert_eq!(cell[4], serde_json::json!([12_343, 13_000, 250_000]));
    let rest = &cell[5];
    assert_eq!(rest["given"], serde_json::json!([[1, "TRUE"], [6, "FALSE"], [14, "7"]]));
    assert_eq!(rest["techniques"], "EXPLICIT STATE_COMPRESSION");
    assert_eq!(rest["remarks"][0], "line 7: a contradiction");
}

#[test]
fn a_run_is_shown_with_costs_limits_marks_machine_and_disks() {
    let (_dir, site, _) = small_site();
    let data = data_of(site.join("instances/Philosophers-PT-000005.js"));
    let run = data["recorded"]["runs"]["3/5"].to_string();
    for expected in [
        "12.34 s",
        "limit 1 h per vCPU",
        "limit 1 h 15 min",
        "245.5 MiB",
        "ended by itself, exit code 0",
        "degraded:tcg",
        "CTLCardinality.1.stdout.txt",
    ] {
        assert!(run.contains(expected), "{expected}: {run}");
    }
    assert_eq!(data["recorded"]["machines"][0][1], "q35,accel=tcg");
    assert_eq!(data["recorded"]["disks"][0][0][1], "d".repeat(64));
    // A run that did not compete has no machine and no output.
    let ring = data_of(site.join("instances/TokenRing-PT-005.js"));
    assert_eq!(ring["recorded"]["runs"]["2/5"]["outputs"], "");
}

#[test]
fn the_front_page_says_what_disturbed_runs_mean_for_the_results() {
    let (_dir, site, _) = small_site();
    let page = text(site.join("index.html"));
    let line = "In all 3 runs that used a machine, the cores were 23 % slower than at their best. The results of 3 runs that were \
                stopped at a time limit can depend on the slower cores: ";
    assert!(page.contains(line), "{page}");
    // Without the record the factors are unknown.
    let (_other, site) = self::site(&contest::small());
    assert!(!text(site.join("index.html")).contains("runs that used a machine"));
}

#[test]
fn times_of_arrival_are_on_the_pages_of_run_and_tool() {
    let mut judgement = contest::small();
    let (examination, entry) = (5, 3);
    let block = judgement.blocks.iter_mut().find(|block| block.examination == examination).expect("a block");
    let cell = block.cells.iter_mut().find(|cell| cell.entry == entry).expect("a cell");
    cell.arrived_ms = (0..16).map(|position| Some(61_000 - 1_000 * position)).collect();
    assert_eq!(cell.half_and_all_ms(), [Some(53_000), Some(61_000)]);
    // A value beyond the lines that are kept arrived after the others.
    cell.arrived_ms[0] = None;
    assert_eq!(cell.half_and_all_ms(), [Some(53_000), None]);
    let (tool, other) = (judgement.entries[entry].entry.clone(), judgement.entries[0].entry.clone());
    let (_dir, site) = site(&judgement);
    let data = data_of(site.join("instances/Philosophers-PT-000005.js"));
    let cells =
        data["blocks"].as_array().expect("blocks").iter().find(|block| block["examination"] == examination);
    let cells = cells.expect("CTLCardinality")["cells"].as_array().expect("cells");
    let arrived = |cell: &serde_json::Value| cell[5]["arrived"].clone();
    let shown: Vec<_> = cells.iter().map(arrived).filter(|times| !times.is_null()).collect();
    assert_eq!(shown.len(), 1, "the times of other runs are unknown");
    assert_eq!((&shown[0][0][0], &shown[0][0][15]), (&serde_json::Value::Null, &46_000.into()));
    assert_eq!(shown[0][1], serde_json::json!([53_000, null]));
    let page = |entry: &str| text(site.join(format!("tools/{entry}.html")));
    let arrived = [
        "<dt>Half of its values arrived after</dt><dd>53 s</dd>",
        "<dt>All of its values arrived after</dt><dd>unknown</dd>",
    ];
    assert!(arrived.iter().all(|tile| page(&tool).contains(tile)), "{}", page(&tool));
    assert!(page(&other).contains("<dt>When its values arrived</dt><dd>unknown</dd>"), "{}", page(&other));
    let pictures = text(site.join("pictures.html"));
    assert!(pictures.contains("pictures/arrived-CTLCardinality.svg"), "{pictures}");
}

#[test]
fn outputs_are_shown_safely_and_kept_unchanged() {
    let (_dir, site, record) = small_site();
    let path = "runs/wrong-on-purpose/Philosophers-PT-000005/CTLCardinality";
    let outputs = data_of(site.join(format!("{path}.js")));
    assert_eq!(outputs[0]["head"][1], "⟨ESC⟩");
    assert!(outputs[0]["head"][2].as_str().expect("text").starts_with("[1mexploring"));
    assert!(outputs[2]["head"][0].as_str().expect("text").contains("Linux version 6.1\n"));
    // The raw output is a file of the site with the same bytes.
    let raw = fs::read(site.join(format!("{path}.1.stdout.txt")));
    let kept = record
        .outputs_dir(&"wrong-on-purpose/Philosophers-PT-000005/CTLCardinality".parse().unwrap(), 1)
        .join("stdout");
    assert_eq!(raw.expect("raw"), fs::read(kept).expect("kept"));
}

#[test]
fn every_attempt_is_shown_also_superseded_ones() {
    let (_dir, site, _) = small_site();
    let data = data_of(site.join("instances/Philosophers-PT-000005.js"));
    let attempts = &data["recorded"]["runs"]["2/0"]["attempts"];
    assert_eq!(attempts[0]["outcome"], "infrastructure failure while booting: no readiness in 60 s");
    assert_eq!((&attempts[0]["state"], &attempts[1]["state"]), (&"superseded".into(), &"judged".into()));
    assert!(site.join("runs/walk/Philosophers-PT-000005/StateSpace.1.stdout.txt").exists());
    assert!(site.join("runs/walk/Philosophers-PT-000005/StateSpace.2.stdout.txt").exists());
}

#[test]
fn a_number_of_24000_digits_is_shown_completely() {
    let (_dir, site, _) = small_site();
    let ring = data_of(site.join("instances/TokenRing-PT-005.js"));
    assert_eq!(ring["blocks"][0]["values"][0], "9".repeat(24_000));
}

#[test]
fn an_unfinished_campaign_names_no_surprise_model() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    let record = contest::record(&judgement, &dir.path().join("results"), |_| None);
    let run = mcc_harness::campaign::Run {
        entry: "walk".parse().unwrap(),
        instance: "Philosophers-PT-000010".parse().unwrap(),
        examination: "LTLFireability".parse().unwrap(),
        model: "Philosophers".into(),
        vcpus: 1,
        competes: true,
    };
    record.plan_runs(std::slice::from_ref(&run)).expect("a plan");
    drop(record);
    let judge = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("mcc-harness").expect("the program");
        command.current_dir(dir.path()).args(["judge", "results", "--out", "judged"]).args(arguments);
        String::from_utf8_lossy(&command.assert().code(1).get_output().stderr).into_owned()
    };
    // `judge` needs --unfinished, and its judgement is provisional.
    let refused = judge(&[]);
    assert!(refused.contains("45 of 46 runs are recorded") && refused.contains("--unfinished"), "{refused}");
    let stderr = judge(&["--unfinished"]);
    assert!(stderr.contains("no medal is given") && stderr.contains("open runs: 1)"), "{stderr}");
    let report = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("mcc-harness").expect("the program");
        command.current_dir(dir.path()).args(["report", "judged", "--record", "results", "--out", "site"]);
        command.args(arguments).assert().success();
        files(&dir.path().join("site"))
    };
    let pages = report(&[]);
    for (path, content) in &pages {
        let content = String::from_utf8_lossy(content);
        assert!(
            !path.to_string_lossy().contains("TokenRing") && !content.contains("TokenRing"),
            "{}",
            path.display()
        );
        if path.extension() == Some("html".as_ref()) {
            assert!(
                content.contains("<strong>Provisional.</strong> The campaign has not ended")
                    && content.contains("45 of 46"),
                "{content}"
            );
            assert!(content.contains("<strong>Under embargo.</strong>"), "{}", path.display());
        }
    }
    assert!(
        pages.contains_key(Path::new("data/podiums.csv"))
            && !pages.contains_key(Path::new("data/trusted.csv"))
    );
    assert!(pages.contains_key(Path::new("progress.html")));
    // The embargo can be lifted.
    let pages = report(&["--embargo", "off"]);
    assert!(pages.contains_key(Path::new("instances/TokenRing-PT-005.js")));
    assert!(pages.contains_key(Path::new("data/trusted.csv")));
}

#[test]
fn disagreements_marked_runs_and_techniques_have_pages() {
    let mut judgement = contest::small();
    judgement.blocks[0].trusted[3].weak = Some(mcc_harness::judge::judgement::Weak::SingleFamily);
    let (_dir, site) = site(&judgement);
    let lists = data_of(site.join("evidence.js"));
    let rows = lists[0]["rows"].as_array().expect("rows");
    let count = |why: &str| rows.iter().filter(|row| row[0] == why).count();
    // Contradicted are 2 + 1 values of StateSpace, 2 of ReachabilityDeadlock, and 2 x 2 and 2 of CTLCardinality. There
    // is a tie on each of the three instances of CTLCardinality, and one in StateSpace.
    assert_eq!(
        (count("tools differ"), count("only variants of one tool gave it")),
        (2 + 1 + 2 + 6 + 4, 1),
        "{rows:?}"
    );
    let runs = data_of(site.join("runs.js"));
    assert_eq!(runs[0]["rows"].as_array().expect("rows").len(), 45);
    assert!(text(site.join("runs.html")).contains("all 45 runs"));
    let page = text(site.join("techniques.html"));
    let (_, line) = page.split_once("<th scope=\"row\">EXPLICIT</th>").expect("the technique");
    assert!(line.starts_with("<td>"), "{line}");
}

#[test]
fn every_link_leads_to_a_file_of_the_site() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    let record = contest::record(&judgement, &dir.path().join("results"), |_| None);
    let site = dir.path().join("site");
    write(&judgement, Some(&record), &site).expect("a site");
    let mut followed = 0;
    for (path, content) in
        files(&site).into_iter().filter(|(path, _)| path.extension() == Some("html".as_ref()))
    {
        for link in links(&String::from_utf8(content).expect("UTF-8")) {
            let target = site.join(&path).parent().expect("a folder").join(&link);
            assert!(target.is_file(), "{} links to {link}", path.display());
            followed += 1;
        }
    }
    assert!(followed > 14 * 10, "{followed}");
}

#[test]
fn every_rule_code_links_to_its_rule() {
    let (_dir, site) = site(&contest::small());
    let rules = text(site.join("rules.html"));
    let mut followed = 0;
    for (path, content) in
        files(&site).into_iter().filter(|(path, _)| path.extension() == Some("html".as_ref()))
    {
        let page = String::from_utf8(content).expect("UTF-8");
        for code in page.split("rules.html#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(rules.contains(&format!(" id=\"{code}\"")), "{}: {code}", path.display());
            followed += 1;
        }
    }
    assert!(followed > 20, "{followed}");
    let tool = fs::read_dir(site.join("tools")).expect("pages").map(|file| file.expect("a file").path());
    let tool = tool.into_iter().find(|file| file.extension() == Some("html".as_ref())).expect("a page");
    assert!(text(tool).contains("(<a href=\"../rules.html#E-2.2\">E-2.2</a>)"));
    // Links that scripts draw.
    let script = text(site.join("scripts/instance.js"));
    let drawn: Vec<&str> =
        script.split("ruleLink(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(
        drawn.len() > 3 && drawn.iter().all(|code| rules.contains(&format!(" id=\"{code}\""))),
        "{drawn:?}"
    );
}

#[test]
fn nothing_hostile_becomes_markup() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut judgement = contest::small();
    // A record has no such name of an entry.
    judgement.entries[0].tool = "<script>alert(1)<".into();
    judgement.entries[0].note = "\"><img onerror=x>\u{202e}".into();
    judgement.edition.title = "<b>mark\u{202e}".into();
    for block in &mut judgement.blocks {
        block.trusted[0].id = "</td><script>id()</script>\x1b[2J\0".into();
        block.cells[0].marks = vec!["<b>mark".into()];
    }
    let hostile =
        b"</pre><script>alert(2)</script>\n\x1b]0;title\x07\0\xff\xfe\nFORMULA <img src=x>\n".to_vec();
    // A line of 100 MB in one run.
    let endless = [b"<script>".as_slice(), &vec![b'A'; 100_000_000]].concat();
    let output = |run: &str| match run {
        "walk/Philosophers-PT-000005/ReachabilityDeadlock" => Some(endless.clone()),
        _ => Some(hostile.clone()),
    };
    let record = contest::record(&judgement, &dir.path().join("results"), output);
    let site = dir.path().join("site");
    write(&judgement, Some(&record), &site).expect("a site");
    let mut pages = 0;
    for (path, content) in files(&site) {
        let is_page = path.extension() == Some("html".as_ref());
        if !is_page && (path.starts_with("scripts") || path.extension() != Some("js".as_ref())) {
            continue;
        }
        let page = String::from_utf8(content).unwrap_or_else(|_| panic!("{}", path.display()));
        // The scripts and pictures of a page have these sources; data have no markup at all.
        let text =
            page.to_lowercase().replace("<script defer src=\"", "").replace("<img src=\"pictures/", "");
        assert!(!text.contains("<script") && !text.contains("<img") && !text.contains("<b>mark"), "{page}");
        assert!(is_page || !page.contains(['<', '>', '&']), "{}", path.display());
        let seen = |c: char| !c.is_control() || c == '\n' || c == '\t';
        assert!(page.chars().all(seen) && !page.contains('\u{202e}'), "{}", path.display());
        assert!(page.len() < 300_000, "{} has {} bytes", path.display(), page.len());
        pages += 1;
    }
    // Pages: front page, 3 podiums, 3 examinations, 5 tools, and results, instances, instance, evidence, runs, techniques,
    // pictures, compare, rules (9). Data: names, 3 examinations, 5 tools, list of instances, 3 instances, evidence and runs (2),
    // and the outputs of the runs that had a machine.
    let outputs = 45 - 4;
    assert_eq!(pages, (1 + 3 + 3 + 5 + 9) + (1 + 3 + 5 + 1 + 3 + 2) + outputs);
    let outputs = data_of(site.join("runs/walk/Philosophers-PT-000005/ReachabilityDeadlock.js"));
    assert!(outputs[0]["head"].to_string().contains("more characters of this line"));
    assert_eq!(outputs[0]["size"], "95.3 MiB");
}

#[test]
fn the_same_judgement_gives_the_same_site_with_any_threads() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    let record = contest::record(&judgement, &dir.path().join("results"), |_| None);
    let (one, two) = (dir.path().join("one"), dir.path().join("deeper/two"));
    let material = SiteInput { record: Some(&record), ..SiteInput::default() };
    for (threads, site) in [(1, &one), (5, &two)] {
        let threads = NonZeroUsize::new(threads).expect("threads");
        report::write_site(&judgement, material, threads, site).expect("a site");
    }
    assert_eq!(files(&one), files(&two));
}

#[test]
fn only_an_older_site_is_replaced() {
    let dir = tempfile::tempdir().expect("a folder");
    let place = dir.path().join("site");
    let mut judgement = contest::small();
    write(&judgement, None, &place).expect("a site");
    let before = files(&place);
    judgement.blocks.retain(|block| block.examination == 0);
    write(&judgement, None, &place).expect("a newer site");
    assert!(!place.join("examinations/CTLCardinality.html").exists());
    assert_ne!(files(&place), before);
    // A file of the user in the site: an error, and no file is changed.
    fs::write(place.join("CNAME"), "example.org").expect("a file");
    let kept = files(&place);
    let error = write(&judgement, None, &place).expect_err("refused");
    assert!(matches!(&error, ReportError::Foreign { entry, .. } if entry == "CNAME"), "{error}");
    assert_eq!(files(&place), kept);
    // An empty folder is replaced; a folder with other files or a file is not.
    let other = dir.path().join("other");
    fs::create_dir(&other).expect("a folder");
    write(&judgement, None, &other).expect("a site in an empty folder");
    let thesis = dir.path().join("thesis");
    fs::create_dir(&thesis).expect("a folder");
    fs::write(thesis.join("index.html"), "mine").expect("a file");
    assert!(write(&judgement, None, &thesis).is_err());
    assert_eq!(text(thesis.join("index.html")), "mine");
    assert!(write(&judgement, None, &thesis.join("index.html")).is_err());
    // No temporary folder is left behind.
    let mut left: Vec<_> =
        fs::read_dir(dir.path()).expect("a folder").map(|e| e.expect("one").file_name()).collect();
    left.sort();
    assert_eq!(left, ["other", "site", "thesis"]);
}

#[test]
fn a_resigned_entry_is_not_on_the_site() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut judgement = contest::small();
    judgement.entries[3].status = Status::Resigned;
    let record = contest::record(&judgement, &dir.path().join("results"), |_| None);
    let site = dir.path().join("site");
    write(&judgement, Some(&record), &site).expect("a site");
    for (path, content) in files(&site) {
        let named = path.to_string_lossy().contains("wrong-on-purpose")
            || String::from_utf8_lossy(&content).contains("wrong-on-purpose");
        assert!(!named, "{}", path.display());
    }
}

#[test]
fn the_whole_contest_of_2018_has_pages_of_limited_size() {
    let judgement = contest::full_size();
    let (_dir, site) = site(&judgement);
    let pages = files(&site);
    let page = |name: &str| pages[Path::new(name)].len();
    assert!(page("index.html") < 100_000, "front page: {}", page("index.html"));
    // A page with a table loads itself, its data and the names.
    for (path, content) in &pages {
        let most = match path.extension().and_then(|ending| ending.to_str()) {
            // In this test contest tools differ on every second value.
            Some("js") if path == Path::new("evidence.js") => 5_000_000,
            Some("html" | "js" | "css") => 700_000,
            _ => continue,
        };
        assert!(content.len() <= most, "{} has {} bytes", path.display(), content.len());
    }
    let tables =
        judgement.examinations.iter().map(|name| data_of(site.join(format!("examinations/{name}.js"))));
    let rows: usize = tables.map(|table| table["rows"].as_array().expect("rows").len()).sum();
    assert_eq!(rows, 947 * 9);
}

#[test]
fn the_real_contest_of_2018_shows_its_podiums_and_its_errors() {
    let dir = tempfile::tempdir().expect("a folder");
    let program = || Command::cargo_bin("mcc-harness").expect("the program");
    let mut judge = program();
    judge.current_dir(dir.path()).args(["judge", "--edition", "mcc-2018", "--out", "judged", "--models"]);
    judge
        .arg(data::published("mcc/2018/models.csv"))
        .arg(data::published("mcc/2018/answers.csv.gz"))
        .assert()
        .success();
    program().current_dir(dir.path()).args(["report", "judged", "--out", "site"]).assert().success();
    let page = text(dir.path().join("site/index.html"));
    let (_, podium) = page.split_once(">StateSpace</a></caption>").expect("the podium");
    let (gold, rest) = podium.split_once("title=\"gold\"").expect("gold");
    let (gold_row, after) = rest.split_once("</tr>").expect("a row");
    assert!(
        !gold.contains("class=\"rank silver")
            && gold_row.contains(">GreatSPN<")
            && gold_row.contains(">1,518.")
    );
    let (silver_row, _) = after.split_once("</tr>").expect("a row");
    assert!(silver_row.contains("title=\"silver\"") && silver_row.contains(">TINA.tedd<"), "{silver_row}");
    // The published table does not state how runs ended: the page has no endings.
    assert!(!page.contains("How runs ended") && page.len() < 100_000);
    // LoLA has two known wrong values: positions 08 and 13 of TokenRing-PT-010.
    let names = data_of(dir.path().join("site/contest.js"));
    let entries = names["entries"].as_array().expect("entries");
    let lola = entries.iter().position(|entry| entry["name"] == "LoLA").expect("LoLA");
    let row = row(&dir.path().join("site"), "CTLCardinality", "TokenRing-PT-010");
    assert_eq!(row[lola], "14 2 0 0 ");
    let ring = data_of(dir.path().join("site/instances/TokenRing-PT-010.js"));
    let blocks = ring["blocks"].as_array().expect("blocks");
    let block = blocks.iter().find(|block| {
        names["examinations"][block["examination"].as_u64().expect("a number") as usize]["name"]
            == "CTLCardinality"
    });
    let cell =
        block.expect("the block")["cells"].as_array().expect("cells").iter().find(|cell| cell[0] == lola);
    assert_eq!(cell.expect("LoLA's")[5]["given"].as_array().expect("values").len(), 2);
}

#[test]
fn a_judgement_of_another_record_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    let mut other = contest::small();
    other.blocks.truncate(1);
    let record = contest::record(&other, &dir.path().join("results"), |_| None);
    let error = write(&judgement, Some(&record), &dir.path().join("site")).expect_err("refused");
    assert!(error.to_string().contains("give --record the record that was judged"), "{error}");
    assert!(!dir.path().join("site").exists());
}

#[test]
fn a_missing_output_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    let record = contest::record(&judgement, &dir.path().join("results"), |_| None);
    let lost =
        record.outputs_dir(&"walk/Philosophers-PT-000005/CTLCardinality".parse().unwrap(), 1).join("stdout");
    fs::remove_file(&lost).expect("an output");
    let error = write(&judgement, Some(&record), &dir.path().join("site")).expect_err("refused");
    let message = error.to_string();
    assert!(message.contains("walk/Philosophers-PT-000005/CTLCardinality"), "{message}");
    assert!(message.contains(&*lost.to_string_lossy()) && message.contains("restore the file"), "{message}");
}

#[test]
fn a_judgement_that_contradicts_itself_is_refused_not_shown() {
    let mut judgement = contest::small();
    judgement.blocks[0].cells[0].entry = 99;
    let dir = tempfile::tempdir().expect("a folder");
    let error = write(&judgement, None, &dir.path().join("site")).expect_err("refused");
    assert!(error.to_string().contains("entry 99 of 5"), "{error}");
    judgement.blocks[0].cells[0].entry = 0;
    judgement.blocks[0].cells.swap(0, 1);
    let error = write(&judgement, None, &dir.path().join("site")).expect_err("refused");
    assert!(error.to_string().contains("in the order of the entries"), "{error}");
    judgement.blocks.clear();
    judgement.unresolved.push(RunName { entry: "x".into(), instance: "y".into(), examination: "z".into() });
    write(&judgement, None, &dir.path().join("site")).expect("an unresolved run may have unknown names");
}
