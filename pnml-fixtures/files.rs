//! The files and the archive of an instance, in the layout of the contest.

use std::io;

use flate2::{Compression, GzBuilder};
use mcc_harness::model::{Count, Expr, Formula, Net, Property};

use super::answers::Sheet;
use super::families::Instance;

/// 2018-05-15 00:00 UTC, so that archives do not depend on the time of their creation.
const MTIME: u64 = 1_526_342_400;

/// A `.tgz` of one folder named like the instance.
pub fn archive(instance: &Instance, sheet: &Sheet) -> io::Result<Vec<u8>> {
    let name = instance.name();
    let mut files = vec![
        ("model.pnml".to_owned(), pnml(&instance.net)),
        ("iscolored".to_owned(), "FALSE\n".to_owned()),
        ("equiv_col".to_owned(), "FALSE\n".to_owned()),
        ("instance".to_owned(), format!("{}\n", instance.scale)),
        ("GenericPropertiesVerdict.xml".to_owned(), verdicts(instance, sheet)),
    ];
    if instance.family.is_surprise() {
        files.push(("NewModel".to_owned(), "\n".to_owned()));
    }
    if sheet.state_space.max_per_marking > u32::MAX.into() {
        files.push(("large_marking".to_owned(), String::new()));
    }
    for (examination, properties) in &sheet.examinations {
        let properties: Vec<_> = properties.iter().map(|(property, _)| property).collect();
        files.push((format!("{examination}.xml"), property_set(&properties)));
        files.push((format!("{examination}.txt"), readable_set(&properties)));
    }
    files.sort();
    let gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let mut tar = tar::Builder::new(gzip);
    let mut folder = header(tar::EntryType::Directory, 0o755, 0);
    tar.append_data(&mut folder, format!("{name}/"), io::empty())?;
    for (file, text) in &files {
        let mut header = header(tar::EntryType::Regular, 0o644, text.len() as u64);
        tar.append_data(&mut header, format!("{name}/{file}"), text.as_bytes())?;
    }
    tar.into_inner()?.finish()
}

fn header(kind: tar::EntryType, mode: u32, size: u64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(MTIME);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(size);
    header
}

fn pnml(net: &Net) -> String {
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n<pnml xmlns=\"http://www.pnml.org/version-2009/grammar/pnml\">\n  \
         <net id=\"{}\" type=\"http://www.pnml.org/version-2009/grammar/ptnet\">\n    <page id=\"page0\">\n",
        net.id
    );
    for place in &net.places {
        let marking = match place.initial {
            0 => String::new(),
            tokens => format!("<initialMarking><text>{tokens}</text></initialMarking>"),
        };
        text +=
            &format!("      <place id=\"{0}\"><name><text>{0}</text></name>{marking}</place>\n", place.id);
    }
    for transition in &net.transitions {
        let id = &transition.id;
        text += &format!("      <transition id=\"{id}\"><name><text>{id}</text></name></transition>\n");
    }
    let mut arcs = 0;
    let mut arc = |source: &str, target: &str, weight: u64| {
        arcs += 1;
        let inscription = match weight {
            1 => String::new(),
            weight => format!("<inscription><text>{weight}</text></inscription>"),
        };
        format!("      <arc id=\"arc{arcs}\" source=\"{source}\" target=\"{target}\">{inscription}</arc>\n")
    };
    for transition in &net.transitions {
        for input in &transition.inputs {
            text += &arc(&net.places[input.place].id, &transition.id, input.weight);
        }
        for output in &transition.outputs {
            text += &arc(&transition.id, &net.places[output.place].id, output.weight);
        }
    }
    text + &format!("    </page>\n    <name><text>{}</text></name>\n  </net>\n</pnml>\n", net.id)
}

/// The stated properties of the net whose definition by the contest leaves no choice.
fn verdicts(instance: &Instance, sheet: &Sheet) -> String {
    let net = &instance.net;
    let mut transitions = net.transitions.iter();
    let is_fed =
        |place: usize| net.transitions.iter().any(|t| t.outputs.iter().any(|arc| arc.place == place));
    let is_drained =
        |place: usize| net.transitions.iter().any(|t| t.inputs.iter().any(|arc| arc.place == place));
    let facts = [
        (
            "ORDINARY",
            transitions.clone().flat_map(|t| t.inputs.iter().chain(&t.outputs)).all(|a| a.weight == 1),
        ),
        ("SOURCE_PLACE", !(0..net.places.len()).all(is_fed)),
        ("SINK_PLACE", !(0..net.places.len()).all(is_drained)),
        ("SOURCE_TRANSITION", transitions.clone().any(|t| t.inputs.is_empty())),
        ("SINK_TRANSITION", transitions.clone().any(|t| t.outputs.is_empty())),
        (
            "LOOP_FREE",
            transitions.all(|t| !t.inputs.iter().any(|i| t.outputs.iter().any(|o| o.place == i.place))),
        ),
        ("SAFE", sheet.state_space.max_in_place <= 1_u32.into()),
        ("DEADLOCK", sheet.has_deadlock),
    ];
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n<toolspecific tool=\"propertiesverdict\" version=\"1.1\">\n  \
         <modelreference modelname=\"{}\"/>\n",
        instance.family.name()
    );
    for (property, value) in facts {
        text += &format!("  <verdict category=\"GENERIC\" reference=\"{property}\" value=\"{value}\"/>\n");
    }
    text + "</toolspecific>\n"
}

fn property_set(properties: &[&Property]) -> String {
    let mut text = "<?xml version=\"1.0\"?>\n<property-set xmlns=\"http://mcc.lip6.fr/\">\n".to_owned();
    for property in properties {
        text += &format!(
            "  <property>\n    <id>{}</id>\n    <description>Automatically generated</description>\n    <formula>\n",
            property.id
        );
        match &property.formula {
            Formula::PlaceBound(places) => text += &list("place-bound", "place", places, 3),
            Formula::Boolean(expr) => xml(expr, 3, &mut text),
        }
        text += "    </formula>\n  </property>\n";
    }
    text + "</property-set>\n"
}

fn xml(expr: &Expr, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let (tag, parts): (_, Vec<&Expr>) = match expr {
        Expr::AllPaths(inner) => ("all-paths", vec![inner]),
        Expr::ExistsPath(inner) => ("exists-path", vec![inner]),
        Expr::Globally(inner) => ("globally", vec![inner]),
        Expr::Finally(inner) => ("finally", vec![inner]),
        Expr::Next(inner) => ("next", vec![inner]),
        Expr::Not(inner) => ("negation", vec![inner]),
        Expr::And(parts) => ("conjunction", parts.iter().collect()),
        Expr::Or(parts) => ("disjunction", parts.iter().collect()),
        Expr::Until(before, reach) => {
            *text += &format!("{indent}<until>\n{indent}  <before>\n");
            xml(before, depth + 2, text);
            *text += &format!("{indent}  </before>\n{indent}  <reach>\n");
            xml(reach, depth + 2, text);
            *text += &format!("{indent}  </reach>\n{indent}</until>\n");
            return;
        }
        Expr::Le(left, right) => {
            *text += &format!("{indent}<integer-le>\n");
            for side in [left, right] {
                *text += &match side {
                    Count::Constant(value) => {
                        format!("{indent}  <integer-constant>{value}</integer-constant>\n")
                    }
                    Count::Tokens(places) => list("tokens-count", "place", places, depth + 1),
                };
            }
            *text += &format!("{indent}</integer-le>\n");
            return;
        }
        Expr::Fireable(ids) => {
            *text += &list("is-fireable", "transition", ids, depth);
            return;
        }
        Expr::Deadlock => {
            *text += &format!("{indent}<deadlock/>\n");
            return;
        }
    };
    *text += &format!("{indent}<{tag}>\n");
    parts.into_iter().for_each(|part| xml(part, depth + 1, text));
    *text += &format!("{indent}</{tag}>\n");
}

fn list(tag: &str, item: &str, ids: &[String], depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let items: String = ids.iter().map(|id| format!("{indent}  <{item}>{id}</{item}>\n")).collect();
    format!("{indent}<{tag}>\n{items}{indent}</{tag}>\n")
}

fn readable_set(properties: &[&Property]) -> String {
    let readable = |formula: &Formula| match formula {
        Formula::PlaceBound(places) => format!("bound({})", quoted(places)),
        Formula::Boolean(expr) => readable(expr),
    };
    (properties.iter())
        .map(|property| {
            let formula = readable(&property.formula);
            format!("Property {}\n  \"Automatically generated\"\n  is:\n    {formula}\n  end.\n", property.id)
        })
        .collect()
}

fn readable(expr: &Expr) -> String {
    let joined = |parts: &[Expr], sign: &str| {
        format!("({})", parts.iter().map(readable).collect::<Vec<_>>().join(sign))
    };
    let side = |count: &Count| match count {
        Count::Constant(value) => value.to_string(),
        Count::Tokens(places) => format!("#tokens({})", quoted(places)),
    };
    match expr {
        Expr::AllPaths(inner) => format!("A {}", readable(inner)),
        Expr::ExistsPath(inner) => format!("E {}", readable(inner)),
        Expr::Globally(inner) => format!("G {}", readable(inner)),
        Expr::Finally(inner) => format!("F {}", readable(inner)),
        Expr::Next(inner) => format!("X {}", readable(inner)),
        Expr::Until(before, reach) => format!("(({}) U ({}))", readable(before), readable(reach)),
        Expr::Not(inner) => format!("! ({})", readable(inner)),
        Expr::And(parts) => joined(parts, " & "),
        Expr::Or(parts) => joined(parts, " | "),
        Expr::Le(left, right) => format!("(({}) <= ({}))", side(left), side(right)),
        Expr::Fireable(ids) => format!("({})?", quoted(ids)),
        Expr::Deadlock => "deadlock".to_owned(),
    }
}

fn quoted(ids: &[String]) -> String {
    ids.iter().map(|id| format!("\"{id}\"")).collect::<Vec<_>>().join(", ")
}
