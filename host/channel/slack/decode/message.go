package decode

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// Message is a message in an event, or the event itself. Fields that only some messages have are
// any, so that an unexpected form of them does not lose the message.
type Message struct {
	Type        string `json:"type"`
	Subtype     string `json:"subtype"`
	Channel     string `json:"channel"`
	ChannelID   string `json:"channel_id"` // of a pin
	User        string `json:"user"`
	Bot         string `json:"bot_id"`
	Username    string `json:"username"` // of a robot without User
	Text        string `json:"text"`
	Blocks      any    `json:"blocks"`
	Attachments any    `json:"attachments"`
	TS          string `json:"ts"`
	Thread      string `json:"thread_ts"`
	Parent      string `json:"parent_user_id"`
	Files       any    `json:"files"`
	EventTS     string `json:"event_ts"`
	Deleted     string `json:"deleted_ts"`
	Reaction    string `json:"reaction"`
	Inviter     string `json:"inviter"`
	Item        struct {
		Type    string   `json:"type"`
		Channel string   `json:"channel"`
		TS      string   `json:"ts"`
		Message *Message `json:"message"`
	} `json:"item"`
	Room struct {
		By string `json:"created_by"`
	} `json:"room"` // of a huddle
	Message  *Message `json:"message"`          // as it is now, of a change
	Previous *Message `json:"previous_message"` // as it was
}

// Slackbot is no bot by its is_bot.
const Slackbot = "USLACKBOT"

// robot reports whether no member wrote the message.
func (m *Message) robot() bool { return m.Bot != "" && m.User == "" || m.User == Slackbot }

// written returns a message, its edit or deletion, or a note of what a member did.
func written(m *Message) *Event {
	switch m.Subtype {
	case "message_changed":
		return changed(m.Message, m.Previous)
	case "message_deleted":
		if m.Previous == nil {
			m.Previous = &Message{}
		}
		return gone(m.Deleted, m.Previous)
	case "channel_topic", "channel_purpose", "channel_name", "channel_archive", "channel_unarchive", "channel_posting_permissions",
		"channel_convert_to_private", "channel_convert_to_public", "channel_canvas_updated",
		"group_topic", "group_purpose", "group_name", "group_archive", "group_unarchive",
		"pinned_item", "unpinned_item", "reminder_add", "reminder_delete", "huddle_thread", "sh_room_created", "sh_room_shared",
		"bot_add", "bot_remove", "bot_enable", "bot_disable", "app_conversation_join", "app_conversation_leave":
		return noted(m)
	case "bot_message", "slackbot_response", // robots'
		"channel_join", "channel_leave", "group_join", "group_leave", // member_joined_channel and member_left_channel are those
		"message_replied", "reply_broadcast", "file_mention", // the message itself comes, too
		"assistant_app_thread", "joiner_notification", "joiner_notification_for_inviter", // Slack's own, to one member
		"tombstone": // message_deleted is that
		return nil
	}
	e := m.Content()
	e.TS, e.Sender, e.Thread, e.Parent, e.Bot, e.App = m.TS, m.User, m.Thread, m.Parent, m.robot(), m.Bot != ""
	switch {
	case e.App: // two apps that answer each other would never end
		e.Kind, e.Text = channel.KindNote, "by an app: "+e.Text
		for _, f := range e.Uploads {
			e.Text += "\n" + escape.Replace(f.Shown())
		}
	case !slices.Contains([]string{"", "file_share", "thread_broadcast", "me_message"}, m.Subtype):
		e.Told = toldAs(m.Subtype)
	}
	return e
}

// noted returns Slack's note in the chat about what a member did, without the member's name.
func noted(m *Message) *Event {
	e, c := did(channel.KindNote, m.User, ""), m.Content()
	if e.Bot = m.robot(); m.Room.By != "" {
		e.Sender, e.Bot = m.Room.By, false
	}
	e.TS, e.Told = m.TS, c.Told
	_, rest, _ := strings.Cut(c.Text, ">")
	if e.Text = c.Text; strings.HasPrefix(c.Text, "<@"+e.Sender) {
		e.Text = strings.TrimSpace(rest)
	}
	return e
}

func pinned(m *Message) *Event {
	if m.Item.Message == nil { // of a file, which the app is not told
		return nil
	}
	e := did(channel.KindNote, m.User, "")
	e.Text = map[string]string{"pin_added": channel.Pinned, "pin_removed": channel.Unpinned}[m.Type] + ": " + m.Item.Message.Content().Text
	return e
}

// changed returns an edit. A preview, a reply in the thread or a deleted file is none.
func changed(now, before *Message) *Event {
	if now == nil || before == nil {
		return nil
	}
	if now.Subtype == "tombstone" { // deleted, with replies below it
		return gone(now.TS, before)
	}
	text := now.Content().Text
	if text == before.Content().Text {
		return nil
	}
	e := did(channel.KindEdit, now.User, now.TS)
	e.Bot, e.Thread, e.Text = now.robot() || now.Bot != "", now.Thread, text
	return e
}

func gone(target string, before *Message) *Event {
	e := did(channel.KindDeletion, before.User, target)
	e.Bot, e.Thread = before.robot() || before.Bot != "", before.Thread
	return e
}

// Content returns what a message of any sender shows. It always has words or files.
func (m *Message) Content() *Event {
	e, r := &Event{}, &reader{files: FilesOf(m.Files)}
	e.Said = r.message(m.Text, m.Blocks)
	e.Text = e.Said
	var previews []string
	for _, a := range nodes(m.Attachments) {
		in := &reader{}
		text, author := in.attached(a), channel.CleanName(unescape.Replace(get[string](a, "author_name")))
		switch {
		case a["is_share"] == true:
			e.Forwarded, e.Author, e.AuthorID = true, author, idIn(a, "author_id")
			if e.Text != "" && text != "" {
				text = "\n" + quoteLines(text)
			}
			e.Text = join("\n", e.Text, text)
			r.files = append(r.files, in.files...)
		case a["is_msg_unfurl"] == true && e.Quote == nil:
			e.Quoted, _ = shown(in.files)
			e.Quote = &channel.Quote{ID: idIn(a, "ts"), From: author, Text: text, Elsewhere: get[string](a, "channel_id") != m.Channel, Unverified: true}
		default:
			previews = append(previews, text)
		}
	}
	var left int
	if e.Uploads, left = shown(r.files); left > 0 {
		e.Text = join("\n", e.Text, channel.NotShown(media.Count(left, "file")))
	}
	for _, f := range e.Uploads {
		if f.External && !strings.Contains(e.Text, escape.Replace(f.URL)) {
			e.Text = join("\n", e.Text, hyperlink(f.URL, f.Shown()))
		}
	}
	if len(e.Uploads) > 0 {
		return e
	}
	if e.Text = cmp.Or(e.Text, join("\n", previews...)); e.Text == "" {
		e.Told = toldAs(m.Subtype)
		e.Text = channel.NotShown(e.Told)
	}
	return e
}

// shown returns up to 20 files that have an id, and how many it left out.
func shown(files []File) (all []File, left int) {
	for _, f := range files {
		if !slackID.MatchString(f.ID) || len(all) == MaxFiles {
			left++
		} else {
			all = append(all, f)
		}
	}
	return all, left
}

var notTold = regexp.MustCompile(`[^A-Za-z0-9._:-]`)

// toldAs returns the subtype of a message in the form of Inbound.Told.
func toldAs(subtype string) string {
	if subtype = notTold.ReplaceAllString(subtype, ""); subtype == "" {
		return "message"
	}
	return subtype[:min(len(subtype), 64)]
}
