//! The checker against examples of the literature, against a naive one on all small histories, and on what it promises.

use std::collections::VecDeque;

use guest_sdk::linearizability::{
    Client, ClientId, History, Log, LogCall, LogReturn, Register, RegisterCall, RegisterReturn, SequentialObject,
};

/// A queue, as in the paper of Herlihy and Wing.
struct Queue;

#[derive(Clone, Debug, PartialEq, Eq)]
enum QueueCall {
    Enqueue(char),
    Dequeue,
}

/// The result of `Dequeue`; `Enqueue` returns none.
type Dequeued = Option<char>;

impl SequentialObject for Queue {
    type State = VecDeque<char>;
    type Call = QueueCall;
    type Return = Dequeued;

    fn start(&self) -> VecDeque<char> {
        VecDeque::new()
    }

    fn apply(&self, state: &mut VecDeque<char>, call: &QueueCall) -> Dequeued {
        match call {
            QueueCall::Enqueue(item) => {
                state.push_back(*item);
                None
            }
            QueueCall::Dequeue => state.pop_front(),
        }
    }
}

/// An event of a client in a history.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Event<C, R> {
    Call(ClientId, C),
    Return(ClientId, R),
}

fn history<C: Clone, R: Clone>(events: &[Event<C, R>]) -> History<C, R> {
    let mut history = History::default();
    for event in events {
        match event.clone() {
            Event::Call(client, call) => history.call(client, call),
            Event::Return(client, value) => history.returned(client, value),
        }
    }
    history
}

/// Figure 1 of Herlihy and Wing: histories of a queue that are acceptable, and that are not.
#[test]
fn queues_of_herlihy_and_wing() {
    use Event::{Call, Return};
    use QueueCall::{Dequeue, Enqueue};
    // (a): x and y are put in at the same time, so either may be first.
    let overlapping = [Call(0, Enqueue('x')), Call(1, Enqueue('y')), Return(1, None), Return(0, None)];
    let first_y = [Call(1, Dequeue), Return(1, Some('y')), Call(0, Dequeue), Return(0, Some('x'))];
    let a = history(&[&overlapping[..], &first_y[..]].concat());
    assert_eq!(a.linearize(&Queue), Ok(vec![(1, 1), (0, 1), (1, 2), (0, 2)]));
    // (b): x is in before y is put in, and y is taken first.
    let ordered = [Call(0, Enqueue('x')), Return(0, None), Call(1, Enqueue('y')), Return(1, None)];
    let b = history(&[&ordered[..], &first_y[..2]].concat());
    assert!(b.linearize(&Queue).is_err());
    // (c): x is taken although the operation that puts it in has not returned.
    let c = history(&[Call(0, Enqueue('x')), Call(1, Dequeue), Return(1, Some('x'))]);
    assert_eq!(c.linearize(&Queue), Ok(vec![(0, 1), (1, 1)]));
    // (d): y is put in once and taken twice.
    let twice = [Call(0, Dequeue), Call(2, Dequeue), Return(0, Some('y')), Return(2, Some('y'))];
    let d = history(&[&overlapping[..], &twice[..]].concat());
    assert!(d.linearize(&Queue).is_err());
}

/// Whether some order explains the events, tried one permutation after the other, from the times of the events.
fn is_linearizable<O: SequentialObject>(object: &O, events: &[Event<O::Call, O::Return>]) -> bool {
    struct Interval<'a, O: SequentialObject> {
        call: &'a O::Call,
        called: usize,
        returned: Option<(usize, &'a O::Return)>,
    }
    fn explains<O: SequentialObject>(
        all: &[Interval<'_, O>],
        done: &mut Vec<usize>,
        object: &O,
        state: &O::State,
    ) -> bool {
        let left = || (0..all.len()).filter(|index| !done.contains(index));
        if left().all(|index| all[index].returned.is_none()) {
            return true;
        }
        let candidates: Vec<usize> = left().collect();
        candidates.into_iter().any(|next| {
            let is_late = (0..all.len())
                .filter(|index| !done.contains(index))
                .any(|other| all[other].returned.is_some_and(|(time, _)| time < all[next].called));
            let mut state = state.clone();
            let value = object.apply(&mut state, all[next].call);
            if is_late || all[next].returned.is_some_and(|(_, returned)| *returned != value) {
                return false;
            }
            done.push(next);
            let explained = explains(all, done, object, &state);
            done.pop();
            explained
        })
    }
    let mut all: Vec<(ClientId, Interval<'_, O>)> = Vec::new();
    for (time, event) in events.iter().enumerate() {
        match event {
            Event::Call(client, call) => all.push((*client, Interval { call, called: time, returned: None })),
            Event::Return(client, value) => {
                let last = all.iter_mut().rfind(|(id, _)| id == client).expect("what returns was called");
                last.1.returned = Some((time, value));
            }
        }
    }
    let all: Vec<Interval<'_, O>> = all.into_iter().map(|(_, interval)| interval).collect();
    explains(&all, &mut Vec::new(), object, &object.start())
}

/// Every sequence of this many possible calls and returns.
fn all_histories<C: Clone, R: Clone>(
    clients: u32,
    length: usize,
    calls: &[C],
    returns: impl Fn(&C) -> Vec<R>,
    check: &mut impl FnMut(&[Event<C, R>]),
) {
    fn extend<C: Clone, R: Clone>(
        events: &mut Vec<Event<C, R>>,
        pending: &mut Vec<Option<C>>,
        length: usize,
        calls: &[C],
        returns: &impl Fn(&C) -> Vec<R>,
        check: &mut impl FnMut(&[Event<C, R>]),
    ) {
        check(events);
        if events.len() == length {
            return;
        }
        for client in 0..pending.len() {
            let id = client as ClientId;
            match pending[client].clone() {
                None => {
                    for call in calls {
                        events.push(Event::Call(id, call.clone()));
                        pending[client] = Some(call.clone());
                        extend(events, pending, length, calls, returns, check);
                        pending[client] = None;
                        events.pop();
                    }
                }
                Some(call) => {
                    for value in returns(&call) {
                        events.push(Event::Return(id, value));
                        pending[client] = None;
                        extend(events, pending, length, calls, returns, check);
                        pending[client] = Some(call.clone());
                        events.pop();
                    }
                }
            }
        }
    }
    extend(&mut Vec::new(), &mut vec![None; clients as usize], length, calls, &returns, check);
}

/// Compares with the naive checker, and with the history that results if every node keeps its own operations; returns the
/// verdict.
fn agree<O>(object: &O, events: &[Event<O::Call, O::Return>]) -> bool
where
    O: SequentialObject<Call: Clone + std::fmt::Debug + PartialEq, Return: Clone + std::fmt::Debug>,
{
    let whole = history(events);
    let outcome = whole.linearize(object);
    assert_eq!(outcome.is_ok(), is_linearizable(object, events), "{events:?}: {outcome:?}");

    let mut nodes: Vec<Client<O::Call, O::Return>> = (0..3).map(Client::new).collect();
    for event in events {
        match event.clone() {
            Event::Call(client, call) => nodes[client as usize].call(call),
            Event::Return(client, value) => {
                let completed = nodes[client as usize].returned(value);
                nodes.iter_mut().for_each(|node| node.learn(client, completed));
            }
        }
    }
    let parts = (0..).zip(nodes).map(|(id, node)| (id, node.operations().to_vec()));
    let united = History::of(parts);
    assert_eq!(format!("{united:?}"), format!("{whole:?}"));

    // The order that is found is one: it has every complete operation, and a sequential object returns the same.
    if let Ok(order) = &outcome {
        let mut state = object.start();
        for (client, number) in order {
            let operation = &whole.operations(*client)[number - 1];
            let value = object.apply(&mut state, operation.call());
            assert!(operation.returned().is_none_or(|returned| *returned == value), "{events:?}: {order:?}");
        }
        let complete = (0..3).flat_map(|client| whole.operations(client)).filter(|one| one.returned().is_some());
        assert!(complete.count() <= order.len(), "{events:?}: {order:?}");
    }
    outcome.is_ok()
}

#[test]
fn registers_agree_with_the_naive_checker() {
    use RegisterCall::{Read, Write};
    let mut counts = [0u32; 2];
    for (clients, length) in [(2, 7), (3, 6)] {
        let returns = |call: &RegisterCall<u8>| match call {
            Read => vec![RegisterReturn::Value(0), RegisterReturn::Value(1)],
            Write(_) => vec![RegisterReturn::Written],
        };
        all_histories(clients, length, &[Read, Write(1)], returns, &mut |events| {
            counts[usize::from(agree(&Register(0), events))] += 1;
        });
    }
    assert!(counts.iter().all(|count| *count > 1_000), "both kinds are tried: {counts:?}");
}

#[test]
fn logs_agree_with_the_naive_checker() {
    use LogCall::{Append, Read};
    let mut counts = [0u32; 2];
    let returns = |call: &LogCall<u8>| match call {
        Append(_) => vec![LogReturn::Appended(0), LogReturn::Appended(1)],
        Read => vec![LogReturn::Entries(vec![]), LogReturn::Entries(vec![1]), LogReturn::Entries(vec![2, 1])],
    };
    all_histories(2, 6, &[Append(1), Append(2), Read], returns, &mut |events| {
        counts[usize::from(agree(&Log::default(), events))] += 1;
    });
    assert!(counts.iter().all(|count| *count > 1_000), "both kinds are tried: {counts:?}");
}

/// An order that no client observes does not distinguish states, so states that keep a history stay few.
#[test]
fn histories_with_the_same_order_are_equal() {
    use Event::{Call, Return};
    use RegisterCall::{Read, Write};
    let [w, r] = [Call(0, Write(1)), Call(1, Read)];
    let [written, read] = [Return(0, RegisterReturn::Written), Return(1, RegisterReturn::Value(1))];
    let orders = [
        [w.clone(), r.clone(), written.clone(), read.clone()],
        [r.clone(), w.clone(), written.clone(), read.clone()],
        [r, w, read, written],
    ];
    let [first, second, third] = orders.each_ref().map(|events| history(events));
    assert_eq!((&first, &second), (&second, &third));
}

/// Ten writes at the same time have 10! orders, 3,628,800, and the read fits in none: each would be tried up to 11 times.
/// Sets of writes with the last value written are only 10 * 2^9.
#[test]
fn what_was_tried_is_remembered() {
    let mut history = History::default();
    (0..10).for_each(|client| history.call(client, RegisterCall::Write(client)));
    history.call(10, RegisterCall::Read);
    (0..10).for_each(|client| history.returned(client, RegisterReturn::Written));
    history.returned(10, RegisterReturn::Value(99));
    let outcome = history.linearize(&Register(0)).expect_err("99 was never written");
    assert_eq!(outcome.longest().len(), 10);
}

#[test]
fn the_error_shows_the_operations() {
    use RegisterReturn::{Value, Written};
    let mut history = History::default();
    history.call(0, RegisterCall::Write(1));
    history.call(1, RegisterCall::Read);
    history.returned(1, Value(1));
    history.call(1, RegisterCall::Read);
    history.returned(1, Value(0));
    assert_eq!(
        history.linearize(&Register(0)).expect_err("new, then old").to_string(),
        "no order of the operations explains what they returned: 0.1 Write(1) (pending); 1.1 Read -> Value(1); \
         1.2 Read -> Value(0); nothing fits after 0.1, 1.1"
    );
    let mut other = History::default();
    other.call(2, RegisterCall::Write(1));
    other.returned(2, Written);
    other.call(1, RegisterCall::Read);
    other.returned(1, Value(0));
    assert_eq!(
        other.linearize(&Register(0)).expect_err("the old value").to_string(),
        "no order of the operations explains what they returned: 1.1 Read -> Value(0) after 2.1; \
         2.1 Write(1) -> Written; nothing fits after 2.1"
    );
}

#[test]
fn a_client_goes_through_its_program() {
    let program = [RegisterCall::Write(1), RegisterCall::Read];
    let mut history: History<RegisterCall<u8>, RegisterReturn<u8>> = History::default();
    assert_eq!(history.next_of(0, &program), Some(&program[0]));
    history.call(0, program[0]);
    assert_eq!((history.next_of(0, &program), history.next_of(1, &program)), (None, Some(&program[0])));
    history.returned(0, RegisterReturn::Written);
    assert_eq!(history.next_of(0, &program), Some(&program[1]));
    history.call(0, program[1]);
    history.returned(0, RegisterReturn::Value(1));
    assert_eq!(history.next_of(0, &program), None);
}

#[test]
#[should_panic(expected = "client 4 calls before its last operation has returned")]
fn clients_are_sequential() {
    let mut history: History<RegisterCall<u8>, RegisterReturn<u8>> = History::default();
    history.call(4, RegisterCall::Read);
    history.call(4, RegisterCall::Read);
}

#[test]
#[should_panic(expected = "client 4 has no operation that could return")]
fn what_returns_was_called() {
    let mut history: History<RegisterCall<u8>, RegisterReturn<u8>> = History::default();
    history.returned(4, RegisterReturn::Written);
}
