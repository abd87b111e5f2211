//! A machine that exceeds the budget of one resource, beside an honest one that starts after the flood began and ends
//! before it ends. Only the first one is cut and marked.

use crate::support::campaign::{Folder, stderr};
use mcc_harness::base::{Mark, budgets};
use mcc_harness::store::{Attempt, Outcome};
use std::fs;

const FLOODED: &str = "tool-0/DiningTable-PT-03/StateSpace";
const HONEST: &str = "tool-1/DiningTable-PT-03/StateSpace";

/// Runs both machines at once. The first one repeats `flood` until the second one has sent all but its last message, after
/// which it may be killed; in the second one the tool prints a line and `own` is executed. The second one starts its tool
/// after `flood` was executed `times` times. Both are commands of the guest `when` the tool runs, or when its evidence is
/// collected.
fn beside(when: Phase, flood: &str, times: u32, own: &str) -> (Folder, [Attempt; 2]) {
    let hosts = "[hosts]\njobs = 2\nretries = 0\ncollect_deadline_s = 3600\n[limits]\nwall_s = 36000\n";
    let folder = Folder::with_fake_qemu(2, &["StateSpace"], hosts);
    let campaign = folder.path().join("campaign.toml");
    let text = fs::read_to_string(&campaign).unwrap();
    fs::write(&campaign, format!("tool_evidence = true\n{text}")).unwrap();
    let repeat = format!(
        "n=0; until [[ -e done ]]; do {flood}; n=$((n + 1)); if ((n == {times})); then : > flooding; fi; done"
    );
    let (flood, own) = match when {
        Phase::Run => (format!("{repeat}; ended; drained"), format!("{own}; ended")),
        Phase::Collection => (format!("ended; {repeat}; drained"), format!("ended; {own}")),
    };
    folder.fake_qemu(&format!(
        "position=${{TMPDIR##*/running/}}\n\
         power_on; ready; prepared; started\n\
         if [[ ${{position%%-*}} == 1 ]]; then {flood}; answer_until quit; exit; fi\n\
         until [[ -e flooding ]]; do linger 0.01; done\n\
         printf 'hello\\n' >&$stdout; {own}; : > done; drained 6; answer_until quit"
    ));
    folder.run(&[]).success();
    let runs = folder.runs();
    let attempts = [FLOODED, HONEST].map(|run| runs[run].last.clone());
    for attempt in &attempts {
        assert_eq!(attempt.outcome, Outcome::Finished { exit_code: 0 }, "{}", attempt.run);
    }
    assert_eq!(folder.output(HONEST, 1, "stdout"), "hello\n");
    for mark in [Mark::GUEST_MESSAGES, "output-truncated".into(), "output-incomplete".into()] {
        assert!(!attempts[1].marks.contains(&mark), "{mark:?}");
    }
    (folder, attempts)
}

#[derive(Clone, Copy)]
enum Phase {
    Run,
    Collection,
}

/// Samples are messages too: the host takes one a second.
#[test]
fn a_flood_of_messages_and_samples_does_not_disturb_another_machine() {
    let sample = r#"agent_event sample '"memory_kib":1,"cpu_ms":1,"io_wait_ms":1'"#;
    let times = u32::try_from(budgets::MESSAGES).unwrap() + 500;
    let (_, [flooded, _]) = beside(Phase::Run, sample, times, sample);
    assert!(flooded.marks.contains(&Mark::GUEST_MESSAGES), "{:?}", flooded.marks);
}

#[test]
fn a_flood_of_evidence_does_not_disturb_another_machine() {
    let part = "printf -v part %0131072d 0; printf -v file %02d.witness.json $((n / 32 % 100))";
    let send = r#"agent_event evidence "\"file\":\"$file\",\"part\":\"$part\"""#;
    let own = r#"agent_event evidence '"file":"00.witness.json","part":"{}"'"#;
    let (folder, [flooded, _]) = beside(Phase::Collection, &format!("{part}; {send}"), 300, own);
    assert!(flooded.marks.contains(&Mark::GUEST_MESSAGES), "{:?}", flooded.marks);
    let outputs = folder.record().outputs_dir(&FLOODED.parse().unwrap(), 1);
    let files = fs::read_dir(outputs).unwrap().map(Result::unwrap);
    let evidence = files.filter(|file| file.file_name().to_string_lossy().ends_with(".json"));
    let bytes: u64 = evidence.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes > budgets::EVIDENCE / 2 && bytes <= budgets::EVIDENCE, "{bytes}");
    assert_eq!(folder.output(HONEST, 1, "00.witness.json"), "{}");
}

#[test]
fn a_flood_of_logs_does_not_disturb_another_machine() {
    let flood = "printf %065536d 0 >&2; printf %065536d 0 >&$console";
    let (folder, _) = beside(Phase::Run, flood, 100, "echo mine >&2; echo mine >&$console");
    for log in ["qemu.log", "console"] {
        let bytes = folder.output(FLOODED, 1, log).len() as u64;
        assert!((budgets::LOG / 2..2 * budgets::LOG).contains(&bytes), "{log}: {bytes}");
        assert_eq!(folder.output(HONEST, 1, log).trim(), "mine", "{log}");
    }
}

#[test]
fn entries_with_different_guest_agents_are_refused() {
    let folder = Folder::with_fake_qemu(2, &["StateSpace"], "");
    let (image, other) = (folder.path().join("image"), folder.path().join("other"));
    fs::create_dir(&other).unwrap();
    for file in fs::read_dir(&image).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), other.join(file.file_name())).unwrap();
    }
    let campaign = folder.path().join("campaign.toml");
    let text = fs::read_to_string(&campaign).unwrap();
    let last = text.rfind("\"image\"").unwrap();
    fs::write(&campaign, [&text[..last], "\"other\"", &text[last + 7..]].concat()).unwrap();
    for role in ["kernel", "initrd"] {
        fs::write(other.join(role), "of an author").unwrap();
        let said = stderr(&folder.run(&[]).code(2));
        assert!(
            said.contains("image of tool-1: its kernel or guest agent (initrd) is not that of tool-0"),
            "{said}"
        );
        let planned = folder.harness(&["plan", "campaign.toml"]).output().unwrap();
        let planned = String::from_utf8(planned.stdout).unwrap();
        let warning = "warning: `run` would refuse the image of tool-1: its kernel or guest agent";
        assert!(planned.contains(warning), "{planned}");
        fs::copy(image.join(role), other.join(role)).unwrap();
    }
    folder.run(&[]).success();
}
