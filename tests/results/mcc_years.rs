//! The contests of 2018 to 2025 as published: consensus, medals, totals and leads (`tests/data/mcc`).

use crate::support::data;

use flate2::read::GzDecoder;
use mcc_harness::benchkit::Value;
use mcc_harness::edition::{Edition, NotKept, Status};
use mcc_harness::judge::judgement::{Basis, FlagKind, Medal};
use mcc_harness::judge::mcc::{Judge, JudgementTotals};
use mcc_harness::judge::{InstanceFacts, RunResult, RunResults, source};
use num_rational::BigRational;
use num_traits::ToPrimitive;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;

/// A position: instance, examination, number.
type Position = (String, String, usize);

struct Judged {
    judge: Judge,
    totals: JudgementTotals,
    trusted: HashMap<Position, (Value, Basis)>,
}

fn judged_under(edition: &Edition, year: u32) -> Judged {
    let mut results =
        source::read_answers(edition, &data::published(&format!("mcc/{year}/answers.csv.gz"))).unwrap();
    source::read_models(edition, &mut results, &data::published(&format!("mcc/{year}/models.csv"))).unwrap();
    judged_results(edition, results)
}

/// A made-up contest: in OneSafe an entry has its number of right values, on the first of 12 instances. `family` is the
/// family of an instance.
fn judged_made_up(edition: &Edition, entries: &[(&str, usize)], family: impl Fn(usize) -> String) -> Judged {
    let mut results = RunResults::new(edition);
    for number in 0..12 {
        let instance = format!("F-PT-{number}");
        // Three voters without a rank confirm the values.
        let gold = ["1-gold", "2-gold", "3-gold"].map(|entry| (entry, 12));
        for (entry, right) in entries.iter().chain(&gold) {
            let value = (number < *right).then_some(Value::True);
            results.add(entry, &instance, "OneSafe", &[], RunResult::published(vec![value])).unwrap();
        }
        let facts = InstanceFacts { family: family(number), status: "known".to_owned() };
        results.describe_instance(&instance, facts);
    }
    judged_results(edition, results)
}

fn judged_results(edition: &Edition, results: RunResults) -> Judged {
    let judge = Judge::new(edition, results).unwrap();
    let mut trusted = HashMap::new();
    let totals = judge.judge_blocks(|block| {
        let instance = &judge.header.instances[block.instance].instance;
        let examination = &judge.header.examinations[block.examination];
        for (position, decided) in block.trusted.into_iter().enumerate() {
            if let Some(value) = decided.value {
                trusted.insert((instance.clone(), examination.clone(), position), (value, decided.basis));
            }
        }
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(totals) = totals;
    Judged { judge, totals, trusted }
}

fn judged(year: u32) -> Judged {
    judged_under(&Edition::load(&format!("mcc-{year}")).unwrap(), year)
}

fn rows(path: &str) -> Vec<BTreeMap<String, String>> {
    let mut table = csv::Reader::from_path(data::published(path)).unwrap();
    table.deserialize().map(|row| row.unwrap()).collect()
}

/// The published consensus of a year.
fn consensus(year: u32) -> Vec<(Position, Value)> {
    let file = File::open(data::published(&format!("mcc/{year}/consensus.csv.gz"))).unwrap();
    let table = csv::Reader::from_reader(GzDecoder::new(file)).into_records().map(Result::unwrap);
    let value = |row: csv::StringRecord| {
        let position = (row[0].to_owned(), row[1].to_owned(), row[2].parse().unwrap());
        (position, row[3].parse().unwrap())
    };
    table.map(value).collect()
}

/// The positions whose trusted value is not that of the published consensus, and the number of values of the consensus.
/// No other position has a trusted value.
fn differences(year: u32) -> (Vec<(Position, Basis)>, usize) {
    let mut trusted = judged(year).trusted;
    let consensus = consensus(year);
    let count = consensus.len();
    let mut different = Vec::new();
    for (position, published) in consensus {
        match trusted.remove(&position) {
            Some((value, _)) if value.agrees(&published, value.is_rounded() || published.is_rounded()) => {}
            other => different.push((position, other.map_or(Basis::UnknownNone, |(_, basis)| basis))),
        }
    }
    assert!(trusted.is_empty(), "{year}: trusted values that were not published: {trusted:?}");
    different.sort();
    (different, count)
}

#[test]
fn the_published_consensus_comes_out_in_three_years() {
    for (year, values) in [(2019, 108_714), (2020, 136_961), (2025, 207_505)] {
        assert_eq!(differences(year), (vec![], values), "{year}");
    }
}

/// Two voters gave these values: ITS-Tools and the gold tool of 2021. The gold tool has the higher confidence (149907 of
/// 149910 common values against 149481 of 149491), so its value is trusted; the published consensus has that of
/// ITS-Tools.
#[test]
fn four_values_of_2022_differ_from_the_published_consensus() {
    let (different, values) = differences(2022);
    let expected = [6, 13, 14, 15].map(|position| {
        let instance = "StigmergyCommit-PT-11a".to_owned();
        ((instance, "ReachabilityCardinality".to_owned(), position), Basis::Confidence)
    });
    assert_eq!((different, values), (expected.to_vec(), 181_169));
}

/// The name of an entry in published medals and totals.
fn published_name(entry: &str) -> &str {
    match entry {
        "tedd" => "TINA.tedd",
        "ITS-LoLa" => "ITS-LoLA",
        other => other,
    }
}

/// The points of all entries on the podium of a category, by published name.
fn points(judged: &Judged, category: &str) -> BTreeMap<String, BigRational> {
    let podium = judged.totals.podiums.iter().find(|podium| podium.category == category).unwrap();
    let name = |entry: usize| published_name(&judged.judge.header.entries[entry].entry).to_owned();
    podium.places.iter().map(|place| (name(place.entry), place.points.clone())).collect()
}

/// The published figures of a year of a table that come out, and those that do not.
fn compared(
    table: &str,
    year: u32,
    comes_out: impl Fn(&BTreeMap<String, String>) -> bool,
) -> [Vec<String>; 2] {
    let of_year = rows(&format!("mcc/{table}.csv")).into_iter().filter(|row| row["year"] == year.to_string());
    let (right, wrong): (Vec<_>, Vec<_>) = of_year.partition(comes_out);
    let named =
        |row: &BTreeMap<String, String>| format!("{} {} {}", row["year"], row["category"], row["tool"]);
    [right, wrong].map(|rows| rows.iter().map(named).collect())
}

/// The published medals of a year that come out, and those that do not. No other tool has such a medal.
fn medals(judged: &Judged, year: u32) -> [Vec<String>; 2] {
    let entries = &judged.judge.header.entries;
    compared("published-medals", year, |row| {
        let podium = judged.totals.podiums.iter().find(|podium| podium.category == row["category"]).unwrap();
        let holders = podium.places.iter().filter(|place| place.medal.word() == row["medal"]);
        let holders: Vec<&str> = holders.map(|place| published_name(&entries[place.entry].entry)).collect();
        holders == [&row["tool"]]
    })
}

/// The published totals of a year that come out within 0.05 %, and those that do not.
fn totals(judged: &Judged, year: u32) -> [Vec<String>; 2] {
    compared("published-totals", year, |row| {
        let computed = points(judged, &row["category"])[&row["tool"]].to_f64().unwrap();
        (computed / row["published_points"].parse::<f64>().unwrap() - 1.0).abs() <= 0.0005
    })
}

/// The published leads of a year that come out, and those that do not. Leads are printed with one decimal; they come out to
/// 0.02 points of it. The lead in Reachability of 2022 comes out with the trusted values, and not with the published
/// consensus on StigmergyCommit-PT-11a (-1.43 %).
fn leads(judged: &Judged, year: u32) -> [Vec<String>; 2] {
    compared("published-margins", year, |row| {
        let points = points(judged, &row["category"]);
        let lead = (&points[&row["tool"]] / &points[&row["rival"]]).to_f64().unwrap() * 100.0 - 100.0;
        (lead - row["published_percent"].parse::<f64>().unwrap()).abs() <= 0.05 + 0.02
    })
}

#[test]
fn the_22_published_medals_of_three_years_come_out() {
    let mut count = 0;
    for year in [2020, 2022, 2025] {
        let [right, wrong] = medals(&judged(year), year);
        assert_eq!(wrong, [""; 0], "{year}");
        count += right.len();
    }
    assert_eq!(count, rows("mcc/published-medals.csv").len());
    assert_eq!(count, 22);
}

#[test]
fn all_published_totals_but_one_come_out_within_0_05_percent() {
    let wrong = [2020, 2025].map(|year| totals(&judged(year), year)[1].clone());
    // One of the four metrics of StateSpace is not published.
    assert_eq!(wrong.concat(), ["2025 StateSpace ITS-Tools"]);
}

#[test]
fn published_leads_over_a_rival_come_out() {
    let [of_2022, of_2025] = [2022, 2025].map(|year| leads(&judged(year), year));
    assert_eq!([of_2022[0].len(), of_2025[0].len()], [5, 5]);
    assert_eq!([&of_2022[1], &of_2025[1]], [&[""; 0], &[""; 0]]);
}

/// Each figure of the table of published results in docs/rules.md is computed here from the data of its year.
#[test]
fn the_table_of_published_results_in_the_rules_is_right() {
    let rules = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rules.md")).unwrap();
    let thousands = |count: usize| match count {
        0..1000 => count.to_string(),
        _ => format!("{},{:03}", count / 1000, count % 1000),
    };
    let share = |right: usize, all: usize| match all {
        0 => "-".to_owned(),
        _ => format!("{} of {}", thousands(right), thousands(all)),
    };
    let mut table = String::new();
    for year in [2019, 2020, 2022, 2025] {
        let judged = judged(year);
        let (different, values) = differences(year);
        let compared = [medals(&judged, year), totals(&judged, year), leads(&judged, year)];
        let cells = compared.map(|[right, wrong]| share(right.len(), right.len() + wrong.len()));
        let consensus = share(values - different.len(), values);
        table += &format!("| {year} | {consensus} | {} |\n", cells.join(" | "));
    }
    println!("{table}");
    assert!(rules.contains(&table), "docs/rules.md does not have this table:\n{table}");
}

/// The share of the published consensus that comes out if the gold tools of the year before have no vote.
#[test]
fn without_gold_votes_the_consensus_comes_out_to_99_percent() {
    let share = |year: u32| {
        let mut edition = Edition::load(&format!("mcc-{year}")).unwrap();
        edition.statuses.iter_mut().for_each(|rule| rule.status = Status::OutOfCompetition);
        let trusted = judged_under(&edition, year).trusted;
        let consensus = consensus(year);
        let equal = consensus.iter().filter(|(position, published)| {
            let value = trusted.get(position).map(|(value, _)| value);
            value.is_some_and(|value| value.agrees(published, value.is_rounded() || published.is_rounded()))
        });
        format!("{:.1}", 100.0 * equal.count() as f64 / consensus.len() as f64)
    };
    assert_eq!([2019, 2020, 2025].map(share), ["98.9", "99.1", "98.8"]);
}

/// So the exception of 2024 (`not_kept`) would change nothing in these years.
#[test]
fn in_five_years_no_wrong_answer_is_marked_without_trusted_value() {
    for year in [2018, 2019, 2020, 2022, 2025] {
        let scores = |not_kept| {
            let mut edition = Edition::load(&format!("mcc-{year}")).unwrap();
            edition.judging.not_kept = not_kept;
            let scores = judged_under(&edition, year).totals.scores;
            scores
                .into_iter()
                .map(|score| (score.entry, score.examination, score.right, score.wrong))
                .collect::<Vec<_>>()
        };
        assert_eq!(scores(NotKept::Wrong), scores(NotKept::Unjudged), "{year}");
    }
}

/// Made-up: the data of 2023 and 2024 are not here.
#[test]
fn in_2023_and_2024_its_tools_has_one_medal_with_all_x_red() {
    for year in [2023, 2024] {
        let edition = Edition::load(&format!("mcc-{year}")).unwrap();
        // The entry and its number of right values, of 12.
        let entries = [("ITS-Tools", 5), ("LoLA", 8), ("LoLa+RED", 9), ("Tapaal", 7), ("LTSMin+red", 6)];
        let judged = judged_made_up(&edition, &entries, |_| "F".to_owned());
        let named = |entry: usize| judged.judge.header.entries[entry].entry.clone();
        let podium =
            judged.totals.podiums.iter().find(|podium| podium.category == "GlobalProperties").unwrap();
        let medals: Vec<String> = podium
            .places
            .iter()
            .filter(|place| place.medal != Medal::None)
            .map(|place| format!("{} {}", named(place.entry), place.medal))
            .collect();
        assert_eq!(medals, ["LoLa+RED gold", "LoLA silver", "Tapaal bronze"], "{year}");
        let tools =
            judged.judge.header.entries.iter().map(|entry| (entry.entry.as_str(), entry.tool.as_str()));
        let of_its_tools: Vec<&str> =
            tools.filter(|(_, tool)| *tool == "ITS-Tools").map(|entry| entry.0).collect();
        assert_eq!(of_its_tools, ["ITS-Tools", "LTSMin+red", "LoLa+RED"]);
        let notes = judged.judge.header.notes.join("\n");
        assert!(notes.contains("LoLA (tool LoLA), LoLa+RED (tool ITS-Tools)"), "{notes}");
        assert!(!notes.contains("no entry has the name"), "{notes}");
    }
}

#[test]
fn an_entry_whose_tool_has_no_entry_is_noted() {
    let notes = |edition: &Edition, entries: &[(&str, usize)]| {
        judged_made_up(edition, entries, |_| "F".to_owned()).judge.header.notes.join("\n")
    };
    let edition = Edition::load("mcc-2023").unwrap();
    let alone = notes(&edition, &[("LoLA+red", 1), ("Tapaal", 2)]);
    assert!(
        alone.contains("entry LoLA+red belongs to the tool ITS-Tools, and no entry has the name"),
        "{alone}"
    );
    // The two entries of tedd are listed as variants.
    let tedd = notes(&edition, &[("tedd-c", 1), ("tedd-s", 2)]);
    assert!(!tedd.contains("no entry has the name") && !tedd.contains("differ only by case"), "{tedd}");
    let mut edition = Edition::load("mcc-2020").unwrap();
    edition.variant_suffixes = vec!["+red".to_owned()];
    let case = notes(&edition, &[("LoLA", 1), ("LoLa+Red", 2), ("lola", 3)]);
    assert!(case.contains("LoLA (tool LoLA), LoLa+Red (tool LoLA), lola (tool LoLA)"), "{case}");
}

#[test]
fn names_that_differ_by_case_are_one_tool_with_one_medal() {
    let edition = Edition::load("mcc-2020").unwrap();
    let judged = judged_made_up(&edition, &[("LoLA", 9), ("LoLa", 8), ("Tapaal", 7)], |_| "F".to_owned());
    let podium = judged.totals.podiums.iter().find(|podium| podium.category == "GlobalProperties").unwrap();
    let named = |entry: usize| judged.judge.header.entries[entry].entry.as_str();
    let ranks: Vec<(&str, Option<u32>)> =
        podium.places.iter().map(|place| (named(place.entry), place.rank)).collect();
    assert_eq!(ranks[..2], [("LoLA", Some(1)), ("Tapaal", Some(2))]);
    assert!(ranks.contains(&("LoLa", None)), "{ranks:?}");
}

#[test]
fn blocksworld_of_2024_weighs_1_32_times_the_formula() {
    let weights = |year: u32| {
        let edition = Edition::load(&format!("mcc-{year}")).unwrap();
        let family = |number: usize| if number < 6 { "BlocksWorld".to_owned() } else { "Other".to_owned() };
        let judged = judged_made_up(&edition, &[("a", 12)], family);
        let mut families: BTreeMap<String, BigRational> = BTreeMap::new();
        for instance in &judged.judge.header.instances {
            *families.entry(instance.family.clone()).or_default() += &instance.weight;
        }
        &families["BlocksWorld"] / &families["Other"]
    };
    assert_eq!(weights(2024), BigRational::new(132.into(), 100.into()));
    for year in [2023, 2025, 2026] {
        assert_eq!(weights(year), BigRational::from_integer(1.into()), "{year}");
    }
    let edition = Edition::load("mcc-2024").unwrap();
    assert!(edition.unknown["judging.family_factors"].starts_with("fitted"), "{:?}", edition.unknown);
    assert!(!Edition::load("mcc-2025").unwrap().unknown.contains_key("judging.family_factors"));
}

#[test]
fn gold_tools_of_the_year_before_vote_without_rank_or_award() {
    let judged = judged(2025);
    let header = &judged.judge.header;
    let gold = header.entries.iter().position(|entry| entry.entry == "2024-gold").unwrap();
    assert_eq!(header.entries[gold].status, Status::VotingOnly);
    let places = judged.totals.podiums.iter().flat_map(|podium| &podium.places);
    let places: Vec<_> = places.filter(|place| place.entry == gold).collect();
    assert_eq!(places.len(), 6);
    assert!(places.iter().all(|place| place.rank.is_none() && place.medal == Medal::None));
    assert!(places.iter().all(|place| place.points > BigRational::from_integer(0.into())));
}

/// Without the vote of the gold tool no value of StateSpace has three votes, so the confidence of tedd cannot be measured.
#[test]
fn a_tool_without_confidence_is_flagged_with_its_medal() {
    let mut edition = Edition::load("mcc-2025").unwrap();
    edition.statuses.iter_mut().for_each(|rule| rule.status = Status::OutOfCompetition);
    let judged = judged_under(&edition, 2025);
    let header = &judged.judge.header;
    let flags = header.flags.iter().filter(|flag| flag.kind == FlagKind::NoConfidence);
    let flags: Vec<_> = flags
        .map(|flag| {
            let (entry, examination) = (&header.entries[flag.entry], &header.examinations[flag.examination]);
            format!("{} in {examination}: {}", entry.entry, flag.detail)
        })
        .collect();
    let [flag] = &flags[..] else { panic!("{flags:?}") };
    assert!(flag.starts_with("tedd in StateSpace: "), "{flag}");
    assert!(
        flag.contains("trusted for this reason: 2321; its rank in StateSpace would be 1 (gold), not 2"),
        "{flag}"
    );
}

#[test]
fn variants_of_a_tool_share_one_medal_in_2022_and_later() {
    let tool =
        |year: u32, entry: &str| Edition::load(&format!("mcc-{year}")).unwrap().tool_of(entry).to_owned();
    assert_eq!((tool(2022, "tedd-c"), tool(2022, "tedd-s")), ("tedd".to_owned(), "tedd".to_owned()));
    assert_eq!(tool(2022, "TEDD-C"), "tedd");
    for entry in ["LoLA+red", "LTSMin+red", "LoLa+RED"] {
        assert!([2023, 2024].map(|year| tool(year, entry)).iter().all(|name| name == "ITS-Tools"), "{entry}");
    }
    assert_eq!((tool(2022, "LoLA+red"), tool(2023, "+red")), ("LoLA+red".to_owned(), "+red".to_owned()));
    let judged = judged(2022);
    let entries = &judged.judge.header.entries;
    let podium = judged.totals.podiums.iter().find(|podium| podium.category == "StateSpace").unwrap();
    let ranked = podium.places.iter().filter(|place| place.rank.is_some());
    let ranked: Vec<&str> = ranked.map(|place| entries[place.entry].entry.as_str()).collect();
    assert_eq!(ranked, ["tedd-c", "GreatSPN", "ITS-Tools"]);
}
