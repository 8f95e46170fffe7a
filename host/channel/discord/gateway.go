package discord

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// The opcodes of the gateway: discord.com/developers/docs/topics/opcodes-and-status-codes.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opAck            = 11
)

const maxFrame = 16 << 20 // bytes; a large server's GUILD_CREATE has a few MiB

// gateway is the connection on which events come. connect is called by one goroutine.
type gateway struct {
	*Discord
	open *bot.Open

	session, resume string // of the session; empty: there is none
	current         bool   // all earlier messages are kept, or come by this connection
	greeted         bool   // Discord has said hello on this connection
	seq             atomic.Int64
	acked           atomic.Bool  // the last heartbeat was answered
	busy            atomic.Bool  // with a frame; answers to heartbeats lie unread
	pulsed          atomic.Int64 // when the last heartbeat was sent, in ms
}

// frame is what comes through the gateway.
type frame struct {
	Op   int            `json:"op"`
	Type string         `json:"t"`
	Seq  int64          `json:"s"`
	Data jsontext.Value `json:"d"`
}

// connect asks for the gateway's address, connects, and returns when the connection is lost.
func (g *gateway) connect(ctx context.Context, up func(string)) error {
	if stop := g.Unpaired(); stop != nil {
		return stop
	}
	if _, err := g.Me(ctx); err != nil {
		return link.StopOf(err)
	}
	me := g.self.Load()
	g.current, g.greeted = false, false
	address := g.resume
	if g.session == "" {
		var at struct {
			URL   string `json:"url"`
			Limit struct {
				Remaining int `json:"remaining"`
				Reset     int `json:"reset_after"` // milliseconds
			} `json:"session_start_limit"`
		}
		if err := g.api.Ask(ctx, "GET", "gateway/bot", nil, &at); err != nil {
			return link.StopOf(err)
		}
		if at.Limit.Remaining <= 0 { // Discord resets the token of a bot that goes on
			return &link.Stop{Code: "discord_sessions", Message: "the bot has connected too often today", Hint: "the host connects when Discord allows it again",
				Wait: link.After(min(time.Duration(at.Limit.Reset)*time.Millisecond+time.Second, 25*time.Hour))}
		}
		address = at.URL
	}
	detail, opened := "connected as "+me.name, false
	if me.flags&flagContent == 0 {
		detail += "; it hears mentions and direct messages only: switch on Message Content Intent at " + settingsOf(me.app)
	}
	err := g.api.Listen(ctx, address+"/?v=10&encoding=json", maxFrame, 0, func(ctx context.Context, conn *webapi.Socket, data []byte) error {
		opened = true
		g.busy.Store(true)
		defer g.busy.Store(false)
		return g.hear(ctx, conn, data, func() { up(detail) })
	})
	if !opened {
		g.session = "" // its own address may be gone
	}
	return g.lost(err)
}

// lost returns the error for the code with which Discord closed the connection.
func (g *gateway) lost(err error) error {
	switch websocket.CloseStatus(err) {
	case 4004:
		return link.StopOf(g.api.Refuse(webapi.Word{Status: http.StatusUnauthorized, Said: "authentication failed"}))
	case 4013, 4014:
		return &link.Stop{Code: "discord_intents", Message: "Discord does not let the bot hear messages", Hint: "switch on Message Content Intent under Bot of the application at discord.com/developers",
			Wait: link.After(5 * time.Minute)}
	case 4007, 4009, 1000, 1001:
		g.session = ""
	}
	return err
}

// hear takes a frame.
func (g *gateway) hear(ctx context.Context, conn *webapi.Socket, data []byte, up func()) error {
	var f frame
	if err := json.Unmarshal(data, &f, lenient); err != nil {
		g.Log.Warn("Discord sent what is no frame", "bytes", len(data))
		return nil
	}
	switch f.Op {
	case opHello:
		var h struct {
			Interval int64 `json:"heartbeat_interval"` // milliseconds
		}
		if err := json.Unmarshal(f.Data, &h, lenient); err != nil || h.Interval <= 0 || h.Interval > 600_000 {
			return errors.New("Discord's greeting has no heartbeat")
		}
		if g.greeted { // each greeting would start a heartbeat
			return errors.New("Discord greeted the connection twice")
		}
		g.greeted = true
		conn.Go(func() { g.beat(ctx, conn, time.Duration(h.Interval)*time.Millisecond) })
		return g.greet(ctx, conn)
	case opHeartbeat:
		return g.pulse(ctx, conn)
	case opAck:
		g.acked.Store(true)
		g.heard(ctx, time.UnixMilli(g.pulsed.Load()))
	case opReconnect:
		return errors.New("Discord wants another connection")
	case opInvalidSession:
		if string(f.Data) != "true" { // it cannot be resumed
			g.session = ""
		}
		wake.Sleep(ctx, g.afresh+rand.N(4*g.afresh)) // as Discord requires before the next session
		return errors.New("Discord does not know the session any more")
	case opDispatch:
		return g.dispatch(ctx, f, up)
	}
	return nil
}

// greet resumes the session, or begins one.
func (g *gateway) greet(ctx context.Context, conn *webapi.Socket) error {
	if g.session != "" {
		return conn.Write(ctx, say{opResume, map[string]any{"token": g.api.token, "session_id": g.session, "seq": g.seq.Load()}})
	}
	return conn.Write(ctx, say{opIdentify, map[string]any{
		"token": g.api.token, "intents": g.self.Load().intents(), "large_threshold": 50,
		"properties": map[string]string{"os": "linux", "browser": "longshore", "device": "longshore"},
	}})
}

// say is what goes through the gateway.
type say struct {
	Op   int `json:"op"`
	Data any `json:"d"`
}

func (g *gateway) pulse(ctx context.Context, conn *webapi.Socket) error {
	g.pulsed.Store(time.Now().UnixMilli())
	return conn.Write(ctx, say{opHeartbeat, g.seq.Load()})
}

// beat sends heartbeats, and ends a connection that does not answer one before the next, unless
// hear is still busy with earlier frames.
func (g *gateway) beat(ctx context.Context, conn *webapi.Socket, interval time.Duration) {
	g.acked.Store(true)
	for wait := rand.N(interval); wake.Sleep(ctx, wait); wait = interval {
		if !g.acked.Swap(false) && !g.busy.Load() || g.pulse(ctx, conn) != nil {
			conn.Drop()
			return
		}
	}
}

// dispatch takes an event. Its number is acknowledged once it is durable, or does not concern this
// host.
func (g *gateway) dispatch(ctx context.Context, f frame, up func()) error {
	var err error
	switch f.Type {
	case "READY":
		up() // what was missed may take minutes
		err = g.ready(ctx, f.Data)
	case "RESUMED":
		g.current = true
		up()
	default:
		g.learn(f.Type, f.Data)
		err = g.keep(ctx, f)
	}
	if err != nil {
		return fmt.Errorf("take an event; Discord sends it again: %w", err)
	}
	g.seq.Store(f.Seq)
	return nil
}

// ready begins a session, and asks for what was written since the last one.
func (g *gateway) ready(ctx context.Context, data []byte) error {
	var r struct {
		Session string `json:"session_id"`
		Resume  string `json:"resume_gateway_url"`
	}
	if err := json.Unmarshal(data, &r, lenient); err != nil {
		return err
	}
	g.Barred.Clear()
	now := time.Now()
	if err := g.catchUp(ctx); err != nil {
		return err
	}
	g.current = true
	g.heard(ctx, now)
	if err := g.offer(ctx, g.self.Load()); err != nil {
		g.Log.Info("offer the host's words as commands", "error", err)
	}
	g.session, g.resume = r.Session, r.Resume
	return nil
}
