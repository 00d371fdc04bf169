//! Remedies for libraries that do not compile for a guest, by known words of a compiler.

use super::package::Package;
use super::toolchain::Toolchain;
use crate::tool::finish;

/// A crate that does not compile, known by words that the compiler prints.
struct Known {
    words: &'static str,
    /// The crate, with its version if several are possible.
    package: &'static str,
    remedy: &'static str,
}

const KNOWN: [Known; 12] = [
    Known {
        words: "the wasm*-unknown-unknown targets are not supported by default, you may need to enable the \"js\" feature",
        package: "getrandom@0.2",
        remedy: "put `getrandom-02 = { package = \"getrandom\", version = \"0.2\", features = [\"custom\"] }` under [dependencies]; the SDK \
                 answers it",
    },
    Known {
        words: "The wasm32-unknown-unknown targets are not supported by default; you may need to enable the \"wasm_js\"",
        package: "getrandom",
        remedy: "the plugin's own flags name another `getrandom_backend`; leave that out, and the SDK answers",
    },
    Known {
        words: "no associated item named `WEB_CRYPTO` found for struct `error::Error`",
        package: "getrandom",
        remedy: "its feature `wasm_js` compiles with the backend of a browser alone; `host new wrap CRATE@VERSION` makes a folder with a \
                 corrected copy in `getrandom`: copy that one, and put `getrandom = { path = \"getrandom\" }` under [patch.crates-io]",
    },
    Known {
        words: "to use `uuid` on `wasm32-unknown-unknown`, specify a source of randomness",
        package: "uuid",
        remedy: "put `uuid = { version = \"1\", features = [\"rng-getrandom\"] }` under [dependencies]; the SDK answers getrandom",
    },
    Known {
        words: "This wasm target is unsupported by mio",
        package: "mio",
        remedy: "no plugin has sockets: of tokio take the features sync, macros, rt, time and io-util alone, and let messages come by \
                 `handle_message`",
    },
    Known {
        words: "features sync,macros,io-util,rt,time are supported on wasm",
        package: "tokio",
        remedy: "take these features alone; sockets and threads are what no plugin has",
    },
    Known {
        words: "Socket2 doesn't support the compile target",
        package: "socket2",
        remedy: "no plugin has sockets: look for a feature of the library that leaves its network out",
    },
    Known {
        words: "The target OS is \"unknown\" or \"none\", so it's unsupported by the errno crate",
        package: "errno",
        remedy: "no plugin has an operating system: look for a feature of the library that leaves files and sockets out",
    },
    Known {
        words: "could not find `unix` in `os`",
        package: "",
        remedy: "the crate that does not compile wants a Unix system, and no plugin has one: look for a feature of the library that leaves files \
                 and sockets out; another target does not help",
    },
    Known {
        words: "failed to run custom build command for",
        package: "",
        remedy: "a library brings C along, or wants a tool: look for a feature of it in Rust alone, or install what it names (clang compiles \
                 C for WebAssembly)",
    },
    Known { words: "trait bound `HashMap<", package: "", remedy: ORDERED },
    Known { words: "trait bound `HashSet<", package: "", remedy: ORDERED },
];

/// The substitutes for a hash table.
const ORDERED: &str = "its order depends on how it was filled, so equal states and messages would have different bytes, and one would count \
                       as many; use BTreeMap or BTreeSet, or wrap a library that has one, see docs/libraries.md";

impl Known {
    /// Its name, for people.
    fn name(&self) -> &'static str {
        match self.package {
            "" if self.words.contains("build command") => "a build script",
            "" if self.words.contains("HashMap") => "a `HashMap` in a state or message",
            "" if self.words.contains("HashSet") => "a `HashSet` in a state or message",
            "" => "the system",
            package => package,
        }
    }
}

/// The output of a build with a remedy for each known crate in it, and the dependents of that crate.
pub(super) fn with_remedies(output: String, package: &Package, toolchain: &Toolchain) -> String {
    let mut text = output;
    for known in KNOWN.iter().filter(|known| is_in(&text, known)).collect::<Vec<_>>() {
        let wanted =
            wanted_by(known.package, package, toolchain).map(|by| format!(", which {by} wants")).unwrap_or_default();
        let name = known.name();
        text.push_str(&format!("\nwhat to do about {name}{wanted}: {}", known.remedy));
    }
    text
}

fn is_in(output: &str, known: &Known) -> bool {
    // Compilers break long messages differently, so a run of blanks counts as one.
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    flat(output).contains(&flat(known.words))
}

/// The dependents of a crate, the nearest first, if cargo reports them.
fn wanted_by(name: &str, package: &Package, toolchain: &Toolchain) -> Option<String> {
    let mut cargo = toolchain.cargo(&package.folder);
    cargo.args(["tree", "--offline", "--edges=normal", "--prefix=none", "--format={p}", "--target", toolchain.target]);
    cargo.arg("--manifest-path").arg(&package.manifest).arg("--invert").arg(name);
    let output = finish(cargo).ok().filter(|output| output.success && !name.is_empty())?;
    let names = output.stdout.lines().skip(1).map(|line| line.split(" (").next().unwrap_or(line).to_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with(&format!("{} ", package.name))).collect();
    names.dedup();
    names.truncate(3);
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_however_their_lines_are_broken() {
        let output = "error: the wasm*-unknown-unknown targets are not supported by \\\n   default, you may need";
        assert!(!is_in(output, &KNOWN[0]), "it is not all there");
        let output = "error: The wasm32-unknown-unknown targets are not supported by default; you may\n need to enable the \"wasm_js\" flag";
        assert!(is_in(output, &KNOWN[1]));
        let output = "error[E0277]: the trait bound `HashMap<u32, u32>: Hash` is not satisfied";
        assert_eq!(
            KNOWN.iter().find(|known| is_in(output, known)).map(Known::name),
            Some("a `HashMap` in a state or message")
        );
        assert!(KNOWN.iter().all(|known| !is_in("error: mismatched types", known)));
    }
}
