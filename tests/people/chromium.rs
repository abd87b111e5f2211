//! Opens pages in headless Chromium of the Debian package, as `file://`. It cannot reach the network: no host name resolves.
//! Errors of loading and of scripts are messages on the console, which are returned.

use crate::support::data;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The path of Chromium. None, with a message, if it is not on this machine; on a CI machine that is an error.
pub fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join("chromium")).find(|path| path.is_file());
    if found.is_none() {
        data::missing("no chromium on PATH; scripts/setup installs it");
    }
    found
}

/// Opens a page at a fragment of its URL, and returns the output and the log of Chromium.
pub fn open(chromium: &Path, page: &Path, fragment: &str, width: u32, options: &[&str]) -> Output {
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

pub struct Seen {
    pub dom: String,
    pub console: Vec<String>,
    pub requested: Vec<String>,
}

pub fn see(chromium: &Path, page: &Path, fragment: &str) -> Seen {
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

/// Adds scripts to the end of every page of the site. They are files of the site, because the policy of its pages
/// blocks all others.
pub fn add_scripts(site: &Path, scripts: &[(&str, &str)]) {
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
pub fn result_of(chromium: &Path, site: &Path, page: &str, fragment: &str, steps: &str) -> serde_json::Value {
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

/// Opens pages one after the other in a frame; returns what `REPORT` sent for each.
pub fn in_frames(
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
