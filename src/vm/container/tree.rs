//! The merged file system of all layers, in memory. The contents of files are elsewhere, by number.

use crate::container::entries::{Budget, Kind, Meta};
use crate::container::names;
use std::collections::BTreeMap;

/// The prefix of an entry that removes what earlier layers have at the rest of its name.
const WHITEOUT: &[u8] = b".wh.";
/// An entry that removes all that earlier layers have in its folder.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Links that are followed in one name, as in Linux.
const MAX_LINKS: u32 = 40;
/// Most parts of a path with those of its links.
const MAX_STEPS: usize = 4096;
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
    pub(crate) fn apply(
        &mut self,
        layer: usize,
        entries: Vec<LayerEntry>,
        budget: &Budget,
    ) -> Result<(), (Vec<u8>, String)> {
        let is_whiteout = |entry: &LayerEntry| {
            let last = entry.name.rsplit(|byte| *byte == b'/').find(|part| !part.is_empty());
            last.is_some_and(|last| last.starts_with(WHITEOUT))
        };
        let (whiteouts, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_whiteout);
        for entry in whiteouts {
            self.white_out(&entry.name, budget).map_err(|reason| (entry.name, reason))?;
        }
        for entry in files {
            let name = entry.name.clone();
            self.add(layer, entry, budget).map_err(|reason| (name, reason))?;
        }
        Ok(())
    }

    fn white_out(&mut self, name: &[u8], budget: &Budget) -> Result<(), String> {
        let parts = names::parts(name)?;
        let Some((last, parents)) = parts.split_last() else { return Ok(()) };
        let Some(parent) = self.resolve(parents, false, budget)? else { return Ok(()) };
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

    fn add(&mut self, layer: usize, entry: LayerEntry, budget: &Budget) -> Result<(), String> {
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
        let parent = self.resolve(parents, true, budget)?.ok_or("its folder is missing")?;
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
            Kind::HardLink(target) => self.hard_link_target(&target, budget)?,
        };
        self.put(parent, last, Slot { id, layer: Some(layer) })
    }

    fn hard_link_target(&mut self, target: &[u8], budget: &Budget) -> Result<Id, String> {
        let shown = String::from_utf8_lossy(target).into_owned();
        // Some programs write the path in the container.
        let relative = &target[target.iter().take_while(|byte| **byte == b'/').count()..];
        let parts = names::parts(relative)
            .map_err(|_| format!("it is a hard link to {shown:?}, which is not a name in the container"))?;
        let missing = || format!("it is a hard link to {shown:?}, which does not exist");
        let (last, parents) = parts.split_last().ok_or_else(missing)?;
        let parent = self.resolve(parents, false, budget)?.ok_or_else(missing)?;
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
        // The name may be from the target of a link.
        if name.len() > names::MAX_NAME {
            return Err(format!("a part of its path is longer than {} bytes", names::MAX_NAME));
        }
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

    /// Gives another name to what a folder has under a name. Hard links to it stay links to it.
    pub(crate) fn rename(&mut self, parent: Id, name: &[u8], new_name: &[u8]) -> Result<(), String> {
        let removed = self.folder_mut(parent).and_then(|folder| folder.slots.remove(name));
        removed.map_or(Ok(()), |slot| self.put(parent, new_name, slot))
    }

    /// The node at a path. Links are followed, also the last one, as a program in the container would.
    pub(crate) fn find(&self, path: &str) -> Option<Id> {
        let parts: Vec<&[u8]> = path.split('/').filter(|part| !part.is_empty()).map(str::as_bytes).collect();
        let mut walk = Walk::new(&parts).ok()?;
        let missing = self.follow(&mut walk).ok()?;
        missing.is_none().then_some(walk.at)
    }

    /// The node at a path, where no part of it may be a link.
    pub(crate) fn find_without_links(&self, path: &str) -> Option<Id> {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        parts.try_fold(ROOT, |at, part| Some(self.folder(at)?.slots.get(part.as_bytes())?.id))
    }

    /// The folder of this path. Folders that do not exist are made, or the answer is None.
    fn resolve(
        &mut self,
        parts: &[&[u8]],
        make_missing: bool,
        budget: &Budget,
    ) -> Result<Option<Id>, String> {
        let mut walk = Walk::new(parts)?;
        while let Some(name) = self.follow(&mut walk)? {
            if !make_missing {
                budget.take_steps(walk.steps)?;
                return Ok(None);
            }
            // One entry can name hundreds of folders.
            budget.take_entry()?;
            let made = self.new_folder(walk.at, &name, implicit(), None)?;
            walk.enter(made);
        }
        budget.take_steps(walk.steps)?;
        Ok(Some(walk.at))
    }

    /// Follows a path with its links to its end, or to a name that is missing in the folder where the walk is then. A
    /// link that leads above the root is refused.
    fn follow(&self, walk: &mut Walk) -> Result<Option<Vec<u8>>, String> {
        while let Some(part) = walk.pending.pop() {
            if part == b".." {
                walk.at = walk.above.pop().ok_or("a link in its path leads out of the container")?;
                continue;
            }
            let folder = self.folder(walk.at).ok_or("its path goes through a file")?;
            let Some(slot) = folder.slots.get(&part) else { return Ok(Some(part)) };
            if let NodeKind::Link(target) = &self.nodes[slot.id].kind {
                walk.links += 1;
                if walk.links > MAX_LINKS {
                    return Err("its path goes through too many links".to_owned());
                }
                if target.starts_with(b"/") {
                    walk.above.clear();
                    walk.at = ROOT;
                }
                let parts: Vec<&[u8]> = target.split(|byte| *byte == b'/').collect();
                walk.add(&parts)?;
            } else {
                walk.enter(slot.id);
            }
        }
        Ok(None)
    }
}

/// A walk along a path from the root.
struct Walk {
    /// The rest of the path, its next part last.
    pending: Vec<Vec<u8>>,
    /// The folder that is reached.
    at: Id,
    /// The folders above it.
    above: Vec<Id>,
    links: u32,
    /// Parts of the path and of its links.
    steps: usize,
}

impl Walk {
    fn new(parts: &[&[u8]]) -> Result<Self, String> {
        let mut walk = Self { pending: vec![], at: ROOT, above: vec![], links: 0, steps: 0 };
        walk.add(parts)?;
        Ok(walk)
    }

    /// Adds parts before the rest of the path. All are counted, because those without an effect also take time.
    fn add(&mut self, parts: &[&[u8]]) -> Result<(), String> {
        self.steps += parts.len();
        if self.steps > MAX_STEPS {
            return Err("its path, with the links in it, has too many parts".to_owned());
        }
        let named = parts.iter().rev().filter(|part| !part.is_empty() && **part != b".");
        self.pending.extend(named.map(|part| part.to_vec()));
        Ok(())
    }

    fn enter(&mut self, id: Id) {
        self.above.push(self.at);
        self.at = id;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::Limits;

    fn entry(name: &str, kind: Kind) -> LayerEntry {
        let content = Content { number: 0, size: 0 };
        LayerEntry { name: name.into(), kind, meta: Meta::default(), content }
    }

    fn budget(entries: u64) -> Budget {
        Budget::new(Limits { bytes: 0, entries })
    }

    fn refusal(budget: &Budget, entries: Vec<LayerEntry>) -> String {
        Tree::new().apply(0, entries, budget).unwrap_err().1
    }

    #[test]
    fn folders_that_only_paths_name_are_counted() {
        let path = "a/".repeat(11) + "f";
        assert!(Tree::new().apply(0, vec![entry(&path, Kind::File)], &budget(11)).is_ok());
        assert!(refusal(&budget(10), vec![entry(&path, Kind::File)]).contains("more than 10 entries"));
    }

    #[test]
    fn a_missing_path_is_walked_once() {
        // 100 folders are missing. Walking from the root for each of them would take 5050 steps.
        let path = "a/".repeat(100) + "f";
        let budget = budget(1000);
        let before = budget.steps();
        Tree::new().apply(0, vec![entry(&path, Kind::File)], &budget).unwrap();
        assert_eq!(before - budget.steps(), 100);
        // Missing folders in the target of a link, and `..` after them.
        let link = entry("l", Kind::Link(b"x/../y".to_vec()));
        let mut tree = Tree::new();
        tree.apply(0, vec![link, entry("l/z/f", Kind::File)], &budget).unwrap();
        assert!(tree.find("/y/z/f").is_some() && tree.find("/x").is_some() && tree.find("/x/y").is_none());
    }

    #[test]
    fn links_of_all_paths_have_one_limit_of_steps() {
        let target = format!("{}d", "d/../".repeat(1000));
        let entries = || {
            let files = (0..100).map(|number| entry(&format!("l/{number}"), Kind::File));
            let start = [entry("d", Kind::Folder), entry("l", Kind::Link(target.clone().into_bytes()))];
            start.into_iter().chain(files).collect::<Vec<_>>()
        };
        let all = budget(1000);
        let before = all.steps();
        Tree::new().apply(0, entries(), &all).unwrap();
        assert_eq!(before - all.steps(), 100 * 2002);
        let little = budget(1000);
        little.take_steps(usize::try_from(little.steps()).unwrap() - 50 * 2002).unwrap();
        assert!(refusal(&little, entries()).contains("too many parts"));
        // Parts without an effect are counted too.
        let idle = entry("l", Kind::Link([b"./".repeat(4096), b"d".to_vec()].concat()));
        let file = entry("l/f", Kind::File);
        let refused = refusal(&budget(1000), vec![entry("d", Kind::Folder), idle, file]);
        assert!(refused.contains("too many parts"), "{refused}");
    }

    #[test]
    fn a_link_to_a_long_name_makes_no_folder() {
        let entries = vec![entry("l", Kind::Link(vec![b'n'; 256])), entry("l/f", Kind::File)];
        assert!(refusal(&budget(1000), entries).contains("longer than 255 bytes"));
    }
}
