//! Executes the commands of a document and compares their output with what the document states.
//!
//! A code block marked `sh` is executed; `sh exit 1` is expected to end with that exit code. A block marked `text` after it
//! has lines of the expected output, in their order; other lines may lie between them. `...` stands for any text.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// The program with the arguments of a line, in a folder.
pub fn harness(folder: &Path, line: &str) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::cargo_bin("mcc-harness").unwrap();
    command.current_dir(folder).args(line.split_whitespace());
    command
}

/// Makes `folder` look like the checkout, with a build folder of its own that has the disks of `scripts/setup`.
pub fn link_checkout(folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let link_all = |from: &Path, to: &Path, names: &dyn Fn(&str) -> bool| {
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            if names(entry.file_name().to_str().unwrap()) {
                symlink(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
    };
    link_all(root, folder, &|name| !["build", ".git"].contains(&name));
    fs::create_dir(folder.join("build")).unwrap();
    link_all(&root.join("build"), &folder.join("build"), &|name| ["images", "tools"].contains(&name));
}

struct Block {
    commands: String,
    exit_code: String,
    expected: String,
}

/// The code blocks of a document that are executed.
fn blocks(document: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = vec![];
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        let Some(mark) = line.trim_start().strip_prefix("```") else { continue };
        // A block in a list is indented.
        let indent = line.len() - line.trim_start().len();
        let content = lines.by_ref().take_while(|line| line.trim_start() != "```");
        let content: String =
            content.map(|line| format!("{}\n", line.get(indent..).unwrap_or_default())).collect();
        match mark.strip_prefix("sh").map(|rest| rest.strip_prefix(" exit ").unwrap_or(rest)) {
            Some(code) => {
                let exit_code = if code.is_empty() { "0" } else { code }.to_owned();
                blocks.push(Block { commands: content, exit_code, expected: String::new() });
            }
            None if mark == "text" => {
                blocks.last_mut().expect("commands before their output").expected = content;
            }
            None => panic!("a code block is marked `{mark}`: `sh`, `sh exit N` or `text` is expected"),
        }
    }
    blocks
}

/// All commands of a document, one text for each block.
pub fn commands(document: &str) -> Vec<String> {
    blocks(document).into_iter().map(|block| block.commands).collect()
}

/// Whether a line of output has the form of an expected line.
fn fits(expected: &str, line: &str) -> bool {
    let mut parts = expected.trim_end().split("...");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut is_open = false;
    for part in parts {
        let Some((_, after)) = rest.split_once(part.trim()) else { return false };
        (rest, is_open) = (after, part.trim().is_empty());
    }
    is_open || rest.trim_end().is_empty()
}

/// Executes the blocks of a document in order, each with a shell of its own that `bash` prepares (folder, environment).
/// Panics if a block ends with another exit code than expected, or if its output lacks an expected line.
pub fn execute(document: &str, bash: impl Fn() -> Command) {
    let blocks = blocks(document);
    assert!(!blocks.is_empty(), "no commands");
    for Block { commands, exit_code, expected } in blocks {
        let script = format!("exec 2>&1\n{commands}");
        let output = bash().args(["-euo", "pipefail", "-c", &script]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let ended = output.status.code().map_or("a signal".to_owned(), |code| code.to_string());
        assert_eq!(ended, exit_code, "{commands}\n{text}");
        let mut lines = text.lines();
        for expected in expected.lines() {
            assert!(lines.any(|line| fits(expected, line)), "{commands}\nno line `{expected}` in\n{text}");
        }
    }
}
