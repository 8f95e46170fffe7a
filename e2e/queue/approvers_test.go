package queue

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// approving is a host on which the files of g0 wait for a yes of the member U1 in the
// chat of g1.
type approving struct {
	*stage.Site
	h   *serve.Host
	mem *memory.Channel
}

const officer = "U1"

func newApproving(t *testing.T, limits media.Limits) *approving {
	t.Helper()
	s := stage.NewSite(t, t.TempDir(), 2, stage.NoLimits)
	s.Cfg.Groups[0].Approve = groups.Approve{Files: true}
	s.Cfg.Approval = config.Approval{Group: "g1", Members: []string{officer}}
	a := &approving{Site: s, mem: memory.New(memory.Options{Online: true, Limits: limits})}
	a.h, _ = s.Start(nil, a.mem)
	return a
}

// asks has g0 send a file, waits until the approvers' chat has n messages, and returns
// the request, its delivery and the newest message.
func (a *approving) asks(name string, n int) (id string, d records.Delivery, question memory.Seen) {
	a.Helper()
	stage.Write(a.TB.(*testing.T), filepath.Join(a.Cfg.Layout().Workspace("g0"), name), "the bytes of "+name)
	id, err := a.Client("g0").Enqueue(context.Background(), ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/group/" + name}}})
	if err != nil {
		a.Fatal(err)
	}
	seen := a.shown("mem:g1", n)
	stage.Eventually(a.TB.(*testing.T), "the question is recorded as sent: until then votes pass", func() bool {
		open, err := a.h.Outbox.List(context.Background(), records.Filter{Folder: "g1", State: records.FilterOpen})
		return err == nil && len(open) == 0
	})
	if d, err = a.h.Outbox.Get(context.Background(), id); err != nil {
		a.Fatal(err)
	}
	return id, d, seen[n-1]
}

func (a *approving) shown(chat groups.JID, n int) []memory.Seen {
	a.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stage.Patience)
	defer cancel()
	seen, err := a.mem.WaitShown(ctx, chat, n)
	if err != nil {
		a.Fatalf("%s has %d messages of %d: %v", chat, len(seen), n, err)
	}
	return seen
}

func (a *approving) says(m channel.Inbound) {
	a.Helper()
	if m.Chat == "" {
		m.Chat = "mem:g1"
	}
	if err := a.mem.Say(context.Background(), m); err != nil {
		a.Fatal(err)
	}
}

func (a *approving) waits(id string) {
	a.Helper()
	if d, err := a.h.Outbox.Get(context.Background(), id); err != nil || !d.Waits() {
		a.Fatalf("it does not wait: %+v, %v", d, err)
	}
}

// On a platform without polls the named member types the id. Nobody else's words count:
// not another member's who took the name, not a forwarded yes, not one in another chat.
func TestANamedMemberApprovesByWords(t *testing.T) {
	a := newApproving(t, media.Limits{})
	request, d, question := a.asks("plan.txt", 1)
	id := regexp.MustCompile(`[0-9a-f]{32}`).FindString(question.Text)
	if id == "" || strings.Contains(question.Text, d.Key) || !strings.Contains(question.Text, "plan.txt") || !strings.Contains(question.Text, "approve.files") {
		t.Fatalf("the chat is asked %q", question.Text)
	}
	for _, m := range []channel.Inbound{
		{Sender: "U2", From: officer, Text: "yes " + id}, {From: officer, Text: "yes " + id},
		{Sender: officer, Text: "yes " + id, Forwarded: true}, {Sender: officer, Text: "yes " + id, Chat: "mem:g0"},
		{Sender: officer, Text: "yes " + d.Key}, {Sender: officer, Text: "yes"}, {Sender: officer, Text: "yes " + strings.Repeat("0", 32)},
	} {
		a.says(m)
		a.waits(request)
	}
	a.says(channel.Inbound{Sender: officer, From: "Ann", Text: "Yes " + id})
	if r := a.Result("g0", request); r.Status != ipc.Sent {
		t.Errorf("after the yes: %+v", r)
	}
	if seen := a.shown("mem:g1", 2); !strings.HasPrefix(seen[1].Text, "Approved") {
		t.Errorf("the chat reads %q", seen[1].Text)
	}
	a.says(channel.Inbound{Sender: officer, Text: "no " + id})
	if seen := a.shown("mem:g1", 3); !strings.HasPrefix(seen[2].Text, "Somebody has answered before") {
		t.Errorf("the chat reads %q", seen[2].Text)
	}
	stage.Eventually(t, "the trail has who approved it", func() (found bool) {
		err := audit.Search(t.Context(), audit.Files(a.Cfg.Layout().Audit()), func(e audit.Entry) error {
			found = found || e.Event == "approved" && e.Request == request && strings.Contains(e.Message, officer)
			return nil
		})
		return err == nil && found
	})
}

// Whoever said yes saw the first 200 characters, or in the chat none of them.
func TestWordsThatWaitForAYesWereCut(t *testing.T) {
	s := stage.NewSite(t, t.TempDir(), 2, stage.NoLimits)
	stage.Write(t, s.Cfg.File, "state: ./state\ngroups: [{name: G0, folder: g0, chat: \"mem:g0\"}]\n") // for the command
	s.Cfg.Groups[0].Approve, s.Cfg.Groups[0].MaySendTo = groups.Approve{Foreign: true}, []string{"g1"}
	s.Cfg.Approval = config.Approval{Group: "g1", Members: []string{officer}}
	a := &approving{Site: s, mem: memory.New(memory.Options{Online: true})}
	a.h, _ = s.Start(nil, a.mem)
	words := "harmless " + strings.Repeat("and so on\n", 40) + "HIDDEN `*words*"
	id, err := a.Client("g0").Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Chat: "mem:g1", Text: words + strings.Repeat(" end", 100)})
	if err != nil {
		t.Fatal(err)
	}
	seen := strings.ReplaceAll(a.shown("mem:g1", 1)[0].Text, "`”\n“`", " ")
	if !strings.Contains(seen, "HIDDEN '*words*") || !strings.Contains(seen, "more characters that only the operator can read") {
		t.Errorf("the chat is asked %q", seen)
	}
	stage.Eventually(t, "the operator reads all", func() bool { // a host that starts asks before it answers commands
		out, code := stage.Command(t, "-c", a.Cfg.File, "approvals", "show", id)
		return code == stage.ExitOK && strings.Contains(out, "HIDDEN `*words*") && strings.Contains(out, "end end")
	})
}

// planThatWaits is a host on which a file of g0, named plan.txt, waits for the operator's yes.
func planThatWaits(t *testing.T) (s *stage.Site, h *serve.Host, id string, stop func()) {
	t.Helper()
	s = stage.NewSite(t, t.TempDir(), 1, stage.NoLimits)
	s.Cfg.Groups[0].Approve = groups.Approve{Files: true}
	h, stop = s.Start(nil, memory.New(memory.Options{Online: true}))
	stage.Write(t, filepath.Join(s.Cfg.Layout().Workspace("g0"), "plan.txt"), "as drawn")
	id, err := s.Client("g0").Enqueue(t.Context(), ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/group/plan.txt"}}})
	if err != nil {
		t.Fatal(err)
	}
	stage.Eventually(t, "it waits", func() bool {
		d, err := h.Outbox.Get(t.Context(), id)
		return err == nil && d.Waits()
	})
	return s, h, id, stop
}

// TestAnAnswerThatACrashTookFromTheTrailIsNotedAgain, once, though the file has long
// been sent.
func TestAnAnswerThatACrashTookFromTheTrailIsNotedAgain(t *testing.T) {
	s, h, id, stop := planThatWaits(t)
	if err := h.Bridge.Decide(t.Context(), id, true, "operator"); err != nil {
		t.Fatal(err)
	}
	if r := s.Result("g0", id); r.Status != ipc.Sent {
		t.Fatalf("after the yes: %+v", r)
	}
	stop()
	lines, err := filepath.Glob(filepath.Join(s.Cfg.Layout().Audit(), "*.jsonl"))
	if err != nil || len(lines) != 1 {
		t.Fatalf("the trail: %v, %v", lines, err)
	}
	if err := os.Remove(lines[0]); err != nil {
		t.Fatal(err)
	}
	for start := range 2 {
		_, stop := s.Start(nil, memory.New(memory.Options{Online: true}))
		stage.Eventually(t, "the trail has the answer and the file", func() bool { // in either order: two parts of the host note them side by side
			return cmp.Diff([]string{"approved", "sent"}, slices.Sorted(slices.Values(s.Trail(id)))) == ""
		})
		stop()
		if got := s.Trail(id); len(got) != 2 {
			t.Errorf("after start %d: %q", start+1, got)
		}
	}
}

// On a platform with polls the member presses a button; of a yes and a no at once, one
// counts, and everybody reads the same of it.
func TestANamedMemberApprovesByAPollAndOneAnswerCounts(t *testing.T) {
	limits := media.DefaultLimits()
	limits.Poll = media.PollLimit{Question: 250, Choices: 10, Choice: 50}
	a := newApproving(t, limits)
	for i, name := range []string{"a.txt", "b.txt", "c.txt"} {
		request, _, question := a.asks(name, 3*i+1)
		if question.Poll == nil || strings.Contains(question.Text, "`") || !strings.Contains(question.Text, name) {
			t.Fatalf("asked by %+v", question)
		}
		vote := func(sender, choice string) {
			a.says(channel.Inbound{Kind: channel.KindVote, Sender: sender, From: "Ann", Target: question.ID, Choices: []string{choice}})
		}
		vote("U2", bridge.ChoiceYes)
		a.waits(request)
		var both sync.WaitGroup
		for _, choice := range []string{bridge.ChoiceYes, bridge.ChoiceNo} {
			both.Go(func() { vote(officer, choice) })
		}
		both.Wait()
		r := a.Result("g0", request)
		words := map[ipc.Status]string{ipc.Sent: "Approved", ipc.Refused: "Refused"}[r.Status]
		seen := a.shown("mem:g1", 3*i+3)[3*i+1:]
		said := seen[0].Text + seen[1].Text
		if words == "" || !strings.Contains(said, words) || !strings.Contains(said, "Somebody has answered before") {
			t.Errorf("%s ended as %+v, and the chat reads %q", name, r, said)
		}
	}
}

// TestAnAnswerOfTheOperatorAfterARestartWasNotToldInTheChat: its poll stayed open for ever, and
// whoever pressed it read that somebody had answered.
func TestAnAnswerOfTheOperatorAfterARestartWasNotToldInTheChat(t *testing.T) {
	s := stage.NewSite(t, t.TempDir(), 2, stage.NoLimits)
	stage.Write(t, s.Cfg.File, "state: ./state\ngroups: [{name: G0, folder: g0, chat: \"mem:g0\"}]\n") // for the command
	s.Cfg.Groups[0].Approve = groups.Approve{Files: true}
	s.Cfg.Approval = config.Approval{Group: "g1", Members: []string{officer}}
	limits := media.DefaultLimits()
	limits.Poll = media.PollLimit{Question: 250, Choices: 10, Choice: 50}
	a := &approving{Site: s, mem: memory.New(memory.Options{Online: true, Limits: limits})}
	h, stop := s.Start(nil, memory.Acting{Channel: a.mem})
	a.h = h
	request, _, question := a.asks("plan.txt", 1)
	stop()
	a.h, _ = s.Start(nil, memory.Acting{Channel: a.mem})
	stage.Eventually(t, "the operator says yes", func() bool { // a host that starts opens its socket at the end
		_, code := stage.Command(t, "-c", s.Cfg.File, "approvals", "yes", request)
		return code == stage.ExitOK
	})
	if r := s.Result("g0", request); r.Status != ipc.Sent {
		t.Errorf("after the yes: %+v", r)
	}
	stage.Eventually(t, "the poll is closed, and the chat reads why", func() bool {
		shown := a.mem.Shown("mem:g1")
		return len(shown) == 2 && strings.HasPrefix(shown[0].Closed, "Approved") && strings.HasPrefix(shown[1].Text, "Approved") && shown[1].ReplyTo == question.ID
	})
}

// TestAnAnswerOfTheWrongPersonCountedForOnePolicy, on a whole host: members who may not speak
// for questions, members who are not named for approvals and permissions.
func TestAnAnswerOfTheWrongPersonCountedForOnePolicy(t *testing.T) {
	s := stage.NewSite(t, t.TempDir(), 2, stage.NoLimits)
	s.Cfg.Groups[0].Approve = groups.Approve{Files: true}
	s.Cfg.Groups[1].Members.Speak = groups.Who{officer}
	s.Cfg.Groups[1].Assistant, s.Cfg.Assistants = "far", map[string]config.Assistant{"far": {Runtime: config.Elsewhere, Agent: "sample"}} // nobody hears a vote for no assistant
	s.Cfg.Approval = config.Approval{Group: "g1", Members: []string{officer}}
	limits := media.DefaultLimits()
	limits.Poll = media.PollLimit{Question: 250, Choices: 10, Choice: 50}
	a := &approving{Site: s, mem: memory.New(memory.Options{Online: true, Limits: limits})}
	a.h, _ = s.Start(nil, a.mem)
	asked, err := a.Client("g1").Enqueue(t.Context(), ipc.Request{Type: ipc.TypeAsk, Text: "Which?", Choices: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	question := a.shown("mem:g1", 1)[0]
	request, _, approval := a.asks("plan.txt", 2)
	for _, poll := range []memory.Seen{question, approval} {
		for _, m := range []channel.Inbound{
			{Sender: "U2"}, {From: officer}, {Sender: officer, Forwarded: true, Choices: []string{"nonsense"}}, {Sender: officer, Chat: "mem:g0"},
		} {
			m.Kind, m.Target = channel.KindVote, poll.ID
			if m.Choices == nil {
				m.Choices = poll.Poll.Choices[:1]
			}
			a.says(m)
		}
	}
	a.waits(request)
	answers := func() []records.Answer {
		d, err := a.h.Outbox.Get(t.Context(), asked)
		if err != nil {
			t.Fatal(err)
		}
		all, err := a.h.Outbox.Reader().Answers(t.Context(), d.Key)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if all := answers(); len(all) != 0 {
		t.Errorf("counted: %+v", all)
	}
	for _, poll := range []memory.Seen{question, approval} {
		a.says(channel.Inbound{Kind: channel.KindVote, Sender: officer, From: "Ann", Target: poll.ID, Choices: poll.Poll.Choices[:1]})
	}
	if r := a.Result("g0", request); r.Status != ipc.Sent {
		t.Errorf("after the yes: %+v", r)
	}
	if all := answers(); len(all) != 1 || all[0].Name != "Ann" {
		t.Errorf("counted: %+v", all)
	}
}
