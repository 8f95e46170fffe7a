package channel

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"time"
)

// Severity is how much a finding matters.
type Severity string

// The severities, from least to most.
const (
	Fine    Severity = "ok"
	Note    Severity = "note"    // worth knowing; nothing has to be done
	Warning Severity = "warning" // works, and may not for long or not for all
	Fault   Severity = "fault"   // does not work, or is not safe
)

// Finding is the result of one check of the doctor.
type Finding struct {
	Check    string   `json:"check"` // stable, for programs
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Remedy   string   `json:"remedy,omitempty"` // what to do; may be empty
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

// Unreachable returns why nobody accepts a connection at an address that the
// operator wrote, or nil. It waits five seconds at most.
func Unreachable(ctx context.Context, u *url.URL) error {
	d := net.Dialer{Timeout: 5 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), u.Scheme)))
	if err != nil {
		return err
	}
	return conn.Close()
}
