//! The commands of the program `mcc-check`: `witness` and `certificate`, which check a file (`check-witness` and
//! `check-certificate` of `mcc-harness`), and `explore`.

use crate::{
    Certificate, CheckError, Diagram, Exploration, FileError, Instance, Limits, MAX_FILE_BYTES, VERSION,
    Value, Witness, read_scn, read_trace,
};
use clap::{Parser, ValueEnum};
use mcc_base::files;
use mcc_base::text::{counted, visible};
use mcc_model::{Archive, ArchiveError, BadInstanceName, InstanceName, MODEL, NodeNames};
use serde_json::json;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Checks evidence for values of the Model Checking Contest.
#[derive(Parser)]
#[command(name = "mcc-check", version, after_help = EXIT_CODES)]
#[allow(missing_docs, reason = "the arguments have the texts of the commands")]
pub enum Command {
    Witness(WitnessArgs),
    Certificate(CertificateArgs),
    Explore(ExploreArgs),
}

const EXIT_CODES: &str = "Exit codes: 0 accepted, a bound is shown, or all values are decided; 1 refused, not checked, \
                          or a value is missing; 2 wrong usage or bad input; 70 a bug of the program.";

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people.
    #[default]
    Text,
    /// JSON for programs.
    Json,
}

/// Check that firing sequences show a value.
///
/// Fires the sequences of a witness on the net of its instance, and evaluates the value on the markings that they reach,
/// exactly. The checker shares only the readers of nets and formulas with the programs that search for witnesses. Prints
/// whether the witness is accepted, shows only a lower bound, is refused, or cannot be checked, with the reason, and exits
/// with 0 (accepted, bound) or 1. Also reads the trace that verifypn (TAPAAL) prints, and firing sequences of TINA; they
/// name no value, so give --claim (docs/evidence/README.md).
#[derive(clap::Args)]
pub struct WitnessArgs {
    /// The witness (JSON), an output of verifypn with a trace (XML), or a firing sequence of TINA (NAME.scn).
    file: PathBuf,
    #[command(flatten)]
    common: CommonArgs,
    /// What the file of another tool shows, such as ReachabilityCardinality TokenRing-PT-005-ReachabilityCardinality-03 TRUE.
    #[arg(long, num_args = 3, value_names = ["EXAMINATION", "PROPERTY", "VALUE"])]
    claim: Option<Vec<String>>,
}

/// Check that inequalities show a value.
///
/// Checks that each lemma of a certificate holds in all reachable markings, and that the lemmas exclude the markings that
/// would contradict the value, in exact arithmetic. Prints whether the certificate is accepted, shows only an upper bound,
/// is refused, or cannot be checked, with the reason, and exits with 0 (accepted, bound) or 1 (docs/evidence/README.md).
#[derive(clap::Args)]
pub struct CertificateArgs {
    /// The certificate (JSON).
    file: PathBuf,
    #[command(flatten)]
    common: CommonArgs,
}

/// Explore all reachable markings, and decide all values by the definitions of the logics.
///
/// A simple explorer. With the programs that search for evidence it shares only the readers of nets and formulas, and for
/// --diagram the order of places. Prints the value of each property that it decides within its limits
/// (docs/evidence/README.md), and exits with 1 if a value is missing.
#[derive(clap::Args)]
pub struct ExploreArgs {
    /// The archive of the instance (.tgz), or its unpacked folder.
    instance: PathBuf,
    /// Keep the markings as a decision diagram, and decide only the numbers of StateSpace and UpperBounds.
    #[arg(long)]
    diagram: bool,
    /// Longest time, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    time_s: u64,
    /// Largest memory of the unfolded net and the tables, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    memory_mib: u64,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl ExploreArgs {
    /// Explores an instance.
    ///
    /// # Errors
    /// The instance cannot be read.
    pub fn check(&self) -> Result<Checked, CommandError> {
        let instance = Instance::read(&Archive::open(&self.instance)?)?;
        let cancel = AtomicBool::new(false);
        let memory = self.memory_mib.saturating_mul(1 << 20);
        let time = Duration::from_secs(self.time_s);
        let explored = if self.diagram {
            instance.diagram(time, memory, &cancel).map(All::Diagram)
        } else {
            instance.explore(time, memory, &cancel).map(All::Markings)
        };
        let explored = match explored {
            Ok(explored) => explored,
            Err(CheckError::NotChecked(reason)) => {
                let output = match self.format {
                    Format::Text => format!("not explored: {reason}\n"),
                    Format::Json => {
                        format!("{:#}\n", json!({"markings": null, "reason": reason, "values": []}))
                    }
                };
                return Ok(Checked { is_accepted: false, output });
            }
            Err(error) => return Err(error.into()),
        };
        let mut is_accepted = true;
        let mut values = Vec::new();
        for (examination, property) in instance.questions() {
            if self.diagram && !["StateSpace", "UpperBounds"].contains(&examination.as_str()) {
                continue;
            }
            let (value, reason) = match explored.value(&examination, &property) {
                Ok(Some(value)) => (Some(value.to_string()), None),
                Ok(None) => (None, Some("the rules do not say which value is meant".to_owned())),
                Err(error) => (None, Some(error.reason())),
            };
            is_accepted &= value.is_some();
            values.push((examination, property, value, reason));
        }
        let ((size, unit), seconds) = (explored.size(), explored.elapsed().as_secs());
        let memory = explored.memory_bytes() >> 20;
        let output = match self.format {
            Format::Text => {
                let line = |(examination, property, value, reason): &(String, String, Option<String>, _)| {
                    let known =
                        value.clone().or_else(|| Some(format!("not decided: {}", Option::clone(reason)?)));
                    visible(&format!("{examination} {property} {}", known.unwrap_or_default())) + "\n"
                };
                let lines: String = values.iter().map(line).collect();
                format!("{lines}{size} {unit}, {seconds} s, {memory} MiB\n")
            }
            Format::Json => {
                let value = |(examination, property, value, reason)| json!({"examination": examination, "property": property, "value": value, "reason": reason});
                let values: Vec<_> = values.into_iter().map(value).collect();
                let cost = json!({unit: size, "seconds": seconds, "memory_mib": memory, "values": values});
                format!("{cost:#}\n")
            }
        };
        Ok(Checked { is_accepted, output })
    }
}

/// All markings, one by one or as a decision diagram.
enum All<'a> {
    Markings(Exploration<'a>),
    Diagram(Diagram<'a>),
}

impl All<'_> {
    fn value(&self, examination: &str, property: &str) -> Result<Option<Value>, CheckError> {
        match self {
            Self::Markings(all) => all.value(examination, property),
            Self::Diagram(all) => all.value(examination, property).map(Some),
        }
    }

    /// The number of its parts, and what they are.
    fn size(&self) -> (usize, &'static str) {
        match self {
            Self::Markings(all) => (all.markings(), "markings"),
            Self::Diagram(all) => (all.cells(), "cells"),
        }
    }

    fn elapsed(&self) -> Duration {
        match self {
            Self::Markings(all) => all.elapsed(),
            Self::Diagram(all) => all.elapsed(),
        }
    }

    fn memory_bytes(&self) -> u64 {
        match self {
            Self::Markings(all) => all.memory_bytes(),
            Self::Diagram(all) => all.memory_bytes(),
        }
    }
}

#[derive(clap::Args)]
struct CommonArgs {
    /// The archive of the instance (.tgz), its unpacked folder, or a folder of archives (NAME.tgz).
    #[arg(long, value_name = "DIR|ARCHIVE")]
    instances: PathBuf,
    /// Check a file without the limits of steps, bits and time for evidence of tools.
    #[arg(long)]
    no_limits: bool,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The result of a check.
pub struct Checked {
    /// Whether the file shows its value, or a bound of it.
    pub is_accepted: bool,
    /// The text for standard output, with its line end. Control characters of the file are escaped.
    pub output: String,
}

/// Why a file was not checked: wrong usage or bad input.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not in the format, or too long.
    #[error("{}: {error}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: FileError,
    },
    /// The options contradict each other.
    #[error("{0}")]
    Usage(String),
    /// The file names no instance.
    #[error(transparent)]
    Name(#[from] BadInstanceName),
    /// The archive cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The instance cannot be read.
    #[error(transparent)]
    Instance(#[from] CheckError),
}

impl WitnessArgs {
    /// Checks a witness.
    ///
    /// # Errors
    /// The options are wrong, or the file or the instance cannot be read.
    pub fn check(&self) -> Result<Checked, CommandError> {
        let text = read(&self.file)?;
        let bad = |error| CommandError::Form { path: self.file.clone(), error };
        let witness = match self.claim.as_deref() {
            None => Witness::read(&text).map_err(|error| other_kind(&text, "runs", bad(error)))?,
            Some([examination, property, value]) => {
                let archive = self.common.archive(None)?;
                let run = if self.file.extension().is_some_and(|extension| extension == "scn") {
                    read_scn(&text, &NodeNames::read(&archive, "transition", str::to_owned)?)
                } else {
                    read_trace(&text)
                };
                Witness {
                    version: VERSION,
                    instance: archive.instance.to_string(),
                    examination: examination.clone(),
                    property: property.clone(),
                    value: value.parse().map_err(CommandError::Usage)?,
                    runs: vec![run.map_err(bad)?],
                }
            }
            Some(_) => {
                let why = "--claim needs an examination, a property and a value";
                return Err(CommandError::Usage(why.to_owned()));
            }
        };
        let instance = Instance::read(&self.common.archive(Some(&witness.instance))?)?;
        let steps: usize = witness.runs.iter().map(|run| run.steps.len()).sum();
        let shown = Shown { property: &witness.property, value: &witness.value, bound: "at least" };
        let checked = instance.check_witness_within(&witness, self.common.limits());
        self.common.checked(&shown, &format!("with {}", counted(steps, "firing")), checked)
    }
}

impl CertificateArgs {
    /// Checks a certificate.
    ///
    /// # Errors
    /// The file or the instance cannot be read.
    pub fn check(&self) -> Result<Checked, CommandError> {
        let text = read(&self.file)?;
        let certificate = Certificate::read(&text)
            .map_err(|error| CommandError::Form { path: self.file.clone(), error })
            .map_err(|error| other_kind(&text, "lemmas", error))?;
        let instance = Instance::read(&self.common.archive(Some(&certificate.instance))?)?;
        let Certificate { property, value, lemmas, .. } = &certificate;
        let shown = Shown { property, value, bound: "at most" };
        let checked = instance.check_certificate_within(&certificate, self.common.limits());
        self.common.checked(&shown, &format!("with {}", counted(lemmas.len(), "lemma")), checked)
    }
}

impl CommonArgs {
    /// The archive of the instance with this name; None: the only one that is given.
    fn archive(&self, name: Option<&str>) -> Result<Archive, CommandError> {
        let given = &self.instances;
        let is_folder_of_archives = given.is_dir() && !given.join(MODEL).is_file();
        let path = match (is_folder_of_archives, name) {
            (false, _) => given.clone(),
            (true, Some(name)) => {
                // Checked, because it becomes a part of a path.
                let name: InstanceName = name.parse()?;
                let packed = given.join(format!("{name}.tgz"));
                let folder = given.join(name.as_str());
                if !packed.is_file() && !folder.exists() {
                    let why = format!("{} has neither {name}.tgz nor a folder {name}", given.display());
                    return Err(CommandError::Usage(why));
                }
                if packed.is_file() { packed } else { folder }
            }
            (true, None) => {
                let why = "with --claim, --instances needs the archive of one instance";
                return Err(CommandError::Usage(format!("{}: {why}", given.display())));
            }
        };
        Ok(Archive::open(&path)?)
    }

    fn limits(&self) -> Limits {
        if self.no_limits { Limits::NONE } else { Limits::OF_TOOLS }
    }

    fn checked(
        &self,
        shown: &Shown<'_>,
        by: &str,
        checked: Result<(), CheckError>,
    ) -> Result<Checked, CommandError> {
        let (verdict, reason) = match checked {
            Ok(()) if shown.is_bound_only() => ("bound only", None),
            Ok(()) => ("accepted", None),
            Err(CheckError::Refused(refusal)) => ("refused", Some(refusal.to_string())),
            Err(CheckError::NotChecked(reason)) if self.no_limits => ("not checked", Some(reason)),
            Err(CheckError::NotChecked(reason)) => {
                ("not checked", Some(format!("{reason}; --no-limits checks it without limits of effort")))
            }
            Err(error) => return Err(error.into()),
        };
        let Shown { property, value, .. } = shown;
        let is_accepted = reason.is_none();
        let output = match self.format {
            Format::Text => visible(&match &reason {
                None => format!("{verdict}: {property} is {} {by}", shown.what()),
                Some(reason) => format!("{verdict}: {property} {value} {by}: {reason}"),
            }),
            Format::Json => {
                let what = is_accepted.then(|| shown.what());
                let result =
                    json!({"accepted": is_accepted, "verdict": verdict, "shows": what, "reason": reason});
                format!("{result:#}")
            }
        };
        Ok(Checked { is_accepted, output: output + "\n" })
    }
}

/// What a file states.
struct Shown<'a> {
    property: &'a str,
    value: &'a Value,
    /// What a file of its kind shows about a number: `at least`, `at most`.
    bound: &'static str,
}

impl Shown<'_> {
    /// Whether the file can show a bound of the value only.
    fn is_bound_only(&self) -> bool {
        matches!(self.value, Value::Number(_))
    }

    /// The value, or the bound.
    fn what(&self) -> String {
        if self.is_bound_only() { format!("{} {}", self.bound, self.value) } else { self.value.to_string() }
    }
}

/// Says so if a file without the key `own` is of another kind; otherwise returns `error`.
fn other_kind(text: &str, own: &str, error: CommandError) -> CommandError {
    const KINDS: [(&str, &str); 3] = [
        ("runs", "a witness, which `check-witness` (`mcc-check witness`) checks"),
        ("lemmas", "a certificate, which `check-certificate` (`mcc-check certificate`) checks"),
        (
            "complete",
            "a report on an exploration, which no command checks; `mcc-check explore INSTANCE` explores again",
        ),
    ];
    let Ok(serde_json::Value::Object(file)) = serde_json::from_str(text) else { return error };
    let other = KINDS.iter().find(|(key, _)| !file.contains_key(own) && file.contains_key(*key));
    match (other, error) {
        (Some((_, what)), CommandError::Form { path, .. }) => {
            CommandError::Usage(format!("{}: this is {what}", path.display()))
        }
        (None, CommandError::Form { path, .. }) if !file.contains_key(own) => {
            let own_kind = if own == "runs" { "witness" } else { "certificate" };
            CommandError::Usage(format!(
                "{}: this is not a {own_kind}: it has no `{own}`; see docs/evidence/README.md",
                path.display()
            ))
        }
        (_, error) => error,
    }
}

fn read(path: &Path) -> Result<String, CommandError> {
    let unreadable = |source| CommandError::Read { path: path.to_owned(), source };
    let mut file = files::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.len() > MAX_FILE_BYTES {
        return Err(CommandError::Form { path: path.to_owned(), error: FileError::TooLong });
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}
