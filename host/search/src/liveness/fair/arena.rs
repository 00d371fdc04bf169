//! The part of the graph in which an execution can owe a promise for ever, and the fair actions there.

use crate::kernel::EndCondition;
use crate::kernel::rules::{Fairness, Rules, Timers};
use crate::liveness::fair::chance::lasting;
use crate::liveness::graph::bits::{SharedSet, StateSet};
use crate::liveness::graph::label::{ActionId, Draw, EventClass};
use crate::liveness::graph::rows::LabelId;
use crate::liveness::graph::stored::{Edge, StoredGraph};
use crate::liveness::graph::sweep::{Order, sweep};
use crate::liveness::graph::watch::Watch;

/// The states where a promise is not kept, with the edges that an execution can take between them for ever.
pub struct Arena<'g> {
    /// The graph.
    pub graph: &'g StoredGraph,
    promise: usize,
    rules: Rules,
    /// The states in which a delivery is possible, if timers wait for deliveries.
    busy: Option<StateSet>,
    /// Whether any outcome is left to chance.
    pub has_draws: bool,
}

impl<'g> Arena<'g> {
    /// The arena of a promise.
    ///
    /// # Errors
    ///
    /// The analysis is to end.
    pub fn new(
        graph: &'g StoredGraph,
        promise: usize,
        rules: Rules,
        watch: &mut Watch<'_>,
    ) -> Result<Self, EndCondition> {
        let busy = match rules.timers {
            Timers::Free => None,
            Timers::Late => Some(busy(graph, watch)?),
        };
        let has_draws = rules.fairness != Fairness::None && graph.has_draws();
        Ok(Self { graph, promise, rules, busy, has_draws })
    }

    /// Whether the promise is not kept in a state.
    #[inline]
    pub fn contains(&self, state: u32) -> bool {
        self.graph.owes(self.promise, state)
    }

    /// Whether an edge can be taken for ever, as far as chance allows it.
    #[inline]
    pub fn keeps(&self, edge: &Edge) -> bool {
        self.keeps_event(edge) && self.contains(edge.from) && self.contains(edge.to)
    }

    /// The same for an edge whose states are known to be in the arena.
    #[inline]
    pub fn keeps_event(&self, edge: &Edge) -> bool {
        match self.graph.class(edge.label) {
            EventClass::Delivery | EventClass::Internal | EventClass::Free => true,
            EventClass::Timer => self.busy.as_ref().is_none_or(|busy| !busy.contains(edge.from)),
            EventClass::Loss => self.rules.fairness != Fairness::Stable,
            EventClass::Reset | EventClass::Fault | EventClass::Suppressed => false,
        }
    }

    /// The fair actions that are possible in a state, in no order and maybe with repetitions: including those that a bound suppresses, and
    /// timers that have to wait.
    pub fn possible(&self, state: u32) -> impl Iterator<Item = ActionId> {
        self.graph.row(state).filter_map(|(_, label)| self.graph.label(label).action)
    }

    /// Keeps those of these actions that are possible in a state.
    pub fn retain_possible(&self, state: u32, actions: &mut Vec<ActionId>) {
        // Over a large component few actions are left soon, mostly one.
        match actions[..] {
            [] => {}
            [action] if self.possible(state).any(|possible| possible == action) => {}
            [_] => actions.clear(),
            _ => {
                let mut possible: Vec<ActionId> = self.possible(state).collect();
                possible.sort_unstable();
                actions.retain(|action| possible.binary_search(action).is_ok());
            }
        }
    }

    /// Whether fairness is assumed: an action does not stay possible for ever without happening.
    pub fn is_fair(&self) -> bool {
        self.rules.fairness != Fairness::None
    }

    /// The action of edges with a label, if it happens whenever it is possible again and again.
    #[inline]
    pub fn strong_action(&self, label: LabelId) -> Option<ActionId> {
        let label = self.graph.label(label);
        label.action.filter(|_| self.has_strong() && label.class == EventClass::Delivery)
    }

    /// Whether some actions have to happen if they are possible again and again (strong fairness).
    pub fn has_strong(&self) -> bool {
        self.rules.fairness == Fairness::FairLossy
    }

    /// Puts the edges of a state that can be taken for ever into `edges`, if the execution is to take those that `inside` accepts.
    pub fn lasting(&self, state: u32, inside: &dyn Fn(&Edge) -> bool, edges: &mut Vec<Edge>) {
        edges.clear();
        let row = self.graph.row(state).map(|(to, label)| Edge { from: state, to, label });
        if !self.has_draws {
            edges.extend(row.filter(|edge| self.keeps(edge) && inside(edge)));
            return;
        }
        let mut drawn: Vec<(Edge, &Draw)> = Vec::new();
        for edge in row {
            match &self.graph.label(edge.label).draw {
                Some(draw) => drawn.push((edge, draw)),
                None if self.keeps(&edge) && inside(&edge) => edges.push(edge),
                None => {}
            }
        }
        drawn.sort_by_key(|(_, draw)| draw.row);
        for row in drawn.chunk_by(|(_, one), (_, other)| one.row == other.row) {
            let wanted = row.iter().map(|(edge, draw)| (*draw, self.keeps(edge) && inside(edge)));
            let lasts = lasting(&wanted.collect::<Vec<_>>());
            edges.extend(row.iter().zip(lasts).filter(|(_, lasts)| *lasts).map(|((edge, _), _)| *edge));
        }
        edges.sort_unstable();
    }
}

/// The states in which a delivery is possible.
fn busy(graph: &StoredGraph, watch: &mut Watch<'_>) -> Result<StateSet, EndCondition> {
    watch.take(u64::from(graph.states()) / 8)?;
    let busy = SharedSet::new(graph.states());
    sweep(graph.expanded(), Order::Up, watch, |state, (), watch| {
        let mut edges = 1;
        let is_delivery = |(_, label): (u32, LabelId)| {
            edges += 1;
            graph.class(label) == EventClass::Delivery
        };
        if graph.row(state).any(is_delivery) {
            busy.insert(state);
        }
        watch.work(edges)
    })?;
    Ok(busy.finish())
}
