// Package decode reads what Slack sends of what members write and do.
package decode

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

const (
	maxEvent = 1 << 20 // bytes; a forward has up to 40,000 characters three times, of up to 6 bytes each

	// MaxFiles is how many files of a message count. Slack's own most is 10.
	MaxFiles = 20

	// MaxChoices is how many choices a question has.
	MaxChoices = 16
)

var (
	slackID   = regexp.MustCompile(`^[A-Z][A-Z0-9]{1,31}$`)
	eventID   = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)
	timestamp = regexp.MustCompile(`^[0-9]{1,10}\.[0-9]{6}$`) // seconds, up to the year 2286
)

// Event is what a member did in a chat, with Slack's ids in place of names and with texts in
// Slack's form.
type Event struct {
	channel.Inbound // without Files, Quote.Files, Joined and Left; Emoji is Slack's name
	Own
}

// Own is what the journal has of an event besides.
type Own struct {
	TS       string `json:"ts,omitempty"`     // of a message; empty of what is none
	Bot      bool   `json:"bot,omitempty"`    // a robot did it
	App      bool   `json:"app,omitempty"`    // an app did it in the name of Sender, who may be a robot
	Parent   string `json:"parent,omitempty"` // who wrote the message that the thread is below
	Said     string `json:"said,omitempty"`   // of Text, the member's own words: what is forwarded is not
	AuthorID string `json:"author,omitempty"` // of who wrote what is forwarded, if Author is empty
	Uploads  []File `json:"files,omitempty"`
	Quoted   []File `json:"quoted,omitempty"` // of Quote
	Poll     string `json:"poll,omitempty"`   // of a vote: the question's id
	Choice   int    `json:"choice,omitempty"` // the button's index
	Joining  bool   `json:"joins,omitempty"`  // of a membership: the member joins; otherwise it leaves
	Inviter  string `json:"inviter,omitempty"`
}

// Owns reports whether a chat is a channel, a private channel or a direct message.
func Owns(chat groups.JID) bool {
	return chat.Channel() == "slack" && strings.ContainsAny(IDOf(chat)[:1], "CGD")
}

// IDOf returns Slack's id of a chat, and ChatOf the chat of an id.
func IDOf(chat groups.JID) string { return strings.TrimPrefix(string(chat), "slack:") }
func ChatOf(id string) groups.JID { return groups.JID("slack:" + id) }

// IsID and IsTimestamp report whether a text has the form of an id of Slack or of a message's ts.
func IsID(s string) bool        { return slackID.MatchString(s) }
func IsTimestamp(s string) bool { return timestamp.MatchString(s) }

// lenient reads half a character as U+FFFD: a cut text, such as a link's preview, may have one.
var lenient = jsontext.AllowInvalidUTF8(true)

const eventEnvelope = "events_api" // an envelope of the Events API

// Envelope reads an envelope of Socket Mode of that type; nil if the host does not use it. An event that
// has an undocumented form comes with the error, as its head alone says it.
func Envelope(kind string, payload []byte) (*Event, error) {
	if len(payload) > maxEvent && kind != eventEnvelope {
		return nil, fmt.Errorf("it has %d bytes, at most %d are taken", len(payload), maxEvent)
	}
	switch kind {
	case CommandEnvelope:
		return command(payload)
	case pressEnvelope:
		return press(payload)
	case eventEnvelope:
	default:
		return nil, nil
	}
	var p struct {
		ID    string         `json:"event_id"`
		Event jsontext.Value `json:"event"`
	}
	if err := json.Unmarshal(payload, &p, lenient); err != nil {
		return nil, err
	}
	if !eventID.MatchString(p.ID) || len(p.Event) == 0 {
		return nil, errors.New("it has no event_id or no event")
	}
	if len(p.Event) > maxEvent {
		p.Event = bare(p.Event, "too_large")
	}
	ev, err := Read(p.Event)
	if err != nil {
		ev, _ = Read(bare(p.Event, "unreadable"))
	}
	if ev != nil { // a mention comes as two events
		ev.ID = cmp.Or(ev.TS, p.ID)
	}
	return ev, err
}

// bare returns the head of an event that is too large or has an undocumented form. With it, a
// message comes in as words that say why, and nothing else comes in.
func bare(body []byte, why string) []byte {
	var h struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
		Channel string `json:"channel"`
		User    string `json:"user"`
		Bot     string `json:"bot_id"`
		TS      string `json:"ts"`
		Thread  string `json:"thread_ts"`
	}
	_ = json.Unmarshal(body, &h, lenient) // an event without a head does not count
	if h.Subtype == "" || h.Subtype == "file_share" {
		h.Subtype = why
	}
	short, _ := json.Marshal(h, lenient)
	return short
}

// Read reads an event's body; nil if the host does not use the kind of event.
func Read(body []byte) (*Event, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(body, &head, lenient); err != nil {
		return nil, err
	}
	var to func(*Message) *Event
	switch head.Type {
	case "message", "app_mention":
		to = written
	case "reaction_added", "reaction_removed":
		to = reacted
	case "pin_added", "pin_removed":
		to = pinned
	case "member_joined_channel", "member_left_channel":
		to = moved
	default:
		return nil, nil
	}
	var m Message
	if err := json.Unmarshal(body, &m, lenient); err != nil {
		return nil, err
	}
	ev := to(&m)
	if ev == nil {
		return nil, nil
	}
	ev.Chat = ChatOf(cmp.Or(m.Channel, m.ChannelID, m.Item.Channel))
	ev.Time = TimeOf(cmp.Or(m.EventTS, m.TS))
	return ev.checked()
}

// checked returns the event, or an error if it is not in Slack's form.
func (e *Event) checked() (*Event, error) {
	_, err := groups.ParseJID(string(e.Chat))
	ok := err == nil && Owns(e.Chat)
	for _, id := range []string{e.Sender, e.Parent, e.Inviter, e.AuthorID} {
		ok = ok && (id == "" || slackID.MatchString(id))
	}
	for _, ts := range []string{e.TS, e.Thread, e.Target} {
		ok = ok && (ts == "" || timestamp.MatchString(ts))
	}
	switch e.Kind {
	case channel.KindMessage:
		ok = ok && e.TS != "" && (e.Sender != "" || e.Bot)
	case channel.KindMembership, channel.KindNote:
	case channel.KindVote:
		ok = ok && e.Target != "" && e.Sender != "" && e.Choice < MaxChoices
	default:
		ok = ok && e.Target != ""
	}
	if !ok {
		return nil, errors.New("it lacks a channel, a ts, a sender or what it is about, or has another form of it")
	}
	return e, nil
}

func reacted(m *Message) *Event {
	if m.Item.Type != "message" {
		return nil
	}
	e := did(channel.KindReaction, m.User, m.Item.TS)
	if m.Type == "reaction_added" {
		e.Emoji = m.Reaction
	}
	return e
}

func moved(m *Message) *Event {
	e := did(channel.KindMembership, m.User, "")
	e.Joining, e.Inviter = m.Type == "member_joined_channel", m.Inviter
	return e
}

// did returns an event that is no message.
func did(kind channel.Kind, sender, target string) *Event {
	return &Event{Inbound: channel.Inbound{Kind: kind, Sender: sender, Target: target}}
}

// ByBot reports whether the channel's own bot, the user me, did it, or another bot.
func (e *Event) ByBot(me string) bool { return e.Bot || e.Sender == me }

// timeOf returns the time of a ts; zero if it has another form.
func TimeOf(ts string) time.Time {
	f, err := strconv.ParseFloat(ts, 64)
	if err != nil || !timestamp.MatchString(ts) {
		return time.Time{}
	}
	return time.UnixMicro(int64(f * 1e6))
}
