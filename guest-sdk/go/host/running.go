package host

import "time"

// What matters only where a protocol runs, with clients and in time. A search ignores it. Respond answers a client, and Restart has
// local events wait anew; both have no influence on anything, and only Init, Receive and Happen may call them.

// Timed is a protocol that says how long local events wait. Those of any other protocol wait as long as the host says.
type Timed interface {
	// Duration is how long it takes from when an event can happen until it does, of one that LocalEvents lists in this state;
	// nil is as long as the host says for its kind.
	Duration(event LocalEvent) *Span
}

// Served is a protocol that clients can ask. A node of any other protocol takes no requests.
type Served interface {
	// Accept returns the local event that a request becomes, which LocalEvents need not list; or an answer at once. The number is
	// that of no other request to this node: Respond answers it, at any time, or never.
	//
	// A search knows no requests: LocalEvents lists what they become, as calls of the application.
	Accept(number uint64, request Request) (LocalEvent, *Response)
}

// Neighbouring is a protocol that names the neighbours of a node. Those of any other protocol are all nodes.
type Neighbouring interface {
	// Neighbours are the nodes whose states matter to what this node does next, such as those that it may soon send to or hear from;
	// false is all nodes. A checker beside the node looks ahead from the states of these alone: further, and past what takes another
	// node. A property of all nodes then has no view of the others.
	Neighbours() ([]uint32, bool)
}

// Span is a range of durations from which a node draws.
type Span struct{ Shortest, Longest time.Duration }

// Between is a range of durations; the same one twice is exactly that long.
func Between(shortest, longest time.Duration) *Span { return &Span{shortest, longest} }

// Request is what a client asks, in the terms of HTTP. The path begins with a slash; what follows a question mark is part of it.
type Request struct {
	Method, Path string
	Body         []byte
}

// Response is what a client gets: a status of HTTP from 200 to 599, and a content.
type Response struct {
	Status uint16
	Body   []byte
	// The node that the client should ask instead, or nil. The host says where that is.
	Ask *uint32
}

// Answered is a response with a content.
func Answered(status uint16, body string) *Response {
	return &Response{Status: status, Body: []byte(body)}
}

// Ask sends a client to another node, by the status 307: it asks the same there.
func Ask(node uint32) *Response { return &Response{Status: 307, Ask: &node} }
