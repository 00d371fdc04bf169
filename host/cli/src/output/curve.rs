//! The progress of random walks at doublings of their steps: whether longer walks would find more.

use host_session::base::text::{grouped, table};
use host_session::report::result::CurvePointReport;

/// The number of doublings shown, the last ones.
const SHOWN: usize = 6;

/// The growth in percent over a doubling of the steps; if every count grows by less, the curve is flat.
const FLAT_PERCENT: u64 = 2;

/// The section of a report; none before the first doubling. `is_at_least`: the counts are lower bounds for lack of memory, so the curve
/// may not be flat.
pub fn section(curve: &[CurvePointReport], is_at_least: bool) -> Option<String> {
    let shown = &curve[curve.len().saturating_sub(SHOWN)..];
    let [.., before, last] = shown else { return None };
    let row =
        |of: fn(&CurvePointReport) -> u64| shown.iter().map(|point| grouped(of(point))).collect::<Vec<_>>().join(", ");
    let grows = |of: fn(&CurvePointReport) -> u64| {
        (of(last) - of(before)).saturating_mul(100) >= of(before).saturating_mul(FLAT_PERCENT)
    };
    let mut rows = vec![
        ("after steps", row(|point| point.transitions)),
        ("local states", row(|point| point.local_states)),
        ("views", row(|point| point.views)),
        ("outcomes", row(|point| point.outcomes)),
    ];
    if !is_at_least && !grows(|point| point.local_states) && !grows(|point| point.outcomes) {
        rows.push(("flat", "more walks show little; try another --schedule, faults or larger parameters".to_owned()));
    }
    Some(table("seen by random walks", &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A curve of these local states, with twice as many outcomes and half as many views.
    fn curve(local_states: &[u64]) -> Vec<CurvePointReport> {
        let points = local_states.iter().enumerate().map(|(index, local_states)| {
            let (transitions, walks) = (1_024 << index, 3);
            let (views, outcomes) = (local_states / 2, local_states * 2);
            CurvePointReport { transitions, walks, local_states: *local_states, views, outcomes }
        });
        points.collect()
    }

    #[test]
    fn one_point_is_no_curve() {
        assert_eq!((section(&[], false), section(&curve(&[9]), false)), (None, None));
    }

    #[test]
    fn the_last_doublings_are_shown_with_what_they_add() {
        let steep = section(&curve(&[10, 100, 200, 300, 400, 500, 600]), false).expect("a curve");
        assert!(steep.contains("after steps   2,048, 4,096, 8,192, 16,384, 32,768, 65,536\n"), "{steep}");
        assert!(steep.contains("local states  100, 200, 300, 400, 500, 600\n"), "{steep}");
        assert!(steep.contains("views         50, 100, 150, 200, 250, 300\n"), "{steep}");
        assert!(steep.contains("outcomes      200, 400, 600, 800, 1,000, 1,200\n"), "{steep}");
        assert!(!steep.contains("flat"), "{steep}");
    }

    /// Growth by 2 % is growth, and less is not.
    #[test]
    fn a_curve_that_adds_little_is_flat() {
        let flat = |last, is_at_least| {
            section(&curve(&[500, 1_000, last]), is_at_least).expect("a curve").contains("\n  flat ")
        };
        assert_eq!([1_000, 1_019, 1_020, 2_000].map(|last| flat(last, false)), [true, true, false, false]);
        assert!(!flat(1_000, true), "what is not counted may be new");
    }
}
