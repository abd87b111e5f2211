//! Disks from containers that skopeo and umoci made, and exported disks, in real machines. It needs root, and a mirror of
//! Debian.

use crate::support::campaign;
use crate::support::container_layers;
use crate::support::images;

use assert_cmd::Command;
use campaign::{Folder, stderr};
use container_layers::{Layer, Layout, config};
use mcc_harness::base::digest;
use mcc_harness::container::{Container, Limits};
use mcc_harness::vm::Image;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

const LIMITS: Limits = Limits { bytes: 4 << 30, entries: 200_000 };

fn harness() -> Command {
    Command::cargo_bin("mcc-harness").unwrap()
}

/// Runs a script of bash in a folder. `ROOT` is the folder of the checkout.
fn bash(folder: &Path, script: &str) -> String {
    let mut bash = std::process::Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", script]).current_dir(folder).env("ROOT", env!("CARGO_MANIFEST_DIR"));
    let done = bash.output().unwrap();
    assert!(done.status.success(), "{script}\n{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// A build of an image from a container.
fn build(container: &Path, out: &Path) -> Command {
    let mut build = harness();
    build.args(["image", "build", "--reference"]).arg(images::image("images/reference").folder);
    build.arg("--container").arg(container).arg("--out").arg(out);
    build
}

/// Makes the OCI layout `oci` of three layers with a small root file system: the host's bash, and files of each kind.
const SMALL: &str = r#"
umoci init --layout oci && umoci new --image oci:tool && umoci unpack --image oci:tool bundle > /dev/null
root=bundle/rootfs
mkdir -p $root/{bin,etc,opt/gone/deep,opt/replaced,home/mcc/BenchKit/bin} $root/lib/x86_64-linux-gnu $root/lib64
cp /bin/bash $root/bin/
ldd /bin/bash | grep -o '/[^ ]*' | while read -r library; do cp -L $library $root$library; done
printf '#!/bin/bash\necho "FORMULA x TRUE TECHNIQUES $SPECIAL" "$0"\n' > $root/home/mcc/BenchKit/BenchKit_head.sh
echo 1 > $root/opt/gone/deep/file; echo 2 > $root/opt/replaced/old; echo 3 > $root/opt/kept
touch -d @1234567890 $root/opt/kept; chown 12:100000 $root/opt/kept; chmod 6711 $root/opt/kept
ln $root/opt/kept $root/opt/second; ln -s ../etc $root/opt/link; mkfifo $root/opt/pipe
umoci repack --refresh-bundle --image oci:tool bundle > /dev/null
rm -r $root/opt/gone; rm -r $root/opt/replaced; mkdir $root/opt/replaced; echo 4 > $root/opt/replaced/new
setcap cap_net_bind_service+ep $root/bin/bash; setfattr -n user.note -v $'a\nb' $root/opt/replaced/new
umoci repack --refresh-bundle --image oci:tool bundle > /dev/null
echo 5 > $root/opt/$(printf 'n%.0s' {1..200}); : > $root/opt/empty
umoci repack --refresh-bundle --image oci:tool bundle > /dev/null
umoci config --image oci:tool --config.env 'SPECIAL=a b' --config.entrypoint /run.sh --config.workingdir /srv
"#;

/// The list of a folder: paths, kinds, owners, modes, times, sizes, targets, and numbers of names.
fn listed(folder: &Path) -> String {
    bash(
        folder,
        "find . ! -path . -printf '%P %y %m %U:%G %T@ %l %n\\n' | sed -E 's/(\\.[0-9]+) / /' | LC_ALL=C sort; \
         getcap -r . | LC_ALL=C sort; getfattr -R -d -m user . ",
    )
}

#[test]
fn merged_layers_equal_the_files_that_umoci_unpacks() {
    let work = tempfile::tempdir().unwrap();
    bash(work.path(), SMALL);
    bash(work.path(), "umoci unpack --image oci:tool unpacked > /dev/null");
    let (spool, root) = (work.path().join("spool"), work.path().join("root"));
    fs::create_dir(&spool).unwrap();
    let container = Container::read(&work.path().join("oci"), &spool, LIMITS, &|_| {}).unwrap();
    assert_eq!(container.facts().layers.len(), 3);
    container.write(&root).unwrap();
    let found = listed(&root);
    assert_eq!(found, listed(&work.path().join("unpacked/rootfs")));
    for part in
        ["opt/kept f 6711 12:100000 1234567890  2", "cap_net_bind_service=ep", "opt/link l", "opt/pipe p"]
    {
        assert!(found.contains(part), "no {part:?} in {found}");
    }
    assert!(!found.contains("gone") && !found.contains("replaced/old"), "{found}");
}

#[test]
fn every_form_of_an_archive_gives_the_same_disk() {
    let work = tempfile::tempdir().unwrap();
    bash(work.path(), SMALL);
    bash(
        work.path(),
        "skopeo copy -q oci:oci:tool docker-archive:docker.tar:tool:latest
         skopeo copy -q oci:oci:tool oci-archive:archive.tar:tool
         skopeo copy -q --dest-compress-format zstd oci:oci:tool oci:zstd:tool
         gzip -k archive.tar; zstd -q archive.tar; mkdir docker; tar -xf docker.tar -C docker",
    );
    let disk = |form: &str| {
        let out = work.path().join("out").join(form);
        let built = build(&work.path().join(form), &out).args(["--size", "256M"]).assert().success();
        let image = Image::open(&out).unwrap();
        let container = image.facts.made_from.unwrap().container.unwrap();
        assert_eq!(container.layers.len(), 3);
        (digest::file(&out.join("disk.qcow2")).unwrap(), stderr(&built))
    };
    let (first, said) = disk("oci");
    for part in
        ["reading layer 3 of 3", "ENTRYPOINT (/run.sh) is not executed", "WORKDIR (/srv) has no effect"]
    {
        assert!(said.contains(part), "{said}");
    }
    for form in ["archive.tar", "archive.tar.gz", "archive.tar.zst", "docker.tar", "docker", "zstd"] {
        assert_eq!(disk(form).0, first, "{form}");
    }
}

#[test]
fn image_json_states_from_what_a_disk_was_made() {
    let work = tempfile::tempdir().unwrap();
    bash(work.path(), SMALL);
    let tool = work.path().join("my-tool");
    fs::create_dir(&tool).unwrap();
    fs::write(tool.join("BenchKit_head.sh"), "#!/bin/bash\necho CANNOT_COMPUTE\n").unwrap();
    let out = work.path().join("out");
    let built = build(&work.path().join("oci"), &out).arg("--tool").arg(&tool).assert().success();
    assert!(stderr(&built).contains("BenchKit of the container is replaced by the folder of --tool"));
    let shown = harness().args(["image", "inspect"]).arg(&out).assert().success();
    let shown = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
    let image = Image::open(&out).unwrap();
    let from = image.facts.made_from.unwrap();
    let reference = from.reference.unwrap();
    let disk = images::image("images/reference").disk();
    assert_eq!(
        (reference.name.as_str(), reference.sha256.clone()),
        ("reference", digest::file(&disk).unwrap().0)
    );
    let sources = [from.tool.unwrap(), from.container.unwrap().archive];
    assert_eq!(sources.each_ref().map(|source| source.name.as_str()), ["my-tool", "oci"]);
    assert_eq!(sources[0].sha256, digest::folder(&tool).unwrap());
    for source in sources.iter().chain([&reference]) {
        assert!(shown.contains(&format!("{} sha256:{}", source.name, source.sha256)), "{shown}");
    }
}

#[test]
fn a_hostile_container_leaves_no_image_and_no_other_file() {
    let work = tempfile::tempdir().unwrap();
    let target = work.path().join("target");
    fs::create_dir(&target).unwrap();
    let outside = target.to_str().unwrap();
    let bash = Layer::new().program("bin/bash", "#!x");
    let head = "home/mcc/BenchKit/BenchKit_head.sh";
    // The last one is accepted as an archive: its link is only followed in the container.
    let layers = [
        bash.clone().link("out", &format!("../../../../../../../..{outside}")).file("out/file", "x"),
        bash.clone().file(&format!("../../../../../../../..{outside}/file"), "x"),
        bash.clone().link("home/mcc", outside).file(head, "x"),
    ];
    for layer in layers {
        let layout = Layout::new(&[layer], &config(""));
        let said = stderr(&build(layout.path(), &work.path().join("image")).assert().failure());
        assert!(said.contains("entry \"") || said.contains("\"mcc\" is not a folder"), "{said}");
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
        assert_eq!(fs::read_dir(work.path()).unwrap().count(), 1, "only the target remains");
    }
}

#[test]
fn building_a_disk_without_root_is_refused_at_once() {
    let work = tempfile::tempdir().unwrap();
    fs::set_permissions(work.path(), PermissionsExt::from_mode(0o755)).unwrap();
    // A copy that another user can execute.
    let program = work.path().join("mcc-harness");
    fs::copy(env!("CARGO_BIN_EXE_mcc-harness"), &program).unwrap();
    let mut build = std::process::Command::new(&program);
    build.args(["image", "build", "--out", "image", "--agent"]).arg(&program).current_dir(work.path());
    let done = build.uid(65534).gid(65534).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(!done.status.success() && said.contains("needs root") && said.contains("sudo"), "{said}");
    assert!(said.lines().count() <= 2, "{said}");
}

#[test]
fn a_reference_that_was_changed_by_hand_is_refused() {
    let work = tempfile::tempdir().unwrap();
    let changed = work.path().join("changed");
    let reference = images::image("images/reference").folder;
    images::copy(&reference, &changed);
    let mut facts: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(reference.join("image.json")).unwrap()).unwrap();
    let stated = digest::file(&reference.join("rootfs.tar")).unwrap().0;
    assert!(facts.get("rootfs_sha256").is_none_or(|sum| *sum == stated));
    facts["rootfs_sha256"] = "0".repeat(64).into();
    fs::write(changed.join("image.json"), facts.to_string()).unwrap();
    let mut build = harness();
    build.args(["image", "build", "--reference"]).arg(&changed).arg("--out").arg(work.path().join("out"));
    let said = stderr(&build.assert().failure());
    assert!(said.contains("rootfs.tar: it was changed after the image was built"), "{said}");
    assert!(said.contains("--refresh") && !work.path().join("out").exists(), "{said}");
}

/// A program that builds and saves containers as docker does, without a daemon: Debian's packages are installed by
/// mmdebstrap, the layers are made by umoci and the archive by skopeo.
const DOCKER: &str = r#"#!/bin/bash
set -euo pipefail
case $1 in
build)
    [ "$2" = -t ] && name=$3 && cd "$4"
    base= packages= settings=() copies=()
    while read -r word rest; do
        case $word in
        FROM) [ "$rest" = debian:12-slim ] && base=bookworm ;;
        RUN) [[ $rest == 'apt-get update && apt-get install -y --no-install-recommends '* ]] && packages=${rest##*recommends } ;;
        ENV) settings+=(--config.env "$rest") ;;
        COPY) copies+=("$rest") ;;
        *) echo "unknown instruction $word" >&2; exit 1 ;;
        esac
    done < Dockerfile
    mmdebstrap --quiet --mode=root --variant=extract \
        --include="base-files,bash,coreutils,dash,gzip,tar,${packages// /,}" $base rootfs
    rm -rf rootfs/dev/* rootfs/usr/share/{doc,locale,man}
    umoci init --layout oci && umoci new --image "oci:$name" && umoci unpack --image "oci:$name" bundle
    rm -r bundle/rootfs && mv rootfs bundle/rootfs && umoci repack --refresh-bundle --image "oci:$name" bundle
    for copy in "${copies[@]}"; do
        mkdir -p "bundle/rootfs${copy#* }" && cp -r "${copy% *}/." "bundle/rootfs${copy#* }/"
    done
    umoci repack --refresh-bundle --image "oci:$name" bundle
    umoci config --image "oci:$name" --config.cmd bash "${settings[@]}"
    rm -r bundle ;;
save) skopeo copy -q "oci:oci:$2" "docker-archive:$4:$2:latest" ;;
*) exit 1 ;;
esac
"#;

/// The indented blocks of the section about containers in the guide for authors: the Dockerfile, and the commands.
fn documented() -> Vec<String> {
    let guide = include_str!("../../docs/authors.md");
    let section = guide.split("## Containers\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut blocks = vec![];
    for line in section.lines() {
        match line.strip_prefix("    ") {
            Some(code) => blocks.last_mut().map(|block: &mut String| *block += &format!("{code}\n")).unwrap(),
            None => blocks.push(String::new()),
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// Executes the commands of the guide with the tool of `tests/python`, which has a folder `my-image` then.
fn execute_guide(work: &Path) {
    let [dockerfile, commands] = &documented()[..] else { panic!("a Dockerfile and commands are expected") };
    fs::write(work.join("Dockerfile"), dockerfile).unwrap();
    fs::create_dir(work.join("programs")).unwrap();
    fs::write(work.join("programs/docker"), DOCKER).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_mcc-harness")).parent().unwrap().display().to_string();
    let script = format!(
        "chmod +x programs/docker; cp -r $ROOT/tests/python my-tool; ln -s $ROOT/build build\n\
         PATH=$PWD/programs:{program}:$PATH\n{commands}"
    );
    bash(work, &script);
}

#[test]
fn a_python_container_qualifies_and_runs_as_a_vmdk() {
    let work = tempfile::tempdir().unwrap();
    execute_guide(work.path());
    let image = work.path().join("my-image");

    let models = work.path().join("models");
    fs::create_dir(&models).unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("pnml-fixtures");
    fs::copy(fixtures.join("DiningTable-PT-03.tgz"), models.join("DiningTable-PT-03.tgz")).unwrap();
    let mut qualify = harness();
    qualify.arg("qualify").arg(&image).args([
        "--tool",
        "python",
        "--limit",
        "120",
        "--examinations",
        "StateSpace",
    ]);
    qualify
        .arg("--instances")
        .arg(&models)
        .arg("--oracle")
        .arg(fixtures.join("expected"))
        .arg("--allow-degraded");
    let said = qualify.assert().success().get_output().stdout.clone();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("would pass: 0 errors"), "{said}");

    let vmdk = work.path().join("python.vmdk");
    let mut export = harness();
    export.args(["image", "export"]).arg(&image).arg("--vmdk").arg(&vmdk);
    export.arg("--reference").arg(images::image("images/reference").folder);
    export.assert().success();
    let again = stderr(&export.assert().failure());
    assert!(again.contains("python.vmdk exists already"), "{again}");
    let stdout = Folder::output_of_exported_disk("python", &vmdk);
    assert!(stdout.contains("STATE_SPACE STATES 14 TECHNIQUES"), "{stdout}");
}
