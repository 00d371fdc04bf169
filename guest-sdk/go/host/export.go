//go:build !wasm

package host

// Where tests run, there is no host; Answer stands for its answers.

// Answer is asked for a number below alternatives where a handler chooses. A test may replace it.
var Answer = func(alternatives uint32) uint32 { return 0 }

// Told hears of each answer to a client. A test may replace it.
var Told = func(number uint64, response *Response) {}

// Export does nothing where tests run.
func Export(Protocol) {}

// Choose asks Answer.
func Choose(alternatives uint32) uint32 { return Answer(alternatives) }

// ChooseWeighted asks Answer, too.
func ChooseWeighted(weights ...uint32) uint32 { return Answer(uint32(len(weights))) }

// CanSend says yes where tests run.
func CanSend(uint32) bool { return true }

// Log drops the line.
func Log(string) {}

// Respond tells Told.
func Respond(number uint64, response *Response) { Told(number, response) }

// Restart does nothing where tests run.
func Restart(string) {}
