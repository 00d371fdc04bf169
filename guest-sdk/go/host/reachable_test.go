package host

import (
	"bytes"
	"testing"
)

type kept struct {
	numbers []int
	names   map[string]*kept
	any     any
	step    func()
	next    *kept
	left    int
}

func (k *kept) run()  {}
func (k *kept) stop() {}

func differ(t *testing.T, what string, a, b any) {
	if bytes.Equal(Reachable(a), Reachable(b)) {
		t.Errorf("%s are told apart", what)
	}
}

func TestWhatDiffersIsToldApart(t *testing.T) {
	differ(t, "numbers", &kept{numbers: []int{1}}, &kept{numbers: []int{2}})
	differ(t, "lengths", [][]int{{1}, {}}, [][]int{{}, {1}})
	differ(t, "nil and empty", &kept{}, &kept{numbers: []int{}})
	differ(t, "keys", &kept{names: map[string]*kept{"a": nil}}, &kept{names: map[string]*kept{"b": nil}})
	differ(t, "types behind interfaces", &kept{any: 1}, &kept{any: int64(1)})
	differ(t, "functions", &kept{step: (&kept{}).run}, &kept{step: (&kept{}).stop})
	shared, same := &kept{}, &kept{}
	differ(t, "one and two of the same", []*kept{shared, shared}, []*kept{shared, same})
	round := &kept{}
	round.next = round
	differ(t, "the first and the second of two", []*kept{shared, same, shared}, []*kept{shared, same, same})
	differ(t, "a circle and its unrolled start", round, &kept{next: round})
}

func TestWhatIsTheSameIsNotToldApart(t *testing.T) {
	made := func(names ...string) *kept {
		k := &kept{names: map[string]*kept{}, any: []string{"x"}, step: (&kept{}).run}
		for _, name := range names {
			k.names[name] = &kept{left: len(name)}
		}
		k.next = k
		return k
	}
	for range 20 {
		if !bytes.Equal(Reachable(made("a", "bb", "ccc")), Reachable(made("ccc", "a", "bb"))) {
			t.Fatal("the order in which a map was filled does not count")
		}
	}
	one, two := &kept{left: 1}, &kept{left: 2}
	if !bytes.Equal(Reachable(one, "host.kept.left"), Reachable(two, "host.kept.left")) {
		t.Error("a field that is left out does not count")
	}
}

func TestWhatHasNoEncodingIsAPanic(t *testing.T) {
	for _, value := range []any{make(chan int), map[*int]int{new(int): 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T has no encoding", value)
				}
			}()
			Reachable(value)
		}()
	}
}
