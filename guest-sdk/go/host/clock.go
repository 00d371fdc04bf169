package host

import "slices"

// Clock is a monotone clock of one node, as part of its state.
//
// A model has no time, so a reading has no value: it has a name, and whether it is so much later than another one is a choice
// that the checker explores both ways, as long as both are possible. What has been found once restricts what can be found
// later. docs/time-and-chance.md says more; the answers are those of the Rust SDK. Time is an integer, in units of the
// protocol's own. The zero Clock has no readings.
type Clock struct {
	readings []string
	// Row by row, for all pairs of moments: the largest difference between the first and the second; nil if it has no bound.
	// Moment 0 is the last time at which the clock was looked at, moment i + 1 is reading i. Closed: no bound follows from
	// others that is smaller.
	bounds []*int64
}

type clockState struct {
	Bounds   []*int64 `json:"bounds"`
	Readings any      `json:"readings"`
}

// MarshalJSON encodes the clock as a part of the state.
func (c Clock) MarshalJSON() ([]byte, error) { return Encode(c.state(c.Readings())), nil }

// Readings are the names of the readings, in their order.
func (c Clock) Readings() []string { return append([]string{}, c.readings...) }

// Read reads the clock and keeps the reading under a name; one of the same name is forgotten before.
func (c *Clock) Read(name string) {
	c.Forget(name)
	place, _ := slices.BinarySearch(c.readings, name)
	old, before := c.matrix(), len(c.readings)+1
	c.readings = slices.Insert(slices.Clone(c.readings), place, name)
	// The new reading is now, so its bounds are those of now.
	was := func(moment int) int {
		switch {
		case moment <= place:
			return moment
		case moment == place+1:
			return 0
		}
		return moment - 1
	}
	c.fill(func(a, b int) *int64 { return old[was(a)*before+was(b)] })
	c.letTimePass()
}

// Forget forgets a reading, with what is known of it; whether there was one.
func (c *Clock) Forget(name string) bool {
	place := slices.Index(c.readings, name)
	if place < 0 {
		return false
	}
	old, before := c.bounds, len(c.readings)+1
	c.readings = slices.Delete(slices.Clone(c.readings), place, place+1)
	was := func(moment int) int {
		if moment <= place {
			return moment
		}
		return moment + 1
	}
	c.fill(func(a, b int) *int64 { return old[was(a)*before+was(b)] })
	return true
}

// HasPassed says whether so much time or more has passed since a reading; choose is Choose. The clock is looked at again, so a
// later call may say yes where this one says no.
func (c *Clock) HasPassed(choose func(uint32) uint32, since string, duration uint32) bool {
	return c.decide(choose, 0, c.moment(since), int64(duration))
}

// IsLater says whether one reading is so much later than another, or more; with 0, whether it is not before the other.
func (c *Clock) IsLater(choose func(uint32) uint32, reading, than string, by uint32) bool {
	return c.decide(choose, c.moment(reading), c.moment(than), int64(by))
}

func (c *Clock) decide(choose func(uint32) uint32, a, b int, by int64) bool {
	// At least by, or at most by - 1.
	answer := c.isPossible(a, b, by)
	if answer && c.isPossible(b, a, 1-by) {
		answer = choose(2) == 1
	}
	if answer {
		c.restrict(a, b, by)
	} else {
		c.restrict(b, a, 1-by)
	}
	c.letTimePass()
	return answer
}

// Notes that moment a is at least so much later than moment b, if it is possible. Whether it is.
func (c *Clock) assume(a, b int, by int64) bool {
	if !c.isPossible(a, b, by) {
		return false
	}
	c.restrict(a, b, by)
	c.letTimePass()
	return true
}

func (c *Clock) isPossible(a, b int, by int64) bool {
	most := c.bound(a, b)
	return most == nil || *most >= by
}

func (c *Clock) restrict(a, b int, by int64) {
	if most := c.bound(b, a); most != nil && *most <= -by {
		return
	}
	// The only new way between two moments is over the new bound: b - a <= -by.
	old, moments := c.matrix(), len(c.readings)+1
	c.fill(func(from, to int) *int64 {
		first, last, now := old[from*moments+b], old[a*moments+to], old[from*moments+to]
		if first == nil || last == nil {
			return now
		}
		if over := *first - by + *last; now == nil || over < *now {
			return &over
		}
		return now
	})
}

// The clock may be looked at any time later.
func (c *Clock) letTimePass() { clear(c.bounds[1 : len(c.readings)+1]) }

func (c *Clock) moment(name string) int {
	place := slices.Index(c.readings, name)
	if place < 0 {
		panic("the clock has no such reading: " + name)
	}
	return place + 1
}

func (c *Clock) bound(a, b int) *int64 { return c.matrix()[a*(len(c.readings)+1)+b] }

// The bounds; of a clock without readings, that now is now.
func (c Clock) matrix() []*int64 {
	if c.bounds == nil {
		return []*int64{new(int64)}
	}
	return c.bounds
}

func (c *Clock) fill(value func(a, b int) *int64) {
	moments := len(c.readings) + 1
	bounds := make([]*int64, 0, moments*moments)
	for a := range moments {
		for b := range moments {
			bounds = append(bounds, value(a, b))
		}
	}
	c.bounds = bounds
}

func (c Clock) state(readings any) clockState { return clockState{c.matrix(), readings} }
