//go:build !wasm

package host

// Export does nothing where tests run.
func Export(Protocol) {}
