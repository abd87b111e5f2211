//! A folder for each tool with contradicted answers: archives (net and formulas), evidence and, with a record, the tool's output.

use super::outputs::{Alarm, row, table, text};
use super::results::ResultsFolder;
use super::{CertificationError, Input, judged_outputs};
use mcc_base::OnFile;
use mcc_judge::certified::Method;
use mcc_judge::evidence_statements::open_evidence;
use mcc_store::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The folder of the bundles.
const BUNDLES: &str = "bundles";
const OUTPUTS: [&str; 2] = ["stdout", "stderr"];

/// Writes the bundles. Those of an earlier run of the same certification are replaced.
pub fn write(
    input: &Input<'_>,
    alarms: &[Alarm],
    archives: &BTreeMap<String, PathBuf>,
    folder: &ResultsFolder,
) -> Result<(), CertificationError> {
    let bundles = folder.path().join(BUNDLES);
    match fs::remove_dir_all(&bundles) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed.on("remove", &bundles)?,
    }
    let judgement = input.judgement;
    let mut by_entry: BTreeMap<usize, Vec<&Alarm>> = BTreeMap::new();
    for alarm in alarms {
        by_entry.entry(alarm.entry).or_default().push(alarm);
    }
    let mut used = BTreeSet::new();
    for (entry, alarms) in by_entry {
        let entry = &judgement.entries[entry].entry;
        // A name in a table may have characters that a path must not have.
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' };
        let mut name: String = entry.chars().map(plain).collect();
        while name.starts_with('.') || name.is_empty() || !used.insert(name.clone()) {
            name.insert(0, '_');
        }
        let mut answers =
            table(&["instance", "examination", "position", "id", "given", "certified", "method", "files"])?;
        let mut copied = BTreeSet::new();
        for alarm in alarms {
            let instance = &judgement.instances[alarm.instance].instance;
            let examination = &judgement.examinations[alarm.examination];
            let of_instance = format!("{BUNDLES}/{name}/{instance}");
            let Some(archive) = archives.get(instance) else { continue };
            let to = folder.path().join(&of_instance);
            fs::create_dir_all(&to).on("write", &to)?;
            if copied.insert((instance.clone(), String::new())) {
                let to = to.join(format!("{instance}.tgz"));
                fs::copy(archive, &to).on("write", &to)?;
            }
            if let (true, Some(record)) =
                (copied.insert((instance.clone(), examination.clone())), input.record)
            {
                outputs(record, entry, instance, examination, &to)?;
            }
            let mut files = Vec::new();
            for file in alarm.result.evidence.split(' ').filter(|file| !file.is_empty()) {
                let short = file.rsplit('/').next().unwrap_or(file);
                // A link in its place could lead to any file of this host, which would be sent to a team.
                let copied = open_evidence(folder.path(), file)
                    .and_then(|mut source| io::copy(&mut source, &mut File::create(to.join(short))?));
                copied.on("copy", folder.path().join(file))?;
                files.push(short);
            }
            let certified = &alarm.result.value;
            let position = format!("{:02}", alarm.result.position);
            row(
                &mut answers,
                [
                    instance,
                    examination,
                    &position,
                    &alarm.result.id,
                    &alarm.given,
                    certified,
                    Method::word(alarm.method),
                    &files.join(" "),
                ],
            )?;
        }
        folder.write(&format!("{BUNDLES}/{name}/answers.csv"), &text(answers)?)?;
    }
    Ok(())
}

/// Copies the outputs of the judged attempt at a run, if the record has them.
fn outputs(
    record: &Record,
    entry: &str,
    instance: &str,
    examination: &str,
    to: &Path,
) -> Result<(), CertificationError> {
    let run = [entry, instance, examination];
    for output in judged_outputs(record, run)?.iter().filter(|output| OUTPUTS.contains(&&*output.role)) {
        let to = to.join(format!("{examination}.{}.txt", output.role));
        let write = |content: &mut dyn io::Read| {
            Ok(File::create(&to).and_then(|mut copy| io::copy(content, &mut copy)))
        };
        match output.read(write) {
            Ok(written) => {
                written.on("write", &to)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                // A changed output is not sent to a team.
                let _ = fs::remove_file(&to);
                Err(error).on("copy the output", &output.path)?;
            }
        }
    }
    Ok(())
}
