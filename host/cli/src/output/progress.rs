//! Progress for people.

use host_session::base::text::{bytes, count, grouped};
use host_session::search::monitor::Moment;

/// How far a search is, on one line.
pub fn line(moment: &Moment<'_>) -> String {
    let Moment { elapsed, left, progress, process_bytes, strategy, is_verifying } = *moment;
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
    let part = |(number, noun): &(Option<u64>, &str)| {
        let part = count((*number)?, noun);
        // Few of many: the strategy goes through an over-approximation that does not fit the system.
        let reachable = counts.reachable_local_states.filter(|_| *noun == "local state");
        Some(match reachable {
            Some(reachable) => format!("{part}, {} known to be reachable", grouped(reachable)),
            None => part,
        })
    };
    let mut parts: Vec<String> = known.iter().filter_map(part).collect();
    // What the strategy counts first is what it goes through; since the beginning, so that a slow second is no alarm.
    let is_beside = |noun: &str| noun == "event" && counts.local_states.is_some();
    if let Some((number, noun)) =
        known.iter().filter(|(_, noun)| !is_beside(noun)).find_map(|(number, noun)| Some(((*number)?, noun)))
        && elapsed.as_secs() > 0
    {
        parts.push(format!("{}/s", count(number / elapsed.as_secs(), noun)));
    }
    parts.push(format!("{} waiting", grouped(progress.queue)));
    parts.push(format!("depth {}", progress.depth));
    parts.push(bytes(progress.bytes.max(process_bytes)));
    parts.extend(left.map(|left| format!("at most {} s left", grouped(left.as_secs()))));
    if is_verifying {
        parts.insert(0, "verifying".to_owned());
    }
    let strategy = strategy.map(|strategy| format!("{strategy}: ")).unwrap_or_default();
    format!("{:>4} s: {strategy}{}", elapsed.as_secs(), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use host_search::kernel::{Counts, Progress};

    use super::*;

    #[test]
    fn progress_names_the_counts_that_there_are() {
        let counts = Counts { global_states: Some(24_007), transitions: Some(37_012), ..Counts::default() };
        let progress = Progress { counts, steps: 0, depth: 25, queue: 3, bytes: 2048 };
        let expected =
            "  12 s: 24,007 global states, 37,012 transitions, 2,000 global states/s, 3 waiting, depth 25, 2.0 KiB";
        assert_eq!(line(&moment(12, None, &progress)), expected);
        let left = line(&moment(12, Some(Duration::from_secs(2_000)), &progress));
        assert_eq!(left, format!("{expected}, at most 2,000 s left"));
        let turn = Moment { strategy: Some("bdfs"), ..moment(12, None, &progress) };
        assert_eq!(line(&turn), expected.replace(" s: ", " s: bdfs: "));
        let verifying = Moment { is_verifying: true, ..moment(12, None, &progress) };
        assert_eq!(line(&verifying), expected.replace(" s: ", " s: verifying, "));
        let counts = Counts { walks: Some(2_400), transitions: Some(36_000), ..Counts::default() };
        let walks = line(&moment(12, None, &Progress { counts, steps: 0, depth: 25, queue: 0, bytes: 2048 }));
        assert_eq!(walks, "  12 s: 2,400 walks, 36,000 transitions, 200 walks/s, 0 waiting, depth 25, 2.0 KiB");
        let counts = Counts {
            local_states: Some(24_007),
            reachable_local_states: Some(12),
            events: Some(60),
            ..Counts::default()
        };
        let expected = "   1 s: 60 events, 24,007 local states, 12 known to be reachable, 24,007 local states/s, 3 waiting, depth 25, 2.0 KiB";
        assert_eq!(line(&moment(1, None, &Progress { counts, ..progress })), expected);
    }

    fn moment(seconds: u64, left: Option<Duration>, progress: &Progress) -> Moment<'_> {
        Moment {
            elapsed: Duration::from_secs(seconds),
            left,
            progress,
            process_bytes: 0,
            strategy: None,
            is_verifying: false,
        }
    }
}
