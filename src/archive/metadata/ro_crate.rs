//! `ro-crate-metadata.json`: the archive as an RO-Crate 1.2, with its files, people and licences.

use super::{Description, person};
use crate::ArchiveError;
use crate::layout::part;
use mcc_base::OnFile;
use serde_json::{Value, json};
use std::path::Path;
use walkdir::WalkDir;

/// The name that RO-Crate prescribes.
pub const FILE: &str = "ro-crate-metadata.json";

/// Returns the metadata of the archive whose files, except outputs and disks, are in the folder `staged`.
///
/// # Errors
/// The folder cannot be read.
pub fn metadata(staged: &Path, description: &Description) -> Result<Value, ArchiveError> {
    let mut graph = Vec::new();
    let mut parts = Vec::new();
    let mut judgement_parts = Vec::new();
    for file in WalkDir::new(staged).sort_by_file_name() {
        let file = file.on("read", staged)?;
        if file.file_type().is_file() {
            let path = file.path().strip_prefix(staged).expect("it is in the folder").to_string_lossy();
            let part = json!({ "@id": path });
            if path.starts_with("judgement/") {
                judgement_parts.push(part);
            } else {
                parts.push(part);
            }
            let bytes = file.metadata().on("read", staged)?.len();
            graph.push(file_entity(&path, Some(bytes)));
        }
    }
    parts.push(json!({ "@id": "SHA256SUMS" }));
    graph.push(file_entity("SHA256SUMS", None));
    let mut folder = |id: &str, about: &str, content: Vec<Value>| {
        parts.push(json!({ "@id": id }));
        let mut entity = json!({ "@id": id, "@type": "Dataset", "name": id, "description": about });
        if !content.is_empty() {
            entity["hasPart"] = content.into();
        }
        graph.push(entity);
    };
    folder("judgement/", "confidence, trusted values, points, podiums, awards", judgement_parts);
    if description.has_outputs {
        let about = "raw outputs and samples of every attempt: ENTRY/INSTANCE/EXAMINATION/NUMBER/";
        folder("outputs/", about, vec![]);
    }
    for disk in description.disks {
        let id = format!("disks/{}", disk.sha256);
        parts.push(json!({ "@id": id }));
        graph.push(json!({
            "@id": id,
            "@type": "File",
            "name": disk.role,
            "description": format!("the {} of machines", disk.role),
            "encodingFormat": "application/octet-stream",
            "contentSize": disk.bytes.to_string(),
            "sha256": disk.sha256,
        }));
    }
    let mut entities = People::default();
    let organizers = entities.add("organizer", description.organizers(), None);
    let tools = tools(description, &mut entities);
    let mentioned: Vec<Value> = tools.iter().map(|tool| json!({ "@id": tool["@id"] })).collect();
    let licence = description.publication.and_then(|publication| publication.licence);
    let mut root = json!({
        "@id": "./",
        "@type": "Dataset",
        "name": description.title(),
        "description": description.summary(),
    });
    if let Some(date) = description.date() {
        root["datePublished"] = date.into();
    }
    root["license"] = match licence {
        Some(licence) => json!({ "@id": licence.address() }),
        None => "No licence is stated.".into(),
    };
    if !organizers.is_empty() {
        root["author"] = organizers.clone().into();
        root["publisher"] = organizers.into();
    }
    let doi = description.publication.and_then(|publication| publication.doi.as_deref()).map(|doi| {
        let address = format!("https://doi.org/{doi}");
        root["identifier"] = json!({ "@id": address });
        root["cite-as"] = address.as_str().into();
        json!({
            "@id": address,
            "@type": "PropertyValue",
            "name": "DOI",
            "propertyID": "https://registry.identifiers.org/registry/doi",
            "value": format!("doi:{doi}"),
            "url": address,
        })
    });
    root["hasPart"] = parts.into();
    root["mentions"] = mentioned.into();
    let descriptor = json!({
        "@id": FILE,
        "@type": "CreativeWork",
        "conformsTo": { "@id": "https://w3id.org/ro/crate/1.2" },
        "about": { "@id": "./" },
    });
    let licence = licence.map(|licence| {
        let (address, name) = (licence.address(), licence.spdx());
        json!({ "@id": address, "@type": "CreativeWork", "name": name, "description": "licence of what the campaign made" })
    });
    let graph: Vec<Value> = [descriptor, root]
        .into_iter()
        .chain(graph)
        .chain(tools)
        .chain(entities.0)
        .chain(licence)
        .chain(doi)
        .collect();
    Ok(json!({ "@context": "https://w3id.org/ro/crate/1.2/context", "@graph": graph }))
}

fn file_entity(path: &str, bytes: Option<u64>) -> Value {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let format = match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("csv") => "text/csv",
        Some("json") => "application/json",
        Some("db") => "application/vnd.sqlite3",
        Some("toml") => "application/toml",
        Some("cff") => "application/yaml",
        _ => "text/plain",
    };
    let mut entity = json!({
        "@id": path,
        "@type": "File",
        "name": name,
        "description": part(path).map(|part| part.about),
        "encodingFormat": format,
    });
    if let Some(bytes) = bytes {
        entity["contentSize"] = bytes.to_string().into();
    }
    entity
}

/// The entities of people and organizations.
#[derive(Default)]
struct People(Vec<Value>);

impl People {
    /// Adds people or groups, and returns references to them. Their ids begin with `prefix`.
    fn add(&mut self, prefix: &str, names: &[String], affiliation: Option<&Value>) -> Vec<Value> {
        let mut references = Vec::new();
        for (number, name) in names.iter().enumerate() {
            let id = format!("#{prefix}-{}", number + 1);
            references.push(json!({ "@id": id }));
            let mut entity = match person(name) {
                (family, Some(given)) => json!({
                    "@id": id,
                    "@type": "Person",
                    "name": format!("{given} {family}"),
                    "familyName": family,
                    "givenName": given,
                }),
                (name, None) => json!({ "@id": id, "@type": "Organization", "name": name }),
            };
            if let Some(affiliation) = affiliation.filter(|_| entity["@type"] == "Person") {
                entity["affiliation"] = affiliation.clone();
            }
            self.0.push(entity);
        }
        references
    }
}

/// The entries, as works: software needs an address and a version in this standard, which a campaign may not know.
fn tools(description: &Description, people: &mut People) -> Vec<Value> {
    let tool = |entry: &mcc_judge::judgement::Entry| {
        let id = format!("#entry-{}", entry.entry);
        let about = "an entry of the campaign: a tool, or a variant of one";
        let mut tool =
            json!({ "@id": id, "@type": "CreativeWork", "name": entry.entry, "description": about });
        let Some(published) =
            description.publication.and_then(|publication| publication.entries.get(entry.entry.as_str()))
        else {
            return tool;
        };
        let affiliation = published.affiliation.as_ref().map(|name| {
            let id = format!("{id}-affiliation");
            people.0.push(json!({ "@id": id, "@type": "Organization", "name": name }));
            json!({ "@id": id })
        });
        let authors = people.add(&format!("{}-author", &id[1..]), &published.authors, affiliation.as_ref());
        if !authors.is_empty() {
            tool["author"] = authors.into();
        }
        if let Some(link) = &published.link {
            tool["url"] = link.as_str().into();
        }
        if let Some(licence) = &published.licence {
            let id = format!("{id}-licence");
            let about = "licence of the tool, an SPDX expression";
            tool["license"] = json!({ "@id": id });
            people
                .0
                .push(json!({ "@id": id, "@type": "CreativeWork", "name": licence, "description": about }));
        }
        tool
    };
    description.entries.iter().map(tool).collect()
}
