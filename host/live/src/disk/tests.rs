//! Files with changes, on a disk that counts what is written.

use std::collections::BTreeMap;

use host_model::contract::{DurableMap, NodeMap, WrittenKeys};
use host_search::kernel::dice::{below, dice};
use rand_chacha::ChaCha8Rng;

use crate::checkpoint::Durable;
use crate::disk::records::{beginning, encoded};
use crate::disk::{Disk, Files, Owner, Ways};
use crate::node::Record;

/// Files in memory.
#[derive(Debug, Default)]
struct InMemory {
    file: Option<Vec<u8>>,
    next: Vec<u8>,
    note: String,
    /// Bytes written so far, and how often the file was replaced.
    written: usize,
    replaced: usize,
}

impl Files for InMemory {
    type Error = std::convert::Infallible;

    fn read(&mut self) -> Result<Option<Vec<u8>>, Self::Error> {
        Ok(self.file.clone())
    }

    fn open(&mut self, length: u64) -> Result<(), Self::Error> {
        self.file.iter_mut().for_each(|file| file.truncate(length as usize));
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.written += bytes.len();
        self.file.iter_mut().for_each(|file| file.extend(bytes));
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    fn write_next(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.written += bytes.len();
        self.next = bytes.to_vec();
        Ok(())
    }

    fn rename_next(&mut self) -> Result<(), Self::Error> {
        self.replaced += 1;
        self.file = Some(std::mem::take(&mut self.next));
        Ok(())
    }

    fn note(&mut self) -> Result<String, Self::Error> {
        Ok(self.note.clone())
    }

    fn set_note(&mut self, text: &str) -> Result<(), Self::Error> {
        text.clone_into(&mut self.note);
        Ok(())
    }
}

fn owner() -> Owner {
    let [plugin, digest, config, network, name] = [""; 5].map(str::to_owned);
    Owner { node: 0, plugin, digest, nodes: 1, config, network, name }
}

fn opened(files: InMemory) -> (Disk<InMemory>, Option<Record>) {
    Disk::open(files, &owner(), Ways::default()).expect("the file is whole")
}

fn record(reserved: u64, protocol: Option<Vec<u8>>) -> Record {
    let numbers = Durable { incarnation: 1, reserved };
    let (disks, map) = Default::default();
    Record { numbers, protocol, peers: BTreeMap::from([(1, reserved / 3)]), disks, map }
}

/// Writes a record without a map.
fn write(disk: &mut Disk<InMemory>, record: &Record) {
    disk.write(record, &WrittenKeys::default()).expect("there is room");
}

fn value(dice: &mut ChaCha8Rng, length: u64) -> Vec<u8> {
    (0..length).map(|_| below(dice, 256) as u8).collect()
}

/// The next state: unrelated, none, empty, the same, or with some bytes replaced, inserted or removed.
fn next(dice: &mut ChaCha8Rng, state: Option<Vec<u8>>) -> Option<Vec<u8>> {
    let number = below(dice, 20);
    match (number, state) {
        (0, _) | (_, None) => {
            let length = below(dice, 2_000);
            Some(value(dice, length))
        }
        (1, _) => None,
        (2, _) => Some(Vec::new()),
        (3, state) => state,
        (_, Some(mut state)) => {
            let start = below(dice, state.len() as u64 + 1) as usize;
            let removed = below(dice, (state.len() - start).min(60) as u64 + 1) as usize;
            let inserted = below(dice, 60);
            state.splice(start..start + removed, value(dice, inserted));
            Some(state)
        }
    }
}

/// 40 files with 100 records each, reopened at times: each record is read back.
#[test]
fn each_record_is_read_back_whatever_it_follows() {
    for number in 0..40 {
        let mut dice = dice(number, 0);
        let (mut disk, mut state) = (opened(InMemory::default()).0, None);
        for reserved in 0..100 {
            disk = match number % 3 {
                0 => disk.with_file_max(300),
                1 => disk.with_changes_always(),
                _ => disk,
            };
            state = next(&mut dice, state);
            let record = record(reserved, state.clone());
            write(&mut disk, &record);
            let copy = InMemory { file: disk.files_mut().file.clone(), ..InMemory::default() };
            let (again, last) = opened(InMemory { note: "There".to_owned(), ..copy });
            assert_eq!(last.as_ref(), Some(&record), "{number} {reserved}");
            if below(&mut dice, 5) == 0 {
                disk = again;
            }
        }
    }
}

/// A store of 2.5 MB and a log, and 2,000 records that each change one value in both: at most three bytes are written for each new one, and
/// the file stays shorter than four stores.
#[test]
fn a_write_costs_what_has_changed() {
    const VALUE: usize = 256;
    let mut dice = dice(7, 0);
    let (mut store, mut log) = (value(&mut dice, 10_000 * VALUE as u64), value(&mut dice, 100 * VALUE as u64));
    let mut disk = opened(InMemory::default()).0;
    let state = |log: &[u8], store: &[u8]| Some([log, store].concat());
    write(&mut disk, &record(0, state(&log, &store)));
    let (before, replaced) = (disk.files_mut().written, disk.files_mut().replaced);
    for number in 1..=2_000 {
        let (new, key) = (value(&mut dice, VALUE as u64), below(&mut dice, 10_000) as usize);
        log.drain(..VALUE);
        log.extend(&new);
        store[key * VALUE..][..VALUE].copy_from_slice(&new);
        write(&mut disk, &record(number, state(&log, &store)));
        assert!(disk.files_mut().file.as_ref().is_some_and(|file| file.len() < 4 * (store.len() + log.len() + 100)));
    }
    let (written, replaced_by_now) = (disk.files_mut().written - before, disk.files_mut().replaced);
    assert!(written < 3 * 2_000 * VALUE, "{written}");
    assert_eq!(replaced_by_now, replaced, "the changes have 1.2 MB, less than three stores");
    assert_eq!(opened(disk.into_files()).1, Some(record(2_000, state(&log, &store))));
}

/// The bytes that changes move in a state are bounded: a value that grows in front of a store moves all of it.
#[test]
fn a_file_that_takes_long_to_read_is_replaced() {
    let mut dice = dice(8, 0);
    let store = value(&mut dice, 16 << 20);
    let mut disk = opened(InMemory::default()).0;
    let state = |number: u64| Some([&vec![1; number as usize][..], &store].concat());
    write(&mut disk, &record(0, state(0)));
    let replaced = disk.files_mut().replaced;
    let limit = crate::disk::log::MOVED_MAX / store.len() as u64;
    for number in 1..limit {
        write(&mut disk, &record(number, state(number)));
    }
    assert_eq!(disk.files_mut().replaced, replaced);
    (limit..limit + 3).for_each(|number| write(&mut disk, &record(number, state(number))));
    assert_eq!(disk.files_mut().replaced, replaced + 1);
    let file = disk.files_mut().file.take().unwrap_or_default();
    let last = record(limit + 2, state(limit + 2));
    assert!(file.len() < beginning(&owner()).len() + encoded(&last).len() + 300);
    let note = "There".to_owned();
    assert!(opened(InMemory { file: Some(file), note, ..InMemory::default() }).1 == Some(last));
}

type Naive = BTreeMap<Vec<u8>, Vec<u8>>;

/// Writes a map, and a naive one: few and short keys, so that they meet again.
fn write_map(dice: &mut ChaCha8Rng, map: &mut NodeMap, naive: &mut Naive) {
    for _ in 0..below(dice, 4) {
        let mut key = || (0..below(dice, 3)).map(|_| below(dice, 4) as u8).collect::<Vec<u8>>();
        let (key, end) = (key(), key());
        match below(dice, 10) {
            0 => {
                map.delete_range(&key, Some(&end));
                naive.retain(|other, _| *other < key || *other >= end);
            }
            1..4 => {
                map.delete(&key);
                naive.remove(&key);
            }
            _ => {
                let length = below(dice, 50);
                let value = value(dice, length);
                map.put(&key, &value);
                naive.insert(key, value);
            }
        }
    }
}

/// 60 files with 150 records each, of a map and of a state that is sometimes there, reopened at times: the map of each record is read back,
/// as a naive one has it. Of several events, one record may be written.
#[test]
fn the_map_of_each_record_is_read_back() {
    for number in 0..60 {
        let mut dice = dice(number, 3);
        let (mut disk, mut state, mut naive) = (opened(InMemory::default()).0, None, Naive::new());
        let (mut map, mut written) = (NodeMap::default(), WrittenKeys::default());
        for reserved in 0..150 {
            disk = match number % 3 {
                0 => disk.with_file_max(300),
                1 => disk.with_changes_always(),
                _ => disk,
            };
            if number % 2 == 0 {
                state = next(&mut dice, state);
            }
            write_map(&mut dice, &mut map, &mut naive);
            written.extend(map.take_written());
            if below(&mut dice, 3) == 0 {
                continue;
            }
            let record = Record { map: map.map().clone(), ..record(reserved, state.clone()) };
            disk.write(&record, &std::mem::take(&mut written)).expect("there is room");
            let copy = InMemory { file: disk.files_mut().file.clone(), ..InMemory::default() };
            let (again, last) = opened(InMemory { note: "There".to_owned(), ..copy });
            assert_eq!(last.as_ref(), Some(&record), "{number} {reserved}");
            let entries = last.iter().flat_map(|last| last.map.iter());
            assert!(entries.eq(naive.iter().map(|(key, value)| (&key[..], &value[..]))), "{number} {reserved}");
            if below(&mut dice, 5) == 0 {
                disk = again;
            }
        }
    }
}

/// A map of 10,000 values and a log of 100, and 2,000 records that each put one of both: a write has at most 1.3 times the bytes of what it
/// puts, and the file is not replaced until the changes outgrow the map three times.
#[test]
fn a_write_of_a_map_costs_what_has_changed() {
    const VALUE: usize = 256;
    let mut dice = dice(7, 3);
    let key = |number: u64| [&b"store"[..], &number.to_be_bytes()].concat();
    let index = |number: u64| [&b"log"[..], &number.to_be_bytes()].concat();
    let mut map: DurableMap = (0..10_000).map(|number| (key(number), value(&mut dice, VALUE as u64))).collect();
    let mut disk = opened(InMemory::default()).0;
    let of = |number, map: &DurableMap| Record { map: map.clone(), ..record(number, None) };
    write(&mut disk, &of(0, &map));
    let (before, replaced) = (disk.files_mut().written, disk.files_mut().replaced);
    let whole = map.content_bytes();
    let (mut number, mut bytes) = (0, 0);
    while disk.files_mut().replaced == replaced {
        number += 1;
        let (new, at) = (value(&mut dice, VALUE as u64), below(&mut dice, 10_000));
        let mut node = NodeMap::new(map);
        node.put(&key(at), &new);
        node.put(&index(number), &new);
        node.delete_range(&[], Some(&index(number.saturating_sub(100))));
        bytes = disk.files_mut().written - before;
        map = node.map().clone();
        disk.write(&of(number, &map), &node.take_written()).expect("there is room");
    }
    let changes = (number - 1) as usize;
    assert!(bytes < changes * 2 * VALUE * 13 / 10, "{bytes} for {changes}");
    assert!(bytes as u64 > 5 * whole / 2, "{bytes} of {whole}");
    assert_eq!(opened(disk.into_files()).1, Some(of(number, &map)));
}

/// A map that differs in a key that no handler has reported is written as a whole.
#[test]
#[cfg_attr(debug_assertions, should_panic = "the map differs in other keys")]
fn a_map_that_differs_elsewhere_is_written_as_a_whole() {
    let mut disk = opened(InMemory::default()).0;
    let of = |value: &[u8]| Record { map: [(&b"key"[..], value)].into_iter().collect(), ..record(1, None) };
    write(&mut disk, &of(b"1"));
    write(&mut disk, &of(b"2"));
    assert_eq!(opened(disk.into_files()).1, Some(of(b"2")));
}
