//! Building disk images: runs the recipes of `vm-images/` (bash; their README says what each makes).

use super::image::{Boot, FORMAT, Image, ImageError, ImageFacts, PackedInstance};
use super::original::OpenError;
use mcc_base::digest;
use mcc_base::files::{ARCHIVES, BUILDING};
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
const OF_DISK: [&str; 10] =
    ["bash", "mmdebstrap", "mke2fs", "debugfs", "qemu-img", "cpio", "lz4", "tar", "dpkg-deb", "strip"];

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("{program} is not on PATH: install the package {package} (scripts/setup does)")]
    Missing { program: &'static str, package: &'static str },
    #[error("the recipe vm-images/{recipe} failed:\n{output}")]
    Recipe { recipe: &'static str, output: String },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: {reason}", path.display())]
    Tool { path: PathBuf, reason: &'static str },
    #[error("{} is there already and is no image of ours: choose another folder", .0.display())]
    Foreign(PathBuf),
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
    let rootfs_by = digest::bytes(format!("{ROOTFS}{packages}"));
    let before = Image::open(build.out).ok().filter(|before| {
        let kept = ["rootfs.tar", "kernel.deb"].iter().all(|file| before.folder.join(file).is_file());
        !build.refresh && kept && before.facts.rootfs_by == rootfs_by
    });
    into_place(build.out, &OF_DISK, |out| {
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
        let tool = tool_or_none(build.tool, out)?;
        let settings =
            [("ROOTFS", rootfs.as_os_str()), ("TOOL", tool.as_os_str()), ("SIZE", build.size.as_ref())];
        recipe("disk", DISK, out, &settings)?;
        forget_no_tool(out)?;
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
            rootfs_by: if base.is_some() { String::new() } else { rootfs_by },
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
pub(super) fn tool_or_none(tool: Option<&Path>, out: &Path) -> Result<PathBuf, BuildError> {
    let none = out.join(NO_TOOL);
    if let Some(tool) = tool {
        return Ok(tool.to_owned());
    }
    fs::create_dir(&none).map_err(io_at(&none))?;
    let head = none.join("BenchKit_head.sh");
    fs::write(&head, REFERENCE_HEAD).map_err(io_at(&head))?;
    Ok(none)
}

const NO_TOOL: &str = "no-tool";

pub(super) fn forget_no_tool(out: &Path) -> Result<(), BuildError> {
    let none = out.join(NO_TOOL);
    if none.exists() { fs::remove_dir_all(&none).map_err(io_at(&none)) } else { Ok(()) }
}

/// Makes `rootfs.tar` in `out`: Debian, or `base` and more packages; the packages in it.
pub(super) fn rootfs(base: &Path, packages: &str, out: &Path) -> Result<Vec<String>, BuildError> {
    recipe("rootfs", ROOTFS, out, &[("BASE", base.as_os_str()), ("PACKAGES", packages.as_ref())])?;
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
    into_place(out, &["bash", "mke2fs", "debugfs"], |out| {
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
            rootfs_by: String::new(),
            instances,
            edition: edition.map(str::to_owned),
        })
    })
}

/// Builds beside `out`, then renames: an image is there whole or not at all.
pub(super) fn into_place(
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
        return Err(BuildError::Foreign(out.to_owned()));
    }
    let parent = match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(io_at(parent))?;
    let beside = tempfile::Builder::new().prefix(BUILDING).tempdir_in(parent).map_err(io_at(parent))?;
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
    let lines: Vec<&str> = said.lines().collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    Err(BuildError::Recipe { recipe: name, output: last.join("\n") })
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
