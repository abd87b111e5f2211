//! Reads XML as a stream, with line numbers. Memory depends on the longest item, not on the length of the document.
//!
//! Items of the common form are parsed here (fast path); all others, also those that are not well-formed, are parsed by
//! quick-xml (slow path, `Xml::general`). Both paths give the same result.

use super::fast_tag::{FastAttributes, FastTag};
use super::{ModelError, Problem};
use memchr::{memchr_iter, memchr2};
use quick_xml::XmlVersion;
use quick_xml::errors::IllFormedError;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use std::borrow::Cow;
use std::io::{self, BufRead};
use std::mem;
use std::ops::{Deref, Range};

/// Greatest length of a tag or text in bytes, which limits the memory for untrusted input.
const LONGEST_ITEM: usize = 64 << 20;
/// Greatest depth of elements.
const DEEPEST: usize = 100_000;
/// Bytes of one read.
const CHUNK: usize = if cfg!(test) { 64 } else { 256 << 10 };

/// An item of a document.
pub enum Item<'a> {
    /// A start tag with well-formed attributes.
    Start(Tag<'a>),
    /// An end tag, or the end of an empty element.
    End,
    /// A part of a text, with entities and CDATA resolved. Several parts may follow each other.
    Text(Cow<'a, str>),
    /// A comment or processing instruction, or white space outside of the root element.
    Nothing,
    /// The end of the document.
    Eof,
}

/// A start tag.
pub struct Tag<'a> {
    start: BytesStart<'a>,
    plain: Option<FastAttributes>,
    /// The line in which it begins.
    pub line: u64,
}

impl<'a> Deref for Tag<'a> {
    type Target = BytesStart<'a>;

    fn deref(&self) -> &BytesStart<'a> {
        &self.start
    }
}

impl Tag<'_> {
    /// Its name without a prefix.
    pub fn local(&self) -> &str {
        element_name(&self.start)
    }

    /// The tag as quick-xml's type, independent of the reader.
    pub fn into_owned(self) -> BytesStart<'static> {
        self.start.into_owned()
    }
}

/// A reader of an XML document.
pub struct Xml<R> {
    source: R,
    file: String,
    /// The text that was read. The current item begins at `item`, the next one at `at`.
    text: String,
    item: usize,
    at: usize,
    /// Bytes read after `text`: the begin of an incomplete character.
    raw: Vec<u8>,
    more: InputState,
    /// The line in which the item begins.
    line: u64,
    /// Number of line ends before `at`.
    newlines: u64,
    open: OpenNames,
    /// The last tag was `<a/>`: the next item is its end.
    closing: bool,
    root_seen: bool,
    document_type: bool,
}

/// A tag of the slow path.
enum GeneralTag {
    Start {
        empty: bool,
    },
    /// Its name.
    End(String),
}

/// Whether the source has more bytes than were read.
enum InputState {
    Perhaps,
    No,
    /// The source is not text; the reason.
    Broken(String),
}

impl<R: BufRead> Xml<R> {
    /// Reads the document `source`; `file` is the name in errors.
    pub fn new(source: R, file: &str) -> Self {
        Self {
            source,
            file: file.to_owned(),
            text: String::new(),
            item: 0,
            at: 0,
            raw: Vec::new(),
            more: InputState::Perhaps,
            line: 1,
            newlines: 0,
            open: OpenNames::default(),
            closing: false,
            root_seen: false,
            document_type: false,
        }
    }

    /// Ignores a document type declaration instead of refusing it. Entities that it declares are unknown.
    pub fn with_document_type(self) -> Self {
        Self { document_type: true, ..self }
    }

    /// The line in which the current item begins.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// An error at the line of the current item.
    pub fn error(&self, problem: Problem) -> ModelError {
        self.error_at(self.line(), problem)
    }

    /// An error at a line.
    pub fn error_at(&self, line: u64, problem: Problem) -> ModelError {
        ModelError { file: self.file.clone(), line, problem }
    }

    fn malformed(&self, what: impl ToString) -> ModelError {
        self.error(Problem::Malformed(what.to_string()))
    }

    fn ill_formed(&self, what: impl Into<quick_xml::Error>) -> ModelError {
        self.malformed(what.into())
    }

    /// Returns the next item.
    ///
    /// # Errors
    /// The source cannot be read, the document is not well-formed, or a limit is exceeded.
    pub fn next_item(&mut self) -> Result<Item<'_>, ModelError> {
        (self.item, self.line) = (self.at, self.newlines + 1);
        if mem::take(&mut self.closing) {
            return Ok(Item::End);
        }
        loop {
            let rest = &self.text[self.at..];
            let at_end = matches!(self.more, InputState::No);
            match (rest.as_bytes().first(), at_end) {
                (Some(b'<' | b'&'), _) => {}
                (None, true) => return self.end_of_document(),
                (None, false) => {
                    self.fill()?;
                    continue;
                }
                (Some(_), _) => match (text(rest.as_bytes()), at_end) {
                    ((length, lines), at_end) if at_end || length < rest.len() => {
                        return self.text_of(length, lines);
                    }
                    _ => {
                        self.fill()?;
                        continue;
                    }
                },
            }
            if let Some(length) = self.open.end_tag(rest) {
                self.at += length;
                self.open.close();
                return Ok(Item::End);
            }
            if let Some(tag) = FastTag::of(rest) {
                return self.fast_tag(tag);
            }
            let mut reader = general_reader(rest);
            match reader.read_event() {
                Ok(event) => {
                    let tag = match event {
                        Event::Start(_) => Some(GeneralTag::Start { empty: false }),
                        Event::Empty(_) => Some(GeneralTag::Start { empty: true }),
                        Event::End(tag) => Some(GeneralTag::End(tag.name().as_ref().to_owned())),
                        _ => None,
                    };
                    self.at += reader.buffer_position() as usize;
                    self.newlines += newlines(&self.text.as_bytes()[self.item..self.at]);
                    return match tag {
                        Some(GeneralTag::Start { empty }) => self.general_tag(empty),
                        Some(GeneralTag::End(name)) => self.general_end(name),
                        None => self.general(),
                    };
                }
                Err(
                    quick_xml::Error::Syntax(_)
                    | quick_xml::Error::IllFormed(IllFormedError::UnclosedReference),
                ) if !at_end => self.fill()?,
                Err(error) => return Err(self.malformed(error)),
            }
        }
    }

    /// Reads more of an incomplete item.
    #[cold]
    fn fill(&mut self) -> Result<(), ModelError> {
        if let InputState::Broken(why) = &self.more {
            return Err(self.malformed(why));
        }
        let unused = self.text.len() - self.at;
        if unused > LONGEST_ITEM {
            return Err(self.error(Problem::ItemTooLong(LONGEST_ITEM as u64)));
        }
        self.text.drain(..self.at);
        (self.at, self.item) = (0, 0);
        let mut bytes = mem::take(&mut self.text).into_bytes();
        bytes.append(&mut self.raw);
        let before = bytes.len();
        // At least doubled, because the item is parsed again from its start.
        let wanted = before + CHUNK.max(unused);
        while bytes.len() < wanted {
            match self.source.fill_buf() {
                Ok([]) => break,
                Ok(read) => {
                    let used = read.len().min(wanted - bytes.len());
                    bytes.extend_from_slice(&read[..used]);
                    self.source.consume(used);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.error(Problem::Io(error.to_string()))),
            }
        }
        let at_end = bytes.len() == before;
        self.text = String::from_utf8(bytes).unwrap_or_else(|error| {
            let why = error.utf8_error();
            if why.error_len().is_some() {
                self.more = InputState::Broken(why.to_string());
            }
            let mut bytes = error.into_bytes();
            self.raw = bytes.split_off(why.valid_up_to());
            // Valid UTF-8 up to here.
            String::from_utf8(bytes).unwrap_or_default()
        });
        if at_end {
            self.more = match self.raw.is_empty() {
                true => InputState::No,
                false => InputState::Broken("the file ends within a character".to_owned()),
            };
        }
        Ok(())
    }

    fn text_of(&mut self, length: usize, lines: u64) -> Result<Item<'_>, ModelError> {
        let text = self.at..self.at + length;
        self.at = text.end;
        self.newlines += lines;
        if self.open.depth() > 0 {
            return Ok(Item::Text(self.text[text].into()));
        }
        match self.text[text].trim_start_matches('\u{feff}').trim() {
            "" => Ok(Item::Nothing),
            _ => Err(self.malformed("text outside of the root element")),
        }
    }

    fn end_of_document(&mut self) -> Result<Item<'_>, ModelError> {
        match (self.open.depth(), self.root_seen) {
            (0, true) => Ok(Item::Eof),
            (0, false) => Err(self.malformed("there is no element")),
            _ => Err(self.malformed("the file ends inside an element")),
        }
    }

    fn fast_tag(
        &mut self,
        FastTag { name, content, length, lines, empty, plain }: FastTag,
    ) -> Result<Item<'_>, ModelError> {
        let begins = self.at + 1;
        self.at += length;
        self.newlines += lines;
        self.opened(begins..begins + name, empty)?;
        let start = BytesStart::from_content(&self.text[begins..begins + content], name);
        Ok(Item::Start(Tag { start, plain: Some(plain), line: self.line }))
    }

    /// Checks the name of an element and keeps it until the element ends.
    fn opened(&mut self, name: Range<usize>, empty: bool) -> Result<(), ModelError> {
        if self.open.depth() == 0 && self.root_seen {
            return Err(self.malformed("a second root element"));
        }
        if self.open.depth() == DEEPEST {
            return Err(self.error(Problem::TooDeep(DEEPEST)));
        }
        let name = &self.text[name];
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == ':') {
            return Err(self.malformed("an element name that does not begin with a letter"));
        }
        if !empty {
            self.open.open(name);
        }
        self.root_seen = true;
        self.closing = empty;
        Ok(())
    }

    fn general_end(&mut self, found: String) -> Result<Item<'_>, ModelError> {
        match self.open.last() {
            Some(name) if name == found => {
                self.open.close();
                Ok(Item::End)
            }
            Some(name) => {
                let expected = name.to_owned();
                Err(self.ill_formed(IllFormedError::MismatchedEndTag { expected, found }))
            }
            None => Err(self.ill_formed(IllFormedError::UnmatchedEndTag(found))),
        }
    }

    /// Parses the item from `item` to `at`, which is not a tag.
    fn general(&mut self) -> Result<Item<'_>, ModelError> {
        let event = general_reader(&self.text[self.item..self.at]).read_event();
        let event = event.map_err(|error| self.malformed(error))?;
        match event {
            Event::CData(_) | Event::GeneralRef(_) if self.open.depth() == 0 => {
                Err(self.malformed("text outside of the root element"))
            }
            Event::CData(text) => Ok(Item::Text(text.into_inner())),
            Event::GeneralRef(entity) => match entity.resolve_char_ref() {
                Ok(Some(c)) => Ok(Item::Text(c.to_string().into())),
                Ok(None) => match resolve_predefined_entity(&entity) {
                    Some(text) => Ok(Item::Text(text.into())),
                    None => Err(self.malformed(format!("the unknown entity &{};", &*entity))),
                },
                Err(error) => Err(self.malformed(error)),
            },
            Event::DocType(_) if !self.document_type => Err(self.error(Problem::DocumentType)),
            _ => Ok(Item::Nothing),
        }
    }

    /// Refuses names with two colons, which have no unique local part.
    fn check_name(&self, name: &str) -> Result<(), ModelError> {
        match name.matches(':').count() {
            0 | 1 => Ok(()),
            _ => Err(self.malformed(format!("the name {name} has more than one colon"))),
        }
    }

    fn general_tag(&mut self, empty: bool) -> Result<Item<'_>, ModelError> {
        let content = self.item + 1..self.at - 1 - usize::from(empty);
        let text = &self.text[content.clone()];
        let name = text.find([' ', '\t', '\r', '\n']).unwrap_or(text.len());
        self.check_name(&text[..name])?;
        self.opened(content.start..content.start + name, empty)?;
        let start = BytesStart::from_content(&self.text[content], name);
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| self.ill_formed(error))?;
            self.check_name(attribute.key.into_inner())?;
            attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| self.ill_formed(error))?;
        }
        Ok(Item::Start(Tag { start, plain: None, line: self.line }))
    }
}

/// A reader for the item at the start of `text`, which does not check end tags.
fn general_reader(text: &str) -> quick_xml::Reader<&[u8]> {
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    reader
}

fn newlines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

/// The name of an element without its prefix.
pub(super) fn element_name<'a>(start: &'a BytesStart<'_>) -> &'a str {
    local_part(start.name().into_inner())
}

/// A name without its prefix. It has at most one colon: `Xml::next` refuses other names, as Namespaces in XML 1.0
/// (section 3) requires. A simple loop is faster than `memchr` for short names.
pub(super) fn local_part(name: &str) -> &str {
    name.bytes().position(|byte| byte == b':').map_or(name, |colon| &name[colon + 1..])
}

/// Length of the text at the start of `rest`, and number of line ends in it.
fn text(rest: &[u8]) -> (usize, u64) {
    // Most texts between tags are a line end and spaces.
    const SHORT: usize = 32;
    let mut lines = 0;
    for (at, byte) in rest.iter().enumerate().take(SHORT) {
        match byte {
            b'<' | b'&' => return (at, lines),
            b'\n' => lines += 1,
            _ => {}
        }
    }
    let length = memchr2(b'<', b'&', rest).unwrap_or(rest.len());
    (length, newlines(&rest[..length]))
}

/// The names of the open elements, in one string.
#[derive(Default)]
struct OpenNames {
    names: String,
    starts: Vec<usize>,
}

impl OpenNames {
    fn depth(&self) -> usize {
        self.starts.len()
    }

    fn open(&mut self, name: &str) {
        self.starts.push(self.names.len());
        self.names.push_str(name);
    }

    fn last(&self) -> Option<&str> {
        self.starts.last().map(|start| &self.names[*start..])
    }

    fn close(&mut self) {
        if let Some(start) = self.starts.pop() {
            self.names.truncate(start);
        }
    }

    /// The length of `</name>` at the start of a text, if it ends the last open element.
    fn end_tag(&self, text: &str) -> Option<usize> {
        let name = text.as_bytes().strip_prefix(b"</")?.strip_prefix(self.last()?.as_bytes())?;
        (name.first() == Some(&b'>')).then(|| text.len() - name.len() + 1)
    }
}

/// The value of an attribute with entities resolved. The prefix is part of the name: `xml:id` is not `id`.
pub fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = start.attributes().flatten().find(|a| a.key.as_ref() == name)?;
    Some(found.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
}

/// The values of several attributes, as by `attribute`; a missing one is empty.
pub(super) fn attributes_named<'a, const N: usize>(tag: &'a Tag<'_>, names: [&str; N]) -> [Cow<'a, str>; N] {
    let mut values = [const { Cow::Borrowed("") }; N];
    if let Some(plain) = &tag.plain {
        for (name, value) in plain.pairs(tag) {
            if let Some(at) = names.iter().position(|wanted| *wanted == name) {
                values[at] = Cow::Borrowed(value);
            }
        }
        return values;
    }
    // Checked when the item was read.
    for attribute in tag.attributes().with_checks(false).flatten() {
        if let Some(at) = names.iter().position(|wanted| *wanted == attribute.key.as_ref()) {
            values[at] = attribute.normalized_value(XmlVersion::Implicit1_0).unwrap_or_default();
        }
    }
    values
}

/// Names (as written) and values (with entities resolved) of the attributes.
pub(super) fn attributes(start: &BytesStart<'_>) -> impl Iterator<Item = (String, String)> {
    start.attributes().flatten().filter_map(|attribute| {
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned();
        Some((attribute.key.as_ref().to_owned(), value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The tags and texts of a document as read by quick-xml; None if it is not well-formed.
    fn with_quick_xml(document: &str) -> Option<Vec<String>> {
        let mut reader = quick_xml::Reader::from_str(document);
        reader.config_mut().expand_empty_elements = true;
        let (mut items, mut depth) = (Vec::new(), 0);
        loop {
            match reader.read_event().ok()? {
                Event::Start(_) | Event::End(_) if depth == 0 && !items.is_empty() => return None,
                Event::Start(start) => {
                    depth += 1;
                    let pairs = start.attributes().map(|attribute| {
                        let attribute = attribute.ok()?;
                        (attribute.key.as_ref().matches(':').count() < 2).then_some(())?;
                        let value = attribute.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned();
                        Some((attribute.key.as_ref().to_owned(), value))
                    });
                    let pairs = pairs.collect::<Option<Vec<_>>>()?;
                    let line = 1 + newlines(&document.as_bytes()[..begins(document, &reader)]);
                    items.push(format!("{} {pairs:?} {}", start.name().as_ref(), line));
                }
                Event::End(_) => {
                    depth -= 1;
                    items.push("end".to_owned());
                }
                Event::Text(text) if depth == 0 => text.trim().is_empty().then_some(())?,
                Event::Text(text) => items.push(format!("text {}", &*text)),
                Event::Eof => return (depth == 0).then_some(items),
                _ => {}
            }
        }
    }

    /// The position of the last tag; the end of an empty element has none.
    fn begins(document: &str, reader: &quick_xml::Reader<&[u8]>) -> usize {
        document[..reader.buffer_position() as usize].rfind("<e").unwrap_or_default()
    }

    fn with_fast_path(document: &str) -> Option<Vec<String>> {
        let mut xml = Xml::new(document.as_bytes(), "x");
        let mut items = Vec::new();
        loop {
            match xml.next_item().ok()? {
                Item::Start(tag) => {
                    let pairs: Vec<_> = attributes(&tag).collect();
                    items.push(format!("{} {pairs:?} {}", tag.name().as_ref(), tag.line));
                    let named = attributes_named(&tag, ["id"])[0].to_string();
                    let id = pairs.iter().find(|(name, _)| name == "id");
                    assert_eq!(named, id.map_or("", |(_, value)| value), "{document}");
                }
                Item::End => items.push("end".to_owned()),
                Item::Text(text) => items.push(format!("text {text}")),
                Item::Nothing => {}
                Item::Eof => return Some(items),
            }
        }
    }

    proptest! {
        #[test]
        fn a_document_is_read_as_quick_xml_reads_it(
            tags in prop::collection::vec(
                "</?e[ab]?( |\n){0,2}((id|a:b|a:b:id|x-1|)=('[a>\\\"é\t]{0,3}'|\"[a'<;]{0,3}\"|a)( |\n|\t|/){0,2}){0,7}/?>|<e>|</e>|<e id='1'>|x\n*",
                0..20,
            )
        ) {
            let document = format!("<e>{}</e>", tags.concat());
            prop_assert_eq!(with_fast_path(&document), with_quick_xml(&document));
        }
    }

    #[test]
    fn names_with_two_colons_are_refused() {
        let mut xml = Xml::new(&b"<a:place a:id='p'/>"[..], "x");
        let Item::Start(tag) = xml.next_item().unwrap() else { panic!("no tag") };
        assert_eq!(tag.local(), "place");
        for document in
            ["<a:b:place/>", "<a:b:place></a:b:place>", "<place a:b:id='p'/>", "<place a::id=''/>"]
        {
            let error = Xml::new(document.as_bytes(), "x").next_item().map(drop).unwrap_err().to_string();
            assert!(error.contains("has more than one colon"), "{document}: {error}");
        }
    }

    #[test]
    fn items_may_cross_the_ends_of_reads() {
        // Unit tests read 64 bytes at a time.
        for blanks in 0..70 {
            let document = format!(
                "<e>{}é<!-- a <comment> --><?p i?><a b='&lt;1'/>&amp;&#233;<![CDATA[<x>]]></e>\n",
                " ".repeat(blanks)
            );
            let items = with_fast_path(&document).unwrap();
            let text: String = items.iter().filter_map(|item| item.strip_prefix("text ")).collect();
            assert_eq!(text.trim(), "é&é<x>", "{blanks}");
            assert!(items.contains(&"a [(\"b\", \"<1\")] 1".to_owned()), "{items:?}");
        }
    }
}
