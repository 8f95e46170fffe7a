package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
	"github.com/longshore-bridge/longshore/media"
)

// bodyOf returns the body of a request with the files of m, or a itself if there are none.
func bodyOf(ctx context.Context, a args, m *channel.Message) (any, error) {
	if m == nil || len(m.Files) == 0 {
		return a, nil
	}
	var fields []transfer.Field
	for name, value := range a {
		content, err := json.Marshal(value)
		if s, is := value.(string); is {
			content = []byte(s)
		}
		if err != nil {
			return nil, fmt.Errorf("encode message: %w", err)
		}
		fields = append(fields, transfer.Field{Name: name, Type: "text/plain; charset=utf-8", Content: content})
	}
	slices.SortFunc(fields, func(a, b transfer.Field) int { return strings.Compare(a.Name, b.Name) })
	return transfer.Form(ctx, fields, m.Files, func(i int) string { return "file" + strconv.Itoa(i) }, m.Progress)
}

// kindOf returns Telegram's name for the kind of a file.
func kindOf(f channel.File) string {
	if f.Kind == media.Video && f.Loop {
		return "animation"
	}
	return cmp.Or(map[media.Kind]string{media.Image: "photo", media.Video: "video", media.Audio: "audio", media.Voice: "voice", media.Sticker: "sticker"}[f.Kind], "document")
}

// methodOf returns the method that sends a file of a kind.
func methodOf(kind string) string { return "send" + strings.ToUpper(kind[:1]) + kind[1:] }

// as sets a file of a kind, alone or in an album.
func (a args) as(kind, field, ref string) {
	a[field] = ref
	if also := map[string]string{"document": "disable_content_type_detection", "video": "supports_streaming"}[kind]; also != "" {
		a[also] = true
	}
}

// files sends the files of m. If there is a depot, it uploads them there first, and uploads a file
// again that Telegram has lost.
func (t *Telegram) files(ctx context.Context, j *journal.Journal, m channel.Message, to args) (channel.Receipt, error) {
	if t.settings.Depot == "" || j == nil {
		var refs []string
		for i := range m.Files {
			refs = append(refs, "attach://file"+strconv.Itoa(i))
		}
		return t.show(ctx, j, m, to, refs, &m)
	}
	for again := false; ; again = true {
		refs, err := t.deposited(ctx, j, m)
		if err != nil {
			return channel.Receipt{}, err
		}
		r, err := t.show(ctx, j, m, to, refs, nil)
		if again || !webapi.Says(err, fileGone) {
			return r, err
		}
		for _, f := range m.Files {
			if err := j.Unnote(ctx, t.fileFact(f)); err != nil {
				return channel.Receipt{}, err
			}
		}
	}
}

// fileGone are Telegram's words for a file_id that it does not know any more.
const fileGone = "wrong file identifier|wrong remote file|file reference"

// show sends the message that members see. refs name the files; up has those to upload, or is nil.
func (t *Telegram) show(ctx context.Context, j *journal.Journal, m channel.Message, to args, refs []string, up *channel.Message) (channel.Receipt, error) {
	a := maps.Clone(to)
	if len(refs) == 1 {
		of := kindOf(m.Files[0])
		if a.text("caption", "caption_entities", m.Text); of == "sticker" {
			delete(a, "caption")
		}
		a.as(of, of, refs[0])
		return t.post(ctx, methodOf(of), a, up, nil)
	}
	var album []args
	for i, ref := range refs {
		of := kindOf(m.Files[i])
		one := args{"type": of}
		if one.as(of, "media", ref); i == 0 {
			one.text("caption", "caption_entities", m.Text)
		}
		album = append(album, one)
	}
	a["media"] = album
	var all sent
	r, err := t.post(ctx, "sendMediaGroup", a, up, &all)
	if err == nil && j != nil {
		t.keepAlbum(ctx, j, m.Chat, r.ID, all)
	}
	return r, err
}

// albumKey returns the journal's key of an album, by its first message.
func albumKey(chat groups.JID, first string) string { return "album " + string(chat) + " " + first }

// keepAlbum records all messages of an album, so that they can be deleted together.
func (t *Telegram) keepAlbum(ctx context.Context, j *journal.Journal, chat groups.JID, first string, all sent) {
	var ids []int64
	for i := range all {
		ids = append(ids, all[i].ID)
	}
	body, _ := json.Marshal(ids)
	if err := j.Record(ctx, journal.Sent{ID: albumKey(chat, first), Chat: chat, Body: body, Created: time.Now()}); err != nil {
		t.Log.Warn("note which messages are an album", "error", err)
	}
}

// albumOf returns the messages of an album by its first; nil if first is not of an album.
func albumOf(ctx context.Context, j *journal.Journal, chat groups.JID, first string) (ids []int64, err error) {
	kept, err := j.Sent(ctx, albumKey(chat, first))
	if err != nil || kept == nil {
		return nil, err
	}
	return ids, json.Unmarshal(kept.Body, &ids)
}
