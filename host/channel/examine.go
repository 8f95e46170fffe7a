package channel

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"time"

	"github.com/longshore-bridge/longshore/internal/finding"
)

// Examination collects what a Platform finds of one of its channels.
type Examination struct {
	Channel string // its name
	All     []finding.Finding
}

// Found adds a finding. An empty remedy is that of a wrong setting.
func (e *Examination) Found(s finding.Severity, cause, remedy string) {
	f := finding.Finding{Name: finding.ChannelSetup, Part: "channel " + e.Channel, Severity: s, Cause: cause, Remedy: remedy}
	switch s {
	case finding.Fine:
		f.Name = finding.OK
	case finding.Fault:
		f.Name = finding.Channel
	}
	if f.Remedy == "" && f.Wrong() {
		f.Remedy = "correct channels." + e.Channel + " in longshore.yaml, or this machine's way to the platform; then restart the host"
	}
	e.All = append(e.All, f)
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
