//! QEMU's machine protocol: JSON, one object a line.

use super::machine::VmError;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A line longer than this is no QMP: QEMU's own stay far below.
const MAX_LINE: usize = 1 << 20;

/// Reads lines from a non-blocking stream, bounded.
pub struct Lines {
    pub stream: UnixStream,
    pending: Vec<u8>,
    limit: usize,
    pub open: bool,
}

impl Lines {
    pub fn new(stream: UnixStream, limit: usize) -> Self {
        Self { stream, pending: vec![], limit, open: true }
    }

    /// The next whole line, without waiting; None where there is none yet or the stream ended.
    ///
    /// # Errors
    /// A line over the limit: the other end does not speak the protocol.
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        loop {
            if let Some(end) = self.pending.iter().position(|b| *b == b'\n') {
                let rest = self.pending.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.pending, rest);
                line.pop();
                return Ok(Some(line));
            }
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

pub struct Qmp {
    pub lines: Lines,
}

impl Qmp {
    pub fn new(stream: UnixStream) -> Self {
        Self { lines: Lines::new(stream, MAX_LINE) }
    }

    /// Waits for the greeting and leaves negotiation mode.
    pub fn negotiate(&mut self, deadline: Instant) -> Result<(), VmError> {
        self.wait("greeting", deadline, |message| message.get("QMP").map(|_| ()))?;
        self.execute("qmp_capabilities", deadline).map(|_| ())
    }

    /// Runs a command without arguments; events that arrive meanwhile are dropped.
    pub fn execute(&mut self, command: &str, deadline: Instant) -> Result<Value, VmError> {
        let mut line = json!({ "execute": command }).to_string();
        line.push('\n');
        let sent = (&self.lines.stream).write_all(line.as_bytes());
        sent.map_err(|e| VmError::Qmp(format!("{command}: {e}")))?;
        let answer = self.wait(command, deadline, |message| {
            message.get("return").cloned().map(Ok).or_else(|| message.get("error").cloned().map(Err))
        })?;
        answer.map_err(|error| VmError::Qmp(format!("{command}: {error}")))
    }

    fn wait<T>(
        &mut self,
        what: &str,
        deadline: Instant,
        mut found: impl FnMut(&Value) -> Option<T>,
    ) -> Result<T, VmError> {
        loop {
            // A flood of events does not keep it from its deadline.
            while Instant::now() < deadline
                && let Some(line) = self.lines.next().map_err(VmError::Qmp)?
            {
                let message: Value = serde_json::from_slice(&line).map_err(|e| {
                    VmError::Qmp(format!("{what}: {e} in {:?}", String::from_utf8_lossy(&line)))
                })?;
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
            super::machine::poll_readable(&[&self.lines.stream], left.min(Duration::from_secs(60)));
        }
    }
}
