// A plugin of host: a register kept by a majority of the nodes.
package main

import "register-go/host"

func init() { host.Export(&Register{}) }

// The host calls what package host exports, and never main.
func main() {}
