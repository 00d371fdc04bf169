//! The log of a node: lines with the time, a bounded number of each kind.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Lines of one kind within [`WINDOW`]; further lines are counted.
const LINES_MAX: u32 = 8;
/// The window over which the lines of one kind are limited.
const WINDOW: Duration = Duration::from_secs(10);
/// Letters of one line: a protocol may log anything.
const LETTERS_MAX: usize = 1_000;
/// Kinds of lines; lines of further kinds are left out.
const KINDS_MAX: usize = 1_000;

/// A line of the log of a node. As text: the time, the node, the words, and how many lines were left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'l> {
    /// The time in UTC, as [`stamp`] writes it.
    pub time: String,
    /// The node.
    pub node: u32,
    /// The kind of the line, by which lines are limited; that of a line of the protocol is its own.
    pub kind: &'l str,
    /// The words, without control characters.
    pub words: String,
    /// The number of lines of this kind that were left out before.
    pub left_out: u64,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, node, words, left_out, .. } = self;
        write!(f, "{time} node {node} {words}")?;
        if *left_out > 0 { write!(f, " ({left_out} lines like this were left out)") } else { Ok(()) }
    }
}

/// The destination of the lines of a node.
#[derive(Clone)]
pub struct Sink(Arc<dyn Fn(&Line<'_>) + Send + Sync>);

impl Sink {
    /// Passes each line to a function.
    pub fn new(line: impl Fn(&Line<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(line))
    }

    /// Drops all lines.
    pub fn none() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}

/// The lines of a kind in the current window.
struct Kind {
    since: Instant,
    lines: u32,
    left_out: u64,
}

/// The lines of a node.
pub(crate) struct Log {
    node: u32,
    sink: Sink,
    kinds: BTreeMap<String, Kind>,
}

impl Log {
    pub(crate) fn new(node: u32, sink: Sink) -> Self {
        Self { node, sink, kinds: BTreeMap::new() }
    }

    /// Writes a line. Beyond [`LINES_MAX`] of its kind within [`WINDOW`] it is only counted, and the next line reports the count.
    pub(crate) fn tell(&mut self, kind: &str, words: &dyn fmt::Display) {
        self.tell_at(Instant::now(), kind, words);
    }

    fn tell_at(&mut self, now: Instant, kind: &str, words: &dyn fmt::Display) {
        if !self.kinds.contains_key(kind) && self.kinds.len() >= KINDS_MAX {
            return;
        }
        let new = || Kind { since: now, lines: 0, left_out: 0 };
        let known = self.kinds.entry(kind.to_owned()).or_insert_with(new);
        let mut before = 0;
        if now.saturating_duration_since(known.since) >= WINDOW {
            before = std::mem::replace(known, new()).left_out;
        }
        if known.lines >= LINES_MAX {
            known.left_out += 1;
            return;
        }
        known.lines += 1;
        let words: String =
            words.to_string().chars().take(LETTERS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
        (self.sink.0)(&Line { time: stamp(), node: self.node, kind, words, left_out: before });
    }
}

/// The present time in UTC, to the millisecond, as RFC 3339 writes it.
pub fn stamp() -> String {
    stamp_of(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn stamp_of(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days from 1 March of year 0, where leap days are at the end of a year: Howard Hinnant, "chrono-compatible low-level date
    // algorithms", 2021, `civil_from_days`.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * from_march + 2) / 5 + 1, (from_march + 2) % 12 + 1);
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since_1970.subsec_millis())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// By `date -u -d @N`.
    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (951_782_399, "2000-02-28T23:59:59.007Z"),
            (951_782_400, "2000-02-29T00:00:00.007Z"),
            (951_868_800, "2000-03-01T00:00:00.007Z"),
            (1_709_164_800, "2024-02-29T00:00:00.007Z"),
            (1_735_689_599, "2024-12-31T23:59:59.007Z"),
            (4_102_444_800, "2100-01-01T00:00:00.007Z"),
            (4_107_542_400, "2100-03-01T00:00:00.007Z"),
        ] {
            assert_eq!(stamp_of(Duration::from_millis(seconds * 1_000 + 7)), expected);
        }
    }

    #[test]
    fn lines_of_one_kind_are_few_and_the_others_are_counted() {
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&lines);
        let mut log = Log::new(3, Sink::new(move |line| kept.lock().expect("no holder panics").push(line.to_string())));
        let begun = Instant::now();
        for number in 0..LINES_MAX + 5 {
            log.tell_at(begun, "one", &format_args!("says {number}"));
            log.tell_at(begun, "other", &"says so");
        }
        log.tell_at(begun + WINDOW, "one", &"says it again");
        log.tell_at(begun + WINDOW, "one", &"and again");
        let lines = std::mem::take(&mut *lines.lock().expect("no holder panics"));
        assert_eq!(lines.len(), 2 * LINES_MAX as usize + 2);
        let [.., last, end] = &lines[..] else { panic!("{lines:?}") };
        assert!(last.ends_with("Z node 3 says it again (5 lines like this were left out)"), "{last}");
        assert!(end.ends_with("Z node 3 and again"), "{end}");
        // A protocol that makes up kinds gets no memory.
        (0..2 * KINDS_MAX).for_each(|number| log.tell_at(begun, &number.to_string(), &"is new"));
        assert_eq!(log.kinds.len(), KINDS_MAX);
    }
}
