//! Hostile tools on original disks over ssh, on real machines. The disks are copies of the kit's disk with other files.

use crate::support::campaign;
use crate::support::data;
use crate::support::images;
use crate::support::script;

use campaign::Folder;
use mcc_harness::base::guest::{GuestEvent, Request};
use mcc_harness::store::{Attempt, Outcome};
use mcc_harness::vm::{DiskBus, DiskFile, Event, Guest, Machine, MachineSpec, NicModel, Original};
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Attacks that must not change the outcome of the run.
const FORGERIES: [&str; 5] = [
    "StateSpace",
    "ReachabilityDeadlock",
    "ReachabilityCardinality",
    "ReachabilityFireability",
    "CTLCardinality",
];

fn run(command: &mut Command) {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Copies the kit's disk to `disk.raw` with the hostile tool, and with these further programs: path and content.
fn hostile_disk(folder: &Path, programs: &[(&str, &str)]) {
    let over_ssh = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/over-ssh");
    let forge = folder.join("forge");
    run(Command::new("gcc").args(["-static", "-O1", "-o"]).arg(&forge).arg(over_ssh.join("forge.c")));
    let mut files: Vec<(PathBuf, PathBuf)> = vec![
        ("/home/mcc/BenchKit/bin/forge".into(), forge),
        ("/home/mcc/BenchKit/BenchKit_head.sh".into(), over_ssh.join("attacks_head.sh")),
    ];
    for (at, content) in programs {
        let file = folder.join(Path::new(at).file_name().unwrap());
        fs::write(&file, content).unwrap();
        files.push((at.into(), file));
    }
    images::original_disk(&folder.join("disk.raw"), &files);
}

/// Runs the hostile tool in these examinations. Blocks with infrastructure failures would be excluded.
fn attacked(examinations: &[&str], programs: &[(&str, &str)], keys: &str, cpu_s: u32) -> Folder {
    let folder = Folder::on_one_core(&format!(
        "edition = \"./excluding.toml\"\ninputs = \"{{fixtures}}\"\ninstances = [\"DiningTable-PT-03\"]\n\
         examinations = {examinations:?}\n[[tool]]\nentry = \"hostile\"\nimage = \"disk.raw\"\n\
         kind = \"sequential\"\nchannel = \"ssh\"\nssh_key = \"{{build}}/images/kit/key\"\n{keys}\n\
         [limits]\ncpu_s = {cpu_s}\nwall_s = 1800\n[hosts]\nretries = 1\nboot_deadline_s = 1800\n\
         prepare_deadline_s = 1800\n"
    ));
    let edition = "base = 'mcc-2018'\nname = 'excluding'\n[judging]\ninfrastructure = 'exclude'\n\
                   infrastructure_reason = 'test'\n";
    fs::write(folder.path().join("excluding.toml"), edition).unwrap();
    hostile_disk(folder.path(), programs);
    folder.run(&[]).success();
    folder
}

fn attempt(folder: &Folder, examination: &str) -> Attempt {
    let run = &folder.runs()[&format!("hostile/DiningTable-PT-03/{examination}")];
    assert_eq!(run.last.number, 1, "nothing is retried: {:?}", run.last);
    run.last.clone()
}

fn marks(attempt: &Attempt) -> Vec<&str> {
    // The host of the tests may be busy.
    let of_host = |mark: &str| mark.starts_with("degraded:") || mark == "disturbed";
    attempt.marks.iter().map(|mark| &**mark).filter(|mark| !of_host(mark)).collect()
}

/// The size of all files of an attempt, in bytes.
fn bytes_of(folder: &Folder, examination: &str) -> u64 {
    let run = format!("hostile/DiningTable-PT-03/{examination}");
    let files = fs::read_dir(folder.record().outputs_dir(&run.parse().unwrap(), 1)).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

/// Whether the judgement has all blocks of a campaign.
fn judged_blocks(folder: &Folder) -> usize {
    folder.judge();
    campaign::Judged::read(&folder.path().join("judgement")).0.blocks.len()
}

#[test]
fn a_tool_cannot_reach_the_control_session() {
    let folder = attacked(&[&FORGERIES[..], &["UpperBounds", "CTLFireability"]].concat(), &[], "", 8);
    for examination in FORGERIES {
        let run = attempt(&folder, examination);
        assert_eq!(run.outcome, Outcome::Finished { exit_code: 4 }, "{examination}: {run:?}");
        assert_eq!(marks(&run), [""; 0], "{examination}");
        let stderr = folder.output(&format!("hostile/DiningTable-PT-03/{examination}"), 1, "stderr");
        assert_eq!(stderr, "taken 0\n", "{examination}");
        assert!(bytes_of(&folder, examination) < 8 << 20, "{examination}");
    }
    let computed = attempt(&folder, "UpperBounds");
    assert_eq!(computed.outcome, Outcome::CpuLimit);
    assert!(computed.facts.as_ref().unwrap().cpu_ms >= 8000, "{computed:?}");
    let killed = attempt(&folder, "CTLFireability");
    assert_eq!(killed.outcome, Outcome::ToolCrash { signal: 9 });
    assert_eq!(marks(&killed), ["connection-lost"]);
    assert_eq!(judged_blocks(&folder), FORGERIES.len() + 2, "no block is excluded");
}

#[test]
fn with_a_key_for_root_a_tool_cannot_end_the_sessions() {
    let root = "ssh_root_key = \"{build}/images/kit/key\"";
    let folder = attacked(&["StateSpace", "CTLFireability"], &[], root, 60);
    let forged = attempt(&folder, "StateSpace");
    assert_eq!(forged.outcome, Outcome::Finished { exit_code: 4 });
    assert_eq!(folder.output("hostile/DiningTable-PT-03/StateSpace", 1, "stderr"), "taken 0\n");
    let killed = attempt(&folder, "CTLFireability");
    assert_eq!(killed.outcome, Outcome::ToolCrash { signal: 9 });
    assert_eq!(
        marks(&killed),
        ["left-behind"],
        "the control session reports the end, and what `kill` spared"
    );
}

#[test]
fn messages_forged_on_an_unprotected_disk_are_a_crash() {
    // Without cp, the control session has no copy of bash that protects it.
    let examinations = ["StateSpace", "ReachabilityDeadlock", "ReachabilityCardinality", "UpperBounds"];
    let folder = attacked(&examinations, &[("/usr/bin/cp", "#!/bin/bash\nexit 1\n")], "", 60);
    for examination in examinations {
        let run = attempt(&folder, examination);
        assert_eq!(run.outcome, Outcome::ToolCrash { signal: 9 }, "{examination}: {run:?}");
        assert_eq!(marks(&run), ["guest-messages"], "{examination}");
    }
    assert_eq!(judged_blocks(&folder), examinations.len(), "no block is excluded");
}

#[test]
fn a_disk_that_computes_while_it_prepares_is_limited() {
    let tar = "#!/bin/bash\nwhile :; do :; done\n";
    let folder = attacked(&["StateSpace"], &[("/usr/bin/tar", tar)], "", 8);
    let computed = attempt(&folder, "StateSpace");
    assert_eq!(computed.outcome, Outcome::CpuLimit);
    assert_eq!(marks(&computed), ["cpu-while-preparing"]);
    assert!(computed.facts.unwrap().prepare_cpu_ms >= 8000);
}

/// A campaign with one run over ssh without a machine. The fake QEMU executes `qemu`; its CPU time counts as that of the
/// machine. A fake ssh executes `prepare`, `watch` and `tool` in the place of the guest. In these scripts `{folder}` is the
/// folder of the test.
fn fake_machine(settings: &str, qemu: &str, prepare: &str, watch: &str, tool: &str) -> Folder {
    let folder = Folder::new(&format!(
        "edition = \"mcc-2018\"\ninputs = \"{{fixtures}}\"\ninstances = [\"DiningTable-PT-03\"]\n\
         examinations = [\"StateSpace\"]\n[[tool]]\nentry = \"hostile\"\nimage = \"disk.raw\"\n\
         kind = \"sequential\"\nchannel = \"ssh\"\nssh_key = \"key\"\n[hosts]\nretries = 1\n\
         boot_deadline_s = 600\n{settings}\n"
    ));
    let at = folder.path().display().to_string();
    let mut disk = vec![0; 1 << 20];
    (disk[0], disk[510], disk[511]) = (0x90, 0x55, 0xaa);
    fs::write(folder.path().join("disk.raw"), disk).unwrap();
    fs::write(folder.path().join("key"), "").unwrap();
    // A fake sshd of the guest: it sends the greeting only.
    let sshd = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = sshd.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut greeted = vec![];
        for client in sshd.incoming() {
            let mut client = client.unwrap();
            let _ = client.write_all(b"SSH-2.0-x\r\n");
            greeted.push(client);
        }
    });
    folder.fake_qemu(&format!("forwarded={port}; power_on; {}", qemu.replace("{folder}", &at)));
    let ssh = format!(
        r#"#!/bin/bash
send_event() {{ printf '{{"nonce":"%s","event":"%s"%s}}\n' "$nonce" "$1" "${{2:+,$2}}"; }}
ended() {{ send_event ended '"exit":{{"code":0}},"memory_kib":1000,"oom_kills":0,"left_behind":0'; }}
until_file() {{ until [[ -e $1 ]]; do sleep 0.05; done; }}
case " $* " in
*' -M '*) while read -r line; do
    case $line in
    'open /tmp/'*) echo open; send_event ready '"kernel":"5.10","cpu_flags":["avx"],"memory_kib":1000000' ;;
    "nonce='"*) nonce=${{line#nonce=\'}}; nonce=${{nonce%%\'*}} ;;
    await_preparation) {prepare}; send_event prepared ;;
    watch_tool) send_event started; {watch} ;;
    'send_evidence '*) . {{folder}}/evidence ;;
    esac
done ;;
*) until [[ $line = exit ]]; do read -r line || exit; done; {tool} ;;
esac
"#
    );
    let program = folder.path().join("bin/ssh");
    fs::write(&program, ssh.replace("{folder}", &at)).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

/// Makes the run of `fake_machine`, which must not be repeated.
fn without_machine(settings: &str, qemu: &str, prepare: &str, watch: &str, tool: &str) -> (Folder, Attempt) {
    let folder = fake_machine(settings, qemu, prepare, watch, tool);
    folder.run(&[]).success();
    let last = attempt(&folder, "StateSpace");
    (folder, last)
}

#[test]
fn evidence_over_ssh_is_complete_or_refused_and_changes_no_outcome() {
    let functions = r#"
        file() { printf '{"nonce":"%s","event":"evidence-file","file":"%s","bytes":%s}\n' "$nonce" "$1" "$2"; }
        part() { printf '{"nonce":"%s","event":"evidence-part","base64":"%s"}\n' "$nonce" "$1"; }
        sent() { send_event evidence-sent; }
    "#;
    let off = r#"until [[ -e {folder}/off ]]; do linger 0.05; done
        event SHUTDOWN '{"guest":true,"reason":"guest-shutdown"}'; exit 0"#;
    let first = "file 00.witness.json 3; part Zm9v";
    let long = "head -c 3000000 /dev/zero | tr '\\0' x; exec sleep 1000";
    for (evidence, mark, kept) in [
        (format!("{first}; sent"), None, true),
        ("sent".to_owned(), None, false),
        (format!("{first}; exit"), Some("connection-lost"), true),
        ("file 00.witness.json 3; exit".to_owned(), Some("connection-lost"), false),
        (": > ${BASH_SOURCE%/*}/off; exec sleep 1000".to_owned(), Some("connection-lost"), false),
        (format!("{first}; exec sleep 1000"), Some("output-incomplete"), true),
        ("file ../../../stolen 3; part Zm9v".to_owned(), Some("guest-messages"), false),
        ("file stdout 3; part Zm9v".to_owned(), Some("guest-messages"), false),
        ("file 00.witness.json 4194306".to_owned(), Some("guest-messages"), false),
        ("file 00.witness.json 99999999999999999999".to_owned(), Some("guest-messages"), false),
        ("file 00.witness.json 3; part Zm9vYg==".to_owned(), Some("guest-messages"), false),
        ("file 00.witness.json 3; part Zg==; sent".to_owned(), Some("guest-messages"), false),
        (format!("while {first}; do :; done"), Some("guest-messages"), true),
        (format!("{first}; nonce=; sent"), Some("guest-messages"), true),
        (format!("{first}; {long}"), Some("guest-messages"), true),
        (format!("{first}; ended"), Some("guest-messages"), true),
        (
            r#"send_event evidence '"file":"00.witness.json","part":"x"'"#.to_owned(),
            Some("guest-messages"),
            false,
        ),
    ] {
        let deadline = if mark == Some("output-incomplete") { 6 } else { 600 };
        let settings = format!("collect_deadline_s = {deadline}");
        let folder = fake_machine(&settings, off, ":", "ended", "exit 0");
        let campaign = folder.path().join("campaign.toml");
        let text = fs::read_to_string(&campaign).unwrap();
        fs::write(&campaign, format!("tool_evidence = true\n{text}")).unwrap();
        fs::write(folder.path().join("evidence"), format!("{functions}{evidence}\n")).unwrap();
        folder.run(&[]).success();
        let run = attempt(&folder, "StateSpace");
        assert_eq!(run.outcome, Outcome::Finished { exit_code: 0 }, "{evidence}");
        assert_eq!(marks(&run), mark.into_iter().collect::<Vec<_>>(), "{evidence}");
        let files = fs::read_dir(folder.record().outputs_dir(&run.run.parse().unwrap(), 1)).unwrap();
        let names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let of_evidence: Vec<&String> = names.iter().filter(|name| name.ends_with(".json")).collect();
        assert_eq!(of_evidence, if kept { vec!["00.witness.json"] } else { vec![] }, "{evidence}");
        let id = "hostile/DiningTable-PT-03/StateSpace";
        assert!(!kept || folder.output(id, 1, "00.witness.json") == "foo", "{evidence}");
    }
}

const COMPUTE: &str = "until [[ -e {folder}/named ]]; do linger 0.05; done; while :; do :; done";

#[test]
fn a_forged_end_over_ssh_does_not_avoid_the_limit() {
    let (_, forged) =
        without_machine("[limits]\ncpu_s = 2", COMPUTE, ": > {folder}/named", "ended", "exec sleep 1000");
    assert_eq!(forged.outcome, Outcome::CpuLimit);
    let facts = forged.facts.unwrap();
    assert!(facts.cpu_ms >= 2000 && facts.collect_cpu_ms > 1000, "{facts:?}");
}

#[test]
fn cpu_time_during_preparation_over_ssh_is_limited() {
    let prepare = ": > {folder}/named; read -r never";
    let (_, computed) = without_machine("[limits]\ncpu_s = 2", COMPUTE, prepare, "ended", "exit 0");
    assert_eq!(computed.outcome, Outcome::CpuLimit);
    assert!(computed.facts.unwrap().prepare_cpu_ms >= 2000);
}

#[test]
fn cpu_time_during_preparation_over_ssh_is_counted() {
    let qemu = "until [[ -e {folder}/named ]]; do linger 0.05; done
        ns=0; until (( ns > 6500000000 )); do read -r ns _ < /proc/self/schedstat; done; : > {folder}/computed; linger";
    let prepare = ": > {folder}/named; until_file {folder}/computed";
    let (_, counted) = without_machine("[limits]\ncpu_s = 60", qemu, prepare, "ended", "exit 0");
    assert_eq!(counted.outcome, Outcome::Finished { exit_code: 0 });
    let facts = counted.facts.unwrap();
    assert!(facts.prepare_cpu_ms > 5000 && facts.cpu_ms >= facts.prepare_cpu_ms, "{facts:?}");
    assert!(counted.marks.contains(&"cpu-while-preparing".into()), "{:?}", counted.marks);
}

#[test]
fn whatever_arrives_after_a_run_is_named_belongs_to_its_tool() {
    let crash = Outcome::ToolCrash { signal: 9 };
    let line = "head -c 3000000 /dev/zero | tr '\\0' x; exec sleep 1000";
    let impossible = r#"send_event ended '"exit":{"code":0},"memory_kib":18446744073709551615,"oom_kills":0,"left_behind":0'"#;
    // A server can let ssh keep replies without end.
    let memory = "replies=$(head -c 200M /dev/zero | tr '\\0' x); ended";
    let failed = r#"send_event failed '"reason":"forged"'"#;
    for (prepare, watch, mark) in [
        (failed, "ended", "not-prepared"),
        ("exec sleep 1000", "ended", "not-prepared"),
        ("exit", "ended", "connection-lost"),
        (line, "ended", "guest-messages"),
        ("echo hello", "ended", "guest-messages"),
        ("nonce=; send_event prepared; exec sleep 1000", "ended", "guest-messages"),
        ("ended", "ended", "guest-messages"),
        (":", failed, "guest-messages"),
        (":", line, "guest-messages"),
        (":", impossible, "guest-messages"),
        (":", "ended; ended", "guest-messages"),
        (":", "send_event lost", "guest-messages"),
        (":", "exit", "connection-lost"),
        (":", memory, "connection-lost"),
    ] {
        let silent = prepare.starts_with("exec sleep");
        let settings = if silent { "prepare_deadline_s = 6" } else { "prepare_deadline_s = 600" };
        let (_, run) = without_machine(settings, "linger", prepare, watch, "exec sleep 1000");
        assert_eq!(run.outcome, crash, "{prepare} {watch}");
        assert_eq!(marks(&run), [mark], "{prepare} {watch}");
    }
}

#[test]
fn a_flooded_log_of_ssh_is_truncated() {
    let flood = "head -c 300M /dev/zero >&2; ended";
    let (folder, run) = without_machine("[limits]\ncpu_s = 60", "linger", ":", flood, "exit 0");
    assert_eq!(run.outcome, Outcome::Finished { exit_code: 0 });
    let log = folder.output("hostile/DiningTable-PT-03/StateSpace", 1, "ssh.log");
    assert!(log.len() < 2 << 20, "{}", log.len());
    assert!(log.ends_with("mcc-harness: the log is truncated here, at 1 MiB\n"));
}

#[test]
fn an_ssh_or_qemu_killed_on_the_host_is_infrastructure() {
    let until_lost = "until [[ -e {folder}/lost ]]; do linger 0.05; done; kill -9 $$";
    for (qemu, watch, cause) in [
        ("linger", "kill -9 $$", "ssh was ended by signal 9"),
        (until_lost, ": > {folder}/lost; exit", "QEMU ended (signal: 9"),
    ] {
        let folder = fake_machine("", qemu, ":", watch, "exec sleep 1000");
        folder.run(&[]).code(1);
        let attempts =
            folder.record().attempts(&"hostile/DiningTable-PT-03/StateSpace".parse().unwrap()).unwrap();
        // The file remains, so that the machine of the second attempt is killed at once.
        let outcome = attempts[0].outcome.clone();
        let Outcome::Infrastructure { state, reason } = outcome else { panic!("{outcome:?}") };
        assert!(state == "examining" && reason.contains(cause), "{state} {reason}");
    }
}

#[test]
fn no_local_user_reaches_the_port_of_a_guest() {
    let kit = images::image("images/kit");
    let key = kit.disk().parent().unwrap().join("key");
    let (disk, nic) = (DiskBus::Virtio, NicModel::Virtio);
    let original = Original { user: "mcc".into(), key, root_key: None, disk, nic };
    let spec = MachineSpec {
        guest: Guest::Ssh(original),
        disk: DiskFile::new(kit.disk(), "vmdk"),
        ..script::machine(&images::image("images/reference"), 512, 1)
    };
    let folder = tempfile::tempdir().unwrap();
    let timeout = Duration::from_secs(600);
    let mut machine = Machine::start(&spec, folder.path(), 1 << 20, timeout).unwrap();
    if let Some(missing) = machine.isolation().missing().iter().find(|text| text.starts_with("no namespaces"))
    {
        return data::not_run(missing);
    }
    // Field 2 is the local address, field 4 the state; 0A means that it listens.
    let listening = |process: &str| -> Vec<String> {
        let sockets = fs::read_to_string(format!("/proc/{process}/net/tcp")).unwrap();
        let sockets = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        sockets.filter(|socket| socket[3] == "0A").map(|socket| socket[1].to_owned()).collect()
    };
    let inside = listening(&machine.pid().to_string());
    let [port] = &inside[..] else { panic!("{inside:?}") };
    assert!(!listening("self").contains(port), "{port}");
    // The controller reaches it.
    machine.send(&Request::Ready).unwrap();
    let event = machine.wait(Instant::now() + timeout).unwrap();
    assert!(matches!(event, Event::Guest(GuestEvent::Ready { .. })), "{event:?}");
}
