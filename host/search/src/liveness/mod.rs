//! Liveness: whether what must happen happens, decided on a graph of the global states.
//!
//! A *promise* is an `eventually` property, of node scope at one node. It is kept in some states, and owed in the others; an execution
//! breaks it if it owes it for ever from some point on. [`Rules`](crate::kernel::rules::Rules) says what an execution may do for ever.
//!
//! | module | what it holds |
//! |---|---|
//! | `decision` | a search that decides promises, from its start states to its report |
//! | `check` | explores a graph and decides its promises |
//! | `record` | records a graph while it is explored |
//! | `verdict` | all that there is to say about a promise |
//! | `lasso` | a fair lasso: a shortest way into a fair component, and a short fair cycle there |
//! | `walk` | closed walks: whether one is fair, and what it needs to become so |
//! | `fairness` | fair components |
//! | `arena` | what an execution that owes something for ever may do |
//! | `chance` | which outcomes of a handler can be taken for ever |
//! | `large` | large strongly connected components, by all workers |
//! | `components` | strongly connected components |
//! | `stuck` | stuck states |
//! | `critical` | critical steps |
//! | `dead` | dead states, distances to a kept promise |
//! | `graph` | a graph as it is analysed |
//! | `rows` | the edges of a large graph in few bytes |
//! | `parents` | from which state each state was found, in next to no memory |
//! | `label` | labels of edges: what an event is to a promise of progress |
//! | `sweep` | all states looked at by all workers |
//! | `watch` | asks during an analysis whether to continue |
//! | `bits` | one bit per state |

mod arena;
mod bits;
mod chance;
mod check;
mod components;
mod critical;
mod dead;
mod decision;
mod fairness;
mod graph;
mod label;
mod large;
mod lasso;
mod parents;
mod record;
mod rows;
mod stuck;
mod sweep;
mod verdict;
mod walk;
mod watch;

pub use check::{Breach, Checked, check, refusal};
pub use critical::Critical;
pub use dead::{FAR, distances};
pub(crate) use dead::{prospects, way_to_live};
pub(crate) use decision::words;
pub use decision::{decide, decides};
pub use graph::{Edge, StoredGraph};
pub use label::{ActionId, Draw, EventClass, Label, Source};
pub use lasso::Lasso;
pub(crate) use lasso::is_fair_lasso;
pub use record::{Event, Recorded, Recorder};
pub use rows::LabelId;
pub use stuck::Stuck;
pub(crate) use stuck::is_stuck;
pub use verdict::{Death, Verdict, judge};
pub use watch::Watch;
