package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"probe/host"
)

// A store that clients ask: node 0 gives a value to all nodes, and answers when a majority has it.
type store struct {
	me, nodes, requests, patience uint32
	state                         storeState
}

type storeState struct {
	// How many writes have begun: the number of the last one.
	Asked  uint32          `json:"asked"`
	Copies map[string]held `json:"copies"`
	// The latest write of each key that a client was told of.
	Told    map[string]uint32 `json:"told"`
	Waiting []write           `json:"waiting"`
}

type held struct {
	Value   string `json:"value"`
	Version uint32 `json:"version"`
}

type write struct {
	Acks    []uint32 `json:"acks"`
	Key     string   `json:"key"`
	Number  uint64   `json:"number"`
	Version uint32   `json:"version"`
}

type put struct {
	Key    string `json:"key"`
	Number uint64 `json:"number"`
	Value  string `json:"value"`
}

type giveUp struct {
	Version uint32 `json:"version"`
}

type storeMessage struct {
	Key     *string `json:"key,omitempty"`
	Kind    string  `json:"kind"`
	Value   *string `json:"value,omitempty"`
	Version uint32  `json:"version"`
}

type storeView struct {
	Copies map[string]uint32 `json:"copies"`
	Told   map[string]uint32 `json:"told"`
}

func newStore(me, nodes, requests, patience uint32) store {
	state := storeState{Copies: map[string]held{}, Told: map[string]uint32{}, Waiting: []write{}}
	return store{me, nodes, requests, patience, state}
}

// The write that a request becomes, or an answer at once.
func (s *store) accept(number uint64, request host.Request) (put, *host.Response) {
	key := strings.TrimLeft(request.Path, "/")
	switch {
	case s.me != 0:
		return put{}, host.Ask(0)
	case request.Method == "GET":
		if copy, found := s.state.Copies[key]; found {
			return put{}, host.Answered(200, copy.Value)
		}
		return put{}, host.Answered(404, "there is nothing here\n")
	case request.Method != "PUT":
		return put{}, host.Answered(405, "there are GET and PUT\n")
	case !utf8.Valid(request.Body):
		return put{}, host.Answered(400, "a value is text\n")
	}
	return put{key, number, string(request.Body)}, nil
}

// What clients can ask in a search, and what ends the patience of those that wait.
func (s *store) events() []host.LocalEvent {
	events := []host.LocalEvent{}
	if s.me == 0 && s.state.Asked < s.requests {
		asked := put{"k", uint64(s.state.Asked), fmt.Sprint("v", s.state.Asked)}
		events = append(events, asked.event())
	}
	for _, write := range s.state.Waiting {
		payload := host.Encode(giveUp{write.Version})
		events = append(events, host.LocalEvent{Name: "give-up", Kind: host.Timer, Payload: payload})
	}
	return events
}

func (p put) event() host.LocalEvent {
	return host.LocalEvent{Name: "put", Kind: host.Application, Payload: host.Encode(p)}
}

func (s *store) duration(name string) *host.Span {
	if name != "give-up" {
		return nil
	}
	patience := time.Duration(s.patience) * time.Millisecond
	return host.Between(patience, 2*patience)
}

// Who has not acknowledged some write, or the leader; everybody where the next write goes to everybody.
func (s *store) neighbours() ([]uint32, bool) {
	if s.me != 0 {
		return []uint32{0}, true
	}
	var nodes []uint32
	for node := range s.nodes {
		isAwaited := func(asked write) bool { return !slices.Contains(asked.Acks, node) }
		if slices.ContainsFunc(s.state.Waiting, isAwaited) {
			nodes = append(nodes, node)
		}
	}
	return nodes, len(s.state.Waiting) > 0
}

func (s *store) put(asked put) []host.Envelope {
	s.state.Asked++
	version := s.state.Asked
	s.state.Waiting = append(s.state.Waiting, write{[]uint32{}, asked.Key, asked.Number, version})
	message := host.Encode(storeMessage{&asked.Key, "store", &asked.Value, version})
	sent := []host.Envelope{}
	for node := range s.nodes {
		sent = append(sent, host.Envelope{To: node, Message: message})
	}
	return sent
}

func (s *store) giveUp(version uint32) {
	host.Respond(s.taken(version).Number, host.Answered(503, "too few nodes have it so far\n"))
}

func (s *store) receive(from uint32, message storeMessage) []host.Envelope {
	version := message.Version
	if message.Kind == "store" {
		if s.state.Copies[*message.Key].Version < version {
			s.state.Copies[*message.Key] = held{*message.Value, version}
		}
		return []host.Envelope{{To: from, Message: host.Encode(storeMessage{Kind: "stored", Version: version})}}
	}
	at := slices.IndexFunc(s.state.Waiting, func(write write) bool { return write.Version == version })
	if at < 0 {
		return nil
	}
	waiting := &s.state.Waiting[at]
	if place, found := slices.BinarySearch(waiting.Acks, from); !found {
		waiting.Acks = slices.Insert(waiting.Acks, place, from)
	}
	if len(waiting.Acks) <= int(s.nodes)/2 {
		// There is news, so patience begins anew.
		host.Restart("give-up")
		return nil
	}
	done := s.taken(version)
	s.state.Told[done.Key] = max(s.state.Told[done.Key], version)
	host.Respond(done.Number, host.Answered(204, ""))
	return nil
}

// Waits for a write no more.
func (s *store) taken(version uint32) write {
	at := slices.IndexFunc(s.state.Waiting, func(write write) bool { return write.Version == version })
	taken := s.state.Waiting[at]
	s.state.Waiting = slices.Delete(s.state.Waiting, at, at+1)
	return taken
}

func (s *store) view() []byte {
	view := storeView{map[string]uint32{}, s.state.Told}
	for key, copy := range s.state.Copies {
		view.Copies[key] = copy.Version
	}
	if len(view.Copies)+len(view.Told) == 0 {
		return nil
	}
	return host.Encode(view)
}

// What is wrong with the nodes: a client was told of a write, and a majority does not have it.
func wrong(views [][]byte) error {
	known := make([]storeView, len(views))
	for i, view := range views {
		if view != nil {
			known[i] = host.Decode[storeView](view)
		}
	}
	for _, view := range known {
		for _, key := range slices.Sorted(maps.Keys(view.Told)) {
			version, holders := view.Told[key], 0
			for _, other := range known {
				if other.Copies[key] >= version {
					holders++
				}
			}
			if holders <= len(views)/2 {
				return fmt.Errorf("write %d was acknowledged, and %d of %d nodes have it", version, holders, len(views))
			}
		}
	}
	return nil
}
