//! Judges again, and compares the files of a judgement with those that follow from the outputs.

use super::ArchiveError;
use super::layout::part;
use super::paths::is_version;
use super::verify::{MAX_LINE_CHARS, Verified, next_line, truncated};
use mcc_base::{OnFile, files, temporary};
use mcc_edition::Edition;
use mcc_judge::RunResults;
use mcc_judge::certified::CERTIFIED_FILE;
use mcc_judge::judgement::{CAMPAIGN_FILE, InputDigest, JudgedInputs};
use mcc_judge::mcc::Judge;
use mcc_judge::schema::{JUDGEMENT, Table};
use mcc_judge::write;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Differing lines of one file that are shown.
const MAX_LINES_SHOWN: usize = 5;
/// Characters of a long line that are shown before its difference.
const CHARS_BEFORE: usize = 40;

impl Verified {
    /// Judges again and compares the result with the judgement in `folder`, file by file and line by line. `is_given`: the
    /// folder is not of an archive, but was given with a record.
    ///
    /// # Errors
    /// The results cannot be judged, or a file cannot be read; or a given judgement is of another record, or of a file that
    /// is not given.
    pub fn recompute(
        &mut self,
        edition: &Edition,
        results: RunResults,
        folder: &Path,
        is_given: bool,
    ) -> Result<(), ArchiveError> {
        self.check(
            "every answer, trusted value and point follows from the outputs by the rules",
            |verified| {
                let recomputed = temporary::folder("mcc-verify-")?;
                let judge = Judge::new(edition, results)?;
                verified.other_inputs(&judge.header.inputs, folder, is_given)?;
                write::write(&judge, recomputed.path())?;
                verified.same_files(recomputed.path(), folder, &JUDGEMENT)?;
                verified.recomputed = true;
                Ok(())
            },
        )
    }

    /// Notes why the judgement at `path` cannot be compared. It is bad input if the user gave it, and else a difference.
    fn cannot_compare(&mut self, path: PathBuf, reason: String, is_given: bool) -> Result<(), ArchiveError> {
        if is_given {
            return Err(ArchiveError::Bad { path, reason: format!("it {reason}") });
        }
        self.differs(path.display().to_string(), reason);
        Ok(())
    }

    /// Compares the inputs of the judgement in `folder` with those that are `given`: other inputs explain other lines.
    fn other_inputs(
        &mut self,
        given: &[InputDigest],
        folder: &Path,
        is_given: bool,
    ) -> Result<(), ArchiveError> {
        let path = folder.join("judgement.json");
        if !path.exists() {
            return Ok(());
        }
        let file = BufReader::new(files::open_own(&path).on("read", &path)?);
        // The lines of a file that is not a judgement differ.
        let Ok(JudgedInputs { inputs }) = serde_json::from_reader(file) else { return Ok(()) };
        let place = path.display().to_string();
        let is_campaign = |input: &&InputDigest| input.file == CAMPAIGN_FILE;
        if !inputs.iter().filter(is_campaign).any(|campaign| given.contains(campaign)) {
            let what = "is not a judgement of this record; give the record that was judged";
            return self.cannot_compare(path, what.to_owned(), is_given);
        }
        let names = |inputs: &[InputDigest], name: &str| inputs.iter().any(|input| input.file == name);
        for input in inputs.iter().filter(|input| !given.contains(input)) {
            let name = truncated(&input.file);
            if names(given, &input.file) {
                self.differs(place.clone(), format!("was made from another {name}"));
            } else {
                let remedy = if input.file == CERTIFIED_FILE {
                    "--certified FOLDER"
                } else {
                    "it with the option that `judge` had"
                };
                let what = format!("was made with {name}, which is not given; give {remedy}");
                self.cannot_compare(path.clone(), what, is_given)?;
            }
        }
        for input in given.iter().filter(|input| !names(&inputs, &input.file)) {
            self.differs(place.clone(), format!("was made without {}", truncated(&input.file)));
        }
        Ok(())
    }

    /// Compares every file of `recomputed` with the file of the same name in `folder`, which has no other of these `tables`.
    pub(super) fn same_files(
        &mut self,
        recomputed: &Path,
        folder: &Path,
        tables: &[Table],
    ) -> Result<(), ArchiveError> {
        for file in WalkDir::new(recomputed).min_depth(1).sort_by_file_name() {
            let file = file.on("read", recomputed)?;
            let stored = folder.join(file.file_name());
            let shown = stored.display().to_string();
            if stored.exists() {
                self.same_lines(file.path(), &stored)?;
            } else {
                self.differs(shown, "is missing");
            }
        }
        for Table { file, .. } in tables {
            let stored = folder.join(file);
            if recomputed.join(file).exists() || !stored.exists() {
                continue;
            }
            let shown = stored.display().to_string();
            // Options of `judge` that no archive has add tables.
            if part(file).is_some() || part(&format!("judgement/{file}")).is_some() {
                self.differs(
                    shown,
                    "does not follow from the record, for which no such file is written; remove it",
                );
            } else {
                self.does_not_prove(&[&format!("the content of {shown}, which is not computed again")]);
            }
        }
        Ok(())
    }

    fn same_lines(&mut self, recomputed: &Path, stored: &Path) -> Result<(), ArchiveError> {
        let open = |path: &Path| -> Result<_, ArchiveError> {
            Ok(BufReader::new(files::open_own(path).on("read", path)?))
        };
        let (mut recomputed_lines, mut stored_lines) = (open(recomputed)?, open(stored)?);
        let mut shown = 0;
        for number in 1_u64.. {
            let recomputed = next_line(&mut recomputed_lines, recomputed, number)?;
            let stored_line = next_line(&mut stored_lines, stored, number)?;
            if recomputed.is_none() && stored_line.is_none() {
                break;
            }
            if recomputed == stored_line || is_same(recomputed.as_deref(), stored_line.as_deref()) {
                continue;
            }
            let place = format!("{} line {number}", stored.display());
            shown += 1;
            if shown > MAX_LINES_SHOWN {
                self.differs(place, "and possibly more lines differ");
                break;
            }
            let (is_stored, is_recomputed) = (stored_line.is_some(), recomputed.is_some());
            let [stored_line, recomputed] = shown_lines([stored_line, recomputed]);
            let what = match (is_stored, is_recomputed) {
                (false, _) => format!("is missing; recomputed: {recomputed}"),
                (_, false) => format!("has {stored_line}; recomputed: no such line"),
                _ => format!("has {stored_line}, recomputed it is {recomputed}"),
            };
            self.differs(place, what);
        }
        Ok(())
    }
}

/// Whether two different lines of a judgement state the same: they name the version of the program that wrote them, or the
/// same edition, in which later versions have more keys.
fn is_same(recomputed: Option<&[u8]>, stored: Option<&[u8]>) -> bool {
    let both = [recomputed, stored].map(|line| line.and_then(|line| std::str::from_utf8(line).ok()));
    let [Some(recomputed), Some(stored)] = both else { return false };
    let names_version = |line: &str| {
        line.strip_prefix("{\"version\":\"").and_then(|rest| rest.strip_suffix("\",")).is_some_and(is_version)
    };
    let edition = |line: &str| {
        let value = line.strip_prefix("\"edition\":")?.strip_suffix(',')?;
        serde_json::from_str::<Edition>(value).ok()
    };
    (names_version(recomputed) && names_version(stored))
        || edition(recomputed).is_some_and(|recomputed| edition(stored) == Some(recomputed))
}

/// Two lines for a message, each from shortly before their first difference.
fn shown_lines(lines: [Option<Vec<u8>>; 2]) -> [String; 2] {
    let texts = lines.map(|line| line.map(|line| String::from_utf8_lossy(&line).into_owned()));
    let same = match &texts {
        [Some(one), Some(other)] => one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count(),
        _ => 0,
    };
    // Without the start of long lines, which is the same.
    let start = if same < MAX_LINE_CHARS / 2 { 0 } else { same - CHARS_BEFORE };
    texts.map(|text| match text {
        None => "no line".to_owned(),
        Some(text) => {
            let before = if start > 0 { "..." } else { "" };
            let rest: String = text.chars().skip(start).collect();
            format!("`{before}{}`", truncated(&rest))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_shown_where_they_differ() {
        let long = "x".repeat(5000);
        let shown = |one: &str, other: &str| {
            shown_lines([Some(one.as_bytes().to_vec()), Some(other.as_bytes().to_vec())])
        };
        assert_eq!(shown("a,1", "a,2"), ["`a,1`", "`a,2`"]);
        for (one, other) in
            [(format!("{long}1{long}"), format!("{long}é{long}")), (format!("{long}1"), long.clone())]
        {
            let [one, other] = shown(&one, &other);
            assert_ne!(one, other);
            assert!(one.contains("x1") && one.starts_with("`...") && one.chars().count() < 200, "{one}");
        }
        assert_eq!(shown_lines([None, Some(b"a".to_vec())]), ["no line", "`a`"]);
    }

    #[test]
    fn only_the_version_of_the_program_may_differ() {
        let same = |one: &str, other: &str| is_same(Some(one.as_bytes()), Some(other.as_bytes()));
        assert!(same("{\"version\":\"0.2.0-rc.1\",", "{\"version\":\"0.1.0\","));
        for forged in [
            "{\"version\":\"0.1.0\",\"podiums\":[],",
            "{\"version\":\"0.1.0\"",
            "{\"version\":1,",
            "{\"version\":\"0.1.0\", ",
        ] {
            assert!(!same("{\"version\":\"0.1.0\",", forged), "{forged}");
        }
        let edition = Edition::load("mcc-2018").unwrap();
        let line = |edition: &Edition| format!("\"edition\":{},", serde_json::to_string(edition).unwrap());
        let mut changed = edition.clone();
        changed.title.push('x');
        // As an earlier version wrote it, without a key that it did not have.
        let older = line(&edition).replace("\"unknown\":{}", "");
        assert!(same(&line(&edition), &older) && !same(&line(&edition), &line(&changed)));
        assert!(!same(&line(&edition), &line(&edition).replacen('{', "{\"x\":1,", 1)));
    }
}
