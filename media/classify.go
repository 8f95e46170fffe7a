package media

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/gabriel-vasile/mimetype"
	"golang.org/x/text/unicode/norm"
)

// Classify determines what a file is. name is the name to show in the chat, claimed
// the sender's MIME type (may be empty), head the first bytes of the file, up to
// [HeadSize], size its length in bytes, and as the form that the sender asks for.
//
// The content decides. The claim, and then the extension, only refine what the
// content leaves open (a CSV is text, a DOCX is a ZIP); a claim that contradicts the
// content is ignored. A file is an image, a video or audio only by its content, and
// never if its name is that of a program or a page. Nothing is decoded, so a picture
// that unpacks to gigabytes costs nothing here.
//
// The error is a *refusal.Error, and permanent: for an empty file, an unknown style,
// or a style that the file cannot have.
func Classify(name, claimed string, head []byte, size int64, as Style) (Info, error) {
	return ClassifyTracks(name, claimed, head, Tracks{}, size, as)
}

// ClassifyTracks is Classify of a file whose tracks are known: a film is one that has a
// picture, whatever its container is.
func ClassifyTracks(name, claimed string, head []byte, tracks Tracks, size int64, as Style) (Info, error) {
	info := Info{Name: SafeName(name), Size: size}
	if size <= 0 {
		return Info{}, &refusal.Error{
			Code:    "file_empty",
			Message: info.Name + " is empty (0 bytes); chats do not accept empty files",
			Hint:    "write the content first, then send the file",
		}
	}
	content := sniff(head)
	ext, known := byExt(extension(info.Name))
	info.MIME = resolve(content, canonical(claimed), ext, known)
	if !ext.active {
		info.Kind = kindOf(info.MIME)
	} else {
		info.Kind = Document
	}
	info.Note = surprise(info, canonical(claimed), ext, known)
	info, err := styled(info.follow(tracks), head, as)
	if err == nil {
		info = info.renamed()
	}
	if was := norm.NFC.String(name); was != "" && was != info.Name && err == nil {
		renamed := fmt.Sprintf("its name is %q now, since not every chat takes %q", info.Name, shorten(was, maxName))
		info.Note = strings.TrimPrefix(info.Note+"; "+renamed, "; ")
	}
	return info, err
}

// content is the type that the first bytes show.
type content struct {
	mime string
	text bool // any kind of text
}

func sniff(head []byte) content {
	if len(head) == 0 {
		return content{mime: unknownType} // an unread file is not plain text
	}
	if len(head) > HeadSize {
		head = head[:HeadSize]
	}
	found := mimetype.Detect(head)
	c := content{mime: canonical(found.String())}
	for m := found; m != nil; m = m.Parent() {
		c.text = c.text || canonical(m.String()) == plainText
	}
	// The library looks for MP3 frames anywhere in the bytes and so finds them in
	// many files that are not music.
	if c.mime == "audio/mpeg" && !mp3Start(head) {
		c.mime = unknownType
	}
	if c.mime == unknownType && transportStream(head) {
		c.mime = "video/mp2t"
	}
	return c
}

// transportStream reports whether packets of 188 bytes begin with the sync byte (ISO/IEC
// 13818-1, section 2.4.3.2), or those of cameras, which have a time of four bytes before that.
func transportStream(head []byte) bool {
	const packet, stamp, sync = 188, 4, 0x47
	begins := func(at, size int) bool {
		return len(head) > at+2*size && head[at] == sync && head[at+size] == sync && head[at+2*size] == sync
	}
	return begins(0, packet) || begins(stamp, stamp+packet)
}

func mp3Start(head []byte) bool {
	return bytes.HasPrefix(head, []byte("ID3")) || len(head) > 1 && head[0] == 0xFF && head[1]&0xE0 == 0xE0
}

// resolve picks the type: the content's, or the claim's or the extension's if the
// content leaves it open.
func resolve(c content, claimed string, ext fileType, known bool) string {
	claim, ok := byMIME(claimed)
	// As a claim, "some text" or "some bytes" says less than the extension.
	if ok && claimed != plainText && claimed != unknownType && c.allows(claim) {
		return claimed
	}
	if known && c.allows(ext) {
		return ext.mime
	}
	return c.mime
}

// allows reports whether a file with content c can be of type t.
func (c content) allows(t fileType) bool {
	switch {
	case t.mime == c.mime:
		return true
	case t.within == "":
		return false
	case t.within == inText && c.text:
		// The bytes only hint at the kind of text. But a page or a script stays one,
		// whatever its name is.
		return t.active || !c.active()
	case t.within == inAny:
		return c.mime == unknownType
	}
	return t.within == c.mime
}

func (c content) active() bool {
	t, ok := byMIME(c.mime)
	return ok && t.active && c.mime != plainText
}

// surprise explains why a file goes as a document if its name, claim or content suggests a
// picture, a video or sound.
func surprise(info Info, claimed string, ext fileType, known bool) string {
	if info.Kind != Document {
		return ""
	}
	expected := ""
	switch {
	case known && kindOf(ext.mime) != Document:
		expected = ext.mime
	case kindOf(claimed) != Document:
		expected = claimed
	}
	switch {
	case ext.active && kindOf(info.MIME) != Document:
		return fmt.Sprintf("the content is %s but the name ends in .%s, like a program or a page; it goes as a document", info.MIME, ext.ext)
	case expected != "":
		return fmt.Sprintf("the content is %s, not %s; it goes as a document", info.MIME, expected)
	case strings.HasPrefix(info.MIME, "image/"), strings.HasPrefix(info.MIME, "audio/"):
		return "chats do not show " + info.MIME + "; it goes as a document"
	}
	return ""
}
