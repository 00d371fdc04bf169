//! The checks as functions of names and texts. Each returns what is wrong, and has a test that shows that it can fail.
//!
//! | module | what it holds |
//! |---|---|
//! | `tests` | each check finds what it is for |

use crate::tree::Package;

/// The workspace packages that one package may depend on.
pub struct Rule {
    /// The package.
    pub package: &'static str,
    /// The packages that it may depend on, and does.
    pub on: &'static [&'static str],
}

/// Dependencies between packages of the workspace that no rule allows, and rules without a dependency.
pub fn wrong_edges(packages: &[Package], rules: &[Rule]) -> Vec<String> {
    let mut findings = Vec::new();
    for package in packages {
        let rule = rules.iter().find(|rule| rule.package == package.name);
        let allowed: &[&str] = match rule {
            Some(rule) => rule.on,
            None if package.is_plugin() => &["guest-sdk"],
            None => {
                findings.push(format!("{} has no rule: say what it may depend on", package.name));
                continue;
            }
        };
        for other in packages {
            let name = other.name.as_str();
            match (package.dependencies.iter().any(|dependency| dependency == name), allowed.contains(&name)) {
                (true, false) => findings.push(format!("{} must not depend on {name}", package.name)),
                (false, true) => findings.push(format!("{} does not depend on {name}, as the rule says", package.name)),
                _ => {}
            }
        }
    }
    findings
}

/// Whether a manifest turns on a feature of a dependency, or of its own by default.
pub fn turns_on(feature: &str, manifest: &str) -> bool {
    let declared = format!("{feature} =");
    let words = [format!("\"{feature}\""), format!("/{feature}\"")];
    let lines = manifest.lines().map(str::trim).filter(|line| !line.starts_with('#') && !line.starts_with(&declared));
    lines.into_iter().any(|line| words.iter().any(|word| line.contains(word)))
}

/// The packages that use `crate_name` or a part of it (`crate_name-…`) without being among those that may.
pub fn users_of(crate_name: &str, packages: &[Package], allowed: &[&str]) -> Vec<String> {
    let part = format!("{crate_name}-");
    let is_user = |package: &&Package| {
        let mut dependencies = package.dependencies.iter();
        dependencies.any(|dependency| dependency == crate_name || dependency.starts_with(&part))
    };
    let users = packages.iter().filter(is_user).filter(|package| !allowed.contains(&package.name.as_str()));
    users.map(|package| format!("{} must not depend on {crate_name}", package.name)).collect()
}

/// The dependencies of the packages of this name that are not allowed.
pub fn beyond(packages: &[Package], names: &[&str], allowed: &[&str]) -> Vec<String> {
    let checked = packages.iter().filter(|package| names.contains(&package.name.as_str()));
    let all = checked.flat_map(|package| package.dependencies.iter().map(|dependency| (&package.name, dependency)));
    let wrong = all.filter(|(_, dependency)| !allowed.contains(&dependency.as_str()));
    wrong.map(|(name, dependency)| format!("{name} is pure and must not depend on {dependency}")).collect()
}

/// Modules of the standard library that reach outside of the process or depend on its surroundings.
const EFFECTS: [&str; 7] = ["env", "fs", "io", "net", "process", "thread", "time"];

/// Which modules with effects a source uses.
pub fn effects(source: &str) -> Vec<&'static str> {
    let code = without_comments(source);
    let mut found: Vec<&str> = Vec::new();
    for after in code.split("std::").skip(1) {
        let named: Vec<&str> = match after.strip_prefix('{') {
            // A group of imports: the first word of each of its members, nested ones included.
            Some(group) => {
                let group = group.split(';').next().unwrap_or_default();
                group.split(['{', ',', '}']).map(|member| word(member.trim())).collect()
            }
            None => vec![word(after)],
        };
        found.extend(EFFECTS.iter().filter(|effect| named.contains(effect)));
    }
    found
}

fn word(text: &str) -> &str {
    let end = text.find(|letter: char| !is_of_word(letter)).unwrap_or(text.len());
    &text[..end]
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The source without what follows `//` on a line. Cuts a string with slashes too, which no check minds.
fn without_comments(source: &str) -> String {
    source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Whether a source has the keyword.
pub fn has_unsafe(source: &str) -> bool {
    // Put together, so that this file has it not.
    let keyword = concat!("un", "safe");
    without_comments(source).split(|letter| !is_of_word(letter)).any(|word| word == keyword)
}

/// The finding for a file with more lines than that.
pub fn too_long(path: &str, source: &str, lines_max: usize) -> Option<String> {
    let lines = source.lines().count();
    (lines > lines_max).then(|| format!("{path} has {lines} lines, more than {lines_max}: split it by what it knows"))
}

/// Terms that a glossary defines twice, and what to say of its parts with too many terms. A part goes from its heading to that of the
/// next part, and has at most so many terms.
pub fn wrong_glossary(glossary: &str, parts: &[(&str, usize)]) -> Vec<String> {
    let heading = |line: &str| parts.iter().position(|(heading, _)| line.strip_prefix("## ") == Some(heading));
    let (mut part, mut counts) = (None, vec![0; parts.len()]);
    let (mut terms, mut findings) = (Vec::new(), Vec::new());
    for line in glossary.lines() {
        part = heading(line).or(part);
        let Some(row) = line.strip_prefix("| ").filter(|row| !row.starts_with("term |")) else { continue };
        let term = row.split('|').next().unwrap_or_default().trim();
        if terms.contains(&term) {
            findings.push(format!("the glossary defines `{term}` twice"));
        }
        terms.push(term);
        match part {
            Some(part) => counts[part] += 1,
            None => findings.push(format!("the glossary defines `{term}` in no part")),
        }
    }
    let sized = parts.iter().zip(counts);
    let wrong = sized.filter(|((_, terms_max), terms)| *terms == 0 || terms > terms_max);
    findings.extend(wrong.map(|((heading, terms_max), terms)| {
        format!("the glossary has {terms} terms from `{heading}` on, not 1 to {terms_max}")
    }));
    findings
}

/// Whether the documentation of a crate has an example that runs and asserts something. A fence that is ignored is none.
pub fn has_example(root: &str) -> bool {
    let mut is_inside = false;
    root.lines().filter_map(|line| line.strip_prefix("//!")).any(|line| match line.trim_start() {
        fence if fence.starts_with("```") => {
            is_inside = !is_inside && fence == "```";
            false
        }
        line => is_inside && line.starts_with("assert"),
    })
}

/// The first drawing of a document.
pub fn picture(document: &str) -> &str {
    let drawn = document.split_once("```text\n").map_or("", |(_, rest)| rest);
    drawn.split_once("```").map_or("", |(picture, _)| picture)
}

/// Crates that a picture lacks, names in it that are no crates, and differences between its arrows on a line and `edges`.
pub fn wrong_picture(picture: &str, crates: &[&str], edges: &[(&str, &str)]) -> Vec<String> {
    let words = |line| str::split(line, |letter| !is_of_word(letter) && letter != '-').filter(|word| !word.is_empty());
    let named: Vec<&str> = picture.lines().flat_map(words).collect();
    let missing = crates.iter().filter(|name| !named.contains(name)).map(|name| format!("the picture lacks {name}"));
    let is_unknown = |name: &&&str| name.starts_with("host-") && !crates.contains(name);
    let unknown = named.iter().filter(is_unknown).map(|name| format!("the picture has {name}, which is no crate"));
    let mut drawn = Vec::new();
    for line in picture.lines() {
        let tokens: Vec<&str> = line.split_whitespace().collect();
        drawn.extend(tokens.windows(3).filter_map(|tokens| match tokens[1] {
            "-->" => Some((tokens[0], tokens[2])),
            "<--" => Some((tokens[2], tokens[0])),
            _ => None,
        }));
    }
    let wrong = drawn.iter().filter(|edge| !edges.contains(edge));
    let wrong = wrong.map(|(from, to)| format!("the picture has {from} depend on {to}, which it does not"));
    let undrawn = edges.iter().filter(|edge| !drawn.contains(edge));
    let undrawn = undrawn.map(|(from, to)| format!("the picture lacks the arrow from {from} to {to}"));
    missing.chain(unknown).chain(wrong).chain(undrawn).collect()
}

/// Whether a file that starts like this is a module or a component.
pub fn is_wasm(head: &[u8]) -> bool {
    head.starts_with(b"\0asm")
}

/// Parts of a plugin that are not among its files, which are given from its folder on.
pub fn missing_parts(folder: &str, files: &[&str], has_tests: bool) -> Vec<String> {
    let has = |name: &str| files.contains(&name);
    let parts = [("a README.md", has("/README.md")), ("a src/lib.rs", has("/src/lib.rs")), ("a test", has_tests)];
    let missing = parts.iter().filter(|(_, is_there)| !is_there);
    missing.map(|(part, _)| format!("{folder} has not {part}; plugins/template shows what a plugin has")).collect()
}

/// The gaps in the README of a plugin in another language: the commands that build it, run it and find its bug.
pub fn missing_commands(folder: &str, readme: &str) -> Vec<String> {
    let commands = ["host build", "host run"].map(|command| format!("{command} {folder}\n")).into_iter();
    let commands = commands.chain([format!("host run {folder} --set bug=")]);
    commands.filter(|command| !readme.contains(command)).map(|command| format!("{folder}: no `{command}`")).collect()
}

/// The first sentence of the first paragraph that is no heading.
pub fn first_sentence(readme: &str) -> String {
    let lines = readme.lines().skip_while(|line| line.is_empty() || line.starts_with('#'));
    let paragraph = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    match paragraph.find(". ") {
        Some(end) => paragraph[..=end].to_owned(),
        None => paragraph,
    }
}

/// The differences between the rows of the first table under a heading and those expected, whatever their order.
pub fn wrong_rows(document: &str, heading: &str, expected: &[String]) -> Vec<String> {
    let rows = rows(document, heading);
    let missing = expected.iter().filter(|row| !rows.contains(&row.as_str()));
    let wrong = rows.iter().filter(|row| !expected.iter().any(|expected| expected == *row));
    let missing = missing.map(|row| format!("no such row under `## {heading}`: {row}"));
    missing.chain(wrong.map(|row| format!("out of date under `## {heading}`: {row}"))).collect()
}

/// The rows of the first table under a heading.
fn rows<'d>(document: &'d str, heading: &str) -> Vec<&'d str> {
    let heading = format!("## {heading}");
    let section = document.lines().skip_while(|line| *line != heading).skip(1);
    let section = section.take_while(|line| !line.starts_with("## ")).skip_while(|line| !line.starts_with('|'));
    // The first two lines of a table are its head.
    section.take_while(|line| line.starts_with('|')).skip(2).collect()
}

/// The rows of the table under a heading whose last column names no test of the sources.
pub fn rows_without_tests(document: &str, heading: &str, sources: &[String]) -> Vec<String> {
    let rows: Vec<&str> = rows(document, heading);
    let missing = rows.iter().filter(|row| {
        let name = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
        let name = name.trim().trim_matches('`');
        // The attribute stands right before the function.
        let test = format!("#[test]\nfn {name}() {{");
        let test_in_module = format!("#[test]\n    fn {name}() {{");
        !sources.iter().any(|source| source.contains(&test) || source.contains(&test_in_module))
    });
    let missing: Vec<String> = missing.map(|row| format!("no such test: {row}")).collect();
    if rows.is_empty() { vec![format!("no table under `## {heading}`")] } else { missing }
}

/// The differences between the tables of modules, at the top of the files that declare them, and the files in the folders.
///
/// A table begins with `//! | module |`. Roots of crates need no row.
pub fn wrong_module_tables(sources: &[(String, String)]) -> Vec<String> {
    let tables: Vec<(&str, &str, Vec<&str>)> =
        sources.iter().map(|(path, source)| (path.as_str(), modules_of(path), listed_modules(source))).collect();
    let modules: Vec<(&str, &str, &str)> = sources.iter().filter_map(|(path, _)| module(path)).collect();
    let mut findings = Vec::new();
    for (path, folder, name) in &modules {
        let parents: Vec<_> = tables.iter().filter(|(_, modules, _)| modules == folder).collect();
        if let Some((parent, ..)) = parents.first()
            && !parents.iter().any(|(_, _, listed)| listed.contains(name))
        {
            let row = format!("//! | `{name}` | what it holds |");
            findings.push(format!("{path} is in no table of modules: add the row `{row}` at the top of {parent}"));
        }
    }
    for (parent, folder, listed) in &tables {
        let is_there = |name: &&&str| modules.iter().any(|(_, other, module)| other == folder && *module == **name);
        let missing = listed.iter().filter(|name| !is_there(name));
        findings.extend(missing.map(|name| format!("{parent} lists the module `{name}`, which has no file")));
    }
    findings
}

/// The folder with the modules that a file declares.
fn modules_of(path: &str) -> &str {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    match file {
        "lib.rs" | "main.rs" | "mod.rs" => folder,
        _ => path.trim_end_matches(".rs"),
    }
}

/// The path of a module's file, the folder that the module belongs to, and its name; none for the root of a crate.
fn module(path: &str) -> Option<(&str, &str, &str)> {
    let module = path.strip_suffix("/mod.rs").or_else(|| path.strip_suffix(".rs"))?;
    let (folder, name) = module.rsplit_once('/')?;
    (!["lib", "main"].contains(&name)).then_some((path, folder, name))
}

/// The names in the first column of a file's table of modules.
fn listed_modules(source: &str) -> Vec<&str> {
    let table = source.lines().skip_while(|line| !line.starts_with("//! | module |"));
    let rows = table.take_while(|line| line.starts_with("//! |")).skip(2);
    rows.filter_map(|row| row.split('`').nth(1)).collect()
}

/// Links of a Markdown document, at `path`, to files that are not in the repository, or to headings that such a file has not.
pub fn dead_links(path: &str, document: &str, files: &[String], read: impl Fn(&str) -> String) -> Vec<String> {
    let folder: Vec<&str> = path.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect();
    let mut findings = Vec::new();
    for after in document.split("](").skip(1) {
        let target = after.split(')').next().unwrap_or_default();
        if target.contains("://") {
            continue;
        }
        let (target, anchor) = target.split_once('#').unwrap_or((target, ""));
        if target.is_empty() && !anchors(document).iter().any(|other| other == anchor) {
            findings.push(format!("{path} links to #{anchor}, which is no heading of it"));
        }
        if target.is_empty() {
            continue;
        }
        let mut place = folder.clone();
        for part in target.trim_end_matches('/').split('/') {
            match part {
                "." => {}
                ".." => drop(place.pop()),
                part => place.push(part),
            }
        }
        let place = place.join("/");
        if !files.iter().any(|file| *file == place || file.starts_with(&format!("{place}/"))) {
            findings.push(format!("{path} links to {target}, which is not there"));
        } else if !anchor.is_empty() && !anchors(&read(&place)).iter().any(|other| other == anchor) {
            findings.push(format!("{path} links to {target}#{anchor}, and {place} has no such heading"));
        }
    }
    findings
}

/// The anchors of the headings of a Markdown document.
fn anchors(document: &str) -> Vec<String> {
    let headings = document
        .lines()
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    let kept = |letter: &char| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter);
    headings.map(|heading| heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}

/// The documentation of each entry point of a strategy in a source file.
pub fn strategy_docs(source: &str) -> Vec<String> {
    let lines: Vec<&str> = source.lines().collect();
    let is_entry = |line: &str| line.starts_with("pub fn run") && line.contains("(search: &Search<'_>)");
    let entries = (0..lines.len()).filter(|index| is_entry(lines[*index]));
    entries
        .map(|entry| {
            let doc = lines[..entry].iter().rev().take_while(|line| line.starts_with("///"));
            doc.copied().collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n")
        })
        .collect()
}

/// The facts that the documentation of a strategy does not mention.
pub fn missing_words(path: &str, doc: &str) -> Vec<String> {
    let doc = doc.to_lowercase();
    let wanted: [&[&str]; 5] = [&["guarantee"], &["complete"], &["explores"], &["honours", "limits"], &["source"]];
    let missing = wanted.iter().filter(|words| !words.iter().any(|word| doc.contains(word)));
    missing.map(|words| format!("{path}: the documentation of a strategy says nothing on `{}`", words[0])).collect()
}

/// Seconds after which a test that waits for something may give up: on no machine does that take so long.
const GIVES_UP_SECONDS: u64 = 30;

/// Milliseconds that a test may sleep: between two questions, not to let something happen.
const SLEEP_MS_MAX: u64 = 250;

/// Where a test depends on how fast the machine is: an assertion that little time has passed, an answer that has little time, and a sleep
/// after which something is taken to have happened. Lower bounds on time hold on every machine, and what waits for less than a second asks
/// again.
pub fn judges_time(path: &str, source: &str) -> Vec<String> {
    let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let flat = code.join(" ").split_whitespace().collect::<Vec<_>>().join(" ").replace("std::time::", "");
    let bound = |rest: &str| {
        let named: String = rest.chars().take_while(|c| c.is_alphanumeric() || "_:".contains(*c)).collect();
        let literal = rest.strip_prefix("Duration::from_secs(").map(str::to_owned);
        let declared = || {
            let (_, value) = flat.split_once(&format!("const {named}: Duration = Duration::from_secs("))?;
            Some(value.to_owned())
        };
        digits(&literal.or_else(declared)?)
    };
    let asserted = flat.split("assert!(").skip(1).filter_map(|rest| {
        let (before, after) = rest.split_once("elapsed() < ")?;
        (!before.contains(';') && bound(after).is_none_or(|seconds| seconds < GIVES_UP_SECONDS))
            .then_some("asserts that little time has passed")
    });
    let slept = flat.split("sleep(").skip(1).filter_map(|rest| {
        let ms = rest.strip_prefix("Duration::from_millis(").and_then(digits);
        let is_long = rest.starts_with("Duration::from_secs(") || ms.is_some_and(|ms| ms > SLEEP_MS_MAX);
        is_long.then_some("sleeps and does not wait for what it is about")
    });
    let waited = flat.split("_timeout(").skip(1).filter_map(|rest| {
        let argument = rest.split(')').next()?.rsplit(", ").next()?;
        let seconds = bound(argument.strip_prefix("Some(").unwrap_or(argument))?;
        (seconds < GIVES_UP_SECONDS).then_some("gives an answer little time")
    });
    let ended = flat.split("timeout ").skip(1).filter_map(|rest| {
        let is_command = rest.split(' ').nth(1) == Some("host");
        (is_command && digits(rest)? < GIVES_UP_SECONDS).then_some("gives a command little time")
    });
    asserted.chain(slept).chain(waited).chain(ended).map(|what| format!("{path} {what}")).collect()
}

/// The tests at the end of a source that is none itself; empty if there are none.
pub fn own_tests(source: &str) -> &str {
    let beginnings =
        ["mod tests {", "pub mod tests {", "pub(crate) mod tests {"].map(|begins| format!("#[cfg(test)]\n{begins}\n"));
    let at = beginnings.iter().find_map(|begins| source.find(begins));
    at.map_or("", |at| &source[at..])
}

/// The number that a text begins with.
fn digits(text: &str) -> Option<u64> {
    let number: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '_').filter(|c| *c != '_').collect();
    number.parse().ok()
}

/// An optional interface of the contract, as machines offer it.
#[derive(Debug, PartialEq, Eq)]
pub struct OptionalInterface {
    /// Its name in the contract.
    pub name: String,
    /// The trait of its aspect.
    pub aspect: String,
}

impl OptionalInterface {
    /// Whether a source declares it, implements it or offers it; whether it asks for an answer makes no difference.
    pub fn is_named(&self, source: &str) -> bool {
        let Self { name, aspect } = self;
        let row = format!("{name}: ");
        let signs = [format!("AspectName::{aspect}"), format!("Aspect::{aspect}"), format!("trait {aspect} ")];
        let is_implemented = |line: &str| line.starts_with("impl") && line.contains(&format!("{aspect} for "));
        signs.iter().any(|sign| source.contains(sign))
            || source
                .lines()
                .any(|line| is_implemented(line) || line.trim_start().starts_with(&row) && line.ends_with(" {"))
    }
}

/// The optional interfaces among the rows of the table of aspects.
pub fn optional_interfaces(aspects: &str) -> Vec<OptionalInterface> {
    let rows =
        aspects.split("contract {\n").nth(1).and_then(|rows| rows.split("            }").next()).unwrap_or_default();
    let rows = rows.lines().filter_map(|line| line.trim().strip_suffix(',')?.split_once(": "));
    rows.map(|(name, aspect)| OptionalInterface { name: name.to_owned(), aspect: aspect.to_owned() }).collect()
}

#[cfg(test)]
mod tests;
