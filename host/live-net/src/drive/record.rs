//! The recording of a node while it runs.

use host_live::node::{Failure, NotStarted};
use host_live::recording::Recorded;

use crate::drive::Running;
use crate::record::Recorder;

/// Writes the `init` that has failed. The failure is reported in any case, so an error of the recording is not.
pub(super) fn failed<G>(recorder: Option<&mut Recorder>, not_started: NotStarted<Recorded<G>>) -> Failure {
    let NotStarted { failure, mut gate } = not_started;
    if let (Some(recorder), Some(tape)) = (recorder, &mut gate.tape) {
        let _ = recorder.append(&tape.take());
    }
    failure
}

impl Running {
    /// Writes the events since the last call, before any of their effects leaves. A recording that cannot be written ends, and the node
    /// continues.
    pub(super) fn record(&mut self) {
        let Some(recorder) = &mut self.recorder else { return };
        let Some(tape) = &mut self.node.gate_mut().tape else { return };
        let bytes = tape.take();
        if bytes.is_empty() {
            return;
        }
        let mut done = recorder.append(&bytes);
        if done.is_ok() && recorder.is_long() {
            // A state that cannot be exported ends the node elsewhere.
            let Ok(state) = self.node.export() else { return };
            done = recorder.turn();
            if let Some(tape) = &mut self.node.gate_mut().tape {
                tape.turn(state);
            }
            let head = self.node.gate_mut().tape.as_mut().map(|tape| tape.take()).unwrap_or_default();
            done = done.and_then(|()| recorder.append(&head));
        }
        if let Err(error) = done {
            let path = recorder.path().display().to_string();
            (self.recorder, self.node.gate_mut().tape) = (None, None);
            self.log.tell("recording", &format_args!("is recorded no more: `{path}`: {error}"));
        }
    }
}
