//! The plugin: QEMU calls `qemu_plugin_install` when it starts, and `translated` for each block of guest code that it
//! translates. The functions of QEMU are those of version 1 of its interface (QEMU 4.2 to 8.2; *QEMU TCG Plugins* in its
//! manual).

use super::layout::{COUNTERS_ARGUMENT, LIMIT_ALL, LIMIT_USER, Limit, SHARE, Slot, file_bytes, limit_at};
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr::{null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// The version of the interface. QEMU refuses a plugin whose version it does not support any more.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 1;

/// A translated block, which only QEMU reads.
#[repr(C)]
pub struct Block {
    _private: [u8; 0],
}

/// What QEMU tells of itself, up to the last field that is used here.
#[repr(C)]
pub struct Info {
    _target_name: *const c_char,
    _oldest_version: c_int,
    _version: c_int,
    is_system: bool,
    vcpus: c_int,
}

const ADD_U64: c_int = 0;
const READS_NO_REGISTERS: c_int = 0;

unsafe extern "C" {
    fn qemu_plugin_register_vcpu_tb_trans_cb(id: u64, callback: extern "C" fn(u64, *mut Block));
    fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    fn qemu_plugin_tb_vaddr(block: *const Block) -> u64;
    fn qemu_plugin_register_vcpu_tb_exec_inline(
        block: *mut Block,
        operation: c_int,
        counter: *mut c_void,
        value: u64,
    );
    fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut Block,
        callback: extern "C" fn(c_uint, *mut c_void),
        flags: c_int,
        data: *mut c_void,
    );
    fn mmap(
        at: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn poll(fds: *mut c_void, count: u64, timeout_ms: c_int) -> c_int;
}

const READ_WRITE: c_int = 1 | 2;
const SHARED: c_int = 1;
const MAP_FAILED: usize = usize::MAX;

/// The mapped file: a slot per vCPU.
static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(null_mut());
/// The limit in it; null: there is none.
static LIMIT: AtomicPtr<Limit> = AtomicPtr::new(null_mut());
/// Whether the limit counts the kernel's instructions too.
static LIMITS_KERNEL: AtomicBool = AtomicBool::new(false);
static ONE_VCPU: AtomicBool = AtomicBool::new(false);

/// Maps the counters and registers `translated`; another result than 0 makes QEMU end with an error.
///
/// # Safety
/// QEMU calls it, with a valid `info` and `count` texts in `arguments`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    info: *const Info,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: as promised by the caller. The file has a slot for each vCPU, because its size is checked by the host that
    // made it for a machine with this number of vCPUs.
    unsafe {
        let vcpus = (*info).vcpus;
        if !(*info).is_system || vcpus < 1 || !(1..=2).contains(&count) {
            return 1;
        }
        let Some(fd) = descriptor(CStr::from_ptr(*arguments).to_bytes()) else { return 1 };
        let vcpus = vcpus as usize;
        let slots = mmap(null_mut(), file_bytes(vcpus), READ_WRITE, SHARED, fd, 0);
        if slots.addr() == MAP_FAILED {
            return 1;
        }
        SLOTS.store(slots.cast(), Ordering::Relaxed);
        if count == 2 {
            let limited = CStr::from_ptr(*arguments.add(1)).to_bytes();
            if limited != LIMIT_USER.as_bytes() && limited != LIMIT_ALL.as_bytes() {
                return 1;
            }
            LIMITS_KERNEL.store(limited == LIMIT_ALL.as_bytes(), Ordering::Relaxed);
            LIMIT.store(slots.byte_add(limit_at(vcpus)).cast(), Ordering::Relaxed);
        }
        ONE_VCPU.store(vcpus == 1, Ordering::Relaxed);
        qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    }
    0
}

/// Reads `counters=31`.
fn descriptor(argument: &[u8]) -> Option<c_int> {
    let number = argument.strip_prefix(COUNTERS_ARGUMENT.as_bytes())?;
    number.iter().try_fold(0_i32, |sum, byte| match byte {
        b'0'..=b'9' => sum.checked_mul(10)?.checked_add(i32::from(byte - b'0')),
        _ => None,
    })
}

/// Makes QEMU count each execution of a block. The kernel's addresses are the negative ones.
///
/// With one vCPU the translated code adds to the counter itself. Several vCPUs would lose additions to a common counter,
/// so each execution calls `executed`. With a limit it calls `executed_within_limit`.
extern "C" fn translated(_: u64, block: *mut Block) {
    let slots = SLOTS.load(Ordering::Relaxed);
    // SAFETY: QEMU calls it with a block that is valid during the call; `slots` is mapped since the plugin was installed.
    unsafe {
        let instructions = qemu_plugin_tb_n_insns(block);
        let is_kernel = qemu_plugin_tb_vaddr(block).cast_signed() < 0;
        let is_limited = !LIMIT.load(Ordering::Relaxed).is_null();
        if ONE_VCPU.load(Ordering::Relaxed) && !is_limited {
            let counter = if is_kernel { &raw mut (*slots).kernel } else { &raw mut (*slots).user };
            qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, counter.cast(), instructions as u64);
        } else {
            let data = without_provenance_mut(instructions << 1 | usize::from(is_kernel));
            let callback = if is_limited { executed_within_limit } else { executed };
            qemu_plugin_register_vcpu_tb_exec_cb(block, callback, READS_NO_REGISTERS, data);
        }
    }
}

/// Counts one execution of a block by the thread of this vCPU. `data`: the number of instructions, and in the last bit
/// whether they are the kernel's.
extern "C" fn executed(vcpu: c_uint, data: *mut c_void) {
    let data = data.addr();
    // SAFETY: the slot is in the mapped file, and only the thread of this vCPU writes to it.
    unsafe {
        let slot = SLOTS.load(Ordering::Relaxed).add(vcpu as usize);
        let counter = if data & 1 == 1 { &raw mut (*slot).kernel } else { &raw mut (*slot).user };
        counter.write_volatile(counter.read_volatile().wrapping_add((data >> 1) as u64));
    }
}

/// Counts a block, which is executed next, and waits instead of executing it if it would exceed the limit.
extern "C" fn executed_within_limit(vcpu: c_uint, data: *mut c_void) {
    executed(vcpu, data);
    // SAFETY: as in `executed`; the limit follows the slots.
    unsafe {
        let (slot, limit) =
            (SLOTS.load(Ordering::Relaxed).add(vcpu as usize), &*LIMIT.load(Ordering::Relaxed));
        let kernel = if LIMITS_KERNEL.load(Ordering::Relaxed) { (*slot).kernel } else { 0 };
        let counted = (*slot).user + kernel;
        if counted <= (*slot).until {
            return;
        }
        while limit.applies.load(Ordering::Acquire) == 1 {
            // Nothing was counted against the limit before it applied.
            let until = match (*slot).until {
                0 => counted - ((data.addr() >> 1) as u64).min(counted),
                until => until,
            };
            match take_share(&limit.left) {
                0 => {
                    limit.reached.store(1, Ordering::Release);
                    // The host ends the machine, or lifts the limit because the tool has ended.
                    poll(null_mut(), 0, 10);
                }
                share => (*slot).until = until + share,
            }
            if counted <= (*slot).until {
                return;
            }
        }
    }
}

/// Takes a share of the limit. 0: none is left.
fn take_share(left: &AtomicU64) -> u64 {
    let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
        (left > 0).then(|| left.saturating_sub(SHARE))
    });
    taken.map_or(0, |left| left.min(SHARE))
}
