//! Progress for people: one line that fits a terminal.

use std::time::Duration;

use host_session::base::text::{bytes, count, grouped};
use host_session::search::monitor::Moment;

/// The maximum width of a line of progress, unless the terminal is narrower.
pub const LETTERS_MAX: usize = 80;

/// The progress of a search on one line: always queue, depth, memory and the time left, and as many counts as fit.
pub fn line(moment: &Moment<'_>) -> String {
    let letters_max = moment.columns.min(LETTERS_MAX);
    let full = Detail { counts: usize::MAX, has_rate: true, is_short: false };
    let shortest = Detail { counts: 0, has_rate: false, is_short: true };
    // Dropped in this order.
    let details = [
        full,
        Detail { counts: 1, ..full },
        Detail { counts: 1, is_short: true, ..full },
        Detail { counts: 1, has_rate: false, is_short: true },
        shortest,
    ];
    let mut lines = details.iter().map(|detail| written(moment, *detail));
    lines.find(|line| line.chars().count() <= letters_max).unwrap_or_else(|| written(moment, shortest))
}

/// The level of detail of a line.
#[derive(Clone, Copy)]
struct Detail {
    /// The number of counts of the strategy, the main one first.
    counts: usize,
    /// Whether it has the rate per second.
    has_rate: bool,
    /// Whether numbers have three digits and a unit.
    is_short: bool,
}

impl Detail {
    fn number(self, number: u64) -> String {
        if self.is_short { short(number) } else { grouped(number) }
    }

    fn seconds(self, time: Duration) -> String {
        let seconds = time.as_secs();
        match (self.is_short, seconds) {
            (true, 6_000..360_000) => format!("{} min", seconds / 60),
            (true, 360_000..) => format!("{} h", self.number(seconds / 3_600)),
            _ => format!("{} s", grouped(seconds)),
        }
    }
}

fn written(moment: &Moment<'_>, detail: Detail) -> String {
    let Moment { elapsed, left, progress, process_bytes, strategy, is_verifying, .. } = *moment;
    let counts = &progress.counts;
    let known = [
        (counts.global_states, "global state"),
        (counts.events, "event"),
        (counts.executions, "execution"),
        (counts.walks, "walk"),
        (counts.transitions, "transition"),
        (counts.local_states, "local state"),
        (counts.system_states, "system state"),
    ];
    let said = |number: u64, noun: &str| match detail.is_short {
        true => format!("{} {noun}{}", short(number), if number == 1 { "" } else { "s" }),
        false => count(number, noun),
    };
    let part = |(number, noun): &(Option<u64>, &str)| {
        let part = said((*number)?, noun);
        // Few reachable states of many: the over-approximation that the strategy explores does not fit the system.
        let reachable = counts.reachable_local_states.filter(|_| *noun == "local state");
        Some(match reachable {
            Some(reachable) => format!("{part}, {} known to be reachable", detail.number(reachable)),
            None => part,
        })
    };
    // The first count of a strategy is the one that it iterates over.
    let is_secondary = |noun: &str| noun == "event" && counts.local_states.is_some();
    let main = known.iter().filter(|(_, noun)| !is_secondary(noun)).find(|(number, _)| number.is_some());
    let mut parts: Vec<String> = match detail.counts {
        usize::MAX => known.iter().filter_map(part).collect(),
        counts => main.iter().take(counts).filter_map(|(number, noun)| Some(said((*number)?, noun))).collect(),
    };
    // Averaged since the beginning, so that a slow second is no alarm.
    let rate = main.and_then(|(number, noun)| Some(((*number)?.checked_div(elapsed.as_secs())?, noun)));
    parts.extend(rate.filter(|_| detail.has_rate).map(|(number, noun)| match detail.is_short {
        true => format!("{}/s", short(number)),
        false => format!("{}/s", count(number, noun)),
    }));
    parts.push(format!("{} waiting", detail.number(progress.queue)));
    parts.push(format!("depth {}", detail.number(progress.depth.into())));
    parts.push(bytes(progress.bytes.max(process_bytes)));
    let at_most = if detail.is_short { "" } else { "at most " };
    parts.extend(left.map(|left| format!("{at_most}{} left", detail.seconds(left))));
    if is_verifying && detail.counts > 0 {
        parts.insert(0, "verifying".to_owned());
    }
    let strategy = strategy.map(|strategy| format!("{strategy}: ")).unwrap_or_default();
    format!("{:>6}: {strategy}{}", detail.seconds(elapsed), parts.join(", "))
}

/// A number with at most three digits and a unit: `12.3M`.
fn short(number: u64) -> String {
    const UNITS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let (mut value, mut unit) = (number as f64, 0);
    while value >= 999.5 {
        (value, unit) = (value / 1_000.0, unit + 1);
    }
    match unit {
        0 => number.to_string(),
        _ if value < 99.95 => format!("{value:.1}{}", UNITS[unit]),
        _ => format!("{value:.0}{}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use host_search::kernel::{Counts, Progress};
    use host_search::strategy::STRATEGIES;

    use super::*;

    #[test]
    fn progress_names_the_counts_that_there_are() {
        let counts = Counts { global_states: Some(24_007), transitions: Some(37_012), ..Counts::default() };
        let progress = Progress { counts, steps: 0, depth: 25, queue: 3, bytes: 2048 };
        // 80 letters have room for the main count.
        let expected = "  12 s: 24,007 global states, 2,000 global states/s, 3 waiting, depth 25, 2.0 KiB";
        assert_eq!(
            line(&moment(12, None, &progress)),
            expected.replace("24,007", "24.0k").replace("2,000 global states/s", "2.0k/s")
        );
        let few = Counts { global_states: Some(24), transitions: Some(37), ..Counts::default() };
        let few = Progress { counts: few, ..progress };
        let expected = "  12 s: 24 global states, 37 transitions, 2 global states/s, 3 waiting, depth 25, 2.0 KiB";
        assert_eq!(written(&moment(12, None, &few), FULL), expected);
        assert_eq!(
            line(&moment(12, None, &few)),
            "  12 s: 24 global states, 2 global states/s, 3 waiting, depth 25, 2.0 KiB"
        );
        let left = line(&moment(12, Some(Duration::from_secs(2_000)), &few));
        assert_eq!(left, "  12 s: 24 global states, 2/s, 3 waiting, depth 25, 2.0 KiB, 2,000 s left");
        let turn = Moment { strategy: Some("bdfs"), ..moment(12, None, &progress) };
        assert_eq!(line(&turn), "  12 s: bdfs: 24.0k global states, 2.0k/s, 3 waiting, depth 25, 2.0 KiB");
        let verifying = Moment { is_verifying: true, ..moment(12, None, &progress) };
        assert_eq!(line(&verifying), "  12 s: verifying, 24.0k global states, 2.0k/s, 3 waiting, depth 25, 2.0 KiB");
        let counts = Counts { walks: Some(2_400), transitions: Some(36_000), ..Counts::default() };
        let walks = line(&moment(12, None, &Progress { counts, steps: 0, depth: 25, queue: 0, bytes: 2048 }));
        assert_eq!(walks, "  12 s: 2,400 walks, 200 walks/s, 0 waiting, depth 25, 2.0 KiB");
        let counts = Counts {
            local_states: Some(24_007),
            reachable_local_states: Some(12),
            events: Some(60),
            ..Counts::default()
        };
        let expected = "   1 s: 60 events, 24,007 local states, 12 known to be reachable, 24,007 local states/s, 3 waiting, depth 25, 2.0 KiB";
        let progress = Progress { counts, ..progress };
        assert_eq!(written(&moment(1, None, &progress), FULL), expected);
        assert_eq!(
            line(&moment(1, None, &progress)),
            "   1 s: 24,007 local states, 24,007 local states/s, 3 waiting, depth 25, 2.0 KiB"
        );
    }

    /// For each strategy, by itself and as a member of `auto`, for small and for the largest numbers, in any terminal with room for
    /// queue, depth, memory and the time left.
    #[test]
    fn a_line_fits_the_terminal_and_names_queue_depth_memory_and_time_left() {
        let numbers = [0, 1, 999, 123_456, 987_654_321, 999_999_999_999, u64::MAX];
        let names = STRATEGIES.iter().map(|strategy| Some(strategy.name)).chain([None]);
        let mut lines = 0;
        for strategy in names {
            for number in numbers {
                let some = Some(number);
                let kinds = [
                    Counts { global_states: some, transitions: some, local_states: some, ..Counts::default() },
                    Counts { events: some, system_states: some, ..Counts::default() },
                    Counts { executions: some, transitions: some, ..Counts::default() },
                    Counts { walks: some, transitions: some, local_states: some, ..Counts::default() },
                    Counts { local_states: some, reachable_local_states: some, events: some, ..Counts::default() },
                ];
                for counts in kinds {
                    let depth = u32::try_from(number).unwrap_or(u32::MAX);
                    let progress = Progress { counts, steps: number, depth, queue: number, bytes: number.min(1 << 50) };
                    for (seconds, left, columns) in [
                        (1, None, 200),
                        (86_399, Some(7_200), 80),
                        (10_000_000, Some(100_000_000), 80),
                        (59, Some(9), 79),
                    ] {
                        for is_verifying in [false, true] {
                            let left = left.map(Duration::from_secs);
                            let moment = Moment { strategy, is_verifying, columns, ..moment(seconds, left, &progress) };
                            let line = line(&moment);
                            let letters = line.chars().count();
                            assert!(letters <= columns.min(80), "{letters} letters: {line}");
                            let named = [" waiting, depth ", "B"].iter().all(|word| line.contains(word));
                            assert!(named && line.contains(" left") == left.is_some(), "{line}");
                            assert!(strategy.is_none_or(|name| line.contains(&format!(": {name}: "))), "{line}");
                            lines += 1;
                        }
                    }
                }
            }
        }
        assert!(lines > 2_000, "{lines} lines");
    }

    #[test]
    fn large_numbers_have_three_digits() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1.0k"), (99_949, "99.9k"), (99_950, "100k"), (999_499, "999k")];
        for (number, expected) in
            cases.into_iter().chain([(999_500, "1.0M"), (12_345_678, "12.3M"), (u64::MAX, "18.4E")])
        {
            assert_eq!(short(number), expected);
        }
    }

    const FULL: Detail = Detail { counts: usize::MAX, has_rate: true, is_short: false };

    fn moment(seconds: u64, left: Option<Duration>, progress: &Progress) -> Moment<'_> {
        Moment {
            elapsed: Duration::from_secs(seconds),
            left,
            progress,
            process_bytes: 0,
            strategy: None,
            is_verifying: false,
            columns: 80,
        }
    }
}
