package slacktest

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

// page cuts a page out of a list, whose cursor is where the next one begins.
func page[T any](a args, all []T, most int) (some []T, next string, err error) {
	from := 0
	if text := a.str("cursor"); text != "" {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, "", refusal("invalid_cursor")
		}
		if from, err = strconv.Atoi(strings.TrimPrefix(string(raw), "next:")); err != nil || from > len(all) {
			return nil, "", refusal("invalid_cursor")
		}
	}
	limit := most
	if text := a.str("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1000 {
			return nil, "", refusal("invalid_limit")
		}
		limit = min(n, most)
	}
	to := min(len(all), from+limit)
	if to < len(all) {
		next = base64.StdEncoding.EncodeToString([]byte("next:" + strconv.Itoa(to)))
	}
	return all[from:to], next, nil
}

func (s *Server) wireChannel(ch *channel) object {
	return object{
		"id": ch.id, "name": ch.name, "name_normalized": ch.name, "user": ch.user,
		"is_channel": ch.kind == Public || ch.kind == Private, "is_group": ch.kind == Private, "is_im": ch.kind == Direct, "is_mpim": ch.kind == Several,
		"is_private": ch.kind != Public, "is_archived": ch.archived, "is_member": !ch.outside, "created": 1_600_000_000, "num_members": len(s.users),
	}
}

// types are the words of conversations.list for the kinds of a channel.
var types = map[string]string{"public_channel": Public, "private_channel": Private, "im": Direct, "mpim": Several}

// family is the scope of each kind of channel, before the colon.
var family = map[string]string{Public: "channels", Private: "groups", Direct: "im", Several: "mpim"}

func (s *Server) list(a args) (object, error) {
	want := strings.Split(a.str("types"), ",")
	if a.str("types") == "" {
		want = []string{"public_channel"}
	}
	var kinds []string
	for _, t := range want {
		kind, ok := types[strings.TrimSpace(t)]
		if !ok {
			return nil, refusal("invalid_types")
		}
		if !slices.Contains(s.scopes, family[kind]+":read") {
			return nil, refusal("missing_scope")
		}
		kinds = append(kinds, kind)
	}
	all := []object{}
	for _, ch := range s.channels {
		hidden := ch.kind != Public && ch.outside || ch.archived && a.yes("exclude_archived")
		if slices.Contains(kinds, ch.kind) && !hidden {
			all = append(all, s.wireChannel(ch))
		}
	}
	some, next, err := page(a, all, 1000)
	return object{"channels": some, "response_metadata": object{"next_cursor": next}}, err
}

// readable is a channel that the bot may read.
func (s *Server) readable(id string) (*channel, error) {
	ch := s.channel(id)
	if ch == nil || ch.outside && ch.kind != Public {
		return nil, refusal("channel_not_found")
	}
	return ch, nil
}

func (s *Server) info(a args) (object, error) {
	ch, err := s.readable(a.str("channel"))
	if err != nil {
		return nil, err
	}
	if !slices.Contains(s.scopes, family[ch.kind]+":read") {
		return nil, refusal("missing_scope")
	}
	return object{"channel": s.wireChannel(ch)}, nil
}

// within says whether a message lies between oldest and latest.
func within(a args, m *Message) bool {
	oldest, latest := a.str("oldest"), a.str("latest")
	if a.yes("inclusive") && (m.TS == oldest || m.TS == latest) {
		return true
	}
	return (oldest == "" || oldest == "0" || compareTS(m.TS, oldest) > 0) && (latest == "" || compareTS(m.TS, latest) < 0)
}

func (s *Server) history(a args) (object, error) {
	ch, err := s.readable(a.str("channel"))
	if err != nil {
		return nil, err
	}
	if ch.outside {
		return nil, refusal("not_in_channel")
	}
	all := []object{}
	for _, m := range slices.Backward(ch.messages) {
		if (m.Thread == "" || m.Thread == m.TS) && within(a, m) {
			all = append(all, m.read(ch, a.yes("include_all_metadata")))
		}
	}
	some, next, err := page(a, all, 999)
	return object{"messages": some, "has_more": next != "", "response_metadata": object{"next_cursor": next}}, err
}

func (s *Server) replies(a args) (object, error) {
	ch, err := s.readable(a.str("channel"))
	if err != nil {
		return nil, err
	}
	parent := ch.message(a.str("ts"))
	if parent == nil {
		return nil, refusal("thread_not_found")
	}
	all := []object{}
	for _, m := range ch.messages {
		if m == parent || m.Thread == parent.TS && within(a, m) {
			all = append(all, m.read(ch, a.yes("include_all_metadata")))
		}
	}
	some, next, err := page(a, all, 1000)
	return object{"messages": some, "has_more": next != "", "response_metadata": object{"next_cursor": next}}, err
}

func (s *Server) openDirect(a args) (object, error) {
	u := s.user(a.str("users"))
	if u == nil {
		return nil, refusal("user_not_found")
	}
	i := slices.IndexFunc(s.channels, func(ch *channel) bool { return ch.user == u.id })
	if i >= 0 {
		return object{"channel": s.wireChannel(s.channels[i]), "already_open": true, "no_op": true}, nil
	}
	return object{"channel": s.wireChannel(s.addChannel(Direct, u.id))}, nil
}

func (s *Server) user(id string) *user {
	i := slices.IndexFunc(s.users, func(u user) bool { return u.id == id })
	if i < 0 {
		return nil
	}
	return &s.users[i]
}

func (s *Server) wireUser(u user) object {
	return object{
		"id": u.id, "team_id": s.Team, "name": u.name, "real_name": u.name, "deleted": false, "is_bot": u.bot, "is_admin": u.admin,
		"profile": object{"real_name": u.name, "display_name": u.name},
	}
}

func (s *Server) userInfo(a args) (object, error) {
	u := s.user(a.str("user"))
	if u == nil {
		return nil, refusal("user_not_found")
	}
	return object{"user": s.wireUser(*u)}, nil
}

func (s *Server) userList(a args) (object, error) {
	var all []object
	for _, u := range s.users {
		all = append(all, s.wireUser(u))
	}
	some, next, err := page(a, all, 1000)
	return object{"members": some, "response_metadata": object{"next_cursor": next}}, err
}

func (s *Server) botInfo(a args) (object, error) {
	if a.str("bot") != s.BotID {
		return nil, refusal("bot_not_found")
	}
	return object{"bot": object{"id": s.BotID, "app_id": s.AppID, "user_id": s.BotUser, "name": s.users[0].name, "deleted": false}}, nil
}

func (s *Server) teamInfo(args) (object, error) {
	return object{"team": object{"id": s.Team, "name": "Loopback", "domain": "loopback"}}, nil
}
