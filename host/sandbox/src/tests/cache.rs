//! Compiled code from the cache equals the compiler's output, and modules that are compiled separately, or without addresses, behave as
//! within their component.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use host_model::contract::{MachineFactory, Stop, Stopped};

use super::snapshots::{Step, apply, well_behaved};
use super::{init, run};
use crate::cache::{self, Cache, Functions, Use};
use crate::check::World;
use crate::contract::error::LoadError;
use crate::engine::compile::{Looks, compile_by};
use crate::fixtures::{self, Dice};
use crate::rewrite::{Rewritten, rewrite};
use crate::{Addresses, Libraries, Plugin, Sandbox, SandboxConfig};

/// The files of a folder with an extension.
pub(super) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("readable").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    files.sort();
    files
}

fn with(libraries: Libraries, cache: Option<&Path>) -> Sandbox {
    configured(SandboxConfig { libraries, ..SandboxConfig::default() }, cache)
}

fn configured(config: SandboxConfig, cache: Option<&Path>) -> Sandbox {
    let config = SandboxConfig { verify_capture: true, ..config };
    Sandbox::new(config, cache.map(Path::to_owned)).expect("an engine")
}

fn rewritten(bytes: &[u8], config: &SandboxConfig) -> Rewritten {
    rewrite(bytes, config, &()).expect("a component that can be rewritten")
}

/// Guests of every kind: with nested components, shared memories, tables, globals, at random.
fn guests() -> Vec<(String, Vec<u8>)> {
    let mut guests: Vec<_> = well_behaved().into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
    guests.extend(fixtures::results().map(|name| (name.to_owned(), fixtures::returned(name, true))));
    guests.extend((0..20).map(|seed| (format!("random {seed}"), fixtures::random(seed))));
    guests.push(("interpreted".to_owned(), fixtures::interpreted(1)));
    guests
}

#[test]
fn modules_compiled_apart_and_without_addresses_behave_as_within_their_component() {
    let inside = SandboxConfig { libraries: Libraries::None, addresses: Addresses::None, ..SandboxConfig::default() };
    let outside = SandboxConfig { libraries: Libraries::All, addresses: Addresses::All, ..inside.clone() };
    let mut apart = 0;
    for (name, bytes) in guests() {
        let (whole, parts) = (rewritten(&bytes, &inside), rewritten(&bytes, &outside));
        let with_addresses = rewritten(&bytes, &SandboxConfig { addresses: Addresses::None, ..outside.clone() });
        assert!(parts.libraries != with_addresses.libraries, "{name} has no address");
        assert!(whole.libraries.is_empty());
        assert_eq!(parts.memories, whole.memories, "{name}");
        apart += parts.libraries.len();
        let [mut one, mut other] = [&inside, &outside].map(|config| {
            let sandbox = configured(config.clone(), None);
            let plugin = Plugin::load(&sandbox, &bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut machine = plugin.machine().expect("an instance");
            run(&mut *machine, init(1)).expect("init is fine");
            machine
        });
        let mut random = Dice::new(0x9e37_79b9);
        let mut states = vec![(one.capture(), other.capture())];
        for _ in 0..60 {
            let (state, its) = &states[random.below(states.len())];
            one.restore(Some(state)).expect("an instance");
            other.restore(Some(its)).expect("an instance");
            let step = Step::any(&mut random);
            assert_eq!(apply(&mut *one, &step), apply(&mut *other, &step), "{name}");
            assert_eq!(one.serialize(), other.serialize(), "{name}");
            let (state, its) = (one.capture(), other.capture());
            // The first word distinguishes the plugins.
            assert_eq!(state.words()[1..], its.words()[1..], "{name}");
            states.push((state, its));
        }
    }
    // The fixtures have at least one module, and a component that passes on results has several.
    assert!(apart > guests().len(), "{apart}");
}

/// Hosts that want the same component at once: the second one gets the first one's output, and compiles nothing. The time of the first
/// one does not count as its own.
#[test]
fn a_component_that_another_host_compiles_is_waited_for() {
    const SECONDS: u64 = 3;
    let (made, dir) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let bytes = fixtures::random(1);
    let load = |dir: &Path| {
        let mut config = SandboxConfig { libraries: Libraries::None, ..SandboxConfig::default() };
        config.limits.compile_seconds = SECONDS;
        Plugin::load(&configured(config, Some(dir)), &bytes).expect("a plugin").load_times().cached
    };
    assert!(!load(made.path()));
    let [entry] = &files(made.path(), "cwasm")[..] else { panic!("one component is one entry") };
    let name = entry.file_name().expect("it is a file");
    let lock = dir.path().join(name).with_extension("tmp");
    let other = fs::File::create(&lock).expect("writable");
    other.lock().expect("no other process locks it");
    thread::scope(|scope| {
        let second = scope.spawn(|| load(dir.path()));
        // However long this takes, the second one did not compile.
        thread::sleep(Duration::from_millis(SECONDS * 1_000 + 500));
        assert!(!second.is_finished() && files(dir.path(), "functions").is_empty());
        fs::copy(entry, dir.path().join(name)).expect("writable");
        drop(other);
        assert!(second.join().expect("it loads"), "it was compiled again");
    });
    assert!(!lock.exists() && files(dir.path(), "functions").is_empty());
    // A host that has gone without an output is not waited for.
    fs::remove_file(dir.path().join(name)).expect("it is there");
    fs::File::create(&lock).expect("writable");
    assert!(!load(dir.path()) && load(dir.path()));
    assert!(!lock.exists());
}

#[test]
fn a_library_is_compiled_once_for_all_programs() {
    let dir = tempfile::tempdir().expect("a directory");
    let load = |program| {
        let plugin = Plugin::load(&with(Libraries::Large, Some(dir.path())), &fixtures::interpreted(program));
        let plugin = plugin.expect("a plugin");
        let mut machine = plugin.machine().expect("an instance");
        run(&mut *machine, init(0)).expect("init is fine");
        run(&mut *machine, host_model::contract::Input::Message { src: 1, payload: &[] }).expect("fine");
        (plugin.load_times().cached, machine.serialize().expect("fine"), files(dir.path(), "cwasm").len())
    };
    // At 1024, `init` writes the second word, two nodes; functions 7 and 1498 write words 7 and 10: (source + program) times their factors.
    let expected = |program: u32| {
        let mut words = [0_u32; 16];
        words[1] = 2;
        words[7] = (1 + program) * 1_000_007;
        words[10] = (1 + program) * 1_001_498;
        words.map(u32::to_le_bytes).concat()
    };
    // The component and its library; then the component alone.
    assert_eq!(load(1), (false, expected(1), 2));
    assert_eq!(load(2), (false, expected(2), 3));
    assert_eq!(load(2), (true, expected(2), 3));
}

/// The machine code of a component, compiled with a cache or without one.
fn code(sandbox: &Sandbox, bytes: &[u8]) -> (Vec<Vec<u8>>, Use) {
    let rewritten = rewritten(bytes, sandbox.config());
    let shared = &sandbox.shared;
    let code = cache::compile(&shared.engine, shared.cache.as_ref(), &rewritten, &mut ()).expect("it compiles");
    let mut all = vec![code.component.serialize().expect("machine code")];
    all.extend(code.libraries.iter().map(|library| library.serialize().expect("machine code")));
    (all, code.cache)
}

/// Byte for byte, also for guests whose functions mostly were compiled for another one.
#[test]
fn functions_from_the_cache_are_what_the_compiler_makes() {
    let dir = tempfile::tempdir().expect("a directory");
    let without = with(Libraries::Large, None);
    for (name, bytes) in guests().into_iter().chain([("too far".to_owned(), fixtures::ping_pong_too_far())]) {
        let cached = with(Libraries::Large, Some(dir.path()));
        let (made, used) = code(&cached, &bytes);
        assert_eq!(used, Use::Missed, "{name}");
        assert!(made == code(&without, &bytes).0, "{name}");
        assert!((made, Use::Found) == code(&cached, &bytes), "{name}");
    }
}

/// The number of functions in a collection, by the layout in `cache/functions.rs`; none if there is no collection.
fn count(collection: &[u8]) -> usize {
    collection.get(40..48).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")) as usize)
}

/// A program as a linker makes it: the data that its functions read comes after a text. The last data has the length of the text.
fn linked(length: usize) -> Vec<u8> {
    let function = |n: usize| {
        let (at, other) = (8192 + length + 16 * n, 8200 + length + 16 * n);
        let code = format!("(i64.add (i64.load (i32.const {at})) (i64.xor (i64.const {other}) (i64.const -{n})))");
        format!("(func (result i64) (i64.store (i32.const {other}) (i64.const {n})) {code})")
    };
    let functions: String = (1..=200).map(function).collect();
    let (text, last) = ("t".repeat(length), format!("(func (result i32) (i32.const {length}))"));
    let data = format!("(memory 1) (data (i32.const 8192) \"{text}\") (data (i32.const {}) \"d\")", 8192 + length);
    wat::parse_str(format!("(component (core module {data} {functions} {last}))")).expect("valid text")
}

/// After an edit of one function, which moves all addresses, only that function is generated. On one thread: on several, it is chance
/// which functions are translated where a trampoline was before, and these have another key, see `cache::functions`.
#[test]
fn functions_are_found_after_addresses_have_moved() {
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    one_thread.install(look_for_moved_functions);
}

fn look_for_moved_functions() {
    let generated = |addresses| {
        let dir = tempfile::tempdir().expect("a directory");
        let sandbox = configured(SandboxConfig { addresses, ..SandboxConfig::default() }, Some(dir.path()));
        let without = configured(SandboxConfig { addresses, ..SandboxConfig::default() }, None);
        let mut before = Vec::new();
        [1000, 1032].map(|length| {
            let bytes = linked(length);
            assert!(code(&sandbox, &bytes).0 == code(&without, &bytes).0);
            let collections = files(dir.path(), "functions");
            let new = collections.iter().filter(|path| !before.contains(*path));
            let new: usize = new.map(|path| count(&fs::read(path).expect("readable"))).sum();
            before = collections;
            new
        })
    };
    let [first, later] = generated(Addresses::All);
    assert!(first > 200 && later <= 5, "{first}, {later}");
    // The code of a small module stays as it is.
    let [first, later] = generated(Addresses::Large);
    assert!(first > 200 && later > 200, "{first}, {later}");
}

/// Only functions that are damaged or could be from others are compiled again.
#[test]
fn a_function_is_taken_from_intact_collections_of_this_user() {
    let dir = tempfile::tempdir().expect("a directory");
    let folder = dir.path();
    let without = with(Libraries::Large, None);
    // Compiles, and returns the functions that the code generator compiled, with the collection around them.
    let generated = |guest: &[u8], collections: &[(&[u8], u32)]| {
        for file in [files(folder, "cwasm"), files(folder, "functions")].concat() {
            fs::remove_file(file).expect("ours");
        }
        for (nth, (content, mode)) in collections.iter().enumerate() {
            let path = folder.join(format!("{nth}.functions"));
            fs::write(&path, content).expect("writable");
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).expect("ours");
        }
        let (made, used) = code(&with(Libraries::Large, Some(folder)), guest);
        assert!(used == Use::Missed && made == code(&without, guest).0);
        let new =
            files(folder, "functions").into_iter().find(|path| path.file_stem().is_none_or(|name| name.len() > 1));
        new.map(|path| fs::read(path).expect("readable")).unwrap_or_default()
    };
    let guest = fixtures::ping_pong();
    let intact = generated(&guest, &[]);
    let all = count(&intact);
    // Keys are not the same each time, see `cache::functions`: up to seven of 45 functions were seen to differ.
    let few = all / 3;
    assert!(few >= 14, "{all}");
    assert!(count(&generated(&guest, &[(&intact, 0o600)])) < few, "all functions were there");
    assert!(count(&generated(&fixtures::ping_pong_too_far(), &[(&intact, 0o600)])) < few, "an edit changes few");

    let flipped = |at: usize| {
        let mut content = intact.clone();
        content[at] ^= 1;
        content
    };
    // One damaged function, a missing end, and every second byte of all code.
    for damaged in [&flipped(intact.len() - 1), &intact[..intact.len() - 1]] {
        assert!(count(&generated(&guest, &[(damaged, 0o600)])) < few, "the other functions are intact");
    }
    let mut damaged = intact.clone();
    damaged[48 + 80 * all..].iter_mut().step_by(2).for_each(|byte| *byte ^= 1);
    assert!(count(&generated(&guest, &[(&damaged, 0o600)])) > all - few, "all are damaged");
    // Magic, hash of the index, the count, the keys in the index, the hashes of code in it.
    for at in [0, 8, 40, 48, 48 + 32] {
        assert!(count(&generated(&guest, &[(&flipped(at), 0o600)])) > all - few, "{at}");
    }
    for mode in [0o620, 0o602, 0o666] {
        assert!(count(&generated(&guest, &[(&intact, mode)])) > all - few, "{mode:o}");
    }
    // One collection is used, among others that are not.
    let collections = [(&flipped(8)[..], 0o600), (&intact[..20], 0o600), (&intact[..], 0o666), (&intact[..], 0o600)];
    assert!(count(&generated(&guest, &collections)) < few);
}

/// Stops a compilation as soon as this number of functions was generated.
struct After {
    functions: Arc<Functions>,
    count: usize,
}

impl Stop for After {
    fn reason(&self) -> Option<Stopped> {
        (self.functions.new_count() >= self.count).then_some(Stopped::Interrupted)
    }
}

/// For any reason: time, memory, an interrupt. Later attempts begin where it ended, and the last one leaves the same files as without
/// it: no functions of the library, which is a file of its own.
#[test]
fn what_was_compiled_by_an_attempt_that_is_given_up_is_not_compiled_again() {
    const EVERY: usize = 300;
    let bytes = fixtures::interpreted(1);
    let (whole, parts) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let counts = |dir: &Path| -> usize {
        files(dir, "functions").iter().map(|path| count(&fs::read(path).expect("readable"))).sum()
    };
    Plugin::load(&with(Libraries::Large, Some(whole.path())), &bytes).expect("a plugin");
    let of_component = counts(whole.path());
    let mut kept = 0;
    for attempt in 1.. {
        // The abandoned thread keeps working, and writes its output: so the next attempt looks in another folder.
        let dir = tempfile::tempdir().expect("a directory");
        for file in files(parts.path(), "functions") {
            fs::copy(&file, dir.path().join(file.file_name().expect("a file"))).expect("writable");
        }
        let sandbox = with(Libraries::Large, Some(dir.path()));
        let functions = Arc::clone(&sandbox.shared.cache.as_ref().expect("there is a cache").functions);
        let stop: Arc<dyn Stop> = Arc::new(After { functions, count: EVERY });
        let sandbox = Sandbox { stop: Some(stop), ..sandbox };
        let looks = Looks { every: Duration::ZERO, wall: &|| Duration::ZERO };
        let compiled = compile_by(&looks, &sandbox, &bytes, World::Plugin, &mut |_| ());
        let now = counts(dir.path());
        if compiled.is_ok() {
            assert!(attempt > 2 && now - kept <= of_component + EVERY, "{attempt}: {kept}, {now}");
            assert!(Plugin::load(&with(Libraries::Large, Some(dir.path())), &bytes).expect("one").load_times().cached);
            break;
        }
        assert!(matches!(compiled.err(), Some(LoadError::Stopped(_))));
        assert!(now >= kept + EVERY, "attempt {attempt} has added nothing: {kept}, {now}");
        kept = now;
        for file in files(dir.path(), "functions") {
            fs::copy(&file, parts.path().join(file.file_name().expect("a file"))).expect("writable");
        }
    }
}

/// An engine with a folder that cannot be made compiles all the same.
#[test]
fn a_cache_without_a_place_only_costs_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("file");
    fs::write(&file, b"").expect("writable");
    assert_eq!(code(&with(Libraries::Large, Some(&file)), &fixtures::ping_pong()).1, Use::Missed);
    assert!(Cache::new(file).dir.is_file());
}
