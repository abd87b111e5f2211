use super::{Exit, Failure, print};
use anyhow::{Context, anyhow};
use mcc_base::text::counted;
use mcc_certify::{Budget, Claim, convert_proof};
use mcc_model::Archive;
use std::fs::File;
use std::io::Write;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Make a certificate from an invariant that SMPT exported.
///
/// Reads the invariant (the function `cert`) from a file that SMPT wrote with --export-proof. Proves that it holds in all
/// reachable markings, and that no marking in which it holds contradicts the claim. Then writes a certificate that
/// check-certificate accepts. Exits with 1 if no proof was found. Only formulas of reachability
/// on P/T nets are supported (docs/evidence/README.md#files-of-other-tools).
#[derive(clap::Args)]
pub struct Args {
    /// The file of SMPT (SMT-LIB 2).
    file: PathBuf,
    /// The archive of the instance (.tgz), or its unpacked folder.
    #[arg(long, value_name = "ARCHIVE")]
    instance: PathBuf,
    /// What the invariant shows, such as ReachabilityCardinality TokenRing-PT-005-ReachabilityCardinality-03 TRUE.
    #[arg(long, num_args = 3, value_names = ["EXAMINATION", "PROPERTY", "VALUE"], required = true)]
    claim: Vec<String>,
    /// The file for the certificate. It must not exist.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Seconds for the proofs.
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    time_s: NonZero<u32>,
    /// Memory for the net, in MiB.
    #[arg(long, value_name = "M", default_value = "2048")]
    memory_mib: NonZero<u32>,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let [examination, property, value] = args.claim.as_slice() else {
        return Err(Failure::usage(anyhow!("--claim needs an examination, a property and a value")));
    };
    let value = match value.as_str() {
        "TRUE" => true,
        "FALSE" => false,
        other => return Err(Failure::usage(anyhow!("--claim: \"{other}\" is not TRUE or FALSE"))),
    };
    let file = args.file.display();
    let text = mcc_base::text::read(&args.file)
        .with_context(|| format!("{file}: cannot be read; give a file of text"))
        .map_err(Failure::usage)?;
    let archive = Archive::open(&args.instance).map_err(Failure::usage)?;
    let cancel = AtomicBool::new(false);
    let budget = Budget {
        steps: u64::MAX,
        time: Duration::from_secs(args.time_s.get().into()),
        memory_bytes: u64::from(args.memory_mib.get()) << 20,
        cancel: &cancel,
    };
    let claim = Claim { examination, property, value };
    let certificate = convert_proof(&archive, &text, claim, &budget);
    let certificate = certificate.with_context(|| file.to_string())?;
    let out = args.out.display();
    let content = serde_json::to_string(&certificate).context("the certificate cannot be written as JSON")?;
    let written = File::create_new(&args.out).and_then(|mut to| to.write_all((content + "\n").as_bytes()));
    written.with_context(|| format!("{out}: cannot be written; give a new file")).map_err(Failure::usage)?;
    print::text(&format!("{out}: certificate with {}\n", counted(certificate.lemmas.len(), "lemma")))?;
    Ok(Exit::Done)
}
