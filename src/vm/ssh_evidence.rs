//! Reads the files of evidence that the control session of an original disk sends (`send_evidence` in `ssh.bash`): of each
//! file first its name and length, then its bytes in parts. They become the events of the guest agent, so one implementation
//! keeps the files of both. Nothing of a file is passed on before it is complete.

use base64::{Engine, prelude::BASE64_STANDARD};
use mcc_base::guest::GuestEvent;
use mcc_base::{budgets, evidence};
use serde::Deserialize;
use std::collections::VecDeque;

/// Bytes of a part: three bytes are four digits of base64, far less than a line.
pub const PART: usize = 3 << 17;

/// A line of the session.
#[derive(Deserialize)]
#[serde(tag = "event", deny_unknown_fields)]
enum Line {
    #[serde(rename = "evidence-file")]
    File { nonce: String, file: String, bytes: u64 },
    #[serde(rename = "evidence-part")]
    Part { nonce: String, base64: String },
    #[serde(rename = "evidence-sent")]
    Sent { nonce: String },
}

/// The reader of the lines of one job.
pub struct EvidenceReader {
    nonce: String,
    /// Bytes that further files may have.
    left: u64,
    /// The name of the file that was announced last; names ascend, so no file comes twice.
    last: String,
    /// The length that was announced and the bytes that were received of it.
    file: Option<(u64, Vec<u8>)>,
    events: VecDeque<GuestEvent>,
}

impl EvidenceReader {
    /// `nonce`: the word of the job, which every line repeats.
    pub fn new(nonce: &str) -> Self {
        Self {
            nonce: nonce.to_owned(),
            left: budgets::EVIDENCE,
            last: String::new(),
            file: None,
            events: VecDeque::new(),
        }
    }

    /// Reads a line. Its events are then in `next_event`.
    ///
    /// # Errors
    /// It is not a line that `send_evidence` writes at this place.
    pub fn read(&mut self, line: &[u8]) -> Result<(), String> {
        let line = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let (Line::File { nonce, .. } | Line::Part { nonce, .. } | Line::Sent { nonce }) = &line;
        if *nonce != self.nonce {
            return Err("evidence with another nonce".to_owned());
        }
        match (line, &mut self.file) {
            (Line::File { file, bytes, .. }, None) => {
                let fits = bytes <= self.left.min(evidence::MAX_FILE + 1);
                if !fits || evidence::parse_name(&file).is_none() || file <= self.last {
                    return Err(format!("no file of evidence has this name and length here: {bytes} bytes"));
                }
                self.left -= bytes;
                self.last = file;
                self.file = Some((bytes, Vec::new()));
            }
            (Line::Part { base64, .. }, Some((bytes, content))) => {
                let part = BASE64_STANDARD.decode(base64).map_err(|_| "evidence that is not in base64")?;
                // Only the last part is shorter, so a file has few lines.
                if part.len() as u64 != (*bytes - content.len() as u64).min(PART as u64) {
                    return Err("evidence of another length than announced".to_owned());
                }
                content.extend(part);
            }
            (Line::Sent { .. }, None) => self.events.push_back(GuestEvent::EvidenceSent),
            _ => return Err("a line of evidence out of order".to_owned()),
        }
        if let Some((_, content)) = self.file.take_if(|(bytes, content)| content.len() as u64 == *bytes) {
            let event = |part: &str| GuestEvent::Evidence { file: self.last.clone(), part: part.to_owned() };
            self.events.extend(evidence::parts(&evidence::text_of(&content)).map(event));
        }
        Ok(())
    }

    /// Takes the next event of the lines that were read.
    pub fn next_event(&mut self) -> Option<GuestEvent> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::super::ssh::evidence_script;
    use super::*;
    use mcc_base::evidence::MAX_FILE;
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::process::Command;

    /// What the session sends of a folder.
    fn sent(folder: &Path) -> Vec<u8> {
        let script = evidence_script("word", folder.to_str().unwrap());
        let done = Command::new("bash").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stderr), "");
        done.stdout
    }

    /// The files in these lines, and whether their end was read.
    fn received(lines: &[u8]) -> Result<(Vec<(String, String)>, bool), String> {
        let mut reader = EvidenceReader::new("word");
        let (mut files, mut complete) = (Vec::<(String, String)>::new(), false);
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            assert!(line.len() < mcc_base::guest::MAX_LINE);
            reader.read(line)?;
            while let Some(event) = reader.next_event() {
                assert!(!complete && event.is_possible(0, 0));
                match event {
                    GuestEvent::Evidence { file, part } => match files.last_mut() {
                        Some((last, text)) if *last == file => text.push_str(&part),
                        _ => files.push((file, part)),
                    },
                    event => complete = event == GuestEvent::EvidenceSent,
                }
            }
        }
        Ok((files, complete))
    }

    #[test]
    fn a_session_sends_the_files_that_the_agent_sends() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("00.witness.json"), "{\"é\": \"\\\"\"}\n").unwrap();
        fs::write(at("00.certificate.json"), "").unwrap();
        fs::write(at("02.witness.json"), b"\xff\x00\n").unwrap();
        fs::write(at("03.witness.json"), "é".repeat(PART)).unwrap();
        fs::write(at("04.witness.json"), "x".repeat(PART)).unwrap();
        symlink("/etc/passwd", at("05.witness.json")).unwrap();
        symlink("00.witness.json", at("06.witness.json")).unwrap();
        symlink("07.witness.json", at("07.witness.json")).unwrap();
        fs::create_dir(at("08.witness.json")).unwrap();
        nix::unistd::mkfifo(&at("09.witness.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        File::create(at("10.witness.json")).unwrap().set_len(1 << 40).unwrap();
        fs::write(at("$(touch stolen).witness.json"), "other name").unwrap();
        for number in 100..2000 {
            fs::write(at(&format!("{number}.witness.json")), "other name").unwrap();
        }
        // More than all files together may have.
        for position in 11..21 {
            fs::write(at(&format!("{position}.certificate.json")), vec![b'1'; MAX_FILE as usize + 5])
                .unwrap();
        }
        let mut by_agent = Vec::new();
        let keep = |name: &str, text: &str| -> Result<(), ()> {
            by_agent.push((name.to_owned(), text.to_owned()));
            Ok(())
        };
        evidence::read_all(folder.path(), keep).unwrap();
        let (files, complete) = received(&sent(folder.path())).unwrap();
        let lengths = |files: &[(String, String)]| {
            files.iter().map(|(name, text)| (name.clone(), text.len())).collect::<Vec<_>>()
        };
        assert_eq!(lengths(&files), lengths(&by_agent));
        assert!(files == by_agent && complete);
        assert_eq!(
            files[..3].iter().map(|(name, _)| &**name).collect::<Vec<_>>(),
            ["00.certificate.json", "00.witness.json", "02.witness.json"]
        );
    }

    #[test]
    fn a_session_sends_no_files_of_a_link_or_a_missing_folder() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        fs::create_dir(&real).unwrap();
        fs::write(real.join("00.witness.json"), "{}").unwrap();
        assert_eq!(received(&sent(&real)).unwrap().0.len(), 1);
        symlink(&real, folder.path().join("link")).unwrap();
        for other in ["link", "missing", "real/00.witness.json"] {
            assert_eq!(received(&sent(&folder.path().join(other))), Ok((vec![], true)), "{other}");
        }
    }

    #[test]
    fn other_lines_are_refused_and_no_part_of_their_file_is_passed_on() {
        let file = |name: &str, bytes: u64| {
            format!(r#"{{"nonce":"word","event":"evidence-file","file":"{name}","bytes":{bytes}}}"#)
        };
        let part = |text: &str| format!(r#"{{"nonce":"word","event":"evidence-part","base64":"{text}"}}"#);
        let end = r#"{"nonce":"word","event":"evidence-sent"}"#.to_owned();
        let good = [file("00.witness.json", 3), part("Zm9v"), file("01.witness.json", 0), end.clone()];
        let read = |lines: &[String]| received(lines.join("\n").as_bytes());
        assert_eq!(read(&good).unwrap().0.len(), 2);
        let first = || file("00.witness.json", 3);
        let whole = MAX_FILE + 1;
        let all: Vec<String> = (0..9).map(|n| file(&format!("{n:02}.witness.json"), whole)).collect();
        for lines in [
            vec!["hello".to_owned()],
            vec![end.replace("word", "other")],
            vec![end.replace("word\"", "word\",\"more\":1")],
            vec![r#"{"nonce":"word","event":"started"}"#.to_owned()],
            vec![part("Zm9v")],
            vec![file("../../stolen", 3)],
            vec![file("stdout", 3)],
            vec![file("00.witness.json", whole + 1)],
            vec![file("00.witness.json", u64::MAX)],
            vec![first().replace(":3", ":-3")],
            vec![first(), part("Zm9vYg==")],
            vec![first(), part("Zm9")],
            vec![first(), part("")],
            vec![first(), part("Zg==")],
            vec![first(), end.clone()],
            vec![first(), file("01.witness.json", 1)],
            vec![all[0].clone(), all[1].clone()],
        ] {
            let mut reader = EvidenceReader::new("word");
            let (last, before) = lines.split_last().unwrap();
            before.iter().for_each(|line| reader.read(line.as_bytes()).unwrap());
            assert!(reader.read(last.as_bytes()).is_err(), "{lines:?}");
            assert_eq!(reader.next_event(), None, "{lines:?}");
        }
        // The same name again, and one before it.
        for name in ["00.witness.json", "00.certificate.json"] {
            let lines = [first(), part("Zm9v"), file(name, 0)];
            assert!(read(&lines).is_err(), "{name}");
        }
        // The sum of all files.
        let content = part(&"AAAA".repeat(PART / 3));
        let mut lines = Vec::new();
        for line in &all {
            lines.push(line.clone());
            lines.extend((0..MAX_FILE as usize / PART).map(|_| content.clone()));
            let rest = (MAX_FILE as usize + 1) % PART;
            lines.push(part(&format!("{}{}", "AAAA".repeat(rest / 3), ["", "AA==", "AAA="][rest % 3])));
        }
        let error = read(&lines).unwrap_err();
        assert!(error.contains("4194305 bytes"), "{error}");
    }
}
