//! The site of a judgement, as its readers get it.

mod contest;
mod data;

use assert_cmd::Command;
use mcc_harness::edition::Status;
use mcc_harness::judge::judgement::{Judgement, RunName};
use mcc_harness::report::{self, ReportError, Written};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every file of a site by its path in it.
fn files(site: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = walkdir::WalkDir::new(site).into_iter().map(|entry| entry.expect("a readable site"));
    let files = entries.filter(|entry| entry.file_type().is_file());
    let read = |path: &Path| fs::read(path).expect("a readable file");
    files.map(|file| (file.path().strip_prefix(site).expect("inside").into(), read(file.path()))).collect()
}

fn text(path: PathBuf) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The site of a judgement without a record; its folder lives as long as the first of the two.
fn site(judgement: &Judgement) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let site = dir.path().join("site");
    report::write_site(judgement, None, None, &site).expect("a site");
    (dir, site)
}

/// Every `href` and `src` of a page, without its fragment.
fn links(html: &str) -> Vec<String> {
    let starts = [" href=\"", " src=\""].into_iter().flat_map(|attribute| html.split(attribute).skip(1));
    let links =
        starts.filter_map(|rest| rest.split('"').next()).map(|link| link.split('#').next().unwrap_or(""));
    links.filter(|link| !link.is_empty() && !link.starts_with("data:")).map(String::from).collect()
}

#[test]
fn the_front_page_shows_podiums_confidence_facts_and_the_provisional_state() {
    let (_dir, site) = site(&contest::small());
    let page = text(site.join("index.html"));
    for expected in [
        "Model Checking Contest 2018",
        "<caption>StateSpace</caption>",
        "class=\"rank gold\" title=\"gold, not final\"",
        "<strong>Provisional.</strong> 1 run is",
        "wrong-on-purpose/TokenRing-PT-005/ReachabilityDeadlock",
        "<code>degraded:tcg</code> on 45 of 45 runs",
        "SandyBridge, 16 GiB of memory",
        "1 h of CPU time per vCPU",
        "lone values not trusted",
        "Enough tools agree on 44 values",
        "out of competition",
    ] {
        let expected_here = expected != "out of competition";
        assert_eq!(page.contains(expected), expected_here, "{expected}");
    }
    // Nothing was judged in LTL: it has neither podium nor page.
    assert!(
        !page.contains("<caption>LTL</caption>") && !site.join("examinations/LTLFireability.html").exists()
    );
    assert!(page.len() < 100_000, "the front page is small: {}", page.len());
}

#[test]
fn a_final_judgement_does_not_say_provisional() {
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
fn a_provisional_judgement_says_so_on_every_page() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    let record = contest::record(&judgement, &dir.path().join("results"), |_| None);
    let site = dir.path().join("site");
    let written = report::write_site(&judgement, None, Some(&record), &site).expect("a site");
    assert_eq!(written, Written { examination_pages: 3, run_pages: 45 });
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
fn a_table_keeps_every_way_of_having_no_value_apart() {
    let (_dir, site) = site(&contest::small());
    let page = text(site.join("examinations/StateSpace.html"));
    let (_, grid) = page.split_once("<table class=\"grid\">").expect("the table");
    for cell in
        ["✓4°", "CC°", "✓2 ✗2°", "✓2 CPU°", "NONE°", "✗1 CRASH°", "✓3 ?1°", "MEM°", "OUT°", "WALL°", "–°"]
    {
        assert!(grid.contains(&format!(">{cell}</td>")), "{cell}: {grid}");
    }
    let page = text(site.join("examinations/ReachabilityDeadlock.html"));
    assert!(page.contains(">✓°<") && page.contains(">✗°<") && page.contains("<td class=i>INFRA°"));
    let page = text(site.join("examinations/CTLCardinality.html"));
    assert!(page.contains(">DNC°</td>") && page.contains("did not compete"));
}

#[test]
fn a_run_page_tells_answers_limits_machine_attempts_and_output() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    let record = contest::record(&judgement, &dir.path().join("results"), |_| None);
    let site = dir.path().join("site");
    report::write_site(&judgement, None, Some(&record), &site).expect("a site");
    let page = text(site.join("runs/wrong-on-purpose/Philosophers-PT-000005/CTLCardinality.html"));
    for expected in [
        "Philosophers-PT-000005-CTLCardinality-01",
        "✗ 2 of 16 wrong",
        "<td>unanimous</td>",
        "EXPLICIT STATE_COMPRESSION",
        "<li>line 7: a contradiction</li>",
        "12.34 s",
        "limit 1 h per vCPU",
        "limit 1 h 15 min",
        "245.5 MiB",
        "finished, exit code 0",
        "degraded:tcg",
        "q35,accel=tcg",
        &"d".repeat(64),
        "<i>⟨ESC⟩</i>[1mexploring",
        "Linux version 6.1\n",
        "CTLCardinality.1.stdout.txt",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    // The raw output is beside it, byte for byte.
    let raw = fs::read(site.join("runs/wrong-on-purpose/Philosophers-PT-000005/CTLCardinality.1.stdout.txt"));
    let kept = record.outputs_dir("wrong-on-purpose/Philosophers-PT-000005/CTLCardinality", 1).join("stdout");
    assert_eq!(raw.expect("raw"), fs::read(kept).expect("kept"));
    // Every attempt is there, the superseded one with its reason and its outputs.
    let page = text(site.join("runs/walk/Philosophers-PT-000005/StateSpace.html"));
    assert!(
        page.contains("infrastructure, while booting: no readiness in 60 s") && page.contains("superseded")
    );
    assert!(site.join("runs/walk/Philosophers-PT-000005/StateSpace.1.stdout.txt").exists());
    assert!(site.join("runs/walk/Philosophers-PT-000005/StateSpace.2.stdout.txt").exists());
    // A number of 24,000 digits is there in full, behind a short form.
    let page = text(site.join("runs/breadth-first/TokenRing-PT-005/StateSpace.html"));
    assert!(page.contains("characters)</summary>") && page.contains(&"9".repeat(24_000)));
    // No machine was booted for who did not compete.
    let page = text(site.join("runs/walk/TokenRing-PT-005/CTLCardinality.html"));
    assert!(page.contains("the tool was never started") && page.contains("did not compete"));
}

#[test]
fn every_link_leads_to_a_file_of_the_site() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    let record = contest::record(&judgement, &dir.path().join("results"), |_| None);
    let site = dir.path().join("site");
    report::write_site(&judgement, None, Some(&record), &site).expect("a site");
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
    assert!(followed > 45 * 5, "{followed}");
}

#[test]
fn nothing_hostile_gets_out_of_its_place() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut judgement = contest::small();
    judgement.entries[0].entry = "<script>alert(1)<".into();
    judgement.entries[0].note = "\"><img onerror=x>\u{202e}".into();
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
    report::write_site(&judgement, None, Some(&record), &site).expect("a site");
    let mut pages = 0;
    for (path, content) in
        files(&site).into_iter().filter(|(path, _)| path.extension() == Some("html".as_ref()))
    {
        let page = String::from_utf8(content).unwrap_or_else(|_| panic!("{}", path.display()));
        let lower = page.to_lowercase();
        assert!(
            !lower.contains("<script") && !lower.contains("<img") && !lower.contains("<b>mark"),
            "{page}"
        );
        let seen = |c: char| !c.is_control() || c == '\n' || c == '\t';
        assert!(page.chars().all(seen) && !page.contains('\u{202e}'), "{}", path.display());
        assert!(page.len() < 300_000, "{} has {} bytes", path.display(), page.len());
        pages += 1;
    }
    assert_eq!(pages, 1 + 3 + 45);
    let page = text(site.join("runs/walk/Philosophers-PT-000005/ReachabilityDeadlock.html"));
    assert!(page.contains("more characters of this line") && page.contains("95.3 MiB"));
}

#[test]
fn the_same_judgement_gives_the_same_bytes() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    let record = contest::record(&judgement, &dir.path().join("results"), |_| None);
    let (one, two) = (dir.path().join("one"), dir.path().join("deeper/two"));
    report::write_site(&judgement, None, Some(&record), &one).expect("a site");
    report::write_site(&judgement, None, Some(&record), &two).expect("a site");
    assert_eq!(files(&one), files(&two));
}

#[test]
fn an_older_site_is_replaced_whole_and_nothing_else_is() {
    let dir = tempfile::tempdir().expect("a folder");
    let place = dir.path().join("site");
    let mut judgement = contest::small();
    report::write_site(&judgement, None, None, &place).expect("a site");
    let before = files(&place);
    judgement.blocks.retain(|block| block.examination == 0);
    report::write_site(&judgement, None, None, &place).expect("a newer site");
    assert!(!place.join("examinations/CTLCardinality.html").exists());
    assert_ne!(files(&place), before);
    // Something of the user's in it: refused, and nothing is touched.
    fs::write(place.join("CNAME"), "example.org").expect("a file");
    let kept = files(&place);
    let error = report::write_site(&judgement, None, None, &place).expect_err("refused");
    assert!(matches!(&error, ReportError::Foreign { entry, .. } if entry == "CNAME"), "{error}");
    assert_eq!(files(&place), kept);
    // Neither a folder of something else nor a file.
    let other = dir.path().join("other");
    fs::create_dir(&other).expect("a folder");
    report::write_site(&judgement, None, None, &other).expect("an empty folder is as good as none");
    let thesis = dir.path().join("thesis");
    fs::create_dir(&thesis).expect("a folder");
    fs::write(thesis.join("index.html"), "mine").expect("a file");
    assert!(report::write_site(&judgement, None, None, &thesis).is_err());
    assert_eq!(text(thesis.join("index.html")), "mine");
    assert!(report::write_site(&judgement, None, None, &thesis.join("index.html")).is_err());
    // No half-made folder is left behind by any of this.
    let mut left: Vec<_> =
        fs::read_dir(dir.path()).expect("a folder").map(|e| e.expect("one").file_name()).collect();
    left.sort();
    assert_eq!(left, ["other", "site", "thesis"]);
}

#[test]
fn a_resigned_entry_vanishes_from_the_site() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut judgement = contest::small();
    judgement.entries[3].status = Status::Resigned;
    let record = contest::record(&judgement, &dir.path().join("results"), |_| None);
    let site = dir.path().join("site");
    report::write_site(&judgement, None, Some(&record), &site).expect("a site");
    for (path, content) in files(&site) {
        let named = path.to_string_lossy().contains("wrong-on-purpose")
            || String::from_utf8_lossy(&content).contains("wrong-on-purpose");
        assert!(!named, "{}", path.display());
    }
}

#[test]
fn the_whole_contest_of_2018_makes_a_site_of_pages_that_can_be_opened() {
    let judgement = contest::full_size();
    let (_dir, site) = site(&judgement);
    let pages = files(&site);
    let page = |name: &str| pages[Path::new(name)].len();
    assert!(page("index.html") < 100_000, "front page: {}", page("index.html"));
    for (path, content) in &pages {
        assert!(content.len() <= 1_500_000, "{} has {} bytes", path.display(), content.len());
    }
    let rows: usize = pages
        .iter()
        .filter(|(path, _)| path.starts_with("examinations"))
        .map(|(_, content)| String::from_utf8_lossy(content).matches("<tr id=").count())
        .sum();
    assert_eq!(rows, 947 * 9);
}

#[test]
fn the_real_contest_of_2018_shows_its_podiums_and_its_errors() {
    let Some(answers) = data::shared("mcc/2018-answers/answers-2018.csv.gz") else { return };
    let Some(models) = data::shared("mcc/2018-answers/models-2018.csv") else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&std::ffi::OsStr]| {
        let mut command = Command::cargo_bin("mcc-harness").expect("the program");
        command.current_dir(dir.path()).args(arguments).assert().success();
    };
    run(&[
        "judge".as_ref(),
        answers.as_os_str(),
        "--models".as_ref(),
        models.as_os_str(),
        "--edition".as_ref(),
    ]
    .into_iter()
    .chain(["mcc-2018".as_ref(), "--out".as_ref(), "judged".as_ref()])
    .collect::<Vec<_>>());
    run(&["report".as_ref(), "judged".as_ref(), "--out".as_ref(), "site".as_ref()]);
    let page = text(dir.path().join("site/index.html"));
    let (_, podium) = page.split_once("<caption>StateSpace</caption>").expect("the podium");
    let (gold, rest) = podium.split_once("title=\"gold\"").expect("gold");
    let (gold_row, after) = rest.split_once("</tr>").expect("a row");
    assert!(
        !gold.contains("class=\"rank silver")
            && gold_row.contains(">GreatSPN<")
            && gold_row.contains(">1519<")
    );
    let (silver_row, _) = after.split_once("</tr>").expect("a row");
    assert!(silver_row.contains("title=\"silver\"") && silver_row.contains(">TINA.tedd<"), "{silver_row}");
    // Nothing is said about how runs of a published table ended, and nothing is claimed.
    assert!(!page.contains("How runs ended") && page.len() < 100_000);
    // A known error of LoLA: positions 08 and 13 of TokenRing-PT-010.
    let table = text(dir.path().join("site/examinations/CTLCardinality.html"));
    let (_, row) = table.split_once("<tr id=\"TokenRing-PT-010\">").expect("the row");
    let (row, _) = row.split_once("</tr>").expect("a row");
    assert!(row.contains(">✓14 ✗2<"), "{row}");
}

#[test]
fn a_table_too_long_for_one_page_is_split_between_families() {
    let mut judgement = contest::small();
    judgement.blocks.clear();
    judgement.instances =
        (0..20_000).map(|n| contest::instance(&format!("F{:04}-PT-{:06}", n / 10, n), "known")).collect();
    for number in 0..20_000 {
        let trusted = contest::trusted(&judgement.instances[number].instance, "ReachabilityDeadlock", &["T"]);
        let cells = vec![contest::cell(0, &trusted, "+", mcc_harness::judge::judgement::Ending::Answered)];
        let block = mcc_harness::judge::judgement::Block { examination: 2, instance: number, trusted, cells };
        judgement.blocks.push(block);
    }
    let (_dir, site) = site(&judgement);
    let pages = files(&site);
    let tables: Vec<_> = pages.iter().filter(|(path, _)| path.starts_with("examinations")).collect();
    assert!(tables.len() > 2);
    let mut rows = 0;
    for (path, content) in tables {
        assert!(content.len() < 2_000_000, "{}: {}", path.display(), content.len());
        let page = String::from_utf8_lossy(content);
        assert!(page.contains("aria-label=\"Pages of this table\""));
        let of_page = page.matches("<tr id=").count();
        assert_eq!(of_page % 10, 0, "families stay whole");
        rows += of_page;
    }
    assert_eq!(rows, 20_000);
}

#[test]
fn a_judgement_of_another_record_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    let mut other = contest::small();
    other.blocks.truncate(1);
    let record = contest::record(&other, &dir.path().join("results"), |_| None);
    let error =
        report::write_site(&judgement, None, Some(&record), &dir.path().join("site")).expect_err("refused");
    assert!(error.to_string().contains("give --record the record that was judged"), "{error}");
    assert!(!dir.path().join("site").exists());
}

#[test]
fn a_lost_output_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    let record = contest::record(&judgement, &dir.path().join("results"), |_| None);
    let lost = record.outputs_dir("walk/Philosophers-PT-000005/CTLCardinality", 1).join("stdout");
    fs::remove_file(&lost).expect("an output");
    let error =
        report::write_site(&judgement, None, Some(&record), &dir.path().join("site")).expect_err("refused");
    let message = error.to_string();
    assert!(message.contains("walk/Philosophers-PT-000005/CTLCardinality"), "{message}");
    assert!(message.contains(&*lost.to_string_lossy()) && message.contains("restore the file"), "{message}");
}

#[test]
fn a_judgement_that_contradicts_itself_is_refused_not_shown() {
    let mut judgement = contest::small();
    judgement.blocks[0].cells[0].entry = 99;
    let dir = tempfile::tempdir().expect("a folder");
    let error = report::write_site(&judgement, None, None, &dir.path().join("site")).expect_err("refused");
    assert!(error.to_string().contains("entry 99 of 5"), "{error}");
    judgement.blocks.clear();
    judgement.unresolved.push(RunName { entry: "x".into(), instance: "y".into(), examination: "z".into() });
    report::write_site(&judgement, None, None, &dir.path().join("site")).expect("a name is only a name");
}

#[test]
fn the_command_makes_a_site_with_the_judgements_files_beside_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    drop(contest::record(&judgement, &dir.path().join("results"), |_| None));
    let judged = dir.path().join("judged");
    fs::create_dir(&judged).expect("a folder");
    fs::write(judged.join("judgement.json"), serde_json::to_vec(&judgement).expect("JSON")).expect("a file");
    fs::write(judged.join("podiums.csv"), "category,rank\n").expect("a file");
    let report = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("mcc-harness").expect("the program");
        command.current_dir(dir.path()).arg("report").args(arguments);
        command.assert()
    };
    report(&["judged", "--out", "site", "--record", "results"]).success();
    let page = text(dir.path().join("site/index.html"));
    assert!(page.contains("data/podiums.csv") && dir.path().join("site/data/judgement.json").exists());
    assert!(dir.path().join("site/runs/walk/TokenRing-PT-005/StateSpace.html").exists());
    // Bad input: exit code 2, place and way out.
    let refused = report(&["nowhere", "--out", "site2"]).code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(
        message.contains("nowhere/judgement.json") && message.contains("mcc-harness judge --out"),
        "{message}"
    );
    fs::write(judged.join("judgement.json"), "{\n\"version\": 3}").expect("a file");
    let refused = report(&["judged", "--out", "site2"]).code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(message.contains("judgement.json:2:"), "{message}");
    report(&["judged", "--out", "results"]).code(2);
    report(&["results", "--out", "site2", "--record", "judged"]).code(2);
}
