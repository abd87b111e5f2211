//! The properties of this host at one time.

use super::cores::allowed_cpus;
use super::{Cores, HostError, HostSettings, Memory};
use mcc_base::OnFile;
use std::path::Path;

/// The properties of this host at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// The host name.
    pub name: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Model name of the CPU; `unknown` if the kernel does not report it.
    pub cpu: String,
    /// The CPU topology.
    pub cores: Cores,
    /// The memory.
    pub memory: Memory,
}

impl Survey {
    /// Reads the properties of this host.
    ///
    /// # Errors
    /// A file of `/proc` or `/sys` cannot be read or has unexpected content.
    pub fn take() -> Result<Self, HostError> {
        let root = Path::new("/");
        let system = nix::sys::utsname::uname()
            .map_err(|source| HostError::System { what: "read the name and kernel of this host", source })?;
        Ok(Self {
            name: system.nodename().to_string_lossy().into_owned(),
            kernel: system.release().to_string_lossy().into_owned(),
            cpu: cpu_model(root)?,
            cores: Cores::read(root, allowed_cpus()?)?,
            memory: Memory::read(root)?,
        })
    }

    /// Reads the settings of this host and of its CPUs that runs may use.
    pub fn settings(&self, root: &Path) -> HostSettings {
        let cpus: Vec<u32> = self.cores.allowed.iter().copied().collect();
        HostSettings::read(root, &cpus)
    }
}

fn cpu_model(root: &Path) -> Result<String, HostError> {
    let path = root.join("proc/cpuinfo");
    let text = std::fs::read_to_string(&path).on("read", path)?;
    let line = text.lines().find(|line| line.starts_with("model name"));
    let model = line.and_then(|line| line.split_once(':')).map(|(_, model)| model.trim());
    Ok(model.unwrap_or("unknown").to_owned())
}
