//! Random toys that can run for ever but have finitely many global states.

use crate::contract::{LocalKind, NodeId, PropertyKind, PropertyScope};
use crate::toys::dice::Dice;
use crate::toys::property::ToyProperty;
use crate::toys::rule::{ToyOutcome, ToyState, ToyTrigger};
use crate::toys::toy::Toy;

/// Contents from here on overtake others.
const HERALD: u8 = 4;

impl Toy {
    /// A random system with cycles, with timers, calls of the application and internal events, and with promises. The same seed gives
    /// the same system on every machine.
    ///
    /// Finite by construction: each state of a node has a credit, and no handler leaves more messages and credit than it found. So
    /// the sum of messages in flight and credits never grows.
    pub fn random_busy(seed: u64, nodes: u32) -> Self {
        Self::busy_with_credits(seed, nodes).0
    }

    /// The same, but other messages overtake most of those that are sent, over the same link. No handler answers them, so on ordered
    /// links they are at most twice as many as those behind them: there a lost one can be sent again and again, and messages
    /// in flight do not become more if it is not. Some of them keep a promise.
    pub fn random_busy_with_heralds(seed: u64, nodes: u32) -> Self {
        let (mut toy, credits) = Self::busy_with_credits(seed, nodes);
        let mut dice = Dice(seed ^ 0x4e7a);
        let states = credits[0].len() as ToyState;
        let heralds = |dice: &mut Dice, to: NodeId| {
            let count = if to == 0 { 1 + dice.below(2) } else { dice.below(2) };
            (0..count).map(|_| (to, HERALD)).collect::<Vec<(NodeId, u8)>>()
        };
        for outcome in toy.rules.values_mut().flatten() {
            let (ToyOutcome::Go(_, sent) | ToyOutcome::Trap(sent)) = outcome;
            *sent = sent.iter().flat_map(|message| [heralds(&mut dice, message.0), vec![*message]].concat()).collect();
        }
        // A handler that sends nothing may go to the state with the least credit.
        let least = |node: NodeId| {
            let credit = |state: &ToyState| credits[node as usize][*state as usize];
            (0..states).min_by_key(credit).expect("a node has states")
        };
        for (node, state) in (0..nodes).flat_map(|node| (0..states).map(move |state| (node, state))) {
            for from in 0..nodes {
                toy = toy.rule(node, state, ToyTrigger::Message(from, HERALD), least(node), &[]);
            }
        }
        let mut heard = vec![None; nodes as usize];
        heard[0] = Some(least(0));
        toy.properties.clear();
        toy.promise("heard", &[&heard])
    }

    /// A busy system, and the credit of each state of each node.
    fn busy_with_credits(seed: u64, nodes: u32) -> (Self, Vec<Vec<u32>>) {
        let mut dice = Dice(seed ^ 0xb5e7);
        let (states, contents) = (2 + dice.below(2) as ToyState, 1 + dice.below(2));
        let mut toy = Self::new(nodes);
        let credit = |dice: &mut Dice| u32::from(dice.below(3) == 0);
        let credits: Vec<Vec<u32>> = (0..nodes).map(|_| (0..states).map(|_| credit(&mut dice)).collect()).collect();
        for node in 0..nodes {
            let credits = &credits[node as usize];
            for state in 0..states {
                for (from, content) in (0..nodes).flat_map(|from| (0..contents).map(move |content| (from, content))) {
                    if dice.below(10) < 7 {
                        let outcomes = busy_outcomes(&mut dice, (credits, state, 1), nodes, contents);
                        toy.rules.insert((node, state, ToyTrigger::Message(from, content as u8)), outcomes);
                    }
                }
                for name in 0..3 {
                    if dice.below(10) < 3 {
                        let outcomes = busy_outcomes(&mut dice, (credits, state, 0), nodes, contents);
                        toy.rules.insert((node, state, ToyTrigger::Local(name)), outcomes);
                    }
                }
            }
        }
        for name in 0..3 {
            let kinds = [LocalKind::Timer, LocalKind::Application, LocalKind::Internal];
            toy.kinds.insert(name, kinds[dice.below(3) as usize]);
        }
        for _ in 0..dice.below(3) {
            toy.initial.push((dice.below(nodes), dice.below(nodes), dice.below(contents) as u8));
        }
        for index in 0..1 + dice.below(2) {
            let scope = if dice.below(3) == 0 { PropertyScope::Node } else { PropertyScope::System };
            let tuple = |dice: &mut Dice| {
                (0..nodes).map(|_| (dice.below(2) > 0).then(|| dice.below(states.into()) as ToyState)).collect()
            };
            let tuples = (0..1 + dice.below(2)).map(|_| tuple(&mut dice)).collect();
            let (name, kind, sees_all) = (format!("promise{index}"), PropertyKind::Eventually, dice.below(2) == 0);
            // A node without a view owes nothing, so only an eighth of the systems have a promise that sees just the states that keep it.
            let sees_all = sees_all || (scope == PropertyScope::Node && !seed.is_multiple_of(8));
            toy.properties.push(ToyProperty { name, kind, scope, tuples, traps: Vec::new(), sees_all });
        }
        (toy, credits)
    }

    /// The same system where in some states the outcomes of handlers are drawn.
    #[must_use]
    pub fn with_random_draws(mut self, seed: u64) -> Self {
        let mut dice = Dice(seed ^ 0xd4a3);
        self.is_stepwise = dice.below(2) == 0;
        let keys: Vec<(NodeId, ToyState, ToyTrigger)> = self.rules.keys().copied().collect();
        for (node, state, on) in keys {
            // The first outcome leaves no more than it found, nor does one that sends nothing and goes to the same state as the first.
            let outcomes = self.rules.get_mut(&(node, state, on)).expect("it is one of the keys");
            let ToyOutcome::Go(next, _) = outcomes[0] else { continue };
            if dice.below(3) == 0 {
                outcomes.push(ToyOutcome::Go(next, Vec::new()));
            }
            if dice.below(2) == 0 {
                self.drawn.insert((node, state));
            }
        }
        self
    }
}

/// One or two outcomes of a handler in a state, which has taken this many messages.
fn busy_outcomes(
    dice: &mut Dice,
    (credits, state, taken): (&[u32], ToyState, u32),
    nodes: u32,
    contents: u32,
) -> Vec<ToyOutcome> {
    let count = 1 + u32::from(dice.below(6) == 0);
    let mut outcome = || {
        let found = taken + credits[state as usize];
        let next = loop {
            let next = dice.below(credits.len() as u32);
            if credits[next as usize] <= found {
                break next;
            }
        };
        let room = found - credits[next as usize];
        let sent = (0..room).filter(|_| dice.below(4) > 0).count();
        let sent = (0..sent).map(|_| (dice.below(nodes), dice.below(contents) as u8)).collect();
        ToyOutcome::Go(next as ToyState, sent)
    };
    (0..count).map(|_| outcome()).collect()
}
