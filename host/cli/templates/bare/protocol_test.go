package main

import "testing"

func TestAGreetingIsHeard(t *testing.T) {
	node := &Greeting{}
	sent, err := node.Init(2, 3, nil)
	if err != nil || len(sent) != 1 || sent[0].To != 0 {
		t.Fatal(sent, err)
	}
	if node.Receive(1, sent[0].Message); node.state.Heard != 1 {
		t.Fatal(node.state)
	}
}
