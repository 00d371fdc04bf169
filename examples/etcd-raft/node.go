package main

import (
	"slices"

	"go.etcd.io/etcd/raft"
	pb "go.etcd.io/etcd/raft/raftpb"

	"register-go/host"
)

// The ticks of an election timeout: few, so that leaders look soon whether a quorum still answers.
const electionTick = 3

// Settings are the parameters: the same for all nodes.
type Settings struct {
	timeouts, ticks, proposals, compactions, removals, transfers, silences uint32
	checkQuorum, preVote, small, late                                      bool
	change, beside, bug                                                    string
}

// Declare names them.
func (s *Settings) Declare(p *host.Parameters) {
	p.Uint32(&s.timeouts, "timeouts", 1, "how often each node's election timeout passes")
	p.Uint32(&s.ticks, "ticks", 1, "how many ticks each node has as a leader")
	p.Uint32(&s.proposals, "proposals", 1, "how many commands each node proposes as a leader")
	p.Uint32(&s.compactions, "compactions", 0, "how often each node makes a snapshot and compacts its log")
	p.Uint32(&s.removals, "removals", 0, "how often each node proposes to remove another one")
	p.Uint32(&s.transfers, "transfers", 0, "how often each node hands leadership over")
	p.Uint32(&s.silences, "silences", 0, "how often each node hears nothing of a leader for an election timeout, besides timeouts")
	p.Bool(&s.checkQuorum, "check-quorum", false, "the library's CheckQuorum")
	p.Bool(&s.preVote, "pre-vote", false, "the library's PreVote")
	p.Bool(&s.small, "small", false, "whether messages have one entry at most, with one of them in flight")
	p.Bool(&s.late, "late", false, "whether committed entries are applied by an event of its own")
	p.OneOf(&s.change, "change", []string{"v1", "v2"}, "how a removal is written: as ConfChange or ConfChangeV2")
	p.OneOf(&s.beside, "beside", []string{"nobody", "leaders", "everybody"}, "who sends while entries are being written")
	p.OneOf(&s.bug, "bug", []string{"none", "forget-vote"}, "what is wrong on purpose: the wrapper's disk")
}

// Spent is how much has happened at a node since its start.
type Spent struct{ timeouts, ticks, proposals, compactions, removals, transfers, silences uint32 }

// Applied is an entry that was applied. The place in the list is that in the log, from the index after the initial snapshot on.
type Applied struct {
	Data []byte `json:"data"`
	Term uint64 `json:"term"`
}

// Node is a node of the library with its application.
type Node struct {
	me, nodes uint32
	settings  Settings
	now       State
}

// State is all that changes.
type State struct {
	raw *raft.RawNode
	// What has been written; it is kept over a reset, and nothing else is.
	storage *raft.MemoryStorage
	// What the library has asked for and is not done yet; none if there is nothing left to do.
	pending *raft.Ready
	voters  pb.ConfState
	applied []Applied
	spent   Spent
	// For the properties, which look over resets: the terms in which this node has led, and the most that it has applied.
	led  []uint64
	told []Applied
}

// About describes the plugin.
func (n *Node) About() host.About {
	return host.About{
		Name:       "etcd-raft",
		Version:    "0.1.0",
		Summary:    "The raft library of etcd, unmodified: nodes agree on a log of commands.",
		Nodes:      3,
		Parameters: host.Listed(&Settings{}),
	}
}

// Init starts the node as the library recommends: with a storage whose first index is not 1, and that says who votes.
func (n *Node) Init(me, nodes uint32, config map[string]string) ([]host.Envelope, error) {
	var voters []uint64
	for node := range nodes {
		voters = append(voters, uint64(node)+1)
	}
	initial := pb.SnapshotMetadata{Index: 1, Term: 1, ConfState: pb.ConfState{Voters: voters}}
	return n.start(me, nodes, config, Disk{HardState: pb.HardState{Term: 1, Commit: 1}, Snapshot: pb.Snapshot{Metadata: initial}})
}

// Restart starts it from what it has written.
func (n *Node) Restart(me, nodes uint32, config map[string]string, disk []byte) ([]host.Envelope, error) {
	return n.start(me, nodes, config, read(disk))
}

func (n *Node) start(me, nodes uint32, config map[string]string, disk Disk) ([]host.Envelope, error) {
	*n = Node{me: me, nodes: nodes}
	if err := host.Read(&n.settings, config); err != nil {
		return nil, err
	}
	s := &n.now
	s.storage = disk.storage()
	s.voters = disk.Snapshot.Metadata.ConfState
	s.applied = applications(disk.Snapshot)
	s.led, s.told = disk.Led, disk.Told
	library := raft.Config{
		ID:              uint64(me) + 1,
		ElectionTick:    electionTick,
		HeartbeatTick:   1,
		Storage:         s.storage,
		MaxSizePerMsg:   1 << 20,
		MaxInflightMsgs: 256,
		CheckQuorum:     n.settings.checkQuorum,
		PreVote:         n.settings.preVote,
	}
	if n.settings.small {
		library.MaxSizePerMsg, library.MaxInflightMsgs = 0, 1
	}
	var err error
	if s.raw, err = raft.NewRawNode(&library); err != nil {
		return nil, err
	}
	return n.work(), nil
}

// Receive hands a message to the library. What does not fit is refused with an error, as its documentation says.
func (n *Node) Receive(_ uint32, bytes []byte) []host.Envelope {
	var message pb.Message
	if err := message.Unmarshal(bytes); err != nil {
		panic(err)
	}
	_ = n.now.raw.Step(message)
	return n.work()
}

// LocalEvents lists what can happen within the bounds.
func (n *Node) LocalEvents() []host.LocalEvent {
	s, most := &n.now, &n.settings
	var events []host.LocalEvent
	add := func(kind host.LocalKind, name string, payload ...byte) {
		events = append(events, host.LocalEvent{Name: name, Kind: kind, Payload: payload})
	}
	leads := s.leads()
	if !leads && s.spent.timeouts < most.timeouts {
		add(host.Timer, "timeout")
	}
	if !leads && s.spent.silences < most.silences {
		add(host.Timer, "silence")
	}
	if leads && s.spent.ticks < most.ticks {
		add(host.Timer, "tick")
	}
	if leads && s.spent.proposals < most.proposals {
		add(host.Application, "propose")
	}
	if s.spent.compactions < most.compactions && s.canCompact() {
		add(host.Internal, "compact")
	}
	for _, other := range s.voters.Voters {
		if leads && other != uint64(n.me)+1 && s.spent.removals < most.removals {
			add(host.Application, "remove", byte(other))
		}
		if leads && other != uint64(n.me)+1 && s.spent.transfers < most.transfers {
			add(host.Application, "transfer", byte(other))
		}
	}
	if s.pending != nil {
		add(host.Internal, "finish")
	}
	return events
}

// Happen runs one of them.
func (n *Node) Happen(event host.LocalEvent) []host.Envelope {
	s := &n.now
	switch event.Name {
	case "timeout":
		s.spent.timeouts++
		s.pass()
		_ = s.raw.Campaign()
	case "silence":
		s.spent.silences++
		s.pass()
	case "tick":
		s.spent.ticks++
		s.raw.Tick()
	case "propose":
		s.spent.proposals++
		_ = s.raw.Propose([]byte{byte(n.me + 1), byte(s.spent.proposals)})
	case "compact":
		s.spent.compactions++
		s.compact()
	case "remove":
		s.spent.removals++
		_ = s.raw.ProposeConfChange(n.removal(uint64(event.Payload[0])))
	case "transfer":
		s.spent.transfers++
		s.raw.TransferLeader(uint64(event.Payload[0]))
	case "finish":
		s.finish()
	default:
		panic("unknown event: " + event.Name)
	}
	return n.work()
}

func (n *Node) removal(of uint64) pb.ConfChangeI {
	if n.settings.change == "v2" {
		return pb.ConfChangeV2{Changes: []pb.ConfChangeSingle{{Type: pb.ConfChangeRemoveNode, NodeID: of}}}
	}
	return pb.ConfChange{Type: pb.ConfChangeRemoveNode, NodeID: of}
}

// Does what the library asks for, in the order of its documentation: writes, sends, applies, and says so. With what is to be done
// late it leaves off, and goes on in the event finish.
func (n *Node) work() []host.Envelope {
	s := &n.now
	var sent []host.Envelope
	for s.pending == nil && s.raw.HasReady() {
		ready := s.raw.Ready()
		s.pending = &ready
		s.write(ready, n.settings.bug == "forget-vote")
		isBeside := n.settings.beside == "everybody" || n.settings.beside == "leaders" && s.leads()
		if !isBeside {
			s.append(ready.Entries)
		}
		for _, message := range ready.Messages {
			bytes, err := message.Marshal()
			if err != nil {
				panic(err)
			}
			sent = append(sent, host.Envelope{To: uint32(message.To - 1), Message: bytes})
			if message.Type == pb.MsgSnap {
				s.raw.ReportSnapshot(message.To, raft.SnapshotFinish)
			}
		}
		isLate := isBeside && len(ready.Entries) > 0 || n.settings.late && len(ready.CommittedEntries) > 0
		if !isLate {
			s.finish()
		}
	}
	if status := s.raw.BasicStatus(); s.leads() && !slices.Contains(s.led, status.Term) {
		s.led = append(s.led, status.Term)
	}
	return sent
}

// An election timeout passes. The one that the library has drawn has no effect, since only leaders get ticks that count.
func (s *State) pass() {
	for range electionTick {
		s.raw.TickQuiesced()
	}
}

func (s *State) leads() bool { return s.raw.BasicStatus().RaftState == raft.StateLeader }

// Serialize has the state of the library without the random number, which nothing here reads.
func (n *Node) Serialize() []byte {
	return host.Reachable(&n.now, "raft.raft.randomizedElectionTimeout")
}
