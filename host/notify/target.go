package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/media"
)

// Kind is the kind of a message.
type Kind string

// The kinds.
const (
	Began Kind = "fault" // a fault lasts
	Over  Kind = "over"  // it is over
	Test  Kind = "test"  // nothing is wrong: an operator tries the way
)

// Message is what a target is told.
type Message struct {
	ID    string // the same in every attempt
	Kind  Kind
	Host  string
	Fault finding.Finding // zero in a Test
	Since time.Time       // when the fault was first seen
	Until time.Time       // since when it is gone; zero unless the kind is Over
}

// Title is a line without the fault's own words.
func (m Message) Title() string {
	switch m.Kind {
	case Test:
		return "Longshore on " + m.Host + ": test"
	case Over:
		return "Longshore on " + m.Host + ": " + m.Fault.Part + " is well again"
	}
	return "Longshore on " + m.Host + ": " + m.Fault.Part
}

// Text is the message for people.
func (m Message) Text() string {
	switch m.Kind {
	case Test:
		return "This is a test of the notifications of Longshore on " + m.Host + ". Nothing is wrong."
	case Over:
		return fmt.Sprintf("Over on %s after %s: %s", m.Host, span(m.Until.Sub(m.Since)), m.Fault.Cause)
	}
	text := "Fault on " + m.Host + ": " + m.Fault.Cause
	if m.Fault.Remedy != "" {
		text += "\nWhat to do: " + m.Fault.Remedy
	}
	return text
}

// span is a duration for people.
func span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	}
	return media.Count(max(int(d.Seconds()), 1), "second")
}

// Target is where an operator is told.
type Target interface {
	Name() string // for people; another name is another target

	// Tell returns once the target has taken m. It ends with ctx. A later call with the
	// same id repeats the message.
	Tell(ctx context.Context, m Message) error
}

// Chat is the chat of the group with that folder.
type Chat struct {
	Folder string
	Teller Teller
}

// Teller records a text for a group's chat, once for each key.
type Teller interface {
	Tell(ctx context.Context, folder, thread, text, key string) error
}

// Name implements Target.
func (c Chat) Name() string { return "chat of " + c.Folder }

// Tell implements Target.
func (c Chat) Tell(ctx context.Context, m Message) error {
	return c.Teller.Tell(ctx, c.Folder, "", m.Text(), "notify-"+m.ID)
}

// payload is a Message as a webhook's receiver reads it.
type payload struct {
	Type  Kind      `json:"type"`
	ID    string    `json:"id"`
	Host  string    `json:"host"`
	Title string    `json:"title"`
	Text  string    `json:"text"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero"`

	finding.Finding
}

// Webhook posts messages as JSON to an address of the operator's, signed as Standard
// Webhooks. Its webhook-id is the message's.
type Webhook struct {
	URL  string
	Keys httpd.WebhookKeys
}

// Name implements Target.
func (Webhook) Name() string { return "webhook" }

// Tell implements Target.
func (w Webhook) Tell(ctx context.Context, m Message) error {
	content, err := json.Marshal(payload{m.Kind, m.ID, m.Host, m.Title(), m.Text(), m.Since.UTC(), m.Until.UTC(), m.Fault})
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	return post(ctx, w.URL, w.Keys.Sign(m.ID, time.Now(), content), transfer.Plain("application/json", content))
}

// Ntfy publishes messages to a topic of an ntfy server, as https://docs.ntfy.sh/publish
// says.
type Ntfy struct {
	Server, Topic string
	Token         string // may be empty
}

// Name implements Target.
func (Ntfy) Name() string { return "ntfy" }

// Tell implements Target.
func (n Ntfy) Tell(ctx context.Context, m Message) error {
	header := http.Header{"Title": {mime.QEncoding.Encode("utf-8", m.Title())}, "Priority": {"default"}, "Tags": {"white_check_mark"}}
	if m.Kind == Began {
		header["Priority"], header["Tags"] = []string{"high"}, []string{"warning"}
	}
	if n.Token != "" {
		header.Set("Authorization", "Bearer "+n.Token)
	}
	return post(ctx, strings.TrimRight(n.Server, "/")+"/"+n.Topic, header, transfer.Plain("text/plain; charset=utf-8", []byte(m.Text())))
}

// post makes one request to an address that the operator wrote. No redirect is followed.
func post(ctx context.Context, address string, header http.Header, body *transfer.Body) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	origin := url.URL{Scheme: u.Scheme, Host: u.Host}
	client, err := transfer.New(transfer.Options{Origins: []string{origin.String()}})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	_, err = transfer.Post(ctx, client, u.Host, address, header, body)
	if answer, ok := errors.AsType[*transfer.Answer](err); ok {
		return fmt.Errorf("%s answered with status %d: %s", u.Host, answer.Status, media.Cut(media.Printable(string(answer.Body)), 200))
	}
	return err
}
