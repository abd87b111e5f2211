//! Disks for tests that boot real machines; `scripts/setup` builds them in `build/`.

use mcc_harness::vm::Image;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The image `build/<name>`. Panics if it does not exist; `scripts/test` builds it before the tests.
pub fn image(name: &str) -> Image {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("build").join(name);
    Image::open(&folder).unwrap_or_else(|e| panic!("{e}; run scripts/test, which builds it"))
}

/// Copies an image folder, without copying the disk where the file system can share its blocks. A hard link would change a
/// time of a file that other tests hold.
pub fn copy(image: &Path, to: &Path) {
    let copied = Command::new("cp").args(["--recursive", "--reflink=auto"]).arg(image).arg(to).status();
    assert!(copied.unwrap().success());
}

/// Builds an image in `out` from the folder of a tool and the reference disk.
pub fn with_tool(tool: &Path, out: &Path) {
    let reference = image("images/reference").folder;
    let mut build = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    build.args(["image", "build", "--reference"]).arg(reference).arg("--tool").arg(tool);
    let build = build.arg("--out").arg(out).output().unwrap();
    assert!(build.status.success(), "{} (needs root)", String::from_utf8_lossy(&build.stderr));
}

/// Copies the disk of the kit to `disk` (raw), an original disk, with other files in it: the path in the guest and the file.
pub fn original_disk(disk: &Path, files: &[(PathBuf, PathBuf)]) {
    let run = |command: &mut Command| {
        let done = command.output().unwrap();
        assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    run(Command::new("qemu-img").args(["convert", "-O", "raw"]).arg(image("images/kit").disk()).arg(disk));
    let commands = files.iter().map(|(at, file)| {
        let (parent, name) = (at.parent().unwrap().display(), at.file_name().unwrap().to_str().unwrap());
        format!("cd {parent}\nrm {name}\nwrite {} {name}\nsif {name} mode 0100755\n", file.display())
    });
    let script = disk.with_extension("debugfs");
    fs::write(&script, commands.collect::<String>()).unwrap();
    let partition = format!("{}?offset=1048576", disk.display());
    run(Command::new("debugfs").args(["-w", "-f"]).arg(script).arg(partition));
}
