//! The files and the archive of an instance, in the layout of the contest.

use std::io;

use flate2::{Compression, GzBuilder};
use mcc_harness::model::{Count, Expr, Formula, Property};

use super::answers::Sheet;
use super::families::Instance;

/// 2018-05-15 00:00 UTC, so that archives do not depend on the time of their creation.
const MTIME: u64 = 1_526_342_400;

/// A `.tgz` of one folder named like the instance.
pub fn archive(instance: &Instance, sheet: &Sheet) -> io::Result<Vec<u8>> {
    let name = instance.name();
    let mut files = vec![
        ("model.pnml".to_owned(), instance.net.to_pnml()),
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
        files.push((format!("{examination}.xml"), Property::write_set(properties.iter().copied())));
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
