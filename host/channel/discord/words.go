package discord

import (
	"path"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

const (
	maxIn      = 16 << 10 // bytes of a text that comes in; Discord's longest has 4,000 characters
	maxInFiles = 20       // of a message; Discord's own most is 10
	maxURL     = 2000     // bytes
)

// attachment is a file of a message, or the picture of a sticker.
type attachment struct {
	ID   string `json:"id"`
	Name string `json:"filename"`
	Long string `json:"title,omitzero"`       // of a file whose name Discord had to change
	Alt  string `json:"description,omitzero"` // what it shows, in the member's words
	MIME string `json:"content_type"`
	Size int64  `json:"size"`
	URL  string `json:"url"`      // of a sticker: the path
	Wave string `json:"waveform"` // of a voice message
}

type sticker struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Format int    `json:"format_type"`
}

// picture returns a sticker as a file; nothing for a vector image (format 3).
// discord.com/developers/docs/reference, CDN Endpoints.
func (s *sticker) picture() attachment {
	ext := map[int]string{1: "png", 2: "png", 4: "gif"}[s.Format]
	if ext == "" {
		return attachment{}
	}
	return attachment{ID: s.ID, Name: s.Name + "." + ext, MIME: "image/" + ext, URL: "/stickers/" + s.ID + "." + ext}
}

// The fields of documents that show words: of a poll's question or choice, and of embeds and
// components of any type, in the order in which they are shown. What a select menu offers
// shows only to who opens it.
var (
	pollFields = []string{"poll_media", "emoji", "name", "text"}
	boxFields  = []string{"author", "title", "label", "name", "value", "content", "description", "placeholder", "url", "media", "file", "items", "components", "accessory",
		"fields", "image", "thumbnail", "video", "footer", "text"}
)

// wordsIn returns the texts in these fields of a document, at any depth.
func wordsIn(doc any, fields []string) (all []string) {
	switch v := doc.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			all = append(all, wordsIn(one, fields)...)
		}
	case map[string]any:
		for _, name := range fields {
			all = append(all, wordsIn(v[name], fields)...)
		}
	}
	return all
}

// pollWords returns a member's poll in words.
func pollWords(p map[string]any) string {
	words := func(doc any) string { return strings.Join(wordsIn(doc, pollFields), " ") }
	var choices []string
	answers, _ := p["answers"].([]any)
	for _, a := range answers {
		choices = append(choices, words(a))
	}
	return channel.PollText(words(p["question"]), choices)
}

// previews reports whether an embed only shows what a link in the text leads to.
func previews(embed map[string]any, text string) bool {
	kind, _ := embed["type"].(string)
	address, _ := embed["url"].(string)
	return text != "" && (kind != "rich" && kind != "" || address != "" && strings.Contains(text, address))
}

// content is what a message shows.
type content struct {
	kind       channel.Kind
	text, told string
	forwarded  bool
	files      []attachment
}

// content returns what a message shows. It always has words or files.
func (m *message) content() (c content) {
	if s, ok := systemTypes[m.Type]; ok {
		return m.note(s)
	}
	text := readable(m)
	all := []string{text}
	for _, e := range m.Embeds {
		if !m.byPerson() && !previews(e, text) { // a member cannot write one
			all = append(all, wordsIn(e, boxFields)...)
		}
	}
	all = append(all, wordsIn(m.Components, boxFields)...)
	for i := range m.Snapshots {
		of := m.Snapshots[i].Message.content()
		all, c.told = append(all, of.text), of.told
	}
	for _, f := range m.Files {
		if f.Alt != "" {
			all = append(all, f.shown()+": "+f.Alt)
		}
	}
	alone := joinLines(all) == "" && len(m.Files) == 0 && m.Poll == nil
	if m.Poll != nil {
		all, c.kind = append(all, pollWords(m.Poll)), channel.KindPoll
	}
	for _, s := range m.Stickers {
		all = append(all, channel.StickerText(channel.CleanName(s.Name)))
		if alone {
			c.kind = channel.KindSticker
		}
	}
	c.text, c.files, c.forwarded = joinLines(all), m.files(), m.Refers.Type == refersForward || len(m.Snapshots) > 0
	if c.text != "" || len(c.files) > 0 {
		return c
	}
	for _, e := range m.Embeds {
		all = append(all, wordsIn(e, boxFields)...)
	}
	if c.text = joinLines(all); c.text == "" {
		c.told = m.unknown()
		c.text = channel.NotShown(c.told)
	}
	return c
}

// joinLines joins texts that are not empty by line breaks, within 16 KiB.
func joinLines(all []string) string {
	return media.Cut(strings.Join(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == "" }), "\n"), maxIn)
}

// note returns a message of Discord's own in words.
func (m *message) note(s systemType) content {
	if s.note == "" {
		return content{kind: channel.KindNote, text: channel.NotShown(s.name), told: s.name}
	}
	more := []string{readable(m)}
	if more[0] == "" && m.Answers != nil {
		more[0] = m.Answers.content().text
	} else if more[0] == "" {
		for _, u := range m.Mentions[:min(len(m.Mentions), maxMentions)] {
			more = append(more, nameOf(u, u.Member))
		}
		for _, e := range m.Embeds { // of a poll's end: names and values
			for pair := range slices.Chunk(wordsIn(e["fields"], []string{"name", "value"}), 2) {
				if pair[0] == "poll_question_text" || pair[0] == "victor_answer_text" {
					more = append(more, pair[1:]...)
				}
			}
		}
	}
	return content{kind: channel.KindNote, text: media.Cut(strings.TrimSuffix(s.note+": "+strings.ReplaceAll(joinLines(more), "\n", " "), ": "), maxIn)}
}

// files returns the files of a message and of those that it forwards, if they have an id and an
// address of possible length: at most 20.
func (m *message) files() (files []attachment) {
	all := slices.Clone(m.Files)
	for i := range m.Stickers {
		all = append(all, m.Stickers[i].picture())
	}
	for i := range m.Snapshots {
		all = append(all, m.Snapshots[i].Message.files()...)
	}
	for _, f := range all {
		if isID(f.ID) && len(f.URL) <= maxURL && len(files) < maxInFiles {
			f.Name, f.Long, f.Alt, f.MIME, f.Wave = f.shown(), "", "", media.Cut(f.MIME, 100), media.Cut(f.Wave, 1)
			files = append(files, f)
		}
	}
	return files
}

// shown returns the name that members see. A file whose name Discord had to change has its own
// as the title, without the extension; see github.com/discord/discord-api-docs/pull/6945.
func (f *attachment) shown() string {
	name, ext := f.Name, path.Ext(f.Name)
	if f.Long != "" {
		name = f.Long
	}
	if !strings.HasSuffix(strings.ToLower(name), strings.ToLower(ext)) {
		name += ext
	}
	if name = strings.TrimPrefix(name, "SPOILER_"); name == "" {
		return ""
	}
	return media.SafeName(name)
}

// maxMentions is how many members a text shows by name.
const maxMentions = 50

// readable returns a text with names in place of the ids of members whom it mentions.
func readable(m *message) string {
	text := media.Cut(m.Text, maxIn)
	for _, u := range m.Mentions[:min(len(m.Mentions), maxMentions)] {
		if name := nameOf(u, u.Member); isID(u.ID) && name != "" {
			text = strings.NewReplacer("<@"+u.ID+">", "@"+name, "<@!"+u.ID+">", "@"+name).Replace(text)
		}
	}
	return text
}
