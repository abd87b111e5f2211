//! The pictures of a contest: their SVG, their figures as CSV, and the podiums as LaTeX.

use crate::support::contest;
use crate::support::data;
use crate::support::site_data::{data_of, text};

use assert_cmd::Command;
use mcc_harness::edition::Status;
use mcc_harness::judge::judgement::{Block, Cost, Ending, Judgement, VariantRank};
use mcc_harness::report::plots::{self, Picture, RecordedRun, Runs};
use mcc_harness::report::tables;
use mcc_harness::store::Sample;
use std::path::Path;
use std::{env, fs};

/// Keeps the picture for inspection in the temporary folder of the tests.
fn keep(picture: &Picture) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(format!("{}.svg", picture.name)), &picture.svg).expect("written");
    fs::write(folder.join(format!("{}.csv", picture.name)), &picture.csv).expect("written");
}

/// Checks that the SVG is well-formed, has a title and a description for screen readers, loads no other file, and has
/// all its texts and shapes inside its area.
fn check(picture: &Picture) {
    let name = &picture.name;
    let document = roxmltree::Document::parse(&picture.svg).unwrap_or_else(|error| panic!("{name}: {error}"));
    let svg = document.root_element();
    assert_eq!(svg.attribute("role"), Some("img"), "{name}");
    for (word, text) in [("title", &picture.title), ("desc", &picture.description)] {
        let element = svg.children().find(|child| child.has_tag_name(("http://www.w3.org/2000/svg", word)));
        let element = element.unwrap_or_else(|| panic!("{name} has no {word}"));
        assert_eq!(element.text(), Some(text.as_str()), "{name}");
        let id = element.attribute("id").expect("an id");
        assert!(
            svg.attribute("aria-labelledby").is_some_and(|ids| ids.split(' ').any(|label| label == id)),
            "{name}"
        );
    }
    assert!(!picture.svg.contains("NaN") && !picture.svg.contains("inf\""), "{name}");
    assert!(!picture.svg.replace("http://www.w3.org/2000/svg", "").contains("http"), "{name}");
    let most = |axis: &str| svg.attribute(axis).and_then(|text| text.parse::<f64>().ok()).expect("a size");
    for element in svg.descendants() {
        for (at, size) in [("x", "width"), ("y", "height")] {
            if let Some(place) = element.attribute(at) {
                let place: f64 = place.parse().expect("a number");
                assert!((0.0..=most(size)).contains(&place), "{name}: {at} = {place}");
            }
        }
    }
    keep(picture);
}

fn rows(picture: &Picture) -> Vec<Vec<String>> {
    let mut rows = csv::Reader::from_reader(picture.csv.as_bytes());
    let row = |row: csv::StringRecord| row.iter().map(String::from).collect();
    rows.records().map(|record| row(record.expect("a row"))).collect()
}

fn named<'a>(pictures: &'a [Picture], name: &str) -> &'a Picture {
    pictures.iter().find(|picture| picture.name == name).unwrap_or_else(|| panic!("no picture {name}"))
}

/// Five instances in one examination. The second tool is slower, has one wrong value in each of the first three
/// instances and none in the others. The third tool resigned.
fn duel() -> Judgement {
    let names = ["fast", "slow & <sure>", "resigned"];
    let entries = names.map(|name| contest::entry(name, name, Status::Competing));
    let instances = (1..=5).map(|n| contest::instance(&format!("Net-PT-{n:03}"), "known")).collect();
    let mut judgement = contest::empty(entries.into(), instances);
    judgement.entries[2].status = Status::Resigned;
    for number in 0..5_usize {
        let trusted =
            contest::trusted(&judgement.instances[number].instance, "StateSpace", &["1", "2", "3", "4"]);
        let slow = if number < 3 { "+++-" } else { "...." };
        let mut cells = vec![
            contest::cell(0, &trusted, "++++", Ending::Answered),
            contest::cell(1, &trusted, slow, Ending::Answered),
            contest::cell(2, &trusted, "++++", Ending::Answered),
        ];
        for (cell, ms) in cells.iter_mut().zip([100, 7_000, 1]) {
            let cpu_ms = ms * (number as u64 + 1);
            cell.cost =
                Some(Cost { cpu_ms, wall_ms: cpu_ms, memory_kib: Some(cpu_ms * 4), ..Cost::default() });
        }
        judgement.blocks.push(Block { examination: 0, instance: number, trusted, cells });
    }
    contest::sum_up(&mut judgement);
    judgement
}

#[test]
fn solved_values_over_time_add_up_for_each_tool() {
    let judgement = duel();
    let pictures = plots::pictures(&Runs::of_contest(&judgement));
    let solved = named(&pictures, "solved-StateSpace");
    let rows = rows(solved);
    let curve = |tool: &str| -> Vec<&[String]> {
        rows.iter().filter(|row| row[0] == tool).map(|row| &row[1..]).collect()
    };
    assert_eq!(curve("fast"), [["4", "100"], ["8", "200"], ["12", "300"], ["16", "400"], ["20", "500"]]);
    assert_eq!(curve("slow & <sure>"), [["3", "7000"], ["6", "14000"], ["9", "21000"]]);
    // Rule P-4: a resigned tool is left out.
    assert!(curve("resigned").is_empty() && !solved.svg.contains("resigned"));
    assert!(solved.description.contains("fast has the most: 20."), "{}", solved.description);
}

#[test]
fn right_values_by_time_of_arrival_add_up_for_each_tool() {
    let mut judgement = duel();
    for (number, block) in (0_u64..).zip(&mut judgement.blocks) {
        block.cells[0].arrived_ms = [0, 10, 10, 20 + number].map(Some).into();
        // The last value is wrong, and the time of the first is not known.
        block.cells[1].arrived_ms = [None, Some(500), Some(600), Some(700)].into();
        block.cells[2].arrived_ms = vec![Some(1); 4];
    }
    let pictures = plots::pictures(&Runs::of_contest(&judgement));
    let arrived = named(&pictures, "arrived-StateSpace");
    check(arrived);
    let shown: Vec<String> = rows(arrived).iter().map(|row| row.join(" ")).collect();
    let fast = [(5, 0), (15, 10), (16, 20), (17, 21), (18, 22), (19, 23), (20, 24)];
    let fast = fast.map(|(right, ms)| format!("fast {right} {ms}"));
    let slow = ["slow & <sure> 3 500", "slow & <sure> 6 600"].map(String::from);
    assert_eq!(shown, [&fast[..], &slow[..]].concat());
    assert!(arrived.description.ends_with("unknown for 3 right values."), "{}", arrived.description);
}

#[test]
fn runs_with_counted_instructions_have_a_picture_by_them() {
    let mut judgement = duel();
    for cost in
        judgement.blocks.iter_mut().flat_map(|block| &mut block.cells).filter_map(|cell| cell.cost.as_mut())
    {
        cost.instructions_user = Some(cost.cpu_ms * 1_000_000);
    }
    let pictures = plots::pictures(&Runs::of_contest(&judgement));
    let picture = named(&pictures, "instructions-StateSpace");
    check(picture);
    assert_eq!(picture.title, "User instructions of runs with a right value in StateSpace");
    let medians: Vec<String> = rows(picture).iter().map(|row| row[5].clone()).collect();
    assert_eq!(medians, ["300000000", "14000000000"]);
    let without = plots::pictures(&Runs::of_contest(&duel()));
    assert!(without.iter().all(|picture| !picture.name.starts_with("instructions")));
}

#[test]
fn what_was_not_measured_has_no_picture() {
    let mut unmeasured = duel();
    let cells = unmeasured.blocks.iter_mut().flat_map(|block| &mut block.cells);
    cells.for_each(|cell| cell.cost = None);
    let runs = Runs::of_contest(&unmeasured);
    let names: Vec<String> = plots::pictures(&runs).into_iter().map(|picture| picture.name).collect();
    assert_eq!(names, ["overlap-StateSpace"]);
}

#[test]
fn the_overlap_picture_counts_every_value_once() {
    let judgement = duel();
    let pictures = plots::pictures(&Runs::of_contest(&judgement));
    let overlap = named(&pictures, "overlap-StateSpace");
    assert_eq!(rows(overlap), [["11", "1", "fast"], ["9", "2", "fast slow & <sure>"]]);
    check(overlap);
}

#[test]
fn strips_show_quartiles_of_runs_with_a_right_value() {
    let judgement = duel();
    let pictures = plots::pictures(&Runs::of_contest(&judgement));
    let time = rows(named(&pictures, "time-StateSpace"));
    assert_eq!(time[0], ["tool", "fast", "5", "100", "200", "300", "400", "500"]);
    assert_eq!(time[1], ["tool", "slow & <sure>", "3", "7000", "7000", "14000", "21000", "21000"]);
    check(named(&pictures, "memory-StateSpace"));
}

#[test]
fn the_confidence_picture_shows_agreed_and_answered_values() {
    let judgement = duel();
    let picture = plots::confidence(&judgement).expect("a picture");
    check(&picture);
    assert_eq!(rows(&picture), [["fast", "20", "20", "1"], ["slow & <sure>", "9", "12", "3/4"]]);
    assert!(picture.svg.contains("75 % (9 of 12)"));
}

#[test]
fn the_picture_of_an_hour_long_run_is_small() {
    let samples: Vec<Sample> = (1..=3600_u64)
        .map(|second| Sample {
            at_ms: second * 1000 + second % 7,
            cpu_ms: second * 2400 + (second * 7919 % 611),
            memory_kib: 50_000 + second * second / 2 + second * 104_729 % 90_000,
            balloon_memory_kib: Some(250_000 + second * second / 2),
            ..Sample::default()
        })
        .collect();
    let picture = plots::samples("run", "LoLA on Net-PT-001 in StateSpace", 4, &samples).expect("a picture");
    check(&picture);
    assert!(picture.svg.len() < 40_000, "{}", picture.svg.len());
    assert_eq!(rows(&picture).len(), 3600);
    assert_eq!(rows(&picture)[1], ["2002", "5363", "79460", "250002"]);
    assert_eq!(plots::samples("run", "none", 1, &[]), None);
    // One point is no line.
    assert_eq!(plots::samples("run-of-a-second", "short", 1, &samples[..1]), None);
    check(&plots::samples("run-of-two-seconds", "short", 1, &samples[..2]).expect("a picture"));
    let unreported: Vec<Sample> =
        samples[..2].iter().map(|sample| Sample { memory_kib: 0, ..sample.clone() }).collect();
    let picture = plots::samples("run-without-report", "short", 1, &unreported).expect("a picture");
    check(&picture);
    assert!(picture.description.ends_with("; there is no sample of the tool's memory."));
    assert!(!picture.svg.contains(">the tool<") && picture.svg.contains(">the whole guest<"));
}

#[test]
fn progress_shows_recorded_runs_and_failures_over_time() {
    let done = |minute: u64, infrastructure| RecordedRun {
        started_at: format!("2018-06-01T{:02}:{:02}:00Z", 10 + minute / 60, minute % 60),
        took_ms: 90_000,
        infrastructure,
    };
    let runs: Vec<RecordedRun> = (0..200).map(|n| done(n * n / 100, n % 23 == 0)).collect();
    let picture = plots::progress(500, &runs).expect("a picture");
    check(&picture);
    let rows = rows(&picture);
    assert_eq!((rows.len(), rows[0].clone()), (200, vec!["90000".into(), "1".into(), "no".into()]));
    assert!(
        picture.description.contains("200 of 500 in 6 h 37 min 30 s, 9 of them infrastructure failures"),
        "{}",
        picture.description
    );
    assert_eq!(plots::progress(500, &[]), None);
}

#[test]
fn sv_comp_has_the_same_pictures_and_score_pictures() {
    let judgement = contest::other_contests();
    let scores = plots::scores(&judgement);
    assert_eq!(scores.len(), 1);
    check(&scores[0]);
    let expected = [["bold", "-4", ""], ["bold", "-2", "1/2"], ["careful", "0", ""], ["careful", "2", "30"]];
    assert_eq!(rows(&scores[0]), expected);
    assert!(scores[0].description.contains("careful has the highest score: 2.00."));
    let runs = Runs::of_other_contest(&judgement);
    let pictures = plots::pictures(&runs);
    pictures.iter().for_each(check);
    assert_eq!(pictures.len(), 4);
    assert_eq!(rows(&pictures[0]), [["bold", "1", "500"], ["careful", "1", "30000"]]);
    assert_eq!(rows(&pictures[1]), [["1", "2", "bold careful"], ["1", "0", ""]]);
    let memory = ["1", "11718", "11718", "11718", "11718", "11718"];
    assert_eq!(rows(&pictures[3]).iter().map(|row| &row[2..]).collect::<Vec<_>>(), [memory, memory]);
    let latex = tables::other_podiums_latex(&judgement);
    assert!(
        latex.contains("1 & careful & 2 & gold") && latex.contains("Heap \\& \\textless{}Memory"),
        "{latex}"
    );
}

/// Sets times and memory that differ by decades between instances and tools, as in a real contest.
fn with_times(judgement: &mut Judgement) {
    // The mixing function of SplitMix64, scaled to 0..1.
    let random = |seed: u64| {
        let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % 100_000) as f64 / 1e5
    };
    for block in &mut judgement.blocks {
        let hard = random((block.instance * 16 + block.examination) as u64) * 4.0;
        for cell in &mut block.cells {
            let seed = 1_000_000 + ((block.instance * 16 + block.examination) * 16 + cell.entry) as u64;
            let decades = hard + 1.3 * random(seed) + 0.08 * cell.entry as f64;
            let cpu_ms = ((30.0 * 10_f64.powf(decades)) as u64).min(3_600_000);
            let memory_kib = ((4_000.0 * 10_f64.powf(decades * 0.6 + random(seed + 7))) as u64).min(16 << 20);
            cell.cost =
                Some(Cost { cpu_ms, wall_ms: cpu_ms, memory_kib: Some(memory_kib), ..Cost::default() });
        }
    }
}

#[test]
fn at_the_size_of_2018_pictures_are_small_and_reproducible() {
    let mut judgement = contest::full_size();
    with_times(&mut judgement);
    judgement.instances[0].instance = "<script>".into();
    judgement.entries[0].entry = format!("<script>\u{1b}{}", "x".repeat(500));
    let runs = Runs::of_contest(&judgement);
    let mut pictures = plots::pictures(&runs);
    pictures.extend(plots::confidence(&judgement));
    assert_eq!(pictures.len(), 10 * 4 + 1);
    for picture in &pictures {
        check(picture);
        assert!(picture.svg.len() < 100_000, "{}: {}", picture.name, picture.svg.len());
        assert!(!picture.svg.contains("<script"));
    }
    assert!(named(&pictures, "time").svg.contains(">limit 1 h</text>"));
    let mut names: Vec<&str> = pictures.iter().map(|picture| picture.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), pictures.len());
    let again = plots::pictures(&Runs::of_contest(&judgement));
    assert_eq!(again[..], pictures[..again.len()]);
}

#[test]
fn podiums_are_tables_in_latex_with_escaped_names() {
    let mut judgement = duel();
    judgement.podiums[0].places[1].variant = VariantRank::Best;
    let latex = tables::podiums_latex(&judgement);
    let rank_1 = "1 & fast & 107 & gold \\\\\n2 & slow \\& \\textless{}sure\\textgreater{} \\emph{(best variant)} & 16";
    assert!(latex.contains(rank_1) && !latex.contains("resigned"), "{latex}");
    assert!(latex.contains("\\caption{StateSpace}") && !latex.contains("PROVISIONAL"), "{latex}");
    assert_eq!(latex.matches("\\begin{table}").count(), judgement.podiums.len());
    let provisional = tables::podiums_latex(&contest::small());
    assert!(provisional.contains("% PROVISIONAL") && provisional.contains("(provisional)}"), "{provisional}");
}

#[test]
fn the_results_are_cited_in_bibtex_and_tabled_in_latex() {
    let mut judgement = contest::small();
    judgement.publication = Some(mcc_harness::campaign::Publication {
        title: Some("A 100 % contest}".into()),
        date: Some("2018-06-26".into()),
        organizers: vec!["Petri, Carl Adam".into(), "Group A, B and C".into()],
        doi: Some("10.5281/zenodo.1234567".into()),
        archive: Some("https://example.org/contest.tar.zst".into()),
        ..Default::default()
    });
    let dir = tempfile::tempdir().expect("a folder");
    let site = dir.path().join("site");
    let threads = std::num::NonZeroUsize::new(1).expect("one");
    mcc_harness::report::write_site(&judgement, Default::default(), threads, &site).expect("a site");
    let read = |name: &str| fs::read_to_string(site.join(name)).expect(name);
    let version = &judgement.version;
    assert_eq!(
        read("data/contest.bib"),
        format!(
            "@misc{{mcc-2018-a-100-results,\n  author = {{Petri, Carl Adam and {{Group A, B and C}}}},\n  \
             title = {{{{A 100 \\% contest\\textbraceright{{}}}}}},\n  year = {{2018}},\n  month = {{6}},\n  \
             doi = {{10.5281/zenodo.1234567}},\n  url = {{https://doi.org/10.5281/zenodo.1234567}},\n  \
             note = {{Results, judged by mcc-harness {version}}},\n}}\n"
        )
    );
    let page = read("results.html");
    for words in
        ["A 100 % contest}", "href=\"https://example.org/contest.tar.zst\"", "doi:10.5281/zenodo.1234567"]
    {
        assert!(page.contains(words), "{words}: {page}");
    }
    let points = read("data/points.tex");
    assert!(points.contains("& \\shortstack[r]{State\\\\Space}"), "{points}");
    // Each row has a figure for each of the examinations, of which this contest has three.
    let rows: Vec<&str> = points.lines().filter(|line| line.starts_with("breadth-first")).collect();
    assert_eq!(rows.iter().map(|row| row.matches(" & ").count()).collect::<Vec<_>>(), [3], "{points}");
    assert!(read("data/medals.tex").contains("Tool & Gold & Silver & Bronze \\\\"));
}

#[test]
fn the_picture_of_a_coloured_net_has_its_sorts_and_the_names_of_their_colours() {
    let dir = tempfile::tempdir().expect("a folder");
    let program = || {
        let mut program = Command::cargo_bin("mcc-harness").expect("the program");
        program.current_dir(dir.path());
        program
    };
    let answers =
        "tool,instance,examination,answers,wrong\na,PhilosophersDyn-COL-03,ReachabilityDeadlock,T,\n";
    fs::write(dir.path().join("answers.csv"), answers).expect("a table");
    program().args(["judge", "answers.csv", "--edition", "mcc-2025", "--out", "judged"]).assert().success();
    let models = data::published("mcc/2025/models");
    program().args(["report", "judged", "--out", "site", "--instances"]).arg(&models).assert().success();
    let data = data_of(dir.path().join("site/instances/PhilosophersDyn-COL-03.js"));
    let (path, description) = (data["picture"][0].as_str(), data["picture"][1].as_str());
    let description = description.expect("a description");
    assert!(description.contains("Sorts: "), "{description}");
    let svg = text(dir.path().join(format!("site/{}.svg", path.expect("a path"))));
    let net = roxmltree::Document::parse(&svg).expect("XML");
    let texts: Vec<&str> = net.descendants().filter_map(|node| node.text()).collect();
    for shown in ["Think", "3 Philosopher", "Philosopher: Philosopher1, Philosopher2"] {
        assert!(texts.iter().any(|text| text.contains(shown)), "{shown}: {texts:?}");
    }
    // The archive of another instance under this name.
    let models = models.join("UtilityControlRoom-COL-Z2T3N04.tgz");
    fs::create_dir(dir.path().join("misnamed")).expect("a folder");
    fs::copy(models, dir.path().join("misnamed/PhilosophersDyn-COL-03.tgz")).expect("a copy");
    let refused =
        program().args(["report", "judged", "--out", "site", "--instances", "misnamed"]).assert().code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(message.contains("it has the instance UtilityControlRoom-COL-Z2T3N04"), "{message}");
}

#[test]
fn values_of_a_table_have_the_property_ids_of_the_archive() {
    let dir = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str]| {
        let mut program = Command::cargo_bin("mcc-harness").expect("the program");
        program.current_dir(dir.path()).args(arguments).assert().success();
    };
    let answers = format!(
        "tool,instance,examination,answers,wrong\na,GPPP-PT-C0010N1000000000,ReachabilityCardinality,{},\n",
        "T".repeat(16)
    );
    fs::write(dir.path().join("answers.csv"), answers).expect("a table");
    run(&["judge", "answers.csv", "--edition", "mcc-2025", "--out", "judged"]);
    let models = data::published("mcc/2025/models");
    run(&["report", "judged", "--out", "site", "--instances", models.to_str().expect("UTF-8")]);
    let data = data_of(dir.path().join("site/instances/GPPP-PT-C0010N1000000000.js"));
    // Positions are in the order of the ids, those of 2023 first.
    let id = |number: &str| format!("GPPP-PT-C0010N1000000000-ReachabilityCardinality-{number}");
    assert_eq!(data["blocks"][0]["ids"][1], id("2023-13"));
    assert_eq!(data["blocks"][0]["ids"][4], id("2025-00"));
}
