// Carries out what the parameter script lists, by the SDK, and has the results in its state, beside a store that clients ask; see
// ../sdk.rs.
package main

import (
	"encoding/json"
	"errors"

	"probe/host"
)

type settings struct {
	script             string
	retries            uint32
	mode               string
	giveUp             bool
	requests, patience uint32
}

func (s *settings) Declare(p *host.Parameters) {
	p.String(&s.script, "script", "[]", "the operations to execute")
	p.Uint32(&s.retries, "retries", 3, "how often")
	p.OneOf(&s.mode, "mode", []string{"safe", "fast"}, "what to prefer")
	p.Bool(&s.giveUp, "give-up", false, "whether to give up")
	p.Uint32(&s.requests, "requests", 1, "how often clients write in a search")
	p.Uint32(&s.patience, "patience", 500, "milliseconds without news after which a client may be asked to retry")
}

type (
	call    = host.RegisterCall[uint32]
	result  = host.RegisterReturn[uint32]
	history = host.History[call, result]
	logs    = host.History[host.LogCall[uint32], host.LogReturn[uint32]]
	object  = map[string]any
)

// An operation: its name, and what it is done to.
type operation []json.RawMessage

func (o operation) text(at int) string { return host.Decode[string](o[at]) }

func (o operation) number(at int) uint32 { return host.Decode[uint32](o[at]) }

type probe struct {
	found any
	store store
}

func init() { host.Export(&probe{}) }

func main() {}

func after(h history) any {
	after := map[string][]any{}
	for client, operations := range host.Decode[map[string]map[string][]object](host.Encode(h))["clients"] {
		for _, operation := range operations {
			after[client] = append(after[client], operation["after"])
		}
	}
	return after
}

func verdict[S, C, R any](h host.History[C, R], sequential host.SequentialObject[S, C, R]) any {
	order, err := host.Linearize(host.Decode[host.History[C, R]](host.Encode(h)), sequential)
	key, extra := "order", object{}
	if failure := (*host.NotLinearizable)(nil); errors.As(err, &failure) {
		key, order = "longest", failure.Longest
		extra["why"] = err.Error()
	}
	ids := [][2]uint32{}
	for _, id := range order {
		ids = append(ids, [2]uint32{id.Client, id.Number})
	}
	extra[key] = ids
	return extra
}

func carriedOut(script []operation) any {
	var clock host.Clock
	var timers host.Timers
	var timed host.TimedTimers
	var register history
	var log logs
	said := []any{}
	clients := []host.Client[call, result]{}
	for client := range uint32(3) {
		clients = append(clients, host.NewClient[call, result](client))
	}
	called := func(client uint32, call call) {
		register.Call(client, call)
		clients[client].Call(call)
	}
	returned := func(client uint32, result result) {
		register.Return(client, result)
		completed := clients[client].Return(result)
		for i := range clients {
			clients[i].Learn(client, completed)
		}
	}
	for _, o := range script {
		switch o.text(0) {
		case "read":
			clock.Read(o.text(1))
		case "forget":
			said = append(said, clock.Forget(o.text(1)))
		case "passed":
			said = append(said, clock.HasPassed(host.Choose, o.text(1), o.number(2)))
		case "later":
			said = append(said, clock.IsLater(host.Choose, o.text(1), o.text(2), o.number(3)))
		case "arm":
			timed.Set(o.text(1), o.number(2))
		case "disarm":
			said = append(said, timed.Cancel(o.text(1)))
		case "fire":
			due := timed.Due()
			said = append(said, due)
			if len(due) > 0 {
				timed.Fired(due[int(o.number(1))%len(due)])
			}
		case "set":
			timers.Set(o.text(1))
		case "cancel":
			said = append(said, timers.Cancel(o.text(1)))
		case "fired":
			timers.Fired(o.text(1))
		case "weigh":
			said = append(said, host.ChooseWeighted(o.number(1), o.number(2)))
		case "can-send":
			said = append(said, host.CanSend(o.number(1)))
		case "call-list":
			log.Call(o.number(1), host.LogRead[uint32]())
		case "call-append":
			log.Call(o.number(1), host.LogAppend(o.number(2)))
		case "return-entries":
			log.Return(o.number(1), host.LogEntries(host.Decode[[]uint32](o[2])...))
		case "return-appended":
			log.Return(o.number(1), host.LogAppended[uint32](o.number(2)))
		case "call-read":
			called(o.number(1), host.RegisterRead[uint32]())
		case "call-write":
			called(o.number(1), host.RegisterWrite(o.number(2)))
		case "return-value":
			returned(o.number(1), host.RegisterValue(o.number(2)))
		case "return-written":
			returned(o.number(1), host.RegisterWritten[uint32]())
		}
	}
	views := map[uint32][]host.Operation[call, result]{}
	for i, client := range clients {
		views[uint32(i)] = host.Decode[host.Client[call, result]](host.Encode(client)).Operations
	}
	together := host.HistoryOf(views)
	return object{
		"after":          after(register),
		"after-together": after(together),
		"clock":          clock,
		"log":            verdict(log, host.LogObject[uint32]{}),
		"register":       verdict(register, host.RegisterObject[uint32]{}),
		"said":           said,
		"timed":          timed,
		"timers":         timers,
		"together":       verdict(together, host.RegisterObject[uint32]{}),
	}
}

func (p *probe) About() host.About {
	return host.About{
		Name: "probe", Version: "0.1.0", Summary: "What the SDK makes of a script, and a store.", Nodes: 3,
		Parameters: host.Listed(&settings{}),
	}
}

func (p *probe) Properties() []host.Property {
	return []host.Property{{Name: "told-is-stored", Kind: host.Always, Scope: host.System}}
}

func (p *probe) Init(me, nodes uint32, config map[string]string) ([]host.Envelope, error) {
	var s settings
	if err := host.Read(&s, config); err != nil {
		return nil, err
	}
	p.found = carriedOut(host.Decode[[]operation]([]byte(s.script)))
	p.store = newStore(me, nodes, s.requests, s.patience)
	return nil, nil
}

func (p *probe) Receive(from uint32, message []byte) []host.Envelope {
	return p.store.receive(from, host.Decode[storeMessage](message))
}

func (p *probe) LocalEvents() []host.LocalEvent { return p.store.events() }

func (p *probe) Happen(event host.LocalEvent) []host.Envelope {
	if event.Name == "put" {
		return p.store.put(host.Decode[put](event.Payload))
	}
	p.store.giveUp(host.Decode[giveUp](event.Payload).Version)
	return nil
}

// DescribeLocal says of which event it is what.
func (p *probe) DescribeLocal(event host.LocalEvent) any {
	said := object{"about": nil, "name": event.Name}
	if json.Valid(event.Payload) {
		said["about"] = json.RawMessage(event.Payload)
	}
	return said
}

func (p *probe) Duration(event host.LocalEvent) *host.Span { return p.store.duration(event.Name) }

func (p *probe) Neighbours() ([]uint32, bool) { return p.store.neighbours() }

func (p *probe) Accept(number uint64, request host.Request) (host.LocalEvent, *host.Response) {
	asked, answer := p.store.accept(number, request)
	return asked.event(), answer
}

func (p *probe) Serialize() []byte {
	return host.Encode(object{"found": p.found, "store": p.store.state})
}

func (p *probe) View(int) []byte { return p.store.view() }

func (p *probe) Invariant(property int, views [][]byte) error { return wrong(views) }
