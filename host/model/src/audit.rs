//! Audits: whether a protocol keeps what it promises, on which the search rests.
//!
//! While handlers run, some of what they did is written down, chosen by the fingerprint of the state that they led to: no
//! clock and no order of workers decides, as long as the search ends by itself. Afterwards it is tried again in other ways. Four promises are looked at:
//!
//! 1. a handler does the same when it runs again from the same memory;
//! 2. states with equal bytes and different memory behave alike, else `serialize` leaves something out;
//! 3. `invariant` reads nothing but the views that it is given, else a `view` leaves something out;
//! 4. an idempotent handler does not leak memory: one that changes nothing can run for ever without taking more.

use std::cmp::Ordering as Order;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::contract::fingerprint::Fingerprint;
use crate::contract::{
    Effects, Fault, Input, LocalEvent, Machine, MachineError, MachineFactory, NodeId, Property, Snapshot, Stopped,
};

/// How much is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    Off,
    /// The 128 local states with the least fingerprints: a sample by content, at a cost that does not grow with the search.
    #[default]
    Sampled,
    /// Every local state.
    Full,
}

/// Messages of a node that each of its states is tried with.
const MESSAGES_MAX: usize = 16;
/// Ways to a state that are tried again.
const WAYS_MAX: usize = 4;
/// States that make a sample.
const SAMPLE: usize = 128;
/// Questions to `invariant` that are asked again.
const QUESTIONS_MAX: usize = 64;
/// How often a handler that changes nothing is repeated.
const REPETITIONS: usize = 64;
/// How often at most, while it takes more memory each time the number doubles: languages that collect garbage let some of it
/// lie for a while.
const REPETITIONS_MAX: usize = 8192;
/// Bytes that such a handler may take in all without a word.
const GROWTH_MAX: usize = 2048;

/// Bytes that it may take each time without a word, in the long run: the runtimes of some languages lose the room of each
/// result, which the author of a plugin cannot help. A path of a million events fits into the default limit all the same.
const LOSS_MAX: usize = 256;

/// What is written down during a search.
#[derive(Debug)]
pub(crate) struct Audit {
    mode: Mode,
    /// The upper half of the greatest fingerprint that still belongs to the sample. Only ever falls, so who reads an old
    /// value writes down too much, which is thrown away again.
    greatest: AtomicU64,
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
struct Notes {
    states: BTreeMap<Fingerprint, State>,
    questions: BTreeSet<(u32, Vec<Option<Vec<u8>>>)>,
}

/// A local state with two of the memories that stand for it: the least and the greatest, so that it does not matter
/// which came first.
#[derive(Debug)]
struct State {
    node: NodeId,
    encoding: Vec<u8>,
    least: Kept,
    greatest: Kept,
    ways: BTreeSet<Way>,
}

/// A handler execution that led to a state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    cause: Cause,
    script: Vec<u32>,
    from: Kept,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Message(NodeId, Vec<u8>),
    Quorum(String, Vec<(NodeId, Vec<u8>)>),
    Local(LocalEvent),
}

/// A snapshot that compares by content.
#[derive(Clone, Debug)]
struct Kept(Snapshot);

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.0.words() == other.0.words()
    }
}

impl Eq for Kept {}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> Order {
        self.0.words().cmp(other.0.words())
    }
}

impl Cause {
    fn input(&self) -> Input<'_> {
        match self {
            Self::Message(src, payload) => Input::Message { src: *src, payload },
            Self::Quorum(name, messages) => Input::Quorum { name, messages },
            Self::Local(event) => Input::Local(event),
        }
    }

    fn function(&self) -> &'static str {
        match self {
            Self::Message(..) => "handle-message",
            Self::Quorum(..) => "handle-quorum",
            Self::Local(_) => "handle-local",
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Message(src, payload) => write!(f, "the message {} from node {src}", hex(payload)),
            Self::Quorum(name, messages) => {
                let messages: Vec<String> =
                    messages.iter().map(|(src, payload)| format!("{} from node {src}", hex(payload))).collect();
                write!(f, "the quorum `{name}` of the messages {}", messages.join(", "))
            }
            Self::Local(event) => write!(f, "the local event `{}` ({})", event.name, hex(&event.payload)),
        }
    }
}

/// A promise that is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which promise, in a phrase.
    pub promise: &'static str,
    /// The function of the plugin.
    pub function: String,
    /// At which node, in which state, on what.
    pub place: String,
    /// What it did one time.
    pub one: String,
    /// What it did another time.
    pub other: String,
    /// What is probably wrong.
    pub cause: &'static str,
}

/// What an audit looked at, and what it found: at most one broken promise of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audited {
    /// Why it ended early: what it did not find may be broken all the same. None if it looked at everything.
    pub stopped: Option<Stopped>,
    /// Local states.
    pub states: usize,
    /// Of these, reached with different memories.
    pub ambiguous: usize,
    /// What is broken.
    pub broken: Vec<Broken>,
}

impl Audit {
    pub(crate) fn new(mode: Mode) -> Self {
        Self { mode, greatest: AtomicU64::new(u64::MAX), notes: Mutex::default() }
    }

    /// Whether a state is to be written down.
    pub(crate) fn wants(&self, fingerprint: Fingerprint) -> bool {
        match self.mode {
            Mode::Off => false,
            Mode::Sampled => (fingerprint >> 64) as u64 <= self.greatest.load(Ordering::Relaxed),
            Mode::Full => true,
        }
    }

    /// Writes down a state, and how it was reached.
    pub(crate) fn note(
        &self,
        (node, fingerprint, encoding): (NodeId, Fingerprint, &[u8]),
        snapshot: Snapshot,
        from: Option<&Snapshot>,
        (input, script): (Input<'_>, &[u32]),
    ) {
        let cause = match input {
            Input::Message { src, payload } => Some(Cause::Message(src, payload.to_vec())),
            Input::Quorum { name, messages } => Some(Cause::Quorum(name.to_owned(), messages.to_vec())),
            Input::Local(event) => Some(Cause::Local(event.clone())),
            Input::Init { .. } | Input::TransportError { .. } => None,
        };
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = Kept(snapshot);
        let fresh = || State {
            node,
            encoding: encoding.to_vec(),
            least: kept.clone(),
            greatest: kept.clone(),
            ways: BTreeSet::new(),
        };
        let state = notes.states.entry(fingerprint).or_insert_with(fresh);
        if kept < state.least {
            state.least = kept;
        } else if kept > state.greatest {
            state.greatest = kept;
        }
        if let (Some(cause), Some(from)) = (cause, from) {
            insert(&mut state.ways, Way { cause, script: script.to_vec(), from: Kept(from.clone()) }, WAYS_MAX);
        }
        if self.mode == Mode::Sampled && notes.states.len() > SAMPLE {
            // Whoever goes now has 128 lesser ones, and they stay: it can never come back.
            notes.states.pop_last();
            if let Some((last, _)) = notes.states.last_key_value() {
                self.greatest.store((last >> 64) as u64, Ordering::Relaxed);
            }
        }
    }

    /// Writes down a question to `invariant`.
    pub(crate) fn ask(&self, property: u32, views: &[Option<&[u8]>]) {
        if self.mode != Mode::Off {
            let views = views.iter().map(|view| view.map(<[u8]>::to_vec)).collect();
            let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
            insert(&mut notes.questions, (property, views), QUESTIONS_MAX);
        }
    }

    /// Tries everything that was written down.
    pub(crate) fn check(&self, factory: &dyn MachineFactory, properties: &[Property]) -> Result<Audited, MachineError> {
        let mut audited = Audited::default();
        match self.try_all(factory, properties, &mut audited) {
            Err(MachineError::Stopped(stopped)) => audited.stopped = Some(stopped),
            result => result?,
        }
        Ok(audited)
    }

    fn try_all(
        &self,
        factory: &dyn MachineFactory,
        properties: &[Property],
        audited: &mut Audited,
    ) -> Result<(), MachineError> {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut machine = factory.machine()?;
        let machine = &mut *machine;
        let messages = notes.messages();
        let none = BTreeSet::new();
        for state in notes.states.values() {
            audited.ambiguous += usize::from(state.least != state.greatest);
            let messages = messages.get(&state.node).unwrap_or(&none);
            audited.add(|| repeated(machine, state))?;
            audited.add(|| ambiguous(machine, state, messages, properties.len()))?;
            audited.add(|| growing(machine, state))?;
            audited.states += 1;
        }
        for (property, views) in &notes.questions {
            for state in notes.states.values().take(4) {
                audited.add(|| impure(machine, state, *property, views, properties))?;
            }
        }
        Ok(())
    }
}

impl Notes {
    /// Some messages of each node: those that led to a state of the sample.
    fn messages(&self) -> BTreeMap<NodeId, BTreeSet<(NodeId, Vec<u8>)>> {
        let mut messages: BTreeMap<NodeId, BTreeSet<(NodeId, Vec<u8>)>> = BTreeMap::new();
        for state in self.states.values() {
            for way in &state.ways {
                if let Cause::Message(src, payload) = &way.cause {
                    insert(messages.entry(state.node).or_default(), (*src, payload.clone()), MESSAGES_MAX);
                }
            }
        }
        messages
    }
}

impl Audited {
    /// Adds what a check finds, unless there is one of its kind.
    fn add(&mut self, check: impl FnOnce() -> Result<Option<Broken>, MachineError>) -> Result<(), MachineError> {
        if let Some(broken) = check()?
            && !self.broken.iter().any(|known| known.promise == broken.promise)
        {
            self.broken.push(broken);
        }
        Ok(())
    }
}

/// Keeps the least elements.
fn insert<T: Ord>(set: &mut BTreeSet<T>, element: T, max: usize) {
    if set.len() >= max && set.last().is_some_and(|last| *last <= element) {
        return;
    }
    set.insert(element);
    if set.len() > max {
        set.pop_last();
    }
}

/// What a handler did.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    effects: Effects,
    end: Result<Vec<u8>, Fault>,
}

impl Seen {
    fn of(machine: &mut dyn Machine, from: &Snapshot, cause: &Cause, script: &[u32]) -> Result<Self, MachineError> {
        machine.restore(Some(from))?;
        let mut effects = Effects::default();
        let end = machine.handle(cause.input(), script, &mut effects).and_then(|()| machine.serialize());
        Ok(Self { effects, end })
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for envelope in &self.effects.sent {
            write!(f, "sends {} to node {}, ", hex(&envelope.payload), envelope.to)?;
        }
        for choice in &self.effects.choices {
            write!(f, "chooses {} of {}, ", choice.picked, choice.alternatives)?;
        }
        match &self.end {
            Ok(state) => write!(f, "ends in the state {}", hex(state)),
            Err(fault) => write!(f, "fails: {fault}"),
        }
    }
}

/// Promise 1.
fn repeated(machine: &mut dyn Machine, state: &State) -> Result<Option<Broken>, MachineError> {
    for way in &state.ways {
        let one = Seen::of(machine, &way.from.0, &way.cause, &way.script)?;
        let other = Seen::of(machine, &way.from.0, &way.cause, &way.script)?;
        if one != other || one.end.as_ref() != Ok(&state.encoding) {
            let recorded = format!("ended in the state {}", hex(&state.encoding));
            return Ok(Some(Broken {
                promise: "the same again",
                function: way.cause.function().to_owned(),
                place: format!("node {}, on {}", state.node, way.cause),
                one: if one == other { recorded } else { one.to_string() },
                other: other.to_string(),
                cause: "it depends on something that is no part of the state and of its arguments",
            }));
        }
    }
    Ok(None)
}

/// Promise 2.
fn ambiguous(
    machine: &mut dyn Machine,
    state: &State,
    messages: &BTreeSet<(NodeId, Vec<u8>)>,
    properties: usize,
) -> Result<Option<Broken>, MachineError> {
    if state.least == state.greatest {
        return Ok(None);
    }
    let broken = |function: &str, on: &str, one: String, other: String| Broken {
        promise: "equal bytes, equal behaviour",
        function: function.to_owned(),
        place: format!("node {}, in two states with the bytes {}{on}", state.node, hex(&state.encoding)),
        one,
        other,
        cause: "`serialize` leaves out state that this function reads",
    };
    let mut questions: Vec<(&str, Vec<String>)> = Vec::new();
    let mut events = Vec::new();
    for kept in [&state.least, &state.greatest] {
        machine.restore(Some(&kept.0))?;
        let listed = machine.local_events();
        let shown = match &listed {
            Ok(listed) => format!(
                "lists {}",
                listed
                    .iter()
                    .map(|event| format!("`{}` ({})", event.name, hex(&event.payload)))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            Err(fault) => format!("fails: {fault}"),
        };
        events = listed.unwrap_or_default();
        push(&mut questions, "local-events", shown);
        for property in 0..properties as u32 {
            machine.restore(Some(&kept.0))?;
            push(&mut questions, "view", format!("of property {property}: {:?}", machine.view(property)));
        }
    }
    for (function, answers) in questions {
        let (one, other) = answers.split_at(answers.len() / 2);
        if let Some((one, other)) = one.iter().zip(other).find(|(one, other)| one != other) {
            return Ok(Some(broken(function, "", one.clone(), other.clone())));
        }
    }
    let messages = messages.iter().map(|(src, payload)| Cause::Message(*src, payload.clone()));
    for cause in messages.chain(events.into_iter().map(Cause::Local)) {
        let one = Seen::of(machine, &state.least.0, &cause, &[])?;
        let other = Seen::of(machine, &state.greatest.0, &cause, &[])?;
        if one != other {
            let on = format!(", on {cause}");
            return Ok(Some(broken(cause.function(), &on, one.to_string(), other.to_string())));
        }
    }
    Ok(None)
}

fn push(questions: &mut Vec<(&'static str, Vec<String>)>, function: &'static str, answer: String) {
    match questions.iter_mut().find(|(known, _)| *known == function) {
        Some((_, answers)) => answers.push(answer),
        None => questions.push((function, vec![answer])),
    }
}

/// Promise 3.
fn impure(
    machine: &mut dyn Machine,
    state: &State,
    property: u32,
    views: &[Option<Vec<u8>>],
    properties: &[Property],
) -> Result<Option<Broken>, MachineError> {
    let views: Vec<Option<&[u8]>> = views.iter().map(Option::as_deref).collect();
    let mut answers = Vec::new();
    for from in [None, Some(&state.least.0)] {
        machine.restore(from)?;
        answers.push(match machine.invariant(property, &views) {
            Ok(Ok(())) => "it holds".to_owned(),
            Ok(Err(why)) => format!("it does not hold: {why}"),
            Err(fault) => format!("fails: {fault}"),
        });
    }
    let (other, one) = (answers.pop().unwrap_or_default(), answers.pop().unwrap_or_default());
    if one == other {
        return Ok(None);
    }
    Ok(Some(Broken {
        promise: "an invariant reads its views alone",
        function: "invariant".to_owned(),
        place: format!(
            "property `{}`, asked before `init` and in the state {} of node {}",
            properties[property as usize].name,
            hex(&state.encoding),
            state.node
        ),
        one,
        other,
        cause: "it reads the state of the node that it is asked at; `view` must contain all that it needs",
    }))
}

/// Promise 4. Only handlers that lead back to where they began are repeated: others may well need more memory.
fn growing(machine: &mut dyn Machine, state: &State) -> Result<Option<Broken>, MachineError> {
    for way in &state.ways {
        machine.restore(Some(&way.from.0))?;
        if machine.serialize().as_ref() != Ok(&state.encoding) {
            continue;
        }
        machine.restore(Some(&way.from.0))?;
        let mut sizes = vec![way.from.0.bytes()];
        let mut effects = Effects::default();
        for repetition in 1..=REPETITIONS {
            machine.ask_stop()?;
            if machine.handle(way.cause.input(), &way.script, &mut effects).is_err() {
                break;
            }
            if repetition % (REPETITIONS / 4) == 0 {
                sizes.push(machine.capture().bytes());
            }
        }
        let grows = sizes.len() == 5 && sizes.windows(2).skip(1).all(|pair| pair[0] < pair[1]);
        if !grows || sizes[4] <= sizes[0] + GROWTH_MAX {
            continue;
        }
        if let Some((repetitions, last)) = keeps_growing(machine, way, sizes[0], sizes[4])? {
            return Ok(Some(Broken {
                promise: "memory does not grow without end",
                function: way.cause.function().to_owned(),
                place: format!(
                    "node {}, on {} again and again, in the state {}",
                    state.node,
                    way.cause,
                    hex(&state.encoding)
                ),
                one: format!("a snapshot of {} bytes", sizes[0]),
                other: format!("after {repetitions} times, in a state with the same bytes, one of {last} bytes"),
                cause: "it allocates and never frees, or collects what nobody reads",
            }));
        }
    }
    Ok(None)
}

/// Repeats a handler that has taken more and more memory so far. Returns how often it was executed and the size of the last
/// snapshot if that goes on; none if it comes to an end.
fn keeps_growing(
    machine: &mut dyn Machine,
    way: &Way,
    first: usize,
    size: usize,
) -> Result<Option<(usize, usize)>, MachineError> {
    let mut effects = Effects::default();
    let (mut repetitions, mut last) = (REPETITIONS, size);
    'repeated: while repetitions < REPETITIONS_MAX {
        for _ in 0..repetitions {
            machine.ask_stop()?;
            // A fault, here, is that of a guest without memory.
            if machine.handle(way.cause.input(), &way.script, &mut effects).is_err() {
                break 'repeated;
            }
        }
        repetitions *= 2;
        let size = machine.capture().bytes();
        // What is lost in each call doubles what was lost so far. Less than half of that is a heap that settles.
        if size.saturating_sub(last) < last.saturating_sub(first) / 2 {
            return Ok(None);
        }
        last = size;
    }
    let is_much = last.saturating_sub(first) > LOSS_MAX * repetitions;
    Ok(is_much.then_some((repetitions, last)))
}

/// The first bytes.
fn hex(bytes: &[u8]) -> String {
    const MAX: usize = 32;
    let digits: String = bytes.iter().take(MAX).map(|byte| format!("{byte:02x}")).collect();
    match bytes.len() {
        0 => "(empty)".to_owned(),
        length if length > MAX => format!("{digits}... ({length} bytes)"),
        _ => digits,
    }
}
