package main

import (
	"testing"

	"register-go/host"
)

func TestAWriteEndsWhenAMajorityHasStoredIt(t *testing.T) {
	writer := &Register{}
	if _, err := writer.Init(0, 3, map[string]string{"reads": "1"}); err != nil {
		t.Fatal(err)
	}
	sent := writer.Happen(writer.LocalEvents()[0])
	if len(sent) != 3 || string(sent[0].Message) != `{"kind":"store","op":1,"value":101,"version":1}` {
		t.Fatalf("sent %d messages, the first one %s", len(sent), sent[0].Message)
	}
	stored := host.Encode(Message{Kind: "stored", Op: 1})
	for range 2 {
		writer.Receive(1, stored)
		if writer.state.Phase != "store" {
			t.Fatal("one node is no majority of three")
		}
	}
	if writer.Receive(2, stored); writer.state.Phase != "idle" {
		t.Fatal("two nodes are a majority of three")
	}
}

func TestAParameterThatIsNotKnownIsNamed(t *testing.T) {
	_, err := (&Register{}).Init(0, 3, map[string]string{"colour": "red"})
	if err == nil || err.Error() != "there is no parameter colour; known are: writes, reads, bug" {
		t.Fatal(err)
	}
}
