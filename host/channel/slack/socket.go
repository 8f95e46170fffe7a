package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/media"
)

const (
	maxEnvelope = 8 << 20          // bytes; a larger one ends the connection
	pingEvery   = 20 * time.Second // a connection that does not answer in as long again is lost
	ackWithin   = 3 * time.Second  // Slack repeats an envelope that is not acknowledged
)

// self is the bot that the tokens belong to.
type self struct {
	user, bot, team string
	name, workspace string // foreign
	scopes          []string
}

// noTokens is what a channel lacks that is not paired.
const noTokens = "tokens of a Slack app"

// ask asks Slack who the bot token belongs to, and what it may do.
func (s *Slack) ask(ctx context.Context) (*self, error) {
	got, err := s.api.slackgo.AuthTestContext(ctx)
	if err != nil {
		return nil, apiError(err)
	}
	if !decode.IsID(got.UserID) { // each message would be taken for one to it
		return nil, link.Lost(platformName, errors.New("it does not say who the bot is"))
	}
	me := &self{user: got.UserID, bot: got.BotID, team: got.TeamID, name: channel.CleanName(got.User), workspace: channel.CleanName(got.Team)}
	for scope := range strings.SplitSeq(got.Header.Get("X-OAuth-Scopes"), ",") {
		if scope = strings.TrimSpace(scope); scope != "" {
			me.scopes = append(me.scopes, scope)
		}
	}
	return me, nil
}

// Connect implements bot.Hooks: it asks for an address of Socket Mode, connects, and returns when
// the connection is lost. Slack sends what was not acknowledged to the next connection.
func (s *Slack) Connect(ctx context.Context, o *bot.Open, up func(string)) error {
	if stop := s.NotPaired(s.api.bot != "" && !s.settings.AppToken.IsZero()); stop != nil {
		return stop
	}
	me, err := s.ask(ctx)
	if err != nil {
		return link.StopOf(err)
	}
	if missing := me.missing(Scope.needed); len(missing) > 0 {
		return link.StopOf(refused("missing_scope", strings.Join(missing, ", ")))
	}
	s.self.Store(me)
	_, address, err := s.api.slackgo.StartSocketModeContext(ctx)
	if err != nil {
		return link.StopOf(apiError(err))
	}
	conn, res, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: s.api.client})
	if res != nil && res.Body != nil {
		defer res.Body.Close()
	}
	if err != nil {
		return fmt.Errorf("open Socket Mode: %w", hideAddress(err))
	}
	conn.SetReadLimit(maxEnvelope)
	ctx, end := context.WithCancel(ctx)
	var pings sync.WaitGroup
	defer pings.Wait()
	defer end()
	defer conn.CloseNow()
	pings.Go(func() { alive(ctx, conn) })
	return s.hear(ctx, conn, o.Journal, func() {
		up(fmt.Sprintf("connected as %s in %s", me.name, me.workspace))
	})
}

var ticket = regexp.MustCompile(`(https?|wss?)://[^\s"]+`)

// hideAddress removes addresses from an error: that of Socket Mode has a ticket.
func hideAddress(err error) error {
	return errors.New(strings.TrimSpace(media.Cut(media.Printable(ticket.ReplaceAllString(err.Error(), "…")), 300)))
}

// alive pings until ctx is done, and ends a connection that does not answer.
func alive(ctx context.Context, conn *websocket.Conn) {
	for range wake.Every(ctx, pingEvery) {
		ctx, cancel := context.WithTimeout(ctx, pingEvery)
		err := conn.Ping(ctx)
		cancel()
		if err != nil {
			_ = conn.CloseNow()
			return
		}
	}
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
func (s *Slack) hear(ctx context.Context, conn *websocket.Conn, j *journal.Journal, up func()) error {
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
			return link.StopOf(refused(e.Reason, ""))
		case e.Type == "disconnect":
			return fmt.Errorf("Slack wants another connection: %q", media.Cut(e.Reason, 40))
		case e.ID == "":
		default:
			if err := s.keep(ctx, j, e); err != nil {
				s.Log.Error("keep an event; Slack sends it again", "error", err)
				continue
			}
			if err := acknowledge(ctx, conn, e.ID, s.wordsOn(e)); err != nil {
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

// keep makes an event durable if it is for this host.
func (s *Slack) keep(ctx context.Context, j *journal.Journal, e envelope) error {
	id, body, ev, err := decode.Envelope(e.Type, e.Payload)
	if err != nil {
		s.Log.Info("Slack sent an event that this host does not know", "error", err)
	}
	if ev == nil || ev.Own(s.self.Load().user) {
		return nil
	}
	if !s.Serves(ev.Chat) {
		if ev.Kind == channel.KindMessage && ev.Command == "" {
			s.ReportUnknown(ev.Chat, private(ev.Chat), ev.Sender, ev.Time)
		}
		return nil
	}
	m := journal.Inbound{Chat: ev.Chat, ID: id, Sender: ev.Sender, Info: []byte{}, Body: body, Received: time.Now(), Event: ev.Command == ""}
	if ev.TS != "" { // a mention comes as two events
		m.ID, m.Event = ev.TS, ev.Kind != channel.KindMessage
	}
	return j.Keep(ctx, m)
}
