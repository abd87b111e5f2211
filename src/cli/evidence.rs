//! Evidence for wrong values of an author's tool, in words.

use mcc_certify::{Budget, Finding, certify, in_words};
use mcc_model::Archive;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// CPU time for the values of one examination of an instance.
const TIME: Duration = Duration::from_secs(20);
const MEMORY_BYTES: u64 = 1 << 30;
/// Formulas are processed recursively.
const STACK: usize = 64 << 20;

/// An instance, and what was found about the values of an examination.
type Decided = (Archive, Vec<Finding>);

/// Decides values of instances, each examination once.
pub(super) struct Evidence {
    archives: BTreeMap<String, PathBuf>,
    known: BTreeMap<(String, String), Result<Decided, String>>,
}

impl Evidence {
    /// `instances`: the folder of archives.
    pub(super) fn new(instances: &Path) -> std::io::Result<Self> {
        Ok(Self { archives: mcc_campaign::archives_in(instances)?, known: BTreeMap::new() })
    }

    /// What evidence shows about a value, or why none does. `is` finds it, with its position in the order of the ids.
    pub(super) fn about(
        &mut self,
        instance: &str,
        examination: &str,
        is: impl Fn(usize, &Finding) -> bool,
    ) -> String {
        let key = (instance.to_owned(), examination.to_owned());
        let path = self.archives.get(instance);
        let known = self.known.entry(key).or_insert_with(|| {
            let path = path.ok_or_else(|| format!("no evidence: {instance} has no archive here"))?;
            let decide = || {
                let archive = Archive::open(path).map_err(|error| error.to_string())?;
                let cancel = AtomicBool::new(false);
                let budget =
                    Budget { steps: u64::MAX, time: TIME, memory_bytes: MEMORY_BYTES, cancel: &cancel };
                let found = certify(&archive, &[examination], &budget).map_err(|error| error.to_string())?;
                Ok((archive, found))
            };
            std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, decide);
                let thread = thread.map_err(|error| error.to_string())?;
                thread.join().unwrap_or_else(|_| Err("no evidence: the search ended with a panic".to_owned()))
            })
        });
        match known {
            Err(reason) => reason.clone(),
            Ok((archive, found)) => {
                let finding = found.iter().enumerate().find(|(position, finding)| is(*position, finding));
                finding.map_or_else(
                    || "no evidence: the archive has no such property".to_owned(),
                    |(_, finding)| format!("evidence: {}", in_words(archive, finding)),
                )
            }
        }
    }
}
