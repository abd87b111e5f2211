use super::outputs::refuse_inputs_in;
use super::record_source::{is_archive, no_disk, open_judgement, own_names};
use super::terminal::{argument, note};
use super::{Exit, Failure, print};
use mcc_base::ordered_map::all_cores;
use mcc_judge::certified::CERTIFIED_FILE;
use mcc_judge::judgement::Judgement;
use mcc_judge::source::OriginalNames;
use mcc_model::{Archive, ArchiveError, NetKind};
use mcc_report::plots::net_is_drawn;
use mcc_report::{Model, SiteInput, Year, write_years};
use mcc_store::Record;
use std::path::{Path, PathBuf};

/// Write the static site of a judgement.
///
/// The site has podiums, awards, tables of examinations and tools that can be filtered and sorted, all instances, runs
/// and values, disagreements and marked runs; with --record also outputs and measurements. It needs no web server.
#[derive(clap::Args)]
pub struct Args {
    /// The folder that `judge --out` wrote, or an archive (`export --archive`), whose record is then shown too.
    #[arg(value_name = "DIR|ARCHIVE", required_unless_present = "years")]
    judgement: Option<PathBuf>,
    /// Show judgements of several years side by side, in this order: tools, medals, solved values, disagreements and
    /// models over the years, each with a CSV.
    #[arg(long, num_args = 2.., value_name = "DIR", conflicts_with_all = ["judgement", "record", "embargo"])]
    years: Vec<PathBuf>,
    /// Folder for the site. An older site in it is replaced; any other content is an error.
    #[arg(long, value_name = "SITE")]
    out: PathBuf,
    /// The record that was judged; adds outputs, attempts, machines and measurements of runs.
    #[arg(long, value_name = "RESULTS")]
    record: Option<PathBuf>,
    /// With --record: the table that `judge --names` read. An archive has its own.
    #[arg(long, value_name = "CSV", requires = "record", conflicts_with = "years")]
    names: Option<PathBuf>,
    /// Folder of instance archives (NAME.tgz) of the contest; adds the formulas, and sizes and pictures of the nets.
    #[arg(long, value_name = "FOLDER", conflicts_with = "years")]
    instances: Option<PathBuf>,
    /// The folder of `certify` that `judge --certified` read; adds the evidence. With --instances, firing sequences are shown
    /// step by step.
    #[arg(long, value_name = "FOLDER", conflicts_with = "years")]
    certified: Option<PathBuf>,
    /// Whether surprise models are left unnamed (M-6); `auto`: only while the record has open runs.
    #[arg(long, value_enum, default_value = "auto")]
    embargo: Embargo,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Embargo {
    Auto,
    On,
    Off,
}

/// Writes the site of several years. Judgements are read one after the other, because one can fill gigabytes.
fn years(folders: &[PathBuf], out: &Path) -> Result<Exit, Failure> {
    let mut years = Vec::new();
    for folder in folders {
        if mcc_other_contests::Judgement::read(folder).map_err(Failure::usage)?.is_some() {
            return Err(Failure::usage(anyhow::anyhow!(
                "{}: --years is for judgements of the MCC; leave this one out",
                folder.display()
            )));
        }
        years.push(Year::from_judgement(&Judgement::read(folder).map_err(Failure::usage)?));
    }
    write_years(years, out)?;
    print::text(&format!("{}: years: {}\n", out.join("index.html").display(), folders.len()))?;
    Ok(Exit::Done)
}

/// The model of an instance, if its archive is in the folder.
fn model(folder: &Path, instance: &str, examinations: &[String]) -> Result<Option<Model>, String> {
    let path = folder.join(format!("{instance}.tgz"));
    if instance.contains('/') || !path.is_file() {
        return Ok(None);
    }
    let archive = Archive::open(&path).map_err(|error| error.to_string())?;
    if archive.instance.as_str() != instance {
        return Err(format!("{}: it has the instance {}, not {instance}", path.display(), archive.instance));
    }
    let read = || -> Result<Model, ArchiveError> {
        let net = archive.net()?;
        let is_drawn = net.kind == NetKind::Coloured && net_is_drawn(&net);
        let mut model = Model { net: Some(net), ..Model::default() };
        match is_drawn.then(|| archive.symmetric_net()) {
            Some(Ok(coloured)) => model.coloured = Some(coloured),
            Some(Err(error)) => model.unread_colours = Some(error.to_string()),
            None => {}
        }
        for examination in examinations {
            if let Some(properties) = archive.properties(examination)? {
                let texts = properties.iter().map(|property| property.formula.to_string());
                model.formulas.insert(examination.clone(), texts.collect());
                let ids = properties.into_iter().map(|property| property.id);
                model.ids.insert(examination.clone(), ids.collect());
            }
        }
        Ok(model)
    };
    read().map(Some).map_err(|error| error.to_string())
}

/// Refuses a folder of `certify` whose values the judgement does not have.
fn refuse_other_certification(judgement: &Judgement, dir: &Path, folder: &Path) -> Result<(), Failure> {
    let judged = judgement.inputs.iter().find(|input| input.file == CERTIFIED_FILE);
    let Some(judged) = judged else {
        return Err(Failure::usage(anyhow::anyhow!(
            "--certified: the judgement {} has no certified values; run `judge` again with --certified {}, then report",
            dir.display(),
            folder.display()
        )));
    };
    let path = folder.join(CERTIFIED_FILE);
    let (sha256, _) = mcc_base::digest::file(&path).map_err(|error| {
        let problem =
            format!("--certified: cannot read {}: {error}; give the folder of `certify`", path.display());
        Failure::usage(anyhow::anyhow!(problem))
    })?;
    if sha256 != judged.sha256 {
        return Err(Failure::usage(anyhow::anyhow!(
            "--certified: {} is not the table that was judged; give the folder that `judge --certified` read, or judge again",
            path.display()
        )));
    }
    Ok(())
}

/// Reads the table of names of a record's instances, and refuses one that was not judged.
fn original_names(judgement: &Judgement, table: &Path) -> Result<OriginalNames, Failure> {
    let names = OriginalNames::read(table).map_err(Failure::usage)?;
    if judgement.inputs.iter().any(|input| input.sha256 == names.digest.sha256) {
        return Ok(names);
    }
    Err(Failure::usage(anyhow::anyhow!(
        "{} is not the table of names that was judged; give the table that `judge --names` read, or judge again",
        table.display()
    )))
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let inputs = args.judgement.iter().chain(&args.years).chain(&args.record).chain(&args.names);
    let inputs: Vec<PathBuf> = inputs.chain(&args.instances).chain(&args.certified).cloned().collect();
    refuse_inputs_in(&inputs, &args.out)?;
    let Some(given) = &args.judgement else { return years(&args.years, &args.out) };
    let source = open_judgement(given, &no_disk)?;
    let judgement_dir = &source.folder;
    if args.record.is_some() && source.record.is_some() {
        return Err(Failure::usage(anyhow::anyhow!(
            "{} is an archive, which has its record; omit --record",
            given.display()
        )));
    }
    if let Some(judgement) = mcc_other_contests::Judgement::read(judgement_dir).map_err(Failure::usage)? {
        let given = [
            ("--record", args.record.is_some()),
            ("--embargo", matches!(args.embargo, Embargo::On)),
            ("--instances", args.instances.is_some()),
            ("--certified", args.certified.is_some()),
        ];
        if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) {
            return Err(Failure::usage(anyhow::anyhow!(
                "{option} is for judgements of the MCC; report without it"
            )));
        }
        let pages = mcc_report::write_other_site(&judgement, judgement_dir, &args.out)?;
        print::text(&format!("{}: category pages: {pages}\n", args.out.join("index.html").display()))?;
        return Ok(Exit::Done);
    }
    let judgement = Judgement::read(judgement_dir).map_err(Failure::usage)?;
    let folder = args.record.as_ref().or(source.record.as_ref());
    let record = folder.map(|folder| Record::open_readonly(folder)).transpose()?;
    let table = args.names.clone().or_else(|| own_names(folder?));
    let names = table.map(|table| original_names(&judgement, &table)).transpose()?;
    let unfinished = |record: &Record| record.summary().map(|counts| counts.recorded < counts.planned);
    let embargo = match (args.embargo, &record) {
        (Embargo::On, _) => true,
        (Embargo::Auto, Some(record)) => unfinished(record)?,
        (Embargo::Off, _) | (Embargo::Auto, None) => false,
    };
    let archive = is_archive(given).then(|| mcc_base::digest::file(given)).transpose();
    let archive = archive.map_err(|error| anyhow::anyhow!("cannot read {}: {error}", given.display()))?;
    let archive_name = given.file_name().unwrap_or_default().to_string_lossy();
    let archive = archive.as_ref().map(|(sha256, _)| (&*archive_name, sha256.as_str()));
    for (option, folder) in [("--instances", &args.instances), ("--certified", &args.certified)] {
        let Some(folder) = folder else { continue };
        if let Err(error) = std::fs::read_dir(folder) {
            return Err(Failure::usage(anyhow::anyhow!(
                "{option}: cannot read the folder {}: {error}; correct the path",
                folder.display()
            )));
        }
    }
    if let Some(folder) = &args.certified {
        refuse_other_certification(&judgement, judgement_dir, folder)?;
    }
    let folder = args.instances.as_deref();
    let read =
        |instance: &str| folder.map_or(Ok(None), |folder| model(folder, instance, &judgement.examinations));
    if let Some(folder) = folder {
        let instances = &judgement.instances;
        let has_archive = |name: &str| !name.contains('/') && folder.join(format!("{name}.tgz")).is_file();
        let found = instances.iter().filter(|known| has_archive(&known.instance)).count();
        if found < instances.len() {
            note(&format!(
                "{found} of {} instances have an archive in {}; the others have no formulas and no net",
                instances.len(),
                argument(folder)
            ));
        }
    }
    let record = record.as_ref();
    let material = SiteInput {
        judgement_dir: Some(judgement_dir),
        record,
        names: names.as_ref().map(|names| &names.instances),
        embargo,
        models: Some(&read),
        certified: args.certified.as_deref(),
        archive,
    };
    let written = mcc_report::write_site(&judgement, material, all_cores(), &args.out)?;
    let hidden = match written.hidden {
        0 => String::new(),
        hidden => format!("; instances of surprise models that are not named (embargo, M-6): {hidden}"),
    };
    print::text(&format!(
        "{}: examinations: {}; instances: {}; runs with outputs: {}{hidden}\n",
        args.out.join("index.html").display(),
        written.examination_pages,
        written.instances,
        written.runs
    ))?;
    Ok(Exit::Done)
}
