//! The messages in flight.

use super::{Channel, Item};

/// The items on each channel, in the order of sending, or sorted where that does not matter.
///
/// Two lists and no map of lists: a search copies nothing as often.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct InFlight {
    /// For each item its channel, sorted.
    channels: Vec<Channel>,
    items: Vec<Item>,
}

impl InFlight {
    /// The channels that are not empty, each with its items.
    pub(super) fn channels(&self) -> impl Iterator<Item = (Channel, &[Item])> {
        let mut end = 0;
        self.channels.chunk_by(Channel::eq).map(move |same| {
            let begin = end;
            end += same.len();
            (same[0], &self.items[begin..end])
        })
    }

    /// The items on a channel.
    pub(super) fn on(&self, channel: Channel) -> &[Item] {
        let (begin, end) = self.places(channel);
        &self.items[begin..end]
    }

    /// Puts an item on a channel.
    pub(super) fn put(&mut self, channel: Channel, item: Item, is_ordered: bool) {
        let (begin, end) = self.places(channel);
        let place =
            if is_ordered { end } else { begin + self.items[begin..end].partition_point(|other| *other <= item) };
        self.channels.insert(place, channel);
        self.items.insert(place, item);
    }

    /// Takes the item at a position of its channel.
    pub(super) fn take(&mut self, channel: Channel, index: usize) -> Item {
        let (begin, end) = self.places(channel);
        assert!(begin + index < end, "it is in flight");
        self.channels.remove(begin + index);
        self.items.remove(begin + index)
    }

    /// Keeps the items for which the function returns true.
    pub(super) fn retain(&mut self, is_kept: impl Fn(Channel, Item) -> bool) {
        for place in (0..self.items.len()).rev() {
            if !is_kept(self.channels[place], self.items[place]) {
                self.channels.remove(place);
                self.items.remove(place);
            }
        }
    }

    /// Where the items of a channel begin and end.
    fn places(&self, channel: Channel) -> (usize, usize) {
        (
            self.channels.partition_point(|other| *other < channel),
            self.channels.partition_point(|other| *other <= channel),
        )
    }
}
