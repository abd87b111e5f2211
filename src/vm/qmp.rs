//! QMP, QEMU's control protocol: JSON, one object per line.

use super::error::{GuestEnd, VmError};
use super::stream_file::{ReadResult, Sink};
use mcc_base::guest::capped;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{IoSlice, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Length limit of a line in bytes. The lines of QEMU are far shorter.
const MAX_LINE: usize = 1 << 20;

/// Reads lines of limited length from a non-blocking stream.
pub struct Lines {
    /// The stream.
    pub stream: UnixStream,
    pending: Vec<u8>,
    /// Number of the first pending bytes that contain no end of a line.
    searched: usize,
    limit: usize,
    /// Whether the other end is open, as far as it was read.
    pub open: bool,
}

impl Lines {
    /// `limit`: the largest length of a line, bytes.
    pub fn new(stream: UnixStream, limit: usize) -> Self {
        Self { stream, pending: vec![], searched: 0, limit, open: true }
    }

    /// Returns the next complete line, without waiting; None if there is none yet or the stream has ended.
    ///
    /// # Errors
    /// A line is longer than the limit.
    #[expect(clippy::should_implement_trait, reason = "None does not end it")]
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        loop {
            // A long line arrives in many parts: only the new part is searched.
            if let Some(end) = self.pending[self.searched..].iter().position(|b| *b == b'\n') {
                let rest = self.pending.split_off(self.searched + end + 1);
                self.searched = 0;
                let mut line = std::mem::replace(&mut self.pending, rest);
                line.pop();
                return Ok(Some(line));
            }
            self.searched = self.pending.len();
            if self.pending.len() > self.limit {
                return Err(format!("a line of more than {} bytes", self.limit));
            }
            if !self.open {
                return Ok(None);
            }
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk) {
                Ok(0) => self.open = false,
                Ok(n) => self.pending.extend_from_slice(&chunk[..n]),
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => self.open = false,
            }
        }
    }
}

/// The end of a machine, as QEMU reports it.
#[derive(Debug, PartialEq, Eq)]
pub enum MachineEnd {
    /// The guest ended it.
    Guest(GuestEnd),
    /// QEMU or the host ended it: QEMU's word for the reason, such as `host-signal`.
    Host(String),
}

impl MachineEnd {
    /// Reads an event of QEMU; None: it is not an event about the end of the machine.
    ///
    /// The member `guest` of `SHUTDOWN` is set by QEMU; no guest can choose a reason of the host.
    pub fn from_event(event: &Value) -> Option<Self> {
        let data = &event["data"];
        Some(match event["event"].as_str()? {
            "GUEST_PANICKED" => Self::Guest(GuestEnd::Panic),
            "SHUTDOWN" => match (data["guest"].as_bool(), data["reason"].as_str()) {
                (Some(true), Some("guest-panic")) => Self::Guest(GuestEnd::Panic),
                (Some(true), Some("guest-shutdown")) => Self::Guest(GuestEnd::Shutdown),
                (Some(true), _) => Self::Guest(GuestEnd::Reset),
                (_, reason) => Self::Host(text(reason)),
            },
            _ => return None,
        })
    }
}

/// The largest number of characters that are kept of a text of QEMU.
const MAX_TEXT: usize = 300;

/// Returns a text of QEMU for a message; `?` if there is none.
pub(super) fn text(of_qemu: Option<&str>) -> String {
    capped(of_qemu.unwrap_or("?"), MAX_TEXT)
}

/// A connection to QEMU's control socket.
pub struct Qmp {
    /// The lines of QEMU.
    pub lines: Lines,
    /// QEMU's stderr and its log. It is copied while a command waits, because a QEMU whose stderr is full does not answer.
    /// None under libvirt, which writes the log itself.
    pub log: Option<Sink>,
}

impl Qmp {
    /// `stream` must be non-blocking.
    pub fn new(stream: UnixStream, log: Option<Sink>) -> Self {
        Self { lines: Lines::new(stream, MAX_LINE), log }
    }

    /// QEMU's stderr, while it is open.
    pub fn log_stream(&self) -> Option<BorrowedFd<'_>> {
        self.log.as_ref().filter(|log| log.is_open()).map(|log| log.stream().as_fd())
    }

    /// Waits for the greeting and leaves negotiation mode.
    pub fn negotiate(&mut self, deadline: Instant) -> Result<(), VmError> {
        self.wait("greeting", deadline, |message| message.get("QMP").map(|_| ()))?;
        self.execute("qmp_capabilities", deadline).map(|_| ())
    }

    /// Sends a command without waiting for the answer. It must have an id, by which the answer is recognized.
    pub fn send(&mut self, command: &Value) -> Result<(), VmError> {
        self.send_with(command, None)
    }

    fn send_with(&mut self, command: &Value, file: Option<&File>) -> Result<(), VmError> {
        let line = format!("{command}\n");
        let fds: Vec<i32> = file.iter().map(|file| file.as_raw_fd()).collect();
        let along = [ControlMessage::ScmRights(&fds)];
        let along = if fds.is_empty() { &along[..0] } else { &along[..] };
        // Far less than a socket's buffer, so it is sent completely or not at all.
        let socket = self.lines.stream.as_raw_fd();
        let sent =
            sendmsg::<()>(socket, &[IoSlice::new(line.as_bytes())], along, MsgFlags::MSG_NOSIGNAL, None);
        sent.map(drop).map_err(|error| match error {
            Errno::EPIPE => VmError::Gone(format!("before it received the command {}", command["execute"])),
            _ => VmError::Qmp(format!("{}: {error}", command["execute"])),
        })
    }

    /// Runs a command without arguments and returns its result. Events that arrive meanwhile are dropped.
    pub fn execute(&mut self, command: &str, deadline: Instant) -> Result<Value, VmError> {
        self.execute_with(command, json!({}), None, deadline)
    }

    /// Runs a command; `file` is a descriptor to send with it.
    fn execute_with(
        &mut self,
        command: &str,
        arguments: Value,
        file: Option<&File>,
        deadline: Instant,
    ) -> Result<Value, VmError> {
        self.send_with(&json!({ "execute": command, "arguments": arguments }), file)?;
        let answer = self.wait(command, deadline, |message| {
            // An answer with an id belongs to a command of `send`.
            let answers = message["id"].is_null();
            let answer =
                || message.get("return").cloned().map(Ok).or_else(|| message.get("error").cloned().map(Err));
            answers.then(answer).flatten()
        })?;
        answer.map_err(|error| VmError::Qmp(format!("{command}: {}", text(Some(&error.to_string())))))
    }

    /// Returns the port of 127.0.0.1 that QEMU forwards to the guest; the kernel chose it.
    pub fn forwarded_port(&mut self, deadline: Instant) -> Result<u16, VmError> {
        let query = json!({ "command-line": "info usernet" });
        let table = self.execute_with("human-monitor-command", query, None, deadline)?;
        let row = table.as_str().and_then(|text| text.lines().find(|line| line.contains("HOST_FORWARD")));
        let port = row.and_then(|row| row.split_whitespace().skip_while(|word| *word != "127.0.0.1").nth(1));
        port.and_then(|port| port.parse().ok())
            .ok_or_else(|| VmError::Qmp(format!("QEMU reports no forwarded port: {}", text(table.as_str()))))
    }

    /// Stops the guest and writes the state of its devices to `file`; its memory is in a shared file already.
    pub fn save_state(&mut self, file: &File, deadline: Instant) -> Result<(), VmError> {
        // By default QEMU limits the bandwidth, for migration over a network.
        self.execute_with("migrate-set-parameters", json!({ "max-bandwidth": 0 }), None, deadline)?;
        self.execute("stop", deadline)?;
        self.migrate("migrate", file, deadline)
    }

    /// Reads a state into a machine that has the same specification and was started with `-incoming defer`.
    pub fn restore_state(&mut self, file: &File, deadline: Instant) -> Result<(), VmError> {
        self.migrate("migrate-incoming", file, deadline)
    }

    fn migrate(&mut self, command: &str, file: &File, deadline: Instant) -> Result<(), VmError> {
        let capabilities =
            ["events", "x-ignore-shared"].map(|name| json!({ "capability": name, "state": true }));
        let capabilities = json!({ "capabilities": capabilities });
        self.execute_with("migrate-set-capabilities", capabilities, None, deadline)?;
        self.execute_with("getfd", json!({ "fdname": "state" }), Some(file), deadline)?;
        self.execute_with(command, json!({ "uri": "fd:state" }), None, deadline)?;
        let status = self.wait(command, deadline, |message| {
            let status = message["data"]["status"].as_str().filter(|_| message["event"] == "MIGRATION")?;
            ["completed", "failed", "cancelled"].contains(&status).then(|| status.to_owned())
        })?;
        match status.as_str() {
            "completed" => Ok(()),
            other => Err(VmError::Qmp(format!("{command} of the machine's state: {}", text(Some(other))))),
        }
    }

    fn wait<T>(
        &mut self,
        what: &str,
        deadline: Instant,
        mut found: impl FnMut(&Value) -> Option<T>,
    ) -> Result<T, VmError> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            // The log only helps to find a cause: if it cannot be written, the machine fails for the same cause later.
            let copied = self.log.as_mut().map(|log| log.read_available(&mut buffer));
            if matches!(copied, Some(Ok(ReadResult::Some | ReadResult::Full))) && Instant::now() < deadline {
                continue;
            }
            // The deadline is checked for each line, so that a flood of events cannot delay it.
            while Instant::now() < deadline
                && let Some(line) = self.lines.next().map_err(VmError::Qmp)?
            {
                let message = parse(&line).map_err(|problem| VmError::Qmp(format!("{what}: {problem}")))?;
                if let Some(value) = found(&message) {
                    return Ok(value);
                }
            }
            if !self.lines.open {
                return Err(VmError::Gone(format!("before it answered {what:?}")));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(VmError::Qmp(format!("no answer to {what:?} in time")));
            }
            let streams: Vec<_> = [self.lines.stream.as_fd()].into_iter().chain(self.log_stream()).collect();
            poll_readable(&streams, left.min(Duration::from_secs(60)));
        }
    }
}

/// Reads a line of QEMU.
///
/// # Errors
/// It is not JSON.
pub(super) fn parse(line: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(line)
        .map_err(|error| format!("{error} in {:?}", text(Some(&String::from_utf8_lossy(line)))))
}

/// Waits until one of the streams has something to read or has ended, at most `timeout`.
pub(super) fn poll_readable(streams: &[BorrowedFd], timeout: Duration) {
    let mut fds: Vec<PollFd> = streams.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
    // Rounded up, so that a deadline has passed when its wait is over.
    let millis = (timeout + Duration::from_micros(999)).as_millis().min(60_000) as u16;
    let _ = poll(&mut fds, PollTimeout::from(millis));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_that_arrive_in_parts_are_complete() {
        let (stream, mut other) = UnixStream::pair().unwrap();
        stream.set_nonblocking(true).unwrap();
        let mut lines = Lines::new(stream, MAX_LINE);
        let long = "x".repeat(10_000);
        let mut read = Vec::new();
        for part in ["{}\n[", "1", "]", "\n\n12", "3\n", &long, "\n", "rest"] {
            other.write_all(part.as_bytes()).unwrap();
            while let Some(line) = lines.next().unwrap() {
                read.push(String::from_utf8(line).unwrap());
            }
        }
        assert_eq!(read, ["{}", "[1]", "", "123", &long]);
    }

    #[test]
    fn only_the_end_of_the_guest_gives_a_reason_of_guests() {
        let end = |event: &str, data: Value| MachineEnd::from_event(&json!({ "event": event, "data": data }));
        let shutdown =
            |guest: bool, reason: &str| end("SHUTDOWN", json!({ "guest": guest, "reason": reason }));
        for (reason, how) in [
            ("guest-panic", GuestEnd::Panic),
            ("guest-shutdown", GuestEnd::Shutdown),
            ("guest-reset", GuestEnd::Reset),
            ("subsystem-reset", GuestEnd::Reset),
        ] {
            assert_eq!(shutdown(true, reason), Some(MachineEnd::Guest(how)), "{reason}");
        }
        for reason in ["host-signal", "host-qmp-quit", "host-error"] {
            assert_eq!(shutdown(false, reason), Some(MachineEnd::Host(reason.to_owned())));
        }
        assert_eq!(end("GUEST_PANICKED", json!({})), Some(MachineEnd::Guest(GuestEnd::Panic)));
        assert_eq!(end("SHUTDOWN", json!({ "reason": 7 })), Some(MachineEnd::Host("?".to_owned())));
        assert_eq!(end("RTC_CHANGE", json!({})), None);
    }

    #[test]
    fn texts_of_qemu_in_messages_are_short() {
        let problem = parse("x".repeat(100_000).as_bytes()).unwrap_err();
        assert!(problem.len() < 400 && problem.contains("expected value"), "{problem}");
    }
}
