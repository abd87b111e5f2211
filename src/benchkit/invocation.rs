//! How BenchKit starts a tool (contest notes 1.6): user, folders, environment.

use mcc_base::guest::{Job, Mount, Unpack};
use std::collections::BTreeMap;

const HOME: &str = "/home/mcc";
const BENCHKIT: &str = "/home/mcc/BenchKit";

/// What one examination of one instance tells the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation<'a> {
    pub tool: &'a str,
    pub instance: &'a str,
    pub examination: &'a str,
    /// BK_TIME_CONFINEMENT, seconds.
    pub confinement_s: u64,
    /// BK_MEMORY_CONFINEMENT, MiB.
    pub memory_mib: u64,
    /// On an original disk, which mounts its inputs and makes its user's surroundings itself.
    pub original: bool,
}

impl Invocation<'_> {
    /// The job for the guest: the instance unpacked as `execution`, which is the current folder, then
    /// `BenchKit_head.sh` without arguments. `clock_ns` is the time since 1970, `seed` 32 bytes in hex.
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
            env: self.environment(results),
            cwd: execution,
            // As BenchKit does it: bash also runs a head script without a `#!` line.
            command: ["/bin/bash", "-c", &format!("{BENCHKIT}/BenchKit_head.sh")].map(str::to_owned).to_vec(),
        }
    }

    fn environment(&self, results: String) -> BTreeMap<String, String> {
        let bin = format!("{BENCHKIT}/bin/");
        let surroundings = [
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
            // 2017's name and the later one of the same folder.
            ("BIN_DIR", bin.clone()),
            ("BK_BIN_PATH", bin),
        ];
        let surroundings = surroundings.into_iter().filter(|_| !self.original);
        let surroundings = surroundings.map(|(name, value)| (name, value.to_owned()));
        surroundings.chain(contest).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
