package slacktest

import (
	"encoding/json"
	"maps"
	"slices"
)

// Join tells that a member has joined a channel.
func (s *Server) Join(channel, user string) { s.member("member_joined_channel", channel, user) }

// Leave tells that a member has left a channel.
func (s *Server) Leave(channel, user string) { s.member("member_left_channel", channel, user) }

func (s *Server) member(event, channel, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.must(channel)
	kind := map[string]string{Public: "C", Private: "G", Several: "G"}[ch.kind]
	s.tell(ch, object{"type": event, "user": user, "channel": ch.id, "channel_type": kind, "team": s.Team, "event_ts": s.now()})
	s.Changed()
}

// Rename gives a member another name.
func (s *Server) Rename(id, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user(id).name = name
}

// Dispatch sends an event of Slack's as it stands, whatever it is, with the channel, and
// an event_ts if it has a ts. A message with a ts is in the channel's history from then on.
func (s *Server) Dispatch(channel string, event json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.must(channel)
	var o map[string]json.RawMessage
	var m struct {
		Type, TS, User string
		Thread         string `json:"thread_ts"`
		Hidden         bool
	}
	if err := json.Unmarshal(event, &o); err != nil {
		panic("slacktest: " + err.Error())
	}
	_ = json.Unmarshal(event, &m) // it may be in no form of Slack's
	if m.Type == "message" && m.TS != "" && !m.Hidden {
		ch.messages = append(ch.messages, &Message{TS: m.TS, Thread: m.Thread, User: m.User, raw: maps.Clone(o)})
		slices.SortStableFunc(ch.messages, func(a, b *Message) int { return compareTS(a.TS, b.TS) })
	}
	if _, ok := o["channel"]; !ok {
		o["channel"], _ = json.Marshal(ch.id)
	}
	if ts, ok := o["ts"]; ok {
		o["event_ts"] = ts
	}
	s.tell(ch, o)
	s.Changed()
}

// Tell sends an event of a test's own making.
func (s *Server) Tell(channel string, event map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(s.must(channel), maps.Clone(event))
	s.Changed()
}
