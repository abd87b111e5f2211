//! Reading PNML (ISO/IEC 15909-2) as a stream. Names, graphics and tool sections are passed over; ids count.

use super::ids::{Ids, Texts};
use super::xml::{Item, Tag, Xml, attribute, attributes_named};
use super::{Arc, ModelError, Net, NetKind, Place, Problem, Transition};
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::io::BufRead;

impl Net {
    /// Reads a P/T net fully, of a coloured one the graph. `file` is named in errors.
    ///
    /// Pages are flattened. Several arcs from one node to another become one with the sum of their weights.
    /// Any input ends in a net or in an error with its line: weights of 0, numbers past u64, arcs that dangle or
    /// join two places, repeated ids, reference nodes, special arcs (inhibitor, ...) and DTDs are errors.
    pub fn read(source: impl BufRead, file: &str) -> Result<Net, ModelError> {
        let mut xml = Xml::new(source, file);
        let mut reader = Reader { file, ..Reader::default() };
        let mut open: Vec<Element> = Vec::new();
        loop {
            match xml.next()? {
                Item::Start(tag) => {
                    reader.line = tag.line;
                    open.push(reader.open(open.last().copied(), &tag)?);
                }
                Item::End => match open.pop() {
                    Some(Element::InitialMarking) => reader.set_marking()?,
                    Some(Element::Inscription) => reader.set_weight()?,
                    _ => {}
                },
                Item::Text(text) => {
                    if let (Some(Element::Text), Some(label)) = (open.last(), &mut reader.label) {
                        label.text.get_or_insert_default().push_str(&text);
                    }
                }
                Item::Nothing => {}
                Item::Eof => {
                    reader.line = xml.line();
                    return reader.finish();
                }
            }
        }
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
    /// `<text>` of one of these two labels.
    Text,
    /// Passed over with all that is inside.
    Other,
}

/// What an id stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    /// Seen as the end of an arc only, so far.
    Undeclared,
    Place(usize),
    Transition(usize),
    Page,
}

/// An arc whose ends are numbers in `Reader::nodes`: nodes may be declared after the arcs that use them.
struct RawArc {
    line: u64,
    source: usize,
    target: usize,
    weight: u64,
}

/// The label of the current place or arc.
struct Label {
    line: u64,
    text: Option<String>,
}

#[derive(Default)]
struct Reader<'f> {
    file: &'f str,
    /// Of the current item.
    line: u64,
    head: Option<(String, NetKind)>,
    places: Vec<Place>,
    transitions: Vec<Transition>,
    arcs: Vec<RawArc>,
    /// Ids of arcs, as many as `arcs`. Nothing refers to an arc, so that they are only compared at the end.
    arc_ids: Texts,
    /// Ids of nodes, in the order of `nodes`.
    ids: Ids,
    /// What the id stands for and the line that declared it.
    nodes: Vec<(Node, u64)>,
    label: Option<Label>,
}

impl Reader<'_> {
    fn open(&mut self, parent: Option<Element>, start: &Tag<'_>) -> Result<Element, ModelError> {
        let name = start.local_name();
        let name = name.as_ref();
        match (parent, name) {
            (None, "pnml") => Ok(Element::Pnml),
            (None, _) => Err(self.unexpected(name, "<pnml>")),
            (Some(Element::Pnml), "net") => {
                if self.head.is_some() {
                    return Err(self.repeated(name, "the file"));
                }
                let [id, kind] = self.required(start, ["id", "type"])?.map(Cow::into_owned);
                let kind = match kind.rsplit('/').next() {
                    Some("ptnet") => NetKind::PlaceTransition,
                    Some("symmetricnet") => NetKind::Coloured,
                    _ => return Err(self.error(Problem::NetType(kind))),
                };
                self.head = Some((id, kind));
                Ok(Element::Net)
            }
            (Some(Element::Net | Element::Page), _) => self.open_node(start, name),
            (Some(Element::Place), "initialMarking") | (Some(Element::Arc), "inscription") => {
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
            // Inhibitor, reset and read arcs of some editors: taking them for plain ones would be wrong.
            (Some(Element::Arc), "type") if attribute(start, "value").is_none_or(|kind| kind != "normal") => {
                Err(self.error(Problem::Unsupported { element: "type> of an <arc".to_owned() }))
            }
            (Some(Element::InitialMarking | Element::Inscription), "text") => {
                if let Some(label) = &mut self.label
                    && label.text.replace(String::new()).is_some()
                {
                    return Err(self.repeated(name, "one label"));
                }
                Ok(Element::Text)
            }
            _ => Ok(Element::Other),
        }
    }

    fn open_node(&mut self, start: &Tag<'_>, name: &str) -> Result<Element, ModelError> {
        self.label = None;
        match name {
            "page" => {
                if let Some(id) = attribute(start, "id") {
                    self.declare(&id, Node::Page)?;
                }
                Ok(Element::Page)
            }
            "place" => {
                let [id] = self.required(start, ["id"])?;
                self.declare(&id, Node::Place(self.places.len()))?;
                self.places.push(Place { id: id.into_owned(), initial: 0 });
                Ok(Element::Place)
            }
            "transition" => {
                let [id] = self.required(start, ["id"])?;
                self.declare(&id, Node::Transition(self.transitions.len()))?;
                self.transitions.push(Transition {
                    id: id.into_owned(),
                    inputs: Vec::new(),
                    outputs: Vec::new(),
                });
                Ok(Element::Transition)
            }
            "arc" => {
                let [id, source, target] = self.required(start, ["id", "source", "target"])?;
                self.arc_ids.push(&id);
                let (source, target) = (self.number(&source), self.number(&target));
                self.arcs.push(RawArc { line: self.line, source, target, weight: 1 });
                Ok(Element::Arc)
            }
            "referencePlace" | "referenceTransition" => {
                Err(self.error(Problem::Unsupported { element: name.to_owned() }))
            }
            _ => Ok(Element::Other),
        }
    }

    /// The number of an id in `nodes`.
    fn number(&mut self, id: &str) -> usize {
        let number = self.ids.number(id);
        if number == self.nodes.len() {
            self.nodes.push((Node::Undeclared, 0));
        }
        number
    }

    fn declare(&mut self, id: &str, node: Node) -> Result<(), ModelError> {
        let number = self.number(id);
        match self.nodes[number] {
            (Node::Undeclared, _) => {
                self.nodes[number] = (node, self.line);
                Ok(())
            }
            (_, first) => Err(self.error(Problem::DuplicateId { id: id.to_owned(), first })),
        }
    }

    fn set_marking(&mut self) -> Result<(), ModelError> {
        if self.coloured() {
            return Ok(());
        }
        let owner = self.places.last().map_or("", |place| &place.id);
        let tokens =
            self.label_number("initialMarking", || format!("the initial marking of place {owner}"))?;
        self.places.iter_mut().next_back().into_iter().for_each(|place| place.initial = tokens);
        Ok(())
    }

    fn set_weight(&mut self) -> Result<(), ModelError> {
        if self.coloured() {
            return Ok(());
        }
        let owner = || self.arc_ids.get(self.arcs.len() - 1).to_owned();
        let weight = self.label_number("inscription", || format!("the inscription of arc {}", owner()))?;
        if weight == 0 {
            let line = self.label.as_ref().map_or(self.line, |label| label.line);
            return Err(self.error_at(line, Problem::ZeroWeight { arc: owner() }));
        }
        self.arcs.iter_mut().next_back().into_iter().for_each(|arc| arc.weight = weight);
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

    fn finish(mut self) -> Result<Net, ModelError> {
        let Some((id, kind)) = self.head.take() else {
            let (element, missing) = ("pnml".to_owned(), "<net>".to_owned());
            return Err(self.error(Problem::Missing { element, missing }));
        };
        if let Some(repeated) = self.repeated_arc() {
            return Err(repeated);
        }
        let sides =
            self.arcs.iter().map(|arc| match [arc.source, arc.target].map(|node| self.nodes[node].0) {
                [Node::Place(place), Node::Transition(transition)] => Some((transition, 0, place)),
                [Node::Transition(transition), Node::Place(place)] => Some((transition, 1, place)),
                _ => None,
            });
        // Counted before they are added: memory for each side is asked for once.
        let mut counts = vec![[0_usize; 2]; self.transitions.len()];
        for (number, side) in sides.clone().enumerate() {
            let Some((transition, side, _)) = side else { return Err(self.bad_arc(number)) };
            counts[transition][side] += 1;
        }
        for (transition, [inputs, outputs]) in self.transitions.iter_mut().zip(counts) {
            transition.inputs.reserve_exact(inputs);
            transition.outputs.reserve_exact(outputs);
        }
        for ((transition, side, place), arc) in sides.flatten().zip(&self.arcs) {
            let Transition { inputs, outputs, .. } = &mut self.transitions[transition];
            let side = if side == 0 { inputs } else { outputs };
            side.push(Arc { place, weight: arc.weight });
        }
        for transition in &mut self.transitions {
            for side in [&mut transition.inputs, &mut transition.outputs] {
                merge(side).map_err(|place| {
                    let (place, transition) = (&self.places[place].id, &transition.id);
                    let what = format!("the summed weight of the arcs joining {place} and {transition}");
                    let problem = Problem::TooLarge { what, text: "too much".to_owned() };
                    ModelError { file: self.file.to_owned(), line: self.line, problem }
                })?;
            }
        }
        Ok(Net { id, kind, places: self.places, transitions: self.transitions })
    }

    /// The first arc whose id is that of another arc or of a node, as an error. Hashes are sorted and neighbours
    /// compared: looking up every id while reading would cost more than reading.
    fn repeated_arc(&self) -> Option<ModelError> {
        let hashed = |number| (self.ids.hash(self.arc_ids.get(number)), number);
        let mut hashes: Vec<(u64, usize)> = (0..self.arcs.len()).map(hashed).collect();
        hashes.sort_unstable();
        let same = |a: usize, b: usize| self.arc_ids.get(a) == self.arc_ids.get(b);
        let alike = hashes.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1);
        let among_arcs = alike.filter_map(|alike| {
            let mut pairs =
                alike.iter().enumerate().flat_map(|(at, (_, b))| alike[..at].iter().map(|(_, a)| (*a, *b)));
            let (a, b) = pairs.find(|(a, b)| same(*a, *b))?;
            Some((self.arcs[b].line, self.arcs[a].line, b))
        });
        let mut nodes: Vec<(u64, usize)> = self.ids.hashes().collect();
        nodes.sort_unstable();
        let mut rest = &hashes[..];
        let with_nodes = nodes.into_iter().filter_map(|(known, number)| {
            // Both are sorted: what is below this node's hash is below the next one's.
            rest = &rest[rest.iter().take_while(|(hash, _)| *hash < known).count()..];
            let mut alike = rest.iter().take_while(|(hash, _)| *hash == known);
            let (_, arc) = alike.find(|(_, arc)| self.arc_ids.get(*arc) == self.ids.get(number))?;
            let (node, line) = self.nodes[number];
            let lines = [line, self.arcs[*arc].line];
            (node != Node::Undeclared).then(|| (lines[0].max(lines[1]), lines[0].min(lines[1]), *arc))
        });
        let (line, first, arc) = among_arcs.chain(with_nodes).min()?;
        Some(self.error_at(line, Problem::DuplicateId { id: self.arc_ids.get(arc).to_owned(), first }))
    }

    #[cold]
    fn bad_arc(&self, number: usize) -> ModelError {
        let arc = &self.arcs[number];
        let end = |number: usize| self.nodes[number].0;
        let dangling = [arc.source, arc.target]
            .into_iter()
            .find(|number| matches!(end(*number), Node::Undeclared | Node::Page));
        let arc_id = self.arc_ids.get(number).to_owned();
        let problem = match (dangling, end(arc.source)) {
            (Some(number), _) => Problem::Dangling { arc: arc_id, id: self.ids.get(number).to_owned() },
            (None, Node::Place(_)) => Problem::NotBipartite { arc: arc_id, nodes: "places" },
            (None, _) => Problem::NotBipartite { arc: arc_id, nodes: "transitions" },
        };
        self.error_at(arc.line, problem)
    }

    fn coloured(&self) -> bool {
        matches!(self.head, Some((_, NetKind::Coloured)))
    }

    /// The values of attributes that must be there, and not empty.
    fn required<'a, const N: usize>(
        &self,
        start: &'a Tag<'_>,
        names: [&str; N],
    ) -> Result<[Cow<'a, str>; N], ModelError> {
        let values = attributes_named(start, names);
        match values.iter().position(|value| value.is_empty()) {
            None => Ok(values),
            Some(at) => {
                let element = start.local_name().as_ref().to_owned();
                let missing = format!("the attribute {}", names[at]);
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

    fn unexpected(&self, found: &str, expected: &str) -> ModelError {
        self.error(Problem::Unexpected { found: found.to_owned(), expected: expected.to_owned() })
    }

    fn repeated(&self, element: &str, within: &str) -> ModelError {
        self.error(Problem::Repeated { element: element.to_owned(), within: within.to_owned() })
    }
}

/// Sums the weights of arcs of one place, keeping the order in which places first occur.
/// Err: the place whose sum passes u64.
fn merge(arcs: &mut Vec<Arc>) -> Result<(), usize> {
    // Nearly all sides are short and have no place twice: nothing to sum.
    const SHORT: usize = 16;
    let known = |at: usize| arcs[..at].iter().any(|arc| arc.place == arcs[at].place);
    if arcs.len() <= SHORT && !(1..arcs.len()).any(known) {
        return Ok(());
    }
    let mut first = HashMap::with_capacity(arcs.len());
    let mut merged: Vec<Arc> = Vec::with_capacity(arcs.len());
    for arc in arcs.iter() {
        match first.entry(arc.place) {
            MapEntry::Vacant(new) => {
                new.insert(merged.len());
                merged.push(*arc);
            }
            MapEntry::Occupied(at) => {
                let sum: &mut u64 = &mut merged[*at.get()].weight;
                *sum = sum.checked_add(arc.weight).ok_or(arc.place)?;
            }
        }
    }
    *arcs = merged;
    Ok(())
}

/// A natural number in decimal digits, spaces around it allowed.
pub(super) fn natural(text: &str, what: impl FnOnce() -> String) -> Result<u64, Problem> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        let text = text.chars().take(40).collect();
        return Err(Problem::NotANumber { what: what(), text });
    }
    text.parse().map_err(|_| Problem::TooLarge { what: what(), text: text.chars().take(40).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
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
    <arc id="a3" source="t" target="p2"><inscription><text><![CDATA[3]]></text></inscription></arc>
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
    fn of_a_coloured_net_the_graph_is_read() {
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
    fn faults_are_named_with_their_line() {
        let arc = |rest: &str| net(&format!("{NODES}\n<arc id='a' {rest}</arc>"));
        let cases = [
            (
                net("<place id='p'/>\n<transition id='p'/>"),
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
                "model.pnml:5: <type> of an <arc> is not read;",
            ),
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
                "model.pnml:5: a second <initialMarking> in one place",
            ),
            (net("\n<referencePlace id='r' ref='p'/>"), "model.pnml:5: <referencePlace> is not read;"),
            (net("<place/>"), "model.pnml:4: <place> without the attribute id;"),
            (net("").replace("ptnet", "stochastic"), "model.pnml:2: the net type \"stochastic\";"),
            ("<pnml>\n</pnml>".into(), "model.pnml:2: <pnml> without <net>;"),
            ("<html/>".into(), "model.pnml:1: <html> where <pnml> is expected;"),
            (net("\n</place>"), "model.pnml:5: not well-formed XML:"),
            (net("<place id='p' id='q'/>"), "model.pnml:4: not well-formed XML:"),
            (net("<place id='&bomb;'/>"), "model.pnml:4: not well-formed XML:"),
            (
                "<!DOCTYPE pnml [<!ENTITY a 'aaaa'>]><pnml/>".into(),
                "model.pnml:1: a document type declaration;",
            ),
            ("<pnml>\n<net id='n' type='ptnet'>".into(), "not well-formed XML:"),
            ("<pnml/>\nx".into(), "model.pnml:1: not well-formed XML: text outside"),
            (String::new(), "model.pnml:1: not well-formed XML: there is no element;"),
            ("<pnml>\n<1/></pnml>".into(), "model.pnml:2: not well-formed XML: an element name"),
            (net(&"<x>".repeat(200_000)), "model.pnml:4: elements nested deeper than 100000;"),
        ];
        for (text, message) in cases {
            let error = read(&text).unwrap_err();
            assert!(error.contains(message), "{error}\nshould say: {message}");
        }
    }

    #[test]
    fn bytes_that_are_no_utf8_are_an_error_with_their_line() {
        let error =
            Net::read(&b"<pnml>\n<net id='\xe9' type='ptnet'/></pnml>"[..], "model.pnml").unwrap_err();
        assert!(error.to_string().starts_with("model.pnml:2: not well-formed XML"), "{error}");
    }

    #[test]
    fn weights_that_sum_past_u64_are_an_error_never_wrapped() {
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
            for (at, cut, new) in edits {
                let at = at.index(bytes.len());
                let end = (at + cut).min(bytes.len());
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
