//! What a machine is given to do in tests and measurements.

use mcc_harness::vm::guest::Job;

/// A bash script, run by `user` in the folder `cwd`.
pub fn job(user: &str, cwd: &str, script: &str) -> Job {
    Job {
        nonce: "nonce".into(),
        clock_ns: 1_526_000_000_000_000_000,
        seed: "5a".repeat(32),
        user: user.into(),
        cwd: cwd.into(),
        command: ["/bin/bash", "-c", script].map(str::to_owned).to_vec(),
        env: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        ..Job::default()
    }
}
