//! The site in a real browser: Chromium from the Debian package, headless, opened by file://.
//!
//! The browser can reach nothing (no name resolves), and whatever a page fails to load or breaks is an error on
//! its console, which these tests read. Screenshots stay in `target/.../tmp/screenshots` to be looked at.

mod contest;

use mcc_harness::judge::judgement::Judgement;
use mcc_harness::report;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// None: not on this machine, and said so. A CI machine must have it.
fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join("chromium")).find(|path| path.is_file());
    if found.is_none() {
        assert_ne!(
            std::env::var("CI").as_deref(),
            Ok("true"),
            "no chromium on PATH; scripts/setup installs it"
        );
        eprintln!("not run: no chromium on PATH (scripts/setup installs it)");
    }
    found
}

/// Opens a page and returns what Chromium printed and its log.
fn open(chromium: &Path, page: &Path, width: u32, options: &[&str]) -> Output {
    let profile = tempfile::tempdir().expect("a folder");
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr", "--v=0"])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={width},2600"))
        .args(options)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("chromium starts");
    assert!(output.status.success(), "{}: {}", page.display(), String::from_utf8_lossy(&output.stderr));
    output
}

/// What the page wrote on its console, such as a script that was forbidden.
fn console(output: &Output) -> Vec<String> {
    let log = String::from_utf8_lossy(&output.stderr);
    log.lines().filter(|line| line.contains("CONSOLE")).map(String::from).collect()
}

/// What the page asked for that is no file, by Chromium's log of its network. (Chromium's own requests have
/// no origin.)
fn asked(net_log: &Path) -> Vec<String> {
    let log = fs::read(net_log).expect("a log of the network");
    let log: serde_json::Value = serde_json::from_slice(&log).expect("a whole log");
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
    asked: Vec<String>,
}

fn see(chromium: &Path, page: &Path) -> Seen {
    let dir = tempfile::tempdir().expect("a folder");
    let net_log = dir.path().join("net.json");
    let output = open(chromium, page, 1280, &["--dump-dom", &format!("--log-net-log={}", net_log.display())]);
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    Seen { dom, console: console(&output), asked: asked(&net_log) }
}

fn hostile() -> Judgement {
    let mut judgement = contest::small();
    judgement.entries[0].note = "<script>document.title = 'taken'</script>".into();
    judgement.blocks[0].cells[0].marks.push("<img src=http://example.org/x>".into());
    judgement
}

fn site_of(dir: &Path) -> PathBuf {
    let judgement = hostile();
    let hostile = b"</pre><script src=http://example.org/x.js></script><script>document.title='taken'</script>\n\x1b[31m\0\n";
    let record = contest::record(&judgement, &dir.join("results"), |run| {
        run.starts_with("walk/Philosophers-PT-000005/CTL").then(|| hostile.to_vec())
    });
    let site = dir.join("site");
    report::write_site(&judgement, None, Some(&record), &site).expect("a site");
    site
}

const PAGES: [(&str, &str); 5] = [
    ("index", "index.html"),
    ("statespace", "examinations/StateSpace.html"),
    ("ctl", "examinations/CTLCardinality.html"),
    ("run", "runs/wrong-on-purpose/Philosophers-PT-000005/CTLCardinality.html"),
    ("hostile-run", "runs/walk/Philosophers-PT-000005/CTLCardinality.html"),
];

#[test]
fn pages_open_without_an_error_and_ask_for_nothing_from_outside() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    for (_, page) in PAGES {
        let seen = see(&chromium, &site.join(page));
        assert_eq!((seen.console, seen.asked), (vec![], vec![]), "{page}");
        // The dump is what the browser made of the page: nothing a tool wrote became an element.
        let dom = seen.dom;
        assert!(
            dom.contains("</footer>") && dom.contains("Model Checking Contest 2018</title>"),
            "{page}: {dom}"
        );
        assert!(!dom.contains("<script") && !dom.contains("<img"), "{page}");
    }
    // The test can fail: a page that asks is caught, and so is a script in a page of ours, which may not run.
    let asking = dir.path().join("asking.html");
    fs::write(&asking, "<!doctype html><img src=http://example.org/x.png>").expect("a file");
    assert_eq!(see(&chromium, &asking).asked, ["http://example.org/x.png"]);
    let index = site.join("index.html");
    let html = fs::read_to_string(&index).expect("a page");
    fs::write(&index, html.replace("</main>", "<script>document.title = 1</script></main>")).expect("a page");
    let seen = see(&chromium, &index);
    assert!(!seen.console.is_empty() && seen.dom.contains("Model Checking Contest 2018</title>"));
}

#[test]
fn pages_fit_wide_and_narrow_screens_in_light_and_dark() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots");
    fs::create_dir_all(&pictures).expect("a folder");
    // Chromium's window is never as narrow as a phone; a frame in it is. A script in a copy of the page that
    // allows one tells how wide the page is.
    let measure =
        "<script>parent.postMessage([document.documentElement.scrollWidth, innerWidth], '*')</script>";
    let frame = dir.path().join("frame.html");
    for (name, page) in PAGES {
        let file = site.join(page);
        let html = fs::read_to_string(&file).expect("a page");
        let scripted = html.replace("default-src 'none'", "default-src 'none'; script-src 'unsafe-inline'");
        fs::write(&file, scripted.replace("</body>", &format!("{measure}</body>"))).expect("a page");
        for (width, mode) in [(1280, "light"), (390, "dark"), (390, "light")] {
            let framed = format!(
                "<!doctype html><title>?</title><style>body{{margin:0}}iframe{{border:0;width:{width}px;height:2600px}}</style>\
                 <script>onmessage = message => document.title = message.data.join(' of ')</script>\
                 <iframe src=\"file://{}\"></iframe>",
                file.display()
            );
            fs::write(&frame, framed).expect("a page");
            let picture = pictures.join(format!("{name}-{width}-{mode}.png"));
            let _ = fs::remove_file(&picture);
            let shot = format!("--screenshot={}", picture.display());
            let colours = format!("--blink-settings=preferredColorScheme={}", u8::from(mode == "light"));
            let output = open(&chromium, &frame, width.max(500), &["--dump-dom", &shot, &colours]);
            let dom = String::from_utf8_lossy(&output.stdout).into_owned();
            let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
            assert_eq!(title, Some(format!("{width} of {width}").as_str()), "{page}: {dom}");
            assert!(fs::metadata(&picture).expect("a picture").len() > 10_000, "{}", picture.display());
        }
        fs::write(&file, &html).expect("a page");
    }
}
