use super::outputs::refuse_inputs;
use super::record_source::{is_archive as is_archive_file, name_by_archive};
use super::terminal::{WARNING, argument, message, next};
use super::{Exit, Failure, print};
use anyhow::{Context, anyhow};
use mcc_campaign::CampaignFromJobFile;
use mcc_campaign::benchkit::JobFile;
use mcc_edition::Edition;
use mcc_runner::{ImportSource, MissingFile, import};
use std::path::{Path, PathBuf};

/// Make a campaign from an archive, or from a BenchKit job file (.bkjobs).
///
/// From an archive, makes a new folder with campaign.toml, edition, images and inputs, for `plan`, `run`, `submit` and
/// `judge --compare`. The archive is verified first. Disks that it lacks are looked for in --disk; those that
/// are not found are listed with their digests, and the exit code is 1.
///
/// From a job file, writes a campaign file with its tools, images, instances, examinations and limits. BenchKit's other
/// files need no import: `judge` and `export` read raw-result-analysis.csv and a folder of results directly.
#[derive(clap::Args)]
pub struct Args {
    /// An archive (`export --archive`), the folder of an unpacked one, or a BenchKit job file.
    input: PathBuf,
    /// The campaign: for an archive a new or empty folder, for a job file a campaign file, which is replaced.
    #[arg(long, value_name = "FOLDER|FILE")]
    out: PathBuf,
    /// For an archive: a disk, kernel or initrd that it does not have, or a folder with such files (three levels are
    /// searched). Only files with the recorded digest are used. May be repeated.
    #[arg(long, value_name = "FILE|FOLDER", conflicts_with_all = ["edition", "inputs"])]
    disk: Vec<PathBuf>,
    /// For an archive without the inputs disk: folder of instance archives (NAME.tgz).
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["edition", "inputs"])]
    instances: Option<PathBuf>,
    /// For an archive: who may have signed it, as for `verify`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["edition", "inputs"])]
    allowed_signers: Option<PathBuf>,
    /// For a job file: the rules, as the name of an edition or the path of an edition file.
    #[arg(long, value_name = "NAME|FILE")]
    edition: Option<String>,
    /// For a job file: folder of instance archives or an inputs disk, as written to the campaign.
    #[arg(long, value_name = "FOLDER")]
    inputs: Option<PathBuf>,
}

/// Missing files that are listed; README.txt in the folder has all.
const MAX_SHOWN: usize = 12;

pub fn run(args: Args) -> Result<Exit, Failure> {
    let shown = args.input.display();
    args.input.metadata().with_context(|| shown.to_string()).map_err(Failure::usage)?;
    match (&args.edition, &args.inputs) {
        (None, None) if is_archive(&args.input) => from_archive(&args),
        _ if is_archive(&args.input) => Err(Failure::usage(anyhow!(
            "{shown}: an archive has its edition and inputs; omit --edition and --inputs"
        ))),
        _ if args.input.join("record.db").exists() => Err(Failure::usage(anyhow!(
            "{shown} is a record; `mcc-harness export {} --archive FILE` makes an archive of it",
            argument(&args.input)
        ))),
        (Some(edition), Some(inputs)) => from_job_file(&args, edition, inputs),
        _ => Err(Failure::usage(anyhow!(
            "{shown} is not an archive (.tar.zst, from `export --archive`); if it is a BenchKit job file, give --edition and \
             --inputs"
        ))),
    }
}

/// Whether a path is an archive, packed or unpacked.
fn is_archive(path: &Path) -> bool {
    is_archive_file(path) || mcc_archive::is_archive(path)
}

/// Refuses an archive or a folder where a campaign file is expected.
pub fn refuse_no_campaign(campaign: &Path) -> Result<(), Failure> {
    if !is_archive(campaign) {
        if campaign.is_dir() {
            let shown = campaign.display();
            return Err(Failure::usage(anyhow!(
                "{shown} is a folder; give the campaign file (campaign.toml)"
            )));
        }
        return Ok(());
    }
    Err(Failure::usage(anyhow!(
        "{shown} is an archive, not a campaign file: `mcc-harness import {shown} --out FOLDER` makes its campaign, \
         FOLDER/campaign.toml",
        shown = campaign.display()
    )))
}

/// Refuses an archive where `certify` expects the folder of a judgement.
pub fn refuse_archive_to_certify(judgement: &Path) -> Result<(), Failure> {
    if !is_archive(judgement) {
        return Ok(());
    }
    Err(Failure::usage(anyhow!(
        "{shown} is an archive, not the folder of a judgement: `mcc-harness judge {shown} --out judged` writes one; for \
         --instances, `mcc-harness import {shown} --out FOLDER` puts the instances into FOLDER/inputs",
        shown = judgement.display()
    )))
}

fn from_archive(args: &Args) -> Result<Exit, Failure> {
    refuse_inputs(&[], [args.out.clone()])?;
    let disks = args.disk.iter().map(|path| ("--disk", Some(path)));
    let others =
        [("--instances", args.instances.as_ref()), ("--allowed-signers", args.allowed_signers.as_ref())];
    Failure::if_unreadable(disks.chain(others))?;
    let source = ImportSource {
        archive: &args.input,
        disks: &args.disk,
        instances: args.instances.as_deref(),
        allowed_signers: args.allowed_signers.as_deref(),
        show: &|step| stderr_line!("import: {step}"),
        unpacked: &|folder| name_by_archive(folder, &args.input),
    };
    let imported = import(&source, &args.out)?;
    let out = args.out.display();
    print::text(&format!("{out} (entries: {}, instances: {})\n", imported.entries, imported.instances))?;
    let missing = &imported.missing;
    for MissingFile { path, what, sha256 } in missing.iter().take(MAX_SHOWN) {
        let sha256 = sha256.as_ref().map_or(String::new(), |sha256| format!(", sha256 {sha256}"));
        message("missing", WARNING, &format!("{out}/{path}: {what}{sha256}"));
    }
    if missing.is_empty() {
        next(&format!(
            "`mcc-harness plan {}` shows the runs; {out}/README.txt has all steps",
            argument(args.out.join("campaign.toml"))
        ));
        return Ok(Exit::Done);
    }
    if missing.len() > MAX_SHOWN {
        stderr_line!("import: further missing files: {}", missing.len() - MAX_SHOWN);
    }
    stderr_line!(
        "import: the campaign can run when these files are in their places; {out}/README.txt lists them. Or give them with \
         --disk and --instances, and a new --out"
    );
    Ok(Exit::Failed)
}

fn from_job_file(args: &Args, edition: &str, inputs: &Path) -> Result<Exit, Failure> {
    refuse_inputs(&[args.input.clone(), PathBuf::from(edition), inputs.to_owned()], [args.out.clone()])?;
    let rules = Edition::load(edition).map_err(Failure::usage)?;
    let shown = args.input.display().to_string();
    let text = mcc_base::text::read(&args.input).with_context(|| shown.clone()).map_err(Failure::usage)?;
    let file = JobFile::read(&text).with_context(|| shown.clone()).map_err(Failure::usage)?;
    let converted =
        CampaignFromJobFile::new(&file, edition, &rules, inputs).context(shown).map_err(Failure::usage)?;
    print::file(&args.out, &converted.text)?;
    print::text(&format!("{} (runs: {})\n", args.out.display(), file.jobs.len() + converted.added.len()))?;
    next(&format!("`mcc-harness plan {}` shows the runs", argument(&args.out)));
    if !converted.added.is_empty() {
        let added = converted.added.len();
        stderr_line!(
            "note: a campaign runs every tool on every instance; runs that the job file does not have: {added}"
        );
        for run in converted.added.iter().take(10) {
            stderr_line!("  {}", print::escaped(run));
        }
    }
    Ok(Exit::Done)
}
