package host

import "testing"

func at[V any](value V) *V { return &value }

func TestReadyMadeProperties(t *testing.T) {
	log := func(entries ...string) *[]string { return &entries }
	kept := func(acknowledged, stored string) *Kept[string] {
		return &Kept[string]{[]string{acknowledged}, []string{stored}}
	}
	replica := func(committed int, entries ...string) *Replica[string] { return &Replica[string]{entries, committed} }
	for _, one := range []struct {
		got  error
		want string
	}{
		{OneLeaderPerTerm([]*int{at(1), nil, at(2)}), ""},
		{LogsAgree([]*[]string{log("a"), nil, log("a", "b")}), ""},
		{AcknowledgedIsDurable([]*Kept[string]{kept("a", "a"), kept("a", "a"), nil}), ""},
		{CommittedIsOnAMajority([]*Replica[string]{replica(1, "a", "b"), replica(0, "a"), nil}), ""},
		{ReplicasConverge([]*int{at(3), nil, at(3)}), ""},
		{OneLeaderPerTerm([]*int{at(1), nil, at(1)}), "nodes 0 and 2 both lead in term 1"},
		{LogsAgree([]*[]string{log("a", "b"), log("a", "c")}), "nodes 0 and 1 have different entries at 2"},
		{AcknowledgedIsDurable([]*Kept[string]{kept("a", "a"), nil, nil}), `"a" was acknowledged, and 1 of 3 nodes have it`},
		{
			CommittedIsOnAMajority([]*Replica[string]{replica(2, "a", "b"), replica(0, "a"), replica(1, "a", "c")}),
			"node 0 has committed entry 2, and 1 of 3 nodes have it",
		},
		{ReplicasConverge([]*int{at(3), at(4)}), "nodes 0 and 1 have different values"},
	} {
		got := ""
		if one.got != nil {
			got = one.got.Error()
		}
		if got != one.want {
			t.Errorf("%q in place of %q", got, one.want)
		}
	}
}
