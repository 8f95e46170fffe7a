package telegram_test

import (
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
)

func TestWhoSpeaksToTheBotIsHeardSo(t *testing.T) {
	in := make(inbox, 1)
	w := newWorld(t).runTo(t, in)
	bot := map[string]any{"id": telegramtest.Bot, "is_bot": true, "first_name": "Harbour"}
	for name, tt := range map[string]struct {
		of      map[string]any
		direct  bool
		command string
		thread  string
	}{
		"a word to all":              {of: map[string]any{"text": "hello @harbour_bottle"}},
		"a mention":                  {of: map[string]any{"text": "hello @Harbour_Bot, send it"}, direct: true},
		"a reply to the bot":         {of: map[string]any{"text": "thanks", "reply_to_message": map[string]any{"message_id": 5, "from": bot, "text": "here"}}, direct: true},
		"a command":                  {of: map[string]any{"text": "/stop"}, command: "stop"},
		"a command to the bot":       {of: map[string]any{"text": "/new@harbour_bot"}, command: "new"},
		"a command to another":       {of: map[string]any{"text": "/stop@other_bot"}},
		"a topic":                    {of: map[string]any{"text": "here", "message_thread_id": 7, "is_topic_message": true}, thread: "7"},
		"an answer that is no topic": {of: map[string]any{"text": "here", "message_thread_id": 7}},
	} {
		tt.of["from"] = ada
		w.Tell("message", deskID, tt.of)
		m := <-in
		if m.Direct != tt.direct || m.Command != tt.command || m.Thread != tt.thread || m.From != "Ada" || m.Sender != "77" {
			t.Errorf("%s: direct %v, command %q, thread %q, from %q %q", name, m.Direct, m.Command, m.Thread, m.From, m.Sender)
		}
	}
}

func TestAPathOfTheServersOwnDiskIsNeverOpened(t *testing.T) {
	in := make(inbox, 1)
	w := newWorld(t).runTo(t, in)
	for _, path := range []string{"/etc/hostname", "../../etc/hostname", "documents/../../x", ""} {
		w.Tell("message", deskID, map[string]any{"from": ada, "document": map[string]any{"file_id": w.Keep([]byte("x")), "file_name": "a.txt", "file_size": 1}})
		m := <-in
		w.Next("getFile", telegramtest.Fault{Status: 200, Body: `{"ok":true,"result":{"file_id":"f","file_path":"` + path + `"}}`})
		_, err := w.ch.(channel.Fetcher).Fetch(t.Context(), channel.FileRef{Chat: desk, Ref: m.Files[0].Ref})
		wantError(t, err, channel.Permanent, "not_fetchable")
	}
}
