//! The bytes that others make a node hold: a budget for each of them, and one in all.
//!
//! Whatever comes from a socket, or waits for one, has a [`Share`] of the budget before there is memory for it, and gives it back when it is
//! dropped. Each [`Account`] has a maximum, and a reserve that no other account can use up; what it holds beyond its reserve is taken from a
//! pool that all share. So no peer, stranger or client can keep others from being heard, and all together stay below [`ALL_MAX`].

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host_live::node::FRAME_MAX;
use host_model::contract::NodeId;

/// Bytes in all. Half of it is reserved, in equal parts, and half is the pool.
pub(crate) const ALL_MAX: usize = 256 << 20;
/// Bytes from a peer, and as many to it: two of the longest frames.
pub(crate) const PEER_MAX: usize = 2 * FRAME_MAX;
/// Bytes of all streams whose other end has yet to show that it is a node: one of the longest frames.
pub(crate) const STRANGERS_MAX: usize = FRAME_MAX + (1 << 20);
/// Bytes of all clients, and as many of all that ask for metrics.
pub(crate) const CLIENTS_MAX: usize = 64 << 20;

/// For whom bytes are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Account {
    /// Streams whose other end has yet to show that it is a node.
    Strangers,
    /// What a node has sent.
    From(NodeId),
    /// What waits to be sent to a node.
    To(NodeId),
    /// Requests of clients, and answers to them.
    Clients,
    /// Questions about the node, and answers to them.
    Metrics,
}

impl Account {
    /// Its name, for metrics.
    fn name(self) -> &'static str {
        match self {
            Self::Strangers => "strangers",
            Self::From(_) => "from-peer",
            Self::To(_) => "to-peer",
            Self::Clients => "clients",
            Self::Metrics => "metrics",
        }
    }

    fn max(self) -> usize {
        match self {
            Self::Strangers => STRANGERS_MAX,
            Self::From(_) | Self::To(_) => PEER_MAX,
            Self::Clients | Self::Metrics => CLIENTS_MAX,
        }
    }
}

/// There is no room for more bytes of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exceeded;

/// The budget of a node, which its threads share.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// What each account holds whatever others do.
    reserve: usize,
    held: Mutex<Held>,
    /// Something was given back.
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Held {
    by_account: BTreeMap<Account, usize>,
    /// What accounts hold beyond their reserves.
    pooled: usize,
    all: usize,
    /// The most that there was in all.
    most: usize,
    /// How often there was no room, by the name of the account.
    refused: BTreeMap<&'static str, u64>,
}

/// What a budget has seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Bytes that are held for others now.
    pub bytes: usize,
    /// The most that there were.
    pub most: usize,
    /// How often there was no room for more, by the name of the account.
    pub refused: BTreeMap<&'static str, u64>,
}

impl Budget {
    /// That of a node in a cluster with this many of them.
    pub(crate) fn new(nodes: u32) -> Self {
        let accounts = 3 + 2 * nodes as usize;
        let reserve = ALL_MAX / 2 / accounts;
        Self(Arc::new(Inner { reserve, held: Mutex::default(), freed: Condvar::new() }))
    }

    /// No bytes of an account yet; there can be more later.
    pub(crate) fn share(&self, account: Account) -> Share {
        Share { budget: self.clone(), account, bytes: 0 }
    }

    /// This many bytes of an account.
    pub(crate) fn take(&self, account: Account, bytes: usize) -> Result<Share, Exceeded> {
        let mut share = self.share(account);
        share.resize(bytes)?;
        Ok(share)
    }

    /// Whether an account holds half of what it may.
    pub(crate) fn is_half_full(&self, account: Account) -> bool {
        self.lock().by_account.get(&account).is_some_and(|held| *held >= account.max() / 2)
    }

    /// What it has seen so far.
    pub(crate) fn holding(&self) -> Holding {
        let held = self.lock();
        Holding { bytes: held.all, most: held.most, refused: held.refused.clone() }
    }

    /// Waits until something is given back, or for so long.
    pub(crate) fn wait(&self, time: Duration) {
        drop(self.0.freed.wait_timeout(self.lock(), time));
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has an account hold another number of bytes; one that is not greater always can.
    fn change(&self, account: Account, from: usize, to: usize) -> Result<(), Exceeded> {
        let mut held = self.lock();
        let before = held.by_account.get(&account).copied().unwrap_or_default();
        let after = before - from + to;
        let pooled = held.pooled - self.pooled(before) + self.pooled(after);
        let fits = after <= account.max() && (pooled <= held.pooled || pooled <= ALL_MAX / 2);
        if to > from && !fits {
            *held.refused.entry(account.name()).or_default() += 1;
            return Err(Exceeded);
        }
        held.by_account.insert(account, after);
        held.pooled = pooled;
        held.all = held.all - from + to;
        held.most = held.most.max(held.all);
        drop(held);
        if to < from {
            self.0.freed.notify_all();
        }
        Ok(())
    }

    /// What of an account is in the pool.
    fn pooled(&self, bytes: usize) -> usize {
        bytes.saturating_sub(self.0.reserve)
    }
}

/// Bytes of a budget, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    account: Account,
    bytes: usize,
}

impl Share {
    /// Has another number of bytes; fewer are never too many.
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<(), Exceeded> {
        self.budget.change(self.account, self.bytes, bytes)?;
        self.bytes = bytes;
        Ok(())
    }

    /// The same bytes for another account.
    pub(crate) fn hand_over(&mut self, account: Account) -> Result<(), Exceeded> {
        let next = self.budget.take(account, self.bytes)?;
        *self = next;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let freed = self.budget.change(self.account, self.bytes, 0);
        debug_assert_eq!(freed, Ok(()), "less always fits");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(nodes: u32) -> Vec<Account> {
        let peers = (0..nodes).flat_map(|node| [Account::From(node), Account::To(node)]);
        [Account::Strangers, Account::Clients, Account::Metrics].into_iter().chain(peers).collect()
    }

    /// In steps of a mebibyte each account but one takes all that it gets: it has its reserve all the same, and all together stay within
    /// the budget. What is given back can be taken again.
    #[test]
    fn no_account_uses_up_the_reserve_of_another_one() {
        for nodes in [1, 3, 20] {
            let accounts = all(nodes);
            for late in 0..accounts.len() {
                let budget = Budget::new(nodes);
                let mut shares = Vec::new();
                for (place, account) in accounts.iter().enumerate().filter(|(place, _)| *place != late) {
                    while let Ok(share) = budget.take(*account, 1 << 20) {
                        shares.push(share);
                    }
                    assert!(budget.holding().refused.contains_key(account.name()), "{place}");
                }
                let own = budget.take(accounts[late], (ALL_MAX / 2 / accounts.len()).min(accounts[late].max()));
                assert!(own.is_ok(), "{nodes} {:?}", accounts[late]);
                let Holding { bytes, most, .. } = budget.holding();
                assert!(bytes <= ALL_MAX && most <= ALL_MAX, "{bytes} {most}");
                drop((shares, own));
                assert_eq!(budget.holding().bytes, 0);
            }
        }
    }

    #[test]
    fn a_share_grows_shrinks_and_changes_hands() {
        let budget = Budget::new(3);
        let mut share = budget.take(Account::Strangers, 100).expect("there is room");
        assert_eq!(share.resize(STRANGERS_MAX + 1), Err(Exceeded));
        assert_eq!((share.resize(STRANGERS_MAX), share.hand_over(Account::From(1))), (Ok(()), Ok(())));
        assert!(budget.is_half_full(Account::From(1)) && !budget.is_half_full(Account::Strangers));
        let more = budget.take(Account::From(1), PEER_MAX - STRANGERS_MAX).expect("there is room");
        assert!(budget.take(Account::From(1), 1).is_err() && budget.take(Account::From(2), 1).is_ok());
        drop(more);
        assert_eq!((share.resize(10), budget.holding().bytes), (Ok(()), 10));
        let Holding { most, refused, .. } = budget.holding();
        assert!((PEER_MAX..PEER_MAX + STRANGERS_MAX).contains(&most), "{most}");
        assert_eq!(refused, BTreeMap::from([("from-peer", 1), ("strangers", 1)]));
    }
}
