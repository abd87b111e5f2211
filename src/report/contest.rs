//! The judgement, indexed for pages: which parts are shown, the path of each page, and the numbers of names in data.

use super::plots;
use super::show::{self, visible};
use super::{ReportError, rule_links};
use mcc_base::Mark;
use mcc_base::names::{RunId, file_name, file_names};
use mcc_base::text::percent_encoded;
use mcc_campaign::EntryPublication;
use mcc_edition::Status;
use mcc_judge::explain;
use mcc_judge::judgement::{
    Block, Cell, Ending, Entry, Instance, Judgement, JudgementError, Podium, RunName, ValueVerdict,
};
use mcc_judge::places::{Places, Position};
use mcc_judge::show::ENDINGS;
pub use mcc_judge::show::{status_text, status_words};
use mcc_model::{Net, SymmetricNet};
use mcc_store::Record;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// Entry, instance and examination by number.
pub type RunKey = (usize, usize, usize);

/// Input of a site besides the judgement.
#[derive(Clone, Copy, Default)]
pub struct SiteInput<'a> {
    /// The folder of the judgement; its files are published with the site.
    pub judgement_dir: Option<&'a Path>,
    /// The record that was judged.
    pub record: Option<&'a Record>,
    /// The original names of the record's instances, by their obfuscated ones; None: they are not obfuscated.
    pub names: Option<&'a HashMap<String, String>>,
    /// Whether surprise models are under embargo: then the site does not name them (rule M-6).
    pub embargo: bool,
    /// Reads the model of an instance; None if it is not there, an error with the place of a mistake.
    pub models: Option<&'a ModelReader<'a>>,
    /// The folder of `certify` whose values were judged; adds its evidence.
    pub certified: Option<&'a Path>,
    /// The file name of the archive that the site is made from, and its SHA-256.
    pub archive: Option<(&'a str, &'a str)>,
}

/// Reads the model of the instance of this name.
pub type ModelReader<'a> = dyn Fn(&str) -> Result<Option<Model>, String> + Sync + 'a;

/// What pages show of the model of an instance.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The net; of a coloured one only the graph.
    pub net: Option<Net>,
    /// A coloured net with its sorts, for its picture; None: not coloured, or too large for a picture.
    pub coloured: Option<SymmetricNet>,
    /// Why the sorts of a coloured net could not be read. Its page then says so, and has no picture.
    pub unread_colours: Option<String>,
    /// The formulas of each examination, by position, as text.
    pub formulas: BTreeMap<String, Vec<String>>,
    /// The ids of the formulas in the same form.
    pub ids: BTreeMap<String, Vec<String>>,
}

/// A judgement with what pages look up in it.
pub struct Contest<'a> {
    pub judgement: &'a Judgement,
    /// The judgement with its record and further material.
    pub input: SiteInput<'a>,
    /// The entries that are shown: all but resigned ones (rule P-4).
    pub entries: Vec<usize>,
    /// The examinations with judged blocks.
    pub examinations: Vec<usize>,
    /// The instances that were judged and are shown, sorted by family.
    pub instances: Vec<usize>,
    /// The runs that the record has.
    pub recorded: BTreeSet<RunKey>,
    /// The names of instances in the record, by their original ones; None: they are the same.
    recorded_names: Option<HashMap<String, String>>,
    /// Recorded and planned runs of an unfinished campaign.
    pub unfinished: Option<(u64, u64)>,
    /// The pages that every page links to: path and name.
    pub pages: Vec<(&'static str, &'static str)>,
    /// The number of each instance in the judgement, by name.
    instance_of: HashMap<&'a str, usize>,
    /// By entry and by instance: its number in the data of pages; None if it is not shown.
    numbers: (Vec<Option<usize>>, Vec<Option<usize>>),
    /// The different sets of marks of runs, with their numbers in the data of pages.
    pub marks: BTreeMap<Vec<Mark>, usize>,
    blocks: HashMap<(usize, usize), &'a Block>,
    file_names: FileNames,
    /// Why entries have their places.
    pub places: Places<'a>,
    /// `sequential` or `concurrent` by entry; empty without a record.
    pub kinds: BTreeMap<String, &'static str>,
}

/// The file names of pages and data, by number.
struct FileNames {
    entries: Vec<String>,
    instances: Vec<String>,
    examinations: Vec<String>,
    podiums: Vec<String>,
}

impl<'a> Contest<'a> {
    pub fn new(judgement: &'a Judgement, material: SiteInput<'a>) -> Result<Self, ReportError> {
        judgement.check()?;
        let mut entries: Vec<usize> = (0..judgement.entries.len()).collect();
        entries.retain(|&entry| judgement.entries[entry].status != Status::Resigned);
        // Virtual entries are not tools: they are last.
        entries.sort_by_key(|&entry| judgement.entries[entry].status == Status::Virtual);
        let blocks: HashMap<_, _> =
            judgement.blocks.iter().map(|block| ((block.examination, block.instance), block)).collect();
        let examinations: BTreeSet<usize> = judgement.blocks.iter().map(|block| block.examination).collect();
        let mut judged: BTreeSet<usize> = judgement.blocks.iter().map(|block| block.instance).collect();
        let dropped = judgement.unresolved.iter().chain(&judgement.excluded);
        let named = judgement.instances.iter().enumerate();
        let instance_of: HashMap<&str, usize> =
            named.map(|(at, instance)| (instance.instance.as_str(), at)).collect();
        judged.extend(dropped.filter_map(|run| instance_of.get(run.instance.as_str())));
        let hidden = |&i: &usize| material.embargo && judgement.instances[i].status == "surprise";
        let mut instances: Vec<usize> = judged.into_iter().filter(|i| !hidden(i)).collect();
        instances.sort_by_key(|&i| (&judgement.instances[i].family, i));
        let mut marks: BTreeMap<Vec<Mark>, usize> = BTreeMap::new();
        for cell in judgement.blocks.iter().flat_map(|block| &block.cells) {
            if !marks.contains_key(&cell.marks) {
                marks.insert(cell.marks.clone(), 0);
            }
        }
        marks.insert(Vec::new(), 0);
        marks.values_mut().enumerate().for_each(|(number, mark)| *mark = number);
        let files = FileNames {
            entries: file_names(judgement.entries.iter().map(|entry| entry.entry.as_str())),
            instances: file_names(judgement.instances.iter().map(|instance| instance.instance.as_str())),
            examinations: file_names(judgement.examinations.iter().map(String::as_str)),
            podiums: file_names(judgement.podiums.iter().map(|podium| podium.category.as_str())),
        };
        let numbered = |shown: &[usize], all: usize| {
            let mut numbers = vec![None; all];
            shown.iter().enumerate().for_each(|(number, &at)| numbers[at] = Some(number));
            numbers
        };
        let numbers =
            (numbered(&entries, judgement.entries.len()), numbered(&instances, judgement.instances.len()));
        let stated = |cell: &Cell| cell.techniques.iter().any(|words| !words.is_empty());
        let techniques = judgement.blocks.iter().any(|block| block.cells.iter().any(stated));
        // Then the site has the comparison of two entries (`compare::write`).
        let measured = |cell: &Cell| cell.cost.is_some() && plots::shown(&judgement.entries[cell.entry]);
        let mut pages = vec![
            ("results.html", "Print and cite"),
            ("pictures.html", "Pictures"),
            ("instances.html", "Instances"),
            ("evidence.html", "Evidence"),
        ];
        if judgement.blocks.iter().any(|block| block.cells.iter().any(measured)) {
            pages.push(("compare.html", "Compare"));
        }
        pages.push(("runs.html", "Marked runs"));
        if techniques {
            pages.push(("techniques.html", "Techniques"));
        }
        pages.push((rule_links::PATH, "Rules"));
        let examinations = examinations.into_iter().collect();
        let (recorded, unfinished) = Default::default();
        let obfuscated = material.record.zip(material.names);
        let recorded_names = obfuscated.map(|(record, names)| names_in_record(record, names)).transpose()?;
        let mut contest = Self {
            judgement,
            input: material,
            entries,
            examinations,
            instances,
            recorded,
            recorded_names,
            unfinished,
            pages,
            instance_of,
            numbers,
            marks,
            blocks,
            file_names: files,
            places: Places::from_judgement(judgement),
            kinds: BTreeMap::new(),
        };
        if let Some(record) = material.record {
            let entries = record.facts().entries.iter();
            contest.kinds = entries.map(|entry| (entry.entry.to_string(), entry.kind.word())).collect();
            contest.find_recorded(record)?;
            let summary = record.summary()?;
            contest.unfinished =
                (summary.recorded < summary.planned).then_some((summary.recorded, summary.planned));
        }
        Ok(contest)
    }

    /// Finds the runs of the judgement that are in the record. A judged run is in it; a run that counts as an
    /// infrastructure failure may never have been started.
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
            let Some(run) = self.recorded_run(key) else { continue };
            if !record.attempts_if_planned(&run)?.is_empty() {
                self.recorded.insert(key);
            }
        }
        Ok(())
    }

    /// The numbers of a run; None if the judgement does not have it or its entry is not shown.
    pub fn key(&self, run: &RunName) -> Option<RunKey> {
        let judgement = self.judgement;
        let entry = judgement.entries.iter().position(|entry| entry.entry == run.entry)?;
        let instance = *self.instance_of.get(run.instance.as_str())?;
        let examination = judgement.examinations.iter().position(|name| *name == run.examination)?;
        self.entries.contains(&entry).then_some((entry, instance, examination))
    }

    pub fn block(&self, examination: usize, instance: usize) -> Option<&'a Block> {
        self.blocks.get(&(examination, instance)).copied()
    }

    pub fn entry(&self, entry: usize) -> &'a Entry {
        &self.judgement.entries[entry]
    }

    /// `entry/instance/examination`, as the judgement names it.
    pub fn run_name(&self, (entry, instance, examination): RunKey) -> String {
        let judgement = self.judgement;
        let (entry, instance) = (&judgement.entries[entry].entry, &judgement.instances[instance].instance);
        format!("{entry}/{instance}/{}", judgement.examinations[examination])
    }

    /// The run as the record names it; None if no record can have it: its names are not valid parts of a path, or the
    /// record has no such instance.
    pub fn recorded_run(&self, (entry, instance, examination): RunKey) -> Option<RunId> {
        let judgement = self.judgement;
        let mut name = &judgement.instances[instance].instance;
        if let Some(names) = &self.recorded_names {
            name = names.get(name)?;
        }
        let (entry, examination) = (&judgement.entries[entry].entry, &judgement.examinations[examination]);
        format!("{entry}/{name}/{examination}").parse().ok()
    }

    /// The common beginning of the paths of a run's raw outputs in the site.
    pub fn run_path(&self, (entry, instance, examination): RunKey) -> String {
        let FileNames { entries, instances, examinations, .. } = &self.file_names;
        format!("runs/{}/{}/{}", entries[entry], instances[instance], examinations[examination])
    }

    /// The path of the page of an examination; with another file name ending, of its data.
    pub fn table_path(&self, examination: usize, ending: &str) -> String {
        format!("examinations/{}.{ending}", self.file_names.examinations[examination])
    }

    pub fn tool_path(&self, entry: usize, ending: &str) -> String {
        format!("tools/{}.{ending}", self.file_names.entries[entry])
    }

    /// The shown entries that are not `among` those of a table, joined by commas.
    pub fn left_out(&self, among: impl Iterator<Item = usize>) -> String {
        let among: BTreeSet<usize> = among.collect();
        let left_out = self.entries.iter().filter(|entry| !among.contains(entry));
        left_out.map(|&entry| visible(&self.entry(entry).entry)).collect::<Vec<_>>().join(", ")
    }

    pub fn podium_path(&self, podium: usize) -> String {
        format!("podiums/{}.html", self.file_names.podiums[podium])
    }

    pub fn instance_path(&self, instance: usize) -> String {
        format!("instances/{}.js", self.file_names.instances[instance])
    }

    /// The beginning of the paths of the picture of an instance's net.
    pub fn net_name(&self, instance: usize) -> String {
        format!("{}.net", self.file_names.instances[instance])
    }

    /// The path of a file of evidence in the site.
    pub fn evidence_path(&self, instance: usize, file: &str) -> String {
        let name = file.rsplit('/').next().unwrap_or_default();
        format!("evidence/{}/{}", self.file_names.instances[instance], file_name(name))
    }

    /// The link to the run on the page of its instance.
    pub fn run_link(&self, key: RunKey) -> String {
        let (entry, instance, examination) = key;
        format!("{}&entry={}", self.block_link(instance, examination), in_fragment(&self.entry(entry).entry))
    }

    fn block_link(&self, instance: usize, examination: usize) -> String {
        let judgement = self.judgement;
        let [instance, examination] =
            [&judgement.instances[instance].instance, &judgement.examinations[examination]]
                .map(|name| in_fragment(name));
        format!("instance.html#instance={instance}&examination={examination}")
    }

    /// Authors, affiliation, link and licence of an entry, as far as the campaign states them.
    pub fn entry_publication(&self, entry: usize) -> EntryPublication {
        let publication = self.judgement.publication.as_ref();
        let stated = publication.and_then(|stated| stated.entries.get(self.entry(entry).entry.as_str()));
        stated.cloned().unwrap_or_default()
    }

    /// The names of the positions of an examination, if they are metrics and not numbered properties.
    pub fn position_names(&self, examination: usize) -> Option<[&'static str; 4]> {
        explain::position_names(self.judgement, examination)
    }

    /// The name of a position: that of its metric, otherwise its number with two digits.
    pub fn position_name(&self, examination: usize, position: usize) -> String {
        let metric = self.position_names(examination).and_then(|metrics| metrics.get(position).copied());
        metric.map_or_else(|| format!("{position:02}"), str::to_owned)
    }

    /// Link and name of a value; None if its instance is not shown.
    pub fn value_link(&self, value: Position) -> Option<(String, String)> {
        self.instance_number(value.instance)?;
        let judgement = self.judgement;
        let (instance, examination) =
            (&judgement.instances[value.instance].instance, &judgement.examinations[value.examination]);
        let link =
            format!("{}&position={:02}", self.block_link(value.instance, value.examination), value.position);
        let position = self.position_name(value.examination, value.position);
        Some((link, visible(&format!("{instance} {examination} {position}"))))
    }

    /// The number of an entry in the data of pages; None if it is not shown.
    pub fn entry_number(&self, entry: usize) -> Option<usize> {
        self.numbers.0[entry]
    }

    /// The number of an instance in the data of pages; None if it is not shown.
    pub fn instance_number(&self, instance: usize) -> Option<usize> {
        self.numbers.1[instance]
    }

    /// `entry_number` of an entry that must be shown.
    ///
    /// # Errors
    /// The entry is not shown.
    pub fn shown_entry(&self, entry: usize) -> Result<usize, JudgementError> {
        let hidden = || {
            JudgementError::Broken(format!("a page is about {}, which is hidden", self.entry(entry).entry))
        };
        self.entry_number(entry).ok_or_else(hidden)
    }

    /// `instance_number` of an instance that must be shown.
    ///
    /// # Errors
    /// The instance is not shown.
    pub fn shown_instance(&self, instance: usize) -> Result<usize, JudgementError> {
        let name = || &self.judgement.instances[instance].instance;
        let hidden = || JudgementError::Broken(format!("a page is about {}, which is hidden", name()));
        self.instance_number(instance).ok_or_else(hidden)
    }

    pub fn instance_file(&self, instance: usize) -> &str {
        &self.file_names.instances[instance]
    }

    /// The blocks that are shown, in the order of the judgement.
    pub fn shown_blocks(&self) -> impl Iterator<Item = &'a Block> {
        self.judgement.blocks.iter().filter(|block| self.instance_number(block.instance).is_some())
    }

    /// The statuses of the models, such as `known` and `surprise`; empty if there is only one.
    pub fn statuses(&self) -> Vec<&'a str> {
        Some(self.places.statuses()).filter(|statuses| statuses.len() > 1).unwrap_or_default()
    }

    /// The judged podiums, each with its number.
    pub fn judged_podiums(&self) -> impl Iterator<Item = (usize, &'a Podium)> {
        self.judgement.podiums.iter().enumerate().filter(|(_, podium)| self.was_judged(podium))
    }

    /// Whether any examination of the category was judged.
    pub fn was_judged(&self, podium: &Podium) -> bool {
        let judgement = self.judgement;
        let rule = judgement.edition.podiums.iter().find(|rule| rule.category == podium.category);
        rule.is_none_or(|rule| {
            let held = |name: &String| self.examinations.iter().any(|&e| judgement.examinations[e] == *name);
            rule.examinations.iter().any(held)
        })
    }

    /// The organizers' reason to exclude examinations with infrastructure failures; empty if there is none.
    pub fn excluded_reason(&self) -> String {
        visible(self.judgement.edition.judging.infrastructure_reason.as_deref().unwrap_or_default())
    }

    /// How many instances the embargo hides.
    pub fn hidden(&self) -> usize {
        self.judgement.instances.iter().filter(|instance| self.is_hidden(instance)).count()
    }

    /// Whether the embargo hides the instance (rule M-6).
    pub fn is_hidden(&self, instance: &Instance) -> bool {
        self.input.embargo && instance.status == "surprise"
    }

    /// Whether a text names a model that the embargo hides.
    pub fn names_hidden(&self, text: &str) -> bool {
        let mut hidden = self.judgement.instances.iter().filter(|instance| self.is_hidden(instance));
        hidden.any(|instance| text.contains(&instance.family) || text.contains(&instance.instance))
    }

    /// Whether the run may be named: its entry has not resigned (P-4) and its model is not under embargo (M-6).
    pub fn is_shown(&self, run: &RunName) -> bool {
        let instance = self.instance_of.get(run.instance.as_str());
        let hidden = instance.is_some_and(|at| self.is_hidden(&self.judgement.instances[*at]));
        !hidden && !self.is_resigned(run)
    }

    /// Whether the run belongs to a resigned entry (rule P-4).
    pub fn is_resigned(&self, run: &RunName) -> bool {
        let entries = &self.judgement.entries;
        entries.iter().any(|entry| entry.entry == run.entry && entry.status == Status::Resigned)
    }

    /// The title of the campaign; else that of the edition.
    pub fn title(&self) -> String {
        let campaign =
            self.judgement.publication.as_ref().and_then(|publication| publication.title.as_deref());
        visible(campaign.unwrap_or(&self.judgement.edition.title))
    }

    pub fn frame(&self, title: String, root: &'static str) -> Frame {
        Frame {
            title,
            contest: self.title(),
            root,
            version: visible(&self.judgement.version),
            unresolved: self.judgement.unresolved.iter().filter(|run| !self.is_resigned(run)).count(),
            unfinished: self
                .unfinished
                .map(|(recorded, planned)| (show::thousands(recorded), show::thousands(planned))),
            hidden: self.hidden(),
            has_tables: self.input.judgement_dir.is_some(),
            pages: self.pages.clone(),
        }
    }
}

/// The names of the instances in a record by their original ones, of which `names` has those that differ.
fn names_in_record(
    record: &Record,
    names: &HashMap<String, String>,
) -> Result<HashMap<String, String>, ReportError> {
    let mut recorded: HashMap<String, String> = HashMap::new();
    for instance in &record.facts().instances {
        let name = instance.name.as_str();
        let original = names.get(name).map_or(name, String::as_str);
        if let Some(other) = recorded.insert(original.to_owned(), name.to_owned()) {
            return Err(ReportError::Refused(format!(
                "the instances {other} and {name} of the record {} have the same original name {original}; give --record the \
                 record that was judged",
                record.dir().display()
            )));
        }
    }
    Ok(recorded)
}

/// Title, navigation and banners that every page has.
#[derive(Default)]
pub struct Frame {
    pub title: String,
    pub contest: String,
    /// The relative path from the page to the top of the site: empty, `../`, ...
    pub root: &'static str,
    pub version: String,
    /// Unresolved runs; if there are any, the judgement is provisional.
    pub unresolved: usize,
    /// Recorded and planned runs of an unfinished campaign.
    pub unfinished: Option<(String, String)>,
    /// Instances that the embargo hides.
    pub hidden: usize,
    /// Whether the site has the tables of the judgement, which have the exact points.
    pub has_tables: bool,
    /// The links in the head of the page: path and name.
    pub pages: Vec<(&'static str, &'static str)>,
}

impl Frame {
    /// The frame of a page at the top of a site, without banners and links.
    pub fn top(title: &str, contest: String, version: &str) -> Self {
        Self { title: title.to_owned(), contest, version: version.to_owned(), ..Self::default() }
    }
}

/// The numbers of right, wrong, and given but unjudged values of a cell, and of all positions.
#[derive(Clone, Copy, Default)]
pub struct CellCounts {
    pub right: usize,
    pub wrong: usize,
    pub unjudged: usize,
    pub all: usize,
}

impl CellCounts {
    pub fn count(block: &Block, cell: &Cell) -> Self {
        let count = |verdict| cell.verdicts.count(verdict) as usize;
        let (right, wrong) = (count(ValueVerdict::Right), count(ValueVerdict::Wrong));
        Self { right, wrong, unjudged: count(ValueVerdict::Unjudged), all: block.trusted.len() }
    }
}

/// The number of an ending in the data of pages.
pub fn ending_number(ending: Ending) -> usize {
    ENDINGS.iter().position(|(known, ..)| *known == ending).expect("ENDINGS has every ending")
}

/// What the status of an entry that does not compete means; empty for a status that says it itself.
pub fn status_meaning(status: Status) -> &'static str {
    match status {
        Status::VotingOnly => {
            "Its values count in the votes on trusted values; it has no rank and no medal (E-3.1). The contest \
             runs the gold tools of the year before in this way."
        }
        Status::Virtual => {
            "The contest joined results of several tools in it (BVT: best virtual tool). It does not vote and has \
             no rank."
        }
        Status::OutOfCompetition => "It is judged, but does not vote and has no rank (T-2).",
        Status::Competing | Status::Withdrawn | Status::Resigned => "",
    }
}

/// The name of the computed best virtual tool. The table of a contest can have a virtual entry of its own, such as BVT.
pub const BEST_VIRTUAL: &str = "Best virtual tool (computed here)";

/// A name as the value of a key in the fragment of a URL, percent-encoded.
pub fn in_fragment(name: &str) -> String {
    percent_encoded(name.as_bytes(), b"-_.")
}
