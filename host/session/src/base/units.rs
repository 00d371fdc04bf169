//! Values of options that have a unit.

use std::num::NonZeroUsize;
use std::time::Duration;

use host_live::time::{Range, Share};

const TIMES: [(&str, f64); 4] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

const SIZES: [(&str, f64); 10] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

/// A duration such as `500ms`, `60s`, `1.5m` or `2h`; more than zero, at most a year.
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds = quantity(text, &TIMES).filter(|seconds| *seconds <= 366.0 * 24.0 * 3600.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "expected a time more than zero with a unit: 500ms, 60s, 1.5m or 2h".to_owned())
}

/// A number of workers, or `auto`: one for each core that the process may use.
pub fn workers(text: &str) -> Result<NonZeroUsize, String> {
    const WORKERS_MAX: usize = 1024;
    if text == "auto" {
        return Ok(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    }
    let number = text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= WORKERS_MAX);
    number.ok_or_else(|| format!("expected a number of threads from 1 to {WORKERS_MAX}, or auto"))
}

/// A number of bytes such as `512MiB` or `4GB`; at least 1.
pub fn size(text: &str) -> Result<u64, String> {
    let bytes = quantity(text, &SIZES).filter(|bytes| (1.0..=9e18).contains(bytes));
    bytes
        .map(|bytes| bytes as u64)
        .ok_or_else(|| "expected a size more than zero with a unit: 800MB, 512MiB or 4GiB".to_owned())
}

/// A range of durations such as `1ms..50ms`, or one of them.
pub fn range(text: &str) -> Result<Range, String> {
    let expected = |_| "expected two times, the shorter one first, or one: 1ms..50ms or 20ms".to_owned();
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (duration(from).map_err(expected)?, duration(to).map_err(expected)?);
    if from > to { Err(expected(String::new())) } else { Ok(Range { from, to }) }
}

/// A share such as `1%` or `0.5%`; at most 100 %.
pub fn share(text: &str) -> Result<Share, String> {
    let percent = quantity(text, &[("%", 1.0)]).filter(|percent| *percent <= 100.0);
    percent.map(|percent| Share((percent * 10_000.0).round() as u32)).ok_or_else(|| "expected 0% to 100%".to_owned())
}

/// The interval between two events, from a number of them in a unit of time, such as `1/m` or `10/h`.
pub fn rate(text: &str) -> Result<Duration, String> {
    let units = TIMES.map(|(unit, seconds)| (format!("/{unit}"), seconds));
    let found = units.iter().find_map(|(unit, seconds)| Some(seconds / text.strip_suffix(unit)?.parse::<f64>().ok()?));
    let time = found.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero() && time.as_secs() <= 366 * 24 * 3600)
        .ok_or_else(|| "expected a number for a unit of time: 2/s, 1/m or 10/h".to_owned())
}

fn quantity(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2 h"), Ok(Duration::from_secs(7200)));
        for wrong in ["", "60", "s", "0s", "-1s", "1e3s", "1d", "1..2s", "99999999999999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn conditions_have_units() {
        assert_eq!(range("1ms..50ms"), Ok(Range::milliseconds(1, 50)));
        assert_eq!(range("2s"), Ok(Range::milliseconds(2_000, 2_000)));
        for wrong in ["", "..", "1ms..", "2s..1s", "1..2", "1ms...2ms"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
        assert_eq!(share("1%"), Ok(Share(10_000)));
        assert_eq!(share("0.5 %"), Ok(Share(5_000)));
        assert_eq!((share("0%"), share("100%")), (Ok(Share(0)), Ok(Share::ALL)));
        for wrong in ["", "1", "101%", "-1%", "%", "x%"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert_eq!(rate("1/m"), Ok(Duration::from_secs(60)));
        assert_eq!(rate("10/h"), Ok(Duration::from_secs(360)));
        assert_eq!(rate("0.5/s"), Ok(Duration::from_secs(2)));
        for wrong in ["", "1", "0/s", "-1/s", "/s", "1/d", "NaN/s", "inf/s", "1e-300/s"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("4GiB"), Ok(4 << 30));
        assert_eq!(size("1.5kB"), Ok(1500));
        for wrong in ["", "4", "4G", "0B", "-1B", "9999999999TiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
