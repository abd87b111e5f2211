//! `CITATION.cff`: how the archive or the judgement is cited, in the Citation File Format 1.2.0.

use super::{Description, person};
use std::fmt::Write as _;

/// Returns the file; None if the campaign states no organizers, who would be the authors.
pub fn text(description: &Description) -> Option<String> {
    let publication = description.publication.filter(|publication| !publication.organizers.is_empty())?;
    let mut file = "cff-version: 1.2.0\ntype: dataset\n".to_owned();
    let mut line = |text: String| file.push_str(&(text + "\n"));
    line(format!("message: {}", quoted("If you use these results, please cite them as below.")));
    line(format!("title: {}", quoted(description.title())));
    line(format!("abstract: {}", quoted(&description.summary())));
    line(format!("authors:\n{}", people(&publication.organizers, None, "  ")));
    if let Some(date) = &publication.date {
        line(format!("date-released: {}", quoted(date)));
    }
    if let Some(doi) = &publication.doi {
        line(format!("doi: {}", quoted(doi)));
    }
    if let Some(licence) = publication.licence {
        line(format!("license: {}", licence.spdx()));
    }
    let mut entries =
        publication.entries.iter().filter(|(_, software)| !software.authors.is_empty()).peekable();
    if entries.peek().is_some() {
        line("references:".to_owned());
    }
    for (entry, software) in entries {
        line(format!("  - type: software\n    title: {}", quoted(entry)));
        line(format!(
            "    authors:\n{}",
            people(&software.authors, software.affiliation.as_deref(), "      ")
        ));
        if let Some(link) = &software.link {
            line(format!("    url: {}", quoted(link)));
        }
    }
    Some(file)
}

/// A list of people and groups. Only people have an affiliation in this format.
fn people(names: &[String], affiliation: Option<&str>, indent: &str) -> String {
    let mut list = String::new();
    for name in names {
        let _ = match person(name) {
            (family, Some(given)) => {
                let given = quoted(given);
                write!(list, "{indent}- family-names: {}\n{indent}  given-names: {given}\n", quoted(family))
            }
            (name, None) => writeln!(list, "{indent}- name: {}", quoted(name)),
        };
        if let (Some(affiliation), (_, Some(_))) = (affiliation, person(name)) {
            let _ = writeln!(list, "{indent}  affiliation: {}", quoted(affiliation));
        }
    }
    list.trim_end().to_owned()
}

/// A text in YAML. A string of JSON is one of YAML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
