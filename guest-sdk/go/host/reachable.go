package host

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
)

// Reachable encodes all that can be reached from a value: through pointers, interfaces, slices and maps, and in private fields,
// too. So it is Serialize for a library whose state has no encoding.
//
// Left out are the fields named in without, such as "raft.raft.tick"; one whose value has no effect can be named there. Not seen
// are variables of packages, what closures have captured, spare capacity of slices, and which slices share an array: if a handler
// reads one of these, an audit finds it. Maps are sorted, and nil is not the same as empty. A channel is a panic.
func Reachable(value any, without ...string) []byte {
	walk := walk{without: without, seen: map[place]uint64{}}
	walk.value(reflect.ValueOf(value))
	return walk.encoded
}

// A place in memory; a struct and its first field are at the same address.
type place struct {
	at   uintptr
	kind reflect.Type
}

type walk struct {
	without []string
	// The number of each place that a pointer led to.
	seen    map[place]uint64
	encoded []byte
}

func (w *walk) number(number uint64) { w.encoded = binary.AppendUvarint(w.encoded, number) }

func (w *walk) text(text string) {
	w.number(uint64(len(text)))
	w.encoded = append(w.encoded, text...)
}

func (w *walk) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		w.number(0)
	case reflect.Bool:
		if v.Bool() {
			w.number(1)
		} else {
			w.number(0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.encoded = binary.AppendVarint(w.encoded, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.number(v.Uint())
	case reflect.Float32, reflect.Float64:
		w.number(math.Float64bits(v.Float()))
	case reflect.Complex64, reflect.Complex128:
		w.number(math.Float64bits(real(v.Complex())))
		w.number(math.Float64bits(imag(v.Complex())))
	case reflect.String:
		w.text(v.String())
	case reflect.Array:
		w.elements(v)
	case reflect.Struct:
		w.fields(v)
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface, reflect.Func:
		if v.IsNil() {
			w.number(0)
		} else {
			w.referred(v)
		}
	default:
		panic(fmt.Sprintf("a %v has no encoding", v.Type()))
	}
}

func (w *walk) elements(v reflect.Value) {
	for i := range v.Len() {
		w.value(v.Index(i))
	}
}

func (w *walk) fields(v reflect.Value) {
	for i := range v.NumField() {
		if len(w.without) > 0 && slices.Contains(w.without, v.Type().String()+"."+v.Type().Field(i).Name) {
			continue
		}
		w.value(v.Field(i))
	}
}

// What can be nil, and is not. The first number is not 0.
func (w *walk) referred(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		w.number(uint64(v.Len()) + 1)
		w.elements(v)
	case reflect.Map:
		w.number(uint64(v.Len()) + 1)
		w.entries(v)
	case reflect.Interface:
		w.text(v.Elem().Type().String())
		w.value(v.Elem())
	case reflect.Func:
		w.text(runtime.FuncForPC(v.Pointer()).Name())
	case reflect.Pointer:
		there := place{v.Pointer(), v.Type()}
		if number, known := w.seen[there]; known {
			w.number(number)
			return
		}
		number := uint64(len(w.seen)) + 1
		w.seen[there] = number
		w.number(number)
		w.value(v.Elem())
	}
}

// Entries of a map in the order of their keys' encodings.
func (w *walk) entries(v reflect.Value) {
	type entry struct {
		key   []byte
		value reflect.Value
	}
	entries := make([]entry, 0, v.Len())
	for _, key := range v.MapKeys() {
		// Its own walk, so that the encoding does not depend on the order in which keys come. Pointers in keys would have none.
		of := walk{without: w.without, seen: map[place]uint64{}}
		of.value(key)
		if len(of.seen) > 0 {
			panic(fmt.Sprintf("keys of a %v have no order", v.Type()))
		}
		entries = append(entries, entry{of.encoded, v.MapIndex(key)})
	}
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	for _, entry := range entries {
		w.encoded = append(w.encoded, entry.key...)
		w.value(entry.value)
	}
}
