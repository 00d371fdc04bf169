//! The functions by which the versions of getrandom ask a program for randomness.
#![allow(unsafe_code, reason = "getrandom hands over memory by address, and finds these functions by name")]

use std::num::NonZero;

use super::bindings::host::protocol::environment;
use crate::randomness;

fn fill(to: *mut u8, length: usize) {
    // SAFETY: getrandom hands over this many writable bytes; zero is written first, since they need not be initialised.
    let bytes = unsafe {
        to.write_bytes(0, length);
        std::slice::from_raw_parts_mut(to, length)
    };
    randomness::fill(bytes, environment::choose);
}

// SAFETY: no other function has this name: it is the one by which getrandom 0.3 and 0.4 ask a backend of the program's own. Their result
// has the layout of this one by what std promises of `Result` with `()`, since their error is a `NonZero<i32>`.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(to: *mut u8, length: usize) -> Result<(), NonZero<i32>> {
    fill(to, length);
    Ok(())
}

// SAFETY: no other function has this name: it is the one by which getrandom 0.2 with the feature `custom` asks; 0 is success.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_custom(to: *mut u8, length: usize) -> u32 {
    fill(to, length);
    0
}
