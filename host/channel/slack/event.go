package slack

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

const (
	maxEvent   = 1 << 20 // bytes; a forward has up to 40,000 characters three times, of up to 6 bytes each
	maxInFiles = 20      // of a message; Slack's own most is 10
)

var (
	slackID   = regexp.MustCompile(`^[A-Z][A-Z0-9]{1,31}$`)
	eventID   = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)
	timestamp = regexp.MustCompile(`^[0-9]{1,10}\.[0-9]{6}$`) // seconds, up to the year 2286
)

// event is what a member did in a chat, with Slack's ids in place of names and with texts in
// Slack's form. inbound replaces both.
type event struct {
	channel.Inbound // Files, Quote.Files, Joined and Left are below; Emoji is Slack's name

	ts      string // of a message; empty of what is none
	bot     bool   // a robot did it
	app     bool   // an app did it in the name of Sender, who may be a robot
	parent  string // who wrote the message that the thread is below
	said    string // of Text, the member's own words: what is forwarded is not
	author  string // the id of who wrote what is forwarded, if Author is empty
	files   []file
	quoted  []file // of Quote
	poll    string // of a vote: the question's id
	choice  int    // the button's index
	joined  bool   // of a membership
	inviter string
}

// lenient reads half a character as U+FFFD: a cut text, such as a link's preview, may have one.
var lenient = jsontext.AllowInvalidUTF8(true)

// unwrap returns the id and the body of an event from the payload of its envelope.
func unwrap(payload []byte) (id string, body []byte, err error) {
	var p struct {
		ID    string         `json:"event_id"`
		Event jsontext.Value `json:"event"`
	}
	if err := json.Unmarshal(payload, &p, lenient); err != nil {
		return "", nil, err
	}
	if !eventID.MatchString(p.ID) || len(p.Event) == 0 {
		return "", nil, errors.New("it has no event_id or no event")
	}
	if len(p.Event) > maxEvent {
		p.Event = bare(p.Event)
	}
	return p.ID, p.Event, nil
}

// bare returns the head of an event that is too large or has an undocumented form. With it, a
// message comes in as unreadable, and nothing else comes in.
func bare(body []byte) []byte {
	var h struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
		Channel string `json:"channel"`
		User    string `json:"user"`
		Bot     string `json:"bot_id"`
		TS      string `json:"ts"`
		Thread  string `json:"thread_ts"`
	}
	_ = json.Unmarshal(body, &h, lenient) // without a head it is no event that counts
	if h.Subtype == "" || h.Subtype == "file_share" {
		h.Subtype = "unreadable"
	}
	short, _ := json.Marshal(h, lenient)
	return short
}

// decode reads an event's body; nil if the host does not use the kind of event.
func decode(body []byte) (*event, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(body, &head, lenient); err != nil {
		return nil, err
	}
	var to func(*message) *event
	switch head.Type {
	case "message", "app_mention":
		to = written
	case "reaction_added", "reaction_removed":
		to = reacted
	case "pin_added", "pin_removed":
		to = pinned
	case "member_joined_channel", "member_left_channel":
		to = moved
	case commandType:
		to = commanded
	case pressType:
		to = pressed
	default:
		return nil, nil
	}
	var m message
	if err := json.Unmarshal(body, &m, lenient); err != nil {
		return nil, err
	}
	ev := to(&m)
	if ev == nil {
		return nil, nil
	}
	ev.Chat = chatOf(cmp.Or(m.Channel, m.ChannelID, m.Item.Channel))
	ev.Time = timeOf(cmp.Or(m.EventTS, m.TS))
	return ev, ev.check()
}

// check refuses an event that is not in Slack's form.
func (e *event) check() error {
	if _, err := groups.ParseJID(string(e.Chat)); err != nil || !owns(e.Chat) {
		return errors.New("its channel is none")
	}
	for _, id := range []string{e.Sender, e.parent, e.inviter, e.author} {
		if id != "" && !slackID.MatchString(id) {
			return errors.New("it has a member whose id is none")
		}
	}
	for _, ts := range []string{e.ts, e.Thread, e.Target} {
		if ts != "" && !timestamp.MatchString(ts) {
			return errors.New("it has a ts that is none")
		}
	}
	switch e.Kind {
	case channel.KindMessage:
		if e.ts == "" && e.Command == "" || e.Sender == "" && !e.bot {
			return errors.New("it lacks a ts or a sender")
		}
	case channel.KindMembership, channel.KindNote:
	case channel.KindVote:
		if e.Target == "" || e.Sender == "" || !pollID.MatchString(e.poll) || e.choice < 0 || e.choice >= maxChoices {
			return errors.New("it is a vote on nothing, or of nobody")
		}
	default:
		if e.Target == "" {
			return errors.New("it is about no message")
		}
	}
	return nil
}

func reacted(m *message) *event {
	if m.Item.Type != "message" {
		return nil
	}
	e := did(channel.KindReaction, m.User, m.Item.TS)
	if m.Type == "reaction_added" {
		e.Emoji = m.Reaction
	}
	return e
}

func moved(m *message) *event {
	e := did(channel.KindMembership, m.User, "")
	e.joined, e.inviter = m.Type == "member_joined_channel", m.Inviter
	return e
}

// did returns an event that is no message.
func did(kind channel.Kind, sender, target string) *event {
	return &event{Inbound: channel.Inbound{Kind: kind, Sender: sender, Target: target}}
}

// envelope returns the type of envelope that such an event must come in.
func (e *event) envelope() string {
	switch {
	case e.Command != "":
		return commandEnvelope
	case e.Kind == channel.KindVote:
		return pressEnvelope
	}
	return eventEnvelope
}

// own reports whether the channel's own bot did it, or another bot.
func (e *event) own(me *self) bool { return e.bot || e.Sender == me.user }

// timeOf returns the time of a ts; zero if it has another form.
func timeOf(ts string) time.Time {
	f, err := strconv.ParseFloat(ts, 64)
	if err != nil || !timestamp.MatchString(ts) {
		return time.Time{}
	}
	return time.UnixMicro(int64(f * 1e6))
}
