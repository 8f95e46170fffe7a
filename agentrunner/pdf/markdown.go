package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/internal/group"
	"github.com/longshore-bridge/longshore/media"
)

// converters turn Markdown on stdin into HTML on stdout, best first.
func converters() [][]string {
	return [][]string{
		{"pandoc", "--sandbox", "--from=gfm", "--to=html5"},
		{"cmark-gfm", "-e", "table", "-e", "strikethrough", "-e", "autolink", "-e", "tasklist"},
		{"cmark"},
		{"python3", "-I", "-m", "markdown", "-x", "extra"}, // -I: no modules from the working directory
	}
}

// place is where the programs keep their files.
type place struct{ dir, temp string }

// toHTML converts Markdown with the first converter that is there. Python may be
// there without its package.
func (p place) toHTML(ctx context.Context, text []byte) ([]byte, error) {
	for _, argv := range converters() {
		path, err := exec.LookPath(argv[0])
		if err != nil {
			continue
		}
		out, err := p.run(ctx, text, append([]string{path}, argv[1:]...)...)
		if err != nil && strings.Contains(err.Error(), "No module named markdown") {
			continue
		}
		return []byte(out), err
	}
	return nil, &Missing{Step: "turn Markdown into HTML", Programs: []string{"pandoc", "cmark-gfm", "cmark", "python3-markdown"}}
}

// run runs a program with stdin and returns what it prints. The program and what it
// has started are gone when run returns. With a nil stdin, the answer is what it
// wrote to stderr.
func (p place) run(ctx context.Context, stdin []byte, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	out, errs := capped{left: 4 * MaxSource}, capped{left: 64 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &errs
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + p.temp, "LANG=C.UTF-8"}
	cmd.WaitDelay = time.Second
	group.Own(cmd)
	cmd.Cancel = func() error { group.Kill(cmd); return nil }
	err := cmd.Run()
	if cmd.Process != nil {
		group.Kill(cmd)
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case out.full:
		return "", ErrTooLarge
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", fmt.Errorf("%s: %w: %s", argv[0], err, lastLine(errs.String()))
	case stdin == nil:
		return lastLine(errs.String()), nil
	}
	return out.String(), nil
}

// lastLine is where programs say what went wrong.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return media.Printable(media.Cut(strings.TrimSpace(lines[len(lines)-1]), 300))
}

// capped keeps the first bytes that are written to it.
type capped struct {
	bytes.Buffer
	left int
	full bool
}

func (c *capped) Write(p []byte) (int, error) {
	keep := min(len(p), c.left)
	c.left -= keep
	c.full = c.full || keep < len(p)
	c.Buffer.Write(p[:keep])
	return len(p), nil
}
