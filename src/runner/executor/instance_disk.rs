//! The inputs disk of one attempt: with `inputs_visible = "instance"` it has the instance of the run only.

use super::attempt::AttemptResult;
use super::{Executor, ExecutorError, not_prepared};
use mcc_base::OnFile;
use mcc_campaign::INPUTS_SETTING;
use mcc_store::{AttemptDir, Disk, INSTANCE_DISK};
use mcc_vm::build::{BuildError, instance_disk, instance_disk_space};
use mcc_vm::{DiskError, DiskFile, Ext4Files, HeldFile, MachineSpec};

impl Executor<'_> {
    fn has_instance_disks(&self) -> bool {
        self.settings.record.facts().settings.contains_key(INPUTS_SETTING)
    }

    /// The archives on the inputs disk of the campaign.
    fn inputs(&self) -> Result<Ext4Files, DiskError> {
        let disks = &self.settings.disks;
        let path = &disks.inputs.path;
        Ext4Files::read(disks.held_files.open(path).on("read", path)?, path)
    }

    /// Bytes that the inputs disk of an attempt takes at most on the host.
    pub(super) fn instance_disk_space(&self) -> Result<u64, ExecutorError> {
        if !self.has_instance_disks() {
            return Ok(0);
        }
        let (files, mut most) = (self.inputs()?, 0);
        for instance in &self.settings.record.facts().instances {
            most = most.max(files.bytes_of(&format!("{}.tgz", instance.name))?.unwrap_or_default());
        }
        Ok(instance_disk_space(most))
    }

    /// Gives the machine an inputs disk with the instance of the run, in the folder of the attempt, and adds its digest, if
    /// the campaign wants that.
    pub(super) fn use_instance_disk(
        &self,
        machine: &mut MachineSpec,
        (instance, dir): (&str, &AttemptDir),
        disks: &mut Vec<Disk>,
    ) -> Result<(), Box<AttemptResult>> {
        if !self.has_instance_disks() {
            return Ok(());
        }
        let path = dir.path().join("inputs.ext4");
        let make = || -> Result<_, BuildError> {
            instance_disk(&self.inputs()?, instance, &path)?;
            Ok(HeldFile::open_digested(&path).on("read", &path)?)
        };
        let (held, sha256, bytes) = make().map_err(|error| Box::new(not_prepared(&error)))?;
        disks.push(Disk { role: INSTANCE_DISK.to_owned(), sha256, bytes });
        machine.held_files.add(&path, held);
        machine.read_only_disks = vec![DiskFile::new(path, "raw")];
        Ok(())
    }
}
