//! Reduces an instance on which two programs give different values, until nothing can be removed without losing the
//! difference, and writes a report for the author of a program. Programs are tools' folders, which are run natively, or
//! this program's own `certify`.

use super::native::{self, NativeRun};
use super::qualification::head_script;
use super::{QualifyError, RunLimits};
use mcc_base::suggest::hint;
use mcc_base::temporary::{self, folder_beside};
use mcc_base::text::counted;
use mcc_base::{OnFile, files};
use mcc_campaign::benchkit::{Answers, Invocation, Questions, Reading};
use mcc_certify::{Budget, ColouredDocument, Effort, Known, Reducible, certify, shrink};
use mcc_edition::Examination;
use mcc_model::{Archive, MODEL, NetKind};
use mcc_store::Outcome;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// A program that answers.
#[derive(Clone, Debug)]
pub enum Program {
    /// A tool's folder with `BenchKit_head.sh`.
    Tool(PathBuf),
    /// `certify`
    Certify,
}

impl Program {
    /// Its name in messages.
    fn name(&self) -> String {
        match self {
            Self::Tool(folder) => folder.display().to_string(),
            Self::Certify => "certify".to_owned(),
        }
    }
}

/// The folder of the outputs of a program.
fn outputs_of(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("program-{}", number + 1))
}

/// Two programs and the value on which they may differ.
pub struct Dispute<'a> {
    /// The programs.
    pub programs: [Program; 2],
    /// The examination.
    pub examination: &'a Examination,
    /// The id of the property, or the name of a value of StateSpace.
    pub property: &'a str,
    /// The edition of the examination, as its option is given.
    pub edition: &'a str,
    /// Seconds for each answer.
    pub limit_s: u32,
    /// Memory of `certify`, and BK_MEMORY_CONFINEMENT of tools, in MiB.
    pub memory_mib: u32,
    /// Most runs of a tool for one value.
    pub runs: u32,
    /// The runs that must give the same value, so that it counts.
    pub agreeing: u32,
}

/// The result of a reduction.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Reduced {
    /// Places and transitions before.
    pub nodes_before: usize,
    /// Places and transitions after.
    pub nodes_after: usize,
    /// Number of reduced instances that were tried.
    pub attempts: usize,
    /// The values of the two programs on the reduced instance.
    pub values: [String; 2],
}

impl Dispute<'_> {
    /// Reduces an instance while the two programs give the same two values as at the start (for numbers: while they differ),
    /// and writes the reduced instance, the outputs and a report to the new folder `out`.
    ///
    /// # Errors
    /// The instance cannot be read, the programs do not disagree on it, or a program cannot be run.
    pub fn reduce(&self, archive: &Archive, time: Duration, out: &Path) -> Result<Reduced, QualifyError> {
        for program in &self.programs {
            if let Program::Tool(folder) = program {
                head_script(folder)?;
            }
        }
        let until = Instant::now() + time;
        // A wrong path must not be found after hours. The report has a new folder, which no tool could write to.
        folder_beside(out, ".shrink-")?;
        let is_coloured = archive.instance.kind() == NetKind::Coloured;
        let coloured = if is_coloured {
            // Its errors name the place in the file.
            archive.symmetric_net()?;
            let unpacked = temporary::folder("mcc-shrink-")?;
            native::unpack(archive, unpacked.path()).on("read", archive.path())?;
            let model = unpacked.path().join(archive.instance.as_str()).join(MODEL);
            let text = fs::read_to_string(&model).on("read", &model)?;
            Some(ColouredDocument::read(text).map_err(io::Error::other).on("read", archive.path())?)
        } else {
            None
        };
        let start = Reducible {
            net: archive.net()?,
            coloured,
            properties: archive.properties(&self.examination.name)?.unwrap_or_default(),
            kept: self.property.to_owned(),
            // Examinations of one value ask the same question of every net.
            fixed: self.examination.values == 1,
        };
        let nodes_before = start.nodes();
        // The second program is not run if the first one does not give the value that it must give.
        let answers = |candidate: &Reducible, first_must_be: Option<&str>| -> Result<_, QualifyError> {
            let folder = temporary::folder("mcc-shrink-")?;
            let value_of = |number: usize| -> Result<Option<String>, QualifyError> {
                // A tool can change all that it finds, so each program has its own copy of the instance.
                let outputs = outputs_of(folder.path(), number);
                let instance = outputs.join(archive.instance.as_str());
                fs::create_dir_all(&instance).on("create", &instance)?;
                candidate.write(&self.examination.name, &instance).on("write", &instance)?;
                let archive = Archive::open(&instance)?;
                // A part that stays may mention a colour that was removed.
                if is_coloured && archive.symmetric_net().is_err() {
                    return Ok(None);
                }
                Ok(self.value(&self.programs[number], &archive, &outputs, until)?.0)
            };
            let Some(first) = value_of(0)? else { return Ok(None) };
            if first_must_be.is_some_and(|wanted| wanted != first) {
                return Ok(None);
            }
            Ok(value_of(1)?.map(|second| ([first, second], folder)))
        };
        let property = self.property;
        let questions = Questions::read(archive, self.examination)?;
        if let Some(ids) = questions.ids.filter(|ids| !ids.iter().any(|id| id == property)) {
            let near = hint(property, ids.iter().map(String::as_str));
            return Err(QualifyError::Refused(format!(
                "{} has no {property}; it has {}{near}",
                self.examination.name,
                ids.join(", ")
            )));
        }
        let (known, outputs) = match answers(&start, None)? {
            Some(([first, second], _)) if first == second => {
                let [one, other] = [0, 1].map(|number: usize| self.programs[number].name());
                return Err(QualifyError::Refused(format!(
                    "{one} and {other} both give {first} for {}; give a tool that gives another value",
                    self.property
                )));
            }
            Some(known) => known,
            None if Instant::now() >= until => {
                return Err(QualifyError::Refused(format!(
                    "no program was run on a reduced instance within --time ({} s); give a higher --time, or fewer --runs",
                    time.as_secs()
                )));
            }
            None => {
                let folder = temporary::folder("mcc-shrink-")?;
                let (first, ended) = self.value(&self.programs[0], archive, folder.path(), until)?;
                let (program, ended) = match first {
                    None => (&self.programs[0], ended),
                    Some(_) => {
                        let second = &self.programs[1];
                        (second, self.value(second, archive, folder.path(), until)?.1)
                    }
                };
                let (name, limit_s) = (program.name(), self.limit_s);
                return Err(QualifyError::Refused(match ended.map(|run| (run.outcome, run.facts.wall_ms)) {
                    Some((outcome, wall_ms)) if outcome != Outcome::WallLimit => {
                        let s = Duration::from_millis(wall_ms).as_secs_f64();
                        format!(
                            "{name} ended without a value of {property} after {s:.1} s ({outcome}); correct it, or give another \
                             program"
                        )
                    }
                    _ => format!(
                        "{name} gives no value of {property} within {limit_s} s; give a higher --limit, or another program"
                    ),
                }));
            }
        };
        let is_truth = |value: &str| ["TRUE", "FALSE"].contains(&value);
        let wanted = is_truth(&known[0]).then(|| known[0].clone());
        let effort = Effort { until, attempts: usize::MAX };
        let mut last = (known, outputs);
        let (reduced, attempts) = shrink(start, effort, &mut |candidate: &Reducible| {
            match answers(candidate, wanted.as_deref())? {
                Some(found) if found.0[0] != found.0[1] => {
                    // The reduction keeps the candidate.
                    last = found;
                    Ok::<_, QualifyError>(true)
                }
                _ => Ok(false),
            }
        })?;
        let (values, outputs) = last;
        let result = Reduced { nodes_before, nodes_after: reduced.nodes(), attempts, values };
        self.write(&reduced, archive, &result, outputs.path(), out)?;
        Ok(result)
    }

    /// The value that enough runs of a program give before an instant, or None, with the last run of a tool that gave no
    /// value. `certify` runs once.
    fn value(
        &self,
        program: &Program,
        archive: &Archive,
        outputs: &Path,
        until: Instant,
    ) -> Result<(Option<String>, Option<NativeRun>), QualifyError> {
        let mut without = None;
        let runs = if let Program::Certify = program { 1 } else { self.runs };
        let agreeing = self.agreeing.min(runs);
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for _ in 0..runs {
            let left = until.saturating_duration_since(Instant::now());
            let limit = Duration::from_secs(self.limit_s.into()).min(left);
            if limit.is_zero() {
                break;
            }
            let (value, run) = self.value_of_run(program, archive, outputs, limit)?;
            let Some(value) = value else {
                without = run;
                continue;
            };
            let count = counts.entry(value.clone()).or_default();
            *count += 1;
            if *count >= agreeing {
                return Ok((Some(value), without));
            }
        }
        Ok((None, without))
    }

    /// The value that one run gives within `limit`; None: it gives none. Of a tool also the run. Leaves `stdout` and `stderr` of a tool in `outputs`.
    fn value_of_run(
        &self,
        program: &Program,
        archive: &Archive,
        outputs: &Path,
        limit: Duration,
    ) -> Result<(Option<String>, Option<NativeRun>), QualifyError> {
        let (examination, instance) = (self.examination.name.as_str(), archive.instance.as_str());
        match program {
            Program::Certify => {
                let budget = Budget {
                    steps: u64::MAX,
                    time: limit,
                    memory_bytes: u64::from(self.memory_mib) << 20,
                    cancel: &AtomicBool::new(false),
                };
                let Ok(findings) = certify(archive, &[examination], &budget) else { return Ok((None, None)) };
                let known = findings.into_iter().find(|finding| finding.id == self.property);
                let value = known.and_then(|finding| match finding.known {
                    Known::Exactly(mcc_certify::Value::Truth(true), _) => Some("TRUE".to_owned()),
                    Known::Exactly(mcc_certify::Value::Truth(false), _) => Some("FALSE".to_owned()),
                    Known::Exactly(mcc_certify::Value::Number(number), _) => Some(number.to_string()),
                    Known::Exactly(mcc_certify::Value::Infinite, _) => Some("inf".to_owned()),
                    Known::AtLeast(..) | Known::Open(_) => None,
                });
                Ok((value, None))
            }
            Program::Tool(folder) => {
                let memory_mib = self.memory_mib.into();
                let seconds = limit.as_secs_f64().ceil() as u64;
                let limits = RunLimits { cpu_s: seconds, wall_s: seconds, vcpus: 1, memory_mib };
                let invocation = Invocation {
                    tool: "tool",
                    instance,
                    examination,
                    confinement_s: self.limit_s.into(),
                    memory_mib,
                    memory_reserve_mib: 0,
                    original: false,
                    keeps_evidence: false,
                };
                let home = outputs.join("home");
                let ran = native::run(&home, folder, archive, &invocation, &limits, Duration::ZERO, outputs);
                let ran = ran.on("run", folder)?;
                let questions = Questions::read(archive, self.examination)?;
                let stdout = outputs.join("stdout");
                let answers = File::open(&stdout)
                    .and_then(|file| Answers::read_file(&file, &questions, Reading::default()))
                    .on("read", &stdout)?;
                let position = answers.ids.iter().position(|id| id == self.property);
                let value = position.and_then(|position| answers.values[position].as_ref());
                let value = value.map(|value| match value {
                    mcc_campaign::benchkit::Value::True => "TRUE".to_owned(),
                    mcc_campaign::benchkit::Value::False => "FALSE".to_owned(),
                    number => number.to_string(),
                });
                Ok((value, Some(ran)))
            }
        }
    }

    /// Writes the report in a temporary folder and renames it: complete or not at all. `outputs` has the outputs of the tools
    /// from which the values of the result were read.
    fn write(
        &self,
        reduced: &Reducible,
        archive: &Archive,
        result: &Reduced,
        outputs: &Path,
        out: &Path,
    ) -> Result<(), QualifyError> {
        let folder = folder_beside(out, ".shrink-")?;
        let instance = folder.path().join(archive.instance.as_str());
        fs::create_dir(&instance).on("create", &instance)?;
        reduced.write(&self.examination.name, &instance).on("write", &instance)?;
        let mut programs = String::new();
        for (number, program) in self.programs.iter().enumerate() {
            let name = match program {
                Program::Certify => "certify".to_owned(),
                Program::Tool(path) => {
                    let [from, to] = [outputs, folder.path()].map(|folder| outputs_of(folder, number));
                    fs::create_dir(&to).on("create", &to)?;
                    for name in ["stdout", "stderr"] {
                        let from = from.join(name);
                        let mut output = files::open_own(&from).on("read", &from)?;
                        let place = to.join(name);
                        let mut copy = File::create_new(&place).on("create", &place)?;
                        io::copy(&mut output, &mut copy).on("write", &place)?;
                    }
                    format!("{} (output: program-{}/stdout)", path.display(), number + 1)
                }
            };
            let _ = writeln!(programs, "- {}: {name}", result.values[number]);
        }
        let (instance, examination) = (archive.instance.as_str(), &self.examination.name);
        let Reduced { nodes_before, nodes_after, .. } = result;
        let attempts = counted(result.attempts, "attempt");
        let (property, edition) = (self.property, self.edition);
        let Self { limit_s, memory_mib, runs, agreeing, .. } = self;
        let mut options = String::new();
        for (option, program) in ["--tool", "--against"].iter().zip(&self.programs) {
            if let Program::Tool(path) = program {
                let _ = write!(options, " {option} {}", path.display());
            }
        }
        let text = format!(
            "# Two values of one property\n\n{examination}, {property}\n\n{programs}\nThe instance {instance} was reduced \
             from {nodes_before} to {nodes_after} places and transitions in {attempts}. The folder {instance} has \
             the reduced net and formulas.\n\nTo reproduce one value, start the tool as BenchKit does, in a copy of that \
             folder, with BK_EXAMINATION={examination} and BK_INPUT={instance}. To reproduce both, in the folder in which `shrink` was \
             started:\n\n    mcc-harness shrink {} --examination {examination} --property {property}{options} --edition {edition} --limit {limit_s} \
             --memory-mib {memory_mib} --runs {runs} --agreeing {agreeing} --out again\n",
            out.join(instance).display()
        );
        let report = folder.path().join("README.md");
        fs::write(&report, text).on("write", &report)?;
        let json = folder.path().join("report.json");
        let text = serde_json::to_string_pretty(result).map_err(io::Error::from).on("read", &json)?;
        fs::write(&json, text + "\n").on("write", &json)?;
        fs::rename(folder.path(), out).on("rename", out)?;
        let _ = folder.keep();
        Ok(())
    }
}
