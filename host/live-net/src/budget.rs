//! The bytes that others make a node hold: a budget per account, and a total budget.
//!
//! Everything read from a socket, or queued for one, takes a [`Share`] of the budget before it is allocated, and returns it when it is
//! dropped. Each [`Account`] has a maximum and a reserve of its own; beyond its reserve it takes bytes from a pool that all accounts share.
//! So no peer, stranger or client can starve the others, and the total stays below [`ALL_MAX`].

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host_live::node::FRAME_MAX;
use host_model::contract::NodeId;

/// Bytes in total. Half of them are reserved, in equal parts, and half are the pool.
pub(crate) const ALL_MAX: usize = 256 << 20;
/// Bytes from a peer, and as many to it: two of the longest frames.
pub(crate) const PEER_MAX: usize = 2 * FRAME_MAX;
/// Bytes of all strangers, the streams that are not known to be of a node: one of the longest frames.
pub(crate) const STRANGERS_MAX: usize = FRAME_MAX + (1 << 20);
/// Bytes of all clients, and as many of all requests for metrics.
pub(crate) const CLIENTS_MAX: usize = 64 << 20;

/// The purpose for which bytes are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Account {
    /// Streams that are not known to be of a node.
    Strangers,
    /// Frames of a node.
    From(NodeId),
    /// Frames queued for a node.
    To(NodeId),
    /// Requests of clients, and answers to them.
    Clients,
    /// Requests for metrics, and answers to them.
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

/// The budget has no room for more bytes of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exceeded;

/// The budget of a node, shared by its threads.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The reserve of each account, in bytes.
    reserve: usize,
    held: Mutex<Held>,
    /// Notified when bytes are returned.
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Held {
    by_account: BTreeMap<Account, usize>,
    /// Bytes that accounts hold beyond their reserves.
    pooled: usize,
    all: usize,
    /// The maximum of `all` so far.
    most: usize,
    /// The number of refusals, by the name of the account.
    refused: BTreeMap<&'static str, u64>,
}

/// The use of a budget so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Bytes that are held for others now.
    pub bytes: usize,
    /// The maximum of these bytes so far.
    pub most: usize,
    /// The number of refusals for want of room, by the name of the account.
    pub refused: BTreeMap<&'static str, u64>,
}

impl Budget {
    /// The budget of a node in a cluster of this size.
    pub(crate) fn new(nodes: u32) -> Self {
        let accounts = 3 + 2 * nodes as usize;
        let reserve = ALL_MAX / 2 / accounts;
        Self(Arc::new(Inner { reserve, held: Mutex::default(), freed: Condvar::new() }))
    }

    /// An empty share of an account, which can grow.
    pub(crate) fn share(&self, account: Account) -> Share {
        Share { budget: self.clone(), account, bytes: 0 }
    }

    /// A share of an account with this many bytes.
    pub(crate) fn take(&self, account: Account, bytes: usize) -> Result<Share, Exceeded> {
        let mut share = self.share(account);
        share.resize(bytes)?;
        Ok(share)
    }

    /// Whether an account holds at least half of its maximum.
    pub(crate) fn is_half_full(&self, account: Account) -> bool {
        self.lock().by_account.get(&account).is_some_and(|held| *held >= account.max() / 2)
    }

    /// The use so far.
    pub(crate) fn holding(&self) -> Holding {
        let held = self.lock();
        Holding { bytes: held.all, most: held.most, refused: held.refused.clone() }
    }

    /// Waits until bytes are returned, for at most this time.
    pub(crate) fn wait(&self, time: Duration) {
        drop(self.0.freed.wait_timeout(self.lock(), time));
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the bytes of a share of an account; only growth can fail.
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

    /// The bytes of an account that are taken from the pool.
    fn pooled(&self, bytes: usize) -> usize {
        bytes.saturating_sub(self.0.reserve)
    }
}

/// Bytes of a budget, returned when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    account: Account,
    bytes: usize,
}

impl Share {
    /// Changes the number of bytes; only growth can fail.
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<(), Exceeded> {
        self.budget.change(self.account, self.bytes, bytes)?;
        self.bytes = bytes;
        Ok(())
    }

    /// Transfers the bytes to another account.
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

    /// All accounts except one take as much as they can, in steps of a mebibyte: that one still has its reserve, and the total stays within
    /// the budget. Returned bytes can be taken again.
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
