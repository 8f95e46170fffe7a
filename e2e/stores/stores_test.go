package stores

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	longshore "github.com/longshore-bridge/longshore/host/command"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/store"
)

// briefly runs one command line. One that serves is stopped soon.
func briefly(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	var b bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	code = longshore.Run(ctx, "", stage.AllPlatforms(), args, strings.NewReader(""), &b, &b)
	return b.String(), code
}

// spoilt is a state in which a store must not be opened.
type spoilt struct {
	name  string
	spoil func(t *testing.T, path string) // path is the database's
	words string                          // of serve and of doctor
}

func spoiltStates() []spoilt {
	sql := func(statement string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			db, err := sql.Open("sqlite", path)
			if err == nil {
				_, err = db.Exec(statement)
			}
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return []spoilt{
		{"missing", func(t *testing.T, path string) { stage.Must(t, os.Remove(path)) }, "is missing"},
		{"moved aside", func(t *testing.T, path string) { stage.Must(t, os.Rename(path, path+".old")) }, "is missing"},
		{"empty", func(t *testing.T, path string) { stage.Must(t, os.Truncate(path, 0)) }, "is empty"},
		{"cut off", func(t *testing.T, path string) { stage.Must(t, os.Truncate(path, 6000)) }, "is damaged"},
		{"damaged", func(t *testing.T, path string) {
			stage.Must(t, os.WriteFile(path, bytes.Repeat([]byte("no"), 9000), 0o600))
		}, "is damaged"},
		{"a directory", func(t *testing.T, path string) { stage.Must(t, os.Remove(path), os.Mkdir(path, 0o700)) }, "is not a file"},
		{"newer", sql("PRAGMA user_version = 99; CREATE TABLE IF NOT EXISTS whatsmeow_version (version INTEGER, compat INTEGER); DELETE FROM whatsmeow_version; INSERT INTO whatsmeow_version VALUES (99, 99)"), "newer longshore"},
		{"of another installation", sql("UPDATE longshore_store SET installation = '00112233445566778899aabbccddeeff'"), "another installation"},
		{"of another store", sql("UPDATE longshore_store SET name = 'diary'"), "diary"},
		{"with a bad marker", func(t *testing.T, path string) {
			stage.Must(t, os.WriteFile(strings.NewReplacer("longshore.db", "state.marker", ".db", ".marker").Replace(path), []byte("?"), 0o600))
		}, "marker"},
	}
}

// TestDoctorFindsEachStateInWhichServeDoesNotStart: it found five of fourteen,
// and serve started in some of the others, and deleted what it did not know.
func TestDoctorFindsEachStateInWhichServeDoesNotStart(t *testing.T) {
	for _, tt := range spoiltStates() {
		for n, more := 0, true; more; n++ {
			config, cfg := stage.NewStores(t)
			all := serve.StoresOf(cfg, true)
			s := all[n]
			more = n+1 < len(all)
			t.Run(s.Name+" "+tt.name, func(t *testing.T) {
				tt.spoil(t, filepath.Join(s.Dir, s.File))
				before := stage.BytesBelow(t, cfg.State.Directory)
				out, code := briefly(t, "-c", config, "doctor")
				if code != stage.ExitFailed || !strings.Contains(out, tt.words) || !strings.Contains(out, "to do: ") {
					t.Errorf("doctor ends with %d:\n%s", code, out)
				}
				out, code = briefly(t, "-c", config, "serve")
				stops := s.Name == "state" // else that channel alone is down
				remedy := "to do: "
				if stops {
					remedy = "hint: "
				}
				if (code == stage.ExitOK) == stops || !strings.Contains(out, tt.words) || !strings.Contains(out, remedy) {
					t.Errorf("serve ends with %d:\n%s", code, out)
				}
				for path, was := range before {
					if !stops && !strings.HasPrefix(path, s.Dir) {
						continue
					}
					if now, err := os.ReadFile(path); err != nil || string(now) != was {
						t.Errorf("%s was changed: %v", path, err)
					}
				}
			})
		}
	}
}

// TestCommandsThatOnlyLookChangeNothing: status, queue list and errors list
// opened the outbox as a host does, made what was missing, and swept.
func TestCommandsThatOnlyLookChangeNothing(t *testing.T) {
	states := append(spoiltStates(), spoilt{name: "whole", spoil: func(*testing.T, string) {}})
	for _, tt := range states {
		t.Run(tt.name, func(t *testing.T) {
			config, cfg := stage.NewStores(t)
			tt.spoil(t, filepath.Join(cfg.Layout().Own(), "longshore.db"))
			before := stage.BytesBelow(t, cfg.State.Directory)
			for _, args := range [][]string{{"status"}, {"queue", "list"}, {"queue", "show", "0123"}, {"errors", "list"}, {"doctor"}, {"groups", "list"}} {
				out, code := briefly(t, append([]string{"-c", config}, args...)...)
				if args[0] != "doctor" && args[0] != "groups" && args[1:] != nil && (code == stage.ExitOK) != (tt.words == "") && args[len(args)-1] != "0123" {
					t.Errorf("%v ends with %d: %s", args, code, out)
				}
				if tt.words != "" && args[0] == "errors" && !strings.Contains(out, tt.words) {
					t.Errorf("%v says %s", args, out)
				}
				if diff := cmp.Diff(before, stage.BytesBelow(t, cfg.State.Directory)); diff != "" {
					t.Fatalf("%v changed something:\n%s", args, diff)
				}
			}
		})
	}
}

// TestAStoreThatIsSetAsideIsKeptAndTheHostStarts goes the way that every
// remedy names.
func TestAStoreThatIsSetAsideIsKeptAndTheHostStarts(t *testing.T) {
	config, cfg := stage.NewStores(t)
	kept := stage.BytesBelow(t, cfg.Layout().Store())
	for path := range kept {
		if strings.HasSuffix(path, "lock") {
			delete(kept, path)
		}
	}
	stage.Must(t, os.Truncate(filepath.Join(cfg.Layout().Store(), "whatsapp.db"), 0))
	kept[filepath.Join(cfg.Layout().Store(), "whatsapp.db")] = ""
	out, code := briefly(t, "-c", config, "store", "set-aside", "whatsapp")
	if code != stage.ExitOK {
		t.Fatalf("set-aside: %s", out)
	}
	dirs, _ := filepath.Glob(filepath.Join(cfg.Layout().Aside(), "*-whatsapp"))
	if len(dirs) != 1 {
		t.Fatalf("aside: %q", dirs)
	}
	got := map[string]string{}
	for path, data := range stage.BytesBelow(t, dirs[0]) {
		got[strings.Replace(path, dirs[0], cfg.Layout().Store(), 1)] = data
	}
	if diff := cmp.Diff(kept, got); diff != "" {
		t.Error(diff)
	}
	if out, code := briefly(t, "-c", config, "serve"); code != stage.ExitOK {
		t.Errorf("serve ends with %d: %s", code, out)
	}
	if diff := cmp.Diff(len(got), len(stage.BytesBelow(t, dirs[0]))); diff != "" {
		t.Errorf("the start took of it: %s", diff)
	}
	if out, code := briefly(t, "-c", config, "store", "set-aside", "diary"); code != stage.ExitUsage {
		t.Errorf("ends with %d: %s", code, out)
	}
}

// TestAnInstallationWithoutMarkersIsTakenIn opens one as the last release left it.
func TestAnInstallationWithoutMarkersIsTakenIn(t *testing.T) {
	config, cfg := stage.NewStores(t)
	stage.Must(t, os.RemoveAll(cfg.Layout().Installation()))
	for _, s := range serve.StoresOf(cfg, true) {
		path := filepath.Join(s.Dir, s.File)
		db, err := sql.Open("sqlite", path)
		if err == nil {
			_, err = db.Exec("DROP TABLE longshore_store")
		}
		stage.Must(t, err, db.Close(), os.Remove(filepath.Join(s.Dir, s.Name+".marker")))
	}
	before := stage.BytesBelow(t, cfg.State.Directory)
	if out, code := briefly(t, "-c", config, "doctor"); code != stage.ExitFailed || !strings.Contains(out, "1 fault found") || !strings.Contains(out, "no WhatsApp account is linked") {
		t.Errorf("doctor finds more than an account that is not linked: %s", out)
	}
	if out, code := briefly(t, "-c", config, "queue", "list"); code != stage.ExitOK || !strings.Contains(out, "queued") {
		t.Errorf("queue list ends with %d: %s", code, out)
	}
	if diff := cmp.Diff(before, stage.BytesBelow(t, cfg.State.Directory)); diff != "" {
		t.Errorf("looking changed something:\n%s", diff)
	}
	if out, code := briefly(t, "-c", config, "serve"); code != stage.ExitOK {
		t.Errorf("serve ends with %d: %s", code, out)
	}
	for _, s := range serve.StoresOf(cfg, true) {
		if _, err := os.Stat(filepath.Join(s.Dir, s.Name+".marker")); err != nil {
			t.Error(err)
		}
	}
	if out, _ := briefly(t, "-c", config, "queue", "list", "--all"); !strings.Contains(out, "web:family") {
		t.Errorf("what was accepted before is gone: %s", out)
	}
}

// TestAStoreThatAnotherHostHoldsIsSaidByServeAndDoctor, without a control
// socket that answers.
func TestAStoreThatAnotherHostHoldsIsSaidByServeAndDoctor(t *testing.T) {
	config, cfg := stage.NewStores(t)
	for _, s := range serve.StoresOf(cfg, true) {
		if s.Name == "whatsapp" {
			continue // the channel waits for it
		}
		lock, err := store.Lock(s)
		stage.Must(t, err)
		for _, args := range []string{"doctor", "serve"} {
			out, code := briefly(t, "-c", config, args)
			if code == stage.ExitOK || !strings.Contains(out, "uses the store "+s.Name) && !strings.Contains(out, "holds the "+s.Name) {
				t.Errorf("%s held: %s ends with %d: %s", s.Name, args, code, out)
			}
		}
		stage.Must(t, lock.Close())
	}
}

// TestDoctorFindsWhatStandsInTheWayOfServe: a file where a directory must be,
// a directory where a file must be, an address that is taken.
func TestDoctorFindsWhatStandsInTheWayOfServe(t *testing.T) {
	replace := func(name string) func(*testing.T, *config.Config) {
		return func(t *testing.T, cfg *config.Config) {
			path := filepath.Join(cfg.State.Directory, name)
			fi, err := os.Stat(path)
			stage.Must(t, os.RemoveAll(path))
			if err == nil && !fi.IsDir() {
				stage.Must(t, os.Mkdir(path, 0o700))
				return
			}
			stage.Must(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600))
		}
	}
	obstacles := map[string]func(*testing.T, *config.Config){
		"no files of the page": func(t *testing.T, cfg *config.Config) {
			stage.Must(t, os.RemoveAll(filepath.Join(cfg.State.Directory, "blobs")))
		},
	}
	for _, name := range []string{
		"groups", "groups/family", "groups/global", "ipc", "ipc/family", "ipc/family/messages", "ipc/errors",
		"blobs", "longshore.lock", "store", "store/whatsapp.lock", "installation", "installation/id", "logs", "longshore.sock",
	} {
		obstacles[name] = replace(name)
	}
	for name, place := range obstacles {
		t.Run(name, func(t *testing.T) {
			config, cfg := stage.NewStores(t)
			place(t, cfg)
			before := stage.BytesBelow(t, cfg.State.Directory)
			if out, code := briefly(t, "-c", config, "doctor"); code != stage.ExitFailed || !strings.Contains(out, "to do: ") {
				t.Errorf("doctor ends with %d:\n%s", code, out)
			}
			if diff := cmp.Diff(before, stage.BytesBelow(t, cfg.State.Directory)); diff != "" {
				t.Errorf("the doctor changed something:\n%s", diff)
			}
			ofOnePart := slices.Contains([]string{"groups/family", "groups/global", "ipc/family", "ipc/family/messages", "store/whatsapp.lock", "longshore.sock"}, name)
			if out, code := briefly(t, "-c", config, "serve"); (code == stage.ExitOK) != ofOnePart || ofOnePart && !strings.Contains(out, `"level":"ERROR"`) {
				t.Errorf("serve ends with %d:\n%s", code, out)
			}
		})
	}
}

// TestDoctorFindsAMetricsAddressThatIsTaken: serve ended with it, and runs on without it.
func TestDoctorFindsAMetricsAddressThatIsTaken(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	stage.Must(t, err)
	defer ln.Close()
	config, _ := stage.NewStores(t)
	stage.Write(t, config, stage.StoresConfig+fmt.Sprintf("metrics: {listen: %q}\n", ln.Addr()))
	for _, name := range []string{"doctor", "serve"} {
		if out, code := briefly(t, "-c", config, name); (code == stage.ExitOK) != (name == "serve") || !strings.Contains(out, "address already in use") {
			t.Errorf("%s ends with %d:\n%s", name, code, out)
		}
	}
}
