//! Tests of the managers of several nodes together.
//!
//! | module | what it holds |
//! |---|---|
//! | `world` | nodes, a network and what has really happened |
//! | `schedules` | random schedules: which rules give consistent snapshots, and what is in flight in them |
//! | `protocol` | the managers as a protocol, whose every execution is explored |
//! | `differences` | packets as bytes: what lies, losses and resets do to differences |
//! | `manager` | single managers: limits, packets that no manager sends |

mod differences;
mod manager;
mod protocol;
mod schedules;
mod world;
