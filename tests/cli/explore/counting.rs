//! The cost of requests, in reads of a clock: searches of states, handlers and expressions read it as they proceed.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use host_sandbox::fixtures;
use serde_json::json;

use super::Page;
use crate::cli::Place;
use crate::cli::golden::repository;

/// Interrupts a session, also where a test fails.
struct Interrupts(Arc<AtomicBool>);

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Passes on what is written.
struct Passes(mpsc::Sender<Vec<u8>>);

impl Write for Passes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(std::io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Asks a session in this process, whose clock counts how often it is read, and stands still.
fn on_a_clock_that_counts(place: &Place, words: &[&str], ask: impl FnOnce(&Page, &AtomicU64)) {
    let (read, interrupted) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
    let (written, printed) = mpsc::channel();
    let directory = place.path("");
    let clock: host::Clock = {
        let read = Arc::clone(&read);
        Arc::new(move || {
            read.fetch_add(1, Ordering::Relaxed);
            Duration::ZERO
        })
    };
    std::thread::scope(|scope| {
        let interrupts = Interrupts(Arc::clone(&interrupted));
        let session = scope.spawn(move || {
            let (mut out, mut err) = (Passes(written), std::io::sink());
            let mut environment = host::Environment {
                stdout: &mut out,
                stderr: &mut err,
                stdin: &mut std::io::empty(),
                stdin_is_terminal: false,
                colours: false,
                stderr_columns: None,
                directory,
                cache: host::default_cache(),
                clock,
                builds: Default::default(),
                interrupted,
            };
            let words = ["host", "explore"].iter().chain(words).map(std::ffi::OsString::from);
            host::run(words, &mut environment)
        });
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            line.extend(printed.recv().expect("it prints its address"));
        }
        ask(&Page::at(&String::from_utf8_lossy(&line), None), &read);
        drop(interrupts);
        assert_eq!(session.join().expect("no panic"), 0);
    });
}

/// A click on a map costs the way to the state: the exploration, which reads the clock at each state, is not repeated.
#[test]
fn a_map_is_explored_once() {
    let place = repository();
    let words = ["plugins/paxos", "--quiet", "--", "--nodes", "3"];
    on_a_clock_that_counts(&place, &words, |page, read| {
        let limit = 400;
        let reads = |path: &str| {
            let before = read.load(Ordering::Relaxed);
            let answer = page.get(path);
            (answer, read.load(Ordering::Relaxed) - before)
        };
        let (map, reads_of_map) = reads(&format!("map?limit={limit}"));
        assert_eq!(map["states"].as_array().map(Vec::len), Some(limit));
        assert!(reads_of_map >= 1_000, "{reads_of_map} reads of the clock");
        let (again, reads_again) = reads(&format!("map?limit={limit}"));
        assert_eq!(again, map);
        let (_, reads_of_node) = reads(&format!("local?node=0&at=0&limit={limit}"));
        let before = read.load(Ordering::Relaxed);
        let moved = page.post("map/go", &json!({ "state": limit - 1, "limit": limit }));
        let reads_of_click = read.load(Ordering::Relaxed) - before;
        for reads in [reads_again, reads_of_node, reads_of_click] {
            // Descriptions of events read it, too.
            assert!(5 * reads < reads_of_map, "{reads} of {reads_of_map} reads of the clock: it is explored again");
        }
        // The same map knows where the session has been.
        let (visited, _) = reads(&format!("map?limit={limit}"));
        assert_eq!(visited["states"][limit - 1]["place"], moved["place"]);
        // Another bound is another map.
        assert!(5 * reads("map?limit=399").1 > reads_of_map);
    });
}

/// Saving a trace executes each of its steps once, and a step more costs a probe one value.
#[test]
fn traces_and_probes_cost_each_step_once() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::counts());
    on_a_clock_that_counts(&place, &["guest.wasm", "--quiet", "--", "--nodes", "1"], |page, read| {
        let mut line = vec![0];
        for _ in 0..401 {
            line.push(page.take(line[line.len() - 1], 0));
        }
        let reads = |path: &str| {
            let before = read.load(Ordering::Relaxed);
            let answer = page.get(path);
            (answer, read.load(Ordering::Relaxed) - before)
        };
        let [few, many] = [200, 400].map(|steps| {
            let (trace, reads) = reads(&format!("places/{}/trace", line[steps]));
            assert_eq!(trace["steps"].as_array().map(Vec::len), Some(steps));
            assert!(reads >= steps as u64, "{reads} reads of the clock for {steps} steps");
            reads
        });
        assert!(2 * many < 5 * few, "{few} reads of the clock for 200 steps, {many} for 400");
        let probe = page.post("probes", &json!({ "expression": "size(nodes)" }))["probe"].clone();
        let (first, reads_of_all) = reads(&format!("probes/{probe}?to={}", line[400]));
        assert_eq!(first["values"].as_array().map(Vec::len), Some(401));
        assert!(reads_of_all >= 401, "{reads_of_all} reads of the clock");
        let (next, reads_of_one) = reads(&format!("probes/{probe}?to={}&from=401", line[401]));
        assert_eq!(next["values"], json!(["1"]));
        assert!(reads_of_one < 20, "{reads_of_one} reads of the clock for one value");
    });
}
