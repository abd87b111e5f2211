//! Instances under other names: evidence against precomputed results (rule T-5).
//!
//! A tool that computes answers the same under any names; one that looks them up does not find them. Places,
//! transitions, arcs, pages, units, declarations, the net, the instance and its family get names drawn from a seed;
//! whatever else could tell the model (labels for people, layout, `.txt` twins of formulas, sections of other tools,
//! comments) is left out. The net and its formulas stay what they are, position by position.

use super::xml::{Item, Xml, attributes, element_name, local_part};
use super::{Archive, ArchiveError, BadInstanceName, InstanceName, MODEL, ModelError};
use flate2::{Compression, GzBuilder};
use mcc_base::digest;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ObfuscateError {
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Name(#[from] BadInstanceName),
    #[error("{instance}: two ids get the same name under this seed; choose another seed")]
    Collision { instance: String },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// One name and what it became. `kind` is `instance`, `property`, or the element that has the id (`place`, ...).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renamed<'a> {
    pub kind: &'a str,
    pub original: &'a str,
    pub obfuscated: &'a str,
}

/// What became of an instance.
#[derive(Debug)]
pub struct Obfuscated {
    pub instance: InstanceName,
    /// Where it was written: `FOLDER/<its new name>.tgz`.
    pub path: PathBuf,
    /// Files of the archive that have no place in the new one.
    pub left_out: Vec<String>,
}

/// The name of an instance under a seed. Twins and sizes of one family stay one family.
pub fn instance_name(instance: &InstanceName, seed: &str) -> Result<InstanceName, BadInstanceName> {
    let kind = &instance.as_str()[instance.family().len()..];
    let kind = if kind.starts_with("-PT-") { "PT" } else { "COL" };
    let family = pseudonym(seed, &["family", instance.family()]);
    let scale = pseudonym(seed, &["instance", instance.as_str()]);
    format!("M{}-{kind}-{}", &family[..12], &scale[..12]).parse()
}

/// 16 hex digits that depend on the seed and on every word.
fn pseudonym(seed: &str, words: &[&str]) -> String {
    let mut text = String::new();
    for word in [seed].iter().chain(words) {
        text += &format!("{}:{word}", word.len());
    }
    let mut name = digest::bytes(text);
    name.truncate(16);
    name
}

/// Writes the archive of an instance under other names into a folder, the same bytes for the same seed. Every name
/// of place, transition, property and instance is told to `renamed`.
///
/// Streams the model: memory is that of its ids, not of the file.
pub fn obfuscate(
    archive: &Archive,
    seed: &str,
    folder: &Path,
    renamed: &mut dyn FnMut(Renamed) -> io::Result<()>,
) -> Result<Obfuscated, ObfuscateError> {
    let instance = instance_name(&archive.instance, seed)?;
    let path = folder.join(format!("{instance}.tgz"));
    let wrote = |source| ObfuscateError::Write { path: path.clone(), source };
    let names = Renamer { seed, instance: &archive.instance, new: &instance };
    let renaming =
        Renamed { kind: "instance", original: archive.instance.as_str(), obfuscated: instance.as_str() };
    renamed(renaming).map_err(wrote)?;

    let beside = tempfile::NamedTempFile::new_in(folder).map_err(wrote)?;
    let gzip = GzBuilder::new().write(io::BufWriter::new(beside.as_file()), Compression::default());
    let mut tar = tar::Builder::new(gzip);
    let mut add = |name: &str, size: u64, content: &mut dyn io::Read| {
        let mut header = tar::Header::new_gnu();
        header.set_mode(if name.is_empty() { 0o755 } else { 0o644 });
        header.set_size(size);
        if name.is_empty() {
            header.set_entry_type(tar::EntryType::Directory);
        }
        tar.append_data(&mut header, format!("{instance}/{name}"), content)
    };
    add("", 0, &mut io::empty()).map_err(wrote)?;
    let mut left_out = Vec::new();
    for (name, bytes) in archive.files() {
        match names.file(archive, name, bytes, renamed)? {
            Some(new) => add(name, new.len() as u64, &mut new.as_slice()).map_err(wrote)?,
            None => left_out.push(name.to_owned()),
        }
    }
    let mut model = tempfile::tempfile_in(folder).map_err(wrote)?;
    archive.with_model(|source, file| names.model(source, file, &model, renamed))??;
    let size = model.seek(SeekFrom::End(0)).map_err(wrote)?;
    model.rewind().map_err(wrote)?;
    add(MODEL, size, &mut model).map_err(wrote)?;
    let finish = || tar.into_inner()?.finish()?.into_inner().map_err(io::IntoInnerError::into_error);
    finish().map_err(wrote)?;
    beside
        .persist(&path)
        .map_err(|error| ObfuscateError::Write { path: path.clone(), source: error.error })?;
    Ok(Obfuscated { instance, path, left_out })
}

struct Renamer<'a> {
    seed: &'a str,
    instance: &'a InstanceName,
    new: &'a InstanceName,
}

/// Text of an element under way.
enum Label {
    /// White space between elements.
    Layout,
    Keep,
    /// Already written, or not to be.
    Drop,
    /// Ids, to be renamed when the element ends.
    Ids(String),
}

struct OpenElement {
    name: String,
    /// Its new id; empty where it has none.
    id: String,
    label: Label,
}

impl Renamer<'_> {
    /// The name of anything in the net that has an id.
    fn node(&self, id: &str) -> String {
        match id {
            // Tools know the sort of black tokens by this word.
            "dot" => id.to_owned(),
            id => format!("n{}", pseudonym(self.seed, &["node", self.instance.as_str(), id])),
        }
    }

    /// A file beside the model under its new names; None where it has to be left out.
    fn file(
        &self,
        archive: &Archive,
        name: &str,
        bytes: &[u8],
        renamed: &mut dyn FnMut(Renamed) -> io::Result<()>,
    ) -> Result<Option<Vec<u8>>, ObfuscateError> {
        let shown = archive.shown(name);
        Ok(match name {
            "iscolored"
            | "equiv_col"
            | "equiv_pt"
            | "large_marking"
            | "unfinite"
            | "NewModel"
            | "GenericPropertiesDefinition.xml" => Some(bytes.to_vec()),
            "instance" => Some(format!("{}\n", self.new.scale()).into_bytes()),
            "GenericPropertiesVerdict.xml" => Some(self.verdicts(bytes, &shown)?),
            name => match name.strip_suffix(".xml") {
                Some(examination) => Some(self.properties(examination, bytes, &shown, renamed)?),
                None => None,
            },
        })
    }

    fn model(
        &self,
        source: &mut dyn BufRead,
        file: &str,
        out: &File,
        renamed: &mut dyn FnMut(Renamed) -> io::Result<()>,
    ) -> Result<(), ObfuscateError> {
        let mut seen = HashSet::new();
        let mut collision = false;
        // The depth of the NUPN section that is open.
        let mut nupn = None;
        let copied = copy(
            source,
            file,
            io::BufWriter::new(out),
            |start, open| {
                let element = element_name(start);
                let tool = || attributes(start).find(|(key, _)| key == "tool").map(|(_, tool)| tool);
                let is_nupn = element == "toolspecific" && tool().is_some_and(|tool| tool == "nupn");
                if is_nupn {
                    nupn = Some(open.len());
                } else if element == "toolspecific" || element == "graphics" {
                    return Ok(None);
                }
                nupn = nupn.filter(|depth| *depth <= open.len());
                let mut id = String::new();
                let mut written = BytesStart::new(start.name().as_ref().to_owned());
                for (key, value) in attributes(start) {
                    let new = match local_part(&key) {
                        "id" if element == "net" => self.new.to_string(),
                        "id" | "name" | "source" | "target" | "ref" | "declaration" | "refvariable"
                        | "refpartition" | "root" => self.node(&value),
                        _ => value.clone(),
                    };
                    if key == "id" {
                        id.clone_from(&new);
                        collision |= element != "net" && new != value && !seen.insert(new.clone());
                        // Arcs are many, and nobody speaks of them.
                        if element != "arc" {
                            renamed(Renamed { kind: element, original: &value, obfuscated: &new })?;
                        }
                    }
                    written.push_attribute((key.as_str(), new.as_str()));
                }
                let parent = open.last().map_or("", |parent| parent.name.as_str());
                let (text, label) = match (parent, element) {
                    ("name", "text") => (open.iter().rev().nth(1).map(|owner| owner.id.clone()), Label::Drop),
                    ("initialMarking" | "inscription", "text") => (None, Label::Keep),
                    (_, "places" | "subunits") if nupn.is_some() => (None, Label::Ids(String::new())),
                    (_, "text") => (None, Label::Drop),
                    _ => (None, Label::Layout),
                };
                Ok(Some(OutputElement { start: written, id, text, label }))
            },
            |id| self.node(id),
        )?;
        copied.map_err(|source| ObfuscateError::Write { path: PathBuf::from(file), source })?;
        match collision {
            true => Err(ObfuscateError::Collision { instance: self.instance.to_string() }),
            false => Ok(()),
        }
    }

    /// A property file: ids by position, places and transitions as in the net, descriptions left out.
    fn properties(
        &self,
        examination: &str,
        bytes: &[u8],
        file: &str,
        renamed: &mut dyn FnMut(Renamed) -> io::Result<()>,
    ) -> Result<Vec<u8>, ObfuscateError> {
        let wrote = |source| ObfuscateError::Write { path: PathBuf::from(file), source };
        let mut ids = property_ids(bytes, file)?;
        // In the contest's order, which the new ids keep: position by position the answers are the same.
        ids.sort();
        let new: HashMap<String, String> = (ids.iter().enumerate())
            .map(|(position, id)| match id == examination {
                true => (id.clone(), id.clone()),
                false => (id.clone(), format!("{}-{examination}-{position:02}", self.new)),
            })
            .collect();
        for id in &ids {
            renamed(Renamed { kind: "property", original: id, obfuscated: &new[id] }).map_err(wrote)?;
        }
        let mut out = Vec::new();
        let copied = copy(
            &mut &*bytes,
            file,
            &mut out,
            |start, _| {
                let label = match element_name(start) {
                    "id" | "place" | "transition" => Label::Ids(String::new()),
                    "integer-constant" => Label::Keep,
                    "description" => Label::Drop,
                    _ => Label::Layout,
                };
                let text = matches!(label, Label::Drop).then(|| "-".to_owned());
                Ok(Some(OutputElement { start: start.clone().into_owned(), id: String::new(), text, label }))
            },
            |id| new.get(id).cloned().unwrap_or_else(|| self.node(id)),
        )?;
        copied.map_err(wrote)?;
        Ok(out)
    }

    /// The verdicts alone: who stated them, and where, would name the model.
    fn verdicts(&self, bytes: &[u8], file: &str) -> Result<Vec<u8>, ObfuscateError> {
        let mut out = Vec::new();
        let copied = copy(
            &mut &*bytes,
            file,
            &mut out,
            |start, _| {
                if !matches!(element_name(start), "toolspecific" | "modelreference" | "verdict") {
                    return Ok(None);
                }
                let mut written = BytesStart::new(start.name().as_ref().to_owned());
                for (key, value) in attributes(start) {
                    let value = if key == "modelname" { self.new.family().to_owned() } else { value };
                    written.push_attribute((key.as_str(), value.as_str()));
                }
                Ok(Some(OutputElement {
                    start: written,
                    id: String::new(),
                    text: None,
                    label: Label::Layout,
                }))
            },
            str::to_owned,
        )?;
        copied.map_err(|source| ObfuscateError::Write { path: PathBuf::from(file), source })?;
        Ok(out)
    }
}

/// An element as it is written.
struct OutputElement {
    start: BytesStart<'static>,
    id: String,
    /// What stands in it instead of its text.
    text: Option<String>,
    label: Label,
}

/// Copies a document element by element as `rewrite` says, which is given the open elements; None leaves an element
/// out with all that is in it. Words of `Label::Ids` become what `rename` makes of them. Comments are dropped.
///
/// The outer error is the document's, the inner one that of writing.
fn copy(
    source: &mut dyn BufRead,
    file: &str,
    out: impl Write,
    mut rewrite: impl FnMut(&BytesStart<'_>, &[OpenElement]) -> io::Result<Option<OutputElement>>,
    rename: impl Fn(&str) -> String,
) -> Result<io::Result<()>, ModelError> {
    let mut xml = Xml::new(source, file);
    let mut out = Writer::new(out);
    let mut open: Vec<OpenElement> = Vec::new();
    // How deep inside an element that is left out.
    let mut skipped = 0;
    let begun = out.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
    let mut wrote = begun.and_then(|()| out.write_event(Event::Text(BytesText::new("\n"))));
    loop {
        if let Err(error) = wrote {
            return Ok(Err(error));
        }
        wrote = match xml.next()? {
            Item::Start(_) if skipped > 0 => {
                skipped += 1;
                Ok(())
            }
            Item::Start(start) => match rewrite(&start, &open) {
                Err(error) => Err(error),
                Ok(None) => {
                    skipped = 1;
                    Ok(())
                }
                Ok(Some(OutputElement { start: new, id, text, label })) => {
                    open.push(OpenElement { name: start.name().as_ref().to_owned(), id, label });
                    let written = out.write_event(Event::Start(new));
                    written.and_then(|()| match text {
                        Some(text) => out.write_event(Event::Text(BytesText::new(&text))),
                        None => Ok(()),
                    })
                }
            },
            Item::Text(_) if skipped > 0 => Ok(()),
            Item::Text(piece) => match open.last_mut().map(|open| &mut open.label) {
                Some(Label::Keep) => out.write_event(Event::Text(BytesText::new(&piece))),
                Some(Label::Layout) if piece.trim().is_empty() => {
                    out.write_event(Event::Text(BytesText::new(&piece)))
                }
                Some(Label::Ids(ids)) => {
                    ids.push_str(&piece);
                    Ok(())
                }
                _ => Ok(()),
            },
            Item::End if skipped > 0 => {
                skipped -= 1;
                Ok(())
            }
            Item::End => match open.pop() {
                None => Ok(()),
                Some(OpenElement { name, label, .. }) => {
                    let ids = match label {
                        Label::Ids(ids) => ids.split_whitespace().map(&rename).collect::<Vec<_>>().join(" "),
                        _ => String::new(),
                    };
                    let written = out.write_event(Event::Text(BytesText::new(&ids)));
                    written.and_then(|()| out.write_event(Event::End(BytesEnd::new(name))))
                }
            },
            Item::Nothing => Ok(()),
            Item::Eof => return Ok(out.get_mut().flush()),
        };
    }
}

/// The ids of a property file, in document order.
fn property_ids(bytes: &[u8], file: &str) -> Result<Vec<String>, ModelError> {
    let mut xml = Xml::new(bytes, file);
    let mut ids = Vec::new();
    let mut inside: Option<String> = None;
    loop {
        match xml.next()? {
            Item::Start(start) if start.local() == "id" => inside = Some(String::new()),
            Item::Text(piece) => {
                if let Some(id) = &mut inside {
                    id.push_str(&piece);
                }
            }
            Item::End => ids.extend(inside.take().map(|id| id.trim().to_owned())),
            Item::Eof => return Ok(ids),
            _ => {}
        }
    }
}
