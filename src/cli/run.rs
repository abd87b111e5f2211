use super::{Exit, Failure, progress};
use crate::campaign::{self, Campaign, InstanceFacts, Plan, Run, RunFilter, Start};
use crate::edition::Edition;
use crate::executor::{EntryDisks, Executor, ExecutorError, Watched};
use crate::host::{Accelerator, Book, Leases, Policy, Qemu, Survey, keep_to};
use crate::store::{CampaignFacts, Disk, Record, StoreError};
use crate::vm::build::{self, ARCHIVES};
use crate::vm::{Backend, Bus, DiskFile, Guest, Image, Login, Nic, Original, States};
use anyhow::{Context, anyhow};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Run or resume a campaign.
///
/// Every run gets a fresh machine and ends in exactly one record in RESULTS. Interrupted or killed, the same
/// command goes on where it was. Ctrl-C once lets the running runs end, twice stops at once.
#[derive(clap::Args)]
pub struct Args {
    /// The campaign's file, campaign.toml; docs/campaign.md explains every key.
    campaign: PathBuf,
    /// Folder of the record.
    #[arg(long, value_name = "RESULTS")]
    out: PathBuf,
    /// Runs at once [default: as many as cores and memory allow, or what the campaign says].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZero<u32>>,
    /// Only the runs whose id (ENTRY/INSTANCE/EXAMINATION) fits this glob.
    #[arg(long, value_name = "GLOB")]
    only: Option<String>,
    /// Try runs once more that are recorded as `infrastructure`.
    #[arg(long, value_name = "OUTCOME", value_parser = ["infrastructure"])]
    retry: Option<String>,
    /// Make recorded runs of one tool in one examination anew: what they recorded is kept and shown, their new
    /// last attempt is judged.
    #[arg(long, requires_all = ["tool", "examination", "reason"])]
    rerun: bool,
    /// With --rerun: the entry, or the tool with all its variants.
    #[arg(long, value_name = "T", requires = "rerun")]
    tool: Option<String>,
    /// With --rerun: the examination.
    #[arg(long, value_name = "X", requires = "rerun")]
    examination: Option<String>,
    /// With --rerun: why, as it is shown beside the superseded attempts.
    #[arg(long, value_name = "R", requires = "rerun")]
    reason: Option<String>,
    /// Run although this host cannot honour the contest's machine (no KVM, too few cores, too little memory);
    /// every such run is marked.
    #[arg(long)]
    allow_degraded: bool,
    /// Pack instances although their archives have errors.
    #[arg(long)]
    accept: bool,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let campaign = Campaign::load(&args.campaign).map_err(Failure::usage)?;
    let edition = campaign.effective(&Edition::load(&campaign.edition).map_err(Failure::usage)?);
    let filter = args.only.as_deref().map(RunFilter::new).transpose().map_err(Failure::usage)?;
    let facts = campaign.instance_facts(&edition, |_| {}).map_err(Failure::usage)?;
    let plan = Plan::new(&campaign, &edition, &facts).map_err(Failure::usage)?;
    let images = open_images(&campaign)?;

    let policy = if args.allow_degraded { Policy::AllowDegraded } else { Policy::Contest };
    let qemu = Qemu::find().map_err(Failure::host)?;
    let backend = backend(campaign.hosts.backend)?;
    let accelerator = Accelerator::choose(&qemu, policy).map_err(Failure::host)?;
    let survey = Survey::take().map_err(Failure::host)?;
    let name = args.campaign.file_name().unwrap_or_default().to_string_lossy();
    let book = Book::of_this_host(&name).map_err(Failure::host)?;
    let leases = Leases::new(&survey.cores, &survey.memory).beside_others(book);

    let inputs_disk = inputs_disk(&campaign, &edition, &facts, &args)?;
    let Digested { disks, inputs: inputs_digest, watched } = digests(&campaign, &images, &inputs_disk)?;
    let mut all_disks: Vec<Disk> = vec![inputs_digest.clone()];
    for (entry, disks) in &disks {
        all_disks.extend(
            disks
                .digests
                .iter()
                .chain(disks.inputs.iter().map(|(_, digest)| digest))
                .map(|d| Disk { role: format!("{} {entry}", d.role), ..d.clone() }),
        );
    }
    let facts = CampaignFacts::new(&campaign, &edition, facts, all_disks)?;
    // Machines die with their controller (PR_SET_PDEATHSIG), so there is none to end here.
    let record = Record::create_or_open(&args.out, &facts, |_| {}).map_err(store_failure)?;
    record.plan_runs(&plan.runs).map_err(store_failure)?;
    if args.retry.is_some() {
        let reopened = record.reopen_infrastructure()?;
        eprintln!("run: {reopened} runs recorded as infrastructure are tried once more");
    }

    if let (Some(tool), Some(examination), Some(reason)) = (&args.tool, &args.examination, &args.reason) {
        let reopened = rerun(&record, tool, examination, reason)?;
        eprintln!("run: {reopened} recorded runs of {tool} in {examination} are made anew: {reason}");
    }

    let wanted = |run: &Run| filter.as_ref().is_none_or(|filter| filter.takes(&run.id()));
    let jobs = args.jobs.or(campaign.hosts.jobs).map(|jobs| jobs.get() as usize);
    let largest = plan.runs.iter().map(|run| run.vcpus).max().unwrap_or(1);
    let capacity = leases.capacity(largest, edition.machine.memory_mib).max(1) as usize;
    let drain = drain_on_ctrl_c()?;
    let executor = Executor {
        record: &record,
        edition: &edition,
        disks,
        inputs: DiskFile::new(inputs_disk.disk(), "raw"),
        inputs_digest,
        states: (campaign.start == Start::Restore).then(|| States::new(args.out.join("states"))),
        host: survey.facts(accelerator, &qemu),
        backend,
        accelerator,
        policy,
        boot_deadline: Duration::from_secs(campaign.hosts.boot_deadline_s.get()),
        stall: Duration::from_secs(campaign.hosts.stall_s.get()),
        watched,
        jobs: jobs.unwrap_or(capacity),
        drain: &drain,
    };
    // Off the cores that runs lease, with every thread and process begun from here on (E-5.5).
    keep_to(leases.housekeeping()).map_err(Failure::host)?;
    let bar = progress::Campaign::new(&record.summary()?);
    let done = executor.run(leases, &wanted, &|event| bar.show(event));
    let summary = record.summary()?;
    bar.finish(&summary);
    match done {
        // What was asked for is not done: whoever goes on to judge must not be told that it is.
        Ok(()) if drain.load(Ordering::Relaxed) && summary.recorded < summary.planned => {
            eprintln!("run: stopped as asked; the same command goes on");
            Ok(Exit::Failed)
        }
        Ok(()) if summary.outcomes.contains_key("infrastructure") => Ok(Exit::Failed),
        Ok(()) => Ok(Exit::Done),
        Err(error @ (ExecutorError::Lease(_) | ExecutorError::CpuFlags { .. })) => Err(Failure::host(error)),
        Err(error @ ExecutorError::DiskChanged { .. }) => Err(Failure::usage(error)),
        Err(error) => Err(error.into()),
    }
}

/// The backend the campaign asks for, if this program and this host have it.
fn backend(asked: campaign::Backend) -> Result<Backend, Failure> {
    match asked {
        campaign::Backend::Qemu => Ok(Backend::Qemu),
        #[cfg(feature = "libvirt")]
        campaign::Backend::Libvirt => {
            crate::vm::libvirt::check(Duration::from_secs(120)).map_err(Failure::host)?;
            Ok(Backend::Libvirt)
        }
        #[cfg(not(feature = "libvirt"))]
        campaign::Backend::Libvirt => Err(Failure::host(anyhow!(
            "backend = \"libvirt\": this mcc-harness was built without it; leave it out of [hosts], or, with the \
             package libvirt-dev, build one that has it: RUSTFLAGS=\"\" cargo build --release --features libvirt \
             --target-dir target/libvirt"
        ))),
    }
}

fn store_failure(error: StoreError) -> Failure {
    if error.is_usage() { Failure::usage(error) } else { error.into() }
}

fn open_images(campaign: &Campaign) -> Result<BTreeMap<String, Image>, Failure> {
    let open = |tool: &campaign::Tool| {
        let image = match tool.channel {
            campaign::Channel::Agent => {
                Image::open(&tool.image).and_then(|image| image.boot().map(|_| image))
            }
            campaign::Channel::Ssh(_) => {
                let image = Image::open_original(&tool.image).map_err(|error| error.to_string());
                return named(campaign, tool, image);
            }
        };
        named(campaign, tool, image.map_err(|error| error.to_string()))
    };
    campaign.tools.iter().map(open).collect()
}

/// How many recorded runs were opened again; the reason is theirs, so an empty one, or no run, is refused.
fn rerun(record: &Record, tool: &str, examination: &str, reason: &str) -> Result<usize, Failure> {
    if reason.trim().is_empty() {
        return Err(Failure::usage(anyhow!("--reason is empty; it is shown beside what it supersedes")));
    }
    let entries = &record.facts().entries;
    let of_tool = |entry: &str| {
        entries
            .iter()
            .any(|facts| facts.entry == entry && [&facts.entry, &facts.tool].contains(&&tool.to_owned()))
    };
    let wanted = |run: &Run| run.competes && run.examination == examination && of_tool(&run.entry);
    match record.rerun(wanted, reason)?.len() {
        0 => Err(Failure::usage(anyhow!(
            "no run of {tool} in {examination} is recorded, so there is none to make anew; \
             `mcc-harness plan` lists the runs of a campaign"
        ))),
        reopened => Ok(reopened),
    }
}

fn named(
    campaign: &Campaign,
    tool: &campaign::Tool,
    image: Result<Image, String>,
) -> Result<(String, Image), Failure> {
    let image = image.map_err(|message| Failure::usage(campaign.wrong_image(&tool.entry, message)))?;
    Ok((tool.entry.clone(), image))
}

/// The campaign's own inputs disk, or one made of its archives beside the record.
fn inputs_disk(
    campaign: &Campaign,
    edition: &Edition,
    facts: &[InstanceFacts],
    args: &Args,
) -> Result<Image, Failure> {
    let asked: Vec<_> = facts.iter().map(|facts| (&facts.name, &facts.sha256)).collect();
    let packed = |image: &Image| -> Vec<(String, String)> {
        image.facts.instances.iter().map(|p| (p.instance.clone(), p.sha256.clone())).collect()
    };
    if campaign.inputs.join(ARCHIVES).is_dir() {
        let image = Image::open(&campaign.inputs).map_err(Failure::usage)?;
        let on_disk: BTreeMap<_, _> = packed(&image).into_iter().collect();
        let strange = asked.iter().find(|(name, sha256)| on_disk.get(*name) != Some(sha256));
        return match (&image.facts.edition, strange) {
            (Some(other), _) if *other != edition.name => Err(Failure::usage(anyhow!(
                "the inputs disk {} is of edition {other}, the campaign of {}; give the inputs of that edition",
                image.folder.display(),
                edition.name
            ))),
            (_, Some((name, _))) => Err(Failure::usage(anyhow!(
                "the inputs disk {} does not hold {name} as it lies in its {ARCHIVES} folder; make the disk anew \
                 (`mcc-harness image inputs`)",
                image.folder.display()
            ))),
            _ => Ok(image),
        };
    }
    let beside = args.out.join("inputs");
    if let Ok(image) = Image::open(&beside) {
        if packed(&image).iter().map(|(name, sha256)| (name, sha256)).eq(asked.iter().copied()) {
            return Ok(image);
        }
        let changed = anyhow!(
            "the archives in {} changed since {} was made of them; use another --out",
            campaign.inputs.display(),
            beside.display()
        );
        return Err(Failure::usage(changed));
    }
    let archives: Vec<_> = campaign.archives().map_err(Failure::usage)?.into_iter().collect();
    super::image::check_inputs(&archives, args.accept)?;
    Ok(build::inputs(&archives, Some(&edition.name), &beside, &|step| eprintln!("run: {step}"))
        .context("making the inputs disk")?)
}

struct Digested {
    disks: BTreeMap<String, EntryDisks>,
    inputs: Disk,
    watched: Watched,
}

/// Digests every disk a machine will see; a file that several images share by name is read once.
fn digests(
    campaign: &Campaign,
    images: &BTreeMap<String, Image>,
    inputs: &Image,
) -> Result<Digested, Failure> {
    let mut watched = Watched::default();
    let mut known: BTreeMap<PathBuf, Disk> = BTreeMap::new();
    let mut digest = |role: &str, path: &Path| -> Result<Disk, Failure> {
        if !known.contains_key(path) {
            watched.add(path).with_context(|| path.display().to_string())?;
            let disk = Disk::of_file(role, path).with_context(|| path.display().to_string())?;
            known.insert(path.to_owned(), disk);
        }
        Ok(known[path].clone())
    };
    let mut disks = BTreeMap::new();
    for tool in &campaign.tools {
        let image = &images[&tool.entry];
        let (guest, format, own) = match &tool.channel {
            campaign::Channel::Agent => {
                let (kernel, initrd) = image.boot()?;
                (Guest::Agent { kernel, initrd }, "qcow2", None)
            }
            campaign::Channel::Ssh(original) => {
                let format = image.facts.original.as_ref().map_or("raw", |facts| &facts.format);
                (Guest::Ssh(of_original(original)), format, original.inputs_disk.as_deref())
            }
        };
        let inputs = match own {
            None => None,
            Some(path) => {
                let facts = crate::vm::inspect(path).map_err(Failure::usage)?;
                Some((DiskFile::new(path.to_owned(), &facts.format), digest("inputs", path)?))
            }
        };
        let digests =
            image.files().iter().map(|(role, path)| digest(role, path)).collect::<Result<Vec<_>, _>>()?;
        let disk = DiskFile::new(image.disk(), format);
        disks.insert(tool.entry.clone(), EntryDisks { guest, disk, inputs, digests });
    }
    let inputs = digest("inputs", &inputs.disk())?;
    Ok(Digested { disks, inputs, watched })
}

/// The campaign's words for an original disk as those of the machine.
fn of_original(original: &campaign::Original) -> Original {
    Original {
        login: Login { user: original.user.clone(), key: original.key.clone() },
        bus: match original.disk {
            campaign::DiskBus::Virtio => Bus::Virtio,
            campaign::DiskBus::Ide => Bus::Ide,
        },
        nic: match original.nic {
            campaign::NicModel::Virtio => Nic::Virtio,
            campaign::NicModel::E1000 => Nic::E1000,
        },
    }
}

/// Set by the first Ctrl-C (or SIGTERM); the second one ends the controller, and its machines with it.
fn drain_on_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let drain = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // In this order: a signal first looks whether one came before, then leaves its own mark.
        signal_hook::flag::register_conditional_shutdown(signal, 130, drain.clone())?;
        signal_hook::flag::register(signal, drain.clone())?;
    }
    Ok(drain)
}
