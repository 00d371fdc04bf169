// A plugin of host: the raft library of etcd, unmodified.
package main

import (
	"fmt"

	"go.etcd.io/etcd/raft"

	"register-go/host"
)

func init() {
	raft.SetLogger(quiet{})
	host.Export(&Node{})
}

// The host calls what package host exports, and never main.
func main() {}

// The library's log, of which only what ends the program is heard.
type quiet struct{}

func (quiet) Debug(...any)            {}
func (quiet) Debugf(string, ...any)   {}
func (quiet) Info(...any)             {}
func (quiet) Infof(string, ...any)    {}
func (quiet) Warning(...any)          {}
func (quiet) Warningf(string, ...any) {}
func (quiet) Error(...any)            {}
func (quiet) Errorf(string, ...any)   {}

func (quiet) Fatal(words ...any)                 { panic(fmt.Sprint(words...)) }
func (quiet) Fatalf(format string, words ...any) { panic(fmt.Sprintf(format, words...)) }
func (quiet) Panic(words ...any)                 { panic(fmt.Sprint(words...)) }
func (quiet) Panicf(format string, words ...any) { panic(fmt.Sprintf(format, words...)) }
