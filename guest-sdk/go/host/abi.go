//go:build wasm

package host

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

var protocol Protocol

// Export makes a node the plugin; called by an init function of the main package.
func Export(p Protocol) { protocol = p }

//go:wasmimport host:protocol/environment@0.1.0 choose
func hostChoose(alternatives uint32) uint32

//go:wasmimport host:protocol/environment@0.1.0 log
func hostLog(at unsafe.Pointer, length uint32)

// Choose is nondeterminism inside a handler: the host explores every answer below alternatives.
func Choose(alternatives uint32) uint32 { return hostChoose(alternatives) }

//go:wasmimport host:protocol/environment@0.1.0 can-send
func hostCanSend(to uint32) uint32

// CanSend says whether the transport takes a message now: ask before it is returned, and do not return one that was refused.
func CanSend(to uint32) bool { return hostCanSend(to) != 0 }

//go:wasmimport host:protocol/odds@0.1.0 choose-weighted
func hostChooseWeighted(at unsafe.Pointer, length uint32) uint32

// ChooseWeighted is as Choose, with an answer for each weight; a random walk draws answers in proportion to their weights.
func ChooseWeighted(weights ...uint32) uint32 {
	return hostChooseWeighted(unsafe.Pointer(unsafe.SliceData(weights)), uint32(len(weights)))
}

// Log is a line for people; only in Init, Receive and Happen.
func Log(line string) { hostLog(unsafe.Pointer(unsafe.StringData(line)), uint32(len(line))) }

// What the host passes and what it is given; the garbage collector must not take it before the host has read the result.
var kept []unsafe.Pointer

func keep(at unsafe.Pointer) uint32 {
	kept = append(kept, at)
	return uint32(uintptr(at))
}

// Words have the alignment of everything in the contract but durations.
func room(size uint32) (uint32, []uint32) {
	words := make([]uint32, max(1, (size+3)/4))
	return keep(unsafe.Pointer(&words[0])), words
}

//go:wasmexport cabi_realloc
func realloc(old unsafe.Pointer, oldSize, align, size uint32) uint32 {
	at, words := room(size)
	if oldSize > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size), unsafe.Slice((*byte)(old), oldSize))
	}
	return at
}

// A list without elements must not point to address 0.
func list[T any](items []T) (uint32, uint32) {
	if len(items) == 0 {
		return 8, 0
	}
	return keep(unsafe.Pointer(&items[0])), uint32(len(items))
}

func text(value string) (uint32, uint32) {
	if value == "" {
		return 8, 0
	}
	return keep(unsafe.Pointer(unsafe.StringData(value))), uint32(len(value))
}

// An argument, which lives as long as the call.
func given(at unsafe.Pointer, length uint32) []byte { return unsafe.Slice((*byte)(at), length) }

func envelopes(sent []Envelope) (uint32, uint32) {
	at, words := room(12 * uint32(len(sent)))
	for i, envelope := range sent {
		words[3*i] = envelope.To
		words[3*i+1], words[3*i+2] = list(envelope.Message)
	}
	return at, uint32(len(sent))
}

func pair(at, length uint32) uint32 {
	result, words := room(8)
	words[0], words[1] = at, length
	return result
}

// An option or a result: whether it is there, or an error, and a list.
func tagged(tag, at, length uint32) uint32 {
	result, words := room(12)
	words[0], words[1], words[2] = tag, at, length
	return result
}

func option(bytes []byte) uint32 {
	if bytes == nil {
		return tagged(0, 8, 0)
	}
	at, length := list(bytes)
	return tagged(1, at, length)
}

func refused(err error) uint32 {
	at, length := text(err.Error())
	return tagged(1, at, length)
}

// A panic is quoted by the host as the reason of the fault.
func explain() {
	if why := recover(); why != nil {
		Log(words(why))
		// Go's own way to end a program writes a stack trace and asks the system to exit.
		trap()
	}
}

// An error of the system is nothing that the protocol does wrong: no plugin has one.
func words(why any) string {
	// As the numbers of errors are, and what package net makes of them.
	var number interface{ Temporary() bool }
	if err, ok := why.(error); ok && errors.As(err, &number) {
		return fmt.Sprintf("host:platform a file, a socket or a process: %v", err)
	}
	return fmt.Sprint("panic: ", why)
}

// Never returns: the host would take an empty result for an answer.
func trap() {
	for {
		storeOutOfBounds()
	}
}

// The compiler leaves out a load that nobody needs, and what comes before a loop without end, but no call and no store before a return.
//
//go:noinline
func storeOutOfBounds() { *(*byte)(unsafe.Pointer(^uintptr(0))) = 0 }

//go:wasmexport init
func initNode(me, nodes uint32, at unsafe.Pointer, length, isRestart uint32, disk unsafe.Pointer, diskLength uint32) uint32 {
	defer explain()
	config, err := assignments(string(given(at, length)))
	if err != nil {
		return refused(err)
	}
	var sent []Envelope
	if durable, ok := protocol.(Durable); ok && isRestart&0xff != 0 {
		sent, err = durable.Restart(me, nodes, config, given(disk, diskLength))
	} else {
		sent, err = protocol.Init(me, nodes, config)
	}
	if err != nil {
		return refused(err)
	}
	first, count := envelopes(sent)
	return tagged(0, first, count)
}

//go:wasmexport handleMessage
func handleMessage(src uint32, at unsafe.Pointer, length uint32) uint32 {
	defer explain()
	return pair(envelopes(protocol.Receive(src, given(at, length))))
}

//go:wasmexport localEvents
func localEvents() uint32 {
	defer explain()
	events := protocol.LocalEvents()
	at, words := room(20 * uint32(len(events)))
	for i, event := range events {
		words[5*i], words[5*i+1] = text(event.Name)
		words[5*i+2] = uint32(event.Kind)
		words[5*i+3], words[5*i+4] = list(event.Payload)
	}
	return pair(at, uint32(len(events)))
}

//go:wasmexport handleLocal
func handleLocal(name unsafe.Pointer, nameLength, kind uint32, payload unsafe.Pointer, length uint32) uint32 {
	defer explain()
	return pair(envelopes(protocol.Happen(event(name, nameLength, kind, payload, length))))
}

func event(name unsafe.Pointer, nameLength, kind uint32, payload unsafe.Pointer, length uint32) LocalEvent {
	return LocalEvent{string(given(name, nameLength)), LocalKind(kind), given(payload, length)}
}

//go:wasmexport serialize
func serialize() uint32 {
	defer explain()
	return pair(list(protocol.Serialize()))
}

//go:wasmexport properties
func properties() uint32 {
	defer explain()
	claims := protocol.Properties()
	at, words := room(12 * uint32(len(claims)))
	for i, claim := range claims {
		words[3*i], words[3*i+1] = text(claim.Name)
		words[3*i+2] = uint32(claim.Kind) | uint32(claim.Scope)<<8
	}
	return pair(at, uint32(len(claims)))
}

//go:wasmexport view
func view(property uint32) uint32 {
	defer explain()
	return option(protocol.View(int(property)))
}

//go:wasmexport persist
func persist() uint32 {
	defer explain()
	if durable, ok := protocol.(Durable); ok {
		return option(durable.Persist())
	}
	return option(nil)
}

//go:wasmexport state
func state() uint32 {
	defer explain()
	if described, ok := protocol.(Described); ok {
		return pair(list(Encode(described.DescribeState())))
	}
	return pair(list(shown(protocol.Serialize())))
}

//go:wasmexport message
func message(at unsafe.Pointer, length uint32) uint32 {
	defer explain()
	if described, ok := protocol.(Described); ok {
		return pair(list(Encode(described.DescribeMessage(given(at, length)))))
	}
	return pair(list(shown(given(at, length))))
}

//go:wasmexport describeLocal
func describeLocal(name unsafe.Pointer, nameLength, kind uint32, payload unsafe.Pointer, length uint32) uint32 {
	defer explain()
	said := event(name, nameLength, kind, payload, length)
	if described, ok := protocol.(DescribedEvents); ok {
		return pair(list(Encode(described.DescribeLocal(said))))
	}
	return pair(list(shown(said.Payload)))
}

//go:wasmexport nodeName
func nodeName() uint32 {
	defer explain()
	if named, ok := protocol.(Named); ok && named.NodeName() != "" {
		return option([]byte(named.NodeName()))
	}
	return option(nil)
}

// What is JSON or text already describes itself.
func shown(encoded []byte) []byte {
	if json.Valid(encoded) {
		return encoded
	}
	isControl := func(letter rune) bool { return !unicode.IsGraphic(letter) }
	if utf8.Valid(encoded) && !bytes.ContainsFunc(encoded, isControl) {
		return Encode(string(encoded))
	}
	return Encode(hex.EncodeToString(encoded))
}

//go:wasmexport invariant
func invariant(property uint32, at unsafe.Pointer, count uint32) uint32 {
	defer explain()
	views := make([][]byte, count)
	for i := range views {
		// Pointers have 64 bits in Go for Wasm, and 32 in the contract.
		words := unsafe.Slice((*uint32)(unsafe.Add(at, 12*i)), 3)
		if words[0]&0xff != 0 {
			views[i] = given(unsafe.Pointer(uintptr(words[1])), words[2])
		}
	}
	if err := protocol.Invariant(int(property), views); err != nil {
		return refused(err)
	}
	return tagged(0, 8, 0)
}

//go:wasmexport about
func about() uint32 {
	defer explain()
	says := protocol.About()
	result, words := room(40)
	words[0], words[1] = text(says.Name)
	words[2], words[3] = text(says.Version)
	words[4], words[5] = text(says.Summary)
	words[6], words[7] = says.Nodes, 0
	parameters, fields := room(24 * uint32(len(says.Parameters)))
	for i, parameter := range says.Parameters {
		fields[6*i], fields[6*i+1] = text(parameter.Name)
		fields[6*i+2], fields[6*i+3] = text(parameter.Default)
		fields[6*i+4], fields[6*i+5] = text(parameter.Meaning)
	}
	words[8], words[9] = parameters, uint32(len(says.Parameters))
	return result
}

// Calls between two collections. Go waits until its heap has 4 MB; snapshots should not carry so much garbage.
const callsPerCollection = 16

var calls uint32

// The host has read the result: nothing of this call is needed any more.
func release() {
	clear(kept)
	kept = kept[:0]
	if calls++; calls%callsPerCollection == 0 {
		runtime.GC()
	}
}

//go:wasmexport cabi_post_init
func postInit(uint32) { release() }

//go:wasmexport cabi_post_handleMessage
func postHandleMessage(uint32) { release() }

//go:wasmexport cabi_post_localEvents
func postLocalEvents(uint32) { release() }

//go:wasmexport cabi_post_handleLocal
func postHandleLocal(uint32) { release() }

//go:wasmexport cabi_post_serialize
func postSerialize(uint32) { release() }

//go:wasmexport cabi_post_properties
func postProperties(uint32) { release() }

//go:wasmexport cabi_post_view
func postView(uint32) { release() }

//go:wasmexport cabi_post_invariant
func postInvariant(uint32) { release() }

//go:wasmexport cabi_post_persist
func postPersist(uint32) { release() }

//go:wasmexport cabi_post_state
func postState(uint32) { release() }

//go:wasmexport cabi_post_message
func postMessage(uint32) { release() }

//go:wasmexport cabi_post_nodeName
func postNodeName(uint32) { release() }

//go:wasmexport cabi_post_about
func postAbout(uint32) { release() }
