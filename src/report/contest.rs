//! The judgement, indexed for pages: which runs have a page, where each page lies, what a cell says.

use super::ReportError;
use super::show::visible;
use super::site::segment;
use crate::edition::Status;
use crate::judge::judgement::{Block, Cell, Ending, Entry, Judgement, RunName};
use crate::store::{Record, StoreError};
use std::collections::{BTreeSet, HashMap};

/// Entry, instance and examination by number.
pub type RunKey = (usize, usize, usize);

/// A page of a table grows to about this many bytes before the next one begins.
const PAGE_BYTES: usize = 1_400_000;

pub struct Contest<'a> {
    pub judgement: &'a Judgement,
    /// The entries that are shown: a resigned one vanishes (rule P-4).
    pub entries: Vec<usize>,
    /// The examinations that anything was judged in.
    pub examinations: Vec<usize>,
    /// The runs with a page.
    pub recorded: BTreeSet<RunKey>,
    /// By examination, then page: the instances in it, families together.
    pub pages: Vec<Vec<Vec<usize>>>,
    blocks: HashMap<(usize, usize), &'a Block>,
    segments: Segments,
}

struct Segments {
    entries: Vec<String>,
    instances: Vec<String>,
    examinations: Vec<String>,
}

impl<'a> Contest<'a> {
    pub fn new(judgement: &'a Judgement, record: Option<&Record>) -> Result<Self, ReportError> {
        judgement.check()?;
        let mut entries: Vec<usize> = (0..judgement.entries.len()).collect();
        entries.retain(|&entry| judgement.entries[entry].status != Status::Resigned);
        let blocks: HashMap<_, _> =
            judgement.blocks.iter().map(|block| ((block.examination, block.instance), block)).collect();
        let examinations: BTreeSet<usize> = judgement.blocks.iter().map(|block| block.examination).collect();
        let examinations = examinations.into_iter().collect();
        let segments = Segments {
            entries: judgement.entries.iter().map(|entry| segment(&entry.entry)).collect(),
            instances: judgement.instances.iter().map(|instance| segment(&instance.instance)).collect(),
            examinations: judgement.examinations.iter().map(|name| segment(name)).collect(),
        };
        let (recorded, pages) = Default::default();
        let mut contest = Self { judgement, entries, examinations, recorded, pages, blocks, segments };
        if let Some(record) = record {
            contest.find_recorded(record)?;
        }
        contest.pages = (0..judgement.examinations.len()).map(|e| contest.paginate(e)).collect();
        Ok(contest)
    }

    /// Every judged run is in the record. Infrastructure need not be: a run may never have been started.
    fn find_recorded(&mut self, record: &Record) -> Result<(), ReportError> {
        let judgement = self.judgement;
        let mut doubtful = BTreeSet::new();
        for block in &judgement.blocks {
            for cell in block.cells.iter().filter(|cell| self.entries.contains(&cell.entry)) {
                let key = (cell.entry, block.instance, block.examination);
                let known = cell.ending != Ending::Infrastructure;
                if known { &mut self.recorded } else { &mut doubtful }.insert(key);
            }
        }
        doubtful
            .extend(judgement.unresolved.iter().chain(&judgement.excluded).filter_map(|run| self.key(run)));
        for key in doubtful {
            match record.attempts(&self.run_name(key)) {
                Ok(attempts) if attempts.is_empty() => {}
                Err(StoreError::UnknownRun { .. }) => {}
                attempts => {
                    attempts?;
                    self.recorded.insert(key);
                }
            }
        }
        Ok(())
    }

    pub fn key(&self, run: &RunName) -> Option<RunKey> {
        let judgement = self.judgement;
        let entry = judgement.entries.iter().position(|entry| entry.entry == run.entry)?;
        let instance = judgement.instances.iter().position(|i| i.instance == run.instance)?;
        let examination = judgement.examinations.iter().position(|name| *name == run.examination)?;
        self.entries.contains(&entry).then_some((entry, instance, examination))
    }

    /// Splits an examination's instances into pages at the borders of families.
    fn paginate(&self, examination: usize) -> Vec<Vec<usize>> {
        let instances = &self.judgement.instances;
        let mut shown: Vec<usize> =
            (0..instances.len()).filter(|&i| self.blocks.contains_key(&(examination, i))).collect();
        shown.sort_by_key(|&i| (&instances[i].family, i));
        let mut pages = Vec::new();
        let (mut page, mut bytes) = (Vec::new(), 0);
        for family in shown.chunk_by(|&a, &b| instances[a].family == instances[b].family) {
            let family_bytes: usize = family.iter().map(|&i| self.row_bytes(examination, i)).sum();
            if bytes + family_bytes > PAGE_BYTES && !page.is_empty() {
                pages.push(std::mem::take(&mut page));
                bytes = 0;
            }
            page.extend_from_slice(family);
            bytes += family_bytes;
        }
        pages.push(page);
        pages
    }

    /// About how long a row of the table is in HTML.
    fn row_bytes(&self, examination: usize, instance: usize) -> usize {
        let segments = &self.segments;
        let names = segments.instances[instance].len() + segments.examinations[examination].len();
        let cell = |&entry: &usize| {
            let linked = self.recorded.contains(&(entry, instance, examination));
            60 + if linked { 40 + names + segments.entries[entry].len() } else { 0 }
        };
        150 + 3 * segments.instances[instance].len() + self.entries.iter().map(cell).sum::<usize>()
    }

    pub fn block(&self, examination: usize, instance: usize) -> Option<&'a Block> {
        self.blocks.get(&(examination, instance)).copied()
    }

    pub fn entry(&self, entry: usize) -> &'a Entry {
        &self.judgement.entries[entry]
    }

    /// `entry/instance/examination`, as the record names it.
    pub fn run_name(&self, (entry, instance, examination): RunKey) -> String {
        let judgement = self.judgement;
        let (entry, instance) = (&judgement.entries[entry].entry, &judgement.instances[instance].instance);
        format!("{entry}/{instance}/{}", judgement.examinations[examination])
    }

    /// The path of a run's page in the site, without `.html`.
    pub fn run_path(&self, (entry, instance, examination): RunKey) -> String {
        let Segments { entries, instances, examinations } = &self.segments;
        format!("runs/{}/{}/{}", entries[entry], instances[instance], examinations[examination])
    }

    /// The path of a page of an examination's table in the site.
    pub fn table_path(&self, examination: usize, page: usize) -> String {
        let name = &self.segments.examinations[examination];
        match page {
            0 => format!("examinations/{name}.html"),
            // No segment has a `p` after its `~`: no other examination can have this name.
            _ => format!("examinations/{name}~p{}.html", page + 1),
        }
    }

    /// Where an instance's row is in an examination's table.
    pub fn row_path(&self, examination: usize, instance: usize) -> String {
        let page = self.pages[examination].iter().position(|page| page.contains(&instance)).unwrap_or(0);
        format!("{}#{}", self.table_path(examination, page), self.segments.instances[instance])
    }

    pub fn row_anchor(&self, instance: usize) -> &str {
        &self.segments.instances[instance]
    }

    /// Whether the run belongs to an entry that vanished (rule P-4).
    pub fn is_resigned(&self, run: &RunName) -> bool {
        let entries = &self.judgement.entries;
        entries.iter().any(|entry| entry.entry == run.entry && entry.status == Status::Resigned)
    }

    pub fn frame(&self, title: String, root: &'static str) -> Frame {
        Frame {
            title,
            contest: visible(&self.judgement.edition.title),
            root,
            version: visible(&self.judgement.version),
            unresolved: self.judgement.unresolved.iter().filter(|run| !self.is_resigned(run)).count(),
        }
    }
}

/// What every page shows around its own content.
pub struct Frame {
    pub title: String,
    pub contest: String,
    /// The way from the page to the top of the site: empty, `../`, ...
    pub root: &'static str,
    pub version: String,
    /// Runs that still count as infrastructure: not 0 = provisional.
    pub unresolved: usize,
}

/// How many values of a cell are right, wrong, given but unjudged; `all` is how many there are.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    pub right: usize,
    pub wrong: usize,
    pub unjudged: usize,
    pub all: usize,
}

impl Tally {
    pub fn of(block: &Block, cell: &Cell) -> Self {
        let count = |letter| cell.verdicts.bytes().filter(|&verdict| verdict == letter).count();
        Self { right: count(b'+'), wrong: count(b'-'), unjudged: count(b'?'), all: block.trusted.len() }
    }

    pub fn given(self) -> usize {
        self.right + self.wrong + self.unjudged
    }

    /// `✓12 ✗2 ?1 CPU`: never told by colour alone.
    pub fn text(self, cell: &Cell) -> String {
        let mut text = String::new();
        for (sign, count) in [("✓", self.right), ("✗", self.wrong), ("?", self.unjudged)] {
            if count > 0 {
                let space = if text.is_empty() { "" } else { " " };
                text.push_str(space);
                text.push_str(sign);
                // One value in all needs no number.
                if self.all > 1 {
                    text.push_str(&count.to_string());
                }
            }
        }
        let code = code(cell.ending);
        if text.is_empty() {
            text = if code.is_empty() { "–".into() } else { code.into() };
        } else if !code.is_empty() {
            text = format!("{text} {code}");
        }
        if !cell.marks.is_empty() {
            text.push('°');
        }
        text
    }
}

/// All endings, in the order of the legend (P6: they stay apart everywhere).
pub const ENDINGS: [Ending; 11] = [
    Ending::Answered,
    Ending::DidNotCompete,
    Ending::CannotCompute,
    Ending::NoAnswer,
    Ending::CpuLimit,
    Ending::WallLimit,
    Ending::MemoryLimit,
    Ending::OutputLimit,
    Ending::ToolCrash,
    Ending::Infrastructure,
    Ending::Unsaid,
];

/// What a cell of a table says of an ending.
pub fn code(ending: Ending) -> &'static str {
    match ending {
        Ending::Answered | Ending::Unsaid => "",
        Ending::DidNotCompete => "DNC",
        Ending::CannotCompute => "CC",
        Ending::NoAnswer => "NONE",
        Ending::CpuLimit => "CPU",
        Ending::WallLimit => "WALL",
        Ending::MemoryLimit => "MEM",
        Ending::OutputLimit => "OUT",
        Ending::ToolCrash => "CRASH",
        Ending::Infrastructure => "INFRA",
    }
}

pub fn words(ending: Ending) -> &'static str {
    match ending {
        Ending::Answered => "answered",
        Ending::DidNotCompete => "did not compete",
        Ending::CannotCompute => "cannot compute",
        Ending::NoAnswer => "no well-formed answer",
        Ending::CpuLimit => "cut by the CPU-time limit",
        Ending::WallLimit => "cut by the wall-clock limit",
        Ending::MemoryLimit => "killed for memory",
        Ending::OutputLimit => "cut by the output limit",
        Ending::ToolCrash => "tool crashed",
        Ending::Infrastructure => "infrastructure: not the tool's, never scored",
        Ending::Unsaid => "the table judged does not say",
    }
}

pub fn status_words(status: Status) -> &'static str {
    match status {
        Status::Competing => "",
        Status::Virtual => "virtual",
        Status::OutOfCompetition => "out of competition",
        Status::Withdrawn => "withdrawn",
        Status::Resigned => "resigned",
    }
}
