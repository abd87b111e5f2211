//! Writes the merged file system into a folder of the host.

use crate::container::entries::Meta;
use crate::container::error::ContainerError;
use crate::container::tree::{Id, NodeKind, ROOT, Tree};
use mcc_base::OnFile;
use nix::fcntl::AT_FDCWD;
use nix::sys::stat::{Mode, UtimensatFlags, utimensat};
use nix::sys::time::TimeSpec;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

/// Makes the folder `to` with all files of the container from `archive`. Their contents are moved out of `spool`, which
/// must be on the same file system. Needs root, to set owners.
pub(crate) fn write(tree: &Tree, archive: &Path, spool: &Path, to: &Path) -> Result<(), ContainerError> {
    let mut names = vec![0_u32; tree.end()];
    count_names(tree, ROOT, &mut names);
    Writer { tree, archive, root: to, spool, names, written: vec![None; tree.end()] }.folder(ROOT, to)
}

/// Counts the names of each node.
fn count_names(tree: &Tree, id: Id, names: &mut [u32]) {
    for slot in tree.folder(id).into_iter().flat_map(|folder| folder.slots.values()) {
        names[slot.id] += 1;
        count_names(tree, slot.id, names);
    }
}

struct Writer<'a> {
    tree: &'a Tree,
    archive: &'a Path,
    root: &'a Path,
    spool: &'a Path,
    names: Vec<u32>,
    /// The first path of each node with several names.
    written: Vec<Option<PathBuf>>,
}

impl Writer<'_> {
    fn folder(&mut self, id: Id, to: &Path) -> Result<(), ContainerError> {
        let tree = self.tree;
        fs::create_dir(to).on("create", to)?;
        for (name, slot) in tree.folder(id).into_iter().flat_map(|folder| &folder.slots) {
            let path = to.join(OsStr::from_bytes(name));
            match &tree.node(slot.id).kind {
                NodeKind::Folder(_) => self.folder(slot.id, &path)?,
                kind => self.file(slot.id, kind, &path)?,
            }
        }
        // Last, because each file that is made in a folder changes its time.
        self.attributes(&tree.node(id).meta, to, false)
    }

    fn file(&mut self, id: Id, kind: &NodeKind, to: &Path) -> Result<(), ContainerError> {
        if let Some(first) = &self.written[id] {
            return Ok(fs::hard_link(first, to).on("create", to)?);
        }
        match kind {
            NodeKind::File(content) if content.size > 0 => {
                fs::rename(self.spool.join(content.number.to_string()), to).on("rename", to)?;
            }
            NodeKind::File(_) => drop(File::create_new(to).on("create", to)?),
            NodeKind::Link(target) => symlink(OsStr::from_bytes(target), to).on("create", to)?,
            NodeKind::Pipe => {
                nix::unistd::mkfifo(to, Mode::S_IRUSR).on("create", to)?;
            }
            NodeKind::Folder(_) => unreachable!("a folder has its own function"),
        }
        self.attributes(&self.tree.node(id).meta, to, matches!(kind, NodeKind::Link(_)))?;
        if self.names[id] > 1 {
            self.written[id] = Some(to.to_owned());
        }
        Ok(())
    }

    /// Sets owner, mode, extended attributes and time. A change of the owner clears bits of the mode and capabilities.
    fn attributes(&self, meta: &Meta, path: &Path, is_link: bool) -> Result<(), ContainerError> {
        lchown(path, Some(meta.uid), Some(meta.gid)).on("change", path)?;
        if !is_link {
            fs::set_permissions(path, Permissions::from_mode(meta.mode)).on("change", path)?;
        }
        for (name, value) in &meta.xattrs {
            // Linux refuses some, such as those of users for a link, and damaged capabilities.
            xattr::set(path, OsStr::from_bytes(name), value).map_err(|error| {
                let entry = path.strip_prefix(self.root).unwrap_or(path);
                let name = String::from_utf8_lossy(name);
                let reason = format!(
                    "{entry:?} cannot have its extended attribute {name:?} ({error}): remove it (setfattr --no-dereference \
                     --remove)"
                );
                ContainerError::Archive { path: self.archive.to_owned(), reason }
            })?;
        }
        let time = TimeSpec::new(meta.mtime.into(), 0);
        utimensat(AT_FDCWD, path, &time, &time, UtimensatFlags::NoFollowSymlink).on("change", path)?;
        Ok(())
    }
}
