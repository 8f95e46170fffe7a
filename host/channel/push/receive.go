package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/media"
)

const (
	maxBody     = 256 << 10 // bytes of a reply
	maxID       = 256       // bytes of an id
	maxURL      = 2048      // bytes of a file's address
	maxFiles    = 10        // of a message, either way
	typeMessage = "message" // the other types are channel.State
)

// reply is what the receiver posts: what a member wrote, or what became of a message of ours.
type reply struct {
	Type   string     `json:"type"`
	Chat   groups.JID `json:"chat"`
	ID     string     `json:"id"` // of the member's message, or of ours that was delivered or read
	Thread string     `json:"thread"`
	From   string     `json:"from"`
	Sender string     `json:"sender"`
	Text   string     `json:"text"`
	Direct bool       `json:"direct"`
	Quote  quote      `json:"quote"`
	Files  []inFile   `json:"files"`

	Forwarded bool   `json:"forwarded"`
	Author    string `json:"author"` // of what is forwarded
}

type quote struct {
	ID        string   `json:"id"`
	From      string   `json:"from"`
	Text      string   `json:"text"`
	Selected  string   `json:"selected"` // the part that is answered; empty: all of it
	Files     []inFile `json:"files"`
	Forwarded bool     `json:"forwarded"`
	Elsewhere bool     `json:"elsewhere"` // of another chat
}

type inFile struct {
	URL  string `json:"url"`
	Name string `json:"name"`
	MIME string `json:"mime"`
	Size uint64 `json:"size"`
}

// bad says whether it has no address that could be one.
func (f inFile) bad() bool { return f.URL == "" || len(f.URL) > maxURL || strings.Contains(f.URL, " ") }

// plain says whether a text can be an id: short, and all of it shows.
func plain(id string) bool { return len(id) <= maxID && media.Printable(id) == id }

// parse reads a reply strictly: unknown and repeated keys, and what is not UTF-8, are refused.
func (p *Push) parse(body []byte) (*reply, error) {
	var r reply
	if err := json.Unmarshal(body, &r, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	switch chat, err := groups.ParseJID(string(r.Chat)); {
	case err != nil || !p.Owns(chat):
		return nil, errors.New("chat is none of this channel: write push: and its name")
	case r.Type != typeMessage && r.Type != string(channel.StateDelivered) && r.Type != string(channel.StateRead):
		return nil, errors.New("type is not message, delivered or read")
	case r.ID == "" || !plain(r.ID) || !plain(r.Thread) || !plain(r.Sender) || !plain(r.Quote.ID):
		return nil, fmt.Errorf("id is missing, or an id has more than %d bytes or characters that do not show", maxID)
	case len(r.Files) > maxFiles || len(r.Quote.Files) > maxFiles || slices.ContainsFunc(slices.Concat(r.Files, r.Quote.Files), inFile.bad):
		return nil, fmt.Errorf("there are more than %d files, or a url is missing, has a space or more than %d bytes", maxFiles, maxURL)
	}
	return &r, nil
}

// inbound is a member's message for the host. What it quotes is the receiver's word.
func (r *reply) inbound(m journal.Inbound) channel.Inbound {
	in := channel.Inbound{
		ID: r.ID, Chat: r.Chat, Thread: r.Thread, From: channel.CleanName(r.From), Sender: r.Sender, Time: m.Received, Text: r.Text, Direct: r.Direct,
		Forwarded: r.Forwarded, Files: attachments(r.Files, m),
	}
	if r.Forwarded {
		in.Author = channel.CleanName(r.Author)
	}
	if q := r.Quote; q.ID != "" {
		in.Quote = &channel.Quote{
			ID: q.ID, From: channel.CleanName(q.From), Text: q.Text, Selected: q.Selected, Forwarded: q.Forwarded, Elsewhere: q.Elsewhere, Unverified: true,
			Files: attachments(q.Files, m),
		}
	}
	return in
}

func attachments(files []inFile, m journal.Inbound) (all []channel.Attachment) {
	for _, f := range files {
		kind := media.KindByName(cmp.Or(f.Name, "file"+media.ExtensionFor(f.MIME)))
		info := media.Claimed(kind, f.Name, f.MIME, f.Size, m.Received)
		all = append(all, channel.Attachment{Info: info, Ref: f.URL + " " + m.Ref()})
	}
	return all
}

// handler takes replies. A reply is answered with 202 once it is durable.
func (p *Push) handler(g *httpd.Guard, j *journal.Journal) http.Handler {
	return g.Posts(http.StatusAccepted, func(rw http.ResponseWriter, r *http.Request) *httpd.Problem { return p.take(rw, r, j) })
}

// take verifies a reply and makes it durable.
func (p *Push) take(rw http.ResponseWriter, r *http.Request, j *journal.Journal) *httpd.Problem {
	id, body, problem := p.keys.Webhook(rw, r, maxBody)
	if problem != nil {
		return problem
	}
	said, err := p.parse(body)
	if err != nil {
		return httpd.Refuse(http.StatusBadRequest, "bad_json", "the body is no reply: "+httpd.Quote(err.Error()), "docs/push.md describes it")
	}
	if !p.Serves(said.Chat) {
		return httpd.Refuse(http.StatusNotFound, "unknown_chat", "no group has this chat", "name it under groups in longshore.yaml")
	}
	isNew, err := j.KeepNew(r.Context(), journal.Inbound{Chat: said.Chat, ID: id, Info: []byte{}, Body: body, Received: time.Now()})
	if err != nil {
		p.Log.Error("keep a reply", "error", err)
		if errors.Is(httpd.OrDiskFull(err), httpd.ErrDiskFull) {
			return httpd.ErrDiskFull
		}
		return httpd.Refuse(http.StatusServiceUnavailable, "not_kept", "the host cannot keep the reply now", "send it again")
	}
	if !isNew {
		return httpd.Refuse(http.StatusConflict, "seen_before", "a reply with this webhook-id was taken before", "do not send it again")
	}
	return nil
}

// Give implements bot.Hooks: it hands a kept reply to the host.
func (p *Push) Give(ctx context.Context, in channel.Inbox, m journal.Inbound) error {
	r, err := p.parse(m.Body)
	if err != nil {
		p.Log.Warn("a reply of the journal cannot be read: it comes in as words", "error", err)
		return in.Receive(ctx, bot.Unreadable(m, ""))
	}
	if r.Type != typeMessage {
		in.Report(ctx, r.Chat, r.ID, channel.State(r.Type))
		return nil
	}
	return in.Receive(ctx, r.inbound(m))
}
