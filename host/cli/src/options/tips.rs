//! Corrections for an invalid command line.
//!
//! The parser knows the options of one command and the letters of words; these tips know the purpose of an option.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error, Parser};
use host_session::base::text::{self, shell_quoted};

use crate::options::run::RunArguments;

/// Substitutes for options of `host run` in commands without these options.
const ELSEWHERE: [(&str, &str); 6] = [
    ("test", "a scenario says which cluster it is about: see docs/scenarios.md"),
    ("replay", "the trace says in which cluster it was recorded"),
    ("draw", "the trace says in which cluster it was recorded"),
    ("minimize", "the trace says in which cluster it was recorded"),
    ("export", "the trace says in which cluster it was recorded"),
    ("live", "the file of the cluster says this: see docs/running.md"),
];

/// Transports that users mistake for networks of the model.
const TRANSPORTS: [(&str, &str); 3] = [
    ("tcp", "a TCP connection delivers in order: `--network ordered`, and `--breaks N` for connections that break"),
    ("udp", "UDP loses, reorders and repeats: `--network unordered-duplicating`, and `--losses N` for lost messages"),
    ("reliable", "no message is lost without `--losses`: `--network unordered`, or `ordered` for links with an order"),
];

/// The options of a run, without its name.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    run: RunArguments,
}

/// The same error with tips that lead to a valid command line.
pub fn pointed(mut error: Error, words: &[OsString], command: &Command) -> Error {
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(&mut error, words, command),
        ErrorKind::InvalidValue => {
            let tip = text(&error, ContextKind::InvalidValue)
                .and_then(|value| TRANSPORTS.iter().find(|(name, _)| value.eq_ignore_ascii_case(name)));
            let is_network = text(&error, ContextKind::InvalidArg).is_some_and(|name| name.contains("--network"));
            if let Some((_, tip)) = tip.filter(|_| is_network) {
                error.remove(ContextKind::SuggestedValue);
                suggest(&mut error, tip);
            }
        }
        _ => {}
    }
    error
}

/// The text of an error: the standard library's messages about numbers are replaced by instructions.
pub fn worded(given: &str) -> String {
    text::of_numbers(given).replace(" is not in 1..18446744073709551615", " is too small, it must be at least 1")
}

/// Adds tips for an option of `host run` that another command lacks.
fn unknown(error: &mut Error, words: &[OsString], command: &Command) {
    let Some(option) = text(error, ContextKind::InvalidArg).map(str::to_owned) else { return };
    let run = Options::command();
    let known = option.strip_prefix("--").and_then(|name| run.get_arguments().find(|it| it.get_long() == Some(name)));
    let (Some(known), Some(name)) = (known, words.get(1).and_then(|word| word.to_str())) else { return };
    let Some(own) = command.find_subcommand(name) else { return };
    if own.get_name() == "run" {
        return;
    }
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::Suggested);
    if own.get_arguments().any(|argument| argument.get_id() == "options") {
        let takes_value = known.get_action().takes_values();
        let line = behind_dashes(words, &option, takes_value);
        suggest(error, &format!("options of `host run` stand behind `--`: {line}"));
        return;
    }
    let elsewhere = ELSEWHERE.iter().find(|(command, _)| *command == own.get_name());
    let what = elsewhere.map_or(String::new(), |(_, what)| format!("; {what}"));
    suggest(error, &format!("`{option}` is an option of `host run`{what}"));
}

/// The command line with an option and its value behind the dashes.
fn behind_dashes(words: &[OsString], option: &str, takes_value: bool) -> String {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let dashes = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (before, behind) = words.split_at(dashes);
    let with_value = format!("{option}=");
    let (mut kept, mut moved) = (vec!["host".to_owned()], Vec::new());
    let mut rest = before.iter().skip(1);
    while let Some(word) = rest.next() {
        if word == option {
            moved.push(word.clone());
            if takes_value {
                moved.extend(rest.next().cloned());
            }
        } else if word.starts_with(&with_value) {
            moved.push(word.clone());
        } else {
            kept.push(word.clone());
        }
    }
    let behind = behind.iter().skip(1).cloned();
    let all = kept.into_iter().chain(["--".to_owned()]).chain(moved).chain(behind);
    all.map(|word| shell_quoted(&word)).collect::<Vec<_>>().join(" ")
}

fn text(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

fn suggest(error: &mut Error, tip: &str) {
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.to_owned().into()]));
}
