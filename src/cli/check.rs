//! The commands `check-witness` and `check-certificate`.

use super::{Exit, Failure, Format, print};
use anyhow::{Context, anyhow};
use mcc_certify::command::read_trace;
use mcc_checker::{Certificate, CheckError, Instance, LARGEST_FILE, Limits, VERSION, Value, Witness};
use mcc_model::{Archive, InstanceName, MODEL};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Check that firing sequences show a value.
///
/// Replays the runs of a witness on the net of its instance and evaluates the value on their markings, exactly and without
/// the programs that search for witnesses. Prints whether the witness is accepted, shows only a lower bound, is refused,
/// or cannot be checked, with the reason, and exits with 0 (accepted, bound) or 1. Also reads the trace that verifypn
/// (TAPAAL) prints; it names no value, so give --claim (docs/evidence/README.md).
#[derive(clap::Args)]
pub struct WitnessArgs {
    /// The witness (JSON), or an output of verifypn with a trace (XML).
    file: PathBuf,
    #[command(flatten)]
    common: CommonArgs,
    /// What a trace of verifypn shows, such as ReachabilityCardinality TokenRing-PT-005-ReachabilityCardinality-03 TRUE.
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

#[derive(clap::Args)]
struct CommonArgs {
    /// The archive of the instance (.tgz), its unpacked folder, or a folder of archives (NAME.tgz).
    #[arg(long, value_name = "DIR|ARCHIVE")]
    instances: PathBuf,
    /// Check a file of any size: without the limits of steps, bits and time for evidence of tools.
    #[arg(long)]
    no_limits: bool,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn witness(args: WitnessArgs) -> Result<Exit, Failure> {
    let text = read(&args.file)?;
    let bad = |error| Failure::usage(anyhow!("{}: {error}", args.file.display()));
    let witness = match args.claim.as_deref() {
        None => Witness::read(&text).map_err(bad)?,
        Some([examination, property, value]) => Witness {
            version: VERSION,
            instance: args.common.archive(None)?.instance.to_string(),
            examination: examination.clone(),
            property: property.clone(),
            value: value.parse().map_err(|error: String| Failure::usage(anyhow!(error)))?,
            runs: vec![read_trace(&text).map_err(bad)?],
        },
        Some(_) => {
            return Err(Failure::usage(anyhow!("--claim needs an examination, a property and a value")));
        }
    };
    let archive = args.common.archive(Some(&witness.instance))?;
    let steps: usize = witness.runs.iter().map(|run| run.steps.len()).sum();
    let instance = Instance::read(&archive).map_err(Failure::usage)?;
    let shown = Shown { property: &witness.property, value: &witness.value, bound: "at least" };
    let by = format!("with {steps} firings");
    args.common.show(&shown, &by, instance.check_witness_within(&witness, args.common.limits()))
}

pub fn certificate(args: CertificateArgs) -> Result<Exit, Failure> {
    let text = read(&args.file)?;
    let certificate = Certificate::read(&text)
        .map_err(|error| Failure::usage(anyhow!("{}: {error}", args.file.display())))?;
    let archive = args.common.archive(Some(&certificate.instance))?;
    let instance = Instance::read(&archive).map_err(Failure::usage)?;
    let Certificate { property, value, lemmas, .. } = &certificate;
    let shown = Shown { property, value, bound: "at most" };
    let by = format!("with {} lemmas", lemmas.len());
    args.common.show(&shown, &by, instance.check_certificate_within(&certificate, args.common.limits()))
}

impl CommonArgs {
    /// The archive of the instance with this name; None: the only one that is given.
    fn archive(&self, name: Option<&str>) -> Result<Archive, Failure> {
        let given = &self.instances;
        let is_folder_of_archives = given.is_dir() && !given.join(MODEL).is_file();
        let path = match (is_folder_of_archives, name) {
            (false, _) => given.clone(),
            (true, Some(name)) => {
                // Checked, because it becomes a part of a path.
                let name: InstanceName = name.parse().map_err(Failure::usage)?;
                let packed = given.join(format!("{name}.tgz"));
                if packed.is_file() { packed } else { given.join(name.as_str()) }
            }
            (true, None) => {
                let why = "with --claim, --instances needs the archive of one instance";
                return Err(Failure::usage(anyhow!("{}: {why}", given.display())));
            }
        };
        Archive::open(&path).map_err(Failure::usage)
    }

    fn limits(&self) -> Limits {
        if self.no_limits { Limits::NONE } else { Limits::OF_TOOLS }
    }

    fn show(&self, shown: &Shown, by: &str, checked: Result<(), CheckError>) -> Result<Exit, Failure> {
        let (verdict, reason) = match checked {
            Ok(()) if shown.is_bound_only() => ("bound only", None),
            Ok(()) => ("accepted", None),
            Err(CheckError::Refused(refusal)) => ("refused", Some(refusal.to_string())),
            Err(CheckError::NotChecked(reason)) if self.no_limits => ("not checked", Some(reason)),
            Err(CheckError::NotChecked(reason)) => {
                ("not checked", Some(format!("{reason}; --no-limits checks it without limits of effort")))
            }
            Err(error) => return Err(Failure::usage(error)),
        };
        let Shown { property, value, .. } = shown;
        let text = match &reason {
            None => format!("{verdict}: {property} is {} {by}\n", shown.what()),
            Some(reason) => format!("{verdict}: {property} {value} {by}: {reason}\n"),
        };
        let accepted = reason.is_none();
        let what = accepted.then(|| shown.what());
        let result = json!({"accepted": accepted, "verdict": verdict, "shows": what, "reason": reason});
        print::result(self.format, &result, || print::text(&text))?;
        Ok(if accepted { Exit::Done } else { Exit::Failed })
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

fn read(path: &Path) -> Result<String, Failure> {
    let shown = || format!("{}: cannot be read; give a file of text", path.display());
    let length = fs::metadata(path).with_context(shown).map_err(Failure::usage)?.len();
    if length > LARGEST_FILE {
        return Err(Failure::usage(anyhow!("{}: longer than {LARGEST_FILE} bytes", path.display())));
    }
    fs::read_to_string(path).with_context(shown).map_err(Failure::usage)
}
