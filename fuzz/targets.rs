//! The fuzz targets: readers of untrusted input. Each accepts any bytes, and panics only if a promise is broken.
//! `tests/models/fuzz_corpus.rs` runs the committed corpus through the same functions.

#[path = "targets/contest_input.rs"]
mod contest_input;
#[path = "targets/machine_input.rs"]
mod machine_input;
#[path = "targets/proof_input.rs"]
mod proof_input;
#[path = "targets/record_input.rs"]
mod record_input;

pub use contest_input::{
    answers, benchexec, edition, jobs, measurements, pnml, properties, scores, table, total,
};
pub use machine_input::{container, evidence, guest, leases, qmp};
pub use proof_input::{certificate, scn, smpt, witness};
pub use record_input::{archive, database, publication, record, shard};

/// The name of a target and of its corpus, and the function that reads the bytes.
type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 24] = [
    ("answers", answers),
    ("table", table),
    ("pnml", pnml),
    ("properties", properties),
    ("edition", edition),
    ("jobs", jobs),
    ("benchexec", benchexec),
    ("scores", scores),
    ("measurements", measurements),
    ("guest", guest),
    ("qmp", qmp),
    ("leases", leases),
    ("record", record),
    ("archive", archive),
    ("container", container),
    ("witness", witness),
    ("certificate", certificate),
    ("scn", scn),
    ("smpt", smpt),
    ("total", total),
    ("database", database),
    ("shard", shard),
    ("publication", publication),
    ("evidence", evidence),
];
