//! The layout of archives: every file that an archive can have. `pack` writes no other file, `unpack` refuses any other by
//! its name, `verify` reports it, and `README.txt` and the RO-Crate describe the files by this list.

use mcc_base::evidence;
use mcc_base::names::check_folder;
use mcc_judge::schema::{self, Table};
use mcc_store::RECORD_FILE;
use std::fmt::Write as _;

/// What an archive is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole contest, with its judgement.
    Contest,
    /// The runs of one team.
    Team,
}

impl Kind {
    /// What is said of a file that an archive of another kind has, as its predicate.
    pub fn lacks(self) -> &'static str {
        match self {
            Self::Contest => "is not a file that the archive of a contest can have",
            Self::Team => "is not a file that the archive of one team can have",
        }
    }
}

/// Files of an archive: one, or those whose paths differ in names.
pub struct Part {
    /// The folder; empty for that of the archive. `ENTRY`, `INSTANCE`, `EXAMINATION` and `NUMBER` stand for the names of a
    /// run and the number of an attempt.
    pub folder: &'static str,
    /// The name. `SHA256` stands for a digest, `NN` for the position of a formula.
    pub file: &'static str,
    /// The content, as a phrase.
    pub about: &'static str,
    /// The archives that can have it; None: all.
    kind: Option<Kind>,
    /// Whether each of these archives has it.
    pub is_needed: bool,
}

/// The folder of the outputs of an attempt.
const OUTPUTS: &str = "outputs/ENTRY/INSTANCE/EXAMINATION/NUMBER";

/// Every file that an archive can have.
pub const LAYOUT: [Part; 44] = [
    all("archive.json", "version of this layout, edition, and the disks in this archive"),
    all("README.txt", "list of the content"),
    all("SHA256SUMS", "digests of all other files (check them: sha256sum -c SHA256SUMS)"),
    all("SHA256SUMS.sig", "signature of SHA256SUMS, if the archive is signed").optional(),
    all("edition.json", "the rules of the judgement"),
    all("datapackage.json", "the columns, types and keys of the tables"),
    all(RECORD_FILE, "SQLite: campaign, planned runs, attempts with machine, host, times and digests"),
    contest("ro-crate-metadata.json", "what the archive has, and who made it"),
    contest("publication.json", "title, date, organizers, licence, DOI, authors of the entries").optional(),
    contest("CITATION.cff", "how to cite the archive").optional(),
    contest("REUSE.toml", "which licence holds for which file").optional(),
    contest("CC-BY-4.0.txt", "text of the licence").optional().within("LICENSES"),
    contest("CC0-1.0.txt", "text of the licence").optional().within("LICENSES"),
    contest("LicenseRef-disks.txt", "what is known about the licences of the disks")
        .optional()
        .within("LICENSES"),
    table(&schema::ANSWERS),
    table(&schema::INSTANCES),
    table(&schema::ENTRIES),
    table(&schema::OVERRIDES_OF_ANSWERS).optional(),
    table(&schema::NAMES).optional(),
    table(&schema::OVERRIDES).optional(),
    contest("judgement.json", "the whole judgement: trusted values, verdicts, points, podiums, awards")
        .within("judgement"),
    table(&schema::CONFIDENCE).within("judgement"),
    table(&schema::TRUSTED).within("judgement"),
    table(&schema::SCORES).within("judgement"),
    table(&schema::PODIUMS).within("judgement"),
    table(&schema::AWARDS).within("judgement"),
    table(&schema::TOOLS).within("judgement"),
    table(&schema::WEAK).within("judgement"),
    table(&schema::OVERRIDES).within("judgement"),
    table(&schema::VIRTUAL).within("judgement"),
    table(&schema::FLAGS).within("judgement"),
    table(&schema::ARRIVALS).within("judgement"),
    table(&schema::INSTRUCTIONS).optional().within("judgement"),
    Part { kind: Some(Kind::Team), ..table(&schema::TEAM_VALUES) },
    output("stdout", "what the tool printed"),
    output("stderr", "the error output of the tool"),
    output("console", "messages of the guest"),
    output("qemu.log", "messages of QEMU"),
    output("ssh.log", "messages of ssh and of its sessions"),
    output("known_hosts", "the host key of an original disk"),
    output("samples.csv.gz", "measurements of an attempt"),
    output("NN.witness.json", "evidence of the tool"),
    output("NN.certificate.json", "evidence of the tool"),
    contest("SHA256", "a disk, kernel or initrd of machines, by its digest").optional().within("disks"),
];

const fn all(file: &'static str, about: &'static str) -> Part {
    Part { folder: "", file, about, kind: None, is_needed: true }
}

const fn contest(file: &'static str, about: &'static str) -> Part {
    Part { kind: Some(Kind::Contest), ..all(file, about) }
}

const fn table(table: &'static Table) -> Part {
    contest(table.file, table.about)
}

const fn output(file: &'static str, about: &'static str) -> Part {
    all(file, about).optional().within(OUTPUTS)
}

impl Part {
    const fn optional(self) -> Self {
        Self { is_needed: false, ..self }
    }

    const fn within(self, folder: &'static str) -> Self {
        Self { folder, ..self }
    }

    /// Whether an archive of this kind can have it.
    pub fn is_of(&self, kind: Kind) -> bool {
        self.kind.is_none_or(|own| own == kind)
    }

    /// The path, with words in capitals for names.
    pub fn path(&self) -> String {
        if self.folder.is_empty() { self.file.to_owned() } else { format!("{}/{}", self.folder, self.file) }
    }
}

/// The paths of the files that the RO-Crate lists, with their content: all but outputs, disks, the RO-Crate itself, and
/// what is written after it.
pub fn described_files() -> Vec<(String, &'static str)> {
    let described = |part: &&Part| {
        ![OUTPUTS, "disks"].contains(&part.folder)
            && !["ro-crate-metadata.json", "SHA256SUMS", "SHA256SUMS.sig"].contains(&part.file)
    };
    LAYOUT.iter().filter(described).map(|part| (part.path(), part.about)).collect()
}

/// The part of the layout to which a path belongs; None: an archive has no such file.
pub fn part(path: &str) -> Option<&'static Part> {
    let (folder, file) = match path.rsplit_once('/') {
        // An absolute path.
        Some(("", _)) => return None,
        Some(parts) => parts,
        None => ("", path),
    };
    LAYOUT.iter().find(|part| fits_folder(part.folder, folder) && fits(part.file, file))
}

fn fits_folder(pattern: &str, folder: &str) -> bool {
    let (words, names) = (pattern.split('/'), folder.split('/'));
    words.clone().count() == names.clone().count() && words.zip(names).all(|(word, name)| fits(word, name))
}

/// Whether a name is a word of a pattern, or one of the names for which the word stands.
fn fits(word: &str, name: &str) -> bool {
    match word {
        "ENTRY" | "INSTANCE" | "EXAMINATION" => check_folder(name).is_ok(),
        // Each number has one notation.
        "NUMBER" => name.parse::<u32>().is_ok_and(|number| number > 0 && number.to_string() == name),
        "SHA256" => name.len() == 64 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')),
        _ => word.strip_prefix("NN").map_or(word == name, |kind| is_evidence(kind, name)),
    }
}

fn is_evidence(kind: &str, name: &str) -> bool {
    name.ends_with(kind) && evidence::parse_name(name).is_some()
}

/// The content of `README.txt`.
pub fn readme() -> String {
    let mut text =
        "The record of a campaign of the Model Checking Contest, as mcc-harness publishes it. A part that this archive does \
         not need is absent.\n\n"
            .to_owned();
    for part in &LAYOUT {
        let _ = writeln!(text, "{}\n    {}", part.path(), part.about);
    }
    text + "\nUnpacked, the folder can be read as a record:\n\n    \
            tar --zstd -xf FILE -C FOLDER\n    \
            mcc-harness verify FOLDER\n    \
            mcc-harness judge FOLDER --out JUDGEMENT\n    \
            mcc-harness replay FOLDER --run ENTRY/INSTANCE/EXAMINATION\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "outputs/LoLA-2.0/A_b+c-PT-1/StateSpace";

    #[test]
    fn each_file_of_an_archive_has_one_part() {
        let digest = "0f".repeat(32);
        for name in ["archive.json", "judgement/trusted.csv", "LICENSES/CC0-1.0.txt"] {
            assert_eq!(part(name).map(Part::path).as_deref(), Some(name));
        }
        for name in [
            format!("{RUN}/1/stdout"),
            format!("{RUN}/4294967295/07.witness.json"),
            format!("disks/{digest}"),
        ] {
            assert!(part(&name).is_some(), "{name}");
        }
        for name in [
            "".to_owned(),
            "/archive.json".into(),
            "./archive.json".into(),
            "archive.json/".into(),
            "ARCHIVE.JSON".into(),
            "record.db-wal".into(),
            "record.db-shm".into(),
            "record.db-journal".into(),
            "judgement/sensitivity.csv".into(),
            "judgement/../record.db".into(),
            "NN.witness.json".into(),
            "outputs/ENTRY".into(),
            format!("{RUN}/0/stdout"),
            format!("{RUN}/01/stdout"),
            format!("{RUN}/+1/stdout"),
            format!("{RUN}/4294967296/stdout"),
            format!("{RUN}/1/stdin"),
            format!("{RUN}/1/NN.witness.json"),
            format!("{RUN}/1/7.witness.json"),
            format!("{RUN}/1/x/stdout"),
            "outputs/../x/A-PT-1/StateSpace/1/stdout".into(),
            format!("disks/{}", digest.to_uppercase()),
            format!("disks/{}", &digest[1..]),
            "disks/SHA256".into(),
        ] {
            assert!(part(&name).is_none(), "{name}");
        }
    }

    #[test]
    fn the_page_of_archives_names_each_part() {
        let page = include_str!("../../docs/archive.md");
        for part in &LAYOUT {
            let is_named = |name: &str| page.contains(&format!("`{name}`"));
            assert!(is_named(&part.path()) || is_named(part.file), "{}", part.path());
        }
    }
}
