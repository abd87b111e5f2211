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
                if Plain::of(&start).is_none() {
                    for attribute in start.attributes() {
                        let value = attribute.map_err(quick_xml::Error::from);
                        let checked =
                            value.and_then(|a| a.normalized_value(XmlVersion::Implicit1_0).map(drop));
                        if let Err(e) = checked {
                            return malformed(&e.to_string());
                        }
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
    if let Some(plain) = Plain::of(start) {
        for (name, value) in plain.pairs() {
            let name = name.split_once(':').map_or(*name, |(_, local)| local);
            if let Some(at) = names.iter().position(|wanted| *wanted == name) {
                values[at] = Cow::Borrowed(value);
            }
        }
        return values;
    }
    // Checked when the item was read.
    for attribute in start.attributes().with_checks(false).flatten() {
        let name = attribute.key.local_name();
        if let Some(at) = names.iter().position(|wanted| *wanted == name.as_ref()) {
            values[at] = attribute.normalized_value(XmlVersion::Implicit1_0).unwrap_or_default();
        }
    }
    values
}

/// Attributes as nearly all are: few, `name="value"`, nothing in a value to be resolved. Going through these once
/// costs a third of the general way.
struct Plain<'a> {
    pairs: [(&'a str, &'a str); Plain::MOST],
    count: usize,
}

impl<'a> Plain<'a> {
    const MOST: usize = 6;

    /// None where the general way must look, be it because something is wrong.
    fn of(start: &'a BytesStart<'_>) -> Option<Self> {
        let text = start.attributes_raw();
        let bytes = text.as_bytes();
        let mut plain = Self { pairs: [("", ""); Self::MOST], count: 0 };
        let mut at = 0;
        loop {
            let blanks = bytes[at..].iter().take_while(|b| matches!(b, b' ' | b'\n' | b'\t' | b'\r')).count();
            at += blanks;
            if at == bytes.len() {
                return Some(plain);
            }
            let is_name = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b':' | b'_' | b'-' | b'.');
            let name = bytes[at..].iter().take_while(is_name).count();
            let [b'=', quote @ (b'"' | b'\''), rest @ ..] = &bytes[at + name..] else { return None };
            let value =
                rest.iter().take_while(|b| **b != *quote && **b >= b' ' && !b"&<".contains(b)).count();
            if blanks == 0 || name == 0 || rest.get(value) != Some(quote) || plain.count == Self::MOST {
                return None;
            }
            let pair = (&text[at..at + name], &text[at + name + 2..at + name + 2 + value]);
            if plain.pairs().iter().any(|(known, _)| *known == pair.0) {
                return None;
            }
            plain.pairs[plain.count] = pair;
            plain.count += 1;
            at += name + value + 3;
        }
    }

    fn pairs(&self) -> &[(&'a str, &'a str)] {
        &self.pairs[..self.count]
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The general way, without the short one.
    fn generally(start: &BytesStart<'_>) -> Option<Vec<(String, String)>> {
        let attribute = |attribute: Result<quick_xml::events::attributes::Attribute<'_>, _>| {
            let attribute = attribute.ok()?;
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned();
            Some((attribute.key.as_ref().to_owned(), value))
        };
        start.attributes().map(attribute).collect()
    }

    proptest! {
        #[test]
        fn attributes_gone_through_the_short_way_are_those_of_the_general_way(
            text in "( |\n){0,2}((id|a:b|a:b:id|x-1|)=('[a>\\\"é\t&]{0,3}'|\"[a'<;]{0,3}\"|a)( |\n|\t|/){0,2}){0,8}"
        ) {
            let tag = format!("arc{text}");
            let start = BytesStart::from_content(tag.as_str(), 3);
            if let Some(plain) = Plain::of(&start) {
                let pairs = plain.pairs().iter().map(|(name, value)| (name.to_string(), value.to_string()));
                prop_assert_eq!(Some(pairs.collect()), generally(&start));
            }
        }
    }

    #[test]
    fn usual_attributes_go_the_short_way() {
        let start = BytesStart::from_content("arc id=\"a1\"\n source='p' x:target=\"t>\"", 3);
        let plain = Plain::of(&start).unwrap();
        assert_eq!(plain.pairs(), [("id", "a1"), ("source", "p"), ("x:target", "t>")]);
        assert_eq!(attributes_named(&start, ["target", "id", "none"]), ["t>", "a1", ""]);
    }
}
