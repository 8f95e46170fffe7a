package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

func TestMain(m *testing.M) {
	fstest.Memory()
	goleak.VerifyTestMain(m)
}

// settings are Settings of a test.
type settings struct {
	keep time.Duration
	out  []string
}

func (s settings) AuditKeeps() time.Duration { return s.keep }
func (s settings) AuditLeavesOut() []string  { return s.out }

func quiet(dir string) Options {
	return Options{Dir: dir, Log: slog.New(slog.DiscardHandler)}
}

func open(t testing.TB, o Options) *Log {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func closed(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// sent is an outcome with a file whose name would act on a page and on a terminal.
func sent(n int) Entry {
	return Entry{Event: "sent", Group: "family", Delivery: fmt.Sprintf("%032x", n), Chat: "web:family",
		Parts: []Part{{Kind: "document", Name: "a\",\"hash\":\"0\x1b[31m<b>\u202e\n" + fmt.Sprint(n), Bytes: 5, SHA256: strings.Repeat("ab", 32), Status: "sent", MessageID: "m"}}}
}

// trail is a directory with n entries in files of about 4 KiB.
func trail(t testing.TB, n int) string {
	t.Helper()
	o := quiet(t.TempDir())
	o.most = 4 << 10
	l := open(t, o)
	for i := range n {
		l.Add(sent(i))
	}
	closed(t, l)
	return o.Dir
}

func TestAWholeTrailIsWholeOverRotationsAndRestarts(t *testing.T) {
	o := quiet(t.TempDir())
	o.most = 4 << 10
	var hashes []string
	for n := range 60 {
		l := open(t, o)
		l.Add(sent(2*n), sent(2*n+1))
		closed(t, l)
		s, err := Verify(t.Context(), Files(o.Dir), "")
		if err != nil || s.First != 1 || s.Last != int64(2*n+2) || s.Entries != s.Last {
			t.Fatalf("%+v, %v", s, err)
		}
		hashes = append(hashes, s.Hash)
	}
	if all, _ := files(o.Dir); len(all) < 5 {
		t.Errorf("only %d files", len(all))
	}
	for _, hash := range hashes {
		if s, err := Verify(t.Context(), Files(o.Dir), hash[:12]); err != nil || !s.Found {
			t.Errorf("the hash %s of an earlier time is not found: %v", hash, err)
		}
	}
	if s, err := Verify(t.Context(), Files(o.Dir), strings.Repeat("0", 64)); err != nil || s.Found {
		t.Errorf("a hash that was never there is found: %v", err)
	}
}

// Whatever is done to a line, the chain tells, and where.
func TestWhatIsDoneToALineIsFound(t *testing.T) {
	dir := trail(t, 60)
	all, err := files(dir)
	if err != nil || len(all) < 3 {
		t.Fatal(all, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for name, change := range map[string]func(lines [][]byte, i int) [][]byte{
		"a byte": func(lines [][]byte, i int) [][]byte {
			at := random.IntN(len(lines[i]) - 1) // not the end of the line
			lines[i][at] ^= 1 << random.IntN(7)
			return lines
		},
		"removed": func(lines [][]byte, i int) [][]byte { return append(lines[:i:i], lines[i+1:]...) },
		"twice":   func(lines [][]byte, i int) [][]byte { return append(lines[:i+1:i+1], lines[i:]...) },
		"swapped": func(lines [][]byte, i int) [][]byte { lines[i], lines[i+1] = lines[i+1], lines[i]; return lines },
		"inserted": func(lines [][]byte, i int) [][]byte {
			return append(lines[:i:i], append([][]byte{forged(t, lines[i])}, lines[i+1:]...)...)
		},
		"joined": func(lines [][]byte, i int) [][]byte {
			lines[i] = bytes.TrimSuffix(lines[i], []byte("\n"))
			return lines
		},
	} {
		for range 30 {
			path := all[random.IntN(len(all)-1)]
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(bytes.Clone(whole), []byte("\n"))
			lines = lines[:len(lines)-1]
			changed := bytes.Join(change(lines, random.IntN(len(lines)-1)), nil)
			if err := os.WriteFile(path, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			var broken *Broken
			if s, err := Verify(t.Context(), Files(dir), ""); !errors.As(err, &broken) {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Remove(all[1]); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), Files(dir), ""); err == nil {
		t.Error("a file in the middle is missing, and that is not found")
	}
	if err := os.Remove(all[0]); err != nil {
		t.Fatal(err)
	}
	if s, err := Verify(t.Context(), Files(dir), ""); err != nil || s.First == 1 {
		t.Errorf("after the oldest were removed: %+v, %v", s, err)
	}
}

// forged is a line of another content with a good hash of its own.
func forged(t *testing.T, line []byte) []byte {
	t.Helper()
	e, err := parse(line)
	if err != nil {
		t.Fatal(err)
	}
	e.Parts[0].Name = "another.pdf"
	var out bytes.Buffer
	if _, err := encode(&out, &e); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A crash cuts the last line anywhere. The next start removes it, says so, and notes what
// is given again.
func TestALineThatACrashCutIsRemovedAndTold(t *testing.T) {
	dir := trail(t, 3)
	all, err := files(dir)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(all[0])
	if err != nil {
		t.Fatal(err)
	}
	before := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for end := before; end <= len(whole); end += 7 {
		if err := os.WriteFile(all[0], whole[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := Verify(t.Context(), Files(dir), ""); err != nil || s.Entries != 2 {
			t.Fatalf("cut after %d bytes: %+v, %v", end, s, err)
		}
		l := open(t, quiet(dir))
		l.Add(sent(0), sent(1), sent(2))
		closed(t, l)
		want := int64(3)
		if end > before {
			want = 4 // "repaired"
		}
		if s, err := Verify(t.Context(), Files(dir), ""); err != nil || s.Entries != want {
			t.Fatalf("cut after %d bytes and opened again: %+v, %v", end, s, err)
		}
	}
}

func TestAnOutcomeIsNotedOnceAndAnotherOneAgain(t *testing.T) {
	o := quiet(t.TempDir())
	for range 2 {
		l := open(t, o)
		for range 3 {
			l.Add(sent(1))
		}
		closed(t, l)
	}
	l := open(t, o)
	failed := sent(1)
	failed.Event = "failed"
	l.Add(failed)
	closed(t, l)
	if s, err := Verify(t.Context(), Files(o.Dir), ""); err != nil || s.Entries != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// While the disk takes nothing, entries wait; what is too much is counted.
func TestWhatADiskDoesNotTakeWaitsAndWhatIsTooMuchIsCounted(t *testing.T) {
	var log bytes.Buffer
	o := quiet(filepath.Join(t.TempDir(), "audit"))
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	l := open(t, o)
	if err := errors.Join(os.Rename(o.Dir, o.Dir+".away"), os.WriteFile(o.Dir, nil, 0o600)); err != nil { // which no directory can replace
		t.Fatal(err)
	}
	for i := range maxPending + 7 {
		l.Add(sent(i))
	}
	if n := strings.Count(log.String(), "cannot be written"); n != 1 {
		t.Errorf("the operator was told %d times:\n%s", n, log.String())
	}
	if err := errors.Join(os.Remove(o.Dir), os.Rename(o.Dir+".away", o.Dir)); err != nil {
		t.Fatal(err)
	}
	closed(t, l)
	gap := ""
	if err := Search(t.Context(), Files(o.Dir), func(e Entry) error {
		if e.Event == "gap" {
			gap = e.Message
		}
		return nil
	}); err != nil || !strings.HasPrefix(gap, "7 entries") {
		t.Errorf("%q, %v", gap, err)
	}
	if s, err := Verify(t.Context(), Files(o.Dir), ""); err != nil || s.Entries != maxPending+1 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestOldFilesGoAndTheNewestStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet(trail(t, 60))
		o.Settings = settings{24 * time.Hour, []string{Captions, Numbers}}
		all, err := files(o.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range all {
			if err := os.Chtimes(path, time.Now(), time.Now()); err != nil { // the bubble's time
				t.Fatal(err)
			}
		}
		l := open(t, o)
		var running sync.WaitGroup
		ctx, cancel := contextOf(t)
		running.Go(func() { l.Run(ctx) })
		time.Sleep(23 * time.Hour)
		if left, _ := files(o.Dir); len(left) != len(all) {
			t.Errorf("%d of %d files are left before their time", len(left), len(all))
		}
		time.Sleep(3 * time.Hour)
		if left, _ := files(o.Dir); len(left) != 1 {
			t.Errorf("%d files are left", len(left))
		}
		cancel()
		running.Wait()
		closed(t, l)
	})
}

func TestALineIsSyncedWithinASecondAndOneThatTheDiskRefusedIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, quiet(t.TempDir()))
		var running sync.WaitGroup
		ctx, cancel := contextOf(t)
		running.Go(func() { l.Run(ctx) })
		waits := func() bool {
			synctest.Wait()
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.dirty || len(l.pending) > 0
		}
		time.Sleep(10 * time.Hour) // at rest
		l.Add(Entry{Event: "sent", Delivery: "a"})
		if !waits() {
			t.Fatal("the line was synced at once")
		}
		if time.Sleep(syncEvery); waits() {
			t.Error("the line was not synced within a second")
		}
		l.mu.Lock()
		good := l.kept.(*fileKeeper).file
		l.kept.(*fileKeeper).file, _ = os.Open(good.Name()) // takes no writes
		l.mu.Unlock()
		l.Add(Entry{Event: "sent", Delivery: "b"})
		if time.Sleep(3 * syncEvery); !waits() {
			t.Fatal("a disk that takes nothing took the line")
		}
		l.mu.Lock()
		closed := l.kept.(*fileKeeper).file.Close()
		l.kept.(*fileKeeper).file = good
		l.mu.Unlock()
		if time.Sleep(syncEvery); waits() || closed != nil {
			t.Errorf("the line still waits for the disk; %v", closed)
		}
		cancel()
		running.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestNoMembersNumberStandsInTheTrail(t *testing.T) {
	l := open(t, quiet(t.TempDir()))
	defer closed(t, l)
	for jid, hidden := range map[string]bool{
		"4915112345678@s.whatsapp.net": true, "4915112345678@c.us": true, "4915112345678-1600000000@g.us": true,
		"120363000000000000@g.us": false, "123456789012345@lid": false, "web:family": false, "tg:-1001234567890": false, "slack:C012": false,
	} {
		got := l.Mask(jid)
		if (got != jid) != hidden || strings.Contains(got, "4915112345678") {
			t.Errorf("%s stands there as %s", jid, got)
		}
		if masked(Files(l.o.Dir), jid) != got {
			t.Errorf("a reader does not find %s", jid)
		}
	}
	if other := open(t, quiet(t.TempDir())); other.Mask("4915112345678@c.us") == l.Mask("4915112345678@c.us") {
		t.Error("two installations have the same hash of a number")
	} else {
		closed(t, other)
	}
}

func FuzzVerify(f *testing.F) {
	all, err := files(trail(f, 4))
	if err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(all[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte("{}\n\n{\"n\":1,\"hash\":\"\"}\n"))
	f.Add(bytes.Repeat([]byte("x"), maxLine+1))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "000000000001.jsonl"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Verify(t.Context(), Files(dir), "ab")
		if err == nil && s.Entries > 0 && !bytes.Contains(b, []byte(s.Hash)) {
			t.Errorf("%+v", s)
		}
	})
}

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(t.Context()))
}

// An assistant sets the time of its request's file.
func TestARequestOfTheYear3170843StoppedTheTrail(t *testing.T) {
	dir := t.TempDir()
	l := open(t, quiet(dir))
	for n, asked := range []time.Time{time.Unix(99999999999999, 0), time.Unix(-99999999999999, 0), time.Unix(0, 0)} {
		e := sent(n)
		e.Asked = asked
		l.Add(e)
	}
	closed(t, l)
	if s, err := Verify(t.Context(), Files(dir), ""); err != nil || s.Entries != 3 {
		t.Errorf("the trail has %d of 3 entries: %v", s.Entries, err)
	}
}
