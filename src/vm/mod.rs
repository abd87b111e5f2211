//! A machine: description, QEMU, QMP, channel to the guest. Knows nothing of contests.
