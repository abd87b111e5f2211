//! Families and statuses of instances, as given by the organizer.

use super::CampaignError;
use super::load::{check_name, read};
use mcc_edition::Edition;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One instance: a `[[model]]` of campaign.toml or a row of models.csv.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRow {
    /// Its name.
    pub instance: String,
    /// Its family (model).
    pub family: String,
    /// A status for which the edition has a multiplier, such as `known` or `surprise`.
    pub status: String,
    /// The file and the line of this row, for errors that are found when the edition is known.
    #[serde(skip)]
    pub(super) place: (PathBuf, usize),
}

impl ModelRow {
    /// Checks the names; the error is a part of a message.
    pub(super) fn check(&self) -> Result<(), String> {
        for (key, name) in [("instance", &self.instance), ("family", &self.family)] {
            check_name(name).map_err(|problem| format!("{key} \"{name}\" {problem}"))?;
        }
        Ok(())
    }

    /// Checks that the edition has a multiplier for the status.
    pub(super) fn check_status(&self, edition: &Edition) -> Result<(), CampaignError> {
        let known = &edition.judging.multipliers;
        if known.contains_key(&self.status) {
            return Ok(());
        }
        let known: Vec<&str> = known.keys().map(String::as_str).collect();
        let (file, line) = self.place.clone();
        let message =
            format!("status \"{}\"; edition {} has {}", self.status, edition.name, known.join(", "));
        Err(CampaignError::Wrong { file, line, message })
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
        let place = (path.to_owned(), usize::try_from(line).unwrap_or(usize::MAX));
        let row = ModelRow { instance: cell(instance), family: cell(family), status: cell(status), place };
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
