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
    /// The nonce as text of JSON.
    quoted_nonce: String,
}

impl Control {
    /// Waits for the port and opens it.
    pub fn open(hotplug: &Hotplug, name: &str) -> Result<Self> {
        let port = open(hotplug, name)?;
        let events = Mutex::new(port.try_clone()?);
        Ok(Self { requests: BufReader::new(port), events, nonce: String::new(), quoted_nonce: String::new() })
    }

    /// Sets the nonce of later events.
    pub fn set_nonce(&mut self, nonce: &str) -> Result<()> {
        self.nonce = nonce.to_owned();
        self.quoted_nonce = serde_json::to_string(nonce)?;
        Ok(())
    }

    /// Sends an event.
    pub fn send(&self, event: GuestEvent) -> Result<()> {
        let mut line = match event {
            GuestEvent::Sample { memory_kib, cpu_ms, io_wait_ms, runnable } => {
                sample_message(&self.quoted_nonce, [memory_kib, cpu_ms, io_wait_ms, runnable.into()])
            }
            event => serde_json::to_vec(&GuestMessage { nonce: self.nonce.clone(), event })?,
        };
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

/// The message that serde makes of a sample, in a quarter of the instructions: they count with those of the tool, and the
/// number of samples depends on the wall time.
fn sample_message(quoted_nonce: &str, numbers: [u64; 4]) -> Vec<u8> {
    let names =
        [r#","event":"sample","memory_kib":"#, r#","cpu_ms":"#, r#","io_wait_ms":"#, r#","runnable":"#];
    let mut message = Vec::with_capacity(256);
    message.extend_from_slice(br#"{"nonce":"#);
    message.extend_from_slice(quoted_nonce.as_bytes());
    for (name, mut number) in names.into_iter().zip(numbers) {
        message.extend_from_slice(name.as_bytes());
        let (mut digits, mut first) = ([0; 20], 20);
        while number > 0 || first == 20 {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
        }
        message.extend_from_slice(&digits[first..]);
    }
    message.push(b'}');
    message
}

/// Waits until the host ends the machine, because the first process must not exit.
pub fn wait_forever() -> Result<()> {
    loop {
        nix::unistd::pause();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_a_sample_is_that_of_serde() {
        for (nonce, numbers) in
            [("5a", [0, 1, 10, 7]), ("\"\\", [u64::MAX, 1_234_567_890, 99, u64::from(u32::MAX)])]
        {
            let [memory_kib, cpu_ms, io_wait_ms, runnable] = numbers;
            let event =
                GuestEvent::Sample { memory_kib, cpu_ms, io_wait_ms, runnable: runnable.try_into().unwrap() };
            let expected = serde_json::to_string(&GuestMessage { nonce: nonce.to_owned(), event }).unwrap();
            let message = sample_message(&serde_json::to_string(nonce).unwrap(), numbers);
            assert_eq!(String::from_utf8(message).unwrap(), expected);
        }
    }
}
