//! Properties that guide walks: goals to reach on the way, and properties that end a walk.

use host_model::contract::{Judgement, NodeId};

/// `sometimes` properties, by index, in an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Goals([Option<u32>; Goals::MAX]);

impl Goals {
    /// Maximum number of properties.
    pub const MAX: usize = 8;

    /// These properties; none if there are too many.
    pub fn new(properties: &[u32]) -> Option<Self> {
        (properties.len() <= Self::MAX).then(|| Self(std::array::from_fn(|index| properties.get(index).copied())))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }

    /// The number of goals reached, each after the one before, in a state with these judgements after `before` of them.
    pub fn reached(&self, before: u32, judgements: &[(Option<NodeId>, Judgement)]) -> u32 {
        let next = self.0.iter().flatten().skip(before as usize);
        before + next.take_while(|property| holds(**property, judgements)).count() as u32
    }

    /// Whether one of them holds in a state with these judgements.
    pub fn any_holds(&self, judgements: &[(Option<NodeId>, Judgement)]) -> bool {
        self.0.iter().flatten().any(|property| holds(*property, judgements))
    }
}

fn holds(property: u32, judgements: &[(Option<NodeId>, Judgement)]) -> bool {
    judgements.iter().any(|(_, judgement)| *judgement == Judgement::Witnessed { property })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_reached_in_their_order() {
        let goals = Goals::new(&[3, 1, 3]).expect("few");
        let state = |properties: &[u32]| -> Vec<(Option<NodeId>, Judgement)> {
            properties.iter().map(|property| (None, Judgement::Witnessed { property: *property })).collect()
        };
        let reached = |before, properties: &[u32]| goals.reached(before, &state(properties));
        assert_eq!([reached(0, &[1]), reached(0, &[2, 3]), reached(1, &[3])], [0, 1, 1]);
        // Several in one state, up to the last one.
        assert_eq!([reached(0, &[1, 3]), reached(2, &[3]), reached(3, &[1, 3])], [3, 3, 3]);
        assert!(goals.any_holds(&state(&[1])) && !goals.any_holds(&state(&[2])) && !goals.any_holds(&[]));
        assert!(Goals::default().is_empty() && Goals::new(&[0; Goals::MAX + 1]).is_none());
    }
}
