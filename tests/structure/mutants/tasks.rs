//! Mistakes in asynchronous nodes: their byte streams and files.

use super::Mutant;

const STREAMS: &str = "guest-sdk/src/tasks/net/streams.rs";
const FILES: &str = "guest-sdk/src/tasks/fs.rs";
const CONNECTION: &str = "guest-sdk/src/tasks/net/connection.rs";

/// Random nodes over links that break.
const RANDOM: &str = "an_end_reads_what_the_other_end_of_the_same_connection_has_written";

/// Random nodes over links that do not.
const WHOLE: &str = "nothing_is_missing_on_links_that_do_not_break";

/// A mistake that a test of the SDK notices.
const fn of(
    what: &'static str,
    file: &'static str,
    [from, to]: [&'static str; 2],
    tests: &'static [&'static str],
) -> Mutant {
    Mutant { what, file, from, to, package: "guest-sdk", tests, says: "" }
}

pub(super) const MUTANTS: &[Mutant] = &[
    of(
        "bytes that are missing are no gap",
        STREAMS,
        [
            "if connection.state.borrow().received == at {",
            "if connection.state.borrow().received <= at.saturating_add(u32::MAX) {",
        ],
        &[RANDOM],
    ),
    of(
        "bytes of a former connection break the next one",
        STREAMS,
        ["(Content::Data { .. }, _, Some(Phase::Opening)) => {}", "(Content::Data { .. }, _, None) if false => {}"],
        &[WHOLE],
    ),
    of(
        "bytes arrive before the connection is open",
        STREAMS,
        [
            "(Content::Data { at, bytes, is_last }, Some(connection), Some(Phase::Open)) => {",
            "(Content::Data { at, bytes, is_last }, Some(connection), Some(Phase::Open | Phase::Opening)) => {",
        ],
        &[WHOLE],
    ),
    of(
        "a node that starts again takes its connections with it",
        STREAMS,
        ["self.fail(&former, Failure::Broken);", "self.remove(&former);"],
        &["a_new_connection_breaks_the_one_that_its_opener_has_forgotten"],
    ),
    of(
        "bytes of an unknown connection have no answer",
        STREAMS,
        ["if !bytes.0.is_empty() => self.send(key, Content::Reset)", "if !bytes.0.is_empty() => {}"],
        &["a_node_that_starts_again_does_not_know_its_connections"],
    ),
    of(
        "a segment overtakes the rest of another one",
        STREAMS,
        ["rest.bytes.append(&mut new.bytes);", "rest.bytes.splice(..0, new.bytes.drain(..));"],
        &[RANDOM],
    ),
    of(
        "the first part of a segment brings its end",
        STREAMS,
        ["state.arrive(&new.bytes, false);", "state.arrive(&new.bytes, new.is_last);"],
        &["a_split_segment_brings_its_end_with_its_rest"],
    ),
    of(
        "unread bytes do not show in a close",
        STREAMS,
        ["true => self.send(connection.key, Content::Reset),", "true => self.shut_down(connection),"],
        &["bytes_that_were_not_read_make_a_close_an_error"],
    ),
    of(
        "a break takes what has arrived",
        CONNECTION,
        ["self.rest = None;", "self.unread = Vec::new();"],
        &["a_break_is_an_error_at_each_end_that_learns_of_it"],
    ),
    of(
        "a break is an end",
        CONNECTION,
        ["Phase::Failed(failure) => Poll::Ready(Err(failure.error())),", "Phase::Failed(_) => Poll::Ready(Ok(0)),"],
        &[WHOLE, "a_break_is_an_error_at_each_end_that_learns_of_it"],
    ),
    of(
        "a broken link leaves its connections",
        STREAMS,
        ["connection.key.peer == peer;", "connection.key.peer == peer && connection.key.number > 99;"],
        &["a_break_is_an_error_at_each_end_that_learns_of_it"],
    ),
    of(
        "a read skips a byte of each block",
        FILES,
        ["content.get(from as usize..)", "content.get(from as usize + 1..)"],
        &["a_file_is_a_list_of_bytes"],
    ),
    of(
        "a write of nothing makes a file longer",
        FILES,
        ["if self.position > length && !bytes.is_empty() {", "if self.position > length {"],
        &["a_file_is_a_list_of_bytes"],
    ),
];
