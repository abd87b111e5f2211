//! How the host talks to a guest.

use super::error::VmError;
use super::qmp::Lines;
use super::ssh::{self, Ssh};
use mcc_base::guest::{GuestEvent, GuestMessage, Request};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

pub enum Channel {
    /// A virtio port that the guest agent holds.
    Agent(Lines),
    Ssh(Box<Ssh>),
}

impl Channel {
    pub fn send(&mut self, request: &Request) -> Result<(), VmError> {
        let lines = match self {
            Self::Agent(lines) => lines,
            Self::Ssh(ssh) => return ssh.send(request),
        };
        let mut line = serde_json::to_vec(request).expect("requests are plain data");
        line.push(b'\n');
        // A job is a few KiB, far below a socket's buffer: a full one means the agent reads nothing.
        (&lines.stream).write_all(&line).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => VmError::Gone(String::new()),
            _ => VmError::Agent(format!("does not read its port: {error}")),
        })
    }

    /// The next event, without waiting.
    pub fn next(&mut self) -> Result<Option<GuestMessage>, VmError> {
        let lines = match self {
            Self::Agent(lines) => lines,
            Self::Ssh(ssh) => return ssh.next(),
        };
        while let Some(line) = lines.next().map_err(VmError::Agent)? {
            if let Ok(message) = serde_json::from_slice(&line) {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// False once QEMU's end of it is gone. A connection over ssh may be lost and found again.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Agent(lines) => lines.open,
            Self::Ssh(_) => true,
        }
    }

    /// What to wait for, and the moment to look again all the same.
    pub fn poll_targets(&self) -> (Vec<BorrowedFd<'_>>, Option<Instant>) {
        match self {
            Self::Agent(lines) => (vec![lines.stream.as_fd()], None),
            Self::Ssh(ssh) => ssh.poll_targets(),
        }
    }

    /// Told that both of the tool's streams have ended after so many bytes; what that means.
    pub fn output_closed(&mut self, bytes: (u64, u64)) -> Option<GuestEvent> {
        match self {
            // The agent says itself when everything is written.
            Self::Agent(_) => None,
            Self::Ssh(ssh) => ssh.output_closed(bytes),
        }
    }

    /// The machine is gone.
    pub fn close(&mut self) {
        if let Self::Ssh(ssh) = self {
            ssh.close();
        }
    }

    /// The file in the attempt's folder with what the channel itself complained of.
    pub fn log(&self) -> &'static str {
        match self {
            Self::Agent(_) => "console",
            Self::Ssh(_) => ssh::LOG,
        }
    }
}
