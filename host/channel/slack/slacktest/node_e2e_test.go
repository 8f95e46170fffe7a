//go:build e2e

package slacktest

import (
	"testing"

	"github.com/longshore-bridge/longshore/internal/npmtest"
)

// nodeClient is Slack's own client for Node.
type nodeClient struct {
	*npmtest.Program
	calls int
}

type nodeLine struct {
	Call   int
	Answer map[string]any
	Error  string
	Event  struct {
		Event   map[string]any
		Type    string
		Actions []map[string]any
	}
	Attempt int
}

func newNodeClient(t *testing.T, s *Server) *nodeClient {
	return &nodeClient{Program: npmtest.Start(t, programs, "testdata/slack-node/clients.mjs", s.URL(), s.BotToken, s.AppToken)}
}

// call calls a method, and returns the answer or the refusal.
func (c *nodeClient) call(t *testing.T, method string, args object) (object, string) {
	t.Helper()
	c.calls++
	c.Say(t, object{"call": c.calls, "method": method, "args": args})
	var l nodeLine
	if c.Next(t, &l); l.Call != c.calls {
		t.Fatalf("%+v is no answer", l)
	}
	return l.Answer, l.Error
}

func TestSlacksOwnWebClientUploadsIntoAThread(t *testing.T) {
	s := New(t)
	ch := s.AddChannel(Public, "team")
	parent := s.Post(ch, s.AddUser("anna"), "question")
	c := newNodeClient(t, s)
	_, refused := c.call(t, "files.uploadV2", object{
		"channel_id": ch, "thread_ts": parent, "initial_comment": "here",
		"file_uploads": []object{
			{"file": []byte("first"), "filename": "a.txt", "title": "the first"},
			{"file": []byte("second"), "filename": "b.bin"},
		},
	})
	if refused != "" {
		t.Fatal(refused)
	}
	m := s.WaitFor(t, ch, 1)[0]
	if m.Thread != parent || m.Text != "here" || len(m.Files) != 2 {
		t.Fatalf("the message is %+v", m)
	}
	a, b := m.Files[0], m.Files[1]
	if string(a.Bytes(t)) != "first" || a.Title != "the first" || string(b.Bytes(t)) != "second" || b.Name != "b.bin" {
		t.Errorf("the files are %+v", m.Files)
	}
}

func TestSlacksOwnWebClientUnderstandsAnswersAndRefusals(t *testing.T) {
	s := New(t)
	ch := s.AddChannel(Private, "team")
	c := newNodeClient(t, s)
	if _, refused := c.call(t, "chat.postMessage", object{
		"channel": ch, "text": "a", "metadata": object{"event_type": "e", "event_payload": object{"id": "1"}},
	}); refused != "" {
		t.Fatal(refused)
	}
	got, refused := c.call(t, "conversations.history", object{"channel": ch, "include_all_metadata": true})
	messages, ok := got["messages"].([]any)
	if !ok || len(messages) != 1 || refused != "" {
		t.Fatalf("history is %v %s", got, refused)
	}
	if payload := messages[0].(map[string]any)["metadata"].(map[string]any)["event_payload"].(map[string]any); payload["id"] != "1" {
		t.Errorf("metadata is %v", payload)
	}
	s.Archive(ch)
	if _, refused := c.call(t, "chat.postMessage", object{"channel": ch, "text": "b"}); refused != "is_archived" {
		t.Errorf("refused with %q", refused)
	}
}

func TestSlacksOwnWebClientChangesMessages(t *testing.T) {
	s := New(t)
	ch := s.AddChannel(Public, "team")
	c := newNodeClient(t, s)
	call := func(method string, args object, want string) object {
		t.Helper()
		answer, refused := c.call(t, method, args)
		if refused != want {
			t.Errorf("%s says %q, want %q", method, refused, want)
		}
		return answer
	}
	call("files.uploadV2", object{"channel_id": ch, "file_uploads": []object{{"file": []byte("first"), "filename": "a.txt"}}, "initial_comment": "a"}, "")
	m := s.WaitFor(t, ch, 1)[0]
	at, item := object{"channel": ch, "ts": m.TS}, object{"channel": ch, "timestamp": m.TS, "name": "wave::skin-tone-3"}
	call("chat.update", object{"channel": ch, "ts": m.TS, "text": "b", "parse": "none", "file_ids": []string{m.Files[0].ID}, "blocks": []any{}}, "")
	if m = s.FromBot(ch)[0]; m.Text != "b" || len(m.Files) != 1 {
		t.Errorf("edited is %+v", m)
	}
	call("chat.update", object{"channel": ch, "ts": m.TS, "text": "b", "unfurl_links": true}, "invalid_arg_name")
	call("reactions.add", item, "")
	call("reactions.add", item, "already_reacted")
	got := call("reactions.get", object{"channel": ch, "timestamp": m.TS, "full": true}, "")
	if all, _ := got["message"].(map[string]any)["reactions"].([]any); len(all) != 1 || all[0].(map[string]any)["name"] != item["name"] {
		t.Errorf("the reactions are %v", got)
	}
	call("reactions.remove", item, "")
	call("reactions.remove", item, "no_reaction")
	call("files.delete", object{"file": m.Files[0].ID}, "")
	call("files.delete", object{"file": m.Files[0].ID}, "file_deleted")
	call("chat.delete", at, "")
	call("chat.delete", at, "message_not_found")
}

func TestSlacksOwnClientsUnderstandButtons(t *testing.T) {
	s := New(t)
	anna := s.AddUser("anna")
	ch := s.AddChannel(Public, "team")
	c := newNodeClient(t, s)
	row := object{"type": "actions", "elements": []object{{"type": "button", "action_id": "a", "text": object{"type": "plain_text", "text": "Monday", "emoji": false}}}}
	if _, refused := c.call(t, "chat.postMessage", object{"channel": ch, "text": "which?", "blocks": []object{row}}); refused != "" {
		t.Fatal(refused)
	}
	if _, refused := c.call(t, "chat.postMessage", object{"channel": ch, "text": "which?", "blocks": []object{{"type": "actions"}}}); refused != "invalid_blocks" {
		t.Errorf("a row without buttons is refused with %q", refused)
	}
	ts := s.FromBot(ch)[0].TS
	if !s.Press(ch, anna, ts, "Monday") || s.Press(ch, anna, ts, "Tuesday") {
		t.Error("the wrong buttons are there")
	}
	if _, refused := c.call(t, "chat.update", object{"channel": ch, "ts": ts, "text": "Monday it is"}); refused != "" || len(s.FromBot(ch)[0].Blocks) != 0 {
		t.Errorf("%s; left is %+v", refused, s.FromBot(ch)[0])
	}
	c.Say(t, object{"call": 0, "method": "listen"})
	var l nodeLine
	for l.Event.Type != "block_actions" { // the answer and the messages come, too
		l = nodeLine{}
		c.Next(t, &l)
	}
	if len(l.Event.Actions) != 1 || l.Event.Actions[0]["action_id"] != "a" {
		t.Errorf("the press is %+v", l)
	}
	s.Wait(t, "the acknowledgement", func() bool { return s.Unacknowledged() == 0 })
}

func TestSlacksOwnSocketClientLosesNoEvent(t *testing.T) {
	s := New(t)
	ch := s.AddChannel(Direct, s.AddUser("anna"))
	c := newNodeClient(t, s)
	if _, refused := c.call(t, "listen", nil); refused != "" {
		t.Fatal(refused)
	}
	for _, reason := range []string{"refresh_requested", "warning", ""} {
		s.Disconnect(reason)
		text := "after " + reason
		s.Post(ch, "U1", text)
		for heard := false; !heard; { // an event may come twice if its connection breaks
			var l nodeLine
			c.Next(t, &l)
			heard = l.Event.Event["text"] == text && l.Event.Event["channel_type"] == "im"
		}
	}
	s.Wait(t, "the acknowledgements", func() bool { return s.Unacknowledged() == 0 })
}
