//! The speed of cores: the CPU time of a fixed computation that is pinned to a core. Processes that take turns on the same
//! hardware thread do not change this time, but a lower frequency does, a busy second thread of the core, and a busy core
//! below a virtual machine.

use super::cores::set_cpus;
use std::collections::{BTreeMap, VecDeque};
use std::hint::black_box;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Steps of the computation; about 0.6 ms on a processor of 3 GHz. It needs no memory, so what other programs left in the
/// caches does not matter.
const STEPS: u32 = 160_000;

/// Numbers that each step changes independently, so that all arithmetic units of the core are used. A single number would wait
/// for its own result, and a busy second thread of the same core (SMT) would not be noticed.
const NUMBERS: usize = 8;

/// Measurements of a core before and after a run. The shortest counts, so an interrupt does not matter.
const REPETITIONS: usize = 5;

/// The time between two measurements during a run: five in a second, which take about 0.3 % of a core.
const PERIOD: Duration = Duration::from_millis(200);

/// The longest wait for measurements: on a core that others use completely they may not end.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Most measurements that are kept of a run; a longer run keeps the last ones.
const MAX_TIMES: usize = 100_000;

/// The shortest time that this process has measured, by CPU.
static SHORTEST: Mutex<BTreeMap<u32, Duration>> = Mutex::new(BTreeMap::new());

/// Measures the speed of cores: returns by CPU the CPU time of the computation. A CPU is missing if this process may not
/// use it, or if the computation did not end within a second.
pub fn calibrate(cpus: &[u32]) -> BTreeMap<u32, Duration> {
    let (sender, receiver) = mpsc::channel();
    for &cpu in cpus {
        let sender = sender.clone();
        let measure = move || {
            let times = (0..REPETITIONS).map(|_| measure_on(cpu)).collect::<Option<Vec<_>>>();
            // After the timeout there is no receiver.
            let _ = sender.send((cpu, times.and_then(|times| times.into_iter().min())));
        };
        // Not joined: on a core that others use completely it may not end for long.
        let _ = thread::Builder::new().name("calibration".into()).spawn(measure);
    }
    drop(sender);
    let deadline = Instant::now() + TIMEOUT;
    let next = || receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
    let measured: BTreeMap<u32, Duration> =
        std::iter::from_fn(next).filter_map(|(cpu, time)| Some((cpu, time?))).collect();
    for (cpu, time) in &measured {
        note_shortest(*cpu, *time);
    }
    measured
}

/// Returns the shortest time that this process has measured on a CPU.
pub fn shortest_calibration(cpu: u32) -> Option<Duration> {
    SHORTEST.lock().unwrap_or_else(PoisonError::into_inner).get(&cpu).copied()
}

fn note_shortest(cpu: u32, time: Duration) {
    let mut shortest = SHORTEST.lock().unwrap_or_else(PoisonError::into_inner);
    let known = shortest.entry(cpu).or_insert(time);
    *known = time.min(*known);
}

/// Pins this thread and measures once.
fn measure_on(cpu: u32) -> Option<Duration> {
    set_cpus(&[cpu]).ok()?;
    let before = thread_cpu_time()?;
    black_box(compute(black_box(STEPS)));
    thread_cpu_time()?.checked_sub(before)
}

fn compute(steps: u32) -> [u64; NUMBERS] {
    let mut numbers = std::array::from_fn(|n| n as u64);
    for step in 0..steps {
        for number in &mut numbers {
            let mixed = (*number ^ (*number >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            *number = mixed.wrapping_add(u64::from(step));
        }
    }
    numbers
}

fn thread_cpu_time() -> Option<Duration> {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok().map(Duration::from)
}

/// Measurements during a run, until it is dropped.
pub struct RunningCalibration {
    kept: Arc<Mutex<Kept>>,
    /// Its end ends the thread.
    _stop: mpsc::Sender<()>,
}

#[derive(Default)]
struct Kept {
    times: VecDeque<(u32, Duration)>,
    used: Duration,
}

impl RunningCalibration {
    /// Measures one of these CPUs after the other from now on.
    pub fn start(cpus: Vec<u32>) -> Self {
        let (stop, stopped) = mpsc::channel();
        let kept = Arc::new(Mutex::new(Kept::default()));
        let measuring = Arc::clone(&kept);
        let measure = move || {
            for cpu in cpus.iter().cycle() {
                if stopped.recv_timeout(PERIOD) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let time = measure_on(*cpu);
                let mut kept = measuring.lock().unwrap_or_else(PoisonError::into_inner);
                kept.times.extend(time.map(|time| (*cpu, time)));
                if kept.times.len() > MAX_TIMES {
                    kept.times.pop_front();
                }
                kept.used = thread_cpu_time().unwrap_or_default();
            }
        };
        // Not joined: see `calibrate`. Without the thread there are no measurements.
        let _ = thread::Builder::new().name("calibration".into()).spawn(measure);
        Self { kept, _stop: stop }
    }

    /// Returns the measurements so far, with their CPU, and the CPU time that they used in all.
    pub fn measured(&self) -> (Vec<(u32, Duration)>, Duration) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.times.iter().copied().collect(), kept.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cores_of_this_host_are_measured() {
        let cpus: Vec<u32> = super::super::cores::allowed_cpus().unwrap().into_iter().take(2).collect();
        let measured = calibrate(&cpus);
        assert!(!measured.is_empty());
        for (cpu, time) in measured {
            assert!(time > Duration::ZERO && shortest_calibration(cpu).unwrap() <= time);
        }
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_missing() {
        assert_eq!(calibrate(&[1023]), BTreeMap::new());
        assert_eq!(calibrate(&[]), BTreeMap::new());
    }

    #[test]
    fn a_running_calibration_measures_until_it_is_dropped() {
        let cpu = *super::super::cores::allowed_cpus().unwrap().first().unwrap();
        let running = RunningCalibration::start(vec![cpu]);
        let deadline = Instant::now() + Duration::from_secs(60);
        while running.measured().0.is_empty() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(50));
        }
        let (times, used) = running.measured();
        assert!(times[0].0 == cpu && used >= times[0].1, "{times:?} {used:?}");
        let kept = Arc::downgrade(&running.kept);
        drop(running);
        while kept.strong_count() > 0 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(kept.strong_count(), 0, "the thread has ended");
    }
}
