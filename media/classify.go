package media

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/gabriel-vasile/mimetype"
	"golang.org/x/text/unicode/norm"
)

// Classify says what a file is. name is what it is to be called in the chat,
// claimed the sender's MIME type (may be empty), head its first bytes, up to
// [HeadSize], size its length in bytes, as the form that was asked for.
//
// The content decides. The claim and then the extension only refine what the
// content leaves open (a CSV is text, a DOCX is a ZIP); one that contradicts
// the content is passed over. A file is an image, a video or audio only by its
// content, and never when its name is that of a program or a page. Nothing is
// decoded, so a picture that unpacks to gigabytes costs nothing here.
//
// The error is an *[Error] for an empty file, an unknown style, or a style
// for which the file has no sensible form.
func Classify(name, claimed string, head []byte, size int64, as Style) (Info, error) {
	info := Info{Name: SafeName(name), Size: size}
	if size <= 0 {
		return Info{}, &refusal.Error{
			Code:    "file_empty",
			Message: info.Name + " is empty (0 bytes); chats take no empty files",
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
	info, err := styled(info, head, as)
	if was := norm.NFC.String(name); was != "" && was != info.Name && err == nil {
		renamed := fmt.Sprintf("its name is %q now, since not every chat takes %q", info.Name, shorten(was, maxName))
		info.Note = strings.TrimPrefix(info.Note+"; "+renamed, "; ")
	}
	return info, err
}

// content is what the first bytes say.
type content struct {
	mime string
	text bool // some kind of text
}

func sniff(head []byte) content {
	if len(head) == 0 {
		return content{mime: unknownType} // unread is not plain text
	}
	if len(head) > HeadSize {
		head = head[:HeadSize]
	}
	found := mimetype.Detect(head)
	c := content{mime: canonical(found.String())}
	for m := found; m != nil; m = m.Parent() {
		c.text = c.text || canonical(m.String()) == plainText
	}
	// The library looks for MP3 frames anywhere in the bytes, which holds of
	// much that is no music.
	if c.mime == "audio/mpeg" && !mp3Start(head) {
		c.mime = unknownType
	}
	return c
}

func mp3Start(head []byte) bool {
	return bytes.HasPrefix(head, []byte("ID3")) || len(head) > 1 && head[0] == 0xFF && head[1]&0xE0 == 0xE0
}

// resolve picks the type: the claim or the extension where the content leaves
// it open, else the content.
func resolve(c content, claimed string, ext fileType, known bool) string {
	claim, ok := byMIME(claimed)
	// "Some text" and "some bytes" claim nothing that the extension could not say better.
	if ok && claimed != plainText && claimed != unknownType && c.allows(claim) {
		return claimed
	}
	if known && c.allows(ext) {
		return ext.mime
	}
	return c.mime
}

// allows says whether content that looks like c can be of type t.
func (c content) allows(t fileType) bool {
	switch {
	case t.mime == c.mime:
		return true
	case t.within == "":
		return false
	case t.within == inText && c.text:
		// What kind of text it is the bytes only hint at, but a page or a
		// script stays one whatever it is called.
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

// surprise explains a document whose name or claim made the sender expect a
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
	}
	return ""
}
