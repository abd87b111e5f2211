//! Pages of a judgement with certified values.

use crate::support::contest;
use crate::support::site_data::{site, text};

use mcc_harness::campaign::benchkit::Value;
use mcc_harness::judge::certified::{Certified, CertifiedValue, Method};
use mcc_harness::judge::judgement::InputDigest;

#[test]
fn a_certified_value_beside_inf_is_not_said_to_be_without_evidence() {
    let mut judgement = contest::small();
    judgement.inputs.push(InputDigest { file: "certified.csv".into(), sha256: "0".repeat(64) });
    let block = &mut judgement.blocks[0];
    block.trusted[0].value = Some(Value::Overflow);
    block.trusted[0].certified = Some(Box::new(Certified {
        method: Method::Witness,
        value: CertifiedValue::Exactly(Value::Infinite),
        evidence: String::new(),
        detail: "firing sequence of 8 transitions".into(),
    }));
    let instance = judgement.instances[block.instance].instance.clone();
    let (_dir, site) = site(&judgement);
    assert!(
        text(site.join("evidence.html"))
            .contains("Not in these columns: 1 certified value beside a published Inf")
    );
    let shown = text(site.join(format!("instances/{instance}.js")));
    for words in [
        "Inf (infinite, or a number too large to be written)",
        "inf by a witness; Inf may differ",
        "Certified: no, because Inf can be this value or another one; the value is inf by a witness",
    ] {
        assert!(shown.contains(words), "{words}");
    }
}
