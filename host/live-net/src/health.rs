//! The probes of a node at its ports for clients and for metrics, as container platforms ask them.
//!
//! A probe answers with 200 or with 503 and the reason. No request under [`PREFIX`] reaches the protocol, by any method.

use std::time::Duration;

use host_model::contract::Response;

use crate::board::Phase;

/// The beginning of the paths that the host answers itself.
pub(crate) const PREFIX: &str = "/-/";
/// The maximum time for the answer of the protocol to the question whether the node is ready.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of such an answer that are passed on.
const REASON_MAX: usize = 1 << 10;

/// The answer to a request for a probe, by its path behind [`PREFIX`]; `ready` asks the protocol whether the node is ready, and has no
/// answer if that is late.
pub(crate) fn answer(
    method: &str,
    probe: &str,
    phase: Phase,
    ready: Option<impl FnOnce() -> Option<Response>>,
) -> Response {
    match (method, probe) {
        ("GET" | "HEAD", "live") => Response::words(200, "the process answers\n"),
        ("GET" | "HEAD", "ready") => is_ready(phase, ready),
        (_, "live" | "ready") => Response::words(405, "a probe is read by GET\n"),
        _ => Response::words(404, "there are /-/live and /-/ready\n"),
    }
}

/// A node is ready once its start is on its disk and its ports are open, until it ends, and while the protocol does not say otherwise.
fn is_ready(phase: Phase, ready: Option<impl FnOnce() -> Option<Response>>) -> Response {
    let no = |why: &str| Response::words(503, format!("{why}\n"));
    match phase {
        Phase::Starts => return no("the node starts"),
        Phase::Ends => return no("the node ends"),
        Phase::Runs => {}
    }
    let Some(ask) = ready else { return Response::words(200, "the node runs\n") };
    match ask() {
        None => no("the node has not answered in time"),
        Some(Response { status, mut body, .. }) => {
            body.truncate(REASON_MAX);
            Response { status: if (200..300).contains(&status) { 200 } else { 503 }, body, ask: None }
        }
    }
}
