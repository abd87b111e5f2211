//! Reading of the outputs of tools.

use crate::support::data;

use mcc_harness::benchkit::{Answers, Declaration, Questions, Reading, Repeat, Value};
use mcc_harness::edition::{AnswerKind, Examination};
use mcc_harness::model::{Archive, Severity};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn examination(name: &str) -> Examination {
    let (answers, values) = match name {
        "StateSpace" => (AnswerKind::StateSpace, 4),
        "UpperBounds" => (AnswerKind::Number, 16),
        "ReachabilityDeadlock"
        | "GlobalProperties"
        | "QuasiLiveness"
        | "StableMarking"
        | "Liveness"
        | "OneSafe" => (AnswerKind::Boolean, 1),
        _ => (AnswerKind::Boolean, 16),
    };
    Examination { name: name.to_owned(), answers, values }
}

fn questions(name: &str, ids: &[&str]) -> Questions {
    let mut questions = Questions::as_printed(&examination(name));
    if name != "StateSpace" {
        questions.ids = Some(ids.iter().map(std::string::ToString::to_string).collect());
    }
    questions
}

fn read_as(output: &[u8], questions: &Questions, reading: Reading) -> Answers {
    Answers::read(output, questions, reading).unwrap()
}

fn ctl(output: &str) -> Answers {
    read_as(output.as_bytes(), &questions("CTLCardinality", &["x-00", "x-01"]), Reading::default())
}

fn text(answers: &Answers) -> String {
    let shown = |value: &Option<Value>| value.as_ref().map_or("?".to_owned(), Value::to_string);
    answers.values.iter().map(shown).collect::<Vec<_>>().join(" ")
}

fn anomalies(answers: &Answers) -> Vec<String> {
    answers.anomalies.iter().map(|a| format!("{}: {}", a.line, a)).collect()
}

#[test]
fn results_are_found_among_noise_with_their_techniques() {
    let answers = ctl("hello\nFORMULA x-01 FALSE TECHNIQUES EXPLICIT  SAT_SMT \n\
                       [INFO] 12:00:FORMULA x-00  TRUE\tTECHNIQUES A1\r\nbye");
    assert_eq!(text(&answers), "T F");
    assert_eq!(answers.techniques, [vec!["A1"], vec!["EXPLICIT", "SAT_SMT"]]);
    assert_eq!(answers.lines, [Some(3), Some(2)]);
    assert_eq!(anomalies(&answers), [""; 0]);
    assert_eq!(answers.declared, None);
}

#[test]
fn long_numbers_are_exact_and_bounds_can_be_infinite() {
    let long = "7".repeat(1000);
    let q = questions("UpperBounds", &["a", "b", "c", "d"]);
    let output = format!(
        "FORMULA a {long} TECHNIQUES X\nFORMULA b inf TECHNIQUES X\nFORMULA c +inf TECHNIQUES X\n\
         FORMULA d 007 TECHNIQUES X"
    );
    assert_eq!(text(&read_as(output.as_bytes(), &q, Reading::default())), format!("{long} inf inf 7"));
    let answers =
        read_as(b"FORMULA a 1.5 TECHNIQUES X\nFORMULA b 2.0000E+0009 TECHNIQUES X", &q, Reading::default());
    assert_eq!(text(&answers), "? ? ? ?", "a tool's answer is never a rounded number");
    assert_eq!(answers.anomalies.len(), 2);
}

#[test]
fn state_space_has_its_own_lines_and_minus_one_is_not_given() {
    let q = questions("StateSpace", &[]);
    let answers = read_as(
        b"STATE_SPACE STATES  166 TECHNIQUES A\nSTATE_SPACE MAX_TOKEN_PER_MARKING 6 TECHNIQUES A\n\
          STATE_SPACE TRANSITIONS -1 TECHNIQUES A\n",
        &q,
        Reading::default(),
    );
    assert_eq!(answers.ids, ["STATES", "TRANSITIONS", "MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING"]);
    assert_eq!(text(&answers), "166 ? ? 6");
    assert_eq!(answers.cannot_compute, [false, true, false, false]);
    assert_eq!(anomalies(&answers), [""; 0], "the protocol has -1 for a metric that is not given");

    let answers = read_as(b"STATE_SPACE STATES -1 TECHNIQUES A", &q, Reading::default());
    assert_eq!(answers.declared, Some(Declaration::CannotCompute));
    assert!(anomalies(&answers)[0].contains("STATES is mandatory"));
    let answers =
        read_as(b"FORMULA x TRUE TECHNIQUES A\nSTATE_SPACE EDGES 3 TECHNIQUES A", &q, Reading::default());
    assert!(answers.is_empty());
    assert!(anomalies(&answers)[1].contains("the examination has no id EDGES"), "{answers:?}");
    // The proposed line is accepted above.
    for (lines, proposed) in [
        ("STATE_SPACE TRANSITIONS CANNOT_COMPUTE", "write STATE_SPACE TRANSITIONS -1 and nothing else"),
        ("CANNOT_COMPUTE", "write -1 for single numbers"),
    ] {
        let output = format!("STATE_SPACE STATES 3 TECHNIQUES A\n{lines}\n");
        let answers = read_as(output.as_bytes(), &q, Reading::default());
        assert!(answers.anomalies[0].fix.contains(proposed), "{answers:?}");
    }
}

#[test]
fn an_infinite_count_of_a_state_space_is_read_as_overflow() {
    for word in ["+inf", "inf", "Inf", "+Inf"] {
        let output = format!("STATE_SPACE STATES {word} TECHNIQUES TEDD\nSTATE_SPACE TRANSITIONS {word}\n");
        let answers = read_as(output.as_bytes(), &questions("StateSpace", &[]), Reading::default());
        assert_eq!(text(&answers), "Inf Inf ? ?", "{word}: {:?}", answers.anomalies);
    }
    // The form itself is no anomaly.
    let real = "Planning-PT-none StateSpace\nSTATE_SPACE STATES +inf TECHNIQUES TEDD2020\n";
    let answers = read_as(real.as_bytes(), &questions("StateSpace", &[]), Reading::default());
    assert_eq!(anomalies(&answers), [""; 0]);
    let answers =
        read_as(b"STATE_SPACE STATES -inf TECHNIQUES A", &questions("StateSpace", &[]), Reading::default());
    assert_eq!((text(&answers).as_str(), answers.anomalies.len()), ("? ? ? ?", 1));
}

#[test]
fn the_last_value_counts_and_a_contradiction_is_recorded() {
    let answers = ctl(
        "FORMULA x-00 TRUE TECHNIQUES A\nFORMULA x-00 TRUE TECHNIQUES B\nFORMULA x-00 FALSE TECHNIQUES C",
    );
    assert_eq!(text(&answers), "F ?");
    assert_eq!(answers.techniques[0], ["C"]);
    assert_eq!(answers.repeated, [Some(Repeat::Differs), None]);
    let alike = ctl("FORMULA x-01 TRUE TECHNIQUES A\nFORMULA x-01 TRUE TECHNIQUES B\n");
    assert_eq!((alike.repeated, alike.anomalies.len()), (vec![None, Some(Repeat::Same)], 0));
    assert_eq!(
        anomalies(&answers),
        [
            "3: x-00 was TRUE in line 1 and is FALSE now: the last value counts; print a value only when it is final"
        ]
    );
    let answers = ctl("FORMULA x-00 TRUE TECHNIQUES A\nFORMULA x-00 CANNOT_COMPUTE");
    assert_eq!(text(&answers), "T ?", "CANNOT_COMPUTE is not a value");
    assert!(anomalies(&answers)[0].contains("CANNOT_COMPUTE for x-00 after its value in line 1"));
}

#[test]
fn without_techniques_a_value_counts_unless_strict() {
    for output in ["FORMULA x-00 TRUE", "FORMULA x-00 TRUE TECHNIQUES", "FORMULA x-00 TRUE EXPLICIT"] {
        let answers = ctl(output);
        assert_eq!(text(&answers), "T ?", "{output}");
        assert!(anomalies(&answers)[0].contains("x-00 has no TECHNIQUES: the value counts"));
        assert_eq!(answers.anomalies[0].severity, Severity::Warning);
        let q = questions("CTLCardinality", &["x-00", "x-01"]);
        let answers = read_as(output.as_bytes(), &q, Reading { strict: true, published: false });
        assert_eq!(text(&answers), "? ?", "{output}");
        assert_eq!(answers.anomalies[0].severity, Severity::Error);
    }
}

#[test]
fn not_competing_not_computing_and_no_answer_are_distinct() {
    let cases = [
        ("noise\nDO_NOT_COMPETE\n", Some(Declaration::DoNotCompete)),
        ("  CANNOT_COMPUTE \r\n", Some(Declaration::CannotCompute)),
        ("FORMULA x-00 CANNOT_COMPUTE\nFORMULA x-01 CANNOT_COMPUTE\n", Some(Declaration::CannotCompute)),
        ("FORMULA x-00 CANNOT_COMPUTE TECHNIQUES A", Some(Declaration::CannotCompute)),
        ("FORMULA CANNOT_COMPUTE", Some(Declaration::CannotCompute)),
        ("I DO_NOT_COMPETE today", None),
        ("DO NOT COMPETE", None),
        ("CANNOT COMPUTE", None),
        ("", None),
    ];
    for (output, declared) in cases {
        let answers = ctl(output);
        assert_eq!(answers.declared, declared, "{output}");
        assert_eq!(answers.is_empty(), declared.is_none());
        assert_eq!(answers.declared_by_position, output.starts_with("FORMULA x-"), "{output}");
        assert_eq!(text(&answers), "? ?");
    }
    let answers = ctl("FORMULA x-00 TRUE TECHNIQUES A\nFORMULA x-01 CANNOT_COMPUTE");
    assert_eq!((answers.declared, text(&answers).as_str()), (None, "T ?"));
    let answers = ctl("DO_NOT_COMPETE\nFORMULA x-00 TRUE TECHNIQUES A");
    assert!(anomalies(&answers)[0].contains("but values are printed"));
}

#[test]
fn mistakes_of_tools_are_reported_with_line_and_remedy() {
    let cases = [
        (
            "\nCANNOT COMPUTE",
            "2: `CANNOT COMPUTE` is not a keyword: it is ignored; write CANNOT_COMPUTE with underscores, alone on its line",
        ),
        (
            "DO NOT COMPETE",
            "1: `DO NOT COMPETE` is not a keyword: it is ignored; write DO_NOT_COMPETE with underscores, alone on its line",
        ),
        ("FORMULA x-00 CANNOT COMPUTE", "write CANNOT_COMPUTE with underscores"),
        ("FORMULA x-00 CANNOT_COMPUTE TECHNIQUES A", "write FORMULA x-00 CANNOT_COMPUTE and nothing else"),
        ("FORMULA x-00 DO_NOT_COMPETE", "use DO_NOT_COMPETE for a whole examination only"),
        ("FORMULA x-00 true TECHNIQUES A", "1: `true` is not a value for x-00; write TRUE or FALSE"),
        ("FORMULA x-00", "1: x-00 has no value; write TRUE or FALSE"),
        ("FORMULA x-00 TRUE in 3 s", "`in` follows the value of x-00: the line is ignored"),
        (
            "FORMULA y-00 TRUE TECHNIQUES A",
            "the examination has no id y-00: the line is ignored; the ids are those",
        ),
        (
            "STATE_SPACE STATES 3 TECHNIQUES A",
            "a STATE_SPACE line, which is not for this examination: the line is ignored; CTLCardinality is answered by FORMULA",
        ),
        ("NOT_A_FORMULA x-00 TRUE TECHNIQUES A", "`FORMULA` is part of a longer word"),
        ("FORMULA x-00 TRUE TECHNIQUES OPTIM-1", "the technique `OPTIM-1` of x-00"),
        (
            "FORMULA x-00 TRUE TECHNIQUES A FORMULA x-01 TRUE TECHNIQUES B",
            "more than one result in this line",
        ),
        (
            "FORMULAE x-00 TRUE TECHNIQUES A",
            "1: `FORMULAE` is not a keyword: the line is ignored; write FORMULA",
        ),
        ("Formula x-00 TRUE TECHNIQUES A", "`Formula` is not a keyword"),
        ("DO_NOT_COMPETES", "`DO_NOT_COMPETES` is not a keyword: the line is ignored; write DO_NOT_COMPETE"),
        ("CANNOT-COMPUTE", "write CANNOT_COMPUTE"),
        ("FORMULA x-00 CANOT_COMPUTE", "`CANOT_COMPUTE` is not a keyword"),
        ("really CANNOT_COMPUTE", "CANNOT_COMPUTE is not alone on its line"),
        (
            "DO_NOT_COMPETE\nCANNOT_COMPUTE",
            "2: CANNOT_COMPUTE is printed after DO_NOT_COMPETE: the last declaration counts",
        ),
    ];
    for (output, expected) in cases {
        let found = anomalies(&ctl(output));
        assert!(found.len() == 1 && found[0].contains(expected), "{output}: {found:?}");
    }
}

#[test]
fn results_that_nearly_follow_the_protocol_are_reported() {
    let states = ["STATES", "TRANSITIONS", "MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING"];
    let state_space = questions("StateSpace", &states);
    let upper_bounds = questions("UpperBounds", &["x-00"]);
    let good = "STATE_SPACE MAX_TOKEN_IN_PLACE 1 TECHNIQUES A";
    for (questions, output, expected) in [
        (
            &state_space,
            "STATE SPACE STATES 14 TECHNIQUES A",
            "`STATE SPACE` is not a keyword: the line is ignored",
        ),
        (
            &state_space,
            "states: STATE SPACE STATES 14",
            "`STATE SPACE` is not a keyword: the line is ignored",
        ),
        (&state_space, "STATESPACE TRANSITIONS 14", "`STATESPACE` is not a keyword: the line is ignored"),
        (&state_space, "STATE-SPACE TRANSITIONS 14 TECHNIQUES A", "`STATE-SPACE` is not a keyword"),
        (
            &upper_bounds,
            "FORMULA foo TRUE",
            "`TRUE` is not a value for foo; write a number in decimal digits",
        ),
        (&upper_bounds, "FORMULA foo FALSE TECHNIQUES A", "`FALSE` is not a value for foo"),
    ] {
        let beside = format!("{good}\n{output}\n");
        let answers = read_as(beside.as_bytes(), questions, Reading::default());
        let found =
            anomalies(&answers).into_iter().filter(|found| found.starts_with("2: ")).collect::<Vec<_>>();
        assert!(found.len() == 1 && found[0].contains(expected), "{output}: {found:?}");
    }
    let log = "exploring the STATE SPACE of STATES 14\nSTATE SPACE STATES are counted\n";
    for (questions, log) in
        [(&state_space, log.to_owned()), (&upper_bounds, format!("{log}FORMULA foo TRUE in 3 s\n"))]
    {
        let found = anomalies(&read_as(log.as_bytes(), questions, Reading::default()));
        assert_eq!(found, [""; 0], "{}", questions.examination);
    }
}

#[test]
fn a_misspelt_keyword_is_searched_before_64_results_of_a_line() {
    let state_space = questions("StateSpace", &["STATES"]);
    for (results, reported) in [(60, 1), (70, 0)] {
        let output = "STATES 1 ".repeat(results) + "STATESPACE STATES 14";
        let found = anomalies(&read_as(output.as_bytes(), &state_space, Reading::default()));
        assert_eq!(found.len(), reported, "{found:?}");
    }
}

#[test]
fn a_declaration_beside_values_is_reported_at_its_line() {
    let output = "\n\nCANNOT_COMPUTE\nFORMULA x-00 TRUE TECHNIQUES A\nFORMULA x-01\nlast\n";
    let found = anomalies(&ctl(output));
    assert!(found[0].starts_with("3: CANNOT_COMPUTE for the whole examination, but values"), "{found:?}");
    assert!(found[1].starts_with("5: x-01 has no value"), "{found:?}");
}

#[test]
fn log_text_about_formulas_is_ignored() {
    let noise = "Parsing FORMULA\nFORMULA_NAME x-00\nthe FORMULA is large\nformula x-00 TRUE\nMY_FORMULA y TRUE TECHNIQUES A\n\
                 FORMULAE about x-00 TRUE TECHNIQUES A\nCOMPUTED in 3 s, COMPETES\nNUM_VECTOR\nBK_STOP 1\n";
    let answers = ctl(noise);
    assert!(answers.is_empty());
    assert_eq!(anomalies(&answers), [""; 0]);
}

#[test]
fn an_examination_of_one_value_is_answered_by_its_name_too() {
    let q = questions("ReachabilityDeadlock", &["N-PT-1-ReachabilityDeadlock-0"]);
    for id in ["N-PT-1-ReachabilityDeadlock-0", "ReachabilityDeadlock"] {
        let output = format!("FORMULA {id} TRUE TECHNIQUES A");
        let answers = read_as(output.as_bytes(), &q, Reading::default());
        assert_eq!(
            (text(&answers).as_str(), answers.ids[0].as_str()),
            ("T", "N-PT-1-ReachabilityDeadlock-0")
        );
    }
    let answers = read_as(b"FORMULA M-PT-1-ReachabilityDeadlock-0 TRUE TECHNIQUES A", &q, Reading::default());
    assert!(answers.is_empty(), "another instance's answer");
}

#[test]
fn without_an_archive_the_printed_ids_are_used() {
    let mut printed = String::new();
    for number in (0..18).rev() {
        printed += &format!("FORMULA n-{number:02} TRUE TECHNIQUES A\n");
    }
    let answers = read_as(
        printed.as_bytes(),
        &Questions::as_printed(&examination("LTLFireability")),
        Reading::default(),
    );
    assert_eq!(answers.ids.len(), 16);
    assert_eq!((answers.ids[0].as_str(), answers.ids[15].as_str()), ("n-02", "n-17"));
    assert_eq!(answers.anomalies.len(), 2);
    let one = Questions::as_printed(&examination("ReachabilityDeadlock"));
    let both =
        b"FORMULA n-ReachabilityDeadlock-0 TRUE TECHNIQUES A\nFORMULA ReachabilityDeadlock TRUE TECHNIQUES A";
    let answers = read_as(both, &one, Reading::default());
    assert_eq!((text(&answers).as_str(), anomalies(&answers).len()), ("T", 0));
}

#[test]
fn escape_codes_and_invalid_utf8_are_read_safely() {
    let mut output =
        b"\x1b[32mFORMULA\x1b[0m x-00 \x1b[1;31mTRUE\x1b[0m TECHNIQUES A\n\xff\xfe\0\0\n".to_vec();
    output.extend_from_slice(b"\0FORMULA x-01\0FALSE TECHNIQUES \xff\n");
    let answers = read_as(&output, &questions("CTLCardinality", &["x-00", "x-01"]), Reading::default());
    assert_eq!(text(&answers), "T F");
}

#[test]
fn a_line_of_100_megabytes_is_read_in_bounded_memory() {
    let dots = std::io::repeat(b'.').take_bytes(100 << 20);
    let q = questions("CTLCardinality", &["x-00", "x-01"]);
    let chain = |end: &'static [u8]| std::io::BufReader::new(std::io::Read::chain(dots(), end));
    let answers =
        Answers::read(chain(b"FORMULA x-00 TRUE TECHNIQUES A\nDO_NOT_COMPETE"), &q, Reading::default())
            .unwrap();
    assert_eq!((text(&answers).as_str(), answers.lines[0]), ("T ?", Some(1)));
    let answers = Answers::read(chain(b"\nDO_NOT_COMPETE"), &q, Reading::default()).unwrap();
    assert_eq!(answers.declared, Some(Declaration::DoNotCompete));
    let answers = Answers::read(chain(b" DO_NOT_COMPETE"), &q, Reading::default()).unwrap();
    assert_eq!(answers.declared, None, "not alone on its line");

    let number = std::io::Read::chain(&b"FORMULA x-00 "[..], std::io::repeat(b'1').take_bytes(1 << 20)());
    let q = questions("UpperBounds", &["x-00"]);
    let answers = Answers::read(std::io::BufReader::new(number), &q, Reading::default()).unwrap();
    assert!(
        anomalies(&answers)[0].contains("a result longer than 262144 bytes: the result is ignored"),
        "{answers:?}"
    );
}

trait TakeBytes {
    fn take_bytes(self, bytes: u64) -> impl Fn() -> std::io::Take<std::io::Repeat>;
}

impl TakeBytes for std::io::Repeat {
    fn take_bytes(mut self, bytes: u64) -> impl Fn() -> std::io::Take<std::io::Repeat> {
        let mut byte = [0];
        std::io::Read::read_exact(&mut self, &mut byte).unwrap();
        move || std::io::Read::take(std::io::repeat(byte[0]), bytes)
    }
}

#[test]
fn further_anomalies_are_counted_only() {
    let output = "FORMULA y TRUE TECHNIQUES A\n".repeat(5000);
    let answers = ctl(&output);
    assert_eq!((answers.anomalies.len(), answers.anomalies_dropped), (1000, 4000));
}

/// The examination of the suffix of an oracle file.
fn of_suffix(suffix: &str) -> &'static str {
    match suffix {
        "SS" => "StateSpace",
        "UB" => "UpperBounds",
        "RD" => "ReachabilityDeadlock",
        "GP" => "GlobalProperties",
        "RC" => "ReachabilityCardinality",
        "RF" => "ReachabilityFireability",
        "CTLC" => "CTLCardinality",
        "CTLF" => "CTLFireability",
        "LTLC" => "LTLCardinality",
        "LTLF" => "LTLFireability",
        "QL" => "QuasiLiveness",
        "SM" => "StableMarking",
        "L" => "Liveness",
        "OS" => "OneSafe",
        _ => panic!("unknown suffix {suffix}"),
    }
}

fn oracle(folder: &Path, file: &str) -> (Answers, Examination) {
    let stem = file.strip_suffix(".out").unwrap();
    let examination = examination(of_suffix(stem.rsplit('-').next().unwrap()));
    let output = fs::read(folder.join(file)).unwrap();
    let published = Reading { strict: true, published: true };
    (read_as(&output, &Questions::as_printed(&examination), published), examination)
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn every_oracle_of_three_editions_is_read_completely() {
    let mut files = 0;
    for folder in ["mcc/oracle", "mcc/2023/oracle", "mcc/2025/oracle"] {
        let Some(folder) = data::shared(folder) else { return };
        for file in names(&folder) {
            let (answers, examination) = oracle(&folder, &file);
            let given = answers.values.iter().flatten().count();
            let text = fs::read_to_string(folder.join(&file)).unwrap();
            let results = text.lines().filter(|line| line.contains(" TECHNIQUES ") && !line.contains(" -1 "));
            let (open, known): (Vec<&str>, Vec<&str>) =
                results.partition(|line| line.contains(" ? TECHNIQUES "));
            assert_eq!(given, known.len(), "{file}");
            if examination.name != "StateSpace" {
                assert_eq!(given + open.len(), examination.values, "{file}");
            }
            assert_eq!(anomalies(&answers), [""; 0], "{file}");
            files += 1;
        }
    }
    assert!(files >= 444 + 78 + 80, "{files}");
}

#[test]
fn outputs_of_real_tools_agree_with_the_oracles() {
    let Some(folder) = data::shared("mcc/real-output") else { return };
    let (Some(inputs), Some(oracles)) = (data::shared("mcc/inputs"), data::shared("mcc/oracle")) else {
        return;
    };
    let (mut files, mut compared) = (0, 0);
    for tool in ["tapaal", "smpt", "petrispot"] {
        for file in names(&folder.join(tool)) {
            let (instance, examination_name) =
                file.strip_suffix(".stdout").unwrap().rsplit_once('-').unwrap();
            let examination = examination(examination_name);
            let archive = inputs.join(format!("{instance}.tgz"));
            let questions = if archive.exists() {
                Questions::read(&Archive::open(&archive).unwrap(), &examination).unwrap()
            } else {
                Questions::as_printed(&examination)
            };
            let output = fs::read(folder.join(tool).join(&file)).unwrap();
            let answers = read_as(&output, &questions, Reading { strict: true, published: false });
            let severe = answers.anomalies.iter().find(|a| a.severity == Severity::Error);
            assert!(severe.is_none(), "{file}: {:?}", anomalies(&answers));
            files += 1;

            let printed = String::from_utf8_lossy(&output).into_owned();
            let given = answers.values.iter().flatten().count();
            let mut ids: Vec<_> = printed
                .lines()
                .filter(|line| line.starts_with("FORMULA ") && line.contains(" TECHNIQUES "))
                .map(|line| line.split_whitespace().nth(1).unwrap())
                .collect();
            ids.sort();
            ids.dedup();
            assert_eq!(given, ids.len(), "{file}");
            let declared = match (tool, examination_name, given) {
                ("tapaal", "StateSpace", _) => Some(Declaration::DoNotCompete),
                ("petrispot", _, 0) => Some(Declaration::CannotCompute),
                _ => None,
            };
            assert_eq!(answers.declared, declared, "{file}");

            let suffix = ["UB", "RD", "RC", "RF", "CTLC", "CTLF", "LTLC", "LTLF"]
                .into_iter()
                .find(|suffix| of_suffix(suffix) == examination_name);
            let Some(expected) = suffix.map(|suffix| format!("{instance}-{suffix}.out")) else { continue };
            if oracles.join(&expected).exists() {
                let (expected, _) = oracle(&oracles, &expected);
                assert_eq!(answers.ids, expected.ids, "{file}");
                for (position, value) in answers.values.iter().enumerate() {
                    if value.is_some() {
                        assert_eq!(*value, expected.values[position], "{file} {}", answers.ids[position]);
                        compared += 1;
                    }
                }
            }
        }
    }
    assert_eq!(files, 44);
    assert_eq!(compared, 361);
}

/// Lines without a result for x-00, x-01 or the whole examination: of any letters, and of words of the protocol.
fn noise() -> impl Strategy<Value = String> {
    let words = [
        "FORMULA",
        "_FORMULA",
        "log:FORMULA",
        "FORMULAE",
        "STATE_SPACE",
        "STATES",
        "x-00",
        "x-01",
        "x-02",
        "TRUE",
        "FALSE",
        "7",
        "TECHNIQUES",
        "A",
        "CANNOT_COMPUTE",
        "DO_NOT_COMPETE",
        "CANNOT",
        "COMPUTE",
        "is",
        "done",
    ];
    let sentence =
        prop::collection::vec(prop::sample::select(words.to_vec()), 0..8).prop_map(|words| words.join(" "));
    let is_result = |line: &String| {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        // A keyword may follow other letters, but not as a part of a word.
        let keyword = |word: &str| {
            let before = word.strip_suffix("FORMULA").map(|before| before.bytes().last());
            before.is_some_and(|last| last.is_none_or(|b| !b.is_ascii_alphanumeric() && !b"_-".contains(&b)))
        };
        let subject = |word| ["x-00", "x-01", "CANNOT_COMPUTE"].contains(&word);
        matches!(words[..], ["CANNOT_COMPUTE" | "DO_NOT_COMPETE"])
            || words.windows(2).any(|pair| keyword(pair[0]) && subject(pair[1]))
    };
    prop_oneof!["[ -~]{0,60}", sentence].prop_filter("the line has a result", move |line| !is_result(line))
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_as(&bytes, &questions("CTLCardinality", &["x-00"]), Reading::default());
    }

    #[test]
    fn no_line_of_protocol_words_makes_the_reader_panic(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "FORMULA", "STATE_SPACE", "x-00", "STATES", "TRUE", "-1", "7", "inf", "TECHNIQUES", "CANNOT_COMPUTE",
                "DO_NOT_COMPETE", "CANNOT", "COMPUTE", "A", "\n", "\x1b[", "\x1b", "_FORMULA", "\0",
            ]),
            0..30,
        ),
        separator in prop::sample::select(vec![" ", "", "\t"]),
    ) {
        let output = words.join(separator);
        for name in ["CTLCardinality", "UpperBounds", "StateSpace", "ReachabilityDeadlock"] {
            for q in [questions(name, &["x-00"]), Questions::as_printed(&examination(name))] {
                let answers = read_as(output.as_bytes(), &q, Reading::default());
                prop_assert_eq!(answers.ids.len(), answers.values.len());
            }
        }
    }

    #[test]
    fn noise_between_results_has_no_effect(
        noise in prop::collection::vec(noise(), 3),
        chunk in 1usize..64,
    ) {
        let results = ["FORMULA x-00 TRUE TECHNIQUES A\n", "FORMULA x-01 FALSE TECHNIQUES B C\n", "DO_NOT_COMPETE\n"];
        let plain = ctl(&results.concat());
        let noisy: String = noise.iter().zip(results).map(|(noise, result)| format!("{noise}\n{result}")).collect();
        let q = questions("CTLCardinality", &["x-00", "x-01"]);
        // The size of the chunks has no effect.
        let source = std::io::BufReader::with_capacity(chunk, noisy.as_bytes());
        let read = Answers::read(source, &q, Reading::default()).unwrap();
        let content = |answers: Answers| {
            let Answers { ids, values, techniques, cannot_compute, repeated, declared, .. } = answers;
            (ids, values, techniques, cannot_compute, repeated, declared)
        };
        // Noise may add anomalies, but removes none.
        let problems: Vec<_> = read.anomalies.iter().map(|anomaly| &anomaly.problem).collect();
        prop_assert!(plain.anomalies.iter().all(|anomaly| problems.contains(&&anomaly.problem)));
        let protocol = ["FORMULA", "STATE_SPACE", "TECHNIQUES", "COMPETE", "COMPUTE"];
        if !noise.iter().any(|line| protocol.iter().any(|word| line.contains(word))) {
            prop_assert_eq!(read.anomalies.len(), plain.anomalies.len());
        }
        prop_assert_eq!(content(read), content(plain));
    }
}

fn lint(arguments: &[&str], output: &str) -> (i32, String, String) {
    let mut command = assert_cmd::Command::cargo_bin("mcc-harness").unwrap();
    let done = command.arg("lint").args(arguments).write_stdin(output).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
}

#[test]
fn lint_prints_values_and_wrong_lines() {
    let good = "FORMULA n-01 TRUE TECHNIQUES EXPLICIT\nFORMULA n-00 CANNOT_COMPUTE\n";
    let (code, out, error) = lint(&["-", "--examination", "CTLCardinality"], good);
    assert_eq!(code, 0);
    assert!(error.contains("missing answers are not checked; give its archive (.tgz)"), "{error}");
    assert_eq!(out, "n-00  not computed\nn-01  TRUE          line 1       EXPLICIT\n");

    let (code, out, _) =
        lint(&["-", "--examination", "CTLCardinality"], "FORMULA n-01 TRUE\nFORMULA n-01 maybe");
    assert_eq!(code, 1);
    assert!(out.contains("line 1: warning: n-01 has no TECHNIQUES: the value counts;"), "{out}");
    assert!(out.contains("line 2: error: `maybe` is not a value for n-01; write TRUE or FALSE"), "{out}");

    let (code, out, _) =
        lint(&["-", "--examination", "CTLCardinality"], "FORMULA n-00 MAYBE TECHNIQUES EXPLICIT\n");
    assert_eq!(code, 1);
    assert!(out.contains("line 1: error: `MAYBE` is not a value for n-00; write TRUE or FALSE"), "{out}");

    // The value of a rejected line is not among those without an answer.
    let (_, out, _) = lint(
        &["-", "--examination", "StateSpace"],
        "STATE_SPACE STATES 3 TECHNIQUES EXPLICIT\nSTATE_SPACE TRANSITIONS many TECHNIQUES EXPLICIT\n\
         STATE_SPACE MAX_TOKEN_IN_PLACE 1 TECHNIQUES EXPLICIT\n",
    );
    assert!(out.contains("TRANSITIONS            rejected\n"), "{out}");
    assert!(
        out.contains("warning: no answer for 1 of 4 values; the first is MAX_TOKEN_PER_MARKING"),
        "{out}"
    );
    assert_eq!(out.matches("not answered").count(), 1, "{out}");

    let (code, out, _) = lint(&["-", "--examination", "StateSpace"], "nothing");
    assert_eq!(code, 1);
    assert!(out.contains("error: no well-formed answer: the run counts as not computed (E-1.7)"), "{out}");

    let (code, out, _) = lint(&["-", "--examination", "UpperBounds", "--format", "json"], "DO_NOT_COMPETE");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, report["declared"].as_str()), (0, Some("do-not-compete")));

    let instance = concat!(env!("CARGO_MANIFEST_DIR"), "/pnml-fixtures/DiningTable-PT-05.tgz");
    let of_instance = ["-", "--examination", "CTLCardinality", "--instance", instance];
    let one = "FORMULA DiningTable-PT-05-CTLCardinality-01 CANNOT_COMPUTE\n";
    let (code, out, _) = lint(&of_instance, one);
    assert!(out.contains("\nno value computed; CANNOT_COMPUTE: 1 of 16; not answered: 15\n"), "{out}");
    assert!(out.contains("warning: no answer for 15 of 16 values"), "{out}");
    assert!(code == 0 && !out.contains("declared"), "{out}");
    let (_, out, _) = lint(&of_instance, "CANNOT_COMPUTE\n");
    assert!(out.contains("\ndeclared: CANNOT_COMPUTE") && !out.contains("warning"), "{out}");

    // A right value in a line for another examination or instance: the id is wrong.
    let bounds = ["-", "--examination", "UpperBounds", "--instance", instance];
    for (arguments, id, value) in [
        (bounds, "DiningTable-PT-05-CTLCardinality-00", "FALSE"),
        (of_instance, "DiningTable-PT-03-CTLCardinality-00", "true"),
    ] {
        let (code, out, _) = lint(&arguments, &format!("FORMULA {id} {value} TECHNIQUES EXPLICIT\n"));
        let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
        let problem =
            format!("line 1: error: the examination has no id {id}: the line is ignored; the ids are those");
        assert!(code == 1 && out.contains(&problem) && out.contains("(E-1.8)"), "{out}");
        assert!(!out.contains("is not a value"), "{out}");
    }
}

#[test]
fn lint_reports_wrong_arguments() {
    for (arguments, expected) in [
        (
            vec!["-", "--examination", "Deadlock"],
            "mcc-2018 has no examination Deadlock; it has StateSpace, UpperBounds",
        ),
        (
            vec!["absent.out", "--examination", "UpperBounds"],
            "absent.out: cannot be read; give a file with the output of a tool",
        ),
        (vec!["-", "--examination", "UpperBounds", "--instance", "absent.tgz"], "absent.tgz: "),
        (vec!["-"], "give the examination with --examination NAME"),
        (vec!["."], "of a record or an archive give the run with --run ENTRY/INSTANCE/EXAMINATION"),
    ] {
        let (code, _, errors) = lint(&arguments, "");
        assert_eq!(code, 2, "{errors}");
        assert!(errors.contains(expected), "{errors}");
    }
}
