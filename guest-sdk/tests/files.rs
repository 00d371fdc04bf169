//! Files of asynchronous programs, natively: random operations, compared with the same on lists of bytes, over resets.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::io::{ErrorKind, SeekFrom};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context as Polling, Poll, Waker};

use guest_sdk::tasks::fs::{self, File};
use guest_sdk::tasks::{Network, Program, Tasks};
use guest_sdk::test::Cluster;
use guest_sdk::{About, LocalEvents, Never, ParameterError, Parameters, Properties};
use serde::{Deserialize, Serialize};

type Disk = BTreeMap<String, Vec<u8>>;

thread_local! {
    /// The disk as it should be, and the random numbers of the next operations.
    static NAIVE: RefCell<(Disk, Lots)> = const { RefCell::new((Disk::new(), Lots(0))) };
}

/// A generator of random numbers.
struct Lots(u64);

impl Lots {
    fn below(&mut self, end: usize) -> usize {
        // The constants are Knuth's.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// The result of a function that does not wait.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Polling::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it waits"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Act;

struct Writes;

impl Program for Writes {
    const ABOUT: About = guest_sdk::about!().nodes(1);
    type Message = u32;
    type Call = Act;
    type Durable = Never;
    type Shared = Rc<()>;

    fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Self)
    }

    fn start(&self, _: Network<u32>, _: Option<Never>) -> Rc<()> {
        Rc::default()
    }

    fn calls(&self, _: &Rc<()>, calls: &mut LocalEvents<Act>) {
        calls.application("act", Act);
    }

    fn call(&self, _: &Rc<()>, Act: Act) {
        NAIVE.with_borrow_mut(|(disk, lots)| act(disk, lots));
    }

    fn properties(_: &mut Properties<Tasks<Self>>) {}
}

/// One operation, here and there.
fn act(disk: &mut Disk, lots: &mut Lots) {
    let mut name = || ["a", "b", "c"][lots.below(3)].to_owned();
    let (name, other) = (name(), name());
    let bytes: Vec<u8> = (0..lots.below(3) * lots.below(5_000)).map(|_| lots.below(256) as u8).collect();
    let place = lots.below(9_000);
    match lots.below(8) {
        0 => {
            now(fs::write(&name, &bytes)).expect("it is written");
            disk.insert(name, bytes);
        }
        1 => {
            let mut file = now(File::options().append(true).create(true).open(&name)).expect("it is created");
            assert_eq!(file.write_now(&bytes).ok(), Some(bytes.len()));
            assert_eq!(file.read_now(&mut [0]).map_err(|error| error.kind()), Err(ErrorKind::PermissionDenied));
            disk.entry(name).or_default().extend(&bytes);
        }
        2 | 3 => {
            let opened = now(File::options().read(true).write(true).open(&name));
            let Some(content) = disk.get_mut(&name) else {
                assert_eq!(opened.map(drop).map_err(|error| error.kind()), Err(ErrorKind::NotFound));
                return;
            };
            let mut file = opened.expect("it exists");
            assert_eq!(file.seek_now(SeekFrom::Start(place as u64)).ok(), Some(place as u64));
            file.write_now(&bytes).expect("it is written");
            if !bytes.is_empty() {
                content.resize(content.len().max(place + bytes.len()), 0);
                content[place..place + bytes.len()].copy_from_slice(&bytes);
            }
        }
        4 => {
            let is_there = disk.contains_key(&name);
            assert_eq!(now(fs::rename(&name, &other)).is_ok(), is_there);
            if let Some(content) = disk.remove(&name) {
                disk.insert(other, content);
            }
        }
        5 => assert_eq!(now(fs::remove_file(&name)).is_ok(), disk.remove(&name).is_some()),
        6 => {
            let Some(content) = disk.get_mut(&name) else { return };
            let file = now(File::options().write(true).open(&name)).expect("it exists");
            now(file.set_len(place as u64)).expect("it is cut");
            content.resize(place, 0);
        }
        _ => {
            let Some(content) = disk.get(&name) else { return };
            let mut file = now(File::open(&name)).expect("it exists");
            file.seek_now(SeekFrom::Start(place as u64)).expect("a place");
            let mut read = vec![1; bytes.len()];
            let length = file.read_now(&mut read).expect("it is read");
            assert_eq!(read[..length], *content.get(place..content.len().min(place + bytes.len())).unwrap_or_default());
            assert_eq!(file.write_now(&[0]).map_err(|error| error.kind()), Err(ErrorKind::PermissionDenied));
        }
    }
    for name in ["a", "b", "c"] {
        assert_eq!(now(fs::try_exists(name)).ok(), Some(disk.contains_key(name)));
        assert_eq!(now(fs::read(name)).ok().as_ref(), disk.get(name), "{name}");
    }
}

#[test]
fn a_file_is_a_list_of_bytes() {
    let mut length = 0;
    for seed in 0..60 {
        NAIVE.set((Disk::new(), Lots(seed)));
        let mut cluster = Cluster::<Tasks<Writes>>::new(1, &[]).expect("no parameters");
        for step in 0..60 {
            cluster.happen(0, "act");
            if step % 7 == 0 {
                cluster.reset(0);
            }
        }
        length = length.max(NAIVE.with_borrow(|(disk, _)| disk.values().map(Vec::len).max().unwrap_or(0)));
    }
    assert!(length > 10_000, "{length}");
}
