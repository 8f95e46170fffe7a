package slacktest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/channeltest"
)

// envelope is an event that is not acknowledged.
type envelope struct {
	kind    string
	ids     []string // one for each attempt; any of them acknowledges it
	payload object
	tries   int
	to      *channeltest.Socket // nil if it waits for a connection
	at      time.Time           // of the last attempt
}

// open is apps.connections.open.
func (s *Server) open(args) (object, error) {
	if len(s.conns) >= 10 {
		return nil, refusal("too_many_websockets")
	}
	ticket := s.newID("ticket-")
	s.tickets[ticket] = true
	return object{"url": strings.Replace(s.srv.URL, "http", "ws", 1) + "/link/?ticket=" + ticket + "&app_id=" + s.AppID}, nil
}

func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	ok := s.tickets[ticket]
	delete(s.tickets, ticket)
	s.mu.Unlock()
	if !ok {
		http.Error(w, "the ticket is used or unknown", http.StatusNotFound)
		return
	}
	channeltest.ServeSocket(s.life, &s.work, w, r, link{s})
}

// link is what the server does on Socket Mode's connections.
type link struct{ *Server }

// Opened greets a client, and gives it what waits for one. Slack pings: slack-go gives up a silent
// connection.
func (l link) Opened(c *channeltest.Socket) {
	l.join(c)
	c.Every(l.PingEach, c.Ping)
	c.Every(l.RetryAfter/2, func(context.Context) error { l.late(c); return nil })
}

func (s *Server) join(c *channeltest.Socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, c)
	c.Send(object{
		"type": "hello", "num_connections": len(s.conns), "connection_info": object{"app_id": s.AppID},
		"debug_info": object{"host": "applink-loopback", "build_number": 1, "approximate_connection_time": 18060},
	})
	for _, e := range s.waiting {
		if e.to == nil {
			s.send(e, "")
		}
	}
	s.Changed()
}

// Left sends to other connections what the one has not acknowledged.
func (s link) Left(c *channeltest.Socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = slices.DeleteFunc(s.conns, func(o *channeltest.Socket) bool { return o == c })
	for _, e := range s.waiting {
		if e.to == c {
			e.to = nil
			s.send(e, "connection_failed")
		}
	}
	s.Changed()
}

// send writes an envelope to the next connection, if there is one. The lock is held.
func (s *Server) send(e *envelope, reason string) {
	if len(s.conns) == 0 {
		return // join sends it
	}
	s.delivered++
	id := fmt.Sprintf("envelope-%06d", s.delivered)
	e.ids, e.to, e.at = append(e.ids, id), s.conns[s.delivered%len(s.conns)], time.Now()
	o := object{"type": e.kind, "envelope_id": id, "payload": e.payload, "accepts_response_payload": e.kind != "events_api", "retry_attempt": e.tries, "retry_reason": ""}
	if e.tries > 0 {
		if reason == "" {
			reason = "timeout"
		}
		o["retry_reason"] = reason
	}
	e.tries++
	e.to.Send(o)
}

// tell makes an event of what happened in a channel, if the bot is there.
func (s *Server) tell(ch *channel, event any) {
	if ch.outside {
		return
	}
	s.events++
	s.emit(object{
		"type": "event_callback", "token": "loopback", "team_id": s.Team, "context_team_id": s.Team, "api_app_id": s.AppID, "event": event,
		"event_id": fmt.Sprintf("Ev0LOOP%06d", s.events), "event_time": time.Now().Unix(), "is_ext_shared_channel": false,
		"authorizations": []object{{"team_id": s.Team, "user_id": s.BotUser, "is_bot": true, "enterprise_id": nil, "is_enterprise_install": false}},
	})
}

// emit sends an event until it is acknowledged.
func (s *Server) emit(payload object) {
	s.hand(&envelope{kind: "events_api", payload: payload})
}

// Command has a member write a command of the app's, such as /longshore stop. Its
// answer is what Replies has.
func (s *Server) Command(id, userID, command, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hand(&envelope{kind: "slash_commands", payload: object{
		"token": "loopback", "team_id": s.Team, "team_domain": "loopback", "channel_id": id, "channel_name": "directmessage", "user_id": userID,
		"user_name": "a.member", "command": command, "text": text, "api_app_id": s.AppID, "is_enterprise_install": "false",
		"response_url": s.srv.URL + "/commands/none", "trigger_id": s.newID("13345224609.738474920."),
	}})
}

// Replies are the texts with which commands were acknowledged, for their members
// alone.
func (s *Server) Replies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.whispers)
}

// hand queues an envelope. The lock is held.
func (s *Server) hand(e *envelope) {
	s.waiting = append(s.waiting, e)
	s.send(e, "")
}

// Redeliver sends every event again that is not acknowledged, as Slack does when an
// acknowledgement is late, whether or not its connection still works.
func (s *Server) Redeliver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.waiting {
		s.send(e, "timeout")
	}
}

// Unacknowledged is how many events the client has not acknowledged.
func (s *Server) Unacknowledged() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

// Connections is how many connections of Socket Mode are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Disconnect sends disconnect with a reason, such as warning or refresh_requested,
// to every client. A reason of "" breaks the connections instead.
func (s *Server) Disconnect(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		if reason == "" {
			c.End()
			continue
		}
		c.Send(object{"type": "disconnect", "reason": reason, "debug_info": object{"host": "applink-loopback"}})
	}
}

// late sends again what was not acknowledged in time.
func (s *Server) late(c *channeltest.Socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.waiting {
		if e.to == c && time.Since(e.at) >= s.RetryAfter {
			s.send(e, "timeout")
		}
	}
}

// Said takes an acknowledgement. Slack closes a connection that says something else, too.
func (s link) Said(_ *channeltest.Socket, data []byte) error {
	var ack struct {
		EnvelopeID string `json:"envelope_id"`
		Payload    struct {
			Text string `json:"text"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(data, &ack); err != nil || ack.EnvelopeID == "" {
		return fmt.Errorf("no acknowledgement: %s", data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ack.Payload.Text != "" {
		s.whispers = append(s.whispers, ack.Payload.Text)
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(e *envelope) bool { return slices.Contains(e.ids, ack.EnvelopeID) })
	s.Changed()
	return nil
}
