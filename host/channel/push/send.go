package push

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/media"
)

// outgoing is a message as the receiver reads it.
type outgoing struct {
	Type    string     `json:"type"` // message
	ID      string     `json:"id"`
	Chat    groups.JID `json:"chat"`
	Thread  string     `json:"thread,omitempty"`
	Text    string     `json:"text,omitempty"`
	ReplyTo string     `json:"reply_to,omitempty"`
	Files   []outFile  `json:"files,omitempty"` // in the order of their parts
}

type outFile struct {
	Name   string     `json:"name"`
	MIME   string     `json:"mime"`
	Kind   media.Kind `json:"kind"`
	Size   int64      `json:"size"`
	SHA256 string     `json:"sha256"`
	Alt    string     `json:"alt,omitempty"`
}

// Send posts m, signed, and returns once the receiver has answered with 2xx. The
// receipt's id is the one in the answer, or m.ID. Errors have the classes of
// transfer.Post, and what exceeds the limits is Permanent.
func (p *Push) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	if err := channel.Check(p.Name(), m, p.Limits()); err != nil {
		return channel.Receipt{}, err
	}
	if !p.running.Load() {
		return channel.Receipt{}, link.Lost(p.Name(), nil)
	}
	out := outgoing{Type: typeMessage, ID: m.ID, Chat: m.Chat, Thread: m.Thread, Text: m.Text, ReplyTo: m.ReplyTo}
	for _, f := range m.Files {
		out.Files = append(out.Files, outFile{f.Name, f.MIME, f.Kind, f.Size, f.SHA256, f.Alt})
	}
	signed, err := json.Marshal(out)
	if err != nil {
		return channel.Receipt{}, fmt.Errorf("encode message: %w", err)
	}
	body := transfer.Plain("application/json", signed)
	if len(m.Files) > 0 {
		body, err = transfer.Form(ctx, []transfer.Field{{Name: "message", Type: "application/json", Content: signed}}, m.Files, func(i int) string { return fmt.Sprint("file", i) }, m.Progress)
		if err != nil {
			return channel.Receipt{}, err
		}
	}
	answer, err := transfer.Post(ctx, p.poster, "the receiver", p.settings.URL, p.keys.Sign(m.ID, time.Now(), signed), body)
	if err != nil {
		return channel.Receipt{}, err
	}
	receipt := channel.Receipt{ID: m.ID, Time: time.Now()}
	var given struct{ ID string }
	if json.Unmarshal(answer, &given) == nil && given.ID != "" && plain(given.ID) {
		receipt.ID = given.ID
	}
	return receipt, nil
}
