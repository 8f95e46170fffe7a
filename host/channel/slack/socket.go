package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/media"
)

const (
	maxEnvelope = 8 << 20          // bytes; a larger one ends the connection
	pingEvery   = 20 * time.Second // a connection that does not answer in as long again is lost
)

// self is the bot that the tokens belong to, as auth.test says.
type self slackgo.AuthTestResponse

// scopes returns what the app may do.
func (me *self) scopes() []string {
	return strings.Split(strings.ReplaceAll(me.Header.Get("X-OAuth-Scopes"), " ", ""), ",")
}

// socket asks for an address of Socket Mode.
func (s *Slack) socket(ctx context.Context) (string, error) {
	_, address, err := s.api.slack.StartSocketModeContext(ctx)
	return address, s.api.refusal(err)
}

// Connect implements bot.Hooks: it asks for an address of Socket Mode, connects, and returns when
// the connection is lost. Slack sends what was not acknowledged to the next connection.
func (s *Slack) Connect(ctx context.Context, o *bot.Open, up func(string)) error {
	if stop := s.Unpaired(); stop != nil {
		return stop
	}
	name, err := s.Me(ctx)
	if err != nil {
		return link.StopOf(err)
	}
	if missing := s.self.Load().missing(false); len(missing) > 0 {
		return link.StopOf(s.api.Refuse(webapi.Word{Said: "missing_scope", Detail: strings.Join(missing, ", ")}))
	}
	address, err := s.socket(ctx)
	if err != nil {
		return link.StopOf(err)
	}
	counted, again := context.WithCancel(ctx)
	defer again()
	err = s.api.Listen(counted, address, maxEnvelope, pingEvery, func(ctx context.Context, conn *webapi.Socket, frame []byte) error {
		return s.hear(ctx, conn, o, frame, func() {
			if up("connected as " + name); s.rivals.Load() > 0 {
				time.AfterFunc(s.recount, again)
			}
		})
	})
	if counted.Err() != nil && ctx.Err() == nil { // Slack may count a connection for a moment after its end
		wake.Sleep(ctx, s.recount/30)
	}
	return err
}

// recountAfter is after how long the channel connects anew if Slack has counted more connections than this
// one: that of an owner that died may not have ended yet.
const recountAfter = 5 * time.Minute

// Shared implements channel.Shared: Slack counted other connections twice in a row.
func (s *Slack) Shared() bool { return s.rivals.Load() > 1 }

// envelope is what comes through Socket Mode.
type envelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"`
	Reason  string          `json:"reason"`          // of a disconnect
	Count   int             `json:"num_connections"` // of a hello: those by this token, with this one
	Payload json.RawMessage `json:"payload"`
}

// hear takes an envelope. It acknowledges it once its event is durable, or does not concern this host.
// Slack shows words only to the member whose command it is.
func (s *Slack) hear(ctx context.Context, conn *webapi.Socket, o *bot.Open, frame []byte, up func()) error {
	var e envelope
	if err := json.Unmarshal(frame, &e); err != nil {
		s.Log.Warn("Slack sent what is no envelope", "bytes", len(frame))
		return nil
	}
	switch {
	case e.Type == "hello":
		if e.Count > 1 {
			s.rivals.Add(1)
		} else {
			s.rivals.Store(0)
		}
		up()
		return nil
	case e.Type == "disconnect" && e.Reason == "link_disabled":
		return link.StopOf(s.api.Refuse(webapi.Word{Said: e.Reason}))
	case e.Type == "disconnect":
		return fmt.Errorf("Slack wants another connection: %q", media.Cut(e.Reason, 40))
	case e.ID == "":
		return nil
	}
	words, err := s.keep(ctx, o, e)
	if err != nil {
		s.Log.Error("keep an event; Slack sends it again", "error", err)
		return nil
	}
	ack := map[string]any{"envelope_id": e.ID}
	if words != "" {
		ack["payload"] = map[string]string{"text": words}
	}
	return conn.Write(ctx, ack)
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
