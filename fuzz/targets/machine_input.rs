//! What guests, QEMU, leases and containers of tools send.

use mcc_harness::base::digest;
use mcc_harness::base::guest::{Exit, GuestEvent, MAX_LINE};
use mcc_harness::container::{Container, Limits};
use mcc_harness::host::{self, Core, LeaseRegistry, Leases, Memory, Policy};
use mcc_harness::vm::{Channel, EvidenceReader, Lines, Qmp, Received};
use std::fs::{self, File};
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Memory and CPU time of the machine of the target `guest`.
const MEMORY_KIB: u64 = 16 << 20;
const MAX_MS: u64 = 2 * 3_600_000;

/// The lines of a guest on its channel: every message that is accepted is within its bounds and is the same after it is
/// written and read again.
pub fn guest(data: &[u8]) {
    let (stream, _guest) = sent(data);
    let mut channel = Channel::Agent(Lines::new(stream, MAX_LINE));
    while let Ok(Some(received)) = channel.next() {
        let Received::Message(message) = received else { continue };
        let written = serde_json::to_string(&message).expect("a message is plain data");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&written).expect("its own JSON")["nonce"],
            *message.nonce
        );
        if !message.event.is_possible(MEMORY_KIB, MAX_MS) {
            continue;
        }
        match message.event {
            GuestEvent::Ready { memory_kib, .. } => assert!(memory_kib <= MEMORY_KIB),
            GuestEvent::Sample { memory_kib, cpu_ms, io_wait_ms, .. } => {
                assert!(memory_kib <= MEMORY_KIB && cpu_ms <= MAX_MS && io_wait_ms <= MAX_MS);
            }
            GuestEvent::Ended { exit, memory_kib, io_wait_ms, .. } => {
                assert!(memory_kib <= MEMORY_KIB && io_wait_ms <= MAX_MS);
                assert!(matches!(exit, Exit::Code(_) | Exit::Signal(1..=64)));
            }
            _ => {}
        }
    }
}

/// A stream with this data that ends, and its other end, which receives what is sent.
fn sent(data: &[u8]) -> (UnixStream, UnixStream) {
    let (here, mut there) = UnixStream::pair().expect("a pair of sockets");
    here.set_nonblocking(true).expect("a socket");
    there.set_nonblocking(true).expect("a socket");
    // What exceeds the buffer of a socket is cut.
    let _ = there.write(data);
    there.shutdown(Shutdown::Write).expect("a socket");
    (here, there)
}

/// The answers and events of QEMU to each command that is sent.
pub fn qmp(data: &[u8]) {
    let deadline = Instant::now() + Duration::from_secs(10);
    let (stream, _qemu) = sent(data);
    let mut qmp = Qmp::new(stream, None);
    let _ = qmp.negotiate(deadline);
    let _ = qmp.forwarded_port(deadline);
    let _ = qmp.execute("query-cpus-fast", deadline);
    if let Ok(state) = File::open("/dev/null") {
        let _ = qmp.save_state(&state, deadline);
        let _ = qmp.restore_state(&state, deadline);
    }
    while let Ok(Some(_)) = qmp.lines.next() {}
    assert!(Instant::now() < deadline, "it waited for a stream that has ended");
}

/// The lease file of another controller and the lock file of the registry, separated by a NUL: a lease is given or refused.
pub fn leases(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let page = folder.path().join("9-other.json");
    fs::write(&page, parts.next().unwrap_or_default()).expect("a file");
    if let Some(count) = parts.next() {
        fs::write(folder.path().join("turn"), count).expect("a file");
    }
    // Locked, as by a running controller.
    let other = File::open(&page).expect("the file");
    other.lock().expect("a lock");
    let Ok(registry) = LeaseRegistry::open(folder.path(), "campaign.toml") else { return };
    let cores = host::Cores {
        cores: (0..4).map(|cpu| Core { cpus: vec![cpu], ..Core::default() }).collect(),
        allowed: (0..4).collect(),
    };
    let memory = Memory { total_mib: 65_536, available_mib: 60_000, limited_by: None };
    let mut leases = Leases::new(&cores, &memory).with_registry(registry);
    for (vcpus, policy) in [(1, Policy::Contest), (2, Policy::AllowDegraded), (4, Policy::Contest)] {
        if let Ok(Some(lease)) = leases.lease(vcpus, 16_384, policy) {
            assert_eq!(lease.cpus.len(), vcpus as usize);
            leases.release(lease);
        }
    }
}

/// The lines of evidence of an original disk: what is passed on has a name of evidence and is within the limits of a job.
pub fn evidence(data: &[u8]) {
    let mut reader = EvidenceReader::new("n");
    let mut kept = 0;
    for line in data.split(|byte| *byte == b'\n') {
        let read = reader.read(line);
        while let Some(event) = reader.next_event() {
            assert!(event.is_possible(0, 0), "{event:?}");
            if let GuestEvent::Evidence { file, part } = event {
                assert!(mcc_harness::base::evidence::parse_name(&file).is_some());
                kept += part.len();
            }
        }
        if read.is_err() {
            break;
        }
    }
    // A replaced byte has three bytes.
    assert!(kept as u64 <= 3 * mcc_harness::base::budgets::EVIDENCE);
}

/// The archive of a container, and a layer of one whose digests are right: a container that is read has bounded paths, and
/// nothing is written outside of the folder of contents.
pub fn container(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let layer = with_checksums(data);
    let id = digest::bytes(&layer);
    let config = format!(
        r#"{{"architecture": "amd64", "os": "linux", "config": {{"Env": ["A=b"]}},
            "rootfs": {{"type": "layers", "diff_ids": ["sha256:{id}"]}}}}"#
    );
    let around = folder.path().join("around");
    fs::create_dir(&around).expect("a folder");
    let manifest = r#"[{"Config": "config.json", "Layers": ["layer.tar"]}]"#;
    for (name, bytes) in [
        ("layer.tar", &layer[..]),
        ("config.json", config.as_bytes()),
        ("manifest.json", manifest.as_bytes()),
    ] {
        fs::write(around.join(name), bytes).expect("a file");
    }
    let archive = folder.path().join("archive");
    fs::write(&archive, &layer).expect("a file");
    for (path, name) in [(&around, "first"), (&archive, "second")] {
        let spool = folder.path().join(name);
        fs::create_dir(&spool).expect("a folder");
        let limits = Limits { bytes: 1 << 20, entries: 1000 };
        let Ok(mut container) = Container::read(path, &spool, limits, &|_| {}) else { continue };
        let paths = container.paths();
        assert!(paths.len() <= 600_000 && paths.iter().all(|path| path.len() < 8192));
        let _ = container.adapt(None);
        let numbered = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().parse::<u64>().is_ok();
        let mut spooled = fs::read_dir(&spool).expect("the folder").map(|entry| entry.expect("an entry"));
        assert!(spooled.all(|entry| numbered(&entry) || entry.file_name() == "archive.tar"));
    }
    let entries = fs::read_dir(folder.path()).expect("the folder").count();
    assert!(entries <= 4, "a file outside of the folders");
}

/// The bytes with a right checksum in each block that looks like the header of a tar archive, so that mutations are read.
fn with_checksums(data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    for block in data.chunks_exact_mut(512).filter(|block| block[257..262] == *b"ustar") {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    data
}
