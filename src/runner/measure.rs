//! Measures a host with fixed workloads in machines: how much equal computations differ, and whether the host is fit for a
//! contest with some machines at once.

use super::{Host, RunnerError};
use mcc_base::guest::{Exit, GuestEvent, Job, Request};
use mcc_base::{OnFile, clock, temporary};
use mcc_edition::Machine as MachineRules;
use mcc_store::measured_host::{
    Condition, InstructionCounts, MEASURED_HOST_FORMAT, MeasuredHost, Series, metrics,
};
use mcc_vm::host::{Accelerator, Lease, Leases, restrict_to_cpus};
use mcc_vm::{Event, Guest, HeldFiles, Image, Machine, MachineSpec, SavedStates, Start, VmError};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The workloads, executed by bash in the guest.
const WORKLOADS: &str = include_str!("workloads.bash");

/// Their number, and the length of the line that each prints.
const WORKLOAD_COUNT: usize = 6;
const LINE_BYTES: usize = 48;

/// Longest accepted time of a boot, and of all workloads of one machine.
const BOOT_TIMEOUT: Duration = Duration::from_secs(300);
const TIMEOUT: Duration = Duration::from_secs(600);

/// Time between two checks of the output of a machine.
const INTERVAL: Duration = Duration::from_millis(2);

/// What is measured.
pub struct Measurement<'a> {
    /// An image of mcc-harness with bash, awk and dd, such as the reference image.
    pub image: &'a Image,
    /// The machine of the edition: processor and memory.
    pub machine: MachineRules,
    /// Number of vCPUs of each machine.
    pub vcpus: u32,
    /// Number of machines at once; None: as many as the host has cores and memory for.
    pub machines: Option<u32>,
    /// Number of repetitions under each condition.
    pub repetitions: u32,
    /// Stop request, see `RunSettings::stop`.
    pub stop: &'a AtomicBool,
    /// Called with a text before each repetition.
    pub show: &'a dyn Fn(&str),
}

/// A machine that does its work in a thread of its own, because QEMU ends with the thread that started it.
struct Neighbour {
    stop: mpsc::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Measurement<'_> {
    /// Measures the host.
    ///
    /// # Errors
    /// The image cannot be used, the cores cannot be leased, a machine fails, or a stop was requested.
    pub fn run(&self, host: &Host) -> Result<MeasuredHost, RunnerError> {
        let (kernel, initrd) = self.image.boot()?;
        let memory_mib = self.machine.memory_mib;
        let mut leases = host.leases(Path::new("doctor --measure"), self.stop)?;
        let capacity = leases.capacity(self.vcpus, memory_mib).clamp(1, 1024) as u32;
        let machines = self.machines.unwrap_or(capacity);
        let _kept = restrict_to_cpus(leases.housekeeping())?;
        let mut held = vec![];
        for _ in 0..machines {
            held.push(self.lease(&mut leases, host)?);
        }
        let specs: Vec<MachineSpec> = held
            .iter()
            .map(|lease| MachineSpec {
                backend: host.backend,
                accelerator: host.accelerator,
                cpu_model: self.machine.cpu_model.clone(),
                memory_mib,
                vcpus: self.vcpus,
                guest: Guest::Agent { kernel: kernel.clone(), initrd: initrd.clone() },
                disk: self.image.disk_file(),
                read_only_disks: vec![],
                held_files: HeldFiles::default(),
                start: Start::Boot,
                vcpu_cpus: lease.cpus.clone(),
                housekeeping_cpus: leases.housekeeping().to_vec(),
                disk_limit: None,
                count_instructions: true,
                limit_instructions: false,
                fixed_addresses: false,
            })
            .collect();
        let measured = self.measure(&specs);
        let mut marks: Vec<String> = host.accelerator.marks().iter().map(ToString::to_string).collect();
        for lease in held {
            marks.extend(leases.release(lease).iter().map(ToString::to_string));
        }
        marks.sort();
        marks.dedup();
        let (series, instructions) = measured?;
        let metrics = metrics(&series);
        Ok(MeasuredHost {
            format: MEASURED_HOST_FORMAT,
            host: host.facts(),
            measured_at: clock::now_text(),
            machines,
            vcpus: self.vcpus,
            memory_mib,
            repetitions: self.repetitions,
            marks,
            fit: !metrics.is_empty() && metrics.iter().all(|metric| metric.fit || !metric.figure.decides()),
            figures: metrics,
            series,
            instructions,
        })
    }

    fn lease(&self, leases: &mut Leases, host: &Host) -> Result<Lease, RunnerError> {
        loop {
            if let Some(lease) = leases.lease(self.vcpus, self.machine.memory_mib, host.policy)? {
                return Ok(lease);
            }
            self.check_stop()?;
            thread::sleep(Duration::from_secs(1));
        }
    }

    fn check_stop(&self) -> Result<(), RunnerError> {
        if self.stop.load(Ordering::Relaxed) {
            Err(RunnerError::Failed(
                "the measurement was stopped as requested; nothing was written".to_owned(),
            ))
        } else {
            Ok(())
        }
    }

    /// Runs the workloads under all conditions. The conditions alternate, so that a change of the host shifts all of them.
    fn measure(&self, specs: &[MachineSpec]) -> Result<(Vec<Series>, Vec<InstructionCounts>), RunnerError> {
        let folder = temporary::folder("mcc-measure-")?;
        let [measured, neighbours @ ..] = specs else { return Ok((vec![], vec![])) };
        let states = SavedStates::new(folder.path().join("states"));
        let saved = states.get_or_boot(measured, "", BOOT_TIMEOUT);
        let saved = saved.map_err(|error| RunnerError::Measured(error.to_string()))?;
        let restored = MachineSpec { start: Start::Restore(saved), ..measured.clone() };
        let mut series: Vec<Series> = vec![];
        let mut counted = BTreeMap::<Condition, Vec<u64>>::new();
        for repetition in 1..=self.repetitions {
            for condition in [Condition::Alone, Condition::BesideNeighbours, Condition::Restored] {
                let (spec, beside) = match condition {
                    Condition::Alone => (measured, &[][..]),
                    Condition::BesideNeighbours if neighbours.is_empty() => continue,
                    Condition::BesideNeighbours => (measured, neighbours),
                    Condition::Restored => (&restored, &[][..]),
                };
                self.check_stop()?;
                (self.show)(&format!("repetition {repetition} of {}, {condition:?}", self.repetitions));
                let (found, instructions) = beside_neighbours(beside, || workloads(spec))?;
                if let Some(instructions) = instructions {
                    counted.entry(condition).or_default().push(instructions);
                }
                for (number, found) in found.into_iter().enumerate() {
                    let Workload { name, cpu, guest_cpu_ms, wall } = found;
                    let known = |series: &Series| series.condition == condition && series.workload == name;
                    if !series.iter().any(known) {
                        if number >= WORKLOAD_COUNT {
                            return Err(RunnerError::Measured(format!("unknown workload {name}")));
                        }
                        let (cpu_ms, guest_cpu_ms, wall_ms) = (vec![], vec![], vec![]);
                        let workload = name.clone();
                        series.push(Series { workload, condition, cpu_ms, guest_cpu_ms, wall_ms });
                    }
                    let known = series.iter_mut().find(|series| known(series)).expect("it was added");
                    known.cpu_ms.push(cpu.as_millis() as u64);
                    known.guest_cpu_ms.push(guest_cpu_ms);
                    known.wall_ms.push(wall.as_millis() as u64);
                }
            }
        }
        let counted = counted.into_iter().map(|(condition, user)| InstructionCounts { condition, user });
        Ok((series, counted.collect()))
    }
}

/// Makes a measurement while other machines compute.
fn beside_neighbours<T>(
    specs: &[MachineSpec],
    measure: impl FnOnce() -> Result<T, RunnerError>,
) -> Result<T, RunnerError> {
    let (started, until_started) = mpsc::channel();
    let mut neighbours = vec![];
    for spec in specs {
        let (stop, stopped) = mpsc::channel::<()>();
        let (spec, started) = (spec.clone(), started.clone());
        let thread = thread::spawn(move || {
            let machine = in_machine(&spec, &busy(spec.vcpus), |_, _| Ok(()));
            let failed = machine.as_ref().err().map(ToString::to_string);
            // Fails only if the other thread no longer waits.
            let _ = started.send(failed);
            let _ = stopped.recv();
            drop(machine);
        });
        neighbours.push(Neighbour { stop, thread });
    }
    drop(started);
    let failed = until_started.iter().take(specs.len()).flatten().next();
    let measured = match failed {
        Some(reason) => Err(RunnerError::Measured(format!("a neighbour: {reason}"))),
        None => measure(),
    };
    for Neighbour { stop, thread } in neighbours {
        drop(stop);
        if thread.join().is_err() {
            return Err(RunnerError::Measured("the thread of a neighbour panicked".to_owned()));
        }
    }
    measured
}

/// One workload of one machine.
struct Workload {
    name: String,
    cpu: Duration,
    guest_cpu_ms: u64,
    wall: Duration,
}

/// A script that uses all vCPUs without end.
fn busy(vcpus: u32) -> String {
    format!("for ((i = 0; i < {vcpus}; i++)); do while :; do :; done & done; wait")
}

fn failed(error: VmError) -> RunnerError {
    RunnerError::Measured(error.to_string())
}

/// Starts a machine, starts the script in it, and calls `during`. Returns the machine, which still runs, and the folder of
/// its outputs.
fn in_machine(
    spec: &MachineSpec,
    script: &str,
    during: impl FnOnce(&mut Machine, &Path) -> Result<(), RunnerError>,
) -> Result<(Machine, tempfile::TempDir), RunnerError> {
    let folder = temporary::folder("mcc-measure-")?;
    let mut machine = Machine::start(spec, folder.path(), 1 << 20, BOOT_TIMEOUT).map_err(failed)?;
    if matches!(spec.start, Start::Restore(_)) {
        machine.send(&Request::Ready).map_err(failed)?;
    }
    let job = Job {
        nonce: "measured".into(),
        clock_ns: clock::now_ns(),
        // No workload uses random numbers.
        seed: "5a".repeat(32),
        user: "root".into(),
        cwd: "/".into(),
        command: ["/bin/bash", "-c", script].map(str::to_owned).to_vec(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        ..Job::default()
    };
    let mut requests = [Request::Prepare(Box::new(job)), Request::Start].into_iter();
    let deadline = Instant::now() + BOOT_TIMEOUT;
    loop {
        match machine.wait(deadline).map_err(failed)? {
            Event::Guest(GuestEvent::Ready { .. } | GuestEvent::Prepared { .. }) => {
                let request = requests
                    .next()
                    .ok_or_else(|| RunnerError::Measured("the guest repeated an event".to_owned()))?;
                machine.restart_instructions();
                machine.send(&request).map_err(failed)?;
            }
            Event::Guest(GuestEvent::Started) => break,
            Event::Guest(GuestEvent::Failed { reason, .. }) => return Err(RunnerError::Measured(reason)),
            Event::Deadline => return Err(failed(machine.timeout_error("started"))),
            Event::Guest(_) | Event::OutputLimit(_) => {}
        }
    }
    during(&mut machine, folder.path())?;
    Ok((machine, folder))
}

/// Runs all workloads in a new machine. Returns them, and their instructions at user addresses if they were counted.
fn workloads(spec: &MachineSpec) -> Result<(Vec<Workload>, Option<u64>), RunnerError> {
    let scale = match spec.accelerator {
        // About 1 s for each workload on an idle host.
        Accelerator::Kvm => 30,
        Accelerator::Tcg => 1,
    };
    let script = format!("SCALE={scale}\n{WORKLOADS}");
    let mut times = vec![];
    let mut is_complete = false;
    let (machine, folder) = in_machine(spec, &script, |machine, folder| {
        let wrong = |problem: &str| {
            let stderr = fs::read(folder.join("stderr")).unwrap_or_default();
            let stderr = mcc_base::guest::capped(String::from_utf8_lossy(&stderr).trim(), 300);
            RunnerError::Measured(format!("{problem}; the image needs bash, awk and dd. stderr: {stderr}"))
        };
        let deadline = Instant::now() + TIMEOUT;
        let (mut before, mut began) = (machine.cpu_time().map_err(failed)?, Instant::now());
        while times.len() < WORKLOAD_COUNT || !is_complete {
            match machine.wait(Instant::now() + INTERVAL).map_err(failed)? {
                Event::Guest(GuestEvent::Ended { exit, .. }) if exit != Exit::Code(0) => {
                    return Err(wrong(&format!("the workloads failed ({exit:?})")));
                }
                // Nothing follows the end of all output.
                Event::Guest(GuestEvent::OutputComplete { stdout_bytes, .. })
                    if stdout_bytes < (WORKLOAD_COUNT * LINE_BYTES) as u64 =>
                {
                    return Err(wrong("workloads are missing"));
                }
                Event::Guest(GuestEvent::OutputComplete { .. }) => is_complete = true,
                Event::Guest(_) | Event::OutputLimit(_) | Event::Deadline => {}
            }
            let ended = (machine.received().0 as usize / LINE_BYTES).min(WORKLOAD_COUNT);
            if times.len() < WORKLOAD_COUNT && ended > times.len() {
                // The time of the second one would be 0.
                if ended > times.len() + 1 {
                    return Err(RunnerError::Measured(
                        "the host is too busy to measure: this program did not see when a workload ended; repeat it when the \
                         host is idle"
                            .to_owned(),
                    ));
                }
                let (cpu, now) = (machine.cpu_time().map_err(failed)?, Instant::now());
                times.push((cpu.saturating_sub(before), now - began));
                (before, began) = (cpu, now);
            } else if Instant::now() > deadline {
                return Err(wrong("the workloads did not end in time"));
            }
        }
        Ok(())
    })?;
    let instructions = machine.instructions().ok().map(|counted| counted.user);
    drop(machine);
    let stdout = folder.path().join("stdout");
    let text = fs::read(&stdout).on("read", stdout)?;
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().zip(times).map(|(line, (cpu, wall))| {
        let unreadable = || RunnerError::Measured(format!("a workload failed: {line}"));
        let (name, guest_cpu_ms) = read_line(line).ok_or_else(unreadable)?;
        Ok::<_, RunnerError>(Workload { name, cpu, guest_cpu_ms, wall })
    });
    Ok((lines.collect::<Result<_, RunnerError>>()?, instructions))
}

/// Reads a line of the workloads: `NAME USER SYSTEM`, with seconds and milliseconds. Returns the name and the milliseconds.
fn read_line(line: &str) -> Option<(String, u64)> {
    let mut words = line.split_whitespace();
    let (name, user, system, end) = (words.next()?, words.next()?, words.next()?, words.next());
    let ms = |seconds: &str| {
        let (whole, fraction) = seconds.split_once('.').filter(|(_, fraction)| fraction.len() == 3)?;
        let number = |digits: &str| {
            (digits.len() <= 9 && digits.bytes().all(|c| c.is_ascii_digit()))
                .then(|| digits.parse::<u64>().ok())?
        };
        Some(number(whole)? * 1000 + number(fraction)?)
    };
    let used = ms(user)? + ms(system)?;
    end.is_none().then(|| (name.to_owned(), used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_lines_of_workloads_are_read() {
        assert_eq!(read_line("disk 1.250 0.375       "), Some(("disk".to_owned(), 1625)));
        for bad in [
            "",
            "disk",
            "disk 1.2 0.1",
            "disk 1.250",
            "disk 1.250 0.375 x",
            "disk -1.250 0.375",
            "disk 9999999999.000 0.000",
            "dd: error 1.000",
        ] {
            assert_eq!(read_line(bad), None, "{bad}");
        }
    }
}
