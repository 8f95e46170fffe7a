package slack_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// dispatch sends a document of Slack's, in the chat and of Ada unless it says otherwise.
func (w *world) dispatch(t testing.TB, chat groups.JID, document map[string]any) (ts string) {
	t.Helper()
	o := map[string]any{"type": "message", "user": w.ada, "text": "", "ts": w.Now()}
	for name, value := range document {
		o[name] = value
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	w.Dispatch(id(chat), text)
	ts, _ = o["ts"].(string)
	return ts
}

// forward is a document with a message that Ada forwards.
func forward(author, text string, files ...any) map[string]any {
	return map[string]any{"attachments": []any{map[string]any{"is_share": true, "is_msg_unfurl": true, "author_name": author, "channel_id": "C0ELSE", "ts": "1699999999.000001", "text": text, "files": files}}}
}

// share is what a member sends by Slack's own apps.
func (w *world) share(t testing.TB, chat groups.JID, s channeltest.Shared) {
	t.Helper()
	var files []any
	if s.File != nil {
		files = append(files, w.AddFile(w.ada, s.File.Name, s.File.Data))
	}
	switch s.Case {
	case channeltest.Forward, channeltest.ForwardFile, channeltest.ForwardBare, channeltest.ForwardAuthor:
		w.dispatch(t, chat, forward(s.Author, escape(s.Text), files...))
	case channeltest.ForwardQuoted:
		q := forward(s.Author, s.Quote.Text, w.AddFile(w.ada, s.Quote.File.Name, s.Quote.File.Data))
		q["user"] = w.AddUser(s.Quote.From)
		w.PostInThread(id(chat), w.dispatch(t, chat, q), w.ada, s.Text)
	case channeltest.QuoteFile:
		f := s.Quote.File
		w.PostInThread(id(chat), w.Upload(id(chat), "", w.AddUser(s.Quote.From), s.Quote.Text, f.Name, f.Data), w.ada, s.Text)
	case channeltest.QuoteElsewhere:
		w.dispatch(t, chat, map[string]any{"text": s.Text, "attachments": []any{map[string]any{
			"is_msg_unfurl": true, "author_name": s.Quote.From, "channel_id": "C0ELSE", "ts": "1699999999.000001", "text": s.Quote.Text}}})
	case channeltest.HiddenLink:
		w.Post(id(chat), w.ada, strings.Replace(escape(s.Text), "article", "<"+escape(s.Address)+"|article>", 1))
	case channeltest.Photo:
		w.Upload(id(chat), "", w.ada, "", s.File.Name, s.File.Data)
	case channeltest.Unknown:
		w.dispatch(t, chat, map[string]any{"subtype": "kind_of_tomorrow"})
	case channeltest.Pin:
		w.dispatch(t, chat, map[string]any{"type": "pin_added", "ts": "", "channel": "", "channel_id": id(chat), "event_ts": "1700000002.000001", "item": map[string]any{
			"type": "message", "channel": id(chat), "message": map[string]any{"type": "message", "user": w.ada, "text": "the plan", "ts": "1700000001.000001"}}})
	case channeltest.Renamed:
		w.Rename(w.ada, s.From)
		w.Post(id(chat), w.ada, s.Text)
	case channeltest.Robot:
		w.dispatch(t, chat, map[string]any{"user": w.AddBot(s.From), "bot_id": "B0OTHER", "text": s.Text})
	default:
		t.Fatalf("Slack has no %s", s.Case)
	}
}

func (w *world) fetch(t testing.TB, chat groups.JID, a channel.Attachment) []byte {
	t.Helper()
	body, err := w.ch.(channel.Fetcher).Fetch(t.Context(), channel.FileRef{Chat: chat, Ref: a.Ref})
	if err != nil {
		t.Fatalf("%s: %v", a.Name, err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A forwarded message's files came not in, neither with it nor with an answer to it: they
// belong to no message of the chat.
func TestFilesOfAForwardedMessageAreFetched(t *testing.T) {
	w := newWorld(t)
	in, stop := w.run(t)
	data := []byte("%PDF-1.4 a report")
	bos := forward("Bo", "The crane is down", w.AddFile(w.AddUser("Bo"), "report.pdf", data))
	parent := w.dispatch(t, w.desk, bos)
	got := last(in.next(t))
	if !got.Forwarded || got.Author != "Bo" || len(got.Files) != 1 || got.Files[0].Name != "report.pdf" || !bytes.Equal(w.fetch(t, w.desk, got.Files[0]), data) {
		t.Errorf("came in: %+v", got)
	}
	w.Wait(t, "the acknowledgement", func() bool { return w.Unacknowledged() == 0 }) // else Slack sends it again
	stop()
	w.setup.Dir, w.setup.State = t.TempDir(), statetest.Open(t, t.TempDir()) // no longer in the journal
	in, _ = w.made(t).run(t)
	w.PostInThread(id(w.desk), parent, w.ada, slacktest.Mention(w.BotUser)+" is this true?")
	got = last(in.next(t))
	q := got.Quote
	if q == nil || !q.Forwarded || q.From != "Ada" || q.Text != "The crane is down" || len(q.Files) != 1 || !bytes.Equal(w.fetch(t, w.desk, q.Files[0]), data) {
		t.Fatalf("came in: %+v, quoting %+v", got, q)
	}
	if body, err := w.ch.(channel.Fetcher).Fetch(t.Context(), channel.FileRef{Chat: w.office, Ref: q.Files[0].Ref}); channel.ClassOf(err) != channel.Permanent {
		t.Errorf("another chat gets it: %v, %v", body, err)
	}
}

// The words above a thread came only with files, and only with a mention. They come once.
func TestTheFirstMessageOfAThreadHasTheWordsAboveIt(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	alarm := w.dispatch(t, w.desk, map[string]any{"subtype": "bot_message", "user": "", "bot_id": "B0OTHER", "username": "Pump watch", "blocks": []any{
		map[string]any{"type": "header", "text": map[string]any{"type": "plain_text", "text": "pump 3 stands still"}}}})
	w.PostInThread(id(w.desk), alarm, w.ada, "what now?")
	if q := last(in.next(t)).Quote; q == nil || q.Text != "pump 3 stands still" || q.From != "Pump watch" || q.Sender != "" {
		t.Errorf("quoted is %+v", q)
	}
	w.PostInThread(id(w.desk), alarm, w.ada, "anybody?")
	if q := last(in.next(t)).Quote; q != nil || w.Calls("conversations.replies") != 1 {
		t.Errorf("quoted again is %+v", q)
	}
}

// What an app posts in a member's name comes as a note once, and a robot's not at all.
func TestAnAppInAMembersNameStartsNoTurn(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	for _, kind := range []string{"message", "app_mention"} {
		w.Tell(id(w.desk), map[string]any{"type": kind, "channel": id(w.desk), "user": w.ada, "bot_id": "B0OTHER", "text": slacktest.Mention(w.BotUser) + " look", "ts": "1700000000.000002"})
	}
	w.Post(id(w.desk), w.ada, "a member")
	got := in.Wait(t, 2)
	if got[0].Kind != channel.KindNote || got[0].Text != "by an app: @longshore look" || got[0].Direct || got[1].Text != "a member" {
		t.Errorf("came in: %+v", got)
	}
}

// Words that Slack marks as none of a file's stay the reason that an assistant reads.
func TestAFileThatSlackKeepsBackSaysWhy(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	for access, why := range map[string]string{
		"access_denied":   "Slack does not give it to the app: it belongs to another workspace, which does not share it",
		"file_not_found":  "Slack does not have it any more",
		"check_file_info": "Slack does not have it any more", // as files.info says
		"of_tomorrow":     "Slack does not have it any more",
	} {
		w.dispatch(t, w.desk, map[string]any{"subtype": "file_share", "files": []any{map[string]any{"id": "F0FOREIGN", "mode": "file_access", "file_access": access}}})
		m := last(in.next(t))
		_, err := w.ch.(channel.Fetcher).Fetch(t.Context(), channel.FileRef{Chat: m.Chat, Ref: m.Files[0].Ref})
		if e := is(t, access, err, channel.Permanent, "not_fetchable"); e.Message != why {
			t.Errorf("%s is told as %q", access, e.Message)
		}
	}
}
