package main

import (
	"fmt"
	"slices"

	"register-go/host"
)

// Register is one node of a register that node 0 writes and the last node reads.
//
// Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 1995.
type Register struct {
	nodes    uint32
	settings Settings
	state    State
}

// Settings are the parameters: the same for all nodes.
type Settings struct {
	writes, reads uint32
	bug           string
}

// Declare names them.
func (s *Settings) Declare(p *host.Parameters) {
	p.Uint32(&s.writes, "writes", 1, "how often node 0 writes")
	p.Uint32(&s.reads, "reads", 2, "how often the last node reads")
	p.OneOf(&s.bug, "bug", []string{"none", "no-write-back", "one-ack"}, "what is wrong on purpose")
}

// Copy is a value with the number of the write that it comes from; 0 is the value before all writes.
type Copy struct {
	Value   uint32 `json:"value"`
	Version uint32 `json:"version"`
}

// State is what the node knows. The fields are sorted, as the canonical encoding wants.
type State struct {
	Acks     []uint32 `json:"acks"`
	Best     Copy     `json:"best"`
	Copy     Copy     `json:"copy"`
	Op       uint32   `json:"op"`
	Phase    string   `json:"phase"`
	Returned []uint32 `json:"returned"`
	Role     string   `json:"role"`
}

// Message is what nodes tell each other; Op numbers the operations of the client. Only replies and stores have a copy.
type Message struct {
	Kind string `json:"kind"`
	Op   uint32 `json:"op"`
	*Copy
}

// Stored is what the property stored-by-majority reads of a node.
type Stored struct {
	Complete uint32 `json:"complete"`
	Version  uint32 `json:"version"`
}

// The properties, by their places.
const (
	monotone = iota
	storedByMajority
	writeIsRead
)

// About describes the plugin.
func (r *Register) About() host.About {
	return host.About{
		Name:       "register-go",
		Version:    "0.1.0",
		Summary:    "A register kept by a majority, in Go.",
		Nodes:      3,
		Parameters: host.Listed(&Settings{}),
	}
}

// Properties lists what must hold.
func (r *Register) Properties() []host.Property {
	return []host.Property{
		monotone:         {Name: "monotone", Kind: host.Always, Scope: host.Node},
		storedByMajority: {Name: "stored-by-majority", Kind: host.Always, Scope: host.System},
		writeIsRead:      {Name: "write-is-read", Kind: host.Sometimes, Scope: host.Node},
	}
}

// Init makes the node.
func (r *Register) Init(me, nodes uint32, config map[string]string) ([]host.Envelope, error) {
	*r = Register{nodes: nodes}
	if err := host.Read(&r.settings, config); err != nil {
		return nil, err
	}
	role := "replica"
	if me == 0 {
		role = "writer"
	} else if me+1 == nodes {
		role = "reader"
	}
	r.state = State{Acks: []uint32{}, Phase: "idle", Returned: []uint32{}, Role: role}
	return nil, nil
}

// Receive handles a message.
func (r *Register) Receive(from uint32, bytes []byte) []host.Envelope {
	message := host.Decode[Message](bytes)
	s := &r.state
	switch message.Kind {
	case "query":
		found := s.Copy
		return to(from, Message{"reply", message.Op, &found})
	case "store":
		if message.Version > s.Copy.Version {
			s.Copy = *message.Copy
		}
		return to(from, Message{Kind: "stored", Op: message.Op})
	case "reply":
		if s.Phase != "query" || message.Op != s.Op {
			break
		}
		r.acknowledge(from)
		if message.Version > s.Best.Version {
			s.Best = *message.Copy
		}
		if len(s.Acks) < r.quorum() {
			break
		}
		if r.settings.bug != "no-write-back" {
			return r.store()
		}
		r.finish()
	case "stored":
		if s.Phase != "store" || message.Op != s.Op {
			break
		}
		r.acknowledge(from)
		if len(s.Acks) >= r.quorum() {
			r.finish()
		}
	default:
		panic("unknown message: " + message.Kind)
	}
	return nil
}

// LocalEvents lists what the application can ask for in this state.
func (r *Register) LocalEvents() []host.LocalEvent {
	event := func(name string) []host.LocalEvent {
		return []host.LocalEvent{{Name: name, Kind: host.Application, Payload: host.Encode(name)}}
	}
	s := &r.state
	switch {
	case s.Phase != "idle":
		return nil
	case s.Role == "writer" && s.Op < r.settings.writes:
		return event("write")
	case s.Role == "reader" && s.Op < r.settings.reads:
		return event("read")
	}
	return nil
}

// Happen begins an operation.
func (r *Register) Happen(event host.LocalEvent) []host.Envelope {
	s := &r.state
	s.Op++
	if event.Name == "write" {
		s.Best = Copy{Value: 100 + s.Op, Version: s.Op}
		return r.store()
	}
	s.Phase = "query"
	return r.broadcast(Message{Kind: "query", Op: s.Op})
}

// Serialize encodes the state.
func (r *Register) Serialize() []byte { return host.Encode(r.state) }

// View is what a property reads of this node.
func (r *Register) View(property int) []byte {
	s := &r.state
	switch property {
	case monotone:
		if len(s.Returned) > 1 {
			return host.Encode(s.Returned)
		}
	case storedByMajority:
		stored := Stored{Version: s.Copy.Version}
		if s.Role == "writer" {
			stored.Complete = s.Op
			if s.Phase != "idle" {
				stored.Complete--
			}
		}
		if stored != (Stored{}) {
			return host.Encode(stored)
		}
	case writeIsRead:
		if newest := slices.Max(append([]uint32{0}, s.Returned...)); newest > 0 {
			return host.Encode(newest)
		}
	}
	return nil
}

// Invariant says what is wrong with the views of the nodes.
func (r *Register) Invariant(property int, views [][]byte) error {
	switch property {
	case monotone:
		returned := host.Decode[[]uint32](views[0])
		for i, version := range returned[1:] {
			if version < returned[i] {
				return fmt.Errorf("a read returned version %d after %d", version, returned[i])
			}
		}
	case storedByMajority:
		var complete, holders uint32
		known := make([]Stored, len(views))
		for i, view := range views {
			if view != nil {
				known[i] = host.Decode[Stored](view)
			}
			complete = max(complete, known[i].Complete)
		}
		for _, stored := range known {
			if stored.Version >= complete {
				holders++
			}
		}
		if int(holders) <= len(views)/2 {
			return fmt.Errorf("write %d is complete, and %d of %d nodes have it", complete, holders, len(views))
		}
	}
	return nil
}

// How many answers a phase waits for.
func (r *Register) quorum() int {
	if r.settings.bug == "one-ack" {
		return 1
	}
	return int(r.nodes)/2 + 1
}

func (r *Register) acknowledge(from uint32) {
	if at, found := slices.BinarySearch(r.state.Acks, from); !found {
		r.state.Acks = slices.Insert(r.state.Acks, at, from)
	}
}

// Gives the best copy to everyone.
func (r *Register) store() []host.Envelope {
	s := &r.state
	s.Acks = []uint32{}
	s.Phase = "store"
	best := s.Best
	return r.broadcast(Message{"store", s.Op, &best})
}

// Ends the operation.
func (r *Register) finish() {
	s := &r.state
	if s.Role == "reader" {
		s.Returned = append(s.Returned, s.Best.Version)
	}
	s.Acks = []uint32{}
	s.Best = Copy{}
	s.Phase = "idle"
}

func (r *Register) broadcast(message Message) []host.Envelope {
	text := host.Encode(message)
	sent := make([]host.Envelope, r.nodes)
	for node := range sent {
		sent[node] = host.Envelope{To: uint32(node), Message: text}
	}
	return sent
}

func to(node uint32, message Message) []host.Envelope {
	return []host.Envelope{{To: node, Message: host.Encode(message)}}
}
