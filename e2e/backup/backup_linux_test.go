//go:build linux

package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/backup"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/fstest"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// newBackedUp is a site with its longshore.yaml, of n groups.
func newBackedUp(t *testing.T, n int) *stage.Site {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	fmt.Fprintf(&b, "state: ./state\nlimits: %s\ngroups:\n", stage.NoLimits)
	for i := range n {
		fmt.Fprintf(&b, "  - {name: G%d, folder: g%d, chat: \"mem:g%d\"}\n", i, i, i)
	}
	stage.Write(t, filepath.Join(dir, "longshore.yaml"), b.String())
	return siteIn(t, dir, n)
}

// siteIn is the site of n groups whose longshore.yaml lies in dir.
func siteIn(t *testing.T, dir string, n int) *stage.Site {
	t.Helper()
	cfg, err := config.Load(filepath.Join(dir, "longshore.yaml"), stage.AllPlatforms())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage.Site{TB: t, Dir: dir, Cfg: cfg}
	for i := range n {
		s.Folders = append(s.Folders, fmt.Sprintf("g%d", i))
	}
	if err := cfg.Layout().Prepare(cfg.Groups); err != nil {
		t.Fatal(err)
	}
	return s
}

// putFile puts a request for a file, whose content is its id in many lines.
func putFile(s *stage.Site, folder string, i int) (id string) {
	s.Helper()
	id = fmt.Sprintf("%08d", i)
	name := filepath.Join(s.Cfg.Layout().Workspace(folder), id+".txt")
	if err := os.WriteFile(name, []byte(strings.Repeat(id+"\n", 5000)), 0o644); err != nil {
		s.Fatal(err)
	}
	s.Place(folder, id+".json", fmt.Sprintf(`{"type":"file","path":"/workspace/group/%s.txt"}`, id))
	return id
}

// backUp makes a backup and returns its directory.
func backUp(s *stage.Site, to string, flags ...string) string {
	s.Helper()
	out, code := stage.Command(s.TB.(*testing.T), append([]string{"--json", "-c", filepath.Join(s.Dir, "longshore.yaml"), "backup", to}, flags...)...)
	var r backup.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != stage.ExitOK {
		s.Fatalf("backup: exit code %d: %s", code, out)
	}
	return r.Dir
}

// restored is the site that a backup makes in a new directory.
func restored(t *testing.T, dir string, n int, flags ...string) *stage.Site {
	t.Helper()
	to := t.TempDir()
	out, code := stage.Command(t, append([]string{"-c", filepath.Join(to, "longshore.yaml"), "restore", dir}, flags...)...)
	if code != stage.ExitOK {
		t.Fatalf("restore: exit code %d: %s", code, out)
	}
	t.Log(out)
	return siteIn(t, to, n)
}

// siteKept are the requests that an installation has: in the outbox, in its queues, or among
// its errors.
func siteKept(s *stage.Site) map[string]bool {
	s.Helper()
	all := map[string]bool{}
	view, err := store.Look(s.Context(), serve.StateOf(s.Cfg))
	if err != nil {
		s.Fatal(err)
	}
	if view != nil {
		reader, err := records.NewReader(s.Context(), view.DB)
		if err != nil {
			s.Fatal(err)
		}
		items, err := reader.List(s.Context(), records.Filter{Limit: 1000})
		if err := errors.Join(err, reader.Close(), view.Close()); err != nil {
			s.Fatal(err)
		}
		for _, it := range items {
			all[it.Request] = true
		}
	}
	errs, err := spool.ListErrors(s.Cfg.Layout().IPCDir())
	if err != nil {
		s.Fatal(err)
	}
	for _, x := range errs {
		all[x.Request] = true
	}
	for _, folder := range s.Folders {
		names, err := os.ReadDir(s.Messages(folder))
		if err != nil {
			s.Fatal(err)
		}
		for _, name := range names {
			all[strings.TrimSuffix(name.Name(), ".json")] = true
		}
	}
	return all
}

// drained waits until the outbox has nothing open.
func drained(s *stage.Site, h *serve.Host) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), stage.Patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		open, err := h.Local(false).List(ctx, operator.Filter{})
		if err != nil {
			s.Fatal(err)
		}
		if len(open) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.Fatal("the outbox was never empty")
		}
	}
}

// TestABackupThatIsMadeWhileDeliveriesGoLosesNothingAndRepeatsNothing makes backups of a
// busy host, restores each elsewhere and runs a host there, against the same platform.
func TestABackupThatIsMadeWhileDeliveriesGoLosesNothingAndRepeatsNothing(t *testing.T) {
	const folders, requests = 3, 240
	s := newBackedUp(t, folders)
	m := memory.New(memory.Options{Name: "mem", Online: true, Chats: []groups.JID{"mem:g0", "mem:g1", "mem:g2"}})
	h, stop := s.Start(nil, m)
	to := t.TempDir()
	type taken struct {
		dir   string
		asked map[string]bool // before the backup began
	}
	var backups []taken
	asked := map[string]bool{}
	for i := range requests {
		folder := s.Folders[i%folders]
		if i%4 == 0 {
			asked[putFile(s, folder, i)] = true
		} else {
			asked[s.Put(folder, i)] = true
		}
		if i%80 == 40 {
			before := map[string]bool{}
			for id := range asked {
				before[id] = true
			}
			backups = append(backups, taken{backUp(s, filepath.Join(to, fmt.Sprint(i))), before})
		}
	}
	for i := range requests {
		s.Result(s.Folders[i%folders], fmt.Sprintf("%08d", i))
	}
	drained(s, h)
	stop()
	for _, b := range backups {
		if out, code := stage.Command(t, "backup", "verify", b.dir); code != stage.ExitOK {
			t.Errorf("verify: exit code %d: %s", code, out)
		}
		after := restored(t, b.dir, folders)
		kept := siteKept(after)
		for id := range b.asked {
			if !kept[id] {
				t.Errorf("%s: request %s is lost", b.dir, id)
			}
		}
		h, stop := after.Start(nil, m.Restarted())
		drained(after, h)
		stop()
	}
	for _, folder := range s.Folders {
		if shown := m.Shown(groups.JID("mem:" + folder)); len(shown) != requests/folders {
			t.Errorf("%s has %d messages, %d were asked for", folder, len(shown), requests/folders)
		}
	}
}

// TestARestoredMessageIsNotRepeatedOnAPlatformThatForgets: a platform without ids cannot
// be asked, so the operator decides. If no host has run since, all is sent.
func TestARestoredMessageIsNotRepeatedOnAPlatformThatForgets(t *testing.T) {
	for name, tt := range map[string]struct {
		flags []string
		state records.State
		shown int
	}{
		"the old host went on": {nil, records.Uncertain, 1},
		"no host has run":      {[]string{"--nothing-sent"}, records.Sent, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newBackedUp(t, 1)
			m := memory.New(memory.Options{Name: "mem", Online: true, Forgets: true})
			m.Disconnect()
			h, stop := s.Start(nil, memory.Blind{Channel: m})
			id := putFile(s, "g0", 1)
			ctx, cancel := context.WithTimeout(t.Context(), stage.Patience)
			defer cancel()
			for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
				if open, err := h.Local(false).List(ctx, operator.Filter{}); err != nil {
					t.Fatal(err)
				} else if len(open) == 1 && open[0].Attempts > 0 && open[0].State == string(records.Queued) && open[0].Next != nil { // no attempt is under way
					break
				}
			}
			if tt.flags != nil { // an attempt under way would be in doubt
				stop()
			}
			dir := backUp(s, t.TempDir())
			m.Reconnect()
			if tt.flags == nil {
				s.Result("g0", id)
			}
			stop()
			after := restored(t, dir, 1, tt.flags...)
			again, stop := after.Start(nil, memory.Blind{Channel: m.Restarted()})
			drained(after, again)
			items, err := again.Local(false).List(ctx, operator.Filter{All: true})
			stop()
			if err != nil || len(items) != 1 || records.State(items[0].State) != tt.state {
				t.Errorf("restored: %+v, %v; want it %s", items, err, tt.state)
			}
			if shown := m.Shown("mem:g0"); len(shown) != tt.shown {
				t.Errorf("shown %d times, want %d", len(shown), tt.shown)
			}
		})
	}
}

// TestADamagedBackupIsFoundAndLeavesNothing changes one byte of a file.
func TestADamagedBackupIsFoundAndLeavesNothing(t *testing.T) {
	s := newBackedUp(t, 1)
	stage.Write(t, filepath.Join(s.Cfg.Layout().Workspace("g0"), "report.txt"), "All is well.")
	dir := backUp(s, t.TempDir())
	stage.Write(t, filepath.Join(dir, "state/groups/g0/report.txt"), "All is hell.")
	stage.Write(t, filepath.Join(dir, "state/more"), "")
	out, code := stage.Command(t, "backup", "verify", dir)
	if code != stage.ExitFailed || !strings.Contains(out, "wrong: state/groups/g0/report.txt: it has other bytes") || !strings.Contains(out, "not in the manifest: state/more") {
		t.Errorf("exit code %d: %s", code, out)
	}
	to := t.TempDir()
	out, code = stage.Command(t, "-c", filepath.Join(to, "longshore.yaml"), "restore", dir)
	if code != stage.ExitFault || !strings.Contains(out, "report.txt: it has other bytes") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if left, err := os.ReadDir(to); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestABackupThatDoesNotEndLeavesNothingThatLooksWhole: a process that was killed leaves
// what the next one deletes.
func TestABackupThatDoesNotEndLeavesNothingThatLooksWhole(t *testing.T) {
	s := newBackedUp(t, 1)
	to := t.TempDir()
	killed := filepath.Join(to, ".longshore-1.partial")
	if err := os.MkdirAll(filepath.Join(killed, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, code := stage.Command(t, "backup", "verify", killed); code == stage.ExitOK || !strings.Contains(out, "is no backup") {
		t.Errorf("exit code %d: %s", code, out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := backup.Take(ctx, backup.Options{Dir: to, Config: s.Cfg.File, Layout: s.Cfg.Layout(), Now: time.Now()}); !errors.Is(err, context.Canceled) {
		t.Errorf("a backup that was cancelled: %v", err)
	}
	left, err := os.ReadDir(to)
	if err != nil || len(left) != 1 || left[0].Name() != ".lock" {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for i := range 3 {
		r, err := backup.Take(t.Context(), backup.Options{Dir: to, Config: s.Cfg.File, Layout: s.Cfg.Layout(), Now: time.Unix(int64(i), 0), Keep: 2})
		if err != nil || (i == 2) != (len(r.Gone) == 1) {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestAKilledBackupIsNamedAndTheNextIsWhole kills the program in the middle of its work,
// at a moment further on each time. None of what it leaves passes for a backup.
func TestAKilledBackupIsNamedAndTheNextIsWhole(t *testing.T) {
	s := newBackedUp(t, 1)
	for i := range 2000 {
		stage.Write(t, filepath.Join(s.Cfg.Layout().Workspace("g0"), fmt.Sprintf("%04d.txt", i)), strings.Repeat("x", 1000))
	}
	to := t.TempDir()
	exe, err := os.Executable()
	stage.Must(t, err)
	cut := 0
	for _, sign := range []string{"state", "state/groups/g0/0000.txt", "state/groups/g0/1500.txt", "longshore.yaml", "manifest.jsonl"} {
		cmd := exec.Command(exe, "-c", filepath.Join(s.Dir, "longshore.yaml"), "backup", to)
		cmd.Env = append(os.Environ(), stage.ServeEnv+"=1")
		stage.Must(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		killedAt(t, cmd.Process, ended, filepath.Join(to, ".longshore-*.partial", sign))
		for _, name := range leftOf(t, to, ".longshore-*.partial") {
			cut++
			if out, code := stage.Command(t, "backup", "verify", filepath.Join(to, filepath.Base(name))); code == stage.ExitOK || !strings.Contains(out, "was cut off") {
				t.Errorf("verify of what %s left: exit code %d: %s", sign, code, out)
			}
		}
	}
	if cut == 0 {
		t.Error("no backup was cut off")
	}
	whole, err := backup.Take(t.Context(), backup.Options{Dir: to, Config: s.Cfg.File, Layout: s.Cfg.Layout(), Now: time.Unix(0, 0)}) // no other has that name
	stage.Must(t, err)
	if out, code := stage.Command(t, "backup", "verify", whole.Dir); code != stage.ExitOK {
		t.Errorf("the next backup: exit code %d: %s", code, out)
	}
	if left := leftOf(t, to, ".longshore-*.partial"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// killedAt kills a process once a path is there, unless the process has ended before.
func killedAt(t *testing.T, p *os.Process, ended chan error, pattern string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(stage.Patience); ; {
		select {
		case <-ended:
			return
		case <-deadline:
			_ = p.Kill()
			t.Fatalf("in vain: %s", pattern)
		case <-tick.C:
		}
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			_ = p.Kill()
			<-ended
			return
		}
	}
}

// TestARestoreOverwritesNothing: neither the state nor the configuration.
func TestARestoreOverwritesNothing(t *testing.T) {
	s := newBackedUp(t, 1)
	secret := filepath.Join(s.Dir, "token")
	stage.Write(t, secret, "a page's token that is long enough")
	stage.Write(t, s.Cfg.File, "channels: {web: {token_file: ./token}}\n")
	dir := backUp(s, t.TempDir(), "--secrets")
	if got, err := os.ReadFile(filepath.Join(dir, "secrets/0")); err != nil || !strings.HasPrefix(string(got), "a page's") {
		t.Errorf("the secret: %q, %v", got, err)
	}
	if out, code := stage.Command(t, "-c", s.Cfg.File, "restore", dir); code != stage.ExitFault || !strings.Contains(out, "is not empty") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if err := os.RemoveAll(s.Cfg.State.Directory); err != nil {
		t.Fatal(err)
	}
	stage.Write(t, s.Cfg.File, "# mine\n")
	out, code := stage.Command(t, "-c", s.Cfg.File, "restore", dir)
	if code != stage.ExitOK || !strings.Contains(out, "cp "+filepath.Join(dir, "secrets/0")+" "+secret) {
		t.Errorf("exit code %d: %s", code, out)
	}
	if got, err := os.ReadFile(s.Cfg.File); err != nil || string(got) != "# mine\n" {
		t.Errorf("the configuration: %q, %v", got, err)
	}
	if _, err := os.Stat(s.Cfg.Layout().Workspace("g0")); err != nil {
		t.Error(err)
	}
}

// TestAnAssistantCannotKeepABackupFromBeingMade puts into a workspace what a container
// can make: pipes, links out of it, directories in one another, and a file of holes.
func TestAnAssistantCannotKeepABackupFromBeingMade(t *testing.T) {
	s := newBackedUp(t, 1)
	workspace := s.Cfg.Layout().Workspace("g0")
	deep := filepath.Join(workspace, strings.Repeat("d/", 150))
	holes := filepath.Join(workspace, "holes")
	for _, err := range []error{
		syscall.Mkfifo(filepath.Join(workspace, "pipe"), 0o644), os.Symlink("/etc", filepath.Join(workspace, "out")),
		os.Symlink("loop", filepath.Join(workspace, "loop")), os.MkdirAll(deep, 0o755),
		os.WriteFile(holes, []byte("x"), 0o644), os.Truncate(holes, 64<<20),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := backUp(s, t.TempDir())
	after := restored(t, dir, 1)
	to, err := os.Readlink(filepath.Join(after.Cfg.Layout().Workspace("g0"), "out"))
	if err != nil || to != "/etc" {
		t.Errorf("the link: %q, %v", to, err)
	}
	for _, path := range []string{filepath.Join(dir, "state/groups/g0/holes"), filepath.Join(after.Cfg.Layout().Workspace("g0"), "holes")} {
		info, err := os.Stat(path)
		if err != nil || info.Size() != 64<<20 || info.Sys().(*syscall.Stat_t).Blocks*512 > 1<<20 {
			t.Errorf("%s: %+v, %v", path, info, err)
		}
	}
	if diff := cmp.Diff([]string(nil), leftOf(t, filepath.Join(dir, "state/groups/g0"), "pipe")); diff != "" {
		t.Error(diff)
	}
}

func leftOf(t *testing.T, dir, pattern string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestABackupThatWouldNotFitIsRefusedAndLeavesNothing: the disk of the backups is small.
func TestABackupThatWouldNotFitIsRefusedAndLeavesNothing(t *testing.T) {
	s := newBackedUp(t, 1)
	to := fstest.SmallDisk(t, "512k")
	stage.Write(t, filepath.Join(s.Cfg.Layout().Workspace("g0"), "large"), strings.Repeat("large", 1<<18))
	out, code := stage.Command(t, "-c", s.Cfg.File, "backup", to)
	if code != stage.ExitFault || !strings.Contains(out, "the disk is full: it needs") || !strings.Contains(out, "hint: make room") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if left, err := os.ReadDir(to); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
