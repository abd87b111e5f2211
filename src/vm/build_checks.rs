//! Checks before a disk image is built, and where it is put.

use super::build::{BuildError, PROGRAMS};
use super::image::{Image, ImageError, ImageFacts, REFERENCE_FILES};
use crate::host::find_program;
use mcc_base::OnFile;
use mcc_base::digest;
use mcc_base::files::{ARCHIVES, BUILD_PREFIX};
use mcc_base::temporary::{folder_beside, replace_folder};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

pub(super) fn check_root() -> Result<(), BuildError> {
    if nix::unistd::Uid::effective().is_root() { Ok(()) } else { Err(BuildError::NotRoot) }
}

/// Checks that the `rootfs.tar` of a reference image is the one from which its disk was made. Images of version 0.1 do not
/// state its digest.
pub(super) fn check_rootfs(reference: &Image) -> Result<(), BuildError> {
    let Some(stated) = &reference.facts.rootfs_sha256 else { return Ok(()) };
    let path = reference.folder.join("rootfs.tar");
    let (found, _) = digest::file(&path).on("read", &path)?;
    if found == *stated {
        return Ok(());
    }
    let reason = format!(
        "it was changed after the image was built (sha256 {found} instead of {stated}): build the image again with \
         `image build --refresh`, and add packages with --packages"
    );
    Err(ImageError::Bad { path, reason }.into())
}

/// Checks that the files of a reference image, if it is given, can fit on a disk of this size.
pub(super) fn check_size(size: u64, reference: Option<&Image>) -> Result<(), BuildError> {
    let rootfs = reference.and_then(|image| image.folder.join("rootfs.tar").metadata().ok());
    let least = rootfs.map_or(LEAST_SIZE, |rootfs| rootfs.len());
    if size >= least {
        return Ok(());
    }
    Err(BuildError::Refused(format!(
        "a disk of {size} bytes is too small for its file system of at least {least}: give a larger --size, such as 8G"
    )))
}

/// A smaller disk cannot have Linux and a tool.
const LEAST_SIZE: u64 = 16 << 20;

/// Checks that a tool's folder can be on a disk of this size, before any of its files is read.
pub(super) fn check_tool(tool: &Path, size: u64) -> Result<(), BuildError> {
    let head = tool.join("BenchKit_head.sh");
    let refused_file =
        |path: &Path, reason: &str| Err(BuildError::Refused(format!("{}: {reason}", path.display())));
    let refused = |reason: &str| refused_file(tool, reason);
    if !head.is_file() {
        return refused("it has no BenchKit_head.sh, the program that is started in the machine");
    }
    let [folder, head] = [tool, &head].map(|path| fs::canonicalize(path).on("find", path));
    if !head?.starts_with(folder?) {
        return refused(
            "its BenchKit_head.sh is a link that leads out of the folder: copy the file to its place",
        );
    }
    for path in ["bin", "INPUTS"].map(|name| tool.join(name)) {
        if path.symlink_metadata().is_ok_and(|facts| !facts.is_dir()) {
            return refused_file(&path, "it is not a folder, as it must be: put a folder in its place");
        }
    }
    let mut bytes = 0_u64;
    for item in WalkDir::new(tool) {
        let item = item.on("read", tool)?;
        let kind = item.file_type();
        if kind.is_file() {
            let facts = item.path().symlink_metadata().on("read", item.path())?;
            bytes = bytes.saturating_add(facts.len());
        } else if !kind.is_dir() && !kind.is_symlink() {
            return refused_file(
                item.path(),
                "it is not a file, a folder or a link, so no disk is made of it: remove it",
            );
        }
    }
    if bytes > size {
        return refused(&format!(
            "its files have {bytes} bytes, more than the disk of {size}: remove files or give a larger --size"
        ));
    }
    Ok(())
}

/// Checks that programs of `PROGRAMS` are installed.
pub(super) fn check_programs(needed: &[&str]) -> Result<(), BuildError> {
    let missing =
        PROGRAMS.into_iter().find(|(name, _)| needed.contains(name) && find_program(name).is_none());
    missing.map_or(Ok(()), |(program, package)| Err(BuildError::Missing { program, package }))
}

/// Builds an image in a temporary folder beside `out`, then renames the folder, so that `out` is never incomplete.
/// `inputs` and `also` are those of `place`.
pub(super) fn build_at(
    out: &Path,
    inputs: &[&Path],
    also: &[&str],
    needed: &[&str],
    build: impl FnOnce(&Path) -> Result<ImageFacts, BuildError>,
) -> Result<Image, BuildError> {
    check_programs(needed)?;
    // With the permissions of the umask: an image is not private, but an inputs disk of a record is.
    let temp_folder = folder_beside(&place(out, inputs, also)?, BUILD_PREFIX)?;
    let work = fs::canonicalize(temp_folder.path()).on("find", temp_folder.path())?;
    let facts = build(&work)?;
    let json = work.join("image.json");
    let text = serde_json::to_string_pretty(&facts).expect("facts are plain data") + "\n";
    fs::write(&json, text).on("write", &json)?;
    // Checked again: files may have been added meanwhile.
    replace_folder(&work, &place(out, inputs, also)?)?;
    let _ = temp_folder.keep();
    Ok(Image::open(out)?)
}

/// Returns where a new image with the path `out` is put: where nothing is, or in the place of an image, which is replaced.
/// That image must contain none of the `inputs`, and no file but those of an image and those named in `also`.
///
/// # Errors
/// Nothing is built at this path, so that nothing is lost.
pub fn place(out: &Path, inputs: &[&Path], also: &[&str]) -> Result<PathBuf, BuildError> {
    let refused = |problem: String| Err(BuildError::Refused(format!("{} {problem}", out.display())));
    if out.symlink_metadata().is_err() {
        return match out.file_name() {
            Some(_) => Ok(out.to_owned()),
            None => refused("is not the name of a new folder: give another --out".to_owned()),
        };
    }
    let Ok(image) = Image::open(out) else {
        return refused(
            "exists already and is not an image folder, so it is not replaced: choose another folder"
                .to_owned(),
        );
    };
    let place = fs::canonicalize(out).on("find", out)?;
    if env::current_dir().is_ok_and(|current| current.starts_with(&place)) {
        return refused(
            "contains the current folder, so it is not replaced: go to another folder first".to_owned(),
        );
    }
    let is_inside = |input: &&&Path| fs::canonicalize(input).is_ok_and(|input| input.starts_with(&place));
    if let Some(input) = inputs.iter().find(is_inside) {
        return refused(format!(
            "contains the input {}, so it is not replaced: choose another folder",
            input.display()
        ));
    }
    let files = image.files().into_iter().map(|(_, path)| path);
    let other = ["image.json", ARCHIVES].iter().chain(&REFERENCE_FILES).chain(also);
    let known: Vec<PathBuf> = files.chain(other.map(|name| out.join(name))).collect();
    for item in fs::read_dir(out).on("read", out)? {
        let item = item.on("read", out)?.path();
        if !known.contains(&item) {
            return refused(format!(
                "has {}, which is not a file of its image, so it is not replaced: move that file, or choose another folder",
                item.display()
            ));
        }
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::super::build::recipe;
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const SIZE: u64 = 1 << 20;

    #[test]
    fn a_tool_that_does_not_fit_on_the_disk_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let refused = || check_tool(folder.path(), SIZE).unwrap_err().to_string();
        fs::write(at("BenchKit_head.sh"), "").unwrap();
        check_tool(folder.path(), SIZE).unwrap();
        symlink("BenchKit_head.sh", at("INPUTS")).unwrap();
        assert!(refused().contains("INPUTS: it is not a folder"), "{}", refused());
        fs::remove_file(at("INPUTS")).unwrap();
        fs::create_dir(at("bin")).unwrap();
        nix::unistd::mkfifo(&at("bin/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(refused().contains("bin/pipe: it is not a file"), "{}", refused());
        fs::remove_file(at("bin/pipe")).unwrap();
        File::create(at("bin/hole")).unwrap().set_len(1 << 40).unwrap();
        assert!(refused().contains("its files have 1099511627776 bytes"), "{}", refused());
    }

    #[test]
    fn a_link_in_the_place_of_the_head_changes_no_file_of_the_host() {
        let folder = tempfile::tempdir().unwrap();
        let [tool, other] = ["tool", "other"].map(|name| folder.path().join(name));
        fs::create_dir(&tool).unwrap();
        fs::write(&other, "private").unwrap();
        fs::set_permissions(&other, fs::Permissions::from_mode(0o600)).unwrap();
        let head = tool.join("BenchKit_head.sh");
        symlink(&other, &head).unwrap();
        assert!(check_tool(&tool, SIZE).unwrap_err().to_string().contains("leads out of the folder"));

        // The link can also be made after the check. Only root can change the owner of files.
        let copy = |root: &Path| {
            let script = concat!(
                include_str!("../../vm-images/tool"),
                "set -e; chown() { :; }; tool \"$ROOT\" \"$TOOL\""
            );
            recipe("tool", script, root, &[("ROOT", root.as_os_str()), ("TOOL", tool.as_os_str())], &|_| {})
        };
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        copy(&folder.path().join("a")).unwrap();
        assert_eq!(mode(&other), 0o600);

        // A link to a file of the tool makes that file executable.
        fs::remove_file(&head).unwrap();
        fs::write(tool.join("start"), "#!/bin/sh").unwrap();
        fs::set_permissions(tool.join("start"), fs::Permissions::from_mode(0o644)).unwrap();
        symlink("start", &head).unwrap();
        check_tool(&tool, SIZE).unwrap();
        copy(&folder.path().join("b")).unwrap();
        assert_eq!(mode(&folder.path().join("b/home/mcc/BenchKit/start")), 0o755);
        assert_eq!(mode(&tool.join("start")), 0o644);
    }
}
