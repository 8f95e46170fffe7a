package discordtest

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"github.com/longshore-bridge/longshore/host/channel/channeltest"
)

// session is a session of the gateway. It outlives its connections.
type session struct {
	id     string
	events []object            // all, as frames; the first has the number 1
	conn   *channeltest.Socket // nil: none
}

func (s *Server) gatewayAddress() string {
	return strings.Replace(s.srv.URL, "http", "ws", 1) + "/gateway"
}

func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	if f := s.Take("connect"); f.instead(w) {
		return
	}
	if q := r.URL.Query(); q.Get("v") != "10" || q.Get("encoding") != "json" {
		http.Error(w, "the gateway is asked for another version or encoding", http.StatusBadRequest)
		return
	}
	channeltest.ServeSocket(s.life, &s.work, w, r, gateway{s})
}

// gateway is what the server does on the gateway's connections.
type gateway struct{ *Server }

// Opened greets a client.
func (g gateway) Opened(c *channeltest.Socket) { c.Send(g.hello()) }

func (s *Server) hello() object {
	return object{"op": 10, "d": object{"heartbeat_interval": s.Heartbeat.Milliseconds()}, "s": nil, "t": nil}
}

// Said takes what a client says.
func (g gateway) Said(c *channeltest.Socket, data []byte) error {
	var in struct {
		Op   int             `json:"op"`
		Data json.RawMessage `json:"d"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return closed(4002, "decode error")
	}
	switch in.Op {
	case 1:
		g.Take("heartbeat")
		c.Send(object{"op": 11})
		return nil
	case 2, 6:
		return g.greeted(c, in.Op, in.Data)
	}
	return closed(4001, "unknown opcode")
}

func closed(code websocket.StatusCode, why string) error {
	return websocket.CloseError{Code: code, Reason: why}
}

// greeted begins a session, or resumes one.
func (s *Server) greeted(c *channeltest.Socket, op int, data []byte) error {
	var in struct {
		Token   string `json:"token"`
		Intents int    `json:"intents"`
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return closed(4002, "decode error")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.Changed()
	switch {
	case in.Token != s.Token:
		return closed(4004, "authentication failed")
	case in.Intents&(1<<15) != 0 && s.Flags&FlagContent == 0, in.Intents&(1<<1) != 0 && s.Flags&FlagMembers == 0:
		return closed(4014, "disallowed intents")
	case len(s.invalid) > 0:
		c.Send(object{"op": 9, "d": s.invalid[0]})
		s.invalid = s.invalid[1:]
		return nil
	case op == 2:
		s.Count("identify")
		one := &session{id: "session" + s.newID(), conn: c}
		s.sessions = append(s.sessions, one)
		one.tell("READY", object{"v": 10, "user": s.user(s.BotID), "guilds": []object{{"id": GuildID, "unavailable": true}}, "session_id": one.id,
			"resume_gateway_url": s.gatewayAddress(), "application": object{"id": s.AppID, "flags": s.Flags}})
		one.tell("GUILD_CREATE", s.guild())
		return nil
	}
	for _, one := range s.sessions {
		if one.id == in.Session && in.Seq <= len(one.events) {
			s.Count("resume")
			one.conn = c
			for _, event := range one.events[in.Seq:] {
				c.Send(event)
			}
			one.tell("RESUMED", object{})
			return nil
		}
	}
	c.Send(object{"op": 9, "d": false})
	return nil
}

// tell makes an event of a session. The lock is held.
func (one *session) tell(kind string, data object) {
	event := object{"op": 0, "t": kind, "s": len(one.events) + 1, "d": data}
	one.events = append(one.events, event)
	if one.conn != nil {
		one.conn.Send(event)
	}
}

// dispatch makes an event of all sessions. The lock is held.
func (s *Server) dispatch(kind string, data object) {
	for _, one := range s.sessions {
		one.tell(kind, data)
	}
}

// Left keeps the sessions of a connection, which can be resumed.
func (s gateway) Left(c *channeltest.Socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		if one.conn == c {
			one.conn = nil
		}
	}
	s.Changed()
}

// guild is the server with its channels.
func (s *Server) guild() object {
	channels, threads := []object{}, []object{}
	for _, r := range s.channels {
		switch r.kind {
		case typeText:
			channels = append(channels, r.object())
		case typeThread:
			threads = append(threads, r.object())
		}
	}
	return object{"id": GuildID, "name": "Harbour", "owner_id": s.owner, "premium_tier": s.Tier, "channels": channels, "threads": threads,
		"roles": []object{{"id": GuildID, "name": "@everyone", "permissions": "70643726409281"}, {"id": "1009", "name": "Boss", "permissions": "8"}}}
}

// Drop breaks all connections to the gateway, whose sessions can be resumed.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		if one.conn != nil {
			one.conn.End()
			one.conn = nil
		}
	}
}

// Forget ends all sessions: those who resume one hear that there is none.
func (s *Server) Forget() {
	s.Drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = nil
}

// Reconnect asks all connections to come again.
func (s *Server) Reconnect() { s.tellAll(object{"op": 7, "d": nil}) }

// Greet says hello again on all connections, which Discord does not do.
func (s *Server) Greet() { s.tellAll(s.hello()) }

func (s *Server) tellAll(frame object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		if one.conn != nil {
			one.conn.Send(frame)
		}
	}
}
