package directive_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/agentrunner/agent/directive"
	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/ipc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// says is an assistant that always answers the same.
type says string

func (s says) Turn(context.Context, agent.Turn) (agent.Reply, error) {
	return agent.Reply{Text: string(s), Session: "s-1"}, nil
}

func answer(t *testing.T, h *fakehost.Host, text string, env ...string) string {
	t.Helper()
	turn := agent.Turn{Env: append(append(h.Env(), "LONGSHORE_WAIT=2m"), env...)}
	reply, err := directive.Agent{Next: says(text)}.Turn(t.Context(), turn)
	if err != nil || reply.Session != "s-1" {
		t.Fatalf("reply %+v, error %v", reply, err)
	}
	return reply.Text
}

func TestFilesNamedInTheAnswerAreSentAndLeaveTheText(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	h.File("group/chart.png", "\x89PNG\r\n\x1a\n")
	h.File("group/b c.pdf", "%PDF-1.4")
	got := answer(t, h, "Here is the chart.\nMEDIA:/workspace/group/chart.png\nAnd the rest:\n  MEDIA: `/workspace/group/b c.pdf` \nBye.")
	if got != "Here is the chart.\nAnd the rest:\nBye." {
		t.Errorf("text %q", got)
	}
	var paths []string
	for range 2 {
		paths = append(paths, h.Next().Files[0].Path)
	}
	if diff := cmp.Diff([]string{"/workspace/group/chart.png", "/workspace/group/b c.pdf"}, paths); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestOtherFormsOfADirectiveAreUnderstood(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	h.File("group/a b.png", "\x89PNG\r\n\x1a\n")
	h.File("group/chart.png", "\x89PNG\r\n\x1a\n")
	type file struct{ path, alt string }
	for line, want := range map[string]file{
		"![Visits, by month](/workspace/group/chart.png)":                  {"/workspace/group/chart.png", "Visits, by month"},
		"![](/workspace/group/a%20b.png)":                                  {"/workspace/group/a b.png", ""},
		"![a](</workspace/group/a b.png>)":                                 {"/workspace/group/a b.png", "a"},
		`![a](/workspace/group/chart.png "The chart")`:                     {"/workspace/group/chart.png", "a"},
		"  ![a](file:///workspace/group/chart.png)  ":                      {"/workspace/group/chart.png", "a"},
		"[HERDCTL_FILE_SEND] /workspace/group/chart.png":                   {"/workspace/group/chart.png", ""},
		"[HERDCTL_FILE_SEND]`/workspace/group/a b.png`":                    {"/workspace/group/a b.png", ""},
		"![" + strings.Repeat("ü", 2000) + "](/workspace/group/chart.png)": {"/workspace/group/chart.png", strings.Repeat("ü", 249) + "…"},
	} {
		if got := answer(t, h, "Here.\n"+line+"\nBye."); got != "Here.\nBye." {
			t.Errorf("%s: text %q", line, got)
			continue
		}
		f := h.Next().Files[0]
		if got := (file{f.Path, f.Alt}); got != want {
			t.Errorf("%s: got %+v", line, got)
		}
	}
}

// A model repeats what a member wrote.
func TestDirectiveSendsNoFileFromOutsideTheGroupsDirectories(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	key := h.File("ssh/id_rsa", "-----BEGIN PRIVATE KEY-----")
	h.File("home/claude/.credentials.json", "{}")
	if err := os.Symlink(key, filepath.Join(h.Root, "group/link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{key, "file://" + key, "/workspace/group/link", "/workspace/group/../ssh/id_rsa", filepath.Join(h.Root, "home/claude/.credentials.json"), "/etc/passwd"} {
		got := answer(t, h, "Here.\nMEDIA:"+path, "LONGSHORE_AGENT_HOME="+filepath.Join(h.Root, "home"))
		if !strings.Contains(got, "was not sent") || !strings.Contains(got, "/workspace/group") {
			t.Errorf("%s: %q", path, got)
		}
	}
	if len(h.Pending())+len(h.Staged()) > 0 {
		t.Errorf("written nevertheless: %q, %q", h.Pending(), h.Staged())
	}
}

// twice is an assistant that says its answer before the end of its turn too.
type twice struct{ says }

func (w twice) Turn(ctx context.Context, t agent.Turn) (agent.Reply, error) {
	if err := t.Say(agent.Reply{Text: string(w.says)}); err != nil {
		return agent.Reply{}, err
	}
	return w.says.Turn(ctx, t)
}

func TestFilesNamedBeforeTheLastAnswerAreSentToo(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	h.File("group/chart.png", "\x89PNG\r\n\x1a\n")
	var said []string
	turn := agent.Turn{Env: append(h.Env(), "LONGSHORE_WAIT=2m"), Say: func(r agent.Reply) error {
		said = append(said, r.Text)
		return nil
	}}
	reply, err := directive.Agent{Next: twice{"Here.\nMEDIA:/workspace/group/chart.png"}}.Turn(t.Context(), turn)
	if diff := cmp.Diff([]string{"Here.", "Here."}, append(said, reply.Text)); diff != "" || err != nil {
		t.Errorf("answers (-want +got):\n%s%v", diff, err)
	}
	for range 2 {
		h.Next()
	}
}

func TestAudioGoesAsVoiceWhereItCan(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	h.File("group/a.ogg", "OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x13OpusHead\x01\x01")
	h.File("group/b.mp3", "ID3\x03\x00\x00\x00\x00\x00\x00")
	h.File("group/c.pdf", "%PDF-1.4")
	got := answer(t, h, "MEDIA:/workspace/group/a.ogg\nMEDIA:/workspace/group/b.mp3\nMEDIA:/workspace/group/c.pdf\n[[audio_as_voice]]\n")
	if got != "" {
		t.Errorf("text %q", got)
	}
	for _, want := range []string{"voice", "", ""} {
		if r := h.Next(); r.Files[0].As != want {
			t.Errorf("%s goes as %q, want %q", r.Files[0].Name, r.Files[0].As, want)
		}
	}
}

func TestWhatIsNoDirectiveStaysInTheText(t *testing.T) {
	h := fakehost.New(t, nil)
	for _, text := range []string{
		"Write MEDIA:/a.pdf on a line of its own.",
		"```\nMEDIA:/workspace/group/a.pdf\n```",
		"~~~\n```\nMEDIA:/workspace/group/a.pdf\n~~~",
		"MEDIA:https://example.org/a.png",
		"MEDIA:",
		"media:/a.pdf",
		"say [[audio_as_voice]] now",
		"![chart](https://example.org/a.png)",
		"![chart](HTTP://example.org/a.png 'title')",
		"![chart](data:image/png;base64,AAAA)",
		"![chart](cid:a.png)",
		"![chart]()",
		"![chart](a.png) and more",
		"![one](a.png) ![two](b.png)",
		"[chart](/workspace/group/a.pdf)",
		"```\n![chart](/workspace/group/a.png)\n[HERDCTL_FILE_SEND] /workspace/group/a.png\n```",
		"[HERDCTL_FILE_SEND] https://example.org/a.png",
		"see [HERDCTL_FILE_SEND] /workspace/group/a.png",
		"",
		"  two\n\nparagraphs ",
	} {
		if got := answer(t, h, text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	off := "MEDIA:/workspace/group/a.pdf"
	if got := answer(t, h, off, "LONGSHORE_DIRECTIVES=0"); got != off {
		t.Errorf("turned off, %q became %q", off, got)
	}
	if len(h.Pending()) > 0 {
		t.Errorf("in the queue: %q", h.Pending())
	}
}

func TestMembersAreToldOfAFileThatWasNotSent(t *testing.T) {
	h := fakehost.New(t, func(fakehost.Request) []ipc.Result {
		return []ipc.Result{{Status: ipc.Refused, Code: "rate_limited", Message: "too many files in an hour", Hint: "try again later"}}
	})
	h.File("group/a.pdf", "%PDF-1.4")
	got := answer(t, h, "Done.\nMEDIA:/workspace/group/a.pdf\nMEDIA:/workspace/group/none.pdf")
	for _, want := range []string{"Done.\n(a.pdf: Not sent: too many files in an hour. Try again later.", "(none.pdf was not sent. There is no file"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(got, h.Root) {
		t.Errorf("it tells where the host keeps things: %q", got)
	}
}

func TestMoreFilesThanOneAnswerMayNameAreLeftOut(t *testing.T) {
	h := fakehost.New(t, fakehost.Sent)
	h.File("group/a.pdf", "%PDF-1.4")
	got := answer(t, h, strings.Repeat("MEDIA:/workspace/group/a.pdf\n", ipc.MaxFiles+2))
	if strings.Count(got, "was not sent: more than 32 files") != 2 {
		t.Errorf("text %q", got)
	}
}

func FuzzAnswersWithoutDirectivesAreLeftAlone(f *testing.F) {
	for _, text := range []string{"a\r\nb", "```\nMEDIA:x\n", "~~~ ``` MEDIA:", "\nMEDIA:\n", "[[audio_as_voice]] ", "x ![a](b.png)", "[a](b)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for line := range strings.Lines(text) {
			bare := strings.TrimSpace(line)
			if strings.HasPrefix(bare, "MEDIA:") || strings.HasPrefix(bare, "[HERDCTL_FILE_SEND]") || strings.HasPrefix(bare, "![") || bare == "[[audio_as_voice]]" {
				t.Skip("it may have some")
			}
		}
		reply, err := directive.Agent{Next: says(text)}.Turn(t.Context(), agent.Turn{})
		if err != nil || reply.Text != text {
			t.Errorf("%q became %q: %v", text, reply.Text, err)
		}
	})
}

// Whatever a picture's line holds, it never makes the answer larger than its
// refusal, nor sends a web address.
func FuzzPictures(f *testing.F) {
	for _, line := range []string{"![a](b.png)", "![](<a b>)", `![a](b "c")`, "![a](x:y)", "![](%2e%2e/a)", "![a](\"\")", "![](%ff)"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		path := directive.PathIn(line)
		if lower := strings.ToLower(path); strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://") || strings.ContainsAny(path, "\n") {
			t.Errorf("%q names %q", line, path)
		}
	})
}
