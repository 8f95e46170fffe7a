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
	config.Wait = 2 * time.Minute
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
	temp := h.File("tmp/chart.png", "\x89PNG temporary")
	inside := h.File("group/data.pdf", "%PDF linked")
	if err := os.Link(inside, filepath.Join(h.Root, "group/second.pdf")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(temp, filepath.Join(h.Root, "group/link.png")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ path, shown, content string }{
		"in the temporary directory": {temp, "chart.png", "\x89PNG temporary"},
		"hard link":                  {inside, "data.pdf", "%PDF linked"},
		"link there":                 {filepath.Join(h.Root, "group/link.png"), "link.png", "\x89PNG temporary"},
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

// A file in a drop directory of the assistant's own lies elsewhere on the host,
// which would open another assistant's file of that name.
func TestFileInADropDirectoryOfOnesOwnIsCopied(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	h.File("group/outbox/report.pdf", "%PDF-1.4 content")
	for own, want := range map[bool]string{true: "/workspace/ipc/files/", false: "/workspace/group/outbox/report.pdf"} {
		s := newSender(t, h, func(c *sender.Config) { c.DropDir = own })
		if _, err := s.SendFiles(t.Context(), []sender.File{{Path: "/workspace/group/outbox/report.pdf"}}, sender.Options{}); err != nil {
			t.Fatal(err)
		}
		if r := h.Next(); !strings.HasPrefix(r.Files[0].Path, want) {
			t.Errorf("own %t: the host is to open %s", own, r.Files[0].Path)
		}
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
	want := []ipc.FileRef{{Path: "/workspace/group/v2/report.pdf", Name: "latest.pdf", From: link}}
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
	h.File("tmp/big.pdf", "%PDF-1.4\n"+strings.Repeat("x", 5<<20))
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
		"FIFO":                      {"pipe", "not_regular", "not a plain file"},
		"device":                    {"/dev/zero", "not_mounted", "outside the directories"},
		"loop":                      {"loop", "not_found", "leads back to itself"},
		"empty":                     {"empty.pdf", "empty_file", "is empty"},
		"picture that is too big":   {"photo.png", "file_too_large", "photo.png is 2 MiB; web takes images up to 1 MiB: send it as a document"},
		"document too big":          {"big.pdf", "file_too_large", "big.pdf is 5 MiB; web takes documents up to 4 MiB: make it smaller"},
		"too big to stage":          {filepath.Join(h.Root, "tmp/big.pdf"), "file_too_large", "make it smaller"},
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

func TestChangedNameIsToldInTheAnswer(t *testing.T) {
	h := fakehost.New(t, func(r fakehost.Request) []ipc.Result { // which sees the new name alone
		return []ipc.Result{{Status: ipc.Sent, Parts: []ipc.Outcome{{Name: r.Files[0].Name, Kind: "document", Size: 4, Status: ipc.Sent}}}}
	})
	report, err := newSender(t, h, nil).SendFiles(t.Context(), []sender.File{{Path: h.File("group/a.pdf", "%PDF"), Name: "Q4: Rep/ort?.pdf"}}, sender.Options{})
	if err != nil || report.Files[0].Name != "Q4_ Rep_ort_.pdf" || !strings.Contains(report.Summary, `its name is "Q4_ Rep_ort_.pdf" now`) {
		t.Errorf("report %+v, error %v", report, err)
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
