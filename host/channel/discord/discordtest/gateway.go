package discordtest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// session is a session of the gateway. It outlives its connections.
type session struct {
	id     string
	events []object // all, as frames; the first has the number 1
	conn   *conn    // nil: none
}

// conn is a connection to the gateway.
type conn struct {
	ws  *websocket.Conn
	out chan object // what goes to the client; closed by nobody
	end context.CancelFunc
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
	s.work.Add(1) // while the server still waits for this request
	defer s.work.Done()
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	ctx, end := context.WithCancel(s.life)
	c := &conn{ws: ws, out: make(chan object, 10_000), end: end}
	c.out <- object{"op": 10, "d": object{"heartbeat_interval": s.Heartbeat.Milliseconds()}, "s": nil, "t": nil}
	s.work.Go(func() { write(ctx, c) })
	s.listen(ctx, c)
	end()
	s.leave(c)
	_ = ws.CloseNow()
}

func write(ctx context.Context, c *conn) {
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-c.out:
			data, err := json.Marshal(o)
			if err != nil || c.ws.Write(ctx, websocket.MessageText, data) != nil {
				c.end()
				return
			}
		}
	}
}

// listen takes what a client says.
func (s *Server) listen(ctx context.Context, c *conn) {
	for {
		_, data, err := c.ws.Read(ctx)
		if err != nil {
			return
		}
		var in struct {
			Op   int             `json:"op"`
			Data json.RawMessage `json:"d"`
		}
		if err := json.Unmarshal(data, &in); err != nil {
			_ = c.ws.Close(4002, "decode error")
			return
		}
		switch in.Op {
		case 1:
			s.Take("heartbeat")
			c.out <- object{"op": 11}
			continue
		case 2, 6:
		default:
			_ = c.ws.Close(4001, "unknown opcode")
			return
		}
		if code, why := s.greeted(c, in.Op, in.Data); code != 0 {
			_ = c.ws.Close(code, why)
			return
		}
	}
}

// greeted begins a session, or resumes one.
func (s *Server) greeted(c *conn, op int, data []byte) (websocket.StatusCode, string) {
	var in struct {
		Token   string `json:"token"`
		Intents int    `json:"intents"`
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return 4002, "decode error"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.Changed()
	switch {
	case in.Token != s.Token:
		return 4004, "authentication failed"
	case in.Intents&(1<<15) != 0 && s.Flags&FlagContent == 0, in.Intents&(1<<1) != 0 && s.Flags&FlagMembers == 0:
		return 4014, "disallowed intents"
	case len(s.invalid) > 0:
		c.out <- object{"op": 9, "d": s.invalid[0]}
		s.invalid = s.invalid[1:]
		return 0, ""
	case op == 2:
		s.Count("identify")
		one := &session{id: "session" + s.newID(), conn: c}
		s.sessions = append(s.sessions, one)
		one.tell("READY", object{"v": 10, "user": s.user(s.BotID), "guilds": []object{{"id": GuildID, "unavailable": true}}, "session_id": one.id,
			"resume_gateway_url": s.gatewayAddress(), "application": object{"id": s.AppID, "flags": s.Flags}})
		one.tell("GUILD_CREATE", s.guild())
		return 0, ""
	}
	for _, one := range s.sessions {
		if one.id == in.Session && in.Seq <= len(one.events) {
			s.Count("resume")
			one.conn = c
			for _, event := range one.events[in.Seq:] {
				c.out <- event
			}
			one.tell("RESUMED", object{})
			return 0, ""
		}
	}
	c.out <- object{"op": 9, "d": false}
	return 0, ""
}

// tell makes an event of a session. The lock is held.
func (one *session) tell(kind string, data object) {
	event := object{"op": 0, "t": kind, "s": len(one.events) + 1, "d": data}
	one.events = append(one.events, event)
	if one.conn != nil {
		one.conn.out <- event
	}
}

// dispatch makes an event of all sessions. The lock is held.
func (s *Server) dispatch(kind string, data object) {
	for _, one := range s.sessions {
		one.tell(kind, data)
	}
}

func (s *Server) leave(c *conn) {
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
			one.conn.end()
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
func (s *Server) Reconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		if one.conn != nil {
			one.conn.out <- object{"op": 7, "d": nil}
		}
	}
}
