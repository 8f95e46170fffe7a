// Package dropdir sends the files that an assistant's programs put into the drop
// directory of the workspace, for programs that call no tool. The directory is named
// outbox, as in other systems with this convention.
//
//	outbox/NAME                  a file to send
//	outbox/NAME.manifest.json    how: {"file","action","message","contentType"}; optional
//	outbox/.sending/<id>/NAME    taken, until a copy is in the queue
//	outbox/failed/NAME           could not be sent; NAME.reason.txt says why
//	outbox/.turn                 the stamp of the turn that drops files now, if the chat has threads
//
// A file is complete if its manifest is not older than the file, if its size and
// time have not changed for two seconds, or when the turn that wrote it has ended.
// Names that begin with a dot or end in .tmp or .part are ignored, and so are
// directories and links.
//
// The directory is checked while a turn runs and at the end of the turn, not between
// turns. Files go through the queue like those of a tool call, so the host checks
// them in the same way. If a run is killed after it took a file, the next run moves
// the file to failed/, since it may or may not have been sent. LONGSHORE_OUTBOX=0
// turns the package off. The programs of a turn find the directory, which exists
// then, by LONGSHORE_DROP_DIR.
package dropdir

import (
	"cmp"
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

// DirVariable names the drop directory in the environment of a turn's programs.
const DirVariable = "LONGSHORE_DROP_DIR"

const (
	stable = 2 * time.Second        // time without a change after which a file is complete
	every  = 500 * time.Millisecond // time between checks while a turn runs

	manifestSuffix = ".manifest.json"
	maxStamp       = 512  // bytes of a turn's stamp
	maxNames       = 1000 // number of names that one check reads; the rest waits
)

// Agent sends the files that the turns of another agent drop.
type Agent struct {
	Next agent.Agent
	Log  *slog.Logger // nil means discard
}

var _ agent.Agent = Agent{}

// Turn runs the other agent and meanwhile sends the files in the drop directory that
// are complete. All its goroutines have ended when it returns. A file that cannot be
// sent is not an error of the turn.
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
	b.log = cmp.Or(b.log, slog.New(slog.DiscardHandler))
	if _, err := os.Lstat(b.dir); err == nil && !realDir(b.dir) {
		b.log.Warn("the drop directory is no directory of its own, so nothing in it is sent")
		return a.Next.Turn(ctx, t)
	}
	b.recover()
	b.take(ctx, config)
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		b.log.Error("cannot make the drop directory", "error", err)
	}
	t.Env = append(slices.Clone(t.Env), DirVariable+"="+b.dir)
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

// box is the drop directory during one turn.
type box struct {
	dir    string
	sender *sender.Sender
	log    *slog.Logger
	seen   map[string]look
	noWait bool // the host did not answer in time; further files are only queued
}

// look is a file's state when its last change was seen.
type look struct {
	size  int64
	time  time.Time
	since time.Time
}

func (b *box) watch(ctx context.Context, over <-chan struct{}) {
	tick := time.Tick(every)
	for {
		select {
		case now := <-tick:
			b.sweep(ctx, now, false)
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// sweep sends the complete files. At the end of a turn, all is set and every file
// counts as complete.
func (b *box) sweep(ctx context.Context, now time.Time, all bool) {
	if !realDir(b.dir) {
		return
	}
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

// names returns the names of the files to consider, sorted.
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

// send takes one file out of the drop directory and sends a copy of it.
func (b *box) send(ctx context.Context, name string) {
	taken := filepath.Join(b.dir, ".sending", uuid.NewString())
	if err := os.MkdirAll(taken, 0o755); err != nil {
		b.log.Error("cannot take a file from the drop directory", "error", err)
		return
	}
	path := filepath.Join(taken, name)
	if err := os.Rename(filepath.Join(b.dir, name), path); err != nil {
		_ = os.Remove(taken)
		return // its writer has moved it away again
	}
	_ = os.Rename(filepath.Join(b.dir, name+manifestSuffix), path+manifestSuffix) // there may be no manifest
	if reason := b.deliver(ctx, path); reason != "" {
		b.fail(taken, name, reason)
		return
	}
	_ = os.RemoveAll(taken)
}

// deliver returns why a file was not sent; empty if it has been sent or is still
// being sent.
func (b *box) deliver(ctx context.Context, path string) (reason string) {
	file, err := readManifest(path)
	if err != nil {
		return err.Error()
	}
	// At the end of ctx nothing is withdrawn, and nothing waits any longer.
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

// fail moves a file to failed/, where its writer finds it, with the reason beside
// it.
func (b *box) fail(taken, name, reason string) {
	b.log.Warn("a file of the drop directory was not sent", "reason", reason)
	failed := filepath.Join(b.dir, "failed")
	err := os.MkdirAll(failed, 0o755)
	if err == nil && !realDir(failed) {
		err = errors.New("failed/ is a link")
	}
	if err == nil {
		err = os.Rename(filepath.Join(taken, name), filepath.Join(failed, name))
	}
	if err == nil {
		err = replace(filepath.Join(failed, name+".reason.txt"), reason+"\n")
	}
	if err != nil {
		b.log.Error("cannot move a file that was not sent to failed/", "error", err)
		return
	}
	_ = os.RemoveAll(taken)
}

// take sends what a killed run has dropped, under the stamp of its turn, since that
// may belong to another thread of the chat. From then on, what is dropped is this
// turn's.
func (b *box) take(ctx context.Context, config sender.Config) {
	path, stamp := filepath.Join(b.dir, ".turn"), config.Turn
	if before, ok := stampIn(path); ok && before != stamp {
		config.Turn = before
		earlier := *b
		earlier.sender = sender.New(config)
		earlier.sweep(ctx, time.Now(), true)
	}
	if stamp == "" {
		_ = os.Remove(path) // there may be none
		return
	}
	err := os.MkdirAll(b.dir, 0o755)
	if err == nil {
		err = replace(path, stamp)
	}
	if err != nil {
		b.log.Error("cannot note whose files those in the drop directory are", "error", err)
	}
}

// recover handles the files that an earlier run took and did not finish.
func (b *box) recover() {
	if !realDir(filepath.Join(b.dir, ".sending")) {
		return
	}
	left, _ := filepath.Glob(filepath.Join(b.dir, ".sending", "*"))
	for _, taken := range left {
		if !realDir(taken) {
			continue
		}
		entries, _ := os.ReadDir(taken)
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), manifestSuffix) {
				b.fail(taken, e.Name(), "The run that sent this file was interrupted, so it may or may not have arrived. "+
					"Ask a member of the chat; drop it again if it is missing.")
			}
		}
		_ = os.Remove(taken)
	}
}
