package decode

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/media"
)

// The app's command. Slack has a /status of its own, and delivers no command from a thread.
const (
	CommandName     = "/longshore"
	CommandEnvelope = "slash_commands" // of Socket Mode
	pressEnvelope   = "interactive"    // the same, of a button
	maxCommand      = 40               // characters of a command that count
)

// command reads a command. Its id is that of Slack's trigger_id, which is the same if Slack sends the
// command again.
func command(payload []byte) (*Event, error) {
	var p struct {
		Channel string `json:"channel_id"`
		User    string `json:"user_id"`
		Command string `json:"command"`
		Text    string `json:"text"`
		Trigger string `json:"trigger_id"`
	}
	if err := json.Unmarshal(payload, &p, lenient); err != nil {
		return nil, err
	}
	if p.Command != CommandName || p.Trigger == "" || len(p.Trigger) > 200 || !slackID.MatchString(p.User) {
		return nil, errors.New("it is another command, or has no trigger_id")
	}
	return &Event{Inbound: channel.Inbound{ID: "cmd-" + idOf(p.Trigger), Chat: ChatOf(p.Channel), Sender: p.User, Command: cmp.Or(media.Cut(strings.TrimSpace(p.Text), maxCommand), "help")}}, nil
}

// idOf makes an id of what is unique to an event.
func idOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, " ")))
	return hex.EncodeToString(sum[:12])
}

// press reads a press of one of a question's buttons, which is a vote.
func press(payload []byte) (*Event, error) {
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
		return nil, err
	}
	at := p.Container
	if p.Type != "block_actions" || at.Type != "message" || len(p.Actions) != 1 || p.Actions[0].Type != "button" {
		return nil, errors.New("it is no press of one button of a message")
	}
	poll, choice, ok := bot.ButtonOf(p.Actions[0].ID)
	if !ok {
		return nil, errors.New("the button is none of a question")
	}
	e := did(channel.KindVote, p.User.ID, at.TS)
	e.Poll, e.Choice, e.Chat, e.Time = poll, choice, ChatOf(at.Channel), TimeOf(p.Actions[0].TS)
	e.ID = "press-" + idOf(p.User.ID, at.Channel, at.TS, p.Actions[0].ID, p.Actions[0].TS)
	if at.Thread != at.TS { // otherwise it has answers
		e.Thread = at.Thread
	}
	return e.checked()
}
