//! Every strategy against a naive reference, on toys: one binary, which links neither wasmtime nor the command line.
//!
//! | module | what it holds |
//! |---|---|
//! | `combinations` | combinations of options against the reference, on systems with every feature |
//! | `global` | every exact strategy against the reference, on random systems |
//! | `stateless` | the strategies that count executions against the reference, on smaller ones |
//! | `faults` | faults and networks by every strategy: against the reference, and counted by hand |
//! | `deadlocks` | deadlocks by every strategy that looks for them, likewise |
//! | `depths` | bounds on depth around the needed one, and several start states: findings and claims |
//! | `early` | findings that a search passes on while it continues |
//! | `graph` | the graph of the global states, edge by edge, against the reference |
//! | `links` | a network for each link, by every strategy: against the reference, and counted by hand |
//! | `liveness` | promises of progress: dead, stuck and fair lassos against the reference, and counted by hand |
//! | `losses` | lost messages, on every network: against the reference, and counted by hand |
//! | `memory` | the bound on memory in the searches: they count the kept bytes |
//! | `origins` | searches that begin in given states, absent nodes, lost messages |
//! | `portfolio` | the portfolio: its members, their turns, and the bounds on all of them |
//! | `portfolio_bounds` | the portfolio within bounds on memory and time: no answer is dropped, and which members end |
//! | `prefixes` | the search after walks: its reach, and the states that it keeps there |
//! | `properties` | properties of every kind and scope |
//! | `quorums` | quorums by every strategy against the reference |
//! | `shortest` | claims about the length of a path, for each strategy by each of its bounds |
//! | `starts` | global searches with several start states, several violations and bounds on depth, against the reference |
//! | `local` | local model checking where local states are without end, or many more than the reachable ones |
//! | `symmetry` | node symmetry against the reference, and declarations that are refused |
//! | `starving` | machines whose host runs out of memory: only the host is blamed |
//! | `stops` | every strategy stopped between any two calls of a guest: no partial result is taken for the whole |
//! | `traps` | handlers that trap, by every strategy, likewise |
//! | `goals` | guided walks with goals, and with properties that they avoid |
//! | `guided` | walks that begin where others were: the effects of the seed, and states that only they reach |
//! | `walks` | random walks: effects of the seed, schedules, weights, coverage, memory |
//! | `workers` | the same result for any number of workers, and from a checkpoint on |

mod combinations;
mod deadlocks;
mod depths;
mod early;
mod faults;
mod global;
mod goals;
mod graph;
mod guided;
mod links;
mod liveness;
mod local;
mod losses;
mod memory;
mod origins;
mod portfolio;
mod portfolio_bounds;
mod prefixes;
mod properties;
mod quorums;
mod shortest;
mod starts;
mod starving;
mod stateless;
mod stops;
mod symmetry;
mod traps;
mod walks;
mod workers;
