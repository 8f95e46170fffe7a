package sender_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newSender is one that runs without a container, as the demo's does.
func newSender(t *testing.T, h *fakehost.Host, change func(*sender.Config)) *sender.Sender {
	t.Helper()
	env := map[string]string{}
	for _, kv := range h.Env() {
		key, value, _ := strings.Cut(kv, "=")
		env[key] = value
	}
	config, err := sender.FromEnv(func(key string) string { return env[key] })
	if err != nil {
		t.Fatal(err)
	}
	config.Wait = 20 * time.Second
	if change != nil {
		change(&config)
	}
	return sender.New(config)
}

func TestFileInTheWorkspaceIsSentFromWhereItLies(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	s := newSender(t, h, nil)
	h.File("group/out/report.pdf", "%PDF-1.4 content")
	t.Chdir(filepath.Join(h.Root, "group"))
	for name, path := range map[string]string{
		"real path":        filepath.Join(h.Root, "group/out/report.pdf"),
		"relative":         "out/report.pdf",
		"relative, dotted": "./out/../out/report.pdf",
		"container's path": "/workspace/group/out/report.pdf",
		"URL":              "file:///workspace/group/out/report.pdf",
		"URL of real path": "file://localhost" + filepath.Join(h.Root, "group/out/report.pdf"),
	} {
		t.Run(name, func(t *testing.T) {
			report, err := s.SendFiles(t.Context(), []sender.File{{Path: path, Caption: "here"}}, sender.Options{ReplyTo: "m-1"})
			if err != nil {
				t.Fatal(err)
			}
			r := h.Next()
			want := []ipc.FileRef{{Path: "/workspace/group/out/report.pdf", Name: "report.pdf", Caption: "here"}}
			if diff := cmp.Diff(want, r.Files); diff != "" {
				t.Errorf("files of the request (-want +got):\n%s", diff)
			}
			if r.Chat != "web:family" || r.Folder != "family" || r.ReplyTo != "m-1" {
				t.Errorf("request %+v", r)
			}
			if report.Status != "sent" || !strings.HasPrefix(report.Summary, "Sent report.pdf (16 bytes, document) to the chat. Message id m-") {
				t.Errorf("report %+v", report)
			}
		})
	}
}

func TestWhatTheHostCannotOpenIsCopied(t *testing.T) {
	h := fakehost.New(t, nil)
	s := newSender(t, h, nil)
	outside := h.File("elsewhere/chart.png", "\x89PNG outside")
	inside := h.File("group/data.pdf", "%PDF linked")
	if err := os.Link(inside, filepath.Join(h.Root, "group/second.pdf")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(h.Root, "group/link.png")); err != nil {
		t.Fatal(err)
	}
	shadowed := h.File("group/secret/key.pdf", "%PDF shadowed")
	for name, test := range map[string]struct{ path, shown, content string }{
		"on no mount":    {outside, "chart.png", "\x89PNG outside"},
		"hard link":      {inside, "data.pdf", "%PDF linked"},
		"link leaving":   {filepath.Join(h.Root, "group/link.png"), "link.png", "\x89PNG outside"},
		"below a shadow": {shadowed, "key.pdf", "%PDF shadowed"},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			go func() {
				_, err := s.SendFiles(context.WithoutCancel(t.Context()), []sender.File{{Path: test.path}}, sender.Options{})
				done <- err
			}()
			r := h.Next()
			rel, ok := strings.CutPrefix(r.Files[0].Path, "/workspace/ipc/files/")
			if !ok || r.Files[0].Name != test.shown {
				t.Fatalf("asked to send %+v, want a staged copy named %s", r.Files[0], test.shown)
			}
			got, err := os.ReadFile(filepath.Join(h.IPC, "files", rel))
			if err != nil || string(got) != test.content {
				t.Errorf("staged %q, %v; want %q", got, err, test.content)
			}
			h.Write(r.ID, ipc.Result{Status: ipc.Queued})
			h.Take(r.ID)
			h.Write(r.ID, ipc.Result{Status: ipc.Sent})
			if err := <-done; err != nil {
				t.Error(err)
			}
			if left := h.Staged(); len(left) > 0 {
				t.Errorf("copies stay after they were sent: %q", left)
			}
		})
	}
}

func TestLinkInsideTheWorkspaceIsFollowedToItsFile(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	s := newSender(t, h, nil)
	target := h.File("group/v2/report.pdf", "%PDF")
	link := filepath.Join(h.Root, "group/latest.pdf")
	if err := os.Symlink(target, link); err != nil { // absolute: the host would refuse it
		t.Fatal(err)
	}
	if _, err := s.SendFiles(t.Context(), []sender.File{{Path: link}}, sender.Options{}); err != nil {
		t.Fatal(err)
	}
	want := []ipc.FileRef{{Path: "/workspace/group/v2/report.pdf", Name: "latest.pdf"}}
	if diff := cmp.Diff(want, h.Next().Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestBadFileIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	h := fakehost.New(t, nil)
	s := newSender(t, h, nil)
	h.File("group/good.pdf", "%PDF good")
	h.File("group/empty.pdf", "")
	h.File("group/Report.PDF", "%PDF")
	h.File("group/photo.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("x", 2<<20))
	h.File("group/big.pdf", "%PDF-1.4\n"+strings.Repeat("x", 5<<20))
	h.File("elsewhere/big.pdf", "%PDF-1.4\n"+strings.Repeat("x", 5<<20))
	group := filepath.Join(h.Root, "group")
	if err := syscall.Mkfifo(filepath.Join(group, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", filepath.Join(group, "loop")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(group)
	for name, test := range map[string]struct{ path, code, words string }{
		"missing":                   {"nothing.pdf", "not_found", `there is no file "nothing.pdf"`},
		"other case":                {"report.pdf", "not_found", `did you mean "Report.PDF"`},
		"below a file":              {"good.pdf/x", "not_found", "there is no file"},
		"directory":                 {".", "is_directory", "archive"},
		"FIFO":                      {"pipe", "not_regular", "no plain file"},
		"device":                    {"/dev/zero", "not_regular", "no plain file"},
		"loop":                      {"loop", "not_found", "leads back to itself"},
		"empty":                     {"empty.pdf", "empty_file", "is empty"},
		"picture that is too big":   {"photo.png", "file_too_large", "photo.png is 2 MB; web takes images up to 1 MB: send it as a document"},
		"document too big":          {"big.pdf", "file_too_large", "big.pdf is 5 MB; web takes documents up to 4 MB: make it smaller"},
		"too big to stage":          {filepath.Join(h.Root, "elsewhere/big.pdf"), "file_too_large", "make it smaller"},
		"no path":                   {" ", "invalid_argument", "empty"},
		"address":                   {"https://example.org/a.pdf", "path_unsupported", "download it"},
		"data":                      {"data:text/plain,hi", "path_unsupported", "send_attachment"},
		"URL of another machine":    {"file://server/a.pdf", "path_unsupported", "plain path"},
		"URL with NUL":              {"file:///a%00b", "invalid_argument", "NUL"},
		"NUL":                       {"a\x00b", "invalid_argument", "NUL"},
		"too long":                  {strings.Repeat("a/", 3000), "invalid_argument", "4096"},
		"terminal escape in a name": {"\x1b[2Jx", "not_found", `"\x1b[2Jx"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.SendFiles(t.Context(), []sender.File{{Path: test.path}}, sender.Options{})
			var p *sender.Problem
			if !errors.As(err, &p) {
				t.Fatalf("got %v, want a problem", err)
			}
			if p.Code != test.code || !strings.Contains(p.Error(), test.words) {
				t.Errorf("got %s: %s\nwant %s with %q", p.Code, p, test.code, test.words)
			}
			if strings.ContainsFunc(p.Error(), func(r rune) bool { return r < ' ' }) {
				t.Errorf("control character in %q", p.Error())
			}
		})
	}
	_, err := s.SendFiles(t.Context(), []sender.File{{Path: "good.pdf"}, {Path: "empty.pdf"}, {Path: "good.pdf"}}, sender.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), `nothing was sent, because of file 2 of 3: "empty.pdf" is empty`) {
		t.Errorf("one bad file of three: %v", err)
	}
	if pending, staged := h.Pending(), h.Staged(); len(pending)+len(staged) > 0 {
		t.Errorf("written nevertheless: requests %q, copies %q", pending, staged)
	}
}

func TestHostsAnswerIsPutIntoWords(t *testing.T) {
	for name, test := range map[string]struct {
		result ipc.Result
		want   string
		failed bool
	}{
		"sent": {ipc.Result{Status: ipc.Sent, MessageID: "3EB0"}, "Sent a.pdf (4 bytes, document) to the chat. Message id 3EB0.", false},
		"read": {ipc.Result{Status: ipc.Read}, "Delivered a.pdf (4 bytes, document), and a member has seen it.", false},
		"refused": {ipc.Result{Status: ipc.Refused, Code: "chat_not_allowed", Message: "that chat is not this group's", Hint: "leave chat out"},
			"Not sent: that chat is not this group's. Leave chat out. Nothing of it is in the chat; correct it before you call again.", true},
		"failed": {ipc.Result{Status: ipc.Failed, Code: "not_a_member", Message: "the account left the group", Hint: "tell the operator"},
			"Could not be sent: the account left the group. Tell the operator. Nothing of it is in the chat.", true},
		"failed in part": {ipc.Result{Status: ipc.Failed, Code: "x", Message: "no", Parts: []ipc.Outcome{
			{Name: "a.pdf", Status: ipc.Sent}, {Name: "b.pdf", Status: ipc.Failed}}},
			"Could not be sent: no. In the chat already: a.pdf; do not send that again.", true},
		"uncertain": {ipc.Result{Status: ipc.Uncertain},
			"The chat platform never said whether a.pdf (4 bytes, document) arrived. Ask a member of the chat before you send it again.", false},
		"note": {ipc.Result{Status: ipc.Sent, Parts: []ipc.Outcome{{Name: "a.pdf", Kind: "document", Size: 4, Status: ipc.Sent, Note: "sent as a document"}}},
			"Sent a.pdf (4 bytes, document) to the chat. Note: sent as a document.", false},
		"hostile": {ipc.Result{Status: ipc.Failed, Message: "\x1b[2Jgone\u202e"}, `Could not be sent: \x1b[2Jgone\u202e. Nothing of it is in the chat.`, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := fakehost.New(t, func(fakehost.Request) []ipc.Result { return []ipc.Result{test.result} })
			report, err := newSender(t, h, nil).SendFiles(t.Context(), []sender.File{{Path: h.File("group/a.pdf", "%PDF")}}, sender.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if report.Summary != test.want || report.Failed() != test.failed {
				t.Errorf("got  %q (failed %v)\nwant %q (failed %v)", report.Summary, report.Failed(), test.want, test.failed)
			}
			if len(report.Files) == 0 || report.Files[0].Status == "" {
				t.Errorf("parts without a status: %+v", report.Files)
			}
		})
	}
}

func TestCallAnswersInTimeWithTheTrueState(t *testing.T) {
	short := func(c *sender.Config) { c.Wait = 30 * time.Millisecond }
	t.Run("the host does not run", func(t *testing.T) {
		h := fakehost.New(t, nil)
		report, err := newSender(t, h, short).SendText(t.Context(), "hello", sender.Options{})
		if err != nil || report.Status != "queued" || !strings.HasPrefix(report.Summary, "Not taken by the host yet: the text.") {
			t.Errorf("report %+v, error %v", report, err)
		}
	})
	t.Run("it is on its way", func(t *testing.T) {
		h := fakehost.New(t, func(fakehost.Request) []ipc.Result {
			return []ipc.Result{{Status: ipc.Queued, Progress: &ipc.Progress{Sent: 1000, Total: 4000}}}
		})
		s := newSender(t, h, func(c *sender.Config) { c.Wait = time.Second })
		report, err := s.SendText(t.Context(), "hello", sender.Options{})
		if err != nil || !strings.Contains(report.Summary, "Still on its way after 1s: the text (1,000 bytes of 3.9 KB).") ||
			!strings.Contains(report.Summary, "do not send it again") || !strings.Contains(report.Summary, report.ID) {
			t.Fatalf("report %+v, error %v", report, err)
		}
		h.Write(report.ID, ipc.Result{Status: ipc.Delivered})
		if report, err = s.Status(report.ID); err != nil || report.Status != "delivered" {
			t.Errorf("asked later: %+v, error %v", report, err)
		}
	})
	t.Run("the host gives no receipts", func(t *testing.T) {
		h := fakehost.New(t, nil)
		if err := os.Remove(filepath.Join(h.IPC, "results")); err != nil {
			t.Fatal(err)
		}
		s := newSender(t, h, nil)
		report, err := s.SendText(t.Context(), "hello", sender.Options{})
		if err != nil || report.Status != "queued" || !strings.Contains(report.Summary, "gives no receipts") {
			t.Errorf("report %+v, error %v", report, err)
		}
		if _, err := s.Status(report.ID); err == nil || !strings.Contains(err.Error(), "no receipts") {
			t.Errorf("status: %v", err)
		}
	})
}

func TestCancelTakesBackWhatTheHostHasNotAccepted(t *testing.T) {
	start := func(t *testing.T, h *fakehost.Host) (cancel context.CancelCauseFunc, done chan sender.Report) {
		ctx, cancel := context.WithCancelCause(t.Context())
		done = make(chan sender.Report, 1)
		s, path := newSender(t, h, nil), h.File("elsewhere/a.pdf", "%PDF")
		go func() {
			report, err := s.SendFiles(ctx, []sender.File{{Path: path}}, sender.Options{})
			if err != nil {
				t.Error(err)
			}
			done <- report
		}()
		return cancel, done
	}
	t.Run("not accepted yet", func(t *testing.T) {
		h := fakehost.New(t, nil)
		cancel, done := start(t, h)
		h.Next()
		cancel(nil)
		if report := <-done; report.Status != "withdrawn" || len(h.Pending())+len(h.Staged()) > 0 {
			t.Errorf("report %+v, left: %q %q", report, h.Pending(), h.Staged())
		}
	})
	t.Run("accepted", func(t *testing.T) {
		h := fakehost.New(t, nil)
		cancel, done := start(t, h)
		r := h.Next()
		h.Write(r.ID, ipc.Result{Status: ipc.Queued})
		h.Take(r.ID)
		cancel(nil)
		if report := <-done; report.Status != "queued" || len(h.Staged()) != 1 {
			t.Errorf("report %+v, staged %q", report, h.Staged())
		}
	})
	t.Run("the program leaves", func(t *testing.T) {
		h := fakehost.New(t, nil)
		cancel, done := start(t, h)
		h.Next()
		cancel(sender.ErrKeep)
		if report := <-done; report.Status != "queued" || len(h.Pending()) != 1 || len(h.Staged()) != 1 {
			t.Errorf("report %+v, left: %q %q", report, h.Pending(), h.Staged())
		}
	})
	t.Run("before the call", func(t *testing.T) {
		h := fakehost.New(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := newSender(t, h, nil).SendText(ctx, "hello", sender.Options{}); !errors.Is(err, context.Canceled) || len(h.Pending()) > 0 {
			t.Errorf("error %v, left %q", err, h.Pending())
		}
	})
}

func TestContentIsDecodedStrictly(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	s := newSender(t, h, nil)
	if _, err := s.SendContent(t.Context(), "JVBERi0xLjQ=", sender.File{Name: "a.pdf"}, sender.Options{}); err != nil {
		t.Fatal(err)
	}
	if r := h.Next(); r.Files[0].Name != "a.pdf" || !strings.HasPrefix(r.Files[0].Path, "/workspace/ipc/files/") {
		t.Errorf("request %+v", r)
	}
	for name, test := range map[string]struct{ content, name, words string }{
		"nothing":                    {"", "a.pdf", "is empty"},
		"no name":                    {"JVBERi0xLjQ=", " ", "no name"},
		"data prefix":                {"data:application/pdf;base64,JVBERi0xLjQ=", "a.pdf", `give only what follows`},
		"no padding":                 {"JVBERi0xLjQ", "a.pdf", "no valid base64"},
		"bits too many":              {"JVBERi0xLjR=", "a.pdf", "no valid base64"},
		"URL alphabet":               {"_-8=", "a.pdf", "standard base64"},
		"garbage":                    {"JVBE*i0x", "a.pdf", "at character 5"},
		"too large":                  {strings.Repeat("A", 28<<20), "a.pdf", "a call may carry"},
		"over the limit of its kind": {strings.Repeat("A", 6<<20), "a.pdf", "documents up to 4 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.SendContent(t.Context(), test.content, sender.File{Name: test.name}, sender.Options{})
			var p *sender.Problem
			if !errors.As(err, &p) || !strings.Contains(p.Error(), test.words) {
				t.Errorf("got %v, want a problem with %q", err, test.words)
			}
		})
	}
}

func TestTextThatCannotBeAMessageIsRefused(t *testing.T) {
	h := fakehost.New(t, nil)
	s := newSender(t, h, nil)
	for name, text := range map[string]string{
		"empty": " \n", "not UTF-8": "a\xff", "too long": strings.Repeat("x", 70<<10), "NUL": "a\x00b",
	} {
		var p *sender.Problem
		if _, err := s.SendText(t.Context(), text, sender.Options{}); !errors.As(err, &p) {
			t.Errorf("%s: got %v, want a problem", name, err)
		}
	}
	if len(h.Pending()) > 0 {
		t.Errorf("queued nevertheless: %q", h.Pending())
	}
}

func TestStatusOfANonsenseIDIsAProblem(t *testing.T) {
	h := fakehost.New(t, nil)
	s := newSender(t, h, nil)
	for _, id := range []string{"", "../../etc/passwd", "no-such-id", ".hidden", "a/b"} {
		var p *sender.Problem
		if _, err := s.Status(id); !errors.As(err, &p) {
			t.Errorf("%q: got %v, want a problem", id, err)
		}
	}
}

func TestMissingQueueIsNamed(t *testing.T) {
	s := sender.New(sender.Config{IPC: filepath.Join(t.TempDir(), "ipc"), Wait: time.Second})
	var p *sender.Problem
	if _, err := s.SendText(t.Context(), "hello", sender.Options{}); !errors.As(err, &p) || p.Code != "no_queue" {
		t.Errorf("send: %v", err)
	}
	if info := s.Info("1"); info.Working || !strings.HasPrefix(info.Summary, "Not working: there is no queue") {
		t.Errorf("info %+v", info)
	}
	if err := s.Writable(); err == nil {
		t.Error("says that it can write there")
	}
}

func TestInfoSaysWhatIsTheMatter(t *testing.T) {
	h := fakehost.New(t, nil)
	s := newSender(t, h, nil)
	if info := s.Info("1.0"); !info.Working || !info.Connected ||
		!strings.HasPrefix(info.Summary, "Working: this group's chat is web:family on web, which is connected. Largest files: audio 1 MB, document 4 MB") {
		t.Errorf("connected: %+v", info)
	}
	down := fakehost.Context()
	down.Connected = false
	h.Tell(down)
	if info := s.Info("1.0"); !strings.Contains(info.Summary, "web is not connected") {
		t.Errorf("not connected: %+v", info)
	}
	old := h.File("ipc/messages/.old", `{"type":"message","text":"hello"}`)
	past := time.Now().Add(-time.Hour)
	if err := errors.Join(os.Chtimes(old, past, past), os.Rename(old, filepath.Join(h.IPC, "messages/old.json"))); err != nil {
		t.Fatal(err)
	}
	if info := s.Info("1.0"); info.Working || info.Pending != 1 || !strings.Contains(info.Summary, "does not take requests: 1 waiting") {
		t.Errorf("host that does not run: %+v", info)
	}
}

func TestEnvironmentThatMakesNoSenseIsNamed(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"wait":           {"LONGSHORE_WAIT": "soon"},
		"wait of zero":   {"LONGSHORE_WAIT": "0s"},
		"mounts":         {"LONGSHORE_MOUNTS": "{"},
		"relative mount": {"LONGSHORE_MOUNTS": `[{"path":"/workspace/group","local":"group"}]`},
	} {
		if _, err := sender.FromEnv(func(key string) string { return env[key] }); err == nil || !strings.Contains(err.Error(), "LONGSHORE_") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	config, err := sender.FromEnv(func(key string) string {
		return map[string]string{"NANOCLAW_CHAT_JID": "1@g.us", "NANOCLAW_IS_MAIN": "1", "NANOCLAW_GROUP_FOLDER": "main"}[key]
	})
	want := sender.Config{IPC: "/workspace/ipc", Chat: "1@g.us", Folder: "main", Main: true, Wait: 45 * time.Second}
	if diff := cmp.Diff(want, config); diff != "" || err != nil {
		t.Errorf("older names (-want +got):\n%s%v", diff, err)
	}
}
