//! Families and statuses of instances, as given by the organizer.

use super::CampaignError;
use super::load::check_name;
use crate::benchkit::published::{Table, TableError};
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
        let (file, line) = &self.place;
        let message =
            format!("status \"{}\"; edition {} has {}", self.status, edition.name, known.join(", "));
        Err(CampaignError::wrong(file, *line, &message))
    }
}

/// Reads models.csv: the columns instance, family and status in any order. Other columns are ignored.
pub(super) fn read_table(path: &Path) -> Result<BTreeMap<String, ModelRow>, CampaignError> {
    let broken = |error: TableError| match error {
        TableError::Row { line, message, .. } => {
            CampaignError::wrong(path, line as usize, &format!("not a CSV table: {message}"))
        }
        error => CampaignError::Table(error),
    };
    let mut table = Table::open_small(path).map_err(broken)?;
    let column = |name: &str| {
        let found = table.header().iter().position(|column| column.trim() == name);
        let message = format!("no column `{name}`; required are instance,family,status");
        found.ok_or_else(|| CampaignError::wrong(path, 1, &message))
    };
    let (instance, family, status) = (column("instance")?, column("family")?, column("status")?);
    let mut rows = Vec::new();
    let read = table.each_row(|row| {
        let cell = |column: usize| row[column].trim().to_owned();
        let line = row.position().map_or(1, csv::Position::line) as usize;
        let place = (path.to_owned(), line);
        rows.push(ModelRow { instance: cell(instance), family: cell(family), status: cell(status), place });
        Ok(())
    });
    read.map_err(broken)?;
    let mut models = BTreeMap::new();
    for row in rows {
        let line = row.place.1;
        row.check().map_err(|message| CampaignError::wrong(path, line, &message))?;
        if let Some(first) = models.insert(row.instance.clone(), row) {
            let message = format!("instance \"{}\" is listed twice; remove one row", first.instance);
            return Err(CampaignError::wrong(path, line, &message));
        }
    }
    Ok(models)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<usize, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let models = read_table(file.path()).map_err(|error| error.to_string());
        Ok(models?.len())
    }

    #[test]
    fn an_unclosed_quote_or_a_repeated_column_of_the_models_is_refused() {
        let rows = "A-PT-1,A,surprise,\"new\"\r\nB-PT-1,B,known,\r\n";
        let table = format!("instance,family,status,note\r\n{rows}");
        assert_eq!(read(&table), Ok(2));
        let unclosed = read(&table.replace("new\"", "new")).unwrap_err();
        assert!(unclosed.contains(":2: not a CSV table: a quote is not closed"), "{unclosed}");
        let repeated = read(&table.replace("note", "status")).unwrap_err();
        assert!(repeated.contains("the header has the column `status` twice"), "{repeated}");
        assert_eq!(read("instance,family,status,,\nA-PT-1,A,known,,\n"), Ok(1));
    }

    #[test]
    fn a_table_of_models_above_64_mebibytes_is_refused() {
        let row = format!("A-PT-1,A,known,{}\n", "x".repeat(4 << 20));
        let error = read(&format!("instance,family,status,note\n{}", row.repeat(17))).unwrap_err();
        assert!(error.contains(":17: not a CSV table: the table is larger than 67108864 bytes"), "{error}");
    }

    #[test]
    fn a_name_with_a_line_feed_does_not_begin_a_line_of_the_message() {
        let error = read("instance,family,status\n\"A\nverify: all is right\",A,known\n").unwrap_err();
        assert!(error.contains("instance \"A⟨LF⟩verify: all is right\""), "{error}");
    }
}
