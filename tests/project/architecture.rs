//! No cycle of dependent files in a crate has more than three.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

#[test]
fn no_four_files_of_a_crate_depend_on_one_another() {
    let mut found = Vec::new();
    let roots = walkdir::WalkDir::new(SOURCE).into_iter().map(Result::unwrap);
    let roots = roots.filter(|file| ["lib.rs", "main.rs"].contains(&file.file_name().to_str().unwrap()));
    for folder in roots.map(|root| root.path().parent().unwrap().to_owned()) {
        let mut files = Files::new();
        read(&folder, &[], &mut files);
        let long = cycles(&files).into_iter().filter(|cycle| cycle.len() > 3);
        found.extend(long.map(|cycle| (folder.clone(), cycle)));
    }
    assert!(found.is_empty(), "{found:?}");
}

/// A child process that is started elsewhere would get all variables of the program.
#[test]
fn only_one_module_starts_processes() {
    for file in walkdir::WalkDir::new(SOURCE).into_iter().map(Result::unwrap) {
        let path = file.path();
        let inside = path.strip_prefix(SOURCE).unwrap().to_string_lossy().into_owned();
        // The guest agent has no variables of the host; the others are a build script and a test.
        let may = ["base/child_process.rs", "plugin/build.rs", "vm/host/lease_attacks.rs"]
            .contains(&inside.as_str())
            || inside.starts_with("bin/");
        if may || path.extension().is_none_or(|extension| extension != "rs") || inside.contains("tests") {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\n").next().unwrap();
        assert!(!code.contains("Command::new("), "{inside} starts a process: use mcc_base::child_process");
    }
}

#[test]
fn a_cycle_through_reexported_names_is_found() {
    let file = |module: &str, text: &str| (segments(module), text.to_owned());
    let mut files = Files::from([
        file("", "mod a;\nmod b;\nmod d;\npub use b::{Inner, c::{self, C as Outer}};"),
        file("a", "use super::Outer;\nfn a() {}"),
        file("b", "pub mod c;\npub struct Inner;"),
        file("b::c", "use crate::d;\npub struct C;"),
        file("d", "fn d() { crate::Inner; crate::a::a() }"),
    ]);
    assert_eq!(cycles(&files), BTreeSet::from([["a", "b::c", "d"].map(segments).into()]));
    files.insert(segments("d"), "#[cfg(test)]\nmod tests { use crate::a::a; }".to_owned());
    assert!(cycles(&files).is_empty());
}

/// The segments of a path such as a module of a crate: `["a", "b"]`; empty for the root.
type Segments = Vec<String>;

/// The text of every module of a crate.
type Files = BTreeMap<Segments, String>;

fn segments(path: &str) -> Segments {
    path.split("::").filter(|segment| !segment.is_empty()).map(str::to_owned).collect()
}

/// Reads the modules below a folder. A folder with its own manifest is another crate and is not read.
fn read(folder: &Path, module: &[String], files: &mut Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let own = if ["lib", "main", "mod"].contains(&name) { vec![] } else { vec![name.to_owned()] };
        let child = [module, &own].concat();
        if path.is_dir() && !path.join("Cargo.toml").exists() {
            read(&path, &child, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            *files.entry(child).or_default() += &fs::read_to_string(&path).unwrap();
        }
    }
}

/// The largest sets of modules in which each module depends, directly or not, on each other one.
fn cycles(files: &Files) -> BTreeSet<BTreeSet<Segments>> {
    let used: BTreeMap<_, _> = files.keys().map(|module| (module, dependencies(files, module))).collect();
    let reached = |from| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            open.extend(used[module].iter().filter(|next| reached.insert((*next).clone())));
        }
        (from, reached)
    };
    let reached: BTreeMap<&Segments, _> = files.keys().map(reached).collect();
    let cycle =
        |module| reached[module].iter().filter(|other| reached[other].contains(module)).cloned().collect();
    files.keys().map(cycle).filter(|cycle: &BTreeSet<_>| !cycle.is_empty()).collect()
}

/// The other modules whose items a module uses. An item that it only re-exports does not count, nor does an item of a
/// module that contains it (an error type of `lib.rs`).
fn dependencies(files: &Files, module: &[String]) -> BTreeSet<Segments> {
    let (uses, rest) = uses(&files[module]);
    let words: BTreeSet<&str> = rest.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let inline = rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    let inline = inline.filter(|path| path.contains("::")).map(segments);
    let used = uses.into_iter().filter(|(exported, name, _)| !exported || words.contains(name.as_str()));
    let found = used.map(|item| item.2).chain(inline).filter_map(|path| resolve(files, module, &path));
    found.filter(|found| !module.starts_with(found)).collect()
}

/// The module that defines the item of a path; None if it belongs to another crate.
fn resolve(files: &Files, module: &[String], path: &[String]) -> Option<Segments> {
    let mut at = module.to_vec();
    for (number, name) in path.iter().enumerate() {
        let child = [&at[..], std::slice::from_ref(name)].concat();
        match name.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => drop(at.pop()?),
            _ if files.contains_key(&child) => at = child,
            _ if number == 0 => return None,
            _ => {
                let exported = uses(&files[&at]).0.into_iter().find(|item| item.1 == *name);
                return exported.map_or(Some(at.clone()), |item| resolve(files, &at, &item.2));
            }
        }
    }
    Some(at)
}

/// The items of a file's `use` statements (whether re-exported, local name, path), and the text of the file without
/// these statements, comments and tests.
fn uses(text: &str) -> (Vec<(bool, String, Segments)>, String) {
    let (mut uses, mut rest) = (Vec::new(), String::new());
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
    let text: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap()).collect();
    for statement in text.join("\n").split(';') {
        let is_use = |before: &str| before.is_empty() || before.ends_with(['\n', ' ']);
        let Some((before, tree)) = statement.rsplit_once("use ").filter(|(before, _)| is_use(before)) else {
            rest += if statement.trim_start().contains("mod ") { "" } else { statement };
            continue;
        };
        rest += before;
        let mut tree = tree.replace(" as ", "@").replace(char::is_whitespace, "");
        while let Some((open, length)) = tree.rfind('{').and_then(|at| Some((at, tree[at..].find('}')?))) {
            let start = tree[..open].rfind(['{', ',']).map_or(0, |at| at + 1);
            let parts = tree[open + 1..open + length].split(',');
            let parts: Vec<String> = parts.map(|part| format!("{}{part}", &tree[start..open])).collect();
            tree.replace_range(start..=open + length, &parts.join(","));
        }
        for path in tree.split(',').map(|path| path.strip_suffix("::self").unwrap_or(path)) {
            let (path, name) = path.split_once('@').unwrap_or((path, path.rsplit("::").next().unwrap()));
            uses.push((before.trim_end().ends_with(['b', ')']), name.to_owned(), segments(path)));
        }
    }
    (uses, rest)
}
