//! Generates a campaign of any number of runs: ten entries, nine examinations, eleven instances per model.

use mcc_harness::base::names::ExaminationName;
use mcc_harness::campaign::{Campaign, History, InstanceFacts, Plan};
use mcc_harness::cluster::{Cluster, ClusterFacts, FORMAT, ModelDemand};
use mcc_harness::edition::Edition;
use mcc_harness::store::{CampaignFacts, Record};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub const ENTRIES: u64 = 10;
const EXAMINATIONS: u64 = 9;
const INSTANCES_OF_A_MODEL: u64 = 11;

pub struct GeneratedCampaign {
    pub campaign: Campaign,
    pub edition: Edition,
    pub facts: CampaignFacts,
}

impl GeneratedCampaign {
    /// A campaign of at least `runs` runs; its campaign.toml is written to `place`. With `models` it has about that many
    /// models, with the same number of instances each.
    pub fn new(place: &Path, runs: u64, models: Option<u64>) -> Self {
        let file = place.join("campaign.toml");
        // The folder has no archives: the facts of the instances are generated.
        fs::create_dir_all(place.join("models")).unwrap();
        let mut text = "edition = \"mcc-2018\"\ninputs = \"models\"\n[hosts]\nretries = 2\n".to_owned();
        for n in 0..ENTRIES {
            text += &format!("[[tool]]\nentry = \"tool{n}\"\nimage = \"tool{n}\"\nkind = \"sequential\"\n");
        }
        fs::write(&file, text).unwrap();
        let campaign = Campaign::load(&file).unwrap();
        let edition = campaign.effective(&Edition::load("mcc-2018").unwrap());
        let instances = runs.div_ceil(ENTRIES * EXAMINATIONS);
        let of_a_model = models.map_or(INSTANCES_OF_A_MODEL, |models| (instances / models).max(1));
        let instances = (0..instances).map(|n| instance(n, of_a_model, &edition)).collect();
        let facts = CampaignFacts::new(&campaign, &edition, instances, vec![]);
        Self { campaign, edition, facts }
    }

    pub fn plan(&self) -> Plan {
        Plan::new(&self.campaign, &self.edition, &self.facts.instances).unwrap()
    }

    /// Submits the campaign of `place`: creates its shared record with every run planned, and the cluster's files.
    pub fn submit(&self, place: &Path, id: &str) -> (Record, Cluster) {
        let results = place.join("results");
        let (record, plan) = (Record::create_or_open_shared(&results, &self.facts).unwrap(), self.plan());
        record.plan_runs(plan.runs()).unwrap();
        let facts = ClusterFacts {
            format: FORMAT,
            id: id.to_owned(),
            campaign: place.join("campaign.toml"),
            allow_degraded: false,
            longest_run_s: plan.longest_run_s,
            settings: self.campaign.cluster.clone(),
            history: vec![],
            released: vec![],
            needs: ModelDemand::of_runs(
                plan.runs(),
                plan.longest_run_s,
                16_384,
                &self.campaign.cluster,
                &History::default(),
            ),
        };
        (record, Cluster::create(&results, facts).unwrap())
    }
}

/// The facts of an instance, with as many property ids as a real one.
fn instance(n: u64, of_a_model: u64, edition: &Edition) -> InstanceFacts {
    let family = format!("Synthetic{:04}", n / of_a_model);
    let name = format!("{family}-PT-{:04}", n % of_a_model);
    let ids = |examination: &str| -> Vec<String> {
        (0..16).map(|at| format!("{name}-{examination}-{at:02}")).collect()
    };
    let questions: BTreeMap<ExaminationName, Vec<String>> = edition
        .examinations
        .iter()
        .filter(|known| !["StateSpace", "ReachabilityDeadlock"].contains(&known.name.as_str()))
        .map(|known| (known.name.parse().unwrap(), ids(&known.name)))
        .collect();
    let name = name.parse().unwrap();
    InstanceFacts { name, family, status: "known".to_owned(), sha256: "0".repeat(64), questions }
}
