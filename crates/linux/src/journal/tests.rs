use super::*;
use crate::mptcp_pm::AddressId;
use crate::testing::{PAGE, fresh, inside, on_a_full_disk};
use proptest::prelude::*;
use std::net::IpAddr;
use units::Bytes;

/// A folder for this test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("slowhand-journal-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn journal(&self) -> PathBuf {
        self.0.join("journal")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn ttl() -> Key {
    Key::new("net.ipv4.ip_default_ttl")
}

/// Simulates a crash: closes the descriptors and undoes nothing.
fn crash(journal: Journal) {
    drop(journal);
}

#[test]
fn a_stop_restores_every_value() {
    inside(|| {
        let folder = Folder::new("stop");
        let before = sysctl::read(&ttl()).unwrap();
        let (mut journal, _) = Journal::open(&folder.journal()).unwrap();
        journal.set_sysctl(&ttl(), "71").unwrap();
        journal.set_sysctl(&ttl(), "72").unwrap();
        assert_eq!(sysctl::read(&ttl()).unwrap(), "72");
        assert_eq!(
            journal.undo().unwrap(),
            Undone {
                done: 2,
                left: Vec::new()
            }
        );
        assert_eq!(sysctl::read(&ttl()).unwrap(), before);
    });
}

#[test]
fn a_change_that_was_undone_meanwhile_is_off_the_record() {
    inside(|| {
        let folder = Folder::new("undone");
        let (mut journal, _) = Journal::open(&folder.journal()).unwrap();
        let taken = Change::TakenOver(TakenOver {
            name: "gone0".parse().unwrap(),
            ifindex: 0x7fff_fff0,
        });
        journal.undone(&taken).unwrap();
        for _ in 0..2 {
            journal.will(taken.clone()).unwrap();
            assert_eq!(journal.changes(), std::slice::from_ref(&taken));
            journal.undone(&taken).unwrap();
            assert_eq!(journal.changes(), []);
        }
        journal.will(Change::Routing).unwrap();
        crash(journal);
        let text = std::fs::read_to_string(folder.journal()).unwrap();
        assert_eq!(text.matches(FIRST_LINE).count(), 1);
        assert!(
            text.ends_with("taken-over\tgone0\t2147483632\nundone\ttaken-over\tgone0\t2147483632\nrouting\n")
        );
        let (journal, undone) = Journal::open(&folder.journal()).unwrap();
        assert_eq!((undone.done, undone.left), (1, Vec::new()), "only the routes");
        assert_eq!(journal.changes(), []);
    });
}

#[test]
fn the_next_start_undoes_what_a_crash_left() {
    inside(|| {
        let folder = Folder::new("crash");
        let before = sysctl::read(&ttl()).unwrap();
        let (mut journal, _) = Journal::open(&folder.journal()).unwrap();
        journal.set_sysctl(&ttl(), "71").unwrap();
        // Recorded but not done: the crash came in between.
        journal
            .will(Change::Sysctl {
                key: ttl(),
                old: "71".into(),
                new: "99".into(),
            })
            .unwrap();
        crash(journal);
        let (journal, undone) = Journal::open(&folder.journal()).unwrap();
        assert_eq!(undone.done, 2);
        assert_eq!(sysctl::read(&ttl()).unwrap(), before);
        crash(journal);
        assert_eq!(Journal::open(&folder.journal()).unwrap().1, Undone::default());
    });
}

#[test]
fn values_changed_by_the_user_are_kept_and_reported() {
    inside(|| {
        let folder = Folder::new("user");
        let (mut journal, _) = Journal::open(&folder.journal()).unwrap();
        journal.set_sysctl(&ttl(), "71").unwrap();
        sysctl::write(&ttl(), "100").unwrap();
        let undone = journal.undo().unwrap();
        assert_eq!(sysctl::read(&ttl()).unwrap(), "100");
        assert!(
            undone.left[0]
                .to_string()
                .contains("somebody has set it to `100`"),
            "{}",
            undone.left[0]
        );
    });
}

#[test]
fn a_repeated_value_has_one_line_and_the_original_is_restored() {
    inside(|| {
        let folder = Folder::new("again");
        let before = sysctl::read(&ttl()).unwrap();
        let (mut journal, _) = Journal::open(&folder.journal()).unwrap();
        for value in ["71", "72", "73", "71", "72", "71", &before, "73", "72"] {
            journal.set_sysctl(&ttl(), value).unwrap();
            assert_eq!(sysctl::read(&ttl()).unwrap(), value);
        }
        assert_eq!(journal.changes().len(), 3);
        crash(journal);
        let (_journal, undone) = Journal::open(&folder.journal()).unwrap();
        assert_eq!(undone.left, []);
        assert_eq!(sysctl::read(&ttl()).unwrap(), before);
    });
}

#[test]
fn a_temporary_value_is_recorded_only_while_it_is_set() {
    inside(|| {
        let folder = Folder::new("moment");
        let (mut journal, _) = Journal::open(&folder.journal()).unwrap();
        let before = sysctl::read(&ttl()).unwrap();
        let record = || std::fs::read(folder.journal()).unwrap();
        let empty = record();
        let (at_that_time, back) =
            journal.set_sysctl_while(&ttl(), "33", || (sysctl::read(&ttl()).unwrap(), record()));
        back.unwrap();
        assert_eq!(
            (at_that_time.0.as_str(), sysctl::read(&ttl()).unwrap()),
            ("33", before.clone())
        );
        assert_eq!(record(), empty);
        // The value before it is restored, and a value set by the user in between is kept.
        journal.set_sysctl(&ttl(), "44").unwrap();
        let (_, back) = journal.set_sysctl_while(&ttl(), "33", || sysctl::write(&ttl(), "55").unwrap());
        back.unwrap();
        assert_eq!(sysctl::read(&ttl()).unwrap(), "55");
        assert_eq!(journal.changes().len(), 1);
        sysctl::write(&ttl(), "44").unwrap();
        crash(journal);
        // A crash during that time.
        let (_, undone) = Journal::open(&folder.journal()).unwrap();
        assert_eq!((undone.done, undone.left), (1, vec![]));
        assert_eq!(sysctl::read(&ttl()).unwrap(), before);
        std::fs::write(folder.journal(), at_that_time.1).unwrap();
        sysctl::write(&ttl(), "33").unwrap();
        let (_, undone) = Journal::open(&folder.journal()).unwrap();
        assert_eq!((undone.done, sysctl::read(&ttl()).unwrap()), (1, before));
    });
}

#[test]
fn a_user_value_between_two_of_ours_is_restored() {
    inside(|| {
        let folder = Folder::new("between");
        let (mut journal, _) = Journal::open(&folder.journal()).unwrap();
        for value in ["71", "72"] {
            journal.set_sysctl(&ttl(), value).unwrap();
        }
        sysctl::write(&ttl(), "100").unwrap();
        for value in ["72", "73", "72"] {
            journal.set_sysctl(&ttl(), value).unwrap();
        }
        let undone = journal.undo().unwrap();
        assert_eq!(sysctl::read(&ttl()).unwrap(), "100");
        assert_eq!(undone.left.len(), 1, "{:?}", undone.left);
    });
}

/// `set` lists each value with who sets it. `expected` is the value after a crash and the next start, and the
/// number of reports.
fn ends_at(test: &str, set: &[(bool, &str)], expected: (&str, usize)) {
    inside(|| {
        let folder = Folder::new(test);
        let (mut journal, _) = Journal::open(&folder.journal()).unwrap();
        for &(ours, value) in set {
            match ours {
                true => journal.set_sysctl(&ttl(), value).unwrap(),
                false => sysctl::write(&ttl(), value).unwrap(),
            }
        }
        crash(journal);
        let (_journal, undone) = Journal::open(&folder.journal()).unwrap();
        let found = sysctl::read(&ttl()).unwrap();
        assert_eq!(
            (found.as_str(), undone.left.len()),
            expected,
            "{test}: {:?}",
            undone.left
        );
    });
}

#[test]
fn a_users_value_is_not_overwritten_by_an_older_line() {
    let (ours, theirs) = (true, false);
    let to_ours = [(ours, "71"), (theirs, "100"), (ours, "72"), (theirs, "71")];
    ends_at("to-ours", &to_ours, ("71", 2));
    let and_on = [&to_ours[..], &[(ours, "73")]].concat();
    ends_at("and-on", &and_on, ("71", 2));
    // The user sets the original value again, and slowhand sets the value of the first line again.
    let again = [&to_ours[..3], &[(theirs, "64"), (ours, "71")]].concat();
    ends_at("older-again", &again, ("64", 1));
    let other = [&to_ours[..3], &[(theirs, "64"), (ours, "73"), (theirs, "71")]].concat();
    ends_at("older-other", &other, ("71", 3));
}

#[test]
fn a_journal_is_locked_by_one_process() {
    inside(|| {
        let folder = Folder::new("lock");
        let held = Journal::open(&folder.journal()).unwrap();
        assert!(matches!(
            Journal::open(&folder.journal()),
            Err(JournalError::InUse(_))
        ));
        drop(held);
        Journal::open(&folder.journal()).unwrap();
    });
}

#[test]
fn a_forked_child_does_not_hold_the_lock() {
    inside(|| {
        let folder = Folder::new("start");
        let (held, _) = Journal::open(&folder.journal()).unwrap();
        // A child's copy of the descriptor between `fork` and `execve`.
        let _copy = held.file.as_ref().unwrap().try_clone().unwrap();
        drop(held);
        Journal::open(&folder.journal()).unwrap();
    });
}

#[test]
fn a_journal_of_another_namespace_is_not_touched() {
    let folder = Folder::new("elsewhere");
    // It stays open, because the kernel reuses the number of a closed one.
    let Some(first) = fresh() else { return };
    let crashed = first.run(|| {
        let (mut journal, _) = Journal::open(&folder.journal()).unwrap();
        journal.set_sysctl(&ttl(), "71").unwrap();
    });
    crashed.unwrap();
    let text = std::fs::read_to_string(folder.journal()).unwrap();
    inside(|| {
        assert!(matches!(
            Journal::open(&folder.journal()),
            Err(JournalError::OtherNamespace(_))
        ))
    });
    assert_eq!(std::fs::read_to_string(folder.journal()).unwrap(), text);
}

#[test]
fn after_a_reboot_there_is_nothing_to_undo() {
    inside(|| {
        let folder = Folder::new("reboot");
        let line = Change::Sysctl {
            key: ttl(),
            old: "1".into(),
            new: "64".into(),
        };
        std::fs::write(
            folder.journal(),
            format!("{FIRST_LINE}\nhere 00000000-dead 4026531840\n{line}\n"),
        )
        .unwrap();
        let before = sysctl::read(&ttl()).unwrap();
        assert_eq!(Journal::open(&folder.journal()).unwrap().1, Undone::default());
        assert_eq!(sysctl::read(&ttl()).unwrap(), before);
    });
}

#[test]
fn a_damaged_journal_names_the_line() {
    inside(|| {
        let folder = Folder::new("damaged");
        std::fs::write(
            folder.journal(),
            format!("{FIRST_LINE}\n{}\nlimits\t1\tmany\n", here()),
        )
        .unwrap();
        let error = Journal::open(&folder.journal()).unwrap_err().to_string();
        assert!(error.contains("journal:3: `limits"), "{error}");
        std::fs::write(folder.journal(), "something else\n").unwrap();
        let error = Journal::open(&folder.journal()).unwrap_err().to_string();
        assert!(error.contains("not the first line"), "{error}");
    });
}

#[test]
fn a_line_truncated_by_a_crash_is_ignored() {
    inside(|| {
        let folder = Folder::new("short");
        std::fs::write(
            folder.journal(),
            format!("{FIRST_LINE}\n{}\nsysctl\tnet.ipv4.ip_def", here()),
        )
        .unwrap();
        assert_eq!(Journal::open(&folder.journal()).unwrap().1, Undone::default());
    });
}

#[test]
fn a_line_truncated_within_a_character_is_ignored() {
    inside(|| {
        let folder = Folder::new("character");
        let before = sysctl::read(&ttl()).unwrap();
        let (mut journal, _) = Journal::open(&folder.journal()).unwrap();
        journal.set_sysctl(&ttl(), "71").unwrap();
        crash(journal);
        let mut file = OpenOptions::new().append(true).open(folder.journal()).unwrap();
        file.write_all("sysctl\té".as_bytes().split_last().unwrap().1)
            .unwrap();
        let (_journal, undone) = Journal::open(&folder.journal()).unwrap();
        assert_eq!((undone.done, undone.left), (1, Vec::new()));
        assert_eq!(sysctl::read(&ttl()).unwrap(), before);
    });
}

#[test]
fn a_line_truncated_by_a_full_disk_does_not_damage_the_next() {
    inside(|| {
        on_a_full_disk(|disk| {
            let before = sysctl::read(&ttl()).unwrap();
            let line = |value: &str| Change::Sysctl {
                key: ttl(),
                old: before.clone(),
                new: value.repeat(PAGE / 2),
            };
            let (mut journal, _) = Journal::open(&disk.join("journal")).unwrap();
            journal.will(line("1")).unwrap();
            let error = journal.will(line("2")).unwrap_err();
            assert!(error.to_string().contains("could not be written"), "{error}");
            let length = std::fs::metadata(disk.join("journal")).unwrap().len();
            assert_eq!(length, PAGE as u64, "it was written in part");
            journal.set_sysctl(&ttl(), "71").unwrap();
            crash(journal);
            let (_journal, undone) = Journal::open(&disk.join("journal")).unwrap();
            assert_eq!((undone.done, undone.left), (2, Vec::new()));
            assert_eq!(sysctl::read(&ttl()).unwrap(), before);
        });
    });
}

/// The only host-wide list of words is that of the allowed controllers. This uses the initial namespace's
/// own, which every test and lab of this machine shares. So the record lies in a separate place, and only a
/// word that is present is held.
#[test]
fn a_shared_list_is_restored_when_the_last_holder_drops() {
    let folder = Folder::new("shared");
    let list = List::allowed_controllers();
    let key = &list.key;
    let Ok(before) = sysctl::read(key) else { return };
    let held = [
        Shared::hold(&folder.0, &list, "reno").unwrap(),
        Shared::hold(&folder.0, &list, "reno").unwrap(),
    ];
    let record = std::fs::read_to_string(folder.0.join(key.name())).unwrap();
    assert_eq!(record.lines().count(), 3, "{record}");
    drop(held);
    assert_eq!(std::fs::read_to_string(folder.0.join(key.name())).unwrap(), "");
    assert_eq!(sysctl::read(key).unwrap(), before);
}

#[test]
fn a_dead_holder_is_removed() {
    let folder = Folder::new("struck");
    let list = List::allowed_controllers();
    let key = &list.key;
    let Ok(before) = sysctl::read(key) else { return };
    // No process has this id with this start time.
    std::fs::write(folder.0.join(key.name()), format!("{before}\n4194305\t1\treno\n")).unwrap();
    Shared::recover(&folder.0, &list).unwrap();
    assert_eq!(std::fs::read_to_string(folder.0.join(key.name())).unwrap(), "");
    assert_eq!(sysctl::read(key).unwrap(), before);
}

#[test]
fn an_unloaded_controller_does_not_block_the_list() {
    let folder = Folder::new("unloaded");
    let list = List::allowed_controllers();
    let key = &list.key;
    let Ok(before) = sysctl::read(key) else { return };
    let record = format!("{before} slow_gone\n4194305\t1\tslow_gone_too\n");
    std::fs::write(folder.0.join(key.name()), record).unwrap();
    let held = Shared::hold(&folder.0, &list, "reno").unwrap();
    assert_eq!(sysctl::read(key).unwrap(), before);
    drop(held);
    assert_eq!(sysctl::read(key).unwrap(), before);
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        ("[a-z.]{1,20}", any::<String>(), any::<String>()).prop_map(|(key, old, new)| Change::Sysctl {
            key: Key::new(key),
            old,
            new
        }),
        Just(Change::Routing),
        (any::<u8>(), any::<IpAddr>()).prop_map(|(id, address)| Change::Endpoint {
            id: AddressId(id),
            address
        }),
        (any::<(u32, u32)>(), any::<(u32, u32)>()).prop_map(|(old, new)| Change::Limits { old, new }),
        any::<u64>().prop_map(|bytes| Change::FallbackWindow(Bytes::new(bytes))),
        Just(Change::SocketLimits),
        "[a-z0-9]{1,15}".prop_map(|name| Change::Monitor(name.parse().unwrap())),
        "[a-z0-9]{1,15}".prop_map(|name| Change::Station(name.parse().unwrap())),
        ("[a-z0-9]{1,15}", any::<u32>()).prop_map(|(name, ifindex)| {
            Change::TakenOver(TakenOver {
                name: name.parse().unwrap(),
                ifindex,
            })
        }),
    ]
}

proptest! {
    #[test]
    fn lines_parse_back_to_their_change(change in change()) {
        let line = change.to_string();
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(line.parse::<Change>(), Ok(change));
    }

    #[test]
    fn no_line_makes_the_parser_panic(line in any::<String>()) {
        let _ = line.parse::<Change>();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_next_start_restores_any_changes_before_a_crash(
        values in prop::collection::vec((0usize..3, prop_oneof![1u8..=255, 7u8..=9]), 0..12), crash_at in 0usize..12, unfinished: bool
    ) {
        let keys = ["ip_default_ttl", "tcp_reordering", "tcp_orphan_retries"].map(|name| Key::new(format!("net.ipv4.{name}")));
        inside(|| {
            let folder = Folder::new(&format!("random-{:?}", std::thread::current().id()));
            let present = || keys.clone().map(|key| sysctl::read(&key).unwrap());
            let before = present();
            let (mut journal, _) = Journal::open(&folder.journal()).unwrap();
            for (key, value) in values.iter().take(crash_at) {
                journal.set_sysctl(&keys[*key], &value.to_string()).unwrap();
            }
            if unfinished {
                let key = keys[0].clone();
                let old = sysctl::read(&key).unwrap();
                journal.will(Change::Sysctl { key, old, new: "254".into() }).unwrap();
            }
            crash(journal);
            let (_journal, undone) = Journal::open(&folder.journal()).unwrap();
            assert!(undone.left.is_empty(), "{:?}", undone.left);
            assert_eq!(present(), before);
        });
    }
}
