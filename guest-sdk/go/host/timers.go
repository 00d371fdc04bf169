package host

import (
	"maps"
	"slices"
)

// Timers are timers that are set, by their names, as part of a node's state. Each is due at any moment, in any order, since there
// is no time in a model. No timer is set in the zero Timers.
type Timers struct{ names []string }

// MarshalJSON encodes the timers as a part of the state.
func (t Timers) MarshalJSON() ([]byte, error) { return Encode(t.Due()), nil }

// Set sets a timer. To set it again changes nothing.
func (t *Timers) Set(timer string) {
	if place, found := slices.BinarySearch(t.names, timer); !found {
		t.names = slices.Insert(slices.Clone(t.names), place, timer)
	}
}

// Cancel cancels a timer: it fires no more. Whether it was set.
func (t *Timers) Cancel(timer string) bool {
	place, found := slices.BinarySearch(t.names, timer)
	if found {
		t.names = slices.Delete(slices.Clone(t.names), place, place+1)
	}
	return found
}

// IsSet says whether a timer is set.
func (t Timers) IsSet(timer string) bool { return slices.Contains(t.names, timer) }

// Due lists the timers that can fire, in their order, for LocalEvents.
func (t Timers) Due() []string { return append([]string{}, t.names...) }

// Fired notes that a timer fires: it is not set any more. For Happen.
func (t *Timers) Fired(timer string) {
	if !t.Cancel(timer) {
		panic("a timer fires that is not set: " + timer)
	}
}

// TimedTimers are timers with durations on a monotone clock: they fire in the order of their deadlines, late perhaps, and never
// early.
//
// A timer of 10 fires before one of 30 that is set after it; one of 10 that is set after one of 30 fires before it or after it,
// since any time can pass between the two. An implementation must serve one queue of timers in the order of deadlines. No
// timer is set in the zero TimedTimers.
type TimedTimers struct {
	// A reading for each timer, when it was set.
	clock     Clock
	durations map[string]uint32
}

// MarshalJSON encodes the timers as a part of the state.
func (t TimedTimers) MarshalJSON() ([]byte, error) {
	readings := [][2]any{}
	for _, timer := range t.clock.readings {
		readings = append(readings, [2]any{timer, t.durations[timer]})
	}
	return Encode(map[string]any{"clock": t.clock.state(readings)}), nil
}

// Set sets a timer, from now on; one that is set already is set anew.
func (t *TimedTimers) Set(timer string, duration uint32) {
	t.clock.Read(timer)
	t.durations = maps.Clone(t.durations)
	if t.durations == nil {
		t.durations = map[string]uint32{}
	}
	t.durations[timer] = duration
}

// Cancel cancels a timer: it fires no more. Whether it was set.
func (t *TimedTimers) Cancel(timer string) bool {
	t.durations = maps.Clone(t.durations)
	delete(t.durations, timer)
	return t.clock.Forget(timer)
}

// IsSet says whether a timer is set.
func (t TimedTimers) IsSet(timer string) bool { return slices.Contains(t.clock.readings, timer) }

// Due lists the timers that can be the next to fire, in their order, for LocalEvents.
func (t TimedTimers) Due() []string {
	due := []string{}
	for _, timer := range t.clock.readings {
		// A copy: what is assumed here is forgotten.
		trial := Clock{t.clock.readings, slices.Clone(t.clock.bounds)}
		if t.fire(&trial, timer) {
			due = append(due, timer)
		}
	}
	return due
}

// Fired notes that a timer fires: it is not set any more, and time has come to its deadline. For Happen.
func (t *TimedTimers) Fired(timer string) {
	if !t.IsSet(timer) || !t.fire(&t.clock, timer) {
		panic("a timer fires that is not set, or that is not the next: " + timer)
	}
	t.Cancel(timer)
}

// Notes that a timer is the next to fire; whether it can be.
func (t TimedTimers) fire(clock *Clock, timer string) bool {
	at, duration := clock.moment(timer), int64(t.durations[timer])
	for _, other := range clock.readings {
		// other + its duration >= timer + duration
		if other != timer && !clock.assume(clock.moment(other), at, duration-int64(t.durations[other])) {
			return false
		}
	}
	return clock.assume(0, at, duration)
}
