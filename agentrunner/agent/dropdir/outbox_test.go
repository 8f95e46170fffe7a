package dropdir_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/agentrunner/agent/dropdir"
	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/ipc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// worker is an assistant that does something in its turn.
type worker func(ctx context.Context)

func (w worker) Turn(ctx context.Context, _ agent.Turn) (agent.Reply, error) {
	w(ctx)
	return agent.Reply{Text: "done"}, nil
}

func turn(t *testing.T, h *fakehost.Host, work worker, env ...string) {
	t.Helper()
	reply, err := dropdir.Agent{Next: work}.Turn(t.Context(), agent.Turn{Env: append(append(h.Env(), "LONGSHORE_WAIT=2m"), env...)})
	if err != nil || reply.Text != "done" {
		t.Fatalf("reply %+v, error %v", reply, err)
	}
}

// left lists the files below the outbox.
func left(t *testing.T, h *fakehost.Host) (names []string) {
	t.Helper()
	root := filepath.Join(h.Root, "group/outbox")
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestFilesDroppedInATurnAreSentAtItsEnd(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	turn(t, h, func(context.Context) {
		h.File("group/outbox/a.pdf", "%PDF-1.4")
		h.File("group/outbox/b.dat", "data")
		h.File("group/outbox/b.dat.manifest.json", `{"file":"b.dat","action":"document","message":"look","contentType":"application/x-b","unknown":1}`)
		h.File("group/outbox/.hidden", "x")
		h.File("group/outbox/c.pdf.part", "x")
		h.File("group/outbox/dir/d.pdf", "x")
	})
	a, b := h.Next().Files[0], h.Next().Files[0]
	if a.Name != "a.pdf" || !strings.HasPrefix(a.Path, "/workspace/ipc/files/") {
		t.Errorf("first %+v", a)
	}
	b.Path = ""
	if !strings.HasSuffix(b.From, "/b.dat") {
		t.Errorf("second: it is a copy of %q", b.From)
	}
	b.From = ""
	if diff := cmp.Diff(ipc.FileRef{Name: "b.dat", MIME: "application/x-b", Caption: "look", As: "document"}, b); diff != "" {
		t.Errorf("second (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{".hidden", "c.pdf.part", "dir/d.pdf"}, left(t, h)); diff != "" || len(h.Pending()) > 0 {
		t.Errorf("left (-want +got):\n%s%q", diff, h.Pending())
	}
}

func TestCompleteFilesDoNotWaitForTheTurnsEnd(t *testing.T) {
	for name, manifest := range map[string]string{"declared": `{"message":"look"}`, "stable": ""} {
		t.Run(name, func(t *testing.T) {
			h := fakehost.New(t, fakehost.Sent)
			synctest.Test(t, func(t *testing.T) {
				turn(t, h, func(context.Context) {
					h.File("group/outbox/a.pdf", "%PDF-1.4")
					if manifest != "" {
						h.File("group/outbox/a.pdf.manifest.json", manifest)
					}
					time.Sleep(3 * time.Second) // the bubble's time
					if r := h.Next(); r.Files[0].Name != "a.pdf" {
						t.Errorf("request %+v", r)
					}
				})
			})
		})
	}
}

func TestFileThatStillGrowsIsNotSent(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	synctest.Test(t, func(t *testing.T) { // in whose time a busy machine does not let the file rest
		turn(t, h, func(context.Context) {
			path := h.File("group/outbox/a.pdf", "%PDF")
			for range 10 {
				time.Sleep(1400 * time.Millisecond)
				if len(h.Pending()) > 0 || len(h.Staged()) > 0 {
					t.Error("sent while it grew")
					return
				}
				f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = f.WriteString("x")
				f.Close()
			}
		})
	})
	if r := h.Next(); r.Files[0].Name != "a.pdf" {
		t.Errorf("request %+v", r)
	}
}

func TestWhatCannotBeSentIsKeptWithTheReason(t *testing.T) {
	h := fakehost.New(t, func(fakehost.Request) []ipc.Result {
		return []ipc.Result{{Status: ipc.Refused, Code: "rate_limited", Message: "too many files in an hour"}}
	})
	turn(t, h, func(context.Context) {
		h.File("group/outbox/refused.pdf", "%PDF-1.4")
		h.File("group/outbox/empty.pdf", "")
		h.File("group/outbox/odd.pdf", "%PDF-1.4")
		h.File("group/outbox/odd.pdf.manifest.json", `{"action":"delete_all"}`)
		h.File("group/outbox/other.pdf", "%PDF-1.4")
		h.File("group/outbox/other.pdf.manifest.json", `{"file":"/etc/passwd"}`)
		h.File("group/outbox/broken.pdf", "%PDF-1.4")
		h.File("group/outbox/broken.pdf.manifest.json", `{`)
	})
	for name, want := range map[string]string{"refused": "too many files in an hour", "empty": "is empty", "odd": `"delete_all" is unknown`,
		"other": "it is beside", "broken": "not a JSON object"} {
		reason, err := os.ReadFile(filepath.Join(h.Root, "group/outbox/failed", name+".pdf.reason.txt"))
		if err != nil || !strings.Contains(string(reason), want) {
			t.Errorf("%s: reason %q, error %v", name, reason, err)
		}
		if _, err := os.Stat(filepath.Join(h.Root, "group/outbox/failed", name+".pdf")); err != nil {
			t.Error(err)
		}
	}
}

func TestLinksAndPipesAreLeftAlone(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	turn(t, h, func(context.Context) {
		h.File("group/outbox/.keep", "")
		if err := os.Symlink("/etc/passwd", filepath.Join(h.Root, "group/outbox/passwd.txt")); err != nil {
			t.Error(err)
		}
	})
	if len(h.Pending())+len(h.Staged()) > 0 {
		t.Errorf("queued: %q %q", h.Pending(), h.Staged())
	}
}

// An assistant without rights outside its workspace planted links and pipes under the
// names that the package itself writes, and could have it overwrite or move any file.
func TestWhatIsPlantedInTheDropDirectoryIsNotFollowed(t *testing.T) {
	for name, links := range map[string]map[string]string{ // from below the workspace, to below mine
		"the stamp":      {"outbox/.turn": "diary.txt", "outbox/.turn.tmp": "diary.txt"},
		"the reason":     {"outbox/failed/empty.txt.reason.txt": "diary.txt"},
		"failed":         {"outbox/failed": ""},
		"what was taken": {"outbox/.sending": ""},
		"the directory":  {"outbox": "papers"},
	} {
		t.Run(name, func(t *testing.T) {
			h, mine := fakehost.New(t, fakehost.Sent), t.TempDir()
			write := func(name string) {
				t.Helper()
				path := filepath.Join(mine, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("mine"), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			write("diary.txt")
			write("papers/letter.txt")
			for at, to := range links {
				at = filepath.Join(h.Root, "group", at)
				if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(filepath.Join(mine, to), at)); err != nil {
					t.Fatal(err)
				}
			}
			turn(t, h, func(context.Context) {
				if name != "the directory" {
					h.File("group/outbox/empty.txt", "") // is refused
				}
			}, "LONGSHORE_TURN=stamp")
			var got []string
			err := filepath.WalkDir(mine, func(path string, d os.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					text, _ := os.ReadFile(path)
					got = append(got, strings.TrimPrefix(path, mine+"/")+" "+string(text))
				}
				return err
			})
			if diff := cmp.Diff([]string{"diary.txt mine", "papers/letter.txt mine"}, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAPipeInTheStampsPlaceBlocksNoTurn(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	for _, name := range []string{".turn", ".turn.tmp"} {
		h.File("group/outbox/x", "")
		if err := syscall.Mkfifo(filepath.Join(h.Root, "group/outbox", name), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(h.Root, "group/outbox/x"))
	}
	turn(t, h, func(context.Context) { h.File("group/outbox/a.pdf", "%PDF-1.4") }, "LONGSHORE_TURN=first")
	if r := h.Next(); r.Turn != "first" {
		t.Errorf("it bears %q", r.Turn)
	}
}

func TestInterruptedRunLeavesNothingUnsaid(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	h.File("group/outbox/.sending/0/a.pdf", "%PDF-1.4")
	turn(t, h, func(context.Context) {})
	if diff := cmp.Diff([]string{"failed/a.pdf", "failed/a.pdf.reason.txt"}, left(t, h)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestHostThatDoesNotRunGetsTheFilesLater(t *testing.T) {
	h := fakehost.New(t, nil)
	turn(t, h, func(context.Context) {
		h.File("group/outbox/a.pdf", "%PDF-1.4")
		h.File("group/outbox/b.pdf", "%PDF-1.4")
	}, "LONGSHORE_WAIT=20ms")
	if len(h.Pending()) != 2 || len(h.Staged()) != 2 || len(left(t, h)) != 0 {
		t.Errorf("pending %q, staged %q, left %q", h.Pending(), h.Staged(), left(t, h))
	}
}

func TestOutboxCanBeTurnedOff(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	turn(t, h, func(context.Context) { h.File("group/outbox/a.pdf", "%PDF-1.4") }, "LONGSHORE_OUTBOX=0")
	if diff := cmp.Diff([]string{"a.pdf"}, left(t, h)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// A turn that was killed left a file behind, and the next turn, which was another
// thread's, sent it there.
func TestWhatAKilledTurnHasDroppedBearsItsStamp(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	killed, kill := context.WithCancel(t.Context())
	_, err := dropdir.Agent{Next: worker(func(context.Context) {
		h.File("group/outbox/a.pdf", "%PDF-1.4")
		kill() // as seen from the directory: nothing is swept any more
	})}.Turn(killed, agent.Turn{Env: append(h.Env(), "LONGSHORE_TURN=first")})
	if err != nil {
		t.Fatal(err)
	}
	turn(t, h, func(context.Context) { h.File("group/outbox/b.pdf", "%PDF-1.4") }, "LONGSHORE_TURN=second")
	turn(t, h, func(context.Context) { h.File("group/outbox/c.pdf", "%PDF-1.4") })
	for _, want := range [][2]string{{"a.pdf", "first"}, {"b.pdf", "second"}, {"c.pdf", ""}} {
		r := h.Next()
		if got := [2]string{r.Files[0].Name, r.Turn}; got != want {
			t.Errorf("%q is sent, want %q", got, want)
		}
	}
}
