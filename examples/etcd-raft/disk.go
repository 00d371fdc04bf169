package main

import (
	"bytes"
	"fmt"
	"math"

	"go.etcd.io/etcd/raft"
	pb "go.etcd.io/etcd/raft/raftpb"

	"register-go/host"
)

// Disk is what is kept over a reset.
type Disk struct {
	HardState pb.HardState
	Snapshot  pb.Snapshot
	Entries   []pb.Entry
	// No part of a real disk, see State.
	Led  []uint64
	Told []Applied
}

func read(disk []byte) Disk { return host.Decode[Disk](disk) }

// The library's storage in memory with this content.
func (d Disk) storage() *raft.MemoryStorage {
	storage := raft.NewMemoryStorage()
	must(storage.ApplySnapshot(d.Snapshot))
	must(storage.SetHardState(d.HardState))
	must(storage.Append(d.Entries))
	return storage
}

// Persist is the disk in this state.
func (n *Node) Persist() []byte {
	s := &n.now
	hardState, _, err := s.storage.InitialState()
	must(err)
	snapshot, err := s.storage.Snapshot()
	must(err)
	return host.Encode(Disk{hardState, snapshot, s.entries(), s.led, s.told})
}

// The log that is written.
func (s *State) entries() []pb.Entry {
	first, err := s.storage.FirstIndex()
	must(err)
	last, err := s.storage.LastIndex()
	must(err)
	if first > last {
		return nil
	}
	entries, err := s.storage.Entries(first, last+1, math.MaxUint64)
	must(err)
	return entries
}

// What must be written before anything is sent, but for entries. The mistake on purpose is a disk without votes.
func (s *State) write(ready raft.Ready, withoutVote bool) {
	if !raft.IsEmptyHardState(ready.HardState) {
		if withoutVote {
			ready.HardState.Vote = raft.None
		}
		must(s.storage.SetHardState(ready.HardState))
	}
	if !raft.IsEmptySnap(ready.Snapshot) {
		must(s.storage.ApplySnapshot(ready.Snapshot))
	}
}

func (s *State) append(entries []pb.Entry) { must(s.storage.Append(entries)) }

// Writes what is left to write, applies what is committed, and tells the library.
func (s *State) finish() {
	ready := *s.pending
	s.pending = nil
	// Nothing else was written since, so that to write the same entries again changes nothing.
	s.append(ready.Entries)
	if !raft.IsEmptySnap(ready.Snapshot) {
		s.voters = ready.Snapshot.Metadata.ConfState
		s.applied = applications(ready.Snapshot)
	}
	for _, entry := range ready.CommittedEntries {
		s.apply(entry)
	}
	if len(s.applied) > len(s.told) {
		s.told = s.applied
	}
	s.raw.Advance(ready)
}

func (s *State) apply(entry pb.Entry) {
	if last := s.index(); entry.Index != last+1 {
		panic(fmt.Sprintf("entry %d is to be applied after %d", entry.Index, last))
	}
	s.applied = append(s.applied[:len(s.applied):len(s.applied)], Applied{bytes.Clone(entry.Data), entry.Term})
	switch entry.Type {
	case pb.EntryConfChange:
		var change pb.ConfChange
		must(change.Unmarshal(entry.Data))
		s.voters = *s.raw.ApplyConfChange(change)
	case pb.EntryConfChangeV2:
		var change pb.ConfChangeV2
		must(change.Unmarshal(entry.Data))
		s.voters = *s.raw.ApplyConfChange(change)
	}
}

// The index of the last entry that was applied; the initial snapshot has index 1.
func (s *State) index() uint64 { return uint64(len(s.applied)) + 1 }

func (s *State) canCompact() bool {
	first, err := s.storage.FirstIndex()
	must(err)
	return s.pending == nil && s.index() >= first
}

// Makes a snapshot of what is applied, and drops the entries that it stands for.
func (s *State) compact() {
	_, err := s.storage.CreateSnapshot(s.index(), &s.voters, host.Encode(s.applied))
	must(err)
	must(s.storage.Compact(s.index()))
}

// The application's state in a snapshot.
func applications(snapshot pb.Snapshot) []Applied {
	if len(snapshot.Data) == 0 {
		return nil
	}
	return host.Decode[[]Applied](snapshot.Data)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
