package telegram

import (
	"cmp"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/host/channel"
)

// update has the fields of an update that the host uses: https://core.telegram.org/bots/api#update.
type update struct {
	ID       int64       `json:"update_id"`
	Message  *message    `json:"message"`
	Edited   *message    `json:"edited_message"`
	Reaction *reaction   `json:"message_reaction"`
	Answer   *pollAnswer `json:"poll_answer"`
	Mine     *struct {
		Chat chat   `json:"chat"`
		New  member `json:"new_chat_member"`
	} `json:"my_chat_member"`
}

// lenient reads half a character as U+FFFD, and takes a field that comes twice.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// heard lists the updates that the channel asks for.
var heard = []string{"message", "edited_message", "message_reaction", "my_chat_member", "poll_answer"}

type user struct {
	ID        int64  `json:"id"`
	Bot       bool   `json:"is_bot"`
	First     string `json:"first_name"`
	Last      string `json:"last_name"`
	Name      string `json:"username"`
	SeesGroup bool   `json:"can_read_all_group_messages"`
}

type chat struct {
	ID    int64  `json:"id"`
	Type  string `json:"type"`
	Title string `json:"title"` // of a group
	First string `json:"first_name"`
}

// head is who sent a message, where and when.
type head struct {
	ID         int64  `json:"message_id"`
	Date       int64  `json:"date"`
	From       *user  `json:"from"`
	SenderChat *chat  `json:"sender_chat"` // on whose behalf From writes
	Signature  string `json:"author_signature"`
	Chat       chat   `json:"chat"`
	Thread     int64  `json:"message_thread_id"`
	InTopic    bool   `json:"is_topic_message"`
}

// message is a message, or one elsewhere that a message answers (ExternalReplyInfo).
type message struct {
	head
	Edit      int64    `json:"edit_date"`
	Automatic bool     `json:"is_automatic_forward"` // the post of a channel, in the group that belongs to it
	Forward   *origin  `json:"forward_origin"`
	Origin    *origin  `json:"origin"` // of an ExternalReplyInfo
	ReplyTo   *message `json:"reply_to_message"`
	External  *message `json:"external_reply"`
	ToStory   *struct {
		Chat chat `json:"chat"`
	} `json:"reply_to_story"`
	Quote       *textQuote `json:"quote"`
	Joined      []user     `json:"new_chat_members"`
	Left        *user      `json:"left_chat_member"`
	MigrateTo   int64      `json:"migrate_to_chat_id"`
	MigrateFrom int64      `json:"migrate_from_chat_id"`
	content
}

// content is what a message holds.
type content struct {
	Text            string         `json:"text"`
	Entities        []entity       `json:"entities"`
	Caption         string         `json:"caption"`
	CaptionEntities []entity       `json:"caption_entities"`
	Rich            jsontext.Value `json:"rich_message"`
	Poll            *struct {
		ID       string `json:"id"`
		Question string `json:"question"`
		Options  []struct {
			Text string `json:"text"`
		} `json:"options"`
		Media block `json:"media"`
	} `json:"poll"`
	Location *location `json:"location"`
	attached

	Rest map[string]jsontext.Value `json:",embed"` // all other fields, by their names
}

type location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Live      int64   `json:"live_period"`
}

// entity is the format of a part of a text: https://core.telegram.org/bots/api#messageentity.
type entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"` // UTF-16 units, as Length
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
	User     *user  `json:"user,omitempty"` // whom a text_mention names
}

type textQuote struct {
	Text     string   `json:"text"`
	Entities []entity `json:"entities"`
	Manual   bool     `json:"is_manual"` // the member marked it
}

// origin is who wrote what is forwarded: https://core.telegram.org/bots/api#messageorigin.
type origin struct {
	User   *user  `json:"sender_user"`
	Hidden string `json:"sender_user_name"`
	Group  *chat  `json:"sender_chat"`
	Post   *chat  `json:"chat"`
}

type reaction struct {
	Chat  chat   `json:"chat"`
	ID    int64  `json:"message_id"`
	User  *user  `json:"user"`
	Actor *chat  `json:"actor_chat"` // of who reacts on behalf of a chat
	Date  int64  `json:"date"`
	New   []mark `json:"new_reaction"`
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func (u *user) person() channel.Person {
	return channel.Person{Name: cmp.Or(channel.CleanName(u.First+" "+u.Last), channel.CleanName(u.Name), number(u.ID)), Sender: number(u.ID)}
}

func (c *chat) person() channel.Person {
	return channel.Person{Name: cmp.Or(channel.CleanName(c.Title), channel.CleanName(c.First), number(c.ID)), Sender: number(c.ID)}
}

func (o *origin) person() channel.Person {
	switch {
	case o == nil:
		return channel.Person{}
	case o.User != nil:
		return o.User.person()
	case o.Group != nil || o.Post != nil:
		return cmp.Or(o.Group, o.Post).person()
	}
	return channel.Person{Name: channel.CleanName(o.Hidden)}
}

// personOf returns the user, or the chat on whose behalf they act, with the role in the chat at. ok
// is false for a bot. An anonymous admin acts on behalf of the chat itself; then the user is a bot
// of Telegram.
func personOf(u *user, behalf *chat, at chat) (who channel.Person, role channel.Role, ok bool) {
	switch {
	case behalf != nil && behalf.ID == at.ID:
		return behalf.person(), channel.RoleAdmin, true
	case behalf != nil:
		return behalf.person(), channel.RoleUnknown, true
	case u == nil:
		return channel.Person{}, channel.RoleUnknown, false
	case at.Type == "private": // its member's own
		return u.person(), channel.RoleAdmin, !u.Bot
	}
	return u.person(), channel.RoleUnknown, !u.Bot
}

// sender returns who wrote a message, as personOf does.
func (m *message) sender() (who channel.Person, role channel.Role, ok bool) {
	who, role, ok = personOf(m.From, m.SenderChat, m.Chat)
	if m.SenderChat != nil && role == channel.RoleAdmin {
		who.Name = cmp.Or(channel.CleanName(m.Signature), who.Name)
	}
	return who, role, ok
}

// answered returns the message that m answers; nil if none. In a topic, Telegram names the topic's
// first message if a message answers none.
func (m *message) answered() *message {
	if q := m.ReplyTo; q != nil && !(m.InTopic && q.ID == m.Thread) {
		return q
	}
	return m.External
}

func (m *message) thread() string {
	if !m.InTopic || m.Thread <= 0 {
		return ""
	}
	return number(m.Thread)
}
