//! The guest agent: the first process of a guest. It starts from an initrd, mounts the disk and runs one job of the
//! host.
//!
//! The process comes from the initrd, so no program on a tool's disk can replace it. It is the only root process of the
//! reference disk; the command of the job runs as the job's user.

mod boot;
mod job;
mod port;

use mcc_base::guest::{CONTROL, GuestEvent, MAX_TEXT, Request, STDERR, STDOUT, capped};

fn main() {
    if std::process::id() != 1 {
        eprintln!("mcc-guest-agent runs only as the first process of a guest");
        std::process::exit(2);
    }
    if let Err(error) = serve() {
        // The host keeps the console. The kernel panics when its first process exits, and QEMU ends.
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
    control.set_nonce(&job.nonce)?;
    let prepared = match job::prepare(&job) {
        Ok(prepared) => prepared,
        Err(error) => {
            control.send(failed(&error))?;
            return port::wait_forever();
        }
    };
    control.send(GuestEvent::Prepared { memory_limit_kib: prepared.memory_limit_kib })?;
    let Request::Start = control.next_request()? else { anyhow::bail!("a second job") };
    if let Err(error) = job::run(prepared, &control, stdout, stderr) {
        control.send(failed(&error))?;
    }
    port::wait_forever()
}

fn failed(error: &anyhow::Error) -> GuestEvent {
    let by_disk = error.downcast_ref::<job::ToolsDisk>().is_some();
    GuestEvent::Failed { reason: capped(&format!("{error:#}"), MAX_TEXT), by_disk }
}
