//! The step of a path after which a promise cannot be kept any more.

use host_model::lts::Step;

use crate::outlook::Outlook;

/// The point of a path where a promise dies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurningPoint {
    /// It is dead after this many steps: proven.
    pub dead_from: usize,
    /// If it is alive one step before: steps from there to a state where it is kept.
    pub way: Option<Vec<Step>>,
}

/// Finds the first state of a path that is dead, and whether the one before is alive. At the end of the path, after `len` steps, the
/// promise must be dead.
///
/// Progress never relies on a fault. So a state stays dead until the next fault, and between two faults the turning point is
/// found by bisection; a fault may lead back to life, so the states before it are examined separately (Killian, Anderson, Jhala, Vahdat,
/// "Life, death, and the critical transition", NSDI 2007, whose search for it has no faults). Where the outlook is open, the state
/// found is dead, and there may be an earlier one.
///
/// # Errors
///
/// The errors of `ask`.
pub fn turning_point<E>(
    len: usize,
    is_fault: impl Fn(usize) -> bool,
    mut ask: impl FnMut(usize) -> Result<Outlook, E>,
) -> Result<TurningPoint, E> {
    let mut dead = len;
    loop {
        let first = (0..dead).rev().find(|step| is_fault(*step)).map_or(0, |fault| fault + 1);
        let outlook = if first == dead { Outlook::Dead } else { ask(first)? };
        if let Some(way) = way(outlook) {
            return bisect(first, way, dead, ask);
        }
        dead = first;
        if dead == 0 {
            return Ok(TurningPoint { dead_from: 0, way: None });
        }
        if let Some(way) = way(ask(dead - 1)?) {
            return Ok(TurningPoint { dead_from: dead, way });
        }
        dead -= 1;
    }
}

/// The steps that keep a promise that is not dead: unknown if its outlook is open.
fn way(outlook: Outlook) -> Option<Option<Vec<Step>>> {
    match outlook {
        Outlook::Alive(way) => Some(Some(way)),
        Outlook::Open => Some(None),
        Outlook::Dead => None,
    }
}

/// The turning point between a state that is not known to be dead and one that is.
fn bisect<E>(
    mut before: usize,
    mut way_before: Option<Vec<Step>>,
    mut dead: usize,
    mut ask: impl FnMut(usize) -> Result<Outlook, E>,
) -> Result<TurningPoint, E> {
    while dead - before > 1 {
        let middle = before + (dead - before) / 2;
        match way(ask(middle)?) {
            Some(way) => (before, way_before) = (middle, way),
            None => dead = middle,
        }
    }
    Ok(TurningPoint { dead_from: dead, way: way_before })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths of up to seven steps, each a fault or none, each state alive, dead or open, such that no event without a fault leads from a
    /// dead state to one that is not: the result is that of the definition.
    #[test]
    fn a_turning_point_is_where_the_definition_has_it() {
        let mut exact = 0;
        for len in 0..=7_usize {
            for faults in 0..1_u32 << len {
                let is_fault = |step: usize| faults & 1 << step != 0;
                for fates in 0..3_u32.pow(len as u32) {
                    let fate = |state: usize| if state == len { 2 } else { fates / 3_u32.pow(state as u32) % 3 };
                    let stays = |step: usize| fate(step) != 2 || is_fault(step) || fate(step + 1) == 2;
                    if !(0..len).all(stays) {
                        continue;
                    }
                    let ask = |state: usize| -> Result<Outlook, ()> {
                        Ok(match fate(state) {
                            0 => Outlook::Alive(Vec::new()),
                            1 => Outlook::Open,
                            _ => Outlook::Dead,
                        })
                    };
                    // The last state that is not known to be dead, if any.
                    let expected = (0..len).rev().find(|state| fate(*state) != 2);
                    let found = turning_point(len, is_fault, ask).expect("it never fails");
                    assert_eq!(found.dead_from, expected.map_or(0, |state| state + 1), "{len} {faults:b} {fates}");
                    assert_eq!(found.way.is_some(), expected.is_some_and(|state| fate(state) == 0));
                    exact += u32::from(found.way.is_some());
                }
            }
        }
        assert!(exact > 1_000, "{exact}");
    }
}
