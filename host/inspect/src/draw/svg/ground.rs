//! The ground of a diagram: where lines and texts are, and where another text has room beside them.

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A straight line in pixels.
pub(super) type Line = [(f64, f64); 2];

/// Pixels of a band: lines and texts are looked up by the bands that they are in.
const BAND: f64 = 48.0;

/// Bands with lines that a ground keeps, all lines together; later lines are not kept apart from texts.
const ENTRIES_MAX: usize = 1 << 20;

/// The price of a crossing with a line, and with a text.
const LINE: f64 = 10.0;
const TEXT: f64 = 30.0;

/// Where lines and texts are.
#[derive(Default)]
pub(super) struct Ground {
    bands: Vec<Band>,
    entries: usize,
}

#[derive(Clone, Default)]
struct Band {
    lines: Vec<Line>,
    texts: Vec<Area>,
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

    /// The cheapest of some places for a text; each has a price of its own, and crossings come on top. The text is there then.
    pub(super) fn place(&mut self, places: impl IntoIterator<Item = (Area, f64)>) -> Option<usize> {
        let mut best: Option<(f64, usize, Area)> = None;
        for (index, (area, own)) in places.into_iter().enumerate() {
            let price = own + self.price(area);
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

    /// The price of all crossings of a text with what is there.
    pub(super) fn price(&self, area: Area) -> f64 {
        let mut price = 0.0;
        for band in bands(area.top, area.top + area.height).filter_map(|band| self.bands.get(band)) {
            price += LINE * band.lines.iter().filter(|line| crosses(**line, area)).count() as f64;
            price += TEXT * band.texts.iter().filter(|text| overlap(**text, area)).count() as f64;
        }
        price
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

/// Whether a line goes through an area. Liang and Barsky, "A new concept and method for line clipping", ACM Transactions on
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
        // The first place is on the line, the second is free; so is the third, but it costs more.
        assert_eq!(ground.place([(at(10.0), 0.0), (at(20.0), 1.0), (at(40.0), 2.0)]), Some(1));
        // Now there is a text.
        assert_eq!(ground.place([(at(10.0), 0.0), (at(20.0), 1.0), (at(40.0), 2.0)]), Some(2));
        // On the line it is better than on a text.
        assert_eq!(ground.place([(at(20.0), 0.0), (at(10.0), 0.0)]), Some(1));
    }
}
