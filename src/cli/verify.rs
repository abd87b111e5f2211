use super::judge_inputs::JudgeInputs;
use super::record_source::{named_by_archive, open, refuse_no_archive};
use super::{Exit, Failure, Format, print};
use anyhow::anyhow;
use mcc_archive::{Verified, is_archive};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What reading certified values does not show.
const EVIDENCE: &str = "that the evidence shows the certified values: it was compared with them, not checked against the nets (`mcc-check` checks it)";

/// Check that a record or a published archive is complete and agrees with its raw outputs.
///
/// Compares the digests of all files and looks for missing runs and outputs. For an archive, computes every answer,
/// trusted value and point again from the raw outputs. Lists each difference by run, file or line, and what is
/// proved or not proved. Exits with 1 if there is a difference.
#[derive(clap::Args)]
pub struct Args {
    /// The folder of a record (RESULTS), an archive (`export --archive`), or the folder of an unpacked one.
    input: PathBuf,
    /// For a record: the folder of the judgement (`judge --out`) to compute again. Give also the options with which it
    /// was made, such as --models or --certified.
    #[arg(long, value_name = "DIR")]
    judgement: Option<PathBuf>,
    /// With --judgement: the folder of certified values with which it was made. Their evidence is compared with
    /// them, but not checked against the nets.
    #[arg(long, value_name = "DIR", requires = "judgement", conflicts_with = "allowed_signers")]
    certified: Option<PathBuf>,
    #[command(flatten)]
    inputs: JudgeInputs,
    /// For an archive: a file with the people whose signature is accepted, and their SSH keys (ALLOWED SIGNERS in
    /// ssh-keygen(1)). An archive without a valid signature of one of them is a failure.
    #[arg(long, value_name = "FILE", conflicts_with = "judgement")]
    allowed_signers: Option<PathBuf>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    if args.input.join("judgement.json").exists() {
        return Err(Failure::usage(anyhow!(
            "{} is a judgement, which has no raw outputs; give its record, and this folder with --judgement",
            args.input.display()
        )));
    }
    refuse_no_archive(&args.input)?;
    Failure::if_unreadable([("--allowed-signers", args.allowed_signers.as_ref())])?;
    let record_source = open(&args.input)?;
    if args.judgement.is_some() && is_archive(&record_source.folder) {
        return Err(Failure::usage(anyhow!(
            "--judgement is for a record, and {} is an archive, which is judged as it was published; omit --judgement",
            args.input.display()
        )));
    }
    if args.allowed_signers.is_some() && !is_archive(&record_source.folder) {
        return Err(Failure::usage(anyhow!(
            "{} is a record, which has no signature; give an archive (`export --archive`)",
            args.input.display()
        )));
    }
    let is_signed_folder = args.allowed_signers.is_some() && args.input.is_dir();
    let own = is_signed_folder.then(|| mcc_archive::own_folder(&args.input)).transpose()?;
    let folder = own.as_deref().unwrap_or(&record_source.folder);
    let mut verified = mcc_archive::verify(folder, args.allowed_signers.as_deref())?;
    if let Some(judgement) = &args.judgement {
        if !judgement.join("judgement.json").is_file() {
            let dir = judgement.display();
            return Err(Failure::usage(anyhow!(
                "{dir} is not a judgement; give the folder of `judge --out`"
            )));
        }
        let folder = std::slice::from_ref(&record_source.folder);
        match args.inputs.read_all(folder, &BTreeMap::new(), args.certified.as_deref()) {
            Ok((edition, results)) => {
                if let Err(error) = verified.recompute(&edition, results, judgement, true) {
                    if verified.differences.is_empty() {
                        return Err(error.into());
                    }
                    let what = format!("could not be judged again: {error}");
                    verified.differs(args.input.display().to_string(), what);
                }
                if args.certified.is_some() {
                    verified.not_proved.push(EVIDENCE.to_owned());
                }
            }
            Err(Failure { error, .. }) if !verified.differences.is_empty() => {
                let what = format!("could not be judged again: {}", print::error(&error));
                verified.differs(args.input.display().to_string(), what);
            }
            Err(failure) => return Err(failure),
        }
    }
    for difference in &mut verified.differences {
        difference.place = named_by_archive(&difference.place);
        difference.what = named_by_archive(&difference.what);
    }
    print::result(args.format, &verified, || print::text(&text(&verified, &record_source.folder)))?;
    if args.allowed_signers.is_none() && record_source.folder.join("SHA256SUMS.sig").exists() {
        stderr_line!("note: the archive is signed; to check who signed it, give --allowed-signers FILE");
    }
    Ok(if verified.differences.is_empty() { Exit::Done } else { Exit::Failed })
}

/// `folder`: the verified record or unpacked archive.
fn text(verified: &Verified, folder: &Path) -> String {
    let Verified { files, runs, recomputed, signer, proved, not_proved, failed, differences, more, .. } =
        verified;
    let mut text = String::new();
    for difference in differences {
        text += &format!("{} {}\n", difference.place, difference.what);
    }
    if *more > 0 {
        text += &format!("further differences that are not listed: {more}\n");
    }
    for statement in proved {
        text += &format!("proved: {statement}\n");
    }
    for statement in not_proved {
        let word = if failed.contains(statement) { "failed" } else { "not proved" };
        text += &format!("{word}: {statement}\n");
    }
    let points = if *recomputed {
        "all points computed again"
    } else if !is_archive(folder) {
        "points not computed again (--judgement does this)"
    } else if folder.join("judgement").is_dir() {
        "points not computed again"
    } else {
        "points not computed again: the archive of one team has no answers of others; values.csv in it has the verdicts"
    };
    if let Some(signer) = signer {
        text += &format!("signed by {signer}\n");
    }
    let verdict = match differences.len() {
        0 => "complete",
        _ if verified.differs_in_signer_only() => "complete, but not signed by an accepted signer",
        _ => "INCOMPLETE OR CHANGED",
    };
    text + &format!("{verdict}; runs: {runs}; digests compared: {files}; {points}\n")
}
