//! The pages of the documentation: their links lead to files and headings that exist, and the book contains all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// All pages, by path relative to the project: the files in its folder, docs/, editions/ and vm-images/.
fn pages() -> BTreeMap<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = |folder: &str, depth| {
        let files = walkdir::WalkDir::new(root.join(folder)).max_depth(depth).into_iter().flatten();
        files
            .map(walkdir::DirEntry::into_path)
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
    };
    let paths = files("", 1).chain(files("docs", 9)).chain(files("editions", 9)).chain(files("vm-images", 1));
    let page = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path.strip_prefix(root).unwrap().to_owned(), text)
    };
    paths.map(page).collect()
}

/// The lines of a page that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        fenced ^= line.trim_start().starts_with("```");
        !fenced && !line.starts_with("    ")
    })
}

/// The targets of the links of a page, without those to other sites.
fn links(text: &str) -> Vec<String> {
    let text = prose(text).collect::<Vec<_>>().join("\n");
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

/// The ids of the headings of a page, as mdBook and common forges make them.
fn headings(text: &str) -> BTreeSet<String> {
    let heading = |line: &str| {
        let title = line.trim_start_matches('#').trim();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    prose(text).filter(|line| line.starts_with('#')).map(heading).collect()
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop(), "{} leads out of the project", path.display()),
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn every_link_of_the_documentation_leads_to_a_file_and_heading() {
    let pages = pages();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut checked, mut broken) = (0, Vec::new());
    for (page, text) in &pages {
        for link in links(text) {
            checked += 1;
            let (file, id) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.clone(),
                file => plain(&page.parent().unwrap().join(file)),
            };
            let heading = |text: &String| id.is_empty() || headings(text).contains(id);
            if !pages.get(&target).map_or_else(|| root.join(&target).exists() && id.is_empty(), heading) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(checked > 150, "{checked} links");
    assert_eq!(headings("# A `b = \"c\"`: d\n```\n# no\n```\n"), BTreeSet::from(["a-b--c-d".to_owned()]));
}

#[test]
fn the_book_contains_every_page_once() {
    let pages = pages();
    let summary = Path::new("docs/SUMMARY.md");
    let listed: Vec<PathBuf> =
        links(&pages[summary]).iter().map(|link| plain(&Path::new("docs").join(link))).collect();
    let unique: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(unique.len(), listed.len(), "a page is listed twice");
    let all: BTreeSet<&PathBuf> = pages.keys().filter(|page| *page != summary).collect();
    assert_eq!(unique, all);
}

#[test]
fn refuted_values_are_those_of_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = env!("CARGO_BIN_EXE_mcc-harness");
    let made = assert_cmd::Command::new(root.join("scripts/refuted")).arg(program).assert().success();
    let text = String::from_utf8_lossy(&made.get_output().stdout).into_owned();
    assert!(
        text == fs::read_to_string(root.join("docs/refuted.md")).unwrap(),
        "run scripts/refuted PROGRAM > docs/refuted.md"
    );
}

/// They are stated in steps of 50 lines.
#[test]
fn the_stated_sizes_of_the_checkers_are_those_of_the_script() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let counted = assert_cmd::Command::new(root.join("scripts/size")).arg("--checker").assert().success();
    let counted = String::from_utf8_lossy(&counted.get_output().stdout).into_owned();
    let page = fs::read_to_string(root.join("docs/evidence/README.md")).unwrap();
    for (part, stated) in [
        ("for evidence ", "about {}, of which"),
        ("for evidence, in src/checker", "of which {} are in `src/checker`"),
        ("the explorer", "`mcc-check` has about {} lines more"),
        ("scripts/replayer.py", "standard Python only | about {} |"),
    ] {
        let line = counted.lines().find(|line| line.starts_with(part)).unwrap();
        let number: u32 = line.split_whitespace().rev().nth(1).unwrap().replace(',', "").parse().unwrap();
        let number = (number + 25) / 50 * 50;
        let number = if number < 1000 {
            number.to_string()
        } else {
            format!("{},{:03}", number / 1000, number % 1000)
        };
        let stated = stated.replace("{}", &number);
        assert!(page.contains(&stated), "docs/evidence/README.md does not state \"{stated}\"");
    }
}
