//go:build wasm

package host

import (
	"bytes"
	"unsafe"
)

//go:wasmimport host:protocol/storage@0.1.0 get
func hostGet(key unsafe.Pointer, length uint32, result unsafe.Pointer)

//go:wasmimport host:protocol/storage@0.1.0 put
func hostPut(key unsafe.Pointer, length uint32, value unsafe.Pointer, valueLength uint32)

//go:wasmimport host:protocol/storage@0.1.0 delete
func hostDelete(key unsafe.Pointer, length uint32)

//go:wasmimport host:protocol/storage@0.1.0 delete-range
func hostDeleteRange(start unsafe.Pointer, length, isEnd uint32, end unsafe.Pointer, endLength uint32)

//go:wasmimport host:protocol/storage@0.1.0 range
func hostRange(
	start unsafe.Pointer, length, isEnd uint32, end unsafe.Pointer, endLength, order, limit uint32, result unsafe.Pointer,
)

//go:wasmimport host:protocol/durability@0.1.0 sync
func hostSync()

// Sync makes all writes so far durable before the messages of this handler leave. A plugin that calls it anywhere decides itself what is
// durable: a power outage can lose the writes after the last call, those of whole handlers, the latest first.
func Sync() { hostSync() }

func passed(content []byte) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(content)), uint32(len(content))
}

func mapGet(key []byte) ([]byte, bool) {
	at, length := passed(key)
	// A tag and a list, at a place that stays while the host asks for memory.
	_, words := room(12)
	hostGet(at, length, unsafe.Pointer(&words[0]))
	if words[0]&0xff == 0 {
		return nil, false
	}
	return returned(words[1], words[2]), true
}

func mapPut(key, value []byte) {
	at, length := passed(key)
	content, contentLength := passed(value)
	hostPut(at, length, content, contentLength)
}

func mapDelete(key []byte) { hostDelete(passed(key)) }

func mapDeleteRange(start, end []byte) {
	at, length := passed(start)
	last, lastLength := passed(end)
	hostDeleteRange(at, length, 1, last, lastLength)
}

func mapRange(start, end []byte, isDescending bool, limit uint32) []entry {
	at, length := passed(start)
	last, lastLength := passed(end)
	order := uint32(0)
	if isDescending {
		order = 1
	}
	_, words := room(8)
	hostRange(at, length, 1, last, lastLength, order, limit, unsafe.Pointer(&words[0]))
	entries := make([]entry, words[1])
	for i := range entries {
		of := unsafe.Slice((*uint32)(unsafe.Pointer(uintptr(words[0])+uintptr(16*i))), 4)
		entries[i] = entry{returned(of[0], of[1]), returned(of[2], of[3])}
	}
	return entries
}

// A copy of what the host has returned, which lives as long as the call.
func returned(at, length uint32) []byte {
	return bytes.Clone(given(unsafe.Pointer(uintptr(at)), length))
}
