//! The lines of documents: one sentence per line, so that a diff shows the sentence that changed.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

/// Words that end with a full stop and no sentence.
const ABBREVIATIONS: [&str; 7] = ["e.g.", "i.e.", "et al.", "vs.", "cf.", "No.", "pp."];

/// Lines of prose with more than one sentence, and sentences with more than one line.
pub fn wrong_lines(path: &str, document: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut is_code = false;
    // Whether the line before is prose that continues.
    let mut is_open = false;
    for (number, line) in (1..).zip(document.lines()) {
        let text = line.trim_start_matches('>').trim();
        if text.starts_with("```") {
            is_code = !is_code;
        }
        let is_prose = !is_code && !text.is_empty() && !text.starts_with(['|', '#', '<']) && !text.starts_with("```");
        if !is_prose {
            is_open = false;
            continue;
        }
        let item = without_mark(text);
        if is_open && item.is_none() {
            findings.push(format!("{path}:{number}: one line per sentence, and this one began above"));
        }
        let text = without_code(item.unwrap_or(text));
        if has_two_sentences(&text) {
            findings.push(format!("{path}:{number}: one sentence per line, and here are several"));
        }
        is_open = !text.trim_end_matches(['"', ')', '*', '_']).ends_with(['.', '!', '?', ':', ';']);
    }
    findings
}

/// The text behind the mark of a list; none if there is no mark.
fn without_mark(text: &str) -> Option<&str> {
    let number = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number = number.strip_prefix(". ").filter(|_| number.len() < text.len());
    text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")).or(number)
}

/// The text with one word in place of each span of code.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 0 { part } else { "`code`" }).collect()
}

fn has_two_sentences(text: &str) -> bool {
    let ends = text.match_indices(['.', '!', '?']);
    ends.map(|(at, end)| (&text[..at + end.len()], &text[at + end.len()..])).any(|(before, after)| {
        let next = after.trim_start_matches(['"', ')']);
        let word = next.trim_start();
        let begins = word.len() < next.len()
            && word.starts_with(|letter: char| letter.is_uppercase() || "`[(\"".contains(letter));
        begins && !ABBREVIATIONS.iter().any(|word| before.ends_with(word)) && !is_initial(before)
    })
}

/// Whether a text ends with the first letter of a name.
fn is_initial(text: &str) -> bool {
    let mut letters = text.chars().rev().skip(1);
    let (letter, before) = (letters.next(), letters.next());
    letter.is_some_and(char::is_uppercase) && before.is_none_or(|letter| !letter.is_alphanumeric())
}

/// Lines that the diffs of a document leave as they are or take away, and that are not in the tree in this order. `read` has the text
/// of a file, if it is there; new files must not be.
pub fn stale_diffs(path: &str, document: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut findings = Vec::new();
    for block in document.split("\n```diff\n").skip(1) {
        let block = block.split("\n```").next().unwrap_or_default();
        let mut file = (String::new(), Vec::new());
        for line in block.lines() {
            if let Some(name) = line.strip_prefix("+++ b/") {
                let is_new = block.contains(&format!("--- /dev/null\n{line}"));
                let text = read(name);
                if text.is_some() == is_new {
                    findings.push(format!("{path}: {name} is {}there", if is_new { "" } else { "not " }));
                }
                file = (name.to_owned(), text.unwrap_or_default().lines().map(str::to_owned).collect());
            } else if let Some(kept) = line.strip_prefix([' ', '-']).filter(|kept| !kept.starts_with("-- ")) {
                match file.1.iter().position(|other| other == kept) {
                    Some(at) => drop(file.1.drain(..=at)),
                    None => findings.push(format!("{path}: {} has no line `{kept}` there", file.0)),
                }
            }
        }
    }
    findings
}

/// A crate, to look names up in.
pub struct Names {
    /// Its name in imports.
    pub import: String,
    /// Its folder, with a slash behind it.
    pub folder: String,
    /// All words of its code.
    pub words: BTreeSet<String>,
}

/// The words of the code of a file in Rust; comments on lines of their own are left out.
pub fn words_of_code(source: &str) -> BTreeSet<String> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|letter| !is_of_word(letter))).map(str::to_owned).collect()
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Names that the diffs of a document import, and fields and methods that they use, which are nowhere in the crate: what the compiler
/// would say first, without one.
pub fn unknown_names(path: &str, document: &str, crates: &[Names]) -> Vec<String> {
    let mut findings = Vec::new();
    for block in document.split("\n```diff\n").skip(1) {
        let (mut file, mut own) = ("", None);
        for line in block.split("\n```").next().unwrap_or_default().lines() {
            if let Some(name) = line.strip_prefix("+++ b/") {
                let of_file = |names: &&Names| name.ends_with(".rs") && name.starts_with(&names.folder);
                (file, own) = (name, crates.iter().find(of_file));
                continue;
            }
            let added = line.strip_prefix('+').map(str::trim).filter(|added| !added.starts_with("//"));
            let Some((added, own)) = added.zip(own) else { continue };
            let (names, used) = match added.strip_prefix("use ").and_then(|import| import.split_once("::")) {
                Some(("crate" | "super" | "self", import)) => (Some(own), words_of_code(import)),
                Some((other, import)) => (crates.iter().find(|names| names.import == other), words_of_code(import)),
                None => (Some(own), members(added)),
            };
            let Some(names) = names else { continue };
            let unknown = used.difference(&names.words).filter(|name| !["as", "self"].contains(&name.as_str()));
            findings.extend(unknown.map(|name| format!("{path}: {file}: `{}` has no `{name}`", names.import)));
        }
    }
    findings
}

/// Struct literals in new files of the diffs of a document that lack fields, or have others than the struct: what the compiler would say.
/// `fields` has those of the structs of a file's crate, by name.
pub fn wrong_literals(path: &str, document: &str, fields: impl Fn(&str) -> Fields) -> Vec<String> {
    let mut findings = Vec::new();
    for block in document.split("\n```diff\n").skip(1) {
        let block = block.split("\n```").next().unwrap_or_default();
        for file in block.split("--- /dev/null\n+++ b/").skip(1) {
            let (name, added) = file.split_once('\n').unwrap_or_default();
            let added = added.lines().take_while(|line| !line.starts_with("--- "));
            let source: String =
                added.filter_map(|line| line.strip_prefix('+')).map(|line| format!("{line}\n")).collect();
            let Ok(parsed) = syn::parse_file(&source) else { continue };
            let mut literals = Literals { fields: fields(name), wrong: Vec::new() };
            literals.visit_file(&parsed);
            findings.extend(literals.wrong.into_iter().map(|wrong| format!("{path}: {name}: {wrong}")));
        }
    }
    findings
}

/// The fields of structs, by their names.
pub type Fields = BTreeMap<String, BTreeSet<String>>;

/// The fields of the structs of a source.
pub fn fields_of_structs(source: &str) -> Fields {
    let parsed = syn::parse_file(source).expect("the sources compile");
    let structs = parsed.items.into_iter().filter_map(|item| match item {
        syn::Item::Struct(item) => Some(item),
        _ => None,
    });
    let named = |item: syn::ItemStruct| {
        let fields = item.fields.iter().filter_map(|field| field.ident.as_ref()).map(ToString::to_string).collect();
        (item.ident.to_string(), fields)
    };
    structs.map(named).collect()
}

struct Literals {
    fields: Fields,
    wrong: Vec<String>,
}

impl<'ast> Visit<'ast> for Literals {
    fn visit_expr_struct(&mut self, literal: &'ast syn::ExprStruct) {
        let name = literal.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        if let Some(fields) = self.fields.get(&name).filter(|_| literal.rest.is_none()) {
            let given = literal.fields.iter().filter_map(|field| match &field.member {
                syn::Member::Named(name) => Some(name.to_string()),
                syn::Member::Unnamed(_) => None,
            });
            let given: BTreeSet<String> = given.collect();
            let wrong = fields.symmetric_difference(&given).map(|field| format!("`{field}` of `{name}`"));
            self.wrong.extend(wrong);
        }
        visit::visit_expr_struct(self, literal);
    }
}

/// The fields and methods that a line of code uses.
fn members(line: &str) -> BTreeSet<String> {
    let behind_dots = line.split('.').skip(1);
    let names = behind_dots.map(|text| text.split(|letter| !is_of_word(letter)).next().unwrap_or_default());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_that_uses_what_is_not_there_is_found() {
        let own = "/// The limits.\npub struct Bounds { depth: u32 }\nfn or(search: &Search) { search.bounds; }";
        let names = |import: &str, source| Names {
            import: import.to_owned(),
            folder: format!("{import}/src/"),
            words: words_of_code(source),
        };
        let crates = [names("a", own), names("b", "struct Other;")];
        let unknown = |added: &str| {
            let diff = format!("x\n\n```diff\n--- /dev/null\n+++ b/a/src/new.rs\n+// Any.thing.\n+{added}\n```\n");
            unknown_names("d.md", &diff, &crates)
        };
        assert_eq!(unknown("use crate::{Bounds, Search as Bounds, self};"), [""; 0]);
        assert_eq!(unknown("use crate::Limits;"), ["d.md: a/src/new.rs: `a` has no `Limits`"]);
        assert_eq!(unknown("use b::Other;"), [""; 0]);
        assert_eq!(unknown("use b::Bounds;"), ["d.md: a/src/new.rs: `b` has no `Bounds`"]);
        assert_eq!(unknown("use std::path::Path;"), [""; 0]);
        assert_eq!(unknown("let new = Bounds { depth: search.bounds.or(1), ..search.bounds };"), [""; 0]);
        assert_eq!(unknown("let new = search.limits;"), ["d.md: a/src/new.rs: `a` has no `limits`"]);
    }

    #[test]
    fn a_literal_without_a_field_is_found() {
        let fields =
            fields_of_structs("pub struct Bounds { pub depth: u32, pub states: u64 } enum Other { A { x: u8 } }");
        let wrong = |added: &str| {
            let diff =
                format!("x\n\n```diff\n--- /dev/null\n+++ b/a/new.rs\n+{added}\n--- a/b.rs\n+++ b/b.rs\n+}}\n```\n");
            wrong_literals("d.md", &diff, |_| fields.clone())
        };
        assert_eq!(wrong("const B: Bounds = Bounds { depth: 1, states: 2 };"), [""; 0]);
        assert_eq!(wrong("const B: Bounds = Bounds { depth: 1, ..NONE };"), [""; 0]);
        assert_eq!(wrong("const B: Bounds = f(Bounds { depth: 1 });"), ["d.md: a/new.rs: `states` of `Bounds`"]);
        assert_eq!(
            wrong("const B: Bounds = Bounds { depth: 1, states: 2, walks: 3 };"),
            ["d.md: a/new.rs: `walks` of `Bounds`"]
        );
    }

    #[test]
    fn a_diff_that_fits_no_more_is_found() {
        let read = |name: &str| (name == "a.rs").then(|| "one\ntwo\nthree\n".to_owned());
        let stale = |diff: &str| stale_diffs("d.md", &format!("text\n\n```diff\n{diff}\n```\n one\n"), read);
        assert_eq!(stale("--- a/a.rs\n+++ b/a.rs\n@@\n one\n+new\n-three\n--- /dev/null\n+++ b/b.rs\n+x"), [""; 0]);
        assert_eq!(stale("--- a/a.rs\n+++ b/a.rs\n two\n one"), ["d.md: a.rs has no line `one` there"]);
        assert_eq!(stale("--- a/b.rs\n+++ b/b.rs\n+x"), ["d.md: b.rs is not there"]);
        assert_eq!(stale("--- /dev/null\n+++ b/a.rs\n+x"), ["d.md: a.rs is there"]);
    }

    fn wrong(document: &str) -> Vec<String> {
        let lines = wrong_lines("a.md", document);
        lines.iter().map(|line| line.split(": one ").collect::<Vec<_>>()[0].to_owned()).collect()
    }

    #[test]
    fn two_sentences_on_a_line_are_found_and_one_on_two() {
        assert_eq!(wrong("One. Two.\n"), ["a.md:1"]);
        assert_eq!(wrong("One `a`. `b` is two.\n"), ["a.md:1"]);
        assert_eq!(wrong("- One (one.) [Two](x.md).\n"), ["a.md:1"]);
        assert_eq!(wrong("One\ngoes on.\n"), ["a.md:2"]);
        assert_eq!(wrong("1. One\n   goes on.\n"), ["a.md:2"]);
    }

    #[test]
    fn other_lines_are_left_alone() {
        let documents = [
            "# One. Two\n\nOne.\nTwo:\n\n- three\n- four\n",
            "| One. Two. | x |\n",
            "```sh\none. Two. # Three\ngoes on\n```\nOne.\n",
            "*Heads.* And `a. B` in code, J. Smith et al. Two of \"a. b\" v1.2 too.\n",
            "[one](x.md) and ... two\n",
        ];
        for document in documents {
            assert_eq!(wrong(document), [""; 0], "{document}");
        }
    }
}
