//! Reads and checks the instances that the contest distributes, and instances with faults.

use crate::support::data;

use mcc_harness::benchkit::{Answers, Questions, Reading};
use mcc_harness::edition::Edition;
use mcc_harness::judge::oracle;
use mcc_harness::model::{Archive, NetKind, Severity, validate};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn archives(mut paths: Vec<PathBuf>) -> Vec<Archive> {
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "tgz"));
    paths.iter().map(|path| Archive::open(path).unwrap()).collect()
}

#[test]
fn every_instance_of_the_contest_is_read_as_its_manifest_states() {
    let Some(folder) = data::shared("mcc/inputs") else { return };
    let mut manifest = csv::Reader::from_path(folder.join("MANIFEST.csv")).unwrap();
    let header = manifest.headers().unwrap().clone();
    let mut read = 0;
    for row in manifest.records() {
        let row = row.unwrap();
        let column = |name: &str| row.get(header.iter().position(|h| h == name).unwrap()).unwrap();
        let instance = column("instance");
        let archive = Archive::open(&folder.join(format!("{instance}.tgz"))).unwrap();
        let net = archive.net().unwrap();
        let arcs = || net.transitions.iter().flat_map(|t| t.inputs.iter().chain(&t.outputs));
        assert_eq!(archive.instance.as_str(), instance);
        assert_eq!(archive.instance.family(), column("family"));
        assert_eq!(archive.markers().scale.as_deref(), Some(archive.instance.scale()));
        assert_eq!(archive.markers().new_model, column("status") == "surprise", "{instance}");
        assert_eq!(net.kind == NetKind::Coloured, column("coloured") == "yes", "{instance}");
        assert_eq!(net.places.len().to_string(), column("places"), "{instance}");
        assert_eq!(net.transitions.len().to_string(), column("transitions"), "{instance}");
        assert_eq!(arcs().count().to_string(), column("arcs"), "{instance}");
        assert_eq!(archive.nupn(&net).unwrap().is_some(), column("nupn") == "yes", "{instance}");
        if net.kind == NetKind::PlaceTransition {
            let tokens = || net.places.iter().map(|place| place.initial);
            assert_eq!(tokens().max().unwrap().to_string(), column("max_initial_tokens"), "{instance}");
            assert_eq!(tokens().sum::<u64>().to_string(), column("sum_initial_tokens"), "{instance}");
            let weight = arcs().map(|arc| arc.weight).max().unwrap();
            assert_eq!(weight.to_string(), column("max_arc_weight"), "{instance}");
        }
        for file in column("formula_files").split_whitespace() {
            let examination = file.strip_suffix(".xml").unwrap_or(file);
            let properties = archive.properties(examination).unwrap().unwrap();
            let count = if examination == "ReachabilityDeadlock" { 1 } else { 16 };
            assert_eq!(properties.len(), count, "{instance} {examination}");
        }
        read += 1;
    }
    assert_eq!(read, 48);
}

#[test]
fn published_instances_are_valid_and_have_known_warnings() {
    let mut warnings = Vec::new();
    for (folder, count) in [("mcc/inputs", 48), ("mcc/2023/inputs", 6), ("mcc/2025/inputs", 6)] {
        let Some(paths) = data::listed(folder) else { return };
        let archives = archives(paths);
        assert_eq!(archives.len(), count);
        for archive in archives {
            for finding in validate(&archive) {
                assert_eq!(finding.severity, Severity::Warning, "{folder}: {finding}");
                warnings.push(finding.to_string());
            }
        }
    }
    for expected in [
        "RefineWMG-PT-002002/model.pnml: the net's id is \"RefineWMG-PT-002-002\", not the instance's name",
        "RefineWMG-PT-002002/CTLCardinality.xml: ids such as \"RefineWMG-PT-002-002-CTLCardinality-00\" do not begin",
        "BART-PT-002/CTLFireability.xml: properties with an empty list of places or transitions: 6",
    ] {
        assert!(warnings.iter().any(|warning| warning.contains(expected)), "{expected}\n{warnings:#?}");
    }
}

/// The findings of a small valid, unpacked instance in which `old` in `file` is replaced by `new`. With an empty `old`
/// the file is missing.
fn findings(file: &str, old: &str, new: &str) -> Vec<String> {
    let folder = tempfile::TempDir::new().unwrap();
    let instance = folder.path().join("Small-PT-2");
    fs::create_dir(&instance).unwrap();
    let set = |examination: &str, count: usize, formula: &str| {
        let property = |n| {
            format!(
                "<property><id>Small-PT-2-{examination}-{n:02}</id>\n<formula>{formula}</formula></property>\n"
            )
        };
        let properties: String = (0..count).map(property).collect();
        (format!("{examination}.xml"), format!("<property-set>\n{properties}</property-set>\n"))
    };
    let fireable =
        "<exists-path><finally><is-fireable><transition>t</transition></is-fireable></finally></exists-path>";
    let cardinality = "<all-paths><globally><integer-le><tokens-count><place>p</place></tokens-count>\
                       <integer-constant>1</integer-constant></integer-le></globally></all-paths>";
    let model = "<?xml version='1.0'?>
<pnml><net id='Small-PT-2' type='http://www.pnml.org/version-2009/grammar/ptnet'><page id='page'>
<place id='p'><initialMarking><text>1</text></initialMarking></place>
<transition id='t'/>
<arc id='a' source='p' target='t'/>
<toolspecific tool='nupn' version='1.1'><size places='1' transitions='1' arcs='1'/>
<structure units='1' root='u' safe='true'><unit id='u'><places>p</places><subunits/></unit></structure></toolspecific>
</page></net></pnml>
";
    let verdicts = "<toolspecific tool='propertiesverdict'>\n<verdict reference='SAFE' value='true'/>
<verdict reference='ORDINARY' value='true'/>\n</toolspecific>\n";
    let mut files = vec![
        ("model.pnml".to_owned(), model.to_owned()),
        ("iscolored".to_owned(), "FALSE\n".to_owned()),
        ("instance".to_owned(), "2\n".to_owned()),
        ("equiv_col".to_owned(), "FALSE\n".to_owned()),
        ("GenericPropertiesVerdict.xml".to_owned(), verdicts.to_owned()),
        set("UpperBounds", 16, "<place-bound><place>p</place></place-bound>"),
        set("ReachabilityDeadlock", 1, "<exists-path><finally><deadlock/></finally></exists-path>"),
    ];
    for logic in ["Reachability", "CTL", "LTL"] {
        files.push(set(&format!("{logic}Cardinality"), 16, cardinality));
        files.push(set(&format!("{logic}Fireability"), 16, fireable));
    }
    for (name, text) in &files {
        if name != file {
            fs::write(instance.join(name), text).unwrap();
        } else if !old.is_empty() {
            assert!(text.contains(old), "{name} has no {old}");
            fs::write(instance.join(name), text.replace(old, new)).unwrap();
        }
    }
    validate(&Archive::open(&instance).unwrap()).iter().map(std::string::ToString::to_string).collect()
}

/// Makes one change in a file of a valid instance, and expects a finding that contains a text: file, old, new, text.
fn assert_found(changes: &[[&str; 4]]) {
    for [file, old, new, expected] in changes {
        let found = findings(file, old, new);
        assert!(found.iter().any(|finding| finding.contains(expected)), "{expected}\n{found:#?}");
    }
}

#[test]
fn faults_of_a_net_are_found_by_file_and_line() {
    assert_found(&[
        ["model.pnml", "</page>", "", "error: Small-PT-2/model.pnml:8: not well-formed XML"],
        ["model.pnml", "source='p'", "source='x'", "error: Small-PT-2/model.pnml:5: arc a refers to \"x\""],
        [
            "model.pnml",
            "id='a'",
            "id='p'",
            "error: Small-PT-2/model.pnml:5: the id \"p\" was already used in line 3",
        ],
        ["iscolored", "FALSE", "TRUE", "error: Small-PT-2/iscolored:1: iscolored is TRUE, but the net is"],
        [
            "model.pnml",
            "ptnet'><page id='page'>\n<place id='p'><initialMarking><text>1</text></initialMarking></place>",
            "symmetricnet'><page id='page'>\n<place id='p'/>",
            "error: Small-PT-2/model.pnml: the net is a coloured net, but by its name",
        ],
        [
            "model.pnml",
            "<text>1",
            "<text>2",
            "error: Small-PT-2/model.pnml:6: NUPN states safe, but p has 2 initial",
        ],
        [
            "model.pnml",
            "<text>1",
            "<text>2",
            "error: Small-PT-2/GenericPropertiesVerdict.xml:2: SAFE is true, but p has 2 initial tokens",
        ],
        [
            "model.pnml",
            "target='t'/>",
            "target='t'><inscription><text>3</text></inscription></arc>",
            "error: Small-PT-2/GenericPropertiesVerdict.xml:3: ORDINARY is true, but an arc at p has the weight 3",
        ],
        [
            "model.pnml",
            "<text>1",
            "<text>5000000000",
            "warning: Small-PT-2/model.pnml: the initial marking has 5000000000",
        ],
        [
            "model.pnml",
            "arcs='1'",
            "arcs='2'",
            "error: Small-PT-2/model.pnml:6: NUPN states 2 arcs, but there are 1",
        ],
    ]);
}

#[test]
fn faults_of_marker_files_are_found_by_file_and_line() {
    assert_found(&[
        [
            "GenericPropertiesVerdict.xml",
            "'true'",
            "'yes'",
            "error: Small-PT-2/GenericPropertiesVerdict.xml:2: <verdict value=\"yes\">",
        ],
        [
            "iscolored",
            "FALSE",
            "TRUE",
            "error: Small-PT-2/iscolored:1: iscolored is TRUE, but the net is a P/T net",
        ],
        ["iscolored", "FALSE", "no", "error: Small-PT-2/iscolored:1: is \"no\"; write TRUE or FALSE"],
        ["iscolored", "", "", "error: Small-PT-2/iscolored: is missing"],
        [
            "iscolored",
            "FALSE",
            "FALSE\r\n",
            "error: Small-PT-2/iscolored:1: has white space other than a line feed",
        ],
        ["equiv_col", "FALSE", "FALSE\u{a0}", "error: Small-PT-2/equiv_col:1: has white space other than"],
        ["instance", "2", "3", "error: Small-PT-2/instance:1: is \"3\", but \"2\" in the instance's name"],
        ["equiv_col", "", "", "warning: Small-PT-2/equiv_col: is missing"],
    ]);
}

#[test]
fn faults_of_formulas_are_found_by_file_and_line() {
    assert_found(&[
        [
            "CTLFireability.xml",
            ">t<",
            ">x<",
            "error: Small-PT-2/CTLFireability.xml:3: the net has no transition \"x\"",
        ],
        ["UpperBounds.xml", ">p<", ">t<", "error: Small-PT-2/UpperBounds.xml:3: the net has no place \"t\""],
        ["LTLCardinality.xml", "-00</id>", "-01</id>", "error: Small-PT-2/LTLCardinality.xml:4: the id"],
        [
            "CTLCardinality.xml",
            "<property><id>Small-PT-2-CTLCardinality-15</id>",
            "</property-set><property-set>",
            "error: Small-PT-2/CTLCardinality.xml:32: not well-formed XML",
        ],
        [
            "UpperBounds.xml",
            "Small-PT-2-",
            "Tiny-PT-2-",
            "warning: Small-PT-2/UpperBounds.xml: ids such as \"Tiny-PT-2-UpperBounds-00\"",
        ],
        [
            "CTLFireability.xml",
            "<transition>t</transition>",
            "",
            "warning: Small-PT-2/CTLFireability.xml: properties with an empty list of places or transitions: 16",
        ],
        ["LTLFireability.xml", "", "", "error: Small-PT-2/LTLFireability.xml: is missing"],
        [
            "ReachabilityDeadlock.xml",
            "</property-set>",
            "<property><id>b</id><formula><deadlock/></formula></property></property-set>",
            "error: Small-PT-2/ReachabilityDeadlock.xml: 2 properties, but ReachabilityDeadlock has 1",
        ],
        [
            "ReachabilityDeadlock.xml",
            "<exists-path><finally><deadlock/></finally></exists-path>",
            "<place-bound><place>p</place></place-bound>",
            "is not a formula of ReachabilityDeadlock",
        ],
    ]);
}

#[test]
fn an_instance_without_faults_has_no_findings() {
    assert_eq!(findings("none", "", ""), [""; 0]);
    for (file, old, new) in [
        ("model.pnml", "<place id='p'", "<place id='p' xml:id='q'"),
        ("model.pnml", "<place id='p'", "<place xml:id='q' id='p'"),
        ("CTLCardinality.xml", "<place>p</place>", "<place>p</place><!-- the only one -->"),
    ] {
        assert_eq!(findings(file, old, new), [""; 0], "{new}");
    }
    let later = findings("ReachabilityDeadlock.xml", "", "");
    assert_eq!(later, [""; 0], "editions after 2018 have no such file");
}

#[test]
fn an_archive_under_another_name_is_an_error() {
    let Some(tgz) = data::shared("mcc/inputs/Philosophers-PT-000005.tgz") else { return };
    let folder = tempfile::TempDir::new().unwrap();
    let other = folder.path().join("Philosophers-PT-000010.tgz");
    fs::copy(tgz, &other).unwrap();
    let found = validate(&Archive::open(&other).unwrap());
    assert!(
        found[0].to_string().contains("the archive holds the folder Philosophers-PT-000005"),
        "{found:?}"
    );
}

/// The recipe of CONTRIBUTING.md, step 1.
#[test]
fn an_invented_examination_is_one_entry_in_an_edition() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("invented.toml");
    let entry = "[[examination]]\nname = \"ReachabilityInvented\"\nanswers = \"boolean\"\nvalues = 16\n\
                 [[podium]]\ncategory = \"Invented\"\nexaminations = [\"ReachabilityInvented\"]\n";
    fs::write(&file, format!("{}\n{entry}", include_str!("../../editions/mcc-2018.toml"))).unwrap();
    let edition = Edition::load(file.to_str().unwrap()).unwrap();
    let (_, examination) = edition.examination("ReachabilityInvented").unwrap();

    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("pnml-fixtures/DiningTable-PT-03.tgz");
    let unpacked = Command::new("tar").arg("xzf").arg(packed).arg("-C").arg(folder.path()).status().unwrap();
    assert!(unpacked.success());
    let instance = folder.path().join("DiningTable-PT-03");
    let known = fs::read_to_string(instance.join("ReachabilityCardinality.xml")).unwrap();
    let properties = known.replace("ReachabilityCardinality", "ReachabilityInvented");
    let write = |text: &str| fs::write(instance.join("ReachabilityInvented.xml"), text).unwrap();
    write(&properties);

    let archive = Archive::open(&instance).unwrap();
    assert_eq!(validate(&archive), []);
    let questions = Questions::read(&archive, examination).unwrap();
    let ids = questions.ids.clone().unwrap();
    assert_eq!((ids.len(), ids[1].as_str()), (16, "DiningTable-PT-03-ReachabilityInvented-01"));
    let printed = format!("FORMULA {} FALSE TECHNIQUES EXPLICIT\n", ids[1]);
    let answers = Answers::read(printed.as_bytes(), &questions, Reading::default()).unwrap();
    assert_eq!((answers.values[1].clone(), answers.anomalies.len()), (Some("F".parse().unwrap()), 0));
    let oracle = oracle::file(Path::new("o"), "DiningTable-PT-03", &examination.name);
    assert_eq!(oracle.unwrap(), Path::new("o/DiningTable-PT-03-ReachabilityInvented.out"));

    let place = properties.split("<place>").nth(1).unwrap().split("</place>").next().unwrap();
    write(&properties.replace(&format!("<place>{place}</place>"), "<place>nowhere</place>"));
    let findings = validate(&Archive::open(&instance).unwrap());
    assert_eq!(findings[0].file, "DiningTable-PT-03/ReachabilityInvented.xml");
    assert_eq!(findings[0].message, "the net has no place \"nowhere\"");
}
