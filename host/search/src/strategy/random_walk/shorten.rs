//! Shortens the path to a state where a promise is dead: leaves out steps as long as it stays dead at the end.

use host_model::contract::MachineError;
use host_model::lts::{Step, Stepper};
use host_model::trace::start::Start;

use crate::global::cursor::GlobalCursor;
use crate::kernel::{SearchBounds, SearchError};

/// Work after which a path stays as it is: steps, and the questions about its ends.
const WORK_MAX: u64 = 2_000_000;

/// Returns whether the promise is dead in the state of the cursor, and the work to find out.
type IsDead<'a> = dyn FnMut(&mut Stepper<'_>, &GlobalCursor) -> Result<(bool, u64), SearchError> + 'a;

/// Leaves out steps that are not needed: halves of the path, then smaller and smaller parts, and steps that are impossible without
/// them (Zeller, Hildebrandt, "Simplifying and isolating failure-inducing input", 2002).
///
/// # Errors
///
/// The errors of `is_dead`, and of executing steps.
pub(super) fn shortened(
    stepper: &mut Stepper<'_>,
    start: &Start,
    path: Vec<Step>,
    is_dead: &mut IsDead<'_>,
) -> Result<Vec<Step>, SearchError> {
    let (mut path, mut work) = (path, 0);
    let mut part = path.len().div_ceil(2);
    while part > 0 {
        let (mut first, mut has_shrunk) = (0, false);
        while first < path.len() && work < WORK_MAX {
            let end = (first + part).min(path.len());
            let rest = path[..first].iter().chain(&path[end..]);
            let mut cursor = GlobalCursor::new(stepper, start, &SearchBounds::default());
            work += path.len() as u64;
            let taken = take_those_possible(stepper, &mut cursor, rest)?;
            let (is_enough, took) = match taken {
                Some(_) => is_dead(stepper, &cursor)?,
                None => (false, 0),
            };
            work += took;
            match taken {
                Some(taken) if is_enough => (path, has_shrunk) = (taken, true),
                _ => first = end,
            }
        }
        // Without one step another one may be unnecessary as well.
        part = if has_shrunk && part == 1 { 1 } else { part / 2 };
    }
    Ok(path)
}

/// Takes the steps in their order, except those that are not possible at their turn; none if a violation happens on the path.
fn take_those_possible<'p>(
    stepper: &mut Stepper<'_>,
    cursor: &mut GlobalCursor,
    steps: impl Iterator<Item = &'p Step>,
) -> Result<Option<Vec<Step>>, MachineError> {
    let (mut taken, mut enabled, mut children) = (Vec::new(), Vec::new(), Vec::new());
    for step in steps {
        cursor.enabled(stepper, &mut enabled)?;
        if !enabled.contains(&(step.node, step.trigger)) {
            continue;
        }
        children.clear();
        cursor.children(stepper, step.node, step.trigger, &mut children)?;
        let Some(child) = children.iter().find(|child| child.step == *step) else { continue };
        if !cursor.judge_child(stepper, child).bad()?.is_empty() {
            return Ok(None);
        }
        cursor.descend(stepper, child.step, child.row);
        cursor.settle();
        taken.push(*step);
    }
    Ok(Some(taken))
}
