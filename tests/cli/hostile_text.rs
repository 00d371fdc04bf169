//! A plugin, a file or a file name with text that a terminal, a log or a parser would obey, in every place that shows such
//! text; and descriptions so long that the output made of them must stay short.

use std::path::Path;

use host_sandbox::fixtures;
use serde_json::{Value, json};

use super::{Place, Ran};

/// Line breaks, escape sequences, DEL, C1 controls, characters that reorder text or end lines, commands to runners of workflows, markup.
const HOSTILE: &str = "\n::error::forged\r\n##[error]forged\n##vso[x]\u{1b}[2J\u{1b}]0;x\u{7}\u{7f}\u{80}\u{85}\u{9b}31m\u{9f}\u{61c}\u{200e}\u{202e}\u{2066}\
                       \u{2028}::warning::forged\u{2029}\u{feff}\u{e0041}</title><script>\"';--x'$(y)`]]>&";

/// Characters that terminals and editors obey or hide: controls, separators of lines, marks that reorder text, invisible letters.
fn acts(letter: char) -> bool {
    let code = u32::from(letter);
    code < 0x20
        || (0x7f..0xa0).contains(&code)
        || [0x61c, 0x200e, 0x200f, 0xfeff].contains(&code)
        || (0x2028..=0x202e).contains(&code)
        || (0x2066..=0x2069).contains(&code)
        || (0xe0000..=0xe007f).contains(&code)
}

/// Asserts that no part of a text is obeyed.
#[track_caller]
fn harmless(text: &str, what: &str) {
    let acting: Vec<char> = text.chars().filter(|letter| acts(*letter) && *letter != '\n').collect();
    assert!(acting.is_empty(), "{what} has {acting:?} in {text:?}");
    for line in text.lines() {
        let begins = line.trim_start();
        assert!(!begins.starts_with("::") || begins.starts_with("::error file="), "{what} has the line {line:?}");
        assert!(!line.contains("##[") && !line.contains("##vso["), "{what} has the line {line:?}");
        assert!(!line.starts_with("forged"), "{what} has the line {line:?}");
    }
}

#[track_caller]
fn harmless_output(ran: &Ran, what: &str) {
    harmless(&ran.out, what);
    harmless(&ran.err, what);
}

/// Every file below a folder that is text.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            texts.extend(files(&path));
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            texts.push((path.display().to_string(), text));
        }
    }
    texts
}

/// The reason why a plugin refuses its configuration is one line in the output of every command.
#[test]
fn what_a_plugin_refuses_is_one_line() {
    let place = Place::new();
    std::fs::create_dir(place.path("made")).expect("writable");
    place.put("made/guest.wasm", fixtures::speaks(HOSTILE, "refusal"));
    place.put("made/host.toml", "[build]\ncommand = \"true\"\noutput = \"guest.wasm\"\n");
    let commands: [&[&str]; 6] = [
        &["build", "made"],
        &["run", "made", "--nodes", "2"],
        &["run", "made", "--nodes", "2", "--json"],
        &["doctor", "made", "--nodes", "2"],
        &["simulate", "made", "--", "--nodes", "2"],
        &["graph", "made", "--out", "g.svg", "--", "--nodes", "2"],
    ];
    for command in commands {
        let ran = place.host(command);
        assert!(ran.out.contains("forged") || ran.err.contains("forged"), "{command:?}: {ran:?}");
        harmless_output(&ran, &format!("{command:?}"));
    }
}

#[test]
fn what_a_plugin_says_is_shown_and_not_obeyed() {
    let place = Place::new();
    for (way, exit) in [("violation", 12), ("trap", 14)] {
        place.put("guest.wasm", fixtures::speaks(HOSTILE, way));
        let run = ["run", "guest.wasm", "--nodes", "2", "--algo", "bdfs", "--out", "found"];
        harmless_output(&place.host(&run).exits(exit), "run");
        let json = place.host(&[&run[..], &["--json"]].concat()).exits(exit);
        harmless_output(&json, "run --json");
        let property = &json.json()["properties"][0]["name"];
        assert_eq!(property, HOSTILE, "what is escaped in JSON is read as it was");
        let trace = "found/trace.json";
        let commands: [&[&str]; 18] = [
            &["replay", trace, "--plugin", "guest.wasm"],
            &["replay", trace, "--plugin", "guest.wasm", "--json"],
            &["minimize", trace, "--plugin", "guest.wasm", "--out", "out/short.json"],
            &["minimize", trace, "--plugin", "guest.wasm", "--out", "out/short.json", "--json"],
            &["graph", "guest.wasm", "--out", "out/g.svg", "--out", "out/g.dot", "--", "--nodes", "2"],
            &["graph", "guest.wasm", "--local", "--out", "out/l.svg", "--out", "out/l.dot", "--", "--nodes", "2"],
            &[
                "draw",
                trace,
                "--plugin",
                "guest.wasm",
                "--out",
                "out/d.svg",
                "--out",
                "out/d.html",
                "--out",
                "out/d.mmd",
                "--out",
                "out/d.dot",
            ],
            &["export", trace, "--plugin", "guest.wasm", "--format", "itf"],
            &["export", trace, "--plugin", "guest.wasm", "--format", "itf", "--out", "out/t.itf.json"],
            &["export", trace, "--plugin", "guest.wasm", "--format", "shiviz"],
            &["export", trace, "--plugin", "guest.wasm", "--format", "json"],
            &["replay", "out/t.itf.json", "--plugin", "guest.wasm"],
            &["inspect", "guest.wasm"],
            &["inspect", "guest.wasm", "--json"],
            &["doctor", "guest.wasm", "--nodes", "2"],
            &["doctor", "guest.wasm", "--nodes", "2", "--json"],
            &["doctor", "guest.wasm", "--nodes", "2", "--why-different"],
            &["doctor", "guest.wasm", "--nodes", "2", "--why-different", "--json"],
        ];
        for command in commands {
            let ran = place.host(command);
            // All its states look the same.
            let expected = if command.contains(&"--why-different") { &[1][..] } else { &[0, 12, 14] };
            assert!(expected.contains(&ran.code), "{command:?}: {ran:?}");
            harmless_output(&ran, &format!("{command:?}"));
        }
        let script = "enabled\nstate\nstep\nlook\nproperties\nwhy\nhelp\nnext\nback\nbranches\nstates\n";
        harmless_output(&place.host_reading(&["debug", trace, "--plugin", "guest.wasm"], script), "debug");
        harmless_output(&place.host_reading(&["debug", "guest.wasm", "--", "--nodes", "2"], script), "debug");
        place.put("bad.scenario.toml", "plugin = \"guest.wasm\"\nnodes = 2\n[strategy]\nalgo = \"bdfs\"\n");
        let forms = ["--junit", "out/junit.xml", "--sarif", "out/test.sarif", "--annotations", "github"];
        let tested = place.host(&[&["test", "bad.scenario.toml"], &forms[..]].concat());
        harmless_output(&tested.exits(1), "test");
        for (name, text) in files(place.folder.path()) {
            harmless(&text, &name);
        }
        // In JSON and DOT it is within quotes.
        let is_markup = |name: &str| [".svg", ".mmd", ".xml"].iter().any(|ending| name.ends_with(ending));
        for (name, text) in files(place.folder.path()).into_iter().filter(|(name, _)| is_markup(name)) {
            assert!(!text.contains("<script"), "{name}: {text}");
        }
        // A page has its data and its script, and no foreign elements.
        let pages = files(place.folder.path()).into_iter().filter(|(name, _)| name.ends_with(".html"));
        for (name, text) in pages {
            assert_eq!((text.matches("<script").count(), text.matches("</script").count()), (2, 2), "{name}: {text}");
        }
    }
}

#[test]
fn what_a_file_or_its_name_says_is_shown_and_not_obeyed() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    let name = "a\n::error::b\u{9b}\u{202e}##[x]";
    let key = json!(HOSTILE.replace('\u{0}', "")).to_string();
    let toml_key = format!("\"{}\"", key.trim_matches('"').replace('\u{7f}', "\\u007f"));
    let scenarios = [
        format!("{toml_key} = 1\n"),
        format!("[bounds]\n{toml_key} = 1\n"),
        format!("network = {toml_key}\n"),
        format!("plugin = {toml_key}\n"),
        format!("plugin = \"guest.wasm\"\nnodes = 2\n[parameters]\n{toml_key} = 1\n"),
        format!("plugin = \"guest.wasm\"\nnodes = 2\n[expect]\nend = {toml_key}\n"),
        format!("plugin = \"guest.wasm\"\n[[node]]\nid = 0\nplugin = {toml_key}\n"),
        HOSTILE.to_owned(),
    ];
    for scenario in scenarios {
        for file in [format!("{name}.toml"), "s.toml".to_owned()] {
            place.put(&file, &scenario);
            for json in [&[][..], &["--json"]] {
                harmless_output(&place.host(&[&["run", &file][..], json].concat()), &scenario);
            }
            harmless_output(&place.host(&["test", &file, "--annotations", "github"]), &scenario);
            std::fs::remove_file(place.path(&file)).expect("writable");
        }
    }
    let base = json!({
        "trace_version": 1,
        "plugin": { "name": "guest", "version": HOSTILE, "digest": HOSTILE },
        "scenario": { "nodes": 2, "parameters": {}, "network": "unordered" },
        "steps": [{ "node": 0, "event": { "kind": "local", "name": HOSTILE, "cause": "internal", "payload": "" } }],
        "finding": { "what": "property", "name": HOSTILE, "kind": "always", "message": HOSTILE },
    });
    let mut traces = vec![base.clone()];
    let changes: [&dyn Fn(&mut Value); 7] = [
        &|trace| trace["steps"] = json!([]),
        &|trace| trace["plugin"]["name"] = json!(HOSTILE),
        &|trace| trace[HOSTILE] = json!(1),
        &|trace| trace["scenario"]["network"] = json!(HOSTILE),
        &|trace| trace["scenario"]["parameters"] = json!({ HOSTILE: "x" }),
        &|trace| trace["limits"] = json!({ HOSTILE: 1 }),
        &|trace| trace["steps"][0]["event"]["kind"] = json!(HOSTILE),
    ];
    for change in changes {
        let mut trace = base.clone();
        change(&mut trace);
        traces.push(trace);
    }
    for trace in traces {
        for file in [format!("{name}.json"), "t.json".to_owned()] {
            place.put(&file, trace.to_string());
            for command in
                [&["replay", &file, "--any-plugin", "--plugin", "guest.wasm"][..], &["replay", &file, "--json"]]
            {
                harmless_output(&place.host(command), &trace.to_string());
            }
            harmless_output(&place.host(&["run", "guest.wasm", "--prefix", &file]), &trace.to_string());
            std::fs::remove_file(place.path(&file)).expect("writable");
        }
    }
    for words in [
        &["run", HOSTILE][..],
        &["run", "guest.wasm", "--set", HOSTILE],
        &["replay", HOSTILE],
        &["new", "rust", HOSTILE],
    ] {
        for json in [&[][..], &["--json"]] {
            harmless_output(&place.host(&[words, json].concat()), "words");
        }
    }
}

/// Two steps, 80 nodes, and a state that is described in 600 KB: every state of a document would have all of it 80 times.
#[test]
fn what_is_made_of_long_descriptions_stays_short() {
    const BYTES_MAX: u64 = 16 << 20;
    let place = Place::new();
    place.put("guest.wasm", fixtures::describes(600_000));
    let go = |node: u32| json!({ "node": node, "event": { "kind": "local", "name": "go", "cause": "internal", "payload": "" } });
    let trace = json!({
        "trace_version": 1,
        "plugin": { "name": "guest" },
        "scenario": { "nodes": 80, "parameters": {}, "network": "unordered" },
        "steps": [go(0), go(1)],
    });
    place.put("t.json", trace.to_string());
    let of = ["t.json", "--plugin", "guest.wasm"];
    let small = |text: &str, what: &str| assert!((text.len() as u64) < BYTES_MAX, "{what}: {} bytes", text.len());
    for format in ["itf", "shiviz", "json"] {
        let file = format!("t.{format}.json");
        let export = [&["export"], &of[..], &["--format", format, "--out", &file]].concat();
        place.host(&export).exits(0);
        small(&std::fs::read_to_string(place.path(&file)).expect("written"), format);
    }
    place.host(&["replay", "t.itf.json", "--plugin", "guest.wasm"]).exits(0);
    place
        .host(
            &[&["draw"], &of[..], &["--out", "d.svg", "--out", "d.html", "--out", "d.mmd", "--out", "d.dot"]].concat(),
        )
        .exits(0);
    for file in ["d.svg", "d.html", "d.mmd", "d.dot"] {
        small(&std::fs::read_to_string(place.path(file)).expect("written"), file);
    }
    for json in [&[][..], &["--json"]] {
        small(&place.host(&[&["replay"], &of[..], json].concat()).exits(0).out, "replay");
    }
    // Content that cannot be cut is refused: 300 states of 60,000 letters, which JSON encodes as six letters each.
    place.put("guest.wasm", fixtures::describes(60_000));
    let mut large = trace;
    large["scenario"]["nodes"] = json!(300);
    place.put("t.json", large.to_string());
    let export = [&["export"], &of[..], &["--format", "itf", "--out", "large.itf.json"]].concat();
    place.host(&export).exits(151).says(&["cannot be exported: it would have more than 64.0 MiB"]);
    assert!(!place.path("large.itf.json").exists());
}

/// The same of a trap, in all output of a run, a test and a debugger about it.
#[test]
fn what_is_made_of_a_finding_with_long_descriptions_stays_short() {
    const BYTES_MAX: u64 = 16 << 20;
    let place = Place::new();
    place.put("guest.wasm", fixtures::describes_trouble(600_000));
    place.put("bad.scenario.toml", "plugin = \"guest.wasm\"\nnodes = 80\n[strategy]\nalgo = \"bdfs\"\n");
    let small = |text: &str, what: &str| assert!((text.len() as u64) < BYTES_MAX, "{what}: {} bytes", text.len());
    let trace = "found/trace.json";
    let draw = ["d.svg", "d.html", "d.mmd", "d.dot"].map(|name| ["--out", name]).concat();
    let graph = ["g.svg", "g.dot"].map(|name| ["--out", name]).concat();
    let commands: [(&[&str], u8); 13] = [
        (&[&["graph", "guest.wasm", "--states", "40"], &graph[..], &["--", "--nodes", "80"]].concat(), 0),
        (&["run", "guest.wasm", "--nodes", "80", "--algo", "bdfs", "--out", "found"], 14),
        (&["run", "guest.wasm", "--nodes", "80", "--algo", "bdfs", "--out", "again", "--json"], 14),
        (&["run", "guest.wasm", "--nodes", "80", "--algo", "bdfs", "--no-minimize"], 14),
        (&["replay", trace, "--plugin", "guest.wasm"], 14),
        (&["replay", trace, "--plugin", "guest.wasm", "--json"], 14),
        (&["minimize", trace, "--plugin", "guest.wasm", "--out", "short.json"], 0),
        (&["minimize", trace, "--plugin", "guest.wasm", "--out", "short.json", "--json"], 0),
        (&["export", trace, "--plugin", "guest.wasm", "--format", "itf", "--out", "t.itf.json"], 0),
        (&["export", trace, "--plugin", "guest.wasm", "--format", "shiviz", "--out", "t.log"], 0),
        (&["export", trace, "--plugin", "guest.wasm", "--format", "json", "--out", "t.json"], 0),
        (&[&["draw", trace, "--plugin", "guest.wasm"], &draw[..]].concat(), 0),
        (&["test", "bad.scenario.toml", "--junit", "junit.xml", "--annotations", "github"], 1),
    ];
    for (command, code) in commands {
        let ran = place.host(command);
        // A command succeeds with a trace, or ends as the trace does.
        assert!(ran.code == code || (code == 0 && ran.code == 14), "{command:?}: {} and {}", ran.code, ran.err);
        small(&ran.out, &format!("{command:?}"));
        small(&ran.err, &format!("{command:?}"));
    }
    let script = "state\nenabled\nstep\nlook\nstate\nwhy\n";
    small(&place.host_reading(&["debug", trace, "--plugin", "guest.wasm"], script).out, "debug");
    let written = files(place.folder.path());
    assert!(written.len() > 10, "{:?}", written.iter().map(|(name, _)| name).collect::<Vec<_>>());
    written.iter().for_each(|(name, text)| small(text, name));
}

#[test]
fn what_a_plugin_says_about_itself_is_shown_and_not_obeyed() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::introduces(HOSTILE));
    place.put("s.scenario.toml", "plugin = \"guest.wasm\"\n[strategy]\nalgo = \"bdfs\"\n[parameters]\nnone = \"1\"\n");
    let commands: [(&[&str], u8); 9] = [
        (&["inspect", "guest.wasm"], 0),
        (&["inspect", "guest.wasm", "--json"], 0),
        (&["doctor", "guest.wasm"], 0),
        (&["doctor", "guest.wasm", "--json"], 0),
        (&["run", "guest.wasm", "--algo", "bdfs"], 0),
        (&["run", "guest.wasm", "--algo", "bdfs", "--json"], 0),
        (&["run", "guest.wasm", "--algo", "bdfs", "--set", "none=1"], 151),
        (&["run", "guest.wasm", "--algo", "bdfs", "--set", "none=1", "--json"], 151),
        (&["test", "s.scenario.toml", "--annotations", "github"], 1),
    ];
    for (command, code) in commands {
        harmless_output(&place.host(command).exits(code), &format!("{command:?}"));
    }
    let seen = place.host(&["inspect", "guest.wasm", "--json"]).json();
    assert_eq!((&seen["plugin"]["name"], &seen["plugin"]["version"]), (&json!(HOSTILE), &json!(HOSTILE)));
    assert_eq!(seen["about"]["summary"], HOSTILE);
    let parameter = json!({ "name": HOSTILE, "default": HOSTILE, "meaning": HOSTILE });
    assert_eq!(seen["about"]["parameters"], json!([parameter]), "what is escaped in JSON is read as it was");

    // As long as a text can be: refused, and shown if the user asks for it.
    for text in ["a".repeat(1 << 20), "\u{202e}".repeat(340_000), "\n::error::x".repeat(90_000)] {
        place.put("guest.wasm", fixtures::introduces(&text));
        let words = format!("`about` has a text of {} bytes", text.len());
        place.host(&["inspect", "guest.wasm"]).exits(150).says(&[&words, "--limit text=N"]);
        for json in [&[][..], &["--json"]] {
            let inspect = [&["inspect", "guest.wasm", "--limit", "text=1MiB"], json].concat();
            let ran = place.host(&inspect).exits(0);
            harmless_output(&ran, &words);
            assert!(ran.out.len() < 64 << 20, "{} bytes", ran.out.len());
        }
    }
}

/// The names of folders, and the text of a README.
#[test]
fn what_a_list_of_plugins_says_is_shown_and_not_obeyed() {
    let place = Place::new();
    let names = ["a\n::error::b\u{9b}\u{202e}##[x]", "fine"];
    for (name, readme) in names.into_iter().zip([HOSTILE.to_owned(), format!("# t\n\n{}", "\u{202e}x".repeat(300_000))])
    {
        std::fs::create_dir_all(place.path("plugins").join(name)).expect("writable");
        place.put(&format!("plugins/{name}/README.md"), readme);
    }
    for command in [&["list"][..], &["list", "--json"]] {
        let ran = place.host(command).exits(0);
        harmless_output(&ran, "list");
        assert!(ran.out.contains("fine"), "{command:?}");
    }
}

/// A description nested as deep as JSON can be read, which stands inside of other values wherever it is written.
#[test]
fn what_is_written_can_be_read_back() {
    let place = Place::new();
    for depth in [1, 23, 24, 25, 63, 64, 65, 126, 127, 128, 250] {
        // Names that are none in ITF, so that each level takes several.
        let nested = "{\"\":".repeat(depth) + "1" + &"}".repeat(depth);
        let lists = "[".repeat(depth) + &"]".repeat(depth);
        let said = if nested.len() <= 512 { nested } else { lists };
        place.put("guest.wasm", fixtures::speaks(&said, "trap"));
        let run = ["run", "guest.wasm", "--nodes", "1", "--algo", "bdfs", "--out", "found", "--json"];
        place.host(&run).exits(14).json();
        let of = ["found/trace.json", "--plugin", "guest.wasm"];
        place.host(&[&["replay"], &of[..], &["--json"]].concat()).exits(14).json();
        for format in ["itf", "json"] {
            let file = format!("t.{format}.json");
            place.host(&[&["export"], &of[..], &["--format", format, "--out", &file]].concat()).exits(0);
            let text = std::fs::read_to_string(place.path(&file)).expect("written");
            serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{depth} in {format}: {error}"));
            place.host(&["replay", &file, "--plugin", "guest.wasm"]).exits(14);
        }
    }
}

#[test]
fn an_error_of_usage_is_an_object_too() {
    let place = Place::new();
    let cases: [(&[&str], &str); 6] = [
        (&["doctor", "--json", "--nodes", "0"], "--nodes"),
        (&["run", "x", "--json", "--algo", "magic"], "magic"),
        (&["run", "--json", "x", "--nodes", "0"], "--nodes"),
        (&["fly", "--json"], "fly"),
        (&["draw", "x", "--json"], "--json"),
        (&["replay", "--json"], "required"),
    ];
    for (arguments, words) in cases {
        let ran = place.host(arguments).exits(2);
        let json = ran.json();
        assert_eq!((&json["result"], &json["exit_code"]), (&json!("error"), &json!(2)), "{ran:?}");
        assert!(json["error"]["message"].as_str().is_some_and(|message| message.contains(words)), "{ran:?}");
        assert!(ran.err.starts_with("error: "), "{ran:?}");
    }
    // Behind `--` it is a word like any other.
    assert_eq!(place.host(&["run", "x", "--algo", "magic", "--", "--json"]).exits(2).out, "");
}

/// For any behaviour of a node that computes its name, the finding is the same, and its trace replays.
#[test]
fn asking_for_a_name_changes_nothing() {
    let place = Place::new();
    let run = ["run", "guest.wasm", "--nodes", "2", "--algo", "bdfs", "--out", "found", "--json"];
    let finding = |way: &str| {
        place.put("guest.wasm", fixtures::names_itself(way));
        let json = place.host(&run).exits(14).json();
        let replayed = place.host(&["replay", "found/trace.json", "--plugin", "guest.wasm"]).exits(14).out;
        let violation = &json["violations"][0];
        let told = ["kind", "message", "node", "length", "shape", "confirmed"].map(|key| violation[key].clone());
        (told, violation["names"].clone(), replayed)
    };
    let (told, names, replayed) = finding("nothing");
    assert_eq!((&told[3], &told[5]), (&json!(2), &json!(true)), "go, and the delivery");
    assert_eq!(names, json!([null, null]));
    assert!(replayed.contains("1. node 1: go"), "{replayed}");
    for way in ["trap", "loop", "choose", "text"] {
        assert_eq!(finding(way), (told.clone(), names.clone(), replayed.clone()), "{way}");
    }
    // Both nodes have the same name, so their numbers are behind it.
    let named = |letters: &str| [0, 1].map(|node| format!("{letters} (node {node})"));
    for (way, names) in [("change", named("n")), ("long", named(&"a".repeat(31)))] {
        let (same, said, replayed) = finding(way);
        assert_eq!((same, said), (told.clone(), json!(names)), "{way}");
        assert!(replayed.contains(&format!("1. {}: go", names[1])), "{way}: {replayed}");
    }
}
