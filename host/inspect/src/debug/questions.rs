//! Events of a tree of executions in words, and the standings of the properties in its states.

use host_model::contract::{ClassId, Judgement, MachineError, NodeId, PropertyKind, PropertyScope};
use host_model::trace::{Standing, TraceStep};

use crate::debug::moments::{Moments, Place};
use crate::traced_state::{Action, TracedState};
use crate::words;

/// An enabled event, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The event.
    pub event: String,
    /// The same with the argument of a local event, if another enabled event has the same words.
    pub full: String,
}

/// The standing of a property in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stands {
    /// Its place among the properties.
    pub property: usize,
    /// The node, of a property of node scope.
    pub node: Option<NodeId>,
    /// The standing.
    pub standing: Standing,
}

impl Moments<'_> {
    /// Enabled actions at a place, in words.
    pub fn told(&mut self, place: Place, actions: &[Action]) -> Vec<Told> {
        let events: Vec<String> = actions.iter().map(|action| self.tell(place, action, false)).collect();
        let told = actions.iter().zip(&events).map(|(action, event)| {
            let is_alone = events.iter().filter(|other| *other == event).count() == 1;
            let full = if is_alone { event.clone() } else { self.tell(place, action, true) };
            Told { event: event.clone(), full }
        });
        told.collect()
    }

    fn tell(&mut self, place: Place, action: &Action, with_argument: bool) -> String {
        let event = self.trace_event(place, action);
        let local = event.to_local().filter(|_| with_argument);
        let argument = local.map(|event| self.argument(&event));
        let step = TraceStep { node: action.node, event, choices: Vec::new(), sent: None, state: None };
        let names = self.names().clone();
        words::event(&step, &names, argument, |payload| self.message(payload))
    }

    /// The standings of the properties in a state, in their order; those of node scope at each node that is not absent.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn standings(&mut self, traced: &TracedState) -> Result<Vec<Stands>, MachineError> {
        let locals = traced.locals().to_vec();
        let properties = self.stepper().lts().properties().to_vec();
        let absent = self.stepper().lts().scenario().absent.clone();
        let stuck = self.stepper().known().stuck(&locals);
        let stuck = stuck.map(|(node, fault)| format!("node {node} is stuck in a fault: {fault}"));
        let classes: Vec<ClassId> = locals.iter().map(|local| self.stepper().state(*local).protocol.class).collect();
        let together = if stuck.is_some() { Vec::new() } else { self.stepper_mut().judge(&classes)?.to_vec() };
        let mut standings = Vec::new();
        for (property, it) in properties.iter().enumerate() {
            let nodes: Vec<Option<NodeId>> = match it.scope {
                PropertyScope::System => vec![None],
                PropertyScope::Node => self.present(&absent),
            };
            for node in nodes {
                let standing = match (&stuck, it.kind, node) {
                    (Some(why), _, _) => Standing::Unknown(why.clone()),
                    (None, PropertyKind::Eventually, _) => {
                        let owing = self.stepper_mut().owing(property as u32, node, &locals)?;
                        owing.map_or(Standing::Holds, Standing::Owed)
                    }
                    (None, kind, None) => judged(property, kind, &together),
                    (None, kind, Some(node)) => {
                        let state = self.stepper().state(locals[node as usize]);
                        judged(property, kind, &state.protocol.judgements)
                    }
                };
                standings.push(Stands { property, node, standing });
            }
        }
        Ok(standings)
    }

    fn present(&self, absent: &std::collections::BTreeSet<NodeId>) -> Vec<Option<NodeId>> {
        (0..self.nodes()).filter(|node| !absent.contains(node)).map(Some).collect()
    }
}

/// The standing that judgements give an `always` or `sometimes` property.
fn judged(property: usize, kind: PropertyKind, judgements: &[Judgement]) -> Standing {
    for judgement in judgements {
        match judgement {
            Judgement::Violated { property: of, message } if *of as usize == property => {
                return Standing::Violated(message.clone());
            }
            Judgement::Witnessed { property: of } if *of as usize == property => return Standing::Reached,
            Judgement::Broken { property: of, fault } if *of as usize == property => {
                return Standing::Unknown(fault.to_string());
            }
            _ => {}
        }
    }
    if kind == PropertyKind::Sometimes { Standing::NotReached } else { Standing::Holds }
}
