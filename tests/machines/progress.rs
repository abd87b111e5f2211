//! The progress of `run`, on a terminal and in a pipe.

use crate::support::campaign;

use campaign::{Folder, stderr, until};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// A campaign of two machines. The first ends when the file `end` exists in its folder, the second fails when `die` exists.
fn waiting() -> Folder {
    let folder = Folder::with_fake_qemu(2, &["StateSpace"], "[hosts]\nretries = 0\n");
    let run = |until: &str, then: &str| {
        let file = folder.path().join(until);
        let wait = format!("until [[ -e '{}' ]]; do linger 0.05; done", file.display());
        format!("power_on; ready; prepared; started; {wait}; {then}")
    };
    // The folder of an attempt starts with the position of its run.
    folder.fake_qemu(&format!(
        "case ${{TMPDIR##*/running/}} in 2-*) {} ;; *) {} ;; esac",
        run("die", "exit 1"),
        run("end", "ended; drained; answer_until quit")
    ));
    folder
}

/// `run` in a terminal of 100 columns, with its output so far.
struct Terminal {
    child: Child,
    drawn: Arc<Mutex<Vec<u8>>>,
    reader: std::thread::JoinHandle<()>,
}

impl Terminal {
    fn run(folder: &Folder) -> Self {
        let run = folder.run_command(&["--jobs", "2"]);
        let words: Vec<String> = std::iter::once(run.get_program())
            .chain(run.get_args())
            .map(|word| format!("'{}'", word.to_str().expect("UTF-8")))
            .collect();
        let mut script = Command::new("script");
        script.args(["-qefc", &format!("stty cols 100 rows 40; {}", words.join(" ")), "/dev/null"]);
        script.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::piped());
        script.env("TERM", "xterm");
        for (name, value) in run.get_envs() {
            script.env(name, value.expect("no variable is removed"));
        }
        let mut child = script.spawn().expect("script, of util-linux");
        let drawn = Arc::new(Mutex::new(Vec::new()));
        let (mut stdout, to) = (child.stdout.take().expect("piped"), drawn.clone());
        let reader = std::thread::spawn(move || {
            let mut some = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut some) {
                to.lock().expect("no panic").extend(&some[..count]);
            }
        });
        Self { child, drawn, reader }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.drawn.lock().expect("no panic")).into_owned()
    }

    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("it ends").code();
        self.reader.join().expect("no panic");
        (code, String::from_utf8_lossy(&self.drawn.lock().expect("no panic")).into_owned())
    }
}

#[test]
fn a_terminal_shows_machines_outcomes_and_the_last_failure() {
    let folder = waiting();
    let terminal = Terminal::run(&folder);
    for entry in ["tool-0", "tool-1"] {
        let line = format!("{entry}/DiningTable-PT-03/StateSpace examining");
        until(&line, || terminal.text().contains(&line));
    }
    until("both machines are counted", || terminal.text().contains("0/2 runs; 2 machines"));
    std::fs::write(folder.path().join("die"), "").expect("written");
    until("the failure is shown", || terminal.text().contains("last infrastructure failure: ["));
    std::fs::write(folder.path().join("end"), "").expect("written");
    let (code, drawn) = terminal.end();
    assert_eq!(code, Some(1), "{drawn}");
    for expected in [
        "tool-0/DiningTable-PT-03/StateSpace ended by itself, exit code 0, cpu ",
        "tool-1/DiningTable-PT-03/StateSpace infrastructure failure while examining",
        "run: 2 of 2 runs recorded; ended by itself: 1; infrastructure failure: 1",
    ] {
        assert!(drawn.contains(expected), "{expected}: {drawn}");
    }
}

#[test]
fn a_pipe_gets_plain_lines_with_the_remaining_time() {
    let folder = Folder::with_fake_qemu(1, &["StateSpace", "UpperBounds"], "");
    let said = stderr(&folder.run(&["--jobs", "1"]).success());
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(lines.len(), 4, "{said}");
    assert_eq!(lines[0], "[0/2] tool-0/DiningTable-PT-03/StateSpace begins");
    let first = "[1/2] tool-0/DiningTable-PT-03/StateSpace ended by itself, exit code 0, cpu ";
    assert!(lines[1].starts_with(first), "{said}");
    // After the first run, the duration of the second one is estimated.
    assert!(lines[1].contains("; about ") && lines[1].ends_with(" left"), "{said}");
    assert!(lines[3].starts_with("[2/2] ") && !lines[3].contains("left"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
}
