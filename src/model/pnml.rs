//! Reads PNML (ISO/IEC 15909-2) as a stream. Names, graphics and tool sections are skipped; nodes are identified by ids.
//! Other elements, attributes and texts that the grammar does not have could change the meaning, so they are refused.

use super::graph::Graph;
use super::xml::{
    Item, Xml, attribute, check_attributes, check_id, checked_attributes, element_name, is_blank, trim,
};
use super::{ModelError, Net, NetKind, Problem};
use quick_xml::events::BytesStart;
use std::borrow::Cow;
use std::io::BufRead;

impl Net {
    /// Reads a P/T net, or the graph of a coloured net. `file` is the name in errors.
    ///
    /// Pages are flattened. Several arcs from one node to another become one with the sum of their weights.
    ///
    /// # Errors
    /// The input cannot be read, is not well-formed, or has a weight of 0, a number above u64, an arc that does not
    /// connect a place and a transition, a repeated id, a DTD, or an element that is not known at its place: a reference
    /// node, a special arc (inhibitor, ...), a capacity. The error has the line.
    pub fn read(source: impl BufRead, file: &str) -> Result<Net, ModelError> {
        let mut reader = Reader { file, ..Reader::default() };
        reader.read(source)?;
        let Some((id, kind)) = reader.head.take() else {
            let (element, missing) = ("pnml".to_owned(), "<net>".to_owned());
            return Err(reader.error(Problem::Missing { element, missing }));
        };
        let error = |(line, problem)| ModelError { file: file.to_owned(), line, problem };
        reader.graph.finish(id, kind, reader.line).map_err(error)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Pnml,
    Net,
    Page,
    Place,
    Transition,
    Arc,
    InitialMarking,
    Inscription,
    /// `<text>` of a marking or an inscription.
    Text,
    /// Skipped with its content.
    Skipped,
}

impl Element {
    fn name(self) -> &'static str {
        match self {
            Self::Pnml => "pnml",
            Self::Net => "net",
            Self::Page => "page",
            Self::Place => "place",
            Self::Transition => "transition",
            Self::Arc => "arc",
            Self::InitialMarking => "initialMarking",
            Self::Inscription => "inscription",
            Self::Text => "text",
            Self::Skipped => "",
        }
    }
}

/// The label of the current place or arc.
struct Label {
    line: u64,
    text: Option<String>,
}

#[derive(Default)]
struct Reader<'f> {
    file: &'f str,
    /// The line of the current item.
    line: u64,
    head: Option<(String, NetKind)>,
    graph: Graph,
    label: Option<Label>,
}

impl Reader<'_> {
    fn read(&mut self, source: impl BufRead) -> Result<(), ModelError> {
        let mut xml = Xml::new(source, self.file).with_attributes_checked_later();
        let mut open: Vec<Element> = Vec::new();
        loop {
            self.line = xml.next_line();
            match xml.next_item()? {
                Item::Start(tag) => open.push(self.open(open.last().copied(), &tag)?),
                Item::End => match open.pop() {
                    Some(Element::InitialMarking) => self.set_marking()?,
                    Some(Element::Inscription) => self.set_weight()?,
                    _ => {}
                },
                Item::Text(text) => match (open.last(), &mut self.label) {
                    (Some(Element::Text), Some(label)) => {
                        label.text.get_or_insert_default().push_str(&text);
                    }
                    (Some(Element::Skipped) | None, _) => {}
                    (Some(_), _) if is_blank(&text) => {}
                    (Some(parent), _) => return Err(self.error(Problem::Text(parent.name().to_owned()))),
                },
                Item::Nothing => {}
                Item::Eof => return Ok(()),
            }
        }
    }

    fn open(&mut self, parent: Option<Element>, start: &BytesStart<'_>) -> Result<Element, ModelError> {
        let name = element_name(start);
        let in_net = matches!(parent, Some(Element::Net | Element::Page));
        let is_read = in_net && matches!(name, "place" | "transition" | "arc");
        // The attributes of these are checked where they are read.
        if !is_read {
            check_attributes(start).map_err(|what| self.malformed(what))?;
        }
        match (parent, name) {
            (None, "pnml") => Ok(Element::Pnml),
            (None, _) => Err(self.unexpected(name, "<pnml>")),
            (Some(Element::Pnml), "net") => {
                if self.head.is_some() {
                    return Err(self.repeated(name, "the file"));
                }
                let [id, kind] = self.required(start, ["id", "type"])?;
                let kind = match kind.rsplit('/').next() {
                    Some("ptnet") => NetKind::PlaceTransition,
                    Some("symmetricnet") => NetKind::Coloured,
                    _ => return Err(self.error(Problem::NetType(kind.into_owned()))),
                };
                self.head = Some((id.into_owned(), kind));
                Ok(Element::Net)
            }
            (Some(Element::Skipped), _) => Ok(Element::Skipped),
            (Some(parent), "name" | "graphics" | "toolspecific") if parent != Element::Text => {
                Ok(Element::Skipped)
            }
            (Some(Element::Net | Element::Page), "page" | "place" | "transition" | "arc") => {
                self.open_node(start, name)
            }
            (Some(Element::Place), "initialMarking") | (Some(Element::Arc), "inscription")
                if !self.coloured() =>
            {
                if self.label.is_some() {
                    return Err(self.repeated(name, "one place or arc"));
                }
                self.label = Some(Label { line: self.line, text: None });
                Ok(if name == "inscription" { Element::Inscription } else { Element::InitialMarking })
            }
            (Some(Element::Place), "hlinitialMarking") | (Some(Element::Arc), "hlinscription")
                if !self.coloured() =>
            {
                Err(self.unexpected(name, "a number (the net's type is ptnet)"))
            }
            // Inhibitor, reset and read arcs of some editors have another meaning than normal ones.
            (Some(Element::Arc), "type")
                if attribute(start, "value").is_some_and(|kind| kind == "normal") =>
            {
                Ok(Element::Skipped)
            }
            // The reader of coloured nets reads these.
            (Some(Element::Net | Element::Page), "declaration")
            | (Some(Element::Place), "type" | "hlinitialMarking")
            | (Some(Element::Transition), "condition")
            | (Some(Element::Arc), "hlinscription")
                if self.coloured() =>
            {
                Ok(Element::Skipped)
            }
            (Some(Element::InitialMarking | Element::Inscription), "text") => {
                if let Some(label) = &mut self.label
                    && label.text.replace(String::new()).is_some()
                {
                    return Err(self.repeated(name, "one label"));
                }
                Ok(Element::Text)
            }
            (Some(parent), _) => {
                let element = format!("{name}> in <{}", parent.name());
                Err(self.error(Problem::Unsupported { element }))
            }
        }
    }

    fn open_node(&mut self, start: &BytesStart<'_>, name: &str) -> Result<Element, ModelError> {
        self.label = None;
        let line = self.line;
        let (element, added) = match name {
            "page" => {
                let added = attribute(start, "id").map_or(Ok(()), |id| self.graph.add_page(line, &id));
                (Element::Page, added)
            }
            "place" => {
                let [id] = self.required(start, ["id"])?;
                (Element::Place, self.graph.add_place(line, &id))
            }
            "transition" => {
                let [id] = self.required(start, ["id"])?;
                (Element::Transition, self.graph.add_transition(line, &id))
            }
            _ => {
                let ids = self.required(start, ["id", "source", "target"])?;
                (Element::Arc, self.graph.add_arc(line, ids.each_ref().map(|id| &**id)))
            }
        };
        added.map_err(|(line, problem)| self.error_at(line, problem))?;
        Ok(element)
    }

    fn set_marking(&mut self) -> Result<(), ModelError> {
        let what = || format!("the initial marking of place {}", self.graph.last_place());
        let tokens = self.label_number("initialMarking", what)?;
        self.graph.set_marking(tokens);
        Ok(())
    }

    fn set_weight(&mut self) -> Result<(), ModelError> {
        let what = || format!("the inscription of arc {}", self.graph.last_arc());
        let weight = self.label_number("inscription", what)?;
        if weight == 0 {
            let line = self.label.as_ref().map_or(self.line, |label| label.line);
            return Err(self.error_at(line, Problem::ZeroWeight { arc: self.graph.last_arc().to_owned() }));
        }
        self.graph.set_weight(weight);
        Ok(())
    }

    fn label_number(&self, element: &str, what: impl FnOnce() -> String) -> Result<u64, ModelError> {
        let line = self.label.as_ref().map_or(self.line, |label| label.line);
        let text = self.label.as_ref().and_then(|label| label.text.as_deref());
        let problem = match text {
            Some(text) => match natural(text, what) {
                Ok(number) => return Ok(number),
                Err(problem) => problem,
            },
            None => Problem::Missing { element: element.to_owned(), missing: "<text>".to_owned() },
        };
        Err(self.error_at(line, problem))
    }

    fn coloured(&self) -> bool {
        matches!(self.head, Some((_, NetKind::Coloured)))
    }

    /// The values of required attributes, which must not be empty. Others are refused, except `type="normal"` and those with
    /// a namespace.
    fn required<'a, const N: usize>(
        &self,
        start: &'a BytesStart<'_>,
        names: [&str; N],
    ) -> Result<[Cow<'a, str>; N], ModelError> {
        let mut values = [const { Cow::Borrowed("") }; N];
        for attribute in checked_attributes(start) {
            let (key, value) = attribute.map_err(|what| self.malformed(what))?;
            match names.iter().position(|name| *name == key) {
                Some(at) => {
                    check_id(key, &value).map_err(|problem| self.error(problem))?;
                    values[at] = value;
                }
                None if key.contains(':') || key == "xmlns" || (key, &*value) == ("type", "normal") => {}
                None => {
                    let value: String = value.chars().take(40).collect();
                    let element = format!("{} {key}=\"{value}\"", element_name(start));
                    return Err(self.error(Problem::Unsupported { element }));
                }
            }
        }
        match values.iter().position(|value| value.is_empty()) {
            None => Ok(values),
            Some(at) => {
                let (element, missing) =
                    (element_name(start).to_owned(), format!("the attribute {}", names[at]));
                Err(self.error(Problem::Missing { element, missing }))
            }
        }
    }

    fn error(&self, problem: Problem) -> ModelError {
        self.error_at(self.line, problem)
    }

    fn error_at(&self, line: u64, problem: Problem) -> ModelError {
        ModelError { file: self.file.to_owned(), line, problem }
    }

    fn malformed(&self, what: String) -> ModelError {
        self.error(Problem::Malformed(what))
    }

    fn unexpected(&self, found: &str, expected: &str) -> ModelError {
        self.error(Problem::Unexpected { found: found.to_owned(), expected: expected.to_owned() })
    }

    fn repeated(&self, element: &str, within: &str) -> ModelError {
        self.error(Problem::Repeated { element: element.to_owned(), within: within.to_owned() })
    }
}

/// Parses a natural number in decimal digits, with optional white space around it.
pub(super) fn natural(text: &str, what: impl FnOnce() -> String) -> Result<u64, Problem> {
    let text = trim(text);
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        let text = text.chars().take(40).collect();
        return Err(Problem::NotANumber { what: what(), text });
    }
    text.parse().map_err(|_| Problem::TooLarge { what: what(), text: text.chars().take(40).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arc;
    use proptest::prelude::*;

    const TWO_PAGES: &str = r#"<?xml version="1.0"?>
<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
 <net id="A&amp;B" type="http://www.pnml.org/version-2009/grammar/ptnet">
  <page id="one">
   <arc id="a1" source="p&#49;" target="t"><inscription><text> 2 </text></inscription></arc>
   <place id="p1"><name><text>x</text></name>
    <initialMarking><text>18446744073709551615</text></initialMarking></place>
   <page id="two">
    <transition id="t"/><place id="p2"><toolspecific tool="x" version="1"><text>9</text></toolspecific></place>
    <arc id="a2" source="t" target="p2"/>
    <arc id="a3" source="t" target="p2"><inscription><text>&#51;</text></inscription></arc>
   </page>
  </page>
 </net>
</pnml>
"#;

    fn read(text: &str) -> Result<Net, String> {
        Net::read(text.as_bytes(), "model.pnml").map_err(|e| e.to_string())
    }

    fn net(inside: &str) -> String {
        format!("<pnml>\n<net id='n' type='ptnet'>\n<page id='g'>\n{inside}\n</page></net></pnml>")
    }

    const NODES: &str = "<place id='p'/><place id='q'/><transition id='t'/><transition id='u'/>";

    #[test]
    fn pages_entities_weights_and_late_declarations_are_read() {
        let net = read(TWO_PAGES).unwrap();
        assert_eq!((net.id.as_str(), net.kind), ("A&B", NetKind::PlaceTransition));
        let places: Vec<_> = net.places.iter().map(|p| (p.id.as_str(), p.initial)).collect();
        assert_eq!(places, [("p1", u64::MAX), ("p2", 0)]);
        assert_eq!(net.transitions.len(), 1);
        assert_eq!(net.transitions[0].inputs, [Arc { place: 0, weight: 2 }]);
        assert_eq!(net.transitions[0].outputs, [Arc { place: 1, weight: 4 }], "parallel arcs add up");
    }

    #[test]
    fn the_graph_of_a_coloured_net_is_read() {
        let text = net(&format!(
            "{NODES}<place id='r'><hlinitialMarking><structure><all/></structure></hlinitialMarking></place>
             <arc id='a' source='p' target='t'><hlinscription><text>2'x</text></hlinscription></arc>"
        ))
        .replace("ptnet", "symmetricnet");
        let net = read(&text).unwrap();
        assert_eq!(net.kind, NetKind::Coloured);
        assert_eq!((net.places.len(), net.transitions.len()), (3, 2));
        assert_eq!(net.transitions[0].inputs, [Arc { place: 0, weight: 1 }]);
    }

    #[test]
    fn errors_name_the_line() {
        let arc = |rest: &str| net(&format!("{NODES}\n<arc id='a' {rest}</arc>"));
        let cases = [
            (
                net("<place id='p'/>\n<transition id='p'/>"),
                "model.pnml:5: the id \"p\" was already used in line 4;",
            ),
            (
                arc(
                    "source='p' target='t'/>\n<arc id='b' source='p' target='t'/>\n<arc id='a' source='t' target='p'>",
                ),
                "model.pnml:7: the id \"a\" was already used in line 5;",
            ),
            (
                net(&format!("{NODES}\n<arc id='p' source='p' target='t'/>")),
                "model.pnml:5: the id \"p\" was already used in line 4;",
            ),
            (arc("source='p' target='x'>"), "model.pnml:5: arc a refers to \"x\", which is neither"),
            (arc("source='p' target='g'>"), "model.pnml:5: arc a refers to \"g\", which is neither"),
            (arc("source='p' target='q'>"), "model.pnml:5: arc a connects two places;"),
            (arc("source='t' target='u'>"), "model.pnml:5: arc a connects two transitions;"),
            (arc("source='p'>"), "model.pnml:5: <arc> without the attribute target;"),
            (
                arc("source='p' target='t'>\n<inscription><text>0</text></inscription>"),
                "model.pnml:6: the inscription of arc a is 0;",
            ),
            (
                arc("source='p' target='t'><inscription><text>-1</text></inscription>"),
                "model.pnml:5: the inscription of arc a is \"-1\", not a natural number;",
            ),
            (
                arc("source='p' target='t'><type value='inhibitor'/>"),
                "model.pnml:5: <type> in <arc> is not supported;",
            ),
            (
                arc("source='p' target='t'>\n<arctype><text>inhibitor</text></arctype>"),
                "model.pnml:6: <arctype> in <arc> is not supported;",
            ),
            (
                arc("source='p' target='t' type='inhibitor'>"),
                "model.pnml:5: <arc type=\"inhibitor\"> is not supported;",
            ),
            (net("<place id='p' capacity='1'/>"), "model.pnml:4: <place capacity=\"1\"> is not supported;"),
            (
                net("<place id='p'>\n<capacity><text>1</text></capacity></place>"),
                "model.pnml:5: <capacity> in <place> is not supported;",
            ),
            (
                net("<transition id='t'><condition/></transition>"),
                "model.pnml:4: <condition> in <transition> is not supported;",
            ),
            (net("<x/>"), "model.pnml:4: <x> in <page> is not supported;"),
            (net("").replace("<page", "<x/><page"), "model.pnml:3: <x> in <net> is not supported;"),
            (
                net("<place id='p'><initialMarking><text>1<b>2</b></text></initialMarking></place>"),
                "model.pnml:4: <b> in <text> is not supported;",
            ),
            (
                net("<place id='p'><initialMarking>1</initialMarking></place>"),
                "model.pnml:4: <initialMarking> has text outside of its elements; remove it",
            ),
            (net("<place id='p'/>\nx"), "model.pnml:4: <page> has text outside of its elements;"),
            (net("<place id='p'/><!-- \0 -->"), "model.pnml:4: not well-formed XML: a control character;"),
            (
                arc("source='p' target='t'><hlinscription/>"),
                "model.pnml:5: <hlinscription> where a number (the net's type is ptnet) is expected;",
            ),
            (
                net(
                    "<place id='p'><initialMarking><text>18446744073709551616</text></initialMarking></place>",
                ),
                "model.pnml:4: the initial marking of place p is 18446744073709551616, more than",
            ),
            (
                net("<place id='p'>\n<initialMarking/></place>"),
                "model.pnml:5: <initialMarking> without <text>;",
            ),
            (
                net(
                    "<place id='p'><initialMarking><text>1</text></initialMarking>\n<initialMarking/></place>",
                ),
                "model.pnml:5: one place or arc has a second <initialMarking>",
            ),
            (
                net("\n<referencePlace id='r' ref='p'/>"),
                "model.pnml:5: <referencePlace> in <page> is not supported;",
            ),
            (net("<place/>"), "model.pnml:4: <place> without the attribute id;"),
            (
                net("").replace("ptnet", "stochastic"),
                "model.pnml:2: the net type \"stochastic\" is not supported;",
            ),
            ("<pnml>\n</pnml>".into(), "model.pnml:2: <pnml> without <net>;"),
            ("<html/>".into(), "model.pnml:1: <html> where <pnml> is expected;"),
            (net("\n</place>"), "model.pnml:5: not well-formed XML:"),
            (net("<place id='p' id='q'/>"), "model.pnml:4: not well-formed XML:"),
            (net("<place id='&bomb;'/>"), "model.pnml:4: not well-formed XML:"),
            (
                "<!DOCTYPE pnml [<!ENTITY a 'aaaa'>]><pnml/>".into(),
                "model.pnml:1: the file has a document type declaration;",
            ),
            ("<pnml>\n<net id='n' type='ptnet'>".into(), "not well-formed XML:"),
            ("<pnml/>\nx".into(), "model.pnml:1: not well-formed XML: text outside"),
            (String::new(), "model.pnml:1: not well-formed XML: there is no element;"),
            ("<pnml>\n<1/></pnml>".into(), "model.pnml:2: not well-formed XML: an element name"),
            (net(&"<toolspecific>".repeat(200_000)), "model.pnml:4: elements are nested deeper than 100000;"),
        ];
        for (text, message) in cases {
            let error = read(&text).unwrap_err();
            assert!(error.contains(message), "{error}\nexpected: {message}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_an_error_with_their_line() {
        let error =
            Net::read(&b"<pnml>\n<net id='\xe9' type='ptnet'/></pnml>"[..], "model.pnml").unwrap_err();
        assert!(error.to_string().starts_with("model.pnml:2: not well-formed XML"), "{error}");
    }

    #[test]
    fn a_sum_of_weights_above_u64_is_an_error() {
        let arc = |id| {
            format!(
                "<arc id='{id}' source='p' target='t'><inscription><text>{}</text></inscription></arc>",
                u64::MAX
            )
        };
        let error = read(&net(&format!("{NODES}{}{}", arc("a"), arc("b")))).unwrap_err();
        assert!(error.contains("the summed weight of the arcs joining p and t"), "{error}");
    }

    #[test]
    fn an_endless_tag_is_refused_before_it_fills_memory() {
        let endless = std::io::BufReader::new(std::io::Read::chain(&b"<pnml "[..], std::io::repeat(b'a')));
        let error = Net::read(endless, "model.pnml").unwrap_err();
        assert!(matches!(error.problem, Problem::ItemTooLong(_)), "{error}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = Net::read(&bytes[..], "model.pnml");
        }

        #[test]
        fn no_mutation_of_a_net_makes_the_reader_panic(
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, any::<u8>()), 1..6),
        ) {
            let mut bytes = TWO_PAGES.as_bytes().to_vec();
            for (at, removed, new) in edits {
                let at = at.index(bytes.len());
                let end = (at + removed).min(bytes.len());
                bytes.splice(at..end, [new]);
                bytes.push(b' ');
            }
            if let Ok(net) = Net::read(&bytes[..], "model.pnml") {
                let places = net.places.len();
                let arcs = net.transitions.iter().flat_map(|t| t.inputs.iter().chain(&t.outputs));
                prop_assert!(arcs.clone().all(|arc| arc.place < places && arc.weight > 0));
            }
        }
    }
}
