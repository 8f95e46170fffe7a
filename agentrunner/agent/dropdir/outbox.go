// Package dropdir sends what an assistant's programs drop into a directory of
// the workspace, for those that call no tool.
//
//	outbox/NAME                  a file to send
//	outbox/NAME.manifest.json    how: {"file","action","message","contentType"}; optional
//	outbox/.sending/<id>/NAME    taken, until a copy lies in the queue
//	outbox/failed/NAME           was not sent; NAME.reason.txt says why
//
// A file is complete when its manifest is younger than it, when it has kept
// size and time for two seconds, or when the turn that wrote it has ended.
// Names that begin with a dot or end in .tmp or .part are left alone, and so
// are directories and links.
//
// The directory is looked at while a turn runs and at its end; between turns
// nothing is. Files go through the queue like those of a tool call, so the host
// checks them just the same. A file that was taken when the run was killed comes
// into failed/ the next time, since nobody can say whether it arrived.
// LONGSHORE_OUTBOX=0 turns the package off.
package dropdir

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
)

const (
	stable = 2 * time.Second        // without a change, after which a file is complete
	every  = 500 * time.Millisecond // between looks while a turn runs

	manifestSuffix = ".manifest.json"
	maxNames       = 1000 // looked at once; the rest waits
)

// Agent sends what the turns of another agent drop.
type Agent struct {
	Next agent.Agent
	Log  *slog.Logger // nil means discard
}

var _ agent.Agent = Agent{}

// Turn has the other agent answer and sends meanwhile what lies complete in
// the outbox. All its goroutines have ended when it returns. What cannot be
// sent is no error of the turn.
func (a Agent) Turn(ctx context.Context, t agent.Turn) (agent.Reply, error) {
	if t.Getenv("LONGSHORE_OUTBOX") == "0" {
		return a.Next.Turn(ctx, t)
	}
	config, err := sender.FromEnv(t.Getenv)
	if err != nil {
		return agent.Reply{}, err
	}
	b := box{dir: filepath.Join(config.Workspace(), "outbox"), sender: sender.New(config), log: a.Log,
		seen: map[string]look{}}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.recover()
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		b.watch(ctx, over)
	}()
	reply, err := a.Next.Turn(ctx, t)
	close(over)
	<-ended
	if ctx.Err() == nil {
		b.sweep(ctx, time.Now(), true)
	}
	return reply, err
}

// box is the outbox during one turn.
type box struct {
	dir    string
	sender *sender.Sender
	log    *slog.Logger
	seen   map[string]look
	noWait bool // the host does not answer in time; what follows is queued only
}

// look is how a file was found the last time it had changed.
type look struct {
	size  int64
	time  time.Time
	since time.Time
}

func (b *box) watch(ctx context.Context, over <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			b.sweep(ctx, now, false)
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// sweep sends what is complete; at the end of a turn all is.
func (b *box) sweep(ctx context.Context, now time.Time, all bool) {
	for _, name := range b.names() {
		if ctx.Err() != nil {
			return
		}
		stat, err := os.Lstat(filepath.Join(b.dir, name))
		if err != nil || !stat.Mode().IsRegular() {
			continue
		}
		manifest, err := os.Lstat(filepath.Join(b.dir, name+manifestSuffix))
		declared := err == nil && !manifest.ModTime().Before(stat.ModTime())
		if l, ok := b.seen[name]; !ok || l.size != stat.Size() || !l.time.Equal(stat.ModTime()) {
			b.seen[name] = look{stat.Size(), stat.ModTime(), now}
		}
		if all || declared || now.Sub(b.seen[name].since) >= stable {
			delete(b.seen, name)
			b.send(ctx, name)
		}
	}
}

// names are those of the files that may be meant.
func (b *box) names() []string {
	dir, err := os.Open(b.dir)
	if err != nil {
		return nil
	}
	defer dir.Close()
	all, _ := dir.Readdirnames(maxNames)
	var names []string
	for _, name := range all {
		if !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, manifestSuffix) &&
			!strings.HasSuffix(name, ".tmp") && !strings.HasSuffix(name, ".part") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// send takes one file out of the outbox and sends a copy of it.
func (b *box) send(ctx context.Context, name string) {
	taken := filepath.Join(b.dir, ".sending", uuid.NewString())
	if err := os.MkdirAll(taken, 0o755); err != nil {
		b.log.Error("take file from the outbox", "error", err)
		return
	}
	path := filepath.Join(taken, name)
	if err := os.Rename(filepath.Join(b.dir, name), path); err != nil {
		_ = os.Remove(taken)
		return // its writer took it away again
	}
	_ = os.Rename(filepath.Join(b.dir, name+manifestSuffix), path+manifestSuffix) // there may be none
	if reason := b.deliver(ctx, path); reason != "" {
		b.fail(taken, name, reason)
		return
	}
	_ = os.RemoveAll(taken)
}

// deliver returns why a file was not sent; nothing, if it is on its way.
func (b *box) deliver(ctx context.Context, path string) (reason string) {
	file, err := readManifest(path)
	if err != nil {
		return err.Error()
	}
	// The end of a turn takes nothing back, and waits for nothing.
	kept, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	defer context.AfterFunc(ctx, func() { end(sender.ErrKeep) })()
	report, err := b.sender.SendFiles(kept, []sender.File{file}, sender.Options{Copy: true, NoWait: b.noWait})
	var p *sender.Problem
	switch {
	case errors.As(err, &p):
		return p.Text()
	case err != nil:
		return err.Error()
	case report.Failed():
		return report.Summary
	}
	b.noWait = b.noWait || report.Status == string(ipc.Queued)
	return ""
}

// fail puts a file where its writer finds it, with the reason beside it.
func (b *box) fail(taken, name, reason string) {
	b.log.Warn("file of the outbox was not sent", "reason", reason)
	failed := filepath.Join(b.dir, "failed")
	err := os.MkdirAll(failed, 0o755)
	if err == nil {
		err = os.Rename(filepath.Join(taken, name), filepath.Join(failed, name))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(failed, name+".reason.txt"), []byte(reason+"\n"), 0o644)
	}
	if err != nil {
		b.log.Error("keep a file that was not sent", "error", err)
		return
	}
	_ = os.RemoveAll(taken)
}

// recover looks at what an earlier run had taken and did not finish.
func (b *box) recover() {
	left, _ := filepath.Glob(filepath.Join(b.dir, ".sending", "*"))
	for _, taken := range left {
		entries, _ := os.ReadDir(taken)
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), manifestSuffix) {
				b.fail(taken, e.Name(), "The run that sent this file was interrupted, so nobody can say whether it arrived. "+
					"Ask a member of the chat; drop it again if it is missing.")
			}
		}
		_ = os.Remove(taken)
	}
}
