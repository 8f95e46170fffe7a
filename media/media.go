// Package media says what a file is: its kind, its MIME type, the name it may
// carry, and whether a channel takes it.
//
// It decides from a file's first bytes and its name, never from what the
// sender claims alone. It does not open files, and it does not know channels:
// a channel hands over its [Limits] as data.
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
	Document Kind = "document" // everything else, and whatever was asked to go as one
)

// Style is the form the sender asks for.
type Style string

// The styles. The empty style is Auto.
const (
	Auto       Style = "auto"
	AsDocument Style = "document"
	AsVoice    Style = "voice"
	AsGIF      Style = "gif" // a silent video that loops
	AsSticker  Style = "sticker"
)

// Info is what is known of a file once it was looked at.
type Info struct {
	Name string `json:"name"` // safe on every platform, extension kept, at most 200 bytes
	Kind Kind   `json:"kind"`
	MIME string `json:"mime"`           // without parameters
	Size int64  `json:"size"`           // bytes
	Loop bool   `json:"loop,omitempty"` // a video to be shown looping and silent, as a GIF
	Note string `json:"note,omitempty"` // why it goes in another form than was asked; empty otherwise
}

// HeadSize is how many of a file's first bytes Classify wants; fewer are fine
// where the file is shorter. It is the detection library's own window: with
// fewer bytes it would take a cut-off text for a whole one.
const HeadSize = 4096

// Kinds returns every kind, in the order in which limits are shown.
func Kinds() []Kind { return []Kind{Image, Video, Audio, Voice, Sticker, Document} }

// Styles returns every style that a sender may ask for.
func Styles() []Style { return []Style{Auto, AsDocument, AsVoice, AsGIF, AsSticker} }
