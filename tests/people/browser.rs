//! The site in a real browser: headless Chromium of the Debian package, with pages of `file://`.
//!
//! The browser cannot reach the network: no host name resolves. Errors of loading and of scripts are messages on the
//! console, which these tests read. Screenshots are kept in `target/.../tmp/screenshots` for inspection.

use crate::support::contest;
use crate::support::data;

use mcc_harness::campaign::Run;
use mcc_harness::judge::certified::{Certified, CertifiedValue, Method};
use mcc_harness::judge::judgement::{InputDigest, Judgement};
use mcc_harness::model::{Arc, Net, NetKind, Place, Transition};
use mcc_harness::report::{self, Model, SiteInput};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The path of Chromium. None, with a message, if it is not on this machine; on a CI machine that is an error.
fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join("chromium")).find(|path| path.is_file());
    if found.is_none() {
        data::missing("no chromium on PATH; scripts/setup installs it");
    }
    found
}

/// Opens a page at a fragment of its URL, and returns the output and the log of Chromium.
fn open(chromium: &Path, page: &Path, fragment: &str, width: u32, options: &[&str]) -> Output {
    let profile = tempfile::tempdir().expect("a folder");
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr", "--v=0"])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={width},2600"))
        .arg("--virtual-time-budget=20000")
        .args(options)
        .arg(format!("file://{}{fragment}", page.display()))
        .output()
        .expect("chromium starts");
    assert!(output.status.success(), "{}: {}", page.display(), String::from_utf8_lossy(&output.stderr));
    output
}

/// The console messages of the page, such as a blocked script.
fn console(output: &Output) -> Vec<String> {
    let log = String::from_utf8_lossy(&output.stderr);
    log.lines().filter(|line| line.contains("CONSOLE")).map(String::from).collect()
}

/// The URLs other than files that the page requested, from Chromium's network log. (Chromium's own requests have no
/// origin.)
fn requested(net_log: &Path) -> Vec<String> {
    let log = fs::read(net_log).expect("a log of the network");
    let log: serde_json::Value = serde_json::from_slice(&log).expect("a complete log");
    let events = log["events"].as_array().expect("events");
    let requests =
        events.iter().map(|event| &event["params"]).filter(|request| request["initiator"].is_string());
    let of_page = requests.filter(|request| request["initiator"] != "not an origin");
    let urls = of_page.map(|request| request["url"].as_str().unwrap_or_default().to_owned());
    urls.filter(|url| !url.starts_with("file:")).collect()
}

struct Seen {
    dom: String,
    console: Vec<String>,
    requested: Vec<String>,
}

fn see(chromium: &Path, page: &Path, fragment: &str) -> Seen {
    let dir = tempfile::tempdir().expect("a folder");
    let net_log = dir.path().join("net.json");
    let output = open(
        chromium,
        page,
        fragment,
        1280,
        &["--dump-dom", &format!("--log-net-log={}", net_log.display())],
    );
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    Seen { dom, console: console(&output), requested: requested(&net_log) }
}

fn hostile() -> Judgement {
    let mut judgement = contest::small();
    judgement.entries[0].note = "<script>document.title = 'taken'</script>".into();
    judgement.blocks[0].cells[0].marks.push("<img src=http://example.org/x>".into());
    // Evidence for the value of the page `value`.
    judgement.inputs.push(InputDigest { file: "certified.csv".into(), sha256: "0".repeat(64) });
    let ctl = judgement.examinations.iter().position(|name| name == "CTLCardinality");
    let block =
        judgement.blocks.iter_mut().find(|block| Some(block.examination) == ctl && block.instance == 0);
    let trusted = &mut block.expect("a block").trusted[1];
    trusted.certified = Some(Box::new(Certified {
        method: Method::Witness,
        value: CertifiedValue::Exactly(trusted.value.clone().expect("a value")),
        evidence: "evidence/Philosophers-PT-000005/CTLCardinality-01.witness.json".into(),
        detail: "a firing sequence of 60 steps".into(),
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

fn site_of(dir: &Path) -> PathBuf {
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
const PAGES: [(&str, &str, &str, &[&str]); 24] = [
    (
        "index",
        "index.html",
        "#search=walk",
        &[">StateSpace</a></caption>", "Provisional.", ">walk</a> <small>entry</small>"],
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
    ("tool", "tools/depth-first.html", "", &[">✓8 CPU°</a>", "confidence "]),
    ("instances", "instances.html", "", &["instance.html#instance=TokenRing-PT-005", ">3 of 3</output>"]),
    ("evidence", "evidence.html", "", &[">tools differ</", "unknown: a tie"]),
    ("runs", "runs.html", "", &["45 of 45 runs", ">45 of 45</output>", "aria-rowindex=\"46\""]),
    ("pictures", "pictures.html", "", &["pictures/solved.svg", "data/podiums.tex"]),
    (
        "progress",
        "progress.html",
        "",
        &["<strong>Preliminary.</strong>", "45 of 46 planned runs are recorded", "Runs not recorded yet"],
    ),
    (
        "compare",
        "compare.html",
        "#a=walk&b=depth-first",
        &[
            "Compared runs: 9. Runs with a right value of both entries: 2",
            "both right: 2</text>",
            ">Save as SVG</a>",
        ],
    ),
    ("rules", "rules.html", "#E-4.1", &["Points and penalty of a value", "judging.points_per_examination"]),
    ("techniques", "techniques.html", "", &["STATE_COMPRESSION"]),
    (
        "instance",
        "instance.html",
        "#instance=Philosophers-PT-000005",
        &["Philosophers, known; weight 1.50", ">✓2 ✗2°</a>"],
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
        &["unknown: a tie", "&amp;position=08\">08</a>"],
    ),
    (
        "value",
        "instance.html",
        "#instance=Philosophers-PT-000005&examination=CTLCardinality&position=01",
        &[
            "all tools that answered agree",
            "Philosophers-PT-000005-CTLCardinality-01",
            " wrong</span>",
            ">AG (tokens(fork, plate) ≤ 1)</pre>",
            "20 places, 15 transitions, 50 arcs; initially 10 tokens.",
            "<img src=\"instances/Philosophers-PT-000005.net.svg\"",
            "A run of 60 steps from the initial marking.",
            "think_0 1 → 0, left_0 0 → 1, fork_0 1 → 0",
            "… 20 steps left out; ",
            "0123456789abcdef  contest-2018.tar.zst\" | sha256sum --check",
        ],
    ),
    (
        "run",
        "instance.html",
        "#instance=Philosophers-PT-000005&examination=CTLCardinality&entry=wrong-on-purpose",
        &[
            "✗ 2 of 16 wrong",
            "12.34 s",
            "line 7: a contradiction",
            "<i>⟨ESC⟩</i>[1mexploring",
            "finished, exit code 0",
            "The 2 wrong values cost ",
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
    ("nothing", "instance.html", "#instance=no%20such", &["This site does not have this instance."]),
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

#[test]
fn pages_open_without_errors_or_external_requests() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    for (name, page, fragment, shown) in PAGES {
        let seen = see(&chromium, &site.join(page), fragment);
        assert_eq!((seen.console, seen.requested), (vec![], vec![]), "{name}");
        // The dump is the page after its scripts have run: no text of a tool became an element.
        let dom = seen.dom;
        assert!(
            dom.contains("</footer>")
                && (dom.contains("Model Checking Contest 2018</title>") || page.starts_with("sv-comp/")),
            "{name}: {dom}"
        );
        assert!(!dom.contains("<script>") && !dom.contains("src=\"http"), "{name}");
        for words in shown {
            assert!(dom.contains(words), "{name} does not show {words}: {dom}");
        }
    }
    // This test can fail: a request is found, and so is a script inside a page, which the page's policy blocks.
    let requesting = dir.path().join("requesting.html");
    fs::write(&requesting, "<!doctype html><img src=http://example.org/x.png>").expect("a file");
    assert_eq!(see(&chromium, &requesting, "").requested, ["http://example.org/x.png"]);
    let index = site.join("index.html");
    let html = fs::read_to_string(&index).expect("a page");
    fs::write(&index, html.replace("</main>", "<script>document.title = 1</script></main>")).expect("a page");
    let seen = see(&chromium, &index, "");
    assert!(!seen.console.is_empty() && seen.dom.contains("Model Checking Contest 2018</title>"));
}

#[test]
fn an_address_with_unknown_parts_shows_a_message() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let (no_site, no_name) = ("This site does not have this", "The address does not name an examination.");
    for (parts, message) in [
        ("examination=__proto__&position=999", no_site),
        ("examination=__proto__&entry=walk", no_site),
        ("examination=CTLCardinality&entry=__proto__", no_site),
        ("position=1", no_name),
        ("entry=walk", no_name),
        ("examination=CTLCardinality&position=999", "This examination does not have this position."),
        ("examination=CTLCardinality&position=__proto__", "This examination does not have this position."),
    ] {
        let fragment = format!("#instance=Philosophers-PT-000005&{parts}");
        let seen = see(&chromium, &site.join("instance.html"), &fragment);
        assert_eq!(seen.console, [""; 0], "{parts}");
        assert!(seen.dom.contains(message), "{parts}: {}", seen.dom);
    }
}

/// Shows memory instead of time, moves the focus to the links that save files, and sets the title of the page to a
/// description of these files.
const SAVED: &str = "const kept = new Map(), make = URL.createObjectURL;
URL.createObjectURL = blob => { const address = make(blob); kept.set(address, blob); return address; };
addEventListener('load', () => {
  location.hash += '&what=memory';
  const look = async () => {
    const links = [...document.querySelectorAll('#compare a[download]')];
    if (!links.length || !links.every(link => link.download.startsWith('memory'))) return setTimeout(look, 20);
    const found = await Promise.all(links.map(async link => {
      link.focus();
      const blob = kept.get(link.href);
      return [link.download, document.activeElement === link, blob.type, await blob.text()];
    }));
    document.title = JSON.stringify(found);
  };
  look();
});";

#[test]
fn the_picture_of_any_two_tools_is_saved_with_its_figures() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    add_scripts(&site, &[("saved.js", SAVED)]);
    let seen = see(&chromium, &site.join("compare.html"), "#a=walk&b=depth-first");
    assert_eq!((seen.console, seen.requested), (vec![], vec![]));
    let title = seen.dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
    let found = title.unwrap_or_default().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let [svg, csv]: [(String, bool, String, String); 2] =
        serde_json::from_str(&found).unwrap_or_else(|error| panic!("{error}: {found}"));
    let name = |ending| format!("memory-walk-depth-first.{ending}");
    assert_eq!((svg.0, svg.1, svg.2.as_str()), (name("svg"), true, "image/svg+xml"));
    assert_eq!((csv.0, csv.1, csv.2.as_str()), (name("csv"), true, "text/csv"));
    // A row for each run of both, with the right and wrong values and the memory of each.
    let rows: Vec<&str> = csv.3.lines().collect();
    assert_eq!(rows.len(), 1 + 9);
    assert_eq!(rows[0], "examination,instance,x_right,x_wrong,x_memory_kib,y_right,y_wrong,y_memory_kib");
    assert!(rows.contains(&"CTLCardinality,Philosophers-PT-000005,3,0,250000,15,0,250000"), "{rows:?}");
    // The SVG is complete: it has its style sheet, for light and dark schemes, and a description.
    let picture = roxmltree::Document::parse(&svg.3).unwrap_or_else(|error| panic!("{error}: {}", svg.3));
    let text = |tag: &str| {
        let node = picture.descendants().find(|node| node.has_tag_name(tag));
        node.and_then(|node| node.text()).unwrap_or_default()
    };
    assert_eq!(text("title"), "walk and depth-first: Memory");
    assert!(
        text("desc").starts_with("Compared runs: 9. Runs with a right value of both entries: 2;"),
        "{}",
        text("desc")
    );
    assert!(text("style").contains("prefers-color-scheme:dark") && !svg.3.contains("href"), "{}", svg.3);
    let texts: Vec<&str> = picture.descendants().filter_map(|node| node.text()).collect();
    assert!(texts.contains(&"limit 16 GiB") && texts.contains(&"64 MiB"), "{texts:?}");
}

/// Adds scripts to the end of every page of the site. They are files of the site, because the policy of its pages
/// blocks all others.
fn add_scripts(site: &Path, scripts: &[(&str, &str)]) {
    for (name, content) in scripts {
        fs::write(site.join(name), content).expect("a file");
    }
    for file in walkdir::WalkDir::new(site).into_iter().map(|file| file.expect("a file").into_path()) {
        if file.extension() != Some("html".as_ref()) {
            continue;
        }
        let root = "../".repeat(file.strip_prefix(site).expect("inside").components().count() - 1);
        let tags: String =
            scripts.iter().map(|(name, _)| format!("<script defer src=\"{root}{name}\"></script>")).collect();
        let html = fs::read_to_string(&file).expect("a page");
        fs::write(&file, html.replace("</body>", &format!("{tags}</body>"))).expect("a page");
    }
}

/// Opens a page whose scripts end with `steps`, the body of an asynchronous function, and returns the result of `steps`.
/// They can use `wait()`, and `all(selector)`, the elements of the page.
fn result_of(chromium: &Path, site: &Path, page: &str, fragment: &str, steps: &str) -> serde_json::Value {
    let script = format!(
        "(() => {{ const wait = () => new Promise(done => setTimeout(done, 250));
         const all = selector => [...document.querySelectorAll(selector)];
         addEventListener('load', async () => {{
             await wait();
             const result = await (async () => {{ {steps} }})();
             document.title = 'result' + JSON.stringify(result);
         }}); }})();"
    );
    let path = site.join(page);
    let html = fs::read_to_string(&path).expect("a page");
    let root = "../".repeat(page.matches('/').count());
    fs::write(site.join("steps.js"), script).expect("a file");
    let with_steps =
        html.replace("</body>", &format!("<script defer src=\"{root}steps.js\"></script></body>"));
    fs::write(&path, with_steps).expect("a page");
    let seen = see(chromium, &path, fragment);
    fs::write(&path, html).expect("a page");
    assert_eq!((seen.console, seen.requested), (vec![], vec![]), "{page}");
    let title = seen.dom.split("<title>result").nth(1).and_then(|rest| rest.split("</title>").next());
    let json = title.unwrap_or_default().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {page}: {}", seen.dom))
}

#[test]
fn the_address_has_the_state_of_a_table() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let page = "examinations/CTLCardinality.html";
    let heads = "all('.grid thead th button').map(of => of.textContent)";
    let shown = format!("[all('.count')[0].textContent, {heads}, all('#show-1')[0].value]");
    // What the address says is shown.
    let state = "#filter=phil&sort=-depth-first&hide=Status,walk&range=breadth-first:15..&show=cpu";
    let result = result_of(&chromium, &site, page, state, &format!("return {shown};"));
    let heads_left = ["Instance", "breadth-first", "depth-first", "wrong-on-purpose", "BVT-2018"];
    // The CPU time of breadth-first is 12.34 s.
    assert_eq!(result, serde_json::json!(["0 of 3", heads_left, "cpu"]));
    // What is chosen is in the address, without steps in the history; a new address of the open page has an effect.
    let steps = format!(
        "const before = history.length, field = all('.filter')[0];
         field.value = 'Phil';
         field.dispatchEvent(new Event('input'));
         all('.grid thead button')[2].click();
         all('.columns-box input[type=checkbox]')[1].click();
         const bound = all('.columns-box input[data-bound=from]')[0];
         bound.value = '9';
         bound.dispatchEvent(new Event('change', {{ bubbles: true }}));
         const chosen = [location.hash, history.length - before, all('.count')[0].textContent];
         location.hash = '#filter=walk:dnc';
         await wait();
         return [chosen, all('.count')[0].textContent, {heads}.length, field.value];"
    );
    let result = result_of(&chromium, &site, page, "", &steps);
    let chosen = serde_json::json!([
        "#filter=Phil&sort=-breadth-first&hide=Status&range=breadth-first:9..",
        0,
        "2 of 3"
    ]);
    assert_eq!(result, serde_json::json!([chosen, "2 of 3", 7, "walk:dnc"]));
}

#[test]
fn a_filter_without_a_hit_says_why() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let steps = "const field = all('.filter')[0], found = [];
         for (const text of ['wrong', 'walk:wrnog', 'wlak:wrong', 'philosofers', 'tokenring :complete', 'walk:dnc']) {
             field.value = text;
             field.dispatchEvent(new Event('input'));
             await wait();
             await wait();
             found.push(all('.none')[0].hidden ? '' : all('.none')[0].textContent);
         }
         return found;";
    let result = result_of(&chromium, &site, "examinations/CTLCardinality.html", "", steps);
    let result: Vec<&str> =
        result.as_array().expect("texts").iter().filter_map(|text| text.as_str()).collect();
    assert_eq!(result[0], "To find runs, write “:wrong” with a colon.");
    assert!(
        result[1].starts_with("“wrnog” is not a word for runs; the words are right, wrong,"),
        "{}",
        result[1]
    );
    assert_eq!(result[2], "No entry begins with “wlak”. Did you mean “walk:wrong”?");
    assert_eq!(result[3], "No row has “philosofers”. Did you mean “philosophers”?");
    assert_eq!((result[4], result[5]), ("No row fits all words and ranges.", ""));
}

#[test]
fn a_long_table_is_printed_and_used_by_keyboard() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = dir.path().join("site");
    let threads = NonZeroUsize::new(2).expect("two");
    let judgement = contest::full_size();
    report::write_site(&judgement, SiteInput::default(), threads, &site).expect("a site");
    let steps = "const rows = () => all('.grid tbody:not([aria-hidden]) tr');
         const press = key => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
         const place = () => Number(document.activeElement.closest('tr')?.ariaRowIndex ?? 0);
         const box = all('.tall')[0], found = [];
         rows()[0].querySelectorAll('a')[3].focus();
         for (const key of ['End', 'Home', 'PageDown', 'ArrowDown']) { press(key); found.push(place()); await wait(); }
         box.scrollTop = 20000;
         box.dispatchEvent(new Event('scroll'));
         await wait();
         await wait();
         found.push(document.activeElement === box);
         press('ArrowUp');
         found.push(place());
         const some = rows().length < 200;
         dispatchEvent(new Event('beforeprint'));
         const printed = rows().length;
         dispatchEvent(new Event('afterprint'));
         await wait();
         return [found, some, printed, rows().length < 200];";
    let result = result_of(&chromium, &site, "examinations/StateSpace.html", "", steps);
    let places = result[0].as_array().expect("places");
    assert_eq!((&places[0], &places[1]), (&948.into(), &2.into()), "{result}");
    let page = places[2].as_u64().expect("a row");
    assert!(page > 10 && page < 200, "{result}");
    // The focus stays in the table, and goes on from the row that scrolled out of view.
    assert_eq!(
        (&places[3], &places[4], &places[5]),
        (&(page + 1).into(), &true.into(), &page.into()),
        "{result}"
    );
    assert_eq!(
        result.as_array().expect("parts")[1..],
        serde_json::json!([true, 947, true]).as_array().expect("parts")[..]
    );
    // Long names and tables do not make a page wider than a phone.
    add_scripts(&site, &[("report.js", REPORT)]);
    let pages =
        ["index.html", "examinations/StateSpace.html", "instances.html", "evidence.html", "pictures.html"]
            .map(|page| format!("file://{}", site.join(page).display()));
    for report in in_frames(&chromium, dir.path(), &pages, 390, &[]) {
        assert_eq!(report["width"], "390 of 390", "{pages:?}");
    }
}

#[test]
fn a_list_of_thousands_of_rows_is_printed_as_text() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let rows: Vec<String> = (0..2001).map(|row| format!("[\"reason {row}\",\"a\"]")).collect();
    let list = format!(
        "mcc_lists([{{\"columns\":[[\"Reason\",\"text\"],[\"Basis\",\"text\"]],\"rows\":[{}]}}]);",
        rows.join(",")
    );
    fs::write(site.join("evidence.js"), list).expect("a list");
    let steps = "dispatchEvent(new Event('beforeprint'));
         const lines = all('.as-text pre').flatMap(of => of.textContent.split('\\n'));
         const printed = [lines.filter(of => of.startsWith('reason')).length, lines[0], lines[2], all('.tall table')[0].hidden];
         dispatchEvent(new Event('afterprint'));
         await wait();
         return [...printed, all('.as-text').length, all('.tall table')[0].hidden];";
    let result = result_of(&chromium, &site, "evidence.html", "", steps);
    let expected = serde_json::json!([2001, "Reason      | Basis", "reason 1    | a", true, 0, false]);
    assert_eq!(result, expected);
}

#[test]
fn the_front_page_finds_names_values_and_rules() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let steps = "const found = {};
         for (const text of ['walk', 'philosophers', 'TokenRing-PT-005-CTLCardinality-08', 'e-4.1', 'wlak', 'state']) {
             location.hash = '#search=' + text;
             await wait();
             found[text] = [all('.search .count')[0].textContent, ...all('.hits a').map(of => of.getAttribute('href'))];
         }
         return found;";
    let found = result_of(&chromium, &site, "index.html", "", steps);
    assert_eq!(found["walk"], serde_json::json!(["1 hit", "tools/walk.html"]));
    assert_eq!(found["philosophers"][1], "instances.html#filter=Philosophers");
    let value = "instance.html#instance=TokenRing-PT-005&examination=CTLCardinality&position=08";
    assert_eq!(found["TokenRing-PT-005-CTLCardinality-08"][1], value);
    assert_eq!(found["e-4.1"][1], "rules.html#E-4.1");
    assert_eq!(found["wlak"], serde_json::json!(["Nothing has this name. Did you mean “walk”?"]));
    let state = found["state"].as_array().expect("hits");
    assert!(
        state.contains(&"podiums/StateSpace.html".into())
            && state.contains(&"examinations/StateSpace.html".into()),
        "{state:?}"
    );
}

#[test]
fn a_point_of_the_scatter_plot_leads_to_its_runs() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let steps = "for (let n = 0; n < 40 && !all('.ring').length; n++) await wait();
         const svg = all('svg.plot')[0], box = svg.getBoundingClientRect();
         const point = all('.q').map(of => of.getAttribute('d').match(/^M(\\d+) (\\d+)/).slice(1).map(Number))[0];
         const scale = box.width / svg.viewBox.baseVal.width;
         const at = { clientX: box.x + (point[0] + 3) * scale, clientY: box.y + point[1] * scale, bubbles: true };
         svg.dispatchEvent(new MouseEvent('mousemove', at));
         svg.dispatchEvent(new MouseEvent('click', at));
         svg.dispatchEvent(new MouseEvent('mouseleave', at));
         const links = all('.hit-panel a').map(of => of.getAttribute('href'));
         const limits = all('svg.plot text').map(of => of.textContent).filter(text => text.startsWith('limit'));
         const words = all('#compare p')[0].textContent;
         all('.controls button')[0].click();
         for (let n = 0; n < 10; n++) await wait();
         return [links, limits, words, location.hash, all('.list tbody:not([aria-hidden]) tr').length];";
    let result = result_of(&chromium, &site, "compare.html", "#a=walk&b=depth-first&in=StateSpace", steps);
    let links = result[0].as_array().expect("links");
    assert!(links[0].as_str().is_some_and(|link| link.ends_with("&examination=StateSpace")), "{result}");
    assert!(links[1].as_str().is_some_and(|link| link.ends_with("&entry=walk")), "{result}");
    // Both tools are sequential: the limit of four cores is not theirs.
    assert_eq!(result[1], serde_json::json!(["limit 3,600 s", "limit 3,600 s"]));
    let words = result[2].as_str().expect("a sentence");
    assert!(words.starts_with("Compared runs: 3. ") && words.contains("and both the same in 0"), "{words}");
    assert_eq!(result[3], "#a=depth-first&b=walk&what=time&in=StateSpace");
    assert_eq!(result[4], 3);
}

#[test]
fn a_picture_follows_the_filter_of_its_table() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let steps = "const shown = async filter => {
             const field = all('.filter')[0];
             field.value = filter;
             field.dispatchEvent(new Event('input'));
             await wait();
             await wait();
             return [all('.chart svg title')[0].textContent, ...all('.chart svg text').map(text => text.textContent).filter(text => text.startsWith('breadth-first: '))];
         };
         const found = [await shown(''), await shown('000005')];
         const kinds = [...all('#picture-1')[0].options].map(option => option.value);
         for (const kind of kinds) {
             all('#picture-1')[0].value = kind;
             all('#picture-1')[0].dispatchEvent(new Event('change'));
             await wait();
             await wait();
             found.push([kind, all('.chart svg').length, all('.chart svg path').every(path => !path.getAttribute('d').includes('NaN'))]);
         }
         // The browser would wait for the end of a download.
         all('.chart a').forEach(link => { link.addEventListener('click', event => event.preventDefault()); link.click(); });
         return [...found, location.hash, all('.chart a').map(link => [link.download, link.href.startsWith('blob:')])];";
    let result = result_of(&chromium, &site, "examinations/CTLCardinality.html", "#picture=solved", steps);
    assert_eq!(result[0][0], "Right values by CPU time of the run, 3 rows");
    assert_eq!(result[1][0], "Right values by CPU time of the run, 1 row with “000005”");
    let count = |shown: &serde_json::Value| {
        let text = shown[1].as_str().unwrap_or_else(|| panic!("{result}"));
        text.rsplit(' ')
            .next()
            .and_then(|count| count.parse::<u32>().ok())
            .unwrap_or_else(|| panic!("{result}"))
    };
    assert!(count(&result[0]) > count(&result[1]) && count(&result[1]) > 0, "{result}");
    let kinds = ["", "solved", "quantile", "points", "values", "used", "scatter"];
    for (number, kind) in kinds.iter().enumerate() {
        let drawn = u8::from(!kind.is_empty());
        assert_eq!(result[2 + number], serde_json::json!([kind, drawn, true]));
    }
    assert_eq!(result[9], "#filter=000005&picture=scatter");
    let saved = serde_json::json!([["scatter-cpu_ms.svg", true], ["scatter-cpu_ms.csv", true]]);
    assert_eq!(result[10], saved);
}

#[test]
fn the_results_of_a_contest_are_printed_on_one_page() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = dir.path().join("site");
    let threads = NonZeroUsize::new(2).expect("two");
    report::write_site(&contest::full_size(), SiteInput::default(), threads, &site).expect("a site");
    let pages = |page: &str| {
        let pdf = dir.path().join("printed.pdf");
        let print = format!("--print-to-pdf={}", pdf.display());
        open(&chromium, &site.join(page), "", 1280, &["--no-pdf-header-footer", &print]);
        let pdf = fs::read(&pdf).expect("a PDF");
        String::from_utf8_lossy(&pdf).matches("/Type /Page\n").count()
    };
    assert_eq!(pages("results.html"), 1);
    assert!(pages("index.html") > 1);
}

#[test]
fn no_podium_card_is_cut_in_print() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    // The rules of print apply to a frame of the width and height of A4 landscape within its margins of 11 mm.
    let css = fs::read_to_string(site.join("site.css")).expect("a style sheet");
    assert!(css.contains("@media print {") && css.contains("size: A4 landscape; margin: 11mm"));
    fs::write(site.join("site.css"), css.replace("@media print {", "@media all {")).expect("a style sheet");
    let report = "addEventListener('load', () => parent.postMessage([...document.querySelectorAll('.card')]
        .map(card => [getComputedStyle(card).breakInside, Math.ceil(card.getBoundingClientRect().height)]), '*'));";
    add_scripts(&site, &[("report.js", report)]);
    let page = format!("file://{}", site.join("index.html").display());
    let reports = in_frames(&chromium, dir.path(), &[page], 1039, &[]);
    let cards = reports[0].as_array().expect("cards");
    assert!(cards.len() >= 3, "{reports:?}");
    for card in cards {
        assert_eq!(card[0], "avoid", "{reports:?}");
        assert!(
            card[1].as_u64().is_some_and(|height| height < 710),
            "a card is higher than a page: {reports:?}"
        );
    }
}

/// Sends the width of the page and the findings of `axe`, if it is loaded, to the surrounding frame.
const REPORT: &str = "addEventListener('load', () => setTimeout(async () => {
  const found = typeof axe === 'undefined' ? [] : (await axe.run(document, { resultTypes: ['violations'] })).violations;
  // Text that is squeezed although a column of its table is empty.
  const isEmpty = table => [...table.rows[0]?.cells ?? []].some((_, at) => at > 0 && table.tBodies[0]?.rows.length > 0
    && [...table.tBodies[0].rows].every(row => row.cells[at] && row.cells[at].textContent === '' && row.cells[at].offsetWidth > 60));
  const isSqueezed = cell => cell.offsetWidth < 160 && cell.offsetHeight > 90;
  const squeezed = innerWidth < 1000 ? [] : [...document.querySelectorAll('table:not(.grid)')].filter(isEmpty)
    .flatMap(table => [...table.querySelectorAll('tbody td')].filter(isSqueezed)).map(cell => cell.textContent);
  const where = of => of.nodes.slice(0, 3).map(node => node.target.join(' ')).join(', ');
  parent.postMessage({
    width: `${document.documentElement.scrollWidth} of ${innerWidth}`,
    squeezed,
    found: found.map(of => `${of.id}: ${where(of)}`),
  }, '*');
}, 500));";

/// Opens pages one after the other in a frame; returns what `REPORT` sent for each.
fn in_frames(
    chromium: &Path,
    dir: &Path,
    pages: &[String],
    width: u32,
    options: &[&str],
) -> Vec<serde_json::Value> {
    let list = serde_json::to_string(pages).expect("JSON");
    let html = format!(
        "<!doctype html><title>?</title><style>body{{margin:0}}iframe{{border:0;width:{width}px;height:2600px}}</style>\
         <iframe></iframe><pre></pre><script>const pages = {list}, reports = [];
         const next = () => {{ if (reports.length < pages.length) {{
             const frame = document.createElement('iframe'); frame.src = pages[reports.length];
             document.querySelector('iframe').replaceWith(frame); }} }};
         onmessage = message => {{ reports.push(message.data); document.querySelector('pre').textContent = JSON.stringify(reports); next(); }};
         next()</script>"
    );
    let frame = dir.join("frame.html");
    fs::write(&frame, html).expect("a page");
    let options: Vec<&str> =
        options.iter().copied().chain(["--dump-dom", "--virtual-time-budget=300000"]).collect();
    let output = open(chromium, &frame, "", width.max(500), &options);
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let json = dom.split("<pre>").nth(1).and_then(|rest| rest.split("</pre>").next()).unwrap_or_default();
    let json = json.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let reports: Vec<serde_json::Value> =
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}: {:?}", console(&output)));
    assert_eq!(reports.len(), pages.len(), "{reports:?}");
    reports
}

#[test]
fn axe_finds_no_barrier_on_any_page() {
    let Some(chromium) = chromium() else { return };
    let axe = Path::new(env!("CARGO_MANIFEST_DIR")).join("build/axe/node_modules/axe-core/axe.min.js");
    let Ok(axe) = fs::read_to_string(&axe) else {
        return data::missing("no axe-core in build/axe; scripts/setup --tests installs it");
    };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    add_scripts(&site, &[("axe.js", &axe), ("report.js", REPORT)]);
    // This test can fail: the barriers of this page are found.
    let html = fs::read_to_string(site.join("techniques.html")).expect("a page");
    let barred =
        html.replace("<main", "<img src=\"x.png\"><p style=\"color:#888;background:#999\">faint</p><main");
    fs::write(site.join("barred.html"), barred).expect("a page");
    let mut pages = vec![format!("file://{}", site.join("barred.html").display())];
    pages.extend(
        PAGES.map(|(_, page, fragment, _)| format!("file://{}{fragment}", site.join(page).display())),
    );
    for (width, mode) in [(1280, 1), (390, 0)] {
        let colours = format!("--blink-settings=preferredColorScheme={mode}");
        let reports = in_frames(&chromium, dir.path(), &pages, width, &[&colours]);
        let first = reports[0]["found"].to_string();
        assert!(first.contains("image-alt") && first.contains("color-contrast"), "{first}");
        for (page, report) in pages.iter().zip(&reports).skip(1) {
            assert_eq!(report["found"], serde_json::json!([]), "{page} at {width}");
            assert_eq!(report["width"], format!("{width} of {width}"), "{page}");
            assert_eq!(report["squeezed"], serde_json::json!([]), "{page} at {width}");
        }
    }
}

/// Sends the width of the page, of the picture of the net and of its box to the surrounding frame when the picture is there.
const NET: &str = "const look = () => {
  const picture = document.querySelector('.net img');
  if (!picture?.complete || !picture.naturalWidth) return setTimeout(look, 20);
  const box = picture.closest('.scroll');
  parent.postMessage({
    page: `${document.documentElement.scrollWidth} of ${innerWidth}`,
    full: picture.clientWidth === picture.naturalWidth,
    scrolls: box.scrollWidth > box.clientWidth,
  }, '*');
};
addEventListener('load', look);";

#[test]
fn the_names_in_the_picture_of_a_net_are_as_large_on_a_phone() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    add_scripts(&site, &[("net.js", NET)]);
    let pages = PAGES.iter().filter(|(name, ..)| ["instance", "value", "run"].contains(name));
    let pages: Vec<String> = pages
        .map(|(_, page, fragment, _)| format!("file://{}{fragment}", site.join(page).display()))
        .collect();
    for report in in_frames(&chromium, dir.path(), &pages, 390, &[]) {
        let expected = serde_json::json!({ "page": "390 of 390", "full": true, "scrolls": true });
        assert_eq!(report, expected, "{pages:?}");
    }
}

/// Takes screenshots for inspection, in target/*/tmp/screenshots.
#[test]
#[ignore = "long: scripts/test --all"]
fn screenshots_of_every_kind_of_page_are_taken() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots");
    fs::create_dir_all(&pictures).expect("a folder");
    let frame = dir.path().join("frame.html");
    for (name, page, fragment, _) in PAGES {
        for (width, mode) in [(1280, "light"), (390, "dark")] {
            // Chromium's window cannot be as narrow as a phone, but a frame in it can.
            let framed = format!(
                "<!doctype html><style>body{{margin:0}}iframe{{border:0;width:{width}px;height:2600px}}</style>\
                 <iframe src=\"file://{}{fragment}\"></iframe>",
                site.join(page).display()
            );
            fs::write(&frame, framed).expect("a page");
            let picture = pictures.join(format!("{name}-{width}-{mode}.png"));
            let _ = fs::remove_file(&picture);
            let shot = format!("--screenshot={}", picture.display());
            let colours = format!("--blink-settings=preferredColorScheme={}", u8::from(mode == "light"));
            open(&chromium, &frame, "", width.max(500), &[&shot, &colours]);
            assert!(fs::metadata(&picture).expect("a picture").len() > 10_000, "{}", picture.display());
        }
    }
}
