//! Checks that no output of a command replaces one of its inputs, or the judgement of something else.

use super::Failure;
use anyhow::anyhow;
use mcc_archive::is_archive;
use mcc_base::files;
use mcc_judge::judgement::{CAMPAIGN_FILE, InputDigest, JUDGEMENT_FILE, JudgedInputs};
use mcc_judge::write::{self, INCOMPLETE};
use std::collections::HashMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns a usage error if an output is the same file as an input, or among the files of a record or an unpacked archive.
/// For an input that is a folder, its files, those of its folder `CSV`, and the database of a record count as inputs.
pub fn refuse_inputs(inputs: &[PathBuf], outputs: impl IntoIterator<Item = PathBuf>) -> Result<(), Failure> {
    let mut known = HashMap::new();
    for path in inputs.iter().flat_map(|input| files_of(input)) {
        if let Some(file) = identity(&path) {
            known.insert(file, path);
        }
    }
    for output in outputs {
        if let Some(record) = record_of(&output) {
            let kind = if is_archive(&record) { "unpacked archive" } else { "record" };
            return Err(Failure::usage(anyhow!(
                "{} is in the {kind} {}; give another path for the output",
                output.display(),
                record.display()
            )));
        }
        if let Some(input) = identity(&output).and_then(|file| known.get(&file)) {
            return Err(would_replace(&output, input));
        }
    }
    Ok(())
}

/// `refuse_inputs` for a folder that is replaced with all that is in it: no input may be this folder or in it.
pub fn refuse_inputs_in(inputs: &[PathBuf], folder: &Path) -> Result<(), Failure> {
    refuse_inputs(&[], [folder.to_owned()])?;
    // Nothing is in a folder that does not exist.
    let Ok(whole) = folder.canonicalize() else { return Ok(()) };
    for input in inputs {
        if input.canonicalize().is_ok_and(|input| input.starts_with(&whole)) {
            return Err(would_replace(folder, input));
        }
    }
    Ok(())
}

fn would_replace(output: &Path, input: &Path) -> Failure {
    Failure::usage(anyhow!(
        "{} would replace the input {}; give another path for the output",
        output.display(),
        input.display()
    ))
}

/// Returns a usage error if `out` has the judgement of a record that is not the one with these `inputs`, or files that a
/// judgement would replace and that are not those of one. The judgement of tables is replaced: a corrected table has other
/// bytes.
pub fn refuse_other_judgement(out: &Path, inputs: &[InputDigest]) -> Result<(), Failure> {
    if ["record.db", "archive.json"].iter().any(|file| out.join(file).exists()) {
        let out = out.display();
        return Err(Failure::usage(anyhow!("{out} is a record or an archive; give another --out")));
    }
    if out.is_file() {
        return Err(Failure::usage(anyhow!("{} is a file; give a folder to --out", out.display())));
    }
    let path = out.join(JUDGEMENT_FILE);
    let read = |mut file: fs::File| {
        let mut text = vec![];
        file.read_to_end(&mut text).map(|_| text)
    };
    let text = match files::open(&path).and_then(read) {
        Err(error) if error.kind() == ErrorKind::NotFound => return refuse_other_files(out),
        text => text.map_err(|error| Failure::usage(anyhow!("{}: {error}", path.display())))?,
    };
    let earlier: JudgedInputs = serde_json::from_slice(&text).map_err(|error| {
        Failure::usage(anyhow!(
            "{}: not a judgement ({error}); give another --out, or remove this file",
            path.display()
        ))
    })?;
    let campaigns = || earlier.inputs.iter().filter(|input| input.file == CAMPAIGN_FILE);
    if campaigns().next().is_none() || campaigns().any(|campaign| inputs.contains(campaign)) {
        return Ok(());
    }
    Err(Failure::usage(anyhow!(
        "{} is the judgement of another record; give another --out, or remove that folder if it is not needed",
        path.display()
    )))
}

/// Returns a usage error if `out`, which has no judgement, has a file with the name of one of a judgement.
fn refuse_other_files(out: &Path) -> Result<(), Failure> {
    let other = write::files().map(|name| out.join(name)).find(|path| path.symlink_metadata().is_ok());
    match other {
        Some(other) if !out.join(INCOMPLETE).exists() => Err(Failure::usage(anyhow!(
            "{} has the name of a file of a judgement, and that folder has no judgement.json; give another --out, or remove \
             this file if it is not needed",
            other.display()
        ))),
        _ => Ok(()),
    }
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

/// The record that would have `output` among its own files; an unpacked archive, which is a record too, may have no other.
fn record_of(output: &Path) -> Option<PathBuf> {
    const OWN: [&str; 5] = ["lock", "inputs", "outputs", "running", "cluster"];
    // Folders below an existing one will be created.
    let whole = output.ancestors().skip(1).find_map(|above| {
        let folder = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        Some(folder.canonicalize().ok()?.join(output.strip_prefix(above).ok()?))
    })?;
    let record = whole.ancestors().skip(1).find(|folder| folder.join("record.db").exists())?;
    let first = whole.strip_prefix(record).ok()?.components().next()?;
    let name = first.as_os_str().to_string_lossy();
    let is_own = OWN.contains(&&*name) || name.starts_with("record.db") || is_archive(record);
    is_own.then(|| record.to_owned())
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
        fs::create_dir_all(at("record/outputs/run")).unwrap();
        fs::write(at("record/record.db"), "x").unwrap();
        for output in
            ["record/outputs/run/stdout", "record/lock", "record/running/new/file", "record/record.db-wal"]
        {
            let error = refuse_inputs(&[], [at(output)]).err().unwrap();
            assert!(error.error.to_string().contains("is in the record"), "{output}");
        }
        assert!(refuse_inputs(&[], [at("record/judged"), at("record.csv")]).is_ok());
        fs::write(at("record/archive.json"), "x").unwrap();
        for output in ["record/judged", "record/judgement/new/scores.csv", "record/names.csv"] {
            let error = refuse_inputs(&[], [at(output)]).err().unwrap();
            assert!(error.error.to_string().contains("is in the unpacked archive"), "{output}");
        }
        // A folder stands for its files.
        assert!(refuse_inputs(&[folder.path().to_owned()], [at("other.csv")]).is_err());
        assert!(refuse_inputs(&[folder.path().to_owned()], [at("new.csv")]).is_ok());
    }

    #[test]
    fn a_folder_that_is_replaced_is_neither_an_input_nor_above_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("site/data")).unwrap();
        fs::create_dir(at("judged")).unwrap();
        std::os::unix::fs::symlink("site/data", at("link")).unwrap();
        for input in ["site", "site/data", "link", "site/../site/data"] {
            let error = refuse_inputs_in(&[at("judged"), at(input)], &at("site")).err().unwrap();
            assert!(error.error.to_string().contains("would replace the input"), "{input}");
        }
        assert!(refuse_inputs_in(&[at("judged"), at("missing")], &at("site")).is_ok());
        assert!(refuse_inputs_in(&[at("site")], &at("site/new")).is_ok());
    }

    #[test]
    fn the_judgement_of_another_record_is_refused_and_that_of_tables_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let input =
            |file: &str, digest: &str| InputDigest { file: file.to_owned(), sha256: digest.to_owned() };
        let (record, other) = (input(CAMPAIGN_FILE, "a"), input(CAMPAIGN_FILE, "b"));
        let refused = |inputs: &[InputDigest]| {
            let error = refuse_other_judgement(folder.path(), inputs).err();
            error.map_or(String::new(), |error| error.error.to_string())
        };
        let earlier = |inputs: &[InputDigest]| {
            let text = serde_json::json!({ "version": "0", "inputs": inputs, "entries": [] }).to_string();
            fs::write(folder.path().join("judgement.json"), text).unwrap();
        };
        assert_eq!(refused(std::slice::from_ref(&record)), "");
        // The outputs of a record change while its campaign runs.
        earlier(&[record.clone(), input("outputs", "1")]);
        assert_eq!(refused(&[record.clone(), input("outputs", "2")]), "");
        for inputs in [[other], [input("answers.csv", "c")]] {
            let message = refused(&inputs);
            assert!(message.contains("is the judgement of another record; give another --out"), "{message}");
        }
        earlier(&[input("answers.csv", "c")]);
        assert_eq!(refused(&[record]), "");
        fs::write(folder.path().join("judgement.json"), "x").unwrap();
        assert!(refused(&[]).contains("not a judgement"));
    }

    #[test]
    fn a_judgement_replaces_no_file_of_something_else() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), "").unwrap();
        let refused = || {
            let error = refuse_other_judgement(folder.path(), &[]).err();
            error.map_or(String::new(), |error| error.error.to_string())
        };
        write("answers.csv");
        assert_eq!(refused(), "");
        write("overrides.csv");
        assert!(refused().contains("overrides.csv has the name of a file of a judgement"), "{}", refused());
        // The judgement of a program that was killed is replaced.
        write(INCOMPLETE);
        assert_eq!(refused(), "");
        write("record.db");
        assert!(refused().contains("is a record or an archive"), "{}", refused());
    }
}
