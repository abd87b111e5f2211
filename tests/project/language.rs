//! The project's texts use standard terms (docs/glossary.md): words of its former private vocabulary are refused.

use std::fs;
use std::path::Path;
use walkdir::WalkDir;

/// The files that are read: code, messages, site, documents and scripts.
const ROOTS: [&str; 13] = [
    "src",
    "tests",
    "benches",
    "fuzz",
    "scripts",
    "docs",
    "editions",
    "demo",
    "vm-images",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "Cargo.toml",
];

/// Former words, with the terms that replaced them. A space stands for any white space, `-` or `_`.
const WORDS: [(&str, &str); 43] = [
    ("jury", "judge"),
    ("juror", "judge"),
    ("machine room", "host and virtual machines"),
    ("room", "environment, free space, module"),
    ("rooms", "modules"),
    ("door", "a technical term"),
    ("doors", "a technical term"),
    ("desk", "IdResolver"),
    ("glance", "record summary"),
    ("pulse", "stall detector"),
    ("patience", "timeout"),
    ("sister", "other contests"),
    ("sisters", "other contests"),
    ("struck", "removed, excluded"),
    ("hang on", "depend on"),
    ("hangs on", "depends on"),
    ("settle", "decide"),
    ("settles", "decides"),
    ("settled", "decided"),
    ("teach", "add to"),
    ("teaches", "adds to"),
    ("way out", "remedy"),
    ("ours", "infrastructure, of mcc-harness"),
    ("told", "reported, given"),
    ("fair machine", "ended in infrastructure, not run yet"),
    ("stretch", "batch"),
    ("stretches", "batches"),
    ("vanish", "is removed"),
    ("vanishes", "is removed"),
    ("anew", "again"),
    ("laws", "properties"),
    ("trouble", "infrastructure failure"),
    ("troubles", "infrastructure failures"),
    ("conduct", "run"),
    ("misbehaving", "abnormal"),
    ("misbehaves", "does not follow the protocol"),
    ("stand in", "fake"),
    ("last words", "last log lines"),
    ("surroundings", "environment"),
    ("nobody's", "of no entry"),
    ("half there", "incomplete"),
    ("whoever", "the process that"),
    ("out of turn", "unexpectedly"),
];

/// Where a former word is still read: old keys of records, campaigns and editions.
const STILL_READ: [(&str, &str); 9] = [
    ("src/campaign/slurm.rs", "anew"),
    ("src/edition/layers.rs", "patience"),
    ("src/edition/rules.rs", "patience"),
    ("src/store/format.rs", "room"),
    ("src/store/format.rs", "troubles"),
    ("src/store/attempt.rs", "room"),
    ("src/store/record_summary.rs", "troubles"),
    ("tests/records/store.rs", "room"),
    ("tests/records/store.rs", "troubles"),
];

/// Lines that give a key or an option its old name too, and models whose names have a former word.
fn is_exempt(line: &str) -> bool {
    line.contains("alias") || line.contains("LibraryRoom") || line.contains("UtilityControlRoom")
}

/// The words of a line, in lower case; `'` belongs to a word. An identifier is split at `_` and at capitals.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous = ' ';
    for c in line.chars() {
        let is_part = c.is_alphabetic() || (c == '\'' && previous.is_alphabetic());
        if !is_part || (c.is_uppercase() && previous.is_lowercase()) {
            words.push(String::new());
        }
        if is_part {
            words.last_mut().expect("never empty").extend(c.to_lowercase());
        }
        previous = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn former_words(line: &str) -> Vec<(&'static str, &'static str)> {
    let words = words(line);
    let occurs = |former: &str| {
        let former: Vec<&str> = former.split(' ').collect();
        words.windows(former.len()).any(|window| window == former)
    };
    WORDS.into_iter().filter(|(former, _)| !is_exempt(line) && occurs(former)).collect()
}

#[test]
fn no_text_uses_the_former_vocabulary() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut read = 0;
    for start in ROOTS {
        // The last two have texts of others: licences and a standard.
        let skipped = |name: &str| {
            ["target", "corpus", "grown", "node_modules", "licences", "ro-crate-1.2-context.json"]
                .contains(&name)
        };
        let files = WalkDir::new(root.join(start)).into_iter();
        for file in files.filter_entry(|entry| !skipped(&entry.file_name().to_string_lossy())) {
            let path = file.expect("readable").into_path();
            let Some(text) = path.is_file().then(|| fs::read_to_string(&path).ok()).flatten() else {
                continue;
            };
            // Published tables have the names of models.
            let ends = |ending: &str| path.extension().is_some_and(|extension| extension == ending);
            let published = ends("csv") && path.starts_with(root.join("tests/data"));
            if path.ends_with("tests/project/language.rs") || ends("lock") || published {
                continue;
            }
            read += 1;
            for (number, line) in text.lines().enumerate() {
                let file = path.strip_prefix(root).unwrap().display().to_string();
                let former =
                    former_words(line).into_iter().filter(|(word, _)| !STILL_READ.contains(&(&file, word)));
                found.extend(
                    former.map(|(word, term)| format!("{file}:{}: `{word}`: write {term}", number + 1)),
                );
            }
        }
    }
    assert!(read > 300, "only {read} files were found");
    assert!(found.is_empty(), "{} former words:\n{}", found.len(), found.join("\n"));
}

#[test]
fn former_words_are_found_in_prose_and_in_identifiers() {
    let found = |line| former_words(line).into_iter().map(|(word, _)| word).collect::<Vec<_>>();
    assert_eq!(found("let sister_podiums = theJury(way_out);"), ["jury", "sister", "way out"]);
    assert_eq!(found("A medal hangs on it; nobody's."), ["hangs on", "nobody's"]);
    assert_eq!(found("a program that hangs; mushroom; outdoor; course"), [""; 0]);
    assert_eq!(found("#[serde(alias = \"patience\")]"), [""; 0]);
}
