//! Builds disk images with the recipes of `vm-images/`, which are bash scripts (see the README there).

pub use super::build_checks::place;
use super::build_checks::{build_at, check_programs, check_root, check_rootfs, check_size, check_tool};
use super::disk_header::DiskError;
use super::ext4_files::Ext4Files;
use super::image::{
    Boot, ContainerSource, Image, ImageError, ImageFacts, MadeFrom, PackedInstance, REFERENCE_FILES, Source,
};
use crate::container::{Container, ContainerError, Facts, Limits};
use mcc_base::OnFile;
use mcc_base::child_process::{self, Purpose};
use mcc_base::digest;
use mcc_base::files::{ARCHIVES, BUILD_PREFIX, FileStamp};
use mcc_base::text::visible;
use std::fs::{self, File};
use std::io::{self, BufRead};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const ROOTFS: &str = include_str!("../../vm-images/rootfs");
const BOOT: &str = concat!(include_str!("../../vm-images/package"), include_str!("../../vm-images/boot"));
const DISK: &str = concat!(
    include_str!("../../vm-images/ext4"),
    include_str!("../../vm-images/tool"),
    include_str!("../../vm-images/disk")
);
const CONTAINER: &str =
    concat!(include_str!("../../vm-images/ext4"), include_str!("../../vm-images/container"));
const INPUTS: &str = concat!(include_str!("../../vm-images/ext4"), include_str!("../../vm-images/inputs"));
const REFERENCE_HEAD: &str = include_str!("../../vm-images/reference/BenchKit_head.sh");

/// Lines shown of the output of a failed recipe: the cause is at the end.
const LAST_LINES: usize = 30;
/// Error lines shown of a failed installation.
const MAX_CAUSES: usize = 8;
/// Characters shown of each error line: mmdebstrap prints whole command lines.
const MAX_CAUSE_CHARS: usize = 240;

/// The programs that the recipes call, each with its Debian package.
pub const PROGRAMS: [(&str, &str); 19] = [
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
    // For the kit only.
    ("extlinux", "extlinux"),
    ("sfdisk", "fdisk"),
    ("ssh-keygen", "openssh-client"),
    // For `image export` only.
    ("dropbear", "dropbear-bin"),
    ("dropbearkey", "dropbear-bin"),
    ("busybox", "busybox-static"),
    ("syslinux", "syslinux"),
    ("mformat", "mtools"),
    ("mcopy", "mtools"),
];

/// The programs that building a reference disk or a tool's disk needs.
pub const DISK_PROGRAMS: [&str; 10] =
    ["bash", "mmdebstrap", "mke2fs", "debugfs", "qemu-img", "cpio", "lz4", "tar", "dpkg-deb", "strip"];

/// An error of building an image.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A program is missing.
    #[error("{program} is not on PATH: install the package {package} (scripts/setup does this)")]
    Missing {
        /// Name of the program.
        program: &'static str,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// The user is not root.
    #[error(
        "building a disk needs root, to set the owners and modes of its files: run the command as root (sudo)"
    )]
    NotRoot,
    /// A container is refused.
    #[error(transparent)]
    Container(#[from] ContainerError),
    /// A recipe failed.
    #[error("the recipe vm-images/{recipe} failed:\n{}", last_lines(output))]
    Recipe {
        /// Name of the recipe.
        recipe: &'static str,
        /// Its standard output and standard error.
        output: String,
    },
    /// Debian packages cannot be installed.
    #[error("{what} failed:\n{causes}\n{remedy}")]
    Packages {
        /// The step that failed.
        what: String,
        /// The error lines of apt and dpkg.
        causes: String,
        /// What the user can do.
        remedy: String,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] mcc_base::FileError),
    /// The tool's folder is unusable, or what would be written exists: what, where, and a remedy.
    #[error("{0}")]
    Refused(String),
    /// An image cannot be opened.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// An inputs disk is damaged, or lacks an instance.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// Receives the description of each step when it begins.
pub type Progress<'a> = &'a dyn Fn(&str);

/// The settings of a bootable disk.
pub struct BuildDisk<'a> {
    /// The image folder to make or replace.
    pub out: &'a Path,
    /// The statically linked guest agent; read only for a reference disk.
    pub agent: &'a Path,
    /// The reference image to build on; None builds a reference image.
    pub reference: Option<&'a Path>,
    /// The tool to install: a folder with `BenchKit_head.sh` and `bin/`.
    pub tool: Option<&'a Path>,
    /// A container that replaces Debian: an archive or an OCI layout; only with a reference image.
    pub container: Option<&'a Path>,
    /// Names of Debian packages to add.
    pub packages: &'a [String],
    /// Whether to fetch Debian again even if the reference image that `out` replaces contains it.
    pub refresh: bool,
    /// Size of the disk as the guest sees it, bytes.
    pub size: u64,
}

/// Builds a reference disk, or a tool's disk on a reference disk. It needs root.
///
/// # Errors
/// The user is not root, a program is missing, an input is unusable, or a recipe failed.
pub fn disk(build: &BuildDisk, progress: Progress) -> Result<Image, BuildError> {
    check_root()?;
    build.tool.map_or(Ok(()), |tool| check_tool(tool, build.size))?;
    let base = build.reference.map(Image::open).transpose()?;
    if let Some(base) = base.as_ref().filter(|base| base.facts.kind != "reference") {
        return Err(BuildError::Refused(format!(
            "{} is an image of kind {:?}: give a reference image (`image build` without --reference makes one)",
            base.folder.display(),
            base.facts.kind
        )));
    }
    let packages = build.packages.join(",");
    let rootfs_recipe = digest::bytes(format!("{ROOTFS}{packages}"));
    let before = Image::open(build.out).ok().filter(|before| {
        let kept = REFERENCE_FILES.iter().all(|file| before.folder.join(file).is_file());
        base.is_none() && !build.refresh && kept && before.facts.rootfs_recipe == rootfs_recipe
    });
    let rootfs_from = base.as_ref().or(before.as_ref()).filter(|_| build.container.is_none());
    check_size(build.size, rootfs_from)?;
    rootfs_from.map_or(Ok(()), check_rootfs)?;
    let inputs: Vec<&Path> =
        [Some(build.agent), build.reference, build.tool, build.container].into_iter().flatten().collect();
    build_at(build.out, &inputs, &[], &DISK_PROGRAMS, |out| {
        let mut made_from = made_from(base.as_ref(), build.packages, build.tool)?;
        let (mut listed, mut rootfs_sha256) = (vec![], None);
        match (&base, build.container) {
            (Some(base), Some(archive)) => {
                made_from.container = Some(container_disk(base, archive, build, out, progress)?);
            }
            _ => {
                let (rootfs, packages) =
                    rootfs_for(base.as_ref(), before.as_ref(), &packages, out, progress)?;
                listed = packages;
                if base.is_none() {
                    rootfs_sha256 = Some(digest::file(&rootfs).on("read", &rootfs)?.0);
                    progress("making kernel and initrd");
                    recipe("boot", BOOT, out, &[("AGENT", build.agent.as_os_str())], progress)?;
                }
                progress("making the disk");
                let tool = tool_or_placeholder(build.tool, out)?;
                let size = build.size.to_string();
                let settings =
                    [("ROOTFS", rootfs.as_os_str()), ("TOOL", tool.as_os_str()), ("SIZE", size.as_ref())];
                recipe("disk", DISK, out, &settings, progress)?;
                remove_placeholder_tool(out)?;
            }
        }
        check_tool_unchanged(build.tool, &made_from)?;
        if let Some(base) = &base {
            let (kernel, initrd) = base.boot()?;
            copy(&kernel, &out.join("vmlinux"))?;
            copy(&initrd, &out.join("initrd"))?;
            // Nothing is built on a tool's image, so it keeps no rootfs.tar.
            if out.join("rootfs.tar").exists() {
                remove(&out.join("rootfs.tar"))?;
            }
        }
        Ok(ImageFacts {
            boot: Some(Boot { kernel: "vmlinux".to_owned(), initrd: "initrd".to_owned() }),
            packages: listed,
            rootfs_recipe: if base.is_some() { String::new() } else { rootfs_recipe },
            rootfs_sha256,
            made_from: Some(made_from),
            ..ImageFacts::new(if base.is_some() { "tool" } else { "reference" }, "disk.qcow2")
        })
    })
}

/// Makes or finds the `rootfs.tar` of a disk. Returns it with the packages that it contains.
fn rootfs_for(
    base: Option<&Image>,
    before: Option<&Image>,
    packages: &str,
    out: &Path,
    progress: Progress,
) -> Result<(PathBuf, Vec<String>), BuildError> {
    let new = out.join("rootfs.tar");
    match (base, before) {
        (Some(base), _) if packages.is_empty() => {
            Ok((base.folder.join("rootfs.tar"), base.facts.packages.clone()))
        }
        (None, Some(before)) => {
            progress("taking Debian from the image to be replaced (--refresh fetches it again)");
            copy(&before.folder.join("kernel.deb"), &out.join("kernel.deb"))?;
            copy(&before.folder.join("rootfs.tar"), &new)?;
            Ok((new, before.facts.packages.clone()))
        }
        (base, _) => {
            progress(if base.is_some() {
                "adding Debian packages"
            } else {
                "fetching and unpacking Debian 12"
            });
            let from = base.map(|base| base.folder.join("rootfs.tar")).unwrap_or_default();
            let listed = rootfs(&from, packages, out, progress)?;
            Ok((new, listed))
        }
    }
}

/// Makes the disk of a container.
fn container_disk(
    base: &Image,
    archive: &Path,
    build: &BuildDisk,
    out: &Path,
    progress: Progress,
) -> Result<ContainerSource, BuildError> {
    base.boot()?;
    let sha256 = if archive.is_dir() {
        digest::folder(archive)
    } else {
        digest::file(archive).map(|(digest, _)| digest)
    };
    let archive_source = Source { name: last_part(archive), sha256: sha256.on("read", archive)? };
    // Set-uid files and devices of the container are on this host meanwhile, so no other user may enter.
    let private = out.join("container");
    fs::DirBuilder::new().mode(0o700).create(&private).on("create", &private)?;
    let (spool, root) = (private.join("contents"), private.join("root"));
    fs::create_dir(&spool).on("create", &spool)?;
    let mut container = Container::read(archive, &spool, Limits::for_disk(build.size), progress)?;
    container.adapt(build.tool)?;
    for notice in container.notices() {
        progress(&format!("note: {}", visible(notice)));
    }
    let Facts { name, manifest, config, layers } = container.facts().clone();
    progress("writing the files of the container");
    container.write(&root)?;
    progress("making the disk");
    let size = build.size.to_string();
    recipe("container", CONTAINER, out, &[("ROOT", root.as_os_str()), ("SIZE", size.as_ref())], progress)?;
    fs::remove_dir_all(&private).on("remove", &private)?;
    Ok(ContainerSource {
        archive: archive_source,
        name,
        manifest_sha256: manifest,
        config_sha256: config,
        layers,
    })
}

/// Names and digests of the inputs of a disk.
pub(super) fn made_from(
    reference: Option<&Image>,
    packages: &[String],
    tool: Option<&Path>,
) -> Result<MadeFrom, BuildError> {
    let reference = reference.map(|image| {
        let disk = image.disk();
        let (sha256, _) = digest::file(&disk).on("read", &disk)?;
        Ok::<_, BuildError>(Source { name: last_part(&image.folder), sha256 })
    });
    let tool = tool.map(|folder| {
        let sha256 = digest::folder(folder).on("read", folder)?;
        Ok::<_, BuildError>(Source { name: last_part(folder), sha256 })
    });
    Ok(MadeFrom {
        reference: reference.transpose()?,
        packages_asked: packages.to_vec(),
        tool: tool.transpose()?,
        container: None,
    })
}

/// Checks, after the tool was copied, that its folder still has the digest that the image states.
pub(super) fn check_tool_unchanged(tool: Option<&Path>, made_from: &MadeFrom) -> Result<(), BuildError> {
    let (Some(tool), Some(stated)) = (tool, &made_from.tool) else { return Ok(()) };
    if digest::folder(tool).on("read", tool)? == stated.sha256 {
        return Ok(());
    }
    Err(BuildError::Refused(format!(
        "{} was changed while it was read; run the command again when nothing changes it",
        tool.display()
    )))
}

/// The last part of a path, also of `.` and `folder/..`.
fn last_part(path: &Path) -> String {
    let full = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    full.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the tool's folder. Without a tool it makes a folder in `out` with a tool that prints `DO_NOT_COMPETE`.
pub(super) fn tool_or_placeholder(tool: Option<&Path>, out: &Path) -> Result<PathBuf, BuildError> {
    let placeholder = out.join(PLACEHOLDER_TOOL);
    if let Some(tool) = tool {
        return Ok(tool.to_owned());
    }
    fs::create_dir(&placeholder).on("create", &placeholder)?;
    let head = placeholder.join("BenchKit_head.sh");
    fs::write(&head, REFERENCE_HEAD).on("write", &head)?;
    Ok(placeholder)
}

/// Name of the temporary folder of the placeholder.
const PLACEHOLDER_TOOL: &str = "no-tool";

pub(super) fn remove_placeholder_tool(out: &Path) -> Result<(), BuildError> {
    let placeholder = out.join(PLACEHOLDER_TOOL);
    if placeholder.exists() {
        fs::remove_dir_all(&placeholder).on("remove", &placeholder)?;
    }
    Ok(())
}

/// Makes `rootfs.tar` in `out`, with Debian or with `base` and more packages. Returns the packages that it contains.
pub(super) fn rootfs(
    base: &Path,
    packages: &str,
    out: &Path,
    progress: Progress,
) -> Result<Vec<String>, BuildError> {
    let settings = [("BASE", base.as_os_str()), ("PACKAGES", packages.as_ref())];
    recipe("rootfs", ROOTFS, out, &settings, progress).map_err(|error| match error {
        BuildError::Recipe { output, .. } => packages_failed(packages, &output),
        error => error,
    })?;
    let list = out.join("packages");
    let text = fs::read_to_string(&list).on("read", &list)?;
    remove(&list)?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// The name of the disk in the folder of an inputs image.
const INPUTS_DISK: &str = "inputs.ext4";

/// Copies an instance archive from the first path to the second, perhaps without some of its files, and returns the digest
/// of the first.
pub type CopyArchive<'a> = &'a dyn Fn(&Path, &Path) -> io::Result<String>;

/// Copies a whole instance archive, and returns the digest of the copy.
///
/// # Errors
/// A file cannot be read or written.
pub fn copy_archive(from: &Path, to: &Path) -> io::Result<String> {
    fs::copy(from, to)?;
    Ok(digest::file(to)?.0)
}

/// Packs validated instance archives into a read-only disk. The image folder keeps the copies of the archives that
/// `copy` makes; the digests in `image.json` are those that it returns. `left_out` names the file that the copies
/// do not have, if any.
///
/// # Errors
/// A program is missing, an archive cannot be read, or the recipe failed.
pub fn inputs(
    archives: &[(String, PathBuf)],
    edition: Option<&str>,
    (left_out, copy): (Option<&str>, CopyArchive),
    out: &Path,
    progress: Progress,
) -> Result<Image, BuildError> {
    build_at(out, &[], &[], &INPUTS_PROGRAMS, |out| {
        progress(&format!("packing instances: {}", archives.len()));
        let staging = out.join(ARCHIVES);
        fs::create_dir(&staging).on("create", &staging)?;
        let mut instances = vec![];
        for (instance, archive) in archives {
            let stamp = FileStamp::of(archive).on("read", archive)?;
            let sha256 = copy(archive, &staging.join(format!("{instance}.tgz"))).on("read", archive)?;
            stamp.check_if_unchanged(archive).on("read", archive)?;
            instances.push(PackedInstance { instance: instance.clone(), sha256 });
        }
        recipe("inputs", INPUTS, out, &[("ARCHIVES", staging.as_os_str())], progress)?;
        instances.sort_by(|a, b| a.instance.cmp(&b.instance));
        Ok(ImageFacts {
            instances,
            edition: edition.map(str::to_owned),
            left_out: left_out.map(str::to_owned),
            ..ImageFacts::new("inputs", INPUTS_DISK)
        })
    })
}

/// The programs that the recipe of an inputs disk needs.
const INPUTS_PROGRAMS: [&str; 3] = ["bash", "mke2fs", "debugfs"];

/// Makes the inputs disk `to` with the archive of one instance of the inputs disk `from`.
///
/// # Errors
/// `from` is damaged or lacks the instance, a program is missing, or the recipe failed.
pub fn instance_disk(from: &Ext4Files, instance: &str, to: &Path) -> Result<(), BuildError> {
    check_programs(&INPUTS_PROGRAMS)?;
    let parent = to.parent().unwrap_or(Path::new("/"));
    // No other user can enter it: the recipe makes the archive readable for all.
    let work = tempfile::Builder::new().prefix(BUILD_PREFIX).tempdir_in(parent).on("create", parent)?;
    let archives = work.path().join(ARCHIVES);
    fs::create_dir(&archives).on("create", &archives)?;
    let name = format!("{instance}.tgz");
    let path = archives.join(&name);
    let mut archive = File::create_new(&path).on("create", &path)?;
    if from.copy(&name, &mut archive)?.is_none() {
        let problem = format!("it has no {name}; build it again (`mcc-harness image inputs`)");
        return Err(DiskError::Refused { path: from.path.clone(), problem }.into());
    }
    recipe("inputs", INPUTS, work.path(), &[("ARCHIVES", archives.as_os_str())], &|_| {})?;
    Ok(fs::rename(work.path().join(INPUTS_DISK), to).on("create", to)?)
}

/// Returns the free space that `instance_disk` needs at most for an archive of this length: for a copy of it, and for the disk.
pub fn instance_disk_space(archive_bytes: u64) -> u64 {
    archive_bytes.saturating_mul(3).saturating_add(16 << 20)
}

/// A recipe that prints nothing is reported after this time, and each time again.
const REPORT_EACH: Duration = Duration::from_secs(10);

/// Runs a recipe with `settings` and `OUT` as environment variables. `progress` receives the steps that mmdebstrap
/// announces, and the elapsed time of a long step.
pub(super) fn recipe(
    name: &'static str,
    script: &str,
    out: &Path,
    settings: &[(&str, &std::ffi::OsStr)],
    progress: Progress,
) -> Result<(), BuildError> {
    let (reader, writer) = io::pipe().on("start", "bash")?;
    let mut bash = child_process::command("bash", Purpose::Download);
    bash.args(["-c", script, name]).env("OUT", out).envs(settings.iter().copied()).stdin(Stdio::null());
    bash.stdout(writer.try_clone().on("start", "bash")?).stderr(writer);
    let mut child = bash.spawn().on("start", "bash")?;
    // It holds the pipe open.
    drop(bash);
    let (sender, lines) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in io::BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
        }
    });
    let (begin, mut output) = (Instant::now(), String::new());
    loop {
        match lines.recv_timeout(REPORT_EACH) {
            Ok(line) => {
                if let Some(step) = line.strip_prefix("I: ") {
                    progress(&format!("  {step}"));
                }
                output += &line;
                output.push('\n');
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                progress(&format!("  {name}: {} s so far", begin.elapsed().as_secs()));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    let _ = reader.join();
    if child.wait().on("start", "bash")?.success() {
        Ok(())
    } else {
        Err(BuildError::Recipe { recipe: name, output })
    }
}

fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// Makes the error of a failed installation from the output of apt and dpkg: error lines, package and remedy.
fn packages_failed(packages: &str, output: &str) -> BuildError {
    const MARKS: [&str; 4] = ["error:", "error processing", "returned error", "Could not resolve"];
    let is_cause = |line: &&str| {
        (line.starts_with("E: ") || line.starts_with("Err:") || MARKS.iter().any(|mark| line.contains(mark)))
            && *line != "E: mmdebstrap failed to run"
    };
    let causes: Vec<&str> = output.lines().filter(is_cause).collect();
    let shown: Vec<String> = causes[causes.len().saturating_sub(MAX_CAUSES)..]
        .iter()
        .map(|line| match line.char_indices().nth(MAX_CAUSE_CHARS) {
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
            "the installation script of the package {name} failed, see above: leave {name} out and copy the files that \
             the tool needs into the tool's folder, or name another package"
        )
    } else if causes.iter().any(|line| fetched.iter().any(|mark| line.contains(mark))) {
        "Debian's mirror did not deliver: check the network and apt's settings of this host, then repeat the command"
            .to_owned()
    } else {
        "see above; to build the image without --packages, copy the files that the tool needs into the tool's folder"
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
    Ok(crate::sparse_copy(from, to).on("copy", from)?)
}

pub(super) fn remove(path: &Path) -> Result<(), BuildError> {
    Ok(fs::remove_file(path).on("remove", path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_with_another_digest_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("BenchKit_head.sh");
        fs::write(&file, "a").unwrap();
        let made_from = made_from(None, &[], Some(folder.path())).unwrap();
        check_tool_unchanged(Some(folder.path()), &made_from).unwrap();
        fs::write(&file, "b").unwrap();
        let error = check_tool_unchanged(Some(folder.path()), &made_from).unwrap_err().to_string();
        assert!(error.contains("was changed while it was read"), "{error}");
    }

    fn message(output: &str) -> String {
        packages_failed("openjdk-17-jre-headless,nonsense", output).to_string()
    }

    #[test]
    fn a_failed_installation_has_cause_package_and_remedy() {
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
        let broken = message(&script);
        assert!(
            broken.starts_with("installing the Debian packages openjdk-17-jre-headless, nonsense failed:\n")
        );
        for part in
            ["error creating symbolic link", "script of the package openjdk-17-jre-headless:amd64 failed"]
        {
            assert!(broken.contains(part), "{broken}");
        }
        assert!(!broken.contains("Setting up") && !broken.contains("triggers"), "{broken}");
        assert!(broken.len() < 1200, "{broken}");

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
