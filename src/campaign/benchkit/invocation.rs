//! The invocation of a tool by BenchKit: user, folders, environment.

use mcc_base::guest::{Job, Mount, Unpack};
use std::collections::BTreeMap;

const HOME: &str = "/home/mcc";
const BENCHKIT: &str = "/home/mcc/BenchKit";

/// The parameters of a run of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation<'a> {
    /// Name of the tool (BK_TOOL).
    pub tool: &'a str,
    /// Name of the instance (BK_INPUT).
    pub instance: &'a str,
    /// Name of the examination (BK_EXAMINATION).
    pub examination: &'a str,
    /// BK_TIME_CONFINEMENT, in seconds.
    pub confinement_s: u64,
    /// BK_MEMORY_CONFINEMENT, in MiB.
    pub memory_mib: u64,
    /// Memory of the guest that the tool cannot use, in MiB.
    pub memory_reserve_mib: u64,
    /// Whether the tool runs on its original disk, which mounts the inputs and sets the environment of the user itself.
    pub original: bool,
    /// Whether the files of evidence in the folder BK_RESULT_DIR are kept.
    pub keeps_evidence: bool,
}

impl Invocation<'_> {
    /// The job for the guest: unpacks the instance into the folder `execution` and runs `BenchKit_head.sh` there without
    /// arguments. `clock_ns` is the time since 1970 in nanoseconds, `seed` 32 bytes in hexadecimal.
    pub fn job(&self, nonce: String, clock_ns: u64, seed: String) -> Job {
        let execution = format!("{BENCHKIT}/execution");
        let results = format!("{BENCHKIT}/results");
        let inputs =
            Mount { device: "/dev/vdb".to_owned(), at: format!("{BENCHKIT}/INPUTS"), fs: "ext4".to_owned() };
        Job {
            nonce,
            clock_ns,
            seed,
            mounts: if self.original { vec![] } else { vec![inputs] },
            user: "mcc".to_owned(),
            empty_folders: vec![execution.clone(), results.clone()],
            unpack: Some(Unpack {
                archive: format!("{BENCHKIT}/INPUTS/{}.tgz", self.instance),
                to: execution.clone(),
            }),
            evidence_folder: self.keeps_evidence.then(|| results.clone()),
            env: self.environment(results),
            cwd: execution,
            // As in BenchKit; bash also runs a script without a `#!` line.
            command: ["/bin/bash", "-c", &format!("{BENCHKIT}/BenchKit_head.sh")].map(str::to_owned).to_vec(),
            memory_reserve_kib: self.memory_reserve_mib.saturating_mul(1024),
        }
    }

    fn environment(&self, results: String) -> BTreeMap<String, String> {
        let bin = format!("{BENCHKIT}/bin/");
        let user_environment = [
            ("HOME", HOME),
            ("USER", "mcc"),
            ("LOGNAME", "mcc"),
            ("SHELL", "/bin/bash"),
            ("LANG", "C.UTF-8"),
            ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"),
        ];
        let contest = [
            ("BK_TOOL", self.tool.to_owned()),
            ("BK_INPUT", self.instance.to_owned()),
            ("BK_EXAMINATION", self.examination.to_owned()),
            ("BK_TIME_CONFINEMENT", self.confinement_s.to_string()),
            ("BK_MEMORY_CONFINEMENT", self.memory_mib.to_string()),
            ("BK_RESULT_DIR", results),
            // The name of this folder in 2017 and the later one.
            ("BIN_DIR", bin.clone()),
            ("BK_BIN_PATH", bin),
        ];
        let user_environment = user_environment.into_iter().filter(|_| !self.original);
        let user_environment = user_environment.map(|(name, value)| (name, value.to_owned()));
        user_environment.chain(contest).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
