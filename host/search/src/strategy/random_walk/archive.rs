//! States from which walks continue: one for each kind of state that walks have reached.

use std::cmp::Reverse;
use std::sync::Arc;

use host_model::contract::MachineError;
use host_model::lts::Stepper;
use rustc_hash::FxHashMap;

use crate::global::cursor::GlobalCursor;
use crate::kernel::dice::{below, dice};
use crate::kernel::table_bytes;
use crate::strategy::random_walk::abstraction::Abstraction;
use crate::strategy::random_walk::ground::Walk;
use crate::strategy::random_walk::scheduler::mixed;
use crate::strategy::random_walk::script::Change;
use crate::strategy::random_walk::way::Way;

/// Maximum number of cells; beyond that, the half that walks have reached and chosen most often is forgotten.
const CELLS_MAX: usize = 1 << 14;

/// Bytes of the states that cells keep in addition to the paths to them.
const STATES_MAX: usize = 16 << 20;

/// One in this many walks begins in a start state.
const ROOTS: u64 = 16;

/// Cells drawn for a walk, which begins in the best of them.
const DRAWN: u64 = 16;

/// A walk that began in a cell weighs as much as this many doublings of the walks that have reached it.
const PICK_WEIGHT: u32 = 4;

/// Once a goal was reached, one in this many walks begins in a cell of any number of goals, and the others in one with the most.
const BACK: u64 = 4;

/// One in this many walks that begin in a cell repeats its path with a change instead.
const CHANGED: u64 = 4;

/// Steps of a walk.
pub(super) const STRETCH: u32 = 32;

/// Sets the choice of a cell apart from the draws of the walk.
const CHOICE_SEED: u64 = 0x6172_6368_6976_6573;

/// States that are the same to the archive.
#[derive(Debug)]
struct Cell {
    key: u64,
    /// The shortest known path to one of them.
    way: Arc<Way>,
    /// The number of times that walks have reached it, and have begun in it.
    visits: u32,
    picks: u32,
}

impl Cell {
    /// Cells with small ranks are better: rare ones, and among these deep ones.
    fn rank(&self) -> (u64, Reverse<u32>) {
        let doublings = u64::from(u32::BITS - self.visits.leading_zeros());
        (u64::from(self.picks) * u64::from(PICK_WEIGHT) + doublings, Reverse(self.way.depth()))
    }
}

/// The beginning of a walk.
pub(super) struct Origin {
    pub(super) way: Arc<Way>,
    /// None if the path has to be walked again.
    pub(super) state: Option<GlobalCursor>,
    /// The change with which the path is to be repeated; none if the walk begins at its end.
    pub(super) change: Option<Change>,
}

/// The cells. They depend only on the seed and the numbers of the walks.
pub(super) struct Archive {
    seed: u64,
    /// Steps from a start state from which no walk continues.
    depth_max: u32,
    cells: Vec<Cell>,
    places: FxHashMap<u64, usize>,
    /// The most goals that were reached on a path, and the cells at the ends of such paths; empty until a goal was reached.
    reached: u32,
    furthest: Vec<usize>,
    /// The states at the ends of the paths of cells, by key, unless they have to be found again.
    states: FxHashMap<u64, GlobalCursor>,
    state_bytes: usize,
    abstraction: Abstraction,
    /// Local states examined before the walks continued in this local transition system.
    looked_at: u64,
    /// Bytes of the paths of all cells, counted for each.
    way_bytes: u64,
}

impl Archive {
    /// An empty archive for walks of this seed that end after this many steps from a start state.
    pub(super) fn new(seed: u64, depth_max: u32) -> Self {
        Self {
            seed,
            depth_max,
            cells: Vec::new(),
            places: FxHashMap::default(),
            reached: 0,
            furthest: Vec::new(),
            states: FxHashMap::default(),
            state_bytes: 0,
            abstraction: Abstraction::default(),
            looked_at: 0,
            way_bytes: 0,
        }
    }

    /// Adds the current state of a walk, unless its last state was in the same cell.
    pub(super) fn note(&mut self, stepper: &mut Stepper<'_>, walk: &mut Walk) -> Result<(), MachineError> {
        let seen = self.abstraction.key(stepper, walk.cursor.locals())?;
        // A state where a goal was reached is in a cell of its own.
        let key = if walk.reached > 0 { mixed(seen, walk.reached.into()) } else { seen };
        if walk.cell.replace(key) == Some(key) {
            return Ok(());
        }
        if walk.depth >= self.depth_max || walk.from.as_ref().is_some_and(|from| from.is_long()) {
            return Ok(());
        }
        match self.places.get(&key) {
            Some(place) => {
                let cell = &mut self.cells[*place];
                cell.visits = cell.visits.saturating_add(1);
                if walk.depth >= cell.way.depth() {
                    return Ok(());
                }
                self.way_bytes -= cell.way.bytes();
                cell.way = Arc::new(walk.way());
                self.way_bytes += cell.way.bytes();
            }
            None => {
                if self.cells.len() >= CELLS_MAX {
                    self.forget();
                }
                let way = Arc::new(walk.way());
                self.way_bytes += way.bytes();
                self.places.insert(key, self.cells.len());
                self.cells.push(Cell { key, way, visits: 1, picks: 0 });
                self.note_reached(walk.reached);
            }
        }
        self.keep_state(key, walk.cursor.settled());
        Ok(())
    }

    /// Notes the number of goals reached on the path of the last cell.
    fn note_reached(&mut self, reached: u32) {
        if reached > self.reached {
            self.reached = reached;
            self.furthest.clear();
        }
        if reached > 0 && reached == self.reached {
            self.furthest.push(self.cells.len() - 1);
        }
    }

    fn keep_state(&mut self, key: u64, state: GlobalCursor) {
        if self.state_bytes > STATES_MAX {
            self.forget_states();
        }
        self.state_bytes += state.bytes() as usize;
        let before = self.states.insert(key, state);
        self.state_bytes -= before.map_or(0, |state| state.bytes() as usize);
    }

    /// The beginning of a walk: a cell that few walks have reached and begun in; none for a start state.
    pub(super) fn choose(&mut self, number: u64) -> Option<Origin> {
        let mut dice = dice(self.seed ^ CHOICE_SEED, number);
        if self.cells.is_empty() || below(&mut dice, ROOTS) == 0 {
            return None;
        }
        let is_furthest = !self.furthest.is_empty() && below(&mut dice, BACK) > 0;
        let drawn = (0..DRAWN).map(|_| match is_furthest {
            true => self.furthest[below(&mut dice, self.furthest.len() as u64) as usize],
            false => below(&mut dice, self.cells.len() as u64) as usize,
        });
        let place = drawn.min_by_key(|place| self.cells[*place].rank())?;
        let cell = &mut self.cells[place];
        cell.picks = cell.picks.saturating_add(1);
        let is_changed = below(&mut dice, CHANGED) == 0;
        let change = is_changed.then(|| Change::drawn(&mut dice, cell.way.depth())).flatten();
        let state = self.states.get(&cell.key).map(GlobalCursor::settled);
        Some(Origin { way: Arc::clone(&cell.way), state, change })
    }

    /// Forgets the half of the cells that walks have reached and begun in most often, those with few goals first.
    fn forget(&mut self) {
        self.cells.sort_by_key(|cell| (Reverse(cell.way.reached), cell.picks, cell.visits));
        self.cells.truncate(CELLS_MAX / 2);
        // The cells with the most goals come first.
        let furthest = self.cells.partition_point(|cell| cell.way.reached == self.reached);
        self.furthest = if self.reached > 0 { (0..furthest).collect() } else { Vec::new() };
        self.places = self.cells.iter().enumerate().map(|(place, cell)| (cell.key, place)).collect();
        self.way_bytes = self.cells.iter().map(|cell| cell.way.bytes()).sum();
        self.states.retain(|key, _| self.places.contains_key(key));
        let states = self.cells.iter().filter_map(|cell| self.states.get(&cell.key));
        self.state_bytes = states.map(|state| state.bytes() as usize).sum();
    }

    fn forget_states(&mut self) {
        self.states.clear();
        self.state_bytes = 0;
    }

    /// Forgets everything that contains ids, as the walks continue in another local transition system.
    pub(super) fn move_over(&mut self) {
        self.forget_states();
        self.looked_at = self.looked_at();
        self.abstraction = Abstraction::default();
    }

    /// Number of local states examined: each is a call into the plugin.
    pub(super) fn looked_at(&self) -> u64 {
        self.looked_at + self.abstraction.looked_at()
    }

    /// Bytes that it keeps, about.
    pub(super) fn bytes(&self) -> u64 {
        let tables = table_bytes::<(u64, usize)>(self.places.capacity())
            + table_bytes::<(u64, GlobalCursor)>(self.states.capacity());
        let cells = self.cells.capacity() * size_of::<Cell>() + self.furthest.capacity() * size_of::<usize>();
        // Paths share their beginnings, so this is an upper bound.
        (tables + cells + self.state_bytes) as u64 + self.way_bytes + self.abstraction.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::random_walk::script::Script;
    use crate::strategy::random_walk::way::Leg;

    fn leg(number: u64, depth: u32) -> Leg {
        Leg { number, steps_max: STRETCH, depth, script: Script::default() }
    }

    /// An archive of cells with these visits, picks and depths.
    fn archive(cells: impl Iterator<Item = (u32, u32, u32)>) -> Archive {
        let mut archive = Archive::new(7, 1_000);
        for (key, (visits, picks, depth)) in (0..).zip(cells) {
            let way = Arc::new(Way::new(None, leg(key, depth), 0, 0));
            archive.way_bytes += way.bytes();
            archive.places.insert(key, archive.cells.len());
            archive.cells.push(Cell { key, way, visits, picks });
        }
        archive
    }

    #[test]
    fn walks_begin_in_rare_cells_and_some_in_start_states() {
        let mut archive = archive((0..100).map(|cell| (if cell < 10 { 1 } else { 1 << 20 }, 0, cell)));
        let begun: Vec<Option<u64>> =
            (0..40).map(|number| archive.choose(number).map(|origin| origin.way.leg.number)).collect();
        let roots = begun.iter().filter(|number| number.is_none()).count();
        let rare = begun.iter().flatten().filter(|number| **number < 10).count();
        // One in 16 begins in a start state. Of 16 cells drawn one is rare with a probability of 0.81, until each was chosen five times.
        assert!((1..10).contains(&roots) && rare > 20, "{roots} and {rare} of {begun:?}");
        assert_eq!(archive.cells.iter().map(|cell| cell.picks).sum::<u32>() as usize, 40 - roots);
        assert!(archive.choose(3).is_none_or(|origin| origin.state.is_none()), "no state was kept");
    }

    #[test]
    fn one_of_four_walks_repeats_a_path_with_a_change() {
        let mut archive = archive((0..100).map(|_| (1, 0, 9)));
        let begun: Vec<Origin> = (0..400).filter_map(|number| archive.choose(number)).collect();
        let changed = begun.iter().filter_map(|origin| origin.change);
        let number = changed.clone().count();
        assert!(number * 5 > begun.len() && number * 10 < begun.len() * 3, "{number} of {}", begun.len());
        assert!(changed.clone().all(|change| change.place < 9) && changed.clone().any(|change| change.place == 8));
    }

    /// Three of four walks that begin in a cell begin where the most goals were reached, also after half of the cells are forgotten.
    #[test]
    fn walks_begin_where_the_most_goals_were_reached() {
        let mut archive = archive((0..CELLS_MAX as u32 - 4).map(|_| (1, 0, 1)));
        for (key, reached) in (1_u64 << 20..).zip([1, 2, 1, 2]) {
            let way = Arc::new(Way::new(None, leg(key, 5), 0, reached));
            archive.way_bytes += way.bytes();
            archive.places.insert(key, archive.cells.len());
            // Any other rule would forget them.
            archive.cells.push(Cell { key, way, visits: 1 << 10, picks: 1 << 10 });
            archive.note_reached(reached);
        }
        for times in 0..2 {
            let reached: Vec<u32> =
                (0..400).filter_map(|number| archive.choose(number)).map(|origin| origin.way.reached).collect();
            let most = reached.iter().filter(|reached| **reached == 2).count();
            assert!(most * 10 > reached.len() * 6 && most * 10 < reached.len() * 9, "{times}: {most}");
            archive.forget();
            assert_eq!(archive.furthest.len(), 2, "{times}");
        }
    }

    #[test]
    fn of_cells_as_rare_as_others_the_deepest_is_best() {
        let archive = archive([(1, 0, 5), (1, 0, 9), (3, 0, 20), (1, 1, 30)].into_iter());
        let mut places: Vec<usize> = (0..4).collect();
        places.sort_by_key(|place| archive.cells[*place].rank());
        assert_eq!(places, [1, 0, 2, 3]);
    }

    #[test]
    fn the_frequent_half_is_forgotten() {
        let mut archive = archive((0..CELLS_MAX as u32).map(|cell| (1 + cell % 2, 0, 1)));
        archive.forget();
        assert_eq!(
            (archive.cells.len(), archive.places.len(), archive.way_bytes),
            (CELLS_MAX / 2, CELLS_MAX / 2, (CELLS_MAX / 2 * size_of::<Way>()) as u64)
        );
        for (place, cell) in archive.cells.iter().enumerate() {
            assert_eq!((cell.visits, archive.places.get(&cell.key)), (1, Some(&place)));
        }
    }
}
