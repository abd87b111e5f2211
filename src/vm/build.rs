//! Building disk images: runs the recipes of `vm-images/` (bash; their README says what each makes).

use super::image::{Boot, FORMAT, Image, ImageError, ImageFacts, PackedInstance};
use super::original_disk::OpenError;
use mcc_base::digest;
use mcc_base::files::{ARCHIVES, BUILD_PREFIX};
use mcc_host::find_program;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROOTFS: &str = include_str!("../../vm-images/rootfs");
const BOOT: &str = include_str!("../../vm-images/boot");
const DISK: &str = concat!(
    include_str!("../../vm-images/ext4"),
    include_str!("../../vm-images/tool"),
    include_str!("../../vm-images/disk")
);
const INPUTS: &str = concat!(include_str!("../../vm-images/ext4"), include_str!("../../vm-images/inputs"));
const REFERENCE_HEAD: &str = include_str!("../../vm-images/reference/BenchKit_head.sh");

/// Shown of a recipe that failed: the cause stands at the end.
const LAST_LINES: usize = 30;
/// Shown of a failed installation: error lines, and characters of each (mmdebstrap prints whole command lines).
const MOST_CAUSES: usize = 8;
const LONGEST_CAUSE: usize = 240;

/// What the recipes call, and the Debian package each comes from.
pub const PROGRAMS: [(&str, &str); 13] = [
    ("bash", "bash"),
    ("mmdebstrap", "mmdebstrap"),
    ("mke2fs", "e2fsprogs"),
    ("debugfs", "e2fsprogs"),
    ("qemu-img", "qemu-utils"),
    ("cpio", "cpio"),
    ("lz4", "lz4"),
    ("tar", "tar"),
    ("dpkg-deb", "dpkg"),
    ("strip", "binutils"),
    // Only for the kit.
    ("extlinux", "extlinux"),
    ("sfdisk", "fdisk"),
    ("ssh-keygen", "openssh-client"),
];

/// Those that a reference or a tool's disk needs.
const DISK_PROGRAMS: [&str; 10] =
    ["bash", "mmdebstrap", "mke2fs", "debugfs", "qemu-img", "cpio", "lz4", "tar", "dpkg-deb", "strip"];

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("{program} is not on PATH: install the package {package} (scripts/setup does)")]
    Missing { program: &'static str, package: &'static str },
    #[error("the recipe vm-images/{recipe} failed:\n{}", last_lines(output))]
    Recipe { recipe: &'static str, output: String },
    #[error("{what} failed:\n{causes}\n{remedy}")]
    Packages { what: String, causes: String, remedy: String },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: {reason}", path.display())]
    Tool { path: PathBuf, reason: &'static str },
    #[error("{} is there already and is no image of ours: choose another folder", .0.display())]
    NotAnImage(PathBuf),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Original(#[from] OpenError),
}

/// Says what is being done, a step at a time.
pub type Progress<'a> = &'a dyn Fn(&str);

/// A bootable disk to build.
pub struct BuildDisk<'a> {
    /// The folder that becomes the image.
    pub out: &'a Path,
    /// The static guest agent; only read for a reference disk.
    pub agent: &'a Path,
    /// The reference image to build on; None builds a reference image.
    pub reference: Option<&'a Path>,
    /// A folder with `BenchKit_head.sh` and `bin/`.
    pub tool: Option<&'a Path>,
    /// Debian packages by name.
    pub packages: &'a [String],
    /// Fetch Debian anew although the reference image that `out` replaces has it.
    pub refresh: bool,
    /// Size of the disk as the guest sees it, as `truncate` reads it: `8G`.
    pub size: &'a str,
}

/// Builds a reference disk, or a tool's disk on one. Needs root.
pub fn disk(build: &BuildDisk, progress: Progress) -> Result<Image, BuildError> {
    build.tool.map_or(Ok(()), check_tool)?;
    let base = build.reference.map(Image::open).transpose()?;
    let packages = build.packages.join(",");
    let rootfs_recipe = digest::bytes(format!("{ROOTFS}{packages}"));
    let before = Image::open(build.out).ok().filter(|before| {
        let kept = ["rootfs.tar", "kernel.deb"].iter().all(|file| before.folder.join(file).is_file());
        !build.refresh && kept && before.facts.rootfs_recipe == rootfs_recipe
    });
    build_atomically(build.out, &DISK_PROGRAMS, |out| {
        let mut listed = base.as_ref().or(before.as_ref()).map(|image| image.facts.packages.clone());
        let rootfs = match (&base, &before) {
            (Some(base), _) if packages.is_empty() => base.folder.join("rootfs.tar"),
            (None, Some(before)) => {
                progress("taking Debian from the image it replaces (--refresh fetches it anew)");
                copy(&before.folder.join("kernel.deb"), &out.join("kernel.deb"))?;
                copy(&before.folder.join("rootfs.tar"), &out.join("rootfs.tar"))?;
                out.join("rootfs.tar")
            }
            (base, _) => {
                progress(if base.is_some() {
                    "adding Debian packages"
                } else {
                    "fetching and unpacking Debian 12"
                });
                let from = base.as_ref().map(|b| b.folder.join("rootfs.tar")).unwrap_or_default();
                listed = Some(rootfs(&from, &packages, out)?);
                out.join("rootfs.tar")
            }
        };
        match &base {
            Some(base) => {
                let (kernel, initrd) = base.boot()?;
                copy(&kernel, &out.join("vmlinux"))?;
                copy(&initrd, &out.join("initrd"))?;
            }
            None => {
                progress("making kernel and initrd");
                recipe("boot", BOOT, out, &[("AGENT", build.agent.as_os_str())])?;
            }
        }
        progress("making the disk");
        let tool = tool_or_placeholder(build.tool, out)?;
        let settings =
            [("ROOTFS", rootfs.as_os_str()), ("TOOL", tool.as_os_str()), ("SIZE", build.size.as_ref())];
        recipe("disk", DISK, out, &settings)?;
        remove_placeholder_tool(out)?;
        // Only a reference image is built on: a tool's keeps no file system of its own.
        if base.is_some() && out.join("rootfs.tar").exists() {
            remove(&out.join("rootfs.tar"))?;
        }
        Ok(ImageFacts {
            format: FORMAT,
            kind: if base.is_some() { "tool" } else { "reference" }.to_owned(),
            built_by: env!("CARGO_PKG_VERSION").to_owned(),
            disk: "disk.qcow2".to_owned(),
            boot: Some(Boot { kernel: "vmlinux".to_owned(), initrd: "initrd".to_owned() }),
            original: None,
            packages: listed.unwrap_or_default(),
            rootfs_recipe: if base.is_some() { String::new() } else { rootfs_recipe },
            instances: vec![],
            edition: None,
        })
    })
}

pub(super) fn check_tool(tool: &Path) -> Result<(), BuildError> {
    match tool.join("BenchKit_head.sh").is_file() {
        true => Ok(()),
        false => {
            let reason = "no BenchKit_head.sh in it, which is what the contest starts";
            Err(BuildError::Tool { path: tool.to_owned(), reason })
        }
    }
}

/// The tool's folder; where there is no tool, one that does not compete, in `out`.
pub(super) fn tool_or_placeholder(tool: Option<&Path>, out: &Path) -> Result<PathBuf, BuildError> {
    let none = out.join(PLACEHOLDER_TOOL);
    if let Some(tool) = tool {
        return Ok(tool.to_owned());
    }
    fs::create_dir(&none).map_err(io_at(&none))?;
    let head = none.join("BenchKit_head.sh");
    fs::write(&head, REFERENCE_HEAD).map_err(io_at(&head))?;
    Ok(none)
}

const PLACEHOLDER_TOOL: &str = "no-tool";

pub(super) fn remove_placeholder_tool(out: &Path) -> Result<(), BuildError> {
    let none = out.join(PLACEHOLDER_TOOL);
    if none.exists() { fs::remove_dir_all(&none).map_err(io_at(&none)) } else { Ok(()) }
}

/// Makes `rootfs.tar` in `out`: Debian, or `base` and more packages; the packages in it.
pub(super) fn rootfs(base: &Path, packages: &str, out: &Path) -> Result<Vec<String>, BuildError> {
    let settings = [("BASE", base.as_os_str()), ("PACKAGES", packages.as_ref())];
    recipe("rootfs", ROOTFS, out, &settings).map_err(|error| match error {
        BuildError::Recipe { output, .. } => packages_failed(packages, &output),
        error => error,
    })?;
    let list = out.join("packages");
    let text = fs::read_to_string(&list).map_err(io_at(&list))?;
    remove(&list)?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Packs instance archives, already validated, into a read-only disk; the archives stay beside it.
pub fn inputs(
    archives: &[(String, PathBuf)],
    edition: Option<&str>,
    out: &Path,
    progress: Progress,
) -> Result<Image, BuildError> {
    build_atomically(out, &["bash", "mke2fs", "debugfs"], |out| {
        progress(&format!("packing {} instances", archives.len()));
        let staging = out.join(ARCHIVES);
        fs::create_dir(&staging).map_err(io_at(&staging))?;
        let mut instances = vec![];
        for (instance, archive) in archives {
            copy(archive, &staging.join(format!("{instance}.tgz")))?;
            let (sha256, _) = digest::file(archive).map_err(io_at(archive))?;
            instances.push(PackedInstance { instance: instance.clone(), sha256 });
        }
        recipe("inputs", INPUTS, out, &[("ARCHIVES", staging.as_os_str())])?;
        instances.sort_by(|a, b| a.instance.cmp(&b.instance));
        Ok(ImageFacts {
            format: FORMAT,
            kind: "inputs".to_owned(),
            built_by: env!("CARGO_PKG_VERSION").to_owned(),
            disk: "inputs.ext4".to_owned(),
            boot: None,
            original: None,
            packages: vec![],
            rootfs_recipe: String::new(),
            instances,
            edition: edition.map(str::to_owned),
        })
    })
}

/// Builds beside `out`, then renames: an image is there whole or not at all.
pub(super) fn build_atomically(
    out: &Path,
    needed: &[&str],
    build: impl FnOnce(&Path) -> Result<ImageFacts, BuildError>,
) -> Result<Image, BuildError> {
    let missing =
        PROGRAMS.into_iter().find(|(name, _)| needed.contains(name) && find_program(name).is_none());
    if let Some((program, package)) = missing {
        return Err(BuildError::Missing { program, package });
    }
    if out.exists() && Image::open(out).is_err() {
        return Err(BuildError::NotAnImage(out.to_owned()));
    }
    let parent = match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(io_at(parent))?;
    let beside = tempfile::Builder::new().prefix(BUILD_PREFIX).tempdir_in(parent).map_err(io_at(parent))?;
    let work = fs::canonicalize(beside.path()).map_err(io_at(beside.path()))?;
    let facts = build(&work)?;
    let json = work.join("image.json");
    let text = serde_json::to_string_pretty(&facts).expect("facts are plain data") + "\n";
    fs::write(&json, text).map_err(io_at(&json))?;
    if out.exists() {
        fs::remove_dir_all(out).map_err(io_at(out))?;
    }
    let built = beside.keep();
    fs::rename(&built, out).map_err(io_at(out))?;
    // mkdtemp's folders are private to root; an image is for everybody to read.
    fs::set_permissions(out, std::os::unix::fs::PermissionsExt::from_mode(0o755)).map_err(io_at(out))?;
    Ok(Image::open(out)?)
}

pub(super) fn recipe(
    name: &'static str,
    script: &str,
    out: &Path,
    settings: &[(&str, &std::ffi::OsStr)],
) -> Result<(), BuildError> {
    let mut bash = Command::new("bash");
    bash.args(["-c", script, name]).env("OUT", out).envs(settings.iter().copied()).stdin(Stdio::null());
    let done = bash.output().map_err(io_at(Path::new("bash")))?;
    if done.status.success() {
        return Ok(());
    }
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    Err(BuildError::Recipe { recipe: name, output: said.into_owned() })
}

fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// Why packages could not be installed, from the output of apt and dpkg: its error lines, the package, the remedy.
fn packages_failed(packages: &str, output: &str) -> BuildError {
    const MARKS: [&str; 4] = ["error:", "error processing", "returned error", "Could not resolve"];
    let is_cause = |line: &&str| {
        (line.starts_with("E: ") || line.starts_with("Err:") || MARKS.iter().any(|mark| line.contains(mark)))
            && *line != "E: mmdebstrap failed to run"
    };
    let causes: Vec<&str> = output.lines().filter(is_cause).collect();
    let shown: Vec<String> = causes[causes.len().saturating_sub(MOST_CAUSES)..]
        .iter()
        .map(|line| match line.char_indices().nth(LONGEST_CAUSE) {
            Some((end, _)) => format!("  {}...", &line[..end]),
            None => format!("  {line}"),
        })
        .collect();
    let after = |mark: &str| {
        let rest = causes.iter().find_map(|line| Some(line.split_once(mark)?.1))?;
        rest.split_whitespace().next().map(|name| name.trim_matches(['\'', '"']).to_owned())
    };
    let absent = after("Unable to locate package ").or_else(|| {
        after("E: Package ")
            .filter(|_| causes.iter().any(|line| line.contains("has no installation candidate")))
    });
    let broken = after("error processing package ");
    let fetched = ["Err:", "Failed to fetch", "Could not resolve"];
    let remedy = if let Some(name) = absent {
        format!(
            "Debian 12 has no package {name}: correct the name (`apt-cache search WORD` on Debian 12 lists names), or copy \
             the program into the tool's folder instead"
        )
    } else if let Some(name) = broken {
        format!(
            "the installation script of the package {name} failed, see above: leave {name} out and copy what the tool \
             needs of it into the tool's folder, or name another package"
        )
    } else if causes.iter().any(|line| fetched.iter().any(|mark| line.contains(mark))) {
        "Debian's mirror did not deliver: check the network and apt's settings of this host, then repeat the command"
            .to_owned()
    } else {
        "see above; without --packages the image can be built, and the tool's folder can hold what it needs"
            .to_owned()
    };
    let what = match packages {
        "" => "making the file system of Debian 12".to_owned(),
        packages => format!("installing the Debian packages {}", packages.replace(',', ", ")),
    };
    let causes = if shown.is_empty() { last_lines(output) } else { shown.join("\n") };
    BuildError::Packages { what, causes, remedy }
}

pub(super) fn copy(from: &Path, to: &Path) -> Result<(), BuildError> {
    fs::copy(from, to).map(|_| ()).map_err(io_at(from))
}

pub(super) fn remove(path: &Path) -> Result<(), BuildError> {
    fs::remove_file(path).map_err(io_at(path))
}

pub(super) fn io_at(path: &Path) -> impl FnOnce(io::Error) -> BuildError + use<> {
    let path = path.to_owned();
    move |source| BuildError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(output: &str) -> String {
        packages_failed("openjdk-17-jre-headless,nonsense", output).to_string()
    }

    #[test]
    fn a_failed_installation_names_cause_package_and_remedy() {
        let long =
            format!("E: setup failed: E: env chroot dpkg --install {}", "/archives/x.deb ".repeat(100));
        let script = format!(
            "Setting up libgpg-error0:amd64 (1.46-1) ...\n\
             update-alternatives: error: error creating symbolic link '/usr/share/man/man1/java.1.gz.dpkg-tmp'\n\
             dpkg: error processing package openjdk-17-jre-headless:amd64 (--install):\n \
             installed package post-installation script subprocess returned error exit status 2\n\
             {}{long}\nE: mmdebstrap failed to run\n",
            "Processing triggers for libc-bin ...\n".repeat(40)
        );
        let said = message(&script);
        assert!(
            said.starts_with("installing the Debian packages openjdk-17-jre-headless, nonsense failed:\n")
        );
        for part in
            ["error creating symbolic link", "script of the package openjdk-17-jre-headless:amd64 failed"]
        {
            assert!(said.contains(part), "{said}");
        }
        assert!(!said.contains("Setting up") && !said.contains("triggers") && said.len() < 1200, "{said}");

        let absent = message("Reading state information...\nE: Unable to locate package nonsense\n");
        assert!(absent.contains("Debian 12 has no package nonsense: correct the name"), "{absent}");
        let absent = message("E: Package 'nonsense' has no installation candidate\n");
        assert!(absent.contains("Debian 12 has no package nonsense: correct the name"), "{absent}");
        let fetch = message(
            "Err:1 http://deb.debian.org/debian bookworm InRelease\n  Could not resolve 'deb.debian.org'\n",
        );
        assert!(fetch.contains("check the network") && fetch.contains("Could not resolve"), "{fetch}");
        assert!(message("out of disk space\n").contains("out of disk space"));
    }
}
