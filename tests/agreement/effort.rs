//! How much the tests try.

/// How many random systems a test tries, of as many as usual: `HOST_FUZZ_SYSTEMS` asks for a number, such as `100000`, or for a part
/// of the usual one, such as `50%`. A quarter is always tried: a fixed set, which shows in every tier what the test needs.
///
/// # Panics
///
/// The variable is neither.
pub fn systems(usual: u64) -> u64 {
    let asked = match std::env::var("HOST_FUZZ_SYSTEMS") {
        Ok(asked) => asked_of(usual, &asked).unwrap_or_else(|| panic!("HOST_FUZZ_SYSTEMS={asked} is no number")),
        Err(_) => usual,
    };
    asked.max(usual.div_ceil(4))
}

/// Fails if what a test has seen says too little: a loop that meets no violation cannot find a wrong one.
///
/// # Panics
///
/// It says too little.
#[track_caller]
pub fn telling(is_enough: bool, seen: std::fmt::Arguments<'_>) {
    assert!(is_enough, "{seen}");
}

/// How much a test has to have seen to say something, of what it has to with as many systems as usual: at least a quarter.
pub fn enough(usual: u64) -> u64 {
    const USUAL: u64 = 1_000;
    usual * systems(USUAL).min(USUAL) / USUAL
}

/// What a test has to see in its [`systems`]: the part of what it needs in the usual ones.
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
    use super::{asked_of, enough, share, systems};

    /// However few are asked for, a quarter is tried, and shows a quarter.
    #[test]
    fn a_fixed_set_is_tried_in_every_tier() {
        assert!((10..).contains(&systems(40)) && (25..=100).contains(&share(100, 40)));
        assert!((25..=100).contains(&enough(100)));
    }

    #[test]
    fn a_number_or_a_part_can_be_asked_for() {
        let of_sixty = ["7", "10%", "1%", "100%", "0%", "many", "%"].map(|asked| asked_of(60, asked));
        assert_eq!(of_sixty, [Some(7), Some(6), Some(1), Some(60), Some(0), None, None]);
    }
}
