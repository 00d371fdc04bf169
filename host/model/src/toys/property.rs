//! Properties given by tuples of local states.

use crate::contract::{Fault, FaultKind, NodeId, Property, PropertyKind, PropertyScope};
use crate::toys::rule::ToyState;

/// Stands for a state that a property does not name, in its messages.
const OTHER: ToyState = u8::MAX;

/// A property given by tuples of local states, one state per node; `None` stands for any state. A tuple without a state
/// matches nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToyProperty {
    /// Its name.
    pub name: String,
    /// Its claim: no tuple is reached, or one of them is.
    pub kind: PropertyKind,
    /// Its scope. With node scope each state of a tuple stands for itself.
    pub scope: PropertyScope,
    /// The tuples.
    pub tuples: Vec<Vec<Option<ToyState>>>,
    /// Tuples on which its evaluation traps.
    pub traps: Vec<Vec<Option<ToyState>>>,
    /// Whether states that no tuple names have a view, too, which is the same for all of them.
    pub sees_all: bool,
}

/// The answer of a property to some views.
pub type Evaluated = Result<Result<(), String>, Fault>;

impl ToyProperty {
    /// The entry in the protocol's list.
    pub(crate) fn property(&self) -> Property {
        Property { name: self.name.clone(), kind: self.kind, scope: self.scope }
    }

    /// Whether some tuple names this state of this node.
    pub fn names(&self, node: NodeId, state: ToyState) -> bool {
        self.tuples.iter().chain(&self.traps).any(|tuple| tuple[node as usize] == Some(state))
    }

    /// Its view of a node: the node and its state.
    pub fn view(&self, node: NodeId, state: ToyState) -> Option<Vec<u8>> {
        let is_named = self.names(node, state);
        (is_named || self.sees_all).then(|| vec![node as u8, if is_named { state } else { OTHER }])
    }

    /// Its answer to the views of all nodes, or of one node.
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
            return Err(Fault::new(FaultKind::Trap, format!("toy trap in {}", self.name)));
        }
        // An `always` claims that no tuple matches, and a `sometimes` that one does.
        let holds = is_match != (self.kind == PropertyKind::Always);
        Ok(if holds { Ok(()) } else { Err(format!("{what} is {}", self.name)) })
    }
}

/// Whether one of the tuples matches these local states, one per node.
pub(crate) fn matches(tuples: &[Vec<Option<ToyState>>], states: &[ToyState]) -> bool {
    let matches = |tuple: &Vec<Option<ToyState>>| {
        tuple.iter().any(Option::is_some)
            && tuple.iter().zip(states).all(|(wanted, state)| wanted.is_none_or(|wanted| wanted == *state))
    };
    tuples.iter().any(matches)
}
