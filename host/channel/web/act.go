package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/emoji"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/httpd"
)

// maxReactions is how many reactions a message takes.
const maxReactions = 200

// act is an act as a member asks for it. It says who they are by the browser's secret.
type act struct {
	history.Act
	Secret string `json:"secret"`

	shown history.Shown // of Text
}

// act handles a request to react to a message, to vote, or to edit or delete a message
// posted with the same secret.
func (w *Web) act(rw http.ResponseWriter, r *http.Request, c *room) error {
	var a act
	err := readJSON(rw, r, &a, `{"kind": "reaction", "target": "…", "secret": "…", "from": "…", "emoji": "👍"}`)
	if err == nil {
		err = a.check()
	}
	if err == nil {
		err = w.textSpace()
	}
	var m *history.Message
	if err == nil {
		m, err = w.do(r.Context(), c, &a)
	}
	if err != nil {
		return err
	}
	httpd.Answer(rw, http.StatusOK, map[string]any{"message": m})
	return nil
}

// check cleans the act and refuses an invalid one.
func (a *act) check() error {
	a.From, a.Text = cleanName(a.From, "Member"), cleanText(a.Text)
	only := func(emoji, text, choices bool) bool {
		return (emoji || a.Emoji == "") && (text || a.Text == "") && (choices || len(a.Choices) == 0)
	}
	switch {
	case a.Author != "":
		return httpd.Refuse(http.StatusBadRequest, "bad_key", "an act has a secret and no author", "leave author out")
	case !secretOK(a.Secret):
		return badSecret()
	case !messageID.MatchString(a.Target):
		return httpd.Refuse(http.StatusBadRequest, "bad_target", "target is not the id of a message", "use the id that the API gave")
	case utf8.RuneCountInString(a.Text) > maxText:
		return textTooLong()
	case a.Kind == channel.KindReaction && only(true, false, false):
		given := a.Emoji
		if a.Emoji = channel.CleanName(given); given != "" && !emoji.IsOne(a.Emoji) {
			return httpd.Refuse(http.StatusBadRequest, "bad_emoji", "that is not one emoji", "use an emoji, or none to take the reaction back")
		}
	case a.Kind == channel.KindEdit && only(false, true, false):
	case a.Kind == channel.KindDeletion && only(false, false, false):
	case a.Kind == channel.KindVote && only(false, false, true):
	default:
		return httpd.Refuse(http.StatusBadRequest, "bad_kind", "that cannot be done to a message", "use kind reaction with emoji, edit with text, deletion, or vote with choices")
	}
	a.Author, a.Secret, a.shown = markOf(a.Secret), "", history.Show(a.Text)
	return nil
}

// do makes an act durable for the host, shows it, and returns the changed message. It
// ignores an act that changes nothing.
func (w *Web) do(ctx context.Context, c *room, a *act) (*history.Message, error) {
	leave, err := w.entered.Enter(ctx, c.name)
	if err != nil {
		return nil, err
	}
	defer leave()
	m, err := w.store.ByID(ctx, c.name, a.Target)
	switch {
	case err != nil:
		return nil, err
	case m == nil || m.Removed:
		return nil, httpd.Refuse(http.StatusNotFound, "unknown_message", "the chat does not have that message any more", "")
	}
	change, err := a.on(m)
	if err != nil {
		return nil, err
	}
	parts := []*history.Message{m}
	if a.Kind == channel.KindDeletion {
		if parts, err = w.store.Post(ctx, c.name, m); err != nil {
			return nil, err
		}
	}
	// The first message comes last: as long as it exists, the act can be repeated.
	for _, part := range slices.Backward(parts) {
		var by *history.Act // the host hears of the post as one
		if part.ID == a.Target {
			by = &a.Act
		}
		after, err := w.apply(ctx, c, part, by, change)
		if err != nil {
			return nil, err
		}
		if after != nil {
			m = after.Message
		}
	}
	return m, nil
}

// on returns the change of a message, or the reason why it is not allowed.
func (a *act) on(m *history.Message) (func(*history.Message) bool, error) {
	own := !m.Assistant && m.Author == a.Author
	switch a.Kind {
	case channel.KindReaction:
		mine := slices.ContainsFunc(m.Reactions, func(r history.Reaction) bool { return r.Who == a.Author })
		if !mine && len(m.Reactions) >= maxReactions {
			return nil, httpd.Refuse(http.StatusConflict, "too_many", fmt.Sprintf("the message has %d reactions, and takes no more", maxReactions), "")
		}
		return react(a.Author, a.From, a.Emoji), nil
	case channel.KindVote:
		if m.Poll == nil {
			return nil, httpd.Refuse(http.StatusBadRequest, "bad_target", "the message is not a question with choices", "")
		}
		return vote(m.Poll, a)
	}
	switch {
	case !own:
		return nil, httpd.Refuse(http.StatusForbidden, "not_your_message", "the message was not written in this browser", "")
	case strings.Contains(m.ID, "-"):
		return nil, httpd.Refuse(http.StatusBadRequest, "bad_target", "several files are edited and deleted as one", "name the first message of the post")
	case a.Kind == channel.KindDeletion:
		return remove, nil
	case m.File == nil && strings.TrimSpace(a.Text) == "":
		return nil, httpd.Refuse(http.StatusBadRequest, "empty", "there is nothing left of the message", "delete it instead")
	}
	return edit(a.Text, a.shown, false), nil
}
