//! `cargo run --release -p host-tests --bin fuzz -- TARGET [TIME] [FIRST]`: runs cases of a target, or of all in turn, from a
//! number on, for some seconds. Prints one line per second, and the number of the case that fails.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use host_tests::fuzz::{Fate, TARGETS, Target};
use host_tests::memory_kib;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "all".to_owned());
    let seconds = arguments.next().and_then(|time| time.trim_end_matches('s').parse().ok()).unwrap_or(60);
    let first: u64 = arguments.next().and_then(|first| first.parse().ok()).unwrap_or(0);
    let targets: Vec<(&str, Target)> =
        TARGETS.iter().filter(|(target, _)| name == "all" || name == *target).copied().collect();
    if targets.is_empty() {
        println!("no target {name}; there are: all, {}", TARGETS.map(|(target, _)| target).join(", "));
        return ExitCode::from(2);
    }
    let (began, mut shown) = (Instant::now(), Duration::ZERO);
    let (mut fates, mut slowest) = ([0_u64; 3], (Duration::ZERO, "", 0));
    let mut failures = 0;
    for case in first.. {
        for (target, run) in &targets {
            let before = Instant::now();
            match catch_unwind(|| run(case)) {
                Ok(Fate::Refused) => fates[0] += 1,
                Ok(Fate::Faulty) => fates[1] += 1,
                Ok(Fate::Fine) => fates[2] += 1,
                Err(_) => {
                    println!("FAILED: {target} {case}; repeat with: fuzz {target} 0 {case}");
                    failures += 1;
                }
            }
            slowest = slowest.max((before.elapsed(), target, case));
        }
        let elapsed = began.elapsed();
        let is_last = elapsed.as_secs() >= seconds;
        if is_last || elapsed >= shown + Duration::from_secs(if seconds > 120 { 60 } else { 10 }) {
            shown = elapsed;
            let [refused, faulty, fine] = fates;
            let (time, target, number) = slowest;
            println!(
                "{:>5} s: {} cases each: {refused} refused, {faulty} faulty, {fine} fine, {failures} failed; slowest {target} {number} with {:.2} s; {} KiB",
                elapsed.as_secs(),
                case + 1 - first,
                time.as_secs_f64(),
                memory_kib(),
            );
        }
        if is_last {
            break;
        }
    }
    ExitCode::from(u8::from(failures > 0))
}
