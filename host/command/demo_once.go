package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/command/member"
	"github.com/longshore-bridge/longshore/host/serve"
)

// demoTurn is how long an assistant may take to answer demo or setup.
const demoTurn = 2 * time.Minute

// playOnce plays a member who asks for the report, and checks the answer.
func (d *demo) playOnce(ctx context.Context, h *serve.Host, steps *steps) error {
	ctx, cancel := context.WithTimeout(ctx, demoTurn)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	err := d.turn(ctx, h, steps)
	cancel()
	return errors.Join(err, <-ended)
}

func (d *demo) turn(ctx context.Context, h *serve.Host, steps *steps) error {
	m := member.Member{Base: strings.TrimRight(webOf(h).URL(), "/"), Chat: "family"}
	steps.note("family", "", `member writes "send me the report"`)
	asked, err := m.Say(ctx, "send me the report")
	if err != nil {
		return fmt.Errorf("write to the chat: %w", err)
	}
	answer, err := m.Wait(ctx, asked, 2)
	if err != nil {
		return fmt.Errorf("wait for the files: %w", err)
	}
	steps.note("family", "", "member sees the answer")
	steps.print(d.Stdout)
	for _, msg := range answer {
		if msg.File == nil {
			fmt.Fprintf(d.Stdout, "text   %q\n", msg.Text)
			continue
		}
		if err := d.compare(ctx, h, m, msg.File); err != nil {
			return err
		}
	}
	return nil
}

// compare checks that the received bytes are those of the file in the workspace.
func (d *demo) compare(ctx context.Context, h *serve.Host, m member.Member, f *history.File) error {
	received, err := m.Download(ctx, f.URL)
	if err != nil {
		return fmt.Errorf("download %s: %w", f.Name, err)
	}
	wrote, err := member.SumFile(h.Layout.Workspace("family"), f.Name)
	if err != nil {
		return err
	}
	if received != wrote || received != f.SHA256 {
		return fmt.Errorf("%s: received %s, the chat says %s, the assistant wrote %s", f.Name, received, f.SHA256, wrote)
	}
	fmt.Fprintf(d.Stdout, "file   %s, %s, %d bytes, sha256 %s as written\n", f.Name, f.MIME, f.Size, received)
	return nil
}

// steps records what happens to requests, in milliseconds since the start.
type steps struct {
	mu    sync.Mutex
	begin time.Time
	lines []string
}

func newSteps() *steps { return &steps{begin: time.Now()} }

// maxSteps bounds the memory of a demo that runs for long.
const maxSteps = 200

// note records a step. The host calls it as its serve.Options.Trace.
func (s *steps) note(folder, request, step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) < maxSteps {
		at := time.Since(s.begin).Seconds() * 1000
		s.lines = append(s.lines, fmt.Sprintf("%9.2f ms  %-8s %-14s %s", at, folder, shortRequest(request), step))
	}
}

func (s *steps) print(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		fmt.Fprintln(w, line)
	}
}

// shortRequest returns the end of a request's id, in which requests differ.
func shortRequest(id string) string {
	if len(id) > 12 {
		return "…" + id[len(id)-12:]
	}
	return id
}
