//go:build wasm

package host

import (
	"time"
	"unsafe"
)

//go:wasmimport host:protocol/live@0.1.0 answer
func hostAnswer(number uint64, status, body, length, isAsk, ask uint32)

//go:wasmimport host:protocol/live@0.1.0 restart
func hostRestart(at unsafe.Pointer, length uint32)

// Respond answers the request of this number, at any time; dropped where nobody waits for it, as in a search.
func Respond(number uint64, response *Response) {
	body, length := list(response.Body)
	isAsk, ask := asked(response)
	hostAnswer(number, uint32(response.Status), body, length, isAsk, ask)
}

// Restart has the local events of this name wait anew: their durations are drawn again in the state that the handler leads to.
func Restart(name string) { hostRestart(unsafe.Pointer(unsafe.StringData(name)), uint32(len(name))) }

func asked(response *Response) (uint32, uint32) {
	if response.Ask == nil {
		return 0, 0
	}
	return 1, *response.Ask
}

//go:wasmexport duration
func duration(name unsafe.Pointer, nameLength, kind uint32, payload unsafe.Pointer, length uint32) uint32 {
	defer explain()
	// A tag and two numbers, all of 64 bits.
	words := make([]uint64, 3)
	if timed, ok := protocol.(Timed); ok {
		if span := timed.Duration(event(name, nameLength, kind, payload, length)); span != nil {
			words[0], words[1], words[2] = 1, uint64(span.Shortest/time.Microsecond), uint64(span.Longest/time.Microsecond)
		}
	}
	return keep(unsafe.Pointer(&words[0]))
}

//go:wasmexport accept
func accept(
	number uint64,
	method unsafe.Pointer, methodLength uint32,
	path unsafe.Pointer, pathLength uint32,
	body unsafe.Pointer, bodyLength uint32,
) uint32 {
	defer explain()
	var event LocalEvent
	answer := Answered(501, "this protocol takes no requests\n")
	if served, ok := protocol.(Served); ok {
		request := Request{string(given(method, methodLength)), string(given(path, pathLength)), given(body, bodyLength)}
		event, answer = served.Accept(number, request)
	}
	result, words := room(24)
	if answer == nil {
		words[1], words[2] = text(event.Name)
		words[3] = uint32(event.Kind)
		words[4], words[5] = list(event.Payload)
		return result
	}
	words[0], words[1] = 1, uint32(answer.Status)
	words[2], words[3] = list(answer.Body)
	words[4], words[5] = asked(answer)
	return result
}

//go:wasmexport neighbours
func neighbours() uint32 {
	defer explain()
	if neighbouring, ok := protocol.(Neighbouring); ok {
		if nodes, ok := neighbouring.Neighbours(); ok {
			at, length := list(nodes)
			return tagged(1, at, length)
		}
	}
	return tagged(0, 8, 0)
}

//go:wasmexport cabi_post_duration
func postDuration(uint32) { release() }

//go:wasmexport cabi_post_accept
func postAccept(uint32) { release() }

//go:wasmexport cabi_post_neighbours
func postNeighbours(uint32) { release() }
