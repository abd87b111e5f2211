//! `datapackage.json`: every CSV table of an archive with its columns, types and keys, as a Frictionless Data Package.

use super::{Description, write_json};
use crate::ArchiveError;
use mcc_base::{OnFile, digest};
use mcc_judge::schema::{ARCHIVE, ColumnType, ENTRIES, INSTANCES, JUDGEMENT, Table};
use serde_json::{Value, json};
use std::path::Path;

/// Writes `datapackage.json` for the tables in the folder `to`, which may be those of a team bundle, without description.
///
/// # Errors
/// A table cannot be read, or the file cannot be written.
pub fn write(to: &Path, description: Option<&Description>) -> Result<(), ArchiveError> {
    let tables = ARCHIVE.iter().map(|table| (table.file.to_owned(), table));
    let judgement = JUDGEMENT.iter().map(|table| (format!("judgement/{}", table.file), table));
    let present = |(path, _): &(String, &Table)| to.join(path).is_file();
    let tables: Vec<(String, &Table)> = tables.chain(judgement).filter(present).collect();
    let has = |path: &str| tables.iter().any(|(known, _)| known == path);
    let references = has(ENTRIES.file) && has(INSTANCES.file);
    let resources: Result<Vec<Value>, ArchiveError> =
        tables.iter().map(|(path, table)| resource(to, path, table, references)).collect();
    let mut package = json!({ "profile": "data-package", "name": "mcc-harness-archive" });
    if let Some(description) = description {
        package["title"] = description.title().into();
        package["description"] = description.summary().into();
        if let Some(date) = description.date() {
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

fn resource(to: &Path, path: &str, table: &Table, references: bool) -> Result<Value, ArchiveError> {
    let file = to.join(path);
    let (sha256, bytes) = digest::file(&file).on("read", &file)?;
    let fields: Vec<Value> = table.columns.iter().map(|name| field(name, table.column_type(name))).collect();
    let mut schema = json!({ "fields": fields });
    if !table.key.is_empty() {
        schema["primaryKey"] = table.key.into();
    }
    let reference = |column: &str, to: &Table| {
        let reference = json!({ "resource": Table::name(to.file), "fields": to.key[0] });
        json!({ "fields": column, "reference": reference })
    };
    let all = [(table.entry, &ENTRIES), (table.instance, &INSTANCES)];
    let foreign = all.into_iter().filter(|(column, _)| !column.is_empty() && references);
    let foreign: Vec<Value> = foreign.map(|(column, to)| reference(column, to)).collect();
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

fn field(name: &str, kind: ColumnType) -> Value {
    match kind {
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
    }
}
