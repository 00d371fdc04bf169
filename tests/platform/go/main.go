// Asks for what a plugin has no system for, one thing per parameter; tests/requests.rs runs it. Its folder `host` is that of the
// register.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log"
	mathrand "math/rand"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"asks/host"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

var asks = map[string]func() any{
	"fmt.Println": func() any { return must(fmt.Println("one", 2)) },
	"log.Print":   func() any { log.Print("logged"); return "logged" },
	"time.Now":    func() any { return time.Now().UTC().String() },
	"time.Since":  func() any { return time.Since(time.Now()).String() },
	"crypto/rand.Read": func() any {
		bytes := make([]byte, 4)
		must(rand.Read(bytes))
		return hex.EncodeToString(bytes)
	},
	"math/rand.Int": func() any { return mathrand.Int() },
	"os.Getenv":     func() any { return os.Getenv("HOME") },
	"goroutines": func() any {
		var group sync.WaitGroup
		words := make(chan string, 2)
		for _, word := range []string{"one", "one"} {
			group.Add(1)
			go func() { defer group.Done(); words <- word }()
		}
		group.Wait()
		return <-words + <-words
	},
	"time.Sleep":   func() any { time.Sleep(time.Second); return "slept" },
	"time.After":   func() any { return <-time.After(time.Second) },
	"os.ReadFile":  func() any { return must(os.ReadFile("/etc/hostname")) },
	"os.Create":    func() any { return must(os.Create("/tmp/written")) },
	"net.Dial":     func() any { return must(net.Dial("tcp", "127.0.0.1:1")) },
	"exec.Command": func() any { return must(exec.Command("/bin/true").Output()) },
	"memory": func() any {
		for {
			kept = append(kept, make([]byte, 1<<20))
		}
	},
	"os.Stdin":     func() any { return must(bufio.NewReader(os.Stdin).ReadString('\n')) },
}

// What is never freed.
var kept [][]byte

// Asks is the plugin: it asks twice for one thing.
type Asks struct {
	what    string
	answers []string
}

func init() { host.Export(&Asks{what: "fmt.Println", answers: []string{}}) }

func main() {}

// About says what it is.
func (a *Asks) About() host.About {
	return host.About{
		Name: "asks-the-system-in-go", Version: "0.1.0", Summary: "Asks for what a plugin has no system for.", Nodes: 2,
		Parameters: []host.Parameter{{Name: "for", Default: "fmt.Println", Meaning: "what is asked for"}},
	}
}

// Properties is one that is reached.
func (a *Asks) Properties() []host.Property {
	return []host.Property{{Name: "answered", Kind: host.Sometimes, Scope: host.Node}}
}

// Init takes what is asked for.
func (a *Asks) Init(_, _ uint32, config map[string]string) ([]host.Envelope, error) {
	if what, ok := config["for"]; ok {
		a.what = what
	}
	if asks[a.what] == nil {
		return nil, fmt.Errorf("no such request: %s", a.what)
	}
	return nil, nil
}

// Receive is never called.
func (a *Asks) Receive(uint32, []byte) []host.Envelope { return nil }

// LocalEvents is to ask, twice.
func (a *Asks) LocalEvents() []host.LocalEvent {
	if len(a.answers) == 2 {
		return nil
	}
	return []host.LocalEvent{{Name: "ask", Kind: host.Application}}
}

// Happen asks.
func (a *Asks) Happen(host.LocalEvent) []host.Envelope {
	a.answers = append(a.answers, fmt.Sprint(asks[a.what]()))
	return nil
}

// Serialize has the answers.
func (a *Asks) Serialize() []byte { return host.Encode(a.answers) }

// View is there once all was answered.
func (a *Asks) View(int) []byte {
	if len(a.answers) < 2 {
		return nil
	}
	return []byte("answered")
}

// Invariant holds.
func (a *Asks) Invariant(int, [][]byte) error { return nil }
