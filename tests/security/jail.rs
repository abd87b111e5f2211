//! What a program can do in the place of QEMU: this test program runs in the isolation of a machine and tries.

use crate::support::data;
use mcc_harness::base::child_process::{self, Purpose};
use mcc_harness::vm::Isolation;
use nix::libc;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{
    ForkResult, Gid, Uid, fork, geteuid, getgid, getgroups, gethostname, getpid, getppid, getuid, pause,
};
use std::fs::{self, File};
use std::io::{PipeReader, Read};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The arguments with which this program executes one of its tests that are not run otherwise.
const ONE_TEST: [&str; 3] = ["--ignored", "--nocapture", "--exact"];

/// The arguments of the program in the jail follow this one.
const INSIDE: &str = "jail::in_a_jail_nothing_of_the_host_can_be_reached";

/// Executes this test program in the isolation of a machine; it prints to the reader.
fn start(isolation: &Isolation, test: &str, skipped: &[String]) -> (Child, PipeReader) {
    let program = File::open("/proc/self/exe").unwrap();
    let mut command = child_process::command(format!("/dev/fd/{}", program.as_raw_fd()), Purpose::Machine);
    let (reader, writer) = std::io::pipe().unwrap();
    command.args(ONE_TEST).arg(test).stdin(Stdio::null());
    // The test harness takes any text as the name of a test that it must not run.
    command.args(skipped.iter().flat_map(|text| ["--skip", text]));
    command.stdout(OwnedFd::from(writer.try_clone().unwrap())).stderr(OwnedFd::from(writer));
    (isolation.spawn(&mut command, vec![program.as_raw_fd()], &[]).unwrap(), reader)
}

fn end(mut child: Child, mut reader: PipeReader) {
    // The writing ends of this process.
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

/// The value of an argument of this program.
fn given(name: &str) -> Option<String> {
    std::env::args().find_map(|argument| argument.strip_prefix(name).map(str::to_owned))
}

/// A field of /proc/PID/status.
fn status(pid: u32, field: &str) -> Vec<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap().split_whitespace().map(str::to_owned).collect()
}

#[test]
fn two_jails_and_the_host_cannot_reach_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("result-of-another-run");
    fs::write(&secret, "secret").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let isolations = [(); 3].map(|()| Isolation::of_this_host(64, folder.path()));
    if let Some(missing) = isolations[0].missing().iter().find(|text| text.starts_with("no namespaces")) {
        return data::not_run(missing);
    }
    let abstract_name = format!("mcc-harness-test-{}", std::process::id());
    let _listener =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name).unwrap()).unwrap();
    let is_root = geteuid().is_root();
    let [_, first, second] = &isolations;
    let waits = ["waits=yes".to_owned()];
    let mut waiting = [first, second].map(|one| start(one, "jail::a_program_that_waits", &waits));
    let pids = waiting.each_ref().map(|(child, _)| child.id());
    let arguments = [
        format!("secret={}", secret.display()),
        format!("port={}", listener.local_addr().unwrap().port()),
        format!("other={}", pids[0]),
        format!("root={is_root}"),
        format!("abstract={abstract_name}"),
    ];
    let (jailed, text) = start(&isolations[0], INSIDE, &arguments);
    end(jailed, text);
    // What the host sees of both.
    let namespace = |pid: &str, name: &str| fs::read_link(format!("/proc/{pid}/ns/{name}")).unwrap();
    let user = isolations[0].active().iter().any(|text| text.contains("user,") || text.ends_with("user"));
    for name in
        ["mnt", "ipc", "net", "uts"].into_iter().chain(is_root.then_some("pid")).chain(user.then_some("user"))
    {
        let [first, second] = pids.map(|pid| namespace(&pid.to_string(), name));
        let host = namespace("self", name);
        assert!(first != second && first != host && second != host, "{name}");
    }
    if is_root {
        let [first, second] = pids.map(|pid| (status(pid, "Uid"), status(pid, "Gid")));
        assert!(first.0[0] != "0" && first.1[0] != "0", "{first:?}");
        let own = isolations[1].active().iter().any(|text| text.ends_with("of its own"));
        assert_eq!(own, first.0 != second.0, "{first:?} {second:?}");
        assert_eq!(own, first.1 != second.1, "{first:?} {second:?}");
        assert_eq!(own, !isolations[0].missing().iter().any(|text| text.starts_with("no user of its own")));
    }
    for (child, _) in &mut waiting {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn without_root_the_namespaces_are_made_or_reported() {
    if !geteuid().is_root() {
        return data::not_run("this test becomes another user");
    }
    let program = File::open("/proc/self/exe").unwrap();
    let fd = program.as_raw_fd();
    let mut command = Command::new(format!("/proc/self/fd/{fd}"));
    command.args(["--exact", "--nocapture", "jail::two_jails_and_the_host_cannot_reach_each_other"]);
    // SAFETY: between fork and exec only one system call is made.
    unsafe {
        command.pre_exec(move || {
            nix::errno::Errno::result(libc::fcntl(fd, libc::F_SETFD, 0)).map(drop).map_err(Into::into)
        });
    }
    let done = command.uid(65534).gid(65534).current_dir("/").output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
#[ignore = "the program that runs in a jail"]
fn a_program_that_waits() {
    // `scripts/test --all` runs this outside of a jail too.
    if given("waits=").is_some() {
        pause();
    }
}

#[test]
#[ignore = "the program that runs in a jail"]
fn in_a_jail_nothing_of_the_host_can_be_reached() {
    let Some(secret) = given("secret=") else { return };
    let is_root: bool = given("root=").unwrap().parse().unwrap();
    // Files: none of others, and none can be written.
    assert!(!Path::new(&secret).exists() && !Path::new(&secret).parent().unwrap().exists());
    let root: Vec<String> =
        fs::read_dir("/").unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let known = ["dev", "etc", "lib", "lib32", "lib64", "libx32", "sys", "usr"];
    assert!(root.iter().all(|name| known.contains(&name.as_str())), "{root:?}");
    for hidden in
        ["/proc", "/run", "/tmp", "/etc/passwd", "/usr/bin/sh", "/bin/sh", "/dev/shm", "/dev/tty", "/dev/vda"]
    {
        assert!(!Path::new(hidden).exists(), "{hidden}");
    }
    for folder in ["/", "/usr/lib", "/dev", "/etc"] {
        let written = File::create(Path::new(folder).join("written"));
        assert!(written.is_err(), "{folder}");
    }
    // The folder of its descriptors leads nowhere else, and none of the host's files can be opened for writing.
    let names = |folder: &str| {
        let names = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(names("/dev/fd/.."), names("/dev"));
    assert!(!Path::new("/dev/fd/../../proc").exists() && !Path::new("/dev/fd/../status").exists());
    let opened =
        names("/dev/fd").into_iter().filter(|fd| !["0", "1", "2"].iter().any(|standard| fd == standard));
    for fd in opened {
        assert!(File::options().write(true).open(Path::new("/dev/fd").join(&fd)).is_err(), "{fd:?}");
    }
    for (change, done) in [
        ("chmod", fs::set_permissions("/", std::os::unix::fs::PermissionsExt::from_mode(0o777)).is_ok()),
        ("link", fs::hard_link("/dev/null", "/dev/other").is_ok()),
        ("symlink", std::os::unix::fs::symlink("/", "/dev/other").is_ok()),
        ("remove", fs::remove_file("/dev/null").is_ok()),
        ("chroot", nix::unistd::chroot("/dev").is_ok()),
        (
            "remount",
            nix::mount::mount(Some("/"), "/", None::<&str>, nix::mount::MsFlags::MS_REMOUNT, None::<&str>)
                .is_ok(),
        ),
        (
            "tmpfs",
            nix::mount::mount(
                Some("none"),
                "/dev",
                Some("tmpfs"),
                nix::mount::MsFlags::empty(),
                None::<&str>,
            )
            .is_ok(),
        ),
        ("unmount", nix::mount::umount("/usr/lib").is_ok()),
    ] {
        assert!(!done, "{change}");
    }
    // Users: no root, no groups, no capabilities.
    assert!(!getuid().is_root() && getgid() != Gid::from_raw(0));
    assert!(!is_root || getgroups().unwrap().is_empty());
    let (header, mut sets) = ([0x2008_0522_u32, 0], [u32::MAX; 6]);
    // SAFETY: the call reads 8 bytes and writes 24.
    assert_eq!(unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) }, 0);
    assert_eq!(sets, [0; 6], "effective, permitted and inheritable");
    assert!(nix::unistd::setuid(Uid::from_raw(0)).is_err());
    assert!(nix::sys::prctl::get_no_new_privs().unwrap());
    // Processes: none of others.
    if is_root {
        assert_eq!((getpid().as_raw(), getppid().as_raw()), (1, 0));
    }
    let other: i64 = given("other=").unwrap().parse().unwrap();
    for (call, arguments) in [
        (libc::SYS_kill, [other, 0]),
        (libc::SYS_pidfd_open, [other, 0]),
        (libc::SYS_ptrace, [libc::PTRACE_ATTACH.into(), other]),
        (libc::SYS_process_vm_readv, [other, 0]),
    ] {
        // SAFETY: a call with plain numbers.
        let result = unsafe { libc::syscall(call, arguments[0], arguments[1], 0, 0, 0, 0) };
        assert_eq!((result, nix::errno::Errno::last()), (-1, nix::errno::Errno::EPERM), "{call}");
    }
    // The environment and the name of the host.
    let variables: Vec<_> =
        std::env::vars_os().map(|(name, _)| name).filter(|name| name != "LD_LIBRARY_PATH").collect();
    assert!(variables.is_empty(), "{variables:?}");
    assert_eq!(gethostname().unwrap(), "machine");
    // The network: neither the host's nor any other.
    let port = given("port=").unwrap().parse().unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    assert!(std::net::TcpStream::connect(("192.0.2.1", 80)).is_err());
    for family in [libc::AF_NETLINK, libc::AF_PACKET, libc::AF_VSOCK] {
        // SAFETY: a call with plain numbers.
        assert_eq!(unsafe { libc::socket(family, libc::SOCK_RAW, 0) }, -1, "{family}");
    }
    let abstract_name = SocketAddr::from_abstract_name(given("abstract=").unwrap()).unwrap();
    assert!(UnixStream::connect_addr(&abstract_name).is_err(), "a name without a file is one of a network");
    // Limits, and they cannot be raised.
    assert_eq!(getrlimit(Resource::RLIMIT_CORE).unwrap(), (0, 0));
    assert!(
        setrlimit(Resource::RLIMIT_CORE, 1, 1).is_err()
            && setrlimit(Resource::RLIMIT_NOFILE, 2048, 2048).is_err()
    );
    // SAFETY: a call with plain numbers.
    assert_eq!(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) }, -1);
    assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap().1, 1024);
    if is_root {
        let mut started = 0;
        // SAFETY: the children only wait; all end with this process, which is the first of its PID namespace.
        while started < 1000 && matches!(unsafe { fork() }, Ok(ForkResult::Parent { .. })) {
            started += 1;
        }
        if getpid().as_raw() != 1 {
            pause();
        }
        assert!((10..200).contains(&started), "{started} processes");
    }
}
