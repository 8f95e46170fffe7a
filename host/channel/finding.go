package channel

import (
	"context"
	"net"
)

// Severity says how much a finding matters.
type Severity string

// The severities, from least to most.
const (
	Fine    Severity = "ok"
	Note    Severity = "note"    // worth knowing; nothing has to be done
	Warning Severity = "warning" // works, and may not for long or not for all
	Fault   Severity = "fault"   // does not work, or is not safe
)

// Finding is what one check of the doctor says.
type Finding struct {
	Check    string   `json:"check"` // stable, for programs
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Remedy   string   `json:"remedy,omitempty"` // what to do; empty where nothing has to be
}

// AddressTaken returns why nobody could listen on an address now, or nil.
func AddressTaken(ctx context.Context, address string) error {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return ln.Close()
}
