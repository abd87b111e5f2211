//! Obfuscated instances (T-5): the same nets and formulas at each position, without data that identify the model.

use crate::support::data;
use crate::support::runs;
use crate::support::tool;

use assert_cmd::Command;
use flate2::read::GzDecoder;
use mcc_harness::model::{Archive, Severity, obfuscate, validate};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const SEED: &str = "a seed of the organizers";

/// The obfuscated archive and its names: kind, original, obfuscated.
fn obfuscated(archive: &Path, seed: &str, folder: &Path) -> (PathBuf, Vec<[String; 3]>) {
    let mut names = Vec::new();
    let made = obfuscate(&Archive::open(archive).unwrap(), seed, folder, &mut |new| {
        names.push([new.kind, new.original, new.obfuscated].map(str::to_owned));
        Ok(())
    });
    (made.unwrap_or_else(|error| panic!("{}: {error}", archive.display())).path, names)
}

fn archives(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "tgz"));
    paths.sort();
    paths
}

/// The errors of an archive.
fn findings(archive: &Path) -> Vec<(Severity, String)> {
    let found = validate(&Archive::open(archive).unwrap());
    found
        .into_iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|f| (f.severity, f.to_string()))
        .collect()
}

fn text(archive: &Path) -> String {
    let mut tar = Vec::new();
    GzDecoder::new(fs::File::open(archive).unwrap()).read_to_end(&mut tar).unwrap();
    String::from_utf8_lossy(&tar).into_owned()
}

#[test]
fn real_instances_stay_valid_and_none_of_their_names_is_left() {
    let mut all = archives(&tool::fixtures());
    for folder in ["mcc/inputs", "mcc/2023/inputs", "mcc/2025/inputs"] {
        let Some(paths) = data::listed(folder) else { return };
        all.extend(paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "tgz")));
    }
    assert!(all.len() > 60, "{}", all.len());
    let folder = TempDir::new().unwrap();
    for original in all {
        let (path, names) = obfuscated(&original, SEED, folder.path());
        let (before, after) = (findings(&original), findings(&path));
        assert_eq!(before.len(), after.len(), "{}: {after:?}", original.display());
        let archive = Archive::open(&original).unwrap();
        let (net, new) = (archive.net().unwrap(), Archive::open(&path).unwrap().net().unwrap());
        let by_name: BTreeMap<&str, &str> =
            names.iter().map(|[_, old, new]| (old.as_str(), new.as_str())).collect();
        assert_eq!(new.id, by_name[archive.instance.as_str()]);
        assert_eq!((net.kind, net.places.len()), (new.kind, new.places.len()));
        for (old, new) in net.places.iter().zip(&new.places) {
            assert_eq!((by_name[old.id.as_str()], old.initial), (new.id.as_str(), new.initial));
        }
        for (old, new) in net.transitions.iter().zip(&new.transitions) {
            assert_eq!(by_name[old.id.as_str()], new.id);
            assert_eq!((&old.inputs, &old.outputs), (&new.inputs, &new.outputs));
        }
        let text = text(&path);
        for word in [archive.instance.as_str(), archive.instance.family()] {
            assert!(!text.contains(word), "{} still has {word}", original.display());
        }
        let long = |name: &&[String; 3]| name[1].len() > 6 && name[1] != name[2] && name[0] != "instance";
        for [kind, old, _] in names.iter().filter(long).take(40) {
            let quoted = [format!("\"{old}\""), format!(">{old}<"), format!(" {old} ")];
            assert!(quoted.iter().all(|old| !text.contains(old)), "{}: {kind} {old}", original.display());
        }
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_another_other_names() {
    let original = tool::fixtures().join("GreedyClerks-PT-03.tgz");
    let folders = [(); 3].map(|()| TempDir::new().unwrap());
    let made = [SEED, SEED, "another"].map(std::borrow::ToOwned::to_owned);
    let made: Vec<_> =
        made.iter().zip(&folders).map(|(seed, folder)| obfuscated(&original, seed, folder.path())).collect();
    assert_eq!(fs::read(&made[0].0).unwrap(), fs::read(&made[1].0).unwrap());
    assert_eq!(made[0].1, made[1].1);
    let shared = made[0].1.iter().filter(|name| name[0] != "property" && made[2].1.contains(name));
    assert_eq!(shared.count(), 0);
    // Instances of one family stay in one family.
    let other = tool::fixtures().join("GreedyClerks-PT-06.tgz");
    let (other, _) = obfuscated(&other, SEED, folders[2].path());
    let family = |path: &Path| Archive::open(path).unwrap().instance.family().to_owned();
    assert_eq!(family(&other), family(&made[0].0));
}

#[test]
fn a_formula_asks_about_the_same_place_as_before() {
    let folder = TempDir::new().unwrap();
    let instance = folder.path().join("Blanks-PT-1");
    fs::create_dir(&instance).unwrap();
    // Programs do not take a no-break space for white space of XML.
    let net = "<pnml><net id='n' type='ptnet'><page id='g'><place id='&#160;p'/><place id='p'/></page></net></pnml>";
    let formula = "<property-set><property hint='Blanks'><id>Blanks-PT-1-UpperBounds-00</id><description>d</description><formula>\
                   <place-bound><place> &#160;p </place></place-bound></formula></property></property-set>";
    fs::write(instance.join("model.pnml"), net).unwrap();
    fs::write(instance.join("UpperBounds.xml"), formula).unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let (path, names) = obfuscated(&instance, SEED, &out);
    let new = names.iter().find(|[_, original, _]| original == "\u{a0}p").unwrap();
    let property = &Archive::open(&path).unwrap().properties("UpperBounds").unwrap().unwrap()[0];
    assert!(property.formula.to_string().contains(&new[2]), "{new:?} in {}", property.formula);
    assert!(!text(&path).contains("hint"), "an attribute without a meaning");
}

/// The values of the reference tool by position.
fn answers(folder: &Path, examination: &str) -> Vec<String> {
    // The order of the ids is that of the positions, for original and obfuscated instances.
    tool::run(folder, examination, "--strategy bfs").answers.into_values().collect()
}

#[test]
fn the_reference_tool_gives_equal_answers_when_obfuscated() {
    let mut all: Vec<PathBuf> =
        ["TokenLoop-PT-03", "GreedyClerks-PT-03", "CrateDepot-PT-K3M2B12", "LibraryRoom-PT-R05W02"]
            .map(|name| tool::fixtures().join(format!("{name}.tgz")))
            .to_vec();
    if let Some(inputs) = data::shared("mcc/inputs") {
        // RefineWMG's ids do not begin with its name, AutoFlight has a NUPN section.
        for name in ["TokenRing-PT-005", "Philosophers-PT-000005", "AutoFlight-PT-01a", "RefineWMG-PT-002002"]
        {
            all.push(inputs.join(format!("{name}.tgz")));
        }
    }
    let folder = TempDir::new().unwrap();
    let mut compared = 0;
    for original in all {
        let (path, _) = obfuscated(&original, SEED, folder.path());
        let (before, after) = (tool::unpack(&original), tool::unpack(&path));
        for (examination, _) in tool::EXAMINATIONS {
            let given = answers(&before.path, examination);
            assert_eq!(answers(&after.path, examination), given, "{} {examination}", original.display());
            compared += given.len();
        }
    }
    assert!(compared > 300, "{compared}");
}

fn harness(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output =
        Command::cargo_bin("mcc-harness").unwrap().current_dir(folder).args(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn done(folder: &Path, arguments: &[&str]) {
    let (code, error) = harness(folder, arguments);
    assert_eq!(code, 0, "{arguments:?}: {error}");
}

#[test]
fn an_obfuscated_disk_and_its_names_are_replaced_together() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("models")).unwrap();
    let archive = "TokenLoop-PT-03.tgz";
    fs::copy(tool::fixtures().join(archive), at("models").join(archive)).unwrap();
    let build = |out: &str, seed: &str| {
        harness(folder.path(), &["image", "inputs", "models", "--out", out, "--obfuscate", seed])
    };
    let state = || ["disk/image.json", "disk.names.csv"].map(|file| fs::read(at(file)).unwrap());
    // A shell completes the name of a folder with a slash.
    for seed in ["first", "second"] {
        let (code, error) = build("disk/", seed);
        assert_eq!(code, 0, "{error}");
        let names = fs::read_to_string(at("disk.names.csv")).unwrap();
        let packed = fs::read_dir(at("disk/archives")).unwrap().next().unwrap().unwrap().file_name();
        assert!(names.contains(packed.to_str().unwrap().strip_suffix(".tgz").unwrap()), "{names}");
    }
    let before = state();
    fs::write(at("disk/notes"), "").unwrap();
    let (code, error) = build("disk", "third");
    assert!(code == 2 && error.contains("not a file of its image"), "{code} {error}");
    assert!(state() == before);
    // There is no place for the names: the image is not made either.
    nix::unistd::mkfifo(&at("pipe.names.csv"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for out in ["pipe", &"x".repeat(250)] {
        let (code, error) = build(out, "third");
        assert!(code == 2 && error.contains(out), "{code} {error}");
        assert!(!at(out).exists());
    }
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 4, "models, disk, disk.names.csv, pipe.names.csv");
}

#[test]
fn answers_of_an_obfuscated_disk_give_the_same_trusted_values() {
    let folder = TempDir::new().unwrap();
    let models = folder.path().join("models");
    fs::create_dir(&models).unwrap();
    let mut originals = Vec::new();
    for name in ["TokenLoop-PT-03", "TokenLoop-PT-05", "GreedyClerks-PT-03"] {
        let path = models.join(format!("{name}.tgz"));
        fs::copy(tool::fixtures().join(format!("{name}.tgz")), &path).unwrap();
        originals.push(path);
    }
    done(folder.path(), &["image", "inputs", "models", "--out", "disk", "--obfuscate", SEED]);
    let disk = folder.path().join("disk");
    assert!(disk.join("inputs.ext4").exists());
    let names = fs::read_to_string(folder.path().join("disk.names.csv")).unwrap();
    assert!(
        names.starts_with(
            "instance,kind,original,obfuscated\nGreedyClerks-PT-03,instance,GreedyClerks-PT-03,M"
        ),
        "{names}"
    );
    // The map of names is beside the disk, not in it.
    for file in
        walkdir::WalkDir::new(&disk).into_iter().map(Result::unwrap).filter(|file| file.file_type().is_file())
    {
        let bytes = fs::read(file.path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            !text.contains("GreedyClerks") && !file.path().to_string_lossy().contains("names"),
            "{:?}",
            file.path()
        );
    }
    let packed = archives(&disk.join("archives"));
    assert_eq!(packed.len(), 3);
    let examinations = ["StateSpace", "UpperBounds", "ReachabilityDeadlock", "CTLFireability"];
    // Without random walks: their answers depend on the order of names.
    let print = |folder: &Path, examination: &str, args: &str| {
        let args = if args.contains("walk") { "--strategy bfs" } else { args };
        runs::printed(folder, examination, args)
    };
    drop(runs::record(&folder.path().join("plain"), &originals, &examinations, print));
    drop(runs::record(&folder.path().join("renamed"), &packed, &examinations, print));
    done(folder.path(), &["judge", "plain", "--out", "first"]);
    done(folder.path(), &["judge", "renamed", "--out", "second", "--names", "disk.names.csv"]);
    let values = |dir: &str| {
        let text = fs::read_to_string(folder.path().join(dir).join("trusted.csv")).unwrap();
        let rows =
            csv::Reader::from_reader(text.as_bytes()).into_records().map(Result::unwrap).collect::<Vec<_>>();
        assert!(rows.len() > 60);
        rows.iter().map(|row| row.iter().take(6).map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert_eq!(values("first"), values("second"));

    let (code, error) =
        harness(folder.path(), &["judge", "plain", "--out", "third", "--names", "disk.names.csv"]);
    assert!(code == 2 && error.contains("disk.names.csv: none of its instances has answers"), "{error}");
    fs::write(folder.path().join("bad.csv"), "a,b\n").unwrap();
    let (code, error) = harness(folder.path(), &["judge", "renamed", "--out", "third", "--names", "bad.csv"]);
    assert!(code == 2 && error.contains("bad.csv:1: header `a,b`: expected instance,kind,"), "{error}");
}
