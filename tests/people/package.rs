//! `scripts/package`: the Debian package and the tarball work without the source tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn done(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (stdout, stderr) = (text(stdout), text(stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}\n{stderr}");
    stdout
}

/// Packages the program of this build in `out`, and returns the package and the tarball.
fn package(folder: &Path, out: &str) -> Vec<PathBuf> {
    let built = folder.join("built");
    fs::create_dir_all(&built).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_mcc-harness"), built.join("mcc-harness")).unwrap();
    let check = Path::new(env!("CARGO_BIN_EXE_mcc-harness")).with_file_name("mcc-check");
    fs::copy(&check, built.join("mcc-check"))
        .unwrap_or_else(|error| panic!("{}: {error}; build it with -p mcc-checker", check.display()));
    fs::copy(Path::new(ROOT).join("build/agent"), built.join("mcc-guest-agent")).unwrap();
    let mut script = Command::new(Path::new(ROOT).join("scripts/package"));
    let said = done(script.arg(folder.join(out)).env("MCC_HARNESS", built.join("mcc-harness")));
    said.lines().map(PathBuf::from).collect()
}

#[test]
fn two_packages_of_one_commit_have_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|out| package(folder.path(), out));
    assert_eq!((one.len(), two.len()), (2, 2));
    for (one, two) in one.iter().zip(&two) {
        assert!(fs::read(one).unwrap() == fs::read(two).unwrap(), "{}", one.display());
    }
    let list = done(Command::new("dpkg-deb").arg("--contents").arg(&one[0]));
    for file in [
        "usr/bin/mcc-harness",
        "usr/bin/mcc-check",
        "usr/libexec/mcc-harness/mcc-guest-agent",
        "usr/share/man/man1/mcc-harness-judge.1.gz",
        "usr/share/bash-completion/completions/mcc-harness",
        "usr/share/mcc-harness/editions/mcc-2018.toml",
        "usr/share/mcc-harness/vm-images/rootfs",
        "usr/share/doc/mcc-harness/copyright",
        "usr/share/doc/mcc-harness/docs/archive.md",
    ] {
        assert!(list.contains(&format!("./{file}\n")), "{file} is missing:\n{list}");
    }
    // The tarball has the same tree, and its programs run from any folder.
    done(Command::new("tar").arg("-xzf").arg(&one[1]).current_dir(folder.path()));
    for name in ["mcc-harness", "mcc-check"] {
        let release = env!("CARGO_PKG_VERSION");
        let program = folder.path().join(format!("mcc-harness-{release}-x86_64-linux/bin")).join(name);
        let version = done(Command::new(program).arg("--version").current_dir("/"));
        assert!(version.starts_with(&format!("{name} {release}")), "{version}");
    }
}

#[test]
fn the_package_works_in_a_clean_debian_12_without_the_sources() {
    works_without_the_sources("bookworm");
}

#[test]
#[ignore = "long: scripts/test --all"]
fn the_package_works_in_a_clean_debian_13_without_the_sources() {
    works_without_the_sources("trixie");
}

/// Installs the package in a new system of a Debian release, and executes a demo, an image, a run, and an export there.
fn works_without_the_sources(release: &str) {
    let folder = tempfile::tempdir().unwrap();
    let deb = package(folder.path(), "out").remove(0);
    let root = folder.path().join("root");
    // What the package recommends for machines and images, without the documentation of these packages.
    let control = done(Command::new("dpkg-deb").arg("--field").arg(&deb).arg("Recommends"));
    let recommended = control.trim().replace(", ", ",");
    done(
        Command::new("mmdebstrap")
            .args(["--mode=root", "--variant=minbase", "--include", &recommended])
            .args([
                "--dpkgopt=path-exclude=/usr/share/doc/*",
                "--dpkgopt=path-include=/usr/share/doc/mcc-harness/*",
            ])
            .arg(format!("--customize-hook=cp '{}' \"$1/tmp/mcc-harness.deb\"", deb.display()))
            .arg("--customize-hook=chroot \"$1\" dpkg --install /tmp/mcc-harness.deb")
            .arg(release)
            .arg(&root),
    );
    let given = |from: &str, to: &str| {
        let to = root.join("tmp").join(to);
        done(Command::new("cp").arg("-r").arg(Path::new(ROOT).join(from)).arg(&to));
    };
    given("build/images/reference", "reference");
    given("build/tools/breadth-first", "tool");
    // A mount namespace of its own: nothing stays mounted when the commands end.
    let inside = |commands: &str| {
        let mounts = "for folder in proc sys dev; do mount --rbind /$folder \"$0/$folder\"; done; \
                      exec chroot \"$0\" bash -ec \"$1\"";
        let mut shell = Command::new("unshare");
        let shell = shell.args(["--mount", "bash", "-ec", mounts]).arg(&root).arg(commands);
        done(shell.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"))
    };
    let doctor = inside("mcc-harness doctor --allow-degraded || [ $? = 69 ]");
    assert!(doctor.contains("verdict: "), "{doctor}");
    // The demo needs nothing but the package.
    let judged = inside("cd /tmp && mcc-harness demo && test -s mcc-demo/site/index.html");
    assert!(judged.contains("StateSpace\n") && judged.contains("gold"), "{judged}");
    // The reference disk is given, because a new one would download Debian a second time.
    let run = inside(
        "cd /tmp && mcc-harness image build --reference reference --tool tool --out image && \
         printf '%s\\n' 'edition = \"mcc-2018\"' 'inputs = \"/usr/share/mcc-harness/pnml-fixtures\"' \
             'instances = [\"DiningTable-PT-03\"]' 'examinations = [\"StateSpace\"]' '[[tool]]' 'entry = \"mine\"' \
             'image = \"image\"' 'kind = \"sequential\"' > campaign.toml && \
         mcc-harness run campaign.toml --out results --allow-degraded >&2 && mcc-harness judge results --out own && \
         cat own/confidence.csv results/outputs/mine/DiningTable-PT-03/StateSpace/1/stdout",
    );
    assert!(run.contains("STATE_SPACE STATES 14 "), "{run}");
    let exported =
        inside("cd /tmp && mcc-harness image export image --reference reference --vmdk submitted.vmdk");
    assert!(exported.contains("submitted.vmdk.key"), "{exported}");
}
