//! One binary, so that everything is linked once.
//!
//! | module | what it holds |
//! |---|---|
//! | `refinement` | the gain of a static reduction from quorum transitions that are split by senders |
//! | `weights` | random walks over a sandboxed guest |
//! | `languages` | one protocol in many languages: the same states, to the last byte |
//! | `requests` | requests of a guest to the system, language by language |
//! | `edited` | an edited line of Python, without another interpreter |
//! | `sdk` | the SDKs of Python, Go and TypeScript against that of Rust |
//! | `plugins` | the bundled plugins in the sandbox, by every strategy |
//! | `cli` | the command line: results, exit codes, bad input |
//! | `stores` | random guests that talk, by every strategy against an exploration that never restores |
//! | `fuzzing` | damaged and made-up input, a small sample |
//! | `documents` | tables of the documents that repeat the knowledge of the sandbox and the command line |

mod cli;
mod documents;
mod edited;
mod fuzzing;
mod languages;
mod plugins;
mod refinement;
mod requests;
mod sdk;
mod stores;
mod weights;
