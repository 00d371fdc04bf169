package host

import "slices"

// RegisterCall is an operation on a register, RegisterReturn its result.
type (
	RegisterCall[V any] struct {
		Kind  string `json:"kind"`
		Value V      `json:"value"`
	}
	RegisterReturn[V any] struct {
		Kind  string `json:"kind"`
		Value V      `json:"value"`
	}
)

// RegisterRead is a call that returns the value.
func RegisterRead[V any]() RegisterCall[V] { return RegisterCall[V]{Kind: "read"} }

// RegisterWrite is a call that replaces the value.
func RegisterWrite[V any](value V) RegisterCall[V] { return RegisterCall[V]{"write", value} }

// RegisterValue is the result of a call that reads.
func RegisterValue[V any](value V) RegisterReturn[V] { return RegisterReturn[V]{"value", value} }

// RegisterWritten is the result of a call that writes.
func RegisterWritten[V any]() RegisterReturn[V] { return RegisterReturn[V]{Kind: "written"} }

// RegisterObject is a register that holds First at the start.
type RegisterObject[V any] struct{ First V }

// Start is the object before all operations.
func (r RegisterObject[V]) Start() V { return r.First }

// Apply carries an operation out.
func (r RegisterObject[V]) Apply(state V, call RegisterCall[V]) (V, RegisterReturn[V]) {
	if call.Kind == "read" {
		return state, RegisterValue(state)
	}
	return call.Value, RegisterWritten[V]()
}

// LogCall is an operation on a log, LogReturn its result.
type (
	LogCall[E any] struct {
		Entry E      `json:"entry"`
		Kind  string `json:"kind"`
	}
	LogReturn[E any] struct {
		Entries []E    `json:"entries"`
		Kind    string `json:"kind"`
		Place   uint32 `json:"place"`
	}
)

// LogRead is a call that returns all entries.
func LogRead[E any]() LogCall[E] { return LogCall[E]{Kind: "read"} }

// LogAppend is a call that adds an entry at the end.
func LogAppend[E any](entry E) LogCall[E] { return LogCall[E]{entry, "append"} }

// LogEntries is the result of a call that reads: the entries from the first to the last.
func LogEntries[E any](entries ...E) LogReturn[E] {
	return LogReturn[E]{Entries: append([]E{}, entries...), Kind: "entries"}
}

// LogAppended is the result of a call that appends: the place of the entry, from 0.
func LogAppended[E any](place uint32) LogReturn[E] {
	return LogReturn[E]{Entries: []E{}, Kind: "appended", Place: place}
}

// LogObject is a log that is empty at the start and only grows.
type LogObject[E any] struct{}

// Start is the object before all operations.
func (LogObject[E]) Start() []E { return []E{} }

// Apply carries an operation out.
func (LogObject[E]) Apply(state []E, call LogCall[E]) ([]E, LogReturn[E]) {
	if call.Kind == "read" {
		return state, LogEntries(state...)
	}
	return append(slices.Clone(state), call.Entry), LogAppended[E](uint32(len(state)))
}
