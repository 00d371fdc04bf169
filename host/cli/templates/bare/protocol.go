// A plugin of host: every node greets the next one, once.
package main

import (
	"fmt"

	"bare-protocol/host"
)

// State is what a node knows. The fields are sorted, as the canonical encoding wants.
type State struct {
	Heard uint32 `json:"heard"`
}

// Greeting is one node.
type Greeting struct{ state State }

func init() { host.Export(&Greeting{}) }

// The host calls what package host exports, and never main.
func main() {}

// About describes the plugin.
func (g *Greeting) About() host.About {
	return host.About{Name: "bare-protocol", Version: "0.1.0", Summary: "Every node greets the next one.", Nodes: 3}
}

// Init makes the node.
func (g *Greeting) Init(me, nodes uint32, config map[string]string) ([]host.Envelope, error) {
	g.state = State{}
	return []host.Envelope{{To: (me + 1) % nodes, Message: host.Encode("hello")}}, nil
}

// Receive handles a message.
func (g *Greeting) Receive(from uint32, message []byte) []host.Envelope {
	g.state.Heard++
	return nil
}

// LocalEvents lists what can happen without a message.
func (g *Greeting) LocalEvents() []host.LocalEvent { return nil }

// Happen runs one of them.
func (g *Greeting) Happen(event host.LocalEvent) []host.Envelope { return nil }

// Serialize encodes the state.
func (g *Greeting) Serialize() []byte { return host.Encode(g.state) }

// Properties lists what must hold.
func (g *Greeting) Properties() []host.Property {
	return []host.Property{{Name: "heard-once", Kind: host.Always, Scope: host.Node}}
}

// View is what a property reads of this node.
func (g *Greeting) View(property int) []byte { return host.Encode(g.state.Heard) }

// Invariant says what is wrong with a view.
func (g *Greeting) Invariant(property int, views [][]byte) error {
	if heard := host.Decode[uint32](views[0]); heard > 1 {
		return fmt.Errorf("heard %d greetings", heard)
	}
	return nil
}
