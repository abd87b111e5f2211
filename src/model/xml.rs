//! XML as a stream with line numbers: memory is that of the longest item, whatever the document's size.

use super::{ModelError, Problem};
use memchr::memchr_iter;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use std::borrow::Cow;
use std::io::{self, BufRead, Read};

/// One tag or stretch of text may not be longer: a bomb must not fill memory.
const LONGEST_ITEM: u64 = 64 << 20;
const DEEPEST: usize = 100_000;

pub(crate) enum Item<'a> {
    /// Its attributes are known to be well-formed.
    Start(BytesStart<'a>),
    End,
    /// A piece of text, entities and CDATA resolved; several may follow each other.
    Text(Cow<'a, str>),
    /// Comments, processing instructions.
    Nothing,
    Eof,
}

pub(crate) struct Xml<R> {
    reader: quick_xml::Reader<Counting<R>>,
    item: Vec<u8>,
    file: String,
    line: u64,
    depth: usize,
    root_seen: bool,
    document_type: bool,
}

impl<R: BufRead> Xml<R> {
    pub fn new(source: R, file: &str) -> Self {
        let mut reader = quick_xml::Reader::from_reader(Counting { source, newlines: 0, item_bytes: 0 });
        reader.config_mut().expand_empty_elements = true;
        Self {
            reader,
            item: Vec::new(),
            file: file.to_owned(),
            line: 1,
            depth: 0,
            root_seen: false,
            document_type: false,
        }
    }

    /// Passes over a document type declaration; what it declares stays unknown, entities above all.
    pub fn with_document_type(self) -> Self {
        Self { document_type: true, ..self }
    }

    /// The line in which the current item begins.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The line in which the next item will begin.
    pub fn next_line(&self) -> u64 {
        self.reader.get_ref().newlines + 1
    }

    pub fn error(&self, problem: Problem) -> ModelError {
        self.error_at(self.line, problem)
    }

    pub fn error_at(&self, line: u64, problem: Problem) -> ModelError {
        ModelError { file: self.file.clone(), line, problem }
    }

    pub fn next(&mut self) -> Result<Item<'_>, ModelError> {
        self.item.clear();
        let counting = self.reader.get_mut();
        counting.item_bytes = 0;
        self.line = counting.newlines + 1;
        let fail = |problem| Err(ModelError { file: self.file.clone(), line: self.line, problem });
        let malformed = |what: &str| fail(Problem::Malformed(what.to_owned()));
        let event = match self.reader.read_event_into(&mut self.item) {
            Ok(event) => event,
            Err(quick_xml::Error::Io(e)) if e.kind() == io::ErrorKind::FileTooLarge => {
                return fail(Problem::ItemTooLong(LONGEST_ITEM));
            }
            Err(quick_xml::Error::Io(e)) => return fail(Problem::Io(e.to_string())),
            Err(e) => return malformed(&e.to_string()),
        };
        match event {
            Event::Start(start) => {
                if self.depth == 0 && self.root_seen {
                    return malformed("a second root element");
                }
                if self.depth == DEEPEST {
                    return fail(Problem::TooDeep(DEEPEST));
                }
                if !start.name().as_ref().starts_with(|c: char| c.is_alphabetic() || c == '_' || c == ':') {
                    return malformed("an element name that does not begin with a letter");
                }
                for attribute in start.attributes() {
                    let value = attribute.map_err(quick_xml::Error::from);
                    if let Err(e) = value.and_then(|a| a.normalized_value(XmlVersion::Implicit1_0).map(drop))
                    {
                        return malformed(&e.to_string());
                    }
                }
                self.root_seen = true;
                self.depth += 1;
                Ok(Item::Start(start))
            }
            Event::End(_) => {
                self.depth -= 1;
                Ok(Item::End)
            }
            Event::Text(text) if self.depth == 0 => match text.trim_start_matches('\u{feff}').trim() {
                "" => Ok(Item::Nothing),
                _ => malformed("text outside of the root element"),
            },
            Event::Text(text) => Ok(Item::Text(text.into_inner())),
            Event::CData(_) | Event::GeneralRef(_) if self.depth == 0 => {
                malformed("text outside of the root element")
            }
            Event::CData(text) => Ok(Item::Text(text.into_inner())),
            Event::GeneralRef(entity) => match entity.resolve_char_ref() {
                Ok(Some(c)) => Ok(Item::Text(c.to_string().into())),
                Ok(None) => match resolve_predefined_entity(&entity) {
                    Some(text) => Ok(Item::Text(text.into())),
                    None => malformed(&format!("the unknown entity &{};", &*entity)),
                },
                Err(e) => malformed(&e.to_string()),
            },
            Event::DocType(_) if !self.document_type => fail(Problem::DocumentType),
            Event::Eof if self.depth > 0 => malformed("the file ends inside an element"),
            Event::Eof if !self.root_seen => malformed("there is no element"),
            Event::Eof => Ok(Item::Eof),
            _ => Ok(Item::Nothing),
        }
    }
}

/// The value of an attribute by its local name, entities resolved.
pub(crate) fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = start.attributes().flatten().find(|a| a.key.local_name().as_ref() == name)?;
    Some(found.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
}

/// The values of attributes by their local names, entities resolved; empty where one is missing.
pub(super) fn attributes_named<'a, const N: usize>(
    start: &'a BytesStart<'_>,
    names: [&str; N],
) -> [Cow<'a, str>; N] {
    let mut values = [const { Cow::Borrowed("") }; N];
    // Checked when the item was read.
    for attribute in start.attributes().with_checks(false).flatten() {
        let name = attribute.key.local_name();
        if let Some(at) = names.iter().position(|wanted| *wanted == name.as_ref()) {
            values[at] = attribute.normalized_value(XmlVersion::Implicit1_0).unwrap_or_default();
        }
    }
    values
}

/// Names, as written, and values of the attributes, entities resolved.
pub(super) fn attributes(start: &BytesStart<'_>) -> impl Iterator<Item = (String, String)> {
    start.attributes().flatten().filter_map(|attribute| {
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned();
        Some((attribute.key.as_ref().to_owned(), value))
    })
}

/// Counts lines as they are consumed and bounds the length of one item.
struct Counting<R> {
    source: R,
    newlines: u64,
    item_bytes: u64,
}

impl<R: BufRead> Read for Counting<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counting<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.item_bytes > LONGEST_ITEM {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.source.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        if let Ok(filled) = self.source.fill_buf() {
            self.newlines += memchr_iter(b'\n', &filled[..bytes.min(filled.len())]).count() as u64;
        }
        self.item_bytes += bytes as u64;
        self.source.consume(bytes);
    }
}
