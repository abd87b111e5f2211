//! Reading of container archives made by hand: whiteouts, links and attributes, and hostile ones, which are refused by the
//! name of the entry.

use crate::support::container_layers;

use container_layers::{Layer, Layout, config};
use mcc_harness::container::{Container, ContainerError, Limits};
use std::path::Path;

const LIMITS: Limits = Limits { bytes: 1 << 20, entries: 1000 };

fn read_at(path: &Path, limits: Limits) -> Result<Container, ContainerError> {
    let spool = tempfile::tempdir().unwrap();
    // The contents are removed with the folder; only the tree is looked at.
    Container::read(path, spool.path(), limits, &|_| {})
}

/// The error for a container with these layers.
fn refusal(layers: &[Layer]) -> String {
    let layout = Layout::new(layers, &config(""));
    match read_at(layout.path(), LIMITS) {
        Ok(_) => panic!("the container is accepted"),
        Err(error) => error.to_string(),
    }
}

fn assert_refused(layers: &[Layer], parts: &[&str]) {
    let said = refusal(layers);
    for part in parts {
        assert!(said.contains(part), "no {part:?} in: {said}");
    }
}

/// The paths of a container, with kinds and targets.
fn paths(layers: &[Layer]) -> Vec<String> {
    let layout = Layout::new(layers, &config(""));
    let container = read_at(layout.path(), LIMITS).unwrap_or_else(|error| panic!("{error}"));
    container.paths()
}

#[test]
fn later_layers_replace_and_remove_files() {
    let lower = Layer::new()
        .folder("etc")
        .file("etc/a", "1")
        .file("etc/b", "2")
        .folder("opt/x/y")
        .file("opt/x/f", "3");
    let upper = Layer::new()
        .file("etc/.wh.a", "")
        .file("etc/b", "22")
        .file("opt/x/new", "4")
        .file("opt/x/.wh..wh..opq", "");
    assert_eq!(
        paths(&[lower.clone(), upper]),
        ["etc/", "etc/b 2 bytes", "opt/", "opt/x/", "opt/x/new 1 bytes"]
    );
    // A whiteout concerns earlier layers only, in any order of the entries.
    let same = Layer::new().file("etc/a", "new").file("etc/.wh.a", "");
    assert!(paths(&[lower.clone(), same]).contains(&"etc/a 3 bytes".to_owned()));
    // A folder becomes a file and a link, and a file a folder.
    let kinds = Layer::new().file("opt", "f").folder("etc/a").link("etc/b", "a");
    assert_eq!(paths(&[lower, kinds]), ["etc/", "etc/a/", "etc/b -> a", "opt 1 bytes"]);
}

#[test]
fn entries_below_a_link_stay_in_the_container() {
    let lower = Layer::new().folder("usr/lib").link("lib", "usr/lib").link("abs", "/usr").link("up", "../x");
    let upper = Layer::new().file("lib/f", "1").file("abs/g", "2");
    let found = paths(&[lower.clone(), upper]);
    assert!(
        found.contains(&"usr/lib/f 1 bytes".into()) && found.contains(&"usr/g 1 bytes".into()),
        "{found:?}"
    );
    assert_refused(
        &[lower, Layer::new().file("up/f", "1")],
        &["layer 2", "entry \"up/f\"", "a link in its path leads out of the container"],
    );
    let around = Layer::new().link("a", "b").link("b", "a").file("a/f", "");
    assert_refused(&[around], &["entry \"a/f\"", "too many links"]);
    let host = Layer::new().link("d", "/../../etc").file("d/f", "");
    assert_refused(&[host], &["entry \"d/f\"", "leads out of the container"]);
    assert_refused(&[Layer::new().file("f", "1").file("f/g", "")], &["entry \"f/g\"", "goes through a file"]);
}

#[test]
fn hard_links_share_the_file_that_exists_before_them() {
    let lower = Layer::new().file("a", "12345");
    let upper = Layer::new().hard_link("b", "a").hard_link("dir/c", "./b");
    assert_eq!(paths(&[lower, upper]), ["a 5 bytes", "b 5 bytes", "dir/", "dir/c 5 bytes"]);
    for (target, reason) in [
        ("none", "hard link to \"none\", which does not exist"),
        ("../../etc/passwd", "hard link to \"../../etc/passwd\", which is not a name in the container"),
        ("d", "hard link to the folder \"d\""),
    ] {
        assert_refused(&[Layer::new().folder("d").hard_link("x", target)], &["entry \"x\"", reason]);
    }
}

#[test]
fn unsafe_names_and_kinds_are_refused_by_name() {
    for (layer, entry, reason) in [
        (Layer::new().file("/etc/passwd", ""), "/etc/passwd", "its name is absolute"),
        (Layer::new().file("a/../../b", ""), "a/../../b", "contains `..`"),
        (Layer::new().file("../b", ""), "../b", "contains `..`"),
        (Layer::new().device("dev/sda"), "dev/sda", "it is a device"),
        (Layer::new().file("a", "1").file("./a", "2"), "./a", "two entries of this name"),
        (Layer::new().file("a", "1").folder("a"), "a/", "two entries of this name"),
        (Layer::new().sparse("s"), "s", "sparse"),
        (Layer::new().file(".wh..", ""), ".wh..", "a name is expected after `.wh.`"),
        (Layer::new().file("x/.wh.y/z", ""), "x/.wh.y/z", "reserved"),
        (Layer::new().file(&format!("{}/f", "n".repeat(256)), ""), "nnn", "longer than 255 bytes"),
        (Layer::new().file(&"d/".repeat(600).replace("//", "/"), "x"), "d/d/d", "it has a content"),
        (Layer::new().file(&format!("{}f", "d/".repeat(600)), "x"), "d/d/d", "more than 512 folders"),
        (Layer::new().pax("f", &[("size", b"7")], "x"), "f", "different sizes"),
        (Layer::new().pax("f", &[("path", b"../g")], "x"), "../g", "contains `..`"),
        (Layer::new().pax("f", &[("uid", b"4294967295")], "x"), "f", "too large"),
        (Layer::new().pax("f", &[("SCHILY.xattr.user.a", &[b'x'; 70_000])], "x"), "f", "setfattr --remove"),
        (
            Layer::new().pax(
                "f",
                &[("SCHILY.xattr.user.a", &[b'x'; 3000]), ("SCHILY.xattr.user.b", &[b'x'; 3000])],
                "",
            ),
            "f",
            "attributes need 6056 bytes",
        ),
        (
            Layer::new().pax("f", &[("SCHILY.xattr.", b"x")], ""),
            "f",
            "attribute \"\" has no name that Linux permits",
        ),
        (Layer::new().pax("f", &[("SCHILY.xattr.user.", b"x")], ""), "f", "attribute \"user.\" has no name"),
        (
            Layer::new().pax("f", &[("SCHILY.xattr.a", &b""[..]); 201], ""),
            "f",
            "more than 200 extended attributes",
        ),
    ] {
        let said = refusal(&[layer]);
        assert!(
            said.contains("layer 1") && said.contains(&format!("entry \"{entry}")) && said.contains(reason),
            "{said}"
        );
    }
}

#[test]
fn bombs_end_at_the_limits() {
    let large = Layer::new().file("bomb", &"0".repeat(1 << 21));
    let layout = Layout::new(&[large.gzip()], &config(""));
    let size = std::fs::metadata(layout.layer(0)).unwrap().len();
    assert!(size < 20_000, "{size}");
    let said = read_at(layout.path(), LIMITS).err().unwrap().to_string();
    assert!(
        said.contains("entry \"bomb\"") && said.contains("more than 1048576 bytes after decompression"),
        "{said}"
    );

    let mut many = Layer::new();
    for number in 0..1001 {
        many = many.file(&format!("{number}"), "");
    }
    assert_refused(&[many], &["entry \"1000\"", "more than 1000 entries"]);
    // An extension that claims a large size.
    let name = Layer::new().long_name(&"n/".repeat(1 << 20));
    let layout = Layout::new(&[name], &config(""));
    let said = read_at(layout.path(), Limits { bytes: 1 << 30, entries: 10 }).err().unwrap().to_string();
    assert!(said.contains("its extension has"), "{said}");
    // The archive itself.
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("bomb.tar.zst");
    std::fs::write(&archive, zstd::encode_all(&vec![0; 1 << 24][..], 1).unwrap()).unwrap();
    let said = read_at(&archive, LIMITS).err().unwrap().to_string();
    assert!(said.contains("more than 1048576 bytes"), "{said}");
}

#[test]
fn an_index_that_is_named_again_is_read_once() {
    let layout = Layout::new(&[Layer::new().file("a", "1")], &config(""));
    let index_file = layout.path().join("index.json");
    let written = std::fs::read_to_string(&index_file).unwrap();
    let start = written.find('[').unwrap() + 1;
    let manifest = &written[start..written.rfind(']').unwrap()];
    // Three levels. Without the digests of those that were read, the last one is read `entries * entries` times.
    let read = |entries: usize| {
        let mut described = manifest.to_owned();
        for level in 0..3 {
            let list = vec![described; entries].join(", ");
            let index = format!(r#"{{"schemaVersion": 2, "manifests": [{list}]}}"#);
            let digest = mcc_harness::base::digest::bytes(&index);
            let file = layout.path().join("blobs/sha256").join(&digest);
            std::fs::write(if level == 2 { &index_file } else { &file }, &index).unwrap();
            let size = index.len();
            described = format!(
                r#"{{"mediaType": "application/vnd.oci.image.index.v1+json", "digest": "sha256:{digest}", "size": {size}}}"#
            );
        }
        read_at(layout.path(), LIMITS).map(|container| container.paths()).map_err(|error| error.to_string())
    };
    assert_eq!(read(333).unwrap(), ["a 1 bytes"]);
    let said = read(334).unwrap_err();
    assert!(said.contains("1000 entries"), "{said}");
}

#[test]
fn attributes_that_a_disk_cannot_have_are_refused_or_noted() {
    let with = |records: &[(&str, &[u8])]| {
        let layer = Layer::new()
            .program("bin/bash", "#!x")
            .file("home/mcc/BenchKit/BenchKit_head.sh", "#!/bin/bash\n")
            .pax("f", records, "1");
        let layout = Layout::new(&[layer], &config(""));
        let spool = tempfile::tempdir().unwrap();
        let mut container = Container::read(layout.path(), spool.path(), LIMITS, &|_| {}).unwrap();
        container.adapt(None).unwrap();
        let notices = container.notices().to_vec();
        (notices, container.write(&spool.path().join("root")).map_err(|error| error.to_string()))
    };
    // Linux checks the form of capabilities.
    let (_, written) = with(&[("SCHILY.xattr.security.capability", b"x")]);
    let said = written.unwrap_err();
    assert!(said.contains("\"f\" cannot have its extended attribute \"security.capability\""), "{said}");
    assert!(!said.contains("root/f"), "{said}");
    let (notices, written) = with(&[("SCHILY.xattr.security.capability2", b"x")]);
    written.unwrap();
    assert!(notices.join("").contains("\"security.capability2\" is left out"), "{notices:?}");

    let names: Vec<String> = (0..25).map(|number| format!("SCHILY.xattr.trusted.{number}")).collect();
    let records: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b"x"[..])).collect();
    let (notices, _) = with(&records);
    assert_eq!(notices.len(), 21);
    assert!(notices[20].contains("5 further extended attributes"), "{notices:?}");
}

#[test]
fn damaged_and_incomplete_archives_are_refused() {
    let layers = [Layer::new().file("a", "1"), Layer::new().file("b", "2").gzip()];
    let change = |change: &dyn Fn(&Layout)| {
        let layout = Layout::new(&layers, &config(""));
        change(&layout);
        read_at(layout.path(), LIMITS).err().expect("an error").to_string()
    };
    let said = change(&|layout| std::fs::remove_file(layout.layer(1)).unwrap());
    assert!(said.contains("layer 2") && said.contains("the archive does not have it"), "{said}");
    let said = change(&|layout| {
        let mut bytes = std::fs::read(layout.layer(0)).unwrap();
        bytes[512] = b'9';
        std::fs::write(layout.layer(0), bytes).unwrap();
    });
    assert!(said.contains("layer 1") && said.contains("has the digest"), "{said}");
    let said = change(&|layout| {
        let bytes = std::fs::read(layout.layer(0)).unwrap();
        std::fs::write(layout.layer(0), &bytes[..700]).unwrap();
    });
    assert!(said.contains("layer 1") && said.contains("it has 700 bytes, but the manifest states"), "{said}");
    // A manifest that states another size of the configuration. It keeps its own size, which the index states.
    let said = change(&|layout| {
        let index = std::fs::read_to_string(layout.path().join("index.json")).unwrap();
        let manifest = &index.split("sha256:").nth(1).unwrap()[..64];
        let blobs = layout.path().join("blobs/sha256");
        let text = std::fs::read_to_string(blobs.join(manifest)).unwrap();
        let at = text.find("\"size\": ").unwrap() + 8;
        let changed = [&text[..at], "9", &text[at + 1..]].concat();
        let digest = mcc_harness::base::digest::bytes(&changed);
        std::fs::write(blobs.join(&digest), changed).unwrap();
        layout.edit("index.json", manifest, &digest);
    });
    assert!(said.contains(" bytes instead of 9"), "{said}");
    // A layer whose file is a link out of the folder.
    let said = change(&|layout| {
        std::fs::remove_file(layout.layer(0)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", layout.layer(0)).unwrap();
    });
    assert!(said.contains("leads out of the folder"), "{said}");
    for (from, to, reason) in
        [("sha256:", "sha256:../../../etc/passwd#", "index.json"), ("sha256:", "md5:", "not a sha256 digest")]
    {
        let said = change(&|layout| layout.edit("index.json", from, to));
        assert!(said.contains(reason), "{said}");
    }
    // The digest of the decompressed layer, which only the configuration states.
    let layout = Layout::with_diff_ids(&layers, &config(""), |ids| ids.swap(0, 1));
    let said = read_at(layout.path(), LIMITS).err().unwrap().to_string();
    assert!(said.contains("after decompression it has the digest"), "{said}");
}

#[test]
fn a_container_for_another_machine_is_refused() {
    for (settings, reason) in [
        (r#""architecture": "arm64", "os": "linux""#, "it is for linux/arm64"),
        (r#""architecture": "amd64", "os": "windows""#, "it is for windows/amd64"),
        (r#""architecture": "amd64", "variant": "v3", "os": "linux""#, "amd64/v3"),
    ] {
        let config = config("").replace(r#""architecture": "amd64", "os": "linux""#, settings);
        let layout = Layout::new(&[Layer::new()], &config);
        let said = read_at(layout.path(), LIMITS).err().unwrap().to_string();
        assert!(said.contains(reason) && said.contains("--platform linux/amd64"), "{said}");
    }
    let folder = tempfile::tempdir().unwrap();
    let said = read_at(folder.path(), LIMITS).err().unwrap().to_string();
    assert!(said.contains("neither index.json nor manifest.json"), "{said}");
    std::fs::create_dir(folder.path().join("etc")).unwrap();
    std::fs::write(folder.path().join("etc/passwd"), "").unwrap();
    let said = read_at(folder.path(), LIMITS).err().unwrap().to_string();
    assert!(said.contains("docker export"), "{said}");
}

/// A container with bash and a tool; `head` is the start script.
fn with_tool(head: &str, settings: &str) -> (tempfile::TempDir, Result<Container, ContainerError>) {
    let layer = Layer::new()
        .program("bin/bash", "\u{7f}ELF")
        .program("usr/bin/env", "x")
        .file("home/mcc/BenchKit/BenchKit_head.sh", head);
    let layout = Layout::new(&[layer], &config(settings));
    let spool = tempfile::tempdir().unwrap();
    let read = Container::read(layout.path(), spool.path(), LIMITS, &|_| {});
    let adapted = read.and_then(|mut container| container.adapt(None).map(|()| container));
    (spool, adapted)
}

#[test]
fn settings_that_the_contest_ignores_are_noted() {
    let settings = r#""Env": ["PATH=/opt/bin:/bin", "IT=it's", "HOME=/root", "BK_TOOL=x"], "WorkingDir": "/srv",
        "Entrypoint": ["/run.sh"], "Cmd": ["--all"], "User": "0:0""#;
    // Another number, because the program is not a whole ELF file.
    let (_spool, container) = with_tool("#!/bin/sh\n", settings);
    let said = container.err().unwrap().to_string();
    assert!(said.contains("its /bin/bash is for another processor"), "{said}");

    let layer =
        Layer::new().program("bin/bash", "#!x").file("home/mcc/BenchKit/BenchKit_head.sh", "#!/bin/bash\n");
    let layout = Layout::new(&[layer], &config(settings));
    let spool = tempfile::tempdir().unwrap();
    let mut container = Container::read(layout.path(), spool.path(), LIMITS, &|_| {}).unwrap();
    container.adapt(None).unwrap();
    let notices = container.notices().join("\n");
    for part in
        ["ENTRYPOINT (/run.sh) is not executed", "CMD (--all)", "WORKDIR (/srv)", "sets BK_TOOL, HOME itself"]
    {
        assert!(notices.contains(part), "{notices}");
    }
    let head = container.text("home/mcc/BenchKit/BenchKit_head.sh").unwrap().unwrap();
    assert!(head.contains("export IT='it'\\''s'\nexport PATH='/opt/bin:/bin'\nexec "), "{head}");
    assert!(!head.contains("HOME") && !head.contains("BK_TOOL"), "{head}");
    assert_eq!(
        container.text("home/mcc/BenchKit/BenchKit_head.container.sh").unwrap().unwrap(),
        "#!/bin/bash\n"
    );
    let passwd = container.text("etc/passwd").unwrap().unwrap();
    assert!(passwd.ends_with("mcc:x:1000:1000::/home/mcc:/bin/bash\n"), "{passwd}");
    let paths = container.paths();
    for folder in
        ["dev/", "proc/", "sys/", "run/", "tmp/", "home/mcc/BenchKit/INPUTS/", "home/mcc/BenchKit/bin/"]
    {
        assert!(paths.iter().any(|path| path == folder), "no {folder} in {paths:?}");
    }
}

#[test]
fn a_linked_file_of_accounts_becomes_a_file() {
    let accounts = "mcc:x:1007:1007::/home/mcc:/bin/bash\n";
    let layer = Layer::new()
        .program("bin/bash", "#!x")
        .file("home/mcc/BenchKit/BenchKit_head.sh", "#!/bin/bash\n")
        .file("dev/vda", accounts)
        .link("etc/passwd", "/dev/vda");
    let layout = Layout::new(&[layer], &config(""));
    let spool = tempfile::tempdir().unwrap();
    let mut container = Container::read(layout.path(), spool.path(), LIMITS, &|_| {}).unwrap();
    container.adapt(None).unwrap();
    let root = spool.path().join("root");
    container.write(&root).unwrap();
    let made = root.join("etc/passwd");
    assert!(made.symlink_metadata().unwrap().is_file());
    assert_eq!(std::fs::read_to_string(made).unwrap(), accounts);
}

#[test]
fn a_container_that_cannot_start_the_tool_is_refused() {
    let bash = || Layer::new().program("bin/bash", "#!x");
    let head = "home/mcc/BenchKit/BenchKit_head.sh";
    let path = format!(r#""Env": ["PATH={}/b"]"#, "/a:".repeat(1000));
    for (layer, settings, reason) in [
        (bash(), "", "it has no file /home/mcc/BenchKit/BenchKit_head.sh"),
        (Layer::new().file(head, "#!/bin/sh\n"), "", "it has no /bin/bash"),
        (bash().file(head, "#!/bin/sh\n"), "", "names /bin/sh, which the container does not have"),
        (bash().file(head, "#!/bin/bash\r\n"), "", "end as on Windows"),
        (bash().program("usr/bin/env", "x").file(head, "#!/usr/bin/env python3\n"), "", "names python3"),
        (bash().file(head, ""), r#""User": "tool""#, "its USER is \"tool\""),
        (bash().file(head, ""), r#""Env": ["A-B=1"]"#, "which no shell can set"),
        (bash().file(head, "").link("dev", "/tmp"), "", "\"dev\" is not a folder"),
        (bash().file(head, "").link("run", "dev"), "", "\"run\" is not a folder"),
        (bash().file(head, "").file("etc/passwd", "mcc:x:0:0::/home/mcc:/bin/bash\n"), "", "run as root"),
        (bash().file(head, "").file("lost+found", ""), "", "/lost+found is not a folder"),
        (bash().file(head, "").link("lost+found", "/tmp"), "", "/lost+found is not a folder"),
        (bash().program("usr/bin/env", "x").file(head, "#!/usr/bin/env a\n"), &path, "has 1001 folders"),
        (bash().link("home/mcc", "/srv").file(head, ""), "", "\"mcc\" is not a folder"),
    ] {
        let layer = if reason.contains("\"mcc\"") { layer.folder("srv") } else { layer };
        let layout = Layout::new(&[layer], &config(settings));
        let spool = tempfile::tempdir().unwrap();
        let mut container = Container::read(layout.path(), spool.path(), LIMITS, &|_| {}).unwrap();
        let said = container.adapt(None).err().unwrap_or_else(|| panic!("accepted: {reason}")).to_string();
        assert!(said.contains("the contest cannot use this container") && said.contains(reason), "{said}");
    }
}

#[test]
fn a_start_script_with_further_names_is_renamed() {
    let head = "home/mcc/BenchKit/BenchKit_head.sh";
    let layer = Layer::new().program("bin/bash", "#!x").program(head, "#!/bin/bash\n");
    let layer = layer.hard_link("home/mcc/BenchKit/other", head);
    let layout = Layout::new(&[layer], &config(r#""Env": ["A=b"]"#));
    let spool = tempfile::tempdir().unwrap();
    let mut container = Container::read(layout.path(), spool.path(), LIMITS, &|_| {}).unwrap();
    container.adapt(None).unwrap();
    let root = spool.path().join("root");
    container.write(&root).unwrap_or_else(|error| panic!("{error}"));
    let text = |name: &str| std::fs::read_to_string(root.join("home/mcc/BenchKit").join(name)).unwrap();
    assert_eq!(["BenchKit_head.container.sh", "other"].map(text), ["#!/bin/bash\n", "#!/bin/bash\n"]);
    assert!(text("BenchKit_head.sh").contains("export A='b'"));
}

/// The form of `docker save` before version 25: a layer that occurs twice is a link to the first one.
#[test]
fn an_archive_of_an_old_docker_is_read() {
    let layer = Layer::new().file("a", "12345").bytes();
    let id = mcc_harness::base::digest::bytes(&layer);
    let settings = r#""Hostname": "", "User": "", "AttachStdin": false, "ExposedPorts": {"80/tcp": {}}, "Env": ["A=b"],
        "Cmd": ["bash"], "Image": "sha256:0", "Volumes": null, "WorkingDir": "", "Entrypoint": null, "OnBuild": null,
        "Labels": null, "Healthcheck": {"Test": ["CMD", "true"]}"#;
    let config = config(settings).replace("DIFF_IDS", &format!("\"sha256:{id}\", \"sha256:{id}\""));
    let config = config.replacen(
        '{',
        r#"{"container": "0", "docker_version": "20.10", "container_config": null, "#,
        1,
    );
    let digest = mcc_harness::base::digest::bytes(&config);
    let manifest = r#"[{"Config": "CONFIG.json", "RepoTags": ["tool:latest"], "Layers": ["one/layer.tar", "two/layer.tar"]}]"#;
    let archive = |config_name: &str, target: &str| {
        let outer = Layer::new().folder("one").file("one/layer.tar", std::str::from_utf8(&layer).unwrap());
        let outer = outer.link("two/layer.tar", target).file(&format!("{config_name}.json"), &config);
        let outer = outer.file("manifest.json", &manifest.replace("CONFIG", config_name));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docker.tar");
        std::fs::write(&path, outer.bytes()).unwrap();
        read_at(&path, LIMITS)
    };
    let container = archive(&digest, "../one/layer.tar").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(container.paths(), ["a 5 bytes"]);
    let facts = container.facts();
    assert_eq!(
        (facts.name.as_deref(), &facts.manifest, &facts.config),
        (Some("tool:latest"), &None, &digest)
    );
    let refused = |config: &str, target: &str| archive(config, target).err().unwrap().to_string();
    assert!(refused(&"0".repeat(64), "../one/layer.tar").contains(".json has the digest"));
    let said = refused(&digest, "../../etc/passwd");
    assert!(said.contains("the archive, entry \"two/layer.tar\": it is a link that leads out"), "{said}");
}
