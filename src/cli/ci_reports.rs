//! `--junit` and `--sarif` of `qualify` and `lint`.

use super::outputs::refuse_inputs;
use super::{Failure, print};
use mcc_base::temporary::folder_of;
use mcc_runner::qualify::Checked;
use std::fs;
use std::path::PathBuf;

/// Files with the findings for continuous integration.
#[derive(clap::Args)]
pub struct CiReports {
    /// Write the findings as JUnit XML: one test per run, which fails if the run has an error.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the findings as SARIF 2.1.0.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
}

impl CiReports {
    /// Returns a usage error if a requested file would replace one of the inputs, or the other file.
    pub fn check(&self, inputs: &[PathBuf]) -> Result<(), Failure> {
        let place =
            |path: &PathBuf| Some((fs::canonicalize(folder_of(path)).ok()?, path.file_name()?.to_owned()));
        let places = [&self.junit, &self.sarif].map(|path| path.as_ref().and_then(place));
        Failure::usage_if(
            places[0].is_some() && places[0] == places[1],
            "--junit and --sarif have the same file; give two files",
        )?;
        refuse_inputs(inputs, [&self.junit, &self.sarif].into_iter().flatten().cloned())
    }

    /// Writes the requested files.
    pub fn write(&self, checked: &Checked) -> Result<(), Failure> {
        if let Some(file) = &self.junit {
            print::file(file, &checked.junit())?;
        }
        if let Some(file) = &self.sarif {
            print::file(file, &checked.sarif()?)?;
        }
        Ok(())
    }
}
