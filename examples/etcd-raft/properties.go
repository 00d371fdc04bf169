package main

import (
	"bytes"
	"fmt"

	"go.etcd.io/etcd/raft"
	pb "go.etcd.io/etcd/raft/raftpb"

	"register-go/host"
)

// The properties, by their places.
const (
	electionSafety = iota
	stateMachineSafety
	commandApplied
)

// Properties lists what the library promises.
func (n *Node) Properties() []host.Property {
	return []host.Property{
		electionSafety:     {Name: "election-safety", Kind: host.Always, Scope: host.System},
		stateMachineSafety: {Name: "state-machine-safety", Kind: host.Always, Scope: host.System},
		commandApplied:     {Name: "applied", Kind: host.Sometimes, Scope: host.Node},
	}
}

// Lists is what a node has applied since its start, and the most that it had before.
type Lists struct {
	Applied []Applied `json:"applied"`
	Told    []Applied `json:"told"`
}

// View is what a property reads of this node.
func (n *Node) View(property int) []byte {
	s := &n.now
	switch property {
	case electionSafety:
		if len(s.led) > 0 {
			return host.Encode(s.led)
		}
	case stateMachineSafety:
		if len(s.told) > 0 {
			return host.Encode(Lists{s.applied, s.told})
		}
	case commandApplied:
		commands := 0
		for _, entry := range s.applied {
			if len(entry.Data) > 0 {
				commands++
			}
		}
		if commands > 0 {
			return host.Encode(commands)
		}
	}
	return nil
}

// Invariant says what is wrong with the views of the nodes.
func (n *Node) Invariant(property int, views [][]byte) error {
	switch property {
	case electionSafety:
		leaders := map[uint64]int{}
		for node, view := range views {
			if view == nil {
				continue
			}
			for _, term := range host.Decode[[]uint64](view) {
				if other, taken := leaders[term]; taken {
					return fmt.Errorf("nodes %d and %d have led in term %d", other, node, term)
				}
				leaders[term] = node
			}
		}
	case stateMachineSafety:
		var longest []Applied
		whose := 0
		for node, view := range views {
			if view == nil {
				continue
			}
			lists := host.Decode[Lists](view)
			for _, list := range [][]Applied{lists.Told, lists.Applied} {
				for i := range min(len(list), len(longest)) {
					if list[i].Term != longest[i].Term || !bytes.Equal(list[i].Data, longest[i].Data) {
						return fmt.Errorf("at index %d node %d has applied %v, and node %d %v", i+2, whose, longest[i], node, list[i])
					}
				}
				if len(list) > len(longest) {
					longest, whose = list, node
				}
			}
		}
	}
	return nil
}

func (a Applied) String() string { return fmt.Sprintf("%v of term %d", a.Data, a.Term) }

// DescribeState is for people.
func (n *Node) DescribeState() any {
	s := &n.now
	status := s.raw.BasicStatus()
	said := map[string]any{
		"applied": s.index(), "commit": status.Commit, "log": described(s.entries()), "role": status.RaftState.String(),
		"term": status.Term, "vote": status.Vote, "voters": s.voters.Voters,
	}
	if s.pending != nil {
		said["to apply"] = described(s.pending.CommittedEntries)
	}
	return said
}

func described(entries []pb.Entry) []string {
	said := []string{}
	for _, entry := range entries {
		said = append(said, raft.DescribeEntry(entry, nil))
	}
	return said
}

// DescribeMessage is the library's own words.
func (n *Node) DescribeMessage(text []byte) any {
	var message pb.Message
	if err := message.Unmarshal(text); err != nil {
		return "no message: " + err.Error()
	}
	return raft.DescribeMessage(message, nil)
}
