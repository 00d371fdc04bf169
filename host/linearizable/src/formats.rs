//! The formats of histories.

use std::io::BufRead;

use crate::edn;
use crate::entry::Entry;
use crate::error::{HistoryError, Place};
use crate::source::Source;
use crate::value::Value;

/// A notation for histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// EDN maps, one after the other or in one vector, as Jepsen's `history.edn`.
    Edn,
    /// Lines of words, as Jepsen's `history.txt` and log: `0 :invoke :write 3`.
    Text,
    /// A JSON object per line.
    Lines,
}

impl Format {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Edn => "Jepsen's EDN",
            Self::Text => "Jepsen's text",
            Self::Lines => "JSON lines",
        }
    }
}

/// The formats among which the first bytes of a history decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accepted {
    /// All of them.
    #[default]
    Any,
    /// Those of Jepsen.
    Jepsen,
    /// JSON lines.
    Lines,
}

/// The entries of a history, one after the other.
pub(crate) struct Entries<'a> {
    source: Source<'a>,
    pub(crate) format: Format,
    /// The delimiter that ends a history in one vector or list.
    closes: Option<u8>,
    /// The place where that vector began.
    opened: Place,
    is_done: bool,
}

impl<'a> Entries<'a> {
    /// Looks at the first bytes.
    pub(crate) fn new(input: &'a mut dyn BufRead, accepted: Accepted) -> Result<Self, HistoryError> {
        let mut source = Source::new(input);
        if source.peek()? == Some(0xEF) {
            // The mark that some editors begin a file with.
            for _ in 0..3 {
                source.next()?;
            }
            source.place = Place { line: 1, column: 1 };
        }
        edn::skip_blanks(&mut source)?;
        let first = source.peek()?.ok_or(HistoryError::Empty)?;
        let format = match accepted {
            Accepted::Lines => Format::Lines,
            _ if first == b'{' => match first_key(&mut source)? {
                Some(b'"') if accepted == Accepted::Any => Format::Lines,
                _ => Format::Edn,
            },
            _ if b"[(#".contains(&first) => Format::Edn,
            _ => Format::Text,
        };
        let mut new = Self { opened: source.place, source, format, closes: None, is_done: false };
        if format == Format::Edn {
            new.open()?;
        }
        Ok(new)
    }

    /// Enters the vector or list that holds all of an EDN history.
    fn open(&mut self) -> Result<(), HistoryError> {
        loop {
            let closes = match (self.source.peek()?, self.source.peek_at(1)?) {
                (Some(b'['), _) => b']',
                (Some(b'('), _) => b')',
                // A tag such as `#jepsen.history.DenseHistory`, unless it is one of an operation.
                (Some(b'#'), Some(byte)) if byte.is_ascii_alphabetic() => {
                    let mut ahead = 1;
                    while self.source.peek_at(ahead)?.is_some_and(|byte| !b"[({ \n\r\t".contains(&byte)) {
                        ahead += 1;
                    }
                    while self.source.peek_at(ahead)?.is_some_and(|byte| byte.is_ascii_whitespace()) {
                        ahead += 1;
                    }
                    if !self.source.peek_at(ahead)?.is_some_and(|byte| b"[(".contains(&byte)) {
                        return Ok(());
                    }
                    for _ in 0..ahead {
                        self.source.next()?;
                    }
                    continue;
                }
                _ => return Ok(()),
            };
            self.opened = self.source.place;
            self.source.next()?;
            self.closes = Some(closes);
            return Ok(());
        }
    }

    /// The next entry of a client; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>, HistoryError> {
        while !self.is_done {
            let found = match self.format {
                Format::Edn => self.next_form()?,
                Format::Text => self.next_words()?,
                Format::Lines => self.next_json()?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn next_form(&mut self) -> Result<Option<Entry>, HistoryError> {
        self.source.begin();
        edn::skip_blanks(&mut self.source)?;
        let place = self.source.place;
        if self.closes.is_some() && self.source.peek()? == self.closes {
            self.source.next()?;
            edn::skip_blanks(&mut self.source)?;
            if self.source.peek()?.is_some() {
                return Err(self
                    .source
                    .wrong("more follows behind the end of the history", "one file has one history"));
            }
            self.is_done = true;
            return Ok(None);
        }
        match edn::form(&mut self.source)? {
            Some(form) => Entry::of_map(form, place),
            None => {
                self.is_done = true;
                match self.closes {
                    None => Ok(None),
                    Some(_) => {
                        let begin = format!("line {}, column {}", self.opened.line, self.opened.column);
                        let problem = format!("the history ends within the vector that begins in {begin}");
                        Err(self.source.wrong(problem, "copy the file again, or close the vector"))
                    }
                }
            }
        }
    }

    fn next_words(&mut self) -> Result<Option<Entry>, HistoryError> {
        let line = self.source.place.line;
        let Some(bytes) = self.source.line()? else {
            self.is_done = true;
            return Ok(None);
        };
        // A log has a level, the name of a logger and a hyphen before what it says.
        let is_log = [&b"INFO"[..], b"WARN", b"ERROR", b"DEBUG"].iter().any(|level| bytes.starts_with(level));
        let message = bytes.windows(3).position(|three| three == b" - ").map(|start| start + 3);
        let begin = match (is_log, message) {
            (false, _) => 0,
            (true, Some(begin)) if bytes[..begin].windows(11).any(|word| word == b"jepsen.util") => begin,
            // Lines of other loggers are no part of the history.
            (true, _) => return Ok(None),
        };
        let place = Place { line, column: begin as u32 + 1 };
        let mut rest = &bytes[begin..];
        let mut words = Vec::new();
        let mut source = Source::new(&mut rest);
        source.place = place;
        // The words behind the value, such as an error, are for people.
        while words.len() < 4 {
            match edn::form(&mut source)? {
                Some(word) => words.push(word),
                None => break,
            }
        }
        if words.is_empty() { Ok(None) } else { Entry::of_words(words, place) }
    }

    fn next_json(&mut self) -> Result<Option<Entry>, HistoryError> {
        let line = self.source.place.line;
        let Some(bytes) = self.source.line()? else {
            self.is_done = true;
            return Ok(None);
        };
        let blank = |byte: &u8| byte.is_ascii_whitespace();
        let Some(first) = bytes.iter().position(|byte| !blank(byte)) else { return Ok(None) };
        let json: serde_json::Value = serde_json::from_slice(&bytes).map_err(|error| {
            let column = error.column().clamp(1, bytes.len() + 1) as u32;
            let is_torn = error.is_eof() && self.source.peek().is_ok_and(|next| next.is_none());
            let remedy = match is_torn {
                true => "the last line is torn: copy the file again, or remove the line: its call then counts as open",
                false => {
                    "each line is one JSON object, such as {\"process\": 0, \"type\": \"invoke\", \"f\": \"read\"}"
                }
            };
            let text = error.to_string();
            // The library counts lines within this one.
            let text = text.split(" at line ").next().unwrap_or_default();
            HistoryError::at(Place { line, column }, format!("this line is no JSON: {text}"), remedy)
        })?;
        Entry::of_map(Value::from(json), Place { line, column: first as u32 + 1 })
    }
}

/// The first byte within the map that comes next, which stays.
fn first_key(source: &mut Source<'_>) -> Result<Option<u8>, HistoryError> {
    let mut ahead = 1;
    while source.peek_at(ahead)?.is_some_and(|byte| byte.is_ascii_whitespace() || byte == b',') && ahead < 4096 {
        ahead += 1;
    }
    source.peek_at(ahead)
}
