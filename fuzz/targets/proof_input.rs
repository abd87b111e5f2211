//! Witnesses, certificates, and the proofs of other tools.

use mcc_harness::certify::{Budget, Claim, convert_proof};
use mcc_harness::checker::{Certificate, Instance, Value as Claimed, Witness, read_scn, read_trace};
use mcc_harness::model::{Archive, NodeNames};
use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The text of a file of an instance of the conformance vectors, after its name.
macro_rules! vector {
    ($instance:literal, $file:literal) => {
        ($file, include_str!(concat!("../../tests/data/evidence/instances/", $instance, "/", $file)))
    };
}

/// P/T and coloured instances for the checkers.
fn checked_instances() -> &'static [(String, Instance)] {
    static INSTANCES: OnceLock<Vec<(String, Instance)>> = OnceLock::new();
    INSTANCES.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let plain = folder.path().join("LibraryRoom-PT-R05W02.tgz");
        fs::write(&plain, include_bytes!("../../pnml-fixtures/LibraryRoom-PT-R05W02.tgz"))
            .expect("an archive");
        let write = |name: &str, files: &[(&str, &str)]| {
            let path = folder.path().join(name);
            fs::create_dir(&path).expect("a folder");
            for (file, content) in files {
                fs::write(path.join(file), content).expect("a file");
            }
            path
        };
        let coloured = write("Colours-COL-1", &[vector!("Colours-COL-1", "model.pnml")]);
        let choice = write("Choice-PT-1", &[vector!("Choice-PT-1", "model.pnml")]);
        let switch = [
            vector!("Switch-PT-1", "model.pnml"),
            vector!("Switch-PT-1", "ReachabilityCardinality.xml"),
            vector!("Switch-PT-1", "CTLCardinality.xml"),
        ];
        let switch = write("Switch-PT-1", &switch);
        let read = |path| {
            let archive = Archive::open(path).expect("an instance");
            (archive.instance.to_string(), Instance::read(&archive).expect("a net"))
        };
        [plain, coloured, choice, switch].iter().map(|path| read(path)).collect()
    })
}

/// The other truth; None for other values.
fn opposite(value: &Claimed) -> Option<Claimed> {
    match value {
        Claimed::Truth(truth) => Some(Claimed::Truth(!truth)),
        Claimed::Number(_) | Claimed::Infinite => None,
    }
}

/// A witness, or a trace of verifypn: what is accepted is accepted again from its text, and shows no value and its opposite.
pub fn witness(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = read_trace(&text);
    let Ok(witness) = Witness::read(&text) else { return };
    let again = Witness::read(&serde_json::to_string(&witness).expect("plain data")).expect("its own text");
    assert_eq!(again, witness);
    for (_, instance) in checked_instances().iter().filter(|(name, _)| *name == witness.instance) {
        if instance.check_witness(&witness).is_ok()
            && let Some(value) = opposite(&witness.value)
        {
            assert!(instance.check_witness(&Witness { value, ..witness.clone() }).is_err());
        }
    }
}

/// A certificate: as a witness.
pub fn certificate(data: &[u8]) {
    let Ok(certificate) = Certificate::read(&String::from_utf8_lossy(data)) else { return };
    let text = serde_json::to_string(&certificate).expect("plain data");
    assert_eq!(Certificate::read(&text).expect("its own text"), certificate);
    for (_, instance) in checked_instances().iter().filter(|(name, _)| *name == certificate.instance) {
        if instance.check_certificate(&certificate).is_ok()
            && let Some(value) = opposite(&certificate.value)
        {
            assert!(instance.check_certificate(&Certificate { value, ..certificate.clone() }).is_err());
        }
    }
}

/// The instance Switch-PT-1 of the conformance vectors, which is unpacked once.
pub fn switch() -> &'static Archive {
    static SWITCH: OnceLock<(tempfile::TempDir, Archive)> = OnceLock::new();
    let (_, archive) = SWITCH.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("Switch-PT-1");
        fs::create_dir(&path).expect("a folder");
        for (file, content) in
            [vector!("Switch-PT-1", "model.pnml"), vector!("Switch-PT-1", "ReachabilityCardinality.xml")]
        {
            fs::write(path.join(file), content).expect("a file");
        }
        let archive = Archive::open(&path).expect("an instance");
        (folder, archive)
    });
    archive
}

/// A firing sequence of TINA: one that is read has transitions of the net, and is read again from its names in braces.
pub fn scn(data: &[u8]) {
    static NAMES: OnceLock<NodeNames> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("Named-PT-1");
        fs::create_dir(&path).expect("a folder");
        let nodes = [("t0", "one"), ("t-1", "t2"), ("t.3", "{a}\\b"), ("t4", "same"), ("t5", "same")];
        let nodes = nodes
            .map(|(id, name)| format!("<transition id='{id}'><name><text>{name}</text></name></transition>"));
        let net = "<pnml><net id='Named-PT-1' type='ptnet'><page id='g'>NODES</page></net></pnml>";
        fs::write(path.join("model.pnml"), net.replace("NODES", &nodes.concat())).expect("a file");
        let archive = Archive::open(&path).expect("an instance");
        NodeNames::read(&archive, "transition", str::to_owned).expect("its transitions")
    });
    let Ok(run) = read_scn(&String::from_utf8_lossy(data), names) else { return };
    let written: Vec<String> = run.steps.iter().map(|step| format!("{{{}}}", step.transition)).collect();
    assert_eq!(read_scn(&written.join("\n"), names).expect("its own names").steps, run.steps);
}

/// A proof of SMPT: one that is converted gives a certificate that is accepted from its text.
pub fn smpt(data: &[u8]) {
    static INSTANCE: OnceLock<Instance> = OnceLock::new();
    let instance = INSTANCE.get_or_init(|| Instance::read(switch()).expect("a net"));
    let text = String::from_utf8_lossy(data);
    let cancel = AtomicBool::new(false);
    let budget =
        Budget { steps: u64::MAX, time: Duration::from_secs(2), memory_bytes: 1 << 28, cancel: &cancel };
    let claim = Claim { examination: "ReachabilityCardinality", property: "f3", value: true };
    let Ok(certificate) = convert_proof(switch(), &text, claim, &budget) else { return };
    let written = serde_json::to_string(&certificate).expect("plain data");
    let again = Certificate::read(&written).expect("its own text");
    instance.check_certificate(&again).expect("an accepted certificate");
}
