package host

import (
	"slices"
	"testing"
)

func TestTablesHaveTheirEntriesInOrder(t *testing.T) {
	Stored = map[string][]byte{}
	numbers, words := NewTable[uint64, uint32]("numbers"), NewTable[string, string]("number")
	// More than one call of the host returns, and bytes whose order differs from that of digits.
	for key := range uint64(20) {
		numbers.Put(100*key, uint32(key))
	}
	for _, key := range []string{"b", "a", "a\x00", "", "a\x00ÿ", "a\x01"} {
		words.Put(key, "value of "+key)
	}
	keys := func(table Table[uint64, uint32]) (keys []uint64) {
		for key, value := range table.All() {
			if uint64(value)*100 != key {
				t.Errorf("%d has %d", key, value)
			}
			keys = append(keys, key)
		}
		return keys
	}
	if got := keys(numbers); len(got) != 20 || !slices.IsSorted(got) {
		t.Errorf("%v", got)
	}
	sorted := []string{}
	for key, value := range words.All() {
		if value != "value of "+key {
			t.Errorf("%q has %q", key, value)
		}
		sorted = append(sorted, key)
	}
	if !slices.Equal(sorted, []string{"", "a", "a\x00", "a\x00ÿ", "a\x01", "b"}) {
		t.Errorf("%q", sorted)
	}
	numbers.DeleteRange(100, 500)
	numbers.DeleteFrom(1800)
	numbers.Delete(700)
	numbers.Delete(701)
	if got := keys(numbers); !slices.Equal(got, []uint64{0, 600, 800, 900, 1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700}) {
		t.Errorf("%v", got)
	}
	count := 0
	for range numbers.Range(600, 1000) {
		count++
	}
	for range numbers.From(1600) {
		count++
	}
	first, _, _ := numbers.First()
	last, value, ok := numbers.Last()
	if count != 6 || first != 0 || last != 1700 || value != 17 || !ok {
		t.Errorf("%d %d %d %d %t", count, first, last, value, ok)
	}
	if _, ok := numbers.Get(100); ok {
		t.Error("a deleted key has a value")
	}
	if value, ok := words.Get("a\x00"); value != "value of a\x00" || !ok {
		t.Errorf("%q %t", value, ok)
	}
}
