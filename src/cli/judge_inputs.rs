use super::Failure;
use super::print::escaped;
use anyhow::anyhow;
use clap::ValueEnum;
use mcc_edition::{Edition, Votes};
use mcc_judge::benchkit_results::{is_results, read_results};
use mcc_judge::overrides::read_overrides;
use mcc_judge::record::{RecordError, edition_of, read_record, read_unfinished};
use mcc_judge::{Ballots, source};
use mcc_store::Record;
use std::path::{Path, PathBuf};

/// The rules of a judgement, and the files that complete its input.
#[derive(clap::Args)]
pub struct JudgeInputs {
    /// The rules: the name of an edition, or the path of an edition file [default for a record: its own].
    #[arg(long, value_name = "NAME|FILE")]
    pub edition: Option<String>,
    /// Family and status (known, surprise) of the instances: a table with the columns instance,family,status.
    #[arg(long, value_name = "CSV")]
    models: Option<PathBuf>,
    /// Tool and status of the entries: a table with the columns entry,tool,status and, for withdrawn entries, note.
    #[arg(long, value_name = "CSV")]
    tools: Option<PathBuf>,
    /// For runs on obfuscated instances: the file of names that `image inputs --obfuscate` wrote.
    #[arg(long, value_name = "CSV")]
    pub names: Option<PathBuf>,
    /// Values that the organizers set: a table with the columns instance,examination,position,value,reason. The value
    /// `unknown` gives no points.
    #[arg(long, value_name = "CSV")]
    pub overrides: Option<PathBuf>,
    /// Judge a record although some runs are not recorded yet: these runs count as infrastructure failures, so the
    /// judgement is provisional.
    #[arg(long)]
    unfinished: bool,
    /// Count one vote for every variant or one for every tool; this replaces the setting of the edition.
    #[arg(long, value_enum, value_name = "WHO")]
    votes: Option<VotesOption>,
}

/// Which entries have a vote.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum VotesOption {
    /// Every competing entry.
    PerVariant,
    /// Every tool once.
    PerTool,
}

impl From<VotesOption> for Votes {
    fn from(votes: VotesOption) -> Self {
        match votes {
            VotesOption::PerVariant => Self::PerVariant,
            VotesOption::PerTool => Self::PerTool,
        }
    }
}

impl JudgeInputs {
    /// The first given option that exists only for editions of the MCC.
    pub fn mcc_only_option(&self) -> Option<&'static str> {
        let given = [
            ("--models", self.models.is_some()),
            ("--tools", self.tools.is_some()),
            ("--names", self.names.is_some()),
            ("--overrides", self.overrides.is_some()),
            ("--unfinished", self.unfinished),
            ("--votes", self.votes.is_some()),
        ];
        given.iter().find(|(_, given)| *given).map(|(option, _)| *option)
    }

    /// The files that the options name.
    pub fn files(&self) -> Vec<PathBuf> {
        let edition = self.edition.as_ref().map(PathBuf::from);
        [&edition, &self.models, &self.tools, &self.names, &self.overrides]
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// Returns the edition and the ballots of a record (RESULTS), a table of answers, or a folder of BenchKit's results
    /// (CSV and OUTPUTS), completed by the files of the other options.
    pub fn read(&self, input: &Path) -> Result<(Edition, Ballots), Failure> {
        let (mut edition, mut ballots) = self.ballots(input)?;
        if let Some(names) = &self.names {
            source::read_names(&mut ballots, names).map_err(Failure::usage)?;
        }
        if let Some(models) = &self.models {
            source::read_models(&edition, &mut ballots, models).map_err(Failure::usage)?;
        }
        if let Some(tools) = &self.tools {
            for name in source::read_tools(&mut ballots, tools).map_err(Failure::usage)? {
                eprintln!(
                    "note: {} is withdrawn but has no runs here; check its name in --tools",
                    escaped(&name)
                );
            }
        }
        if let Some(overrides) = &self.overrides {
            read_overrides(&edition, &mut ballots, overrides).map_err(Failure::usage)?;
        }
        if let Some(votes) = self.votes {
            edition.judging.votes = votes.into();
        }
        Ok((edition, ballots))
    }

    fn ballots(&self, input: &Path) -> Result<(Edition, Ballots), Failure> {
        let named = self.edition.as_deref().map(Edition::load).transpose().map_err(Failure::usage)?;
        if input.is_dir() && !is_results(input) {
            let record = Record::open_readonly(input).map_err(Failure::usage)?;
            let edition = named.map_or_else(|| edition_of(&record), Ok).map_err(Failure::usage)?;
            let ballots = if self.unfinished {
                read_unfinished(&edition, &record).map_err(unreadable)?
            } else {
                read_record(&edition, &record).map_err(unreadable)?
            };
            return Ok((edition, ballots));
        }
        let Some(edition) = named else {
            return Err(Failure::usage(anyhow!(
                "a table of answers does not name its edition; give --edition"
            )));
        };
        let ballots = if input.is_dir() {
            read_results(&edition, input).map_err(Failure::usage)?
        } else {
            source::read_answers(&edition, input).map_err(Failure::usage)?
        };
        Ok((edition, ballots))
    }
}

/// A record that is damaged or was changed is bad input. Open runs, and errors of the host, are not.
fn unreadable(error: RecordError) -> Failure {
    match error {
        RecordError::Store(error) if !error.is_usage() => error.into(),
        RecordError::Unfinished { .. } => error.into(),
        error => Failure::usage(error),
    }
}
