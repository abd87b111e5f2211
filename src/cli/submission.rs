//! `image export --submission`: the packet that authors send to the organizers.

use super::qualify::{Conditions, KINDS, page};
use super::run::stop_on_signal;
use super::terminal::{argument, next};
use super::{Exit, Failure, print, progress, word_of};
use anyhow::{Context, anyhow};
use mcc_base::digest;
use mcc_base::names::EntryName;
use mcc_base::suggest::with_suggestion;
use mcc_base::temporary::{self, folder_of};
use mcc_campaign::benchkit::Declaration;
use mcc_campaign::{EntryPublication, Kind};
use mcc_judge::record::{answers_of, edition_of};
use mcc_runner::qualify::{Machines, Purpose, Qualification, Settings};
use mcc_store::Record;
use mcc_vm::build::Progress;
use mcc_vm::export;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZero;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What a packet needs in addition to the image.
#[derive(clap::Args)]
pub struct Args {
    /// With --submission: what the authors state, a TOML file with version, authors and licence, and optionally affiliation and
    /// link.
    #[arg(long, value_name = "TOML", requires = "submission", conflicts_with = "vmdk")]
    notice: Option<PathBuf>,
    /// With --submission: folder of instance archives for `qualify`.
    #[arg(long, value_name = "FOLDER", requires = "submission", conflicts_with = "vmdk")]
    instances: Option<PathBuf>,
    /// With --submission: the name of the entry.
    #[arg(long, value_name = "T", requires = "submission", conflicts_with = "vmdk")]
    tool: Option<EntryName>,
    /// With --submission: the rules, as in `qualify`.
    #[arg(long, value_name = "NAME|FILE", default_value = "mcc-2018", conflicts_with = "vmdk")]
    edition: String,
    /// With --submission: the examinations in which the entry takes part [default: all examinations of the edition].
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        requires = "submission",
        conflicts_with = "vmdk"
    )]
    examinations: Vec<String>,
    /// With --submission: the kind, as in `qualify`.
    #[arg(long, value_parser = word_of::<Kind>(KINDS), default_value = "sequential", conflicts_with = "vmdk")]
    kind: Kind,
    /// With --submission: the limit of `qualify`, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60", conflicts_with = "vmdk")]
    limit: NonZero<u32>,
    /// With --submission: run although this host does not meet the contest's machine requirements.
    #[arg(long, requires = "submission", conflicts_with = "vmdk")]
    allow_degraded: bool,
}

/// What the authors state.
#[derive(Deserialize)]
struct Version {
    version: String,
}

/// The keys of the file of `--notice`.
const KEYS: [&str; 5] = ["version", "authors", "affiliation", "link", "licence"];

/// `notice.toml` of the packet.
#[derive(Serialize)]
struct Notice {
    edition: String,
    tool: String,
    version: String,
    #[serde(flatten)]
    stated: EntryPublication,
    kind: &'static str,
    disk: String,
    disk_sha256: String,
    key: String,
    /// All techniques of the answers (E-1.10).
    techniques: BTreeSet<String>,
    /// How many values the tool gave in `qualify`.
    examinations: BTreeMap<String, String>,
}

/// Writes the packet to the new folder `out`: the disk and its keys, the notice, the reports of `qualify` and of a run that boots
/// this very disk over ssh, and the digests of all files. If a run shows an error, nothing is written and the exit code is that of
/// `qualify`.
pub fn write(
    image: &Path,
    reference: Option<&Path>,
    out: &Path,
    args: Args,
    progress: Progress,
) -> Result<Exit, Failure> {
    let (Some(notice), Some(instances), Some(tool)) = (&args.notice, &args.instances, args.tool) else {
        return Err(Failure::usage(anyhow!("--submission needs --notice, --instances and --tool")));
    };
    if out.exists() {
        return Err(Failure::usage(anyhow!("{} exists already; give another folder", out.display())));
    }
    let (version, stated) = read_notice(notice)?;
    let Args { edition, examinations, kind, limit, allow_degraded, .. } = args;
    let one_examination = |name: &str| vec![name.to_owned()];
    let settings = |instances: &Path, examinations: Vec<String>| {
        let (tool, edition) = (tool.clone(), edition.clone());
        let conditions = Conditions { tool, edition, examinations, kind, limit };
        conditions.settings(Purpose::Qualification, instances, NonZero::<u32>::MIN, None)
    };
    let parent = folder_of(out);
    fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    let packet = tempfile::Builder::new().prefix(".submission-").tempdir_in(parent)?;
    let work = temporary::folder("mcc-submission-")?;
    let stop = stop_on_signal()?;
    let qualify = |name: &str, settings: Settings, image: &Path, ssh_key: Option<&Path>| {
        let machines = Machines {
            image,
            ssh_key,
            jobs: None,
            boot: ssh_key.is_some(),
            allow_degraded,
            stop: &stop,
            show_inputs: &print::inputs,
            run: &|runner| progress::watch(runner, &|_| true),
        };
        let report = Qualification::new(settings)?.run_in_machines(&machines, &work.path().join(name))?;
        let text = page(&report, true, &|_| None).into_plain();
        print::file(&packet.path().join(format!("{name}.txt")), &text)?;
        Ok::<_, Failure>((report, text))
    };
    let refused = |what: &str, text: &str| {
        print::text(text)?;
        Ok::<_, Failure>(anyhow!("{what}; nothing was written to {}", out.display()))
    };

    progress("qualifying the image");
    let (report, text) = qualify("qualify", settings(instances, examinations)?, image, None)?;
    if !report.passes {
        return Err(refused("the image would not pass", &text)?.into());
    }
    let (techniques, given) = answers(&work.path().join("qualify"))?;
    let answered =
        report.examinations.iter().find(|name| given.get(*name).is_some_and(|given| given.values > 0));
    let Some(answered) = answered else {
        return Err(refused("the tool gave no value in any run", &text)?.into());
    };
    let disk = format!("{tool}.vmdk");
    let vmdk = packet.path().join(&disk);
    let exported = export::vmdk(image, reference, &vmdk, progress)
        .with_context(|| format!("exporting {}", image.display()))?;
    let Some(key) = exported.key else {
        let problem =
            "an original disk is submitted as it is, with its own key; give an image of `image build`";
        return Err(Failure::usage(anyhow!("{}: {problem}", image.display())));
    };
    progress("booting the disk of the packet over ssh");
    let smallest = work.path().join("instances");
    fs::create_dir(&smallest)?;
    let archive = format!("{}.tgz", report.instances[0]);
    fs::copy(instances.join(&archive), smallest.join(&archive)).with_context(|| archive.clone())?;
    let (preflight, text) =
        qualify("preflight", settings(&smallest, one_examination(answered))?, &vmdk, Some(&key))?;
    let (_, again) = answers(&work.path().join("preflight"))?;
    if !preflight.passes || again.get(answered).is_none_or(|given| given.values == 0) {
        return Err(refused("the disk of the packet does not answer as the image does", &text)?.into());
    }

    let notice = Notice {
        edition: report.edition.clone(),
        tool: tool.to_string(),
        version,
        stated,
        kind: kind.word(),
        disk_sha256: digest::file(&vmdk)?.0,
        key: format!("{disk}.key"),
        disk,
        techniques,
        examinations: given.into_iter().map(|(name, given)| (name, given.to_string())).collect(),
    };
    print::file(&packet.path().join("notice.toml"), &toml::to_string_pretty(&notice)?)?;
    let mut names: Vec<_> = fs::read_dir(packet.path())?
        .map(|file| Ok(file?.file_name()))
        .collect::<Result<_, std::io::Error>>()?;
    names.sort();
    let mut sums = String::new();
    for name in names {
        sums += &format!("{}  {}\n", digest::file(&packet.path().join(&name))?.0, name.to_string_lossy());
    }
    print::file(&packet.path().join("SHA256SUMS"), &sums)?;
    fs::set_permissions(packet.path(), fs::Permissions::from_mode(0o755))?;
    fs::rename(packet.path(), out).with_context(|| out.display().to_string())?;
    // It was renamed: its temporary name must not be removed.
    let _ = packet.keep();
    print::text(&format!("{}\n{sums}", out.display()))?;
    next(&format!(
        "(cd {} && sha256sum --check SHA256SUMS), then send the folder to the organizers",
        argument(out)
    ));
    Ok(Exit::Done)
}

/// Version and statements of the authors.
fn read_notice(path: &Path) -> Result<(String, EntryPublication), Failure> {
    let wrong = |problem: String| Failure::usage(anyhow!("{}: {problem}", path.display()));
    let text = mcc_base::text::read(path).map_err(|error| wrong(error.to_string()))?;
    let bad = |error: toml::de::Error| wrong(with_suggestion(error.to_string().trim_end()));
    let table: toml::Table = toml::from_str(&text).map_err(bad)?;
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(wrong(format!("the key {key} is not known; give {}", KEYS.join(", "))));
    }
    let Version { version } = toml::from_str(&text).map_err(bad)?;
    let stated: EntryPublication = toml::from_str(&text).map_err(bad)?;
    let missing = [("authors", stated.authors.is_empty()), ("licence", stated.licence.is_none())];
    if let Some((key, _)) = missing.into_iter().find(|(_, missing)| *missing) {
        return Err(wrong(format!("{key} is missing; organizers publish it with the results")));
    }
    Ok((version, stated))
}

/// What a tool answered in an examination.
#[derive(Default)]
struct Given {
    values: usize,
    asked: usize,
    competes: bool,
}

impl std::fmt::Display for Given {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.competes {
            write!(out, "{} of {} values", self.values, self.asked)
        } else {
            write!(out, "does not compete")
        }
    }
}

/// The techniques of all answers of a record, and what was answered by examination.
fn answers(results: &Path) -> Result<(BTreeSet<String>, BTreeMap<String, Given>), Failure> {
    let record = Record::open_readonly(results)?;
    let edition = edition_of(&record)?;
    let mut techniques = BTreeSet::new();
    let mut given: BTreeMap<String, Given> = BTreeMap::new();
    for recorded in record.records() {
        let recorded = recorded?;
        let Some(answers) = answers_of(&edition, &record, &recorded)? else { continue };
        let given = given.entry(recorded.run.examination.to_string()).or_default();
        given.values += answers.values.iter().flatten().count();
        given.asked += answers.values.len();
        given.competes |= answers.declared != Some(Declaration::DoNotCompete);
        techniques.extend(answers.techniques.into_iter().flatten());
    }
    Ok((techniques, given))
}
