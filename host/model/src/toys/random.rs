//! Random toys, and features of the contract that only some protocols use, beyond messages and local events.

use std::collections::BTreeMap;

use crate::contract::NodeId;
use crate::toys::dice::Dice;
use crate::toys::rule::{ToyOutcome, ToyState, ToyTrigger};
use crate::toys::toy::{Toy, ToySync};

impl Toy {
    /// A random system. The same seed gives the same system on every machine.
    ///
    /// Finite by construction: handling a message sends only smaller contents, and a local event, which can send
    /// any content, makes the state larger; so a run has boundedly many local events between messages.
    pub fn random(seed: u64, nodes: u32) -> Self {
        let mut dice = Dice(seed);
        let (states, contents) = (2 + dice.below(4) as ToyState, 1 + dice.below(4) as u8);
        let mut toy = Self::new(nodes);
        for node in 0..nodes {
            for state in 0..states {
                for from in 0..nodes {
                    for content in 0..contents {
                        if dice.below(10) < 6 {
                            let on = ToyTrigger::Message(from, content);
                            let outcomes = toy.random_outcomes(&mut dice, 0..states, content);
                            toy.rules.insert((node, state, on), outcomes);
                        }
                    }
                }
                if state + 1 < states && dice.below(10) < 4 {
                    let on = ToyTrigger::Local(dice.below(2) as u8);
                    let outcomes = toy.random_outcomes(&mut dice, state + 1..states, contents);
                    toy.rules.insert((node, state, on), outcomes);
                }
            }
        }
        for _ in 0..1 + dice.below(4) {
            let (from, to) = (dice.below(nodes), dice.below(nodes));
            toy.initial.push((from, to, dice.below(u32::from(contents)) as u8));
        }
        for _ in 0..1 + dice.below(2) {
            let tuple = (0..nodes).map(|_| (dice.below(3) > 0).then(|| dice.below(u32::from(states)) as ToyState));
            toy.forbidden.push(tuple.collect());
        }
        toy
    }

    /// One or two outcomes; the messages sent have contents below `contents`.
    pub(crate) fn random_outcomes(
        &self,
        dice: &mut Dice,
        next: std::ops::Range<ToyState>,
        contents: u8,
    ) -> Vec<ToyOutcome> {
        let count = 1 + u32::from(dice.below(8) == 0);
        (0..count)
            .map(|_| {
                let sent = (0..dice.below(3))
                    .filter(|_| contents > 0)
                    .map(|_| (dice.below(self.nodes), dice.below(u32::from(contents.max(1))) as u8));
                let sent = sent.collect();
                ToyOutcome::Go(next.start + dice.below(u32::from(next.end - next.start)) as ToyState, sent)
            })
            .collect()
    }

    /// The same system, but some nodes choose in `init` how they begin; at least one of them has a choice.
    #[must_use]
    pub fn with_random_starts(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0x57a7);
        let states: ToyState = self.rules.keys().map(|(_, state, _)| state + 1).max().unwrap_or(1);
        let chooser = dice.below(self.nodes);
        for node in 0..self.nodes {
            let count = if node == chooser { 2 + dice.below(2) } else { dice.below(3) };
            let outcomes: Vec<ToyOutcome> =
                (0..count).flat_map(|_| self.random_outcomes(&mut dice, 0..states, 2)).collect();
            if !outcomes.is_empty() {
                self.starts.insert(node, outcomes);
            }
        }
        self
    }

    /// The same system, but messages can be refused, which nodes may or may not notice.
    #[must_use]
    pub fn with_random_refusals(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0xf011);
        let states: ToyState = self.rules.keys().map(|(_, state, _)| state + 1).max().unwrap_or(1);
        self.is_careful = true;
        for node in 0..self.nodes {
            for state in 0..states {
                // Never a smaller state, so that local events still make the state larger.
                if dice.below(2) > 0 {
                    let instead = state + dice.below(u32::from(states - state)) as ToyState;
                    self.refused.insert((node, state), instead);
                }
            }
        }
        self
    }

    /// The same system, but nodes are done in some states, more likely than not.
    #[must_use]
    pub fn with_random_done(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0xd07e);
        let states: ToyState = self.rules.keys().map(|(_, state, _)| state + 1).max().unwrap_or(1);
        let all = (0..self.nodes).flat_map(|node| (0..states).map(move |state| (node, state)));
        self.done = all.filter(|_| dice.below(3) > 0).collect();
        self
    }

    /// The same system, but some states are durable, and a node begins at random after a reset.
    #[must_use]
    pub fn with_random_durable(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0xd15c);
        let states: ToyState = self.rules.keys().map(|(_, state, _)| state + 1).max().unwrap_or(1);
        for node in 0..self.nodes {
            for state in 0..states {
                if dice.below(3) > 0 {
                    self.durable.insert((node, state), dice.below(states.into()) as u8);
                }
                if dice.below(3) == 0 {
                    let outcomes = self.random_outcomes(&mut dice, 0..states, 2);
                    self.restarts.insert((node, state), outcomes);
                }
            }
        }
        self
    }

    /// The same system, but half of its handlers do not call `sync`, and some call it before they write.
    #[must_use]
    pub fn with_random_syncs(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0x5c2c);
        let states: ToyState = self.rules.keys().map(|(_, state, _)| state + 1).max().unwrap_or(1);
        let mut syncs = BTreeMap::new();
        for (node, state) in (0..self.nodes).flat_map(|node| (0..states).map(move |state| (node, state))) {
            match dice.below(6) {
                0 => _ = syncs.insert((node, state), ToySync::First),
                1 | 2 => _ = syncs.insert((node, state), ToySync::Last),
                _ => {}
            }
        }
        self.syncs = Some(syncs);
        self
    }

    /// The same system, but nodes have rules for connections that break.
    #[must_use]
    pub fn with_random_errors(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0xe440);
        let states: ToyState = self.rules.keys().map(|(_, state, _)| state + 1).max().unwrap_or(1);
        for node in 0..self.nodes {
            for state in 0..states {
                for peer in (0..self.nodes).filter(|peer| *peer != node) {
                    if dice.below(3) > 0 {
                        let outcomes = self.random_outcomes(&mut dice, 0..states, 2);
                        self.rules.insert((node, state, ToyTrigger::Error(peer)), outcomes);
                    }
                }
            }
        }
        self
    }

    /// The same system, but nodes take some messages as quorums, and others not in every state. More messages are in
    /// flight from the start, without which there would hardly be a quorum.
    ///
    /// It stays finite: a quorum sends smaller contents than all that can be in it.
    #[must_use]
    pub fn with_random_quorums(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0x9a0e);
        let states: ToyState = self.rules.keys().map(|(_, state, _)| state + 1).max().unwrap_or(1);
        let content = |(_, _, on): &(NodeId, ToyState, ToyTrigger)| match on {
            ToyTrigger::Message(_, content) => content + 1,
            _ => 1,
        };
        let contents = self.rules.keys().map(content).max().unwrap_or(1);
        for node in 0..self.nodes {
            for state in 0..states {
                for content in 0..contents {
                    let role = match dice.below(8) {
                        0 => None,
                        // Messages of two contents are one quorum, or each has its own.
                        1..=4 => Some((content & !dice.below(2) as u8, 1 + dice.below(self.nodes))),
                        _ => continue,
                    };
                    // Quorums with one name and two sizes are two quorums.
                    let sibling = self.roles.get(&(node, state, content ^ 1)).copied().flatten();
                    let role = role.map(|role| sibling.filter(|_| dice.below(4) > 0).unwrap_or(role));
                    self.roles.insert((node, state, content), role);
                }
                for name in 0..contents {
                    let lists = (0..1 + dice.below(3)).map(|_| match dice.below(6) {
                        0 => Vec::new(),
                        _ => self.random_outcomes(&mut dice, 0..states, name),
                    });
                    let lists = lists.collect();
                    self.quorums.insert((node, state, name), lists);
                }
            }
            if dice.below(3) > 0 {
                for from in 0..self.nodes {
                    if dice.below(4) > 0 {
                        self.initial.push((from, node, dice.below(u32::from(contents)) as u8));
                    }
                }
            }
        }
        self
    }

    /// The same system, but some handlers trap, always or in one of their outcomes. With
    /// [`starts`](Self::with_random_starts), `init` can be among them.
    #[must_use]
    pub fn with_random_traps(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0x7a2b);
        let nodes = self.nodes;
        let lists = self.rules.values_mut().chain(self.restarts.values_mut());
        for outcomes in lists.chain(self.quorums.values_mut().flatten()).chain(self.starts.values_mut()) {
            let Some(last) = outcomes.last_mut() else { continue };
            let fate = dice.below(16);
            let sent = match last {
                ToyOutcome::Go(_, sent) | ToyOutcome::Trap(sent) if dice.below(2) > 0 => sent.clone(),
                _ => vec![(dice.below(nodes), 0)],
            };
            match fate {
                0 => *last = ToyOutcome::Trap(sent),
                1 => outcomes.push(ToyOutcome::Trap(sent)),
                2 => outcomes.insert(0, ToyOutcome::Trap(sent)),
                _ => {}
            }
        }
        self
    }
}
