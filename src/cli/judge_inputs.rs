use super::print::escaped;
use super::record_source::{self, RecordSource, is_archive, no_disk, refuse_database};
use super::terminal::{argument, note};
use super::{Failure, word_of};
use anyhow::anyhow;
use mcc_archive::ArchivePaths;
use mcc_campaign::Publication;
use mcc_campaign::benchkit::published;
use mcc_edition::{Edition, Votes};
use mcc_judge::benchkit_results::{is_results, read_results};
use mcc_judge::certified::CERTIFIED_FILE;
use mcc_judge::overrides::read_overrides;
use mcc_judge::record::{RecordError, edition_of, read_record, read_unfinished};
use mcc_judge::sources::{Source, combine};
use mcc_judge::{RunResults, read_certified, source};
use mcc_store::{Record, StoreError};
use std::collections::BTreeMap;
use std::io::Read;
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
    /// Title, date, organizers, licence and DOI of the judgement, and authors, affiliation, link and licence of the tools:
    /// a TOML file with the tables [publication] and [[tool]] of a campaign file, or a whole campaign file, whose other
    /// keys are not read; docs/campaign.md explains the keys [default for a record: those of its campaign].
    #[arg(long, value_name = "TOML")]
    pub publication: Option<PathBuf>,
    /// Judge a record although some runs are not recorded yet: these runs count as infrastructure failures for which
    /// nothing is excluded, so the judgement is provisional.
    #[arg(long)]
    unfinished: bool,
    /// Count one vote for every competing variant or one for every tool; this replaces the setting of the edition.
    #[arg(long, value_name = "WHO", value_parser = word_of::<Votes>(&["per-variant", "per-tool"]))]
    votes: Option<Votes>,
    /// Whether the failure classes of the runs of records are read, too.
    #[arg(skip)]
    pub failure_classes: bool,
}

/// What `judge` reads in addition to a record.
const OTHER_INPUTS: &str =
    "an archive, a table of answers, or a folder of BenchKit's results (CSV and OUTPUTS)";

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
        // A folder can have the name of an edition.
        let edition = self.edition.as_ref().map(PathBuf::from).filter(|edition| edition.is_file());
        [&edition, &self.models, &self.tools, &self.names, &self.overrides, &self.publication]
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// The table of names of the runs in a folder: that of --names, or else that of an archive.
    pub fn names_for(&self, folder: &Path) -> Option<PathBuf> {
        self.names.clone().or_else(|| record_source::own_names(folder))
    }

    /// Returns the edition and the results of a record (RESULTS), a table of answers, a folder of BenchKit's results (CSV
    /// and OUTPUTS), or an archive, completed by the files of the other options.
    pub fn read(&self, input: &Path) -> Result<(Edition, RunResults), Failure> {
        self.read_all(&[input.to_owned()], &BTreeMap::new(), None)
    }

    /// Returns the edition and the results of several sources, as `read` does. `replace`: as for `combine`;
    /// `certified`: the folder of `certify`, whose values are read too.
    pub fn read_all(
        &self,
        inputs: &[PathBuf],
        replace: &BTreeMap<String, String>,
        certified: Option<&Path>,
    ) -> Result<(Edition, RunResults), Failure> {
        if let Some(certified) = certified.filter(|path| !path.join(CERTIFIED_FILE).exists()) {
            let problem = if certified.is_dir() {
                format!("has no {CERTIFIED_FILE}")
            } else {
                "is not a folder".to_owned()
            };
            return Err(Failure::usage(anyhow!(
                "--certified: {} {problem}; give the folder of `certify`",
                certified.display()
            )));
        }
        let (edition, sources) = self.sources(inputs)?;
        let results = combine(&edition, sources, replace).map_err(Failure::usage)?;
        let (edition, mut results) = self.complete(edition, results)?;
        if let Some(certified) = certified {
            read_certified(&mut results, certified).map_err(Failure::usage)?;
        }
        Ok((edition, results))
    }

    /// Returns the edition and the results of each source, with the original names of instances.
    ///
    /// Without --edition, all sources must be records or archives of one edition.
    pub fn sources(&self, inputs: &[PathBuf]) -> Result<(Edition, Vec<Source>), Failure> {
        let opened = inputs.iter().map(|path| Opened::open(path)).collect::<Result<Vec<_>, _>>()?;
        Failure::if_unreadable([
            ("--models", self.models.as_ref()),
            ("--tools", self.tools.as_ref()),
            ("--names", self.names.as_ref()),
            ("--overrides", self.overrides.as_ref()),
            ("--publication", self.publication.as_ref()),
        ])?;
        let edition = match self.edition.as_deref() {
            Some(name) => Edition::load(name).map_err(Failure::usage)?,
            None => edition_of_all(&opened)?,
        };
        let only_tables = opened.len() > 1 && opened.iter().all(|opened| opened.record.is_none());
        Failure::usage_if(
            self.names.is_some() && only_tables,
            "--names is for runs on obfuscated instances, but several tables of answers have the original names; leave it out",
        )?;
        if let [only] = &opened[..]
            && mcc_archive::is_archive(&only.path)
            && ArchivePaths(&only.path).facts().is_ok_and(|facts| facts.tool.is_some())
        {
            let shown = argument(&only.given);
            note(&format!(
                "{shown} has the runs of one tool only: without the answers of others hardly any value is trusted; \
                 `mcc-harness rate {shown} --published ANSWERS` judges them together"
            ));
        }
        let mut sources = Vec::new();
        for opened in &opened {
            let mut results = self.results(&edition, opened)?;
            if opened.record.is_some()
                && let Some(publication) = mcc_archive::publication(&opened.path)?
            {
                results.publication = Some(publication);
            }
            if let (true, Some(record)) = (self.failure_classes, &opened.record) {
                results.add_failure_classes(record)?;
            }
            // A table of answers has the original names.
            let names = self.names_for(&opened.path);
            if let Some(names) = names.filter(|_| opened.record.is_some() || inputs.len() == 1) {
                source::read_names(&mut results, &names).map_err(Failure::usage)?;
            }
            if self.overrides.is_none()
                && mcc_archive::is_archive(&opened.path)
                && ArchivePaths(&opened.path).overrides().is_file()
            {
                stderr_line!(
                    "note: the archive {} has values that the organizers set; this command does not use them. To use them, \
                     take overrides.csv from it and give it with --overrides",
                    escaped(&opened.given.display().to_string())
                );
            }
            sources.push(Source { name: opened.given.display().to_string(), results });
        }
        Ok((edition, sources))
    }

    /// Completes results by the files of the other options.
    pub fn complete(
        &self,
        mut edition: Edition,
        mut results: RunResults,
    ) -> Result<(Edition, RunResults), Failure> {
        if let Some(models) = &self.models {
            source::read_models(&edition, &mut results, models).map_err(Failure::usage)?;
        }
        if let Some(tools) = &self.tools {
            for name in source::read_tools(&mut results, tools).map_err(Failure::usage)? {
                stderr_line!(
                    "note: {} is withdrawn but has no runs here; check its name in --tools",
                    escaped(&name)
                );
            }
        }
        if let Some(overrides) = &self.overrides {
            read_overrides(&edition, &mut results, overrides).map_err(Failure::usage)?;
        }
        if let Some(file) = &self.publication {
            results.publication = Publication::load(file).map_err(Failure::usage)?;
            if results.publication.is_none() {
                return Err(Failure::usage(anyhow!(
                    "{}: nothing is stated; write a table [publication] (docs/campaign.md)",
                    file.display()
                )));
            }
        }
        if let Some(votes) = self.votes {
            edition.judging.votes = votes;
        }
        Ok((edition, results))
    }

    fn results(&self, edition: &Edition, opened: &Opened) -> Result<RunResults, Failure> {
        let path = &opened.path;
        Ok(match &opened.record {
            Some(record) if self.unfinished => read_unfinished(edition, record)?,
            Some(record) => match read_record(edition, record) {
                // The runs are in the records of the jobs until they are collected.
                Err(RecordError::Unfinished { recorded, planned, .. }) if path.join("cluster").is_dir() => {
                    let shown = argument(path);
                    return Err(Failure::from(anyhow!(
                        "{recorded} of {planned} runs are collected: `mcc-harness collect {shown}` merges the records of \
                         the jobs, and `mcc-harness status {shown}` shows what is open; --unfinished judges the \
                         collected runs"
                    )));
                }
                read => read?,
            },
            None if path.is_dir() => read_results(edition, path).map_err(Failure::usage)?,
            None => source::read_answers(edition, path).map_err(Failure::usage)?,
        })
    }
}

/// A source that was opened.
struct Opened {
    /// The path that was given.
    given: PathBuf,
    /// The folder of a record or of BenchKit's results, or a table.
    path: PathBuf,
    record: Option<Record>,
    /// The folder of a packed archive's files, which is removed with this value.
    _unpacked: Option<RecordSource>,
}

impl Opened {
    fn open(given: &Path) -> Result<Self, Failure> {
        // Before the edition is required, which a path that does not exist cannot name.
        if let Err(error) = given.metadata() {
            let is_number = given.to_str().is_some_and(|name| name.parse::<u64>().is_ok());
            let hint =
                if is_number { "; a number belongs to its option after `=`: --sensitivity=N" } else { "" };
            return Err(Failure::usage(anyhow!("cannot read {}: {error}{hint}", given.display())));
        }
        if given.extension().is_some_and(|extension| extension == "toml") {
            return Err(Failure::usage(anyhow!(
                "{} is a TOML file, without results; if it is a campaign, give the folder that `run --out` wrote",
                given.display()
            )));
        }
        refuse_database(given)?;
        refuse_no_table(given)?;
        let unpacked = is_archive(given).then(|| record_source::open_part(given, &no_disk)).transpose()?;
        let path = unpacked.as_ref().map_or(given, |source| &source.folder).to_owned();
        let is_record = path.is_dir() && !is_results(&path);
        let record = is_record.then(|| Record::open_readonly(&path)).transpose().map_err(|error| match error {
            StoreError::NoRecord { .. } if path.join("judgement.json").exists() => {
                Failure::usage(anyhow!("{error}, {OTHER_INPUTS}"))
            }
            StoreError::NoRecord { .. } => Failure::usage(anyhow!(
                "{error}, {OTHER_INPUTS}; results of SV-COMP or CRV need an --edition of that contest (`mcc-harness \
                 edition list`)"
            )),
            error => Failure::usage(error),
        })?;
        Ok(Self { given: given.to_owned(), path, record, _unpacked: unpacked })
    }
}

/// Refuses a packed instance or other tar file.
fn refuse_no_table(path: &Path) -> Result<(), Failure> {
    if !path.is_file() || is_archive(path) {
        return Ok(());
    }
    let mut block = Vec::new();
    // A file that cannot be read is named when its table is read.
    let _ = published::open(path).map(|file| file.take(512).read_to_end(&mut block));
    if block.get(257..262) == Some(b"ustar") {
        return Err(Failure::usage(anyhow!(
            "{} is not a table of answers; give a record, an archive or a CSV table",
            path.display()
        )));
    }
    Ok(())
}

/// The edition of the records among the sources.
fn edition_of_all(opened: &[Opened]) -> Result<Edition, Failure> {
    let mut found: Option<(&Path, Edition)> = None;
    for Opened { given, record, .. } in opened {
        let Some(record) = record else { continue };
        let edition = edition_of(record).map_err(Failure::usage)?;
        match &found {
            None => found = Some((given, edition)),
            Some((first, known)) if *known != edition => {
                return Err(Failure::usage(anyhow!(
                    "{} has edition {} and {} has edition {}, or their settings differ; give --edition, which then counts \
                     for all sources",
                    first.display(),
                    known.name,
                    given.display(),
                    edition.name
                )));
            }
            Some(_) => {}
        }
    }
    let missing = || Failure::usage(anyhow!("a table of answers does not name its edition; give --edition"));
    found.map(|(_, edition)| edition).ok_or_else(missing)
}
