//! Checks that no output of a command replaces one of its inputs.

use super::Failure;
use anyhow::anyhow;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns a usage error if an output is the same file as an input. For an input that is a folder, its files, those of
/// its folder `CSV`, and the database of a record count as inputs.
pub fn refuse_inputs(inputs: &[PathBuf], outputs: impl IntoIterator<Item = PathBuf>) -> Result<(), Failure> {
    let mut known = HashMap::new();
    for path in inputs.iter().flat_map(|input| files_of(input)) {
        if let Some(file) = identity(&path) {
            known.insert(file, path);
        }
    }
    for output in outputs {
        let Some(input) = identity(&output).and_then(|file| known.get(&file)) else { continue };
        return Err(Failure::usage(anyhow!(
            "{} would replace the input {}; give another path for the output",
            output.display(),
            input.display()
        )));
    }
    Ok(())
}

/// The files that are read of an input.
fn files_of(input: &Path) -> Vec<PathBuf> {
    if !input.is_dir() {
        return vec![input.to_owned()];
    }
    let record = input.join("record.db");
    if record.exists() {
        return vec![record, input.join("campaign.toml")];
    }
    let list = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path());
    list(input).chain(list(&input.join("CSV"))).filter(|path| path.is_file()).collect()
}

/// Device and number of a file; None if it does not exist.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let file = fs::metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_is_an_input_under_another_name_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("in.csv"), "x").unwrap();
        fs::write(at("other.csv"), "x").unwrap();
        fs::hard_link(at("in.csv"), at("hard.csv")).unwrap();
        std::os::unix::fs::symlink("in.csv", at("link.csv")).unwrap();
        for output in ["in.csv", "hard.csv", "link.csv"] {
            let error = refuse_inputs(&[at("in.csv")], [at("new.csv"), at(output)]).err().unwrap();
            assert!(error.error.to_string().contains("would replace the input"), "{output}");
        }
        assert!(refuse_inputs(&[at("in.csv")], [at("new.csv"), at("other.csv")]).is_ok());
        // A folder stands for its files.
        assert!(refuse_inputs(&[folder.path().to_owned()], [at("other.csv")]).is_err());
        assert!(refuse_inputs(&[folder.path().to_owned()], [at("new.csv")]).is_ok());
    }
}
