use super::judge_inputs::JudgeInputs;
use super::record_source::failure;
use super::{Exit, Failure, print};
use crate::archive::{self, ArchiveInputs};
use anyhow::{Context, anyhow};
use mcc_benchkit::contest_table::Form;
use mcc_campaign::{Campaign, JobFileOptions, Kind, Plan};
use mcc_edition::Edition;
use mcc_judge::contest_table::{Cores, Layout, export};
use mcc_judge::{mcc, oracle};
use mcc_store::Record;
use std::path::{Path, PathBuf};

/// Write results for others: an archive, the contest's table, BenchKit's summary and job files, oracle files.
///
/// --archive writes all of a record and its judgement to one file that `verify` and `replay` read and that opens without
/// mcc-harness (docs/archive.md); with --tool, one team's private bundle (P-1).
/// --csv writes the contest's 17 columns with every digit, and FILE's models, tools and overrides beside it: judged again
/// with them it gives the same judgement, but for property ids, remarks and values given twice, which have no column. A
/// resigned entry is in none of the files (P-4).
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub struct Args {
    /// The folder of a record (RESULTS), a table of answers, or a folder of BenchKit's results (CSV and OUTPUTS).
    input: PathBuf,
    #[command(flatten)]
    inputs: JudgeInputs,
    /// The contest's raw-result-analysis.csv.
    #[arg(long, value_name = "FILE", group = "what")]
    csv: Option<PathBuf>,
    /// One file (.tar.zst) with record, outputs, judgement, rules and digests.
    #[arg(long, value_name = "FILE", group = "what")]
    archive: Option<PathBuf>,
    /// With --archive: the disks the machines saw too (T-8, E-5.6), from where the record says they lay.
    #[arg(long, requires = "archive", conflicts_with = "tool")]
    with_disks: bool,
    /// With --with-disks: a disk, or a folder with some, that lies elsewhere now; may be given several times.
    #[arg(long, value_name = "FILE|FOLDER", requires = "with_disks")]
    disk: Vec<PathBuf>,
    /// With --archive: only this tool's runs, outputs and values, and why values were lost.
    #[arg(long, value_name = "T", requires = "archive")]
    tool: Option<String>,
    /// With --csv: numbers and words as the contest writes them. It rounds to 5 digits, so it may judge otherwise.
    #[arg(long, alias = "contest-form", requires = "csv")]
    contest_rounding: bool,
    /// The summary of a host, as BenchKit writes it.
    #[arg(long, value_name = "FILE", group = "what")]
    summary: Option<PathBuf>,
    /// Folder that gets INSTANCE-EXAMINATION.out, the trusted values in the form of the answer protocol.
    #[arg(long, value_name = "FOLDER", group = "what")]
    oracle: Option<PathBuf>,
    /// BenchKit's job file of a campaign: the input is then campaign.toml.
    #[arg(long, value_name = "FILE", group = "what")]
    bkjobs: Option<PathBuf>,
    /// With --bkjobs: only the entries of this kind; a job file has one number of cores.
    #[arg(long, value_name = "KIND", requires = "bkjobs", value_parser = ["sequential", "concurrent"])]
    kind: Option<String>,
    /// With --bkjobs: the host that executes the job file and the login there, which is also the login in the
    /// machines.
    #[arg(
        long,
        alias = "at",
        value_name = "LOGIN@HOST",
        requires = "bkjobs",
        default_value = "mcc@localhost"
    )]
    login: String,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    if let Some(out) = &args.bkjobs {
        return job_file(&args, out);
    }
    if let Some(out) = &args.archive {
        return archive(&args, out);
    }
    let (edition, ballots) = args.inputs.read(&args.input)?;
    if let Some(folder) = &args.oracle {
        let judge = mcc::Judge::new(&edition, ballots).map_err(Failure::usage)?;
        let written = oracle::write(&judge, folder)?;
        print::text(&format!("{}: {written} files\n", folder.display()))?;
        return Ok(Exit::Done);
    }
    let form = if args.contest_rounding { Form::Contest } else { Form::Exact };
    let (layout, out) = match (&args.csv, &args.summary) {
        (Some(out), _) => (Layout::Results(form), out),
        (None, Some(out)) => (Layout::Summary, out),
        (None, None) => return Err(Failure::usage(anyhow!("say what to write: --csv FILE"))),
    };
    let cores = cores(&args.input)?;
    let written = export(&edition, ballots, &cores, layout, out)?;
    let paths: Vec<String> = written.paths.iter().map(|path| path.display().to_string()).collect();
    print::text(&format!("{}: {} rows\n", paths.join(", "), written.rows))?;
    Ok(Exit::Done)
}

/// How many cores the entries of a record have; a table does not say.
fn cores(input: &Path) -> Result<Cores, Failure> {
    if !input.join("record.db").exists() {
        return Ok(Cores::new());
    }
    let record = Record::open_readonly(input).map_err(Failure::usage)?;
    archive::cores(&record).map_err(failure)
}

fn archive(args: &Args, out: &Path) -> Result<Exit, Failure> {
    let record = Record::open_readonly(&args.input).map_err(Failure::usage)?;
    let (edition, ballots) = args.inputs.read(&args.input)?;
    let staged = tempfile::Builder::new().prefix("mcc-archive-").tempdir()?;
    let mut files = Vec::new();
    match &args.tool {
        Some(tool) => archive::bundle(&record, &edition, ballots, tool, staged.path()).map_err(failure)?,
        None => {
            let mut disks = Vec::new();
            if args.with_disks {
                let stays = archive::judged_entries(&edition, ballots.clone()).map_err(failure)?;
                for (disk, path) in archive::disks_of(&record, &stays, &args.disk).map_err(failure)? {
                    files.push((disk.sha256.clone(), path));
                    disks.push(disk);
                }
            }
            let (names, overrides) = (args.inputs.names.as_deref(), args.inputs.overrides.as_deref());
            let given = ArchiveInputs { names, overrides, disks };
            archive::stage(&record, &edition, ballots, given, staged.path()).map_err(failure)?;
        }
    }
    archive::pack(staged.path(), &files, out).map_err(failure)?;
    let bytes = out.metadata()?.len();
    print::text(&format!("{}: {bytes} bytes, {} disks\n", out.display(), files.len()))?;
    Ok(Exit::Done)
}

fn job_file(args: &Args, out: &Path) -> Result<Exit, Failure> {
    let campaign = Campaign::load(&args.input).map_err(Failure::usage)?;
    let edition = Edition::load(&campaign.edition).map_err(Failure::usage)?;
    let effective = campaign.effective(&edition);
    let instances = campaign.instance_facts(&effective, |_| {}).map_err(Failure::usage)?;
    let plan = Plan::new(&campaign, &effective, &instances).map_err(Failure::usage)?;
    let bad = || Failure::usage(anyhow!("--login {}: write LOGIN@HOST", args.login));
    let (login, host) = args.login.split_once('@').ok_or_else(bad)?;
    let benchmark = out.file_stem().unwrap_or_default().to_string_lossy();
    let kind = args.kind.as_deref().map(|word| match word {
        "sequential" => Kind::Sequential,
        _ => Kind::Concurrent,
    });
    let options = JobFileOptions { benchmark: &benchmark, login, host, kind };
    let file = campaign.job_file(&effective, &plan, &options).map_err(Failure::usage)?;
    let text = file.write().map_err(Failure::usage)?;
    print::file(out, &text).with_context(|| format!("cannot write {}", out.display()))?;
    print::text(&format!("{}: {} runs\n", out.display(), file.jobs.len()))?;
    Ok(Exit::Done)
}
