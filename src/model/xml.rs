//! Reads XML as a stream, with line numbers and limits for untrusted input. Memory depends on the longest item, not on the
//! length of the document.

use super::{ModelError, Problem};
use memchr::memchr_iter;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Error, Reader, XmlVersion, escape};
use std::borrow::Cow;
use std::io::{self, BufRead, Read};

/// Greatest length of a tag or text in bytes, which limits the memory for untrusted input.
pub(super) const MAX_ITEM_BYTES: usize = 64 << 20;
/// Greatest length of an id in bytes: messages, runs and names of colours repeat ids. In 73 instances of the contest the
/// longest has 60.
pub(super) const MAX_ID_BYTES: usize = 1024;
/// Greatest depth of elements.
const MAX_DEPTH: usize = 100_000;
/// Largest number of attributes of an element.
const MAX_ATTRIBUTES: usize = 100;

/// An item of a document.
pub enum Item<'a> {
    /// A start tag with well-formed attributes.
    Start(BytesStart<'a>),
    /// An end tag, or the end of an empty element.
    End,
    /// A part of a text, with entities and CDATA resolved. Several parts may follow each other.
    Text(Cow<'a, str>),
    /// A comment or processing instruction, or white space outside of the root element.
    Nothing,
    /// The end of the document.
    Eof,
}

/// A reader of an XML document.
pub struct Xml<R> {
    reader: Reader<Input<R>>,
    file: String,
    /// The text of the current item, and the line in which it begins.
    item: Vec<u8>,
    line: u64,
    depth: usize,
    root_seen: bool,
    /// Whether the declaration names another encoding than UTF-8: then all must be ASCII, which most encodings share.
    ascii_only: bool,
    /// What the current element has since its last child, or its start.
    content: Content,
    /// The depth of the outermost open element `toolspecific`.
    tool_specific: Option<usize>,
    document_type: bool,
    attributes_later: bool,
}

/// Text, and what divides it: comments, processing instructions and CDATA sections. Of an element that has both, some programs
/// read only a part of the text.
#[derive(Clone, Copy, Default)]
struct Content {
    text: bool,
    dividers: bool,
}

/// The bytes of a document.
struct Input<R> {
    source: R,
    /// Number of line ends that were read.
    newlines: u64,
    /// Bytes that the current item may still have.
    left: usize,
    /// Whether a byte was read that is a control character.
    has_control: bool,
    /// Whether all bytes so far are ASCII.
    is_ascii: bool,
}

impl<R: BufRead> Read for Input<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Input<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let block = self.source.fill_buf()?;
        match self.left {
            0 if !block.is_empty() => Err(io::ErrorKind::FileTooLarge.into()),
            left => Ok(&block[..block.len().min(left)]),
        }
    }

    fn consume(&mut self, used: usize) {
        if used > 0 {
            // Returns the block of the last call again.
            let block = self.source.fill_buf().unwrap_or_default();
            self.newlines += memchr_iter(b'\n', &block[..used]).count() as u64;
            // Without an early end, which the compiler makes faster.
            self.has_control |= block[..used].iter().fold(false, |found, byte| found | is_control(*byte));
            self.is_ascii &= block[..used].is_ascii();
            self.left -= used;
            self.source.consume(used);
        }
    }
}

impl<R: BufRead> Xml<R> {
    /// Reads the document `source`; `file` is the name in errors.
    pub fn new(source: R, file: &str) -> Self {
        let mut reader =
            Reader::from_reader(Input { source, newlines: 0, left: 0, has_control: false, is_ascii: true });
        reader.config_mut().expand_empty_elements = true;
        let (item, file) = (Vec::new(), file.to_owned());
        Self {
            reader,
            file,
            item,
            line: 1,
            depth: 0,
            root_seen: false,
            ascii_only: false,
            content: Content::default(),
            tool_specific: None,
            document_type: false,
            attributes_later: false,
        }
    }

    /// Ignores a document type that has no declarations of its own, instead of refusing it.
    pub fn with_document_type(self) -> Self {
        Self { document_type: true, ..self }
    }

    /// Leaves the check of the attributes to the caller, with `check_attributes` or `checked_attributes`: in large nets a second
    /// reading takes a tenth of the time.
    pub(super) fn with_attributes_checked_later(self) -> Self {
        Self { attributes_later: true, ..self }
    }

    /// The line in which the current item begins.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The line in which the next item begins.
    pub(super) fn next_line(&self) -> u64 {
        self.reader.get_ref().newlines + 1
    }

    /// An error at the line of the current item.
    pub fn error(&self, problem: Problem) -> ModelError {
        ModelError { file: self.file.clone(), line: self.line, problem }
    }

    /// Returns the next item.
    ///
    /// # Errors
    /// The source cannot be read, the document is not well-formed, or a limit is exceeded.
    pub fn next_item(&mut self) -> Result<Item<'_>, ModelError> {
        self.line = self.next_line();
        self.reader.get_mut().left = MAX_ITEM_BYTES;
        self.item.clear();
        let error = |problem| ModelError { file: self.file.clone(), line: self.line, problem };
        let malformed = |what: &str| error(Problem::Malformed(what.to_owned()));
        let event = self.reader.read_event_into(&mut self.item).map_err(|cause| match cause {
            Error::Io(_) if self.reader.get_ref().left == 0 => {
                error(Problem::ItemTooLong(MAX_ITEM_BYTES as u64))
            }
            Error::Io(cause) => error(Problem::Io(cause.to_string())),
            cause => malformed(&cause.to_string()),
        })?;
        if self.reader.get_ref().has_control {
            return Err(malformed(CONTROL));
        }
        let outside = self.depth == 0;
        match &event {
            Event::Decl(declaration) => {
                let version = declaration.version().map_err(|cause| malformed(&cause.to_string()))?;
                if version != "1.0" {
                    return Err(malformed("it is not of version 1.0"));
                }
                let encoding =
                    declaration.encoding().transpose().map_err(|cause| malformed(&cause.to_string()))?;
                if let Some(name) = encoding.map(|name| name.to_ascii_uppercase()) {
                    // Others can mean other characters by the bytes of ASCII.
                    if name != "UTF-8" && name != "US-ASCII" && !name.starts_with("ISO-8859-") {
                        return Err(malformed("its encoding is not UTF-8, US-ASCII or ISO-8859"));
                    }
                    self.ascii_only = name != "UTF-8";
                }
            }
            Event::Start(_) | Event::End(_) => self.content = Content::default(),
            Event::Text(text) => self.content.text |= !is_blank(text),
            Event::GeneralRef(_) => self.content.text = true,
            Event::CData(text) => {
                self.content.dividers = true;
                self.content.text |= !is_blank(text);
            }
            Event::Comment(_) | Event::PI(_) => self.content.dividers = true,
            _ => {}
        }
        if self.ascii_only && !self.reader.get_ref().is_ascii {
            return Err(malformed("its encoding is not UTF-8, and it has characters that are not ASCII"));
        }
        if self.content.text && self.content.dividers && self.tool_specific.is_none() {
            return Err(malformed("text beside a comment, processing instruction or CDATA section"));
        }
        match event {
            Event::Start(_) if outside && self.root_seen => Err(malformed("a second root element")),
            Event::Start(_) if self.depth == MAX_DEPTH => Err(error(Problem::TooDeep(MAX_DEPTH))),
            Event::Start(start) => {
                check_name(&start).map_err(|what| malformed(&what))?;
                // Readers compare each attribute with all others of its element. A short tag has few.
                if start.len() > MAX_ATTRIBUTES
                    && start.attributes().with_checks(false).nth(MAX_ATTRIBUTES).is_some()
                {
                    return Err(malformed(&format!("an element has more than {MAX_ATTRIBUTES} attributes")));
                }
                if self.tool_specific.is_none() {
                    let name = start.name().into_inner();
                    if name == "toolspecific" {
                        self.tool_specific = Some(self.depth);
                    } else if name.contains(':') {
                        let what = "the name of an element has a prefix, which programs read differently";
                        return Err(malformed(what));
                    }
                    let mut attributes = start.attributes().flatten();
                    // The cheap search comes first: few tags have this text.
                    if self.root_seen
                        && start.contains("xmlns")
                        && attributes.any(|attribute| attribute.key.into_inner().starts_with("xmlns"))
                    {
                        let what = "an element has a namespace of its own, which programs read differently";
                        return Err(malformed(what));
                    }
                }
                if !self.attributes_later {
                    check_attributes(&start).map_err(|what| malformed(&what))?;
                }
                self.root_seen = true;
                self.depth += 1;
                Ok(Item::Start(start))
            }
            Event::End(_) => {
                self.depth -= 1;
                self.tool_specific = self.tool_specific.filter(|depth| *depth < self.depth);
                Ok(Item::End)
            }
            Event::Text(text) if outside && text.trim().is_empty() => Ok(Item::Nothing),
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) if outside => {
                Err(malformed("text outside of the root element"))
            }
            Event::Text(text) => Ok(Item::Text(text.into_inner())),
            Event::CData(text) => Ok(Item::Text(text.into_inner())),
            Event::GeneralRef(entity) => match entity.resolve_char_ref() {
                Ok(Some(c)) if c.is_ascii() && is_control(c as u8) => Err(malformed(CONTROL)),
                Ok(Some(c)) => Ok(Item::Text(c.to_string().into())),
                Ok(None) => match escape::resolve_predefined_entity(&entity) {
                    Some(text) => Ok(Item::Text(text.into())),
                    None => Err(malformed(&format!("the unknown entity &{};", &*entity))),
                },
                Err(cause) => Err(malformed(&cause.to_string())),
            },
            Event::DocType(_) if !self.document_type || self.root_seen => Err(error(Problem::DocumentType)),
            Event::DocType(text) if text.contains('[') => {
                Err(malformed("a document type with declarations, which some readers obey"))
            }
            Event::DocType(_) => {
                // A second one is refused.
                self.document_type = false;
                Ok(Item::Nothing)
            }
            Event::Eof if !outside => Err(malformed("the file ends inside an element")),
            Event::Eof if !self.root_seen => Err(malformed("there is no element")),
            Event::Eof => Ok(Item::Eof),
            _ => Ok(Item::Nothing),
        }
    }
}

/// What XML 1.0 does not allow, not even as a character reference.
const CONTROL: &str = "a control character";

fn is_control(byte: u8) -> bool {
    byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r')
}

/// The text without white space of XML at its ends.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\r', '\n'])
}

/// Whether a text is only white space of XML.
pub(super) fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Checks the name of a start tag. Refuses names with two colons, which have no unique local part (Namespaces in XML 1.0,
/// section 3).
fn check_name(start: &BytesStart<'_>) -> Result<(), String> {
    let name = start.name().into_inner();
    one_colon(name)?;
    if name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == ':') {
        Ok(())
    } else {
        Err("an element name that does not begin with a letter".to_owned())
    }
}

fn one_colon(name: &str) -> Result<(), String> {
    match name.bytes().filter(|byte| *byte == b':').count() {
        0 | 1 => Ok(()),
        _ => Err(format!("the name {name} has more than one colon")),
    }
}

/// Names (as written) and values (with entities resolved) of the attributes, or what is not well-formed.
pub(super) fn checked_attributes<'a>(
    start: &'a BytesStart<'_>,
) -> impl Iterator<Item = Result<(&'a str, Cow<'a, str>), String>> {
    start.attributes().map(|attribute| {
        let attribute = attribute.map_err(|cause| Error::from(cause).to_string())?;
        let key = attribute.key.into_inner();
        one_colon(key)?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|cause| cause.to_string())?;
        if value.bytes().any(is_control) { Err(CONTROL.to_owned()) } else { Ok((key, value)) }
    })
}

/// Checks the attributes of a start tag.
pub(super) fn check_attributes(start: &BytesStart<'_>) -> Result<(), String> {
    checked_attributes(start).try_for_each(|attribute| attribute.map(drop))
}

/// Checks the length of an attribute that is an id.
pub(super) fn check_id(name: &str, value: &str) -> Result<(), Problem> {
    if value.len() > MAX_ID_BYTES { Err(Problem::IdTooLong(name.to_owned())) } else { Ok(()) }
}

/// The name of an element without its prefix.
pub(super) fn element_name<'a>(start: &'a BytesStart<'_>) -> &'a str {
    start.local_name().into_inner()
}

/// The value of an attribute with entities resolved. The prefix is part of the name: `xml:id` is not `id`.
pub fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    attributes(start).find(|(key, _)| *key == name).map(|(_, value)| value.into_owned())
}

/// Names (as written) and values (with entities resolved) of the attributes.
pub(super) fn attributes<'a>(start: &'a BytesStart<'_>) -> impl Iterator<Item = (&'a str, Cow<'a, str>)> {
    // Checked when the item was read.
    checked_attributes(start).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn names_with_two_colons_are_refused() {
        for document in
            ["<a:b:place/>", "<a:b:place></a:b:place>", "<place a:b:id='p'/>", "<place a::id=''/>"]
        {
            let error = Xml::new(document.as_bytes(), "x").next_item().map(drop).unwrap_err().to_string();
            assert!(error.contains("has more than one colon"), "{document}: {error}");
        }
    }

    #[test]
    fn documents_that_programs_read_differently_are_refused() {
        let latin = "<?xml version='1.0' encoding='ISO-8859-1'?>";
        for (document, message) in [
            ("<?xml version='1.1'?><e/>", "not of version 1.0"),
            (&format!("{latin}<e a='\u{e9}'/>"), "its encoding is not UTF-8"),
            ("<?xml version='1.0' encoding='IBM864'?><e a='%'/>", "its encoding is not UTF-8, US-ASCII"),
            ("<?xml version='1.0' encoding='UTF-7'?><e/>", "its encoding is not UTF-8, US-ASCII"),
            ("<e><p:e/></e>", "has a prefix"),
            ("<e xmlns='a'><p id='1' xmlns='b'/></e>", "a namespace of its own"),
            ("<e><p id='1' xmlns:b='b'/></e>", "a namespace of its own"),
            ("<e>1<!-- -->0</e>", "text beside a comment"),
            ("<e><?p?>&#49;</e>", "text beside a comment"),
            ("<e><![CDATA[1]]></e>", "text beside a comment"),
            ("<toolspecific><p:e/></toolspecific><e/>", "a second root element"),
            ("<e><toolspecific/>1<!-- --></e>", "text beside a comment"),
        ] {
            let error = read_to_end(document).unwrap_err();
            assert!(error.contains(message), "{document}: {error}");
        }
        for document in [
            &format!("{latin}<e a='e'/>"),
            "<?xml version='1.0' encoding='utf-8'?><e> <!-- \u{e9} --> <a>\u{e9}</a> <![CDATA[ ]]></e>",
            "<e><toolspecific><p:e>1<!-- --></p:e></toolspecific></e>",
            "<e xmlns='a'><p id='xmlns'/><toolspecific><q xmlns='c'/></toolspecific></e>",
        ] {
            read_to_end(document).unwrap();
        }
    }

    #[test]
    fn elements_with_many_attributes_are_refused() {
        let element = |attributes: usize| {
            let attributes = (0..attributes).map(|number| format!(" a{number}=''"));
            format!("<e><toolspecific{}/></e>", attributes.collect::<String>())
        };
        read_to_end(&element(100)).unwrap();
        assert!(read_to_end(&element(101)).unwrap_err().contains("more than 100 attributes"));
    }

    fn read_to_end(document: &str) -> Result<(), String> {
        let mut xml = Xml::new(document.as_bytes(), "x");
        while !matches!(xml.next_item().map_err(|error| error.to_string())?, Item::Eof) {}
        Ok(())
    }

    #[test]
    fn control_characters_are_refused() {
        for document in
            ["<e>\n\0</e>", "<e>\n<\u{1}/></e>", "<e>\n&#0;</e>", "<e>\n&#x1f;</e>", "<e>\n<a b='&#8;'/></e>"]
        {
            let mut xml = Xml::new(document.as_bytes(), "x");
            let error = loop {
                match xml.next_item() {
                    Ok(Item::Eof) => panic!("{document:?} is read"),
                    Ok(_) => {}
                    Err(error) => break error.to_string(),
                }
            };
            assert!(error.contains("not well-formed XML"), "{document:?}: {error}");
        }
        assert!(matches!(Xml::new(&b"<e\t\r\n/>"[..], "x").next_item(), Ok(Item::Start(_))));
    }

    #[test]
    fn items_may_cross_the_ends_of_reads() {
        let inside = "\né<!-- a\n<comment> --><?p i?><a b='&lt;1'\n/>&amp;&#233;<![CDATA[<x>]]>";
        let document = format!("<toolspecific>{inside}</toolspecific>\n");
        for block in 1..document.len() {
            let mut xml = Xml::new(BufReader::with_capacity(block, document.as_bytes()), "x");
            let (mut tags, mut text) = (Vec::new(), String::new());
            loop {
                match xml.next_item().unwrap() {
                    Item::Start(tag) => {
                        let tag = tag.into_owned();
                        tags.push((element_name(&tag).to_owned(), attribute(&tag, "b"), xml.line()));
                    }
                    Item::Text(part) => text += &part,
                    Item::End | Item::Nothing => {}
                    Item::Eof => break,
                }
            }
            assert_eq!(text, "\né&é<x>", "{block}");
            assert_eq!(
                tags,
                [("toolspecific".to_owned(), None, 1), ("a".to_owned(), Some("<1".to_owned()), 3)]
            );
            assert_eq!(xml.line(), 5);
        }
    }
}
