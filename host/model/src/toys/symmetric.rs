//! Random toys that are invariant under renamings of their nodes.

use std::collections::BTreeSet;

use crate::contract::NodeId;
use crate::toys::dice::Dice;
use crate::toys::renaming::{NAMED, named, permutations, renamed};
use crate::toys::rule::{ToyOutcome, ToyState, ToyTrigger};
use crate::toys::toy::Toy;

impl Toy {
    /// A random system that is invariant under every renaming of the nodes except node 0, and declares so; contents and states
    /// may name a node. Finite for the same reason as the systems of [`random`](Self::random).
    pub fn random_symmetric(seed: u64, nodes: u32) -> Self {
        let mut dice = Dice(seed);
        let (states, contents) = (2 + dice.below(2) as ToyState, 1 + dice.below(3) as u8);
        let group = permutations(1..nodes);
        let names = |base: u8| std::iter::once(base).chain((0..nodes).map(move |node| named(base, node)));
        let mut toy = Self { interchangeable: vec![(1..nodes).collect()], ..Self::new(nodes) };
        for (node, state) in (0..nodes).flat_map(|node| (0..states).flat_map(names).map(move |state| (node, state))) {
            let messages =
                (0..nodes).flat_map(|from| (0..contents).flat_map(names).map(move |content| (from, content)));
            for (from, content) in messages {
                if dice.below(10) < 6 {
                    let on = ToyTrigger::Message(from, content);
                    toy.add_orbit(&mut dice, &group, (node, state, on), 0..states, content % NAMED);
                }
            }
            let base = state % NAMED;
            if base + 1 < states && dice.below(10) < 4 {
                let on = ToyTrigger::Local(dice.below(2) as u8);
                toy.add_orbit(&mut dice, &group, (node, state, on), base + 1..states, contents);
            }
        }
        for _ in 0..1 + dice.below(2) {
            let (from, to) = (dice.below(nodes), dice.below(nodes));
            let content = {
                let base = dice.below(u32::from(contents)) as u8;
                dice.named(base, nodes)
            };
            let messages = group.iter().map(|p| (p[from as usize], p[to as usize], renamed(content, p)));
            let messages: BTreeSet<_> = messages.collect();
            toy.initial.extend(messages);
        }
        let tuple: Vec<Option<ToyState>> = (0..nodes)
            .map(|_| {
                (dice.below(3) > 0).then(|| {
                    let base = dice.below(u32::from(states)) as u8;
                    dice.named(base, nodes)
                })
            })
            .collect();
        for p in &group {
            let mut image = tuple.clone();
            for (node, state) in tuple.iter().enumerate() {
                image[p[node] as usize] = state.map(|state| renamed(state, p));
            }
            toy.forbidden.push(image);
        }
        toy
    }

    /// Adds a random rule and the renamed ones, unless there is a rule already. Its outcome is invariant under all
    /// renamings that leave its key unchanged.
    fn add_orbit(
        &mut self,
        dice: &mut Dice,
        group: &[Vec<NodeId>],
        key: (NodeId, ToyState, ToyTrigger),
        next: std::ops::Range<ToyState>,
        contents: u8,
    ) {
        let rename = |(node, state, on): (NodeId, ToyState, ToyTrigger), p: &[NodeId]| {
            let on = match on {
                ToyTrigger::Message(from, content) => ToyTrigger::Message(p[from as usize], renamed(content, p)),
                local => local,
            };
            (p[node as usize], renamed(state, p), on)
        };
        if self.rules.contains_key(&key) {
            return;
        }
        let fixing: Vec<&Vec<NodeId>> = group.iter().filter(|p| rename(key, p) == key).collect();
        let mut outcomes = Vec::new();
        for _ in 0..1 + u32::from(dice.below(8) == 0) {
            let base = next.start + dice.below(u32::from(next.end - next.start)) as ToyState;
            let state = dice.named(base, self.nodes);
            let is_fixed = fixing.iter().all(|p| renamed(state, p) == state);
            let mut sent = BTreeSet::new();
            for _ in 0..if contents > 0 { dice.below(3) } else { 0 } {
                let (to, base) = (dice.below(self.nodes), dice.below(u32::from(contents)) as u8);
                let content = dice.named(base, self.nodes);
                sent.extend(fixing.iter().map(|p| (p[to as usize], renamed(content, p))));
            }
            outcomes.push((if is_fixed { state } else { base }, sent));
        }
        for p in group {
            let go = |(state, sent): &(ToyState, BTreeSet<(NodeId, u8)>)| {
                let sent = sent.iter().map(|(to, content)| (p[*to as usize], renamed(*content, p))).collect();
                ToyOutcome::Go(renamed(*state, p), sent)
            };
            self.rules.insert(rename(key, p), outcomes.iter().map(go).collect());
        }
    }
}
