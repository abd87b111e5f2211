//! The metadata, tables and reports that mcc-harness writes are valid for the public validators of their formats.

use crate::support::{campaign, contest, data};

use campaign::{Folder, stderr};
use mcc_harness::archive::{ArchiveLimits, unpack};
use mcc_harness::judge::judgement::Judgement;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Keys of a campaign file with everything that a publication can state, with characters that need quoting.
const PUBLICATION: &str = r#"
[publication]
title = "A \"small\" contest: <1> & 2"
date = "2018-06-26"
organizers = ["Petri, Carl Adam", "The committee"]
licence = "CC-BY-4.0"
doi = "10.5281/zenodo.1234567"

[[tool]]
entry = "tool-0"
authors = ["Müller, Änne", "O'Neil: the group"]
affiliation = "Université d'Été"
link = "https://example.org/tool?a=1&b=2"
licence = "GPL-3.0-or-later"
"#;

/// Runs `validate.py` and returns the problems that it prints.
fn problems(what: &str, path: &Path, input: &str) -> String {
    let python = Path::new(ROOT).join("build/python/bin/python");
    assert!(python.exists(), "{} is missing: run scripts/setup --tests", python.display());
    let mut validator = Command::new(python)
        .arg(Path::new(ROOT).join("tests/standards/validate.py"))
        .arg(what)
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    validator.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let ended = validator.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if ended.status.success() { String::new() } else { text(&ended.stdout) + &text(&ended.stderr) }
}

/// The archive of a campaign without machines, unpacked.
fn unpacked() -> (Folder, PathBuf) {
    let folder = Folder::with_fake_qemu(2, &["StateSpace", "ReachabilityDeadlock"], "");
    folder.fake_qemu(
        "whole_run $'STATE_SPACE STATES 18 TECHNIQUES EXPLICIT\\nFORMULA ReachabilityDeadlock TRUE TECHNIQUES EXPLICIT\\n'",
    );
    folder.run(&[]).success();
    fs::write(folder.path().join("publication.toml"), PUBLICATION).unwrap();
    let export = ["export", "results", "--archive", "a.tar.zst", "--publication", "publication.toml"];
    assert_cmd::Command::from(folder.harness(&export)).assert().success();
    let unpacked = folder.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    unpack(&folder.path().join("a.tar.zst"), &unpacked, ArchiveLimits::default()).unwrap();
    (folder, unpacked)
}

#[test]
fn the_metadata_of_an_archive_is_valid_for_public_validators() {
    let (folder, unpacked) = unpacked();
    let found = problems("archive", &unpacked, "");
    assert!(found.is_empty(), "{found}");
    // What is stated belongs to the judgement, also when the archive is judged again.
    assert_cmd::Command::from(folder.harness(&["verify", "a.tar.zst"])).assert().success();
    let judge = ["judge", "a.tar.zst", "--out", "judged"];
    assert_cmd::Command::from(folder.harness(&judge)).assert().success();
    let judgement = mcc_harness::judge::judgement::Judgement::read(&folder.path().join("judged")).unwrap();
    let publication = judgement.publication.expect("the archive has a publication");
    assert_eq!(publication.title.as_deref(), Some("A \"small\" contest: <1> & 2"));
    assert_eq!(publication.entries["tool-0"].affiliation.as_deref(), Some("Université d'Été"));
    // The validators find what is wrong: a value of another type, and a file without licence.
    let table = unpacked.join("judgement/scores.csv");
    let text = fs::read_to_string(&table).unwrap();
    fs::write(&table, text.replace("StateSpace,1,", "StateSpace,one,")).unwrap();
    fs::remove_file(unpacked.join("LICENSES/CC-BY-4.0.txt")).unwrap();
    let found = problems("archive", &unpacked, "");
    assert!(found.contains("judgement/scores.csv: ") && found.contains("REUSE: "), "{found}");
    let wrong = "[publication]\ntitle = \"a\\u0007b\"\n";
    fs::write(folder.path().join("publication.toml"), wrong).unwrap();
    let export = ["export", "results", "--archive", "b.tar.zst", "--publication", "publication.toml"];
    let refused = assert_cmd::Command::from(folder.harness(&export)).assert().code(2);
    assert!(stderr(&refused).contains("publication.toml:2: "), "{}", stderr(&refused));
}

/// The fields of the data package in a folder, as `FILE COLUMN TYPE UNIT`.
fn fields(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("datapackage.json")).unwrap();
    let package: serde_json::Value = serde_json::from_str(&text).unwrap();
    let word = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
    let mut fields = Vec::new();
    for table in package["resources"].as_array().unwrap() {
        for field in table["schema"]["fields"].as_array().unwrap() {
            let parts = [&table["path"], &field["name"], &field["type"], &field["unit"]].map(word);
            fields.push(parts.join(" "));
        }
    }
    fields
}

/// One task of SV-COMP: the result file says that the right answer is wrong, and the name of the tool has blanks.
const BENCHEXEC: &str = r#"<?xml version='1.0' encoding='utf-8'?>
<result benchmarkname="tool (new) #1" block="Loops" name="SV.Loops" tool="T" timelimit="900s">
  <columns><column title="status"/></columns>
  <run name="a, b.yml" files="[a.yml]" properties="unreach-call" expectedVerdict="true">
    <column title="status" value="true"/><column title="cputime" value="1.5s"/>
    <column title="walltime" value="2s"/><column title="memory" value="2500000B"/>
    <column hidden="true" title="category" value="wrong"/>
  </run>
</result>
"#;

#[test]
fn the_metadata_of_judgements_of_sv_comp_and_crv_are_valid_for_public_validators() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("runs")).unwrap();
    fs::write(path("runs/a.xml"), BENCHEXEC).unwrap();
    let publication = PUBLICATION.replace("tool-0", "CPAchecker-Explicit");
    fs::write(
        path("publication.toml"),
        publication + "[[tool]]\nentry = \"absent\"\nauthors = [\"No, One\"]\n",
    )
    .unwrap();
    let data = Path::new(ROOT).join("tests/data");
    let verdicts = "verdicts.csv points string -";
    for (input, edition, expected) in [
        (data.join("svcomp/2013"), "svcomp-2013", ["scores.csv success_cpu_s string s", verdicts]),
        (data.join("crv/2014"), "crv-2014", ["scores.csv overhead string -", verdicts]),
        (path("runs"), "svcomp-2025", ["recorded.csv recorded string -", "quantiles.csv cpu_s string s"]),
    ] {
        let out = path(&format!("judged-{edition}"));
        let judge = |more: &[&str]| {
            let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
            command.current_dir(&folder).arg("judge").arg(&input).args(["--edition", edition, "--out"]);
            command.arg(&out).args(more).assert().success();
        };
        judge(&["--publication", "publication.toml"]);
        let found = problems("judgement", &out, "");
        assert!(found.is_empty() && out.join("CITATION.cff").is_file(), "{edition}: {found}");
        let fields = fields(&out);
        for field in expected {
            assert!(fields.iter().any(|known| known == field), "{edition}: {field} in {fields:#?}");
        }
        let crate_text = fs::read_to_string(out.join("ro-crate-metadata.json")).unwrap();
        assert!(crate_text.contains("Petri") && !crate_text.contains("No, One"), "{crate_text}");
        let is_named = edition == "svcomp-2013";
        assert_eq!(crate_text.contains("Änne"), is_named, "{edition}");
        // The validators find a value of another type.
        let table = out.join("scores.csv");
        let text = fs::read_to_string(&table).unwrap();
        let (head, rows) = text.split_once('\n').unwrap();
        fs::write(&table, format!("{head}\n{}", rows.replacen(",0,", ",none,", 1))).unwrap();
        let found = problems("judgement", &out, "");
        assert!(found.contains("scores.csv: "), "{edition}: {found}");
        // Without publication nobody is cited, and the date is the year of the contest.
        judge(&[]);
        assert!(!out.join("CITATION.cff").exists(), "{edition}");
        let found = problems("judgement", &out, "");
        assert!(found.lines().all(|line| line.starts_with("RECOMMENDED ")), "{edition}: {found}");
        let crate_text = fs::read_to_string(out.join("ro-crate-metadata.json")).unwrap();
        let year = edition.rsplit('-').next().unwrap();
        assert!(crate_text.contains(&format!("\"datePublished\": \"{year}\"")), "{crate_text}");
    }
}

#[test]
fn the_documented_duckdb_lines_read_every_table_of_an_archive() {
    let (_folder, unpacked) = unpacked();
    let guide = fs::read_to_string(Path::new(ROOT).join("docs/archive.md")).unwrap();
    let lines: Vec<&str> = guide.lines().filter_map(|line| line.trim().strip_prefix("duckdb> ")).collect();
    let found = problems("sql", &unpacked, &lines.join("\n"));
    assert!(found.is_empty(), "{found}");
    for file in walkdir::WalkDir::new(&unpacked).into_iter().flatten() {
        let path = file.path().strip_prefix(&unpacked).unwrap().to_string_lossy().into_owned();
        if path.ends_with(".csv") {
            assert!(lines.iter().any(|line| line.contains(&format!("'{path}'"))), "no line reads {path}");
        }
    }
}

#[test]
fn sarif_of_lint_and_qualify_is_valid_for_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let output = "STATE_SPACE STATES x TECHNIQUES EXPLICIT\nSTATE_SPACE TRANSITIONS 3\n";
    fs::write(folder.path().join("a b.out"), output).unwrap();
    let harness = |args: &[&str]| {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
        command.args(args).current_dir(folder.path()).assert()
    };
    harness(&[
        "lint",
        "a b.out",
        "--examination",
        "StateSpace",
        "--sarif",
        "lint.sarif",
        "--junit",
        "lint.xml",
    ])
    .code(1);
    let tool = format!("{ROOT}/tests/tool-with-mistakes");
    let instances = format!("{ROOT}/pnml-fixtures");
    let qualify = ["qualify", "--native", &tool, "--tool", "mine", "--instances", &instances, "--limit", "5"];
    let reports = ["--examinations", "StateSpace", "--sarif", "qualify.sarif", "--junit", "qualify.xml"];
    harness(&[&qualify[..], &reports].concat()).code(1);
    for (name, uri) in [("lint", "\"uri\": \"a%20b.out\""), ("qualify", "\"uriBaseId\": \"OUTPUTS\"")] {
        let file = folder.path().join(format!("{name}.sarif"));
        let found = problems("sarif", &file, "");
        assert!(found.is_empty(), "{name}: {found}");
        let log = fs::read_to_string(&file).unwrap();
        assert!(log.contains(uri) && log.contains("\"level\": \"error\""), "{log}");
        let xml = fs::read_to_string(folder.path().join(format!("{name}.xml"))).unwrap();
        assert!(roxmltree::Document::parse(&xml).unwrap().descendants().any(|n| n.has_tag_name("failure")));
        fs::write(&file, log.replace("\"version\": \"2.1.0\"", "\"version\": \"1\"")).unwrap();
        assert!(problems("sarif", &file, "").contains("$.version"), "a wrong version is found");
    }
}

/// Builds the documentation as a site and returns its files.
fn book(folder: &Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let built = Command::new(Path::new(ROOT).join("scripts/docs")).arg(folder).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let files = walkdir::WalkDir::new(folder).into_iter().map(|file| file.unwrap().into_path());
    let files = files.filter(|path| path.is_file());
    files.map(|path| (path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

/// The values of an attribute in a page.
fn attributes<'p>(page: &'p str, name: &str) -> Vec<&'p str> {
    let start = format!(" {name}=\"");
    page.split(start.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn the_book_is_built_reproducibly_and_its_links_lead_somewhere() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| book(&folder.path().join(name)));
    assert!(one == two, "two builds differ");
    let mut checked = 0;
    let page_of = |path: &Path| one.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let own = |path: &&PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with(".html") && !["print.html", "404.html", "toc.html"].contains(&&*name)
    };
    for path in one.keys().filter(own) {
        let page = page_of(path).unwrap();
        for link in attributes(&page, "href").into_iter().chain(attributes(&page, "src")) {
            if link.contains("://") || link.starts_with("data:") {
                continue;
            }
            checked += 1;
            let (file, id) = link.split_once('#').unwrap_or((link, ""));
            let mut target = path.clone();
            if !file.is_empty() {
                target.pop();
                for part in file.split('/') {
                    if part == ".." { assert!(target.pop(), "{link}") } else { target.push(part) }
                }
            }
            let found = page_of(&target).unwrap_or_else(|| panic!("{}: {link}", path.display()));
            let has_id = id.is_empty() || attributes(&found, "id").contains(&id);
            assert!(has_id, "{}: {link}", path.display());
        }
    }
    assert!(checked > 1000, "{checked} links");
}

/// Compiles the LaTeX tables of a site with `pdflatex`; returns its log.
fn compiled(dir: &Path, judgement: &Judgement) -> String {
    let site = dir.join("site");
    let threads = std::num::NonZeroUsize::new(2).expect("two");
    mcc_harness::report::write_site(judgement, Default::default(), threads, &site).expect("a site");
    let document = "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs}\\begin{document}\n\
        \\input{podiums}\\clearpage\\input{medals}\\clearpage\\input{points}\n\\end{document}\n";
    fs::write(site.join("data/main.tex"), document).expect("a document");
    let output = Command::new("pdflatex")
        .args(["-interaction=nonstopmode", "-halt-on-error", "main.tex"])
        .current_dir(site.join("data"))
        .output()
        .expect("pdflatex starts");
    let log = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{log}");
    fs::remove_dir_all(&site).expect("a folder");
    log
}

#[test]
fn pdflatex_sets_the_tables_of_real_results_within_the_page() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |name: &str| std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    let booktabs = has("kpsewhich")
        && Command::new("kpsewhich").arg("booktabs.sty").output().is_ok_and(|found| found.status.success());
    if !has("pdflatex") || !booktabs {
        return data::not_run("no pdflatex with booktabs (texlive-latex-recommended)");
    }
    let dir = tempfile::tempdir().expect("a folder");
    let mut judgement = contest::full_size();
    let log = compiled(dir.path(), &judgement);
    assert!(!log.contains("Overfull"), "{log}");
    for (entry, name) in
        judgement.entries.iter_mut().zip([r"a_b%&#~^\$", "{é}ß--ü", "[x]", "*", r"\input{x}", "<<a>>"])
    {
        entry.entry = name.into();
    }
    compiled(dir.path(), &judgement);
}
