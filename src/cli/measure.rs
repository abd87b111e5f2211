//! `doctor --measure`: how much equal computations differ on this host.

use super::run::stop_on_signal;
use super::terminal::{ERROR, GOOD, HEADING, Page, WARNING, note};
use super::{Exit, Failure, Format, print};
use mcc_base::machine::Backend;
use mcc_base::text::counted;
use mcc_edition::Edition;
use mcc_runner::Host;
use mcc_runner::measure::Measurement;
use mcc_store::measured_host::{Condition, InstructionCounts, MeasuredHost};
use mcc_vm::Image;
use std::path::{Path, PathBuf};

/// The options of `doctor --measure`.
#[derive(clap::Args)]
#[group(id = "measurement")]
pub struct Args {
    /// Repeat fixed computations in machines made from this image (such as build/images/reference), and measure how much their
    /// times differ: in a single machine, beside other busy machines, and in machines started from a saved state. It takes
    /// some minutes.
    #[arg(long, value_name = "IMAGE")]
    measure: Option<PathBuf>,
    /// With --measure: number of machines at once for which the host is to be fit [default: as many as cores and memory
    /// allow].
    #[arg(long, value_name = "N", requires = "measure", conflicts_with_all = ["author", "accept"], value_parser = clap::value_parser!(u32).range(1..=1024))]
    machines: Option<u32>,
    /// With --measure: number of vCPUs of each machine [default: the cores of sequential tools].
    #[arg(long, value_name = "N", requires = "measure", conflicts_with_all = ["author", "accept"], value_parser = clap::value_parser!(u32).range(1..=64))]
    vcpus: Option<u32>,
    /// With --measure: number of repetitions under each condition.
    #[arg(long, value_name = "N", requires = "measure", conflicts_with_all = ["author", "accept"], default_value = "10")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1000))]
    repeat: u32,
    /// With --measure: also write the result to this file as JSON, to keep it with the campaign.
    #[arg(long, value_name = "FILE", requires = "measure", conflicts_with_all = ["author", "accept"])]
    out: Option<PathBuf>,
}

impl Args {
    /// The image, if the host is to be measured.
    pub fn image(&self) -> Option<&Path> {
        self.measure.as_deref()
    }

    /// Measures the host. The exit code is `Failed` if a metric is not fit.
    pub fn run(
        &self,
        image: &Path,
        edition: &Edition,
        allow_degraded: bool,
        format: Format,
    ) -> Result<Exit, Failure> {
        // A file that cannot be written is an error before the measurement, not after it.
        if let Some(out) = &self.out {
            let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
            if folder.is_some_and(|folder| !folder.is_dir()) || out.is_dir() {
                let problem = if out.is_dir() { "it is a folder" } else { "its folder does not exist" };
                return Err(Failure::usage(anyhow::anyhow!("cannot write {}: {problem}", out.display())));
            }
        }
        let image = &Image::open(image).map_err(Failure::usage)?;
        let host = Host::prepare(Backend::Qemu, allow_degraded)?;
        let stop = stop_on_signal()?;
        let measurement = Measurement {
            image,
            machine: edition.machine.clone(),
            vcpus: self.vcpus.unwrap_or(edition.machine.sequential_cores),
            machines: self.machines,
            repetitions: self.repeat,
            stop: &stop,
            show: &|what| stderr_line!("doctor: {what}"),
        };
        let measured = measurement.run(&host)?;
        let json = format!("{}\n", serde_json::to_string_pretty(&measured)?);
        if let Some(out) = &self.out {
            let with_path = |source| anyhow::anyhow!("cannot write {}: {source}", out.display());
            mcc_base::text::write(out, &json).map_err(with_path)?;
            note(&format!("the result is in {}", out.display()));
        }
        match format {
            Format::Json => print::raw(&json)?,
            Format::Text => page(&measured).print()?,
        }
        Ok(if measured.fit { Exit::Done } else { Exit::Failed })
    }
}

fn page(measured: &MeasuredHost) -> Page {
    let mut page = Page::new();
    let MeasuredHost { host, machines, vcpus, memory_mib, repetitions, figures, series, .. } = measured;
    let machines = counted(machines, "machine");
    page.item(
        0,
        "measured",
        HEADING,
        &format!(
            "on {} ({}, {}): {machines} at once, {vcpus} vCPU and {memory_mib} MiB each, {repetitions} repetitions",
            host.name, host.cpu, host.accelerator
        ),
    );
    for mark in &measured.marks {
        page.item(0, "condition", WARNING, mark);
    }
    for alone in series.iter().filter(|series| series.condition == Condition::Alone) {
        let mean = alone.cpu_ms.iter().sum::<u64>() as f64 / 1000.0 / alone.cpu_ms.len().max(1) as f64;
        page.item(0, &alone.workload, HEADING, &format!("{mean:.2} s of CPU time alone"));
        for metric in figures.iter().filter(|metric| metric.workload == alone.workload) {
            let (label, style) = match (metric.figure.decides(), metric.fit) {
                (false, _) => ("shown  ", HEADING),
                (true, true) => ("fit    ", GOOD),
                (true, false) => ("NOT fit", ERROR),
            };
            page.item(2, label, style, &format!("{metric} (at most {:.0} %)", metric.goal * 100.0));
        }
    }
    for counts in &measured.instructions {
        let condition = match counts.condition {
            Condition::Alone => "alone",
            Condition::BesideNeighbours => "beside neighbours",
            Condition::Restored => "restored",
        };
        let spread =
            counts.spread().map_or("not known".to_owned(), |spread| format!("{:.4} %", spread * 100.0));
        page.item(0, "instructions", HEADING, &format!("{condition}: spread {spread}"));
    }
    if let Some(range) = InstructionCounts::range(&measured.instructions) {
        let text =
            format!("of all conditions: the largest count is {:.4} % above the smallest", range * 100.0);
        page.item(0, "instructions", HEADING, &text);
    }
    let deciding: Vec<_> = figures.iter().filter(|metric| metric.figure.decides()).collect();
    let fit = deciding.iter().filter(|metric| metric.fit).count();
    let (label, style) = if measured.fit { ("fit:", GOOD) } else { ("NOT fit:", ERROR) };
    let text = format!("{fit} of {} metrics are fit for a contest with {machines} at once", deciding.len());
    page.item(0, label, style, &text);
    page
}
