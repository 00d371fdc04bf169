//! Further features of random toys: properties of all kinds and scopes, and several start states and outcomes.

use std::collections::BTreeSet;

use crate::contract::{LocalKind, PropertyKind, PropertyScope};
use crate::toys::dice::Dice;
use crate::toys::property::ToyProperty;
use crate::toys::renaming::{NAMED, permutations};
use crate::toys::rule::{ToyOutcome, ToyState, ToyTrigger};
use crate::toys::toy::Toy;

/// A feature that a random toy can have in addition to its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// Further properties, of all kinds and scopes.
    Properties,
    /// Properties whose evaluation traps.
    Broken,
    /// Messages that are sent twice, and messages to the node itself.
    Copies,
    /// Handlers with three outcomes, and outcomes that need several answers.
    Choices,
}

impl Feature {
    /// All features.
    pub const ALL: [Self; 4] = [Self::Properties, Self::Broken, Self::Copies, Self::Choices];
}

impl Toy {
    /// The same system with a random feature. It stays finite.
    ///
    /// With `is_symmetric`, a system that is invariant under every renaming of the nodes except node 0 stays so.
    #[must_use]
    pub fn with_random(mut self, feature: Feature, seed: u64, is_symmetric: bool) -> Self {
        let mut dice = Dice(seed ^ (0xfea7 + feature as u64));
        match feature {
            Feature::Properties => {
                for index in 0..1 + dice.below(3) {
                    let property = self.random_property(&mut dice, index, is_symmetric);
                    self.properties.push(property);
                }
            }
            Feature::Broken => {
                let mut property = self.random_property(&mut dice, 9, is_symmetric);
                std::mem::swap(&mut property.tuples, &mut property.traps);
                property.tuples = property.traps.split_off(property.traps.len().min(1));
                if is_symmetric {
                    property.traps.append(&mut property.tuples);
                }
                self.properties.push(property);
            }
            Feature::Copies => self.add_copies(&mut dice, is_symmetric),
            Feature::Choices => self.add_choices(&mut dice, is_symmetric),
        }
        self
    }

    /// Maximum number of local states of a node, without those that name a node.
    fn states(&self) -> ToyState {
        let states = self.rules.keys().map(|(_, state, _)| state % NAMED + 1);
        states.max().unwrap_or(1)
    }

    /// Messages are sent twice, and to the node itself.
    fn add_copies(&mut self, dice: &mut Dice, is_symmetric: bool) {
        let mut initial = self.initial.clone();
        initial.retain(|_| is_symmetric || dice.below(2) == 0);
        self.initial.extend(initial);
        if is_symmetric {
            return;
        }
        for ((node, ..), outcomes) in &mut self.rules {
            for outcome in outcomes {
                let ToyOutcome::Go(_, sent) = outcome else { continue };
                match (dice.below(4), sent.first().copied()) {
                    (0, Some(message)) => sent.push(message),
                    (1, Some((_, content))) => sent.push((*node, content)),
                    _ => {}
                }
            }
        }
    }

    /// Some handlers have three outcomes.
    fn add_choices(&mut self, dice: &mut Dice, is_symmetric: bool) {
        self.is_stepwise = dice.below(2) == 0;
        if is_symmetric {
            return;
        }
        let others: Vec<ToyOutcome> = self.rules.values().flatten().cloned().collect();
        let keys: Vec<_> = self.rules.keys().copied().collect();
        for (node, state, on) in keys {
            if dice.below(8) > 0 {
                continue;
            }
            // The system must stay finite: a local event makes the state larger, and a message is answered by smaller ones.
            let is_allowed = |outcome: &ToyOutcome| match (outcome, on) {
                (ToyOutcome::Go(next, _), ToyTrigger::Local(_)) => *next > state,
                (ToyOutcome::Go(_, sent), ToyTrigger::Message(_, content)) => sent.iter().all(|(_, it)| *it < content),
                (ToyOutcome::Go(_, sent), ToyTrigger::Error(_)) => sent.is_empty(),
                (ToyOutcome::Trap(_), _) => false,
            };
            let allowed: Vec<&ToyOutcome> = others.iter().filter(|outcome| is_allowed(outcome)).collect();
            let outcomes = self.rules.get_mut(&(node, state, on)).expect("it is one of the keys");
            while outcomes.len() < 3 && !allowed.is_empty() {
                outcomes.push(allowed[dice.below(allowed.len() as u32) as usize].clone());
            }
        }
    }

    /// The same system with promises, and with timers and calls of the application among its local events.
    #[must_use]
    pub fn with_random_promises(mut self, seed: u64, is_symmetric: bool) -> Self {
        let mut dice = Dice(seed ^ 0x9f0a);
        for name in 0..2 {
            let kinds = [LocalKind::Timer, LocalKind::Application, LocalKind::Internal];
            self.kinds.insert(name, kinds[dice.below(3) as usize]);
        }
        let property = self.random_property(&mut dice, 8, is_symmetric);
        self.properties.push(ToyProperty { kind: PropertyKind::Eventually, ..property });
        self
    }

    fn random_property(&self, dice: &mut Dice, index: u32, is_symmetric: bool) -> ToyProperty {
        let states = u32::from(self.states());
        let kind = if dice.below(2) == 0 { PropertyKind::Sometimes } else { PropertyKind::Always };
        let scope = if dice.below(2) == 0 { PropertyScope::Node } else { PropertyScope::System };
        let mut tuples: Vec<Vec<Option<ToyState>>> = (0..1 + dice.below(2))
            .map(|_| (0..self.nodes).map(|_| (dice.below(3) > 0).then(|| dice.below(states) as ToyState)).collect())
            .collect();
        if is_symmetric {
            let group = permutations(1..self.nodes);
            let images = tuples.iter().flat_map(|tuple| {
                group.iter().map(|p| {
                    let mut image = tuple.clone();
                    tuple.iter().zip(p).for_each(|(state, node)| image[*node as usize] = *state);
                    image
                })
            });
            let images: BTreeSet<_> = images.collect();
            tuples = images.into_iter().collect();
        }
        let sees_all = dice.below(4) == 0;
        ToyProperty { name: format!("more{index}"), kind, scope, tuples, traps: Vec::new(), sees_all }
    }
}
