//! Families and statuses of instances, as given by the organizer.

use super::CampaignError;
use super::load::{check_name, read};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// One instance: a `[[model]]` of campaign.toml or a row of models.csv.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRow {
    /// Its name.
    pub instance: String,
    /// Its family (model).
    pub family: String,
    /// `known`, `surprise` or `stripped`.
    pub status: String,
}

const STATUSES: [&str; 3] = ["known", "surprise", "stripped"];

impl ModelRow {
    /// Checks names and status; the error is a part of a message.
    pub(super) fn check(&self) -> Result<(), String> {
        for (key, name) in [("instance", &self.instance), ("family", &self.family)] {
            check_name(name).map_err(|problem| format!("{key} \"{name}\" {problem}"))?;
        }
        if STATUSES.contains(&self.status.as_str()) {
            Ok(())
        } else {
            Err(format!("status \"{}\"; allowed are {}", self.status, STATUSES.join(", ")))
        }
    }
}

/// Reads models.csv: the columns instance, family and status in any order. Other columns are ignored.
pub(super) fn read_table(path: &Path) -> Result<BTreeMap<String, ModelRow>, CampaignError> {
    // The csv reader gives the rows of a file with CR LF the line before theirs.
    let text = read(path)?.replace("\r\n", "\n");
    let wrong = |line: u64, message: String| CampaignError::Wrong {
        file: path.to_owned(),
        line: usize::try_from(line).unwrap_or(usize::MAX),
        message,
    };
    let broken = |error: csv::Error| {
        wrong(error.position().map_or(1, csv::Position::line), format!("not a CSV table: {error}"))
    };
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let header = table.headers().map_err(broken)?.clone();
    let column = |name: &str| {
        let found = header.iter().position(|column| column.trim() == name);
        found.ok_or_else(|| wrong(1, format!("no column `{name}`; required are instance,family,status")))
    };
    let (instance, family, status) = (column("instance")?, column("family")?, column("status")?);
    let mut models = BTreeMap::new();
    for record in table.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(1, csv::Position::line);
        let cell = |column: usize| record[column].trim().to_owned();
        let row = ModelRow { instance: cell(instance), family: cell(family), status: cell(status) };
        row.check().map_err(|message| wrong(line, message))?;
        if let Some(first) = models.insert(row.instance.clone(), row) {
            return Err(wrong(
                line,
                format!("instance \"{}\" is listed twice; remove one row", first.instance),
            ));
        }
    }
    Ok(models)
}
