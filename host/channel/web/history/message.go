package history

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/markup"
	"github.com/longshore-bridge/longshore/media"
)

// Message is one entry of a chat, as the API gives it.
type Message struct {
	ID        string    `json:"id"`               // unique in its chat
	From      string    `json:"from"`             // the name its writer gave; not an identity
	Assistant bool      `json:"assistant"`        // written by the assistant
	Author    string    `json:"author,omitempty"` // the mark of the writer's browser, see markOf; from a program whatever it gave
	Key       string    `json:"key,omitempty"`    // the poster's own, by which a page knows its post again
	Text      string    `json:"text"`             // the text, or the file's caption
	Time      time.Time `json:"time"`
	ReplyTo   string    `json:"replyTo,omitempty"`
	Quote     *Quote    `json:"quote,omitempty"`     // what ReplyTo is, as it was then
	Forwarded string    `json:"forwarded,omitempty"` // who wrote it, by the word of who posted it; empty: who posted it
	File      *File     `json:"file,omitempty"`
	Status    Status    `json:"status"`

	Edited    bool       `json:"edited,omitempty"`
	EditedAt  time.Time  `json:"editedAt,omitzero"` // the last time
	Removed   bool       `json:"removed,omitempty"` // what it held is deleted
	Reactions []Reaction `json:"reactions,omitempty"`
	Poll      *Poll      `json:"poll,omitempty"` // Text is a question, in plain text

	Seq     int64  `json:"-"` // its place in the history
	Answers bool   `json:"-"` // a member's answer to the assistant
	Bytes   []byte `json:"-"` // of File, if it is small and not in the history yet
	Shown   Shown  `json:"-"` // how Text is shown
}

// Shown is how a text is shown. It is made once, when the text is accepted, and stored with
// the message: parsing takes longer than all else that a page costs.
type Shown struct {
	Tree  json.RawMessage // of []markup.Node; empty: there is no text
	Short string          // its beginning, without formats
}

// maxTree is the largest tree that is stored, in bytes: the tree of a text full of formats
// is many times longer than the text. A text with a larger tree is shown as it was written.
const maxTree = 256 << 10

// Show parses a text. The caller holds no lock: parsing takes milliseconds.
func Show(text string) Shown {
	if text == "" {
		return Shown{}
	}
	nodes := markup.Parse(text)
	tree, err := json.Marshal(nodes)
	if err != nil || len(tree) > maxTree {
		tree, _ = json.Marshal([]markup.Node{{Kind: markup.Paragraph, Kids: []markup.Node{{Text: text}}}})
	}
	return Shown{tree, markup.Beginning(nodes, maxQuote)}
}

// MarshalJSON adds the text's tree, by which the page shows the text.
func (m Message) MarshalJSON() ([]byte, error) {
	type fields Message
	if m.Poll != nil {
		return json.Marshal(fields(m))
	}
	return json.Marshal(struct {
		fields
		Tree json.RawMessage `json:"tree,omitempty"`
	}{fields(m), m.Shown.Tree})
}

// Quote is a message that another one answers.
type Quote struct {
	From string `json:"from"`
	Text string `json:"text"` // its beginning, or its file's name
}

// File is the file of a message.
type File struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	MIME   string     `json:"mime"`
	Kind   media.Kind `json:"kind"`
	Size   int64      `json:"size"`   // bytes
	SHA256 string     `json:"sha256"` // of the content, lower-case hex
	URL    string     `json:"url"`    // on this server
	Inline bool       `json:"inline"` // may be shown in place
	Width  int        `json:"width,omitempty"`
	Height int        `json:"height,omitempty"` // pixels, where known
	Loop   bool       `json:"loop,omitempty"`   // a silent video that repeats
	Alt    string     `json:"alt,omitempty"`    // what it shows, in words
}

// Status is the progress of a message.
type Status string

// The states. A member's message goes from Received to Delivered; the assistant's
// from Sent over Delivered to Read.
const (
	Received  Status = "received"  // in the history, and the host gets it
	Sent      Status = "sent"      // in the history
	Delivered Status = "delivered" // a member's: with the assistant; the assistant's: pushed to a page or fetched
	Read      Status = "read"      // seen on a page
)

// inlineTypes are the types that a browser shows or plays without running any of their
// content. Everything else is only ever a download.
var inlineTypes = map[string]bool{
	"image/jpeg": true, "image/png": true, "image/gif": true, "image/webp": true,
	"video/mp4": true, "video/webm": true,
	"audio/mpeg": true, "audio/ogg": true, "audio/mp4": true, "audio/x-m4a": true,
	"audio/aac": true, "audio/wav": true, "audio/x-wav": true, "audio/webm": true,
}

// maxPixels is the largest picture that a page is asked to decode: a small
// file can unfold to gigabytes in a member's browser.
const maxPixels = 50_000_000

// finish sets the fields that follow from others.
func (f *File) finish() {
	f.URL = "/files/" + f.ID + "/" + url.PathEscape(f.Name)
	f.Inline = inlineTypes[f.BaseType()] && f.Kind != media.Document &&
		int64(f.Width)*int64(f.Height) <= maxPixels
}

// BaseType returns the MIME type without parameters.
func (f *File) BaseType() string {
	t, _, _ := strings.Cut(f.MIME, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// maxQuote is how many characters of an answered message are quoted.
const maxQuote = 160

// AsQuote returns m as another message quotes it.
func (m *Message) AsQuote() *Quote {
	text := m.Shown.Short
	if text == "" && m.File != nil {
		text = media.Cut(m.File.Name, maxQuote)
	}
	return &Quote{From: m.From, Text: text}
}

// Poll is a question with choices, and who has chosen what.
type Poll struct {
	Choices []string `json:"choices"`
	Several bool     `json:"several"` // a member may choose more than one
	Ended   bool     `json:"ended"`
	Outcome string   `json:"outcome,omitempty"` // how it ended, in words
	Votes   []Vote   `json:"votes"`
}

// Vote is what somebody has chosen.
type Vote struct {
	Who     string   `json:"who"`     // the browser's mark
	Name    string   `json:"name"`    // the one that the voter had first, with a number if it was taken
	Choices []string `json:"choices"` // none: taken back
}

// Voter returns the index of a browser's vote, or -1.
func (p *Poll) Voter(who string) int {
	return slices.IndexFunc(p.Votes, func(v Vote) bool { return v.Who == who })
}
