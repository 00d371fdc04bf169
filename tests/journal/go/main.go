// The journal of ../rust/src/lib.rs, in Go; tests/cli/journals.rs compares them.
package main

import (
	"fmt"
	"slices"

	"journal/host"
)

var (
	entries = host.NewTable[uint64, uint64]("entries")
	numbers = host.NewTable[uint64, uint64]("numbers")
)

type settings struct {
	entries uint32
	bug     string
}

func (s *settings) Declare(p *host.Parameters) {
	p.Uint32(&s.entries, "entries", 2, "the number of entries")
	p.OneOf(&s.bug, "bug", []string{"none", "forget-sync", "delete-one-more"}, "what is wrong on purpose")
}

type message struct {
	Index uint64 `json:"index"`
	Kind  string `json:"kind"`
	Value uint64 `json:"value"`
}

type state struct {
	Acknowledged []uint64 `json:"acknowledged"`
	Me           uint32   `json:"me"`
}

type kept struct {
	Acknowledged []uint64 `json:"acknowledged"`
	Base         uint64   `json:"base"`
	Kept         []uint64 `json:"kept"`
}

type node struct {
	settings
	nodes uint32
	state state
}

func init() { host.Export(&node{}) }

func main() {}

func (n *node) About() host.About {
	return host.About{
		Name: "journal-in-go", Version: "0.1.0", Summary: "A journal in the durable map.", Nodes: 2,
		Parameters: host.Listed(&settings{}),
	}
}

func (n *node) Properties() []host.Property {
	return []host.Property{
		{Name: "acknowledged-is-kept", Kind: host.Always, Scope: host.System},
		{Name: "more-after-deleted", Kind: host.Sometimes, Scope: host.Node},
	}
}

func (n *node) toOthers(sent message) []host.Envelope {
	envelopes := []host.Envelope{}
	for to := uint32(1); to < n.nodes; to++ {
		envelopes = append(envelopes, host.Envelope{To: to, Message: host.Encode(sent)})
	}
	return envelopes
}

// The first entry of a follower that is not deleted, and the number of entries of the leader.
func number() uint64 {
	value, _ := numbers.Get(0)
	return value
}

func (n *node) Init(me, nodes uint32, config map[string]string) ([]host.Envelope, error) {
	if err := host.Read(&n.settings, config); err != nil {
		return nil, err
	}
	n.nodes, n.state = nodes, state{Acknowledged: make([]uint64, nodes), Me: me}
	sent := []host.Envelope{}
	if me == 0 {
		for index, value := range entries.All() {
			sent = append(sent, n.toOthers(message{index, "append", value})...)
		}
	}
	return sent, nil
}

func (n *node) Receive(from uint32, content []byte) []host.Envelope {
	got := host.Decode[message](content)
	switch got.Kind {
	case "append":
		if _, isThere := entries.Get(got.Index); got.Index >= number() && !isThere {
			entries.Put(got.Index, got.Value)
			if n.bug != "forget-sync" {
				host.Sync()
			}
		}
		// All entries before this one are there.
		next := number()
		for index := range entries.From(next) {
			if index == next {
				next++
			}
		}
		return []host.Envelope{{To: from, Message: host.Encode(message{next, "acknowledge", 0})}}
	case "acknowledge":
		n.state.Acknowledged[from] = max(n.state.Acknowledged[from], got.Index)
		all := slices.Min(n.state.Acknowledged[1:])
		old := []uint64{}
		for index := range entries.All() {
			if index < all {
				old = append(old, index)
			}
		}
		for _, index := range old {
			entries.Delete(index)
		}
		if len(old) > 0 {
			return n.toOthers(message{all, "compact", 0})
		}
	default:
		last := got.Index - 1
		if n.bug == "delete-one-more" {
			last++
		}
		entries.DeleteRange(0, last)
		if got.Index > number() {
			numbers.Put(0, got.Index)
		}
	}
	return nil
}

func (n *node) LocalEvents() []host.LocalEvent {
	if n.state.Me != 0 || number() >= uint64(n.entries) {
		return nil
	}
	return []host.LocalEvent{{Name: "append", Kind: host.Application}}
}

func (n *node) Happen(host.LocalEvent) []host.Envelope {
	index := number()
	entries.Put(index, 100+index)
	numbers.Put(0, index+1)
	host.Sync()
	return n.toOthers(message{index, "append", 100 + index})
}

func (n *node) Serialize() []byte { return host.Encode(n.state) }

func (n *node) View(property int) []byte {
	if property == 0 {
		view := kept{n.state.Acknowledged, number(), []uint64{}}
		for index := range entries.All() {
			view.Kept = append(view.Kept, index)
		}
		return host.Encode(view)
	}
	if n.state.Me == 0 {
		return nil
	}
	last, _, _ := entries.Last()
	return host.Encode([]uint64{number(), last})
}

func (n *node) Invariant(property int, views [][]byte) error {
	if property == 1 {
		if view := host.Decode[[]uint64](views[0]); view[0] == 0 || view[1] < view[0] {
			return fmt.Errorf("none yet")
		}
		return nil
	}
	if views[0] == nil {
		return nil
	}
	leader := host.Decode[kept](views[0])
	for node, encoded := range views {
		if node == 0 || encoded == nil {
			continue
		}
		view := host.Decode[kept](encoded)
		for index := view.Base; index < leader.Acknowledged[node]; index++ {
			if !slices.Contains(view.Kept, index) {
				return fmt.Errorf("node %d has acknowledged entry %d and lost it", node, index)
			}
		}
	}
	return nil
}
