//! Checks whether an instance is fit for the contest (rule M-4); each finding has a place and a remedy.

use super::nupn::MAX_ALIKE;
use super::property::{document, line_of, words};
use super::validate_xml::first_fault;
use super::{Archive, ArchiveError, Count, Expr, Formula, MODEL, ModelError, Net, NetKind, Nupn, Property};
use serde::Serialize;
use std::collections::HashSet;
use std::fmt;
use std::io::{self, Read};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Unusual, but tools work correctly.
    Warning,
    /// Wrong: tools fail or compute wrong answers.
    Error,
}

/// A problem in an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whether tools are affected.
    pub severity: Severity,
    /// The file: `<Instance>/<file>`, or the path of the archive.
    pub file: String,
    /// The line: 1, 2, ...; None: the whole file.
    pub line: Option<u64>,
    /// What is wrong, in lower case and without a full stop.
    pub message: String,
    /// What the owner of the instance should do.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = if self.severity == Severity::Error { "error" } else { "warning" };
        write!(f, "{severity}: {}:", self.file)?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}; {}", self.message, self.remedy)
    }
}

/// The examinations that every instance has a property file for, with the number of properties (rules E-1.3 to E-1.6). The
/// files of other examinations are checked as far as their content allows.
const PROPERTY_FILES: [(&str, usize); 8] = [
    ("UpperBounds", 16),
    ("ReachabilityDeadlock", 1),
    ("ReachabilityCardinality", 16),
    ("ReachabilityFireability", 16),
    ("CTLCardinality", 16),
    ("CTLFireability", 16),
    ("LTLCardinality", 16),
    ("LTLFireability", 16),
];

/// Largest model that is checked for what tools read differently, in bytes, as it is kept in memory. The largest of the contest
/// have some 1 GB.
const MAX_CHECKED_BYTES: u64 = 2 << 30;

/// Checks an instance: the net is well-formed, its references resolve, ids are unique, every examination has its
/// properties, which refer to nodes of the net, and markers, NUPN section and verdicts agree with the net. Returns the
/// findings sorted by file and line.
pub fn validate(archive: &Archive) -> Vec<Finding> {
    let mut check = Check { archive, findings: Vec::new() };
    check.names();
    let net = match archive.net_of_any_kind() {
        Ok(net) => Some(net),
        Err(error) => {
            check.archive_error(error);
            None
        }
    };
    if let Some(net) = &net {
        check.xml();
        check.net(net);
        check.nupn(net);
        check.verdicts(net);
    }
    check.markers(net.as_ref());
    check.other_files();
    for (examination, count) in PROPERTY_FILES {
        check.properties(examination, Some(count), net.as_ref());
    }
    for examination in archive.examinations() {
        if PROPERTY_FILES.iter().all(|(known, _)| *known != examination) {
            check.properties(examination, None, net.as_ref());
        }
    }
    check.findings.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    check.findings
}

struct Check<'a> {
    archive: &'a Archive,
    findings: Vec<Finding>,
}

impl Check<'_> {
    fn add(&mut self, severity: Severity, name: &str, line: Option<u64>, message: String, remedy: &str) {
        let file = self.archive.shown(name);
        self.findings.push(Finding { severity, file, line, message, remedy: remedy.to_owned() });
    }

    fn error(&mut self, name: &str, line: Option<u64>, message: String, remedy: &str) {
        self.add(Severity::Error, name, line, message, remedy);
    }

    fn warning(&mut self, name: &str, line: Option<u64>, message: String, remedy: &str) {
        self.add(Severity::Warning, name, line, message, remedy);
    }

    fn archive_error(&mut self, error: ArchiveError) {
        let severity = Severity::Error;
        self.findings.push(match error {
            ArchiveError::Model(ModelError { file, line, problem }) => {
                let (message, remedy) = (problem.to_string(), problem.remedy().to_owned());
                Finding { severity, file, line: Some(line), message, remedy }
            }
            error => {
                let file = self.archive.path().display().to_string();
                Finding {
                    severity,
                    file,
                    line: None,
                    message: error.to_string(),
                    remedy: "pack it again".into(),
                }
            }
        });
    }

    /// Checks that the archive has the name of its folder: BenchKit unpacks `<Instance>.tgz` and changes to
    /// `<Instance>/`.
    fn names(&mut self) {
        let path = self.archive.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.strip_suffix(".tgz").or(name.strip_suffix(".tar.gz")).unwrap_or(&name);
        if path.is_file() && stem != self.archive.instance.as_str() {
            let message = format!("the archive holds the folder {}", self.archive.instance);
            let remedy = format!("name it {}.tgz", self.archive.instance);
            let (severity, file) = (Severity::Error, path.display().to_string());
            self.findings.push(Finding { severity, file, line: None, message, remedy });
        }
    }

    fn net(&mut self, net: &Net) {
        let instance = &self.archive.instance;
        if net.kind != instance.kind() {
            let message = format!(
                "the net is {}, but by its name the instance is {}",
                shown(net.kind),
                shown(instance.kind())
            );
            self.error(MODEL, None, message, "correct the net's type or the name");
        }
        if net.id != instance.as_str() {
            let message = format!("the net's id is \"{}\", not the instance's name", net.id);
            let remedy =
                "write the instance's name: tools that build ids from the net's id would print wrong ones";
            self.warning(MODEL, None, message, remedy);
        }
        if net.places.is_empty() || net.transitions.is_empty() {
            self.error(MODEL, None, "the net has no place or no transition".into(), "check how it was made");
        }
        let tokens: u128 = net.places.iter().map(|place| u128::from(place.initial)).sum();
        if tokens > 1 << 32 && !self.archive.markers().large_marking {
            let message = format!(
                "the initial marking has {tokens} tokens, more than 2^32, and there is no large_marking"
            );
            self.warning(MODEL, None, message, "add an empty file large_marking");
        }
    }

    fn nupn(&mut self, net: &Net) {
        let nupn: Nupn = match self.archive.nupn(net) {
            Ok(Some(nupn)) => nupn,
            Ok(None) => return,
            Err(error) => return self.archive_error(error),
        };
        if net.kind == NetKind::Coloured {
            return self.error(
                MODEL,
                Some(nupn.line),
                "a coloured net with a NUPN section".into(),
                "remove it",
            );
        }
        let mut faults = nupn.faults(net);
        if let (true, Some(place)) = (nupn.safe, net.places.iter().find(|place| place.initial > 1)) {
            faults.push((
                nupn.line,
                format!("NUPN states safe, but {} has {} initial tokens", place.id, place.initial),
            ));
        }
        self.add_limited(MODEL, faults, "correct the NUPN section or remove it");
    }

    fn verdicts(&mut self, net: &Net) {
        const FILE: &str = "GenericPropertiesVerdict.xml";
        let verdicts = match self.archive.verdicts() {
            Ok(verdicts) => verdicts,
            Err(error) => return self.archive_error(error),
        };
        if net.kind == NetKind::Coloured {
            return;
        }
        for verdict in verdicts.iter().filter(|verdict| verdict.holds == Some(true)) {
            let arcs = || net.transitions.iter().flat_map(|t| t.inputs.iter().chain(&t.outputs));
            let contradiction = match verdict.property.as_str() {
                "SAFE" => net.places.iter().find(|place| place.initial > 1).map(|place| {
                    format!("SAFE is true, but {} has {} initial tokens", place.id, place.initial)
                }),
                "ORDINARY" => arcs().find(|arc| arc.weight > 1).map(|arc| {
                    format!(
                        "ORDINARY is true, but an arc at {} has the weight {}",
                        net.places[arc.place].id, arc.weight
                    )
                }),
                _ => None,
            };
            if let Some(message) = contradiction {
                self.error(FILE, Some(verdict.line), message, "correct the verdict: tools rely on it");
            }
        }
    }

    fn markers(&mut self, net: Option<&Net>) {
        for name in ["iscolored", "instance", "equiv_col", "equiv_pt"] {
            let Some(text) = self.archive.text(name) else { continue };
            if text.strip_suffix('\n').unwrap_or(&text) != text.trim() {
                // Shells of tools remove only line feeds at the end.
                let message = "has white space other than a line feed at its end".to_owned();
                self.error(name, Some(1), message, "remove it: tools compare the whole text");
            }
        }
        let markers = self.archive.markers();
        match markers.coloured.as_deref() {
            Some(text @ ("TRUE" | "FALSE")) => {
                if let Some(net) = net.filter(|net| (net.kind == NetKind::Coloured) != (text == "TRUE")) {
                    let message = format!("iscolored is {text}, but the net is {}", shown(net.kind));
                    let remedy = "correct it: tools choose their parser by this file";
                    self.error("iscolored", Some(1), message, remedy);
                }
            }
            Some(text) => self.error("iscolored", Some(1), not_boolean(text), "write TRUE or FALSE"),
            None => self.error("iscolored", None, "is missing".into(), "add it, with TRUE or FALSE"),
        }
        let scale = self.archive.instance.scale().to_owned();
        match markers.scale {
            Some(text) if text == scale => {}
            Some(text) => {
                let message = format!("is \"{text}\", but \"{scale}\" in the instance's name");
                self.error("instance", Some(1), message, "correct it");
            }
            None => self.warning("instance", None, "is missing".into(), &format!("add it, with {scale}")),
        }
        let (name, twin) = match self.archive.instance.kind() {
            NetKind::PlaceTransition => ("equiv_col", markers.coloured_twin),
            NetKind::Coloured => ("equiv_pt", markers.pt_twin),
        };
        match twin.as_deref() {
            Some("TRUE" | "FALSE") => {}
            Some(text) => self.error(name, Some(1), not_boolean(text), "write TRUE or FALSE"),
            None => self.warning(name, None, "is missing".into(), "add it, with TRUE or FALSE"),
        }
    }

    /// Checks that parsers of tools read the model as this one does.
    fn xml(&mut self) {
        let read = |source: &mut dyn io::BufRead, _: &str| -> io::Result<Option<(u64, String)>> {
            Ok(first_fault(&read_at_most(source, MAX_CHECKED_BYTES)?))
        };
        match self.archive.with_model(read) {
            Ok(Ok(None)) => {}
            Ok(Ok(Some((line, problem)))) => {
                self.error(MODEL, Some(line), problem, "correct it: tools would read another net, or none");
            }
            Ok(Err(error)) => self.error(MODEL, None, error.to_string(), "check the file"),
            Err(error) => self.archive_error(error),
        }
    }

    /// Warns of files that are neither of the contest nor texts.
    fn other_files(&mut self) {
        const MARKERS: [&str; 7] =
            ["iscolored", "instance", "equiv_col", "equiv_pt", "large_marking", "unfinite", "NewModel"];
        let archive = self.archive;
        for name in archive.files().map(|(name, _)| name).filter(|name| !MARKERS.contains(name)) {
            if !name.ends_with(".xml") && !name.ends_with(".txt") {
                let message = "is not a file of the contest".to_owned();
                self.warning(name, None, message, "remove it: tools start in the folder of these files");
            }
        }
    }

    fn properties(&mut self, examination: &str, count: Option<usize>, net: Option<&Net>) {
        let file = format!("{examination}.xml");
        let properties = match self.archive.properties(examination) {
            Ok(Some(properties)) => properties,
            // Editions after 2018 have no file for the examinations of one value.
            Ok(None) if count == Some(1) => return,
            Ok(None) => {
                return self.error(&file, None, "is missing".into(), "add the examination's properties");
            }
            Err(error) => return self.archive_error(error),
        };
        if let Some(count) = count.filter(|count| properties.len() != *count) {
            let message = format!("{} properties, but {examination} has {count}", properties.len());
            self.error(&file, None, message, "correct the file: tools have to answer all of them");
        }
        let prefix = format!("{}-{examination}-", self.archive.instance);
        if let Some(other) = properties.iter().find(|p| !p.id.starts_with(&prefix) && p.id != examination) {
            let message = format!("ids such as \"{}\" do not begin with {prefix}", other.id);
            self.warning(&file, None, message, "rename them if possible: answers are matched by these ids");
        }
        let bounds = |property: &&Property| matches!(property.formula, Formula::PlaceBound(_));
        let wrong = properties.iter().find(|p| bounds(p) != (examination == "UpperBounds"));
        if let (Some(wrong), Some(_)) = (wrong, count) {
            let message = format!("{} is not a formula of {examination}", wrong.id);
            self.error(&file, None, message, "move it to its examination");
        }
        let empty: Vec<_> =
            properties.iter().filter(|p| has_empty_list(&p.formula)).map(|p| p.id.as_str()).collect();
        if let Some(first) = empty.first() {
            let message = format!(
                "properties with an empty list of places or transitions: {}; the first is {first}",
                empty.len()
            );
            self.warning(&file, None, message, "check them: such a sum is 0, such an is-fireable is false");
        }
        if let Some(net) = net {
            self.references(&file, net);
        }
    }

    /// Checks that every place and transition in a property file is one of the net.
    fn references(&mut self, file: &str, net: &Net) {
        let places: HashSet<&str> = net.places.iter().map(|place| place.id.as_str()).collect();
        let transitions: HashSet<&str> =
            net.transitions.iter().map(|transition| transition.id.as_str()).collect();
        let archive = self.archive;
        let text = archive.text(file).unwrap_or_default();
        let Ok(document) = document(&text, file) else { return };
        let mut dangling = Vec::new();
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            let (known, what) = match node.tag_name().name() {
                "place" => (&places, "place"),
                "transition" => (&transitions, "transition"),
                _ => continue,
            };
            let id = words(node).unwrap_or_default();
            if !known.contains(id.as_str()) {
                // Each line number takes a scan of the file, so only those shown are computed.
                let line = if dangling.len() < MAX_ALIKE { u64::from(line_of(node)) } else { 0 };
                dangling.push((line, format!("the net has no {what} \"{id}\"")));
            }
        }
        self.add_limited(file, dangling, "correct the id: formulas name places and transitions by id");
    }

    /// Adds errors of one kind: the first ones with their lines, the number of the others.
    fn add_limited(&mut self, file: &str, faults: Vec<(u64, String)>, remedy: &str) {
        let more = faults.len().saturating_sub(MAX_ALIKE);
        for (line, message) in faults.into_iter().take(MAX_ALIKE) {
            self.error(file, Some(line), message, remedy);
        }
        if more > 0 {
            self.error(file, None, format!("{more} more of this kind"), remedy);
        }
    }
}

/// Reads a text that has at most `most` bytes.
fn read_at_most(source: impl io::Read, most: u64) -> io::Result<String> {
    let mut text = String::new();
    if source.take(most + 1).read_to_string(&mut text)? as u64 > most {
        return Err(io::Error::other(format!("is larger than {most} bytes, so it is not checked")));
    }
    Ok(text)
}

fn shown(kind: NetKind) -> &'static str {
    match kind {
        NetKind::PlaceTransition => "a P/T net",
        NetKind::Coloured => "a coloured net",
    }
}

fn not_boolean(text: &str) -> String {
    format!("is \"{}\"", text.chars().take(40).collect::<String>())
}

fn has_empty_list(formula: &Formula) -> bool {
    fn of_count(count: &Count) -> bool {
        matches!(count, Count::Tokens(places) if places.is_empty())
    }
    fn of_expr(expr: &Expr) -> bool {
        match expr {
            Expr::Le(left, right) => of_count(left) || of_count(right),
            Expr::Fireable(transitions) => transitions.is_empty(),
            _ => expr.parts().into_iter().any(of_expr),
        }
    }
    match formula {
        Formula::PlaceBound(places) => places.is_empty(),
        Formula::Boolean(expr) => of_expr(expr),
    }
}

#[cfg(test)]
mod tests {
    use super::read_at_most;

    #[test]
    fn a_model_that_is_too_large_is_not_kept_in_memory() {
        assert_eq!(read_at_most(&b"<a/>"[..], 4).unwrap(), "<a/>");
        let mut endless = std::io::repeat(b' ');
        let error = read_at_most(&mut endless, 4).unwrap_err();
        assert_eq!(error.to_string(), "is larger than 4 bytes, so it is not checked");
    }
}
