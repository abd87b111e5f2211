//! Writes P/T nets as PNML, and properties in the reference form of formulas (rule E-1.8).

use super::{Count, Expr, Formula, Net, Property};

impl Net {
    /// The text of a PNML document with this P/T net, with places and transitions in their order. Its page and its arcs get
    /// ids that no node has.
    pub fn to_pnml(&self) -> String {
        let [page, arc] = ["page", "arc"].map(|word| self.unused(word));
        let id = escaped_xml(&self.id);
        let mut text = format!(
            "<?xml version=\"1.0\"?>\n<pnml xmlns=\"http://www.pnml.org/version-2009/grammar/pnml\">\n  \
             <net id=\"{id}\" type=\"http://www.pnml.org/version-2009/grammar/ptnet\">\n    <page id=\"{page}0\">\n",
        );
        for place in &self.places {
            let marking = match place.initial {
                0 => String::new(),
                tokens => format!("<initialMarking><text>{tokens}</text></initialMarking>"),
            };
            let id = escaped_xml(&place.id);
            text += &format!("      <place id=\"{id}\"><name><text>{id}</text></name>{marking}</place>\n");
        }
        for transition in &self.transitions {
            let id = escaped_xml(&transition.id);
            text += &format!("      <transition id=\"{id}\"><name><text>{id}</text></name></transition>\n");
        }
        let mut arcs = 0;
        for transition in &self.transitions {
            let inputs = transition.inputs.iter().map(|arc| (arc, true));
            for (end, is_input) in inputs.chain(transition.outputs.iter().map(|arc| (arc, false))) {
                arcs += 1;
                let [place, node] = [&self.places[end.place].id, &transition.id].map(|id| escaped_xml(id));
                let [source, target] = if is_input { [place, node] } else { [node, place] };
                let inscription = match end.weight {
                    1 => String::new(),
                    weight => format!("<inscription><text>{weight}</text></inscription>"),
                };
                text += &format!(
                    "      <arc id=\"{arc}{arcs}\" source=\"{source}\" target=\"{target}\">{inscription}</arc>\n"
                );
            }
        }
        text + &format!("    </page>\n    <name><text>{id}</text></name>\n  </net>\n</pnml>\n")
    }

    /// A word with which no id of a node begins.
    fn unused(&self, word: &str) -> String {
        let places = self.places.iter().map(|place| &place.id);
        let ids: Vec<_> = places.chain(self.transitions.iter().map(|transition| &transition.id)).collect();
        let mut word = word.to_owned();
        while ids.iter().any(|id| id.starts_with(&word)) {
            word.push('_');
        }
        word
    }
}

impl Property {
    /// The text of a property file with these properties.
    pub fn write_set<'a>(properties: impl IntoIterator<Item = &'a Self>) -> String {
        let mut text = "<?xml version=\"1.0\"?>\n<property-set xmlns=\"http://mcc.lip6.fr/\">\n".to_owned();
        for Self { id, formula } in properties {
            text += &format!(
                "  <property>\n    <id>{}</id>\n    <description>Automatically generated</description>\n    <formula>\n",
                escaped_xml(id)
            );
            match formula {
                Formula::PlaceBound(places) => list(&mut text, 3, "place-bound", "place", places),
                Formula::Boolean(expr) => expression(&mut text, 3, expr),
            }
            text += "    </formula>\n  </property>\n";
        }
        text + "</property-set>\n"
    }
}

fn expression(text: &mut String, depth: usize, expr: &Expr) {
    let tag = match expr {
        Expr::AllPaths(_) => "all-paths",
        Expr::ExistsPath(_) => "exists-path",
        Expr::Globally(_) => "globally",
        Expr::Finally(_) => "finally",
        Expr::Next(_) => "next",
        Expr::Not(_) => "negation",
        Expr::And(_) => "conjunction",
        Expr::Or(_) => "disjunction",
        Expr::Until(before, reach) => {
            return element(text, depth, "until", |text| {
                for (tag, part) in [("before", before), ("reach", reach)] {
                    element(text, depth + 1, tag, |text| expression(text, depth + 2, part));
                }
            });
        }
        Expr::Le(left, right) => {
            return element(text, depth, "integer-le", |text| {
                count(text, depth + 1, left);
                count(text, depth + 1, right);
            });
        }
        Expr::Fireable(ids) => return list(text, depth, "is-fireable", "transition", ids),
        Expr::Deadlock => {
            *text += &format!("{}<deadlock/>\n", "  ".repeat(depth));
            return;
        }
    };
    element(text, depth, tag, |text| {
        expr.parts().into_iter().for_each(|part| expression(text, depth + 1, part));
    });
}

fn count(text: &mut String, depth: usize, count: &Count) {
    match count {
        Count::Constant(number) => {
            *text += &format!("{}<integer-constant>{number}</integer-constant>\n", "  ".repeat(depth));
        }
        Count::Tokens(places) => list(text, depth, "tokens-count", "place", places),
    }
}

fn list(text: &mut String, depth: usize, tag: &str, item: &str, ids: &[String]) {
    element(text, depth, tag, |text| {
        for id in ids {
            *text += &format!("{}<{item}>{}</{item}>\n", "  ".repeat(depth + 1), escaped_xml(id));
        }
    });
}

fn element(text: &mut String, depth: usize, tag: &str, inside: impl FnOnce(&mut String)) {
    let indent = "  ".repeat(depth);
    *text += &format!("{indent}<{tag}>\n");
    inside(text);
    *text += &format!("{indent}</{tag}>\n");
}

/// Text for an attribute or an element of XML.
pub fn escaped_xml(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}
