//! Sites of judgements, and readers of their files (docs/site.md).

use mcc_harness::judge::judgement::Judgement;
use mcc_harness::report::{self, SiteInput};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Writes the site of a judgement without a record; returns its temporary folder, which must be kept, and its path.
pub fn site(judgement: &Judgement) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let site = dir.path().join("site");
    report::write_site(judgement, SiteInput::default(), NonZeroUsize::MIN, &site).expect("a site");
    (dir, site)
}

/// The text of a page.
pub fn text(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The JSON argument of the function that a file of data calls.
pub fn data_of(path: impl AsRef<Path>) -> serde_json::Value {
    let file = std::fs::read_to_string(path).expect("text");
    let (_, json) = file.split_once('(').expect("a call");
    serde_json::from_str(json.strip_suffix(");\n").expect("a complete call")).expect("JSON")
}
