//! The component of a specification from outside: bytes in, bytes out, around a typed [`Specification`].
//!
//! Used by [`export_spec!`](crate::export_spec) only. No state is kept: the host begins every call in the memory right after
//! instantiation.
//!
//! | module | what it holds |
//! |---|---|
//! | `bindings` | generated from `wit/` |

use crate::specification::{Outside, read};
use crate::wasm::bindings::host::protocol::types;
use crate::wasm::{explain_panics, listed};
use crate::{Specification, property};

#[allow(missing_docs, unsafe_code, unused_qualifications, clippy::all, clippy::pedantic, clippy::restriction, reason = "generated from wit/")]
#[rustfmt::skip]
pub mod bindings;

pub use bindings::__export_spec as export_spec;

use bindings::exports::host::protocol::outside;

/// The specification that a component exports.
pub trait Spec {
    /// The specification.
    type Specification: Specification;
}

impl<P: Spec> outside::Guest for P {
    fn properties() -> Vec<types::Property> {
        listed::<Outside<P::Specification>>()
    }

    fn view(property: u32, state: String) -> Option<Vec<u8>> {
        explain_panics();
        property::view(&Outside::<P::Specification>::default(), &read::<P::Specification>(&state), property)
    }

    fn invariant(property: u32, views: Vec<Option<Vec<u8>>>) -> Result<(), String> {
        explain_panics();
        property::check::<Outside<P::Specification>>(property, &views)
    }
}
