//! The site that the tests open in a browser: a contest with hostile texts, and a page of every kind of it.

use crate::support::contest;
use mcc_harness::benchkit::Value;
use mcc_harness::campaign::Run;
use mcc_harness::judge::certified::{Certified, CertifiedValue, Method};
use mcc_harness::judge::judgement::{Cell, InputDigest, Judgement, ValueVerdict};
use mcc_harness::model::{Arc, Net, NetKind, Place, Transition};
use mcc_harness::report::{self, Model, SiteInput};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

fn hostile() -> Judgement {
    let mut judgement = contest::small();
    judgement.entries[0].note = "<script>document.title = 'taken'</script>".into();
    judgement.blocks[0].cells[0].marks.push("<img src=http://example.org/x>".into());
    // Evidence for the value of the page `value`.
    judgement.inputs.push(InputDigest { file: "certified.csv".into(), sha256: "0".repeat(64) });
    let ctl = judgement.examinations.iter().position(|name| name == "CTLCardinality");
    let block =
        judgement.blocks.iter_mut().find(|block| Some(block.examination) == ctl && block.instance == 0);
    let block = block.expect("a block");
    let trusted = &mut block.trusted[1];
    trusted.certified = Some(Box::new(Certified {
        method: Method::Witness,
        value: CertifiedValue::Exactly(trusted.value.clone().expect("a value")),
        evidence: "evidence/Philosophers-PT-000005/CTLCardinality-01.witness.json".into(),
        detail: "a firing sequence of 60 steps".into(),
    }));
    // The other value is certified at one of the two positions where the run of the page `run` is wrong.
    let is_wrong_run = |cell: &&mut Cell| judgement.entries[cell.entry].entry == "wrong-on-purpose";
    let cell = block.cells.iter_mut().find(is_wrong_run).expect("a run");
    cell.values[1] = Some(Value::NotKept);
    let position = (2..cell.verdicts.len()).find(|&position| cell.verdicts[position] == ValueVerdict::Wrong);
    let position = position.expect("a wrong value");
    let given = cell.values[position].clone().expect("a value");
    block.trusted[position].certified = Some(Box::new(Certified {
        method: Method::Explored,
        value: CertifiedValue::Exactly(given),
        evidence: String::new(),
        detail: "1 conditions decided without exploration".into(),
    }));
    judgement
}

/// Five philosophers, one of whom has a hostile name.
fn philosophers() -> Net {
    let place = |(id, initial): (String, u64)| Place { id, initial };
    let kinds = [("think", 1), ("left", 0), ("eat", 0), ("fork", 1)];
    let name = |kind: &str, number: usize| {
        if number == 4 { format!("{kind}</text><script>") } else { format!("{kind}_{number}") }
    };
    let places =
        kinds.iter().flat_map(|&(kind, tokens)| (0..5).map(move |number| (name(kind, number), tokens)));
    let arcs = |places: &[usize]| places.iter().map(|&place| Arc { place, weight: 1 }).collect();
    let transitions = (0..5).flat_map(|number| {
        let (think, left, eat) = (number, 5 + number, 10 + number);
        let (own, other) = (15 + number, 15 + (number + 1) % 5);
        [
            ("take", vec![think, own], vec![left]),
            ("take2", vec![left, other], vec![eat]),
            ("put", vec![eat], vec![think, own, other]),
        ]
        .map(|(kind, from, to)| Transition {
            id: name(kind, number),
            inputs: arcs(&from),
            outputs: arcs(&to),
        })
    });
    Net {
        id: "Philosophers-PT-000005".into(),
        kind: NetKind::PlaceTransition,
        places: places.map(place).collect(),
        transitions: transitions.collect(),
    }
}

/// A folder of `certify` with a firing sequence of 60 steps.
fn certified(dir: &Path) -> PathBuf {
    let folder = dir.join("evidence/Philosophers-PT-000005");
    fs::create_dir_all(&folder).expect("a folder");
    let steps = ["take_0", "take2_0", "put_0"].repeat(20);
    let witness = serde_json::json!({
        "version": 1, "instance": "Philosophers-PT-000005", "examination": "CTLCardinality",
        "property": "Philosophers-PT-000005-CTLCardinality-01", "value": "FALSE", "runs": [{ "steps": steps }],
    });
    fs::write(folder.join("CTLCardinality-01.witness.json"), witness.to_string()).expect("a file");
    dir.to_owned()
}

pub fn site_of(dir: &Path) -> PathBuf {
    let judgement = hostile();
    let hostile = b"</pre><script src=http://example.org/x.js></script><script>document.title='taken'</script>\n\x1b[31m\0\n";
    let record = contest::record(&judgement, &dir.join("results"), |run| {
        run.starts_with("walk/Philosophers-PT-000005/CTL").then(|| hostile.to_vec())
    });
    // An open run: the campaign is unfinished, and the site has the page of its progress.
    let open = Run {
        entry: "walk".parse().unwrap(),
        instance: "TokenRing-PT-005".parse().unwrap(),
        examination: "LTLFireability".parse().unwrap(),
        model: "TokenRing".into(),
        vcpus: 1,
        competes: true,
    };
    record.plan_runs(&[open]).expect("a plan");
    let site = dir.join("site");
    let formulas: Vec<String> =
        (0..16).map(|number| format!("AG (tokens(fork, plate) ≤ {number})")).collect();
    let model = Model {
        net: Some(philosophers()),
        formulas: [("CTLCardinality".to_owned(), formulas)].into(),
        ..Model::default()
    };
    let unread = Model {
        net: Some(philosophers()),
        unread_colours: Some("line 7: no sort".into()),
        ..Model::default()
    };
    let models = |instance: &str| {
        Ok(match instance {
            "Philosophers-PT-000005" => Some(model.clone()),
            "TokenRing-PT-005" => Some(unread.clone()),
            _ => None,
        })
    };
    let archive = Some(("contest-2018.tar.zst", "0123456789abcdef"));
    let certified = certified(&dir.join("certified"));
    let material = SiteInput {
        record: Some(&record),
        models: Some(&models),
        certified: Some(&certified),
        archive,
        ..SiteInput::default()
    };
    let threads = NonZeroUsize::new(2).expect("two");
    report::write_site(&judgement, material, threads, &site).expect("a site");
    // The site of another contest in a folder of it, which has fewer kinds of pages.
    report::write_other_site(&contest::other_contests(), dir, &site.join("sv-comp")).expect("a site");
    site
}

/// A page of every kind: name, file, fragment, and texts that it has after its scripts have run.
pub const PAGES: [(&str, &str, &str, &[&str]); 24] = [
    (
        "index",
        "index.html",
        "#search=walk",
        &[
            ">StateSpace</a></caption>",
            "The campaign has not ended",
            "Runs without a result</a>",
            ">walk</a> <small>entry</small>",
        ],
    ),
    ("podium", "podiums/StateSpace.html", "", &["is first with", "Right only in the first"]),
    (
        "results",
        "results.html",
        "",
        &["@misc{mcc-2018-results,", ">Podiums, with points</caption>", "href=\"data/points.tex\""],
    ),
    ("statespace", "examinations/StateSpace.html", "", &[">✓2 ✗2°</a>", ">NONE°</a>", ">3 of 3</output>"]),
    ("filtered", "examinations/CTLCardinality.html", "#filter=walk:dnc%20-token", &[">1 of 3</output>"]),
    ("tool", "tools/depth-first.html", "", &[">✓8 CPU°</a>", "Confidence "]),
    ("instances", "instances.html", "", &["instance.html#instance=TokenRing-PT-005", ">3 of 3</output>"]),
    (
        "evidence",
        "evidence.html",
        "",
        &[">tools differ</", "unknown: a tie", ">certify alone, without exploration: 1 condition decided <"],
    ),
    ("runs", "runs.html", "", &["all 45 runs", ">45 of 45</output>", "aria-rowindex=\"46\""]),
    ("pictures", "pictures.html", "", &["pictures/solved.svg", "data/podiums.tex"]),
    (
        "progress",
        "progress.html",
        "",
        &[
            "<strong>Provisional.</strong> The campaign has not ended",
            "45 of 46 planned runs are recorded",
            "Runs not recorded yet",
        ],
    ),
    (
        "compare",
        "compare.html",
        "#a=walk&b=depth-first",
        &[
            "Compared runs: 9. Runs with a right value of both entries: 2",
            "both have a right value: 2</text>",
            ">Save as SVG</a>",
        ],
    ),
    ("rules", "rules.html", "#E-4.1", &["Points and penalty of a value", "judging.points_per_examination"]),
    ("techniques", "techniques.html", "", &["STATE_COMPRESSION"]),
    (
        "instance",
        "instance.html",
        "#instance=Philosophers-PT-000005",
        &["An instance of the known model Philosophers; its weight is 1.5000", ">✓2 ✗2°</a>"],
    ),
    (
        "unread-colours",
        "instance.html",
        "#instance=TokenRing-PT-005",
        &["There is no picture of the net, because its colours could not be read: line 7: no sort</p>"],
    ),
    (
        "examination",
        "instance.html",
        "#instance=Philosophers-PT-000005&examination=CTLCardinality",
        &[
            "unknown: a tie",
            "&amp;position=08\">08</a>",
            "<td><span class=\"s k\" title=\"right\">✓</span> </td>",
        ],
    ),
    (
        "value",
        "instance.html",
        "#instance=Philosophers-PT-000005&examination=CTLCardinality&position=01",
        &[
            "all votes agree",
            "<td>none</td>",
            "that shows that the value is FALSE.",
            "Philosophers-PT-000005-CTLCardinality-01",
            " wrong</span>",
            ">AG (tokens(fork, plate) ≤ 1)</pre>",
            "20 places, 15 transitions, 50 arcs; initially 10 tokens.",
            "<img src=\"instances/Philosophers-PT-000005.net.svg\"",
            "A run of 60 steps from the initial marking.",
            "think_0 1 → 0, left_0 0 → 1, fork_0 1 → 0",
            "… 20 steps left out; ",
            "0123456789abcdef  contest-2018.tar.zst' | sha256sum --check",
        ],
    ),
    (
        "run",
        "instance.html",
        "#instance=Philosophers-PT-000005&examination=CTLCardinality&entry=wrong-on-purpose",
        &[
            "✗ 2 of 16 wrong",
            "The first is for position 01 (the judged table does not state the value); ",
            "12.34 s",
            "line 7: a contradiction",
            "<i>⟨ESC⟩</i>[1mexploring",
            "ended by itself, exit code 0",
            "The 2 wrong values cost ",
            " Evidence refutes the trusted value of 1 of them, which changes no points.",
            "; refuted</td>",
            "<img src=\"instances/Philosophers-PT-000005.net.svg\"",
            ">emulated processor</strong>: the machine ran without",
            "mcc-harness replay contest-2018.tar.zst --run wrong-on-purpose/Philosophers-PT-000005/CTLCardinality --allow-degraded",
        ],
    ),
    (
        "hostile-run",
        "instance.html",
        "#instance=Philosophers-PT-000005&examination=CTLCardinality&entry=walk",
        &["&lt;/pre&gt;&lt;script src=http://example.org/x.js&gt;", "<i>⟨NUL⟩</i>"],
    ),
    (
        "nothing",
        "instance.html",
        "#instance=no%20such",
        &["This site has no instance “no such”. Choose one from the list of instances."],
    ),
    ("sv-comp", "sv-comp/index.html", "", &["Heap &amp; &lt;Memory&gt;</a>", ">careful</th>"]),
    (
        "category",
        "sv-comp/categories/Heap~20~26~20~3CMemory~3E.html",
        "",
        &["../pictures/score-Heap", ">4 of 4</output>", "aria-rowindex=\"5\""],
    ),
    (
        "sv-comp-compare",
        "sv-comp/compare.html",
        "#a=bold&b=careful",
        &[
            "Compared runs: 2. Runs with a right value of both entries: 1; bold needed less in 1",
            "bold and careful: CPU time</title>",
            ">limit 900 s</text>",
            ">Save as CSV</a>",
        ],
    ),
];
