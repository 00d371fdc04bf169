package host

import (
	"fmt"
	"reflect"
)

// What many protocols promise, for Invariant: each function says why it does not hold. Each is handed a value for each node, in their
// order, as a pointer that is nil where the node cannot matter. The Rust SDK has the same properties.

// OneLeaderPerTerm says that no two nodes lead in the same term; the terms are those in which nodes lead.
func OneLeaderPerTerm[T comparable](terms []*T) error {
	return ofPairs(terms, func(one int, term T, other int, same T) error {
		if term == same {
			return fmt.Errorf("nodes %d and %d both lead in term %v", one, other, term)
		}
		return nil
	})
}

// LogsAgree says that of two logs one is the beginning of the other; a log is what counts of it, such as what is committed.
func LogsAgree[E any](logs []*[]E) error {
	return ofPairs(logs, func(one int, log []E, other int, its []E) error {
		for place := range min(len(log), len(its)) {
			if !reflect.DeepEqual(log[place], its[place]) {
				return fmt.Errorf("nodes %d and %d have different entries at %d", one, other, place+1)
			}
		}
		return nil
	})
}

// Kept is what a node has, as AcknowledgedIsDurable reads it.
type Kept[V comparable] struct {
	// Acknowledged is what it has told clients to be done.
	Acknowledged []V
	// Stored is what it has on its disk, or in its memory where that is what counts.
	Stored []V
}

// AcknowledgedIsDurable says that what a node has acknowledged is stored by more than half of the nodes.
func AcknowledgedIsDurable[V comparable](kept []*Kept[V]) error {
	for _, one := range kept {
		if one == nil {
			continue
		}
		for _, value := range one.Acknowledged {
			holders := count(kept, func(its Kept[V]) bool {
				for _, stored := range its.Stored {
					if stored == value {
						return true
					}
				}
				return false
			})
			if holders*2 <= len(kept) {
				return fmt.Errorf("%#v was acknowledged, and %d of %d nodes have it", value, holders, len(kept))
			}
		}
	}
	return nil
}

// Replica is a log, as CommittedIsOnAMajority reads it.
type Replica[E any] struct {
	Entries []E
	// Committed is how many of them are.
	Committed int
}

// CommittedIsOnAMajority says that what a node has committed is in the logs of more than half of the nodes.
func CommittedIsOnAMajority[E any](logs []*Replica[E]) error {
	for node, log := range logs {
		if log == nil {
			continue
		}
		for place := range log.Committed {
			holders := count(logs, func(its Replica[E]) bool {
				return len(its.Entries) > place && reflect.DeepEqual(its.Entries[place], log.Entries[place])
			})
			if holders*2 <= len(logs) {
				return fmt.Errorf("node %d has committed entry %d, and %d of %d nodes have it", node, place+1, holders, len(logs))
			}
		}
	}
	return nil
}

// ReplicasConverge says that all nodes have the same value; most often of the kind Eventually. A node without one is left out.
func ReplicasConverge[V any](values []*V) error {
	return ofPairs(values, func(one int, value V, other int, its V) error {
		if !reflect.DeepEqual(value, its) {
			return fmt.Errorf("nodes %d and %d have different values", one, other)
		}
		return nil
	})
}

func count[V any](views []*V, holds func(V) bool) int {
	count := 0
	for _, view := range views {
		if view != nil && holds(*view) {
			count++
		}
	}
	return count
}

func ofPairs[V any](views []*V, check func(one int, view V, other int, its V) error) error {
	for one, view := range views {
		for other := one + 1; other < len(views); other++ {
			if view == nil || views[other] == nil {
				continue
			}
			if err := check(one, *view, other, *views[other]); err != nil {
				return err
			}
		}
	}
	return nil
}
