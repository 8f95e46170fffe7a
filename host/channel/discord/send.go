package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe"
)

// outgoing is what Create Message takes. It mentions nobody.
type outgoing struct {
	Text    string         `json:"content"`
	Nonce   string         `json:"nonce"`
	Enforce bool           `json:"enforce_nonce"`
	Allowed map[string]any `json:"allowed_mentions"`
	Flags   int            `json:"flags,omitzero"`
	Refers  map[string]any `json:"message_reference,omitempty"`
	Files   []outgoingFile `json:"attachments,omitempty"`
	Buttons []component    `json:"components,omitzero"`
}

type outgoingFile struct {
	ID   int    `json:"id"`
	Name string `json:"filename"`
	Alt  string `json:"description,omitempty"`

	Seconds float64 `json:"duration_secs,omitzero"` // of a voice message
	Wave    []byte  `json:"waveform,omitempty"`     // of one: values from 0 to 255, at most 256
}

// Send implements channel.Channel. A refusal has its class by the table in errors.go; without an
// answer, the classes are those of transfer.Post. If the bot lacks a right in the chat, the error
// is Held, and the chat gets no request for 5 minutes.
func (d *Discord) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	return d.SendBy(ctx, m, func(ctx context.Context, o *bot.Open, m channel.Message) (channel.Receipt, error) {
		r, err := d.Deliver(ctx, o, m)
		return r, d.Barred.Note(m.Chat, err)
	})
}

// Deliver implements bot.Paired.
func (d *Discord) Deliver(ctx context.Context, open *bot.Open, m channel.Message) (channel.Receipt, error) {
	to, gone, err := d.threadOf(ctx, m)
	if err == nil && gone {
		err = threadGone()
	}
	err = cmp.Or(d.fits(ctx, m), err)
	var got message
	if err == nil {
		err = d.create(ctx, m, to, d.spoken(ctx, m), &got)
	}
	if err == nil && !isID(got.ID) {
		err = d.api.Unsure(nil)
	}
	if err != nil {
		return channel.Receipt{}, err
	}
	if open != nil {
		d.posted(ctx, open, m, got.ID)
	}
	return channel.Receipt{ID: got.ID, Time: timeOf(got.ID)}, nil
}

// fits refuses a file that is too large for the boost level of the chat's server. The limits are
// those of the level in the settings, which another server may not have.
func (d *Discord) fits(ctx context.Context, m channel.Message) error {
	if d.settings.BoostLevel < 2 || len(m.Files) == 0 {
		return nil // the limits are everybody's
	}
	g, err := d.guildOf(ctx, m.Chat)
	if err != nil {
		return err
	}
	if g == nil {
		g = &guild{}
	}
	most := perBoost[max(0, min(g.Tier, 3))]
	for _, f := range m.Files {
		if f.Size > most {
			return channel.Row{Class: channel.Permanent, Code: "file_too_large", Hint: "send a smaller file",
				Words: fmt.Sprintf("%q has %s; this Discord chat takes up to %s, by its server's boost level", f.Name, media.Size(f.Size), media.Size(most))}.Error(nil)
		}
	}
	return nil
}

// threadOf returns the id that m goes to: that of its thread, or of the chat. gone reports whether
// the chat has no such thread.
func (d *Discord) threadOf(ctx context.Context, m channel.Message) (to string, gone bool, err error) {
	if m.Thread == "" {
		return idOf(m.Chat), false, nil
	}
	var r discordChannel
	if isID(m.Thread) {
		r, err = d.channelOf(ctx, m.Thread)
	}
	if gone = !r.thread() || chatOf(r.Parent) != m.Chat; gone {
		return idOf(m.Chat), true, err
	}
	return m.Thread, false, err
}

// create posts a message, with its files in one request. A file whose spoken facts are
// known is a voice message.
func (d *Discord) create(ctx context.Context, m channel.Message, to string, spoken probe.Facts, got *message) error {
	out := outgoing{Text: m.Text, Nonce: m.ID[:min(24, len(m.ID))], Enforce: true, Allowed: nobody}
	if isID(m.ReplyTo) {
		out.Refers = map[string]any{"message_id": m.ReplyTo, "fail_if_not_exists": true}
	}
	if q := bot.NewPoll(m); q != nil {
		out.Text, out.Buttons = shown(q, ""), buttons(q)
	}
	files := slices.Clone(m.Files)
	for i := range files {
		files[i].Name = cmp.Or(files[i].Name, "file")
		out.Files = append(out.Files, outgoingFile{ID: i, Name: files[i].Name, Alt: media.Cut(files[i].Alt, 1000)})
	}
	if spoken.Opus {
		voice(&out, spoken)
	}
	if len(files) == 0 {
		return d.api.Post(ctx, "channels/"+to+"/messages", out, got)
	}
	payload, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	fields := []transfer.Field{{Name: "payload_json", Type: "application/json", Content: payload}}
	body, err := transfer.Form(ctx, fields, files, func(i int) string { return fmt.Sprintf("files[%d]", i) }, m.Progress)
	if err != nil {
		return err
	}
	return d.api.Post(ctx, "channels/"+to+"/messages", body, got)
}

// posted records Discord's id of m.
func (d *Discord) posted(ctx context.Context, open *bot.Open, m channel.Message, id string) {
	err := open.Journal.Record(ctx, journal.Sent{ID: id, Chat: m.Chat, Body: []byte(m.ID), Created: time.Now()})
	if err == nil {
		err = open.Journal.Acknowledge(ctx, id, timeOf(id))
	}
	if err = errors.Join(err, open.PlacePoll(ctx, m, id)); err != nil {
		d.Log.Warn("note which message was sent", "error", err)
	}
}

const (
	skew = time.Minute    // by which the clocks of the host and of Discord may be apart
	day  = 24 * time.Hour // by which the clock may have been ahead that dated an attempt: another host's, or one that was set back
)

// Find implements channel.Finder. It looks for a message of the bot since the attempt began that
// has the same text and files, and that the journal does not know as another message.
func (d *Discord) Find(ctx context.Context, m channel.Message) (*channel.Receipt, error) {
	var r *channel.Receipt
	err := d.Within(ctx, func(ctx context.Context, open *bot.Open) error {
		if m.Since.IsZero() {
			return nil
		}
		to, _, err := d.threadOf(ctx, m)
		if err == nil {
			r, err = d.find(ctx, open, m, to)
		}
		return err
	})
	return r, err
}

func (d *Discord) find(ctx context.Context, open *bot.Open, m channel.Message, to string) (r *channel.Receipt, err error) {
	me := d.self.Load()
	if me == nil {
		return nil, errors.New("Discord has not said yet who the bot is")
	}
	since := m.Since
	switch ahead := time.Until(since); {
	case ahead > day:
		return nil, &channel.Error{Class: channel.Permanent, Code: "no_answer", Message: "the host's clock was set back since the message was sent"}
	case ahead > skew:
		since = time.Now().Add(-day)
	}
	err = d.eachAfter(ctx, to, d.api.TheirTime(since).Add(-skew), soughtPages, func(got *message) (bool, error) {
		if got.Author == nil || got.Author.ID != me.id || !isID(got.ID) || !same(m, got) {
			return false, nil
		}
		known, err := open.Journal.Sent(ctx, got.ID)
		if err != nil || known != nil && string(known.Body) != m.ID {
			return false, err
		}
		r = &channel.Receipt{ID: got.ID, Time: timeOf(got.ID)}
		return true, nil
	})
	if channel.FormOf(err) == channel.FormThread { // and what was in it
		err = nil
	}
	if r != nil {
		d.posted(ctx, open, m, r.ID)
	}
	return r, err
}

// same reports whether a message of Discord has the content of m. Discord may change the names of
// files, but not their sizes.
func same(m channel.Message, got *message) bool {
	if m.Poll != nil { // votes change its text
		return slices.Contains(wordsIn(got.Components, []string{"components", "custom_id"}), bot.ButtonID(m.ID, 0))
	}
	return got.Text == m.Text && slices.EqualFunc(m.Files, got.Files, func(f channel.File, a attachment) bool { return f.Size == a.Size }) &&
		(got.Refers.ID == m.ReplyTo || !isID(m.ReplyTo))
}

// Typing implements channel.Typing. Discord hides it after ten seconds, or with the message.
func (d *Discord) Typing(ctx context.Context, chat groups.JID, thread string, on bool) {
	key := chat + " typing"
	if !on || cmp.Or(d.Barred.Of(chat), d.Barred.Of(key)) != nil {
		return
	}
	err := d.Within(ctx, func(ctx context.Context, _ *bot.Open) error {
		to, _, err := d.threadOf(ctx, channel.Message{Chat: chat, Thread: thread})
		if err != nil {
			return err
		}
		return d.Barred.Note(key, d.api.Ask(ctx, "POST", "channels/"+to+"/typing", struct{}{}, nil))
	})
	if err != nil {
		d.Log.Info("show that the assistant works", "error", err)
	}
}

// isVoice is the flag of a voice message: one file of sound, with its duration and waveform, and
// nothing else. discord.com/developers/docs/resources/message, Voice Messages.
const isVoice = 1 << 13

// spoken returns the duration and waveform of m, if m is a voice note that Discord shows as one:
// Ogg Opus of known length. Otherwise the facts are zero. It reads the file once more. If that
// fails, the upload returns the error.
func (d *Discord) spoken(ctx context.Context, m channel.Message) probe.Facts {
	if len(m.Files) != 1 || m.Files[0].Kind != media.Voice || m.Text != "" || m.Poll != nil {
		return probe.Facts{}
	}
	src, err := m.Files[0].Open()
	if err != nil {
		return probe.Facts{}
	}
	defer src.Close()
	f := probe.New("", nil).Read(ctx, src, media.Voice, m.Files[0].MIME)
	f.Opus = f.Opus && f.Seconds > 0 && len(f.Waveform) > 0
	return f
}

// voice makes a message with one file a voice message.
func voice(out *outgoing, f probe.Facts) {
	wave := make([]byte, len(f.Waveform))
	for i, v := range f.Waveform {
		wave[i] = byte(int(min(v, 100)) * 255 / 100)
	}
	out.Flags = isVoice
	out.Files[0].Seconds, out.Files[0].Wave = float64(f.Seconds), wave
}
