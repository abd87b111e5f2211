//! Disks that were changed after they were built, as by the author of a tool.

use crate::machine::{run, spec};
use crate::support::campaign;
use crate::support::images;

use campaign::Folder;
use mcc_harness::vm::{DiskFile, HeldFile};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Changes files of a disk by commands of debugfs.
fn change_disk(disk: &Path, commands: &[String]) {
    let raw = disk.with_extension("raw");
    let convert = |from: [&Path; 2], formats: [&str; 2]| {
        let mut convert = Command::new("qemu-img");
        convert.args(["convert", "-f", formats[0], "-O", formats[1]]).args(from);
        assert!(convert.status().unwrap().success());
    };
    convert([disk, &raw], ["qcow2", "raw"]);
    for command in commands {
        let mut debugfs = Command::new("debugfs");
        assert!(debugfs.args(["-w", "-R", command]).arg(&raw).status().unwrap().success());
    }
    convert([&raw, disk], ["raw", "qcow2"]);
}

/// A campaign with one run of one tool, whose disk is changed by commands of debugfs.
fn with_changed_disk(script: &str, programs: &[(&str, &str)], commands: &[&str]) -> Folder {
    let campaign = campaign::on_fixtures(&["DiningTable-PT-03"], &["StateSpace"], &[], "");
    let folder = Folder::new(&format!(
        "{campaign}[[tool]]\nentry = \"climber\"\nimage = \"climber\"\nkind = \"sequential\"\n"
    ));
    let tool = folder.path().join("tool");
    fs::create_dir_all(tool.join("bin")).unwrap();
    fs::write(tool.join("BenchKit_head.sh"), script).unwrap();
    fs::copy("/usr/bin/id", tool.join("bin/id-of-root")).unwrap();
    images::with_tool(&tool, &folder.path().join("climber"));
    let write = |(place, text): &(&str, &str)| {
        let file = folder.path().join(place.replace('/', "-"));
        fs::write(&file, text).unwrap();
        format!("write {} {place}", file.display())
    };
    let (removed, others): (Vec<&str>, Vec<&str>) = commands.iter().partition(|each| each.starts_with("rm "));
    let commands: Vec<String> = removed
        .into_iter()
        .map(str::to_owned)
        .chain(programs.iter().map(write))
        .chain(others.into_iter().map(str::to_owned))
        .collect();
    change_disk(&folder.path().join("climber/disk.qcow2"), &commands);
    folder.run(&[]).success();
    folder
}

const CLIMBER: &str = "climber/DiningTable-PT-03/StateSpace";

/// Set-uid programs, devices on the disk, programs that the kernel starts, and user namespaces.
#[test]
fn nothing_on_a_disk_has_more_rights_than_the_tool() {
    let script = "#!/bin/bash\n\
        echo \"mode=$(stat -c %u:%a \"$BIN_DIR/id-of-root\") users=$(\"$BIN_DIR/id-of-root\" -u):$(id -u)\"\n\
        echo x > /null && echo \"a device was written\"\n\
        printf '\\1\\2\\3\\4' > /tmp/unknown; chmod +x /tmp/unknown; /tmp/unknown\n\
        sleep 1; test -e /helper && echo \"the kernel started $(cat /helper)\"\n\
        unshare -U echo \"a user namespace was made\"\n\
        echo end\n";
    let helper = "#!/bin/bash\necho \"$0 as $UID\" > /helper\n";
    let id = "set_inode_field /home/mcc/BenchKit/bin/id-of-root";
    let commands = [
        format!("{id} uid 0"),
        format!("{id} gid 0"),
        format!("{id} mode 0104755"),
        "mknod null c 1 3".to_owned(),
        "set_inode_field /null mode 020666".to_owned(),
        "set_inode_field /usr/sbin/modprobe mode 0100755".to_owned(),
    ];
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let folder = with_changed_disk(script, &[("/usr/sbin/modprobe", helper)], &commands);
    assert_eq!(folder.output(CLIMBER, 1, "stdout"), "mode=0:4755 users=1000:1000\nend\n");
}

#[test]
fn a_tool_that_would_be_root_is_not_started() {
    let root = "root:x:0:0::/root:/bin/bash\nmcc:x:0:1000::/home/mcc:/bin/bash\n";
    // It could remove the devices with which the host measures.
    let group_of_root = "root:x:0:0::/root:/bin/bash\nmcc:x:1000:0::/home/mcc:/bin/bash\n";
    let link = "symlink /etc/passwd /dev/console";
    let [root, group_of_root] = [root, group_of_root].map(|accounts| [("/etc/passwd", accounts)]);
    for (programs, link) in [(&root[..], None), (&group_of_root[..], None), (&[], Some(link))] {
        let commands: Vec<&str> = ["rm /etc/passwd"].into_iter().chain(link).collect();
        let folder = with_changed_disk("#!/bin/bash\nid -u\n", programs, &commands);
        assert_eq!(folder.runs()[CLIMBER].last.outcome.word(), "tool-crash");
        assert_eq!(folder.output(CLIMBER, 1, "stdout"), "");
    }
}

#[test]
fn links_where_the_agent_mounts_are_replaced() {
    // The tool could change the folders to which they lead.
    let commands = [
        "rmdir /sys",
        "symlink /sys home/mcc/BenchKit",
        "rmdir /proc",
        "symlink /proc home/mcc/BenchKit/INPUTS",
        "rmdir /run",
        "symlink /run nowhere",
    ];
    let script = "#!/bin/bash\nstat -c '%F %U' /dev /proc /run /sys\ngrep -c job /proc/self/cgroup\n";
    let folder = with_changed_disk(script, &[], &commands);
    assert_eq!(folder.output(CLIMBER, 1, "stdout"), "directory root\n".repeat(4) + "1\n");
    let facts = folder.runs()[CLIMBER].last.facts.clone().unwrap();
    assert_eq!(facts.memory_source, Some(mcc_harness::store::MemorySource::GuestCgroup));
}

#[test]
fn a_machine_reads_its_held_disk_whatever_has_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk.qcow2");
    let mut spec = spec(1024, 1);
    fs::copy(&spec.disk.path, &disk).unwrap();
    fs::set_permissions(&disk, Permissions::from_mode(0o600)).unwrap();
    spec.disk.path.clone_from(&disk);
    spec.held_files.add(&disk, HeldFile::open(&disk).unwrap());
    fs::remove_file(&disk).unwrap();
    fs::write(&disk, "another disk").unwrap();
    let outputs = tempfile::tempdir().unwrap();
    run("echo it runs", &spec, outputs.path());
    assert_eq!(fs::read_to_string(outputs.path().join("stdout")).unwrap(), "it runs\n");
}

#[test]
fn a_lock_of_another_process_on_its_disks_does_not_stop_a_machine() {
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc::{F_RDLCK, SEEK_SET, flock};
    let folder = tempfile::tempdir().unwrap();
    let (disk, inputs) = (folder.path().join("disk.qcow2"), folder.path().join("inputs.ext4"));
    let mut spec = spec(1024, 1);
    fs::copy(&spec.disk.path, &disk).unwrap();
    fs::write(&inputs, vec![0; 1 << 20]).unwrap();
    spec.disk.path.clone_from(&disk);
    spec.read_only_disks = vec![DiskFile::new(inputs.clone(), "raw")];
    // Any user who can read the files can do this: with these bytes QEMU states that it shares no access.
    let (l_type, l_whence) = (F_RDLCK as i16, SEEK_SET as i16);
    let lock = flock { l_type, l_whence, l_start: 200, l_len: 8, l_pid: 0 };
    let locked = [disk, inputs].map(|path| {
        spec.held_files.add(&path, HeldFile::open(&path).unwrap());
        let file = fs::File::open(&path).unwrap();
        fcntl(&file, FcntlArg::F_OFD_SETLK(&lock)).unwrap();
        file
    });
    let outputs = tempfile::tempdir().unwrap();
    run("echo it runs", &spec, outputs.path());
    assert_eq!(fs::read_to_string(outputs.path().join("stdout")).unwrap(), "it runs\n");
    drop(locked);
}
