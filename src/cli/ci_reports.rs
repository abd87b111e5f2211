//! `--junit` and `--sarif` of `qualify` and `lint`.

use super::{Failure, print};
use mcc_runner::qualify::Checked;
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
