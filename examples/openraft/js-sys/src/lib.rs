//! The dates of a browser, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

use wasm_bindgen::JsValue;

/// Milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Date(f64);

impl Date {
    /// The clock, which a plugin does not have: the standard library names who asks.
    pub fn new_0() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self(since.map_or(0.0, |since| since.as_millis() as f64))
    }

    pub fn new(milliseconds: &JsValue) -> Self {
        Self(milliseconds.as_f64().unwrap_or(f64::NAN))
    }

    /// A local time. chrono reads only its offset from UTC, which is none at any time.
    pub fn new_with_year_month_day_hr_min_sec(_: u32, _: i32, _: i32, _: i32, _: i32, _: i32) -> Self {
        Self(0.0)
    }

    pub fn get_time(&self) -> f64 {
        self.0
    }

    pub fn get_timezone_offset(&self) -> f64 {
        0.0
    }
}
