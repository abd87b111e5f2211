//! What a tool costs that writes to memory, in a machine that boots and in a restored one: each page that it is the first to
//! touch must be copied there.

use super::disturbed::one_run;
use super::{MachineSetup, median};
use mcc_harness::vm::{MachineSpec, SavedStates, Start};
use std::time::Duration;

/// The size of the text that is made, in MiB. Perl writes to up to twice this memory.
const WRITTEN_MIB: [u64; 3] = [0, 1024, 3072];

pub fn cost(setup: &MachineSetup, rounds: usize) {
    let image = MachineSetup::image("reference");
    let boots = MachineSpec { memory_mib: 8192, read_only_disks: vec![], ..setup.spec(&image) };
    let states = SavedStates::new(setup.folder.to_owned());
    println!("-- CPU time of a tool that writes to memory ({rounds} rounds, medians)");
    for written in WRITTEN_MIB {
        let script =
            format!("exec perl -e 'my $all = \"x\" x ({written} << 20); for (1 .. 20_000_000) {{}}'");
        let mut times = [vec![], vec![]];
        for _ in 0..rounds {
            let saved = states.get_or_boot(&boots, "", Duration::from_secs(300)).expect("the machine boots");
            let restored = MachineSpec { start: Start::Restore(saved), ..boots.clone() };
            for (machine, times) in [&boots, &restored].into_iter().zip(&mut times) {
                let facts = one_run(setup, machine, &script).facts.expect("the tool ran");
                times.push(Duration::from_millis(facts.cpu_ms));
            }
        }
        let [booted, restored] = times.map(median);
        println!(
            "{written:>6} MiB   booted {:>6} ms   restored {:>6} ms   {:>6.3}",
            booted.as_millis(),
            restored.as_millis(),
            restored.as_secs_f64() / booted.as_secs_f64()
        );
    }
}
