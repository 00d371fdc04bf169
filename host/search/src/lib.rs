//! The search strategies, one module each, and their common ground.
//!
//! Knows nothing of Wasm, files, clocks, terminals, or threads other than rayon's. A strategy is a row of
//! [`table::STRATEGIES`].
//!
//! | module | what it holds |
//! |---|---|
//! | `table` | the strategies as rows: name, guarantees, bounds honoured, entry point |
//! | `kernel` | input and output of every strategy: bounds, monitor, counts, findings |
//! | `codec` | the state of a search as bytes |
//! | `bdfs` | bounded depth-first search |
//! | `waves` | the parallel search of global states in rounds, with the same result for any number of workers |
//! | `lane` | one partition of that search: its stack of states; and one shard of the visited set |
//! | `traps` | events that trap although that search has them asleep |
//! | `pending` | a compact stack of global states with their paths |
//! | `paths` | paths as a forest, with common beginnings shared |
//! | `reduce` | the search of `--reduce` |
//! | `facts` | facts about messages, proven from the local steps |
//! | `symmetry` | renamings of interchangeable nodes, defined and checked by execution |
//! | `outlook` | the check that properties give the same verdicts on renamed states |
//! | `quorums` | the quorums that can be delivered in a global state |
//! | `global_state` | a global state, its enabled events and its successors |
//! | `consequence` | consequence prediction |
//! | `breadth_first` | breadth-first search of global states: `consequence`, and `bdfs` where a link has an order |
//! | `cursor` | a global state that moves along a path and back |
//! | `ledger` | visited states, counts and findings of a global search |
//! | `visited` | visited global states with their depths: 12 bytes per slot |
//! | `dpor` | optimal dynamic partial-order reduction |
//! | `dpor_ds` | DPOR-DS, the algorithm on the last path |
//! | `dpor_ds_tree` | DPOR-DS, the algorithm on the whole tree |
//! | `wakeup` | wakeup trees: the executions that `dpor` has still to explore |
//! | `execution` | one execution with its happens-before, and its races |
//! | `runs` | the system states of all consistent cuts of an execution |
//! | `walk` | seeded random walks |
//! | `weights` | weights of random walks by kind of event |
//! | `account` | executions, judgements and counts of a stateless search |
//! | `left_out` | the cuts of an execution that can be ends |
//! | `unfold` | the strategy `unfold`: grows an unfolding until it is complete or has the shortest violation |
//! | `smallest` | the smallest violations of unfoldings, over all start states |
//! | `unfolding` | the causal unfolding: events, candidates, cut-offs |
//! | `trees` | the unfolding as workers read it: extensions of an event, and their results |
//! | `order` | the adequate order: which of several events with one global state survives |
//! | `chains` | the tree of events of each node: ancestors, compatible pasts, joins |
//! | `targets` | the tuples of view classes that an unfolding reaches |
//! | `ends` | the smallest deadlocks in an unfolding |
//! | `patience` | polls the monitor during long enumerations |
//! | `cuts` | all configurations of an unfolding, one by one |
//! | `alongside` | the unfolding of everything, in turns with a search that may not end |
//! | `lmc` | local model checking, general and optimised |
//! | `local_space` | the over-approximated local states of `lmc` |
//! | `tuples` | tuples with one element per node |
#![forbid(unsafe_code)]

pub mod account;
pub mod alongside;
pub mod bdfs;
pub mod breadth_first;
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
pub(crate) mod left_out;
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
pub(crate) mod smallest;
pub mod symmetry;
pub mod table;
pub mod targets;
pub(crate) mod traps;
pub(crate) mod trees;
pub mod tuples;
pub mod unfold;
pub mod unfolding;
pub mod visited;
pub mod wakeup;
pub mod walk;
pub mod waves;
pub mod weights;
