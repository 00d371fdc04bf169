//! What toys can do beyond their tables of handlers: further properties, several ways to begin, and random features.

use std::collections::BTreeSet;

use super::{Dice, Toy, ToyOutcome, ToyState, ToyTrigger};
use crate::machine::{Choice, Effects, Fault, FaultKind, NodeId, Property, PropertyKind, PropertyScope};

/// A state that a property does not name, in its words.
const OTHER: ToyState = u8::MAX;

/// A property given by tuples of local states, one state per node; `None` stands for any state. A tuple without a state
/// matches nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToyProperty {
    /// Its name.
    pub name: String,
    /// What it claims: that no tuple is reached, or that one of them is.
    pub kind: PropertyKind,
    /// What it reads. With node scope each state of a tuple stands for itself.
    pub scope: PropertyScope,
    /// The tuples.
    pub tuples: Vec<Vec<Option<ToyState>>>,
    /// Tuples on which its evaluation traps.
    pub traps: Vec<Vec<Option<ToyState>>>,
    /// Whether states that no tuple names have a view, too, which does not tell them apart.
    pub sees_all: bool,
}

/// What a property says about some views.
pub type Evaluated = Result<Result<(), String>, Fault>;

impl ToyProperty {
    /// How the protocol lists it.
    pub(super) fn property(&self) -> Property {
        Property { name: self.name.clone(), kind: self.kind, scope: self.scope }
    }

    /// Whether some tuple names this state of this node.
    pub fn names(&self, node: NodeId, state: ToyState) -> bool {
        self.tuples.iter().chain(&self.traps).any(|tuple| tuple[node as usize] == Some(state))
    }

    /// What it reads of a node: the node and its state.
    pub fn view(&self, node: NodeId, state: ToyState) -> Option<Vec<u8>> {
        let is_named = self.names(node, state);
        (is_named || self.sees_all).then(|| vec![node as u8, if is_named { state } else { OTHER }])
    }

    /// What it says about the views of all nodes, or of one node.
    ///
    /// # Errors
    ///
    /// It traps; a property that does not hold is the inner error with its explanation.
    pub fn evaluate(&self, views: &[Option<&[u8]>]) -> Evaluated {
        match self.scope {
            PropertyScope::System => {
                let states: Vec<ToyState> = views.iter().map(|view| view.map_or(OTHER, |view| view[1])).collect();
                self.say(matches(&self.traps, &states), matches(&self.tuples, &states), &format!("{states:?}"))
            }
            PropertyScope::Node => {
                let view = views[0].expect("a node without a view is not asked about");
                let (node, state) = (usize::from(view[0]), view[1]);
                let has = |tuples: &[Vec<Option<ToyState>>]| tuples.iter().any(|tuple| tuple[node] == Some(state));
                self.say(has(&self.traps), has(&self.tuples), &format!("{state} of node {node}"))
            }
        }
    }

    fn say(&self, is_trap: bool, is_match: bool, what: &str) -> Evaluated {
        if is_trap {
            return Err(Fault { kind: FaultKind::Trap, message: format!("toy trap in {}", self.name) });
        }
        // An `always` claims that no tuple matches, and a `sometimes` that one does.
        let holds = is_match != (self.kind == PropertyKind::Always);
        Ok(if holds { Ok(()) } else { Err(format!("{what} is {}", self.name)) })
    }
}

/// Whether one of the tuples matches these local states, one per node.
pub(super) fn matches(tuples: &[Vec<Option<ToyState>>], states: &[ToyState]) -> bool {
    let matches = |tuple: &Vec<Option<ToyState>>| {
        tuple.iter().any(Option::is_some)
            && tuple.iter().zip(states).all(|(wanted, state)| wanted.is_none_or(|wanted| wanted == *state))
    };
    tuples.iter().any(matches)
}

/// Something that a random toy can have besides its rules.
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
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Properties, Self::Broken, Self::Copies, Self::Choices];
}

impl Toy {
    /// The property with this index, unless it is `forbidden`, the first one.
    pub fn more(&self, property: u32) -> Option<&ToyProperty> {
        (property as usize).checked_sub(1).map(|index| &self.properties[index])
    }

    /// The answers to `choose` that lead to one of so many outcomes.
    pub fn answers(&self, outcome: usize, outcomes: usize) -> Vec<Choice> {
        let number = |count: usize| u32::try_from(count).expect("tables are small");
        match outcomes {
            0 | 1 => Vec::new(),
            _ if self.is_stepwise => {
                let asked = (outcome + 1).min(outcomes - 1);
                (0..asked).map(|at| Choice::among(2, u32::from(at < outcome))).collect()
            }
            _ => vec![Choice::among(number(outcomes), number(outcome))],
        }
    }

    /// Which of so many outcomes a script asks for.
    pub(super) fn pick(&self, outcomes: usize, script: &[u32], effects: &mut Effects) -> usize {
        let mut ask = |alternatives: usize| {
            let alternatives = u32::try_from(alternatives).expect("tables are small");
            let answer = script.get(effects.choices.len()).copied().unwrap_or(0);
            effects.choices.push(Choice::among(alternatives, answer));
            effects.likelihood = effects.likelihood.and(1, alternatives.into());
            answer as usize
        };
        match outcomes {
            0 | 1 => 0,
            // "This one, or a later one?" The answers have the order of the outcomes.
            _ if self.is_stepwise => (0..outcomes - 1).find(|_| ask(2) == 0).unwrap_or(outcomes - 1),
            _ => ask(outcomes),
        }
    }

    /// The same system with a feature at random. As finite as it was.
    ///
    /// With `is_symmetric`, a system that is the same under every renaming of the nodes but node 0 stays so.
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

    /// How many local states a node has at most; those that name a node are not counted.
    fn states(&self) -> ToyState {
        let states = self.rules.keys().map(|(_, state, _)| state % super::NAMED + 1);
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
            // Nothing may become endless: a local event makes the state larger, and a message is answered by smaller ones.
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

    fn random_property(&self, dice: &mut Dice, index: u32, is_symmetric: bool) -> ToyProperty {
        let states = u32::from(self.states());
        let kind = if dice.below(2) == 0 { PropertyKind::Sometimes } else { PropertyKind::Always };
        let scope = if dice.below(2) == 0 { PropertyScope::Node } else { PropertyScope::System };
        let mut tuples: Vec<Vec<Option<ToyState>>> = (0..1 + dice.below(2))
            .map(|_| (0..self.nodes).map(|_| (dice.below(3) > 0).then(|| dice.below(states) as ToyState)).collect())
            .collect();
        if is_symmetric {
            let group = super::permutations(1..self.nodes);
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
