//! Finds how and why a machine ended.

use super::{Machine, READ_REST, read_rest};
use crate::error::{GuestEnd, VmError};
use crate::free_space::free_bytes_of_folder;
use crate::overlay;
use crate::qmp::{MachineEnd, parse, text};
use mcc_base::files::tail;
use mcc_base::guest_kernel_log;
use nix::errno::Errno;
use std::fs;
use std::time::{Duration, Instant};

/// The end of a log in which the cause of an error is searched, in bytes.
const LOG_END: u64 = 1 << 16;

impl Machine {
    /// Reads an event of QEMU about a read or write that failed.
    pub(super) fn disk_error(&self, event: &serde_json::Value) -> VmError {
        let reason = text(event["reason"].as_str());
        if let Some(bytes) = self.disk_limit
            && reason == Errno::EFBIG.desc()
        {
            return VmError::DiskLimit { bytes };
        }
        let (device, operation) = (disk_name(event), text(event["operation"].as_str()));
        // A QEMU that a guest controls could send the event without a cause, and end the campaign.
        let (no_space, is_full) = (event["nospace"] == true, self.has_full_disk());
        if no_space && !is_full && !self.had_full_disk {
            return VmError::Stopped(format!(
                "{operation} of {device}: {reason}, although the host had free space at each check"
            ));
        }
        VmError::Disk { device, operation, reason, no_space, full: no_space && is_full }
    }

    /// Checks the space that the machine takes on the host, and whether the host's disk is nearly full. To be called at each
    /// check of a run.
    ///
    /// # Errors
    /// `VmError::DiskLimit`: an overlay has more space than writes to a file of the largest size take. QEMU can reserve space
    /// beyond the end of a file, which the limit of its size does not prevent.
    pub fn check_space(&mut self) -> Result<(), VmError> {
        self.had_full_disk |= self.has_full_disk();
        let Some(bytes) = self.disk_limit else { return Ok(()) };
        let most = overlay::most_bytes(bytes);
        if self.overlays.iter().any(|overlay| overlay::has_more_space(overlay, most)) {
            return Err(VmError::DiskLimit { bytes });
        }
        Ok(())
    }

    /// Whether the disk of the overlays is nearly full: others can free some space after QEMU had none.
    fn has_full_disk(&self) -> bool {
        const NEARLY: u64 = 1 << 30;
        free_bytes_of_folder(&self.folder).is_ok_and(|free| free < NEARLY)
    }

    /// Whether the guest's console states that its memory was exhausted.
    pub fn names_exhausted_memory(&self) -> bool {
        let console = fs::read(self.folder.join("console")).unwrap_or_default();
        guest_kernel_log::names_exhausted_memory(&String::from_utf8_lossy(&console))
    }

    /// Returns the error for a guest that did not reach a state in time, with the last log lines of the channel.
    pub fn timeout_error(&self, state: &str) -> VmError {
        let lines = self.last_lines(self.control.log(), "warning:");
        let lines = lines.map(|lines| format!(" ({lines})")).unwrap_or_default();
        VmError::Agent(format!("the guest was not {state} by its deadline{lines}"))
    }

    /// Adds to `VmError::Gone` how QEMU ended and the last log lines of QEMU and the guest, and distinguishes a guest that
    /// ended its machine from a QEMU that was ended by the host.
    ///
    /// A guest must not be able to pass its end off as a failure of the host. It writes the text of the console, so only
    /// QEMU's own events, log and exit status decide.
    pub(super) fn with_cause(&mut self, error: VmError) -> VmError {
        let VmError::Gone(when) = error else { return error };
        let has_ended = self.qemu.ends_within(Duration::from_secs(5));
        let port_closed = !has_ended && self.qmp.lines.open && !self.control.is_open();
        self.qemu.kill();
        let how = self.qemu.wait();
        self.read_end();
        let _ = self.drain();
        let log = self.last_lines("qemu.log", "warning:");
        // A QEMU that did not end was killed here.
        let was_signalled = has_ended && self.qemu.was_signalled();
        // QEMU handles SIGTERM, SIGINT and SIGHUP: it writes a message to its log and exits.
        let reports_signal = reports_signal(self.end.as_ref(), log.as_deref());
        let guest_end = match &self.end {
            Some(MachineEnd::Guest(end)) => Some(*end),
            Some(MachineEnd::Host(_)) => None,
            // Without a signal QEMU exits with this status only when the guest switched the machine off. The event is lost
            // if the guest causes many other events before.
            None => (self.qemu.exit_status() == Some(0) && !reports_signal).then_some(GuestEnd::Shutdown),
        };
        if guest_end.is_none() && port_closed {
            return VmError::PortClosed;
        }
        let memory_limit = self.isolation.memory_limit_reached();
        let is_at_memory_limit = matches!(memory_limit, Ok(Some(_)));
        let memory_limit = memory_limit.unwrap_or_else(|error| Some(error.to_string()));
        let causes = [memory_limit, log, self.last_lines("console", "  ")];
        let causes: Vec<&str> = causes.iter().flatten().map(String::as_str).collect();
        let parts = [when.as_str(), &format!("({how})"), &causes.join("; ")];
        let text = parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" ");
        match guest_end {
            Some(how) => VmError::GuestEnded { how, causes: text },
            None if self.qemu.ended_unseen() && self.wrote_its_share() => {
                VmError::DiskLimit { bytes: self.disk_limit.unwrap_or_default() }
            }
            None if is_at_memory_limit => VmError::MemoryLimit(text),
            None if self.qemu.has_crashed() => VmError::Crashed(text),
            None if was_signalled => VmError::Killed(text),
            None if reports_signal => VmError::ReportedKill(text),
            None => VmError::Gone(text),
        }
    }

    /// Whether an overlay is as large as the disk limit.
    fn wrote_its_share(&self) -> bool {
        let mut overlays = self.overlays.iter().filter_map(|overlay| overlay.metadata().ok());
        self.disk_limit.is_some_and(|limit| overlays.any(|overlay| overlay.len() >= limit))
    }

    /// Reads the events that QEMU sent before its end.
    fn read_end(&mut self) {
        let _ = read_rest(Instant::now() + READ_REST, || {
            if self.end.is_some() {
                return Ok(false);
            }
            let Ok(Some(line)) = self.qmp.lines.next() else { return Ok(false) };
            self.end = parse(&line).ok().as_ref().and_then(MachineEnd::from_event);
            Ok(true)
        });
    }

    /// Returns the last lines of a log, without empty ones and those that contain `noise`.
    fn last_lines(&self, log: &str, noise: &str) -> Option<String> {
        let text = tail(&self.folder.join(log), LOG_END).ok()?;
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().map(strip_timestamp);
        let lines = lines.filter(|line| !line.contains(noise) && !line.trim().is_empty());
        let lines: Vec<String> = lines.map(|line| line.trim().chars().take(300).collect()).collect();
        // A kernel that panics prints the cause first and its registers last.
        let cause =
            lines.iter().position(|line| line.starts_with("mcc-guest-agent:") || line.contains("panic"));
        let first = cause.unwrap_or(lines.len().saturating_sub(3));
        let shown = lines[first..].iter().take(3).cloned().collect::<Vec<_>>().join("; ");
        (!shown.is_empty()).then(|| format!("{log}: {shown}"))
    }
}

/// Whether QEMU states in an event or in its log that a signal ended it. A QEMU that a guest controls can state it without a
/// signal, so only the exit status proves one (`VmError::Killed`).
fn reports_signal(end: Option<&MachineEnd>, log: Option<&str>) -> bool {
    end == Some(&MachineEnd::Host("host-signal".to_owned()))
        || log.is_some_and(|log| log.contains(": terminating on signal "))
}

/// Returns which disk an event of QEMU is about: `disk` for the tool's, `ro0` for the first read-only one. The field `device`
/// of events is empty. libvirt gives the nodes names of its own, and numbers the devices in the order of the specification.
fn disk_name(event: &serde_json::Value) -> String {
    let node = event["node-name"].as_str().unwrap_or_default();
    if !node.is_empty() && !node.starts_with("libvirt-") {
        return text(Some(node));
    }
    let path = text(event["qom-path"].as_str());
    let number = path.strip_prefix("/machine/peripheral/virtio-disk").and_then(|rest| rest.split('/').next());
    match number.and_then(|number| number.parse::<usize>().ok()) {
        Some(0) => "disk".to_owned(),
        Some(number) => format!("ro{}", number - 1),
        None => path,
    }
}

/// Removes the kernel's time from a line of its log: `[    3.451559] Kernel panic - not syncing`.
fn strip_timestamp(line: &str) -> &str {
    let parts = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    parts.filter(|(time, _)| time.trim().parse::<f64>().is_ok()).map_or(line, |(_, message)| message)
}

#[cfg(test)]
mod tests {
    use super::{disk_name, reports_signal};
    use crate::qmp::MachineEnd;
    use serde_json::json;

    #[test]
    fn a_signal_that_qemu_reports_is_recognized_in_its_events_and_its_log() {
        let host = |reason: &str| Some(MachineEnd::Host(reason.to_owned()));
        let log = "qemu.log: qemu-system-x86_64: terminating on signal 15 from pid 1";
        assert!(reports_signal(host("host-signal").as_ref(), None) && reports_signal(None, Some(log)));
        assert!(!reports_signal(host("host-error").as_ref(), Some("qemu.log: out of memory")));
    }

    #[test]
    fn a_disk_has_the_same_name_with_and_without_libvirt() {
        let name =
            |node: &str, path: &str| disk_name(&json!({"device": "", "node-name": node, "qom-path": path}));
        assert_eq!(name("disk", "/machine/peripheral-anon/device[0]/virtio-backend"), "disk");
        assert_eq!(name("libvirt-2-format", "/machine/peripheral/virtio-disk0/virtio-backend"), "disk");
        assert_eq!(name("libvirt-1-format", "/machine/peripheral/virtio-disk1/virtio-backend"), "ro0");
        assert_eq!(name("", "/machine/unattached/device[3]"), "/machine/unattached/device[3]");
    }
}
