//! Histories in scripts, and a naive judge of them: by trying all orders.

use guest_sdk::linearizability::{LogCall, LogReturn, RegisterCall, RegisterReturn, SequentialObject};
use serde_json::Value;

/// One call in a script: its begin and its end, its client, the operation and its result.
pub struct Span<C, R> {
    began: usize,
    ended: Option<usize>,
    id: (u32, usize),
    call: C,
    returned: Option<R>,
}

/// The spans of the operations that `read` understands.
pub fn spans<C, R>(script: &[Value], read: impl Fn(&str, &Value) -> Option<Result<C, R>>) -> Vec<Span<C, R>> {
    let mut spans: Vec<Span<C, R>> = Vec::new();
    for (now, operation) in script.iter().enumerate() {
        let client = operation[1].as_u64().unwrap_or_default() as u32;
        match read(operation[0].as_str().expect("a name"), &operation[2]) {
            Some(Ok(call)) => {
                let number = spans.iter().filter(|span| span.id.0 == client).count() + 1;
                spans.push(Span { began: now, ended: None, id: (client, number), call, returned: None });
            }
            Some(Err(result)) => {
                let open = spans.iter_mut().find(|span| span.id.0 == client && span.ended.is_none());
                let open = open.expect("a call that has not returned");
                (open.ended, open.returned) = (Some(now), Some(result));
            }
            None => {}
        }
    }
    spans
}

/// Whether an order of all that has returned, and of some that has not, explains it: by trying all of them.
pub fn is_linearizable<O>(object: &O, spans: &[Span<O::Call, O::Return>]) -> bool
where
    O: SequentialObject,
{
    fn extends<O: SequentialObject>(
        object: &O,
        spans: &[Span<O::Call, O::Return>],
        taken: &mut Vec<usize>,
        state: &O::State,
    ) -> bool {
        let left = |place: &usize| !taken.contains(place);
        if !(0..spans.len()).filter(left).any(|place| spans[place].ended.is_some()) {
            return true;
        }
        let left: Vec<usize> = (0..spans.len()).filter(left).collect();
        left.iter().any(|&place| {
            let comes_after = |other: &&usize| spans[**other].ended.is_some_and(|ended| ended < spans[place].began);
            let mut state = state.clone();
            let value = object.apply(&mut state, &spans[place].call);
            let fits = spans[place].returned.as_ref().is_none_or(|returned| *returned == value);
            taken.push(place);
            let found = fits && !left.iter().any(|other| comes_after(&other)) && extends(object, spans, taken, &state);
            taken.pop();
            found
        })
    }
    extends(object, spans, &mut Vec::new(), &object.start())
}

/// Whether an order explains a history as claimed.
pub fn explains<O: SequentialObject>(object: &O, spans: &[Span<O::Call, O::Return>], order: &Value) -> bool {
    let order: Vec<(u32, usize)> = serde_json::from_value(order.clone()).expect("an order");
    let mut state = object.start();
    let places: Vec<usize> =
        order.iter().map(|id| spans.iter().position(|span| span.id == *id).expect("it is called")).collect();
    let keeps_time = (0..places.len()).all(|at| {
        let ended = |place: &usize| spans[*place].ended;
        places[at + 1..].iter().all(|later| ended(later).is_none_or(|ended| ended > spans[places[at]].began))
    });
    let fits = places.iter().all(|place| {
        let value = object.apply(&mut state, &spans[*place].call);
        spans[*place].returned.as_ref().is_none_or(|returned| *returned == value)
    });
    let is_complete = (0..spans.len()).all(|place| spans[place].ended.is_none() || places.contains(&place));
    keeps_time && fits && is_complete
}

pub fn on_register(name: &str, value: &Value) -> Option<Result<RegisterCall<u64>, RegisterReturn<u64>>> {
    let number = value.as_u64();
    Some(match name {
        "call-read" => Ok(RegisterCall::Read),
        "call-write" => Ok(RegisterCall::Write(number?)),
        "return-value" => Err(RegisterReturn::Value(number?)),
        "return-written" => Err(RegisterReturn::Written),
        _ => return None,
    })
}

pub fn on_log(name: &str, value: &Value) -> Option<Result<LogCall<u64>, LogReturn<u64>>> {
    Some(match name {
        "call-list" => Ok(LogCall::Read),
        "call-append" => Ok(LogCall::Append(value.as_u64()?)),
        "return-appended" => Err(LogReturn::Appended(value.as_u64()? as u32)),
        "return-entries" => {
            let entries: Option<Vec<u64>> = value.as_array()?.iter().map(Value::as_u64).collect();
            Err(LogReturn::Entries(entries?))
        }
        _ => return None,
    })
}
