//! CPU flags of a guest's processor from its CPUID leaves, with the names of Linux.

use std::collections::BTreeSet;

/// The leaves that the boot sector reads, in this order.
pub const LEAVES: [u32; 4] = [1, 0x8000_0001, 0xd, 6];

/// Length of an answer: eax, ebx, ecx, edx of each leaf, little-endian.
pub const BYTES: usize = LEAVES.len() * 16;

const EAX: usize = 0;
const ECX: usize = 2;
const EDX: usize = 3;

/// Flag, index of its leaf in `LEAVES`, register, bit.
const FLAGS: &[(&str, usize, usize, u32)] = &[
    ("vme", 0, EDX, 1),
    ("de", 0, EDX, 2),
    ("pse", 0, EDX, 3),
    ("tsc", 0, EDX, 4),
    ("msr", 0, EDX, 5),
    ("pae", 0, EDX, 6),
    ("mce", 0, EDX, 7),
    ("cx8", 0, EDX, 8),
    ("apic", 0, EDX, 9),
    ("sep", 0, EDX, 11),
    ("mtrr", 0, EDX, 12),
    ("pge", 0, EDX, 13),
    ("mca", 0, EDX, 14),
    ("cmov", 0, EDX, 15),
    ("pat", 0, EDX, 16),
    ("pse36", 0, EDX, 17),
    ("clflush", 0, EDX, 19),
    ("mmx", 0, EDX, 23),
    ("fxsr", 0, EDX, 24),
    ("sse", 0, EDX, 25),
    ("sse2", 0, EDX, 26),
    ("pni", 0, ECX, 0),
    ("pclmulqdq", 0, ECX, 1),
    ("ssse3", 0, ECX, 9),
    ("cx16", 0, ECX, 13),
    ("sse4_1", 0, ECX, 19),
    ("sse4_2", 0, ECX, 20),
    ("x2apic", 0, ECX, 21),
    ("popcnt", 0, ECX, 23),
    ("tsc_deadline_timer", 0, ECX, 24),
    ("aes", 0, ECX, 25),
    ("xsave", 0, ECX, 26),
    ("avx", 0, ECX, 28),
    ("hypervisor", 0, ECX, 31),
    ("syscall", 1, EDX, 11),
    ("nx", 1, EDX, 20),
    ("rdtscp", 1, EDX, 27),
    ("lm", 1, EDX, 29),
    ("lahf_lm", 1, ECX, 0),
    ("xsaveopt", 2, EAX, 0),
    ("arat", 3, EAX, 2),
];

/// Returns the flags in an answer; None if it does not have `BYTES` bytes.
pub fn flags(answer: &[u8]) -> Option<BTreeSet<&'static str>> {
    let answer: &[u8; BYTES] = answer.try_into().ok()?;
    let register = |leaf: usize, register: usize| {
        let at = leaf * 16 + register * 4;
        u32::from_le_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]])
    };
    let is_set = |&&(_, leaf, name, bit): &&(&str, usize, usize, u32)| register(leaf, name) >> bit & 1 == 1;
    let mut flags: BTreeSet<&str> = FLAGS.iter().filter(is_set).map(|(flag, ..)| *flag).collect();
    // Every 64-bit processor has it: Linux sets the flag without a test.
    if flags.contains("lm") {
        flags.insert("nopl");
    }
    Some(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_that_an_edition_requires_can_be_detected() {
        let all = flags(&[0xff; BYTES]).unwrap();
        let required = mcc_edition::Edition::load("mcc-2018").unwrap().machine.cpu_flags;
        assert_eq!(required.missing(&all.into_iter().collect::<Vec<_>>()), [""; 0]);
        assert_eq!(flags(&[0; BYTES]).unwrap(), BTreeSet::new());
        assert_eq!(flags(&[0; BYTES - 1]), None);
    }
}
