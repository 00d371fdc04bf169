// A plugin of host: the package the/library, unmodified, in a wrapper. README.md has the questions that node.go answers.
package main

import (
	// The library compiles for a plugin. Replace this line by what you use of it.
	_ "the/library"

	"wrapper/host"
)

func init() { host.Export(&Node{}) }

// The host calls what package host exports, and never main.
func main() {}
