//! The evaluation of properties for the gate of a node.

use std::borrow::Cow;
use std::collections::BTreeMap;

use host_model::contract::{
    Machine, MachineError, MachineFactory, NodeId, Property, PropertyKind, PropertyScope, Snapshot,
};

use crate::gate::{Side, Views};
use crate::node::refusal::Failure;

/// Bytes of views in the cache of verdicts, until the older half is dropped.
const KNOWN_BYTES_MAX: usize = 1 << 20;

/// Evaluates properties for the gate of a node, on an instance of its own: the node's instance would have to leave its state and restore it
/// for each property, which takes longer than the evaluation.
pub(super) struct Judge {
    machine: Box<dyn Machine>,
    pub(super) properties: Vec<Property>,
    known: Known,
}

impl Judge {
    pub(super) fn new(factory: &dyn MachineFactory) -> Result<Self, Failure> {
        let mut machine = factory.machine()?;
        match machine.properties() {
            Ok(properties) => Ok(Self { machine, properties, known: Known::default() }),
            Err(fault) => {
                machine.confirm_fault()?;
                Err(fault.into())
            }
        }
    }

    /// Whether an `always` property fails, given the node on a side of its handler and these states of the others: the
    /// [`Judge`](crate::gate::Judge) of a gate.
    ///
    /// After the event, properties with unchanged views of the node are skipped: such a violation existed before the event. If
    /// another property fails, the gate evaluates [`Side::Before`], where none is skipped.
    pub(super) fn causes_violation(
        &mut self,
        sides: &mut Sides<'_>,
        side: Side,
        own: NodeId,
        others: Vec<Option<&Views>>,
    ) -> Result<bool, MachineError> {
        sides.read(side, &self.properties)?;
        // A property without views cannot be evaluated.
        let Some(views) = sides.views(side) else { return Ok(true) };
        let before = sides.views(Side::Before).filter(|_| side == Side::After);
        let is_asked = |index: usize| before.is_none_or(|before| before[index] != views[index]);
        // Views of the node live as long as its sides, which the others may outlive.
        let mut nodes = others;
        nodes[own as usize] = Some(views);
        self.is_wrong(&is_asked, own, &nodes)
    }

    /// Whether one of the selected `always` properties fails in these states, or cannot be evaluated. Properties of node scope are
    /// evaluated only for the own node.
    pub(super) fn is_wrong(
        &mut self,
        is_asked: &dyn Fn(usize) -> bool,
        own: NodeId,
        nodes: &[Option<&Views>],
    ) -> Result<bool, MachineError> {
        for (index, property) in (0..).zip(&self.properties) {
            if property.kind != PropertyKind::Always || !is_asked(index as usize) {
                continue;
            }
            let read = match property.scope {
                PropertyScope::Node => &nodes[own as usize..=own as usize],
                PropertyScope::System => nodes,
            };
            let views: Vec<Option<&[u8]>> =
                read.iter().map(|node| node.and_then(|views| views[index as usize].as_deref())).collect();
            // The property reads none of the nodes.
            if views.iter().all(Option::is_none) {
                continue;
            }
            let key = key(index, &views);
            let is_violated = match self.known.verdict(&key) {
                Some(verdict) => verdict,
                None => {
                    let verdict = is_violated(&mut *self.machine, index, &views)?;
                    self.known.learn(key, verdict);
                    verdict
                }
            };
            if is_violated {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The views of a state for the `always` properties; none if one of them cannot be read.
pub(super) type Reading = Option<Views>;

/// A node on both sides of a handler that has changed its state. Views are read on the first use.
pub(super) struct Sides<'n> {
    /// The machine, in the state of the side `at`.
    machine: &'n mut dyn Machine,
    at: Side,
    snapshots: [&'n Snapshot; 2],
    readings: [Option<Cow<'n, Reading>>; 2],
}

impl<'n> Sides<'n> {
    /// The sides of a machine in the state after the handler. `read` has the views of the state before, if they were read.
    pub(super) fn new(machine: &'n mut dyn Machine, snapshots: [&'n Snapshot; 2], read: Option<&'n Reading>) -> Self {
        Self { machine, at: Side::After, snapshots, readings: [read.map(Cow::Borrowed), None] }
    }

    /// The views of the state after, if they were read.
    pub(super) fn into_after(self) -> Option<Reading> {
        let [_, after] = self.readings;
        after.map(Cow::into_owned)
    }

    /// The views on a side, if they were read successfully.
    fn views(&self, side: Side) -> Option<&Views> {
        self.readings[side as usize].as_deref().and_then(Option::as_ref)
    }

    fn read(&mut self, side: Side, properties: &[Property]) -> Result<(), MachineError> {
        let index = side as usize;
        if self.readings[index].is_some() {
            return Ok(());
        }
        if self.at != side {
            self.machine.restore(Some(self.snapshots[index]))?;
            self.at = side;
        }
        self.readings[index] = Some(Cow::Owned(read(self.machine, properties)?));
        Ok(())
    }
}

/// Reads the views of a machine's present state.
pub(super) fn read(machine: &mut dyn Machine, properties: &[Property]) -> Result<Reading, MachineError> {
    let views = (0..).zip(properties).map(|(index, property)| match property.kind {
        PropertyKind::Always => machine.view(index),
        _ => Ok(None),
    });
    let views: Reading = views.collect::<Result<_, _>>().ok();
    if views.is_none() {
        machine.confirm_fault()?;
    }
    Ok(views)
}

/// Whether a property does not hold on these views, or cannot be evaluated.
fn is_violated(machine: &mut dyn Machine, property: u32, views: &[Option<&[u8]>]) -> Result<bool, MachineError> {
    machine.restore_to_judge()?;
    match machine.invariant(property, views) {
        Ok(verdict) => Ok(verdict.is_err()),
        Err(_) => {
            machine.confirm_fault()?;
            Ok(true)
        }
    }
}

/// A property and its views as bytes, by an injective encoding.
fn key(property: u32, views: &[Option<&[u8]>]) -> Box<[u8]> {
    let mut key = Vec::with_capacity(4 + views.iter().map(|view| 9 + view.map_or(0, <[u8]>::len)).sum::<usize>());
    key.extend(property.to_le_bytes());
    for view in views {
        key.push(view.is_some().into());
        if let Some(view) = view {
            key.extend((view.len() as u64).to_le_bytes());
            key.extend_from_slice(view);
        }
    }
    key.into()
}

/// A cache of verdicts, since a property is a function of its views. Entries that were not used for a while are dropped.
#[derive(Default)]
struct Known {
    recent: BTreeMap<Box<[u8]>, bool>,
    former: BTreeMap<Box<[u8]>, bool>,
    /// Bytes of the recent half.
    bytes: usize,
}

impl Known {
    fn verdict(&mut self, key: &[u8]) -> Option<bool> {
        if let Some(verdict) = self.recent.get(key) {
            return Some(*verdict);
        }
        let (key, verdict) = self.former.remove_entry(key)?;
        self.learn(key, verdict);
        Some(verdict)
    }

    fn learn(&mut self, key: Box<[u8]>, verdict: bool) {
        self.bytes += key.len() + size_of::<(Box<[u8]>, bool)>();
        self.recent.insert(key, verdict);
        if self.bytes > KNOWN_BYTES_MAX / 2 {
            (self.former, self.bytes) = (std::mem::take(&mut self.recent), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Two properties, and one to three nodes with no view or one of four views: 2 * (5 + 25 + 125) keys.
    #[test]
    fn different_views_have_different_keys() {
        let views: [Option<&[u8]>; 5] = [None, Some(&[]), Some(&[0]), Some(&[1]), Some(&[0; 9])];
        let one_more = |all: Vec<Vec<_>>| -> Vec<Vec<_>> {
            let with = |all: Vec<_>| views.map(|view| [&all[..], &[view]].concat());
            all.into_iter().flat_map(with).collect()
        };
        let one = one_more(vec![Vec::new()]);
        let two = one_more(one.clone());
        let all = [one, two.clone(), one_more(two)].concat();
        let keys = all.iter().flat_map(|views| [0, 1].map(|property| key(property, views)));
        assert_eq!(keys.collect::<BTreeSet<_>>().len(), 310);
    }

    /// Verdicts in use stay in the cache, others are dropped, and its size is bounded.
    #[test]
    fn what_is_known_is_bounded() {
        let (mut known, long) = (Known::default(), vec![0; 1_000]);
        let key = |number: u32| key(number, &[Some(&long)]);
        known.learn(key(0), true);
        for number in 1..10_000 {
            known.learn(key(number), false);
            assert_eq!((known.verdict(&key(0)), known.verdict(&key(number))), (Some(true), Some(false)));
            let bytes = known.recent.keys().chain(known.former.keys()).map(|key| key.len()).sum::<usize>();
            assert!(bytes <= KNOWN_BYTES_MAX, "{bytes}");
        }
        assert_eq!(known.verdict(&key(1)), None);
    }
}
