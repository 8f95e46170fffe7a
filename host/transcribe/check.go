package transcribe

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"time"
)

// Check says why an entry cannot work on this machine, without sending anything to
// the service but a connection.
func Check(ctx context.Context, e Entry) error {
	if len(e.Command) == 0 {
		return reachable(ctx, e.URL)
	}
	if _, err := exec.LookPath(e.Command[0]); err != nil {
		return fmt.Errorf("find program: %w", err)
	}
	for _, path := range Readable(e.Command[1:]) {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("find what its arguments name: %w", err)
		}
	}
	return nil
}

func reachable(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("read address: %w", err)
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return conn.Close()
}
