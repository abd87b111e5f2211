//! A campaign that `import` makes of an archive, in real machines.

use crate::support::campaign;

use campaign::Folder;
use std::collections::BTreeMap;
use std::fs;

#[test]
fn a_campaign_of_an_archive_gives_the_same_judgement() {
    let folder = Folder::new(&campaign::on_fixtures(
        &["DiningTable-PT-03"],
        &["StateSpace", "CTLFireability"],
        &["breadth-first", "wrong-on-purpose"],
        "[hosts]\njobs = 2\n",
    ));
    folder.run(&[]).success();
    let said = |arguments: &[&str]| {
        let ended = assert_cmd::Command::from(folder.harness(arguments)).assert().success();
        String::from_utf8(ended.get_output().stdout.clone()).unwrap()
    };
    said(&["export", "results", "--archive", "a.tar.zst", "--with-disks"]);
    // Only the archive is left of the first campaign.
    fs::remove_dir_all(folder.results()).unwrap();
    fs::remove_file(folder.path().join("campaign.toml")).unwrap();
    said(&["import", "a.tar.zst", "--out", "elsewhere/again"]);
    let again = folder.path().join("elsewhere/again");
    said(&["run", "elsewhere/again/campaign.toml", "--out", "elsewhere/results", "--allow-degraded"]);
    said(&["judge", "elsewhere/results", "--out", "judged"]);
    let compared = said(&["judge", "--compare", "a.tar.zst", "judged"]);
    for same in ["ranks or medals that change: 0\n", "runs with different points: 0 of 4\n"] {
        assert!(compared.contains(same), "{same}: {compared}");
    }
    // The machines had the disks of the archive.
    fs::create_dir(folder.path().join("unpacked")).unwrap();
    let archive = folder.path().join("a.tar.zst");
    let unpacked = folder.path().join("unpacked");
    mcc_harness::archive::unpack(&archive, &unpacked, mcc_harness::archive::ArchiveLimits::default())
        .unwrap();
    let disks = |record: &std::path::Path| {
        let record = mcc_harness::store::Record::open_readonly(record).unwrap();
        let disks = record.facts().disks.iter().map(|disk| (disk.role.clone(), disk.sha256.clone()));
        disks.collect::<BTreeMap<_, _>>()
    };
    let recorded = disks(&folder.path().join("elsewhere/results"));
    assert_eq!((recorded.len(), &recorded), (7, &disks(&unpacked)));
    assert!(again.join("inputs/archives/DiningTable-PT-03.tgz").is_file());
}
