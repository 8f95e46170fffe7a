package slack

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
)

// Give implements bot.Hooks: it gives the host a kept event.
func (s *Slack) Give(ctx context.Context, to channel.Inbox, m journal.Inbound) error {
	ev, err := kept(m)
	if err != nil {
		s.Log.Warn("an event of the journal cannot be read: it comes in as words", "error", err)
		return to.Receive(ctx, bot.Unreadable(m, s.nameOf(ctx, m.Sender)))
	}
	if who := s.member(ctx, ev.Sender); who.bot || ev.App && who.role == channel.RoleUnknown { // Slack does not name the app with everything that it posts
		return nil
	}
	msg, err := s.inbound(ctx, ev, m)
	if err != nil {
		return err
	}
	if ev.Kind == channel.KindMessage && ev.Command == "" {
		s.signs.heard(ev.Chat, ev.TS, msg.Thread)
	}
	if ev.Kind == channel.KindVote {
		return s.polls.Receive(ctx, s.Open(), to, msg, ev.Poll, ev.Choice, ev.Target)
	}
	return to.Receive(ctx, msg)
}

// kept reads an event of the journal.
func kept(m journal.Inbound) (ev *decode.Event, err error) {
	ev = &decode.Event{}
	ev.Inbound, err = bot.Decode(m, &ev.Own)
	return ev, err
}

// inbound returns the event for the host, with names for ids.
func (s *Slack) inbound(ctx context.Context, ev *decode.Event, m journal.Inbound) (channel.Inbound, error) {
	in := ev.Inbound
	in.Quote = nil
	in.ID, in.Text, in.From, in.Emoji = m.ID, s.readable(ctx, ev.Text), s.nameOf(ctx, ev.Sender), s.emojis.Char(ev.Emoji)
	in.Role, in.Author = s.roleIn(ctx, ev.Chat, ev.Sender), cmp.Or(ev.Author, s.nameOf(ctx, ev.AuthorID))
	if in.Time.IsZero() {
		in.Time = m.Received
	}
	switch ev.Kind {
	case channel.KindMessage:
		direct, err := s.direct(ctx, ev)
		if err != nil {
			return in, err
		}
		if in.Direct = direct; direct && in.Thread == "" && !private(ev.Chat) {
			in.Thread = ev.TS // the answer begins a thread below it
		}
		in.Command = cmp.Or(ev.Command, s.mentioned(ev.Said))
		in.Files = s.attachments(ctx, ev.Uploads, m.Ref(), m.Received)
		in.Quote = s.quote(ctx, ev, direct, m)
	case channel.KindMembership:
		who := []channel.Person{{Name: in.From, Sender: ev.Sender}}
		in.Sender, in.From = ev.Inviter, s.nameOf(ctx, ev.Inviter)
		if ev.Joining {
			in.Joined = who
		} else {
			in.Left = who
		}
	}
	return in, nil
}

// attachments returns the files of the message with that Ref. It asks Slack for names that the
// message lacks, for 10 seconds at most.
func (s *Slack) attachments(ctx context.Context, files []decode.File, ref string, at time.Time) (all []channel.Attachment) {
	ctx, cancel := context.WithTimeout(ctx, nameWithin)
	defer cancel()
	for _, f := range files {
		if f.Name == "" && f.Refused() == nil {
			if full, err := s.fileInfo(ctx, f.ID); err == nil {
				f = *full
			}
		}
		all = append(all, channel.Attachment{Info: f.Info(at), Ref: bot.Ref(f.ID, ref)})
	}
	return all
}

// fileInfo asks Slack for a file, whose subtype slack-go does not know.
func (s *Slack) fileInfo(ctx context.Context, id string) (*decode.File, error) {
	var said struct {
		File decode.File `json:"file"`
	}
	return &said.File, s.api.Ask(ctx, http.MethodPost, "files.info", url.Values{"file": {id}}, &said)
}

// private reports whether a chat is a direct message.
func private(chat groups.JID) bool { return strings.HasPrefix(decode.IDOf(chat), "D") }

// direct reports whether a message speaks to the assistant without its trigger word:
// by a mention, in a direct message, or in a thread where the assistant spoke.
func (s *Slack) direct(ctx context.Context, ev *decode.Event) (bool, error) {
	me := s.self.Load()
	if private(ev.Chat) || me != nil && (ev.Parent == me.UserID || strings.Contains(ev.Said, "<@"+me.UserID+">") || strings.Contains(ev.Said, "<@"+me.UserID+"|")) {
		return true, nil
	}
	open := s.Open()
	if open == nil {
		return false, nil
	}
	return s.threads.spokenIn(ctx, open.Journal, ev.Chat, ev.Thread)
}

// Fetch implements channel.Fetcher, from Slack's file server with the bot token. The Ref is Slack's
// id of the file and the Ref of its message.
func (s *Slack) Fetch(ctx context.Context, f channel.FileRef) (body io.ReadCloser, err error) {
	err = s.Within(ctx, func(ctx context.Context, open *bot.Open) error {
		id, of, err := s.filesOf(ctx, open, f)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(of, func(f decode.File) bool { return f.ID == id })
		if i < 0 {
			return channel.Unfetchable("the message has no such file")
		}
		body, err = s.download(ctx, open.Scratch, of[i], f.Patient)
		return err
	})
	return body, err
}

// filesOf returns the files of the message that f names, and the id of f itself.
func (s *Slack) filesOf(ctx context.Context, open *bot.Open, f channel.FileRef) (id string, of []decode.File, err error) {
	id, ref := bot.CutRef(f.Ref)
	if ts, quoted := strings.CutPrefix(ref, quotedRef); quoted {
		m, err := s.message(ctx, channel.Change{Chat: f.Chat, Target: strings.TrimSpace(ts)})
		if err != nil {
			return "", nil, unfetched(err)
		}
		return id, m.Content().Uploads, nil
	}
	id, m, err := open.Kept(ctx, f)
	if err != nil {
		return "", nil, err
	}
	ev, err := kept(*m)
	if err != nil {
		return "", nil, channel.Unfetchable("the message cannot be read any more")
	}
	return id, slices.Concat(ev.Uploads, ev.Quoted), nil
}

func (s *Slack) download(ctx context.Context, scratch *transfer.Scratch, f decode.File, patient bool) (io.ReadCloser, error) {
	if f.URL == "" && f.Refused() == nil { // of another workspace in a shared channel
		full, err := s.fileInfo(ctx, f.ID)
		if err != nil {
			return nil, unfetched(err)
		}
		f = *full
	}
	if err := f.Refused(); err != nil {
		return nil, err
	}
	body, err := scratch.Get(ctx, s.api.files, f.URL, maxFile, transfer.SpeedFor(patient))
	if err != nil {
		return nil, err
	}
	if signIn(body, f) {
		_ = body.Close()
		return nil, channel.Unfetchable("Slack does not give it to the app: the scope files:read is missing, or somebody restricted the file")
	}
	return body, nil
}

// unfetched returns the error of a question about a file; Permanent if the file is gone.
func unfetched(err error) error {
	if channel.ClassOf(err) == channel.Permanent {
		return channel.Unfetchable("Slack does not have it any more")
	}
	return err
}

// signIn reports whether Slack's sign-in page came instead of a file.
func signIn(body io.ReadCloser, f decode.File) bool {
	r, ok := body.(io.ReadSeeker)
	if !ok || f.MIME == "text/html" {
		return false
	}
	head := make([]byte, 512)
	n, _ := io.ReadFull(r, head)
	size, _ := r.Seek(0, io.SeekEnd)
	_, err := r.Seek(0, io.SeekStart)
	return err != nil || strings.HasPrefix(http.DetectContentType(head[:n]), "text/html") && f.Size != size
}
