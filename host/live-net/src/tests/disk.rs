//! Files of nodes: torn, damaged, full, in use.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use host_live::checkpoint::Durable;
use host_live::node::Record;

use crate::disk::{Disk, DiskError, make_folder, make_folder_with};

fn record(number: u8) -> Record {
    Record { numbers: Durable { incarnation: 1, reserved: 1 }, protocol: Some(vec![number; 20]) }
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("node-0.disk");
    (folder, path)
}

/// The name of each folder is on the disk before there is one in it, whichever node has made it.
#[test]
fn a_folder_is_on_the_disk_before_there_is_something_in_it() {
    let (folder, _) = folder();
    let synced = |path: &str| {
        let (path, mut synced) = (folder.path().join(path), Vec::new());
        let made = make_folder_with(&path, &mut |name| {
            // What is in it comes later.
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
    assert!(made("a", io::ErrorKind::PermissionDenied).is_ok(), "somebody else has made it");
    assert!(made("a", io::ErrorKind::StorageFull).is_err());
    std::fs::write(folder.path().join("file"), "").expect("writable");
    assert!(synced("file").is_err() && synced("file/a").is_err(), "there is no folder");
    make_folder(&folder.path().join("e/f")).expect("there is room");
    assert!(folder.path().join("e/f").is_dir());
}

/// Opens a file that nobody has. A process that another test starts has all that this one has, for a moment.
fn opened(path: &Path) -> (Disk, Option<Record>) {
    loop {
        match Disk::open(path) {
            Err(DiskError::InUse(_)) => std::thread::yield_now(),
            other => return other.expect("it opens"),
        }
    }
}

/// The error of a file that nobody has.
fn refused(path: &Path) -> DiskError {
    loop {
        match Disk::open(path).expect_err("it is refused") {
            DiskError::InUse(_) => std::thread::yield_now(),
            error => return error,
        }
    }
}

fn written(path: &Path, numbers: std::ops::Range<u8>) -> Vec<u8> {
    let (mut disk, _) = opened(path);
    numbers.for_each(|number| disk.write(&record(number)).expect("there is room"));
    drop(disk);
    std::fs::read(path).expect("it is there")
}

/// Wherever the last record is torn, the one before it is what the node starts with; and it can be written again.
#[test]
fn a_torn_record_is_cut_off_and_the_one_before_counts() {
    let (_folder, path) = folder();
    let whole = written(&path, 0..3);
    let shorter = (whole.len() - 8) / 3;
    for end in whole.len() - shorter..whole.len() {
        std::fs::write(&path, &whole[..end]).expect("writable");
        let (mut disk, last) = opened(&path);
        assert_eq!((last, disk.torn()), (Some(record(1)), end + shorter - whole.len()), "{end}");
        disk.write(&record(7)).expect("there is room");
        drop(disk);
        assert_eq!(opened(&path).1, Some(record(7)));
    }
    for end in 0..8 {
        std::fs::write(&path, &whole[..end]).expect("writable");
        assert_eq!(opened(&path).1, None, "the file itself was not complete");
    }
}

#[test]
fn damage_before_the_end_is_an_error_and_never_an_older_state() {
    let (_folder, path) = folder();
    let whole = written(&path, 0..3);
    let second = 8 + (whole.len() - 8) / 3;
    for place in 8..second {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x10;
        std::fs::write(&path, &damaged).expect("writable");
        let error = refused(&path);
        assert!(matches!(error, DiskError::Damaged { at: 8, .. }), "{place}: {error}");
    }
    std::fs::write(&path, "a text of somebody else").expect("writable");
    let error = refused(&path).to_string();
    assert!(error.ends_with("is no file of a node"), "{error}");
    assert_eq!(std::fs::read(&path).expect("it is there"), b"a text of somebody else");
}

/// What is left of a torn record may read as lengths anywhere: here every fourth byte begins one of half a mebibyte. Hashing that much at
/// each of them would be more than 100 GB.
#[test]
fn a_torn_record_is_cut_off_soon_whatever_is_in_it() {
    let (_folder, path) = folder();
    let whole = written(&path, 0..2);
    let torn = [0, 0, 8, 0].repeat(320 << 10);
    std::fs::write(&path, [&whole[..], &torn].concat()).expect("writable");
    let begun = Instant::now();
    let (disk, last) = opened(&path);
    assert_eq!((last, disk.torn()), (Some(record(1)), torn.len()));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

/// Where so much looks like records that they cannot all be looked at, one of them may be one: nothing is cut off.
#[test]
fn a_file_full_of_what_looks_like_records_is_refused_and_soon() {
    let (_folder, path) = folder();
    let whole = written(&path, 0..2);
    let mut torn = Vec::new();
    // Heads without the right hash, numbers, and all that is behind as the state of the protocol.
    while torn.len() < 1 << 20 {
        let body = (1 << 20) + (1 << 15) - torn.len();
        torn.extend(u32::try_from(body).expect("it is short").to_le_bytes());
        torn.extend([0; 8]);
        // The number of the bytes takes three itself.
        torn.extend(postcard::to_allocvec(&(1_u64, 1_u64, Some(body - 6))).expect("it has an encoding"));
    }
    torn.resize((1 << 20) + (1 << 15) + 12, 0);
    std::fs::write(&path, [&whole[..], &torn].concat()).expect("writable");
    let begun = Instant::now();
    let error = refused(&path);
    assert!(matches!(error, DiskError::Damaged { at, .. } if at == whole.len()), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn a_full_disk_is_an_error_after_which_nothing_is_written() {
    let (_folder, path) = folder();
    let (disk, _) = opened(&path);
    let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut disk = disk.with(Some(full), 1 << 20);
    let error = disk.write(&record(1)).expect_err("there is no room").to_string();
    assert!(error.contains("No space left on device"), "{error}");
    assert!(matches!(disk.write(&record(2)), Err(DiskError::Broken(_))));
}

#[test]
fn two_processes_do_not_share_a_file_and_a_long_file_is_replaced() {
    let (_folder, path) = folder();
    let (disk, _) = opened(&path);
    assert!(matches!(Disk::open(&path), Err(DiskError::InUse(_))));
    let mut disk = disk.with(None, 200);
    for number in 0..50 {
        disk.write(&record(number)).expect("there is room");
        assert!(std::fs::metadata(&path).expect("it is there").len() <= 200, "{number}");
    }
    assert!(matches!(Disk::open(&path), Err(DiskError::InUse(_))), "whatever file it is by now");
    drop(disk);
    assert_eq!(opened(&path).1, Some(record(49)));
}

/// The longest record is read back; one byte more is refused, and the file stays as it is.
#[test]
fn a_record_that_cannot_be_read_back_is_not_written() {
    let (_folder, path) = folder();
    let (mut disk, _) = opened(&path);
    // Beside what the protocol keeps there are two numbers, a flag and a length of four bytes.
    let of = |bytes: usize| Record { protocol: Some(vec![7; bytes - 7]), ..record(1) };
    let longest = of(64 << 20);
    disk.write(&longest).expect("there is room");
    assert!(
        matches!(disk.write(&of((64 << 20) + 1)), Err(DiskError::TooLong { bytes, .. }) if bytes == (64 << 20) + 1)
    );
    drop(disk);
    assert!(opened(&path).1 == Some(longest));
}
