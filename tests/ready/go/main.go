// A leader writes one value to all nodes; `bug` breaks one of the ready-made properties each. `tests/ready.rs` runs it.
package main

import "ready/host"

type message struct {
	Value uint32 `json:"value"`
}

type state struct {
	Acknowledged []uint32 `json:"acknowledged"`
	Acks         uint32   `json:"acks"`
	Begun        bool     `json:"begun"`
	Committed    []uint32 `json:"committed"`
	Log          []uint32 `json:"log"`
	Role         string   `json:"role"`
	Term         uint32   `json:"term"`
	Value        uint32   `json:"value"`
}

type settings struct{ bug string }

func (s *settings) Declare(p *host.Parameters) {
	bugs := []string{"none", "two-leaders", "own-value", "early-answer", "early-commit", "deaf-replica"}
	p.OneOf(&s.bug, "bug", bugs, "what is wrong on purpose")
}

type node struct {
	settings
	me, nodes uint32
	state     state
}

func init() { host.Export(&node{}) }

func main() {}

func (n *node) About() host.About {
	return host.About{
		Name: "ready-in-go", Version: "0.1.0", Summary: "Breaks one of the ready-made properties each.", Nodes: 3,
		Parameters: host.Listed(&settings{}),
	}
}

func (n *node) Properties() []host.Property {
	return []host.Property{
		{Name: "one-leader", Kind: host.Always, Scope: host.System},
		{Name: "logs-agree", Kind: host.Always, Scope: host.System},
		{Name: "durable", Kind: host.Always, Scope: host.System},
		{Name: "majority", Kind: host.Always, Scope: host.System},
		{Name: "converge", Kind: host.Eventually, Scope: host.System},
	}
}

func (n *node) Init(me, nodes uint32, config map[string]string) ([]host.Envelope, error) {
	if err := host.Read(&n.settings, config); err != nil {
		return nil, err
	}
	n.me, n.nodes = me, nodes
	n.state = state{Acknowledged: []uint32{}, Committed: []uint32{}, Log: []uint32{}, Role: "Follower", Term: 1}
	if me == 0 || n.bug == "two-leaders" && me == 1 {
		n.state.Role = "Leader"
	}
	return nil, nil
}

func (n *node) Receive(from uint32, content []byte) []host.Envelope {
	value := host.Decode[message](content).Value
	switch {
	case value == 0:
		n.state.Acks++
		n.state.Committed, n.state.Acknowledged = n.state.Log[:1], n.state.Log[:1]
		return nil
	case n.bug == "deaf-replica" && n.me+1 == n.nodes:
		return nil
	case n.bug == "own-value":
		value = n.me + 1
	}
	n.store(value)
	return []host.Envelope{{To: from, Message: host.Encode(message{0})}}
}

func (n *node) LocalEvents() []host.LocalEvent {
	if n.state.Role != "Leader" || n.state.Begun {
		return nil
	}
	return []host.LocalEvent{{Name: "begin", Kind: host.Internal}}
}

func (n *node) Happen(host.LocalEvent) []host.Envelope {
	n.state.Begun = true
	n.store(7)
	if n.bug == "early-answer" {
		n.state.Acknowledged = []uint32{7}
	}
	if n.bug == "early-commit" {
		n.state.Committed = []uint32{7}
	}
	sent := []host.Envelope{}
	for to := range n.nodes {
		if to != n.me {
			sent = append(sent, host.Envelope{To: to, Message: host.Encode(message{7})})
		}
	}
	return sent
}

func (n *node) store(value uint32) {
	n.state.Log = append(n.state.Log, value)
	n.state.Value = value
}

func (n *node) Serialize() []byte { return host.Encode(n.state) }

func (n *node) NodeName() string {
	if n.me == 0 {
		return "leader"
	}
	return "replica"
}

func (n *node) View(property int) []byte {
	switch property {
	case 0:
		if n.state.Role != "Leader" {
			return nil
		}
		return host.Encode(n.state.Term)
	case 2:
		return host.Encode(host.Kept[uint32]{Acknowledged: n.state.Acknowledged, Stored: n.state.Log})
	case 3:
		return host.Encode(host.Replica[uint32]{Entries: n.state.Log, Committed: len(n.state.Committed)})
	default:
		return host.Encode(n.state.Log)
	}
}

func (n *node) Invariant(property int, views [][]byte) error {
	switch property {
	case 0:
		return host.OneLeaderPerTerm(decoded[uint32](views))
	case 1:
		return host.LogsAgree(decoded[[]uint32](views))
	case 2:
		return host.AcknowledgedIsDurable(decoded[host.Kept[uint32]](views))
	case 3:
		return host.CommittedIsOnAMajority(decoded[host.Replica[uint32]](views))
	default:
		return host.ReplicasConverge(decoded[[]uint32](views))
	}
}

func decoded[V any](views [][]byte) []*V {
	values := make([]*V, len(views))
	for at, view := range views {
		if view != nil {
			value := host.Decode[V](view)
			values[at] = &value
		}
	}
	return values
}
