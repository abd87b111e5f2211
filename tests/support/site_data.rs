//! Reader of the files of data of a site (docs/site.md).

use std::path::Path;

/// The JSON argument of the function that a file of data calls.
pub fn data_of(path: impl AsRef<Path>) -> serde_json::Value {
    let file = std::fs::read_to_string(path).expect("text");
    let (_, json) = file.split_once('(').expect("a call");
    serde_json::from_str(json.strip_suffix(");\n").expect("a complete call")).expect("JSON")
}
