package bot

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
)

// eventVersion is that of the form in which the journal has an event.
const eventVersion = 1

// event is what a member did, in the form of the journal.
type event struct {
	Version int `json:"version"`
	channel.Inbound
	Quoted []channel.Attachment `json:"quoted"` // the files of Quote
	Own    jsontext.Value       `json:"own"`    // the channel's
}

// Keep makes durable what a member did, in the host's own form. The Refs of its files are the platform's
// names for them, without spaces. own is what the channel needs besides; nil: nothing. What has no form of
// the journal, such as a time after the year 9999, becomes a row that Decode refuses: else the platform
// would repeat it for ever, and nothing after it would come.
func (o *Open) Keep(ctx context.Context, in channel.Inbound, own any) error {
	body, err := Encode(in, own)
	if err != nil {
		o.Journal.Log.Warn("an event cannot be kept as it is", "chat", in.Chat, "error", err)
		body = []byte("{}")
	}
	return o.Journal.Keep(ctx, journal.Inbound{Chat: in.Chat, ID: in.ID, Sender: in.Sender, Info: []byte{}, Body: body, Received: time.Now(), Event: !in.Kind.IsMessage()})
}

// Encode returns an event in the form of the journal.
func Encode(in channel.Inbound, own any) ([]byte, error) {
	ev := event{Version: eventVersion, Inbound: in}
	if in.Quote != nil {
		ev.Quoted = in.Quote.Files
	}
	var err error
	if own != nil {
		ev.Own, err = json.Marshal(own, jsontext.AllowInvalidUTF8(true))
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(ev, jsontext.AllowInvalidUTF8(true), json.OmitZeroStructFields(true))
}

// Decode reads a row of the journal that Keep made. The Refs of its files name the row, too. It refuses
// what another version of this program kept.
func Decode(m journal.Inbound, own any) (channel.Inbound, error) {
	var ev event
	err := json.Unmarshal(m.Body, &ev, jsontext.AllowInvalidUTF8(true), json.RejectUnknownMembers(true))
	if err == nil && ev.Version != eventVersion {
		err = fmt.Errorf("it has version %d", ev.Version)
	}
	if err == nil && own != nil && ev.Own != nil {
		err = json.Unmarshal(ev.Own, own, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return channel.Inbound{}, err
	}
	if ev.Quote != nil {
		ev.Quote.Files = ev.Quoted
	}
	for _, files := range [][]channel.Attachment{ev.Files, ev.Quoted} {
		for i := range files {
			files[i].Ref = Ref(files[i].Ref, m.Ref())
		}
	}
	return ev.Inbound, nil
}
