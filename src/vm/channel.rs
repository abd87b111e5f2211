//! The channel between the host and a guest.

use super::error::VmError;
use super::qmp::Lines;
use super::ssh::{self, Ssh};
use mcc_base::guest::{GuestEvent, GuestMessage, Request};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// A channel for requests and events.
pub enum Channel {
    /// A virtio port that the guest agent has open.
    Agent(Lines),
    /// Sessions over ssh.
    Ssh(Box<Ssh>),
}

/// A line that was received.
#[derive(Debug)]
pub enum Received {
    /// A message of the guest.
    Message(GuestMessage),
    /// Not a message.
    Invalid,
}

impl Channel {
    /// Sends a request to the guest.
    pub fn send(&mut self, request: &Request) -> Result<(), VmError> {
        let lines = match self {
            Self::Agent(lines) => lines,
            Self::Ssh(ssh) => return ssh.send(request),
        };
        let mut line = serde_json::to_vec(request).expect("requests are plain data");
        line.push(b'\n');
        // A job has a few KiB, far less than a socket's buffer: the buffer is full only if the agent does not read.
        (&lines.stream).write_all(&line).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => VmError::Gone(String::new()),
            _ => VmError::Agent(format!("it does not read its port: {error}")),
        })
    }

    /// Requests the files of evidence of the job over ssh, after `GuestEvent::OutputComplete`; the agent sends them before it.
    pub fn request_evidence(&mut self) -> Result<(), VmError> {
        match self {
            Self::Agent(_) => Ok(()),
            Self::Ssh(ssh) => ssh.request_evidence(),
        }
    }

    /// Returns the next message, without waiting; `Received::Invalid` for a line of the agent's port that is not a message.
    #[expect(clippy::should_implement_trait, reason = "None does not end it")]
    pub fn next(&mut self) -> Result<Option<Received>, VmError> {
        let lines = match self {
            Self::Agent(lines) => lines,
            Self::Ssh(ssh) => return Ok(ssh.next()?.map(Received::Message)),
        };
        let line = lines.next().map_err(VmError::Agent)?;
        Ok(line.map(|line| serde_json::from_slice(&line).map_or(Received::Invalid, Received::Message)))
    }

    /// Must be called for a message with impossible content. Over ssh, once the guest has the name of the instance, such a
    /// message ends the sessions; the result is the event of that.
    pub fn refuse(&mut self, message: &str) -> Option<GuestEvent> {
        match self {
            Self::Agent(_) => None,
            Self::Ssh(ssh) => ssh.refuse(message),
        }
    }

    /// Whether QEMU's end of the port is open. Always true for ssh, where a lost connection is opened again.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Agent(lines) => lines.open,
            Self::Ssh(_) => true,
        }
    }

    /// Returns the descriptors to wait for, and the time of the next check even if none is readable.
    pub fn poll_targets(&self) -> (Vec<BorrowedFd<'_>>, Option<Instant>) {
        match self {
            Self::Agent(lines) => (vec![lines.stream.as_fd()], None),
            Self::Ssh(ssh) => ssh.poll_targets(),
        }
    }

    /// Must be called when both streams of the tool have ended, with their lengths in bytes. Returns the event that
    /// follows from it, if any.
    pub fn output_closed(&mut self, bytes: (u64, u64)) -> Option<GuestEvent> {
        match self {
            // The agent sends this event itself.
            Self::Agent(_) => None,
            Self::Ssh(ssh) => ssh.output_closed(bytes),
        }
    }

    /// Ends the channel after the machine has ended.
    pub fn close(&mut self) {
        if let Self::Ssh(ssh) = self {
            ssh.close();
        }
    }

    /// Returns the name of the file in the attempt's folder with the error messages of the channel.
    pub fn log(&self) -> &'static str {
        match self {
            Self::Agent(_) => "console",
            Self::Ssh(_) => ssh::LOG,
        }
    }
}
