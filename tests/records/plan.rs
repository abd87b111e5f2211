//! campaign.toml and `plan`: runs, their order, the worst case, and errors of campaigns.

use crate::support::data;

use assert_cmd::Command;
use std::fs;
use std::path::Path;

/// A folder with archives of the named instances and a campaign.toml.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(instances: &[&str], campaign: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("models")).unwrap();
        for instance in instances {
            archive(&folder.path().join("models"), instance);
        }
        fs::write(folder.path().join("campaign.toml"), campaign).unwrap();
        Self(folder)
    }

    fn campaign(&self) -> std::path::PathBuf {
        self.0.path().join("campaign.toml")
    }

    fn plan(&self, args: &[&str]) -> assert_cmd::assert::Assert {
        plan(&self.campaign(), args)
    }

    fn json(&self, args: &[&str]) -> serde_json::Value {
        let output = self.plan(&[&["--format", "json"], args].concat()).success().get_output().stdout.clone();
        serde_json::from_slice(&output).unwrap()
    }

    fn ids(&self, args: &[&str]) -> Vec<String> {
        let plan = self.json(args);
        plan["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Asserts that it is refused as bad input, and returns the message.
    fn refusal(&self, args: &[&str]) -> String {
        let assert = self.plan(args).code(2).stdout("");
        String::from_utf8(assert.get_output().stderr.clone()).unwrap()
    }
}

fn plan(campaign: &Path, args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("mcc-harness").unwrap().arg("plan").arg(campaign).args(args).assert()
}

/// An archive with a net of one place and 16 properties of UpperBounds.
fn archive(folder: &Path, instance: &str) {
    archive_with_properties(folder, instance, Some(16));
}

/// The same with this number of properties, or without their file.
fn archive_with_properties(folder: &Path, instance: &str, properties: Option<usize>) {
    let file = fs::File::create(folder.join(format!("{instance}.tgz"))).unwrap();
    let packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let mut archive = tar::Builder::new(packed);
    let net = format!(
        "<pnml xmlns=\"http://www.pnml.org/version-2009/grammar/pnml\"><net id=\"{instance}\" \
         type=\"http://www.pnml.org/version-2009/grammar/ptnet\"><page id=\"page\"><place id=\"p\"/>\
         <transition id=\"t\"/><arc id=\"a\" source=\"p\" target=\"t\"/></page></net></pnml>"
    );
    let mut files = vec![("model.pnml", net)];
    if instance.contains("Surprise") {
        files.push(("NewModel", String::new()));
    }
    if let Some(count) = properties {
        let property = |number| {
            format!(
                "<property><id>{instance}-UpperBounds-{number:02}</id><description/><formula><place-bound>\
                 <place>p</place></place-bound></formula></property>"
            )
        };
        let properties: String = (0..count).map(property).collect();
        let set = format!("<property-set xmlns=\"http://mcc.lip6.fr/\">{properties}</property-set>");
        files.push(("UpperBounds.xml", set));
    }
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, format!("{instance}/{name}"), text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap();
}

const CAMPAIGN: &str = r#"
edition = "mcc-2018"
inputs = "models"
examinations = ["UpperBounds", "StateSpace"]

[[tool]]
entry = "LoLA"
image = "lola.qcow2"
kind = "sequential"
not_competing = ["State*"]

[[tool]]
entry = "ITS-Tools.L"
image = "its.qcow2"
kind = "concurrent"
channel = "agent"
"#;

#[test]
fn runs_have_the_order_of_models_then_examinations() {
    let folder = Folder::new(&["B-PT-1", "A-PT-2", "A-COL-2"], CAMPAIGN);
    assert_eq!(
        folder.ids(&[]),
        [
            "LoLA/A-COL-2/StateSpace",
            "ITS-Tools.L/A-COL-2/StateSpace",
            "LoLA/A-COL-2/UpperBounds",
            "ITS-Tools.L/A-COL-2/UpperBounds",
            "LoLA/A-PT-2/StateSpace",
            "ITS-Tools.L/A-PT-2/StateSpace",
            "LoLA/A-PT-2/UpperBounds",
            "ITS-Tools.L/A-PT-2/UpperBounds",
            "LoLA/B-PT-1/StateSpace",
            "ITS-Tools.L/B-PT-1/StateSpace",
            "LoLA/B-PT-1/UpperBounds",
            "ITS-Tools.L/B-PT-1/UpperBounds",
        ]
    );
}

#[test]
fn the_kind_decides_vcpus_and_a_run_not_competing_needs_no_machine() {
    let folder = Folder::new(&["A-PT-2"], CAMPAIGN);
    let plan = folder.json(&[]);
    let planned =
        |index: usize| (plan["runs"][index]["vcpus"].as_u64(), plan["runs"][index]["competes"].as_bool());
    assert_eq!(planned(0), (Some(1), Some(false)));
    assert_eq!(planned(1), (Some(4), Some(true)));
    assert_eq!(planned(2), (Some(1), Some(true)));
    folder.plan(&[]).success().stdout(predicates::str::contains("runs: 4; runs in a machine: 3"));
}

#[test]
fn the_worst_case_reckons_with_jobs_limits_and_deadlines() {
    let hosts = "[limits]\nwall_s = 100\ncpu_s = 50\n[hosts]\njobs = 2\nboot_deadline_s = 20\nprepare_deadline_s = 5\n\
                 collect_deadline_s = 10\n";
    let folder = Folder::new(&["A-PT-2"], &format!("tool_evidence = true\n{CAMPAIGN}{hosts}"));
    assert_eq!(folder.json(&[])["longest_run_s"], 150, "evidence has a deadline of its own");
    let folder = Folder::new(&["A-PT-2"], &format!("{CAMPAIGN}{hosts}"));
    let plan = folder.json(&[]);
    assert_eq!(plan["worst_case_s"], 280, "3 machines, 2 at once, 140 s each");
    let text = folder.plan(&[]).success().get_output().stdout.clone();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("override wall_s: 100 (edition: 4500)"), "{text}");
    assert!(text.contains("override cpu_s: 50 (edition: 3600)"), "{text}");
    assert!(text.contains("longest possible duration 00:04:40 (runs at once: 2)"), "{text}");
    // What `run` would refuse is said now: the images are not there yet.
    let warnings = plan["warnings"].as_array().unwrap();
    assert!(
        warnings
            .iter()
            .all(|warning| warning.as_str().unwrap().starts_with("`run` would refuse the image of "))
    );
    assert!(!warnings.is_empty() && text.contains("warning: `run` would refuse the image of"), "{text}");
    let folder = Folder::new(&["A-PT-2"], &format!("{CAMPAIGN}[limits]\ncpu_s = 50\n"));
    let warnings = folder.json(&[])["warnings"].to_string();
    assert!(warnings.contains("follows from wall_s, which is still 4500 s"), "{warnings}");
    // The same in an edition.
    let edition = "base = \"mcc-2018\"\nname = \"x\"\n[limits]\ncpu_s = 12\n";
    fs::write(folder.0.path().join("own.toml"), edition).unwrap();
    assert!(CAMPAIGN.contains("edition = \"mcc-2018\""));
    fs::write(folder.campaign(), CAMPAIGN.replace("edition = \"mcc-2018\"", "edition = \"own.toml\""))
        .unwrap();
    let warnings = folder.json(&[])["warnings"].to_string();
    assert!(
        warnings.contains("cpu_s is 12 s, but the longest possible duration follows from wall_s"),
        "{warnings}"
    );
    let shown =
        Command::cargo_bin("mcc-harness").unwrap().args(["edition", "show"]).arg(folder.campaign()).assert();
    let said = String::from_utf8_lossy(&shown.code(2).get_output().stderr).into_owned();
    assert!(
        said.contains("this looks like a campaign file (key `edition`); give the file of an edition"),
        "{said}"
    );
    // An edition in place of a campaign.
    let own = folder.0.path().join("own.toml");
    let refused = self::plan(&own, &[]).code(2).get_output().stderr.clone();
    let message =
        "own.toml:1: `base = \"mcc-2018\"`: this looks like an edition (key `base`); give a campaign file";
    assert!(String::from_utf8_lossy(&refused).contains(message), "{}", String::from_utf8_lossy(&refused));
}

#[test]
fn the_disk_limit_of_each_entry_is_shown() {
    let shown = |limits: &str, fake: bool| {
        let folder = Folder::new(&["A-PT-2"], &format!("{CAMPAIGN}{limits}"));
        if fake {
            // A disk of 3 MiB; that of the other entry is not there yet.
            let image = folder.0.path().join("lola.qcow2");
            fs::create_dir(&image).unwrap();
            let mut disk = [0; 104];
            disk[..8].copy_from_slice(b"QFI\xfb\0\0\0\x02");
            disk[20..24].copy_from_slice(&16_u32.to_be_bytes());
            disk[24..32].copy_from_slice(&(3_u64 << 20).to_be_bytes());
            fs::write(image.join("disk"), disk).unwrap();
            for file in ["kernel", "initrd"] {
                fs::write(image.join(file), "").unwrap();
            }
            let boot = r#"{"kernel": "kernel", "initrd": "initrd"}"#;
            let facts =
                format!(r#"{{"format": 1, "kind": "tool", "built_by": "", "disk": "disk", "boot": {boot}}}"#);
            fs::write(image.join("image.json"), facts).unwrap();
        }
        let text = folder.plan(&[]).success().get_output().stdout.clone();
        (String::from_utf8(text).unwrap(), folder.json(&[])["disk_limits"].clone())
    };
    let (text, json) = shown("", true);
    assert!(text.contains("disk limit of a run: 3 MiB (LoLA)"), "{text}");
    assert!(
        text.contains("disk limit of a run: the free space of its disk, at most 16 GiB (ITS-Tools.L)"),
        "{text}"
    );
    assert_eq!(json, serde_json::json!({ "ITS-Tools.L": null, "LoLA": 3 << 20 }));
    let (text, json) = shown("[limits]\ndisk_gib = \"1/4\"\n", false);
    assert!(text.contains("disk limit of a run: 256 MiB (ITS-Tools.L, LoLA)"), "{text}");
    assert!(
        text.contains("override disk_gib: 1/4 (edition: free space of the tool's disk, at most 16)"),
        "{text}"
    );
    assert_eq!(json["LoLA"], 256 << 20);
}

#[test]
fn only_selects_runs_by_glob() {
    let folder = Folder::new(&["A-PT-2", "B-PT-1"], CAMPAIGN);
    assert_eq!(
        folder.ids(&["--only", "LoLA/*/UpperBounds"]),
        ["LoLA/A-PT-2/UpperBounds", "LoLA/B-PT-1/UpperBounds"]
    );
    assert_eq!(folder.ids(&["--only", "*/A-*"]).len(), 4);
    let message = folder.refusal(&["--only", "Lola*"]);
    assert!(message.contains("matches no run; run ids are ENTRY/INSTANCE/EXAMINATION"), "{message}");
    let message = folder.refusal(&["--only", "lola/A-PT-02/*"]);
    assert!(message.contains("did you mean `LoLA/A-PT-2/*`?"), "{message}");
}

#[test]
fn instances_are_chosen_by_globs() {
    let campaign = CAMPAIGN.replace("examinations", "instances = [\"B-*\"]\nexaminations");
    let folder = Folder::new(&["A-PT-2", "B-PT-1"], &campaign);
    assert_eq!(folder.ids(&[]).len(), 4);
}

/// A mistake in a campaign: the right text, the wrong one, its line, and words that the message must have.
type Mistake<'t> = (&'t str, &'t str, usize, &'t [&'t str]);

fn assert_refused(mistakes: &[Mistake]) {
    for (right, wrong, line, words) in mistakes {
        assert!(CAMPAIGN.contains(right), "{right}");
        let folder = Folder::new(&["A-PT-2"], &CAMPAIGN.replacen(right, wrong, 1));
        let message = folder.refusal(&[]);
        let place = format!("campaign.toml:{line}:");
        assert!(message.contains(&place), "{wrong}: {place} not in {message}");
        for word in *words {
            assert!(message.contains(word), "{wrong}: {word} not in {message}");
        }
        assert!(message.contains("docs/campaign.md"), "{message}");
    }
}

#[test]
fn mistakes_in_a_campaign_are_refused_with_allowed_values() {
    assert_refused(&[
        ("edition = \"mcc-2018\"", "editon = \"mcc-2018\"", 2, &["editon", "did you mean `edition`?"]),
        (
            "examinations = [\"UpperBounds\"",
            "examinations = [\"UperBounds\"",
            4,
            &["UperBounds", "StateSpace", "did you mean `UpperBounds`?"],
        ),
        ("inputs = \"models\"", "inputs = \"model\"", 3, &["no folder", "model", "NAME.tgz"]),
        ("inputs = \"models\"", "inputs =", 3, &["`inputs =`: no value follows `=`"]),
        (
            "channel = \"agent\"",
            "phase = \"contest\"",
            16,
            &["unknown field `phase`", "`phase` is a key of the campaign: write it before the first table"],
        ),
        ("inputs = \"models\"", "inputs = \"models\"\nstart = \"warm\"", 4, &["warm", "boot", "restore"]),
        (
            "inputs = \"models\"",
            "inputs = \"models\"\nphase = \"final\"",
            4,
            &["final", "contest", "qualification"],
        ),
        (
            "inputs = \"models\"",
            "inputs = \"models\"\ninstances = [\"C-*\"]",
            4,
            &["\"C-*\" matches no instance"],
        ),
        ("inputs = \"models\"", "inputs = \"models\"\ninstances = [\"A-[\"]", 4, &["instances"]),
        (
            "channel = \"agent\"",
            "[[model]]\ninstance = \"A-PT-2\"\nfamily = \"A\"\nstatus = \"new\"",
            16,
            &["new", "surprise"],
        ),
        (
            "channel = \"agent\"",
            "channel = \"agent\"\n[guest]\ndeterministic = true",
            17,
            &["deterministic = true", "tools of a contest run in guests with random addresses"],
        ),
        (
            "inputs = \"models\"",
            "inputs = \"models\"\ninputs_visible = \"instance\"\nstart = \"restore\"",
            4,
            &["inputs_visible = \"instance\"", "a restored machine", "remove start"],
        ),
        (
            "inputs = \"models\"",
            "inputs = \"models\"\ninputs_visible = \"own\"",
            4,
            &["own", "all", "instance"],
        ),
    ]);
}

#[test]
fn mistakes_in_entries_are_refused_with_allowed_values() {
    assert_refused(&[
        ("entry = \"LoLA\"", "entry = \"../LoLA\"", 7, &["../LoLA", "must begin with a letter"]),
        ("entry = \"LoLA\"", "entry = \"Lo LA\"", 7, &["allowed are letters, digits"]),
        ("entry = \"ITS-Tools.L\"", "entry = \"LoLA\"", 13, &["twice"]),
        ("kind = \"concurrent\"", "kind = \"parallel\"", 15, &["parallel", "sequential", "concurrent"]),
        ("kind = \"sequential\"\n", "", 6, &["missing field", "kind"]),
        ("channel = \"agent\"", "channel = \"serial\"", 16, &["serial", "agent", "ssh"]),
        ("channel = \"agent\"", "channel = \"ssh\"", 16, &["needs ssh_key", "private key"]),
        ("channel = \"agent\"", "channel = \"ssh\"\nssh_key = \"key\"", 17, &["no file", "key"]),
        (
            "channel = \"agent\"",
            "disk = \"ide\"",
            16,
            &["disk is valid for original disks", "channel = \"ssh\""],
        ),
        (
            "not_competing = [\"State*\"]",
            "not_competing = [\"Stat\"]",
            10,
            &["\"Stat\" matches no examination"],
        ),
    ]);
}

#[test]
fn mistakes_in_limits_and_hosts_are_refused() {
    assert_refused(&[
        ("channel = \"agent\"", "[limits]\nwall_s = 0", 17, &["wall_s = 0", "from 1 to"]),
        (
            "channel = \"agent\"",
            "[limits]\ncpu_reading = \"sum\"",
            17,
            &["sum", "per-vcpu", "summed", "benchkit"],
        ),
        ("channel = \"agent\"", "[hosts]\njobs = 0", 17, &["jobs = 0", "1 or more"]),
        (
            "channel = \"agent\"",
            "[hosts]\nworkers = 2",
            17,
            &["workers", "jobs", "retries", "boot_deadline_s"],
        ),
    ]);
}

#[test]
fn a_campaign_without_tools_file_or_instances_is_refused() {
    let folder = Folder::new(&["A-PT-2"], "edition = \"mcc-2018\"\ninputs = \"models\"\n");
    assert!(folder.refusal(&[]).contains("no [[tool]]"));
    let folder = Folder::new(&[], CAMPAIGN);
    assert!(folder.refusal(&[]).contains("holds no instance archive"));
    let missing = folder.0.path().join("other.toml");
    plan(&missing, &[]).code(2).stderr(predicates::str::contains("other.toml"));
    let folder = Folder::new(&["A-PT-2"], &CAMPAIGN.replace("mcc-2018", "mcc-1999"));
    assert!(folder.refusal(&[]).contains("mcc-2018"), "known editions are named");
}

#[test]
fn an_archive_with_a_wrong_number_of_properties_is_refused() {
    let folder = Folder::new(&["A-PT-2"], CAMPAIGN);
    let models = folder.0.path().join("models");
    archive_with_properties(&models, "B-PT-1", Some(17));
    let refusal = folder.refusal(&[]);
    assert!(refusal.contains("B-PT-1.tgz: UpperBounds.xml has 17 properties"), "{refusal}");
    archive_with_properties(&models, "B-PT-1", None);
    let refusal = folder.refusal(&[]);
    assert!(refusal.contains("B-PT-1.tgz has no UpperBounds.xml; add it"), "{refusal}");
}

mod facts {
    use super::*;
    use mcc_harness::campaign::{Campaign, InstanceFacts};
    use mcc_harness::edition::Edition;
    use mcc_harness::store::CampaignFacts;

    /// The edition 2017 has all three statuses.
    fn facts(folder: &Folder) -> Vec<InstanceFacts> {
        let campaign = Campaign::load(&folder.campaign()).unwrap();
        campaign.instance_facts(&Edition::load("mcc-2017").unwrap()).unwrap()
    }

    #[test]
    fn family_and_status_come_from_name_and_marker_unless_given() {
        let written = "[[model]]\ninstance = \"B-PT-1\"\nfamily = \"Bees\"\nstatus = \"stripped\"\n";
        let folder = Folder::new(&["A-PT-2", "Surprise-COL-9", "B-PT-1"], &format!("{CAMPAIGN}{written}"));
        let facts: Vec<_> =
            facts(&folder).into_iter().map(|f| (f.name.to_string(), f.family, f.status)).collect();
        let expected = [
            ("A-PT-2", "A", "known"),
            ("B-PT-1", "Bees", "stripped"),
            ("Surprise-COL-9", "Surprise", "surprise"),
        ];
        assert_eq!(facts, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
    }

    #[test]
    fn a_table_of_models_is_read_and_its_faults_have_a_line() {
        let campaign = CAMPAIGN.replace("inputs", "models = \"year.csv\"\ninputs");
        let folder = Folder::new(&["A-PT-2"], &campaign);
        let table = folder.0.path().join("year.csv");
        fs::write(&table, "status,note,instance,family\nsurprise,x,A-PT-2,Ants\nknown,,Z-PT-1,Z\n").unwrap();
        assert_eq!(facts(&folder)[0].family, "Ants");
        assert_eq!(facts(&folder)[0].status, "surprise");
        fs::write(&table, "instance,family,status\nA-PT-2,Ants,known\nZ-PT-1,Z,odd\n").unwrap();
        assert!(
            folder.refusal(&[]).contains("year.csv:3: status \"odd\"; edition mcc-2018 has known, surprise")
        );
        fs::write(&table, "instance,status\nA-PT-2,known\n").unwrap();
        assert!(folder.refusal(&[]).contains("no column `family`"));
        fs::write(&table, "instance,family,status\nA-PT-2,Ants\n").unwrap();
        assert!(folder.refusal(&[]).contains("year.csv:2: not a CSV table"));
    }

    #[test]
    fn settings_depend_on_tools_but_not_on_jobs() {
        let load =
            |text: &str| Campaign::load(&Folder::new(&["A-PT-2"], text).campaign()).unwrap().settings();
        assert_eq!(load(CAMPAIGN), load(&format!("# a remark\n{CAMPAIGN}[hosts]\njobs = 7\n")));
        assert_ne!(load(CAMPAIGN), load(&CAMPAIGN.replace("State*", "Upper*")));
    }

    #[test]
    fn a_qualification_does_not_lengthen_the_runs_of_an_edition() {
        let limits = "[limits]\ncpu_s = 30\nwall_s = 40\nconfinement_s = 30\n";
        let edition = format!("base = \"mcc-2018\"\nname = \"short\"\n{limits}");
        let edition = Edition::parse(&edition, "short.toml").unwrap();
        let folder = Folder::new(&["A-PT-2"], &format!("phase = \"qualification\"\n{CAMPAIGN}"));
        let campaign = Campaign::load(&folder.campaign()).unwrap();
        assert_eq!(campaign.effective(&edition).limits, edition.limits);
        let contest = Edition::load("mcc-2018").unwrap();
        let limits = campaign.effective(&contest).limits;
        assert_eq!([limits.confinement_s, limits.cpu_s, limits.wall_s], [60, 60, 75]);
    }

    #[test]
    fn the_record_keeps_the_edition_with_the_campaigns_limits() {
        let folder = Folder::new(&["A-PT-2"], &format!("{CAMPAIGN}[limits]\nwall_s = 7\n"));
        let campaign = Campaign::load(&folder.campaign()).unwrap();
        let effective = campaign.effective(&Edition::load("mcc-2018").unwrap());
        let kept = CampaignFacts::new(&campaign, &effective, facts(&folder), vec![]);
        let edition: Edition = serde_json::from_str(&kept.edition).unwrap();
        assert_eq!(edition, effective);
        assert_eq!(edition.limits.wall_s, 7);
        let entries: Vec<_> = kept.entries.iter().map(|e| (e.entry.as_str(), e.tool.as_str())).collect();
        assert_eq!(entries, [("LoLA", "LoLA"), ("ITS-Tools.L", "ITS-Tools")]);
    }

    #[test]
    fn real_archives_give_sixteen_ids_per_formula_examination() {
        let Some(inputs) = data::shared("mcc/inputs") else { return };
        let text = format!(
            "edition = \"mcc-2018\"\ninputs = \"{}\"\ninstances = [\"Philosophers-PT-*\", \"TokenRing-*-005\"]\n\
             [[tool]]\nentry = \"X\"\nimage = \"x\"\nkind = \"sequential\"\n",
            inputs.canonicalize().unwrap().display()
        );
        let facts = facts(&Folder::new(&[], &text));
        assert!(facts.iter().any(|instance| instance.name == "Philosophers-PT-000005"));
        for instance in &facts {
            assert_eq!(instance.questions.len(), 9, "{}", instance.name);
            for (examination, ids) in &instance.questions {
                let expected = match examination.as_str() {
                    "StateSpace" => 4,
                    "ReachabilityDeadlock" => 1,
                    _ => 16,
                };
                assert_eq!(ids.len(), expected, "{} {examination}", instance.name);
            }
            assert_eq!(instance.sha256.len(), 64);
        }
    }
}

#[test]
fn features_without_libvirt_support_are_refused_with_a_line() {
    let campaign = |start: &str, channel: &str| {
        format!(
            "edition = \"mcc-2018\"\ninputs = \"models\"\nexaminations = [\"UpperBounds\"]\nstart = \"{start}\"\n[[tool]]\nentry = \"a\"\n\
             image = \"a\"\nkind = \"sequential\"\n{channel}\n[hosts]\nbackend = \"libvirt\"\n"
        )
    };
    let folder = |campaign: String| Folder::new(&["Net-PT-1"], &campaign);
    folder(campaign("boot", "")).plan(&[]).success();
    let said = folder(campaign("restore", "")).refusal(&[]);
    assert!(said.contains("campaign.toml:4: start = \"restore\" needs the default backend"), "{said}");
    let ssh = folder(campaign("boot", "channel = \"ssh\"\nssh_key = \"campaign.toml\"")).refusal(&[]);
    assert!(ssh.contains("campaign.toml:9: channel = \"ssh\" needs the default backend"), "{ssh}");
}

#[test]
fn an_original_disk_gets_no_disk_of_its_instance_before_its_limits_apply() {
    let campaign = "edition = \"mcc-2018\"\ninputs = \"models\"\nexaminations = [\"UpperBounds\"]\n\
                    inputs_visible = \"instance\"\n[[tool]]\nentry = \"a\"\nimage = \"a\"\nkind = \"sequential\"\n\
                    channel = \"ssh\"\nssh_key = \"campaign.toml\"\n";
    let said = Folder::new(&["Net-PT-1"], campaign).refusal(&[]);
    assert!(
        said.contains("campaign.toml:4: inputs_visible = \"instance\": programs on the original disk of a"),
        "{said}"
    );
}
