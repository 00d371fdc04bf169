//! The effort of the tests.

/// The number of random systems of a test, from the usual number: `HOST_FUZZ_SYSTEMS` sets a number, such as `100000`, or a part
/// of the usual one, such as `50%`. A quarter is the minimum: a fixed set, which gives every tier the cases that the test needs.
///
/// # Panics
///
/// The variable is neither.
pub fn systems(usual: u64) -> u64 {
    let asked = match std::env::var("HOST_FUZZ_SYSTEMS") {
        Ok(asked) => asked_of(usual, &asked).unwrap_or_else(|| panic!("HOST_FUZZ_SYSTEMS={asked} is no number")),
        Err(_) => usual,
    };
    tried(usual, asked)
}

/// The systems that are tried: those that are asked for, and at least a quarter of the usual ones.
fn tried(usual: u64, asked: u64) -> u64 {
    asked.max(usual.div_ceil(4))
}

/// Fails if a test has seen too few cases: a loop that meets no violation cannot find a wrong one.
///
/// # Panics
///
/// If the test has seen too few cases.
#[track_caller]
pub fn telling(is_enough: bool, seen: std::fmt::Arguments<'_>) {
    assert!(is_enough, "{seen}");
}

/// The number of cases that a test has to see, from the number for the usual systems: at least a quarter.
pub fn enough(usual: u64) -> u64 {
    const USUAL: u64 = 1_000;
    usual * systems(USUAL).min(USUAL) / USUAL
}

/// The part of the needed cases that a test has to see in its [`systems`], of those in the usual ones.
pub fn share(needed: u64, usual: u64) -> u64 {
    (needed * systems(usual).min(usual)).div_ceil(usual)
}

fn asked_of(usual: u64, asked: &str) -> Option<u64> {
    match asked.strip_suffix('%') {
        Some(percent) => Some((usual * percent.parse::<u64>().ok()?).div_ceil(100)),
        None => asked.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::{asked_of, enough, share, systems, tried};

    /// The minimum is a quarter of the systems, with a quarter of the cases.
    #[test]
    fn a_fixed_set_is_tried_in_every_tier() {
        assert_eq!([0, 4, 10, 25, 400].map(|asked| tried(40, asked)), [10, 10, 10, 25, 400]);
        assert!((10..).contains(&systems(40)) && (25..=100).contains(&share(100, 40)));
        assert!((25..=100).contains(&enough(100)));
    }

    #[test]
    fn a_number_or_a_part_can_be_asked_for() {
        let of_sixty = ["7", "10%", "1%", "100%", "0%", "many", "%"].map(|asked| asked_of(60, asked));
        assert_eq!(of_sixty, [Some(7), Some(6), Some(1), Some(60), Some(0), None, None]);
    }
}
