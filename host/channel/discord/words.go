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

// picture is a sticker as a file: PNG, APNG and GIF are, vectors (3) are not.
// discord.com/developers/docs/reference, CDN Endpoints.
func (s *sticker) picture() attachment {
	ext := map[int]string{1: "png", 2: "png", 4: "gif"}[s.Format]
	if ext == "" {
		return attachment{}
	}
	return attachment{ID: s.ID, Name: s.Name + "." + ext, MIME: "image/" + ext, URL: "/stickers/" + s.ID + "." + ext}
}

type pollMedia struct {
	Text  string `json:"text"`
	Emoji struct {
		Name string `json:"name"`
	} `json:"emoji"`
}

func (p *pollMedia) words() string { return strings.TrimSpace(p.Emoji.Name + " " + p.Text) }

// poll is a member's poll.
type poll struct {
	Question pollMedia `json:"question"`
	Answers  []struct {
		Media pollMedia `json:"poll_media"`
	} `json:"answers"`
}

func (p *poll) words() string {
	var choices []string
	for _, a := range p.Answers {
		choices = append(choices, a.Media.words())
	}
	return channel.PollText(p.Question.words(), choices)
}

type linked struct {
	URL string `json:"url"`
}

// embed is a box of words below a message. A member cannot write one: it is a robot's, or
// the preview of a link.
type embed struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	URL    string `json:"url"`
	Text   string `json:"description"`
	Author struct {
		Name string `json:"name"`
	} `json:"author"`
	Fields []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"fields"`
	Image  linked `json:"image"`
	Thumb  linked `json:"thumbnail"`
	Video  linked `json:"video"`
	Footer struct {
		Text string `json:"text"`
	} `json:"footer"`
}

// previews says whether an embed only shows what a link in the text leads to.
func (e *embed) previews(text string) bool {
	return text != "" && (e.Type != "rich" && e.Type != "" || e.URL != "" && strings.Contains(text, e.URL))
}

func (e *embed) words() (all []string) {
	all = []string{e.Author.Name, titled(e.Title, e.URL), e.Text}
	for _, f := range e.Fields {
		all = append(all, f.Name+": "+f.Value)
	}
	return append(all, e.Image.URL, e.Thumb.URL, e.Video.URL, e.Footer.Text)
}

// titled is a title with the address to which it leads.
func titled(title, address string) string {
	if title == "" || address == "" {
		return title + address
	}
	return title + " (" + address + ")"
}

// words are those of a component and of all that it holds, whatever its type is.
func (c *component) words() []string {
	all := []string{c.Text, titled(strings.TrimSpace(c.Label+" "+c.About), c.URL+c.Media.URL+c.File.URL)}
	for _, in := range [][]component{c.Buttons, c.Items, c.Options} {
		for i := range in {
			all = append(all, in[i].words()...)
		}
	}
	if c.Beside != nil {
		all = append(all, c.Beside.words()...)
	}
	return all
}

// content is what a message shows.
type content struct {
	kind       channel.Kind
	text, told string
	forwarded  bool
	files      []attachment
}

// content is never empty.
func (m *message) content() (c content) {
	if s, ok := systemTypes[m.Type]; ok {
		return content{kind: channel.KindNote, text: m.note(s), told: s.name}
	}
	text := readable(m)
	all := []string{text}
	for _, e := range m.Embeds {
		if !m.byPerson() && !e.previews(text) {
			all = append(all, e.words()...)
		}
	}
	for i := range m.Buttons {
		all = append(all, m.Buttons[i].words()...)
	}
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
		all, c.kind = append(all, m.Poll.words()), channel.KindPoll
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
		all = append(all, e.words()...)
	}
	if c.text = joinLines(all); c.text == "" {
		c.told = m.unknown()
		c.text = channel.NotShown(c.told)
	}
	return c
}

// joinLines joins what is not empty, within bounds.
func joinLines(all []string) string {
	return media.Cut(strings.Join(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == "" }), "\n"), maxIn)
}

// note is a message of Discord's own in words.
func (m *message) note(s systemType) string {
	more := []string{readable(m)}
	switch {
	case s.says == "":
		return channel.NotShown(s.name)
	case more[0] == "" && m.Answers != nil:
		more[0] = m.Answers.content().text
	case more[0] == "":
		for _, u := range m.Mentions[:min(len(m.Mentions), maxMentions)] {
			more = append(more, nameOf(u, u.Member))
		}
		for _, e := range m.Embeds { // of a poll's end
			for _, f := range e.Fields {
				if f.Name == "poll_question_text" || f.Name == "victor_answer_text" {
					more = append(more, f.Value)
				}
			}
		}
	}
	return media.Cut(strings.TrimSuffix(s.says+": "+strings.ReplaceAll(joinLines(more), "\n", " "), ": "), maxIn)
}

// files are all that a message shows, also of those that it forwards.
func (m *message) files() []attachment {
	all := slices.Clone(m.Files)
	for i := range m.Stickers {
		all = append(all, m.Stickers[i].picture())
	}
	for i := range m.Snapshots {
		all = append(all, m.Snapshots[i].Message.files()...)
	}
	return bounded(all)
}

// bounded are files whose fields have the form of Discord's.
func bounded(files []attachment) (all []attachment) {
	for _, f := range files {
		if isID(f.ID) && len(f.URL) <= maxURL && len(all) < maxInFiles {
			f.Name, f.Long, f.Alt, f.MIME, f.Wave = f.shown(), "", "", media.Cut(f.MIME, 100), media.Cut(f.Wave, 1)
			all = append(all, f)
		}
	}
	return all
}

// shown is the name that members see. A file whose name Discord had to change has its own
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

// readable is a text with names instead of the ids of those whom it mentions.
func readable(m *message) string {
	text := media.Cut(m.Text, maxIn)
	for _, u := range m.Mentions[:min(len(m.Mentions), maxMentions)] {
		if name := nameOf(u, u.Member); isID(u.ID) && name != "" {
			text = strings.NewReplacer("<@"+u.ID+">", "@"+name, "<@!"+u.ID+">", "@"+name).Replace(text)
		}
	}
	return text
}
