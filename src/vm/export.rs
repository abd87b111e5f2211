//! Exports images as `.vmdk` disks that a BIOS boots and that accept logins over ssh, without booting them.

use super::build::{BuildError, Progress, recipe};
use super::build_checks::check_programs;
use super::disk_header::{DiskFile, check_open_disk};
use super::free_space::free_bytes_of_folder;
use super::image::{Image, ImageError};
use super::sparse_copy::copy_open;
use mcc_base::OnFile;
use mcc_base::child_process::{self, Purpose};
use mcc_base::digest;
use mcc_base::files::open_own;
use mcc_base::temporary::folder_beside;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const RECIPE: &str =
    concat!(include_str!("../../vm-images/package"), include_str!("../../vm-images/vmdk/recipe"));
const INIT: &str = include_str!("../../vm-images/vmdk/init");
const INITRD_INIT: &str = include_str!("../../vm-images/vmdk/initrd-init");

/// The programs that making a disk bootable needs.
pub const NEEDED: [&str; 12] = [
    "bash",
    "qemu-img",
    "cpio",
    "dpkg-deb",
    "sfdisk",
    "ssh-keygen",
    "dropbear",
    "dropbearkey",
    "busybox",
    "syslinux",
    "mformat",
    "mcopy",
];

/// What was written beside the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The private key for the users `mcc` and `root`. None: the disk has the logins that it had before.
    pub key: Option<PathBuf>,
    /// Whether the disk boots by itself. An inputs disk does not.
    pub boots: bool,
}

/// Writes the disk of an image as the new file `out`, and for a disk without a bootloader also the keys `out.key` and
/// `out.key.pub`. Such a disk gets a first partition with bootloader, kernel and ssh server; its root file system is
/// unchanged. Needs no root.
///
/// # Errors
/// A program is missing, `out` exists, the image cannot be used, or its kernel is not that of the reference image.
pub fn vmdk(
    image: &Path,
    reference: Option<&Path>,
    out: &Path,
    progress: Progress,
) -> Result<Exported, BuildError> {
    let opened = Image::open(image)?;
    let keys = ["key", "key.pub"].map(|ending| {
        let mut path = out.as_os_str().to_owned();
        path.push(format!(".{ending}"));
        PathBuf::from(path)
    });
    if let Some(existing) = [out, &keys[0], &keys[1]].into_iter().find(|path| path.symlink_metadata().is_ok())
    {
        return Err(BuildError::Refused(format!(
            "{} exists already, so it is not replaced: remove it or choose another name",
            existing.display()
        )));
    }
    if out.as_os_str().as_bytes().ends_with(b"/") {
        return Err(BuildError::Refused(format!(
            "{} is the path of a folder: give the name of a file, such as disk.vmdk",
            out.display()
        )));
    }
    let work = folder_beside(out, ".exporting-")?;
    let work = fs::canonicalize(work.path()).map(|path| (path, work)).on("find", out)?;
    check_programs(&["qemu-img"])?;
    let boots_itself = opened.facts.original.as_ref().map(|original| original.bootable);
    let is_system = boots_itself.is_none() && opened.facts.kind != "inputs";
    let kernel = if is_system {
        check_programs(&NEEDED)?;
        Some(kernel(&opened, reference)?)
    } else {
        None
    };
    // A private copy: a user who can write to the image could change or replace the disk between its check and its use, and
    // one who can read it could lock it.
    let private = tempfile::tempdir_in(&work.0).on("create a folder in", &work.0)?;
    let original = opened.disk_file();
    let disk = DiskFile::new(private.path().join("disk"), &original.format);
    let source = open_own(&original.path).on("read", &original.path)?;
    // In blocks of 512 bytes: holes are not copied.
    let copied_bytes = source.metadata().on("read", &original.path)?.blocks() * 512;
    check_free(copied_bytes, out, &work.0)?;
    progress("copying the disk");
    copy_open(source, &disk.path).on("copy", &original.path)?;
    let copy = File::open(&disk.path).on("read", &disk.path)?;
    let bytes = check_open_disk(&original, &copy).map_err(ImageError::from)?;
    check_space(&disk, &original, out, &work.0)?;
    let made = work.0.join("disk.vmdk");
    if let Some(kernel) = kernel {
        progress("making a bootable disk");
        let size = bytes.to_string();
        let settings = [
            ("DISK", disk.path.as_os_str()),
            ("BYTES", size.as_ref()),
            ("KERNEL", kernel.as_os_str()),
            ("INIT", INIT.as_ref()),
            ("INITRD_INIT", INITRD_INIT.as_ref()),
        ];
        let done = recipe("vmdk/recipe", RECIPE, &work.0, &settings, progress);
        done.map_err(|error| match error {
            BuildError::Recipe { recipe, output } => {
                BuildError::Recipe { recipe, output: naming(&original, &disk, output.as_bytes()) }
            }
            error => error,
        })?;
        for (name, to) in ["key", "key.pub"].into_iter().zip(&keys) {
            fs::rename(work.0.join(name), to).on("rename", to)?;
        }
    } else {
        progress("converting the disk");
        let mut convert = child_process::command("qemu-img", Purpose::Local);
        convert.args(["convert", "-q", "-f", &disk.format, "-O", "vmdk"]).arg(&disk.path).arg(&made);
        let done = convert.output().on("start", Path::new("qemu-img"))?;
        if !done.status.success() {
            let output = naming(&original, &disk, &done.stderr);
            return Err(BuildError::Recipe { recipe: "vmdk (qemu-img convert)", output });
        }
    }
    fs::rename(&made, out).on("rename", out)?;
    let [key, _] = keys;
    Ok(Exported { key: is_system.then_some(key), boots: is_system || boots_itself == Some(true) })
}

/// The output of a program that read the copy of a disk, with the name of the disk itself: the copy is removed afterwards.
fn naming(original: &DiskFile, copy: &DiskFile, output: &[u8]) -> String {
    let [original, copy] = [original, copy].map(|disk| disk.path.to_string_lossy());
    String::from_utf8_lossy(output).replace(&*copy, &original)
}

/// Checks that the data of the copy of a disk fit into the free space of the folder `work`. A small file can have much data:
/// all tables of a qcow2 disk can name one cluster.
fn check_space(copy: &DiskFile, original: &DiskFile, out: &Path, work: &Path) -> Result<(), BuildError> {
    let mut measure = child_process::command("qemu-img", Purpose::Local);
    measure.args(["measure", "--output=json", "-f", &copy.format, "-O", "qcow2"]).arg(&copy.path);
    let done = measure.output().on("start", Path::new("qemu-img"))?;
    let facts: Option<serde_json::Value> = serde_json::from_slice(&done.stdout).ok();
    let Some(needed) = facts.and_then(|facts| facts["required"].as_u64()) else {
        let output = naming(original, copy, &done.stderr);
        return Err(BuildError::Recipe { recipe: "vmdk (qemu-img measure)", output });
    };
    check_free(needed, out, work)
}

/// Checks that the data of a disk, or of its copy, fit into the free space of the folder `work`.
fn check_free(needed: u64, out: &Path, work: &Path) -> Result<(), BuildError> {
    let free = free_bytes_of_folder(work).on("read", work)?;
    if needed <= free {
        return Ok(());
    }
    let problem = format!(
        "the disk has {needed} bytes of data, and {free} are free there; choose another folder (the data are written more \
         than once)"
    );
    Ok(Err(io::Error::new(io::ErrorKind::StorageFull, problem)).on("write", out)?)
}

/// The package with the kernel of an image, which is in the reference image.
fn kernel(image: &Image, reference: Option<&Path>) -> Result<PathBuf, BuildError> {
    let reference = match reference {
        Some(folder) => Image::open(folder)?,
        None => image.clone(),
    };
    let bad =
        |path: &Path, reason: &str| ImageError::Bad { path: path.to_owned(), reason: reason.to_owned() };
    let package = reference.folder.join("kernel.deb");
    if !package.is_file() {
        return Err(bad(
            &reference.folder,
            "it has no kernel.deb: give the reference image with --reference",
        )
        .into());
    }
    let digest = |image: &Image| {
        let (kernel, _) = image.boot()?;
        Ok::<_, BuildError>(digest::file(&kernel).on("read", &kernel)?.0)
    };
    if digest(image)? != digest(&reference)? {
        let reason =
            "its kernel is not that of the image: give the reference image on which the image was built";
        return Err(bad(&reference.folder, reason).into());
    }
    Ok(fs::canonicalize(&package).on("find", &package)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImageFacts;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_disk_that_is_replaced_while_it_is_exported_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let [image, secret, out] = ["image", "secret", "out.vmdk"].map(|name| folder.path().join(name));
        let disk = image.join("disk");
        fs::create_dir(&image).unwrap();
        let facts = serde_json::to_string(&ImageFacts::new("inputs", "disk")).unwrap();
        fs::write(image.join("image.json"), facts).unwrap();
        fs::write(&disk, "PUBLIC..".repeat(64)).unwrap();
        fs::write(&secret, "SECRET..".repeat(64)).unwrap();
        // Its owner does this when the disk was checked.
        let replace = |step: &str| {
            if step == "converting the disk" {
                fs::remove_file(&disk).unwrap();
                symlink(&secret, &disk).unwrap();
            }
        };
        vmdk(&image, None, &out, &replace).unwrap();
        let written = fs::read(&out).unwrap();
        let has = |text: &[u8]| written.windows(text.len()).any(|part| part == text);
        assert!(has(b"PUBLIC") && !has(b"SECRET"));
    }

    #[test]
    fn a_link_in_a_package_with_a_kernel_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("kernel/boot")).unwrap();
        fs::write(at("secret.ko"), "secret").unwrap();
        symlink(at("secret.ko"), at("kernel/boot/virtio.ko")).unwrap();
        symlink(folder.path(), at("kernel/lib")).unwrap();
        fs::write(at("kernel/boot/vmlinuz-6.1"), "kernel").unwrap();
        let found = |name: &str| {
            let script = concat!(
                include_str!("../../vm-images/package"),
                "set -e; path=$(package_file \"$OUT/kernel\" \"$NAME\"); cp \"$path\" \"$OUT/copy\""
            );
            recipe("package", script, folder.path(), &[("NAME", name.as_ref())], &|_| {})
        };
        found("vmlinuz-*").unwrap();
        assert_eq!(fs::read_to_string(at("copy")).unwrap(), "kernel");
        for name in ["virtio.ko", "secret.ko"] {
            let error = found(name).unwrap_err().to_string();
            assert!(error.contains(&format!("must have exactly one regular file {name}")), "{error}");
        }
    }
}
