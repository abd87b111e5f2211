//! What the contest distributes is read as it is.

mod data;

use mcc_harness::model::{Net, NetKind, Property};
use std::io::{BufReader, Read};

#[test]
fn every_net_of_the_contest_has_the_places_transitions_and_arcs_of_the_manifest() {
    let Some(folder) = data::shared("mcc/inputs") else { return };
    let mut manifest = csv::Reader::from_path(folder.join("MANIFEST.csv")).unwrap();
    let header = manifest.headers().unwrap().clone();
    let mut read = 0;
    for row in manifest.records() {
        let row = row.unwrap();
        let column = |name: &str| row.get(header.iter().position(|h| h == name).unwrap()).unwrap();
        let instance = column("instance");
        let archive = std::fs::File::open(folder.join(format!("{instance}.tgz"))).unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive));
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            if path.ends_with("/model.pnml") {
                let net = Net::read(BufReader::new(entry), &path).unwrap();
                let arcs: usize = net.transitions.iter().map(|t| t.inputs.len() + t.outputs.len()).sum();
                if !instance.starts_with("RefineWMG") {
                    assert_eq!(net.id, instance);
                }
                assert_eq!((net.kind == NetKind::Coloured), column("coloured") == "yes", "{instance}");
                assert_eq!(net.places.len().to_string(), column("places"), "{instance}");
                assert_eq!(net.transitions.len().to_string(), column("transitions"), "{instance}");
                assert_eq!(arcs.to_string(), column("arcs"), "{instance}");
                if net.kind == NetKind::PlaceTransition {
                    let sum: u64 = net.places.iter().map(|p| p.initial).sum();
                    let arcs = net.transitions.iter().flat_map(|t| t.inputs.iter().chain(&t.outputs));
                    assert_eq!(sum.to_string(), column("sum_initial_tokens"), "{instance}");
                    let weight = arcs.map(|arc| arc.weight).max().unwrap();
                    assert_eq!(weight.to_string(), column("max_arc_weight"), "{instance}");
                }
                read += 1;
            } else if path.ends_with(".xml") && !path.contains("GenericProperties") {
                let mut text = String::new();
                entry.read_to_string(&mut text).unwrap();
                let count = Property::read_set(&text, &path).unwrap().len();
                assert_eq!(count, if path.ends_with("Deadlock.xml") { 1 } else { 16 }, "{path}");
            }
        }
    }
    assert_eq!(read, 48);
}
