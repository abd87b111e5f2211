use super::judge_inputs::JudgeInputs;
use super::outputs::refuse_inputs;
use super::qualify::KINDS;
use super::record_source::{no_disk, open_part};
use super::terminal::{argument, next, note};
use super::{Exit, Failure, print, word_of};
use anyhow::anyhow;
use mcc_archive::ArchiveInputs;
use mcc_base::temporary;
use mcc_campaign::benchkit::contest_table::Form;
use mcc_campaign::{Campaign, JobFileOptions, Kind, Plan};
use mcc_edition::{Edition, Status};
use mcc_judge::contest_table::{Cores, Layout, export};
use mcc_judge::failures::FailureReader;
use mcc_judge::record::edition_of;
use mcc_judge::shared::field;
use mcc_judge::{mcc, oracle};
use mcc_store::{Record, RunRecord};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What an option cannot be used with although it requires --archive, --csv or --bkjobs: clap does not require what excludes
/// another given option.
const NO_ARCHIVE: [&str; 5] = ["csv", "summary", "oracle", "classes", "bkjobs"];
const NO_CSV: [&str; 5] = ["archive", "summary", "oracle", "classes", "bkjobs"];
const NO_JOB_FILE: [&str; 5] = ["archive", "csv", "summary", "oracle", "classes"];

/// Write an archive, the contest's table, BenchKit's summary and job files, or oracle files.
///
/// --archive writes a record and its judgement to one file for `verify` and `replay` (docs/archive.md); with --tool, an
/// archive for the authors of one tool, with its runs only (P-1).
/// --csv writes the contest's 17 columns with all digits, and the tables of models, tools and overrides beside FILE.
/// Judging these files gives the same judgement, except for property ids, anomalies, repeated values, times of
/// arrival and instructions, which have no column. A resigned entry is in none of the files (P-4).
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub struct Args {
    /// The folder of a record (RESULTS), an archive (not for --archive), a table of answers, or a folder of BenchKit's results (CSV and OUTPUTS).
    input: PathBuf,
    #[command(flatten)]
    inputs: JudgeInputs,
    /// Write the contest's raw-result-analysis.csv.
    #[arg(long, value_name = "FILE", group = "what")]
    csv: Option<PathBuf>,
    /// Write one file (.tar.zst) with record, outputs, judgement, rules and digests.
    #[arg(long, value_name = "FILE", group = "what")]
    archive: Option<PathBuf>,
    /// With --archive: include the disks of the machines (T-8, E-5.6), from the paths in the record.
    #[arg(long, requires = "archive", conflicts_with = "tool", conflicts_with_all = NO_ARCHIVE)]
    with_disks: bool,
    /// With --with-disks: a disk that is no longer at its recorded path, or a folder with such disks. May be repeated.
    #[arg(long, value_name = "FILE|FOLDER", requires = "with_disks", conflicts_with_all = NO_ARCHIVE)]
    disk: Vec<PathBuf>,
    /// With --archive: sign it with this SSH key, a private key or the public key of one that the ssh agent has. `verify
    /// --allowed-signers` checks it.
    #[arg(long, value_name = "KEY", requires = "archive", conflicts_with_all = NO_ARCHIVE)]
    sign: Option<PathBuf>,
    /// With --archive: only the runs, outputs and values of this tool, and the reasons for missing points.
    #[arg(long, value_name = "T", requires = "archive", conflicts_with_all = NO_ARCHIVE)]
    tool: Option<String>,
    /// With --csv: write numbers and words in the contest's form. Numbers have 5 digits, so a judgement of the file may
    /// differ.
    #[arg(long, alias = "contest-form", requires = "csv", conflicts_with_all = NO_CSV)]
    contest_rounding: bool,
    /// Write a table of the runs in the format of the summary that BenchKit makes for each host.
    #[arg(long, value_name = "FILE", group = "what")]
    summary: Option<PathBuf>,
    /// Write the trusted values to files INSTANCE-SHORT.out, such as TokenRing-PT-005-CTLC.out, in this folder, in the form
    /// of the answer protocol.
    #[arg(long, value_name = "FOLDER", group = "what")]
    oracle: Option<PathBuf>,
    /// Of a record or an archive: write the failure class of each run and the values that are found in its output, by the
    /// patterns in [[tool.failure_class]] of the campaign and by built-in ones, and print the sums.
    #[arg(long, value_name = "FILE", group = "what")]
    classes: Option<PathBuf>,
    /// Write a BenchKit job file; the input is then campaign.toml.
    #[arg(long, value_name = "FILE", group = "what")]
    bkjobs: Option<PathBuf>,
    /// With --bkjobs: only entries of this kind, because a job file has one number of cores.
    #[arg(long, value_name = "KIND", requires = "bkjobs", conflicts_with_all = NO_JOB_FILE, value_parser = word_of::<Kind>(KINDS))]
    kind: Option<Kind>,
    /// With --bkjobs: the host that executes the job file and the login there, which is also the login in the
    /// machines.
    #[arg(
        long,
        alias = "at",
        value_name = "LOGIN@HOST",
        requires = "bkjobs",
        conflicts_with_all = NO_JOB_FILE,
        default_value = "mcc@localhost"
    )]
    login: String,
}

impl Args {
    /// The files and folders that are read.
    fn read_files(&self) -> Vec<PathBuf> {
        let mut read = self.inputs.files();
        read.push(self.input.clone());
        read
    }
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    if let Some(out) = &args.bkjobs {
        return job_file(&args, out);
    }
    if let Some(out) = &args.archive {
        return archive(&args, out);
    }
    if let Some(out) = &args.classes {
        return classes(&args, out);
    }
    let outputs = args.csv.iter().chain(&args.summary).flat_map(|out| {
        let beside = ["models", "tools", "overrides"].map(|what| out.with_extension(format!("{what}.csv")));
        [out.clone()].into_iter().chain(beside)
    });
    let outputs = outputs.chain(args.oracle.clone());
    refuse_inputs(&args.read_files(), outputs)?;
    let (edition, results) = args.inputs.read(&args.input)?;
    if let Some(folder) = &args.oracle {
        let judge = mcc::Judge::new(&edition, results).map_err(Failure::usage)?;
        let written = oracle::write(&judge, folder)?;
        print::text(&format!("{} (files: {written})\n", folder.display()))?;
        return Ok(Exit::Done);
    }
    let form = if args.contest_rounding { Form::Contest } else { Form::Exact };
    let (layout, out) = match (&args.csv, &args.summary) {
        (Some(out), _) => (Layout::Results(form), out),
        (None, Some(out)) => (Layout::Summary, out),
        (None, None) => return Err(Failure::usage(anyhow!("give what to write, such as --csv FILE"))),
    };
    let cores = cores(&args.input)?;
    let written = export(&edition, results, &cores, layout, out)?;
    let paths: Vec<String> = written.paths.iter().map(|path| path.display().to_string()).collect();
    print::text(&format!("{} (rows: {})\n", paths.join(", "), written.rows))?;
    Ok(Exit::Done)
}

/// The number of cores of each entry of a record; empty for a table, which does not contain it.
fn cores(input: &Path) -> Result<Cores, Failure> {
    if !input.join("record.db").exists() {
        return Ok(Cores::new());
    }
    let record = Record::open_readonly(input).map_err(Failure::usage)?;
    Ok(mcc_archive::cores(&record)?)
}

fn archive(args: &Args, out: &Path) -> Result<Exit, Failure> {
    let ending = out.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if ["gz", "tgz", "bz2", "xz", "zip", "tar"].contains(&ending) {
        return Err(Failure::usage(anyhow!(
            "{}: an archive is compressed with zstd; give a name that ends with .tar.zst",
            out.display()
        )));
    }
    let mut read = args.read_files();
    read.extend(args.disk.iter().chain(&args.sign).cloned());
    // Signing with a public key reads the private key beside it.
    read.extend(args.sign.as_ref().map(|key| key.with_extension("")));
    refuse_inputs(&read, [out.to_owned()])?;
    let record = Record::open_readonly(&args.input).map_err(Failure::usage)?;
    let (edition, results) = args.inputs.read(&args.input)?;
    let staged = temporary::folder("mcc-archive-")?;
    let mut files = Vec::new();
    match &args.tool {
        Some(tool) => {
            mcc_archive::bundle(&record, &edition, results, tool, staged.path())?;
        }
        None => {
            let mut disks = Vec::new();
            if args.with_disks {
                let kept_entries = mcc_archive::judged_entries(&edition, results.clone())?;
                for (disk, path) in mcc_archive::disks_of(&record, &kept_entries, &args.disk)? {
                    files.push((disk.sha256.clone(), path));
                    disks.push(disk);
                }
            }
            let (names, overrides) = (args.inputs.names_for(&args.input), args.inputs.overrides.as_deref());
            let inputs = ArchiveInputs { names: names.as_deref(), overrides, disks };
            mcc_archive::stage(&record, &edition, results, inputs, staged.path())?;
        }
    }
    mcc_archive::pack(staged.path(), &files, args.sign.as_deref(), out)?;
    let bytes = out.metadata()?.len();
    print::text(&format!("{} (bytes: {bytes}, disks: {})\n", out.display(), files.len()))?;
    next(&format!("mcc-harness verify {}", argument(out)));
    Ok(Exit::Done)
}

/// Writes a row for each run whose output counts. A resigned entry has none (P-4).
fn classes(args: &Args, out: &Path) -> Result<Exit, Failure> {
    refuse_inputs(&args.read_files(), [out.to_owned()])?;
    let source = open_part(&args.input, &no_disk)?;
    let record = Record::open_readonly(&source.folder).map_err(Failure::usage)?;
    let edition = edition_of(&record).map_err(Failure::usage)?;
    let mut rows = String::from("tool,instance,examination,outcome,class,line,values\n");
    let mut sums: BTreeMap<(String, String), u64> = BTreeMap::new();
    FailureReader::new(&record)?.each(|RunRecord { run, last, .. }, found| {
        if edition.status_of(&run.entry) == Status::Resigned {
            return;
        }
        let class = found.class.unwrap_or_default();
        let values: Vec<String> =
            found.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let fields = [
            run.entry.as_str(),
            run.instance.as_str(),
            run.examination.as_str(),
            last.outcome.word(),
            &class,
            &found.line.unwrap_or_default(),
            &values.join("; "),
        ];
        rows += &fields.map(field).join(",");
        rows.push('\n');
        if !class.is_empty() {
            *sums.entry((run.entry.to_string(), class)).or_default() += 1;
        }
    })?;
    print::file(out, &rows)?;
    let mut text = format!("{} (rows: {})\n", out.display(), rows.lines().count() - 1);
    if sums.is_empty() {
        text += "no pattern matched the output of any run\n";
    }
    for ((entry, class), runs) in sums {
        text += &format!("{entry:<30} {class:<20} {runs}\n");
    }
    print::text(&text)?;
    Ok(Exit::Done)
}

fn job_file(args: &Args, out: &Path) -> Result<Exit, Failure> {
    refuse_inputs(&args.read_files(), [out.to_owned()])?;
    Failure::usage_if(
        args.input.is_dir(),
        "--bkjobs needs the campaign file; give campaign.toml, not a folder",
    )?;
    let campaign = Campaign::load(&args.input).map_err(Failure::usage)?;
    let edition = Edition::load(&campaign.edition).map_err(Failure::usage)?;
    let effective = campaign.effective(&edition);
    let instances = campaign.instance_facts(&effective).map_err(Failure::usage)?;
    let plan = Plan::new(&campaign, &effective, &instances).map_err(Failure::usage)?;
    let bad =
        || Failure::usage(anyhow!("--login {}: expected LOGIN@HOST, such as mcc@localhost", args.login));
    let (login, host) = args.login.split_once('@').ok_or_else(bad)?;
    let benchmark = out.file_stem().unwrap_or_default().to_string_lossy();
    let options = JobFileOptions { benchmark: &benchmark, login, host, kind: args.kind };
    let file = campaign.job_file(&effective, &plan, &options).map_err(Failure::usage)?;
    let text = file.write().map_err(Failure::usage)?;
    print::file(out, &text)?;
    print::text(&format!("{} (runs: {})\n", out.display(), file.jobs.len()))?;
    let (set, limits) = (&campaign.limits, &effective.limits);
    let is_wall_lost = set.wall_s.is_some() && limits.wall_s != limits.confinement_s;
    let lost = [("cpu_s", limits.cpu_s, set.cpu_s.is_some()), ("wall_s", limits.wall_s, is_wall_lost)];
    let lost = lost.into_iter().filter(|(.., is_lost)| *is_lost);
    let lost: Vec<_> = lost.map(|(key, seconds, _)| format!("{key} ({seconds} s)")).collect();
    if !lost.is_empty() {
        note(&format!(
            "the only limit in the job file is confinement_s ({} s): BenchKit has no place for {}",
            limits.confinement_s,
            lost.join(" and ")
        ));
    }
    Ok(Exit::Done)
}
