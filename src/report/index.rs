//! The front page.

use super::contest::{self, Contest, Frame, RunKey};
use super::evidence::links;
use super::run::host_text;
use super::show::{self, TextParts, visible};
use super::site::{DataFile, NewSite};
use super::table::{Endings, MarkRow};
use super::{KeptAttempt, ReportError, table};
use askama::Template;
use mcc_base::text::{shell_quoted, shell_word};
use mcc_campaign::benchkit::FoundFailure;
use mcc_edition::{ConfidenceReading, Status};
use mcc_judge::judgement::{JudgementError, Podium, PodiumPlace, VariantRank};
use mcc_store::{DisturbedRuns, INSTANCE_DISK, MeasuredHost, Outcome};
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Template)]
#[template(path = "index.html")]
struct FrontPage {
    frame: Frame,
    size: String,
    unresolved: Vec<(String, String)>,
    marks: Vec<MarkRow>,
    /// What the mark `disturbed` means here; empty: no run has it.
    disturbed: String,
    podiums: Vec<PodiumCard>,
    /// Category and link of each column of `medals`.
    medal_columns: Vec<(String, String)>,
    medals: Vec<MedalRow>,
    awards: Vec<AwardCard>,
    /// Link, and the name as parts between which a line may break.
    examinations: Vec<(String, String)>,
    points: Vec<PointsRow>,
    /// The entries that do not compete.
    other_points: Vec<PointsRow>,
    /// Name of a bound of the points, and its points by examination.
    bounds: Vec<(&'static str, Vec<(String, String)>)>,
    legend: Vec<(&'static str, &'static str)>,
    endings: Vec<(String, &'static str, Vec<String>)>,
    confidence: Vec<ConfidenceRow>,
    /// Podiums say which ranks at most this many wrong trusted values could cost.
    few_values: u64,
    /// |V| of rule E-2.2.
    common_values: String,
    /// The least number of tools that agree on a common value.
    min_agreeing: usize,
    /// Whether confidence is the share of the common values that the entry answered, not of all common values.
    is_of_answered: bool,
    /// The confidence from which a value given by one entry only is trusted (E-3.1).
    threshold: String,
    notes: Vec<TextParts>,
    /// Whether the site has a record, so that its contest can have an archive.
    has_record: bool,
    /// Whether a record was judged.
    of_record: bool,
    /// Whether the edition has awards.
    has_awards: bool,
    /// Organizers, date, title and DOI of the campaign; empty without organizers.
    citation: String,
    /// The file name of the archive as a word of a shell, and what `sha256sum --check` reads, if its digest is known.
    archive: (String, String),
    entries: Vec<EntryRow>,
    /// Whether the kind of any entry is known, and whether any has a note.
    has_kinds: bool,
    has_notes: bool,
    /// Whether the campaign states authors, affiliation, page or licence of any entry.
    has_authors: bool,
    excluded: Vec<(String, String)>,
    excluded_reason: String,
    facts: Vec<(&'static str, Vec<String>)>,
    disks: Vec<DiskRow>,
    rules: String,
    inputs: Vec<(String, String)>,
    data: Vec<DataFile>,
}

impl FrontPage {
    /// Whether the values that only one of the entries gave are not trusted.
    fn has_confidence_notes(&self) -> bool {
        self.confidence.iter().any(|row| !row.trusted_alone)
    }
}

pub struct PodiumCard {
    pub category: String,
    /// The page of the podium.
    pub link: String,
    pub places: Vec<PodiumRow>,
    pub others: Vec<PodiumRow>,
}

/// The ranks of a tool in all categories.
pub struct MedalRow {
    pub tool: String,
    /// The page of its first entry.
    pub link: String,
    /// Numbers of gold, silver and bronze medals; empty for zero.
    pub counts: [String; 3],
    /// By category: rank and medal.
    pub ranks: Vec<(String, &'static str)>,
}

pub struct PodiumRow {
    pub rank: String,
    pub medal: String,
    pub entry: String,
    /// The tool, if the entry is one of its variants, and the status of the entry.
    pub note: String,
    /// The page of the entry.
    pub link: String,
    pub points: String,
    pub exact: String,
    /// The distance to the place before it; empty for the first place and without a rank.
    pub behind: String,
    /// How few values decide the place; empty if it takes more than a few.
    pub decided: String,
    pub negative: bool,
    /// Share of the best points, in percent with one decimal.
    pub bar: String,
}

struct AwardCard {
    name: String,
    category: String,
    places: Vec<(u32, String, String, String)>,
}

pub struct PointsRow {
    pub entry: String,
    pub link: String,
    pub status: &'static str,
    /// Rounded points, exact points, CSS class.
    pub cells: Vec<(String, String, &'static str)>,
}

struct ConfidenceRow {
    entry: String,
    status: &'static str,
    trusted_alone: bool,
    confidence: String,
    exact: String,
    agreed: String,
    answered: String,
}

struct EntryRow {
    entry: String,
    link: String,
    tool: String,
    /// Empty without a record.
    kind: &'static str,
    status: &'static str,
    note: String,
    authors: String,
    affiliation: String,
    /// The address of the tool's page.
    page: String,
    licence: String,
}

struct DiskRow {
    role: String,
    entries: String,
    sha256: String,
    size: String,
}

/// Facts of the whole campaign, collected from the runs of the record.
#[derive(Default)]
pub struct RecordFacts {
    /// Runs that needed no machine, because the entry does not compete.
    without_machine: u64,
    /// The number of attempts of each run.
    pub attempts: BTreeMap<RunKey, usize>,
    /// What the outputs of runs say about failures, where they say something.
    pub failures: Vec<(RunKey, FoundFailure)>,
    hosts: BTreeMap<String, u64>,
    accelerators: BTreeMap<String, u64>,
    qemus: BTreeSet<String>,
    started: Option<(String, String)>,
    measured: Option<MeasuredHost>,
    disturbed: DisturbedRuns,
    /// Role, digest and size of each disk; the entries whose machines used it.
    disks: BTreeMap<(String, String, u64), BTreeSet<String>>,
}

impl RecordFacts {
    /// Facts without runs, with the measurement of the host if there is one.
    pub fn of_host(measured: Option<MeasuredHost>) -> Self {
        Self { measured, ..Self::default() }
    }

    pub fn runs(&self) -> usize {
        self.attempts.len()
    }

    /// Adds the attempts of a run.
    pub fn add(&mut self, contest: &Contest, key: RunKey, attempts: &[KeptAttempt]) {
        self.attempts.insert(key, attempts.len());
        let Some(KeptAttempt { attempt, .. }) = attempts.last() else { return };
        // The record can have an obfuscated name of the instance.
        let run = contest.run_name(key).parse().unwrap_or_else(|_| attempt.run.clone());
        self.disturbed.add(&run, attempt.outcome.word(), attempt.environment.host_state.as_ref());
        if attempt.outcome == Outcome::NotCompeting {
            self.without_machine += 1;
            return;
        }
        *self.hosts.entry(host_text(&attempt.host)).or_default() += 1;
        *self.accelerators.entry(visible(&attempt.host.accelerator)).or_default() += 1;
        self.qemus.insert(visible(&attempt.host.qemu));
        let at = attempt.started_at.clone();
        self.started = Some(match self.started.take() {
            None => (at.clone(), at),
            Some((first, last)) => (first.min(at.clone()), last.max(at)),
        });
        // One for each instance would hide the others; the page of a run has it.
        for disk in attempt.disks.iter().filter(|disk| disk.role != INSTANCE_DISK) {
            let entries = self.disks.entry((disk.role.clone(), disk.sha256.clone(), disk.bytes)).or_default();
            entries.insert(contest.entry(key.0).entry.clone());
        }
    }
}

/// What the mark `disturbed` means for this campaign. A run that gave all values before its limit does not depend on it.
fn disturbed(contest: &Contest, record: &RecordFacts) -> String {
    let mut disturbed = record.disturbed.clone();
    if disturbed.marked == 0 {
        return String::new();
    }
    let mut incomplete = BTreeSet::new();
    for block in &contest.judgement.blocks {
        for cell in block.cells.iter().filter(|cell| cell.values.contains(&None)) {
            incomplete.insert(contest.run_name((cell.entry, block.instance, block.examination)));
        }
    }
    disturbed.at_limit.retain(|run| incomplete.contains(&**run));
    visible(&disturbed.to_string())
}

/// Writes the front page. `data` are the published files of data.
pub fn write(
    contest: &Contest,
    record: &RecordFacts,
    data: Vec<DataFile>,
    site: &NewSite,
) -> Result<(), ReportError> {
    let judgement = contest.judgement;
    let number = |count: usize, one, many| show::counted(count as u64, one, many);
    let is_competing = |entry: &&usize| contest.entry(**entry).status == Status::Competing;
    let competing = contest.entries.iter().filter(is_competing).count();
    let mut size = vec![number(competing, "competing entry", "competing entries")];
    let is_virtual = |entry: &&usize| contest.entry(**entry).status == Status::Virtual;
    let virtuals = contest.entries.iter().filter(is_virtual).count();
    let others = contest.entries.len() - competing - virtuals;
    if others > 0 {
        size.push(format!("{others} not competing"));
    }
    if virtuals > 0 {
        size.push(number(virtuals, "virtual entry", "virtual entries"));
    }
    size.extend([
        number(contest.instances.len() + contest.hidden(), "instance", "instances"),
        number(contest.examinations.len(), "examination", "examinations"),
    ]);
    if record.runs() > 0 {
        size.push(number(record.runs(), "run", "runs"));
    }
    let endings = Endings::by_entry(contest, |_, _| true);
    let (points, other_points) = points(contest);
    let (medal_columns, medals) = medals(contest);
    let page = FrontPage {
        frame: contest.frame(String::new(), ""),
        size: size.join(" · "),
        unresolved: links(contest, &judgement.unresolved),
        marks: table::marks(contest, None),
        disturbed: disturbed(contest, record),
        few_values: FEW_VALUES,
        podiums: contest.judged_podiums().map(|(number, podium)| card(contest, number, podium)).collect(),
        medal_columns,
        medals,
        awards: awards(contest),
        examinations: contest
            .examinations
            .iter()
            .map(|&e| (contest.table_path(e, "html"), visible(&judgement.examinations[e])))
            .collect(),
        points,
        other_points,
        bounds: bounds(contest),
        legend: endings.columns.clone(),
        endings: contest
            .entries
            .iter()
            .filter(|entry| contest.entry(**entry).status != Status::Virtual)
            .map(|&number| {
                let entry = contest.entry(number);
                (visible(&entry.entry), contest::status_text(entry.status), endings.row(number))
            })
            .collect(),
        confidence: confidence(contest),
        common_values: show::thousands(judgement.common_values),
        min_agreeing: judgement.edition.judging.min_agreeing,
        is_of_answered: judgement.edition.judging.confidence == ConfidenceReading::Answered,
        threshold: show::percent(&judgement.edition.judging.single_threshold),
        notes: judgement
            .notes
            .iter()
            .cloned()
            .chain(judgement.edition.warnings())
            .filter(|note| !contest.names_hidden(note))
            .map(|note| show::code_parts(&note))
            .collect(),
        has_record: record.runs() > 0,
        of_record: judgement.is_of_record(),
        has_awards: !judgement.edition.judging.awards.is_empty(),
        archive: contest.input.archive.map_or_else(
            || ("ARCHIVE".to_owned(), String::new()),
            |(name, sha256)| {
                (shell_word(&visible(name)), shell_quoted(&format!("{sha256}  {}", visible(name))))
            },
        ),
        // Only with organizers has the archive a `CITATION.cff`.
        citation: Some(citation(contest))
            .filter(|_| judgement.publication.as_ref().is_some_and(|stated| !stated.organizers.is_empty()))
            .unwrap_or_default(),
        entries: entries(contest),
        has_kinds: !contest.kinds.is_empty(),
        has_authors: judgement
            .publication
            .as_ref()
            .is_some_and(|publication| !publication.entries.is_empty()),
        has_notes: contest.entries.iter().any(|&entry| !contest.entry(entry).note.is_empty()),
        excluded: links(contest, &judgement.excluded),
        excluded_reason: contest.excluded_reason(),
        facts: facts(contest, record),
        disks: disks(record),
        rules: toml::to_string_pretty(&judgement.edition)
            .map(|rules| show::visible_lines(&rules))
            .map_err(|error| JudgementError::Broken(error.to_string()))?,
        inputs: judgement
            .inputs
            .iter()
            .map(|input| (input_name(&input.file), visible(&input.sha256)))
            .collect(),
        data,
    };
    site.page("index.html", &page)
}

fn entries(contest: &Contest) -> Vec<EntryRow> {
    let row = |&entry: &usize| {
        let link = contest.tool_path(entry, "html");
        let stated = contest.entry_publication(entry);
        let entry = contest.entry(entry);
        let text = |text: Option<String>| text.map_or(String::new(), |text| visible(&text));
        EntryRow {
            authors: visible(&stated.authors.join("; ")),
            affiliation: text(stated.affiliation),
            page: text(stated.link),
            licence: text(stated.licence),
            entry: visible(&entry.entry),
            link,
            tool: visible(&entry.tool),
            kind: contest.kinds.get(&entry.entry).copied().unwrap_or_default(),
            status: contest::status_words(entry.status),
            note: visible(&entry.note),
        }
    };
    contest.entries.iter().map(row).collect()
}

/// Organizers, date, title and DOI, as in `CITATION.cff` of the archive.
pub fn citation(contest: &Contest) -> String {
    let publication = contest.judgement.publication.clone().unwrap_or_default();
    let organizers = visible(&publication.organizers.join("; "));
    let date = publication.date.map_or(String::new(), |date| format!(" ({})", visible(&date)));
    let doi = publication.doi.map_or(String::new(), |doi| format!(" https://doi.org/{}", visible(&doi)));
    let by = format!("{organizers}{date}");
    let by = if by.is_empty() { by } else { format!("{}: ", by.trim_start()) };
    format!("{by}{}.{doi}", contest.title())
}

/// The name of a judged file. The digest of the outputs of a record is that of lines.
fn input_name(file: &str) -> String {
    match file {
        "outputs" => {
            "outputs (a list with one line for each run: ENTRY/INSTANCE/EXAMINATION and the SHA-256 of its stdout)".to_owned()
        }
        file => visible(file),
    }
}

/// Cards name a margin of at most this many values.
const FEW_VALUES: u64 = 3;

pub fn card(contest: &Contest, number: usize, podium: &Podium) -> PodiumCard {
    let shown = |place: &&PodiumPlace| contest.entries.contains(&place.entry);
    let places: Vec<&PodiumPlace> = podium.places.iter().filter(shown).collect();
    let ranked_points: Vec<&BigRational> =
        places.iter().filter(|place| place.rank.is_some()).map(|place| &place.points).collect();
    let best = ranked_points.iter().max().map_or_else(BigRational::zero, |best| (*best).clone());
    let decimals = show::point_places(&ranked_points);
    let decided = |entry: usize| {
        let margin = contest.places.margins(number).find(|margin| margin.holder == entry);
        match margin.and_then(|margin| margin.values).filter(|&values| values <= FEW_VALUES) {
            Some(values) => format!(
                "{values} wrong trusted {} could cost this rank",
                show::plural(values, "value", "values")
            ),
            None => String::new(),
        }
    };
    let view = |place: &PodiumPlace, before: Option<&PodiumPlace>| {
        let entry = contest.entry(place.entry);
        let permille = show::permille(&place.points, &best);
        let mut note = Vec::new();
        if entry.tool != entry.entry || place.variant != VariantRank::Only {
            note.push(match place.variant {
                VariantRank::Best => format!("best variant of {}", entry.tool),
                VariantRank::Other => format!("variant of {}", entry.tool),
                VariantRank::Only => entry.tool.clone(),
            });
        }
        note.push(contest::status_text(entry.status).into());
        note.retain(|part| !part.is_empty());
        PodiumRow {
            rank: place.rank.map_or(String::new(), |rank| rank.to_string()),
            medal: place.medal.to_string(),
            entry: visible(&entry.entry),
            note: visible(&note.join(", ")),
            link: contest.tool_path(place.entry, "html"),
            behind: match before.filter(|_| place.rank.is_some()) {
                None => String::new(),
                Some(before) if before.points == place.points => "tied".to_owned(),
                Some(before) => {
                    let distance = show::distance(&before.points, &place.points, decimals);
                    format!("{distance} behind rank {}", before.rank.unwrap_or_default())
                }
            },
            decided: decided(place.entry),
            points: show::decimal(&place.points, decimals),
            exact: place.points.to_string(),
            negative: place.points.is_negative(),
            bar: format!("{}.{}%", permille / 10, permille % 10),
        }
    };
    let (ranked, others): (Vec<_>, Vec<_>) = places.into_iter().partition(|place| place.rank.is_some());
    PodiumCard {
        category: visible(&podium.category),
        link: contest.podium_path(number),
        places: ranked
            .iter()
            .enumerate()
            .map(|(at, place)| view(place, at.checked_sub(1).map(|before| ranked[before])))
            .collect(),
        others: others.iter().map(|place| view(place, None)).collect(),
    }
}

fn awards(contest: &Contest) -> Vec<AwardCard> {
    let shown = |value: u64, unit: &str| match unit {
        "ms" => show::duration(value),
        "kib" | "KiB" => show::kib(value),
        _ => format!("{} {}", show::thousands(value), visible(unit)),
    };
    let awards = contest.judgement.awards.iter().filter(|award| !award.places.is_empty());
    let card = |award: &mcc_judge::judgement::Award| AwardCard {
        name: award.award.word().to_owned(),
        category: visible(&award.category),
        places: award
            .places
            .iter()
            .filter(|place| contest.entries.contains(&place.entry))
            .map(|place| {
                let name = visible(&contest.entry(place.entry).entry);
                (place.rank, name, shown(place.value, &place.unit), show::thousands(place.runs_compared))
            })
            .collect(),
    };
    awards.map(card).collect()
}

/// The points of the competing entries, best sum first, and of the others.
pub fn points(contest: &Contest) -> (Vec<PointsRow>, Vec<PointsRow>) {
    let judgement = contest.judgement;
    let mut by_cell = BTreeMap::new();
    for score in &judgement.scores {
        by_cell.insert((score.entry, score.examination), score);
    }
    let examinations = &contest.examinations;
    let decimals: Vec<u32> = (0..judgement.examinations.len())
        .map(|e| show::places(judgement.scores.iter().filter(|s| s.examination == e).map(|s| &s.normalized)))
        .collect();
    let competing = |entry: usize| contest.entry(entry).status == Status::Competing;
    let scores = |e: usize| judgement.scores.iter().filter(move |s| s.examination == e && competing(s.entry));
    let best: Vec<Option<&BigRational>> =
        (0..judgement.examinations.len()).map(|e| scores(e).map(|s| &s.normalized).max()).collect();
    let cell = |entry: usize, e: usize| match by_cell.get(&(entry, e)) {
        None => (String::new(), String::new(), ""),
        Some(score) if score.right + score.wrong + score.unjudged == 0 => {
            ("–".into(), "no value".into(), "quiet")
        }
        Some(score) => {
            let class = if score.normalized.is_negative() {
                "bad"
            } else if best[e] == Some(&score.normalized) && competing(entry) {
                "best"
            } else {
                ""
            };
            (show::decimal(&score.normalized, decimals[e]), score.normalized.to_string(), class)
        }
    };
    let row = |&entry: &usize| PointsRow {
        entry: visible(&contest.entry(entry).entry),
        link: contest.tool_path(entry, "html"),
        status: contest::status_text(contest.entry(entry).status),
        cells: examinations.iter().map(|&e| cell(entry, e)).collect(),
    };
    let (compete, others): (Vec<usize>, Vec<usize>) =
        contest.entries.iter().partition(|entry| competing(**entry));
    (compete.iter().map(row).collect(), others.iter().map(row).collect())
}

/// The best virtual tool, and the points with every value right.
fn bounds(contest: &Contest) -> Vec<(&'static str, Vec<(String, String)>)> {
    let shown = |points: &BigRational| (show::decimal(points, 0), points.to_string());
    let best = |&examination: &usize| {
        let best = contest.judgement.best_virtual.iter().find(|score| score.examination == examination);
        best.map_or_else(Default::default, |score| shown(&score.normalized))
    };
    let most = |&examination: &usize| shown(&contest.places.maximum(&[examination], None));
    let row = |cell: &dyn Fn(&usize) -> (String, String)| contest.examinations.iter().map(cell).collect();
    let mut bounds = vec![("Every value right", row(&most))];
    if !contest.judgement.best_virtual.is_empty() {
        bounds.insert(0, (contest::BEST_VIRTUAL, row(&best)));
    }
    bounds
}

/// The columns of the table of medals, and the ranks of each competing tool; most gold, then silver, then bronze first.
pub fn medals(contest: &Contest) -> (Vec<(String, String)>, Vec<MedalRow>) {
    let podiums: Vec<(usize, &Podium)> = contest.judged_podiums().collect();
    let columns =
        podiums.iter().map(|(number, podium)| (visible(&podium.category), contest.podium_path(*number)));
    let competing = contest.entries.iter().filter(|&&e| contest.entry(e).status == Status::Competing);
    let mut tools: Vec<(&str, usize)> = Vec::new();
    for &entry in competing {
        let tool = contest.entry(entry).tool.as_str();
        if tools.iter().all(|(known, _)| *known != tool) {
            tools.push((tool, entry));
        }
    }
    let mut rows: Vec<([usize; 3], usize, MedalRow)> = Vec::new();
    for (tool, entry) in tools {
        let place = |podium: &Podium| {
            let mut places = podium.places.iter().filter(|place| place.rank.is_some());
            let place = places.find(|place| contest.entry(place.entry).tool == tool)?;
            Some((place.rank?, place.medal.word()))
        };
        let places: Vec<Option<(u32, &'static str)>> =
            podiums.iter().map(|(_, podium)| place(podium)).collect();
        let count = |medal: &str| places.iter().flatten().filter(|(_, won)| *won == medal).count();
        let counts = ["gold", "silver", "bronze"].map(count);
        let ranks: usize = places.iter().flatten().map(|(rank, _)| *rank as usize).sum();
        let shown = |count: usize| if count == 0 { String::new() } else { count.to_string() };
        let row = MedalRow {
            tool: visible(tool),
            link: contest.tool_path(entry, "html"),
            counts: counts.map(shown),
            ranks: places
                .iter()
                .map(|place| place.map_or(("–".to_owned(), ""), |(rank, medal)| (rank.to_string(), medal)))
                .collect(),
        };
        rows.push((counts, ranks, row));
    }
    rows.sort_by(|(a, x, row), (b, y, other)| {
        b.cmp(a).then(x.cmp(y)).then_with(|| row.tool.cmp(&other.tool))
    });
    (columns.collect(), rows.into_iter().map(|(_, _, row)| row).collect())
}

fn confidence(contest: &Contest) -> Vec<ConfidenceRow> {
    let confidences = contest.judgement.confidence.iter();
    // A virtual entry repeats the values of others; answers of a withdrawn one are not judged.
    let is_shown = |entry: usize| {
        let status = contest.entry(entry).status;
        contest.entries.contains(&entry) && !matches!(status, Status::Virtual | Status::Withdrawn)
    };
    let mut shown: Vec<_> = confidences.filter(|c| is_shown(c.entry)).collect();
    shown.sort_by(|a, b| {
        b.confidence.cmp(&a.confidence).then(b.answered.cmp(&a.answered)).then(a.entry.cmp(&b.entry))
    });
    let row = |c: &mcc_judge::judgement::Confidence| ConfidenceRow {
        entry: visible(&contest.entry(c.entry).entry),
        status: contest::status_text(contest.entry(c.entry).status),
        trusted_alone: c.confidence >= contest.judgement.edition.judging.single_threshold,
        confidence: show::percent(&c.confidence),
        exact: c.confidence.to_string(),
        agreed: show::thousands(c.agreed),
        answered: show::thousands(c.answered),
    };
    shown.into_iter().map(row).collect()
}

fn facts(contest: &Contest, record: &RecordFacts) -> Vec<(&'static str, Vec<String>)> {
    let edition = &contest.judgement.edition;
    let (limits, machine) = (&edition.limits, &edition.machine);
    let cpu = show::cpu_limit(limits)
        .map_or("no CPU-time limit".into(), |(limit, cores)| format!("{limit} of CPU time {cores}"));
    let mut facts = Vec::new();
    if let Some(publication) = &contest.judgement.publication {
        if !publication.organizers.is_empty() {
            facts.push(("Organizers", publication.organizers.iter().map(|name| visible(name)).collect()));
        }
        facts.extend(publication.date.as_ref().map(|date| ("Date", vec![visible(date)])));
        let licence =
            publication.licence.map(|licence| format!("{} ({})", licence.spdx(), licence.address()));
        facts.extend(licence.map(|licence| ("Licence of the results", vec![licence])));
        facts.extend(publication.doi.as_ref().map(|doi| ("DOI", vec![visible(doi)])));
    }
    facts.extend([
        ("Edition", vec![format!("{} ({})", visible(&edition.title), visible(&edition.name))]),
        (
            "Machine required by the rules",
            vec![format!(
                "{}, {} of memory, {} vCPU for sequential tools, {} for concurrent tools",
                visible(&machine.cpu_model),
                show::kib(machine.memory_mib << 10),
                machine.sequential_cores,
                machine.concurrent_cores
            )],
        ),
        (
            "Limits of a run",
            vec![
                cpu,
                format!("{} of wall-clock time", show::duration(limits.wall_s * 1000)),
                format!("{} on each of stdout and stderr", show::bytes(limits.output_bytes)),
            ],
        ),
    ]);
    if record.runs() > 0 {
        let counted = |counts: &BTreeMap<String, u64>| -> Vec<String> {
            let runs = |count| show::counted(count, "run", "runs");
            counts.iter().map(|(what, &count)| format!("{what} ({})", runs(count))).collect()
        };
        facts.push((show::plural(record.hosts.len() as u64, "Host", "Hosts"), counted(&record.hosts)));
        if let Some(measured) = &record.measured {
            facts.push(("Measured host", measured_lines(measured)));
        }
        facts.push(("Accelerator of QEMU", counted(&record.accelerators)));
        facts.push(("QEMU", record.qemus.iter().cloned().collect()));
        let runs = record.runs() as u64;
        let repeated = record.attempts.values().sum::<usize>() as u64 - runs;
        let mut lines =
            vec![format!("{}, and {} repeated attempts", show::thousands(runs), show::thousands(repeated))];
        if record.without_machine > 0 {
            let used = show::thousands(runs - record.without_machine);
            let others = show::thousands(record.without_machine);
            lines.push(format!("{used} used a machine; {others} did not, because the entry did not compete"));
        }
        facts.push(("Runs", lines));
        if let Some((first, last)) = &record.started {
            facts.push((
                "First and last start",
                vec![format!("first: {}", visible(first)), format!("last: {}", visible(last))],
            ));
        }
    } else {
        let tables = !contest.judgement.is_of_record();
        let record = if tables { "none: tables of answers were judged" } else { "not given to `report`" };
        let why = if tables { "the judged tables do not name them" } else { "only the record names them" };
        facts.push(("Record", vec![format!("{record}; this site has no outputs")]));
        facts.push(("Hosts and disks", vec![format!("unknown: {why}")]));
    }
    facts
}

/// The verdict of a measured host, and its figures by workload.
fn measured_lines(measured: &MeasuredHost) -> Vec<String> {
    let MeasuredHost { host, measured_at, machines, vcpus, repetitions, figures, fit, .. } = measured;
    let verdict = if *fit { "fit" } else { "not fit" };
    let mut lines = vec![format!(
        "{}, {}: {verdict} for {} at once with {} each, by {repetitions} repetitions",
        visible(&host.name),
        visible(measured_at),
        show::counted(u64::from(*machines), "machine", "machines"),
        show::counted(u64::from(*vcpus), "vCPU", "vCPUs")
    )];
    let mut workloads: Vec<&String> = figures.iter().map(|figure| &figure.workload).collect();
    workloads.dedup();
    lines.extend(workloads.into_iter().map(|workload| {
        let shown = figures.iter().filter(|figure| figure.workload == *workload).map(|figure| {
            let note = if figure.fit || !figure.figure.decides() { "" } else { ", not fit" };
            format!("{figure}{note}")
        });
        format!("{}: {}", visible(workload), shown.collect::<Vec<_>>().join("; "))
    }));
    lines
}

fn disks(record: &RecordFacts) -> Vec<DiskRow> {
    let all: BTreeSet<&String> = record.disks.values().flatten().collect();
    let row = |((role, sha256, bytes), entries): (&(String, String, u64), &BTreeSet<String>)| DiskRow {
        role: visible(role),
        entries: if entries.len() == all.len() && all.len() > 1 {
            "all".into()
        } else {
            visible(&entries.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
        },
        sha256: visible(sha256),
        size: show::bytes(*bytes),
    };
    record.disks.iter().map(row).collect()
}
