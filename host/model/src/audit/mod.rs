//! Audits: whether a protocol keeps the contract, on which the search rests.
//!
//! While handlers run, some of what they did is written down, chosen by the fingerprint of the state that they led to: no
//! clock and no order of workers decides, as long as the search ends by itself. Afterwards it is tried
//! again in other ways. An audit checks five demands of the contract:
//!
//! 1. a handler does the same when it runs again from the same memory;
//! 2. states with equal bytes and different memory behave alike, else `serialize` leaves something out;
//! 3. `invariant` reads nothing but the views that it is given, else a `view` leaves something out;
//! 4. an idempotent handler does not leak memory: one that changes nothing can run for ever without taking more;
//! 5. functions that read, such as `serialize` and `view`, change nothing: called twice they give the same answer, and `serialize` the same
//!    bytes afterwards.
//!
//! | module | what it holds |
//! |---|---|
//! | `machine` | machines that take notes |
//! | `notes` | what is written down while handlers run |
//! | `findings` | contract violations |
//! | `answers` | answers of functions that read, distinguished and shown |
//! | `behaviour` | trials of demands 1 to 3 |
//! | `growth` | trials of demand 4 |
//! | `reading` | trials of demand 5 |
//! | `trials` | tries everything that was written down |
//! | `words` | what a protocol says of its bytes |

mod answers;
mod behaviour;
mod findings;
mod growth;
mod machine;
mod notes;
mod reading;
mod trials;
mod words;

pub use findings::{Audited, ContractViolation};
pub use machine::AuditedFactory;
pub use notes::Mode;
