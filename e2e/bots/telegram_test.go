package bots

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/ipc"
)

func TestAMemberMentionsTheAssistantInATelegramTopicAndTheReportLandsThere(t *testing.T) {
	s := telegramtest.New(t, stage.DockChat, stage.DockDepot)
	d := newDock(t, s, fmt.Sprintf(", depot: \"tg:%d\"", stage.DockDepot), sampleAssistant, ", assistant: sample, gather: {after: 0s}, trigger: \"@Andy\"")
	host := d.Start()
	s.Tell("message", stage.DockChat, map[string]any{"from": map[string]any{"id": 77, "first_name": "Anna"}, "text": "@" + telegramtest.BotName + " send me the report",
		"message_thread_id": 42, "is_topic_message": true})
	files := 0
	for n := 1; files < 2; n++ {
		files = 0
		for _, m := range s.WaitFor(t, stage.DockChat, n) {
			files += len(m.Files)
		}
	}
	host.Stop()
	for _, m := range s.WaitFor(t, stage.DockChat, 0) {
		if m.Thread != 42 {
			t.Errorf("this is not in the topic: %+v", m)
		}
		for _, f := range m.Files {
			if got, err := os.ReadFile(filepath.Join(d.Dir, "state/groups/dock", f.Name)); err != nil || stage.Digest(got) != f.SHA256 {
				t.Errorf("%s is not what the assistant wrote: %v", f.Name, err)
			}
		}
	}
}

func TestALostAnswerOfTelegramEndsAsUncertainAndTheChatGoesOn(t *testing.T) {
	s := telegramtest.New(t, stage.DockChat)
	d := newDock(t, s, "", "", "")
	s.Next("sendMessage", telegramtest.Fault{Lost: true})
	host := d.Start()
	lost := d.Ask(ipc.Request{Type: ipc.TypeMessage, Text: "lost"})
	next := d.Ask(ipc.Request{Type: ipc.TypeMessage, Text: "next"})
	if r := d.Result(lost); r.Status != ipc.Uncertain {
		t.Errorf("the result is %+v", r)
	}
	if r := d.Result(next); r.Status != ipc.Sent {
		t.Errorf("the next one's result is %+v", r)
	}
	host.Stop()
	if all := s.WaitFor(t, stage.DockChat, 2); len(all) != 2 {
		t.Errorf("members see %+v", all)
	}
}
