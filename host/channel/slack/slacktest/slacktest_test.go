package slacktest

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is slack-go's.
func client(t *testing.T, s *Server) *slack.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return slack.New(s.BotToken, slack.OptionAppLevelToken(s.AppToken), slack.OptionAPIURL(s.URL()), slack.OptionHTTPClient(&http.Client{Transport: transport}))
}

// listen runs slack-go's Socket Mode, which acknowledges nothing by itself.
func listen(t *testing.T, s *Server) *socketmode.Client {
	t.Helper()
	c := socketmode.New(client(t, s))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.RunContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return c
}

// next is the next event of the Events API.
func next(t *testing.T, c *socketmode.Client) (e slackevents.EventsAPIEvent, r *socketmode.Request) {
	t.Helper()
	patience := time.After(60 * time.Second)
	for {
		select {
		case got := <-c.Events:
			if got.Type == socketmode.EventTypeEventsAPI {
				return got.Data.(slackevents.EventsAPIEvent), got.Request
			}
		case <-patience:
			t.Fatal("slack-go hears of no event")
		}
	}
}

func TestAMentionComesAsTwoEventsOfOneTS(t *testing.T) {
	s := New(t)
	anna, ch := s.AddUser("anna"), s.AddChannel(Public, "team")
	c := listen(t, s)
	ts := s.Post(ch, anna, Mention(s.BotUser)+" hello")
	first, r := next(t, c)
	if err := c.Ack(*r); err != nil {
		t.Fatal(err)
	}
	m, ok := first.InnerEvent.Data.(*slackevents.MessageEvent)
	if !ok || m.TimeStamp != ts || m.ChannelType != "channel" || m.User != anna || first.TeamID != s.Team {
		t.Errorf("slack-go reads %+v", first.InnerEvent.Data)
	}
	second, r := next(t, c)
	if err := c.Ack(*r); err != nil {
		t.Fatal(err)
	}
	if m, ok := second.InnerEvent.Data.(*slackevents.AppMentionEvent); !ok || m.TimeStamp != ts || m.Text != Mention(s.BotUser)+" hello" {
		t.Errorf("slack-go reads %+v", second.InnerEvent.Data)
	}
	s.Wait(t, "both acknowledgements", func() bool { return s.Unacknowledged() == 0 })
}

func TestAnEventThatNobodyAcknowledgedComesAgain(t *testing.T) {
	for _, reason := range []string{"", "refresh_requested", "warning"} {
		t.Run(reason, func(t *testing.T) {
			s := New(t)
			ch := s.AddChannel(Direct, s.AddUser("anna"))
			c := listen(t, s)
			s.Post(ch, "U1", "hello")
			first, r := next(t, c)
			if r.RetryAttempt != 0 {
				t.Errorf("the first attempt is number %d", r.RetryAttempt)
			}
			s.Disconnect(reason)
			again, r := next(t, c)
			if eventID(first) != eventID(again) || r.RetryAttempt != 1 || r.RetryReason == "" {
				t.Errorf("%s came again as %s, attempt %d %q", eventID(first), eventID(again), r.RetryAttempt, r.RetryReason)
			}
			if err := c.Ack(*r); err != nil {
				t.Fatal(err)
			}
			s.Wait(t, "the acknowledgement", func() bool { return s.Unacknowledged() == 0 })
		})
	}
}

func eventID(e slackevents.EventsAPIEvent) string {
	return e.Data.(*slackevents.EventsAPICallbackEvent).EventID
}

func TestALateAcknowledgementMeansAnotherAttempt(t *testing.T) {
	s := New(t)
	s.RetryAfter = 20 * time.Millisecond
	ch := s.AddChannel(Direct, s.AddUser("anna"))
	c := listen(t, s)
	s.Post(ch, "U1", "hello")
	_, late := next(t, c)
	_, r := next(t, c)
	if r.RetryAttempt != 1 || r.RetryReason != "timeout" {
		t.Errorf("attempt %d %q", r.RetryAttempt, r.RetryReason)
	}
	if err := c.Ack(*late); err != nil {
		t.Fatal(err)
	}
	s.Wait(t, "the acknowledgement of the first attempt", func() bool { return s.Unacknowledged() == 0 })
}

func TestEachEventGoesToOneOfTwoConnections(t *testing.T) {
	s := New(t)
	ch := s.AddChannel(Direct, s.AddUser("anna"))
	a, b := listen(t, s), listen(t, s)
	s.Wait(t, "two connections", func() bool { return s.Connections() == 2 })
	s.Post(ch, "U1", "one")
	s.Post(ch, "U1", "two")
	one, _ := next(t, a)
	two, _ := next(t, b)
	if eventID(one) == eventID(two) {
		t.Errorf("%s went to both", eventID(one))
	}
}

func TestTextGoesIntoItsThreadWithMetadata(t *testing.T) {
	s := New(t)
	ch := s.AddChannel(Private, "team")
	c, anna := client(t, s), s.AddUser("anna")
	parent := s.Post(ch, anna, "question")
	_, ts, err := c.PostMessage(ch, slack.MsgOptionText("*answer*", false), slack.MsgOptionTS(parent),
		slack.MsgOptionMetadata(slack.SlackMetadata{EventType: "longshore", EventPayload: map[string]any{"id": "one"}}))
	if err != nil {
		t.Fatal(err)
	}
	replies, _, _, err := c.GetConversationReplies(&slack.GetConversationRepliesParameters{ChannelID: ch, Timestamp: parent, IncludeAllMetadata: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(replies) != 2 || replies[1].Timestamp != ts || replies[1].Metadata.EventPayload["id"] != "one" || replies[0].ReplyCount != 1 {
		t.Errorf("the thread is %+v", replies)
	}
	if m := s.FromBot(ch); len(m) != 1 || m[0].Thread != parent || m[0].Text != "*answer*" {
		t.Errorf("the bot's messages are %+v", m)
	}
}

func TestATextWhoseParentIsGoneGoesToTheChannel(t *testing.T) {
	s := New(t)
	ch := s.AddChannel(Public, "team")
	c, anna := client(t, s), s.AddUser("anna")
	parent := s.Post(ch, anna, "question")
	s.Delete(ch, parent)
	_, _, m, err := c.PostMessageWithResponseContext(t.Context(), ch, slack.MsgOptionText("answer", false), slack.MsgOptionTS(parent))
	if err != nil || m.ThreadTimestamp != "" {
		t.Errorf("got thread %q, %v", m.ThreadTimestamp, err)
	}
	if m := s.Messages(ch); len(m) != 1 || m[0].Thread != "" {
		t.Errorf("the channel has %+v", m)
	}
}

func TestFilesGoUpInThreeStepsIntoOneMessage(t *testing.T) {
	s := New(t)
	ch := s.AddChannel(Public, "team")
	c := client(t, s)
	parent := s.Post(ch, s.AddUser("anna"), "question")
	var named []slack.FileSummary
	for _, name := range []string{"a.txt", "b.txt"} {
		named = append(named, slack.FileSummary{ID: put(t, c, name), Title: "file " + name})
	}
	share := make(chan struct{})
	s.Next("files.completeUploadExternal", Fault{Share: func() { <-share }})
	if _, err := c.CompleteUploadExternalContext(t.Context(), slack.CompleteUploadExternalParameters{Files: named, Channel: ch, ThreadTimestamp: parent, InitialComment: "here"}); err != nil {
		t.Fatal(err)
	}
	if f := about(t, c, named[0].ID); len(f.Shares.Public) != 0 {
		t.Errorf("it is shared too early: %+v", f.Shares)
	}
	close(share)
	m := s.WaitFor(t, ch, 1)[0]
	if m.Thread != parent || m.Text != "here" || len(m.Files) != 2 || string(m.Files[1].Bytes(t)) != "bytes of b.txt" || m.Files[1].AltText != "alt" {
		t.Errorf("the message is %+v", m)
	}
	if f := about(t, c, named[1].ID); len(f.Shares.Public[ch]) != 1 || f.Shares.Public[ch][0].Ts != m.TS || f.Shares.Public[ch][0].ThreadTs != parent {
		t.Errorf("shares are %+v", f.Shares)
	}
	_, err := c.CompleteUploadExternalContext(t.Context(), slack.CompleteUploadExternalParameters{Files: named, Channel: ch})
	refused(t, err, "file_not_found")
}

// put uploads a file with slack-go.
func put(t *testing.T, c *slack.Client, name string) (id string) {
	t.Helper()
	text := "bytes of " + name
	u, err := c.GetUploadURLExternalContext(t.Context(), slack.GetUploadURLExternalParameters{FileName: name, FileSize: len(text), AltTxt: "alt"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.UploadToURL(t.Context(), slack.UploadToURLParameters{UploadURL: u.UploadURL, Reader: strings.NewReader(text), Filename: name}); err != nil {
		t.Fatal(err)
	}
	return u.FileID
}

func about(t *testing.T, c *slack.Client, id string) *slack.File {
	t.Helper()
	f, _, _, err := c.GetFileInfoContext(t.Context(), id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	var refusal slack.SlackErrorResponse
	if !errors.As(err, &refusal) || refusal.Err != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestBytesThatAreNotAsManyAsAnnouncedAreRefused(t *testing.T) {
	s := New(t)
	c := client(t, s)
	u, err := c.GetUploadURLExternalContext(t.Context(), slack.GetUploadURLExternalParameters{FileName: "a.txt", FileSize: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, try := range []struct {
		text string
		want int
	}{{"four", 400}, {"longer", 400}, {"five!", 200}} {
		res, err := http.Post(u.UploadURL, "application/octet-stream", strings.NewReader(try.text))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != try.want {
			t.Errorf("%q: %s", try.text, res.Status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestAMembersFileIsFetchedWithTheToken(t *testing.T) {
	s := New(t)
	anna, ch := s.AddUser("anna"), s.AddChannel(Public, "team")
	c := listen(t, s)
	s.Upload(ch, "", anna, "look", "a file.txt", []byte("of anna"))
	e, _ := next(t, c)
	m := e.InnerEvent.Data.(*slackevents.MessageEvent)
	if m.SubType != "file_share" || len(m.Message.Files) != 1 || m.Message.Files[0].Size != 7 {
		t.Fatalf("slack-go reads %+v", m)
	}
	var got bytes.Buffer
	if err := client(t, s).GetFileContext(t.Context(), m.Message.Files[0].URLPrivate, &got); err != nil || got.String() != "of anna" {
		t.Errorf("fetched %q, %v", got.String(), err)
	}
}

func TestWhatSlackRefuses(t *testing.T) {
	s := New(t)
	open, archived, outside := s.AddChannel(Public, "open"), s.AddChannel(Public, "old"), s.AddChannel(Public, "others")
	s.Archive(archived)
	s.Kick(outside)
	c := client(t, s)
	post := func(ch, text string, more ...slack.MsgOption) error {
		_, _, err := c.PostMessage(ch, append(more, slack.MsgOptionText(text, false))...)
		return err
	}
	refused(t, post("C0NOWHERE", "a"), "channel_not_found")
	refused(t, post(archived, "a"), "is_archived")
	refused(t, post(outside, "a"), "not_in_channel")
	refused(t, post(open, ""), "no_text")
	refused(t, post(open, strings.Repeat("é", 40_001)), "msg_too_long")
	refused(t, post(open, "a", slack.MsgOptionTS("yesterday")), "invalid_thread_ts")
	s.SetScopes(Without("chat:write")...)
	refused(t, post(open, "a"), "missing_scope")
	_, err := slack.New("xoxb-other", slack.OptionAPIURL(s.URL())).AuthTest()
	refused(t, err, "invalid_auth")
	http.DefaultClient.CloseIdleConnections()
}

func TestFaults(t *testing.T) {
	s := New(t)
	ch, c := s.AddChannel(Public, "team"), client(t, s)
	post := func() error {
		_, _, err := c.PostMessage(ch, slack.MsgOptionText("a", false))
		return err
	}
	s.Next("chat.postMessage", Fault{Status: 429, RetryAfter: 7}, Fault{Status: 503}, Fault{Error: "token_revoked"}, Fault{Unread: true}, Fault{Lost: true})
	var limited *slack.RateLimitedError
	if err := post(); !errors.As(err, &limited) || limited.RetryAfter != 7*time.Second {
		t.Errorf("429 is %v", err)
	}
	if err := post(); err == nil {
		t.Error("503 is no error")
	}
	refused(t, post(), "token_revoked")
	if err := post(); err == nil || len(s.FromBot(ch)) != 0 {
		t.Errorf("unread: %v, %d posted", err, len(s.FromBot(ch)))
	}
	if err := post(); err == nil || len(s.FromBot(ch)) != 1 {
		t.Errorf("lost: %v, %d posted", err, len(s.FromBot(ch)))
	}
	if err := post(); err != nil || s.Calls("chat.postMessage") != 6 {
		t.Errorf("at last: %v after %d calls", err, s.Calls("chat.postMessage"))
	}
}

func TestListsComeInPages(t *testing.T) {
	s := New(t)
	for range 5 {
		s.AddChannel(Public, "c")
	}
	s.AddChannel(Private, "p")
	c := client(t, s)
	var got []slack.Channel
	for p := (slack.GetConversationsParameters{Limit: 2, Types: []string{"public_channel", "private_channel"}}); ; {
		some, next, err := c.GetConversations(&p)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, some...)
		if p.Cursor = next; next == "" {
			break
		}
	}
	if len(got) != 6 || !got[5].IsPrivate || !got[0].IsMember {
		t.Errorf("listed %+v", got)
	}
}

// slack-go, which decodes the whole payload, reads a press.
func TestAPressIsAnInteractionOfSlackGos(t *testing.T) {
	s := New(t)
	anna, ch := s.AddUser("anna"), s.AddChannel(Public, "team")
	button := slack.NewButtonBlockElement("a", "", slack.NewTextBlockObject(slack.PlainTextType, "Monday", false, false))
	_, ts, err := client(t, s).PostMessageContext(t.Context(), ch, slack.MsgOptionText("which?", false), slack.MsgOptionBlocks(slack.NewActionBlock("", button)))
	if err != nil {
		t.Fatal(err)
	}
	c := listen(t, s)
	s.Press(ch, anna, ts, "Monday")
	patience := time.After(60 * time.Second)
	for {
		select {
		case got := <-c.Events:
			if got.Type != socketmode.EventTypeInteractive {
				continue
			}
			press := got.Data.(slack.InteractionCallback)
			actions := press.ActionCallback.BlockActions
			if press.Type != slack.InteractionTypeBlockActions || press.User.ID != anna || press.Container.MessageTs != ts || press.Container.ChannelID != ch || len(actions) != 1 || actions[0].ActionID != "a" {
				t.Errorf("slack-go reads %+v", press)
			}
			return
		case <-patience:
			t.Fatal("slack-go hears of no press")
		}
	}
}
