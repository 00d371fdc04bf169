//! In place of the library's timer: it does not fire. A heartbeat is also sent with each notice of transitions.

use std::time::Duration;

use crossbeam::channel::{never, Receiver};

pub struct Timer {
    rx: Receiver<()>,
}

impl Timer {
    pub fn new(_: Duration) -> Timer {
        Timer { rx: never() }
    }

    pub fn renew(&mut self) {}

    pub fn get_rx(&self) -> &Receiver<()> {
        &self.rx
    }
}
