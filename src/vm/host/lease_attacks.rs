//! Tests of the lease registry against other local users, who can write to its folder, and against machines.

use super::lease_folder::{TrustedUsers, check_folder, lock, make_folder};
use super::lease_registry::{ControllerLeases, HostLeases, LeaseRegistry, MachineLease, read_all};
use super::{Core, Cores, Leases, Memory, Policy};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::stat::Mode;
use nix::unistd::{geteuid, mkfifo};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const OTHER_USER: u32 = 65534;
static STOP: AtomicBool = AtomicBool::new(true);
static NO_STOP: AtomicBool = AtomicBool::new(false);

/// A registry folder with the mode that controllers give it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
    folder
}

/// The leases of a controller on a host with two cores, of which one is for machines, and 1024 MiB.
fn leases(folder: &Path) -> Leases {
    let cores = (0..2).map(|cpu| Core { cpus: vec![cpu], ..Core::default() }).collect();
    let memory = Memory { total_mib: 1024, available_mib: 1024, limited_by: None };
    let registry = LeaseRegistry::open(folder, "own.toml").unwrap();
    Leases::new(&Cores { cores, allowed: [0, 1].into() }, &memory).with_registry(registry)
}

/// Writes and locks a file like that of a running controller.
fn page(path: &Path, held: Vec<MachineLease>) -> Flock<File> {
    let page = ControllerLeases { pid: 9, since: String::new(), campaign: "x".into(), held };
    fs::write(path, serde_json::to_string(&page).unwrap()).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    locked(path)
}

fn locked(path: &Path) -> Flock<File> {
    Flock::lock(File::open(path).unwrap(), FlockArg::LockExclusiveNonblock).unwrap()
}

fn all_cores() -> Vec<MachineLease> {
    vec![MachineLease { cpus: vec![0, 1], memory_mib: u64::MAX, shared: false }]
}

/// Makes another user the owner of a file. False: only root can do so.
fn give_away(path: &Path) -> bool {
    let given = geteuid().is_root() && chown(path, Some(OTHER_USER), Some(OTHER_USER)).is_ok();
    if !given {
        eprintln!("not run: only root can give files to other users");
    }
    given
}

fn all(folder: &Path) -> HostLeases {
    read_all(folder, Path::new(""), &TrustedUsers::listed("").unwrap()).unwrap()
}

#[test]
fn impossible_amounts_of_memory_cause_no_panic() {
    let folder = folder();
    let held = [all_cores(), all_cores()].concat();
    let _page = page(&folder.path().join("9-x.json"), held);
    let mut leases = leases(folder.path());
    assert_eq!(leases.lease(1, 512, Policy::Contest), Ok(None), "wait");
    let lease = leases.lease(1, 512, Policy::AllowDegraded).unwrap().unwrap();
    assert_eq!(leases.release(lease), ["degraded:overcommitted-memory", "degraded:shared-cores"]);
}

#[test]
fn files_of_other_users_take_no_cores_and_are_named() {
    let folder = folder();
    let path = folder.path().join("9-x.json");
    let _page = page(&path, all_cores());
    assert_eq!(all(folder.path()).controllers.len(), 1, "of this user: it counts");
    if !give_away(&path) {
        return;
    }
    let mut leases = leases(folder.path());
    let lease = leases.lease(1, 512, Policy::Contest).unwrap().expect("the core is free");
    assert_eq!(leases.release(lease), [""; 0]);
    drop(leases);
    let HostLeases { controllers, ignored } = all(folder.path());
    assert_eq!(controllers, []);
    assert!(
        ignored[0].contains("9-x.json: its owner, user 65534, is not listed in MCC_HARNESS_LEASE_USERS"),
        "{ignored:?}"
    );
    let listed = TrustedUsers::listed("1,65534").unwrap();
    assert_eq!(read_all(folder.path(), Path::new(""), &listed).unwrap().controllers.len(), 1);
    assert!(TrustedUsers::listed("alice").unwrap_err().to_string().contains("correct it"));
}

#[test]
fn many_files_of_a_user_are_named_once() {
    let folder = folder();
    for n in 10..60 {
        let path = folder.path().join(format!("{n}-x.json"));
        fs::write(&path, "").unwrap();
        if !give_away(&path) {
            return;
        }
    }
    let HostLeases { controllers, ignored } = all(folder.path());
    assert_eq!(controllers, []);
    assert_eq!(ignored.len(), 1, "{ignored:?}");
    assert!(ignored[0].contains("10-x.json: its owner, user 65534, is not listed"), "{ignored:?}");
}

#[test]
fn files_that_no_controller_writes_are_ignored_by_name() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let victim = tempfile::NamedTempFile::new().unwrap();
    fs::write(victim.path(), "kept").unwrap();
    mkfifo(&at("1-fifo.json"), Mode::S_IRWXU).unwrap();
    fs::create_dir(at("2-folder.json")).unwrap();
    symlink(victim.path(), at("3-link.json")).unwrap();
    symlink("/dev/zero", at("4-device.json")).unwrap();
    let linked = page(&at("5-linked.json"), all_cores());
    fs::hard_link(at("5-linked.json"), at("second-name")).unwrap();
    let giant = page(&at("6-giant.json"), vec![]);
    giant.set_permissions(Permissions::from_mode(0o600)).unwrap();
    File::options().write(true).open(at("6-giant.json")).unwrap().set_len(1 << 40).unwrap();
    fs::write(at("7-bytes.json"), [0xff, 0xfe]).unwrap();
    let bytes = locked(&at("7-bytes.json"));
    fs::write(at("8-text.json"), "{\"pid\": -1}").unwrap();
    let text = locked(&at("8-text.json"));
    let open = page(&at("9-open.json"), all_cores());
    open.set_permissions(Permissions::from_mode(0o666)).unwrap();
    let mut leases = leases(folder.path());
    assert!(leases.lease(1, 512, Policy::Contest).unwrap().is_some(), "none of them counts");
    drop(leases);
    let HostLeases { controllers, ignored } = all(folder.path());
    assert_eq!(controllers, []);
    let reasons = [
        "1-fifo.json: it is not a regular file",
        "2-folder.json: it is not a regular file",
        "3-link.json: it is a link",
        "4-device.json: it is a link",
        "5-linked.json: it has several names",
        "6-giant.json: it has more than 1048576 bytes",
        "7-bytes.json: stream did not contain valid UTF-8",
        "8-text.json: invalid value",
        "9-open.json: users other than its owner can write to it",
    ];
    assert_eq!(ignored.len(), reasons.len(), "{ignored:#?}");
    for (found, reason) in ignored.iter().zip(reasons) {
        assert!(found.contains(reason), "{reason} in {found}");
    }
    assert_eq!(fs::read_to_string(victim.path()).unwrap(), "kept");
    drop([linked, giant, bytes, text, open]);
}

#[test]
fn a_lock_that_is_never_released_is_an_error_with_its_holder() {
    let folder = folder();
    let mut own = leases(folder.path());
    let turn = folder.path().join("turn");
    let _held = locked(&turn);
    for policy in [Policy::Contest, Policy::AllowDegraded] {
        assert_eq!(own.lease(1, 512, policy), Ok(None), "the caller can observe a stop request");
    }
    let error = lock(File::open(&turn).unwrap(), &turn, Duration::from_millis(30), &NO_STOP).unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{text}");
    assert!(
        text.contains("turn: another process had it locked for 30ms: ") && text.contains("end that process"),
        "{text}"
    );
    let is_named = text.contains(&format!("process {} (", std::process::id()));
    assert!(is_named || text.contains("unknown"), "not all file systems name the holder: {text}");
    let error = lock(File::open(&turn).unwrap(), &turn, Duration::from_secs(3600), &STOP).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Interrupted, "{error}");
}

#[test]
fn a_lock_of_another_user_keeps_no_lease_alive() {
    let folder = folder();
    let path = folder.path().join("9-x.json");
    drop(page(&path, all_cores()));
    if !geteuid().is_root() {
        return eprintln!("not run: only root can start processes of other users");
    }
    let mut other = Command::new("flock");
    other.arg(&path).args(["sleep", "1000"]).uid(OTHER_USER).process_group(0);
    let mut other = other.spawn().unwrap();
    while Flock::lock(File::open(&path).unwrap(), FlockArg::LockSharedNonblock).is_ok() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let HostLeases { controllers, ignored } = all(folder.path());
    nix::sys::signal::killpg(nix::unistd::Pid::from_raw(other.id() as i32), nix::sys::signal::SIGKILL)
        .unwrap();
    other.wait().unwrap();
    if controllers.is_empty() {
        assert!(ignored[0].contains("(\"flock\") of user 65534, not by its controller"), "{ignored:?}");
    } else {
        eprintln!("not run: this file system does not name the holder of a lock");
    }
}

#[test]
fn a_program_that_a_controller_starts_does_not_inherit_its_lock() {
    let folder = folder();
    let _registry = LeaseRegistry::open(folder.path(), "own.toml").unwrap();
    let listed = Command::new("ls").args(["-l", "/proc/self/fd"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains(" -> ") && !listed.contains(folder.path().to_str().unwrap()), "{listed}");
}

#[test]
fn a_folder_that_others_control_is_refused_with_the_remedy() {
    let parent = tempfile::tempdir().unwrap();
    let made = parent.path().join("made");
    make_folder(&made, 0o1777).unwrap();
    assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o7777, 0o1777);
    let link = parent.path().join("link");
    symlink(&made, &link).unwrap();
    let refused = |path: &Path| LeaseRegistry::open(path, "c").unwrap_err().to_string();
    assert!(refused(&link).contains("links are not followed; remove it (rm "), "{}", refused(&link));
    for mode in [0o777, 0o770] {
        fs::set_permissions(&made, Permissions::from_mode(mode)).unwrap();
        assert!(refused(&made).contains("make it sticky (chmod +t "), "{}", refused(&made));
    }
    fs::set_permissions(&made, Permissions::from_mode(0o700)).unwrap();
    check_folder(&made).unwrap();
    if give_away(&made) {
        let error = refused(&made);
        assert!(error.contains("its owner is user 65534") && error.contains("chown root "), "{error}");
    }
}

#[test]
fn a_lock_file_of_another_kind_is_refused_at_once() {
    let folder = folder();
    let turn = folder.path().join("turn");
    let refused = || LeaseRegistry::open(folder.path(), "c").unwrap_err().to_string();
    mkfifo(&turn, Mode::S_IRWXU).unwrap();
    assert!(refused().contains("turn: it is not a regular file"), "{}", refused());
    fs::remove_file(&turn).unwrap();
    let victim = folder.path().join("victim");
    symlink(&victim, &turn).unwrap();
    assert!(refused().contains("turn: it is a link"), "{}", refused());
    assert!(!victim.exists(), "no file is made through the link");
    fs::remove_file(&turn).unwrap();
    fs::create_dir(&turn).unwrap();
    assert!(refused().contains("turn: it is not a regular file"), "{}", refused());
}

#[test]
fn other_users_cannot_mark_runs_as_overcommitted() {
    let folder = folder();
    let mut leases = leases(folder.path());
    let lease = leases.lease(1, 512, Policy::Contest).unwrap().unwrap();
    fs::write(folder.path().join("turn"), "999").unwrap();
    let forged = folder.path().join("overcommits-0");
    fs::write(&forged, "999").unwrap();
    if give_away(&forged) {
        assert_eq!(leases.release(lease), [""; 0]);
    }
}
