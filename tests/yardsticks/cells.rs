//! The runs of a cell in a few words.

use super::{Ended, Run};

/// Successes of seeds; the medians of steps and seconds of all runs, where those without a finding are longer than the limit; and the
/// medians of events as found and as reported, of those with one.
pub fn cell(runs: &[Run], seconds_max: u64) -> String {
    if runs.iter().any(|run| run.ended == Ended::Refused) {
        return "refused".to_owned();
    }
    let mut found: [Vec<f64>; 4] = Default::default();
    for run in runs {
        if let Ended::Found { steps, events, reported, .. } = run.ended {
            let values = [steps as f64, run.seconds, events as f64, reported as f64];
            found.iter_mut().zip(values).for_each(|(of, value)| of.push(value));
        }
    }
    let successes = format!("{}/{}", found[0].len(), runs.len());
    if found[0].is_empty() {
        return successes;
    }
    let [mut steps, mut seconds, events, reported] = found;
    steps.resize(runs.len(), f64::INFINITY);
    seconds.resize(runs.len(), f64::INFINITY);
    let effort = match (median(steps), median(seconds)) {
        (steps, seconds) if seconds.is_finite() => format!("{}, {} s", short(steps), digits(seconds)),
        _ => format!("> {seconds_max} s"),
    };
    format!("{successes}, {effort}, {:.0} → {:.0}", median(events), median(reported))
}

/// The middle value, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

/// A number of steps with two digits or more, in thousands or millions.
fn short(steps: f64) -> String {
    match steps {
        steps if steps >= 1e6 => format!("{} M", digits(steps / 1e6)),
        steps if steps >= 1e3 => format!("{} k", digits(steps / 1e3)),
        _ => format!("{steps:.0}"),
    }
}

/// Two digits, or all before the point.
fn digits(number: f64) -> String {
    match number {
        number if number >= 9.95 => format!("{number:.0}"),
        number if number >= 0.995 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yardsticks::{Choice, MISTAKES, WAYS};

    fn run(seconds: f64, ended: Ended) -> Run {
        let choice = Choice { mistakes: vec![], ways: vec![], seeds: 1, seconds: 120, build: String::new() };
        Run { seconds, ended, ..Run::wanted(&choice, &MISTAKES[0], &WAYS[0]).swap_remove(0) }
    }

    #[test]
    fn a_cell_counts_successes_and_has_medians() {
        let found = |steps, seconds, events| {
            run(seconds, Ended::Found { steps, events, reported: events / 2, is_shortest: false })
        };
        let all = [found(900, 1.0, 30), found(2_500_000, 30.0, 40), found(1_234, 0.204, 34)];
        assert_eq!(cell(&all, 120), "3/3, 1.2 k, 1.0 s, 34 → 17");
        assert_eq!(cell(&all[1..], 120), "2/2, 1.3 M, 15 s, 37 → 18");
        assert_eq!(cell(&all[2..], 120), "1/1, 1.2 k, 0.20 s, 34 → 17");
        let mostly_not = [found(900, 1.0, 30), run(120.0, Ended::Limit), run(5.0, Ended::Missed)];
        assert_eq!(cell(&mostly_not, 120), "1/3, > 120 s, 30 → 15");
        assert_eq!(cell(&mostly_not[..2], 120), "1/2, > 120 s, 30 → 15");
        assert_eq!(cell(&mostly_not[1..], 120), "0/2");
        assert_eq!(cell(&[run(0.1, Ended::Refused)], 120), "refused");
    }
}
