//! The processes that a tool started on this host, also those that left its session, changed their environment or lost their
//! parent: the kernel makes this process the parent of orphans below it (PR_SET_CHILD_SUBREAPER).

use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Time in which killed processes must end.
const KILL_TIME: Duration = Duration::from_secs(30);

/// Time between two searches.
const SEARCH_INTERVAL: Duration = Duration::from_millis(10);

/// The processes below this one that were started after it was made. Only one can be used at a time.
pub struct Descendants {
    before: HashSet<Pid>,
}

/// A process in /proc.
struct Found {
    parent: Pid,
    has_ended: bool,
}

impl Descendants {
    /// Makes this process the parent of the orphans below it.
    ///
    /// # Errors
    /// The kernel refuses, or does not show the processes.
    pub fn adopt() -> io::Result<Self> {
        set_child_subreaper(true)?;
        let before = below_this_process(&processes()?).collect();
        Ok(Self { before })
    }

    /// Returns those that still run after `time`; earlier, if none does. To be called after the last known child was waited
    /// for, since it takes the exit codes of others.
    ///
    /// # Errors
    /// The kernel does not show the processes.
    pub fn running_after(&self, time: Duration) -> io::Result<Vec<Pid>> {
        let began = Instant::now();
        loop {
            let running = self.running()?;
            if running.is_empty() || began.elapsed() >= time {
                return Ok(running);
            }
            thread::sleep(SEARCH_INTERVAL);
        }
    }

    /// Kills them until none is left.
    ///
    /// # Errors
    /// One cannot be ended, such as a process of another user, or they start others all the time.
    pub fn kill(&self) -> io::Result<()> {
        let began = Instant::now();
        loop {
            let running = self.running()?;
            if running.is_empty() {
                return Ok(());
            }
            if began.elapsed() >= KILL_TIME {
                let numbers: Vec<String> = running.iter().map(Pid::to_string).collect();
                let numbers = numbers.join(", ");
                return Err(io::Error::other(format!(
                    "processes of the tool do not end: {numbers}; end them"
                )));
            }
            for process in running {
                // It may have ended already; if it may not be killed, the time ends.
                let _ = kill(process, Signal::SIGKILL);
            }
            thread::sleep(SEARCH_INTERVAL);
        }
    }

    fn running(&self) -> io::Result<Vec<Pid>> {
        let processes = processes()?;
        let mut running = vec![];
        for pid in below_this_process(&processes).filter(|pid| !self.before.contains(pid)) {
            let found = &processes[&pid];
            // A first thread that has ended looks like a process that has. Another process may have become the parent.
            let is_left = || waitpid(pid, Some(WaitPidFlag::WNOHANG)) == Ok(WaitStatus::StillAlive);
            if !found.has_ended || (found.parent == getpid() && is_left()) {
                running.push(pid);
            }
        }
        Ok(running)
    }
}

impl Drop for Descendants {
    fn drop(&mut self) {
        let _ = set_child_subreaper(false);
    }
}

fn processes() -> io::Result<HashMap<Pid, Found>> {
    let mut processes = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // It may have ended.
        let Ok(stat) = fs::read(format!("/proc/{number}/stat")) else { continue };
        let stat = String::from_utf8_lossy(&stat);
        // Form: pid (name) state parent ...; the name may contain any character.
        let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let (state, parent) = (fields.next(), fields.next().and_then(|parent| parent.parse().ok()));
        let (Some(state), Some(parent)) = (state, parent) else {
            return Err(io::Error::other(format!("/proc/{number}/stat has another form: {stat}")));
        };
        let has_ended = matches!(state, "Z" | "X");
        processes.insert(Pid::from_raw(number), Found { parent: Pid::from_raw(parent), has_ended });
    }
    Ok(processes)
}

/// The processes whose chain of parents leads to this one.
fn below_this_process(processes: &HashMap<Pid, Found>) -> impl Iterator<Item = Pid> {
    let own = getpid();
    let is_below = move |pid: Pid| {
        // A parent can end while /proc is read, and its number be used again: a chain is not longer than all processes.
        let parents = std::iter::successors(processes.get(&pid), |found| processes.get(&found.parent));
        parents.take(processes.len()).any(|found| found.parent == own)
    };
    processes.keys().copied().filter(move |pid| is_below(*pid))
}
