//! The files of evidence of a tool.

use mcc_base::OnFile;
use mcc_base::{budgets, evidence};
use mcc_vm::VmError;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

/// The files of evidence of a tool, which arrive in parts.
#[derive(Default)]
pub struct EvidenceFiles {
    /// The folder of the attempt's outputs; None: no evidence is kept.
    pub folder: Option<PathBuf>,
    /// Bytes by name of the file.
    files: BTreeMap<String, u64>,
}

impl EvidenceFiles {
    /// Keeps a part; false if it is not wanted or exceeds a limit. The guest is not trusted with the limits.
    pub fn keep(&mut self, file: &str, part: &str) -> Result<bool, VmError> {
        let all: u64 = self.files.values().sum();
        let bytes = self.files.get(file).copied().unwrap_or_default() + part.len() as u64;
        let fits = bytes <= evidence::MAX_FILE + 1 && all + part.len() as u64 <= budgets::EVIDENCE;
        let Some(folder) = self.folder.as_ref().filter(|_| fits && evidence::parse_name(file).is_some())
        else {
            return Ok(false);
        };
        let path = folder.join(file);
        let to = OpenOptions::new().append(true).create(true).open(&path);
        to.and_then(|mut to| to.write_all(part.as_bytes())).on("write", path)?;
        self.files.insert(file.to_owned(), bytes);
        Ok(true)
    }
}
