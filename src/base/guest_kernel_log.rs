//! What the guest's kernel had to say of the tool's end: kills for memory, faults.

/// Kept of it: lines, and characters of each. A tool that crashes a thousand children fills no record.
pub const MAX_LINES: usize = 20;
const MAX_CHARS: usize = 300;

/// Parts of lines worth keeping.
const RELEVANT_PARTS: [&str; 7] = [
    "oom-kill:",
    "Out of memory",
    "Memory cgroup out of memory",
    " segfault at ",
    "traps: ",
    "general protection",
    "EXT4-fs error",
];

/// The text of a record of `/dev/kmsg` (`priority,sequence,microseconds,flags;text`), if the kernel itself wrote it
/// and it tells something. What programs write there carries another facility, which the kernel sees to.
pub fn relevant_line(record: &str) -> Option<String> {
    let (head, text) = record.split_once(';')?;
    let priority: u32 = head.split(',').next()?.parse().ok()?;
    let by_kernel = priority >> 3 == 0;
    let text = text.lines().next()?;
    let tells = RELEVANT_PARTS.iter().any(|part| text.contains(part));
    (by_kernel && tells).then(|| text.chars().take(MAX_CHARS).collect())
}

/// How many processes the kernel killed for memory, by its log.
pub fn memory_kills(lines: &[String]) -> u64 {
    lines.iter().filter(|line| line.starts_with("oom-kill:")).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const OOM: &str =
        "6,412,9185217,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task_memcg=/job,task=tail";

    #[test]
    fn the_kernels_kills_for_memory_are_kept_and_counted() {
        let killed = "3,413,9185300,-;Out of memory: Killed process 61 (tail) total-vm:480000kB";
        let lines: Vec<String> = [OOM, killed].iter().filter_map(|record| relevant_line(record)).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(memory_kills(&lines), 1, "one kill, told in two lines");
    }

    #[test]
    fn what_a_program_writes_into_the_kernels_log_counts_for_nothing() {
        // Facility 1, user: the kernel lets nobody else write as facility 0.
        assert_eq!(relevant_line(&OOM.replacen("6,", "14,", 1)), None);
        assert_eq!(relevant_line("6,1,2,-;Linux version 6.1"), None);
        assert_eq!(relevant_line("no record"), None);
    }
}
