package page

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/ipc"
)

// hangs is an assistant that never answers.
const hangs = "{agent: command, command: [sleep, \"600\"]}"

func hear(texts []string, want string) bool {
	for _, text := range texts {
		if strings.Contains(text, want) {
			return true
		}
	}
	return false
}

func TestAMemberStopsAHangingAssistantOnThePage(t *testing.T) {
	h := stage.NewChanging(t, `channels: {web: {listen: "%LISTEN%"}}
assistants: {slow: `+hangs+`, sample: {agent: sample}}
groups:
  - {folder: family, chat: "web:family", assistant: slow, gather: {after: 10s, most: 20s}}
`)
	h.Say("family", "/STATUS")
	h.Until("the status", func() bool { return hear(h.Texts("family"), "It waits for a message.") })
	h.Say("family", "work without end")
	h.Say("family", "/stop") // does not wait for the gathering
	h.Until("the end of what waited", func() bool { return hear(h.Texts("family"), "One message that waited will not be answered.") })
	h.Reload(`channels: {web: {listen: "%LISTEN%"}}
assistants: {slow: ` + hangs + `, sample: {agent: sample}}
groups:
  - {folder: family, chat: "web:family", assistant: slow, gather: {after: 0s}}
`)
	h.Say("family", "work without end")
	h.Until("the turn", func() bool {
		return stage.Count(t, h.Layout.State, turnsUnderWay, "family") > 0
	})
	ends(h, "family", enqueue(h, "family", "plan.txt", 10))
	h.Say("family", "/stop")
	h.Until("what was sent", func() bool {
		return hear(h.Texts("family"), "The assistant was stopped. Sent already: ") && hear(h.Texts("family"), "plan.txt")
	})
	before := len(h.Texts("family"))
	h.Say("family", "/new")
	h.Until("a new conversation", func() bool { return hear(h.Texts("family"), "A new conversation begins") })
	if got := h.Texts("family"); len(got) != before+1 || hear(got, "stopped unexpectedly") {
		t.Errorf("the chat heard %q", got)
	}
}

func TestAMemberStopsTheAssistantOfASlackThread(t *testing.T) {
	s := slacktest.New(t)
	chat, anna, boss := s.AddChannel(slacktest.Public, "harbour"), s.AddUser("Anna"), s.AddAdmin("Boss")
	q := stage.NewQuay(t, s, chat, "slow: "+hangs, fmt.Sprintf(", assistant: slow, gather: {after: 0s}, trigger: \"@Andy\", members: {speak: [%s, admins]}", anna))
	host := q.Serve()
	said := func(want string) func() bool {
		return func() bool {
			for _, m := range s.FromBot(chat) {
				if strings.Contains(m.Text, want) {
					return true
				}
			}
			return false
		}
	}
	me := slacktest.Mention(s.BotUser)
	mallory := s.AddUser("Anna") // with the name of one who may
	one := s.Post(chat, anna, me+" work")
	s.Wait(t, "the turn", func() bool { return turnsOf(t, q.Dir, "quay") == 1 })
	s.PostInThread(chat, one, mallory, me+" stop")
	s.Command(chat, mallory, "/longshore", "stop")
	s.Wait(t, "a refusal", said("does not read your messages"))
	s.PostInThread(chat, one, anna, me+" status")
	s.Wait(t, "the status", said("It has been working for"))
	other := s.Post(chat, anna, "another thread")
	s.PostInThread(chat, other, anna, me+" stop")
	s.Wait(t, "nothing to stop there", said("Nothing is running here."))
	s.PostInThread(chat, one, anna, me+" stop")
	s.Wait(t, "the end of the turn", said("The assistant was stopped. It had sent nothing."))
	s.Post(chat, anna, me+" work again")
	s.Wait(t, "another turn", func() bool { return turnsOf(t, q.Dir, "quay") == 1 })
	s.Command(chat, anna, "/longshore", "new")
	s.Wait(t, "a refusal", said("Only admins"))
	s.Command(chat, boss, "/longshore", "new")
	s.Wait(t, "a new conversation", said("A new conversation begins"))
	s.Wait(t, "the acknowledgement of every event", func() bool { return s.Unacknowledged() == 0 })
	host.Stop()
	refusals := 0
	for _, m := range s.FromBot(chat) {
		if strings.Contains(m.Text, "does not read your messages") {
			refusals++
		}
	}
	if n := turnsOf(t, q.Dir, "quay"); refusals != 1 || n != 0 {
		t.Errorf("%d refusals, %d turns", refusals, n)
	}
}

const turnsUnderWay = `SELECT COUNT(*) FROM turn WHERE folder = ?`

// turnsOf counts the turns that a host has recorded.
func turnsOf(t *testing.T, dir, folder string) int {
	t.Helper()
	return stage.Count(t, filepath.Join(dir, "state"), turnsUnderWay, folder)
}

// The host is killed right after a stop, and its send was under way.
func TestAStopOutlivesTheHostAndLosesNoFile(t *testing.T) {
	s := slacktest.New(t)
	chat, anna := s.AddChannel(slacktest.Direct, "Anna"), s.AddAdmin("Anna")
	q := stage.NewQuay(t, s, chat, "slow: "+hangs, ", assistant: slow, gather: {after: 0s}")
	host := q.Serve()
	s.Post(chat, anna, "work")
	s.Wait(t, "the turn", func() bool { return turnsOf(t, q.Dir, "quay") == 1 })
	s.Always("files.completeUploadExternal", slacktest.Fault{Error: "internal_error"})
	id := q.Ask(ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: q.File("plan.txt", []byte("the plan"))}}})
	s.Wait(t, "an attempt", func() bool { return s.Calls("files.completeUploadExternal") > 0 })
	s.Post(chat, anna, slacktest.Mention(s.BotUser)+" stop")
	s.Wait(t, "the turn's end", func() bool { return turnsOf(t, q.Dir, "quay") == 0 })
	host.Kill()
	s.Always("files.completeUploadExternal", slacktest.Fault{})
	host = q.Serve()
	s.Wait(t, "the file and the words", func() bool {
		return stage.FilesOf(s.FromBot(chat)) == 1 && slackHas(s, chat, "Still on the way, and not called back: `plan.txt`.") == 1
	})
	if r := q.Result(id); r.Status != ipc.Sent {
		t.Errorf("the file's result is %+v", r)
	}
	s.Post(chat, anna, slacktest.Mention(s.BotUser)+" status")
	s.Wait(t, "the status", func() bool { return slackHas(s, chat, "It waits for a message.") == 1 })
	host.Stop()
	if stage.FilesOf(s.FromBot(chat)) != 1 || slackHas(s, chat, "The assistant was stopped.") != 1 {
		t.Errorf("the chat has %+v", s.FromBot(chat))
	}
}

func slackHas(s *slacktest.Server, chat, want string) (n int) {
	for _, m := range s.FromBot(chat) {
		if strings.Contains(m.Text, want) {
			n++
		}
	}
	return n
}

// Two people of a WhatsApp group, one of them named by her number.
func TestAWhatsAppGroupsMembersStopByRight(t *testing.T) {
	t.Parallel()
	h := stage.HarbourWith(t, "", "assistant: slow, gather: {after: 0s}, members: {speak: ["+stage.AnnaNumber+"], stop: ["+stage.AnnaNumber+"]}")
	config := filepath.Join(h.Dir, "longshore.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte("direct: pairing\n"+strings.Replace(string(text), "sample: {agent: sample}", "slow: "+hangs, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	const boNumber = "4915550000009"
	bo := h.Srv.NewMember(t, boNumber, "Anna")
	h.Group = h.Srv.AddGroup(whatsapptest.Group{JID: h.Group, Members: []string{stage.AnnaNumber, stage.OurNumber, boNumber}})
	h.Link()
	host := h.Serve()
	says := func(who *whatsapptest.Member, m *waE2E.Message) {
		t.Helper()
		if _, err := who.Client.SendMessage(stage.Soon(t), h.Group, m); err != nil {
			t.Fatal(err)
		}
	}
	plain := func(text string) *waE2E.Message { return &waE2E.Message{Conversation: proto.String(text)} }
	says(h.Anna, plain("work"))
	stage.Await(t, "the turn", func() bool { return turnsOf(t, h.Dir, "crew") == 1 })
	says(bo, plain("/stop"))
	says(h.Anna, &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: proto.String("/stop"),
		ContextInfo: &waE2E.ContextInfo{IsForwarded: proto.Bool(true), ForwardingScore: proto.Uint32(1)}}})
	harbourHears(h, h.Anna, "does not read your messages")
	if turnsOf(t, h.Dir, "crew") != 1 {
		t.Fatal("a stranger or a forward stopped it")
	}
	says(h.Anna, plain("/Stop"))
	harbourHears(h, h.Anna, "The assistant was stopped.")

	// Bo, in his own chat, gets a code, which does nothing there.
	if _, err := bo.SendText(stage.Soon(t), h.Phone.JID(), "hello?"); err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`[A-Z2-7]{4}-[A-Z2-7]{4}`).FindString(harbourHears(h, bo, "tell them this code"))
	for _, text := range []string{code, "/approve " + code} {
		if _, err := bo.SendText(stage.Soon(t), h.Phone.JID(), text); err != nil {
			t.Fatal(err)
		}
	}
	if out := h.Run("groups", "requests"); !strings.Contains(out, code) || !strings.Contains(out, boNumber) || strings.Count(out, "whatsapp") < 2 {
		t.Errorf("requests: %s", out)
	}
	h.Run("groups", "approve", strings.ToLower(code), "--folder", "bo")
	harbourHears(h, bo, "The operator has let you in.")
	if _, err := bo.SendText(stage.Soon(t), h.Phone.JID(), "/new"); err != nil {
		t.Fatal(err)
	}
	harbourHears(h, bo, "A new conversation begins")
	if out, err := h.Command("groups", "approve", code).CombinedOutput(); err == nil {
		t.Errorf("a code counts twice: %s", out)
	}
	host.Stop()
	if !strings.Contains(host.Cmd.Stderr.(*bytes.Buffer).String(), "direct chat approved") {
		t.Error("the log does not say who was let in")
	}
}

// harbourHears waits until a member's client has a text, and returns it.
func harbourHears(h *stage.Harbour, who *whatsapptest.Member, want string) (text string) {
	h.T.Helper()
	stage.Await(h.T, want, func() bool {
		for _, m := range who.Messages() {
			text = m.Message.GetConversation() + m.Message.GetExtendedTextMessage().GetText()
			if strings.Contains(text, want) {
				return true
			}
		}
		return false
	})
	return text
}
