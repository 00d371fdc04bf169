//! The search strategies, one file each, and what they share.
//!
//! Knows nothing of Wasm, files, clocks, terminals, or threads other than rayon's. A strategy is a row of
//! [`table::STRATEGIES`].
#![forbid(unsafe_code)]

pub mod account;
pub mod bdfs;
pub mod chains;
pub mod codec;
pub mod consequence;
pub mod cursor;
pub mod cuts;
pub mod dpor;
pub mod dpor_ds;
pub mod dpor_ds_tree;
pub mod ends;
pub mod execution;
pub mod facts;
pub mod global_state;
pub mod kernel;
pub mod lane;
pub mod ledger;
pub mod lmc;
pub mod local_space;
pub mod order;
pub mod outlook;
pub mod paths;
pub(crate) mod patience;
pub mod pending;
pub mod quorums;
pub mod reduce;
pub mod runs;
pub mod symmetry;
pub mod table;
pub mod targets;
pub(crate) mod trees;
pub mod tuples;
pub mod unfold;
pub mod unfolding;
pub mod visited;
pub mod wakeup;
pub mod walk;
pub mod waves;
pub mod weights;
