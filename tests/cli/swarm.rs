//! Swarms: the same report wherever and whenever the jobs run.
//!
//! The jobs are processes of the built program.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::{Place, bundled, program};

/// The search of most tests here: 8 jobs of 50 walks each; some find the mistake.
const SEARCH: [&str; 7] = ["--", "--algo", "walk", "--walks", "50", "--set", "bug=last-response"];
const SEEDS: [&str; 4] = ["--seeds", "4", "--over", "proposers=1..2"];

/// Runs the program in a place.
fn run(program: &Path, place: &Place, words: &[&str]) -> Output {
    let command = &mut Command::new(program);
    command.args(words).current_dir(place.folder.path()).stdin(Stdio::null());
    command.output().expect("the program starts")
}

/// The report of a swarm of Paxos in a folder.
#[track_caller]
fn swarm(program: &Path, place: &Place, folder: &str, options: &[&str]) -> (Value, i32) {
    let words = [&["swarm", bundled("paxos"), "--json", "--quiet", "--out", folder], &SEEDS[..], options, &SEARCH];
    let output = run(program, place, &words.concat());
    let said = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    (report, output.status.code().expect("no signal"))
}

/// A report without the name of its folder.
fn without(report: &Value, folder: &str) -> String {
    report.to_string().replace(&format!("{folder}/"), "FOLDER/")
}

/// A file with machines, which are shells on this one: `ADDRESS/host` is a link to the program, or another script.
fn hosts(place: &Place, program: &Path, machines: &[(&str, Option<&str>)]) -> PathBuf {
    let ssh = "#!/bin/sh\nexport PATH=\"$PWD/$1:$PATH\"\ncase $1 in dead*) echo no route >&2; exit 255;; esac\nexec sh -c \"$2\"\n";
    let make = |name: &str, content: &str| {
        place.put(name, content);
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o755)).expect("a file of ours");
    };
    make("ssh", ssh);
    let mut text = "ssh = [\"./ssh\"]\n".to_owned();
    for (address, script) in machines {
        fs::create_dir_all(place.path(address)).expect("a folder");
        let real = format!("#!/bin/sh\nexec '{}' \"$@\"\n", program.display());
        make(
            &format!("{address}/host"),
            &script.map_or(real.clone(), |script| script.replace("REAL", &program.display().to_string())),
        );
        text += &format!("[[host]]\naddress = \"{address}\"\nprocesses = 2\n");
    }
    place.put("hosts.toml", text);
    place.path("hosts.toml")
}

#[test]
fn the_report_is_that_of_the_runs_one_by_one_wherever_they_run() {
    let Some(program) = program() else { return };
    let place = Place::new();
    let (one, code) = swarm(&program, &place, "one", &["--processes", "1"]);
    assert_eq!((code, &one["exit_code"], &one["jobs"]), (12, &json!(12), &json!(8)), "{one}");
    // The reference: each job by itself.
    let (mut results, mut finding) = (std::collections::BTreeMap::new(), Vec::new());
    for job in 0..8 {
        let (proposers, seed) = (format!("proposers={}", job % 2 + 1), (job / 2).to_string());
        let options = [&SEARCH[1..], &["--set", &proposers, "--seed", &seed, "--workers", "1"]].concat();
        let alone = place.run_json("paxos", &options);
        *results.entry(alone["result"].as_str().expect("a verdict").to_owned()).or_insert(0) += 1;
        for violation in alone["violations"].as_array().expect("a list") {
            finding.push((job, violation["shape"].clone(), violation["length"].as_u64().expect("a number")));
        }
    }
    assert!(results.len() > 1 && finding.len() > 2, "{results:?} {finding:?}");
    assert_eq!(one["results"], json!(results));
    let found = one["findings"].as_array().expect("a list");
    let counted: u64 = found.iter().map(|one| one["jobs"].as_u64().expect("a number")).sum();
    assert_eq!(counted as usize, finding.len());
    assert_eq!(found[0]["first_job"], finding[0].0);
    for one in found {
        let like = finding.iter().filter(|(_, shape, _)| *shape == one["shape"]);
        let shortest = like.map(|(job, _, length)| (*length, *job)).min().expect("a run has it");
        assert_eq!((one["length"].as_u64(), one["job"].as_u64()), (Some(shortest.0), Some(shortest.1)));
    }
    // Its command replays the trace.
    let replay = found[0]["replay"].as_str().expect("a command");
    let words: Vec<&str> = replay.split(' ').skip(1).collect();
    assert_eq!(run(&program, &place, &words).status.code(), Some(12), "{replay}");
    // Other numbers of processes, and machines.
    hosts(&place, &program, &[("a", None), ("b", None)]);
    let reference = without(&one, "one");
    for (folder, options) in [
        ("three", &["--processes", "3"][..]),
        ("away", &["--hosts", "hosts.toml"]),
        ("mixed", &["--hosts", "hosts.toml", "--processes", "1"]),
    ] {
        let (report, code) = swarm(&program, &place, folder, options);
        assert_eq!((code, without(&report, folder)), (12, reference.clone()), "{folder}");
    }
    assert!(
        fs::read_to_string(place.path("away/jobs/000003/done.json")).is_ok_and(|done| !done.contains("this machine"))
    );
    // Parts of a matrix, and one that is not there yet.
    let words = [&["swarm", bundled("paxos"), "--quiet", "--matrix", "2"], &SEEDS[..], &SEARCH].concat();
    let printed = run(&program, &place, &words);
    assert_eq!(String::from_utf8_lossy(&printed.stdout), "{\"jobs\":[\"0..3\",\"4..7\"]}\n");
    swarm(&program, &place, "first", &["--only", "0..3"]);
    let merge = |folders: &[&str]| {
        let output = run(&program, &place, &[&["swarm", "merge", "--json"], folders].concat());
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        (report, output.status.code())
    };
    assert_eq!(
        merge(&["first"]).0["results"].as_object().expect("a table").values().filter_map(Value::as_u64).sum::<u64>(),
        4
    );
    swarm(&program, &place, "second", &["--only", "4..7"]);
    let (report, code) = merge(&["first", "second"]);
    assert_eq!(code, Some(12));
    assert_eq!(without(&report, "first").replace("second/", "FOLDER/"), reference);
    // With `--first`, all jobs up to the first with a finding, for any number of processes.
    let first = finding[0].0;
    for (folder, processes) in [("early-1", "1"), ("early-4", "4")] {
        let (report, code) = swarm(&program, &place, folder, &["--first", "--processes", processes]);
        assert_eq!((code, &report["jobs"]), (12, &json!(first + 1)), "{report}");
        assert_eq!(report["findings"][0]["first_job"], first);
    }
}

#[test]
fn a_swarm_that_was_stopped_continues_with_the_jobs_that_are_left() {
    let Some(program) = program() else { return };
    let place = Place::new();
    let (whole, _) = swarm(&program, &place, "kept", &[]);
    let reference = without(&whole, "kept");
    let done = |job: usize| place.path(&format!("kept/jobs/{job:06}/done.json"));
    let modified = |job| fs::metadata(done(job)).and_then(|it| it.modified()).expect("a file");
    let before = modified(4);
    // As after a kill: one without its end, one with a part of its result, one that was changed, one with a sketch of another form.
    fs::remove_file(done(0)).expect("a file");
    fs::write(place.path("kept/jobs/000001/stats.json"), "{").expect("writable");
    fs::remove_dir_all(place.path("kept/jobs/000002")).expect("a folder");
    fs::write(place.path("kept/jobs/000003/sketch.json"), "{}").expect("writable");
    let (again, code) = swarm(&program, &place, "kept", &["--processes", "2"]);
    assert_eq!((code, without(&again, "kept")), (12, reference));
    assert_eq!(modified(4), before, "a job with a result does not run again");
    // Another swarm in its folder, and a folder without one.
    let words = [&["swarm", bundled("paxos"), "--quiet", "--out", "kept", "--seeds", "9"], &SEARCH[..]].concat();
    let output = run(&program, &place, &words);
    assert_eq!(output.status.code(), Some(151));
    assert!(String::from_utf8_lossy(&output.stderr).contains("holds the jobs of another swarm"), "{output:?}");
    assert_eq!(run(&program, &place, &["swarm", "merge", "."]).status.code(), Some(151));
}

/// Ctrl-C ends the jobs with the swarm. After a kill they continue to their ends, and until then no other swarm works in the folder.
#[test]
fn a_swarm_continues_after_ctrl_c_and_after_a_kill() {
    let Some(program) = program() else { return };
    let place = Place::new();
    let words = |folder| -> Vec<&str> {
        let swarm = ["swarm", bundled("paxos"), "--json", "--out", folder, "--seeds", "6", "--processes", "2"];
        [&swarm[..], &["--", "--algo", "walk", "--walks", "1500", "--set", "proposers=3"]].concat()
    };
    let reference = run(&program, &place, &words("whole"));
    let reference: Value = serde_json::from_slice(&reference.stdout).expect("a report");
    for (folder, signal) in [("stopped", "-INT"), ("killed", "-KILL")] {
        let mut command = Command::new(&program);
        command.args(words(folder)).current_dir(place.folder.path()).stdin(Stdio::null());
        let mut swarm = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        // The first line comes when a job has ended.
        let mut line = String::new();
        let mut said = BufReader::new(swarm.stderr.take().expect("it is piped"));
        said.read_line(&mut line).expect("text");
        assert!(line.starts_with("swarm: 1 of 6 jobs"), "{line}");
        let killed = Command::new("kill").args([signal, &swarm.id().to_string()]).status().expect("a shell has it");
        assert!(killed.success());
        let ended = swarm.wait_with_output().expect("it ends");
        if signal == "-INT" {
            let report: Value = serde_json::from_slice(&ended.stdout).expect("a report");
            let counted = report["results"]["incomplete"].as_u64().expect("one has ended");
            // All may have ended before the signal came.
            let code = if counted < 6 { 130 } else { 0 };
            assert_eq!((ended.status.code(), &report["jobs"]), (Some(code), &json!(6)), "{report}");
        }
        let again = loop {
            let again = run(&program, &place, &words(folder));
            let is_refused = String::from_utf8_lossy(&again.stderr).contains("another swarm works in ");
            assert!(!is_refused || signal == "-KILL", "{again:?}");
            if !is_refused {
                break again;
            }
        };
        let report: Value = serde_json::from_slice(&again.stdout).unwrap_or_else(|error| panic!("{error}: {again:?}"));
        assert_eq!((again.status.code(), report), (Some(0), reference.clone()), "{signal}");
    }
}

#[test]
fn machines_that_fail_are_named_and_others_run_their_jobs() {
    let Some(program) = program() else { return };
    let place = Place::new();
    let reference = without(&swarm(&program, &place, "here", &[]).0, "here");
    let old = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'host 0.0.1' && exit\nexec 'REAL' \"$@\"\n";
    hosts(&place, &program, &[("dead", None), ("old", Some(old)), ("good", None)]);
    let words = ["swarm", bundled("paxos"), "--json", "--out", "away", "--hosts", "hosts.toml"];
    let output = run(&program, &place, &[&words, &SEEDS[..], &SEARCH].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!((output.status.code(), without(&report, "away")), (Some(12), reference));
    assert!(said.contains("no more jobs for dead: it does not answer: no route"), "{said}");
    assert!(said.contains("no more jobs for old: host there is \"host 0.0.1\""), "{said}");
    // None is left.
    hosts(&place, &program, &[("dead", None)]);
    let words = ["swarm", bundled("paxos"), "--quiet", "--out", "alone", "--hosts", "hosts.toml"];
    let output = run(&program, &place, &[&words, &SEEDS[..], &SEARCH].concat());
    assert_eq!(output.status.code(), Some(153), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no machine executes jobs: dead: "), "{output:?}");
    // A machine that reports another component, and one whose finding is made up.
    let forged = "#!/bin/sh\n[ \"$1\" = --version ] && exec 'REAL' --version\n'REAL' \"$@\"; code=$?\nsed -i 's/\"digest\": \"[^\"]*\"/\"digest\": \"00\"/' 0*/stats.json\nexit $code\n";
    let made_up = "#!/bin/sh\n[ \"$1\" = --version ] && exec 'REAL' --version\n'REAL' \"$@\"; code=$?\nfor trace in 0*/trace.json; do [ -e $trace ] && echo '{}' > $trace; done\nexit $code\n";
    let sneaky = "#!/bin/sh\n[ \"$1\" = --version ] && exec 'REAL' --version\nexec 'REAL' \"$@\" --nodes 2\n";
    for (name, script, code, words) in [
        ("forged", forged, 153, "forged: its result is that of another build of paxos"),
        ("sneaky", sneaky, 153, "sneaky: its result is that of another cluster than paxos"),
        ("liar", made_up, 153, "liar: the finding of job "),
    ] {
        hosts(&place, &program, &[(name, Some(script))]);
        let swarm = ["swarm", bundled("paxos"), "--json", "--out", name, "--hosts", "hosts.toml"];
        let output = run(&program, &place, &[&swarm, &SEEDS[..], &SEARCH].concat());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(words), "{output:?}");
    }
}

/// A process that dies is tried again; one that dies each time is a failed job, and the others run.
#[test]
fn jobs_that_die_are_tried_again_and_reported() {
    let Some(program) = program() else { return };
    let place = Place::new();
    let reference = without(&swarm(&program, &place, "here", &[]).0, "here");
    // The first attempt at each job dies in one case; in the other, each attempt at the jobs of seed 3.
    let once = "#!/bin/sh\nlast=$(echo \"$@\" | tr -cd '[:alnum:]')\n[ \"$1\" = run ] && ! [ -e \"STATE-$last\" ] && touch \"STATE-$last\" && kill -KILL $$\nexec 'REAL' \"$@\"\n";
    let third = "#!/bin/sh\ncase \"$*\" in *'--seed 3 '*) kill -KILL $$;; esac\nexec 'REAL' \"$@\"\n";
    let once = once.replace("STATE", &place.path("state").display().to_string());
    for (name, script) in [("once", once.as_str()), ("third", third)] {
        hosts(&place, &program, &[(name, Some(script))]);
        let words = ["swarm", bundled("paxos"), "--json", "--out", name, "--hosts", "hosts.toml"];
        let output = run(&program, &place, &[&words, &SEEDS[..], &SEARCH].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
        if name == "once" {
            assert_eq!(without(&report, name), reference);
            assert!(said.contains("warning: job 0 failed, once: it has ended with "), "{said}");
        } else {
            let failed = report["failed"].as_array().expect("a list");
            let jobs: Vec<&Value> = failed.iter().map(|failed| &failed["job"]).collect();
            assert_eq!(jobs, [6, 7], "{report}");
            assert_eq!((output.status.code(), &report["jobs"]), (Some(12), &json!(8)));
        }
    }
}

#[test]
fn a_swarm_ends_where_jobs_see_nothing_new() {
    let Some(program) = program() else { return };
    let place = Place::new();
    let swarm = |folder: &str, processes: &str| {
        let words = ["swarm", bundled("register"), "--json", "--quiet", "--out", folder, "--seeds", "40"];
        let flat = ["--until-flat", "3", "--processes", processes, "--", "--algo", "walk", "--walks", "60"];
        let output = run(&program, &place, &[&words[..], &flat].concat());
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        report
    };
    let (one, four) = (swarm("one", "1"), swarm("four", "4"));
    assert_eq!(one, four);
    let (jobs, last) =
        (one["jobs"].as_u64().expect("a number"), one["seen"]["last_new_job"].as_u64().expect("a number"));
    assert!(jobs < 40 && jobs == last + 4, "{one}");
    // All local states that there are, up to the error of the estimate.
    let exact = place.run_json("register", &["--algo", "bdfs", "--safety-only"]);
    let exact = exact["counts"]["local_states"].as_u64().expect("a number") as f64;
    let seen = one["seen"]["curve"].as_array().and_then(|curve| curve.last()).expect("a point");
    let seen = seen["local_states"].as_u64().expect("a number") as f64;
    assert!(seen > 0.5 * exact && seen < 1.07 * exact, "{seen} of {exact}");
}

#[test]
fn what_is_no_swarm_is_refused_with_the_remedy() {
    let Some(program) = program() else { return };
    let place = Place::new();
    place.put(
        "s.toml",
        format!("plugin = \"{}\"\n[bounds]\nstates = 100\n[expect]\nresult = \"ok\"\n", bundled("register")),
    );
    let walks = "[strategy]\nalgo = \"walk\"\nwalks = 5\n";
    place.put("t.toml", format!("plugin = \"{}\"\n{walks}", bundled("register")));
    place.put("hosts.toml", "[[host]]\naddress = \"a\"\n");
    let register = bundled("register");
    let walks = ["--", "--algo", "walk", "--walks", "1"];
    for (words, code, message) in [
        (vec![register, "--out", "a"], 151, "a job of a swarm needs a bound"),
        (vec![register], 2, "--out <FOLDER>"),
        ([&[register, "--out", "a"], &walks[..], &["--seed", "1"]].concat(), 151, "its own `--seed`, or none"),
        ([&[register, "--out", "a"], &walks[..], &["--workers", "2"]].concat(), 151, "its own `--workers`, or none"),
        ([&[register, "--out", "a"], &walks[..], &["--walk", "2"]].concat(), 2, "--walk"),
        ([&[register, "--out", "a", "--seeds", "0"], &walks[..]].concat(), 2, "0 is not in"),
        ([&[register, "--out", "a", "--only", "5..4"], &walks[..]].concat(), 2, "expected the first and the last job"),
        (
            [&[register, "--out", "a", "--seeds", "4", "--only", "2..4"], &walks[..]].concat(),
            151,
            "the swarm has 4 jobs, from 0",
        ),
        ([&[register, "--out", "a", "--hosts", "none.toml"], &walks[..]].concat(), 151, "none.toml: "),
        ([&[register, "--out", "a", "--over", "reeds=1..2"], &walks[..]].concat(), 151, "reeds"),
        (vec!["s.toml", "--out", "a"], 151, "the scenario expects a result of one run"),
        (vec!["t.toml", "--out", "a", "--hosts", "hosts.toml"], 151, "a scenario names files of this machine"),
        (
            [&[register, "--out", "a", "--hosts", "hosts.toml"], &walks[..], &["--prefix", "t.json"]].concat(),
            151,
            "names a file of this machine",
        ),
        (vec!["merge", "nowhere"], 151, "is not the folder of a swarm"),
    ] {
        let output = run(&program, &place, &[&["swarm"], &words[..]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(said.contains("error: ") && said.contains(message), "{words:?}: {said}");
    }
    assert_eq!(place.list(), ["hosts.toml", "s.toml", "t.toml"]);
    // A scenario without an expectation has its seeds here.
    let output = run(&program, &place, &["swarm", "t.toml", "--out", "a", "--seeds", "2", "--json", "--quiet"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!((output.status.code(), &report["results"]), (Some(0), &json!({ "incomplete": 2 })));
}

/// The first line has the verdict, and the exit code is that of `host run`.
#[test]
fn the_verdict_of_complete_jobs_is_that_of_a_run() {
    let Some(program) = program() else { return };
    let place = Place::new();
    for (folder, options, code, line) in [
        ("ok", &[][..], 0, "ok: each job is complete, and no property is violated"),
        ("never", &["--sometimes", "crowd=size(nodes) > 5"], 15, "never-reached: "),
        ("wrong", &["--always", "there=node.nowhere == 1"], 75, "error: there"),
    ] {
        let swarm = ["swarm", bundled("paxos"), "--quiet", "--out", folder, "--seeds", "2", "--", "--time", "60s"];
        let output = run(&program, &place, &[&swarm[..], options].concat());
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.code() == Some(code) && text.starts_with(line), "{output:?}");
        let alone = place.host(&[&["run", bundled("paxos"), "--time", "60s"], options].concat());
        assert_eq!(i32::from(alone.code), code, "{alone:?}");
    }
}
