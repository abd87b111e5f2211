//! A user number for each machine, from a range that the host's administrator sets aside for machines. No other process has
//! this user, so a QEMU that is taken over can neither signal nor trace another one, nor open its files.

use nix::unistd::geteuid;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The variable with the range, such as `200000-200999`.
const RANGE: &str = "MCC_HARNESS_QEMU_IDS";

/// A locked file per number that a machine of this host uses. Only root makes machines with numbers of their own.
const FOLDER: &str = "/run/mcc-harness-ids";

/// Users of the host have the numbers below.
const FIRST: u32 = 65_536;

/// The user number of one machine, until it is dropped. Its group has the same number.
#[derive(Debug)]
pub(super) struct OwnId {
    pub number: u32,
    _lock: File,
}

impl OwnId {
    /// Takes a number that no machine of this host uses.
    ///
    /// # Errors
    /// There is no range, or no number of it is free: the reason.
    pub fn take() -> Result<Self, String> {
        let text = std::env::var(RANGE).map_err(|_| format!("{RANGE} is not set"))?;
        Self::take_in(Path::new(FOLDER), range(&text)?).map_err(|error| format!("{FOLDER}: {error}"))
    }

    fn take_in(folder: &Path, range: RangeInclusive<u32>) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        let found = fs::symlink_metadata(folder)?;
        if !found.is_dir() || found.uid() != geteuid().as_raw() || found.mode() & 0o022 != 0 {
            return Err(io::Error::other("not a folder of this user, or others can write to it"));
        }
        for number in range.clone() {
            let path = folder.join(number.to_string());
            let lock = File::options().create(true).append(true).mode(0o600).open(path)?;
            match lock.try_lock() {
                Ok(()) => return Ok(Self { number, _lock: lock }),
                Err(fs::TryLockError::WouldBlock) => {}
                Err(fs::TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other(format!("machines use all numbers from {} to {}", range.start(), range.end())))
    }
}

fn range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let numbers =
        text.split_once('-').and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    match numbers {
        // The last number of all means no user.
        Some((first, last)) if first >= FIRST && last >= first && last < u32::MAX => Ok(first..=last),
        _ => {
            Err(format!("{RANGE}={text:?} is not a range of numbers from {FIRST} on, such as 200000-200999"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn no_two_machines_have_the_same_number() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("ids");
        let take = || OwnId::take_in(&folder, 70_000..=70_001);
        let (first, second) = (take().unwrap(), take().unwrap());
        assert_eq!((first.number, second.number), (70_000, 70_001));
        assert!(take().unwrap_err().to_string().contains("all numbers from 70000 to 70001"));
        drop(first);
        assert_eq!(take().unwrap().number, 70_000);
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        assert!(take().unwrap_err().to_string().contains("others can write"));
    }

    #[test]
    fn a_range_has_no_user_of_the_host() {
        assert_eq!(range("200000-200999"), Ok(200_000..=200_999));
        for wrong in
            ["", "7", "0-9", "1000-70000", "65534-65540", "9-3", "200000-4294967295", "-1-5", "200009-200000"]
        {
            assert!(range(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
    }
}
