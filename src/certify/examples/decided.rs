//! Counts which values of some instances are decided, and by what: one line of CSV for each instance and examination.
//!
//!     cargo run --release -p mcc-certify --example decided -- --budget-s 10 --memory-mib 2048 --year 2018 FOLDER

use clap::Parser;
use mcc_certify::{Budget, Known, certify};
use mcc_model::Archive;
use nix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const EXAMINATIONS: [&str; 13] = [
    "StateSpace",
    "UpperBounds",
    "ReachabilityDeadlock",
    "ReachabilityCardinality",
    "ReachabilityFireability",
    "CTLCardinality",
    "CTLFireability",
    "LTLCardinality",
    "LTLFireability",
    "OneSafe",
    "StableMarking",
    "QuasiLiveness",
    "Liveness",
];

#[derive(Parser)]
struct Args {
    /// Seconds for each examination; those of an instance share their time.
    #[arg(long)]
    budget_s: u64,
    /// Millions of steps for each examination.
    #[arg(long)]
    budget_msteps: Option<u64>,
    /// Memory for each instance.
    #[arg(long)]
    memory_mib: u64,
    /// The examinations of this year: nine until 2019, thirteen later.
    #[arg(long)]
    year: u16,
    /// Only this examination, which then has all time and memory of an instance.
    #[arg(long)]
    only: Option<String>,
    /// Also prints each open value with the reason.
    #[arg(long)]
    open: bool,
    /// Archives of instances.
    archives: Vec<PathBuf>,
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    let examinations = if args.year < 2020 { &EXAMINATIONS[..9] } else { &EXAMINATIONS[..] };
    let only = args.only.as_deref().map(|name| [name]);
    let examinations = only.as_ref().map_or(examinations, |only| &only[..]);
    println!("instance,examination,values,witness,proof,re-explored,explored,open,seconds");
    // Formulas are processed recursively.
    let work = || -> Result<(), String> {
        for path in &args.archives {
            let archive = match Archive::open(path) {
                Ok(archive) => archive,
                Err(error) => {
                    eprintln!("{error}");
                    continue;
                }
            };
            let budget = Budget {
                steps: args
                    .budget_msteps
                    .map_or(u64::MAX, |steps| steps * 1_000_000 * examinations.len() as u64),
                time: Duration::from_secs(args.budget_s * examinations.len() as u64),
                memory_bytes: args.memory_mib << 20,
                cancel: &AtomicBool::new(false),
            };
            let start = cpu_time();
            let findings = certify(&archive, examinations, &budget)
                .map_err(|error| format!("{}: {error}", path.display()));
            let findings = match findings {
                Ok(findings) => findings,
                Err(error) => {
                    eprintln!("{error}");
                    continue;
                }
            };
            let seconds = cpu_time().saturating_sub(start).as_secs_f64();
            for examination in examinations {
                let (mut all, mut witness, mut proof, mut again, mut explored, mut open) = (0, 0, 0, 0, 0, 0);
                for finding in findings.iter().filter(|finding| finding.examination == *examination) {
                    all += 1;
                    match &finding.known {
                        Known::Exactly(_, accepted) if accepted.certificate.is_some() => proof += 1,
                        Known::Exactly(_, accepted) if accepted.re_explored.is_some() => again += 1,
                        Known::Exactly(_, accepted) if accepted.explored.is_some() => explored += 1,
                        Known::Exactly(..) => witness += 1,
                        Known::AtLeast(..) | Known::Open(_) => open += 1,
                    }
                    if args.open && !matches!(finding.known, Known::Exactly(..)) {
                        let reason = match &finding.known {
                            Known::Open(reason) => reason.clone(),
                            known => format!("{known:?}").chars().take(20).collect(),
                        };
                        eprintln!("open {} {} {reason}", finding.examination, finding.id);
                    }
                }
                println!(
                    "{},{examination},{all},{witness},{proof},{again},{explored},{open},{seconds:.1}",
                    archive.instance
                );
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, work)?;
        thread.join().map_err(|_| "a panic")?.map_err(Into::into)
    })
}
