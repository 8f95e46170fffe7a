package telegram

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
)

// decode reads an update. in is the event for the host, or nil if there is none. me is the bot, and
// may be nil. Chats have their present numbers. A vote is left out; see vote.
func decode(raw []byte, me *user) (u update, in *channel.Inbound, err error) {
	if err := json.Unmarshal(raw, &u, lenient); err != nil {
		var only struct {
			ID int64 `json:"update_id"`
		}
		_ = json.Unmarshal(raw, &only, lenient) // of another form, it has no number
		return update{ID: only.ID}, nil, err
	}
	switch {
	case u.Message != nil:
		in = u.Message.written(me)
	case u.Edited != nil:
		in = u.Edited.edited()
	case u.Reaction != nil:
		in = u.Reaction.inbound()
	}
	if in != nil && in.ID == "" {
		in.ID = cmp.Or(map[channel.Kind]string{channel.KindEdit: "e", channel.KindReaction: "r"}[in.Kind], "u") + number(u.ID)
	}
	return u, in, nil
}

// bare returns an update with only the head of its message, which then comes in as words: for an update
// that is too large or has an undocumented form. It returns nil if there is no such head.
func bare(raw []byte, tooLarge bool) []byte {
	type bareMessage struct {
		head
		Edit       int64 `json:"edit_date,omitzero"`
		TooLarge   bool  `json:"too_large,omitzero"`
		Unreadable bool  `json:"unreadable,omitzero"`
	}
	var u struct {
		ID      int64        `json:"update_id"`
		Message *bareMessage `json:"message,omitzero"`
		Edited  *bareMessage `json:"edited_message,omitzero"`
	}
	if json.Unmarshal(raw, &u, lenient) != nil || u.Message == nil && u.Edited == nil {
		return nil
	}
	if m := cmp.Or(u.Message, u.Edited); tooLarge {
		m.TooLarge = true
	} else {
		m.Unreadable = true
	}
	short, err := json.Marshal(u, lenient)
	if err != nil {
		return nil
	}
	return short
}

func (r *reaction) inbound() *channel.Inbound {
	who, role, ok := personOf(r.User, r.Actor, r.Chat)
	if !ok {
		return nil
	}
	in := &channel.Inbound{Kind: channel.KindReaction, Chat: chatOf(r.Chat.ID), From: who.Name, Sender: who.Sender, Role: role, Time: time.Unix(r.Date, 0), Target: number(r.ID)}
	if i := slices.IndexFunc(r.New, func(e mark) bool { return e.Emoji != "" }); i >= 0 {
		in.Emoji = channel.CleanName(r.New[i].Emoji)
	} else if len(r.New) > 0 { // such as custom_emoji
		in.Emoji = channel.CleanName(strings.ReplaceAll(r.New[0].Type, "_", " "))
	}
	return in
}

// edited returns an edit; nil if no person made it.
func (m *message) edited() *channel.Inbound {
	who, role, ok := m.sender()
	if !ok {
		return nil
	}
	return &channel.Inbound{Kind: channel.KindEdit, Chat: chatOf(m.Chat.ID), Thread: m.thread(), From: who.Name, Sender: who.Sender, Role: role,
		Time: time.Unix(m.Edit, 0), Target: number(m.ID), Text: m.says().text}
}

// written returns a message, a note, or who joined and left; nil if no person wrote it.
func (m *message) written(me *user) *channel.Inbound {
	who, role, ok := m.sender()
	in := &channel.Inbound{Chat: chatOf(m.Chat.ID), Thread: m.thread(), From: who.Name, Sender: who.Sender, Role: role, Time: time.Unix(m.Date, 0)}
	if m.ID != 0 { // Telegram gives some messages that one member alone sees no number
		in.ID = number(m.ID)
	}
	if len(m.Joined) > 0 || m.Left != nil {
		return m.joinedOrLeft(in)
	}
	if !ok {
		return nil
	}
	s := m.says()
	if s.kind == channel.KindMessage && s.text == "" && len(s.files) == 0 { // bots see no more of what is newer than their API
		s.told, s.text = "unsupported", channel.NotShown("unsupported")
	}
	in.Kind, in.Text, in.Told, in.Location, in.Files = s.kind, s.text, s.told, s.place, attachments(s.files, in.Time)
	if !in.Kind.IsMessage() {
		return in
	}
	if m.Forward != nil && !m.Automatic {
		in.Forwarded, in.Author = true, m.Forward.person().Name
	}
	in.Quote = m.quoted(me, in.Time)
	in.Direct = m.Chat.Type == "private" || in.Quote != nil && in.Quote.Own
	if in.Told == "" {
		in.Direct = in.Direct || me != nil && (mentions(in.Text, me.Name) || m.names(me.ID))
		in.Command = command(in.Text, me)
	}
	return in
}

// joinedOrLeft completes an event about who joined and left.
func (m *message) joinedOrLeft(in *channel.Inbound) *channel.Inbound {
	in.Kind = channel.KindMembership
	for i := range m.Joined {
		in.Joined = append(in.Joined, m.Joined[i].person())
	}
	if m.Left != nil {
		in.Left = []channel.Person{m.Left.person()}
	}
	return in
}

// quoted returns what a message answers; nil if nothing.
func (m *message) quoted(me *user, at time.Time) *channel.Quote {
	of := m.answered()
	if of == nil && m.ToStory != nil {
		return &channel.Quote{From: m.ToStory.Chat.person().Name, Text: channel.NotShown("a story"), Elsewhere: true}
	} else if of == nil {
		return nil
	}
	s, who, writer := of.says(), of.Origin.person(), of.From
	q := &channel.Quote{Text: s.text, Files: attachments(s.files, at), Elsewhere: of.Origin != nil && of.Chat.ID != m.Chat.ID}
	if of.Origin == nil {
		who, _, _ = of.sender()
		q.Forwarded = of.Forward != nil && !of.Automatic
	} else if writer = of.Origin.User; q.Text == "" && m.Quote != nil {
		q.Text = plain(m.Quote.Text, m.Quote.Entities)
	}
	if q.From, q.Sender = who.Name, who.Sender; !q.Elsewhere {
		q.ID, q.Own = number(of.ID), writer.is(me)
	}
	if m.Quote != nil && m.Quote.Manual {
		q.Selected = plain(m.Quote.Text, m.Quote.Entities)
	}
	return q
}

func (u *user) is(other *user) bool { return u != nil && other != nil && u.ID == other.ID }

// mentions reports whether a text has @name as a word.
func mentions(text, name string) bool {
	return name != "" && slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool {
		return r != '@' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), func(w string) bool { return strings.EqualFold(w, "@"+name) })
}

// names reports whether a text mentions a user by a name that is no @name.
func (c *content) names(id int64) bool {
	return slices.ContainsFunc(slices.Concat(c.Entities, c.CaptionEntities), func(e entity) bool { return e.User != nil && e.User.ID == id })
}

// command returns the host's word of a text that is its command, such as /stop or /stop@our_bot.
func command(text string, me *user) string {
	word, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return ""
	}
	word, to, addressed := strings.Cut(word, "@")
	if addressed && (me == nil || !strings.EqualFold(to, me.Name)) || !bot.IsCommand(word) {
		return ""
	}
	return word
}

// attachments returns files for the host. A Ref has both ids of a file, as fileOf and CutRef split it.
func attachments(files []file, at time.Time) (all []channel.Attachment) {
	for _, f := range files {
		all = append(all, channel.Attachment{Info: f.info(at), Ref: strings.ReplaceAll(f.Unique+"/"+f.ID, " ", "")})
	}
	return all
}

// fileOf returns the two ids of a file of a message.
func fileOf(ref string) (unique, id string) {
	file, _ := bot.CutRef(ref)
	unique, id, _ = strings.Cut(file, "/")
	return unique, id
}
