package bridge

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/emoji"
	"github.com/longshore-bridge/longshore/host/channel/markup"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
	"github.com/longshore-bridge/longshore/media"
)

// verbs are the requests that change a message of the chat.
var verbs = map[ipc.Type]struct {
	verb   records.Verb
	action groups.Action
}{

	ipc.TypeReact:  {records.VerbReact, groups.ActReact},
	ipc.TypeEdit:   {records.VerbEdit, groups.ActEdit},
	ipc.TypeUnsend: {records.VerbUnsend, groups.ActUnsend},
}

// Can returns what a channel and a group's rights allow beside sending.
func Can(c channel.Channel, g groups.Group) (all []groups.Action) {
	for _, v := range verbs {
		if outbox.Can(c, v.verb) && g.Actions.Has(v.action) {
			all = append(all, v.action)
		}
	}
	if g.Actions.Has(groups.ActAsk) { // in numbered text, if need be
		all = append(all, groups.ActAsk)
	}
	slices.Sort(all)
	return all
}

// allows refuses an action that the operator does not allow the source. Empty is no action.
func (d *destination) allows(a groups.Action) error {
	if a == "" || d.source.Actions.Has(a) {
		return nil
	}
	return &ipc.Refusal{Code: "not_allowed", Message: "the operator does not allow this group: " + string(a), Hint: "do without it"}
}

// stillAllows refuses accepted parts if the operator allows their actions no longer. The
// host's own questions need no right.
func (d *destination) stillAllows(parts []records.Part) error {
	for _, p := range parts {
		if err := d.allows(actionOf(p)); err != nil {
			return err
		}
	}
	return nil
}

// actionOf returns the action that a part needs the right to; empty: none.
func actionOf(p records.Part) groups.Action {
	if p.Question != nil && !p.Host {
		return groups.ActAsk
	}
	for _, v := range verbs {
		if p.Act != nil && p.Act.Verb == v.verb {
			return v.action
		}
	}
	return ""
}

// acts returns the parts of a request that changes messages of the chat, one for each
// message that it names, and the thread of those messages.
func (b *Bridge) acts(ctx context.Context, it *spool.Item, dst destination, before *acceptance, assistants Assistants) (parts []records.Part, thread string, err error) {
	r := it.Request
	v := verbs[r.Type]
	if _, down := dst.channel.(channel.StandIn); !down && !outbox.Can(dst.channel, v.verb) { // what one that is down can do shows when it is back
		return nil, "", notSupported(fmt.Sprintf("%s cannot do that: %s", dst.channel.Name(), r.Type))
	}
	if err := dst.allows(v.action); err != nil {
		return nil, "", err
	}
	if v.verb == records.VerbReact && r.Emoji != "" && !emoji.IsOne(r.Emoji) { // words would go where words wait for a yes
		return nil, "", &ipc.Refusal{Code: "unknown_emoji", Message: "that is not one emoji", Hint: "give one emoji, such as 👍, and no words"}
	}
	sent, err := b.messages(ctx, it, dst, before)
	if err != nil {
		return nil, "", err
	}
	if len(sent) == 0 && v.verb == records.VerbReact { // a member's message, or one that is long gone
		if err := b.mayName(ctx, r.Target, dst, assistants); err != nil {
			return nil, "", err
		}
		return []records.Part{{Act: &records.Act{Verb: v.verb, Target: r.Target, Emoji: r.Emoji}}}, dst.thread(r), nil
	}
	if err := changeable(dst.channel, it.Folder, r, sent); err != nil {
		return nil, "", err
	}
	text := ""
	if v.verb == records.VerbEdit {
		if text, err = newText(r.Text, sent[0], dst.limits); err != nil {
			return nil, "", err
		}
	}
	for _, s := range sent {
		act := &records.Act{Verb: v.verb, Target: s.ID, Sent: s.Time, Files: len(s.Files) > 0, Emoji: r.Emoji}
		if s.OnItsWay() {
			act.Of, act.Part = s.Key, s.Part
		}
		parts = append(parts, records.Part{Text: text, Written: written(r.Text, text), Act: act})
	}
	return parts, sent[0].Thread, nil
}

// changeable refuses a request that may not change the messages that it names.
func changeable(c channel.Channel, folder string, r ipc.Request, sent []records.SentPart) error {
	if len(sent) == 0 {
		return errUnknownMessage
	}
	within := channel.Forever
	switch r.Type {
	case ipc.TypeEdit:
		if e, can := c.(channel.Editor); can {
			within = e.EditWithin()
		}
		if len(sent) > 1 {
			return &ipc.Refusal{Code: "several_messages", Message: fmt.Sprintf("that request sent %d messages", len(sent)), Hint: "give the id of one of them, from its parts in delivery_status"}
		}
	case ipc.TypeUnsend:
		if u, can := c.(channel.Unsender); can {
			within = u.UnsendWithin()
		}
	}
	for _, s := range sent {
		switch age := time.Since(s.Time); {
		case s.Host:
			return &ipc.Refusal{Code: "not_your_message", Message: "the host sent that message", Hint: "change only what you have sent"}
		case s.Folder != folder && r.Type != ipc.TypeReact:
			return &ipc.Refusal{Code: "not_your_message", Message: "another group's assistant sent that message", Hint: "change only what you have sent"}
		case s.OnItsWay():
		case s.ID == "":
			return &ipc.Refusal{Code: "not_changeable", Message: "the platform gave that message no id", Hint: "send a new message instead"}
		case within != channel.Forever && age > within:
			return &ipc.Refusal{Code: "too_late", Message: fmt.Sprintf("%s allows that for %v after sending", c.Name(), within), Hint: "send a new message instead"}
		case r.Type == ipc.TypeEdit && s.Asks:
			return notSupported("a question cannot be edited")
		}
	}
	return nil
}

// newText renders the text of an edit. It has to fit into the one message.
func newText(text string, s records.SentPart, l media.Limits) (string, error) {
	most := l.Text
	for i, f := range s.Files {
		if caption := l.Kinds[f.Kind].Caption; i == 0 || caption < most {
			most = caption
		}
	}
	if len(s.Files) > 0 && most == 0 {
		return "", notSupported("a file of this kind has no caption here")
	}
	pieces := markup.Parts(text, l.Markup, most, l.Unit)
	if len(pieces) == 0 {
		return "", &ipc.Refusal{Code: ipc.CodeMissing, Message: "nothing of the new text can be shown", Hint: "give the whole new text"}
	}
	if len(pieces) > 1 {
		return "", &ipc.Refusal{Code: "text_too_long", Message: fmt.Sprintf("the new text does not fit into the message, which takes %d %s", most, l.Unit), Hint: "shorten it, or send the rest as a new message"}
	}
	return pieces[0], nil
}
