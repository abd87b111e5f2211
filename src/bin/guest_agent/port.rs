//! The virtio ports. Only root may open them, so a tool cannot forge events.

use crate::boot::Hotplug;
use anyhow::{Context, Result};
use mcc_base::guest::{GuestEvent, GuestMessage, MAX_LINE, Request};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Mutex;

/// Waits until the kernel has the port with this name, and opens it.
pub fn open(hotplug: &Hotplug, name: &str) -> Result<File> {
    let node = hotplug.wait_for(|| {
        let ports = fs::read_dir("/sys/class/virtio-ports").ok()?;
        ports.flatten().find_map(|port| {
            let found = fs::read_to_string(port.path().join("name")).ok()?;
            (found.trim() == name).then(|| format!("/dev/{}", port.file_name().to_string_lossy()))
        })
    })?;
    File::options().read(true).write(true).open(&node).with_context(|| format!("port {name} at {node}"))
}

/// The control port: it receives requests and sends events with the nonce of the job.
pub struct Control {
    requests: BufReader<File>,
    events: Mutex<File>,
    nonce: String,
}

impl Control {
    /// Waits for the port and opens it.
    pub fn open(hotplug: &Hotplug, name: &str) -> Result<Self> {
        let port = open(hotplug, name)?;
        let events = Mutex::new(port.try_clone()?);
        Ok(Self { requests: BufReader::new(port), events, nonce: String::new() })
    }

    /// Sets the nonce of later events.
    pub fn set_nonce(&mut self, nonce: &str) {
        self.nonce = nonce.to_owned();
    }

    /// Sends an event.
    pub fn send(&self, event: GuestEvent) -> Result<()> {
        let mut line = serde_json::to_vec(&GuestMessage { nonce: self.nonce.clone(), event })?;
        line.push(b'\n');
        self.events.lock().unwrap().write_all(&line).context("control port")
    }

    /// Waits for the next request.
    pub fn next_request(&mut self) -> Result<Request> {
        let mut line = String::new();
        (&mut self.requests).take(MAX_LINE as u64).read_line(&mut line).context("control port")?;
        serde_json::from_str(&line).with_context(|| format!("request {line:?}"))
    }
}

/// Waits until the host ends the machine, because the first process must not exit.
pub fn wait_forever() -> Result<()> {
    loop {
        nix::unistd::pause();
    }
}
