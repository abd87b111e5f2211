//! Reader of tables with a header.

use std::collections::BTreeMap;
use std::path::Path;

/// The rows of a table of comma-separated values by the names of their columns.
pub fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut table =
        csv::Reader::from_path(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    table.deserialize().map(Result::unwrap).collect()
}
