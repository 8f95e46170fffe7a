package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
	"github.com/longshore-bridge/longshore/media"
)

const (
	maxEnvelope = 8 << 20          // bytes; a larger one ends the connection
	pingEvery   = 20 * time.Second // a connection that does not answer in as long again is lost
	ackWithin   = 3 * time.Second  // Slack repeats an envelope that is not acknowledged
)

// self is the bot that the tokens belong to, as auth.test says.
type self struct {
	UserID    string `json:"user_id"`
	TeamID    string `json:"team_id"`
	Name      string `json:"user"`
	Workspace string `json:"team"`

	granted string // the scopes, with commas between
}

func (me *self) String() string {
	return channel.CleanName(me.Name) + " in " + channel.CleanName(me.Workspace)
}

// scopes returns what the app may do.
func (me *self) scopes() []string {
	return strings.Split(strings.ReplaceAll(me.granted, " ", ""), ",")
}

// ask asks Slack who the bot token belongs to, and what it may do.
func (s *Slack) ask(ctx context.Context) (*self, error) {
	var me self
	err := s.api.ask(ctx, "auth.test", url.Values{}, &me)
	if err == nil && !decode.IsID(me.UserID) { // each message would be taken for one to it
		err = link.Lost(platformName, errors.New("it does not say who the bot is"))
	}
	return &me, err
}

// socket asks for an address of Socket Mode.
func (s *Slack) socket(ctx context.Context) (string, error) {
	var said struct{ URL string }
	err := s.api.app.Ask(ctx, http.MethodPost, "apps.connections.open", url.Values{}, &said)
	return said.URL, err
}

// Connect implements bot.Hooks: it asks for an address of Socket Mode, connects, and returns when
// the connection is lost. Slack sends what was not acknowledged to the next connection.
func (s *Slack) Connect(ctx context.Context, o *bot.Open, up func(string)) error {
	if stop := s.Unpaired(); stop != nil {
		return stop
	}
	me, err := s.ask(ctx)
	if err != nil {
		return link.StopOf(err)
	}
	if missing := me.missing(Scope.needed); len(missing) > 0 {
		return link.StopOf(s.api.Refuse(webapi.Word{Said: "missing_scope", Detail: strings.Join(missing, ", ")}))
	}
	s.self.Store(me)
	address, err := s.socket(ctx)
	if err != nil {
		return link.StopOf(err)
	}
	return s.api.Socket(ctx, address, maxEnvelope, pingEvery, func(ctx context.Context, conn *websocket.Conn) error {
		return s.hear(ctx, conn, o, func() { up("connected as " + me.String()) })
	})
}

// envelope is what comes through Socket Mode.
type envelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"`
	Reason  string          `json:"reason"` // of a disconnect
	Payload json.RawMessage `json:"payload"`
}

// hear reads envelopes until the connection is lost. It acknowledges each once its event is
// durable, or does not concern this host.
func (s *Slack) hear(ctx context.Context, conn *websocket.Conn, o *bot.Open, up func()) error {
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("read from Slack: %w", err)
		}
		var e envelope
		if err := json.Unmarshal(data, &e); err != nil {
			s.Log.Warn("Slack sent what is no envelope", "bytes", len(data))
			continue
		}
		switch {
		case e.Type == "hello":
			up()
		case e.Type == "disconnect" && e.Reason == "link_disabled":
			return link.StopOf(s.api.Refuse(webapi.Word{Said: e.Reason}))
		case e.Type == "disconnect":
			return fmt.Errorf("Slack wants another connection: %q", media.Cut(e.Reason, 40))
		case e.ID == "":
		default:
			words, err := s.keep(ctx, o, e)
			if err != nil {
				s.Log.Error("keep an event; Slack sends it again", "error", err)
				continue
			}
			if err := acknowledge(ctx, conn, e.ID, words); err != nil {
				return fmt.Errorf("acknowledge an event: %w", err)
			}
		}
	}
}

// acknowledge acknowledges an envelope. Slack shows words, which may be empty, only to the member
// whose command it is.
func acknowledge(ctx context.Context, conn *websocket.Conn, id, words string) error {
	say := map[string]any{"envelope_id": id}
	if words != "" {
		say["payload"] = map[string]string{"text": words}
	}
	ack, err := json.Marshal(say)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, ackWithin)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, ack)
}

// keep makes an event durable if it is for this host. words is what the member who gave a command is told.
func (s *Slack) keep(ctx context.Context, o *bot.Open, e envelope) (words string, err error) {
	ev, err := decode.Envelope(e.Type, e.Payload)
	if err != nil {
		s.Log.Info("Slack sent an event that this host does not know", "error", err)
	}
	switch {
	case ev == nil || ev.ByBot(s.self.Load().UserID):
		return "", nil
	case s.Serves(ev.Chat):
		return "", o.Keep(ctx, ev.Inbound, ev.Own)
	case ev.Command != "":
		return "No assistant is in this chat.", nil
	case ev.Kind == channel.KindMessage:
		s.ReportUnknown(ev.Chat, private(ev.Chat), ev.Sender, ev.Time)
	}
	return "", nil
}
