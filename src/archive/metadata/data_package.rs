//! `datapackage.json`: every CSV table with its columns, types, units and keys, as a Frictionless Data Package.

use super::{Description, write_json};
use crate::ArchiveError;
use mcc_base::{OnFile, digest};
use mcc_judge::schema::{ColumnType, Table};
use serde_json::{Value, json};
use std::path::Path;

/// The tables of a package.
pub struct Tables {
    /// The path and the columns of each table.
    pub files: Vec<(String, Table)>,
    /// The path of the table of entries, to which other tables refer; None: none refers to it.
    pub entries: Option<&'static str>,
    /// The path of the table of instances, to which other tables refer; None: none refers to it.
    pub instances: Option<&'static str>,
}

/// Writes `datapackage.json` for tables in the folder `to`, which may be those of a team bundle, without description.
///
/// # Errors
/// A table cannot be read, or the file cannot be written.
pub fn write(to: &Path, tables: &Tables, description: Option<&Description>) -> Result<(), ArchiveError> {
    let resources: Result<Vec<Value>, ArchiveError> =
        tables.files.iter().map(|(path, table)| resource(to, path, table, tables)).collect();
    let is_judgement = description.is_some_and(|description| description.archive.is_none());
    let name = if is_judgement { "mcc-harness-judgement" } else { "mcc-harness-archive" };
    let mut package = json!({ "profile": "data-package", "name": name });
    if let Some(description) = description {
        package["title"] = description.title().into();
        package["description"] = description.summary().into();
        // A year alone is not a time of creation in this format.
        if let Some(date) = description.day_or_year().filter(|date| date.len() > 4) {
            package["created"] = format!("{date}T00:00:00Z").into();
        }
        if let Some(doi) = description.publication.and_then(|publication| publication.doi.as_deref()) {
            package["id"] = format!("https://doi.org/{doi}").into();
        }
        let contributor = |name: &String| json!({ "title": name, "role": "author" });
        let contributors: Vec<Value> = description.organizers().iter().map(contributor).collect();
        if !contributors.is_empty() {
            package["contributors"] = contributors.into();
        }
        if let Some(licence) = description.publication.and_then(|publication| publication.licence) {
            package["licenses"] = json!([{ "name": licence.spdx(), "path": licence.address() }]);
        }
    }
    package["resources"] = resources?.into();
    write_json(&to.join("datapackage.json"), &package)
}

fn resource(to: &Path, path: &str, table: &Table, tables: &Tables) -> Result<Value, ArchiveError> {
    let file = to.join(path);
    let (sha256, bytes) = digest::file(&file).on("read", &file)?;
    let fields: Vec<Value> = table.columns.iter().map(|name| field(table, name)).collect();
    let mut schema = json!({ "fields": fields });
    if !table.key.is_empty() {
        schema["primaryKey"] = table.key.into();
    }
    let references = [(table.entry, tables.entries), (table.instance, tables.instances)];
    let foreign = references.into_iter().filter(|(column, to)| !column.is_empty() && *to != Some(path));
    let foreign: Vec<Value> = foreign
        .filter_map(|(column, to)| {
            let (path, to) = tables.files.iter().find(|(known, _)| Some(known.as_str()) == to)?;
            let reference = json!({ "resource": Table::name(path), "fields": to.key[0] });
            Some(json!({ "fields": column, "reference": reference }))
        })
        .collect();
    if !foreign.is_empty() {
        schema["foreignKeys"] = foreign.into();
    }
    Ok(json!({
        "name": Table::name(path),
        "path": path,
        "description": table.about,
        "profile": "tabular-data-resource",
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": bytes,
        "hash": format!("sha256:{sha256}"),
        "schema": schema,
    }))
}

fn field(table: &Table, name: &str) -> Value {
    let mut field = match table.column_type(name) {
        ColumnType::Text => json!({ "name": name, "type": "string" }),
        ColumnType::Count => json!({ "name": name, "type": "integer" }),
        ColumnType::Decimal => json!({ "name": name, "type": "number" }),
        // No type of the format has fractions.
        ColumnType::Exact => {
            json!({ "name": name, "type": "string", "constraints": { "pattern": "^-?[0-9]+(/[0-9]+)?$" } })
        }
        ColumnType::YesNo => {
            json!({ "name": name, "type": "boolean", "trueValues": ["yes"], "falseValues": ["no"] })
        }
    };
    if let Some(unit) = table.unit(name) {
        field["unit"] = unit.into();
    }
    field
}
