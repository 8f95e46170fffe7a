package slacktest

import "maps"

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

// Tell sends an event of a test's own making.
func (s *Server) Tell(channel string, event map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(s.must(channel), maps.Clone(event))
	s.Changed()
}
