//! The virtio ports: only root may open them, so a tool can forge nothing.

use crate::boot::Hotplug;
use anyhow::{Context, Result};
use mcc_base::guest::{GuestEvent, GuestMessage, MAX_LINE, Request};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Mutex;

/// Opens the port of this name, waiting until the kernel has it.
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

/// The control port: requests in, signed events out.
pub struct Control {
    requests: BufReader<File>,
    events: Mutex<File>,
    nonce: String,
}

impl Control {
    pub fn open(hotplug: &Hotplug, name: &str) -> Result<Self> {
        let port = open(hotplug, name)?;
        let events = Mutex::new(port.try_clone()?);
        Ok(Self { requests: BufReader::new(port), events, nonce: String::new() })
    }

    pub fn set_nonce(&mut self, nonce: &str) {
        self.nonce = nonce.to_owned();
    }

    pub fn send(&self, event: GuestEvent) -> Result<()> {
        let mut line = serde_json::to_vec(&GuestMessage { nonce: self.nonce.clone(), event })?;
        line.push(b'\n');
        self.events.lock().unwrap().write_all(&line).context("control port")
    }

    pub fn next_request(&mut self) -> Result<Request> {
        let mut line = String::new();
        (&mut self.requests).take(MAX_LINE as u64).read_line(&mut line).context("control port")?;
        serde_json::from_str(&line).with_context(|| format!("request {line:?}"))
    }
}

/// The host halts the machine; until then the first process must not exit.
pub fn wait_forever() -> Result<()> {
    loop {
        nix::unistd::pause();
    }
}
