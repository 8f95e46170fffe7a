package kill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	longshore "github.com/longshore-bridge/longshore/host/command"
	"github.com/longshore-bridge/longshore/ipc"
)

// What left a host on three channels, and what was refused, stands in the trail once,
// with the hash of each file, also after a kill; the operator finds it, and finds out
// when somebody changed it.
func TestTheTrailHasWhatLeftAndWhatWasRefusedOnce(t *testing.T) {
	s := newSoak(t, 1, false)
	s.start()
	t.Cleanup(s.end)
	const each = 8
	want := map[string]string{} // the request, and what is to be in the trail
	for n := range each {
		for _, g := range s.groups[:6] {
			a, r := soakAsk{}, ipc.Request{Type: ipc.TypeFile}
			event := "sent"
			switch n % 4 {
			case 0:
				r.Type, r.Text = ipc.TypeMessage, fmt.Sprintf("secret words %d", n)
			case 1:
				r.Files, event = []ipc.FileRef{{Path: "/workspace/group/nothing"}}, "refused"
			default:
				if err := s.place(g, &a, &r, fmt.Sprintf("%d.bin", n), g.content()); err != nil {
					t.Fatal(err)
				}
				r.Files[0].Caption = "secret words"
			}
			id, err := s.client(g).Enqueue(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			a.id = id
			g.asked = append(g.asked, a)
			want[g.folder+" "+id] = strings.TrimSpace(event + " " + strings.Join(a.parts, " "))
		}
		if n == each/2 {
			s.allEnded(t, s.groups[:6])
			s.kill()
		}
	}
	s.allEnded(t, s.groups[:6])
	s.stop()
	got := map[string]string{}
	dir := s.cfg.Layout().Audit()
	if err := audit.Search(t.Context(), audit.Files(dir), func(e audit.Entry) error {
		sums := []string{e.Event}
		for _, p := range e.Parts {
			if p.SHA256 != "" {
				sums = append(sums, p.SHA256)
			}
			if e.Event == "sent" && p.MessageID == "" {
				t.Errorf("%s has no message id: %+v", e.Request, p)
			}
		}
		if key := e.Group + " " + e.Request; got[key] != "" {
			t.Errorf("%s stands there twice", key)
		} else if e.Request != "" {
			got[key] = strings.Join(sums, " ")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the trail (-want +got):\n%s", diff)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil || strings.Contains(string(whole), "secret words") {
		t.Errorf("a text stands in the trail, or %v", err)
	}
	s.reads(t, files[0], whole)
}

// reads has the operator read the trail.
func (s *soak) reads(t *testing.T, file string, whole []byte) {
	t.Helper()
	g := s.groups[2]
	sum := g.asked[2].parts[0]
	out, errs, code := stage.RunLine(t, s.file(), "audit", "search", "--group", g.folder, "--sha256", sum[:10], "--since", "1h", "--json")
	var found []audit.Entry
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != stage.ExitOK || len(found) != 1 || found[0].Parts[0].SHA256 != sum || found[0].Chat != g.chat {
		t.Errorf("%q, %q, %d, %v", out, errs, code, err)
	}
	out, _, _ = stage.RunLine(t, s.file(), "audit", "search", "--event", "refused")
	if n := strings.Count(out, "file_missing"); n != 12 {
		t.Errorf("%d refusals are listed:\n%s", n, out)
	}
	out, errs, code = stage.RunLine(t, s.file(), "audit", "verify", "--json")
	var sums audit.Summary
	if err := json.Unmarshal([]byte(out), &sums); err != nil || code != stage.ExitOK || sums.Entries < 48 {
		t.Fatalf("%q, %q, %d, %v", out, errs, code, err)
	}
	if _, errs, code = stage.RunLine(t, s.file(), "audit", "verify", "--has", sums.Hash); code != stage.ExitOK {
		t.Errorf("%q, %d", errs, code)
	}
	if out, errs, code = stage.RunLine(t, s.file(), "audit", "verify", "--has", "0000", "--json"); code == stage.ExitOK || !strings.Contains(out+errs, "no line of it has the hash") {
		t.Errorf("%q, %q, %d", out, errs, code)
	}
	changed := strings.Replace(string(whole), `"event":"refused"`, `"event":"sent"`, 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code = stage.RunLine(t, s.file(), "audit", "verify", "--json"); code == stage.ExitOK || !strings.Contains(out+errs, "its hash is another one") {
		t.Errorf("%q, %q, %d", out, errs, code)
	}
}

// trailReader looks at how much memory the command holds while it prints.
type trailReader struct {
	lines, printed int
	most           uint64
	end            []byte // of what was printed
}

func (r *trailReader) Write(b []byte) (int, error) {
	if r.printed/(4<<20) != (r.printed+len(b))/(4<<20) {
		r.look()
	}
	r.printed, r.lines = r.printed+len(b), r.lines+bytes.Count(b, []byte("\n"))
	r.end = append(r.end[:0], b[max(0, len(b)-10):]...)
	return len(b), nil
}

func (r *trailReader) look() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.most = max(r.most, m.HeapAlloc)
}

// TestAllOfALongTrailIsPrintedAsItIsRead: -n 0 names no bound, so memory must not grow with
// the trail.
func TestAllOfALongTrailIsPrintedAsItIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	cfg := stage.ConfigIn(t, file, stage.DemoConfig(t))
	trail, err := audit.Open(audit.Options{Dir: cfg.Layout().Audit(), Log: slog.New(slog.DiscardHandler)})
	stage.Must(t, err)
	const entries = 20_500
	for range entries {
		trail.Add(audit.Entry{Event: "failed", Group: "family", Code: "screened", Message: strings.Repeat("why ", 120)})
	}
	stage.Must(t, trail.Close())
	for _, form := range [][]string{{"--json"}, nil} {
		var before, out trailReader
		before.look()
		var errs bytes.Buffer
		code := longshore.Run(t.Context(), "", stage.AllPlatforms(), append([]string{"-c", file, "audit", "search", "-n", "0"}, form...), strings.NewReader(""), &out, &errs)
		if code != stage.ExitOK || out.printed < entries*480 || out.lines < entries {
			t.Errorf("%v: exit code %d, %d bytes in %d lines: %s", form, code, out.printed, out.lines, errs.String())
		}
		if held := int64(out.most) - int64(before.most); held > 6<<20 {
			t.Errorf("%v: %d bytes are held while %d are printed", form, held, out.printed)
		}
		t.Logf("%v: %d bytes held while %d were printed", form, int64(out.most)-int64(before.most), out.printed)
		if form != nil && string(out.end) != "\n]\n" {
			t.Errorf("the list ends with %q", out.end)
		}
	}
	// Printed one by one, the list is the same as in one piece.
	all, _, _ := stage.RunLine(t, file, "audit", "search", "-n", "0", "--json")
	bounded, _, _ := stage.RunLine(t, file, "audit", "search", "-n", fmt.Sprint(entries), "--json")
	if all != bounded {
		t.Error("-n 0 prints another list than a bound that is not reached")
	}
	if none, _, _ := stage.RunLine(t, file, "audit", "search", "-n", "0", "--json", "--event", "sent"); none != "[]\n" {
		t.Errorf("of nothing: %q", none)
	}
	if none, _, _ := stage.RunLine(t, file, "audit", "search", "-n", "0", "--event", "sent"); !strings.Contains(none, "nothing in the trail fits") {
		t.Errorf("of nothing: %q", none)
	}
}

// TestTheOperatorMayKeepCaptionsInTheTrail, and may leave out names.
func TestTheOperatorMayKeepCaptionsInTheTrail(t *testing.T) {
	s := stage.NewSite(t, t.TempDir(), 1, stage.NoLimits)
	send := func(name string, out ...string) string {
		s.Cfg.Audit.LeaveOut = out
		_, stop := s.Start(nil, memory.New(memory.Options{Online: true}))
		defer stop()
		stage.Write(t, filepath.Join(s.Cfg.Layout().Workspace("g0"), name), "as drawn")
		id, err := s.Client("g0").Enqueue(t.Context(), ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/group/" + name, Caption: "words with " + name}}})
		stage.Must(t, err)
		if r := s.Result("g0", id); r.Status != ipc.Sent {
			t.Fatalf("%+v", r)
		}
		stage.Eventually(t, "the trail has it", func() bool { return len(s.Trail(id)) == 1 })
		return id
	}
	first, second := send("a.txt", audit.Numbers), send("b.txt", audit.Captions, audit.Names)
	got := map[string]string{}
	stage.Must(t, audit.Search(t.Context(), audit.Files(s.Cfg.Layout().Audit()), func(e audit.Entry) error {
		got[e.Request] = e.Parts[0].Name + ": " + e.Parts[0].Text
		return nil
	}))
	if diff := cmp.Diff(map[string]string{first: "a.txt: words with a.txt", second: ": "}, got); diff != "" {
		t.Error(diff)
	}
}
