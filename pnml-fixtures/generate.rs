//! Generates the fixtures: `cargo run --release --example pnml-fixtures [-- FOLDER]` writes the archives, `expected/` and
//! `models.csv` to FOLDER, by default to this folder. The bytes are always the same.

mod answers;
mod families;
mod files;
mod formulas;
mod naive;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use families::{instances, switch_board};
pub use formulas::{Atoms, Draw};
pub use naive::Graph;

#[allow(dead_code, reason = "tests use this file as a module")]
fn main() -> io::Result<()> {
    let folder = std::env::args_os()
        .nth(1)
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("pnml-fixtures"), PathBuf::from);
    write_all(&folder)
}

/// Writes every archive, `expected/<instance>.csv` and `models.csv` into `folder`.
pub fn write_all(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder.join("expected"))?;
    let mut models = String::from("instance,family,status\n");
    for instance in instances() {
        let name = instance.name();
        let sheet = answers::sheet(&instance);
        fs::write(folder.join(format!("{name}.tgz")), files::archive(&instance, &sheet)?)?;
        fs::write(folder.join(format!("expected/{name}.csv")), sheet.to_csv())?;
        let status = if instance.family.is_surprise() { "surprise" } else { "known" };
        models.push_str(&format!("{name},{},{status}\n", instance.family.name()));
    }
    fs::write(folder.join("models.csv"), models)
}
