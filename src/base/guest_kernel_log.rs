//! Lines of the guest's kernel log that explain how a tool ended: kills for lack of memory, faults.

/// The largest number of lines that are kept of a run.
pub const MAX_LINES: usize = 20;
/// The largest number of characters that are kept of a line.
const MAX_CHARS: usize = 300;

/// A line that contains one of these is kept.
const RELEVANT_PARTS: [&str; 7] = [
    "oom-kill:",
    "Out of memory",
    "Memory cgroup out of memory",
    " segfault at ",
    "traps: ",
    "general protection",
    "EXT4-fs error",
];

/// Returns the text of a record of `/dev/kmsg` (`priority,sequence,microseconds,flags;text`) if the kernel itself wrote
/// the record and the text is relevant. The kernel gives records of programs another facility than its own.
pub fn relevant_line(record: &str) -> Option<String> {
    let (head, text) = record.split_once(';')?;
    let priority: u32 = head.split(',').next()?.parse().ok()?;
    let by_kernel = priority >> 3 == 0;
    let text = text.lines().next()?;
    let is_relevant = RELEVANT_PARTS.iter().any(|part| text.contains(part));
    (by_kernel && is_relevant).then(|| text.chars().take(MAX_CHARS).collect())
}

/// The start of the kernel's line about a kill for lack of memory. It is longer than the name of a process (15 bytes), with
/// which the line about a fault of a process starts.
const MEMORY_KILL: &str = "oom-kill:constraint=";

/// Counts the processes that the kernel killed for lack of memory, from lines of its log.
pub fn memory_kills(lines: &[String]) -> u64 {
    lines.iter().filter(|line| line.starts_with(MEMORY_KILL)).count() as u64
}

/// Whether a text of the guest's console or kernel log states that memory was exhausted.
pub fn names_exhausted_memory(text: &str) -> bool {
    ["out of memory", "Out of memory", "deadlocked on memory"].iter().any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OOM: &str =
        "6,412,9185217,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task_memcg=/job,task=tail";

    #[test]
    fn kills_for_memory_are_kept_and_counted() {
        let killed = "3,413,9185300,-;Out of memory: Killed process 61 (tail) total-vm:480000kB";
        let lines: Vec<String> = [OOM, killed].iter().filter_map(|record| relevant_line(record)).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(memory_kills(&lines), 1, "one kill, reported in two lines");
    }

    #[test]
    fn a_fault_of_a_process_with_a_forged_name_is_not_a_kill() {
        let fault =
            "6,1,2,-;oom-kill:constr[87]: segfault at 8 ip 0000000000402902 sp 00007ffdc09e0fd0 error 6";
        assert_eq!(memory_kills(&[relevant_line(fault).unwrap()]), 0);
    }

    #[test]
    fn a_panic_for_lack_of_memory_is_recognized() {
        assert!(names_exhausted_memory("Kernel panic - not syncing: System is deadlocked on memory"));
        assert!(!names_exhausted_memory("Kernel panic - not syncing: sysrq triggered crash"));
    }

    #[test]
    fn kernel_log_lines_of_programs_are_ignored() {
        // Facility 1 is that of user programs: the kernel does not let them write with facility 0.
        assert_eq!(relevant_line(&OOM.replacen("6,", "14,", 1)), None);
        assert_eq!(relevant_line("6,1,2,-;Linux version 6.1"), None);
        assert_eq!(relevant_line("no record"), None);
    }
}
