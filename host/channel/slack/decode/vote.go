package decode

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
)

// A vote is a press of one of the question's buttons.
const (
	pressEnvelope = "interactive"     // of Socket Mode
	pressType     = "longshore_press" // of the body that is kept; no event of Slack's
)

var pollID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// unwrapPress is unwrap for a press of a button.
func unwrapPress(payload []byte) (id string, body []byte, err error) {
	if len(payload) > maxEvent {
		return "", nil, fmt.Errorf("the press has %d bytes, at most %d are taken", len(payload), maxEvent)
	}
	var p struct {
		Type string `json:"type"`
		User struct {
			ID string `json:"id"`
		} `json:"user"`
		Container struct {
			Type    string `json:"type"`
			Channel string `json:"channel_id"`
			TS      string `json:"message_ts"`
			Thread  string `json:"thread_ts"`
		} `json:"container"`
		Actions []struct {
			Type string `json:"type"`
			ID   string `json:"action_id"`
			TS   string `json:"action_ts"`
		} `json:"actions"`
	}
	if err := json.Unmarshal(payload, &p, lenient); err != nil {
		return "", nil, err
	}
	if p.Type != "block_actions" || p.Container.Type != "message" || len(p.Actions) != 1 || p.Actions[0].Type != "button" {
		return "", nil, errors.New("it is no press of one button of a message")
	}
	poll, choice, ok := bot.ButtonOf(p.Actions[0].ID)
	if !ok {
		return "", nil, errors.New("the button is none of a question")
	}
	thread := p.Container.Thread
	if thread == p.Container.TS { // it has answers
		thread = ""
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{p.User.ID, p.Container.Channel, p.Container.TS, p.Actions[0].ID, p.Actions[0].TS}, " ")))
	body, err = json.Marshal(map[string]any{
		"type": pressType, "channel": p.Container.Channel, "user": p.User.ID, "thread_ts": thread, "event_ts": p.Actions[0].TS,
		"poll": poll, "choice": choice, "target": p.Container.TS,
	})
	return "press-" + hex.EncodeToString(sum[:12]), body, err
}

// pressed returns the event of a press.
func pressed(m *Message) *Event {
	e := did(channel.KindVote, m.User, m.Target)
	e.Thread, e.Poll, e.Choice = m.Thread, m.Poll, m.Choice
	return e
}
