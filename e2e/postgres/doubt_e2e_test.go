//go:build e2e

package postgres

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/pgtest"
	"github.com/longshore-bridge/longshore/media"
)

// way is the way to a server, which breaks before the answer to a commit.
type way struct {
	port   int
	breaks atomic.Bool // at the next answer to a commit
	broken atomic.Bool // for each new connection, too
}

func wayTo(t *testing.T, socket string) *way {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	w := &way{port: l.Addr().(*net.TCPAddr).Port}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil || w.broken.Load() {
				c.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, c); server.Close() }()
			go func() { w.answers(c, server); c.Close() }()
		}
	}()
	return w
}

func (w *way) answers(c, server net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil || w.broken.Load() {
			return
		}
		if bytes.Contains(buf[:n], []byte("COMMIT\x00")) && w.breaks.Load() {
			w.broken.Store(true)
			return
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

// The commit was run again while the server was away. Its caller heard that nothing was committed, and deleted the
// file that the committed delivery names.
func TestAFileOfADoubtfulCommitWasDeleted(t *testing.T) {
	server := pgtest.Start(t)
	w := wayTo(t, filepath.Join(server.Dir, ".s.PGSQL."+strconv.Itoa(server.Port)))
	silent := slog.New(slog.DiscardHandler)
	spec := state.Spec(t.TempDir(), store.Home{})
	spec.Server.File = pgtest.Write(t, "host=127.0.0.1 sslmode=disable user=longshore dbname=postgres port="+strconv.Itoa(w.port))
	db, err := state.Open(context.WithoutCancel(t.Context()), spec, silent)
	must(t, err)
	o, err := outbox.Open(t.Context(), outbox.Options{State: db, Log: silent})
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- db.Run(t.Context(), silent) }()
	content := strings.Repeat("x", blob.Small+1)
	b, err := o.Copy(t.Context(), strings.NewReader(content), int64(len(content)))
	must(t, err)
	file := records.File{Info: media.Info{Name: "x", Kind: media.Document, MIME: "text/plain", Size: b.Size}, SHA256: b.SHA256, Blob: b.Name}
	d := records.Delivery{Key: strings.Repeat("a", 32), Folder: "g", Request: "r", Channel: "fake", Chat: "fake:a", Parts: []records.Part{{Files: []records.File{file}}}}
	w.breaks.Store(true)
	if err := o.Put(t.Context(), []records.Delivery{d}); !errors.Is(err, store.ErrDoubtful) {
		t.Errorf("Put: %v", err)
	}
	w.breaks.Store(false)
	w.broken.Store(false)
	if err := <-ended; !errors.Is(err, store.ErrDoubtful) {
		t.Errorf("the host goes on without the delivery: %v", err)
	}
	must(t, errors.Join(o.Close(), db.Close()))

	db, err = state.Open(context.WithoutCancel(t.Context()), spec, silent)
	must(t, err)
	o, err = outbox.Open(t.Context(), outbox.Options{State: db, Log: silent})
	must(t, err)
	if now, err := o.Get(t.Context(), d.Key); err != nil || now.Parts[0].State != records.Queued {
		t.Errorf("after the next start: %+v, %v", now, err)
	}
	must(t, o.Kept(t.Context(), b, func(io.ReaderAt) error { return nil }))
	must(t, errors.Join(o.Close(), db.Close()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
