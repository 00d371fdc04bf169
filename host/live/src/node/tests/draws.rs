//! Answers by weights.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::{Choice, Effects, Fault, Input, Likelihood, LocalEvent, Machine, MachineError, Snapshot};
use host_search::kernel::dice::dice;

use crate::node::answers::run;

/// Answers a message by one of three choices, then by one of two with these weights, and calls `can-send` for node 1.
struct Chooses([u32; 2]);

impl Machine for Chooses {
    fn restore(&mut self, _: Option<&Snapshot>) -> Result<(), MachineError> {
        Ok(())
    }

    fn handle(&mut self, _: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        *effects = Effects::default();
        let answer = |index: usize| script.get(index).copied().unwrap_or(0);
        effects.choices = vec![Choice::among(3, answer(0)), Choice::among(2, answer(1)), Choice::sending(1, answer(2))];
        let weight = self.0[answer(1) as usize];
        effects.draws.note(1, weight);
        effects.likelihood =
            Likelihood::CERTAIN.and(1, 3).and(weight.into(), self.0.iter().map(|weight| u64::from(*weight)).sum());
        effects.likelihood = effects.likelihood.and(1, 2);
        Ok(())
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        Ok(Vec::new())
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        Ok(Vec::new())
    }

    fn capture(&mut self) -> Snapshot {
        Snapshot::new(&[])
    }

    host_model::without_properties!();
}

/// The counts of each pair of answers in 30,000 handlers. Each handler calls `can-send`.
fn drawn(weights: [u32; 2], full: &BTreeSet<u32>) -> BTreeMap<(u32, u32), u32> {
    let (mut machine, mut dice, mut effects) = (Chooses(weights), dice(1, 0), Effects::default());
    let mut counts = BTreeMap::new();
    for _ in 0..30_000 {
        let input = Input::Message { src: 0, payload: &[] };
        run(&mut machine, None, input, &mut dice, full, &mut effects).expect("it is native").expect("it is well");
        let [first, second, sending] = [0, 1, 2].map(|index: usize| effects.choices[index].picked);
        assert_eq!(sending > 0, full.contains(&1));
        *counts.entry((first, second)).or_default() += 1;
    }
    counts
}

/// 30,000 draws: a third each, or a tenth of that by weights. The standard deviation of 9,000 is 79, and of 1,000 it is 31.
#[test]
fn answers_have_the_weights_that_the_protocol_gives_them() {
    for full in [BTreeSet::new(), BTreeSet::from([1])] {
        let counts = drawn([9, 1], &full);
        for first in 0..3 {
            let [likely, unlikely] = [0, 1].map(|second| counts[&(first, second)]);
            assert!(likely.abs_diff(9_000) < 400 && unlikely.abs_diff(1_000) < 160, "{counts:?}");
        }
    }
    assert!(drawn([1, 0], &BTreeSet::new()).keys().all(|(_, second)| *second == 0), "no weight, no draw");
}
