package host

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"strings"
)

// Key is a type of the keys of a table. The order of keys is that of numbers, and of the bytes of text.
type Key interface{ uint32 | uint64 | string }

// Table is a part of the durable map of a node: entries with keys of one type and values of another, in the order of the keys. Tables with
// other names share nothing. A write costs as much as the change, and Init finds the entries after a reset; they need not be in what
// Serialize returns. Values are written by Encode.
//
//	var log = host.NewTable[uint64, string]("log")
//
// Init, Receive and Happen write. Other methods of a node can read. Sync makes all writes so far durable before the messages of a handler
// leave; where a plugin never calls it, each handler is durable as a whole.
type Table[K Key, V any] struct{ name string }

// Entries of a table that one call of the host returns.
const entriesPerCall = 8

// NewTable is the table of this name, which has no zero byte. It must not change while nodes with data run.
func NewTable[K Key, V any](name string) Table[K, V] {
	if strings.Contains(name, "\x00") {
		panic("the name of a table has no zero byte")
	}
	return Table[K, V]{name}
}

// Get returns the value of a key, and whether there is one.
func (t Table[K, V]) Get(key K) (V, bool) {
	value, ok := mapGet(t.bytes(key))
	if !ok {
		var none V
		return none, false
	}
	return Decode[V](value), true
}

// Put sets the value of a key.
func (t Table[K, V]) Put(key K, value V) { mapPut(t.bytes(key), Encode(value)) }

// Delete removes a key, if it is there.
func (t Table[K, V]) Delete(key K) { mapDelete(t.bytes(key)) }

// DeleteRange removes the keys from one to another; both are included.
func (t Table[K, V]) DeleteRange(from, to K) { mapDeleteRange(t.bytes(from), behind(t.bytes(to))) }

// DeleteFrom removes a key and all after it.
func (t Table[K, V]) DeleteFrom(from K) { mapDeleteRange(t.bytes(from), t.end()) }

// All are the entries in the order of their keys. They are read some at a time, so a write in between shows in later reads only.
func (t Table[K, V]) All() iter.Seq2[K, V] { return t.between(t.prefix(), t.end()) }

// Range are the entries from one key to another, as of All; both are included.
func (t Table[K, V]) Range(from, to K) iter.Seq2[K, V] {
	return t.between(t.bytes(from), behind(t.bytes(to)))
}

// From are the entries from a key on, as of All.
func (t Table[K, V]) From(from K) iter.Seq2[K, V] { return t.between(t.bytes(from), t.end()) }

// First returns the entry with the least key, and whether there is one.
func (t Table[K, V]) First() (K, V, bool) { return t.endOf(false) }

// Last returns the entry with the greatest key, and whether there is one.
func (t Table[K, V]) Last() (K, V, bool) { return t.endOf(true) }

func (t Table[K, V]) endOf(isDescending bool) (key K, value V, ok bool) {
	for _, entry := range mapRange(t.prefix(), t.end(), isDescending, 1) {
		return t.key(entry.key), Decode[V](entry.value), true
	}
	return key, value, false
}

func (t Table[K, V]) between(start, end []byte) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for {
			page := mapRange(start, end, false, entriesPerCall)
			for _, entry := range page {
				if !yield(t.key(entry.key), Decode[V](entry.value)) {
					return
				}
			}
			if len(page) < entriesPerCall {
				return
			}
			start = behind(page[len(page)-1].key)
		}
	}
}

// An entry of the durable map.
type entry struct{ key, value []byte }

// The name, which a byte below all others separates from the key.
func (t Table[K, V]) prefix() []byte { return append([]byte(t.name), 0) }

// The least key behind those of the table.
func (t Table[K, V]) end() []byte { return append([]byte(t.name), 1) }

// The bytes have the order of the keys, and none is the beginning of others: they are those of the other SDKs.
func (t Table[K, V]) bytes(key K) []byte {
	switch key := any(key).(type) {
	case uint32:
		return binary.BigEndian.AppendUint32(t.prefix(), key)
	case uint64:
		return binary.BigEndian.AppendUint64(t.prefix(), key)
	case string:
		return append(append(t.prefix(), strings.ReplaceAll(key, "\x00", "\x00\xff")...), 0, 0)
	}
	panic("a key is of no other type")
}

func (t Table[K, V]) key(of []byte) (key K) {
	rest, ok := bytes.CutPrefix(of, t.prefix())
	switch key := any(&key).(type) {
	case *uint32:
		if ok = ok && len(rest) == 4; ok {
			*key = binary.BigEndian.Uint32(rest)
		}
	case *uint64:
		if ok = ok && len(rest) == 8; ok {
			*key = binary.BigEndian.Uint64(rest)
		}
	case *string:
		var text string
		text, ended := strings.CutSuffix(string(rest), "\x00\x00")
		*key, ok = strings.ReplaceAll(text, "\x00\xff", "\x00"), ok && ended
	}
	if !ok {
		panic(fmt.Sprintf("table %s has keys of another type", t.name))
	}
	return key
}

// The least key behind a key.
func behind(key []byte) []byte { return append(bytes.Clone(key), 0) }
