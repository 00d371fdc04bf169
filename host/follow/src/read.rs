//! Reads a log: an object of JSON per line.

use std::collections::BTreeMap;
use std::io::{BufRead, ErrorKind};

use serde_json::Value;

use crate::error::{LogError, Place};
use crate::fields::{Fields, Nodes, Wrong};
use crate::line::{Event, Line, LineId};
use crate::log::Log;

/// Bytes of a line, at most.
const LINE_BYTES_MAX: usize = 16 << 20;

/// Bytes kept for each byte of a line, about.
const BYTES_PER_LETTER: usize = 6;

/// The inputs of a log, with the reason to stop, if there is one.
pub struct Input<'i> {
    /// The files.
    pub files: Vec<&'i mut dyn BufRead>,
    /// Whether to stop, asked for every line.
    pub stop: &'i mut dyn FnMut() -> bool,
    /// The most bytes to keep.
    pub memory_bytes: usize,
}

/// The result of reading.
#[derive(Debug)]
pub enum Read {
    /// The whole log.
    Whole(Log),
    /// It needs more memory.
    TooLarge {
        /// Lines that were read.
        lines: u32,
    },
    /// It was stopped.
    Stopped {
        /// Lines that were read.
        lines: u32,
    },
}

/// Reads a log. The lines of a node are in the order of `seq`, or else in that of the files.
///
/// # Errors
///
/// A line is wrong, or a file cannot be read.
pub fn read(input: Input<'_>, nodes: &Nodes) -> Result<Read, LogError> {
    let mut reading =
        Reading { nodes, lines: Vec::new(), seqs: Vec::new(), ids: BTreeMap::new(), after: Vec::new(), bytes: 0 };
    for (number, file) in (0..).zip(input.files) {
        let mut place = Place { file: number, line: 0, column: 1 };
        let mut buffer = Vec::new();
        loop {
            place.line += 1;
            if !line(file, &mut buffer, place)? {
                break;
            }
            if (input.stop)() {
                return Ok(Read::Stopped { lines: reading.lines.len() as u32 });
            }
            reading.add(&buffer, place)?;
            if reading.bytes > input.memory_bytes {
                return Ok(Read::TooLarge { lines: reading.lines.len() as u32 });
            }
        }
    }
    if reading.lines.is_empty() {
        return Err(LogError::Empty);
    }
    Ok(Read::Whole(reading.end()?))
}

/// The next line without its end; returns false at the end of the file.
fn line(file: &mut dyn BufRead, buffer: &mut Vec<u8>, place: Place) -> Result<bool, LogError> {
    buffer.clear();
    let mut is_there = false;
    loop {
        let part = match file.fill_buf() {
            Ok(part) => part,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(LogError::Input(error)),
        };
        if part.is_empty() {
            return Ok(is_there);
        }
        is_there = true;
        let end = part.iter().position(|byte| *byte == b'\n');
        let length = end.unwrap_or(part.len());
        if buffer.len() + length > LINE_BYTES_MAX {
            let problem = format!("this line has more than {} MiB", LINE_BYTES_MAX >> 20);
            return Err(LogError::at(place, problem, "a log has one object of JSON per line"));
        }
        buffer.extend_from_slice(&part[..length]);
        file.consume(length + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(true);
        }
    }
}

struct Reading<'r> {
    nodes: &'r Nodes,
    lines: Vec<Line>,
    seqs: Vec<Option<u64>>,
    ids: BTreeMap<String, LineId>,
    /// Per line the names of those that it follows.
    after: Vec<Vec<String>>,
    bytes: usize,
}

impl Reading<'_> {
    fn add(&mut self, bytes: &[u8], place: Place) -> Result<(), LogError> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(LogError::at(
                place,
                "this line is not UTF-8",
                "a log is a text, with one object of JSON per line",
            ));
        };
        let text = text.trim_end_matches('\r');
        if text.trim().is_empty() {
            return Ok(());
        }
        let value: Value = serde_json::from_str(text).map_err(|error| {
            let column = u32::try_from(error.column()).unwrap_or(u32::MAX).max(1);
            let remedy = match error.is_eof() {
                true => "the line is torn: complete it, or remove it if it is the last one",
                false => "each line is one object such as {\"node\": 0, \"event\": \"deliver\", \"from\": 1}",
            };
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default().to_owned();
            LogError::at(Place { column, ..place }, format!("this line is no JSON: {what}"), remedy)
        })?;
        let Value::Object(mut object) = value else {
            let remedy = "each line is one object such as {\"node\": 0, \"event\": \"deliver\", \"from\": 1}";
            return Err(LogError::at(place, "this line is no object", remedy));
        };
        self.bytes += text.len() * BYTES_PER_LETTER + size_of::<Line>();
        let wrong = |wrong: Wrong| {
            let column = column(text, wrong.field);
            LogError::at(Place { column, ..place }, wrong.problem, wrong.remedy)
        };
        let mut fields = Fields { object: &mut object, nodes: self.nodes };
        let node = fields.node("node").map_err(wrong)?;
        let Some(node) = node else {
            return Err(LogError::at(place, "this line has no `node`", "name the node that wrote it: \"node\": 0"));
        };
        let (seq, id) = (fields.number("seq").map_err(wrong)?, fields.id().map_err(wrong)?);
        let after = fields.ids().map_err(wrong)?;
        let event = fields.event().map_err(wrong)?;
        let state = fields.state();
        if matches!(event, Event::State) && state.is_none() {
            let problem = "a line about a state has no `state`";
            return Err(LogError::at(place, problem, "add \"state\": {...}, or remove the line"));
        }
        if matches!(event, Event::Send(_)) && state.is_some() {
            let problem = "a line about a message that was sent has a `state`";
            return Err(LogError::at(place, problem, "write it as a line of its own, after those of all messages"));
        }
        let sent = if matches!(event, Event::State | Event::Send(_) | Event::Start) {
            None
        } else {
            fields.sent().map_err(wrong)?
        };
        fields.end(&event).map_err(wrong)?;
        let number = self.lines.len() as LineId;
        if let Some(id) = id
            && self.ids.insert(id.clone(), number).is_some()
        {
            let place = Place { column: column(text, "id"), ..place };
            return Err(LogError::at(
                place,
                format!("there are two lines with the id \"{id}\""),
                "give each its own id",
            ));
        }
        self.lines.push(Line { place, node, event, sent, state, after: Vec::new() });
        self.seqs.push(seq);
        self.after.push(after);
        Ok(())
    }

    fn end(mut self) -> Result<Log, LogError> {
        self.interleave();
        let by_node = self.by_node()?;
        let mut position = vec![0_usize; self.lines.len()];
        for of_node in &by_node {
            for (at, id) in of_node.iter().enumerate() {
                position[*id as usize] = at;
            }
        }
        for (number, names) in std::mem::take(&mut self.after).iter().enumerate() {
            let place = self.lines[number].place;
            for name in names {
                let Some(before) = self.ids.get(name).copied() else {
                    let problem = format!("`after` names \"{name}\", and no line has this id");
                    return Err(LogError::at(
                        place,
                        problem,
                        "give the earlier line this id, or remove it from `after`",
                    ));
                };
                if self.lines[before as usize].node != self.lines[number].node {
                    self.lines[number].after.push(before);
                } else if position[before as usize] >= position[number] {
                    let problem = format!("`after` names \"{name}\", which is not an earlier line of the same node");
                    return Err(LogError::at(place, problem, "a node writes its lines in the order of its events"));
                }
            }
        }
        let bytes = self.bytes;
        let mut log = Log::in_order(self.lines, by_node);
        log.bytes = bytes;
        Ok(log)
    }

    /// Orders the lines of several files by their numbers: the first line of each file, the second of each, and so on. The search tries
    /// earlier lines first.
    fn interleave(&mut self) {
        let place = |line: &Line| (line.place.line, line.place.file);
        if self.lines.is_sorted_by_key(place) {
            return;
        }
        let mut order: Vec<usize> = (0..self.lines.len()).collect();
        order.sort_by_key(|number| place(&self.lines[*number]));
        let mut number_of = vec![0; order.len()];
        for (number, old) in (0..).zip(&order) {
            number_of[*old] = number;
        }
        self.lines = order.iter().map(|old| self.lines[*old].clone()).collect();
        self.seqs = order.iter().map(|old| self.seqs[*old]).collect();
        self.after = order.iter().map(|old| std::mem::take(&mut self.after[*old])).collect();
        self.ids.values_mut().for_each(|line| *line = number_of[*line as usize]);
    }

    /// The lines of each node in their order.
    fn by_node(&self) -> Result<Vec<Vec<LineId>>, LogError> {
        let mut by_node: Vec<Vec<LineId>> = vec![Vec::new(); self.nodes.names.len()];
        for (id, line) in (0..).zip(&self.lines) {
            by_node[line.node as usize].push(id);
        }
        for of_node in &mut by_node {
            let seq = |id: &LineId| self.seqs[*id as usize];
            let place = |id: LineId| self.lines[id as usize].place;
            let Some(first) = of_node.iter().find(|id| seq(id).is_some()) else { continue };
            if let Some(other) = of_node.iter().find(|id| seq(id).is_none()) {
                let line = place(*first).line;
                let problem = format!("this line has no `seq`, and line {line} of the same node has one");
                return Err(LogError::at(place(*other), problem, "give `seq` to all lines of a node, or to none"));
            }
            of_node.sort_by_key(seq);
            if let Some(same) = of_node.windows(2).find(|pair| seq(&pair[0]) == seq(&pair[1])) {
                let (line, number) = (place(same[0]).line, seq(&same[1]).unwrap_or_default());
                let problem = format!("this line and line {line} of the same node have the `seq` {number}");
                return Err(LogError::at(place(same[1]), problem, "number the lines of a node one by one"));
            }
        }
        Ok(by_node)
    }
}

/// The column of a field in a line, or of its beginning.
fn column(text: &str, field: &str) -> u32 {
    let at = (!field.is_empty()).then(|| text.find(&format!("\"{field}\""))).flatten().unwrap_or(0);
    u32::try_from(text[..at].chars().count()).unwrap_or(u32::MAX).saturating_add(1)
}
