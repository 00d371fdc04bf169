//! From the words of a request to a job for the engine.

use host_inspect::page;

use crate::refused::Refused;
use crate::requests::REQUESTS;
use crate::words::{Job, Words, number};

/// The files of the page.
const FILES: [(&str, &str, &str); 3] = [
    ("", "text/html; charset=utf-8", page::DOCUMENT),
    ("app.js", "text/javascript; charset=utf-8", page::SCRIPT),
    ("app.css", "text/css; charset=utf-8", page::STYLE),
];

/// A file of the page and its type.
pub fn file(path: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(name, ..)| *name == path).map(|(_, kind, content)| (*kind, *content))
}

/// The job of a request.
///
/// # Errors
///
/// There is no such request, or its parameters or body make no sense.
pub fn job(words: &Words<'_>) -> Result<Job, Refused> {
    let unknown = || Refused::missing(format_args!("there is no request {} {}", words.method, words.path));
    let path = words.path.strip_prefix("api/v1/").ok_or_else(unknown)?;
    let of_method = REQUESTS.iter().filter(|request| request.method == words.method);
    let fitting = of_method.filter_map(|request| Some((request, fit(request.path, path)?)));
    let (request, number_in_path) = fitting.into_iter().next().ok_or_else(unknown)?;
    if let Some(name) = words.query.keys().find(|name| request.query.iter().all(|given| given.name != **name)) {
        let (method, path) = (request.method, request.path);
        return Err(Refused::wrong(format_args!("the request {method} {path} has no parameter `{name}`")));
    }
    let number_in_path = number_in_path.map_or(Ok(0), |text| number(text, "the number in the path"))?;
    (request.job)(words, number_in_path)
}

/// The number in a path, as text, if the path is one of this form: a capital letter stands for the number.
fn fit<'p>(form: &str, path: &'p str) -> Option<Option<&'p str>> {
    let (mut wanted, mut segments) = (form.split('/'), path.split('/'));
    let mut number = None;
    loop {
        match (wanted.next(), segments.next()) {
            (None, None) => return Some(number),
            (Some(wanted), Some(segment)) if wanted == segment => {}
            (Some(wanted), Some(segment)) if wanted.starts_with(char::is_uppercase) => number = Some(segment),
            _ => return None,
        }
    }
}
