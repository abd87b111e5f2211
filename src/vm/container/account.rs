//! The account of the user `mcc` in `/etc/passwd`, `/etc/group` and `/etc/shadow`.

use std::collections::BTreeSet;

/// The user as whom the contest runs tools, and its home.
pub(crate) const USER: &str = "mcc";
pub(crate) const HOME: &str = "/home/mcc";
/// The first number of accounts of people in Debian and most others.
const FIRST_ID: u32 = 1000;
/// Day of the last change of the password, days since 1970: 2018-01-01.
const PASSWORD_DAY: u32 = 17_532;

/// The files after the account was added, and its numbers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub uid: u32,
    pub gid: u32,
    /// New contents; None: the file stays as it is.
    pub passwd: Option<String>,
    pub group: Option<String>,
    pub shadow: Option<String>,
}

/// Finds the account in the contents of the three files, or adds it. `/etc/shadow` may be missing.
pub(crate) fn account(passwd: &str, group: &str, shadow: Option<&str>) -> Result<Account, String> {
    let rows = |text: &str| -> Vec<Vec<String>> {
        text.lines().map(|line| line.split(':').map(str::to_owned).collect()).collect()
    };
    let (users, groups) = (rows(passwd), rows(group));
    let number = |row: &[String], at: usize| row.get(at).and_then(|field| field.parse::<u32>().ok());
    if let Some(user) = users.iter().find(|row| row[0] == USER) {
        let ids = number(user, 2).zip(number(user, 3));
        let (uid, gid) = ids.ok_or("its /etc/passwd has a damaged line for the user mcc")?;
        if uid == 0 {
            return Err(
                "its user mcc has the number 0, so the tool would run as root: give it another number"
                    .to_owned(),
            );
        }
        refuse_group_of_root(gid)?;
        // The system calls take it for "no change".
        if [uid, gid].contains(&u32::MAX) {
            return Err(format!(
                "its user mcc has the number {}, which no user can have: give it another number",
                u32::MAX
            ));
        }
        let home = user.get(5).map_or("", String::as_str);
        if home.trim_end_matches('/') != HOME {
            return Err(format!(
                "the home of its user mcc is {home:?} instead of {HOME}: change it with usermod -d"
            ));
        }
        return Ok(Account { uid, gid, passwd: None, group: None, shadow: None });
    }
    let used: BTreeSet<u32> = users.iter().chain(&groups).filter_map(|row| number(row, 2)).collect();
    let free =
        (FIRST_ID..u32::MAX).find(|id| !used.contains(id)).ok_or("no number is free for the user mcc")?;
    let own_group = groups.iter().find(|row| row[0] == USER).and_then(|row| number(row, 2));
    let gid = own_group.unwrap_or(free);
    refuse_group_of_root(gid)?;
    let added = |text: &str, line: String| {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        format!("{text}{end}{line}\n")
    };
    let has_password = |shadow: &&str| shadow.lines().any(|line| line.split(':').next() == Some(USER));
    Ok(Account {
        uid: free,
        gid,
        passwd: Some(added(passwd, format!("{USER}:x:{free}:{gid}::{HOME}:/bin/bash"))),
        group: own_group.is_none().then(|| added(group, format!("{USER}:x:{gid}:"))),
        shadow: shadow
            .filter(|shadow| !has_password(shadow))
            .map(|shadow| added(shadow, format!("{USER}:*:{PASSWORD_DAY}:0:99999:7:::"))),
    })
}

/// The group of root can remove devices of the machine, such as the one that measures its memory.
fn refuse_group_of_root(gid: u32) -> Result<(), String> {
    if gid != 0 {
        return Ok(());
    }
    Err("the group of its user mcc has the number 0, that of root: give it another number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_that_means_no_change_is_refused() {
        for line in ["mcc:x:4294967295:1000::/home/mcc:/bin/sh", "mcc:x:1000:4294967295::/home/mcc:/bin/sh"] {
            assert!(account(line, "", None).unwrap_err().contains("which no user can have"));
        }
    }

    #[test]
    fn a_missing_user_gets_free_numbers_in_all_files() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh";
        let account =
            account(passwd, "root:x:0:\nnode:x:1000:\nusers:x:1001:\n", Some("root:*:::::::\n")).unwrap();
        assert_eq!((account.uid, account.gid), (1002, 1002));
        let passwd = account.passwd.unwrap();
        assert!(passwd.ends_with(":/bin/sh\nmcc:x:1002:1002::/home/mcc:/bin/bash\n"), "{passwd}");
        assert!(account.group.unwrap().ends_with("users:x:1001:\nmcc:x:1002:\n"));
        assert_eq!(account.shadow.unwrap(), "root:*:::::::\nmcc:*:17532:0:99999:7:::\n");
    }

    #[test]
    fn an_existing_user_is_kept_or_refused() {
        let found = account("mcc:x:70:80::/home/mcc:/bin/bash\n", "", None).unwrap();
        assert_eq!(found, Account { uid: 70, gid: 80, passwd: None, group: None, shadow: None });
        let refused = |line: &str| account(line, "", None).unwrap_err();
        assert!(refused("mcc:x:0:0::/home/mcc:/bin/bash").contains("run as root"));
        assert!(refused("mcc:x:70:0::/home/mcc:/bin/bash").contains("that of root"));
        assert!(account("", "mcc:x:0:\n", None).unwrap_err().contains("that of root"));
        assert!(refused("mcc:x:70:70::/srv:/bin/bash").contains("\"/srv\" instead of /home/mcc"));
        assert!(refused("mcc:x:").contains("damaged line"));
        let grouped = account("", "mcc:x:5:\n", None).unwrap();
        assert_eq!((grouped.gid, grouped.group), (5, None));
    }
}
