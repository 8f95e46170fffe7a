package telegram

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/host/channel"
)

// holding is the content of a message in the host's terms.
type holding struct {
	kind  channel.Kind
	text  string
	told  string // as Inbound.Told
	place *channel.Location
	files []file
}

// says returns the content. It is empty if Telegram shows bots none of it.
func (c *content) says() holding {
	s := holding{text: cmp.Or(plain(c.Text, c.Entities), plain(c.Caption, c.CaptionEntities), wordsOf(c.Rich)), files: c.files()}
	switch {
	case c.Sticker != nil:
		s.kind, s.text = channel.KindSticker, channel.StickerText(channel.CleanName(c.Sticker.Emoji))
	case c.Location != nil:
		s.kind, s.place = channel.KindLocation, &channel.Location{Latitude: c.Location.Latitude, Longitude: c.Location.Longitude, Name: strings.Join(strings.Fields(wordsOf(c.Rest["venue"])), " ")}
		if c.Location.Live > 0 {
			s.place.Name = "(live)"
		}
		s.text = s.place.String()
	case c.Rest["contact"] != nil:
		s.kind, s.text = channel.KindContact, contact(c.Rest["contact"])
	case c.Poll != nil:
		var choices []string
		for _, o := range c.Poll.Options {
			choices = append(choices, o.Text)
		}
		s.kind, s.text = channel.KindPoll, channel.PollText(c.Poll.Question, choices)
	case s.text == "" && len(s.files) == 0, c.Rest["paid_media"] != nil:
		c.tell(&s)
	}
	return s
}

// contact returns somebody's names and numbers in words.
func contact(raw jsontext.Value) string {
	var c struct {
		Card string `json:"vcard"`
	}
	_ = json.Unmarshal(raw, &c, lenient) // of another form, it has no card
	return channel.CardText(wordsOf(raw), c.Card)
}

// plain returns a text with the addresses that its formatting hides, each after its words.
func plain(text string, format []entity) string {
	hiding := slices.DeleteFunc(slices.Clone(format), func(e entity) bool { return e.URL == "" })
	if len(hiding) == 0 {
		return text
	}
	slices.SortStableFunc(hiding, func(a, b entity) int { return cmp.Compare(a.Offset+a.Length, b.Offset+b.Length) })
	units, at := utf16.Encode([]rune(text)), 0
	var out []uint16
	for _, e := range hiding {
		end := e.Offset + e.Length
		if e.Offset < 0 || e.Length < 0 || end < at || end > len(units) {
			continue
		}
		out = append(append(out, units[at:end]...), utf16.Encode([]rune(e.hidden(string(utf16.Decode(units[e.Offset:end])))))...)
		at = end
	}
	return string(utf16.Decode(append(out, units[at:]...)))
}

// hidden returns what to add after words that stand for an address; nothing if they are it.
func (e entity) hidden(words string) string {
	before := strings.TrimSuffix(strings.TrimSuffix(e.URL, "/"), strings.TrimSuffix(words, "/"))
	if slices.Contains([]string{"", "http://", "https://", "mailto:"}, before) {
		return ""
	}
	return " (" + e.URL + ")"
}
