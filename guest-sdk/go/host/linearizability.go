package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SequentialObject is the behaviour of an object when nothing is concurrent. Deterministic.
type SequentialObject[S, C, R any] interface {
	// Start is the object before all operations.
	Start() S
	// Apply returns the next state and the result of an operation. The state that is given must not change.
	Apply(state S, call C) (S, R)
}

// OperationID names an operation: the client, and the number of the operation among those of the client, from 1.
type OperationID struct{ Client, Number uint32 }

func (id OperationID) String() string { return fmt.Sprintf("%d.%d", id.Client, id.Number) }

// NotLinearizable says that no order of the operations explains what they returned.
type NotLinearizable struct {
	// Longest is the longest beginning of an order that explains its part; of several the first.
	Longest    []OperationID
	operations []string
}

func (n *NotLinearizable) Error() string {
	end := "none can be the first"
	if len(n.Longest) > 0 {
		end = "nothing fits after " + joined(n.Longest)
	}
	return fmt.Sprintf("no order of the operations explains what they returned: %s; %s", strings.Join(n.operations, "; "), end)
}

// Operation is an operation of a client.
type Operation[C, R any] struct {
	// After says what had returned before the call: of each client the number of its first operations.
	After map[uint32]uint32 `json:"after"`
	Call  C                 `json:"call"`
	// Returned is nil if the operation did not return yet.
	Returned *R `json:"returned"`
}

// History has the operations of some clients: of each client, in the order in which it called them. The zero History is empty.
//
// Source: Herlihy and Wing, "Linearizability: A Correctness Condition for Concurrent Objects", TOPLAS 12(3), 1990. "Before" is
// about time, which no node sees. Either one node stands for all clients and keeps one History, or every node is a Client and
// tells the others when an operation is complete. docs/time-and-chance.md says why that is exact.
//
// Canonical: histories with the same operations and the same order between them have the same encoding.
type History[C, R any] struct{ clients map[uint32][]Operation[C, R] }

// HistoryOf is the history of clients that keep their operations by themselves, such as the views of nodes.
func HistoryOf[C, R any](clients map[uint32][]Operation[C, R]) History[C, R] {
	history := History[C, R]{maps.Clone(clients)}
	maps.DeleteFunc(history.clients, func(_ uint32, operations []Operation[C, R]) bool { return len(operations) == 0 })
	return history
}

type historyState[C, R any] struct {
	Clients map[uint32][]Operation[C, R] `json:"clients"`
}

// MarshalJSON encodes the history as a part of a state or view.
func (h History[C, R]) MarshalJSON() ([]byte, error) {
	if h.clients == nil {
		h.clients = map[uint32][]Operation[C, R]{}
	}
	return Encode(historyState[C, R]{h.clients}), nil
}

// UnmarshalJSON reads what MarshalJSON has written.
func (h *History[C, R]) UnmarshalJSON(text []byte) error {
	var state historyState[C, R]
	err := json.Unmarshal(text, &state)
	h.clients = state.Clients
	return err
}

// Call notes that a client calls an operation, after all that have returned.
func (h *History[C, R]) Call(client uint32, call C) {
	checkFree(client, h.clients[client])
	after := map[uint32]uint32{}
	for other, operations := range h.clients {
		if count := completed(operations); count > 0 {
			after[other] = count
		}
	}
	if h.clients == nil {
		h.clients = map[uint32][]Operation[C, R]{}
	}
	h.clients[client] = append(h.clients[client], Operation[C, R]{After: after, Call: call})
}

// Return notes that the operation that a client has called last returns.
func (h *History[C, R]) Return(client uint32, result R) { complete(client, h.clients[client], result) }

// IsPending says whether a client waits for the return of an operation.
func (h History[C, R]) IsPending(client uint32) bool { return isPending(h.clients[client]) }

// Operations are those of a client, in the order in which it called them.
func (h History[C, R]) Operations(client uint32) []Operation[C, R] { return h.clients[client] }

// Linearize returns an order that explains the history, without those pending operations that need not have taken effect; or a
// *NotLinearizable.
//
// The search is that of Wing and Gong, "Testing and Verifying Concurrent Objects", JPDC 17, 1993, with the memory of Lowe,
// "Testing for Linearizability", CCPE 29(4), 2017.
func Linearize[S, C, R any](h History[C, R], object SequentialObject[S, C, R]) ([]OperationID, error) {
	names := slices.Sorted(maps.Keys(h.clients))
	// How many operations of each client the order has, the object after it, the client that is tried next.
	type node struct {
		done  []uint32
		state S
		next  int
	}
	key := func(done []uint32, state S) string { return fmt.Sprintf("%d %s", done, Encode(state)) }
	path := []node{{make([]uint32, len(names)), object.Start(), 0}}
	seen := map[string]bool{key(path[0].done, path[0].state): true}
	var order, longest []OperationID
	for len(path) > 0 {
		last := &path[len(path)-1]
		if h.isGoal(names, last.done) {
			return order, nil
		}
		for last.next < len(names) && !h.isMinimal(names, last.done, last.next) {
			last.next++
		}
		if last.next == len(names) {
			path = path[:len(path)-1]
			order = order[:max(0, len(order)-1)]
			continue
		}
		client := last.next
		last.next++
		operation := h.clients[names[client]][last.done[client]]
		state, result := object.Apply(last.state, operation.Call)
		if operation.Returned != nil && string(Encode(*operation.Returned)) != string(Encode(result)) {
			continue
		}
		done := slices.Clone(last.done)
		done[client]++
		if seen[key(done, state)] {
			continue
		}
		seen[key(done, state)] = true
		order = append(order, OperationID{names[client], done[client]})
		if len(order) > len(longest) {
			longest = slices.Clone(order)
		}
		path = append(path, node{done, state, 0})
	}
	failure := &NotLinearizable{Longest: longest}
	for _, client := range names {
		for i, operation := range h.clients[client] {
			failure.operations = append(failure.operations, operation.show(OperationID{client, uint32(i) + 1}))
		}
	}
	return nil, failure
}

// Whether all that has returned is in the order.
func (h History[C, R]) isGoal(names, done []uint32) bool {
	for place, client := range names {
		if done[place] < completed(h.clients[client]) {
			return false
		}
	}
	return true
}

// Whether a client has an operation left that comes after nothing else that is left.
func (h History[C, R]) isMinimal(names, done []uint32, client int) bool {
	operations := h.clients[names[client]]
	if int(done[client]) == len(operations) {
		return false
	}
	for other, count := range operations[done[client]].After {
		place, found := slices.BinarySearch(names, other)
		if found && done[place] < min(count, uint32(len(h.clients[other]))) {
			return false
		}
	}
	return true
}

// Client has the operations of one client that keeps them by itself, and what it has heard of the others.
type Client[C, R any] struct {
	ID         uint32            `json:"id"`
	Known      map[uint32]uint32 `json:"known"`
	Operations []Operation[C, R] `json:"operations"`
}

// NewClient is a client without operations.
func NewClient[C, R any](id uint32) Client[C, R] {
	return Client[C, R]{id, map[uint32]uint32{}, []Operation[C, R]{}}
}

// Call notes that the client calls an operation, after all that it knows to have returned.
func (c *Client[C, R]) Call(call C) {
	checkFree(c.ID, c.Operations)
	c.Operations = append(c.Operations, Operation[C, R]{After: maps.Clone(c.Known), Call: call})
}

// Return notes that the last operation returns. The answer is how many have returned by now: tell it to all other clients, for
// Learn.
func (c *Client[C, R]) Return(result R) uint32 {
	complete(c.ID, c.Operations, result)
	c.Known[c.ID] = uint32(len(c.Operations))
	return c.Known[c.ID]
}

// Learn notes that the first so many operations of another client have returned. News may arrive late, and twice.
func (c *Client[C, R]) Learn(client, completed uint32) {
	c.Known[client] = max(completed, c.Known[client])
}

// IsPending says whether an operation did not return yet.
func (c Client[C, R]) IsPending() bool { return isPending(c.Operations) }

// How many operations of a client have returned: all, or all but the last.
func completed[C, R any](operations []Operation[C, R]) uint32 {
	if isPending(operations) {
		return uint32(len(operations)) - 1
	}
	return uint32(len(operations))
}

func isPending[C, R any](operations []Operation[C, R]) bool {
	return len(operations) > 0 && operations[len(operations)-1].Returned == nil
}

func checkFree[C, R any](client uint32, operations []Operation[C, R]) {
	if isPending(operations) {
		panic(fmt.Sprintf("client %d calls before its last operation has returned", client))
	}
}

func complete[C, R any](client uint32, operations []Operation[C, R], result R) {
	if !isPending(operations) {
		panic(fmt.Sprintf("client %d has no operation that could return", client))
	}
	operations[len(operations)-1].Returned = &result
}

func (o Operation[C, R]) show(id OperationID) string {
	end := "(pending)"
	if o.Returned != nil {
		end = "-> " + string(Encode(*o.Returned))
	}
	var after []OperationID
	for _, other := range slices.Sorted(maps.Keys(o.After)) {
		if other != id.Client {
			after = append(after, OperationID{other, o.After[other]})
		}
	}
	if len(after) > 0 {
		end += " after " + joined(after)
	}
	return fmt.Sprintf("%s %s %s", id, Encode(o.Call), end)
}

func joined(ids []OperationID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, ", ")
}
