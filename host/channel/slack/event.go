package slack

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

const (
	maxEvent   = 512 << 10 // bytes; Slack's longest text, in blocks too, has less
	maxInFiles = 20        // of a message; Slack's own most is 10
)

var (
	slackID   = regexp.MustCompile(`^[A-Z][A-Z0-9]{1,31}$`)
	eventID   = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)
	timestamp = regexp.MustCompile(`^[0-9]{1,10}\.[0-9]{6}$`) // seconds, up to the year 2286
)

// event is what a member did, in a chat.
type event struct {
	kind    channel.Kind
	command string // what stands behind /longshore; "help" if nothing does
	chat    groups.JID
	ts      string // of a message; empty of what is none
	sender  string // the member's id; empty: Slack does not say
	bot     bool   // an app did it
	thread  string
	parent  string // who wrote the message that the thread is below
	target  string
	text    string // as Slack writes it, with its escapes
	files   []file
	emoji   string // Slack's name of it; empty: taken back
	poll    string // of a vote: the question's id
	choice  int    // the button's place
	joined  bool   // of a membership
	inviter string
	at      time.Time
}

// file is a member's file as an event has it.
type file struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	MIME     string `json:"mimetype"`
	Size     int64  `json:"size"`
	Subtype  string `json:"subtype"` // slack_audio: recorded in Slack
	Mode     string `json:"mode"`    // tombstone: deleted; hidden_by_limit; external
	URL      string `json:"url_private"`
	External bool   `json:"is_external"`
}

// message is a message in an event, or the event itself if it is one.
type message struct {
	Type     string `json:"type"`
	Subtype  string `json:"subtype"`
	Channel  string `json:"channel"`
	User     string `json:"user"`
	Bot      string `json:"bot_id"`
	Text     string `json:"text"`
	TS       string `json:"ts"`
	Thread   string `json:"thread_ts"`
	Parent   string `json:"parent_user_id"`
	Files    []file `json:"files"`
	EventTS  string `json:"event_ts"`
	Deleted  string `json:"deleted_ts"`
	Reaction string `json:"reaction"`
	Inviter  string `json:"inviter"`
	Poll     string `json:"poll"`
	Choice   int    `json:"choice"`
	Target   string `json:"target"`
	Item     struct {
		Type    string `json:"type"`
		Channel string `json:"channel"`
		TS      string `json:"ts"`
	} `json:"item"`
	Message  *message `json:"message"`          // as it is now, of a change
	Previous *message `json:"previous_message"` // as it was
}

// lenient takes half a character for an unknown one: who cuts a text, such as a link's
// preview, may cut one in two.
var lenient = jsontext.AllowInvalidUTF8(true)

// unwrap takes an envelope's payload apart: the event's id, and its body.
func unwrap(payload []byte) (id string, body []byte, err error) {
	if len(payload) > maxEvent {
		return "", nil, fmt.Errorf("the event has %d bytes, at most %d are taken", len(payload), maxEvent)
	}
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
	return p.ID, p.Event, nil
}

// decode reads an event's body: nil if it is of no kind that counts.
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
	ev.chat = chatOf(cmp.Or(m.Channel, m.Item.Channel))
	ev.at = timeOf(cmp.Or(m.EventTS, m.TS))
	return ev, ev.check()
}

// check refuses an event that is not in Slack's form.
func (e *event) check() error {
	if _, err := groups.ParseJID(string(e.chat)); err != nil || !owns(e.chat) {
		return errors.New("its channel is none")
	}
	for _, id := range []string{e.sender, e.parent, e.inviter} {
		if id != "" && !slackID.MatchString(id) {
			return errors.New("it has a member whose id is none")
		}
	}
	for _, ts := range []string{e.ts, e.thread, e.target} {
		if ts != "" && !timestamp.MatchString(ts) {
			return errors.New("it has a ts that is none")
		}
	}
	switch e.kind {
	case channel.KindMessage:
		if e.ts == "" && e.command == "" || e.sender == "" && !e.bot || len(e.files) > maxInFiles {
			return errors.New("it lacks a ts or a sender, or has too many files")
		}
	case channel.KindMembership:
	case channel.KindVote:
		if e.target == "" || e.sender == "" || !pollID.MatchString(e.poll) || e.choice < 0 || e.choice >= maxChoices {
			return errors.New("it is a vote on nothing, or of nobody")
		}
	default:
		if e.target == "" {
			return errors.New("it is about no message")
		}
	}
	for _, f := range e.files {
		if !slackID.MatchString(f.ID) {
			return errors.New("it has a file whose id is none")
		}
	}
	return nil
}

// written is a message, or its change or end.
func written(m *message) *event {
	switch m.Subtype {
	case "", "file_share", "thread_broadcast", "me_message":
		return &event{ts: m.TS, sender: m.User, bot: m.Bot != "", thread: m.Thread, parent: m.Parent, text: m.Text, files: m.Files}
	case "message_changed":
		now, before := m.Message, m.Previous
		switch {
		case now == nil || before == nil:
			return nil
		case now.Subtype == "tombstone": // deleted, with replies below it
			return gone(now.TS, before)
		case now.Text == before.Text: // a preview was added, or a reply
			return nil
		}
		return &event{kind: channel.KindEdit, sender: now.User, bot: now.Bot != "", thread: now.Thread, target: now.TS, text: now.Text}
	case "message_deleted":
		if m.Previous == nil {
			m.Previous = &message{}
		}
		return gone(m.Deleted, m.Previous)
	}
	return nil
}

func gone(target string, before *message) *event {
	return &event{kind: channel.KindDeletion, sender: before.User, bot: before.Bot != "", thread: before.Thread, target: target}
}

func reacted(m *message) *event {
	if m.Item.Type != "message" {
		return nil
	}
	e := &event{kind: channel.KindReaction, sender: m.User, target: m.Item.TS}
	if m.Type == "reaction_added" {
		e.emoji = m.Reaction
	}
	return e
}

func moved(m *message) *event {
	return &event{kind: channel.KindMembership, sender: m.User, joined: m.Type == "member_joined_channel", inviter: m.Inviter}
}

// envelope is the kind of envelope that brings such an event.
func (e *event) envelope() string {
	switch {
	case e.command != "":
		return commandEnvelope
	case e.kind == channel.KindVote:
		return pressEnvelope
	}
	return eventEnvelope
}

// own says whether the channel itself did it, or another app.
func (e *event) own(me *self) bool { return e.bot || e.sender == me.user }

// timeOf is the time of a ts; zero if it is none.
func timeOf(ts string) time.Time {
	f, err := strconv.ParseFloat(ts, 64)
	if err != nil || !timestamp.MatchString(ts) {
		return time.Time{}
	}
	return time.UnixMicro(int64(f * 1e6))
}
