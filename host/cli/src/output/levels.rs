//! The levels of a search that a bound has ended, and an estimate of the rest.

use host_session::base::text::{grouped, table};
use host_session::report::result::LevelsReport;

/// The number of levels shown, the last ones.
const SHOWN: usize = 6;

/// Fewer levels are not worth a section.
const LEVELS_MIN: usize = 8;

/// The section of a report without an answer; none for few levels, and where all of them were explored.
pub fn section(levels: &LevelsReport) -> Option<String> {
    if levels.whole {
        return None;
    }
    let all = &levels.expanded;
    let first = all.len().checked_sub(LEVELS_MIN)? + LEVELS_MIN - SHOWN;
    let joined = |numbers: Vec<String>| numbers.join(", ");
    let distances = (first as u64..).take(SHOWN).map(grouped).collect();
    let estimate = match &levels.estimate {
        Some(rest) => format!(
            "about {} states in {} levels are left, if levels continue to change as they did",
            grouped(rounded(rest.states)),
            grouped(rest.levels)
        ),
        None => "none until two levels in a row have shrunk".to_owned(),
    };
    let rows = [
        ("distance from the start", joined(distances)),
        ("states expanded", joined(all[first..].iter().map(|states| grouped(*states)).collect())),
        ("estimate", estimate),
    ];
    Some(table("levels of the search", &rows))
}

/// A number with two digits other than zero: an estimate has no more.
fn rounded(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(1));
    number.saturating_add(unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use host_session::report::result::EstimateReport;

    use super::*;

    #[test]
    fn the_last_levels_are_shown_with_a_rounded_estimate() {
        let expanded: Vec<u64> = (1..=10).map(|level| level * 1_000).collect();
        let estimate = Some(EstimateReport { states: 1_254_321, levels: 14 });
        let text = section(&LevelsReport { expanded: expanded.clone(), whole: false, estimate }).expect("ten levels");
        assert!(text.contains("  distance from the start  4, 5, 6, 7, 8, 9\n"), "{text}");
        assert!(text.contains("  states expanded          5,000, 6,000, 7,000, 8,000, 9,000, 10,000\n"), "{text}");
        assert!(text.contains("about 1,300,000 states in 14 levels are left"), "{text}");
        let text =
            section(&LevelsReport { expanded: expanded.clone(), whole: false, estimate: None }).expect("ten levels");
        assert!(text.contains("  estimate                 none"), "{text}");
        assert!(section(&LevelsReport { expanded: expanded[..7].to_vec(), whole: false, estimate: None }).is_none());
        assert!(section(&LevelsReport { expanded, whole: true, estimate: None }).is_none());
    }

    #[test]
    fn numbers_are_rounded_to_two_digits() {
        let numbers = [0, 7, 99, 104, 105, 1_249, 1_250, 995_000, u64::MAX];
        assert_eq!(numbers.map(rounded)[..8], [0, 7, 99, 100, 110, 1_200, 1_300, 1_000_000]);
        assert_eq!(rounded(u64::MAX), 18_000_000_000_000_000_000);
    }
}
