package decode

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/host/channel"
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
