// Package host is the contract of host for Go: a protocol implements Protocol, and main hands it over with Export. Every
// protocol can use this package as it is.
package host

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Protocol is one node. Its methods panic where the protocol fails; the host reports the words with the events that led there.
type Protocol interface {
	// About says what the plugin is; always the same.
	About() About
	// Properties lists the claims; always the same.
	Properties() []Property
	// Init makes the node; an error names the key of the configuration that cannot be used, as that of Read does.
	Init(me, nodes uint32, config map[string]string) ([]Envelope, error)
	// Receive handles a message and returns those sent in answer.
	Receive(from uint32, message []byte) []Envelope
	// LocalEvents lists what can happen without a message.
	LocalEvents() []LocalEvent
	// Happen runs one of the events that LocalEvents lists in this state.
	Happen(event LocalEvent) []Envelope
	// Serialize is the canonical encoding of the state.
	Serialize() []byte
	// View is the part of the state that a property reads, or nil where the node cannot matter: it then owes nothing.
	View(property int) []byte
	// Invariant says why a property does not hold on the views of the nodes; it reads nothing else.
	Invariant(property int, views [][]byte) error
}

// Durable is a protocol with a disk. A node of any other protocol knows nothing after a reset.
type Durable interface {
	// Persist is what the disk holds in this state, or nil if that is nothing.
	Persist() []byte
	// Restart makes the node after a reset, in place of Init, with what Persist was in the state before it.
	Restart(me, nodes uint32, config map[string]string, disk []byte) ([]Envelope, error)
}

// Described is a protocol whose states and messages are not JSON as they are. What it says is for people alone, and becomes JSON.
type Described interface {
	// DescribeState says what the node knows.
	DescribeState() any
	// DescribeMessage says what a message means, also of bytes that are none, and before Init.
	DescribeMessage(message []byte) any
}

// DescribedEvents is a protocol whose local events have payloads that are neither JSON nor text. What it says is for people alone, and
// becomes JSON.
type DescribedEvents interface {
	// DescribeLocal says what a local event is about, also of bytes that are none, and before Init.
	DescribeLocal(event LocalEvent) any
}

// Named is a protocol whose nodes have names for people.
type Named interface {
	// NodeName is what people call this node, such as "client 1", or empty for its number.
	NodeName() string
}

// Envelope is a message on its way out of a handler.
type Envelope struct {
	To      uint32
	Message []byte
}

// LocalKind says why a local event can happen.
type LocalKind uint8

// The kinds of local events.
const (
	Timer LocalKind = iota
	Application
	Internal
)

// LocalEvent is something that can happen to this node without a message.
type LocalEvent struct {
	Name    string
	Kind    LocalKind
	Payload []byte
}

// PropertyKind says what a property claims about the reachable states.
type PropertyKind uint8

// The kinds of properties.
const (
	Always PropertyKind = iota
	Sometimes
	Eventually
)

// PropertyScope says what a property reads.
type PropertyScope uint8

// The scopes of properties.
const (
	Node PropertyScope = iota
	System
)

// Property is a claim about the reachable states.
type Property struct {
	Name  string
	Kind  PropertyKind
	Scope PropertyScope
}

// About is what the plugin says about itself; the network is unordered.
type About struct {
	Name, Version, Summary string
	Nodes                  uint32
	Parameters             []Parameter
}

// Encode writes a value as JSON. It is canonical (docs/encoding.md) if the fields of structs are declared in the order of
// their names; the keys of maps are sorted. Slices must not be nil.
func Encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// Decode reads a value that was written by Encode.
func Decode[T any](text []byte) T {
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return value
}
