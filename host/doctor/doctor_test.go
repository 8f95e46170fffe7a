package doctor_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
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
	p.Channels = map[string]doctor.Check{"channel web": func(ctx context.Context, running bool) []finding.Finding {
		return web.Platform().Examine(ctx, channel.Setup{Name: "web", Settings: &s}, running)
	}}
}

// assistant gives the patient's group an assistant.
func (p *patient) assistant(a config.Assistant) {
	p.Groups[0].Assistant = "helper"
	p.Config = &config.Config{Groups: p.Groups, Assistants: map[string]config.Assistant{"helper": a}}
	p.Getenv = func(string) string { return "unix:///nowhere/docker.sock" }
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

// trail writes a file of the audit trail.
func (p *patient) trail(name, text string) {
	p.t.Helper()
	p.must(os.MkdirAll(p.Layout.Audit(), 0o700), os.WriteFile(filepath.Join(p.Layout.Audit(), name), []byte(text), 0o600))
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
	finding  string
	severity finding.Severity
	words    string // in the message
}

func illnesses() []planted {
	leaf := func(p *patient, name string) string { return p.Layout.IPC("family", name) }
	return []planted{
		{"no state directory", func(p *patient) { p.must(os.RemoveAll(p.Layout.State)) }, finding.StateNone, finding.Note, "does not exist yet"},
		{"an interrupted restore", func(p *patient) { p.must(os.Rename(p.Layout.State, p.Layout.Restoring().State)) }, finding.Restore, finding.Fault, "a restore was interrupted"},
		{"state directory is a link", func(p *patient) {
			p.must(os.Rename(p.Layout.State, p.Layout.State+"2"), os.Symlink(p.Layout.State+"2", p.Layout.State))
		}, finding.State, finding.Fault, "not a directory itself"},
		{"state open to others", func(p *patient) { p.must(os.Chmod(p.Layout.State, 0o777)) }, finding.StateOpen, finding.Fault, "others may write"},
		{"logs open to others", func(p *patient) { p.must(os.Chmod(p.Layout.Logs(), 0o755)) }, finding.StateOpen, finding.Fault, "logs is open"},
		{"files open to others", func(p *patient) { p.must(os.Mkdir(filepath.Join(p.Layout.Own(), "blobs"), 0o755)) }, finding.StateOpen, finding.Fault, "blobs is open"},
		{"store is a link", func(p *patient) {
			p.must(os.Remove(p.Layout.Store()), os.Symlink("/etc", p.Layout.Store()))
		}, finding.State, finding.Fault, "store"},
		{"messages swapped for a link", func(p *patient) {
			p.must(os.Remove(leaf(p, "messages")), os.Symlink("/tmp", leaf(p, "messages")))
		}, string(cause.Directory), finding.Fault, "ipc/family/messages is not a directory itself"},
		{"results open to all", func(p *patient) { p.must(os.Chmod(leaf(p, "results"), 0o777)) }, finding.Queue, finding.Fault, "anybody may replace"},
		{"workspace swapped for a link", func(p *patient) {
			p.must(os.Remove(p.Layout.Workspace("family")), os.Symlink("/", p.Layout.Workspace("family")))
		}, string(cause.Directory), finding.Fault, "groups/family is not a directory itself"},
		{"file in the place of the state directory", func(p *patient) {
			p.must(os.RemoveAll(p.Layout.State), os.WriteFile(p.Layout.State, nil, 0o600))
		}, finding.State, finding.Fault, "is not a directory"},
		{"file in the place of a directory for later", func(p *patient) {
			p.must(os.WriteFile(filepath.Join(p.Layout.Own(), "tmp"), nil, 0o600))
		}, finding.State, finding.Fault, "tmp in the state directory is not a directory"},
		{"file in the place of a group's logs", func(p *patient) {
			p.must(os.WriteFile(filepath.Join(p.Layout.Logs(), "family"), nil, 0o600))
		}, string(cause.Directory), finding.Fault, "logs/family is not a directory itself"},
		{"damaged key of the trail", func(p *patient) { p.trail("key", "short") }, finding.State, finding.Fault, "the audit trail cannot be written"},
		{"torn trail", func(p *patient) { p.trail("000000000001.jsonl", `{"n":1,`) }, finding.Trail, finding.Note, "ends with 7 bytes of a line"},
		{"changed trail", func(p *patient) { p.trail("000000000001.jsonl", "{\"n\":1}\n") }, finding.Trail, finding.Warning, "not as it was written: 000000000001.jsonl, line 1"},
		{"directory in the place of the trail's file", func(p *patient) {
			p.must(os.MkdirAll(filepath.Join(p.Layout.Audit(), "000000000001.jsonl"), 0o700))
		}, finding.State, finding.Fault, "000000000001.jsonl is not a file"},
		{"token that others may read", func(p *patient) {
			token := filepath.Join(p.t.TempDir(), "token")
			p.must(os.WriteFile(token, []byte("x"), 0o644))
			p.Config = &config.Config{Groups: p.Groups, SecretFiles: []string{token}}
		}, finding.ConfigOpen, finding.Warning, "others may read the secret in"},
		{"queue of nobody", func(p *patient) { p.must(os.Mkdir(p.Layout.IPC("a\x1b[31m", ""), 0o755)) }, finding.Unknown, finding.Note, `"a\x1b[31m"`},
		{"refused requests", func(p *patient) {
			p.must(os.WriteFile(filepath.Join(p.Layout.Errors(), "family-x.reason.json"), []byte("{}"), 0o600))
		}, finding.Refused, finding.Note, "folder: 1"},
		{"damaged database", func(p *patient) { p.damage(p.database(false)) }, finding.Damaged, finding.Fault, "state's database"},
		{"damaged database with a log", func(p *patient) { p.damage(p.database(true)) }, finding.Damaged, finding.Fault, "state's database"},
		{"database that is none", func(p *patient) {
			p.must(os.WriteFile(filepath.Join(p.Layout.Own(), "longshore.db"), []byte(strings.Repeat("no", 4000)), 0o600))
		}, finding.Damaged, finding.Fault, "cannot be read"},
		{"whole database after a crash", func(p *patient) { p.database(true) }, finding.OK, finding.Fine, "whole"},
		{"state held by a host that hangs", func(p *patient) {
			lock := filepath.Join(p.Layout.Own(), "longshore.lock")
			p.must(os.WriteFile(lock, nil, 0o600))
			var st unix.Stat_t
			p.must(unix.Stat(lock, &st))
			p.proc("locks", fmt.Sprintf("1: POSIX  ADVISORY  READ  1 fd:01:1 0 EOF\n2: FLOCK  ADVISORY  WRITE 4711 fd:01:%d 0 EOF\n", st.Ino))
		}, finding.Locked, finding.Fault, "process 4711 holds"},
		{"few inotify instances", func(p *patient) { p.proc("sys/fs/inotify/max_user_instances", "4\n") }, finding.Inotify, finding.Warning, "instances"},
		{"few inotify watches", func(p *patient) { p.proc("sys/fs/inotify/max_user_watches", "3\n") }, finding.Inotify, finding.Warning, "watches"},
		{"no /proc", func(p *patient) { p.must(os.RemoveAll(filepath.Join(p.Proc, "self"))) }, finding.Process, finding.Fault, "no file of an assistant can be opened"},
		{"no inotify", func(p *patient) { p.must(os.RemoveAll(filepath.Join(p.Proc, "sys"))) }, finding.Inotify, finding.Note, "polls"},
		{"web without token", func(p *patient) { p.page(web.Settings{Listen: "0.0.0.0:0"}) }, finding.Channel, finding.Fault, "no token"},
		{"web with a token to guess", func(p *patient) {
			p.page(web.Settings{Listen: "0.0.0.0:0", Token: setting.NewSecret(strings.Repeat("ab", 20))})
		}, finding.Channel, finding.Fault, "guessed"},
		{"the same on loopback", func(p *patient) { p.page(web.Settings{Listen: "127.0.0.1:0", Token: setting.NewSecret("x")}) }, finding.ChannelSetup, finding.Warning, "guessed"},
		{"web address of no form", func(p *patient) { p.page(web.Settings{Listen: "8420"}) }, finding.Channel, finding.Fault, "host:port"},
		{"web address in use", func(p *patient) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			p.must(err)
			p.t.Cleanup(func() { ln.Close() })
			p.page(web.Settings{Listen: ln.Addr().String()})
		}, finding.Channel, finding.Fault, "cannot listen"},
		{"assistant without command", func(p *patient) {
			p.assistant(config.Assistant{Runtime: "process", Agent: "command", Command: []string{"no-such-program"}})
		}, string(cause.NotInstalled), finding.Fault, `"no-such-program" of assistant "helper"`},
		{"no container engine", func(p *patient) {
			p.assistant(config.Assistant{Runtime: "docker", Agent: "sample"})
			p.Config.Engines = map[string]config.Engine{"here": {Socket: "/nowhere/docker.sock"}}
		}, string(cause.Engine), finding.Fault, "engine"},
		{"mount that is gone", func(p *patient) {
			p.Config = &config.Config{Down: []*config.Problem{{Part: "group family", Key: "groups[0].mounts[0].host", Message: `"/nowhere/photos" is no directory`, Hint: "make it"}}}
		}, string(cause.Setup), finding.Fault, "/nowhere/photos"},
	}
}

func TestDoctorFindsWhatWasPlantedAndChangesNothing(t *testing.T) {
	for _, c := range illnesses() {
		t.Run(c.name, func(t *testing.T) {
			p := newPatient(t)
			c.plant(p)
			parent := filepath.Dir(p.Layout.State)
			before := tree(t, parent)
			findings := p.ask(t.Context())
			if diff := cmp.Diff(before, tree(t, parent)); diff != "" {
				t.Errorf("the doctor changed something:\n%s", diff)
			}
			for _, f := range findings {
				if f.Name == c.finding && f.Severity == c.severity && strings.Contains(f.Cause, c.words) {
					if f.Severity != finding.Fine && f.Remedy == "" {
						t.Errorf("no remedy: %+v", f)
					}
					return
				}
			}
			t.Errorf("not found among %+v", findings)
		})
	}
}

// TestAProgramThatMayNotBeRunWasCalledMissing: it only lacks the right, and installing it again is
// no remedy.
func TestAProgramThatMayNotBeRunWasCalledMissing(t *testing.T) {
	p, program := newPatient(t), filepath.Join(t.TempDir(), "assistant.sh")
	p.must(os.WriteFile(program, []byte("#!/bin/sh\n"), 0o644))
	p.assistant(config.Assistant{Runtime: "process", Agent: "command", Command: []string{program}})
	i := slices.IndexFunc(p.ask(t.Context()), func(f finding.Finding) bool { return f.Name == string(cause.NotInstalled) })
	if i < 0 {
		t.Fatal("the program was taken for one that can run")
	}
	if f := p.ask(t.Context())[i]; strings.Contains(f.Cause, "not found") || f.Remedy != "chmod a+rx "+program+", as its owner or as root" {
		t.Errorf("said of a program that may not be run: %+v", f)
	}
}

// TestAClockThatNobodySetIsAFault has the bubble's clock, which begins in 2000.
func TestAClockThatNobodySetIsAFault(t *testing.T) {
	p := newPatient(t)
	synctest.Test(t, func(t *testing.T) {
		if !slices.ContainsFunc(p.ask(t.Context()), func(f finding.Finding) bool {
			return f.Part == "clock" && f.Severity == finding.Fault && strings.Contains(f.Cause, "2000")
		}) {
			t.Error("the clock shows 2000, and that is no fault")
		}
	})
}

func TestTheDoctorIsContentWithAHealthyInstallation(t *testing.T) {
	p := newPatient(t)
	p.database(false)
	for _, f := range p.ask(t.Context()) {
		// The machine's own disk and clock are what they are.
		if f.Severity != finding.Fine && f.Part != "disk" && f.Part != "clock" && f.Name != finding.Host {
			t.Errorf("%+v", f)
		}
	}
}

// What a running host says of itself was looked for by another process, with another PATH and user.
func TestTheDoctorAsksTheHostThatRuns(t *testing.T) {
	p := newPatient(t)
	p.Channels = map[string]doctor.Check{"channel web": func(context.Context, bool) []finding.Finding {
		t.Error("the channel was examined beside its host")
		return nil
	}}
	serve(t, &operator.Server{Dir: operator.ControlDir(p.Layout), Control: running{}, Health: healthy()})
	if found := p.ask(t.Context()); !slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Cause == "12 B of disk are free, asked: true" }) {
		t.Errorf("%+v", found)
	}
}

// A host that hangs kept the doctor waiting for 30 seconds, which then said nothing.
func TestAHostThatHangsIsSaidToRunAndNotToAnswer(t *testing.T) {
	p := newPatient(t)
	hangs, stop := context.WithCancel(t.Context())
	defer stop()
	serve(t, &operator.Server{Dir: operator.ControlDir(p.Layout), Control: running{}, Health: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs.Done() })})
	began := time.Now()
	found := p.ask(t.Context())
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	i := slices.IndexFunc(found, func(f finding.Finding) bool { return f.Name == finding.Silent })
	if i < 0 || found[i].Severity != finding.Fault || !strings.Contains(found[i].Cause, "running and not answering") || !strings.Contains(found[i].Remedy, "longshore serve") {
		t.Errorf("%+v", found)
	}
}

// worstOf returns the highest severity among findings; Fine if there are none.
func worstOf(findings []finding.Finding) finding.Severity {
	order := []finding.Severity{finding.Fine, finding.Note, finding.Warning, finding.Fault}
	most := finding.Fine
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
	for mode, want := range map[fs.FileMode]finding.Severity{0o600: finding.Fine, 0o644: finding.Fine, 0o664: finding.Fault, 0o646: finding.Fault} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		all := doctor.Doctor{File: path, Layout: groups.Layout{State: filepath.Dir(path)}}.Findings(t.Context())
		if got := worstOf(slices.DeleteFunc(all, func(f finding.Finding) bool { return f.Part != "configuration" })); got != want {
			t.Errorf("mode %o: %s, want %s", mode, got, want)
		}
	}
}

// TestARemedyForLostBlobsKeptTheHostFromStarting: it was to restart the host, which does not start without them.
func TestARemedyForLostBlobsKeptTheHostFromStarting(t *testing.T) {
	p := newPatient(t)
	blobs := filepath.Join(p.Layout.Own(), "blobs")
	p.Running, p.Stores = true, []store.Spec{{Name: "state", Dir: p.Layout.Own(), Files: "blobs"}}
	p.must(os.RemoveAll(blobs))
	for _, f := range p.Findings(t.Context()) {
		if f.Part != "state, blobs" {
			continue
		}
		if strings.Contains(f.Remedy, "restart") || !strings.Contains(f.Remedy, "cp "+filepath.Join(p.Layout.Own(), p.Stores[0].MarkerName())+" "+blobs) {
			t.Errorf("%+v", f)
		}
		return
	}
	t.Error("lost blobs are no finding")
}

// TestAReplacedControlSocketWasToldAsAnotherUsersState: the file in its place may be anybody's.
func TestAReplacedControlSocketWasToldAsAnotherUsersState(t *testing.T) {
	p := newPatient(t)
	p.must(os.WriteFile(filepath.Join(p.Layout.Own(), operator.SocketName), nil, 0))
	want := "longshore.sock is in the place of the control socket but is not a socket"
	if f := doctor.Unasked(p.Layout, operator.ErrDenied); f.Cause != want {
		t.Errorf("the commands say %+v", f)
	}
	p.Running = true
	var said []string
	for _, f := range finding.Wrong(p.Findings(t.Context())) {
		if strings.Contains(f.Cause, operator.SocketName) {
			said = append(said, f.Cause)
		}
	}
	if len(said) != 1 || said[0] != want {
		t.Errorf("the host says %q", said)
	}
}

// A directory in the place of longshore.yaml was silent.
func TestADirectoryInThePlaceOfTheConfigurationIsFound(t *testing.T) {
	dir := t.TempDir()
	all := doctor.Doctor{File: dir, Layout: groups.Layout{State: dir}}.Findings(t.Context())
	if got := worstOf(slices.DeleteFunc(all, func(f finding.Finding) bool { return f.Name != finding.Invalid })); got != finding.Fault {
		t.Errorf("found: %+v", all)
	}
}

// ask is Ask of the commands, which first look for a host.
func (p *patient) ask(ctx context.Context) []finding.Finding {
	return p.Ask(ctx, operator.NewClient(operator.ControlDir(p.Layout)).Health(ctx))
}

// TestAPlatformThatDoesNotAnswerHeldUpTheDoctor for 20 seconds, and each further one for as long again.
func TestAPlatformThatDoesNotAnswerHeldUpTheDoctor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := doctor.Doctor{Running: true, Channels: map[string]doctor.Check{}}
		for _, name := range []string{"channel a", "channel b"} {
			d.Channels[name] = func(context.Context, bool) []finding.Finding {
				time.Sleep(time.Minute) // also of one that heeds no context
				return nil
			}
		}
		began := time.Now()
		all := d.Examine(t.Context())
		if took := time.Since(began); took > 9*time.Second {
			t.Errorf("it took %v", took)
		}
		for part := range d.Channels {
			if !slices.ContainsFunc(all, func(f finding.Finding) bool { return f.Name == finding.Unasked && f.Part == part && f.Remedy != "" }) {
				t.Errorf("nothing says that %s did not answer: %+v", part, all)
			}
		}
		time.Sleep(time.Minute)
	})
}

// TestASecretThatWentAwayWasNoticedAtTheNextStart, which lacked the channel.
func TestASecretThatWentAwayWasNoticedAtTheNextStart(t *testing.T) {
	p := newPatient(t)
	token := filepath.Join(t.TempDir(), "token")
	p.Running, p.Config = true, &config.Config{Groups: p.Groups, Secrets: map[string]string{"channels.telegram.token_file": token}}
	said := func() []finding.Finding {
		return slices.DeleteFunc(p.Findings(t.Context()), func(f finding.Finding) bool { return f.Name != finding.Secret })
	}
	for _, c := range []struct {
		write func() error
		words string
	}{
		{func() error { return nil }, "no such file"},
		{func() error { return os.WriteFile(token, nil, 0o600) }, "holds no secret"},
		{func() error { return os.WriteFile(token, []byte("secret"), 0o600) }, ""},
		{func() error { return errors.Join(os.Remove(token), os.Mkdir(token, 0o700)) }, "holds no secret"},
	} {
		p.must(c.write())
		all := said()
		if c.words == "" && len(all) > 0 || c.words != "" && (len(all) != 1 || !strings.Contains(all[0].Cause, c.words) || !strings.Contains(all[0].Cause, "channels.telegram.token_file") || all[0].Remedy == "") {
			t.Errorf("want %q: %+v", c.words, all)
		}
	}
	p.Config.Down = []*config.Problem{{Key: "channels.telegram.token_file"}}
	if all := said(); len(all) > 0 {
		t.Errorf("beside the channel that lacks it: %+v", all)
	}
}
