//! The ready-made properties of each SDK, and the equivalent expressions of the document: a correct protocol keeps them,
//! and each mistake breaks its own. The guests are in `tests/ready`, those of Rust in `guest-sdk`.

use std::path::PathBuf;

use host_build::sdk;

use super::Place;
use crate::languages::{all_languages, built};

/// A mistake, the property that it breaks, and words of the violation.
type Mistake = (&'static str, &'static str, &'static str);

/// The guests: language, and their files apart from the SDK. Those in Python and TypeScript have a library that imports missing modules,
/// with their substitutes as in `docs/libraries.md`.
const GUESTS: [(&str, &[(&str, &str)]); 4] = [
    ("c", &[("ready.c", include_str!("../ready/c/ready.c"))]),
    (
        "python",
        &[
            ("app.py", include_str!("../ready/python/app.py")),
            (
                "library/__init__.py",
                "import ssl\n\nimport numpy as np\n\n\ndef read():\n    return f\"{ssl.NAME} {np.SIZE}\"\n",
            ),
            ("numpy.py", "SIZE = 3\n"),
            ("stand_ins/ssl.py", "NAME = \"stand-in\"\n"),
        ],
    ),
    (
        "typescript",
        &[
            ("src/index.ts", include_str!("../ready/typescript/index.ts")),
            ("package.json", "{\"name\": \"ready\", \"browser\": {\"fs\": \"./stand-ins/fs.js\", \"net\": false}}\n"),
            ("stand-ins/fs.js", "exports.readFileSync = () => \"stand-in\";\n"),
            ("stand-ins/globals.ts", "(globalThis as any).process = { env: { NAME: \"stood-in\" } };\n"),
            ("node_modules/library/package.json", "{\"name\": \"library\", \"main\": \"index.js\"}\n"),
            (
                "node_modules/library/index.js",
                "const [fs, net] = [require(\"fs\"), require(\"net\")];\n\
                 exports.read = () => `${fs.readFileSync()} ${net.connect} ${process.env.NAME}`;\n",
            ),
        ],
    ),
    ("go", &[("main.go", include_str!("../ready/go/main.go")), ("go.mod", "module ready\n\ngo 1.24\n")]),
];

/// With 3 nodes: node 0 leads, begins, and stores 7; each other node stores received values, and answers. The violations are at the first
/// state in which a mistake can show: at the start, after the leader has begun, or after one more message.
const MISTAKES: [Mistake; 5] = [
    ("two-leaders", "one-leader", "nodes 0 and 1 both lead in term 1"),
    ("own-value", "logs-agree", " have different entries at 1"),
    ("early-answer", "durable", " 1 of 3 nodes have"),
    ("early-commit", "majority", "node 0 has committed entry 1, and 1 "),
    ("deaf-replica", "converge", " have different values"),
];

/// The exit code of a violation.
fn violated(is_promise: bool) -> u8 {
    if is_promise { 13 } else { 12 }
}

/// A folder `ready` with a guest and the SDK of its language; none without its toolchain.
fn guest(language: &str, files: &[(&str, &str)]) -> Option<Place> {
    let place = Place::new();
    let sdk = sdk::files(language);
    let own = files.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned()));
    for (path, content) in sdk.into_iter().chain(own) {
        let path: PathBuf = place.path("ready").join(path);
        std::fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a new folder");
        std::fs::write(path, content).expect("a new file");
    }
    built(language, &place.path("ready"), all_languages())?;
    Some(place)
}

#[test]
fn each_sdk_has_properties_that_mistakes_break() {
    for (language, files) in GUESTS {
        let Some(place) = guest(language, files) else { continue };
        let run = ["run", "ready", "--no-install", "--algo", "bdfs", "--audit", "full"];
        // Before it begins there is one state. Afterwards, for each of two others, the value or the answer is in flight, or the answer has
        // arrived.
        let right = place.host(&run).exits(0);
        assert!(right.out.contains("explored 10 global states, 13 transitions"), "{language}: {right:?}");
        for (bug, property, words) in MISTAKES {
            let ran = place
                .host(&[&run[..], &["--set", &format!("bug={bug}"), "--property", property]].concat())
                .exits(violated(property == "converge"));
            let violation = ran.out.lines().find(|line| line.starts_with("violation: ")).unwrap_or_default();
            let is_right = violation.starts_with(&format!("violation: {property} is ")) && violation.contains(words);
            assert!(is_right, "{language}, {bug}: {ran:?}");
            // Two nodes have the same name, and so their numbers behind it.
            let has_names = ["leader", "replica (node 1)"].iter().all(|name| ran.out.contains(name));
            assert!(has_names, "{language}, {bug}: {ran:?}");
        }
    }
}

/// The expressions in the document to copy, by their kind.
fn expressions() -> Vec<(String, String, String)> {
    let document = include_str!("../../docs/properties-from-outside.md");
    let (_, section) = document.split_once("## Ready-made expressions").expect("the section");
    let block = section.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the block");
    let mut kind = "";
    let mut expressions = Vec::new();
    for line in block.lines().filter(|line| !line.is_empty()) {
        if let Some(heading) = line.strip_prefix('[') {
            kind = heading.trim_end_matches(']');
        } else {
            let (name, text) = line.split_once(" = ").expect("a name and an expression");
            expressions.push((kind.to_owned(), name.to_owned(), text.trim_matches('"').to_owned()));
        }
    }
    expressions
}

#[test]
fn each_expression_to_copy_is_broken_by_its_mistake() {
    let Some(place) = guest(GUESTS[0].0, GUESTS[0].1) else { return };
    let mistakes = [
        ("one-leader-per-term", "two-leaders"),
        ("logs-agree", "own-value"),
        ("acknowledged-is-durable", "early-answer"),
        ("committed-is-on-a-majority", "early-commit"),
        ("no-cycle-of-parents", "circle"),
        ("replicas-converge", "deaf-replica"),
    ];
    let expressions = expressions();
    assert_eq!(expressions.len(), mistakes.len());
    for (kind, name, text) in expressions {
        let (_, bug) = mistakes.iter().find(|(of, _)| *of == name).expect("an expression has its mistake");
        // The guest has properties of some of these names.
        let property = format!("copy-of-{name}");
        let (option, text) = (format!("--{kind}"), format!("{property}={text}"));
        let run = ["run", "ready", "--no-install", "--algo", "bdfs", &option, &text, "--property", &property];
        let right = place.host(&run).exits(0);
        assert!(right.out.contains("explored 10 global states"), "{name}: {right:?}");
        let wrong =
            place.host(&[&run[..], &["--set", &format!("bug={bug}")]].concat()).exits(violated(kind == "eventually"));
        assert!(wrong.out.contains(&format!("violation: {property} is ")), "{name}: {wrong:?}");
    }
}
