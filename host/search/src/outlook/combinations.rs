//! The combinations of local states that keep a promise.

use host_model::contract::{ClassId, MachineError};
use host_model::lts::{Promise, Stepper};
use host_model::trace::start::Start;
use rustc_hash::FxHashSet;

use crate::kernel::rules::Recovery;
use crate::kernel::tuples;
use crate::local::space::{Index, LocalSpace};
use crate::outlook::{Ask, stop};

/// The local states that messages from anywhere can lead to from a global state, by events on which progress can rely. The result depends
/// on the messages in flight there, not on ids, and the work is limited.
pub(super) fn space_of<'l>(
    stepper: &mut Stepper<'l>,
    state: &Start,
    recovery: Recovery,
    work_max: u64,
) -> LocalSpace<'l> {
    let mut messages = state.in_flight.to_vec();
    messages.sort_by_key(|message| stepper.message(*message).fingerprint);
    let state = Start { locals: state.locals.clone(), in_flight: messages.into(), ..Start::default() };
    LocalSpace::of(stepper, &state, u32::MAX, recovery == Recovery::Resets).with_work_max(work_max)
}

/// One pass over the local states, within the limit on their work. Returns whether the space is complete.
pub(super) fn pass<'l>(
    space: &mut LocalSpace<'l>,
    stepper: &mut Stepper<'l>,
    ask: &mut Ask<'_>,
) -> Result<bool, MachineError> {
    let mut stopped = None;
    let is_complete = !space.pass(stepper, &mut |space| {
        stopped = ask(space.bytes());
        stopped.is_none()
    })?;
    stopped.map_or(Ok(is_complete), |end| Err(stop(end)))
}

/// A combination of local states that keeps a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// This local state, whatever the local states of other nodes are.
    State(Index),
    /// Local states of these view classes, one for each node.
    Classes(Vec<ClassId>),
}

/// The combinations of a local space that were evaluated so far.
pub(super) struct Combinations {
    promise: Promise,
    /// Number of local states that were examined.
    seen: usize,
    /// For each node the view classes met so far.
    classes: Vec<Vec<ClassId>>,
    met: FxHashSet<(u32, ClassId)>,
    evaluated: u64,
    /// Maximum number of combinations of view classes that are evaluated.
    max: u64,
}

impl Combinations {
    pub(super) fn new(nodes: usize, promise: Promise, max: u64) -> Self {
        Self { promise, seen: 0, classes: vec![Vec::new(); nodes], met: FxHashSet::default(), evaluated: 0, max }
    }

    /// Number of combinations that were evaluated.
    pub(super) fn evaluated(&self) -> u64 {
        self.evaluated
    }

    /// Evaluates the combinations with a new local state, and passes those that keep the promise to `found`, until it returns false.
    /// Returns whether all were evaluated; if not, this must not be called again.
    pub(super) fn look(
        &mut self,
        stepper: &mut Stepper<'_>,
        space: &LocalSpace<'_>,
        found: &mut dyn FnMut(Kept) -> bool,
    ) -> Result<bool, MachineError> {
        for (index, reached) in (0..).zip(space.states()).skip(self.seen) {
            let local_state = stepper.state(reached.state);
            let class = local_state.protocol.class;
            let is_its_own = self.promise.node == Some(reached.node);
            let is_kept_here = is_its_own && !local_state.protocol.owed.contains(&self.promise.property);
            // A trap ends the execution, which then owes nothing.
            if local_state.is_stuck() || is_kept_here {
                if !found(Kept::State(Index(index))) {
                    return Ok(false);
                }
                continue;
            }
            if self.promise.node.is_some() || !self.met.insert((reached.node, class)) {
                continue;
            }
            for tuple in tuples::with_fixed(&self.classes, reached.node as usize, class) {
                self.evaluated += 1;
                if self.evaluated > self.max {
                    return Ok(false);
                }
                if !stepper.owed(&tuple)?.contains(&self.promise.property) && !found(Kept::Classes(tuple)) {
                    return Ok(false);
                }
            }
            self.classes[reached.node as usize].push(class);
        }
        self.seen = space.states().len();
        Ok(true)
    }
}
