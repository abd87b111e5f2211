//! `ro-crate-metadata.json`: the archive or the judgement as an RO-Crate 1.2, with its files, people and licences.

use super::{Description, person};
use crate::ArchiveError;
use mcc_base::OnFile;
use mcc_base::names::file_names;
use mcc_store::Disk;
use serde_json::{Value, json};
use std::path::Path;

/// The name that RO-Crate prescribes.
pub const FILE: &str = "ro-crate-metadata.json";

/// Returns the metadata of the files in the folder `staged`. Those of an archive are there except outputs and disks.
///
/// # Errors
/// A file cannot be read.
pub fn metadata(staged: &Path, description: &Description) -> Result<Value, ArchiveError> {
    let mut graph = Vec::new();
    let mut parts = Vec::new();
    let mut judgement_parts = Vec::new();
    for (path, about) in &description.files {
        let file = staged.join(path);
        if file.is_file() {
            let part = json!({ "@id": path });
            if path.starts_with("judgement/") {
                judgement_parts.push(part);
            } else {
                parts.push(part);
            }
            let bytes = file.metadata().on("read", &file)?.len();
            graph.push(file_entity(path, about, Some(bytes)));
        }
    }
    if let Some(archive) = &description.archive {
        let sums = file_entity("SHA256SUMS", "digests of all other files", None);
        let about = "confidence, trusted values, points, podiums, awards";
        let mut folders = vec![sums, folder("judgement/", about, judgement_parts)];
        if archive.has_outputs {
            let about = "raw outputs and samples of every attempt: ENTRY/INSTANCE/EXAMINATION/NUMBER/";
            folders.push(folder("outputs/", about, vec![]));
        }
        folders.extend(archive.disks.iter().map(disk_entity));
        parts.extend(folders.iter().map(|entity| json!({ "@id": entity["@id"] })));
        graph.extend(folders);
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
    if let Some(date) = description.day_or_year() {
        root["datePublished"] = date.into();
    }
    root["license"] = match licence {
        Some(licence) => json!({ "@id": licence.address() }),
        None => "No licence is stated.".into(),
    };
    if !organizers.is_empty() {
        root["author"] = one_or_list(organizers);
        root["publisher"] = root["author"].clone();
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
    root["hasPart"] = one_or_list(parts);
    root["mentions"] = one_or_list(mentioned);
    let descriptor = json!({
        "@id": FILE,
        "@type": "CreativeWork",
        "conformsTo": { "@id": "https://w3id.org/ro/crate/1.2" },
        "about": { "@id": "./" },
    });
    let licence = licence.map(|licence| {
        let (address, name) = (licence.address(), licence.spdx());
        json!({ "@id": address, "@type": "CreativeWork", "name": name, "description": "licence of these results" })
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

/// A value of a property. A single value is not written as a list, as the standard recommends.
fn one_or_list(mut values: Vec<Value>) -> Value {
    if values.len() == 1 { values.remove(0) } else { values.into() }
}

fn folder(id: &str, about: &str, content: Vec<Value>) -> Value {
    let mut entity = json!({ "@id": id, "@type": "Dataset", "name": id, "description": about });
    if !content.is_empty() {
        entity["hasPart"] = one_or_list(content);
    }
    entity
}

fn disk_entity(disk: &Disk) -> Value {
    json!({
        "@id": format!("disks/{}", disk.sha256),
        "@type": "File",
        "name": disk.role,
        "description": format!("the {} of machines", disk.role),
        "encodingFormat": "application/octet-stream",
        "contentSize": disk.bytes.to_string(),
        "sha256": disk.sha256,
    })
}

fn file_entity(path: &str, about: &str, bytes: Option<u64>) -> Value {
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
        "description": about,
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
    // The names in another contest can have characters that an id must not have.
    let ids = file_names(description.entries.iter().map(|entry| entry.entry.as_str()));
    let tool = |(entry, id): (&mcc_judge::judgement::Entry, String)| {
        let id = format!("#entry-{id}");
        let about = "an entry of the contest: a tool, or a variant of one";
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
            tool["author"] = one_or_list(authors);
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
    description.entries.iter().zip(ids).map(tool).collect()
}
