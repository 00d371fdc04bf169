//! The simulator: two ends of a connection, with their queues and flags. It is one state, as in MaceMC: an event at one end can
//! change both at once.

use std::collections::VecDeque;

use guest_sdk::Context;
use serde::{Deserialize, Serialize};

use crate::{App, Bug, Note, TcpSimulator, Upcall};

/// Both ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct World {
    /// One for each node.
    pub ends: [End; 2],
    /// The number of socket errors that can still happen.
    pub breaks: u8,
}

/// One end, with the application above it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct End {
    /// The application.
    pub app: App,
    /// The items in flight to the other end.
    pub queue: VecDeque<Item>,
    /// Whether the socket is open.
    pub is_open: bool,
    /// Whether an error is in flight to the other end.
    pub local_error: bool,
    /// Whether an error is in flight to this end.
    pub remote_error: bool,
    /// The number of resets that the node can still have.
    pub resets: u8,
}

/// An item in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Item {
    /// A message.
    Message(Note),
    /// A read error, in front of everything else.
    ReadError,
}

impl World {
    /// Nothing has been sent.
    pub(crate) fn new(breaks: u8, resets: u8) -> Self {
        let end = || End {
            app: App::default(),
            queue: VecDeque::new(),
            is_open: false,
            local_error: false,
            remote_error: false,
            resets,
        };
        Self { ends: [end(), end()], breaks }
    }

    /// Whether the first item in the queue of a node can be delivered now.
    pub(crate) fn is_available(&self, node: usize) -> bool {
        let end = &self.ends[node];
        !end.queue.is_empty() && (end.local_error || !end.remote_error)
    }
}

impl TcpSimulator {
    /// The application of a node sends its next message, if there is room in the queue.
    pub(crate) fn route(&self, world: &mut World, node: usize) {
        let end = &mut world.ends[node];
        if end.queue.len() >= self.queue {
            end.app.was_refused = true;
            return;
        }
        let note = end.app.next();
        end.queue.push_back(Item::Message(note));
    }

    /// The first item in the queue of a node reaches the other one. A message can be followed by a socket error.
    pub(crate) fn deliver<M>(&self, ctx: &mut Context<M>, world: &mut World, node: usize) {
        let other = 1 - node;
        match world.ends[node].queue.pop_front().expect("there is an item") {
            Item::Message(note) => {
                world.ends.iter_mut().for_each(|end| end.is_open = true);
                world.ends[other].app.log.push(Upcall::Received(note));
                let end = &world.ends[other];
                if !end.local_error && !end.remote_error && world.breaks > 0 && ctx.choose(2) == 1 {
                    world.breaks -= 1;
                    world.ends.iter_mut().for_each(socket_error);
                }
            }
            Item::ReadError => {
                if !self.bugs.has(Bug::SimTcp2) || other == 0 {
                    world.ends[node].local_error = false;
                }
                let end = &mut world.ends[other];
                assert!(end.is_open, "an error on a socket that is not open");
                assert!(end.remote_error, "an error that is not expected");
                end.remote_error = false;
                end.close();
                end.app.log.push(Upcall::Error);
            }
        }
    }

    /// A node is started again.
    pub(crate) fn reset(&self, world: &mut World, node: usize) {
        let end = &mut world.ends[node];
        end.resets -= 1;
        end.app = App { life: end.app.life + 1, ..App::default() };
        let was_open = end.is_open;
        let flags = (end.local_error, end.remote_error);
        end.close();
        match (was_open, flags) {
            // The error in flight to the other end is that of this reset as well.
            (true, (true, true)) => {
                if !self.bugs.has(Bug::SimTcp3) {
                    end.remote_error = false;
                }
                self.peer_was_reset(&mut world.ends[1 - node]);
            }
            (true, (false, true)) => {
                end.remote_error = false;
                self.peer_was_reset(&mut world.ends[1 - node]);
            }
            (true, (false, false)) => {
                end.local_error = true;
                end.queue.push_front(Item::ReadError);
                self.peer_was_reset(&mut world.ends[1 - node]);
            }
            (false, (_, false)) => {}
            (true, (true, false)) | (false, (_, true)) => unreachable!("errors on their way do not fit the socket"),
        }
    }

    /// The other end of the connection was reset: the error in flight there is gone, or one is in flight to this end.
    fn peer_was_reset(&self, end: &mut End) {
        if end.local_error {
            assert_eq!(end.queue.pop_front(), Some(Item::ReadError), "the error is in front");
            end.local_error = false;
        } else {
            assert!(end.is_open && !end.remote_error, "a reset of a connection that was not open");
            end.remote_error = true;
        }
        if self.bugs.has(Bug::SimTcp1) {
            socket_error(end);
        }
    }
}

impl End {
    /// Closes the socket. All items in the queue are lost, except an error.
    fn close(&mut self) {
        self.is_open = false;
        self.queue.retain(|item| *item == Item::ReadError);
    }
}

/// The connection breaks: an error goes to the other end, and one comes from there.
fn socket_error(end: &mut End) {
    end.queue.push_front(Item::ReadError);
    end.remote_error = true;
    end.local_error = true;
}
