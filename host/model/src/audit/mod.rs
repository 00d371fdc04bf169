//! Audits: whether a protocol keeps the contract, on which the search rests.
//!
//! While handlers run, the audit records some of their effects, chosen by the fingerprint of the state that they led to: neither a
//! clock nor the order of workers influences the choice, as long as the search ends by itself. Afterwards it repeats the recorded
//! calls in other ways. An audit checks five demands of the contract:
//!
//! 1. a handler has the same effects when it runs again from the same memory;
//! 2. states with equal bytes and different memory behave alike, otherwise `serialize` leaves something out;
//! 3. `invariant` reads only its arguments, the views, otherwise a `view` leaves something out;
//! 4. an idempotent handler does not leak memory: one that changes nothing can run for ever without taking more;
//! 5. functions that read, such as `serialize` and `view`, change nothing: called twice they give the same answer, and `serialize` the same
//!    bytes afterwards.
//!
//! | module | what it holds |
//! |---|---|
//! | `machine` | machines that take notes |
//! | `notes` | the records made while handlers run |
//! | `findings` | contract violations |
//! | `answers` | the answers of functions that read: compared and shown |
//! | `behaviour` | trials of demands 1 to 3 |
//! | `growth` | trials of demand 4 |
//! | `reading` | trials of demand 5 |
//! | `trials` | repeats all recorded calls |
//! | `words` | a protocol's descriptions of its bytes |

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
