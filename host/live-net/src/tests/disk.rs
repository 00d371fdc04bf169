//! Files of nodes: torn, damaged, full, in use.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use host_live::checkpoint::Durable;
use host_live::disk::records::{beginning, encoded};
use host_live::disk::{Owner, RECORD_MAX, Ways};
use host_live::node::{DiskId, Disks, Record};
use host_model::contract::WrittenKeys;
use host_model::toys::Toy;

use super::owner;
use super::processes::durable;
use super::refused::place;
use crate::disk::{Disk, DiskError, make_folder, make_folder_with};
use crate::{Sink, run};

fn record(number: u8) -> Record {
    let numbers = Durable { incarnation: 1, reserved: 1 };
    let (peers, disks, map) = Default::default();
    Record { numbers, protocol: Some(vec![number; 20]), peers, disks, map }
}

/// A file of the version before with these records: length, hash and body of each.
fn of_version_1(records: &[Record]) -> Vec<u8> {
    let framed = records.iter().flat_map(|record| {
        let body = postcard::to_allocvec(record).expect("records have an encoding");
        let length = u32::try_from(body.len()).expect("it is short").to_le_bytes();
        [&length[..], &blake3::hash(&body).as_bytes()[..8], &body].concat()
    });
    b"HLDISK\0\x01".iter().copied().chain(framed).collect()
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("node-0.disk");
    (folder, path)
}

/// The name of each folder is durable before it contains another one, whichever node has made it.
#[test]
fn a_folder_is_on_the_disk_before_there_is_something_in_it() {
    let (folder, _) = folder();
    let synced = |path: &str| {
        let (path, mut synced) = (folder.path().join(path), Vec::new());
        let made = make_folder_with(&path, &mut |name| {
            // Its content follows later.
            let inside = std::fs::read_dir(name).expect("it is there").count();
            synced.push((name.strip_prefix(folder.path()).expect("it is below").to_owned(), inside));
            Ok(())
        });
        made.map(|()| synced)
    };
    let of =
        |names: &[(&str, usize)]| names.iter().map(|(name, inside)| (PathBuf::from(name), *inside)).collect::<Vec<_>>();
    assert_eq!(synced("a/b/c").expect("there is room"), of(&[("", 0), ("a", 0), ("a/b", 0), ("a/b/c", 0)]));
    assert_eq!(synced("a/b/c").expect("there is room"), of(&[("a/b/c", 0)]), "others may have made it just now");
    assert_eq!(synced("a/b/d").expect("there is room"), of(&[("a/b", 1), ("a/b/d", 0)]));
    let made = |path: &str, kind: io::ErrorKind| make_folder_with(&folder.path().join(path), &mut |_| Err(kind.into()));
    assert!(made("a", io::ErrorKind::PermissionDenied).is_ok(), "a folder of another user");
    assert!(made("a", io::ErrorKind::StorageFull).is_err());
    std::fs::write(folder.path().join("file"), "").expect("writable");
    assert!(synced("file").is_err() && synced("file/a").is_err(), "there is no folder");
    make_folder(&folder.path().join("e/f")).expect("there is room");
    assert!(folder.path().join("e/f").is_dir());
}

/// A start is durable when the log names it, so each start has a number of its own even if the node is killed then.
#[test]
fn a_start_is_logged_once_it_is_on_the_disk() {
    let (folder, path) = folder();
    for start in 1..=3 {
        let (told, file) = (Arc::<Mutex<Vec<String>>>::default(), path.clone());
        let kept = Arc::clone(&told);
        let log = Sink::new(move |line| {
            let line = format!("{line}; on the disk: {}", durable(&file).0);
            kept.lock().expect("no test panics with it").push(line);
        });
        let here = place(folder.path(), &["127.0.0.1:0".parse().expect("an address")], log);
        run(&Arc::new(Toy::new(1)), &here, None, &AtomicBool::new(true)).expect("it ends when it is asked to");
        let told = told.lock().expect("no test panics with it");
        let [line] = &told[..] else { panic!("one line per start: {told:?}") };
        let process = std::process::id();
        assert!(line.ends_with(&format!("runs: start {start}, process {process}; on the disk: {start}")), "{line}");
    }
}

/// At any moment while the note of a node changes, it says that there is a file.
#[test]
fn a_note_is_never_empty() {
    let (_folder, path) = folder();
    let mut disk = opened(&path).0;
    let lock = path.with_extension("lock");
    let there = std::fs::read_to_string(&lock).expect("it is text");
    std::thread::scope(|scope| {
        let writes = scope.spawn(|| {
            for start in 2..1_000 {
                disk.note_known(start, DiskId { rejoins: start, drawn: u64::MAX >> (start % 64) })
                    .expect("there is room");
            }
        });
        while !writes.is_finished() {
            let note = std::fs::read_to_string(&lock).expect("it is text");
            assert!(note.starts_with(&there), "{note:?}");
        }
    });
    let note = std::fs::read_to_string(&lock).expect("it is text");
    assert_eq!(note.lines().count(), there.lines().count() + 2, "{note}");
}

/// Opens a file, and retries while it is in use: a process that another test starts inherits its lock for a moment.
fn opened(path: &Path) -> (Disk, Option<Record>) {
    loop {
        match Disk::open(path, &owner(), Ways::default()) {
            Err(DiskError::InUse(_)) => std::thread::yield_now(),
            other => return other.expect("it opens"),
        }
    }
}

/// The error of opening a file, other than that it is in use.
fn refused(path: &Path) -> DiskError {
    loop {
        match Disk::open(path, &owner(), Ways::default()).expect_err("it is refused") {
            DiskError::InUse(_) => std::thread::yield_now(),
            error => return error,
        }
    }
}

fn written(path: &Path, numbers: std::ops::Range<u8>) -> Vec<u8> {
    let (mut disk, _) = opened(path);
    numbers.for_each(|number| disk.write(&record(number), &WrittenKeys::default()).expect("there is room"));
    drop(disk);
    std::fs::read(path).expect("it is there")
}

/// Wherever the last record is torn, the node starts with the record before it, and can write further records.
#[test]
fn a_torn_record_is_cut_off_and_the_one_before_counts() {
    let (_folder, path) = folder();
    let whole = written(&path, 0..3);
    let shorter = encoded(&record(1)).len();
    for end in whole.len() - shorter..whole.len() {
        std::fs::write(&path, &whole[..end]).expect("writable");
        let (mut disk, last) = opened(&path);
        assert_eq!((last, disk.torn()), (Some(record(1)), end + shorter - whole.len()), "{end}");
        disk.write(&record(7), &WrittenKeys::default()).expect("there is room");
        drop(disk);
        assert_eq!(opened(&path).1, Some(record(7)));
    }
}

/// A changed bit anywhere, the last acknowledged record included: an error that names the way out, and never an older state.
#[test]
fn damage_is_an_error_and_never_an_older_state() {
    let (_folder, path) = folder();
    let whole = written(&path, 0..3);
    let start = beginning(&owner()).len();
    for place in start..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x10;
        std::fs::write(&path, &damaged).expect("writable");
        let error = refused(&path);
        let length = encoded(&record(1)).len();
        let begins = start + (place - start) / length * length;
        assert!(matches!(error, DiskError::Damaged { at, .. } if at == begins), "{place}: {error}");
        assert!(error.to_string().contains("restore the file, or, to start a node that knows nothing, remove it"));
        assert_eq!(std::fs::read(&path).expect("it is there"), damaged, "it stays as it is");
    }
    std::fs::write(&path, "a foreign text").expect("writable");
    let error = refused(&path).to_string();
    assert!(error.ends_with("is no file of a node"), "{error}");
    assert_eq!(std::fs::read(&path).expect("it is there"), b"a foreign text");
}

/// Each field of the owner that differs: a file of another node or plugin is always refused, and any other file is taken over on request.
#[test]
fn a_file_of_another_node_plugin_build_or_cluster_is_refused() {
    let (_folder, path) = folder();
    written(&path, 0..2);
    let opened = |here: &Owner, takes_over| {
        loop {
            match Disk::open(&path, here, Ways { takes_over, ..Ways::default() }) {
                Err(DiskError::InUse(_)) => std::thread::yield_now(),
                other => return other.map(|(_, record)| record),
            }
        }
    };
    let others = [Owner { node: 1, ..owner() }, Owner { plugin: "lock".into(), ..owner() }];
    for (here, takes_over) in others.iter().flat_map(|here| [(here, false), (here, true)]) {
        let error = opened(here, takes_over).expect_err("it is another's").to_string();
        assert!(error.contains("is the file of node 0 of toy, and this is node "), "{error}");
    }
    let changed = [
        (Owner { digest: "other".into(), ..owner() }, "component none, not component other"),
        (Owner { nodes: 5, ..owner() }, "3 nodes in its cluster, not 5"),
        (Owner { name: "east".into(), ..owner() }, "a cluster with the name \"\", not \"east\""),
        (Owner { config: "kept=1".into(), ..owner() }, "parameters \"\", not \"kept=1\""),
        (Owner { network: "unordered".into(), ..owner() }, "network ordered, not unordered"),
    ];
    for (here, what) in &changed {
        let error = opened(here, false).expect_err("it was written elsewhere").to_string();
        assert!(error.contains(what) && error.contains("`--take-data`"), "{error}");
        assert_eq!(opened(here, true).expect("it is taken over"), Some(record(1)));
        // It belongs to the new owner from then on.
        assert_eq!(opened(here, false).expect("it is its own"), Some(record(1)));
        assert_eq!(opened(&owner(), true).expect("it is taken back"), Some(record(1)));
    }
}

/// A lost file is not taken for that of a new node; the error names the lock to remove. A folder without both belongs to a new node.
#[test]
fn a_lost_file_is_distinguished_from_a_new_one() {
    let (_folder, path) = folder();
    written(&path, 0..2);
    std::fs::remove_file(&path).expect("it is there");
    for _ in 0..3 {
        let error = refused(&path);
        assert!(matches!(error, DiskError::Lost { .. }), "{error}");
        assert!(error.to_string().contains("remove `") && !path.exists(), "{error}");
    }
    // An empty file is damaged.
    std::fs::write(&path, "").expect("writable");
    assert!(matches!(refused(&path), DiskError::Damaged { at: 0, .. }));
    std::fs::remove_file(&path).and_then(|()| std::fs::remove_file(path.with_extension("lock"))).expect("both are");
    assert_eq!(opened(&path).1, None);
}

/// A node whose start 7 is known to others does not start again from a file of start 1, unless it rejoins: then it continues after start 7.
#[test]
fn a_file_that_knows_of_fewer_starts_than_others_is_refused() {
    let (_folder, path) = folder();
    written(&path, 0..2);
    opened(&path).0.note_known(7, DiskId::default()).expect("there is room");
    for _ in 0..3 {
        let error = refused(&path);
        assert!(matches!(error, DiskError::Later { start: 7, .. }), "{error}");
        assert!(error.to_string().contains("`--rejoin`"), "{error}");
    }
    let numbers = Durable { incarnation: 7, ..record(1).numbers };
    let disks = Disks { own: DiskId { rejoins: 1, drawn: 0 }, ..Disks::default() };
    let behind = Some(Record { numbers, disks, ..record(1) });
    let (disk, last) = loop {
        match Disk::open(&path, &owner(), Ways { rejoins: true, ..Ways::default() }) {
            Err(DiskError::InUse(_)) => std::thread::yield_now(),
            other => break other.expect("it rejoins"),
        }
    };
    assert_eq!(last, behind);
    drop(disk);
    assert_eq!(opened(&path).1, behind, "it rejoins once");
}

/// A node that others know by another disk does not start again with its own, unless it rejoins: then its disk is later than both. With the
/// file by which they know it, it starts.
#[test]
fn a_file_by_which_others_do_not_know_the_node_is_refused() {
    let (_folder, path) = folder();
    let of =
        |rejoins, drawn| Record { disks: Disks { own: DiskId { rejoins, drawn }, ..Disks::default() }, ..record(1) };
    let (known, own) = (of(2, 70), of(0, 90));
    opened(&path).0.write(&own, &WrittenKeys::default()).expect("there is room");
    opened(&path).0.note_known(1, known.disks.own).expect("there is room");
    let mut bytes = Vec::new();
    for _ in 0..3 {
        let error = refused(&path);
        assert!(matches!(error, DiskError::OtherDisk(_)), "{error}");
        assert!(error.to_string().contains("`--rejoin`"), "{error}");
        bytes = std::fs::read(&path).expect("it is there");
    }
    std::fs::write(&path, [beginning(&owner()), encoded(&known)].concat()).expect("writable");
    let lock = std::fs::read(path.with_extension("lock")).expect("it is there");
    assert_eq!(opened(&path).1, Some(known), "it is restored");
    std::fs::write(&path, bytes).and_then(|()| std::fs::write(path.with_extension("lock"), lock)).expect("writable");
    let (disk, last) = loop {
        match Disk::open(&path, &owner(), Ways { rejoins: true, ..Ways::default() }) {
            Err(DiskError::InUse(_)) => std::thread::yield_now(),
            other => break other.expect("it rejoins"),
        }
    };
    assert_eq!(last, Some(of(3, 0)));
    drop(disk);
    assert_eq!(opened(&path).1, Some(of(3, 0)), "it rejoins once");
}

/// A file of another cluster or build that is also older than other nodes know: each needs its own option, neither implies the other, and
/// with both the node takes the file over once and has rejoined once.
#[test]
fn a_file_is_taken_over_and_rejoins_by_a_word_each() {
    let try_opened = |path: &Path, here: &Owner, ways: Ways| loop {
        match Disk::open(path, here, ways) {
            Err(DiskError::InUse(_)) => std::thread::yield_now(),
            other => return other.map(|(_, last)| last),
        }
    };
    let changed = [
        Owner { digest: "other".into(), ..owner() },
        Owner { nodes: 5, ..owner() },
        Owner { name: "east".into(), ..owner() },
        Owner { config: "kept=1".into(), ..owner() },
        Owner { network: "unordered".into(), ..owner() },
    ];
    let behind = [(7, DiskId::default()), (1, DiskId { rejoins: 2, drawn: 70 })];
    for (here, (start, disk)) in changed.iter().flat_map(|here| behind.map(|behind| (here, behind))) {
        let (_folder, path) = folder();
        written(&path, 0..2);
        opened(&path).0.note_known(start, disk).expect("there is room");
        let (file, lock) = (std::fs::read(&path), std::fs::read(path.with_extension("lock")));
        let (file, lock) = (file.expect("it is there"), lock.expect("it is there"));
        for (takes_over, rejoins, word) in
            [(false, false, "`--rejoin`"), (false, true, "`--take-data`"), (true, false, "`--rejoin`")]
        {
            let ways = Ways { takes_over, rejoins };
            let error = try_opened(&path, here, ways).expect_err("one word is missing").to_string();
            assert!(error.contains(word), "{ways:?}: {error}");
            let now = (std::fs::read(&path), std::fs::read(path.with_extension("lock")));
            assert_eq!(
                (now.0.expect("it is there"), now.1.expect("it is there")),
                (file.clone(), lock.clone()),
                "{ways:?}"
            );
        }
        let last = try_opened(&path, here, Ways { takes_over: true, rejoins: true }).expect("it has both options");
        let last = last.expect("there was one");
        assert_eq!((last.protocol.as_ref(), last.disks.own.rejoins), (record(1).protocol.as_ref(), disk.rejoins + 1));
        assert_eq!(last.numbers.incarnation, start);
        assert_eq!(try_opened(&path, here, Ways::default()).expect("it is its own"), Some(last), "it rejoins once");
    }
}

/// A file of the version before is taken over, and belongs to the node from then on.
#[test]
fn a_file_of_an_earlier_version_is_taken_over() {
    let (_folder, path) = folder();
    let old = of_version_1(&[record(1), record(2)]);
    std::fs::write(&path, &old).expect("writable");
    assert_eq!(opened(&path).1, Some(record(2)));
    let bytes = std::fs::read(&path).expect("it is there");
    assert_eq!(bytes, [beginning(&owner()), encoded(&record(2))].concat());
    std::fs::write(&path, &old[..old.len() - 1]).expect("writable");
    assert!(matches!(refused(&path), DiskError::Damaged { .. }), "torn and damaged look alike there");
}

/// Pipes, folders, devices, and files without end in the place of a file, of its lock and of the one that replaces it.
#[test]
fn only_regular_files_of_bounded_size_are_opened() {
    let (folder, path) = folder();
    let pipe = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status().expect("it is a system with pipes");
        assert!(made.success());
    };
    let device = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).expect("writable");
    let huge = |path: &Path| File::create(path).and_then(|file| file.set_len(100 << 30)).expect("it is sparse");
    let makers: [&dyn Fn(&Path); 4] =
        [&pipe, &device, &|path: &Path| std::fs::create_dir(path).expect("writable"), &huge];
    for (place, make) in makers.iter().enumerate() {
        let path = folder.path().join(format!("{place}.disk"));
        make(&path);
        assert!(matches!(refused(&path), DiskError::File { .. }), "{place}");
        // A lock of any length is only locked.
        if place < 3 {
            let path = folder.path().join(format!("{place}-locked.disk"));
            make(&path.with_extension("lock"));
            assert!(matches!(refused(&path), DiskError::File { .. }), "{place}");
        }
    }
    pipe(&path.with_extension("next"));
    assert_eq!(opened(&path).1, None);
}

#[test]
fn a_full_disk_is_an_error_after_which_nothing_is_written() {
    let (_folder, path) = folder();
    let (disk, _) = opened(&path);
    let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut disk = disk.with(Some(full), 1 << 20);
    let error = disk.write(&record(1), &WrittenKeys::default()).expect_err("there is no room").to_string();
    assert!(error.contains("No space left on device"), "{error}");
    assert!(matches!(disk.write(&record(2), &WrittenKeys::default()), Err(DiskError::Broken(_))));
}

#[test]
fn two_processes_do_not_share_a_file_and_a_long_file_is_replaced() {
    let (_folder, path) = folder();
    let (disk, _) = opened(&path);
    assert!(matches!(Disk::open(&path, &owner(), Ways::default()), Err(DiskError::InUse(_))));
    let mut disk = disk.with(None, 300);
    for number in 0..50 {
        disk.write(&record(number), &WrittenKeys::default()).expect("there is room");
        assert!(std::fs::metadata(&path).expect("it is there").len() <= 300, "{number}");
    }
    assert!(
        matches!(Disk::open(&path, &owner(), Ways::default()), Err(DiskError::InUse(_))),
        "whatever file it is by now"
    );
    drop(disk);
    assert_eq!(opened(&path).1, Some(record(49)));
}

/// The longest record is read back; one byte more is refused, and the file stays as it is.
#[test]
fn a_record_that_cannot_be_read_back_is_not_written() {
    let (_folder, path) = folder();
    let (mut disk, _) = opened(&path);
    // In addition to what the protocol keeps, there are two numbers, a flag, a length of four bytes, and an empty list;
    // and two numbers and an empty list of disks.
    let of = |bytes: usize| Record { protocol: Some(vec![7; bytes - 12]), ..record(1) };
    let longest = of(RECORD_MAX);
    disk.write(&longest, &WrittenKeys::default()).expect("there is room");
    assert!(
        matches!(disk.write(&of(RECORD_MAX + 1), &WrittenKeys::default()), Err(DiskError::TooLong { bytes, .. }) if bytes == RECORD_MAX + 1)
    );
    drop(disk);
    assert!(opened(&path).1 == Some(longest));
}
