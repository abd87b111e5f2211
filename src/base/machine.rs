//! Settings of machines that campaign files state.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The program that starts QEMU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The controller itself.
    #[default]
    Qemu,
    /// The libvirt of this host.
    Libvirt,
}

/// The bus of the disks of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskBus {
    /// virtio: `/dev/vda`.
    #[default]
    Virtio,
    /// IDE: `/dev/sda`, as in BenchKit's QEMU of 2017, for disks without a virtio driver.
    Ide,
}

/// The network device of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NicModel {
    /// virtio-net.
    #[default]
    Virtio,
    /// Intel E1000, for disks without a virtio driver.
    E1000,
}

/// The settings of an original disk: its ssh logins and its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// Name of the guest's user who runs the tool.
    pub user: String,
    /// Path of this user's private key on the host.
    pub key: PathBuf,
    /// Path of the private key for root, who then has the control session; None: the user has it.
    pub root_key: Option<PathBuf>,
    /// The bus of its disks.
    pub disk: DiskBus,
    /// Its network device.
    pub nic: NicModel,
}
