//! docs/explore-api.md: each request with its fields, and the shapes of all answers, written from the sources of the server.

use std::fmt::Write;

use host_explore::{Given, REQUESTS, Request};

use crate::cli::folder;

/// A client that reads the answers by the names of the shapes finds each of them.
#[test]
fn answers_are_shapes_of_the_page() {
    let shapes = include_str!("../../../host/inspect/src/page/shapes.rs");
    for row in REQUESTS {
        let named = row.answer.trim_end_matches("[]");
        let is_shape = shapes.contains(&format!("pub struct {named} {{"));
        let is_inline = named.starts_with('{') || named == "trace";
        assert!(is_shape != is_inline, "{} {}: {}", row.method, row.path, row.answer);
    }
}

#[test]
fn each_request_fits_one_row() {
    for row in REQUESTS {
        let alike = REQUESTS.iter().filter(|other| (other.method, other.path) == (row.method, row.path));
        assert_eq!(alike.count(), 1, "{} {}", row.method, row.path);
    }
}

/// The requests as a part of the book.
fn page() -> String {
    let mut text = String::new();
    for Request { method, path, query, body, answer, does, .. } in REQUESTS {
        // A sentence per line.
        let _ = write!(text, "### `{method} {path}`\n\n{}\n", does.replace(". ", ".\n"));
        let shape = answer.trim_end_matches("[]");
        let answer = match *answer {
            "trace" => "a [trace](counterexamples.md), the content of a file".to_owned(),
            inline if inline.starts_with('{') => format!("`{inline}`"),
            list if list.ends_with("[]") => format!("a list of [`{shape}`](#{})", shape.to_lowercase()),
            shape => format!("[`{shape}`](#{})", shape.to_lowercase()),
        };
        let _ = writeln!(text, "Answer: {answer}.");
        for (kind, given) in [("parameter", query), ("field of the body", body)] {
            if !given.is_empty() {
                let _ = write!(text, "\n| {kind} | meaning |\n|---|---|\n");
            }
            for Given { name, means } in *given {
                let _ = writeln!(text, "| `{name}` | {means} |");
            }
        }
        text.push('\n');
    }
    text
}

/// A declaration of the shapes: its comment, its line without `pub`, and its fields or variants, each with its comment.
struct Shape<'s> {
    comment: String,
    line: &'s str,
    parts: Vec<(String, &'s str, bool)>,
}

/// The declarations of the shapes, read from their source.
fn shapes() -> Vec<Shape<'static>> {
    let source = include_str!("../../../host/inspect/src/page/shapes.rs");
    let (mut shapes, mut comment, mut may_be_missing) = (Vec::<Shape<'_>>::new(), Vec::new(), false);
    for line in source.lines() {
        let text = line.trim();
        if let Some(text) = text.strip_prefix("/// ") {
            comment.push(text);
        } else if text.starts_with("#[") {
            may_be_missing |= text.contains("skip_serializing_if");
        } else if text.is_empty() || text == "}" || text.starts_with("//!") || text.starts_with("use ") {
            comment.clear();
        } else if let Some(line) = text.strip_suffix(" {") {
            shapes.push(Shape { comment: std::mem::take(&mut comment).join(" "), line, parts: Vec::new() });
        } else if let (Some(shape), Some(line)) = (shapes.last_mut(), text.strip_suffix(',')) {
            let comment = std::mem::take(&mut comment).join(" ");
            shape.parts.push((comment, line, std::mem::take(&mut may_be_missing)));
        }
    }
    shapes
}

/// A type in the words of JSON.
fn kind(rust: &str) -> String {
    let inside = |head: &str| Some(rust.strip_prefix(head)?.strip_suffix('>')?.to_owned());
    if let Some(each) = inside("Vec<") {
        let other = each.strip_prefix("Option<").and_then(|other| other.strip_suffix('>'));
        let of = match &kind(other.unwrap_or(&each))[..] {
            "number" => "numbers".to_owned(),
            "text" => "texts".to_owned(),
            shape => shape.to_owned(),
        };
        let null = if other.is_some() { ", each may be null" } else { "" };
        return format!("list of {of}{null}");
    }
    match inside("Option<") {
        Some(other) => format!("{}, or null", kind(&other)),
        _ if ["usize", "u32", "u64"].contains(&rust) => "number".to_owned(),
        _ if ["String", "&'static str"].contains(&rust) => "text".to_owned(),
        _ if rust == "bool" => "true or false".to_owned(),
        _ => format!("[`{rust}`](#{})", rust.to_lowercase()),
    }
}

/// The shapes as a part of the book.
fn answers() -> String {
    let mut text = String::new();
    for Shape { comment, line, parts } in shapes() {
        let name = line.rsplit(' ').next().unwrap_or_default();
        let is_enum = line.contains("enum ");
        let _ = write!(text, "### {name}\n\n{}\n\n", comment.replace(". ", ".\n"));
        let head = if is_enum { "| text | meaning |\n|---|---|" } else { "| field | type | meaning |\n|---|---|---|" };
        let _ = writeln!(text, "{head}");
        for (comment, part, may_be_missing) in parts {
            let missing = if may_be_missing { "; may be missing" } else { "" };
            let _ = match part.strip_prefix("pub ").and_then(|part| part.split_once(": ")) {
                Some((field, rust)) => writeln!(text, "| `{field}` | {}{missing} | {comment} |", kind(rust)),
                None => writeln!(text, "| `{}` | {comment} |", part.to_lowercase()),
            };
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

#[test]
fn each_shape_is_read_with_its_fields() {
    let shapes = shapes();
    let of = |name: &str| shapes.iter().find(|shape| shape.line.ends_with(&format!(" {name}"))).expect("a shape");
    assert!(shapes.len() > 25 && shapes.iter().all(|shape| !shape.comment.is_empty() && !shape.parts.is_empty()));
    let fields: Vec<&str> = of("Moved").parts.iter().map(|(_, line, _)| *line).collect();
    assert_eq!(fields, ["pub place: usize", "pub line: Vec<usize>"]);
    assert!(of("Event").parts.iter().any(|(_, line, may_be_missing)| line.contains("fault") && *may_be_missing));
    assert_eq!(kind("Option<Vec<u32>>"), "list of numbers, or null");
    assert_eq!(kind("Vec<Option<String>>"), "list of texts, each may be null");
}

/// `HOST_BLESS=1` writes both parts of the book.
#[test]
fn the_book_has_each_request_and_each_answer_with_its_fields() {
    let file = folder("../docs/explore-api.md");
    let book = std::fs::read_to_string(&file).expect("the page of the book is there");
    let (head, _) = book.split_once("## Requests\n").expect("a head");
    let expected = format!("{head}## Requests\n\n{}## Answers\n\n{}", page(), answers());
    if std::env::var_os("HOST_BLESS").is_some() {
        std::fs::write(&file, &expected).expect("the page can be written");
    }
    let difference = book.lines().zip(expected.lines()).find(|(ours, wanted)| ours != wanted);
    assert!(
        book == expected || std::env::var_os("HOST_BLESS").is_some(),
        "HOST_BLESS=1 writes it again: {difference:?}"
    );
}
