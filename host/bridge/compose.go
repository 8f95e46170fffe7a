package bridge

import (
	"strings"

	"github.com/longshore-bridge/longshore/host/channel/markup"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// texts renders a text for the channel and cuts it into parts that the channel
// takes. A limit of 0 is none.
func texts(text string, l media.Limits) []records.Part {
	var parts []records.Part
	for _, m := range markup.Messages(text, l.Markup, l.Text, l.Unit) {
		parts = append(parts, records.Part{Text: m.Text, Written: written(m.Written, m.Text)})
	}
	return parts
}

// mostWritten is the most bytes of Markdown that are recorded beside a text.
const mostWritten = 64 << 10

// written returns the Markdown to record beside a text; empty if the text says as much.
func written(markdown, text string) string {
	if markdown == text || len(markdown) > mostWritten {
		return ""
	}
	return markdown
}

// attach adds a file to the parts of its request: to the message of the file
// before it, if the two may share one and this file has no words of its own, or
// else as a message. If the channel cannot attach the whole caption, further
// parts have it: the text is sent, never dropped.
func attach(parts []records.Part, file records.File, caption string, l media.Limits) []records.Part {
	if last := len(parts) - 1; last >= 0 && caption == "" && mayShare(parts[last].Files, file, l) {
		parts[last].Files = append(parts[last].Files, file)
		return parts
	}
	part := records.Part{Files: []records.File{file}}
	rendered := strings.Join(markup.Parts(caption, l.Markup, 0, l.Unit), "")
	if l.Unit.Len(rendered) <= l.Kinds[file.Kind].Caption {
		part.Text, part.Written = rendered, written(caption, rendered)
		return append(parts, part)
	}
	return append(append(parts, part), texts(caption, l)...)
}

func mayShare(files []records.File, file records.File, l media.Limits) bool {
	var before []media.Info
	for _, f := range files {
		before = append(before, f.Info)
	}
	return len(before) > 0 && l.MayShare(before, file.Info)
}

// oneLine returns a one-line, printable form of foreign words.
func oneLine(text string) string {
	return media.Printable(strings.Join(strings.Fields(media.WithoutHidden(text)), " "))
}

// altOf returns a one-line, printable description of what a file shows.
func altOf(text string) string {
	line := oneLine(text)
	return strings.ToValidUTF8(line[:min(len(line), ipc.MaxAlt)], "")
}
