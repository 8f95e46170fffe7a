//go:build e2e

package bench

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/ipc"
)

// straight is the straight line: one goroutine that makes the same system
// calls and the same commits as the host does for a request, with no house
// between. It reads an event, opens, reads and decodes the request, records
// it, calls, records the outcome, writes the result and unlinks the request.
// It knows no groups, checks nothing and recovers nothing.
type straight struct {
	b                 *testing.B
	messages, results string
	watch             int // inotify
	db                *sql.DB
	delivery, part    *sql.Stmt
	settle, settled   *sql.Stmt
	n                 int
}

func newStraight(b *testing.B, in string) *straight {
	b.Helper()
	s := &straight{b: b, messages: filepath.Join(in, "straight", "messages"), results: filepath.Join(in, "straight", "results")}
	for _, dir := range []string{s.messages, s.results} {
		s.must(os.MkdirAll(dir, 0o755))
	}
	s.watch = watch(b, s.messages, unix.IN_MOVED_TO)
	var err error
	s.db, err = sql.Open("sqlite", "file:"+filepath.Join(in, "straight", "records.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	s.must(err)
	s.db.SetMaxOpenConns(1)
	b.Cleanup(func() {
		s.db.Close()
		unix.Close(s.watch)
	})
	_, err = s.db.Exec(`
		CREATE TABLE delivery (id INTEGER PRIMARY KEY, key TEXT UNIQUE, turn INTEGER, folder TEXT, request TEXT, channel TEXT, chat TEXT, created INTEGER, changed INTEGER, open INTEGER);
		CREATE TABLE part (delivery INTEGER, position INTEGER, message_id TEXT, text TEXT, state TEXT, attempts INTEGER, receipt TEXT, PRIMARY KEY (delivery, position)) WITHOUT ROWID;
		CREATE INDEX due ON delivery (channel, chat, turn) WHERE open > 0;`)
	s.must(err)
	for _, p := range []struct {
		to    **sql.Stmt
		query string
	}{
		{&s.delivery, `INSERT INTO delivery (id, key, turn, folder, request, channel, chat, created, changed, open) VALUES (?, ?, ?, 'g0', ?, 'mem', 'mem:g0', ?, ?, 1)`},
		{&s.part, `INSERT INTO part (delivery, position, message_id, text, state, attempts) VALUES (?, 0, ?, ?, 'queued', 0)`},
		{&s.settle, `UPDATE part SET state = 'sent', attempts = 1, receipt = ? WHERE delivery = ? AND position = 0`},
		{&s.settled, `UPDATE delivery SET open = 0, changed = ? WHERE id = ?`},
	} {
		*p.to, err = s.db.Prepare(p.query)
		s.must(err)
	}
	return s
}

func (s *straight) must(err error) {
	s.b.Helper()
	if err != nil {
		s.b.Fatal(err)
	}
}

// event blocks until a request is renamed into the directory, and returns its
// name.
func (s *straight) event() string {
	buf := make([]byte, 4096)
	n, err := unix.Read(s.watch, buf)
	s.must(err)
	return string(bytes.TrimRight(buf[unix.SizeofInotifyEvent:n], "\x00"))
}

// straightRequest is one that was read.
type straightRequest struct {
	name    string
	id      int
	request ipc.Request
}

func (s *straight) read(name string) straightRequest {
	body, err := os.ReadFile(filepath.Join(s.messages, name))
	s.must(err)
	r, err := ipc.Decode(body)
	s.must(err)
	s.n++
	return straightRequest{name, s.n, r}
}

// record commits requests that were read, and outcome what became of them.
func (s *straight) record(all []straightRequest) {
	s.transact(func(tx *sql.Tx) {
		now := time.Now().UnixNano()
		for _, r := range all {
			_, err := tx.Stmt(s.delivery).Exec(r.id, fmt.Sprintf("%032x", r.id), r.id, r.name, now, now)
			s.must(err)
			_, err = tx.Stmt(s.part).Exec(r.id, fmt.Sprintf("%032x", r.id), r.request.Text)
			s.must(err)
		}
	})
}

func (s *straight) outcome(all []straightRequest) {
	s.transact(func(tx *sql.Tx) {
		now := time.Now().UnixNano()
		for _, r := range all {
			_, err := tx.Stmt(s.settle).Exec(r.name, r.id)
			s.must(err)
			_, err = tx.Stmt(s.settled).Exec(now, r.id)
			s.must(err)
		}
	})
}

func (s *straight) transact(do func(*sql.Tx)) {
	tx, err := s.db.Begin()
	s.must(err)
	do(tx)
	s.must(tx.Commit())
}

// result writes the result's file as the host does, and unlinks the request.
func (s *straight) result(r straightRequest) {
	body, err := json.Marshal(ipc.Result{ID: r.name, Status: ipc.Sent})
	s.must(err)
	tmp := filepath.Join(s.results, ".tmp")
	s.must(os.WriteFile(tmp, body, 0o644))
	s.must(os.Rename(tmp, filepath.Join(s.results, r.name)))
	s.must(os.Remove(filepath.Join(s.messages, r.name)))
}

// once renames a request after the gap and returns the time until the call.
func (s *straight) once() time.Duration {
	called, done := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(done)
		r := []straightRequest{s.read(s.event())}
		s.record(r)
		called <- time.Now()
		s.outcome(r)
		s.result(r[0])
	}()
	tmp := filepath.Join(s.messages, ".tmp")
	s.must(os.WriteFile(tmp, []byte(`{"type":"message","text":"measured"}`), 0o644))
	<-time.After(gap)
	start := time.Now()
	s.must(os.Rename(tmp, filepath.Join(s.messages, fmt.Sprintf("m%08d.json", s.n))))
	took := (<-called).Sub(start)
	<-done
	return took
}

// straightBatch is how many requests the straight line records in one commit,
// as many as the host.
const straightBatch = 64

// drain takes all requests of a directory to their ends.
func (s *straight) drain(messages string) time.Duration {
	s.messages = messages
	start := time.Now()
	s.batches(func([]straightRequest) {})
	return time.Since(start)
}

// batches is drain with calls of a channel.
func (s *straight) batches(call func([]straightRequest)) {
	entries, err := os.ReadDir(s.messages)
	s.must(err)
	for len(entries) > 0 {
		batch := entries[:min(straightBatch, len(entries))]
		entries = entries[len(batch):]
		var all []straightRequest
		for _, e := range batch {
			all = append(all, s.read(e.Name()))
		}
		s.record(all)
		call(all)
		s.outcome(all)
		for _, r := range all {
			s.result(r)
		}
	}
}
