//! The properties.

use guest_sdk::Properties;
use serde::{Deserialize, Serialize};

use crate::{Read, Reader, RegularStorage, State, Version, Writer};

/// The contribution of one node to a property of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Part {
    /// The last write begun, or completed.
    Write(Version),
    /// The value that a read has returned.
    Returned(Version),
    /// The value that an object keeps.
    Kept(Version),
}

pub(crate) fn properties(claims: &mut Properties<RegularStorage>) {
    // A read that begins after the end of a write returns this or a newer one.
    claims.always("regular").node(
        |_, state| returned(state),
        |&(floor, value)| match value >= floor {
            true => Ok(()),
            false => Err(format!("write {floor} was complete before a read that returns {value}")),
        },
    );
    claims.always("only-written").system(
        |_, state| match state {
            State::Writer(writer) => Some(Part::Write(writer.begun)),
            State::Reader(_) => returned(state).map(|(_, value)| Part::Returned(value)),
            State::Object(_) => None,
        },
        only_written,
    );
    claims.always("stored-by-majority").system(
        |_, state| match state {
            State::Writer(Writer { complete, .. }) => Some(Part::Write(*complete)),
            State::Reader(_) => None,
            State::Object(value) => Some(Part::Kept(*value)),
        },
        stored_by_majority,
    );
    claims.sometimes("write-is-read").node(|_, state| returned(state).filter(|(_, value)| *value > 0), |_| Ok(()));
    claims
        .sometimes("read-knows-of-write")
        .node(|_, state| returned(state).filter(|(floor, _)| *floor > 0), |_| Ok(()));
    // Objects wait for nothing, nor does a reader that has forgotten in a reset that it waits.
    claims.eventually("answered").node(
        |_, state| {
            Some(match state {
                State::Writer(writer) => writer.acks.is_some(),
                State::Reader(reader) => matches!(reader.read, Some(Read::Waiting { .. })),
                State::Object(_) => false,
            })
        },
        |waits| match waits {
            false => Ok(()),
            true => Err("the node waits for a majority of objects".to_owned()),
        },
    );
}

/// The value known to be complete before a read, and the value that it returned.
fn returned(state: &State) -> Option<(Version, Version)> {
    match state {
        State::Reader(Reader { read: Some(Read::Returned { floor, value }), .. }) => Some((*floor, *value)),
        _ => None,
    }
}

fn only_written(parts: &[Option<Part>]) -> Result<(), String> {
    let Some(Part::Write(begun)) = parts[0] else { unreachable!("node 0 writes") };
    match parts.iter().position(|part| matches!(part, Some(Part::Returned(value)) if *value > begun)) {
        Some(reader) => Err(format!("node {reader} has read what is not written yet; write {begun} is the last")),
        None => Ok(()),
    }
}

fn stored_by_majority(parts: &[Option<Part>]) -> Result<(), String> {
    let Some(Part::Write(complete)) = parts[0] else { unreachable!("node 0 writes") };
    let kept = || parts.iter().filter_map(|part| if let Some(Part::Kept(value)) = part { Some(value) } else { None });
    let (with, of) = (kept().filter(|value| **value >= complete).count(), kept().count());
    match 2 * with > of {
        true => Ok(()),
        false => Err(format!("write {complete} is complete, and {with} of {of} objects have it")),
    }
}
