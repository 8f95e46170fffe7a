// Package toolcheck is how the driver of an agent CLI knows that the CLI has our tools in
// a turn. A CLI whose tool server does not start, or is refused by the host, goes on
// without tools and ends as if all were well.
//
// No CLI takes part in the check: the driver makes a directory for the turn, whose name
// reaches the tool server alone, by a variable. The server leaves a mark in it when a
// client has listed the tools, and the reason when the host refuses it. The assistant runs
// as the same user and could forge both, but would deceive only itself.
package toolcheck

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Variable names the directory in the environment of the tool server.
const Variable = "LONGSHORE_TOOLS_CHECK"

const (
	listed    = "listed"
	refused   = "refused"
	maxReason = 4 << 10 // bytes
)

// Check is the driver's end, for one run of a CLI. It is safe for concurrent use.
type Check struct {
	Dir string // the value of Variable
}

// New makes the directory below temp; empty means the system's directory for temporary
// files. The caller must call End.
func New(temp string) (Check, error) {
	dir, err := os.MkdirTemp(temp, "longshore-tools-")
	if err != nil {
		return Check{}, fmt.Errorf("make a directory for the tools' mark: %w", err)
	}
	return Check{dir}, nil
}

// End removes the directory. A server that is still running then leaves no mark: it no
// longer finds the directory, and what it was just writing goes with the next attempt.
func (c Check) End() {
	gone := c.Dir + ".gone"
	if os.Rename(c.Dir, gone) != nil {
		gone = c.Dir
	}
	for range 10 {
		if os.RemoveAll(gone) == nil {
			return
		}
	}
}

// Listed reports whether a client has listed the tools.
func (c Check) Listed() bool {
	_, err := os.Lstat(filepath.Join(c.Dir, listed))
	return err == nil
}

// Refused returns why the server does not work; empty if nothing says so. The text is
// foreign.
func (c Check) Refused() string {
	name := filepath.Join(c.Dir, refused)
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	reason, _ := io.ReadAll(io.LimitReader(f, maxReason)) // a part of the reason is better than none
	return string(reason)
}

// Server is the tool server's end: the value of Variable. If that is empty, nobody checks,
// and its methods do nothing. A mark that cannot be written is missing, which fails the
// turn.
type Server string

// Listed leaves the mark. The server calls it before the client gets the list.
func (s Server) Listed() {
	if s != "" {
		_ = os.WriteFile(filepath.Join(string(s), listed), nil, 0o600)
	}
}

// Refused leaves the reason why the tools do not work in this turn.
func (s Server) Refused(err error) {
	if s == "" {
		return
	}
	reason := err.Error()
	if r := refusal.Of(err); r != nil && r.Hint != "" {
		reason += "; " + r.Hint
	}
	part := filepath.Join(string(s), fmt.Sprintf("%s.%d", refused, os.Getpid()))
	if os.WriteFile(part, []byte(reason), 0o600) == nil {
		_ = os.Rename(part, filepath.Join(string(s), refused))
	}
}
