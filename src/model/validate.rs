//! Is an instance fit for the contest (rule M-4)? Everything found, each with its place and the remedy.

use super::property::{document, line_of, words};
use super::{Archive, ArchiveError, Count, Expr, Formula, MODEL, ModelError, Net, NetKind, Nupn, Property};
use serde::Serialize;
use std::collections::HashSet;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Unusual, and nobody is misled.
    Warning,
    /// Wrong: tools would be misled or could not work.
    Error,
}

/// One thing found in an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub severity: Severity,
    /// `<Instance>/<file>`, or the archive's own path.
    pub file: String,
    /// Counted from 1; None where it is about the file as a whole.
    pub line: Option<u64>,
    pub message: String,
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

/// The examinations with a property file and how many properties it has (rules E-1.3 to E-1.6).
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

/// Of one kind in one file, more are only counted.
const MOST_ALIKE: usize = 20;

/// Checks one instance: the net is well-formed and its references resolve, ids are unique, every examination has
/// its properties and these refer to the net, markers, NUPN section and verdicts agree with the net.
/// Sorted by file and line; empty = nothing to complain of.
pub fn validate(archive: &Archive) -> Vec<Finding> {
    let mut check = Check { archive, findings: Vec::new() };
    check.names();
    let net = match archive.net() {
        Ok(net) => Some(net),
        Err(error) => {
            check.archive_error(error);
            None
        }
    };
    if let Some(net) = &net {
        check.net(net);
        check.nupn(net);
        check.verdicts(net);
    }
    check.markers(net.as_ref());
    for (examination, count) in PROPERTY_FILES {
        check.properties(examination, count, net.as_ref());
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

    /// BenchKit unpacks `<Instance>.tgz` and enters `<Instance>/`.
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
                "the net is {}, the instance's name says {}",
                shown(net.kind),
                shown(instance.kind())
            );
            self.error(MODEL, None, message, "correct the net's type or the name");
        }
        if net.id != instance.as_str() {
            let message = format!("the net's id is \"{}\", not the instance's name", net.id);
            self.warning(MODEL, None, message, "tools that print ids of their own making would miss");
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
        let nupn: Nupn = match self.archive.nupn() {
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
                format!("NUPN says safe, but {} begins with {} tokens", place.id, place.initial),
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
                    format!("SAFE is true, but {} begins with {} tokens", place.id, place.initial)
                }),
                "ORDINARY" => arcs().find(|arc| arc.weight > 1).map(|arc| {
                    format!(
                        "ORDINARY is true, but an arc at {} weighs {}",
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
        let markers = self.archive.markers();
        match markers.coloured.as_deref() {
            Some(text @ ("TRUE" | "FALSE")) => {
                if let Some(net) = net.filter(|net| (net.kind == NetKind::Coloured) != (text == "TRUE")) {
                    let message = format!("iscolored says {text}, the net is {}", shown(net.kind));
                    self.error("iscolored", Some(1), message, "tools choose their parser by it: correct it");
                }
            }
            Some(text) => self.error("iscolored", Some(1), not_boolean(text), "write TRUE or FALSE"),
            None => self.error("iscolored", None, "is missing".into(), "add it, with TRUE or FALSE"),
        }
        let scale = self.archive.instance.scale().to_owned();
        match markers.scale {
            Some(text) if text == scale => {}
            Some(text) => {
                let message = format!("says \"{text}\", the instance's name says \"{scale}\"");
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

    fn properties(&mut self, examination: &str, count: usize, net: Option<&Net>) {
        let file = format!("{examination}.xml");
        let properties = match self.archive.properties(examination) {
            Ok(Some(properties)) => properties,
            // Editions after 2018 have no file for the examinations of one value.
            Ok(None) if count == 1 => return,
            Ok(None) => {
                return self.error(&file, None, "is missing".into(), "add the examination's properties");
            }
            Err(error) => return self.archive_error(error),
        };
        if properties.len() != count {
            let message = format!("{} properties, {examination} has {count}", properties.len());
            self.error(&file, None, message, "tools are asked about all of them: correct the file");
        }
        let usual = format!("{}-{examination}-", self.archive.instance);
        if let Some(odd) = properties.iter().find(|p| !p.id.starts_with(&usual) && p.id != examination) {
            let message = format!("ids such as \"{}\" do not begin with {usual}", odd.id);
            self.warning(&file, None, message, "answers are matched by these very ids");
        }
        let bounds = |property: &&Property| matches!(property.formula, Formula::PlaceBound(_));
        if let Some(wrong) = properties.iter().find(|p| bounds(p) != (examination == "UpperBounds")) {
            let message = format!("{} is not a formula of {examination}", wrong.id);
            self.error(&file, None, message, "move it to its examination");
        }
        let empty: Vec<_> =
            properties.iter().filter(|p| has_empty_list(&p.formula)).map(|p| p.id.as_str()).collect();
        if let Some(first) = empty.first() {
            let message =
                format!("{} properties name no place or no transition, {first} the first", empty.len());
            self.warning(&file, None, message, "such a sum is 0, such an is-fireable false");
        }
        if let Some(net) = net {
            self.references(&file, net);
        }
    }

    /// Every place and transition named in a property file must be one of the net.
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
                // Lines cost a scan of the file each: only those shown are looked up.
                let line = if dangling.len() < MOST_ALIKE { u64::from(line_of(node)) } else { 0 };
                dangling.push((line, format!("the net has no {what} \"{id}\"")));
            }
        }
        self.add_limited(file, dangling, "correct the id: formulas name places and transitions by id");
    }

    /// Adds errors of one kind, the first ones by line, the rest as a number.
    fn add_limited(&mut self, file: &str, faults: Vec<(u64, String)>, remedy: &str) {
        let more = faults.len().saturating_sub(MOST_ALIKE);
        for (line, message) in faults.into_iter().take(MOST_ALIKE) {
            self.error(file, Some(line), message, remedy);
        }
        if more > 0 {
            self.error(file, None, format!("{more} more of this kind"), remedy);
        }
    }
}

fn shown(kind: NetKind) -> &'static str {
    match kind {
        NetKind::PlaceTransition => "a P/T net",
        NetKind::Coloured => "a coloured net",
    }
}

fn not_boolean(text: &str) -> String {
    format!("says \"{}\"", text.chars().take(40).collect::<String>())
}

fn has_empty_list(formula: &Formula) -> bool {
    fn of_count(count: &Count) -> bool {
        matches!(count, Count::Tokens(places) if places.is_empty())
    }
    fn of_expr(expr: &Expr) -> bool {
        match expr {
            Expr::AllPaths(e) | Expr::ExistsPath(e) | Expr::Globally(e) | Expr::Finally(e) => of_expr(e),
            Expr::Next(e) | Expr::Not(e) => of_expr(e),
            Expr::Until(before, reach) => of_expr(before) || of_expr(reach),
            Expr::And(operands) | Expr::Or(operands) => operands.iter().any(of_expr),
            Expr::Le(left, right) => of_count(left) || of_count(right),
            Expr::Fireable(transitions) => transitions.is_empty(),
            Expr::Deadlock => false,
        }
    }
    match formula {
        Formula::PlaceBound(places) => places.is_empty(),
        Formula::Boolean(expr) => of_expr(expr),
    }
}
