package decode

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/media"
)

// The app's command. Slack has a /status of its own, and delivers no command from a thread.
const (
	CommandName     = "/longshore"
	CommandEnvelope = "slash_commands"    // of Socket Mode
	commandType     = "longshore_command" // of the body that is kept; no event of Slack's
	maxCommand      = 40                  // characters of a command that count
)

// unwrapCommand is unwrap for a command. Its id is that of Slack's trigger_id, which is the same
// if Slack sends the command again.
func unwrapCommand(payload []byte) (id string, body []byte, err error) {
	if len(payload) > maxEvent {
		return "", nil, fmt.Errorf("the command has %d bytes, at most %d are taken", len(payload), maxEvent)
	}
	var p struct {
		Channel string `json:"channel_id"`
		User    string `json:"user_id"`
		Command string `json:"command"`
		Text    string `json:"text"`
		Trigger string `json:"trigger_id"`
	}
	if err := json.Unmarshal(payload, &p, lenient); err != nil {
		return "", nil, err
	}
	if p.Command != CommandName || p.Trigger == "" || len(p.Trigger) > 200 {
		return "", nil, errors.New("it is another command, or has no trigger_id")
	}
	sum := sha256.Sum256([]byte(p.Trigger))
	body, err = json.Marshal(map[string]string{
		"type": commandType, "channel": p.Channel, "user": p.User, "text": media.Cut(strings.TrimSpace(p.Text), maxCommand),
	})
	return "cmd-" + hex.EncodeToString(sum[:12]), body, err
}

// commanded returns the event of a command.
func commanded(m *Message) *Event {
	return &Event{Inbound: channel.Inbound{Sender: m.User, Command: cmp.Or(m.Text, "help")}}
}

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
