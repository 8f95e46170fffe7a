//go:build e2e

package command

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// broken is a copy of an installation whose host does not run, and of which a test damages one thing.
type broken struct {
	*sabotaged
	dir    string
	client *operator.Client
}

const brokenConfig = `channels: {web: {listen: "127.0.0.1:0"}}
limits: {free_disk: 1MB}
assistants: {echo: {agent: command, command: [cat]}}
groups: [{name: Family, folder: family, chat: "web:family", assistant: echo, gather: {after: 0s}}]
`

// copyOf copies an installation.
func copyOf(t *testing.T, whole string) *broken {
	t.Helper()
	dir := filepath.Join(fstest.ShortTemp(t), "copy")
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", whole, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+rwX", dir).Run() }) // for the one that deletes it
	x := &broken{dir: dir, client: operator.NewClient(filepath.Join(dir, "state"))}
	x.sabotaged = &sabotaged{t: t, Changing: &stage.Changing{
		File: filepath.Join(dir, "longshore.yaml"), Layout: groups.Layout{State: filepath.Join(dir, "state")},
	}}
	return x
}

// found are the findings of the doctor that are wrong.
func (x *broken) found() []finding.Finding {
	x.t.Helper()
	var out, errs bytes.Buffer
	Run(context.Background(), "", stage.AllPlatforms(), []string{"-c", x.File, "--json", "doctor"}, nil, &out, &errs)
	var all []finding.Finding
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		x.t.Fatalf("doctor: %v: %s%s", err, &out, &errs)
	}
	return all
}

// serves runs the host. If it starts, see gets it, and what it says is empty.
func (x *broken) serves(see func()) (said string) {
	x.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var log, errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, "", stage.AllPlatforms(), []string{"-c", x.File, "serve"}, nil, &log, &errs)
	}()
	for tick := time.Tick(5 * time.Millisecond); ; {
		if s, err := x.client.Status(ctx); err == nil && s.Running && stage.Ready(s, nil) {
			see()
			cancel()
			if code := <-ended; code != 0 {
				x.t.Errorf("the host ended with %d: %s", code, &errs)
			}
			return ""
		}
		select {
		case <-tick:
		case <-ended:
			return spoken(x.File, "it ended: "+errs.String())
		}
	}
}

// spoken is a text as somebody reads it who does not name the file.
func spoken(file, text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "longshore -c "+finding.ShellWord(file)+" ", "longshore ")
}

// works sends a file, as a host does that is well.
func (x *broken) works() {
	x.t.Helper()
	item, err := x.client.Send(context.Background(), operator.Send{Group: "family", Path: filepath.Join(x.dir, "letter")})
	stage.Must(x.t, err)
	x.until("the file is sent", func() bool {
		item, err := x.client.Show(context.Background(), item.ID)
		return err == nil && (item.State == "sent" || item.State == "delivered" || item.State == "read")
	})
}

func (x *broken) until(what string, is func() bool) {
	x.t.Helper()
	deadline := time.Now().Add(stage.Patience)
	for tick := time.Tick(5 * time.Millisecond); !is(); <-tick {
		if time.Now().After(deadline) {
			x.t.Fatalf("in vain: %s", what)
		}
	}
}

// judged is what two judges must have in common.
func judged(f finding.Finding) string { return f.Cause + " to do: " + f.Remedy }

// wrong are the findings about the installation; a machine has others, and a running host names what follows from them.
func wrong(all []finding.Finding) (about []finding.Finding) {
	for _, f := range finding.Wrong(all) {
		if !slices.Contains([]string{"disk", "clock", "machine", "media tools", "inotify"}, f.Part) && !slices.Contains([]string{finding.Advice, finding.Backup, finding.Accepting}, f.Name) {
			about = append(about, f)
		}
	}
	return about
}

// damages are the ways to break a file or directory.
var damages = map[string]func(path string, dir bool) error{ //nolint:gochecknoglobals // a table
	"closed": func(path string, _ bool) error { return os.Chmod(path, 0) },
	"read-only": func(path string, dir bool) error {
		if dir {
			return os.Chmod(path, 0o555)
		}
		return os.Chmod(path, 0o444)
	},
	"replaced": func(path string, dir bool) error {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		if dir {
			return os.WriteFile(path, []byte("not a directory\n"), 0o600)
		}
		return os.Mkdir(path, 0o700)
	},
	"garbage": func(path string, dir bool) error {
		if dir {
			return os.WriteFile(filepath.Join(path, "garbage"), []byte("garbage\n"), 0o600)
		}
		return os.WriteFile(path, []byte("garbage that nobody wrote\n"), 0o600)
	},
	"deleted": func(path string, _ bool) error { return os.RemoveAll(path) },
}

// wholeInstallation has run once and has every file and directory that a host makes.
func wholeInstallation(t *testing.T) (dir string, paths []string) {
	t.Helper()
	dir = fstest.ShortTemp(t)
	x := &broken{dir: dir, client: operator.NewClient(filepath.Join(dir, "state"))}
	x.sabotaged = &sabotaged{t: t, Changing: &stage.Changing{File: filepath.Join(dir, "longshore.yaml"), Layout: groups.Layout{State: filepath.Join(dir, "state")}}}
	stage.Must(t, os.WriteFile(x.File, []byte(brokenConfig), 0o600))
	stage.Must(t, os.WriteFile(filepath.Join(dir, "letter"), bytes.Repeat([]byte("dear all\n"), 4000), 0o600)) // above 16 KiB, as a blob
	if said := x.serves(x.works); said != "" {
		t.Fatal(said)
	}
	paths = append(paths, "longshore.yaml")
	prepared, others := x.Layout.Directories()
	ofGroup, ofAssistant := x.Layout.OfGroup("family")
	for _, path := range slices.Concat(prepared, others, ofGroup, ofAssistant) {
		stage.Must(t, os.MkdirAll(path, 0o700))
	}
	stage.Must(t, filepath.WalkDir(x.Layout.State, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if within := func(name string) bool { return strings.HasPrefix(rel, "state/"+name+"/") }; within("blobs") && e.Name() != "state.marker" || within("backups") || within("groups/family") {
			return err // bytes that are opened one by one
		}
		if e.IsDir() || e.Type().IsRegular() {
			paths = append(paths, rel)
		}
		return err
	}))
	if len(paths) < 30 {
		t.Fatalf("the installation has only %q", paths)
	}
	if all := wrong(x.found()); len(all) > 0 {
		t.Fatalf("an installation that is well: %+v", all)
	}
	return dir, paths
}

// TestAStoppedHostWasJudgedByFourJudges breaks each file and directory of a state in each way. serve, doctor,
// status and why say the same, or all are silent and the host works. A remedy that is a command helps.
func TestAStoppedHostWasJudgedByFourJudges(t *testing.T) {
	if os.Getuid() == 0 {
		fstest.AsAnotherUser(t)
		return
	}
	whole, paths := wholeInstallation(t)
	for _, path := range paths {
		for how, damage := range damages {
			t.Run(how+" "+path, func(t *testing.T) {
				t.Parallel()
				x := copyOf(t, whole)
				info, err := os.Lstat(filepath.Join(x.dir, path))
				stage.Must(t, err)
				stage.Must(t, damage(filepath.Join(x.dir, path), info.IsDir()))
				x.judge()
			})
		}
	}
}

// TestAPageThatNobodyReadsWasDamagedForTheDoctorAlone: serve and status look at the head of a database.
func TestAPageThatNobodyReadsWasDamagedForTheDoctorAlone(t *testing.T) {
	if os.Getuid() == 0 {
		fstest.AsAnotherUser(t)
		return
	}
	whole, _ := wholeInstallation(t)
	x := copyOf(t, whole)
	damagePage(t, filepath.Join(x.dir, "state/longshore.db"))
	x.judge()
}

// TestALogWithoutAHeaderWasSilentForEveryJudge: the host started without the deliveries that lay in it alone.
func TestALogWithoutAHeaderWasSilentForEveryJudge(t *testing.T) {
	if os.Getuid() == 0 {
		fstest.AsAnotherUser(t)
		return
	}
	whole, _ := wholeInstallation(t)
	x := copyOf(t, whole)
	path := filepath.Join(x.dir, "state/longshore.db")
	before, err := os.ReadFile(path)
	stage.Must(t, err)
	db, err := sql.Open("sqlite", path)
	stage.Must(t, err)
	_, err = db.Exec(`UPDATE longshore_store SET checked = 1`)
	stage.Must(t, err)
	log, err := os.ReadFile(path + "-wal")
	stage.Must(t, err)
	clear(log[:32])
	stage.Must(t, db.Close())
	stage.Must(t, os.WriteFile(path, before, 0o600))
	stage.Must(t, os.WriteFile(path+"-wal", log, 0o600))
	if all := wrong(x.found()); len(all) != 1 || all[0].Name != finding.Damaged || !strings.Contains(all[0].Remedy, "restore it from a backup") {
		t.Errorf("the doctor says: %+v", all)
	}
	x.judge()
}

// TestALockOfAnotherProgramWasADamagedDatabase: the doctor advised to restore a backup.
func TestALockOfAnotherProgramWasADamagedDatabase(t *testing.T) {
	if os.Getuid() == 0 {
		fstest.AsAnotherUser(t)
		return
	}
	whole, _ := wholeInstallation(t)
	x := copyOf(t, whole)
	lockElsewhere(t, filepath.Join(x.dir, "state/longshore.db"))
	for _, command := range [][]string{{"doctor"}, {"status"}, {"why", "family"}} {
		said := x.asked(command...)
		for _, words := range []string{"which is no host, has locked the state's database", "only the host may change its database"} {
			if !strings.Contains(said, words) || strings.Contains(said, "restore") {
				t.Errorf("%s lacks %q, or advises to restore:\n%s", command, words, said)
			}
		}
	}
}

func (x *broken) judge() {
	t := x.t
	all := wrong(x.found())
	blocked := slices.DeleteFunc(slices.Clone(all), func(f finding.Finding) bool { return f.Severity != finding.Fault })
	says := map[string]string{"status": x.asked("status"), "why": x.asked("why", "family")}
	running := []finding.Finding(nil)
	started := x.serves(func() {
		// What a start mends, such as a missing directory, the stopped host's judge does not know.
		var err error
		running, err = x.client.Findings(context.Background(), true)
		stage.Must(t, err)
		if len(blocked) == 0 && len(wrong(running)) == 0 {
			x.works()
		}
	})
	if started != "" {
		says["serve"] = started
		for who, said := range says {
			if strings.Contains(said, "no host is running") && strings.Contains(said, "longshore serve") {
				t.Errorf("%s says beside what keeps the host from starting that none runs:\n%s", who, said)
			}
		}
		if len(blocked) == 0 {
			t.Errorf("the doctor is content, and serve says:\n%s", started)
		}
	} else {
		for _, f := range wrong(running) {
			if !slices.ContainsFunc(all, func(g finding.Finding) bool { return judged(g) == judged(f) }) {
				t.Errorf("the running host alone says: %s", judged(f))
			}
		}
		for _, f := range all {
			if !slices.ContainsFunc(running, func(g finding.Finding) bool { return judged(g) == judged(f) }) {
				t.Errorf("the doctor of the stopped host alone says: %s", judged(f))
			}
		}
	}
	for _, f := range blocked {
		for who, said := range says {
			cause, _, _ := strings.Cut(f.Cause, ", in the line") // of longshore.yaml, which others show by itself
			for _, words := range []string{cause, f.Remedy} {
				if !strings.Contains(said, spoken(x.File, words)) {
					t.Errorf("%s lacks %q:\n%s", who, words, said)
				}
			}
		}
	}
	x.mend(blocked)
}

// mend does what the remedies say that are commands, and the host must start and be well.
func (x *broken) mend(blocked []finding.Finding) {
	commands := 0
	for _, f := range blocked {
		command, _, _ := strings.Cut(f.Remedy, ", as ")
		if !strings.HasPrefix(command, "chmod ") {
			return
		}
		commands++
		if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
			x.t.Errorf("%s: %v: %s", command, err, out)
		}
	}
	if commands == 0 {
		return
	}
	if all := wrong(x.found()); len(all) > 0 {
		x.t.Errorf("after its remedy the doctor says: %+v", all)
	}
	if said := x.serves(x.works); said != "" {
		x.t.Errorf("after the doctor's remedy serve says: %s", said)
	}
}
