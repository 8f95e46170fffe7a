package turns

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/media"
)

// The bounds of a prompt, in bytes of text before escaping.
const (
	maxText   = 32 << 10  // of one message
	maxQuote  = 2 << 10   // of the message that it answers
	maxPrompt = 256 << 10 // of all; older ones are left out, those that call the assistant last
)

// prompt is what the assistant reads, in NanoClaw v1's form, with the ids, the
// files, what is known of who wrote, and the host's notices as additions:
//
//	<context timezone="Europe/Berlin" />
//	<notice time="…">…</notice>
//	<messages>
//	<message id="…" sender="Ann" sender_id="0a1b2c3d" time="…" reply_to="…"><quoted_message from="Bob" from_id="…">…</quoted_message>text
//	<attachment path="/workspace/group/inbox/report.pdf" name="report.pdf" kind="document" mime="application/pdf" size="71 kB" />
//	<content name="notes.txt">…</content>
//	<voice seconds="7" transcript="machine">…</voice>
//	</message>
//	</messages>
//
//	<event kind="reaction" sender="Bob" sender_id="…" time="…" message="…">👍</event>
//
//	<task time="…">[SCHEDULED TASK - …] …</task>
//
// An event is what a member did to the message with that id, by that member's word, or a
// note without an id, such as that somebody called. A message that is forwarded has
// forwarded="yes" and, if the platform says who wrote it, author="…". A quote has
// yours="yes" if it is known to be the assistant's own message, unverified="yes" if only
// the answer's writer vouches for it, forwarded="yes" likewise, elsewhere="yes" if it
// stands in another chat, and in selected="…" the part that the answer is about. All untrusted text is
// escaped, so that no message can imitate another.
func prompt(records []*inbound.Message, zone *time.Location) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<context timezone=\"%s\" />\n", attribute(zone.String()))
	messages, omitted := fit(records)
	for _, r := range records {
		if r.Kind == inbound.KindNotice {
			fmt.Fprintf(&b, "<notice time=\"%s\">%s</notice>\n", clockTime(r.Time, zone), escape(inbound.Cut(r.Text, maxText)))
		}
	}
	if len(messages) == 0 {
		return b.String()
	}
	b.WriteString("<messages>\n")
	if omitted > 0 {
		fmt.Fprintf(&b, "<omitted count=\"%d\" />\n", omitted)
	}
	for _, r := range messages {
		switch r.Kind {
		case inbound.KindEvent:
			writeEvent(&b, r, zone)
		case inbound.KindTask:
			fmt.Fprintf(&b, "<task time=\"%s\">%s</task>\n", clockTime(r.Time, zone), escape(inbound.Cut(r.Text, maxText)))
		default:
			writeMessage(&b, r, zone)
		}
	}
	b.WriteString("</messages>")
	return b.String()
}

// fit drops the oldest context messages, and then the oldest messages of all, until the
// rest is small enough.
func fit(records []*inbound.Message) (messages []*inbound.Message, omitted int) {
	room := maxPrompt
	keep := map[*inbound.Message]bool{}
	for _, want := range []inbound.Kind{inbound.KindTask, inbound.KindCall, inbound.KindContext, inbound.KindEvent} {
		for i := len(records) - 1; i >= 0; i-- {
			r := records[i]
			if r.Kind != want {
				continue
			}
			if room -= weight(r); room < 0 && len(keep) > 0 {
				break
			}
			keep[r] = true
		}
	}
	for _, r := range records {
		switch {
		case keep[r]:
			messages = append(messages, r)
		case r.Kind == inbound.KindTask, r.Kind == inbound.KindCall, r.Kind == inbound.KindContext:
			omitted++
		}
	}
	return messages, omitted
}

func weight(r *inbound.Message) int {
	w := min(len(r.Text), maxText) + 300*(1+len(r.Files))
	for _, f := range r.Files {
		w += len(f.Content)
		if f.Speech != nil {
			w += min(len(f.Speech.Text), maxText)
		}
	}
	return w
}

func writeMessage(b *strings.Builder, r *inbound.Message, zone *time.Location) {
	b.WriteString("<message")
	optional(b, "id", r.ID)
	writeSender(b, r, zone)
	if r.Quote != nil {
		optional(b, "reply_to", r.Quote.ID)
	}
	if r.Forwarded {
		optional(b, "forwarded", "yes")
		optional(b, "author", r.Author)
	}
	b.WriteString(">")
	if r.Quote != nil {
		writeQuote(b, r.Quote, r.Files)
	}
	b.WriteString(escape(inbound.Cut(r.Text, maxText)))
	if writeFiles(b, r.Files, false) {
		b.WriteString("\n")
	}
	b.WriteString("</message>\n")
}

func writeEvent(b *strings.Builder, r *inbound.Message, zone *time.Location) {
	fmt.Fprintf(b, `<event kind="%s"`, attribute(string(r.Event.What)))
	writeSender(b, r, zone)
	optional(b, "message", r.Event.Target)
	if r.Text == "" && r.Event.What != channel.KindDeletion {
		optional(b, "taken_back", "yes")
	}
	fmt.Fprintf(b, ">%s</event>\n", escape(r.Text))
}

func writeSender(b *strings.Builder, r *inbound.Message, zone *time.Location) {
	fmt.Fprintf(b, ` sender="%s"`, attribute(r.From))
	optional(b, "sender_id", r.Sender)
	fmt.Fprintf(b, ` time="%s"`, clockTime(r.Time, zone))
}

func writeQuote(b *strings.Builder, q *channel.Quote, files []inbound.File) {
	fmt.Fprintf(b, `<quoted_message from="%s"`, attribute(q.From))
	switch {
	case q.Unverified:
		optional(b, "unverified", "yes")
	case q.Own:
		optional(b, "yours", "yes")
	default:
		optional(b, "from_id", q.Sender)
	}
	if q.Forwarded {
		optional(b, "forwarded", "yes")
	}
	if q.Elsewhere {
		optional(b, "elsewhere", "yes")
	}
	optional(b, "selected", q.Selected)
	fmt.Fprintf(b, `>%s`, escape(inbound.Cut(q.Text, maxQuote)))
	writeFiles(b, files, true)
	b.WriteString("</quoted_message>")
}

// writeFiles writes the files of a message, or of the message that it answers, and reports
// whether there are any.
func writeFiles(b *strings.Builder, files []inbound.File, quoted bool) (any bool) {
	for _, f := range files {
		if f.Quoted != quoted {
			continue
		}
		any = true
		b.WriteString("\n<attachment")
		for _, a := range [][2]string{{"path", f.Path}, {"name", f.Name}, {"kind", f.Kind}, {"mime", f.MIME}, {"size", bytesOf(f.Size)}, {"not_stored", f.Missing}} {
			optional(b, a[0], a[1])
		}
		b.WriteString(" />")
		writeSpeech(b, f.Speech)
		if f.Content != "" {
			fmt.Fprintf(b, "\n<content name=\"%s\">\n%s\n</content>", attribute(f.Name), escape(f.Content))
		}
	}
	return any
}

// writeSpeech writes the transcript of the voice note before it.
func writeSpeech(b *strings.Builder, s *inbound.Speech) {
	if s == nil {
		return
	}
	b.WriteString("\n<voice")
	if s.Seconds > 0 {
		optional(b, "seconds", strconv.Itoa(s.Seconds))
	}
	if s.Missing != "" {
		optional(b, "not_transcribed", s.Missing)
		b.WriteString(" />")
		return
	}
	fmt.Fprintf(b, ` transcript="machine">%s</voice>`, escape(inbound.Cut(s.Text, maxText)))
}

// optional writes an attribute, unless it is empty.
func optional(b *strings.Builder, name, value string) {
	if value != "" {
		fmt.Fprintf(b, ` %s="%s"`, name, attribute(value))
	}
}

func bytesOf(n int64) string {
	if n < 0 {
		return ""
	}
	return media.Size(n)
}

func clockTime(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Jan 2, 2006, 3:04 PM")
}

var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

// escape makes text safe inside an element.
func escape(text string) string { return xmlEscapes.Replace(inbound.Visible(text)) }

// attribute makes text safe between double quotes, on one line.
func attribute(text string) string { return escape(inbound.OneLine(text)) }

// maxReply is the longest text that one output sends to the chat, in bytes. The outbox
// splits it into a platform's messages.
const maxReply = 256 << 10

// chatText is the part of an output for the chat, without what the assistant marked as
// internal. It may be empty.
func chatText(result *string) string {
	if result == nil {
		return ""
	}
	return inbound.Cut(strings.TrimSpace(withoutInternal(*result)), maxReply)
}

// withoutInternal removes the text between the internal marks. It searches for the marks,
// because a regular expression would work on an answer of many megabytes for longer than
// the assistant takes to write it.
func withoutInternal(text string) string {
	const opening, closing = "<internal>", "</internal>"
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, opening)
		_, after, closed := strings.Cut(rest, closing)
		if !ok || !closed {
			break
		}
		b.WriteString(before)
		text = after
	}
	b.WriteString(text)
	return b.String()
}
