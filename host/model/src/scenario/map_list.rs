//! A persistent list of different durable maps.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rpds::RedBlackTreeMapSync;

use crate::contract::DurableMap;

/// A list of durable maps, each once.
///
/// A list is a value: copies share their maps, and a change takes time and memory proportional to the logarithm of the length.
///
/// It is a treap (Seidel, Aragon, "Randomized Search Trees", 1996) in the order of the list, with the fingerprint of a map as its
/// priority. So each list has one tree, whatever changes led to it, and the hash of the root identifies the list.
#[derive(Clone, Default)]
pub(super) struct MapList {
    root: Tree,
    /// The ticket of each map, by its fingerprint.
    tickets: RedBlackTreeMapSync<[u8; 32], u64>,
    next_ticket: u64,
}

type Tree = Option<Arc<Node>>;

struct Node {
    map: DurableMap,
    /// Larger than all tickets before it in the list.
    ticket: u64,
    left: Tree,
    right: Tree,
    len: usize,
    /// The hash of the fingerprint of the map, and of both subtrees.
    hash: [u8; 32],
}

impl MapList {
    /// The number of maps.
    pub(super) fn len(&self) -> usize {
        len(&self.root)
    }

    /// The map at this place, from 0.
    pub(super) fn get(&self, mut index: usize) -> Option<&DurableMap> {
        let mut tree = &self.root;
        while let Some(node) = tree {
            let before = len(&node.left);
            tree = match index.cmp(&before) {
                Ordering::Less => &node.left,
                Ordering::Equal => return Some(&node.map),
                Ordering::Greater => {
                    index -= before + 1;
                    &node.right
                }
            };
        }
        None
    }

    /// The place of a map, from 0.
    pub(super) fn position(&self, map: &DurableMap) -> Option<usize> {
        let ticket = self.tickets.get(&map.fingerprint())?;
        let (mut tree, mut before) = (&self.root, 0);
        while let Some(node) = tree {
            tree = if *ticket < node.ticket {
                &node.left
            } else {
                before += len(&node.left);
                if *ticket == node.ticket {
                    break;
                }
                before += 1;
                &node.right
            };
        }
        Some(before)
    }

    /// The maps in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &DurableMap> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Moves a map to the end, or adds it there.
    pub(super) fn push(&mut self, map: DurableMap) {
        self.remove(&map);
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.tickets.insert_mut(map.fingerprint(), ticket);
        self.root = merge(&self.root, &Some(Node::leaf(map, ticket)));
    }

    /// Removes a map, if it is there.
    pub(super) fn remove(&mut self, map: &DurableMap) {
        let fingerprint = map.fingerprint();
        if let Some(ticket) = self.tickets.get(&fingerprint).copied() {
            self.tickets.remove_mut(&fingerprint);
            self.root = without(&self.root, ticket);
        }
    }

    /// A hash of the maps in their order: zero for none.
    pub(super) fn hash(&self) -> [u8; 32] {
        hash(&self.root)
    }

    /// Bytes that it does not share with the list before its latest change, about; those of the maps not included.
    pub(super) fn own_bytes(&self) -> usize {
        // The expected path to a place of a treap has 2 ln n nodes.
        let path = self.len().checked_ilog2().map_or(0, |log| 2 * log as usize + 1);
        path * (size_of::<Node>() + size_of::<[u8; 32]>())
    }
}

impl Node {
    fn leaf(map: DurableMap, ticket: u64) -> Arc<Self> {
        Self::new(map, ticket, None, None)
    }

    fn new(map: DurableMap, ticket: u64, left: Tree, right: Tree) -> Arc<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&hash(&left)).update(&map.fingerprint()).update(&hash(&right));
        let (len, hash) = (len(&left) + 1 + len(&right), *hasher.finalize().as_bytes());
        Arc::new(Self { map, ticket, left, right, len, hash })
    }

    /// The same node with other subtrees.
    fn with(&self, left: Tree, right: Tree) -> Arc<Self> {
        Self::new(self.map.clone(), self.ticket, left, right)
    }
}

fn len(tree: &Tree) -> usize {
    tree.as_ref().map_or(0, |node| node.len)
}

fn hash(tree: &Tree) -> [u8; 32] {
    tree.as_ref().map_or([0; 32], |node| node.hash)
}

/// The tree with all of one before all of the other.
fn merge(left: &Tree, right: &Tree) -> Tree {
    let (Some(one), Some(other)) = (left, right) else { return left.clone().or_else(|| right.clone()) };
    Some(match one.map.fingerprint() > other.map.fingerprint() {
        true => one.with(one.left.clone(), merge(&one.right, right)),
        false => other.with(merge(left, &other.left), other.right.clone()),
    })
}

/// The tree without the node that has this ticket.
fn without(tree: &Tree, ticket: u64) -> Tree {
    let node = tree.as_ref()?;
    match ticket.cmp(&node.ticket) {
        Ordering::Less => Some(node.with(without(&node.left, ticket), node.right.clone())),
        Ordering::Equal => merge(&node.left, &node.right),
        Ordering::Greater => Some(node.with(node.left.clone(), without(&node.right, ticket))),
    }
}

impl FromIterator<DurableMap> for MapList {
    fn from_iter<I: IntoIterator<Item = DurableMap>>(maps: I) -> Self {
        let mut list = Self::default();
        maps.into_iter().for_each(|map| list.push(map));
        list
    }
}

impl PartialEq for MapList {
    fn eq(&self, other: &Self) -> bool {
        self.hash() == other.hash()
    }
}

impl Eq for MapList {}

impl PartialOrd for MapList {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for MapList {
    fn cmp(&self, other: &Self) -> Ordering {
        self.hash().cmp(&other.hash())
    }
}

impl Hash for MapList {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash().hash(state);
    }
}

impl std::fmt::Debug for MapList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toys::Dice;

    fn map(number: u16) -> DurableMap {
        [(number.to_be_bytes(), [0; 0])].into_iter().collect()
    }

    /// The list of these maps, made at once.
    fn list(maps: &[DurableMap]) -> MapList {
        maps.iter().cloned().collect()
    }

    fn check(list: &MapList, naive: &[DurableMap], dice: &mut Dice) {
        assert_eq!(list.len(), naive.len());
        assert!(list.iter().eq(naive));
        assert_eq!(list.get(naive.len()), None);
        for number in 0..40 {
            let map = map(number);
            assert_eq!(list.position(&map), naive.iter().position(|other| *other == map));
        }
        // Another history, and other lists.
        assert_eq!(*list, self::list(naive));
        if naive.len() > 1 {
            let [one, other] = [(); 2].map(|()| dice.below(naive.len() as u32) as usize);
            let mut swapped = naive.to_vec();
            swapped.swap(one, other);
            assert_eq!(*list == self::list(&swapped), one == other);
            assert_ne!(*list, self::list(&naive[1..]));
        }
    }

    /// Random changes against a `Vec`; copies that were taken on the way stay as they were.
    #[test]
    fn a_list_is_one_and_its_copies_never_change() {
        for seed in 0..60 {
            let mut dice = Dice(seed);
            let (mut ours, mut naive) = (MapList::default(), Vec::new());
            let mut copies: Vec<(MapList, Vec<DurableMap>)> = Vec::new();
            for _ in 0..60 {
                let map = map(dice.below(40) as u16);
                match dice.below(8) {
                    0 => copies.push((ours.clone(), naive.clone())),
                    1 if !copies.is_empty() => {
                        let at = dice.below(copies.len() as u32) as usize;
                        (ours, naive) = copies[at].clone();
                    }
                    2 | 3 => {
                        ours.remove(&map);
                        naive.retain(|other| *other != map);
                    }
                    _ => {
                        naive.retain(|other| *other != map);
                        naive.push(map.clone());
                        ours.push(map);
                    }
                }
                check(&ours, &naive, &mut dice);
            }
            for (copy, then) in &copies {
                check(copy, then, &mut dice);
            }
        }
    }

    /// The number of nodes of all these lists together.
    fn nodes(lists: &[MapList]) -> usize {
        fn visit(tree: &Tree, seen: &mut std::collections::BTreeSet<*const Node>) {
            if let Some(node) = tree.as_ref().filter(|node| seen.insert(Arc::as_ptr(node))) {
                visit(&node.left, seen);
                visit(&node.right, seen);
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        lists.iter().for_each(|list| visit(&list.root, &mut seen));
        seen.len()
    }

    /// A push copies the right spine, 2 ln n nodes at most on average: the list of each of 4,000 steps takes far less than the 8 million
    /// nodes of 4,000 separate lists. A map that moves from the front to the end copies two paths.
    #[test]
    fn successive_lists_share_their_maps() {
        let mut lists = vec![MapList::default()];
        for number in 0..4_000 {
            let mut next = lists.last().expect("there is one").clone();
            next.push(map(number));
            lists.push(next);
        }
        assert!(nodes(&lists) < 4_000 * 20, "{}", nodes(&lists));
        for _ in 0..4_000 {
            let mut next = lists.last().expect("there is one").clone();
            let first = next.get(0).expect("there are 4,000").clone();
            next.push(first);
            lists.push(next);
        }
        assert!(nodes(&lists) < 8_000 * 40, "{}", nodes(&lists));
    }
}
