//! The folder of a site: written under a temporary name, then renamed.

use super::{ReportError, rule_links, tables};
use askama::Template;
use flate2::Compression;
use flate2::write::GzEncoder;
use mcc_base::temporary::{folder_beside, replace_folder};
use mcc_base::{FileError, OnFile};
use mcc_judge::judgement::{JUDGEMENT_FILE, JudgementError, open};
use mcc_judge::schema::Table;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::{fs, iter};

/// The files and folders at the top of a site. A folder with any other entry is not replaced.
const TOP_LEVEL: [&str; 30] = [
    "index.html",
    "results.html",
    "instance.html",
    "instances.html",
    "instances.js",
    "evidence.html",
    "evidence.js",
    "evidence",
    "runs.html",
    "runs.js",
    "techniques.html",
    "progress.html",
    rule_links::PATH,
    "pictures.html",
    "pictures",
    "compare.html",
    "contest.js",
    "values.js",
    "site.css",
    "scripts",
    "podiums",
    "examinations",
    "tools",
    "models",
    "years",
    "instances",
    "categories",
    "runs",
    "data",
    MADE_BY,
];
const MADE_BY: &str = "mcc-harness-site.json";
/// Files of data with more bytes than this are compressed with gzip.
const GZIP_FROM_BYTES: usize = 1 << 20;
/// Longest file of data that is read.
const MAX_DATA_BYTES: u64 = 1 << 30;
/// The tables that name no instance: only these are published under an embargo (rule M-6).
const WITHOUT_INSTANCES: [&str; 7] =
    ["podiums.csv", "scores.csv", "confidence.csv", "awards.csv", "tools.csv", "virtual.csv", "margins.csv"];
/// Style sheet and scripts of the pages.
const STATIC_FILES: [(&str, &str); 9] = [
    ("site.css", include_str!("templates/site.css")),
    ("scripts/site.js", include_str!("templates/site.js")),
    ("scripts/search.js", include_str!("templates/search.js")),
    ("scripts/table.js", include_str!("templates/table.js")),
    ("scripts/grids.js", include_str!("templates/grids.js")),
    ("scripts/cells.js", include_str!("templates/cells.js")),
    ("scripts/charts.js", include_str!("templates/charts.js")),
    ("scripts/compare.js", include_str!("templates/compare.js")),
    ("scripts/instance.js", include_str!("templates/instance.js")),
];

/// A table of the judgement, or the judgement itself, as published files of one content.
pub struct DataFile {
    /// Its content, as a phrase.
    pub about: String,
    /// The names of its files in the folder `data`.
    pub names: Vec<String>,
}

/// A site that is being written. If it is dropped before `finish`, its temporary folder is removed.
pub struct NewSite {
    folder: tempfile::TempDir,
    place: PathBuf,
}

impl NewSite {
    /// Creates a temporary folder next to `place`, in the same file system, so that it can be renamed to `place`.
    pub fn create(place: &Path) -> Result<Self, ReportError> {
        // Where `place` is a symbolic link, the link stays and its target is replaced.
        let place = match fs::canonicalize(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                std::path::absolute(place).on("find", place)?
            }
            found => found.on("find", place)?,
        };
        check_replaceable(&place)?;
        let Some(name) = place.file_name() else {
            let source = io::Error::other("a site cannot be the root folder; give a folder below it");
            return Err(FileError { action: "write", path: place, source }.into());
        };
        let prefix = format!(".{}.new-", name.to_string_lossy());
        let folder = folder_beside(&place, &prefix)?;
        Ok(Self { folder, place })
    }

    /// Writes a page. Rule codes in its text become links to the page of the rules.
    pub fn page(&self, path: &str, template: &impl Template) -> Result<(), ReportError> {
        let page = template.render().map_err(|source| ReportError::Template { page: path.into(), source })?;
        let root = "../".repeat(path.matches('/').count());
        self.file(path, rule_links::with_links(&page, &root).as_bytes())
    }

    /// Writes a file of the site.
    pub fn file(&self, path: &str, content: &[u8]) -> Result<(), ReportError> {
        let (mut file, path) = self.create_file(path)?;
        Ok(file.write_all(content).on("write", path)?)
    }

    /// Copies `from` to `path` of the site. Returns the copy, open for reading.
    pub fn copy(&self, from: &mut dyn Read, path: &str) -> Result<fs::File, ReportError> {
        let (mut file, path) = self.create_file(path)?;
        io::copy(from, &mut file).on("write", path)?;
        Ok(file)
    }

    /// Writes a file of data, compressed with gzip if it is long; returns its name.
    fn publish(&self, name: &str, content: &[u8]) -> Result<String, ReportError> {
        if content.len() <= GZIP_FROM_BYTES {
            self.file(&format!("data/{name}"), content)?;
            return Ok(name.to_owned());
        }
        let name = format!("{name}.gz");
        let (file, path) = self.create_file(&format!("data/{name}"))?;
        let mut packed = GzEncoder::new(file, Compression::fast());
        packed.write_all(content).and_then(|()| packed.finish()).on("write", path)?;
        Ok(name)
    }

    /// Creates a file, and its folders if they are missing; returns it with the path that it will have.
    fn create_file(&self, path: &str) -> Result<(fs::File, PathBuf), ReportError> {
        let (shown, path) = (self.place.join(path), self.folder.path().join(path));
        let file = match fs::File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))
                    .and_then(|()| fs::File::create_new(&path))
            }
            file => file,
        };
        Ok((file.on("write", &shown)?, shown))
    }

    /// Copies the file of the judgement and its `tables`, which are written as JSON too. Under an embargo only files that
    /// name no instance are copied (rule M-6).
    pub fn copy_data(
        &self,
        judgement: Option<&Path>,
        tables: &[Table],
        embargo: bool,
    ) -> Result<Vec<DataFile>, ReportError> {
        let Some(dir) = judgement else { return Ok(vec![]) };
        let files = tables.iter().map(|table| (table.file, table.about, table.header()));
        let mut data = Vec::new();
        let whole = (JUDGEMENT_FILE, "the whole judgement", String::new());
        for (name, about, header) in iter::once(whole).chain(files) {
            if embargo && !WITHOUT_INSTANCES.contains(&name) {
                continue;
            }
            let (path, file) = match open(dir, name) {
                Err(JudgementError::File(error)) if error.source.kind() == io::ErrorKind::NotFound => {
                    continue;
                }
                opened => opened?,
            };
            let content = read(file).on("read", &path).map_err(JudgementError::from)?;
            // With certified values it has more columns.
            if !content.starts_with(header.trim_end().as_bytes()) {
                let place = path.display();
                return Err(ReportError::Refused(format!(
                    "{place}:1: its columns are not those of this table; judge again with `mcc-harness judge --out`"
                )));
            }
            let mut names = vec![self.publish(name, &content)?];
            // The values of a longer table are in judgement.json.
            if let Some(stem) = name.strip_suffix(".csv").filter(|_| content.len() <= GZIP_FROM_BYTES) {
                let json = tables::json(&content)
                    .map_err(io::Error::other)
                    .on("read", &path)
                    .map_err(JudgementError::from)?;
                names.push(self.publish(&format!("{stem}.json"), &json)?);
            }
            let is_empty =
                name.ends_with(".csv") && content.iter().filter(|&&byte| byte == b'\n').count() == 1;
            let about = format!("{about}{}", if is_empty { " (none here)" } else { "" });
            data.push(DataFile { about, names });
        }
        Ok(data)
    }

    /// Renames the new site to its place; an older site there is removed.
    pub fn finish(self, version: &str) -> Result<(), ReportError> {
        STATIC_FILES.iter().try_for_each(|(path, content)| self.file(path, content.as_bytes()))?;
        let made_by = serde_json::json!({ "made-by": "mcc-harness", "version": version });
        self.file(MADE_BY, format!("{made_by:#}\n").as_bytes())?;
        // Checked again: another program may have written to the place meanwhile.
        check_replaceable(&self.place)?;
        replace_folder(self.folder.path(), &self.place)?;
        // The folder has been renamed: its temporary name must not be removed.
        let _ = self.folder.keep();
        Ok(())
    }
}

/// Reads a file of a judgement, which others may have made.
fn read(file: impl Read) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    match file.take(MAX_DATA_BYTES).read_to_end(&mut content)? as u64 {
        MAX_DATA_BYTES => Err(io::ErrorKind::FileTooLarge.into()),
        _ => Ok(content),
    }
}

/// Returns an error unless the place is missing, empty or a site made by mcc-harness.
fn check_replaceable(place: &Path) -> Result<(), ReportError> {
    let entries = match fs::read_dir(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.on("write", place)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.on("write", place)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let made_by_us = names.iter().any(|name| name == MADE_BY);
    match names.into_iter().find(|name| !made_by_us || !TOP_LEVEL.contains(&name.as_str())) {
        Some(entry) => Err(ReportError::Foreign { path: place.into(), entry }),
        None => Ok(()),
    }
}

/// The last part of a path in the site, for links from pages of the same folder.
pub fn last_part(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}
