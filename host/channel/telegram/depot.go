package telegram

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
)

// fileFacts begins the journal's keys of Telegram's ids of files. The latest keptFiles stay.
const (
	fileFacts = "file "
	keptFiles = 20_000
)

// fileFact returns the journal's key of Telegram's id of a file. An id is good for one bot, one kind
// and one name.
func (t *Telegram) fileFact(f channel.File) string {
	bot, _, _ := strings.Cut(t.settings.Token.Reveal(), ":")
	return strings.Join([]string{fileFacts + bot, kindOf(f), f.SHA256, f.Name}, " ")
}

// Prepare implements channel.Preparer: it uploads the files of m to the depot, if there is one.
func (t *Telegram) Prepare(ctx context.Context, m channel.Message) error {
	if t.settings.Depot == "" {
		return nil
	}
	if err := cmp.Or(channel.Check(t.Name(), m, t.Limits()), t.Barred.Of(m.Chat)); err != nil {
		return err
	}
	return t.Within(ctx, func(ctx context.Context, open *bot.Open) error {
		_, err := t.deposited(ctx, open.Journal, m)
		return err
	})
}

// deposited returns Telegram's ids of the files of m. It uploads those without an id to the depot. No
// member sees the depot, so that may happen twice.
func (t *Telegram) deposited(ctx context.Context, j *journal.Journal, m channel.Message) (ids []string, err error) {
	err = m.Uploads(0, func(_ int, f channel.File, a channel.Attempt) error {
		id, err := j.Noted(ctx, t.fileFact(f))
		if id == "" && err == nil {
			id, err = t.deposit(ctx, j, f, a)
		}
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// deposit uploads a file to the depot, and records its id.
func (t *Telegram) deposit(ctx context.Context, j *journal.Journal, f channel.File, reports channel.Attempt) (id string, err error) {
	depot, kind := t.settings.Depot, kindOf(f)
	var all sent
	err = t.following(ctx, j, depot, func(chat int64) error {
		a := args{"chat_id": chat, "disable_notification": true}
		a.as(kind, kind, "attach://file0")
		_, err := t.post(ctx, methodOf(kind), a, &channel.Message{Files: []channel.File{f}, Attempt: reports}, &all)
		return err
	})
	if err != nil {
		return "", depotError(err)
	}
	files := all[0].files()
	if len(files) == 0 || files[0].ID == "" {
		return "", &channel.Error{Code: "not_connected", Message: "Telegram did not say what it calls the file", Hint: channel.Again}
	}
	return files[0].ID, errors.Join(j.Note(ctx, t.fileFact(f), files[0].ID), j.Trim(ctx, fileFacts, keptFiles))
}

// depotError returns the error of an upload to the depot. Ambiguous becomes Passing, since members
// see nothing of it. If the bot cannot write there, the error is Held: the operator must act.
func depotError(err error) error {
	var e *channel.Error
	if !errors.As(err, &e) || e.Form != "" && e.Code != "not_allowed" {
		return err
	}
	mine := *e
	switch {
	case e.Class == channel.Ambiguous:
		mine.Class, mine.Code, mine.Message, mine.Hint = channel.Passing, "not_connected", "Telegram did not say whether it took the file", channel.Again
	case e.Code == "unknown_chat" || e.Code == "not_a_member" || e.Code == "not_allowed":
		mine.Form = ""
		mine.Class, mine.Code, mine.Message, mine.Hint = channel.Held, "telegram_depot", "the bot cannot write to the depot", "make the bot an admin of the chat that depot names in longshore.yaml, or correct depot"
	}
	return &mine
}
