//! Obfuscates instances, to detect precomputed answers (rule T-5).
//!
//! A tool that computes answers gives the same answers under any names; a tool that looks them up does not. Places,
//! transitions, arcs, pages, units, declarations, the net, the instance and its family get names derived from a seed.
//! All other data that identify the model are removed: labels, layout, formulas as `.txt`, sections of other tools,
//! comments. The net and the formulas at each position stay the same.

use super::xml::{Item, Xml, attribute, attributes, element_name, trim};
use super::{Archive, ArchiveError, BadInstanceName, InstanceName, MODEL, ModelError};
use flate2::{Compression, GzBuilder};
use mcc_base::{FileError, OnFile, digest};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// An error of the obfuscation of an instance.
#[derive(Debug, thiserror::Error)]
pub enum ObfuscateError {
    /// The archive cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A file of the archive is not valid.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The obfuscated name is not the name of an instance.
    #[error(transparent)]
    Name(#[from] BadInstanceName),
    /// Two ids have the same obfuscated name.
    #[error("{instance}: two ids get the same name with this seed; choose another seed")]
    Collision {
        /// The name of the instance.
        instance: String,
    },
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A name and its obfuscated name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renamed<'a> {
    /// `instance`, `property`, or the element that has the id (`place`, ...).
    pub kind: &'a str,
    /// The original name.
    pub original: &'a str,
    /// The obfuscated name.
    pub obfuscated: &'a str,
}

/// An obfuscated instance.
#[derive(Debug)]
pub struct Obfuscated {
    /// Its obfuscated name.
    pub instance: InstanceName,
    /// The path of its archive: `FOLDER/NAME.tgz`.
    pub path: PathBuf,
    /// Files of the original archive that the obfuscated one does not have.
    pub left_out: Vec<String>,
}

/// Returns the obfuscated name of an instance. Instances of one family stay in one family.
///
/// # Errors
/// The obfuscated name is not the name of an instance.
pub fn instance_name(instance: &InstanceName, seed: &str) -> Result<InstanceName, BadInstanceName> {
    let kind = &instance.as_str()[instance.family().len()..];
    let kind = if kind.starts_with("-PT-") { "PT" } else { "COL" };
    let family = pseudonym(seed, &["family", instance.family()]);
    let scale = pseudonym(seed, &["instance", instance.as_str()]);
    format!("M{}-{kind}-{}", &family[..12], &scale[..12]).parse()
}

/// 16 hex digits of a digest of the seed and the words.
fn pseudonym(seed: &str, words: &[&str]) -> String {
    let mut text = String::new();
    for word in [seed].iter().chain(words) {
        text += &format!("{}:{word}", word.len());
    }
    let mut name = digest::bytes(text);
    name.truncate(16);
    name
}

/// Writes the archive of the obfuscated instance to a folder; the same seed gives the same bytes. Calls `renamed` for
/// every obfuscated name, except those of arcs. Streams the model: memory depends on its ids, not on its length.
///
/// # Errors
/// A file of the archive is not valid, two ids collide, or a file cannot be written.
pub fn obfuscate(
    archive: &Archive,
    seed: &str,
    folder: &Path,
    renamed: &mut dyn FnMut(Renamed) -> io::Result<()>,
) -> Result<Obfuscated, ObfuscateError> {
    let instance = instance_name(&archive.instance, seed)?;
    let path = folder.join(format!("{instance}.tgz"));
    let names = Renamer { seed, instance: &archive.instance, new: &instance };
    let renaming =
        Renamed { kind: "instance", original: archive.instance.as_str(), obfuscated: instance.as_str() };
    renamed(renaming).on("write", &path)?;

    let temporary = tempfile::NamedTempFile::new_in(folder).on("write", &path)?;
    let gzip = GzBuilder::new().write(io::BufWriter::new(temporary.as_file()), Compression::default());
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
    add("", 0, &mut io::empty()).on("write", &path)?;
    let mut left_out = Vec::new();
    for (name, bytes) in archive.files() {
        match names.file(archive, name, bytes, renamed)? {
            Some(new) => add(name, new.len() as u64, &mut new.as_slice()).on("write", &path)?,
            None => left_out.push(name.to_owned()),
        }
    }
    let mut model = tempfile::tempfile_in(folder).on("write", &path)?;
    archive.with_model(|source, file| names.model(source, file, &model, renamed))??;
    let size = model.seek(SeekFrom::End(0)).on("write", &path)?;
    model.rewind().on("write", &path)?;
    add(MODEL, size, &mut model).on("write", &path)?;
    let finish = || tar.into_inner()?.finish()?.into_inner().map_err(io::IntoInnerError::into_error);
    finish().on("write", &path)?;
    temporary.persist(&path).on("write", &path)?;
    Ok(Obfuscated { instance, path, left_out })
}

struct Renamer<'a> {
    seed: &'a str,
    instance: &'a InstanceName,
    new: &'a InstanceName,
}

/// How the text of an open element is written.
enum Label {
    /// Only white space is kept.
    Layout,
    /// The text is kept.
    Keep,
    /// The text is dropped.
    Drop,
    /// The text is an id, which is renamed when the element ends.
    Id(String),
    /// The text is a list of ids, divided by white space.
    Ids(String),
}

struct OpenElement {
    name: String,
    /// Its obfuscated id; empty if it has none.
    id: String,
    label: Label,
}

impl Renamer<'_> {
    /// The obfuscated id of an element of the net.
    fn node(&self, id: &str) -> String {
        match id {
            // The predefined sort of black tokens.
            "dot" => id.to_owned(),
            id => format!("n{}", pseudonym(self.seed, &["node", self.instance.as_str(), id])),
        }
    }

    /// Obfuscates a file other than the model; None if it is removed.
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
        // The depth of the open NUPN section.
        let mut nupn = None;
        copy(
            source,
            file,
            io::BufWriter::new(out),
            |start, open| {
                let element = element_name(start);
                let is_nupn =
                    element == "toolspecific" && attribute(start, "tool").is_some_and(|tool| tool == "nupn");
                if is_nupn {
                    nupn = Some(open.len());
                } else if element == "toolspecific" || element == "graphics" {
                    return Ok(None);
                }
                nupn = nupn.filter(|depth| *depth <= open.len());
                let mut id = String::new();
                let mut written = BytesStart::new(start.name().as_ref().to_owned());
                for (key, value) in attributes(start) {
                    let new = match key.rsplit(':').next().unwrap_or(key) {
                        "id" if element == "net" => self.new.to_string(),
                        "id" | "name" | "source" | "target" | "ref" | "declaration" | "refvariable"
                        | "refpartition" | "root" => self.node(&value),
                        _ => value.clone().into_owned(),
                    };
                    if key == "id" {
                        id.clone_from(&new);
                        collision |= element != "net" && new != value && !seen.insert(new.clone());
                        // Ids of arcs are not listed: nothing refers to them.
                        if element != "arc" {
                            renamed(Renamed { kind: element, original: &value, obfuscated: &new })?;
                        }
                    }
                    written.push_attribute((key, new.as_str()));
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
        if collision {
            Err(ObfuscateError::Collision { instance: self.instance.to_string() })
        } else {
            Ok(())
        }
    }

    /// Obfuscates a property file: ids by position, places and transitions as in the net, without descriptions.
    fn properties(
        &self,
        examination: &str,
        bytes: &[u8],
        file: &str,
        renamed: &mut dyn FnMut(Renamed) -> io::Result<()>,
    ) -> Result<Vec<u8>, ObfuscateError> {
        let mut ids = property_ids(bytes, file)?;
        // The order of the contest, which the new ids keep: each position has the same answer.
        ids.sort();
        let new: HashMap<String, String> = (ids.iter().enumerate())
            .map(|(position, id)| {
                if id == examination {
                    (id.clone(), id.clone())
                } else {
                    (id.clone(), format!("{}-{examination}-{position:02}", self.new))
                }
            })
            .collect();
        for id in &ids {
            renamed(Renamed { kind: "property", original: id, obfuscated: &new[id] }).on("write", file)?;
        }
        let mut out = Vec::new();
        copy(
            &mut &*bytes,
            file,
            &mut out,
            |start, _| {
                let label = match element_name(start) {
                    "id" | "place" | "transition" => Label::Id(String::new()),
                    "integer-constant" => Label::Keep,
                    "description" => Label::Drop,
                    _ => Label::Layout,
                };
                let text = matches!(label, Label::Drop).then(|| "-".to_owned());
                // Other attributes have no meaning, and could identify the instance.
                let mut written = BytesStart::new(start.name().as_ref().to_owned());
                attributes(start).filter(|(key, _)| key.starts_with("xmlns")).for_each(|(key, value)| {
                    written.push_attribute((key, &*value));
                });
                Ok(Some(OutputElement { start: written, id: String::new(), text, label }))
            },
            |id| new.get(id).cloned().unwrap_or_else(|| self.node(id)),
        )?;
        Ok(out)
    }

    /// Obfuscates the verdicts. Authors and sources are removed: they identify the model.
    fn verdicts(&self, bytes: &[u8], file: &str) -> Result<Vec<u8>, ObfuscateError> {
        let mut out = Vec::new();
        copy(
            &mut &*bytes,
            file,
            &mut out,
            |start, _| {
                if !matches!(element_name(start), "toolspecific" | "modelreference" | "verdict") {
                    return Ok(None);
                }
                let mut written = BytesStart::new(start.name().as_ref().to_owned());
                for (key, value) in attributes(start) {
                    let value = if key == "modelname" { self.new.family() } else { &value };
                    written.push_attribute((key, value));
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
        Ok(out)
    }
}

/// An element to be written.
struct OutputElement {
    start: BytesStart<'static>,
    id: String,
    /// The text that replaces its text.
    text: Option<String>,
    label: Label,
}

/// Copies a document. `rewrite` is called with each start tag and the open elements, and returns the element to write, or
/// None to remove the element with its content. `rename` is called for each id of `Label::Id` and `Label::Ids`. Comments are removed.
///
/// # Errors
/// The document is not valid, or the copy cannot be written.
fn copy(
    source: &mut dyn BufRead,
    file: &str,
    out: impl Write,
    mut rewrite: impl FnMut(&BytesStart<'_>, &[OpenElement]) -> io::Result<Option<OutputElement>>,
    rename: impl Fn(&str) -> String,
) -> Result<(), ObfuscateError> {
    let mut xml = Xml::new(source, file);
    let mut out = Writer::new(out);
    let mut open: Vec<OpenElement> = Vec::new();
    // The depth in a removed element.
    let mut skipped = 0;
    let mut write = |event: Event<'_>| out.write_event(event).on("write", file);
    write(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    write(Event::Text(BytesText::new("\n")))?;
    loop {
        match xml.next_item()? {
            Item::Start(_) if skipped > 0 => skipped += 1,
            Item::Start(start) => match rewrite(&start, &open).on("write", file)? {
                None => skipped = 1,
                Some(OutputElement { start: new, id, text, label }) => {
                    open.push(OpenElement { name: start.name().as_ref().to_owned(), id, label });
                    write(Event::Start(new))?;
                    if let Some(text) = text {
                        write(Event::Text(BytesText::new(&text)))?;
                    }
                }
            },
            Item::Text(_) if skipped > 0 => {}
            Item::Text(part) => match open.last_mut().map(|open| &mut open.label) {
                Some(Label::Keep) => write(Event::Text(BytesText::new(&part)))?,
                Some(Label::Layout) if part.trim().is_empty() => write(Event::Text(BytesText::new(&part)))?,
                Some(Label::Id(text) | Label::Ids(text)) => text.push_str(&part),
                _ => {}
            },
            Item::End if skipped > 0 => skipped -= 1,
            Item::End => {
                let Some(OpenElement { name, label, .. }) = open.pop() else { continue };
                let renamed = match label {
                    Label::Id(id) => Some(rename(trim(&id))),
                    // White space of XML only, as in `Nupn::read`: an id can have other one.
                    Label::Ids(ids) => {
                        Some(ids.split_ascii_whitespace().map(&rename).collect::<Vec<_>>().join(" "))
                    }
                    _ => None,
                };
                if let Some(text) = renamed {
                    write(Event::Text(BytesText::new(&text)))?;
                }
                write(Event::End(BytesEnd::new(name)))?;
            }
            Item::Nothing => {}
            Item::Eof => break,
        }
    }
    Ok(out.get_mut().flush().on("write", file)?)
}

/// The ids of a property file, in document order.
fn property_ids(bytes: &[u8], file: &str) -> Result<Vec<String>, ModelError> {
    let mut xml = Xml::new(bytes, file);
    let mut ids = Vec::new();
    let mut inside: Option<String> = None;
    loop {
        match xml.next_item()? {
            Item::Start(start) if element_name(&start) == "id" => inside = Some(String::new()),
            Item::Text(part) => {
                if let Some(id) = &mut inside {
                    id.push_str(&part);
                }
            }
            // White space of XML only, as `copy` does: an id can have other one.
            Item::End => ids.extend(inside.take().map(|id| trim(&id).to_owned())),
            Item::Eof => return Ok(ids),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_with_white_space_that_is_not_of_xml_is_renamed_as_a_property() {
        let [instance, new] = ["X-PT-1", "M0-PT-2"].map(|name| name.parse().unwrap());
        let names = Renamer { seed: "s", instance: &instance, new: &new };
        let text =
            "<property-set><property><id> \u{a0}X-PT-1-LTLFireability-00\n</id></property></property-set>";
        let mut listed = vec![];
        let mut list = |renamed: Renamed<'_>| {
            listed.push((renamed.original.to_owned(), renamed.obfuscated.to_owned()));
            Ok(())
        };
        let written = names.properties("LTLFireability", text.as_bytes(), "f", &mut list).unwrap();
        let obfuscated = "M0-PT-2-LTLFireability-00";
        let expected = ("\u{a0}X-PT-1-LTLFireability-00".to_owned(), obfuscated.to_owned());
        assert_eq!(listed, [expected]);
        let written = String::from_utf8(written).unwrap();
        assert!(written.contains(&format!("<id>{obfuscated}</id>")), "{written}");
    }
}
