//! What tools answer and what contests publish: outputs, tables, models, rules, result files.

use super::proof_input::switch;
use mcc_harness::benchkit::contest_table::Form;
use mcc_harness::benchkit::{Answers, JobFile, Questions, Reading, Value};
use mcc_harness::edition::{AnswerKind, Edition, Examination, OtherEdition, Rules};
use mcc_harness::judge::contest_table::{Cores, Layout, export};
use mcc_harness::judge::{RunResults, mcc, oracle, source, vector};
use mcc_harness::model::{Net, Nupn, Property, SymmetricNet, Total};
use mcc_harness::other_contests::{crv, svcomp};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// The output of a tool, read as each kind of examination: every position has an id, and every value can be read back.
pub fn answers(data: &[u8]) {
    for (answers, values) in
        [(AnswerKind::StateSpace, 4), (AnswerKind::Boolean, 16), (AnswerKind::Number, 16)]
    {
        let mut questions =
            Questions::as_printed(&Examination { name: "UpperBounds".to_owned(), answers, values });
        for published in [false, true] {
            let read = Answers::read(data, &questions, Reading { strict: false, published })
                .expect("reading from memory");
            assert_eq!(read.ids.len(), read.values.len());
            for value in read.values.iter().flatten() {
                assert_eq!(value.to_string().parse::<Value>().as_ref(), Ok(value));
            }
            // With the printed ids as questions, the same values are found.
            if answers != AnswerKind::StateSpace && read.ids.len() == values && !published {
                questions.ids = Some(read.ids.clone());
                let again = Answers::read(data, &questions, Reading::default()).expect("reading from memory");
                assert_eq!(again.values, read.values);
                questions.ids = None;
            }
        }
    }
}

/// A table of answers in either form: a table that is read can be judged, and its export has the same judgement.
pub fn table(data: &[u8]) {
    static RULES: OnceLock<Edition> = OnceLock::new();
    let rules = RULES.get_or_init(|| Edition::load("mcc-2018").expect("the edition of 2018"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("table.csv");
    std::fs::write(&path, data).expect("a file");
    let read = || source::read_answers(rules, &path);
    let Ok(results) = read() else { return };
    let Some(before) = decided(rules, results) else { return };
    let out = folder.path().join("export.csv");
    let Ok(results) = read() else { panic!("the same table is refused when read again") };
    let written = export(rules, results, &Cores::new(), Layout::Results(Form::Exact), &out);
    let written = written.expect("a judged table can be exported");
    let mut again = match source::read_answers(rules, &written.paths[0]) {
        Ok(results) => results,
        // The export of a table with resigned entries only has no row.
        Err(source::SourceError::Empty { .. }) => return,
        Err(error) => panic!("the export is refused: {error}"),
    };
    let models = source::read_models(rules, &mut again, &written.paths[1]);
    models.expect("the exported models are read");
    source::read_tools(&mut again, &written.paths[2]).expect("the exported tools are read");
    assert_eq!(decided(rules, again).expect("the export can be judged"), before);
}

/// The judgement as JSON without its inputs and notes, or None if it is refused.
fn decided(rules: &Edition, results: RunResults) -> Option<String> {
    let mut judgement = mcc::judge(rules, results).ok()?;
    judgement.inputs.clear();
    judgement.notes.clear();
    Some(serde_json::to_string(&judgement).expect("a judgement is plain data"))
}

/// A PNML model and its NUPN section.
pub fn pnml(data: &[u8]) {
    let net = Net::read(data, "model.pnml");
    let nupn = Nupn::read(data, "model.pnml", data.len());
    let coloured = SymmetricNet::read(data, "model.pnml");
    assert!(coloured.is_err() || net.is_ok(), "a coloured net has a graph");
    if let (Ok(net), Ok(Some(nupn))) = (net, nupn) {
        nupn.faults(&net);
    }
}

/// A property file.
pub fn properties(data: &[u8]) {
    let _ = Property::read_set(&String::from_utf8_lossy(data), "UpperBounds.xml");
}

/// An edition file: an edition that is read equals the one read from its JSON.
pub fn edition(data: &[u8]) {
    let Ok(edition) = Edition::parse(&String::from_utf8_lossy(data), "edition.toml") else { return };
    let json = serde_json::to_string(&edition).expect("an edition is plain data");
    assert_eq!(serde_json::from_str::<Edition>(&json).expect("its own JSON"), edition);
}

/// A job file: a file that is read equals the one read from its written form; a campaign is made of it or refused.
pub fn jobs(data: &[u8]) {
    let Ok(file) = JobFile::read(&String::from_utf8_lossy(data)) else { return };
    if let Ok(text) = file.write() {
        assert_eq!(JobFile::read(&text).expect("the written file is read"), file);
    }
    static RULES: OnceLock<Edition> = OnceLock::new();
    let rules = RULES.get_or_init(|| Edition::load("mcc-2018").expect("the edition of 2018"));
    let _ = mcc_harness::campaign::CampaignFromJobFile::new(&file, "mcc-2018", rules, Path::new("models"));
}

/// A result file of BenchExec.
pub fn benchexec(data: &[u8]) {
    static RULES: OnceLock<Rules> = OnceLock::new();
    other_contests(&RULES, "svcomp-2024", "result.xml", data);
}

/// A table of scores of SV-COMP.
pub fn scores(data: &[u8]) {
    static RULES: OnceLock<Rules> = OnceLock::new();
    other_contests(&RULES, "svcomp-2013", "scores.csv", data);
}

/// A table of measurements or totals of CRV.
pub fn measurements(data: &[u8]) {
    static RULES: OnceLock<Rules> = OnceLock::new();
    other_contests(&RULES, "crv-2014", "measurements.csv", data);
}

/// Reads and judges the data twice; both judgements must be equal.
fn other_contests(rules: &OnceLock<Rules>, edition: &str, name: &str, data: &[u8]) {
    let Rules::Other(rules) = rules.get_or_init(|| Rules::load(edition).expect("an edition of this build"))
    else {
        panic!("{edition} is no edition of SV-COMP or CRV")
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, data).expect("a file");
    let judged = || match &**rules {
        OtherEdition::Svcomp(rules) => svcomp::judge(rules, svcomp::read(rules, &path, None).ok()?).ok(),
        OtherEdition::Crv(rules) => crv::judge(rules, crv::read(rules, &path).ok()?).ok(),
    };
    let written = || judged().map(|judgement| serde_json::to_string(&judgement).expect("plain data"));
    assert_eq!(written(), written());
}

/// The output of a tool in each total examination, and the same bytes as its oracle file: values are read again from their text.
pub fn total(data: &[u8]) {
    static QUESTIONS: OnceLock<Vec<(&Total, Examination, Questions)>> = OnceLock::new();
    let known = QUESTIONS.get_or_init(|| {
        let questions = |total: &'static Total| {
            let answers = if total.is_number() { AnswerKind::Number } else { AnswerKind::Boolean };
            let examination = Examination { name: total.examination.to_owned(), answers, values: 0 };
            let questions = Questions::read(switch(), &examination).expect("its questions");
            (total, examination, questions)
        };
        Total::ALL.into_iter().map(questions).collect()
    });
    let folder = tempfile::tempdir().expect("a folder");
    for (total, examination, questions) in known {
        let ids = questions.ids.as_deref().expect("ids of a net");
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let read = Answers::read(data, questions, Reading::default()).expect("reading from memory");
        assert_eq!((read.ids.len(), read.values.len()), (ids.len(), ids.len()));
        for value in read.values.iter().flatten() {
            assert_eq!(value.to_string().parse::<Value>().as_ref(), Ok(value));
        }
        let oracle = |bytes: &[u8]| {
            let file = folder.path().join(format!("Switch-PT-1-{}.out", total.short));
            fs::write(file, bytes).expect("a file");
            oracle::read(folder.path(), "Switch-PT-1", examination, &ids)
        };
        let Ok(Some((values, _))) = oracle(data) else { continue };
        assert_eq!(values.len(), ids.len());
        let text = vector::text("Switch-PT-1", total, &values);
        let (again, bad) = oracle(text.as_bytes()).expect("its own text").expect("a file");
        assert!(bad.is_empty() && again == values, "{text}");
    }
}
