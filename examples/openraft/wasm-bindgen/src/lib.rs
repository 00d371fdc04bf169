//! Values of a browser: numbers.

/// A number.
#[derive(Clone, Copy, Debug)]
pub struct JsValue(f64);

impl JsValue {
    pub fn from_f64(number: f64) -> Self {
        Self(number)
    }

    pub fn as_f64(&self) -> Option<f64> {
        Some(self.0)
    }
}
