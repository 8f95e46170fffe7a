package bots

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

func TestAMemberMentionsTheAssistantInADiscordThreadAndTheReportLandsThere(t *testing.T) {
	s := discordtest.New(t)
	p := stage.NewPier(t, s, "", sampleAssistant, ", assistant: sample, gather: {after: 0s}, trigger: \"@Andy\"")
	anna, thread := s.AddUser("Anna"), s.AddThread(p.Chat, "the week")
	host := p.Serve()
	s.Post(thread, anna, "<@"+s.BotID+"> send me the report", discordtest.Says{Mentions: []string{s.BotID}})
	files := func() (all []discordtest.File) {
		for _, m := range s.FromBot(p.Chat) {
			all = append(all, m.Files...)
		}
		return all
	}
	s.Wait(t, "two files and the words", func() bool { return len(files()) == 2 && len(s.FromBot(p.Chat)) >= 2 })
	host.Stop()
	for _, m := range s.FromBot(p.Chat) {
		if m.Channel != thread {
			t.Errorf("this is not in the thread: %+v", m)
		}
	}
	for _, f := range files() {
		if got, err := os.ReadFile(filepath.Join(p.Dir, "state/groups/pier", f.Name)); err != nil || stage.Digest(got) != f.SHA256 {
			t.Errorf("%s is not what the assistant wrote: %v", f.Name, err)
		}
	}
}

func TestAVoiceNoteWithACaptionIsTwoMessagesOfDiscordAndOneReceipt(t *testing.T) {
	s := discordtest.New(t)
	p := stage.NewPier(t, s, "", "", "")
	host := p.Serve()
	note := ipc.FileRef{Path: p.File("note.ogg", probetest.Opus(150)), As: "voice", Caption: "listen"}
	r := p.Result(p.Ask(ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{note}}))
	host.Stop()
	all := s.FromBot(p.Chat)
	if r.Status != ipc.Sent || len(r.Parts) != 2 || len(all) != 2 {
		t.Fatalf("the result is %+v, and the chat shows %+v", r, all)
	}
	for _, m := range all {
		if m.Voice != (len(m.Files) == 1) || m.Voice != (m.Text == "") {
			t.Errorf("the chat shows %+v", m)
		}
	}
}
