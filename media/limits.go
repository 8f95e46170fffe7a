package media

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// MiB is the unit of the limits: 2^20 bytes. Where a platform says "16 MB" and
// not which megabyte it means, its limit here is 16 MiB, the reading that lets
// a file through.
const MiB = 1 << 20

// Limit is what a channel takes of one kind.
type Limit struct {
	Bytes   int64    // largest file; 0: the kind is not taken
	Caption int      // units of text that may go with the file; 0: the text goes as a message of its own
	MIME    []string // the types that the platform shows as this kind; empty: all. Documents have any type
	Codecs  []string // of Tracks, that the platform's apps play in this kind; empty: all

	// Album: files of kinds with the same word here may share a message, up to
	// Limits.Files; empty: each file is a message of its own.
	Album string
}

// Limits is what a channel takes.
type Limits struct {
	Kinds map[Kind]Limit
	Text  int  // units in one text message; longer text is split
	Unit  Unit // of Text and Caption

	Markup Markup // the form that texts and captions have when Send gets them

	Files int   // files in one message; 0 is 1
	Bytes int64 // of all files of one message; 0: no more than each file's

	LoopsAlone bool // a video that repeats like a GIF shares no message

	Threads bool // a message may go to a thread of the chat

	Poll PollLimit // a question with choices; zero: the platform has none

	// LargeAsDocument says that a picture or video that is too large for its
	// kind goes as a document, if it is not too large for that.
	LargeAsDocument bool
}

// PollLimit is what a channel takes of a question with choices.
type PollLimit struct {
	Choices  int // most choices of one question; 0: no questions are taken
	Choice   int // units of text in one choice
	Question int // units of text in the question
}

// Markup is the form in which a platform takes formatted text. Assistants write
// Markdown; the host renders it in this form before it splits and stores a text.
type Markup string

// The forms.
const (
	MarkupWritten  Markup = ""         // as the assistant wrote it
	MarkupMarkdown Markup = "markdown" // as written, for a channel that shows Markdown by [markup.Parse]
	MarkupPlain    Markup = "plain"    // no formatting at all
	MarkupWhatsApp Markup = "whatsapp" // *bold* _italic_ ~struck~ `code`
	MarkupSlack    Markup = "slack"    // mrkdwn
	MarkupTelegram Markup = "telegram" // <b>bold</b> <i>italic</i> <s>struck</s> <code>code</code> <a href="url">words</a> and the like: see [Shown]
	MarkupDiscord  Markup = "discord"  // **bold** _italic_ ~~struck~~ `code` [words](<url>), with backslashes
)

// Unit is what a platform counts the length of a text in.
type Unit int

// The units. The zero Unit is Characters.
const (
	Characters Unit = iota // Unicode code points
	UTF16                  // 16-bit units: most characters are one, emoji two
	Bytes                  // of UTF-8
	UTF16Shown             // UTF16 of what a text of MarkupTelegram shows, without its tags
)

// String is what a limit counts, for people.
func (u Unit) String() string {
	switch u {
	case UTF16, UTF16Shown:
		return "characters (an emoji counts as two)"
	case Bytes:
		return "bytes"
	}
	return "characters"
}

// Of is how many units a character takes.
func (u Unit) Of(r rune) int {
	switch u {
	case UTF16, UTF16Shown:
		return max(1, utf16.RuneLen(r))
	case Bytes:
		return max(1, utf8.RuneLen(r))
	}
	return 1
}

// Len is how many units a text takes.
func (u Unit) Len(text string) (n int) {
	switch u {
	case UTF16:
		for _, r := range text {
			n += u.Of(r)
		}
		return n
	case Bytes:
		return len(text)
	case UTF16Shown:
		shown, _ := Shown(text)
		return UTF16.Len(shown)
	}
	return utf8.RuneCountInString(text)
}

// DefaultLimits returns the limits of a channel that knows no better. They are
// this project's own, small enough for phones and for most platforms; a
// channel that knows its platform's limits states those. Each file is a message of
// its own: only with Files above 1 do the albums that are stated here mean anything.
func DefaultLimits() Limits {
	return Limits{
		Kinds: map[Kind]Limit{
			Image:    {Bytes: 16 * MiB, Caption: 1024, Album: "files"},
			Video:    {Bytes: 64 * MiB, Caption: 1024, Album: "files"},
			Audio:    {Bytes: 16 * MiB},
			Voice:    {Bytes: 16 * MiB},
			Sticker:  {Bytes: MiB / 2},
			Document: {Bytes: 100 * MiB, Caption: 1024, Album: "files"},
		},
		Text: 4096,
	}
}

// Tighten returns limits that are no wider than l and take no more than
// byKind bytes of the kinds that it names; 0 or less takes none of the kind.
// Names of no kind are passed over: whoever reads a configuration checks them
// there. l stays as it is.
func (l Limits) Tighten(byKind map[string]int64) Limits {
	l.Kinds = maps.Clone(l.Kinds)
	for name, n := range byKind {
		if limit, ok := l.Kinds[Kind(name)]; ok {
			limit.Bytes = max(0, min(limit.Bytes, n))
			l.Kinds[Kind(name)] = limit
		}
	}
	return l
}

// Check says whether a channel of that name takes the file. The error is a
// *[LimitError], and permanent.
func (l Limits) Check(channel string, i Info) error {
	limit := l.Kinds[i.Kind].Bytes
	if limit > 0 && i.Size <= limit {
		return nil
	}
	return &LimitError{
		Channel:     channel,
		Name:        i.Name,
		Kind:        i.Kind,
		Size:        i.Size,
		Limit:       limit,
		AsDocument:  i.Kind != Document && i.Size <= l.Kinds[Document].Bytes,
		ForDocument: l.Kinds[Document].Bytes,
	}
}

// Fit is Check for a file whose kind may still change, and decides it for good:
// a file of a type that the platform does not show as its kind comes back as a
// document, as does, if LargeAsDocument is set, a picture or video that is too
// large. The Note says why. A voice note that can only be played goes as audio.
// The error is Check's.
func (l Limits) Fit(channel string, i Info) (Info, error) {
	switch {
	case l.shows(i.Kind, i):
	case i.Kind == Voice && l.shows(Audio, i):
		i.Kind = Audio
	case l.Kinds[i.Kind].Unplayed(i.Tracks) != "":
		i = i.asDocument(channel + " does not play " + l.Kinds[i.Kind].Unplayed(i.Tracks) + " in the chat")
	default:
		i = i.asDocument(channel + " does not show " + i.MIME + " in the chat")
	}
	err := l.Check(channel, i)
	var large *LimitError
	if !l.LargeAsDocument || !errors.As(err, &large) || !large.AsDocument || i.Kind != Image && i.Kind != Video {
		return i, err
	}
	return i.asDocument(large.Error()), nil
}

// shows says whether the platform shows a file as that kind. A kind that is not
// taken at all is for Check to refuse.
func (l Limits) shows(k Kind, i Info) bool {
	limit := l.Kinds[k]
	return k == Document || limit.Bytes <= 0 || (len(limit.MIME) == 0 || slices.Contains(limit.MIME, i.MIME)) && limit.Unplayed(i.Tracks) == ""
}

// asDocument is the file as a document, with a reason more in its Note.
func (i Info) asDocument(why string) Info {
	i.Note = strings.TrimPrefix(i.Note+"; "+why+", so it goes as a document", "; ")
	i.Kind, i.Loop = Document, false
	return i
}

// MayShare says whether a file may go in one message with those before it,
// which may share one already.
func (l Limits) MayShare(before []Info, i Info) bool {
	album, size := l.albumOf(i), i.Size
	for _, b := range before {
		if size += b.Size; l.albumOf(b) != album {
			return false
		}
	}
	return album != "" && len(before) < l.Files && (l.Bytes <= 0 || size <= l.Bytes)
}

func (l Limits) albumOf(i Info) string {
	if l.LoopsAlone && i.Loop {
		return ""
	}
	return l.Kinds[i.Kind].Album
}

// LimitError is a file that a channel does not take in its kind.
type LimitError struct {
	Channel     string
	Name        string // safe
	Kind        Kind
	Size        int64 // bytes
	Limit       int64 // bytes; 0: the kind is not taken at all
	AsDocument  bool  // it would pass as a document
	ForDocument int64 // bytes; what a document may have
}

func (e *LimitError) Error() string {
	if e.Limit == 0 {
		return fmt.Sprintf("%s cannot go to %s, which takes no %s", e.Name, e.Channel, plural(e.Kind))
	}
	size, limit := Size(e.Size), Size(e.Limit)
	if size == limit { // a few bytes over
		size, limit = exact(e.Size), exact(e.Limit)
	}
	return fmt.Sprintf("%s is %s; %s takes %s up to %s", e.Name, size, e.Channel, plural(e.Kind), limit)
}

// Unwrap is the refusal that the error amounts to.
func (e *LimitError) Unwrap() error {
	code, hint := "file_too_large", ""
	if e.Limit == 0 {
		code = "kind_not_taken"
	}
	switch {
	case e.AsDocument && e.Limit == 0:
		hint = "send it as a document (set `as` to document)"
	case e.AsDocument:
		hint = "send it as a document (set `as` to document), or make it smaller"
	case e.ForDocument == 0 && e.Limit == 0:
		hint = "say in a message what it holds; this chat takes no such files"
	case e.Limit == 0:
		hint = "make it smaller than " + Size(e.ForDocument) + " and send it as a document (set `as` to document)"
	default:
		hint = "make it smaller (compress it, lower its quality), or split it and send the parts"
	}
	return &refusal.Error{Code: code, Message: e.Error(), Hint: hint}
}

func plural(k Kind) string {
	switch k {
	case Image:
		return "images"
	case Voice:
		return "voice notes"
	case Sticker:
		return "stickers"
	case Document:
		return "documents"
	}
	return string(k) // video, audio
}

// Size prints a number of bytes for people, in steps of 1024: "17 bytes", "3.4 KiB",
// "71 MiB". longshore.yaml uses the same units, so a number from a message can be
// written there.
func Size(n int64) string {
	if n < 1024 {
		return exact(n)
	}
	value, unit := float64(n)/1024, 0
	units := [...]string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for value >= 1023.95 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	s := strconv.FormatFloat(value, 'f', 1, 64)
	if value >= 9.95 {
		s = strconv.FormatFloat(value, 'f', 0, 64)
	} else if s[len(s)-2:] == ".0" {
		s = s[:len(s)-2]
	}
	return s + " " + units[unit]
}

// exact prints a number of bytes in full, with commas.
func exact(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s + " bytes"
}
