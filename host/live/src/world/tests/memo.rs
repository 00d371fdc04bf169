//! The machine that looks handlers up, compared with the one that runs them.

use std::sync::{Arc, Mutex};

use host_model::contract::aspects::{Durable, Neighbourhood, Quorums, Timing, Transfer};
use host_model::contract::{DurableState, Effects, Input, LocalEvent, Machine, MachineFactory, Snapshot, StateOwner};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::Toy;
use host_search::kernel::dice::{below, dice};
use rand_chacha::ChaCha8Rng;

use super::seeds;
use crate::world::{Memo, Memory};

const NODES: u32 = 3;

/// A machine that looks handlers up, and one that runs them, in the same state of a node.
struct Twins<'m, 'l> {
    node: u32,
    memo: Memo<'m, 'l>,
    machine: Box<dyn Machine>,
    durable: Option<DurableState>,
    /// Earlier states of both, to return to.
    captured: Vec<(Snapshot, Snapshot)>,
}

impl Twins<'_, '_> {
    /// Runs a handler in both. Returns whether they are in a state then.
    fn handle(&mut self, input: Input<'_>, script: &[u32]) -> bool {
        let (mut looked_up, mut run) = (Effects::default(), Effects::default());
        let found = self.memo.handle(input, script, &mut looked_up);
        assert_eq!(found, self.machine.handle(input, script, &mut run), "{input:?}");
        assert_eq!(looked_up, run, "{input:?}");
        self.memo.confirm_fault().expect("it is the guest's");
        found.is_ok() && self.compare()
    }

    /// Compares everything that a node reads of a state. Returns whether it is one.
    fn compare(&mut self) -> bool {
        let Self { node, memo, machine, .. } = self;
        let (encoding, events) = (memo.serialize(), memo.local_events());
        assert_eq!((&encoding, &events), (&machine.serialize(), &machine.local_events()));
        assert_eq!(memo.persist(), machine.persist());
        let machine: &mut dyn Machine = &mut **machine;
        self.durable = (memo as &mut dyn Machine).durable_state().expect("toys say so");
        assert_eq!(Ok(&self.durable), machine.durable_state().as_ref());
        let Ok(events) = events else { return false };
        for event in &events {
            assert_eq!(memo.duration(event), machine.duration(event));
        }
        assert_eq!((memo.neighbours(), memo.view(0)), (machine.neighbours(), machine.view(0)));
        assert_eq!(memo.takes_quorums(), machine.takes_quorums());
        let here = (memo.capture(), machine.capture());
        let owner = StateOwner { node: *node, nodes: NODES, config: "" };
        let exported = memo.export(&here.0, owner).expect("toys do so");
        assert_eq!(Ok(&exported), machine.export(&here.1, owner).as_ref());
        let again = memo.import(&exported, owner).expect("it is a state of the toy");
        memo.restore(Some(&again)).expect("it is native");
        assert_eq!(memo.serialize(), encoding);
        self.captured.push(here);
        self.go_to(self.captured.len() - 1);
        true
    }

    fn go_to(&mut self, place: usize) {
        let (of_memo, of_machine) = &self.captured[place];
        self.memo.restore(Some(of_memo)).expect("it is native");
        self.machine.restore(Some(of_machine)).expect("it is native");
    }

    /// Takes a random step, or returns to an earlier state.
    fn happen(&mut self, dice: &mut ChaCha8Rng) {
        let some = |dice: &mut ChaCha8Rng, bound: usize| below(dice, bound as u64) as usize;
        let place = some(dice, self.captured.len());
        self.go_to(place);
        let script: Vec<u32> = (0..some(dice, 3)).map(|_| 0).collect();
        let events: Vec<LocalEvent> = self.machine.local_events().expect("toys say so");
        let payload = [below(dice, 6) as u8];
        match below(dice, 3) {
            0 if !events.is_empty() => self.handle(Input::Local(&events[some(dice, events.len())]), &script),
            _ => self.handle(Input::Message { src: below(dice, NODES.into()) as u32, payload: &payload }, &script),
        };
    }
}

fn init(node: u32, durable: Option<&DurableState>) -> Input<'_> {
    Input::Init { node, nodes: NODES, config: "", durable }
}

/// Both machines do the same on any input, in any state and with any answers, also across starts.
#[test]
fn looking_a_handler_up_is_running_it() {
    let mut answered = 0;
    for seed in 0..120 {
        let toy = match seed % 4 {
            0 => Toy::random(seed, NODES).with_random_starts(seed),
            1 => Toy::random(seed, NODES).with_random_traps(seed),
            2 => Toy::random_busy(seed, NODES).with_random_draws(seed),
            _ => Toy::random_busy(seed, NODES),
        };
        let toy = Arc::new(toy.with_random_durable(seed).in_medium(seeds::medium(seed)));
        let faults = Faults { resets: 3, ..Faults::default() };
        let scenario = Scenario { network: Network::Unordered, faults, ..Scenario::new(NODES) };
        let lts = Lts::new(&toy, scenario).expect("it is native");
        let memory = Memory::new(Stepper::new(&lts).expect("it is native"), &toy).expect("it is native");
        let memory = Mutex::new(memory);
        let mut dice = dice(seed, 1);
        for node in 0..NODES {
            let mut durable: Option<DurableState> = None;
            for start in 0..3 {
                let machine = toy.machine().expect("it is native");
                let mut twins = Twins { node, memo: Memo::new(&memory, node), machine, durable, captured: Vec::new() };
                let kept = twins.durable.clone();
                twins.memo.restore(None).expect("it is native");
                twins.machine.restore(None).expect("it is native");
                let mut effects = Effects::default();
                twins.machine.handle(init(node, kept.as_ref()), &[], &mut effects).expect("toys start");
                let answers = effects.choices.first().map_or(1, |choice| choice.alternatives);
                twins.machine.restore(None).expect("it is native");
                answered += u64::from(answers > 1);
                let script = [below(&mut dice, answers.into()) as u32];
                if !twins.handle(init(node, kept.as_ref()), &script) {
                    break;
                }
                // The durable state depends on where the start ended.
                for _ in 0..if start < 2 { 20 } else { 5 } {
                    twins.happen(&mut dice);
                }
                let last = twins.captured.len() - 1;
                twins.go_to(last);
                durable = (&mut twins.memo as &mut dyn Machine).durable_state().expect("toys say so");
                let (captured, _) = &twins.captured[last];
                memory.lock().expect("it is asked by one").end(node, captured);
            }
        }
    }
    assert!(answered > 10, "{answered} starts have a choice");
}
