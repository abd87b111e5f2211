//! NUPN: the nested units of a P/T net, in an element `<toolspecific tool="nupn">` of its model.

use super::pnml::natural;
use super::xml::{Item, MAX_ITEM_BYTES, Xml, attribute, check_id, element_name};
use super::{ModelError, Net, Problem};
use quick_xml::events::BytesStart;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::BufRead;

/// Findings of one kind in one file; further ones are only counted.
pub(super) const MAX_ALIKE: usize = 20;

/// A NUPN section as written. `Nupn::faults` checks it against its net.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nupn {
    /// The line of its `<toolspecific>`.
    pub line: u64,
    /// The number of places stated in `<size>`.
    pub places: u64,
    /// The number of transitions stated in `<size>`.
    pub transitions: u64,
    /// The number of arcs stated in `<size>`.
    pub arcs: u64,
    /// The number of units stated in `<structure>`.
    pub unit_count: u64,
    /// The id of the root unit.
    pub root: String,
    /// Whether the section states that all units are safe.
    pub safe: bool,
    /// The units, in document order.
    pub units: Vec<Unit>,
}

/// A unit of a NUPN section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its id.
    pub id: String,
    /// The line of its `<unit>`.
    pub line: u64,
    /// Ids of its own places.
    pub places: Vec<String>,
    /// Ids of the units directly inside it.
    pub subunits: Vec<String>,
}

impl Nupn {
    /// Reads the section from a PNML document as a stream; None if there is none. `file` is the name in errors.
    /// `most_ids`: as many units, and ids in their lists, are read; each takes many times the memory of its text.
    ///
    /// # Errors
    /// The document is not well-formed, or the section is repeated or incomplete, or has more ids.
    pub fn read(source: impl BufRead, file: &str, most_ids: usize) -> Result<Option<Nupn>, ModelError> {
        let mut xml = Xml::new(source, file);
        let mut found: Option<Nupn> = None;
        let mut depth = 0;
        // The depth of the open section; the depth of the open list of ids and whether it has places.
        let mut section = None;
        let mut list: Option<(usize, bool)> = None;
        let mut text = String::new();
        let mut ids = 0;
        loop {
            if ids > most_ids {
                return Err(xml.error(Problem::TooManyIds(most_ids)));
            }
            // A text in several parts.
            if text.len() > MAX_ITEM_BYTES {
                return Err(xml.error(Problem::ItemTooLong(MAX_ITEM_BYTES as u64)));
            }
            match xml.next_item()? {
                Item::Start(start) => {
                    depth += 1;
                    let start = start.into_owned();
                    let name = element_name(&start);
                    match (section, name, &mut found) {
                        (None, "toolspecific", found)
                            if attribute(&start, "tool").is_some_and(|t| t == "nupn") =>
                        {
                            if found.is_some() {
                                let (element, within) =
                                    ("toolspecific tool=\"nupn\"".into(), "one net".into());
                                return Err(xml.error(Problem::Repeated { element, within }));
                            }
                            section = Some(depth);
                            *found = Some(Nupn { line: xml.line(), ..Nupn::default() });
                        }
                        (Some(_), "size", Some(nupn)) => {
                            nupn.places = number(&xml, &start, "places")?;
                            nupn.transitions = number(&xml, &start, "transitions")?;
                            nupn.arcs = number(&xml, &start, "arcs")?;
                        }
                        (Some(_), "structure", Some(nupn)) => {
                            nupn.unit_count = number(&xml, &start, "units")?;
                            nupn.root = required(&xml, &start, "root")?;
                            nupn.safe = attribute(&start, "safe").is_some_and(|safe| safe == "true");
                        }
                        (Some(_), "unit", Some(nupn)) => {
                            let (id, line) = (required(&xml, &start, "id")?, xml.line());
                            ids += 1;
                            nupn.units.push(Unit { id, line, places: Vec::new(), subunits: Vec::new() });
                        }
                        (Some(_), "places" | "subunits", _) if list.is_none() => {
                            list = Some((depth, name == "places"));
                            text.clear();
                        }
                        _ => {}
                    }
                }
                Item::Text(part) if list.is_some() => text.push_str(&part),
                Item::End => {
                    if let (Some((at, places)), Some(nupn)) = (list, &mut found)
                        && at == depth
                    {
                        list = None;
                        ids += text.split_ascii_whitespace().count();
                        if ids <= most_ids
                            && let Some(unit) = nupn.units.last_mut()
                        {
                            let ids = text.split_ascii_whitespace().map(str::to_owned);
                            if places { unit.places.extend(ids) } else { unit.subunits.extend(ids) }
                        }
                    }
                    if section == Some(depth) {
                        section = None;
                    }
                    depth -= 1;
                }
                Item::Text(_) | Item::Nothing => {}
                Item::Eof => return Ok(found),
            }
        }
    }

    /// Returns the contradictions of the section with its net and in itself, each with its line: sizes, unknown places,
    /// places in two units, units that do not form a tree. Only those that are shown have a text.
    pub fn faults(&self, net: &Net) -> Vec<(u64, String)> {
        let mut faults = Vec::new();
        let arcs: usize = net.transitions.iter().map(|t| t.inputs.len() + t.outputs.len()).sum();
        let sizes = [
            ("places", self.places, net.places.len()),
            ("transitions", self.transitions, net.transitions.len()),
            ("arcs", self.arcs, arcs),
            ("units", self.unit_count, self.units.len()),
        ];
        for (what, stated, counted) in sizes {
            if stated != counted as u64 {
                add(
                    &mut faults,
                    self.line,
                    format_args!("NUPN states {stated} {what}, but there are {counted}"),
                );
            }
        }
        let places: HashSet<&str> = net.places.iter().map(|place| place.id.as_str()).collect();
        let mut owner: HashMap<&str, &str> = HashMap::new();
        for unit in &self.units {
            for place in &unit.places {
                if !places.contains(place.as_str()) {
                    let text = format_args!("unit {} has \"{place}\", which is not a place", unit.id);
                    add(&mut faults, unit.line, text);
                } else if let Some(other) = owner.insert(place, &unit.id) {
                    let text = format_args!("place {place} is in the units {other} and {}", unit.id);
                    add(&mut faults, unit.line, text);
                }
            }
        }
        if owner.len() < places.len() {
            let orphan = net.places.iter().find(|place| !owner.contains_key(place.id.as_str()));
            let orphan = orphan.map_or("", |place| &place.id);
            let count = places.len() - owner.len();
            add(&mut faults, self.line, format_args!("{count} places are in no unit, the first is {orphan}"));
        }
        self.add_tree_faults(&mut faults);
        faults
    }

    /// Checks that the units form a tree: one root, and every other unit directly inside exactly one unit.
    fn add_tree_faults(&self, faults: &mut Vec<(u64, String)>) {
        let mut by_id: HashMap<&str, &Unit> = HashMap::new();
        for unit in &self.units {
            if by_id.insert(&unit.id, unit).is_some() {
                add(faults, unit.line, format_args!("the unit id {} is used twice", unit.id));
            }
        }
        if !by_id.contains_key(self.root.as_str()) {
            return add(faults, self.line, format_args!("the root unit \"{}\" does not exist", self.root));
        }
        let mut reached: HashSet<&str> = HashSet::from([self.root.as_str()]);
        let mut open = vec![self.root.as_str()];
        while let Some(unit) = open.pop().and_then(|id| by_id.get(id)) {
            for inside in &unit.subunits {
                match by_id.get_key_value(inside.as_str()) {
                    None => {
                        let text = format_args!("unit {} has the unknown subunit {inside}", unit.id);
                        add(faults, unit.line, text);
                    }
                    Some((id, _)) if reached.insert(id) => open.push(id),
                    Some(_) => {
                        add(faults, unit.line, format_args!("unit {inside} is inside several units"));
                    }
                }
            }
        }
        for unit in self.units.iter().filter(|unit| !reached.contains(unit.id.as_str())) {
            let text = format_args!("unit {} is not inside the root unit {}", unit.id, self.root);
            add(faults, unit.line, text);
        }
    }
}

/// Adds a fault; without its text if it is only counted, as a unit with a long id can have millions.
fn add(faults: &mut Vec<(u64, String)>, line: u64, text: fmt::Arguments<'_>) {
    faults.push((line, if faults.len() < MAX_ALIKE { text.to_string() } else { String::new() }));
}

fn required<R: BufRead>(xml: &Xml<R>, start: &BytesStart<'_>, name: &str) -> Result<String, ModelError> {
    let value = attribute(start, name).ok_or_else(|| {
        let element = element_name(start).to_owned();
        xml.error(Problem::Missing { element, missing: format!("the attribute {name}") })
    })?;
    check_id(name, &value).map_err(|problem| xml.error(problem)).map(|()| value)
}

fn number<R: BufRead>(xml: &Xml<R>, start: &BytesStart<'_>, name: &str) -> Result<u64, ModelError> {
    let text = required(xml, start, name)?;
    natural(&text, || format!("the NUPN attribute {name}")).map_err(|problem| xml.error(problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(section: &str) -> String {
        format!(
            "<pnml><net id='n' type='ptnet'><page id='g'><place id='p'/><place id='q'/><transition id='t'/>
<arc id='a' source='p' target='t'/><arc id='b' source='t' target='q'/>
<toolspecific tool='nupn' version='1.1'>{section}</toolspecific></page></net></pnml>"
        )
    }

    /// More ids than a section of these tests has.
    const MANY: usize = 10_000;

    const GOOD: &str =
        "<size places='2' transitions='1' arcs='2'/><structure units='2' root='u0' safe='true'>
<unit id='u0'><places/><subunits>u1</subunits></unit>
<unit id='u1'><places>p q</places><subunits/></unit></structure>";

    fn faults(section: &str) -> Vec<String> {
        let text = model(section);
        let net = Net::read(text.as_bytes(), "m").unwrap();
        let nupn = Nupn::read(text.as_bytes(), "m", MANY).unwrap().unwrap();
        nupn.faults(&net).into_iter().map(|(line, what)| format!("{line}: {what}")).collect()
    }

    #[test]
    fn units_are_read_and_agree_with_their_net() {
        let nupn = Nupn::read(model(GOOD).as_bytes(), "m", MANY).unwrap().unwrap();
        assert_eq!((nupn.places, nupn.unit_count, nupn.root.as_str(), nupn.safe), (2, 2, "u0", true));
        assert_eq!(nupn.units[0].subunits, ["u1"]);
        assert_eq!(nupn.units[1].places, ["p", "q"]);
        assert_eq!(faults(GOOD), Vec::<String>::new());
        assert_eq!(Nupn::read(&b"<pnml><net/></pnml>"[..], "m", MANY).unwrap(), None);
    }

    #[test]
    fn contradictions_are_found_with_their_line() {
        let cases = [
            ("places='2'", "places='3'", "3: NUPN states 3 places, but there are 2"),
            ("arcs='2'", "arcs='1'", "3: NUPN states 1 arcs, but there are 2"),
            ("units='2'", "units='1'", "3: NUPN states 1 units, but there are 2"),
            ("<places>p q", "<places>p x", "5: unit u1 has \"x\", which is not a place"),
            ("<places>p q", "<places>p", "3: 1 places are in no unit, the first is q"),
            ("<places/>", "<places>p</places>", "5: place p is in the units u0 and u1"),
            ("root='u0'", "root='u9'", "3: the root unit \"u9\" does not exist"),
            ("<subunits>u1", "<subunits>u2", "4: unit u0 has the unknown subunit u2"),
            ("<subunits>u1", "<subunits>", "5: unit u1 is not inside the root unit u0"),
            ("<subunits/>", "<subunits>u0</subunits>", "5: unit u0 is inside several units"),
            ("id='u1'", "id='u0'", "5: the unit id u0 is used twice"),
        ];
        for (old, new, fault) in cases {
            let found = faults(&GOOD.replace(old, new));
            assert!(found.contains(&fault.to_owned()), "{new}: {found:?}");
        }
    }

    #[test]
    fn more_ids_than_the_net_permits_are_refused() {
        let read = |section: &str, most_ids| Nupn::read(model(section).as_bytes(), "m", most_ids);
        // Two units, one subunit and two places.
        assert!(read(GOOD, 5).is_ok());
        let error = read(GOOD, 4).unwrap_err().to_string();
        assert!(error.starts_with("m:5: the NUPN section has more than 4 units and ids in them;"), "{error}");
        assert!(read(&"<unit id='u'/>".repeat(5), 5).is_ok());
        assert!(read(&"<unit id='u'/>".repeat(6), 5).is_err());
    }

    #[test]
    fn a_text_in_parts_is_refused_as_one_text_is() {
        let half = "x".repeat(MAX_ITEM_BYTES / 2);
        let section = format!("<unit id='u'><places>{half}<a/>{half}<a/>x");
        let read = Nupn::read(model(&section).as_bytes(), "m", MANY);
        assert!(matches!(read.unwrap_err().problem, Problem::ItemTooLong(_)));
    }

    #[test]
    fn a_long_id_is_refused_and_others_are_not_repeated_for_each_fault() {
        let places = format!("<places>{}", "x ".repeat(1000));
        let with = |id: &str| GOOD.replace("'u1'", &format!("'{id}'")).replace("<places>", &places);
        let error =
            Nupn::read(model(&with(&"u".repeat(4097))).as_bytes(), "m", MANY).unwrap_err().to_string();
        assert!(
            error.starts_with("m:5: the attribute id is longer than 1024 bytes; contest files"),
            "{error}"
        );
        let text = model(GOOD).replace("source='p'", &format!("source='{}'", "p".repeat(4097)));
        let error = Net::read(text.as_bytes(), "m").unwrap_err().to_string();
        assert!(error.starts_with("m:2: the attribute source is longer than 1024 bytes;"), "{error}");
        let found = faults(&with(&"u".repeat(1024)));
        assert!(found.len() > 1000 && found.iter().map(String::len).sum::<usize>() < 200_000);
    }
}
