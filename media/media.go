// Package media determines what a file is: its kind, its MIME type, a safe name, and
// whether a channel accepts it.
//
// It decides by the file's first bytes and its name, never by the sender's claims
// alone. It opens no files and knows no channels: a channel provides its [Limits] as
// data.
package media

// Kind is the form in which a chat shows a file.
type Kind string

// The kinds. A file of unknown content is a Document.
const (
	Image    Kind = "image"
	Video    Kind = "video"
	Audio    Kind = "audio"
	Voice    Kind = "voice"    // a voice note: Ogg Opus, played in the chat
	Sticker  Kind = "sticker"  // a WebP shown without a frame
	Document Kind = "document" // everything else, and every file that the sender wants sent as one
)

// Words are what people call one file of the kind.
func (k Kind) Words() string {
	switch k {
	case Image:
		return "a picture"
	case Voice:
		return "a voice note"
	case Audio:
		return "audio"
	}
	return "a " + string(k)
}

// Style is the form that the sender asks for.
type Style string

// The styles. The empty style is Auto.
const (
	Auto       Style = "auto"
	AsDocument Style = "document"
	AsVoice    Style = "voice"
	AsGIF      Style = "gif" // a silent video that loops
	AsSticker  Style = "sticker"
	AsOriginal Style = "original" // by its type, and never converted
)

// Info describes a file after its examination.
type Info struct {
	Name string `json:"name"` // safe on every platform, with its extension, at most 200 bytes
	Kind Kind   `json:"kind"`
	MIME string `json:"mime"`           // without parameters
	Size int64  `json:"size"`           // bytes
	Loop bool   `json:"loop,omitempty"` // a video to be shown looping and silent, like a GIF
	Alt  string `json:"alt,omitempty"`  // what it shows, in words, for people who cannot see it: one line, at most 1000 bytes
	Note string `json:"note,omitempty"` // why it goes in another form than asked for; else empty

	Tracks Tracks `json:"tracks,omitzero"` // of a film or a sound, if somebody has looked
}

// HeadSize is how many of a file's first bytes Classify needs; a shorter file has
// fewer. It is the detection library's own window: with fewer bytes, the library
// would take a truncated text for a complete one.
const HeadSize = 4096

// Kinds returns every kind, in the order in which limits are shown.
func Kinds() []Kind { return []Kind{Image, Video, Audio, Voice, Sticker, Document} }

// Styles returns every style that a sender may ask for.
func Styles() []Style { return []Style{Auto, AsDocument, AsVoice, AsGIF, AsSticker, AsOriginal} }
