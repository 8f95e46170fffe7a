package doctor_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// patient is a healthy installation that a test makes ill.
type patient struct {
	doctor.Doctor
	t *testing.T
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	p := &patient{t: t, Doctor: doctor.Doctor{
		Layout: groups.Layout{State: dir},
		Groups: []groups.Group{{Name: "Family", Folder: "family", Chat: "web:family"}},
		Stores: []store.Spec{state.Spec(dir, store.Home{})},
		Proc:   t.TempDir(),
	}}
	p.must(p.Layout.Prepare(p.Groups))
	p.proc("sys/fs/inotify/max_user_instances", "128\n")
	p.proc("sys/fs/inotify/max_user_watches", "65536\n")
	p.proc("self/fd/0", "")
	return p
}

func (p *patient) must(errs ...error) {
	p.t.Helper()
	if err := errors.Join(errs...); err != nil {
		p.t.Fatal(err)
	}
}

// page gives the patient a chat page.
func (p *patient) page(s web.Settings) {
	p.Channels = append(p.Channels, func(ctx context.Context, running bool) []doctor.Finding {
		return web.Platform().Examine(ctx, channel.Setup{Name: "web", Settings: &s}, running)
	})
}

// proc writes a file of the patient's own procfs.
func (p *patient) proc(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.Proc, name)
	p.must(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
}

// database makes a state's database, and leaves its log beside it if asked.
func (p *patient) database(withLog bool) string {
	p.t.Helper()
	path := filepath.Join(p.Layout.Own(), "longshore.db")
	db, err := sql.Open("sqlite", path)
	p.must(err)
	defer db.Close()
	_, err = db.Exec("PRAGMA journal_mode=WAL; CREATE TABLE delivery (k TEXT); CREATE INDEX i ON delivery (k)")
	p.must(err)
	_, err = db.Exec("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 500) INSERT INTO delivery SELECT printf('%0100d', i) FROM n")
	p.must(err)
	if !withLog {
		return path
	}
	// Closing would fold the log in, so what a crash leaves is copied aside.
	_, err = db.Exec("PRAGMA wal_checkpoint(TRUNCATE); CREATE TABLE late (k TEXT)")
	p.must(err)
	aside := p.t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		p.must(err, os.WriteFile(filepath.Join(aside, "db"+suffix), data, 0o600))
	}
	p.must(db.Close())
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(filepath.Join(aside, "db"+suffix))
		p.must(err, os.WriteFile(path+suffix, data, 0o600))
	}
	return path
}

// damage overwrites the middle of a file.
func (p *patient) damage(path string) {
	p.t.Helper()
	data, err := os.ReadFile(path)
	p.must(err)
	for i := len(data) / 3; i < 2*len(data)/3; i++ {
		data[i] = 0x5a
	}
	p.must(os.WriteFile(path, data, 0o600))
}

// tree is everything below the state directory: names, modes, times, contents.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		words := fmt.Sprint(fi.Mode(), fi.ModTime().UnixNano(), fi.Size())
		if fi.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			words += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		all[path] = words
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// planted is one thing that is wrong, and what the doctor must say of it.
type planted struct {
	name     string
	plant    func(p *patient)
	check    string
	severity doctor.Severity
	words    string // in the message
}

func illnesses() []planted {
	leaf := func(p *patient, name string) string { return p.Layout.IPC("family", name) }
	return []planted{
		{"no state directory", func(p *patient) { p.must(os.RemoveAll(p.Layout.State)) }, "state", doctor.Note, "does not exist yet"},
		{"an interrupted restore", func(p *patient) { p.must(os.Rename(p.Layout.State, p.Layout.Restoring().State)) }, "state", doctor.Fault, "a restore was interrupted"},
		{"state directory is a link", func(p *patient) {
			p.must(os.Rename(p.Layout.State, p.Layout.State+"2"), os.Symlink(p.Layout.State+"2", p.Layout.State))
		}, "state", doctor.Fault, "not a directory itself"},
		{"state open to others", func(p *patient) { p.must(os.Chmod(p.Layout.State, 0o777)) }, "state", doctor.Fault, "others may write"},
		{"logs open to others", func(p *patient) { p.must(os.Chmod(p.Layout.Logs(), 0o755)) }, "state", doctor.Fault, "logs is open"},
		{"files open to others", func(p *patient) { p.must(os.Mkdir(filepath.Join(p.Layout.Own(), "blobs"), 0o755)) }, "state", doctor.Fault, "blobs is open"},
		{"store is a link", func(p *patient) {
			p.must(os.Remove(p.Layout.Store()), os.Symlink("/etc", p.Layout.Store()))
		}, "state", doctor.Fault, "store"},
		{"messages swapped for a link", func(p *patient) {
			p.must(os.Remove(leaf(p, "messages")), os.Symlink("/tmp", leaf(p, "messages")))
		}, "queue", doctor.Fault, "ipc/family/messages is not a directory itself"},
		{"results open to all", func(p *patient) { p.must(os.Chmod(leaf(p, "results"), 0o777)) }, "queue", doctor.Fault, "anybody may replace"},
		{"workspace swapped for a link", func(p *patient) {
			p.must(os.Remove(p.Layout.Workspace("family")), os.Symlink("/", p.Layout.Workspace("family")))
		}, "queue", doctor.Fault, "workspace of group family"},
		{"queue of nobody", func(p *patient) { p.must(os.Mkdir(p.Layout.IPC("a\x1b[31m", ""), 0o755)) }, "queue", doctor.Note, `"a\x1b[31m"`},
		{"refused requests", func(p *patient) {
			p.must(os.WriteFile(filepath.Join(p.Layout.Errors(), "family-x.reason.json"), []byte("{}"), 0o600))
		}, "errors", doctor.Note, "folder: 1"},
		{"damaged database", func(p *patient) { p.damage(p.database(false)) }, "state", doctor.Fault, "state's database"},
		{"damaged database with a log", func(p *patient) { p.damage(p.database(true)) }, "state", doctor.Fault, "state's database"},
		{"database that is none", func(p *patient) {
			p.must(os.WriteFile(filepath.Join(p.Layout.Own(), "longshore.db"), []byte(strings.Repeat("no", 4000)), 0o600))
		}, "state", doctor.Fault, "cannot be read"},
		{"whole database after a crash", func(p *patient) { p.database(true) }, "state", doctor.Fine, "whole"},
		{"state held by a host that hangs", func(p *patient) {
			lock := filepath.Join(p.Layout.Own(), "longshore.lock")
			p.must(os.WriteFile(lock, nil, 0o600))
			var st unix.Stat_t
			p.must(unix.Stat(lock, &st))
			p.proc("locks", fmt.Sprintf("1: POSIX  ADVISORY  READ  1 fd:01:1 0 EOF\n2: FLOCK  ADVISORY  WRITE 4711 fd:01:%d 0 EOF\n", st.Ino))
		}, "state", doctor.Fault, "process 4711 holds"},
		{"few inotify instances", func(p *patient) { p.proc("sys/fs/inotify/max_user_instances", "4\n") }, "inotify", doctor.Warning, "instances"},
		{"few inotify watches", func(p *patient) { p.proc("sys/fs/inotify/max_user_watches", "3\n") }, "inotify", doctor.Warning, "watches"},
		{"no /proc", func(p *patient) { p.must(os.RemoveAll(filepath.Join(p.Proc, "self"))) }, "proc", doctor.Fault, "no file of an assistant can be opened"},
		{"no inotify", func(p *patient) { p.must(os.RemoveAll(filepath.Join(p.Proc, "sys"))) }, "inotify", doctor.Note, "polls"},
		{"web without token", func(p *patient) { p.page(web.Settings{Listen: "0.0.0.0:0"}) }, "web", doctor.Fault, "no token"},
		{"web with a token to guess", func(p *patient) {
			p.page(web.Settings{Listen: "0.0.0.0:0", Token: setting.NewSecret(strings.Repeat("ab", 20))})
		}, "web", doctor.Fault, "guessed"},
		{"the same on loopback", func(p *patient) { p.page(web.Settings{Listen: "127.0.0.1:0", Token: setting.NewSecret("x")}) }, "web", doctor.Warning, "guessed"},
		{"web address of no form", func(p *patient) { p.page(web.Settings{Listen: "8420"}) }, "web", doctor.Fault, "host:port"},
		{"web address in use", func(p *patient) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			p.must(err)
			p.t.Cleanup(func() { ln.Close() })
			p.page(web.Settings{Listen: ln.Addr().String()})
		}, "web", doctor.Fault, "cannot listen"},
		{"assistant without command", func(p *patient) {
			p.Commands = map[string]string{"helper": "no-such-program"}
		}, "assistant", doctor.Fault, `"no-such-program" of assistant "helper"`},
		{"no container engine", func(p *patient) { p.Container = "/nowhere/docker.sock" }, "assistant", doctor.Fault, "engine"},
		{"mount that is gone", func(p *patient) {
			p.Groups[0].Mounts = []groups.Extra{{Name: "photos", Host: "/nowhere/photos"}}
		}, "mounts", doctor.Warning, "/workspace/extra/photos"},
	}
}

func TestDoctorFindsWhatWasPlantedAndChangesNothing(t *testing.T) {
	for _, c := range illnesses() {
		t.Run(c.name, func(t *testing.T) {
			p := newPatient(t)
			c.plant(p)
			parent := filepath.Dir(p.Layout.State)
			before := tree(t, parent)
			findings := p.Examine(t.Context())
			if diff := cmp.Diff(before, tree(t, parent)); diff != "" {
				t.Errorf("the doctor changed something:\n%s", diff)
			}
			for _, f := range findings {
				if f.Check == c.check && f.Severity == c.severity && strings.Contains(f.Message, c.words) {
					if f.Severity != doctor.Fine && f.Remedy == "" && f.Check != "inotify" {
						t.Errorf("no remedy: %+v", f)
					}
					return
				}
			}
			t.Errorf("not found among %+v", findings)
		})
	}
}

// TestAClockThatNobodySetIsAFault has the bubble's clock, which begins in 2000.
func TestAClockThatNobodySetIsAFault(t *testing.T) {
	p := newPatient(t)
	synctest.Test(t, func(t *testing.T) {
		if !slices.ContainsFunc(p.Examine(t.Context()), func(f doctor.Finding) bool {
			return f.Check == "clock" && f.Severity == doctor.Fault && strings.Contains(f.Message, "2000")
		}) {
			t.Error("the clock shows 2000, and that is no fault")
		}
	})
}

func TestTheDoctorIsContentWithAHealthyInstallation(t *testing.T) {
	p := newPatient(t)
	p.database(false)
	serve(t, &operator.Server{Dir: operator.ControlDir(p.Layout), Control: running{}, Health: healthy()})
	for _, f := range p.Examine(t.Context()) {
		// The machine's own disk and clock are what they are.
		if f.Severity != doctor.Fine && f.Check != "disk" && f.Check != "clock" {
			t.Errorf("%+v", f)
		}
	}
}

func TestTheDoctorAsksTheHostThatRuns(t *testing.T) {
	p := newPatient(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	p.must(err)
	p.page(web.Settings{Listen: ln.Addr().String()})
	p.must(ln.Close()) // nobody listens there any more
	unwell := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, `{"error":{"code":"unwell","message":"12 B of disk are free"}}`)
	})
	serve(t, &operator.Server{Dir: operator.ControlDir(p.Layout), Control: running{}, Health: unwell})
	want := map[string]string{"host": "12 B of disk are free", "web": "nobody listens on " + ln.Addr().String()}
	for _, f := range p.Examine(t.Context()) {
		if strings.Contains(f.Message, want[f.Check]) {
			delete(want, f.Check)
		}
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}

// worstOf returns the highest severity among findings; Fine if there are none.
func worstOf(findings []doctor.Finding) doctor.Severity {
	order := []doctor.Severity{doctor.Fine, doctor.Note, doctor.Warning, doctor.Fault}
	most := doctor.Fine
	for _, f := range findings {
		if slices.Index(order, f.Severity) > slices.Index(order, most) {
			most = f.Severity
		}
	}
	return most
}

func TestTheDoctorStopsWhenToldTo(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if findings := newPatient(t).Examine(ctx); len(findings) != 0 {
		t.Errorf("went on: %+v", findings)
	}
}

func TestTheConfigurationMustBeClosedToOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "longshore.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[fs.FileMode]doctor.Severity{0o600: doctor.Fine, 0o644: doctor.Fine, 0o664: doctor.Fault, 0o646: doctor.Fault} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if got := worstOf(doctor.CheckConfigFile(path)); got != want {
			t.Errorf("mode %o: %s, want %s", mode, got, want)
		}
	}
}
