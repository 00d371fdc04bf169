// What walks find, without the wrapper: the library, its storage in memory, and messages that are delivered by hand.
package main

import (
	"slices"
	"testing"

	"go.etcd.io/etcd/raft"
	pb "go.etcd.io/etcd/raft/raftpb"
)

// A peer writes and sends at once, and applies when the test says so.
type peer struct {
	id      uint64
	raw     *raft.RawNode
	storage *raft.MemoryStorage
	ready   *raft.Ready
	sent    []pb.Message
	// It sends while entries are being written, and they are written where it applies.
	beside bool
}

func cluster() [3]*peer {
	var peers [3]*peer
	for i := range peers {
		storage := raft.NewMemoryStorage()
		state := pb.ConfState{Voters: []uint64{1, 2, 3}}
		must(storage.ApplySnapshot(pb.Snapshot{Metadata: pb.SnapshotMetadata{Index: 1, Term: 1, ConfState: state}}))
		must(storage.SetHardState(pb.HardState{Term: 1, Commit: 1}))
		peers[i] = &peer{id: uint64(i) + 1, storage: storage}
		peers[i].start()
	}
	return peers
}

// Starts from what is written; a start after the first one is a restart.
func (p *peer) start() {
	raw, err := raft.NewRawNode(&raft.Config{
		// One entry per message, and one committed entry per Ready.
		ID: p.id, ElectionTick: 10, HeartbeatTick: 1, Storage: p.storage, MaxSizePerMsg: 0, MaxInflightMsgs: 256,
	})
	must(err)
	p.raw, p.ready, p.sent = raw, nil, nil
	p.write()
}

// Steps 1 and 2 of the documentation: write, then send. Where nothing is to be applied, that is all.
func (p *peer) write() {
	if p.ready != nil || !p.raw.HasReady() {
		return
	}
	ready := p.raw.Ready()
	p.ready = &ready
	if !raft.IsEmptyHardState(ready.HardState) {
		must(p.storage.SetHardState(ready.HardState))
	}
	isLate := p.beside && len(ready.Entries) > 0
	if !isLate {
		must(p.storage.Append(ready.Entries))
	}
	p.sent = append(p.sent, ready.Messages...)
	if !isLate && len(ready.CommittedEntries) == 0 {
		p.apply()
	}
}

// Steps 3 and 4: apply what is committed, and advance.
func (p *peer) apply() {
	ready := *p.ready
	must(p.storage.Append(ready.Entries))
	for _, entry := range ready.CommittedEntries {
		switch entry.Type {
		case pb.EntryConfChange:
			var change pb.ConfChange
			must(change.Unmarshal(entry.Data))
			p.raw.ApplyConfChange(change)
		case pb.EntryConfChangeV2:
			var change pb.ConfChangeV2
			must(change.Unmarshal(entry.Data))
			p.raw.ApplyConfChange(change)
		}
	}
	p.ready = nil
	p.raw.Advance(ready)
	p.write()
}

func (p *peer) applyAll() {
	for p.ready != nil {
		p.apply()
	}
}

// Delivers what was sent of one kind to a peer; the rest stays where it is.
func (p *peer) deliver(to *peer, kind pb.MessageType) {
	p.write()
	isIt := func(message pb.Message) bool { return message.To == to.id && message.Type == kind }
	sent := slices.Clone(p.sent)
	p.sent = slices.DeleteFunc(p.sent, isIt)
	for _, message := range sent {
		if isIt(message) {
			_ = to.raw.Step(message)
			to.write()
		}
	}
}

func (p *peer) leads() bool { return p.raw.BasicStatus().RaftState == raft.StateLeader }

// How a removal is written.
type kind func(id uint64) pb.ConfChangeI

func first(id uint64) pb.ConfChangeI {
	return pb.ConfChange{Type: pb.ConfChangeRemoveNode, NodeID: id}
}

func second(id uint64) pb.ConfChangeI {
	return pb.ConfChangeV2{Changes: []pb.ConfChangeSingle{{Type: pb.ConfChangeRemoveNode, NodeID: id}}}
}

// One leads in term 2 and has applied the removal of three. Two has heard that this removal is committed, in the message with the
// removal of two, and has not applied it.
func removing(removal kind) (one, two, three *peer) {
	peers := cluster()
	one, two, three = peers[0], peers[1], peers[2]
	must(one.raw.Campaign())
	one.deliver(two, pb.MsgVote)
	two.deliver(one, pb.MsgVoteResp)
	must(one.raw.Propose([]byte("a")))
	one.deliver(two, pb.MsgApp)
	two.deliver(one, pb.MsgAppResp)
	one.applyAll()
	// With "a" two hears that one's first entry is committed, and is slow to apply it.
	one.deliver(two, pb.MsgApp)
	two.deliver(one, pb.MsgAppResp)
	one.applyAll()
	must(one.raw.Propose([]byte("b")))
	must(one.raw.ProposeConfChange(removal(3)))
	one.deliver(two, pb.MsgApp)
	two.apply()
	two.deliver(one, pb.MsgAppResp)
	one.applyAll()
	must(one.raw.ProposeConfChange(removal(2)))
	return one, two, three
}

// Two gets the vote of three; one applies the removal of two, restarts, and elects itself.
func elected(t *testing.T, one, two, three *peer) {
	two.apply()
	two.deliver(three, pb.MsgVote)
	three.deliver(two, pb.MsgVoteResp)
	two.deliver(one, pb.MsgAppResp)
	one.applyAll()
	one.start()
	one.applyAll()
	must(one.raw.Campaign())
	first, second := one.raw.BasicStatus(), two.raw.BasicStatus()
	if !one.leads() || !two.leads() || first.Term != second.Term {
		t.Errorf("one is %v of term %d, and two %v of term %d", first.RaftState, first.Term, second.RaftState, second.Term)
	}
}

func TestTwoLeadWhereAChangeOfTheSecondKindIsNotApplied(t *testing.T) {
	one, two, three := removing(second)
	one.deliver(two, pb.MsgApp)
	must(two.raw.Campaign())
	elected(t, one, two, three)
}

func TestTwoLeadWhereAChangeIsNotAppliedAndLeadershipIsHandedOver(t *testing.T) {
	one, two, three := removing(first)
	one.raw.TransferLeader(2)
	one.deliver(two, pb.MsgApp)
	two.apply()
	two.deliver(one, pb.MsgAppResp)
	one.applyAll()
	one.deliver(two, pb.MsgTimeoutNow)
	elected(t, one, two, three)
}

// What the library keeps from happening otherwise.
func TestNobodyStandsForElectionWhereAChangeOfTheFirstKindIsNotApplied(t *testing.T) {
	one, two, _ := removing(first)
	one.deliver(two, pb.MsgApp)
	must(two.raw.Campaign())
	if state := two.raw.BasicStatus().RaftState; state != raft.StateFollower {
		t.Errorf("two is %v", state)
	}
}

// A sentence of doc.go in parentheses, taken at its word; a comment of Ready in node.go forbids it.
func TestAnEntryThatIsAcknowledgedWhileItIsBeingWrittenIsLost(t *testing.T) {
	peers := cluster()
	one, two, three := peers[0], peers[1], peers[2]
	two.beside = true
	must(one.raw.Campaign())
	one.deliver(two, pb.MsgVote)
	two.deliver(one, pb.MsgVoteResp)
	one.deliver(two, pb.MsgApp)
	two.deliver(one, pb.MsgAppResp)
	one.applyAll()
	two.start()
	two.beside = false
	must(two.raw.Campaign())
	two.deliver(three, pb.MsgVote)
	three.deliver(two, pb.MsgVoteResp)
	two.deliver(three, pb.MsgApp)
	three.deliver(two, pb.MsgAppResp)
	two.applyAll()
	for _, peer := range []*peer{one, two} {
		if status := peer.raw.BasicStatus(); status.Applied != 2 {
			t.Fatalf("%d has applied %d entries", peer.id, status.Applied)
		}
	}
	first, err := one.storage.Term(2)
	must(err)
	second, err := two.storage.Term(2)
	must(err)
	if first == second {
		t.Errorf("both have applied the entry of term %d", first)
	}
}

// Two stands for election with its own removal committed and not applied, applies it, and gets the votes of both others.
func TestANodeThatAppliesItsRemovalWhileItStandsForElectionPanics(t *testing.T) {
	peers := cluster()
	one, two, three := peers[0], peers[1], peers[2]
	must(one.raw.Campaign())
	one.deliver(two, pb.MsgVote)
	two.deliver(one, pb.MsgVoteResp)
	one.deliver(two, pb.MsgApp)
	two.deliver(one, pb.MsgAppResp)
	one.applyAll()
	one.deliver(two, pb.MsgApp)
	two.applyAll()
	two.deliver(one, pb.MsgAppResp)
	must(one.raw.ProposeConfChange(second(2)))
	one.deliver(two, pb.MsgApp)
	two.deliver(one, pb.MsgAppResp)
	one.deliver(two, pb.MsgApp)
	must(two.raw.Campaign())
	two.apply()
	two.deliver(one, pb.MsgVote)
	two.deliver(three, pb.MsgVote)
	one.applyAll()
	one.deliver(two, pb.MsgVoteResp)
	defer func() {
		if recover() == nil {
			t.Errorf("two is %v", two.raw.BasicStatus().RaftState)
		}
	}()
	three.deliver(two, pb.MsgVoteResp)
}
