//! Checks of the tree itself, and what they read.
//!
//! | module | what it holds |
//! |---|---|
//! | `changelog` | the form of the changelog |
//! | `checks` | the checks as functions of names and texts, each with a made-up violation that it must find |
//! | `imports` | how the files of a crate import each other, and how long their functions are |
//! | `mutants` | mistakes made on purpose, and the tests that must notice them |
//! | `prose` | the lines of documents |
//! | `ratchet` | habits that may only become rarer |
//! | `tree` | the packages and files of this repository |

pub mod changelog;
pub mod checks;
pub mod imports;
pub mod mutants;
pub mod prose;
pub mod ratchet;
pub mod tree;

/// Fails with all findings, one per line.
#[track_caller]
pub fn none(findings: impl IntoIterator<Item = String>) {
    let findings: Vec<String> = findings.into_iter().collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
