//! The commands `check-witness` and `check-certificate`.

use super::{Exit, Failure, Format, print};
use crate::certification::read_trace;
use anyhow::{Context, anyhow};
use mcc_checker::{Certificate, CheckError, Instance, LARGEST_FILE, VERSION, Witness};
use mcc_model::{Archive, InstanceName, MODEL};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Check that firing sequences show a value.
///
/// Replays the runs of a witness on the net of its instance and evaluates the value on their markings, exactly and without
/// the programs that search for witnesses. Prints whether the witness is accepted, or the reason why not, and exits with 0
/// or 1. Also reads the trace that verifypn (TAPAAL) prints; it names no value, so give --claim (docs/certificates.md).
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
/// would contradict the value, in exact arithmetic. Prints whether the certificate is accepted, or the reason why not, and
/// exits with 0 or 1 (docs/certificates.md).
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
    let shown = format!("{} {} with {steps} firings", witness.property, witness.value);
    args.common.show(&shown, instance.check_witness(&witness))
}

pub fn certificate(args: CertificateArgs) -> Result<Exit, Failure> {
    let text = read(&args.file)?;
    let certificate = Certificate::read(&text)
        .map_err(|error| Failure::usage(anyhow!("{}: {error}", args.file.display())))?;
    let archive = args.common.archive(Some(&certificate.instance))?;
    let instance = Instance::read(&archive).map_err(Failure::usage)?;
    let Certificate { property, value, lemmas, .. } = &certificate;
    let shown = format!("{property} {value} with {} lemmas", lemmas.len());
    args.common.show(&shown, instance.check_certificate(&certificate))
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

    fn show(&self, shown: &str, checked: Result<(), CheckError>) -> Result<Exit, Failure> {
        let reason = match checked {
            Ok(()) => None,
            Err(CheckError::Refused(refusal)) => Some(refusal.to_string()),
            Err(error) => return Err(Failure::usage(error)),
        };
        let text = match &reason {
            None => format!("accepted: {shown}\n"),
            Some(reason) => format!("refused: {shown}: {reason}\n"),
        };
        let result = json!({"accepted": reason.is_none(), "reason": reason});
        print::result(self.format, &result, || print::text(&text))?;
        Ok(if reason.is_none() { Exit::Done } else { Exit::Failed })
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
