//! The kit that organizers give to tool authors: the reference disk as one file with a bootloader and sshd, the inputs
//! disk, a start script and instructions. An author installs a tool on the disk and submits the disk.

use super::build::{
    BuildError, Progress, check_tool_unchanged, copy, copy_archive, inputs, made_from, recipe, remove,
    remove_placeholder_tool, rootfs, tool_or_placeholder,
};
use super::build_checks::{build_at, check_root, check_rootfs, check_size, check_tool};
use super::image::{Image, ImageError, ImageFacts};
use mcc_base::OnFile;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const RECIPE: &str = concat!(
    include_str!("../../vm-images/tool"),
    include_str!("../../vm-images/package"),
    include_str!("../../vm-images/kit/recipe")
);
const INITRD_INIT: &str = include_str!("../../vm-images/kit/initrd-init");
const INIT: &str = include_str!("../../vm-images/kit/init");
const SSHD_CONFIG: &str = include_str!("../../vm-images/kit/sshd_config");
const INPUTS_VMDK: &str = include_str!("../../vm-images/kit/inputs-vmdk");
const START: &str = include_str!("../../vm-images/kit/BenchKitStart.sh");
const README: &str = include_str!("../../vm-images/kit/README.md");

/// The Debian packages that the kit's disk has in addition to those of the reference disk.
const PACKAGES: [&str; 2] = ["openssh-server", "busybox-static"];

/// The programs that building a kit needs.
pub const NEEDED: [&str; 10] = [
    "bash",
    "mmdebstrap",
    "mke2fs",
    "debugfs",
    "qemu-img",
    "cpio",
    "dpkg-deb",
    "extlinux",
    "sfdisk",
    "ssh-keygen",
];

/// The files of a kit that other images do not have.
const FILES: [&str; 5] = ["BenchKitStart.sh", "README.md", "inputs.vmdk", "key", "key.pub"];

/// The settings of a kit.
pub struct BuildKit<'a> {
    /// The folder to make: the kit, which is also an image of kind `original`.
    pub out: &'a Path,
    /// The reference image.
    pub reference: &'a Path,
    /// A tool to put on the disk: a folder with `BenchKit_head.sh` and `bin/`.
    pub tool: Option<&'a Path>,
    /// Names of Debian packages to add.
    pub packages: &'a [String],
    /// Names and paths of validated instance archives. If it is empty, the kit has no inputs disk.
    pub archives: &'a [(String, PathBuf)],
    /// Size of the disk as the guest sees it, bytes.
    pub size: u64,
}

/// Builds a kit. It needs root, and loop devices for the bootloader.
///
/// # Errors
/// A program is missing, an input is unusable, or a recipe failed.
pub fn kit(build: &BuildKit, progress: Progress) -> Result<Image, BuildError> {
    check_root()?;
    build.tool.map_or(Ok(()), |tool| check_tool(tool, build.size))?;
    let reference = Image::open(build.reference)?;
    let kernel = reference.folder.join("kernel.deb");
    let base = reference.folder.join("rootfs.tar");
    if !kernel.is_file() || !base.is_file() {
        let reason = "a kit is built on a reference image, with its kernel.deb and rootfs.tar".to_owned();
        return Err(ImageError::Bad { path: build.reference.to_owned(), reason }.into());
    }
    check_size(build.size, Some(&reference))?;
    check_rootfs(&reference)?;
    let archives = build.archives.iter().map(|(_, path)| path.as_path());
    let read: Vec<&Path> = [build.reference].into_iter().chain(build.tool).chain(archives).collect();
    build_at(build.out, &read, &FILES, &NEEDED, |out| {
        let made_from = made_from(Some(&reference), build.packages, build.tool)?;
        progress("adding Debian packages");
        let packages: Vec<&str> =
            PACKAGES.into_iter().chain(build.packages.iter().map(String::as_str)).collect();
        let listed = rootfs(&base, &packages.join(","), out, progress)?;
        progress("making the disk");
        let rootfs = out.join("rootfs.tar");
        let tool = tool_or_placeholder(build.tool, out)?;
        let size = build.size.to_string();
        let settings = [
            ("ROOTFS", rootfs.as_os_str()),
            ("KERNEL", kernel.as_os_str()),
            ("TOOL", tool.as_os_str()),
            ("SIZE", size.as_ref()),
            ("INITRD_INIT", INITRD_INIT.as_ref()),
            ("INIT", INIT.as_ref()),
            ("SSHD_CONFIG", SSHD_CONFIG.as_ref()),
        ];
        recipe("kit/recipe", RECIPE, out, &settings, progress)?;
        check_tool_unchanged(build.tool, &made_from)?;
        remove_placeholder_tool(out)?;
        remove(&rootfs)?;
        if !build.archives.is_empty() {
            let packed = inputs(build.archives, None, (None, &copy_archive), &out.join("inputs"), progress)?;
            let disk = packed.disk();
            recipe("kit/inputs-vmdk", INPUTS_VMDK, out, &[("INPUTS", disk.as_os_str())], progress)?;
            fs::remove_dir_all(&packed.folder).on("remove", &packed.folder)?;
        }
        for (name, text) in [("BenchKitStart.sh", START), ("README.md", README)] {
            let path = out.join(name);
            fs::write(&path, text).on("write", &path)?;
        }
        let start = out.join("BenchKitStart.sh");
        fs::set_permissions(&start, PermissionsExt::from_mode(0o755)).on("change", &start)?;
        let disk = out.join("disk.vmdk");
        let facts = Image::open_original(&disk).map_err(BuildError::from)?.facts;
        Ok(ImageFacts { packages: listed, made_from: Some(made_from), ..facts })
    })
}

/// Makes an image folder with a copy of an author's disk and the properties that are read from it.
///
/// # Errors
/// The disk cannot be read, is not bootable or refers to other files, or the folder cannot be made.
pub fn import(disk: &Path, out: &Path) -> Result<Image, BuildError> {
    let facts = Image::open_original(disk)?.facts;
    build_at(out, &[disk], &[], &[], |out| {
        copy(disk, &out.join(&facts.disk))?;
        Ok(facts)
    })
}
