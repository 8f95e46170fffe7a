package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
)

const (
	asking      = 20 * time.Second // how long a question to Telegram may take that no Send waits for
	mostUpdates = 100              // of one answer
	polling     = 25               // seconds that Telegram holds a poll open: less than transfer.HeaderTimeout
	maxUpdate   = 256 << 10        // bytes of one update
)

// update is what happened, as far as the host wants to know it:
// https://core.telegram.org/bots/api#update.
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

// heard are the updates that the channel asks for.
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

type message struct {
	ID        int64           `json:"message_id"`
	Date      int64           `json:"date"`
	Edit      int64           `json:"edit_date"`
	From      *user           `json:"from"`
	Chat      chat            `json:"chat"`
	Thread    int64           `json:"message_thread_id"`
	InTopic   bool            `json:"is_topic_message"`
	Text      string          `json:"text"`
	Caption   string          `json:"caption"`
	ReplyTo   *message        `json:"reply_to_message"`
	Forward   json.RawMessage `json:"forward_origin"`
	Document  *file           `json:"document"`
	Animation *file           `json:"animation"`
	Photo     []file          `json:"photo"`
	Video     *file           `json:"video"`
	Note      *file           `json:"video_note"`
	Audio     *file           `json:"audio"`
	Voice     *file           `json:"voice"`
	Sticker   *file           `json:"sticker"`
	Joined    []user          `json:"new_chat_members"`
	Left      *user           `json:"left_chat_member"`
	MigrateTo int64           `json:"migrate_to_chat_id"`
	Poll      *struct {
		ID string `json:"id"`
	} `json:"poll"`
}

type reaction struct {
	Chat chat   `json:"chat"`
	ID   int64  `json:"message_id"`
	User *user  `json:"user"`
	Date int64  `json:"date"`
	New  []mark `json:"new_reaction"`
}

// connect takes updates until the connection is lost.
func (t *Telegram) connect(ctx context.Context, o *bot.Open, up func(string)) error {
	j := o.Journal
	if t.settings.Token.Reveal() == "" {
		return stopOf(t.noToken())
	}
	if err := t.moved.load(ctx, j); err != nil {
		return err
	}
	t.standing.forget()
	var me user
	if err := t.brief(ctx, "getMe", struct{}{}, &me); err != nil {
		return stopOf(err)
	}
	t.self.Store(&me)
	t.register(ctx)
	detail := "connected as @" + channel.CleanName(me.Name)
	if !me.SeesGroup {
		detail += "; " + privacy
	}
	if t.settings.Webhook != "" {
		return t.hooked(ctx, o, up, detail)
	}
	if err := t.unhook(ctx, j); err != nil {
		return stopOf(err)
	}
	up(detail)
	return t.poll(ctx, j)
}

// poll asks Telegram for updates.
func (t *Telegram) poll(ctx context.Context, j *journal.Journal) error {
	for offset, most := int64(0), mostUpdates; ; {
		var all []json.RawMessage
		poll, end := context.WithTimeout(ctx, (polling+20)*time.Second)
		err := t.web.ask(poll, "getUpdates", map[string]any{"offset": offset, "limit": most, "timeout": polling, "allowed_updates": heard}, &all)
		end()
		if errors.Is(err, errTooLong) && most > 1 {
			most /= 10
			continue
		}
		if err != nil {
			return stopOf(err)
		}
		most = mostUpdates
		for _, raw := range all {
			id, err := t.keep(ctx, j, raw)
			if err != nil {
				return err
			}
			offset = max(offset, id+1)
		}
	}
}

// brief is a question that does not take long.
func (t *Telegram) brief(ctx context.Context, method string, args, answer any) error {
	ctx, end := context.WithTimeout(ctx, asking)
	defer end()
	return t.web.ask(ctx, method, args, answer)
}

// words are the host's words, which members find as the bot's commands.
var words = []string{"stop", "new", "status", "help"}

func (t *Telegram) register(ctx context.Context) {
	type command struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	all := []command{{"stop", "Stop what the assistant is doing"}, {"new", "Begin a new conversation"}, {"status", "What the assistant is doing"}, {"help", "What the assistant understands"}}
	var done any
	if err := t.brief(ctx, "setMyCommands", map[string]any{"commands": all}, &done); err != nil && ctx.Err() == nil {
		t.Log.Info("register the bot's commands", "error", err)
	}
}

// keep makes an update of a group's chat durable and returns its number. What nobody
// wants to know is passed over.
func (t *Telegram) keep(ctx context.Context, j *journal.Journal, raw json.RawMessage) (int64, error) {
	var u update
	if err := json.Unmarshal(raw, &u); err != nil || u.ID <= 0 {
		var only struct {
			ID int64 `json:"update_id"`
		}
		if json.Unmarshal(raw, &only) != nil || only.ID <= 0 {
			return 0, errors.New("an update has no number")
		}
		t.Log.Warn("pass over an update that cannot be read", "error", err)
		return only.ID, nil
	}
	if m := u.Message; m != nil && m.MigrateTo != 0 {
		if jid := t.chatOf(m.Chat); !t.Counts(jid) && jid != t.settings.Depot {
			return u.ID, nil
		}
		return u.ID, t.follow(ctx, j, m.Chat.ID, m.MigrateTo)
	}
	if u.Mine != nil {
		t.membership(u.Mine.Chat, u.Mine.New)
		return u.ID, nil
	}
	if u.Answer != nil {
		return u.ID, t.keepVote(ctx, j, &u, raw)
	}
	in := t.inbound(&u)
	if in == nil {
		return u.ID, nil
	}
	if len(raw) > maxUpdate {
		t.Log.Warn("pass over an update that is too large", "chat", in.Chat, "bytes", len(raw))
		return u.ID, nil
	}
	if !t.Counts(in.Chat) {
		t.stranger(&u, in)
		return u.ID, nil
	}
	t.present.seen(in)
	return u.ID, j.Keep(ctx, journal.Inbound{Chat: in.Chat, ID: in.ID, Sender: in.Sender, Info: []byte{}, Body: raw, Received: time.Now(), Event: in.Kind != channel.KindMessage})
}

// stranger is for a chat that no group has.
func (t *Telegram) stranger(u *update, in *channel.Inbound) {
	if u.Message == nil {
		return
	}
	t.Log.Info("a message is from a chat that no group has", "chat", in.Chat)
	switch k := (channel.Knock{Chat: in.Chat, Time: in.Time}); {
	case t.Knock == nil:
	case u.Message.Chat.Type == "private":
		k.From = in.From
		t.Knock(k)
	default:
		k.Shared = true
		t.Knock(k)
	}
}

// inbound is an update for the host; nil if it is nothing to know.
func (t *Telegram) inbound(u *update) *channel.Inbound {
	switch {
	case u.Message != nil && u.Message.From != nil && !u.Message.From.Bot:
		return t.written(u.Message)
	case u.Edited != nil && u.Edited.From != nil && !u.Edited.From.Bot:
		m := u.Edited
		return &channel.Inbound{Kind: channel.KindEdit, ID: "e" + number(u.ID), Chat: t.chatOf(m.Chat), Thread: m.thread(), From: m.From.name(), Sender: number(m.From.ID),
			Role: roleIn(m.Chat), Time: time.Unix(m.Edit, 0), Target: number(m.ID), Text: cmp.Or(m.Text, m.Caption)}
	case u.Reaction != nil && u.Reaction.User != nil && !u.Reaction.User.Bot:
		r := u.Reaction
		in := &channel.Inbound{Kind: channel.KindReaction, ID: "r" + number(u.ID), Chat: t.chatOf(r.Chat), From: r.User.name(), Sender: number(r.User.ID),
			Role: roleIn(r.Chat), Time: time.Unix(r.Date, 0), Target: number(r.ID)}
		if i := slices.IndexFunc(r.New, func(e mark) bool { return e.Emoji != "" }); i >= 0 {
			in.Emoji = channel.CleanName(r.New[i].Emoji)
		}
		return in
	}
	return nil
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func (t *Telegram) chatOf(c chat) groups.JID { return chatOf(t.moved.before(c.ID, t.Counts)) }

func (u *user) name() string {
	return cmp.Or(channel.CleanName(u.First+" "+u.Last), channel.CleanName(u.Name), number(u.ID))
}

func (m *message) thread() string {
	if !m.InTopic || m.Thread <= 0 {
		return ""
	}
	return number(m.Thread)
}

// roleIn is a role that needs no question: a private chat is its member's own.
func roleIn(c chat) channel.Role {
	if c.Type == "private" {
		return channel.RoleAdmin
	}
	return channel.RoleUnknown
}

// written is a message for the host, or who joined and left.
func (t *Telegram) written(m *message) *channel.Inbound {
	in := &channel.Inbound{ID: number(m.ID), Chat: t.chatOf(m.Chat), Thread: m.thread(), From: m.From.name(), Sender: number(m.From.ID),
		Role: roleIn(m.Chat), Time: time.Unix(m.Date, 0), Text: cmp.Or(m.Text, m.Caption), Forwarded: len(m.Forward) > 0}
	if len(m.Joined) > 0 || m.Left != nil {
		in.Kind = channel.KindMembership
		for i := range m.Joined {
			in.Joined = append(in.Joined, m.Joined[i].person())
		}
		if m.Left != nil {
			in.Left = []channel.Person{m.Left.person()}
		}
		return in
	}
	me := t.self.Load()
	in.Direct = m.Chat.Type == "private" || me != nil && me.Name != "" && mentions(in.Text, me.Name)
	if q := m.ReplyTo; q != nil && q.From != nil && q.ID != m.Thread {
		own := me != nil && q.From.ID == me.ID
		in.Direct = in.Direct || own
		in.Quote = &channel.Quote{ID: number(q.ID), From: q.From.name(), Sender: number(q.From.ID), Text: cmp.Or(q.Text, q.Caption), Own: own}
	}
	in.Command = t.command(in.Text)
	for i, f := range m.files() {
		in.Files = append(in.Files, channel.Attachment{Info: f.info(time.Unix(m.Date, 0)), Ref: strconv.Itoa(i)})
	}
	if in.Text == "" && len(in.Files) == 0 {
		return nil
	}
	return in
}

func (u *user) person() channel.Person { return channel.Person{Name: u.name(), Sender: number(u.ID)} }

// mentions says whether a text holds @name as a word of its own.
func mentions(text, name string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool {
		return r != '@' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), func(w string) bool { return strings.EqualFold(w, "@"+name) })
}

// command is the host's word that a text is, such as /stop or /stop@our_bot.
func (t *Telegram) command(text string) string {
	word, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return ""
	}
	word, to, addressed := strings.Cut(word, "@")
	if me := t.self.Load(); addressed && (me == nil || !strings.EqualFold(to, me.Name)) || !slices.Contains(words, word) {
		return ""
	}
	return word
}

// give hands a kept update to the host.
func (t *Telegram) give(ctx context.Context, in channel.Inbox, m journal.Inbound) error {
	var u update
	if err := json.Unmarshal(m.Body, &u); err != nil {
		t.Log.Warn("drop an update that cannot be read any more", "error", err)
		return nil
	}
	got := t.inbound(&u)
	if u.Answer != nil {
		got = vote(&u, m.Info)
		if got != nil && m.ID == outsideID(u.Answer.Poll) {
			got.ID, got.Sender, got.Choices, got.Outside = m.ID, "", nil, true
		}
	}
	if got == nil {
		return nil
	}
	got.Chat = m.Chat
	for i := range got.Files {
		got.Files[i].Ref += " " + m.Ref()
	}
	return in.Receive(ctx, *got)
}
