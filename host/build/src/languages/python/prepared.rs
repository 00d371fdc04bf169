//! A plugin in Python whose modules are loaded into an interpreter that was prepared with their imports from the standard library.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use crate::BuildError;
use crate::component::optional;
use crate::job::{Job, Say};
use crate::languages::prepared::Waiting;
use crate::source::read_text;
use crate::tool::Tool;

/// The program that waits.
const PROGRAM: &str = include_str!("base.py");

/// The name of its module.
const MODULE: &str = "host_base";

/// Modules of the standard library that do not depend on the time and place of their import.
const ALIKE: [&str; 28] = [
    "__future__",
    "abc",
    "array",
    "base64",
    "binascii",
    "bisect",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "graphlib",
    "hashlib",
    "heapq",
    "itertools",
    "json",
    "math",
    "numbers",
    "operator",
    "re",
    "string",
    "struct",
    "textwrap",
    "types",
    "typing",
];

/// Modules that are generated from the contract.
const GENERATED: [&str; 2] = ["componentize_py_types", "wit_world"];

/// Words by which a program could notice that its files are missing.
const FILES: [&str; 7] = ["open(", "__import__", "__file__", "__loader__", "__spec__", "__path__", "__builtins__"];

/// A plugin whose modules can be loaded later.
pub(super) struct Prepared {
    /// Its imports from the standard library.
    imports: BTreeSet<String>,
    /// The main module, then path and text of each file, separated by zeros.
    texts: String,
}

impl Prepared {
    /// Reads the files of a plugin; none if it needs the whole build.
    pub fn of(job: &Job<'_>, module: &str) -> Result<Option<Self>, BuildError> {
        let mut files = Vec::new();
        for file in job.source.sources(&["py"]) {
            let Some(path) = file.to_str() else { return Ok(None) };
            files.push((path, read_text(&job.source.folder.join(file))?));
        }
        Ok(Self::new(module, &files))
    }

    fn new(module: &str, files: &[(&str, String)]) -> Option<Self> {
        let own: BTreeSet<&str> = files.iter().filter_map(|(path, _)| top(path.trim_end_matches(".py"), '/')).collect();
        let mut imports = BTreeSet::new();
        let mut texts = module.to_owned();
        for (path, text) in files {
            if text.contains('\0') || FILES.iter().any(|word| text.contains(word)) {
                return None;
            }
            for name in text.lines().flat_map(imported) {
                let top = top(name, '.')?;
                if own.contains(top) || GENERATED.contains(&top) {
                    continue;
                }
                if !ALIKE.contains(&top) {
                    return None;
                }
                imports.insert(name.to_owned());
            }
            texts.extend(["\0", path, "\0", text]);
        }
        Some(Self { imports, texts })
    }

    /// The plugin as a component; none if it needs the whole build.
    pub fn build(
        &self,
        job: &Job<'_>,
        work: &Path,
        compiler: &Tool,
        wit_text: &str,
        say: Say<'_>,
    ) -> Result<Option<Vec<u8>>, BuildError> {
        let file = format!("{MODULE}.py");
        let waiting = Waiting { file: &file, program: self.program(wit_text), wit_text, compiler };
        let arguments = |_: &Path, wasm: &Path| {
            let wit = work.join("wit");
            let before = [OsStr::new("-d"), wit.as_os_str(), OsStr::new("-w"), OsStr::new("plugin")];
            let after = ["componentize", "--stub-wasi", MODULE, "-o"].map(OsStr::new);
            before.into_iter().chain(after).chain([wasm.as_os_str()]).map(OsStr::to_owned).collect()
        };
        let name = &job.source.name;
        waiting.given(job, work, &self.texts, arguments, &|base| super::with_platform(base, name), say)
    }

    /// The program that waits for this plugin.
    fn program(&self, wit_text: &str) -> String {
        let mut program = format!("{}\n\n{PROGRAM}", super::PLATFORM);
        for name in &self.imports {
            program.push_str(&format!("import_module(\"{name}\")\n"));
        }
        for interface in ["specification"].into_iter().chain(optional(wit_text, "export")) {
            program.push_str(&format!("\n\nclass {}(Later):\n    pass\n", super::class(interface)));
        }
        program + super::FAILURES + "\n" + super::SETTLE
    }
}

/// The first component of a name or path.
fn top(name: &str, separator: char) -> Option<&str> {
    name.split(separator).next().filter(|top| !top.is_empty())
}

/// The modules that a line imports, or seems to: text that looks like an import only costs a slower build. Relative imports are of
/// the plugin itself.
fn imported(line: &str) -> Vec<&str> {
    let line = line.trim_start();
    if let Some(names) = line.strip_prefix("import ") {
        let names = names.split('#').next().unwrap_or_default();
        return names.split(',').filter_map(|name| name.split_whitespace().next()).collect();
    }
    let from = line.strip_prefix("from ").filter(|rest| rest.contains(" import"));
    let name = from.and_then(|rest| rest.split_whitespace().next());
    name.filter(|name| !name.starts_with('.')).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::wit_text;

    fn prepared(text: &str) -> Option<Prepared> {
        Prepared::new("app", &[("app.py", text.to_owned()), ("host/clock.py", String::new())])
    }

    #[test]
    fn a_plugin_has_its_modules_and_imports() {
        let text =
            "import json, collections.abc as c\nfrom typing import Any\nfrom host.clock import x\nfrom .y import z\n";
        let prepared = prepared(text).expect("nothing but the standard library");
        let imports: Vec<&str> = prepared.imports.iter().map(String::as_str).collect();
        assert_eq!(imports, ["collections.abc", "json", "typing"]);
        assert_eq!(prepared.texts, format!("app\0app.py\0{text}\0host/clock.py\0"));
    }

    #[test]
    fn what_comes_from_elsewhere_is_built_as_a_whole() {
        for text in ["import numpy", "import os", "  from random import random", "import json, time", "open('x')"] {
            assert!(prepared(text).is_none(), "{text}");
        }
        assert!(prepared("# from the first import on").is_some());
    }

    #[test]
    fn each_interface_has_a_class() {
        let program = prepared("import json")
            .expect("the standard library")
            .program(&wit_text(|name| name == "defaults", |_| false));
        assert!(program.contains("import_module(\"json\")"), "{program}");
        assert!(program.contains("class Specification(Later)") && program.contains("class Defaults(Later)"));
        assert!(!program.contains("class Durable"));
    }

    /// A module of the SDK that needs the whole build would slow down the edits of each plugin with a copy of it.
    #[test]
    fn the_sdk_can_come_later() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk/python/host");
        let entries = std::fs::read_dir(&folder).expect("the SDK is there");
        let names = entries.map(|entry| entry.expect("readable").file_name().into_string().expect("a name"));
        let names: Vec<String> =
            names.filter(|name| name.ends_with(".py")).map(|name| format!("host/{name}")).collect();
        assert!(names.len() > 5, "{names:?}");
        let text = |name: &String| read_text(&folder.join("..").join(name)).expect("text");
        for name in &names {
            assert!(
                Prepared::new("register", &[("host/__init__.py", String::new()), (name, text(name))]).is_some(),
                "{name}"
            );
        }
    }
}
