//go:build e2e

package kill

import (
	"cmp"
	"database/sql"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/ipc"
)

// disk is a directory as a power loss would leave it: what was synced is there, and
// of what was not, as much as chance wants. A file's content and its name are two
// things, and each needs its own sync, as POSIX has it.
type disk struct {
	files map[int]*diskFile
	names map[string]int        // by path: what has been synced
	live  map[string]int        // what the host sees
	loose []naming              // names that are not synced, oldest first
	dirs  map[string]bool       // a directory is there at once
	told  map[string]ipc.Result // by path: what an assistant could read
}

// diskFile is the content of a file.
type diskFile struct {
	synced  []byte
	pending []pendingWrite
	written time.Time // before the recording; zero: during it
}

// pendingWrite is a write or, without data, a truncation. It was the at-th operation.
type pendingWrite struct {
	at, offset int
	data       []byte
}

// naming gives a name to a file, or takes it away: 0.
type naming struct {
	at   int
	path string
	file int
}

// newDisk is a directory in which everything is synced.
func newDisk(t testing.TB, dir string) *disk {
	t.Helper()
	d := &disk{files: map[int]*diskFile{}, names: map[string]int{}, dirs: map[string]bool{}, told: map[string]ipc.Result{}}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		if err = errors.Join(err, relErr); err != nil {
			return err
		}
		if e.IsDir() {
			d.dirs[rel] = true
			return nil
		}
		content, err := os.ReadFile(path)
		info, statErr := e.Info()
		if err = errors.Join(err, statErr); err != nil {
			return err
		}
		d.names[rel] = -len(d.names) - 1 // the recording numbers its files from 1
		d.files[d.names[rel]] = &diskFile{synced: content, written: info.ModTime()}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d.live = maps.Clone(d.names)
	return d
}

// apply does the at-th operation.
func (d *disk) apply(at int, o stage.Operation) {
	switch o.Kind {
	case "mkdir":
		d.dirs[o.Path] = true
	case "create":
		d.files[o.File] = &diskFile{}
		d.name(at, o.Path, o.File)
	case "link":
		d.known(o.File, o.From)
		d.name(at, o.Path, o.File)
	case "rename":
		d.known(o.File, o.From)
		d.name(at, o.Path, o.File)
		d.name(at, o.From, 0)
		d.tell(o)
	case "unlink":
		d.name(at, o.Path, 0)
	case "write", "truncate":
		f := d.known(o.File, o.Path)
		f.pending = append(f.pending, pendingWrite{at, int(o.Offset), o.Data})
	case "sync":
		if d.dirs[cmp.Or(o.Path, ".")] {
			d.syncNames(o)
		} else {
			d.known(o.File, o.Path).sync(o.Before)
		}
	}
}

// known is a file that may have been there before the recording, under that path.
func (d *disk) known(number int, path string) *diskFile {
	if d.files[number] == nil {
		if d.files[number] = d.files[d.live[path]]; d.files[number] == nil {
			d.files[number] = &diskFile{}
		}
	}
	return d.files[number]
}

func (d *disk) name(at int, path string, file int) {
	d.loose = append(d.loose, naming{at, path, file})
	if d.live[path] = file; file == 0 {
		delete(d.live, path)
	}
}

// syncNames makes the names in a directory durable.
func (d *disk) syncNames(o stage.Operation) {
	var rest []naming
	for _, n := range d.loose {
		if filepath.Dir(n.path) == cmp.Or(o.Path, ".") && n.at < o.Before {
			n.in(d.names)
		} else {
			rest = append(rest, n)
		}
	}
	d.loose = rest
}

func (n naming) in(names map[string]int) {
	if names[n.path] = n.file; n.file == 0 {
		delete(names, n.path)
	}
}

// sync makes those writes durable that had ended before the sync began.
func (f *diskFile) sync(before int) {
	for len(f.pending) > 0 && f.pending[0].at < before {
		f.synced = f.pending[0].in(f.synced)
		f.pending = f.pending[1:]
	}
}

func (w pendingWrite) in(content []byte) []byte {
	if w.data == nil {
		return slices.Clone(append(content, make([]byte, max(0, w.offset-len(content)))...)[:w.offset])
	}
	content = append(content, make([]byte, max(0, w.offset+len(w.data)-len(content)))...)
	copy(content[w.offset:], w.data)
	return content
}

// tell keeps what an assistant could read in a result.
func (d *disk) tell(o stage.Operation) {
	if match, _ := filepath.Match("ipc/*/results/*.json", o.Path); !match {
		return
	}
	var content []byte
	for _, w := range d.files[o.File].pending {
		content = w.in(content)
	}
	var r ipc.Result
	if json.Unmarshal(content, &r) == nil {
		d.told[o.Path] = r
	}
}

// sector is what a disk writes whole.
const sector = 512

// lose writes what a power loss leaves into a directory. With chance, each thing that
// is not synced is there or not, and of each write some sectors; without, it is not.
func (d *disk) lose(dir string, chance *mrand.Rand) error {
	names := maps.Clone(d.names)
	if chance != nil {
		stops := map[string]bool{} // a directory's names become durable in their order
		for _, n := range d.loose {
			in := filepath.Dir(n.path)
			if stops[in] = stops[in] || chance.IntN(3) == 0; !stops[in] {
				n.in(names)
			}
		}
	}
	var errs []error
	for made := range d.dirs {
		errs = append(errs, os.MkdirAll(filepath.Join(dir, made), 0o755))
	}
	for path, number := range names {
		f, to := d.files[number], filepath.Join(dir, path)
		errs = append(errs, os.WriteFile(to, f.lose(chance), 0o644), os.Chtimes(to, time.Time{}, f.written))
	}
	return errors.Join(errs...)
}

func (f *diskFile) lose(chance *mrand.Rand) []byte {
	if chance == nil || len(f.pending) == 0 {
		return f.synced
	}
	content := slices.Clone(f.synced)
	for _, w := range f.pending {
		if w.data == nil {
			if chance.IntN(2) == 0 {
				content = w.in(content)
			}
			continue
		}
		whole := chance.IntN(2) == 0
		for at := 0; at < len(w.data); at += sector {
			if whole || chance.IntN(2) == 0 {
				content = pendingWrite{0, w.offset + at, w.data[at:min(at+sector, len(w.data))]}.in(content)
			}
		}
	}
	return content
}

// recorded runs a host under the tracer until all requests have their results, and
// returns its operations.
func (b *pageSite) recorded() (all []stage.Operation) {
	b.Helper()
	record := filepath.Join(b.TempDir(), "operations")
	b.Traced(stage.Tracing{Record: record}, b.done)
	f, err := os.Open(record)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for in := gob.NewDecoder(f); ; {
		var o stage.Operation
		switch err := in.Decode(&o); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			b.Fatal(err)
		}
		all = append(all, o)
	}
}

// TestAPowerLossAfterAnyOperationLosesNothingThatWasToldAndShowsNothingTwice records
// what a host does to its disk while it carries a backlog, and lets the power fail
// after each operation: what was not synced is gone, or there in parts. A host that
// then starts has each request once: its request was synced before. Several
// recordings share the work.
func TestAPowerLossAfterAnyOperationLosesNothingThatWasToldAndShowsNothingTwice(t *testing.T) {
	every, recordings := 6, 3
	if n, err := strconv.Atoi(os.Getenv(stage.KillsEnv)); err == nil && n >= 1000 {
		every = 1
	}
	for first := range recordings {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			b := newKillSite(t, t.TempDir())
			b.ask(1)
			if faults := b.settled(); len(faults) > 0 { // makes the stores
				t.Fatal(faults)
			}
			b.ask(2)
			d := newDisk(t, filepath.Join(b.Dir, "state"))
			operations := b.recorded()
			losses := 0
			for at, o := range operations {
				d.apply(at, o)
				if at%every == 0 && at/every%recordings == first {
					losses += b.loses(d, at, operations)
				}
			}
			t.Logf("%d operations, %d power losses", len(operations), losses)
		})
	}
}

// loses has the power fail after the at-th operation, twice: with all gone that was
// not synced, if that is another disk than before, and with some of it there.
func (b *pageSite) loses(d *disk, at int, operations []stage.Operation) (losses int) {
	b.Helper()
	chances := []*mrand.Rand{mrand.New(mrand.NewPCG(uint64(at), 0))}
	if o := operations[at]; o.Kind == "sync" || o.Kind == "rename" {
		chances = append(chances, nil)
	}
	for _, chance := range chances {
		if faults := b.afterLoss(d, chance); len(faults) > 0 {
			o := operations[at]
			b.Errorf("power lost after operation %d of %d, %s %s, torn: %v: %s", at, len(operations), o.Kind, o.Path, chance != nil, faults)
		}
	}
	return len(chances)
}

// TestThePowerLossTestNoticesAMissingSync leaves out the syncs of a store's log.
func TestThePowerLossTestNoticesAMissingSync(t *testing.T) {
	b := newKillSite(t, t.TempDir())
	b.ask(1)
	b.settled()
	b.ask(2)
	before := newDisk(t, filepath.Join(b.Dir, "state"))
	operations := b.recorded()
	for _, log := range []string{"longshore.db-wal"} {
		d, noticed := newDisk(t, b.TempDir()), false
		d.dirs, d.names, d.live = before.dirs, maps.Clone(before.names), maps.Clone(before.live)
		for number, f := range before.files {
			d.files[number] = &diskFile{synced: f.synced, written: f.written}
		}
		for at, o := range operations {
			if o.Kind != "sync" || o.Path != log {
				d.apply(at, o)
			}
			if told := len(d.told); o.Kind == "rename" && told > 0 && told%4 == 0 && !noticed {
				noticed = len(b.afterLoss(d, nil)) > 0
			}
		}
		if !noticed {
			t.Errorf("without the syncs of %s every test passes", log)
		}
	}
}

// A file's times change with each write. So fsync of the database's log waited for the file system's
// journal, and with it for the files of all assistants.
func TestACommitWaitedForTheFilesOfAssistants(t *testing.T) {
	b := newKillSite(t, t.TempDir())
	b.ask(1)
	b.settled()
	b.ask(2)
	syncs := 0
	for _, o := range b.recorded() {
		if o.Kind == "sync" && o.Path == "longshore.db-wal" {
			if syncs++; !o.Bare && syncs > 1 { // the first may make the log's name durable
				t.Errorf("sync %d of the log is fsync", syncs)
			}
		}
	}
	if syncs < 2 {
		t.Errorf("%d syncs of the log", syncs)
	}
}

// afterLoss starts a host on what a power loss left. First the page has all that a
// result said was sent, and the outbox or the queue has all that was queued: a host
// carries it. Then it has everything once.
func (b *pageSite) afterLoss(d *disk, chance *mrand.Rand) (faults []string) {
	b.Helper()
	dir, err := os.MkdirTemp(b.TempDir(), "")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	text, err := os.ReadFile(filepath.Join(b.Dir, "longshore.yaml"))
	file := filepath.Join(dir, "longshore.yaml")
	if err == nil {
		err = errors.Join(os.WriteFile(file, text, 0o600), d.lose(filepath.Join(dir, "state"), chance))
	}
	if err != nil {
		b.Fatal(err)
	}
	cfg, err := config.Load(file, stage.AllPlatforms())
	if err != nil {
		b.Fatal(err)
	}
	after := &pageSite{Site: &stage.Site{TB: b.TB, Dir: dir, Cfg: cfg, Folders: b.Folders}, asked: b.asked, ids: b.ids}
	if faults := after.broken(d.told); len(faults) > 0 {
		return faults
	}
	return after.settled()
}

// broken says which results told what the stores do not have.
func (b *pageSite) broken(told map[string]ipc.Result) (faults []string) {
	b.Helper()
	page, err := b.column("longshore.db", "SELECT id FROM page_message")
	outbox, failed := b.column("longshore.db", "SELECT request FROM delivery")
	if err = errors.Join(err, failed); err != nil {
		return []string{err.Error()}
	}
	for _, r := range told {
		if !outbox[r.ID] {
			faults = append(faults, fmt.Sprintf("%s was told as %s, and the outbox does not have it", r.ID, r.Status))
		}
		if arrived(r) && !page[r.MessageID] {
			faults = append(faults, fmt.Sprintf("%s was told as sent, and the page does not have it", r.ID))
		}
	}
	return faults
}

func (b *pageSite) column(database, query string) (map[string]bool, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.Dir, "state", database)+"?mode=rw")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(b.Context(), query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]bool{}
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		all[one] = true
	}
	return all, rows.Err()
}
