package main

import (
	"fmt"

	"wrapper/host"
)

// Node is the library's node in its application: answers 1 to 6 of README.md.
type Node struct {
	me, nodes uint32
	settings  Settings
	now       State
}

// State is all that changes (1): the library's own state, and what its application has done with it.
type State struct {
	// In place of the library's node: which others were heard.
	heard []uint32
	// How often it was started.
	starts uint32
	// How much has happened.
	ticks uint32
	// What the library wants to send, until the handler ends.
	outbox []host.Envelope
}

// Disk is what is on disk, and what a node begins with after a reset (3).
type Disk struct {
	Starts uint32 `json:"starts"`
}

// Settings are the parameters: the same for all nodes.
type Settings struct{ ticks uint32 }

// Declare names them. Every search of all states needs a bound on events that could repeat forever.
func (s *Settings) Declare(p *host.Parameters) {
	p.Uint32(&s.ticks, "ticks", 1, "how much time passes at each node")
}

// About describes the plugin.
func (n *Node) About() host.About {
	return host.About{
		Name:       "wrapper",
		Version:    "0.1.0",
		Summary:    "The package the/library, to be checked with host.",
		Nodes:      3,
		Parameters: host.Listed(&Settings{}),
	}
}

// Init starts the library for the first time.
func (n *Node) Init(me, nodes uint32, config map[string]string) ([]host.Envelope, error) {
	return n.start(me, nodes, config, Disk{})
}

// Restart starts it from its disk, after a reset.
func (n *Node) Restart(me, nodes uint32, config map[string]string, disk []byte) ([]host.Envelope, error) {
	return n.start(me, nodes, config, host.Decode[Disk](disk))
}

func (n *Node) start(me, nodes uint32, config map[string]string, disk Disk) ([]host.Envelope, error) {
	*n = Node{me: me, nodes: nodes}
	if err := host.Read(&n.settings, config); err != nil {
		return nil, err
	}
	n.now.starts = disk.Starts + 1
	return n.flush(), nil
}

// Persist is the disk in this state.
func (n *Node) Persist() []byte { return host.Encode(Disk{n.now.starts}) }

// Receive hands a message to the library (2): its own bytes, as it hands them out.
func (n *Node) Receive(from uint32, message []byte) []host.Envelope {
	heard := false
	for _, other := range n.now.heard {
		heard = heard || other == from
	}
	if !heard {
		n.now.heard = append(n.now.heard, from)
	}
	return n.flush()
}

// LocalEvents lists what can happen without a message (5): elections, ticks, calls of the application.
func (n *Node) LocalEvents() []host.LocalEvent {
	var events []host.LocalEvent
	// A call of the application, as of a client, has the kind host.Application.
	if n.now.ticks < n.settings.ticks {
		events = append(events, host.LocalEvent{Name: "tick", Kind: host.Timer})
	}
	return events
}

// Happen runs one of them.
func (n *Node) Happen(event host.LocalEvent) []host.Envelope {
	n.now.ticks++
	for node := range n.nodes {
		if node != n.me {
			n.now.outbox = append(n.now.outbox, host.Envelope{To: node, Message: []byte{}})
		}
	}
	return n.flush()
}

// Sends what the library has to send. What must be on disk before is written before.
func (n *Node) flush() []host.Envelope {
	sent := n.now.outbox
	n.now.outbox = nil
	return sent
}

// Serialize distinguishes states by all that can be reached from the state, private fields of the library included; name fields that
// decide nothing, such as a generator that is never drawn from, as further arguments (4).
func (n *Node) Serialize() []byte { return host.Reachable(&n.now) }

// DescribeState shows the state to people.
func (n *Node) DescribeState() any {
	return map[string]any{"heard": append([]uint32{}, n.now.heard...), "starts": n.now.starts, "ticks": n.now.ticks}
}

// DescribeMessage shows a message to people.
func (n *Node) DescribeMessage(message []byte) any { return "packet" }

// The properties, by their places.
const (
	heardOthersAlone = iota
	heardAll
)

// Properties lists what the documentation of the library promises, and what must be possible (6): a promise that nothing ever puts
// to the test holds.
func (n *Node) Properties() []host.Property {
	return []host.Property{
		heardOthersAlone: {Name: "heard-others-alone", Kind: host.Always, Scope: host.Node},
		heardAll:         {Name: "heard-all", Kind: host.Sometimes, Scope: host.Node},
	}
}

// View is what a property reads of this node.
func (n *Node) View(property int) []byte { return host.Encode(len(n.now.heard)) }

// Invariant says what is wrong with a view.
func (n *Node) Invariant(property int, views [][]byte) error {
	heard := host.Decode[int](views[0])
	if property == heardOthersAlone && heard > 2 || property == heardAll && heard != 2 {
		return fmt.Errorf("of 2 others, %d are heard", heard)
	}
	return nil
}
