//! The guest's first process: boots the disk from an initrd, then runs one job for the host.
//!
//! It stays the process it was in the initrd, so nothing on a tool's disk can take its place. It is the
//! only root process of the reference disk; the job runs as the user it names.

mod boot;
mod job;
mod port;

use mcc_base::guest::{CONTROL, GuestEvent, Request, STDERR, STDOUT};

fn main() {
    if std::process::id() != 1 {
        eprintln!("mcc-guest-agent is the first process of a guest; it has nothing to do here");
        std::process::exit(2);
    }
    if let Err(error) = serve() {
        // The host keeps the console; the kernel panics as its first process exits, and QEMU ends.
        println!("mcc-guest-agent: {error:#}");
    }
}

fn serve() -> anyhow::Result<()> {
    let hotplug = boot::Hotplug::listen()?;
    boot::load_modules()?;
    boot::switch_to_disk(&hotplug)?;
    let mut control = port::Control::open(&hotplug, CONTROL)?;
    let stdout = port::open(&hotplug, STDOUT)?;
    let stderr = port::open(&hotplug, STDERR)?;
    control.send(boot::ready()?)?;

    let job = loop {
        match control.next_request()? {
            Request::Prepare(job) => break job,
            Request::Ready => control.send(boot::ready()?)?,
            Request::Start => anyhow::bail!("start without a job"),
        }
    };
    control.set_nonce(&job.nonce);
    let prepared = match job::prepare(&job) {
        Ok(prepared) => prepared,
        Err(error) => {
            control.send(GuestEvent::Failed { reason: format!("{error:#}") })?;
            return port::wait_forever();
        }
    };
    control.send(GuestEvent::Prepared)?;
    let Request::Start = control.next_request()? else { anyhow::bail!("a second job") };
    if let Err(error) = job::run(prepared, &control, stdout, stderr) {
        control.send(GuestEvent::Failed { reason: format!("{error:#}") })?;
    }
    port::wait_forever()
}
