//go:build e2e

package slacktest

import (
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
)

func TestEmulatesMessageIsAnEventOfSocketMode(t *testing.T) {
	e := Emulate(t)
	c := listen(t, e.Server)
	ts := e.Post(e.Open, Mention(e.BotUser)+" hello")
	for {
		got, r := next(t, c)
		if err := c.Ack(*r); err != nil {
			t.Fatal(err)
		}
		if m, ok := got.InnerEvent.Data.(*slackevents.AppMentionEvent); ok {
			if m.TimeStamp != ts || m.User != e.Anna || m.Channel != e.Open {
				t.Errorf("slack-go reads %+v", m)
			}
			return
		}
	}
}

func TestEmulateTakesAFileOfSlackGosIntoAThread(t *testing.T) {
	e := Emulate(t)
	c := client(t, e.Server)
	if who, err := c.AuthTestContext(t.Context()); err != nil || who.UserID != e.BotUser || who.BotID != e.BotID {
		t.Fatalf("the bot is %+v, %v", who, err)
	}
	parent := e.Post(e.Private, "question")
	u, err := c.GetUploadURLExternalContext(t.Context(), slack.GetUploadURLExternalParameters{FileName: "a.txt", FileSize: 5})
	if err != nil {
		t.Fatal(err)
	}
	res, err := e.client.Post(u.UploadURL, "application/octet-stream", strings.NewReader("bytes"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	done := slack.CompleteUploadExternalParameters{Files: []slack.FileSummary{{ID: u.FileID}}, Channel: e.Private, ThreadTimestamp: parent, InitialComment: "here"}
	if _, err := c.CompleteUploadExternalContext(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	m := e.WaitFor(t, e.Private, 1)[0]
	if m.Thread != parent || m.Text != "here" || len(m.Files) != 1 || string(m.Files[0].Bytes(t)) != "bytes" {
		t.Errorf("the message is %+v", m)
	}
	if f := about(t, c, u.FileID); len(f.Shares.Private[e.Private]) != 1 || f.Shares.Private[e.Private][0].Ts != m.TS {
		t.Errorf("shares are %+v", f.Shares)
	}
	_, err = c.CompleteUploadExternalContext(t.Context(), done)
	refused(t, err, "file_not_found")
}
