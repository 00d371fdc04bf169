//go:build !wasm

package host

import (
	"maps"
	"slices"
)

// Where tests run, there is no host; Answer stands for its answers.

// Answer is asked for a number below alternatives where a handler chooses. A test may replace it.
var Answer = func(alternatives uint32) uint32 { return 0 }

// Told hears of each answer to a client. A test may replace it.
var Told = func(number uint64, response *Response) {}

// Export does nothing where tests run.
func Export(Protocol) {}

// Choose asks Answer.
func Choose(alternatives uint32) uint32 { return Answer(alternatives) }

// ChooseWeighted asks Answer, too.
func ChooseWeighted(weights ...uint32) uint32 { return Answer(uint32(len(weights))) }

// CanSend says yes where tests run.
func CanSend(uint32) bool { return true }

// Log drops the line.
func Log(string) {}

// Respond tells Told.
func Respond(number uint64, response *Response) { Told(number, response) }

// Restart does nothing where tests run.
func Restart(string) {}

// Stored is the durable map of the node under test, by the bytes of keys. A test may replace it, for another node or after a reset.
var Stored = map[string][]byte{}

// Sync does nothing where tests run.
func Sync() {}

func mapGet(key []byte) ([]byte, bool) {
	value, ok := Stored[string(key)]
	return value, ok
}

func mapPut(key, value []byte) { Stored[string(key)] = value }

func mapDelete(key []byte) { delete(Stored, string(key)) }

func mapDeleteRange(start, end []byte) {
	maps.DeleteFunc(Stored, func(key string, _ []byte) bool { return string(start) <= key && key < string(end) })
}

func mapRange(start, end []byte, isDescending bool, limit uint32) []entry {
	keys := slices.Sorted(maps.Keys(Stored))
	if isDescending {
		slices.Reverse(keys)
	}
	entries := []entry{}
	for _, key := range keys {
		if string(start) <= key && key < string(end) && len(entries) < int(limit) {
			entries = append(entries, entry{[]byte(key), Stored[key]})
		}
	}
	return entries
}
