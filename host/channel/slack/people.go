package slack

import (
	"cmp"
	"context"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/internal/cache"
)

const (
	nameFor    = time.Hour        // how long a name counts
	retryNames = time.Minute      // until the next question after one without an answer
	nameWithin = 10 * time.Second // how long a question may take
)

// known is what Slack says of a member.
type known struct {
	name  string
	bot   bool         // an app's own
	role  channel.Role // unknown: Slack has not said who it is
	until time.Time
}

// nameOf returns a member's name, or the id if Slack does not say.
func (s *Slack) nameOf(ctx context.Context, id string) string { return s.member(ctx, id).name }

func (s *Slack) member(ctx context.Context, id string) known {
	if id == "" {
		return known{}
	}
	k, _ := s.people.Get(id)
	if time.Now().Before(k.until) {
		return k
	}
	ctx, cancel := context.WithTimeout(ctx, nameWithin)
	defer cancel()
	k = known{name: id, until: time.Now().Add(retryNames)}
	if u, err := s.user(ctx, id); err != nil {
		s.Log.Info("ask for a member's name", "error", err)
	} else {
		k.name = cmp.Or(channel.CleanName(u.Profile.DisplayName), channel.CleanName(u.RealName), channel.CleanName(u.Name), id)
		k.bot, k.role, k.until = u.IsBot, s.roleOf(u), time.Now().Add(nameFor)
	}
	s.people.Set(id, k)
	return k
}

func (s *Slack) user(ctx context.Context, id string) (*slackgo.User, error) {
	u, err := s.api.slack.GetUserInfoContext(ctx, id)
	return u, s.api.refusal(err)
}

// threads remembers in which threads the assistant spoke, which the journal knows for a week, and
// which others had messages, whose value is false.
type threads struct{ here cache.Map[string, bool] }

// threadKey returns the key of a thread or, if thread is empty, of the chat itself.
func threadKey(chat groups.JID, thread string) string { return string(chat) + " " + thread }

// first reports whether this is its first call for a thread, as far as is remembered.
func (t *threads) first(chat groups.JID, thread string) bool {
	_, seen := t.here.Change(threadKey(chat, thread), func(spoken, _ bool) bool { return spoken })
	return !seen
}

// spoke records that the assistant spoke in a thread.
func (t *threads) spoke(ctx context.Context, j *journal.Journal, chat groups.JID, thread string) error {
	key := threadKey(chat, thread)
	if known, _ := t.here.Get(key); thread == "" || known {
		return nil
	}
	err := j.Record(ctx, journal.Sent{ID: key, Chat: chat, Body: []byte{}, Created: time.Now()})
	if err == nil {
		t.here.Set(key, true)
	}
	return err
}

// spokenIn reports whether the assistant spoke in a thread.
func (t *threads) spokenIn(ctx context.Context, j *journal.Journal, chat groups.JID, thread string) (bool, error) {
	key := threadKey(chat, thread)
	if known, _ := t.here.Get(key); thread == "" || known {
		return known, nil
	}
	sent, err := j.Sent(ctx, key)
	return sent != nil, err
}

// mentioned returns the host's word of a text that is a mention of the bot and that word.
func (s *Slack) mentioned(text string) string {
	mention, after, ok := strings.Cut(strings.TrimSpace(text), ">")
	id, _, _ := strings.Cut(mention, "|")
	if me := s.self.Load(); me == nil || !ok || id != "<@"+me.UserID {
		return ""
	}
	return bot.CommandAfter(after)
}

// RoleOf implements channel.Roles. Admins are the admins of the workspace. Without the scope
// users:read, all roles are unknown.
func (s *Slack) RoleOf(ctx context.Context, chat groups.JID, sender string) (channel.Role, error) {
	if role := s.roleIn(ctx, chat, sender); role != channel.RoleUnknown {
		return role, nil
	}
	u, err := s.user(ctx, sender)
	if err != nil {
		if class := channel.ClassOf(err); class == channel.Permanent || class == channel.Held {
			return channel.RoleUnknown, nil
		}
		return channel.RoleUnknown, err
	}
	return s.roleOf(u), nil
}

// roleIn returns a member's role as far as it is known. In a direct message the member is an admin.
func (s *Slack) roleIn(ctx context.Context, chat groups.JID, sender string) channel.Role {
	if private(chat) {
		return channel.RoleAdmin
	}
	return s.member(ctx, sender).role
}

// roleOf returns the role that Slack gives a member. An admin of another workspace that shares the
// channel is none here.
func (s *Slack) roleOf(u *slackgo.User) channel.Role {
	if me := s.self.Load(); (u.IsAdmin || u.IsOwner || u.IsPrimaryOwner) && me != nil && u.TeamID == me.TeamID {
		return channel.RoleAdmin
	}
	return channel.RoleMember
}
