package bridge_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

func TestAFileReachesItsOwnChatByteForByte(t *testing.T) {
	s := newSite(t)
	content := "%PDF-1.7\n" + strings.Repeat("quarterly ", 1000)
	path := s.write("family", "report.pdf", content)
	r := file(path)
	r.Files[0].Caption = "as promised"
	if v := s.handle("family", r); !v[0].Accepted {
		t.Fatalf("fate %+v", v[0])
	}
	// Whatever the agent does from here on does not matter.
	s.write("family", "report.pdf", "something else")
	got := s.shown("mem:family", 1)[0]
	if got.Text != "as promised" || got.File.Name != "report.pdf" || got.File.SHA256 != sum(content) || got.File.MIME != "application/pdf" {
		t.Errorf("the family sees %+v with %+v", got, got.File)
	}
}

func TestRefusals(t *testing.T) {
	s := newSite(t)
	ok := s.write("family", "ok.txt", "fine")
	s.write("work", "secret.txt", "theirs")
	s.write("family", "empty.txt", "")
	s.write("family", "page.png", "<!doctype html><script>alert(1)</script>")
	check(t, os.Symlink(filepath.Join(s.layout.Workspace("work"), "secret.txt"), filepath.Join(s.layout.Workspace("family"), "link.txt")))
	check(t, syscall.Mkfifo(filepath.Join(s.layout.Workspace("family"), "pipe"), 0o644))
	check(t, os.Truncate(mustCreate(t, filepath.Join(s.layout.Workspace("family"), "huge.bin")), 1<<40))
	other := func(r ipc.Request, change func(*ipc.Request)) ipc.Request { change(&r); return r }
	o := s.opts
	o.Outbox = nil
	examiner := bridge.New(o)

	for _, c := range []struct {
		name   string
		folder string
		r      ipc.Request
		code   string
	}{
		{"another group's chat", "family", other(file(ok), func(r *ipc.Request) { r.Chat = "mem:work" }), "chat_not_allowed"},
		{"a chat nobody registered, by main", "ops", other(file(ok), func(r *ipc.Request) { r.Chat = "mem:nowhere" }), "chat_unknown"},
		{"a message too is authorized", "family", ipc.Request{Type: ipc.TypeMessage, Chat: "mem:ops", Text: "x"}, "chat_not_allowed"},
		{"another group's folder", "family", other(file(ok), func(r *ipc.Request) { r.Folder = "work" }), "wrong_group"},
		{"a channel that nobody configured", "far", ipc.Request{Type: ipc.TypeMessage, Text: "x"}, "channel_unsupported"},
		{"the project, not main", "family", file("/workspace/project/go.mod"), "not_mounted"},
		{"dot dot", "family", file("/workspace/group/../work/secret.txt"), "path_escapes"},
		{"a sibling with the same beginning", "family", file("/workspace/group-evil/x"), "not_mounted"},
		{"a link that leaves", "family", file("/workspace/group/link.txt"), "path_escapes"},
		{"a pipe", "family", file("/workspace/group/pipe"), "not_a_file"},
		{"missing", "family", file("/workspace/group/nope.pdf"), "file_missing"},
		{"empty", "family", file("/workspace/group/empty.txt"), "file_empty"},
		{"a sparse terabyte", "family", file("/workspace/group/huge.bin"), "file_too_large"},
		{"a form that the file cannot have", "family", other(file(ok), func(r *ipc.Request) { r.Files[0].As = "voice" }), "style_impossible"},
		{"one of several", "family", other(file(ok), func(r *ipc.Request) {
			r.Files = append(r.Files, ipc.FileRef{Path: "/workspace/group/empty.txt"}, ipc.FileRef{Path: "/workspace/group/nope.pdf"})
		}), "file_empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.handle(c.folder, c.r)[0]
			if v.Refusal == nil || v.Refusal.Code != c.code {
				t.Fatalf("fate %+v, refusal %+v; want code %s", v, v.Refusal, c.code)
			}
			if v.Refusal.Hint == "" {
				t.Error("the refusal names no remedy")
			}
			if said := v.Refusal.Message + v.Refusal.Hint; strings.Contains(said, s.layout.State) {
				t.Errorf("the refusal holds a path of the host: %s", said)
			}
			_, err := examiner.Examine(c.folder, c.r, s.Mounted(c.folder))
			if diff := cmp.Diff(v.Refusal, bridge.AsRefusal(err)); diff != "" {
				t.Errorf("Examine would say something else (-real +said):\n%s", diff)
			}
		})
	}
	if all, err := s.outbox.List(t.Context(), records.Filter{}); err != nil || len(all) != 0 {
		t.Errorf("something refused is in the outbox: %v, %v", all, err)
	}
	if left, err := filepath.Glob(filepath.Join(s.layout.Own(), "blobs", "[0-9a-f]*")); err != nil || len(left) != 0 {
		t.Errorf("bytes of refused requests are left: %v, %v", left, err)
	}
}

func TestExamineFindsWhatWouldBeKept(t *testing.T) {
	s := newSite(t)
	r := file(s.write("family", "report.pdf", "%PDF-1.7\n"))
	r.Files[0].Name = "Q3"
	found, err := s.Examine("family", r, s.Mounted("family"))
	check(t, err)
	if all, err := s.outbox.List(t.Context(), records.Filter{}); err != nil || len(all) != 0 {
		t.Fatalf("examined, and %d deliveries are kept, %v", len(all), err)
	}
	d, err := s.SendFor(t.Context(), "family", r, s.Mounted("family"))
	check(t, err)
	if diff := cmp.Diff([]media.Info{d.Parts[0].Files[0].Info}, found.Files); diff != "" {
		t.Errorf("kept and found (-kept +found):\n%s", diff)
	}
	if found.Channel != d.Channel || found.Chat != d.Chat {
		t.Errorf("found %s on %s, kept for %s on %s", found.Chat, found.Channel, d.Chat, d.Channel)
	}
}

func TestMainReachesEveryRegisteredChat(t *testing.T) {
	s := newSite(t)
	path := s.write("ops", "notice.txt", "lights off at ten")
	r := file(path)
	r.Chat = "mem:work"
	if v := s.handle("ops", r)[0]; !v.Accepted {
		t.Fatalf("fate %+v", v)
	}
	if got := s.shown("mem:work", 1)[0]; got.File.SHA256 != sum("lights off at ten") {
		t.Errorf("work sees %+v", got)
	}
}

func TestOneBadFileOfSeveralAndNothingIsSent(t *testing.T) {
	s := newSite(t)
	good := s.write("family", "good.txt", "good")
	v := s.handle("family", ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: good}, {Path: "/workspace/group/missing.txt"}}})[0]
	if v.Refusal == nil || v.Refusal.Code != "file_missing" {
		t.Fatalf("fate %+v", v)
	}
	want := []ipc.Status{ipc.Refused, ipc.Refused}
	var got []ipc.Status
	for _, o := range v.Refusal.Parts {
		got = append(got, o.Status)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if o := v.Refusal.Parts[0]; o.Code != "not_sent_with_others" || o.Hint == "" {
		t.Errorf("the good file: %+v", o)
	}
	if left, err := filepath.Glob(filepath.Join(s.layout.Own(), "blobs", "[0-9a-f]*")); err != nil || len(left) != 0 {
		t.Errorf("the good file's copy is left: %v, %v", left, err)
	}
}

func TestARequestSeenAgainAfterACrashIsOnlyUnlinked(t *testing.T) {
	s := newSite(t)
	r, at := file(s.write("family", "a.txt", "once")), time.Unix(1000, 0)
	for range 2 {
		s.enqueue("family", "again", r, at)
		s.carry("family")
		if v := s.fate("family", "again"); !v.Accepted {
			t.Fatalf("fate %+v", v)
		}
		// After the record the workspace no longer matters.
		check(t, os.RemoveAll(filepath.Join(s.layout.Workspace("family"), "a.txt")))
	}
	if all, err := s.outbox.List(t.Context(), records.Filter{}); err != nil || len(all) != 1 {
		t.Fatalf("%d deliveries, %v", len(all), err)
	}
	s.enqueue("family", "again", r, at.Add(time.Second))
	s.carry("family")
	if v := s.fate("family", "again"); v.Refusal == nil {
		t.Error("a new request under an old name was taken for the old one")
	}
}

func TestWhatWasWithdrawnIsForgotten(t *testing.T) {
	s := newSite(t)
	s.enqueue("family", "0001", file(s.write("family", "a.txt", "first")), time.Now())
	s.enqueue("family", "0002", file(s.write("family", "b.txt", "second")), time.Now())
	s.carry("family", func() { check(t, os.Remove(s.queued("family", "0001"))) })
	seen := s.shown("mem:family", 1)
	if len(seen) != 1 || seen[0].File.Name != "b.txt" {
		t.Errorf("the family sees %v", seen)
	}
}

func TestOverQuotaARequestStaysAndNothingOvertakesIt(t *testing.T) {
	s := newSite(t, func(o *outbox.Options) { o.Settings = limited(outbox.Limits{QuotaPending: 2}) })
	var rs []ipc.Request
	for i := range 4 {
		rs = append(rs, file(s.write("family", fmt.Sprintf("%d.txt", i), "x")))
	}
	rs = append(rs, file("/workspace/group/missing.txt"))
	var deferred, accepted []bool
	for _, v := range s.handle("family", rs...) {
		deferred, accepted = append(deferred, v.Deferred), append(accepted, v.Accepted)
	}
	if diff := cmp.Diff([]bool{false, false, true, true, true}, deferred); diff != "" {
		t.Errorf("deferred (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{true, true, false, false, false}, accepted); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
	if r, _ := s.spool.Result("family", "0003"); r.Code != "over_quota" || r.Message == "" || !strings.Contains(r.Hint, "do not call again") {
		t.Errorf("the agent reads %+v", r)
	}
}

func TestWordsThatCannotGoWithTheFileAreAMessageOfTheirOwn(t *testing.T) {
	s := newSite(t)
	ogg := "OggS\x00\x02" + strings.Repeat("\x00", 20) + "\x01\x13OpusHead" + strings.Repeat("\x00", 64)
	r := file(s.write("family", "note.ogg", ogg))
	r.Files[0].Caption = "listen to this"
	long := file(s.write("family", "long.txt", "short file"))
	long.Files[0].Caption = strings.Repeat("word ", 1000)
	if v := s.handle("family", r, long); !v[0].Accepted || !v[1].Accepted {
		t.Fatalf("fates %+v", v)
	}
	seen := s.shown("mem:family", 5)
	if seen[0].File == nil || seen[0].Text != "" || seen[1].Text != "listen to this" {
		t.Errorf("audio and its words: %v", seen[:2])
	}
	var words int
	for _, m := range seen[2:] {
		words += len(strings.Fields(m.Text))
	}
	if words != 1000 {
		t.Errorf("%d of 1000 words of the long caption arrived", words)
	}
}

func TestLongTextIsCutWhereItReadsWell(t *testing.T) {
	s := newSite(t)
	text := strings.Repeat("A sentence of eight words stands in here. ", 300)
	if v := s.handle("family", ipc.Request{Type: ipc.TypeMessage, Text: text, ReplyTo: "abc"})[0]; !v.Accepted {
		t.Fatalf("fate %+v", v)
	}
	seen := s.shown("mem:family", 4)
	var joined []string
	for i, m := range seen {
		if len(m.Text) > 4096 || !strings.HasSuffix(m.Text, ".") {
			t.Errorf("part %d: %d bytes, ends in %q", i, len(m.Text), m.Text[len(m.Text)-9:])
		}
		joined = append(joined, m.Text)
	}
	if got := strings.Join(joined, " "); got != strings.TrimSpace(text) {
		t.Error("the parts together are not the text")
	}
	if seen[0].ReplyTo != "abc" || seen[1].ReplyTo != "" {
		t.Errorf("replies: %q, %q", seen[0].ReplyTo, seen[1].ReplyTo)
	}
}

func TestAFileThatNeverStopsChangingIsRefused(t *testing.T) {
	s := newSite(t)
	path := s.write("family", "log.txt", strings.Repeat("line\n", 1000))
	o := s.opts
	o.Trace = func(_, _, step string) {
		if step == "checked" { // between the look and the copy
			f, err := os.OpenFile(filepath.Join(s.layout.Workspace("family"), "log.txt"), os.O_APPEND|os.O_WRONLY, 0)
			check(t, err)
			_, err = f.WriteString("more\n")
			check(t, err)
			check(t, f.Close())
		}
	}
	s.Bridge = bridge.New(o)
	v := s.handle("family", file(path))[0]
	if v.Refusal == nil || v.Refusal.Code != "file_changing" {
		t.Errorf("fate %+v, %+v", v, v.Refusal)
	}
}

func TestSayTwiceWithOneKeyAppearsOnce(t *testing.T) {
	s := newSite(t)
	for range 2 {
		check(t, s.Say(t.Context(), "family", "", "hello", "turn-1"))
	}
	check(t, s.Say(t.Context(), "family", "", "good night", "turn-2"))
	seen := s.shown("mem:family", 2)
	if len(seen) != 2 || seen[0].Text != "hello" || seen[1].Text != "good night" {
		t.Errorf("the family sees %v", seen)
	}
}

func TestAnOperatorsOwnFile(t *testing.T) {
	s := newSite(t)
	path := filepath.Join(t.TempDir(), "own.csv")
	check(t, os.WriteFile(path, []byte("a,b\n1,2\n"), 0o600))
	r := file(path)
	r.Files[0].Caption = "from the operator"
	_, err := s.SendFor(t.Context(), "family", r, bridge.OpenOwn)
	check(t, err)
	if got := s.shown("mem:family", 1)[0]; got.File.Name != "own.csv" || got.Text != "from the operator" {
		t.Errorf("the family sees %+v", got)
	}
	if _, err := s.SendFor(t.Context(), "family", file(t.TempDir()), bridge.OpenOwn); bridge.AsRefusal(err) == nil {
		t.Errorf("a directory: %v", err)
	}
}

func TestResultIsAProjectionOfTheRecord(t *testing.T) {
	part := func(state records.State, size int64) records.Part {
		p := records.Part{State: state, Files: make([]records.File, 1)}
		p.Files[0].Name, p.Files[0].Size = "f", size
		return p
	}
	for _, c := range []struct {
		states []records.State
		want   ipc.Status
	}{
		{[]records.State{records.Queued}, ipc.Queued},
		{[]records.State{records.Sent, records.Sending}, ipc.Queued},
		{[]records.State{records.Sent, records.Sent}, ipc.Sent},
		{[]records.State{records.Sent, records.Failed}, ipc.Failed},
		{[]records.State{records.Uncertain, records.Sent}, ipc.Uncertain},
		{[]records.State{records.Delivered, records.Read}, ipc.Delivered},
		{[]records.State{records.Read, records.Read}, ipc.Read},
		{[]records.State{records.Cancelled}, ipc.Failed},
	} {
		var d records.Delivery
		for _, s := range c.states {
			d.Parts = append(d.Parts, part(s, 10))
		}
		if got := report.Result(d).Status; got != c.want {
			t.Errorf("%v: %s, want %s", c.states, got, c.want)
		}
	}
	d := records.Delivery{Parts: []records.Part{part(records.Sent, 100), part(records.Sending, 50)}}
	d.Parts[1].Sent = 20
	if got := report.Result(d).Progress; got == nil || *got != (ipc.Progress{Sent: 120, Total: 150}) {
		t.Errorf("progress %+v", got)
	}
}

// losing are files of the state that are lost once some looks at them have found them.
type losing struct{ looks int }

func (l *losing) LostFiles() error {
	if l.looks--; l.looks < 0 {
		return errors.New("files of the state were deleted")
	}
	return nil
}

// TestABatchWasRecordedThoughTheStateWasLostMeanwhile: the host looked before a batch alone.
func TestABatchWasRecordedThoughTheStateWasLostMeanwhile(t *testing.T) {
	for looks, recorded := range []int{0, 0, 1} {
		s := newSite(t)
		o := s.opts
		o.State = &losing{looks}
		s.Bridge = bridge.New(o)
		got := s.handle("family", file(s.write("family", "a.txt", strings.Repeat("a", 1<<16))))
		if all, err := s.outbox.List(t.Context(), records.Filter{}); err != nil || len(all) != recorded || got[0].Deferred != (recorded == 0) {
			t.Errorf("%d looks: %d deliveries, %v, and the request is %+v", looks, len(all), err, got[0])
		}
		left, err := filepath.Glob(filepath.Join(s.layout.Own(), "blobs", "[0-9a-f]*"))
		if err != nil || len(left) != recorded {
			t.Errorf("%d looks: bytes %v are kept, %v", looks, left, err)
		}
	}
}
