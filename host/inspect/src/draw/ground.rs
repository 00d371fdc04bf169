//! The ground of a diagram: the places of lines and texts, and the free places for other texts.
//!
//! Texts never overlap. Each text that may move has a home; homes do not overlap, and no text moves into the home of another
//! one. So the home of a text is free when the text is placed.

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    pub(super) fn center(self) -> (f64, f64) {
        (self.left + self.width / 2.0, self.top + self.height / 2.0)
    }
}

/// A straight line in pixels.
pub(super) type Line = [(f64, f64); 2];

/// The height of a band in pixels: lines and texts are looked up by their bands.
const BAND: f64 = 48.0;

/// The maximum number of entries of lines in bands; texts may cross later lines.
const ENTRIES_MAX: usize = 1 << 20;

/// The price of a crossing with a line.
const LINE: f64 = 10.0;

/// The placed lines and texts.
#[derive(Default)]
pub(super) struct Ground {
    bands: Vec<Band>,
    entries: usize,
}

#[derive(Clone, Default)]
struct Band {
    lines: Vec<Line>,
    texts: Vec<Area>,
    /// The homes with their owners.
    homes: Vec<(Area, usize)>,
}

impl Ground {
    pub(super) fn add_line(&mut self, line: Line) {
        let (top, bottom) = (line[0].1.min(line[1].1), line[0].1.max(line[1].1));
        for band in bands(top, bottom) {
            if self.entries < ENTRIES_MAX {
                self.entries += 1;
                self.band(band).lines.push(line);
            }
        }
    }

    pub(super) fn add_text(&mut self, area: Area) {
        for band in bands(area.top, area.top + area.height) {
            self.band(band).texts.push(area);
        }
    }

    fn band(&mut self, band: usize) -> &mut Band {
        if self.bands.len() <= band {
            self.bands.resize(band + 1, Band::default());
        }
        &mut self.bands[band]
    }

    /// Reserves an area for the text of this number.
    pub(super) fn add_home(&mut self, area: Area, owner: usize) {
        for band in bands(area.top, area.top + area.height) {
            self.band(band).homes.push((area, owner));
        }
    }

    /// Places a text at the cheapest free place, if one is free; each place has its own price, to which crossings with lines are
    /// added. Returns the index of the place. `owner` is the number of the text, if it has a home.
    pub(super) fn place(
        &mut self,
        owner: Option<usize>,
        places: impl IntoIterator<Item = (Area, f64)>,
    ) -> Option<usize> {
        let places = places.into_iter().map(|(area, own)| (area, vec![area], own));
        self.place_lines(owner, places)
    }

    /// The same for a text of several lines in one area: each line pays for its crossings.
    pub(super) fn place_lines(
        &mut self,
        owner: Option<usize>,
        places: impl IntoIterator<Item = (Area, Vec<Area>, f64)>,
    ) -> Option<usize> {
        let mut best: Option<(f64, usize, Area)> = None;
        for (index, (area, lines, own)) in places.into_iter().enumerate() {
            if !self.is_free(area, owner) {
                continue;
            }
            let price = own + lines.iter().map(|line| self.price(*line)).sum::<f64>();
            if best.is_none_or(|(least, ..)| price < least) {
                best = Some((price, index, area));
            }
            if price <= 0.0 {
                break;
            }
        }
        let (_, index, area) = best?;
        self.add_text(area);
        Some(index)
    }

    /// Whether an area overlaps no text, and no home of another text.
    fn is_free(&self, area: Area, owner: Option<usize>) -> bool {
        bands(area.top, area.top + area.height).filter_map(|band| self.bands.get(band)).all(|band| {
            let is_taken = |(home, whose): &(Area, usize)| Some(*whose) != owner && overlap(*home, area);
            !band.texts.iter().any(|text| overlap(*text, area)) && !band.homes.iter().any(is_taken)
        })
    }

    /// The price of all crossings of an area with lines.
    fn price(&self, area: Area) -> f64 {
        let bands = bands(area.top, area.top + area.height).filter_map(|band| self.bands.get(band));
        let crossed = bands.map(|band| band.lines.iter().filter(|line| crosses(**line, area)).count());
        LINE * crossed.sum::<usize>() as f64
    }
}

fn bands(top: f64, bottom: f64) -> std::ops::RangeInclusive<usize> {
    let band = |y: f64| (y.max(0.0) / BAND) as usize;
    band(top)..=band(bottom)
}

fn overlap(one: Area, other: Area) -> bool {
    let apart = |at: f64, size: f64, other: f64, other_size: f64| at + size <= other || other + other_size <= at;
    !apart(one.left, one.width, other.left, other.width) && !apart(one.top, one.height, other.top, other.height)
}

/// Whether a line crosses an area. Liang and Barsky, "A new concept and method for line clipping", ACM Transactions on
/// Graphics 1984.
fn crosses([(x1, y1), (x2, y2)]: Line, area: Area) -> bool {
    let (dx, dy) = (x2 - x1, y2 - y1);
    let (right, bottom) = (area.left + area.width, area.top + area.height);
    let (mut first, mut last) = (0.0f64, 1.0f64);
    for (step, room) in [(-dx, x1 - area.left), (dx, right - x1), (-dy, y1 - area.top), (dy, bottom - y1)] {
        if step == 0.0 {
            if room < 0.0 {
                return false;
            }
        } else if step < 0.0 {
            first = first.max(room / step);
        } else {
            last = last.min(room / step);
        }
    }
    first <= last
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Area = Area { left: 10.0, top: 10.0, width: 20.0, height: 10.0 };

    #[test]
    fn lines_cross_areas_that_they_go_through() {
        for line in [[(0.0, 0.0), (40.0, 30.0)], [(15.0, 0.0), (15.0, 50.0)], [(12.0, 12.0), (13.0, 13.0)]] {
            assert!(crosses(line, AREA) && crosses([line[1], line[0]], AREA), "{line:?}");
        }
        for line in [[(0.0, 0.0), (5.0, 50.0)], [(0.0, 9.0), (50.0, 9.0)], [(0.0, 0.0), (8.0, 9.0)]] {
            assert!(!crosses(line, AREA) && !crosses([line[1], line[0]], AREA), "{line:?}");
        }
    }

    #[test]
    fn a_text_goes_where_there_is_room() {
        let mut ground = Ground::default();
        let at = |top: f64| Area { top, ..AREA };
        ground.add_line([(0.0, 15.0), (100.0, 15.0)]);
        // The first place is on the line, the second is free; the third is free as well, but costs more.
        assert_eq!(ground.place(None, [(at(10.0), 0.0), (at(20.0), 1.0), (at(40.0), 2.0)]), Some(1));
        // Now the second place has a text.
        assert_eq!(ground.place(None, [(at(10.0), 0.0), (at(20.0), 1.0), (at(40.0), 2.0)]), Some(2));
        // A place on the line is possible, a place on a text is not.
        assert_eq!(ground.place(None, [(at(20.0), 0.0), (at(10.0), 0.0)]), Some(1));
        assert_eq!(ground.place(None, [(at(15.0), 0.0), (at(25.0), 0.0)]), None);
    }

    #[test]
    fn nothing_else_takes_the_home_of_a_text() {
        let mut ground = Ground::default();
        let at = |top: f64| Area { top, ..AREA };
        ground.add_home(at(10.0), 0);
        ground.add_home(at(30.0), 1);
        assert_eq!(ground.place(Some(1), [(at(15.0), 0.0), (at(30.0), 5.0)]), Some(1));
        assert_eq!(ground.place(None, [(at(5.0), 0.0)]), None);
        assert_eq!(ground.place(Some(0), [(at(10.0), 0.0)]), Some(0));
    }
}
