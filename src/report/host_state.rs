//! The state of the host of a run, as rows of its page.

use super::show::{self, visible};
use mcc_base::setting_in_words;
use mcc_base::{HostLoad, HostState};
use std::collections::BTreeMap;

/// Name and text of each row. Records of older versions have no state.
pub fn rows(state: Option<&HostState>) -> Vec<(&'static str, String)> {
    let Some(state) = state else {
        return vec![("Settings of the host", "unknown: the record does not have them".to_owned())];
    };
    let mut rows = vec![("Settings of the host", named(&state.settings))];
    if !state.changed.is_empty() {
        rows.push(("Settings of the host after the run, where different", named(&state.changed)));
    }
    if let Some(load) = &state.load {
        rows.push(("Load of the host during the run", load_text(load)));
    }
    if let Some([before, after]) = state.machines_on_socket {
        rows.push((
            "Other machines on the same socket",
            format!("{before} before the run, {after} after it"),
        ));
    }
    if !state.unknown.is_empty() {
        let names: Vec<String> = state.unknown.iter().map(|name| visible(name)).collect();
        rows.push(("Unknown on this host", names.join(", ")));
    }
    if !state.disturbed.is_empty() {
        let reasons: Vec<String> = state.disturbed.iter().map(|reason| visible(reason)).collect();
        rows.push(("Disturbed", reasons.join("; ")));
    }
    rows
}

fn named(settings: &BTreeMap<String, String>) -> String {
    let texts = settings
        .iter()
        .map(|(name, value)| format!("{}: {}", visible(name), visible(setting_in_words(value))));
    texts.collect::<Vec<_>>().join("; ")
}

fn load_text(load: &HostLoad) -> String {
    let times = [
        ("vCPUs waited for a CPU", load.starved_ms),
        ("time taken by the hypervisor below the host (steal)", load.steal_ms),
        ("CPU time of other programs on the cores of this machine", load.foreign_ms),
        ("its part in user mode, by a less exact clock", load.foreign_user_ms),
        ("some program waited for a CPU", load.cpu_pressure_ms),
        ("some program waited for memory", load.memory_pressure_ms),
        ("some program waited for a disk", load.io_pressure_ms),
    ];
    let times = times.into_iter().filter_map(|(name, ms)| Some(format!("{name}: {}", show::duration(ms?))));
    let mut texts: Vec<String> = times.collect();
    texts.extend(load.throttled.map(|count| format!("slowed because of their temperature: {count} times")));
    texts.extend(load.swap_used_kib.map(|[_, used]| format!("swap in use: {}", show::kib(used))));
    let calibration = load.calibration.clone().unwrap_or_default();
    let speeds =
        [("before", calibration.before), ("during", calibration.during), ("after", calibration.after)];
    texts.extend(speeds.into_iter().filter_map(|(when, per_mille)| {
        let per_mille = per_mille?;
        Some(format!(
            "the test computation {when} the run took {}.{:03} times its shortest time on this host",
            per_mille / 1000,
            per_mille % 1000
        ))
    }));
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_base::Calibration;

    #[test]
    fn the_state_of_a_host_is_shown_and_unknown_stays_unknown() {
        assert_eq!(
            rows(None),
            [("Settings of the host", "unknown: the record does not have them".to_owned())]
        );
        let load = HostLoad {
            wall_ms: 9000,
            starved_ms: Some(2500),
            swap_used_kib: Some([0, 1024]),
            calibration: Some(Calibration { before: Some(1042), ..Calibration::default() }),
            ..HostLoad::default()
        };
        let state = HostState {
            settings: [("SMT", "notsupported"), ("governor", "perf\u{202e}ormance")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            changed: [("turbo".to_owned(), "off".to_owned())].into(),
            unknown: ["microcode".to_owned()].into(),
            machines_on_socket: Some([0, 2]),
            load: Some(load),
            disturbed: vec!["vCPUs waited".to_owned()],
        };
        let texts: Vec<String> = rows(Some(&state)).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts[0], "SMT: not supported; governor: perf⟨U+202E⟩ormance");
        assert_eq!(texts[1], "turbo: off");
        assert!(
            texts[2].starts_with("vCPUs waited for a CPU: ") && !texts[2].contains("steal"),
            "{}",
            texts[2]
        );
        assert!(
            texts[2].ends_with(
                "the test computation before the run took 1.042 times its shortest time on this host"
            ),
            "{}",
            texts[2]
        );
        assert_eq!(texts[3..], ["0 before the run, 2 after it", "microcode", "vCPUs waited"]);
    }
}
