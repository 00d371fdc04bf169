//! The commands of the README and of the book in `docs`, in their order there: their output must match.

use super::golden::repository;
use super::{Place, folder};

/// The README, and the pages that the summary lists.
fn pages() -> Vec<(String, String)> {
    let docs = folder("../docs");
    let read = |name: &str| std::fs::read_to_string(docs.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let summary = read("SUMMARY.md");
    let names = summary.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')'));
    std::iter::once("../README.md").chain(names).map(|name| (name.to_owned(), read(name))).collect()
}

/// A command, and the lines of its output that the page shows.
struct Shown {
    command: String,
    /// The input, for a command that reads commands itself.
    input: String,
    lines: Vec<String>,
}

/// The commands for `host` in the blocks of a page that show a terminal.
fn commands(page: &str) -> Vec<Shown> {
    let mut commands: Vec<Shown> = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        match (line, line.strip_prefix("$ host ")) {
            ("```console", _) => is_inside = true,
            ("```", _) => is_inside = false,
            (_, Some(command)) if is_inside => {
                commands.push(Shown { command: command.to_owned(), input: String::new(), lines: Vec::new() });
            }
            // Three dots stand for lines that a page leaves out.
            _ if is_inside && !["", "..."].contains(&line.trim()) => {
                let shown = commands.last_mut().expect("a block begins with a command");
                // The debugger's prompt: the current step, and the number of steps.
                if let Some((prompt, typed)) = line.split_once("> ")
                    && prompt.split('/').all(|number| number.parse::<u32>().is_ok())
                {
                    shown.input.push_str(&format!("{typed}\n"));
                }
                shown.lines.push(line.trim_end().to_owned());
            }
            _ => {}
        }
    }
    commands
}

/// The words that a shell makes of a command line. Characters with a special meaning have to be quoted.
pub(super) fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<Option<String>> = vec![None];
    let mut quote = None;
    for letter in line.chars() {
        let word = words.last_mut().expect("there is one at least");
        match (quote, letter) {
            (None, ' ') => words.push(None),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some(open), close) if open == close => quote = None,
            (None, letter) if "()<>|&;$`\\*?[]{}#~!".contains(letter) => {
                return Err(format!("a shell does not take {letter:?} for a letter"));
            }
            (Some('"'), '$' | '`' | '\\' | '!') => return Err(format!("{letter:?} needs single quotes")),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    match quote {
        Some(open) => Err(format!("{open} is left open")),
        None => Ok(words.into_iter().flatten().collect()),
    }
}

#[test]
fn commands_are_read_as_a_shell_reads_them() {
    let split = |line: &str| words(line).expect("it can be pasted").join("|");
    assert_eq!(split("run a  --set x=1"), "run|a|--set|x=1");
    assert_eq!(split("run 'a b'c \"it's\" ''"), "run|a bc|it's|");
    for line in ["run --always a=size(n)", "run a<=1", "run 'a", "run \"$a\"", "run a*"] {
        assert!(words(line).is_err(), "{line}");
    }
}

/// Runs the commands of a page in a place of their own.
fn run_page(name: &str, page: &str) -> usize {
    let place: Place = repository();
    let commands = commands(page);
    for Shown { command, input, lines } in &commands {
        let words = words(command).unwrap_or_else(|wrong| panic!("{name}: `host {command}`: {wrong}"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // The jobs of a swarm are processes of the program, which is not this one.
        let ran = match words[0] {
            "swarm" => place.by_program(&words),
            _ => Some(place.host_reading(&words, input)),
        };
        let Some(ran) = ran else { continue };
        let shows = |beginning: &str| lines.iter().any(|line| line.starts_with(beginning));
        let is_promise = |line: &&String| {
            let is_broken = [" is dead ", " is stuck ", " is never kept again"].iter().any(|how| line.contains(how));
            is_broken && (line.starts_with("violation: ") || line.starts_with("replayed: "))
        };
        let is_judged = |line: &str| {
            let is_refused = [": not-linearizable", ": refused"].iter().any(|end| line.ends_with(end));
            let differs = line.contains(": differs from ");
            is_refused || differs || line.trim_start().starts_with("this execution violates ")
        };
        let code = match () {
            () if shows("violation: deadlock") => 11,
            () if lines.iter().any(|line| is_promise(&line)) => 13,
            () if lines.iter().any(|line| is_judged(line)) => 12,
            () if shows("violation: ") || shows("replayed: ") => 12,
            () => 0,
        };
        assert_eq!(ran.code, code, "{name}: `host {command}`: {ran:?}");
        let mut printed = ran.out.lines();
        for line in lines {
            let is_there = printed.any(|other| other.trim_end().trim_start().starts_with(line.trim_start()));
            assert!(is_there, "{name}: `host {command}` does not print {line:?} there, but\n{}", ran.out);
        }
        if words.starts_with(&["new", "rust"]) {
            place.shares_what_is_compiled(words[2]);
        }
    }
    commands.len()
}

#[test]
fn every_command_of_the_book_does_what_it_shows() {
    let run: usize = pages().iter().map(|(name, page)| run_page(name, page)).sum();
    assert!(run > 25, "only {run} commands were found");
}

#[test]
fn every_page_is_in_the_summary() {
    let listed: Vec<String> = pages().into_iter().map(|(name, _)| name).collect();
    for part in ["", "design/"] {
        for entry in std::fs::read_dir(folder("../docs").join(part)).expect("the folder is there") {
            let name = format!("{part}{}", entry.expect("readable").file_name().to_string_lossy());
            let is_page = name.ends_with(".md") && name != "SUMMARY.md";
            assert!(!is_page || listed.contains(&name), "docs/{name} is not in docs/SUMMARY.md");
        }
    }
}
