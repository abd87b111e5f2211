//! The ids of places or transitions by the names that other tools use for them.

use super::xml::{Item, Xml, attribute, element_name};
use super::{Archive, ArchiveError, ModelError};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Ids by name.
#[derive(Clone, Debug, Default)]
pub struct NodeNames(BTreeMap<String, Option<String>>);

impl NodeNames {
    /// Reads the ids and names of the elements `place` or `transition` of a net, as a tool spells them. An id is preferred
    /// to a name; what stands for several nodes stands for none.
    ///
    /// # Errors
    /// The archive cannot be read, or its model is not well-formed.
    pub fn read(
        archive: &Archive,
        element: &str,
        spelled: impl Fn(&str) -> String,
    ) -> Result<NodeNames, ArchiveError> {
        let nodes = archive.with_model(|model, file| nodes(model, file, element))??;
        let (mut ids, mut names) = (NodeNames::default(), NodeNames::default());
        for (id, name) in nodes {
            ids.add(spelled(&id), &id);
            names.add(spelled(name.trim()), &id);
        }
        names.0.append(&mut ids.0);
        Ok(names)
    }

    fn add(&mut self, name: String, id: &str) {
        let entry = self.0.entry(name).or_insert_with(|| Some(id.to_owned()));
        if entry.as_deref() != Some(id) {
            *entry = None;
        }
    }

    /// The id of the node that a name stands for.
    pub fn id(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_deref()
    }
}

/// The ids of the elements, each with its name; its id if it has none.
fn nodes(source: impl BufRead, file: &str, element: &str) -> Result<Vec<(String, String)>, ModelError> {
    let mut xml = Xml::new(source, file);
    let mut nodes: Vec<(String, String)> = Vec::new();
    // The open elements from the node on.
    let mut open: Vec<String> = Vec::new();
    loop {
        match xml.next_item()? {
            Item::Start(start) if open.is_empty() && element_name(&start) != element => {}
            Item::Start(start) => {
                open.push(element_name(&start).to_owned());
                if let (1, Some(id)) = (open.len(), attribute(&start, "id")) {
                    nodes.push((id.to_string(), String::new()));
                }
            }
            Item::Text(part) => {
                if let ([_, name, text], Some((_, known))) = (open.as_slice(), nodes.last_mut())
                    && name == "name"
                    && text == "text"
                {
                    known.push_str(&part);
                }
            }
            Item::End => {
                open.pop();
                if let (true, Some((id, name))) = (open.is_empty(), nodes.last_mut())
                    && name.trim().is_empty()
                {
                    name.clone_from(id);
                }
            }
            Item::Nothing => {}
            Item::Eof => return Ok(nodes),
        }
    }
}
