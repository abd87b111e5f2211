//! The merged file system of all layers, in memory. The contents of files are elsewhere, by number.

use crate::container::entries::{Kind, Meta};
use crate::container::names;
use std::collections::BTreeMap;

/// The prefix of an entry that removes what earlier layers have at the rest of its name.
const WHITEOUT: &[u8] = b".wh.";
/// An entry that removes all that earlier layers have in its folder.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Links that are followed in one name, as in Linux.
const MAX_LINKS: u32 = 40;
/// Most parts of a path with those of its links.
const MAX_STEPS: u32 = 4096;
/// The deepest folder.
const MAX_DEPTH: u32 = 512;
/// The longest path, bytes, so that the path of the private folder can precede it.
const MAX_PATH: usize = 3000;

/// The number of a node.
pub(crate) type Id = usize;

/// A file, folder, link or pipe. A node with several names is a file with hard links.
#[derive(Debug)]
pub(crate) struct Node {
    pub kind: NodeKind,
    pub meta: Meta,
}

#[derive(Debug)]
pub(crate) enum NodeKind {
    Folder(Folder),
    File(Content),
    Link(Vec<u8>),
    Pipe,
}

/// The content of a file: the name of its spooled copy, and its size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub number: u64,
    pub size: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Folder {
    pub slots: BTreeMap<Vec<u8>, Slot>,
    depth: u32,
    path_bytes: usize,
}

/// A name in a folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub id: Id,
    /// The layer that has an entry of this name; None for a folder that was only named by its content.
    layer: Option<usize>,
}

/// An entry of a layer, without its content.
pub(crate) struct LayerEntry {
    pub name: Vec<u8>,
    pub kind: Kind,
    pub meta: Meta,
    pub content: Content,
}

/// The merged file system.
pub(crate) struct Tree {
    nodes: Vec<Node>,
}

/// The number of the root folder.
pub(crate) const ROOT: Id = 0;

/// Attributes of folders that no layer describes.
fn implicit() -> Meta {
    Meta { mode: 0o755, ..Meta::default() }
}

impl Tree {
    pub(crate) fn new() -> Self {
        Self { nodes: vec![Node { kind: NodeKind::Folder(Folder::default()), meta: implicit() }] }
    }

    pub(crate) fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    pub(crate) fn node_mut(&mut self, id: Id) -> &mut Node {
        &mut self.nodes[id]
    }

    /// The numbers of all nodes are below this one.
    pub(crate) fn end(&self) -> Id {
        self.nodes.len()
    }

    pub(crate) fn folder(&self, id: Id) -> Option<&Folder> {
        match &self.nodes[id].kind {
            NodeKind::Folder(folder) => Some(folder),
            _ => None,
        }
    }

    fn folder_mut(&mut self, id: Id) -> Option<&mut Folder> {
        match &mut self.nodes[id].kind {
            NodeKind::Folder(folder) => Some(folder),
            _ => None,
        }
    }

    /// Applies a layer: first its whiteouts, which concern earlier layers only, then its files.
    ///
    /// # Errors
    /// The name of the refused entry, and the reason.
    pub(crate) fn apply(&mut self, layer: usize, entries: Vec<LayerEntry>) -> Result<(), (Vec<u8>, String)> {
        let is_whiteout = |entry: &LayerEntry| {
            let last = entry.name.rsplit(|byte| *byte == b'/').find(|part| !part.is_empty());
            last.is_some_and(|last| last.starts_with(WHITEOUT))
        };
        let (whiteouts, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_whiteout);
        for entry in whiteouts {
            self.white_out(&entry.name).map_err(|reason| (entry.name, reason))?;
        }
        for entry in files {
            let name = entry.name.clone();
            self.add(layer, entry).map_err(|reason| (name, reason))?;
        }
        Ok(())
    }

    fn white_out(&mut self, name: &[u8]) -> Result<(), String> {
        let parts = names::parts(name)?;
        let Some((last, parents)) = parts.split_last() else { return Ok(()) };
        let Some(parent) = self.resolve(parents, None)? else { return Ok(()) };
        let Some(folder) = self.folder_mut(parent) else {
            return Err("its path goes through a file".to_owned());
        };
        let removed = &last[WHITEOUT.len()..];
        if *last == OPAQUE {
            folder.slots.clear();
        } else if removed.is_empty() || removed == b"." || removed == b".." {
            return Err("it removes no file: a name is expected after `.wh.`".to_owned());
        } else if !removed.starts_with(WHITEOUT) {
            // Names that begin with `.wh..wh.` are notes of the file system aufs about itself.
            folder.slots.remove(removed);
        }
        Ok(())
    }

    fn add(&mut self, layer: usize, entry: LayerEntry) -> Result<(), String> {
        let parts = names::parts(&entry.name)?;
        let Some((last, parents)) = parts.split_last() else {
            return match entry.kind {
                Kind::Folder => {
                    self.nodes[ROOT].meta = entry.meta;
                    Ok(())
                }
                _ => Err("the root is not a folder in this layer".to_owned()),
            };
        };
        if parts.iter().any(|part| part.starts_with(WHITEOUT)) {
            return Err("names that begin with `.wh.` are reserved for whiteouts".to_owned());
        }
        let parent = self.resolve(parents, Some(layer))?.ok_or("its folder is missing")?;
        let existing = self.folder(parent).and_then(|folder| folder.slots.get(*last)).copied();
        let existing_folder = existing.filter(|slot| self.folder(slot.id).is_some());
        if let Some(slot) = existing {
            let again = entry.kind == Kind::Folder && existing_folder.is_some();
            if slot.layer == Some(layer) && !again {
                return Err("the layer has two entries of this name".to_owned());
            }
        }
        let id = match entry.kind {
            Kind::Folder => match existing_folder {
                Some(slot) => {
                    self.nodes[slot.id].meta = entry.meta;
                    slot.id
                }
                None => return self.new_folder(parent, last, entry.meta, Some(layer)).map(drop),
            },
            Kind::File => self.push(NodeKind::File(entry.content), entry.meta),
            Kind::Pipe => self.push(NodeKind::Pipe, entry.meta),
            Kind::Link(target) => self.push(NodeKind::Link(target), entry.meta),
            Kind::HardLink(target) => self.hard_link_target(&target)?,
        };
        self.put(parent, last, Slot { id, layer: Some(layer) })
    }

    fn hard_link_target(&self, target: &[u8]) -> Result<Id, String> {
        let shown = String::from_utf8_lossy(target).into_owned();
        // Some programs write the path in the container.
        let relative = &target[target.iter().take_while(|byte| **byte == b'/').count()..];
        let parts = names::parts(relative)
            .map_err(|_| format!("it is a hard link to {shown:?}, which is not a name in the container"))?;
        let missing = || format!("it is a hard link to {shown:?}, which does not exist");
        let (last, parents) = parts.split_last().ok_or_else(missing)?;
        let parent = self.resolve_existing(parents)?.ok_or_else(missing)?;
        let slot = self.folder(parent).and_then(|folder| folder.slots.get(*last)).ok_or_else(missing)?;
        match self.folder(slot.id) {
            None => Ok(slot.id),
            Some(_) => Err(format!("it is a hard link to the folder {shown:?}")),
        }
    }

    fn push(&mut self, kind: NodeKind, meta: Meta) -> Id {
        self.nodes.push(Node { kind, meta });
        self.nodes.len() - 1
    }

    fn put(&mut self, parent: Id, name: &[u8], slot: Slot) -> Result<(), String> {
        let folder = self.folder_mut(parent).ok_or("its path goes through a file")?;
        if folder.path_bytes + 1 + name.len() > MAX_PATH {
            return Err(format!("its path is longer than {MAX_PATH} bytes"));
        }
        folder.slots.insert(name.to_vec(), slot);
        Ok(())
    }

    /// Makes a folder; what has its name is replaced.
    pub(crate) fn new_folder(
        &mut self,
        parent: Id,
        name: &[u8],
        meta: Meta,
        layer: Option<usize>,
    ) -> Result<Id, String> {
        let above = self.folder(parent).ok_or("its path goes through a file")?;
        let folder = Folder {
            slots: BTreeMap::new(),
            depth: above.depth + 1,
            path_bytes: above.path_bytes + 1 + name.len(),
        };
        if folder.depth > MAX_DEPTH {
            return Err(format!("there are more than {MAX_DEPTH} folders above it"));
        }
        let id = self.push(NodeKind::Folder(folder), meta);
        self.put(parent, name, Slot { id, layer })?;
        Ok(id)
    }

    /// Puts a file, link or pipe into a folder; what has its name is replaced.
    pub(crate) fn new_node(
        &mut self,
        parent: Id,
        name: &[u8],
        kind: NodeKind,
        meta: Meta,
    ) -> Result<Id, String> {
        let id = self.push(kind, meta);
        self.put(parent, name, Slot { id, layer: None })?;
        Ok(id)
    }

    /// Removes a name. Returns what had it.
    pub(crate) fn remove(&mut self, parent: Id, name: &[u8]) -> Option<Id> {
        self.folder_mut(parent)?.slots.remove(name).map(|slot| slot.id)
    }

    /// The node at a path. Links are followed, also the last one, as a program in the container would.
    pub(crate) fn find(&self, path: &str) -> Option<Id> {
        let parts: Vec<&[u8]> = path.split('/').filter(|part| !part.is_empty()).map(str::as_bytes).collect();
        self.resolve_existing(&parts).ok().flatten()
    }

    /// The node at a path, where no part of it may be a link.
    pub(crate) fn find_without_links(&self, path: &str) -> Option<Id> {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        parts.try_fold(ROOT, |at, part| Some(self.folder(at)?.slots.get(part.as_bytes())?.id))
    }

    fn resolve_existing(&self, parts: &[&[u8]]) -> Result<Option<Id>, String> {
        self.walk(parts).map(|walked| match walked {
            Walked::Found(id) => Some(id),
            Walked::Missing(..) => None,
        })
    }

    /// The folder of this path. With a layer, folders that do not exist are made.
    fn resolve(&mut self, parts: &[&[u8]], layer: Option<usize>) -> Result<Option<Id>, String> {
        loop {
            match self.walk(parts)? {
                Walked::Found(id) => return Ok(Some(id)),
                Walked::Missing(..) if layer.is_none() => return Ok(None),
                Walked::Missing(parent, name) => {
                    self.new_folder(parent, &name, implicit(), None)?;
                }
            }
        }
    }

    /// Walks a path in the container from its root, and follows links. A link that leads above the root is refused.
    fn walk(&self, parts: &[&[u8]]) -> Result<Walked, String> {
        let mut pending: Vec<Vec<u8>> = parts.iter().rev().map(|part| part.to_vec()).collect();
        let mut above = vec![];
        let (mut at, mut links, mut steps) = (ROOT, 0, 0);
        while let Some(part) = pending.pop() {
            steps += 1;
            if steps > MAX_STEPS {
                return Err("its path, with the links in it, has too many parts".to_owned());
            }
            if part == b".." {
                at = above.pop().ok_or("a link in its path leads out of the container")?;
                continue;
            }
            let folder = self.folder(at).ok_or("its path goes through a file")?;
            let Some(slot) = folder.slots.get(&part) else { return Ok(Walked::Missing(at, part)) };
            if let NodeKind::Link(target) = &self.nodes[slot.id].kind {
                links += 1;
                if links > MAX_LINKS {
                    return Err("its path goes through too many links".to_owned());
                }
                if target.starts_with(b"/") {
                    above.clear();
                    at = ROOT;
                }
                let parts =
                    target.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
                pending.extend(parts.rev().map(<[u8]>::to_vec));
            } else {
                above.push(at);
                at = slot.id;
            }
        }
        Ok(Walked::Found(at))
    }
}

enum Walked {
    Found(Id),
    /// The folder that exists, and the name that is missing in it.
    Missing(Id, Vec<u8>),
}
